"""A gate's decision from a results folder, in every wanted form: terminal, JSON, JUnit, comment, step summary.

All forms are laid out from one page, which holds the decision. None of them decides anything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from perfproof import __version__, store
from perfproof.analysis.judging.apply_policy import decide, failures_of
from perfproof.commands import record_verdicts
from perfproof.model.base import clock
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.policy_documents import load_policy
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.verdicts.gate_decision import Decision, Ruling
from perfproof.model.verdicts.policy import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from perfproof.report.base.page_model import Page

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the path of the file that GitHub shows as a step's summary."""
SUMMARY_LIMIT = 900_000
"""Characters of a step's summary; GitHub refuses more than a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files for a decision; None for forms that are not wanted."""

    json: Path | None
    junit: Path | None
    comment: Path | None
    report: Path | None


NO_FILES = Outputs(json=None, junit=None, comment=None, report=None)


def forget(outputs: Outputs) -> None:
    """Removes an earlier decision from the files of this one, so that a gate that ends without a decision leaves none behind."""
    record_verdicts.clear(outputs.json, outputs.junit, outputs.comment, outputs.report)


def policy_of(named: Path | str | None, today: date | None = None) -> Policy:
    """The named policy, with its waivers as of today; the default policy where none is named."""
    return DEFAULT_POLICY if named is None else load_policy(named, today or clock.today())


def gate(
    results: Path,
    *,
    policy: Path | str | None,
    stored: Path | None = None,
    outputs: Outputs = NO_FILES,
    console: Console | None = None,
    today: date | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Decides by the records of a results folder, shows every ruling, writes the wanted files, and returns the exit code.

    With `stored`, the folder of a history, the records are judged against that history instead of the base beside them.
    """
    rules = policy_of(policy, today)
    read = store.read(results)
    check_names(rules, {record.scenario: list(record.definition["metrics"]) for record in read.records}, more=_files())
    day = today or clock.today()
    if stored is not None:
        page = _against_stored(results, read, stored, rules, day)
    else:
        gone = rules.lacking({record.scenario for record in read.records})
        page = decided(results, read, rules, only=None, notes=(), missing=gone, today=day)
    return tell(page, outputs, console or Console(), environment)


def decided(
    results: Path,
    read: store.Read,
    policy: Policy,
    *,
    only: set[str] | None,
    notes: Sequence[str],
    missing: Sequence[str] = (),
    today: date,
    part: bool = False,
    beside: Sequence[Ruling] = (),
) -> Page:
    """The page of a results folder, from the records `read` (only of the named scenarios), with the policy's decision.

    `missing` are scenarios that should be judged and left no record. `part` says that the change was measured without some of its files, so
    it is not the change's fault if it does not run. `beside` are further rulings.
    """
    page, judged = record_verdicts.page_of(results, only, policy, read=read)
    worse = [row for scenario in page.scenarios for row in scenario.worse]
    failures = failures_of(page.records, part=part)
    decision = decide(judged, policy, failures=failures, notes=notes, worse=worse, missing=missing, beside=beside, today=today)
    return with_decision(page, decision)


def _against_stored(results: Path, read: store.Read, stored: Path, policy: Policy, today: date) -> Page:
    """The page of a results folder with the decision on it against a history."""
    from perfproof.tracking.baseline_verdicts import against_stored

    rows = against_stored(read.records, stored, policy, today)
    page, _ = record_verdicts.page_of(results, None, policy, rows, read)
    notes = [f"judged against baselines of the history {stored.name}, not against the base beside it"]
    gone = policy.lacking({record.scenario for record in read.records})
    return with_decision(page, decide(rows, policy, failures=failures_of(read.records), notes=notes, missing=gone, today=today))


def with_decision(page: Page, decision: Decision) -> Page:
    """The page with a decision whose texts are safe to show."""
    from perfproof.report.formats import gate_view

    return dataclasses.replace(page, decision=gate_view.clean(decision))


def bare(decision: Decision) -> Page:
    """The page of a decision that was made without measuring anything."""
    from perfproof.report import view

    return with_decision(view.build((), (), made=clock.minute(), version=__version__), decision)


def tell(page: Page, outputs: Outputs, console: Console, environment: Mapping[str, str] = os.environ) -> int:
    """Prints the decision, and writes it to every wanted file and to the step's summary if there is one. Returns the exit code."""
    from perfproof.report.formats import gate_view, junit, pr_comment, terminal

    assert page.decision is not None  # noqa: S101 (the callers have decided)
    terminal.show(page, console)
    if outputs.json is not None:
        record_verdicts.write(json.dumps(gate_view.document(page), indent=1) + "\n", outputs.json)
    if outputs.junit is not None:
        record_verdicts.write(junit.render(page), outputs.junit)
    if outputs.comment is not None:
        record_verdicts.write(pr_comment.render(page), outputs.comment)
    if outputs.report is not None:
        record_verdicts.write_html(page, outputs.report)
    if environment.get(SUMMARY):
        summarise(pr_comment.render(page, SUMMARY_LIMIT), Path(environment[SUMMARY]))
    for name in ("json", "junit", "comment", "report"):
        if (file := getattr(outputs, name)) is not None:
            console.print(f"{name}: {file}", highlight=False, markup=False)
    return page.decision.exit_code


def summarise(text: str, file: Path) -> None:
    """Appends to the step's summary, which other steps may have written before."""
    try:
        with open(file, "a", encoding="utf-8") as out:
            out.write(text + "\n")
    except OSError as error:
        raise CannotRun(f"{file}: the step's summary could not be written: {error.strerror}") from error


def _files() -> list[str]:
    """The names of scenarios that have files; none where this is not a checkout."""
    with contextlib.suppress(BadInput):
        return [path.stem for path in scenario_files()]
    return []


# --- names that a policy uses --------------------------------------------------------------------------------


def check_names(policy: Policy, known: Mapping[str, Sequence[str]], more: Sequence[str] = ()) -> None:
    """Raises `BadInput` for scenarios that a policy names and that do not exist, and for metrics that its scenarios lack.

    `known` maps known scenarios to their metrics; `more` are names of other scenarios.
    """
    faults = list(dict.fromkeys(_name_faults(policy, known, {*known, *more})))
    if faults:
        raise BadInput(*(f"{policy.called}: {fault}" for fault in faults))


def _name_faults(policy: Policy, known: Mapping[str, Sequence[str]], names: set[str]) -> Iterator[str]:
    for where, name in _named(policy):
        if names and name not in names and not any(letter in name for letter in "*?"):
            near = get_close_matches(name, names, n=3)
            yield f"{where}: there is no scenario {name!r}" + (f", did you mean {', '.join(near)}?" if near else "")
    for rule in policy.metrics:
        scenario, _, name = rule.pattern.rpartition("/")
        if scenario in known and not any(letter in name for letter in "*?"):
            metrics = known[scenario]
            if name not in metrics and name not in {one.partition("@")[0] for one in metrics}:
                yield f"metrics.{rule.pattern}: the scenario {scenario} has no metric {name!r}; it has {', '.join(metrics)}"


def _named(policy: Policy) -> Iterator[tuple[str, str]]:
    yield from ((f"scenarios.{place}", name) for place, name in enumerate(policy.scenarios))
    yield from ((f"metrics.{rule.pattern}", rule.pattern.rpartition("/")[0] or "*") for rule in policy.metrics)
    yield from ((f"waivers.{place}.scenario", waiver.scenario) for place, waiver in enumerate(policy.waivers))
