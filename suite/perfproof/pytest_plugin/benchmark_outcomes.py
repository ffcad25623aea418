"""Reports each benchmark to pytest as a test: passed, failed or skipped, with the verdict's own words.

*regressed* and *untestable* fail. *inconclusive* is no pass, and a failure only with `--perfproof-fail-on-inconclusive`: otherwise it is
skipped, with the reason. If the base itself can't run a benchmark, that is never blamed on the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from perfproof.model.base.first_words import first_words
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.pytest_plugin import counted_work, node_ids
from perfproof.pytest_plugin.benchmark_blocks import BASE, CHANGE
from perfproof.report.text import sentences

SKIPPED = "skipped: "
"""How the reason of a record begins if its test was skipped."""
GRAVEST = (EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_INCONCLUSIVE, EXIT_PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One benchmark: `outcome` is pytest's word, `told` the sentence, `code` what it alone would make the exit code. `counts` are the
    verdicts on its counted work, `counted` the worst of them in a clause."""

    test: str
    outcome: Literal["passed", "failed", "skipped"]
    sentence: str
    code: int
    judged: Judged | None
    counts: tuple[Judged, ...] = ()

    @property
    def counted(self) -> str:
        return counted_work.told(self.counts)


def finding(
    test: str, row: Judged | None, records: Sequence[Record], base: str, *, inconclusive_fails: bool, counts: Sequence[Judged] = ()
) -> Finding:
    """What the records of a benchmark say; `row` is its verdict, None where there is no record. `base` names the base. The counts stand
    beside the time and decide nothing."""
    if row is None or row.verdict is None:
        return _finding(test, "failed", "was not measured: the time was used up", EXIT_UNTESTABLE)
    unproved = next((record.reason for record in records if record.status == "unattested"), "")
    if unproved:
        return _finding(test, "failed", f"untestable: {unproved}", EXIT_UNTESTABLE)
    amiss = {record.arm: record.reason for record in reversed(records) if record.status == "failed"}
    if BASE in amiss:
        both = " and with the change" if CHANGE in amiss else ""
        if all(reason.startswith(SKIPPED) for reason in amiss.values()):
            return _finding(test, "skipped", f"is skipped at {base}{both}: {amiss[BASE].removeprefix(SKIPPED)}", EXIT_PASS)
        return _finding(test, "skipped", f"fails at {base}{both}, which is not blamed on the change: {_short(amiss[BASE])}", EXIT_PASS)
    if CHANGE in amiss:
        what = "is skipped" if amiss[CHANGE].startswith(SKIPPED) else "fails"
        why = f"untestable: {what} with the change and not at {base}: {_short(amiss[CHANGE].removeprefix(SKIPPED))}"
        return _finding(test, "failed", why, EXIT_UNTESTABLE)
    found = replace(_of_verdict(test, row, row.verdict, inconclusive_fails), counts=tuple(counts))
    return replace(found, sentence=f"{found.sentence}; {found.counted}") if found.counted else found


def new(test: str, base: str) -> Finding:
    """A benchmark that the base does not have."""
    return _finding(test, "skipped", f"is not at {base}: there is nothing to compare with", EXIT_PASS)


def unmatched(test: str, why: str) -> Finding:
    """A benchmark that can't be found on both sides."""
    return _finding(test, "failed", f"untestable: {why}", EXIT_UNTESTABLE)


def exit_code(findings: Iterable[Finding], compared: bool) -> int:
    """The exit code of the worst finding; untestable if there was something to compare but nothing could be (`compared` is False)."""
    codes = {finding.code for finding in findings}
    gravest = next((code for code in GRAVEST if code in codes), EXIT_PASS)
    return EXIT_UNTESTABLE if gravest == EXIT_PASS and not compared else gravest


def _of_verdict(test: str, row: Judged, verdict: Outcome, inconclusive_fails: bool) -> Finding:
    claim = f"{verdict}: {sentences.claim(row)}"
    if verdict is Outcome.REGRESSED:
        return _finding(test, "failed", f"{claim}; {row.reason}", EXIT_REGRESSED, row)
    if verdict is Outcome.UNTESTABLE:
        return _finding(test, "failed", claim, EXIT_UNTESTABLE, row)
    if verdict is Outcome.INCONCLUSIVE:
        sentence = f"{claim}; {row.reason}"
        return _finding(
            test, "failed" if inconclusive_fails else "skipped", sentence, EXIT_INCONCLUSIVE if inconclusive_fails else EXIT_PASS, row
        )
    return _finding(test, "passed", claim, EXIT_PASS, row)


def _finding(test: str, outcome: Literal["passed", "failed", "skipped"], sentence: str, code: int, row: Judged | None = None) -> Finding:
    return Finding(test=test, outcome=outcome, sentence=sentence, code=code, judged=row)


def _short(reason: str) -> str:
    return first_words(reason).removeprefix("failed: ")


# --- to pytest ------------------------------------------------------------------------------------------------


class FailureText:
    """A failure in the form that pytest's terminal, its summary and its XML file need."""

    def __init__(self, path: str, words: str, more: str) -> None:
        self.reprcrash = _Crash(path, words)
        self._text = f"{words}\n{more}".rstrip()

    def __str__(self) -> str:
        return self._text

    def toterminal(self, writer: Any) -> None:
        for line in self._text.splitlines():
            writer.line(line)


class _Crash:
    """The place and the message of a failure."""

    def __init__(self, path: str, message: str) -> None:
        self.path, self.lineno, self.message = path, 0, f"perfproof: {message}"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def report(
    session: pytest.Session, findings: Sequence[Finding], seconds: Mapping[str, float], records: Mapping[str, Sequence[Record]]
) -> None:
    """Reports every benchmark that this session collected to pytest as a finished test."""
    of_test = {finding.test: finding for finding in findings}
    hook = session.config.hook
    for item in session.items:
        test = node_ids.stable(item.nodeid)
        result = of_test.get(test)
        if result is None:
            continue
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for when in ("setup", "call", "teardown"):
            outcome = result.outcome if when == "call" else "passed"
            longrepr = _longrepr(item, result, records.get(test, ())) if when == "call" else None
            took = seconds.get(test, 0.0) if when == "call" else 0.0
            test_report = pytest.TestReport(item.nodeid, item.location, dict(item.keywords), outcome, longrepr, when, duration=took)  # type: ignore[arg-type]
            hook.pytest_runtest_logreport(report=test_report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _longrepr(item: pytest.Item, found: Finding, records: Sequence[Record]) -> object:
    if found.outcome == "skipped":
        return (str(item.path), (item.location[1] or 0) + 1, f"Skipped: perfproof: {found.sentence}")
    if found.outcome == "failed":
        more = [f"block {record.block}, {record.arm}: {record.reason}" for record in records if "\n" in record.reason]
        return FailureText(str(item.path), found.sentence, "\n".join(more[:2]))
    return None
