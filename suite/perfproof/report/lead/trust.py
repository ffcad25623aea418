"""On what was measured, and what weakens it: the lines on the machine and the model, and on trust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from perfproof.model.base.name_lists import few
from perfproof.model.scenarios.metrics import base_name
from perfproof.model.verdicts.judged import Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadLine
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.lead import missing_steps
from perfproof.report.text.headline import MICRO, nouns
from perfproof.report.text.shown_rows import contradiction, shown

MOST_NAMED = 4
"""The most sizes of models that are named."""
_COUNTED = re.compile(r"[\d.]+ [mb]illion parameters")
BUSY = 1.5
"""A load above this multiple of the cores is flagged."""


def measured(page: Page) -> LeadLine:
    """The machine and the model."""
    clauses = ((_distinct(each.machine for each in _of_speed(page)), False), *_modelled(page))
    return LeadLine(label="Measured on", clauses=tuple(clause for clause in clauses if clause[0]))


def trust(page: Page, drawn: Set[str]) -> LeadLine:
    """What weakens the verdicts, one clause each. Contradictions that the figure has `drawn` stand there."""
    speed = _of_speed(page)
    of = {scenario.name: f" ({scenario.name})" if len(speed) > 1 else "" for scenario in speed}
    grave = [clause for clause in _calibrated(page) if "failed" in clause[0]]
    for scenario in speed:
        for row in scenario.rows:
            if (found := contradiction(scenario, row)) and f"{found} for {scenario.name}" not in [text for text, _ in grave]:
                grave.append((f"{found} for {scenario.name}", True))
    grave += [(f"{clause}{of[scenario.name]}", True) for scenario in speed for clause in scenario.speeds]
    grave += [(f"{clause}{of[scenario.name]}", True) for scenario in speed for *_, clause in scenario.swayed]
    light = [*_shared(speed), *_hostless(speed), *(clause for clause in _calibrated(page) if clause not in grave), *_loaded(speed)]
    strength = "little" if grave else "some" if any(flag for _, flag in light) else "good"
    shown = [(text, flag) for text, flag in (*grave, *light) if not any(note and text.startswith(note) for note in drawn)]
    first, *others = dict.fromkeys(shown) or {("nothing speaks against it", False): None}
    return LeadLine(label="Trust", clauses=((f"{strength}: {first[0]}", first[1]), *others))


def _shared(speed: Sequence[ScenarioView]) -> Iterator[tuple[str, bool]]:
    """Whose arms kept one server, where that bears on a verdict."""
    names = [
        scenario.name
        for scenario in speed
        if scenario.shared and any(row.verdict not in (None, Outcome.UNTESTABLE) for row in scenario.primaries)
    ]
    if names:
        yield f"one server per arm for all blocks{_in(names, speed)}: a lucky launch is not ruled out", True


def _hostless(speed: Sequence[ScenarioView]) -> Iterator[tuple[str, bool]]:
    """That waits for a device were counted on a host without one, where they take no time."""
    unseen = [scenario for scenario in speed if missing_steps.waits_unseen(scenario)]
    effects = [shown(each, row).row.effect for each in unseen for row in each.rows if base_name(row.metric) == missing_steps.SYNCS]
    if unseen:
        does = (
            "saves"
            if all((effect or 0) <= 0 for effect in effects)
            else "adds"
            if all((effect or 0) >= 0 for effect in effects)
            else "changes"
        )
        yield f"no GPU here, so the waiting for a GPU that this {does} isn't in these numbers", True


def _of_speed(page: Page) -> list[ScenarioView]:
    """The scenarios that measure a speed; all where none does."""
    return [scenario for scenario in page.scenarios if not scenario.of_answers] or list(page.scenarios)


def _distinct(texts: Iterator[str]) -> str:
    found = list(dict.fromkeys(filter(None, texts)))
    return (
        found[0] if len(found) == 1 else f"{len(found)} machines ({'; '.join(found[:2])}{' …' if len(found) > 2 else ''})" if found else ""
    )


def _in(names: Sequence[str], every: Sequence[ScenarioView]) -> str:
    return "" if len(names) == len(every) else f" ({few(names, 2)})"


def _calibrated(page: Page) -> Iterator[tuple[str, bool]]:
    """Whether the baseline was run against itself on this machine, and what came of it."""
    failed = [each.name for each in page.scenarios if each.trust.distrust]
    passed = [each.name for each in page.scenarios if each.trust.floors and not each.trust.distrust]
    unknown = [each.name for each in page.scenarios if each.trust.command]
    if failed:
        yield f"A/A failed ({few(failed, 2)}): equal code differed on this machine", True
    if passed:
        yield f"A/A passed{f' ({few(passed, 2)})' if unknown or failed else ''}", False
    if unknown:
        yield "not calibrated (no A/A run)" if not passed and not failed else f"not calibrated for {len(unknown)} more", True


def _loaded(scenarios: Sequence[ScenarioView]) -> Iterator[tuple[str, bool]]:
    """The highest load beside the trials; flagged where it went beyond the cores."""
    loads = [(scenario.load, scenario.cores) for scenario in scenarios if scenario.load is not None]
    if loads:
        most, cores = max(loads, key=lambda pair: pair[0] / (pair[1] or 1))
        busy = bool(cores and most > BUSY * cores)
        of = f", beyond the {cores} cores" if busy else f" on {cores} core{'s' if cores != 1 else ''}" if cores else ""
        yield f"load up to {units.rough(most, '1')}{of}", busy


def _modelled(page: Page) -> Iterator[tuple[str, bool]]:
    """Whether the model was a real one."""
    of_speed = [scenario for scenario in page.scenarios if scenario.model and not scenario.of_answers]
    found = dict.fromkeys(scenario.model for scenario in of_speed)
    kinds: dict[str, dict[str, None]] = {}
    for scenario in of_speed:
        made_up = "dummy weights" in scenario.model or "toy" in scenario.model
        kinds.setdefault("made-up model" if made_up else "real model", {})[scenario.model_size] = None
    if len(found) == 1:
        yield f"{next(iter(kinds))}: {next(iter(found))}", False
    elif found:
        yield " and ".join(f"{kind}{'s' if len(sizes) > 1 else ''} of {_sizes(list(sizes))}" for kind, sizes in kinds.items()), False
    elif any(nouns(scenario) == MICRO for scenario in page.scenarios):
        yield "no model: microbenchmarks", False


def _sizes(sizes: Sequence[str]) -> str:
    """Sizes of models, with a unit that they share once: "0.35, 0.6 and 8.2 billion parameters"."""
    units_ = {size.partition(" ")[2] for size in sizes}
    if len(units_) > 1 or not all(_COUNTED.fullmatch(size) for size in sizes):
        return "; ".join([*sizes[:MOST_NAMED], *([f"and {len(sizes) - MOST_NAMED} more"] if len(sizes) > MOST_NAMED else [])])
    numbers = sorted((size.partition(" ")[0] for size in sizes), key=float)
    return f"{formatting.listed(numbers)} {units_.pop()}"
