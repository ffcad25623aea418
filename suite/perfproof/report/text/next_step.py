"""What a reader of a page may do next, with the command for it: the first that applies of repeat, fix, more blocks, fresh servers,
calibrate; or nothing.

Whoever reads it has minutes, not a night: where a verdict would take longer than `PATIENCE`, its interval is the answer for now, and the
next step is another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.lead_model import LeadLine
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.base.units import THIN
from perfproof.report.extract import facts
from perfproof.report.text.lead_rows import contradiction
from perfproof.report.text.sentences import in_few_words

PATIENCE = 120.0
"""The minutes that a next step may take."""
_BLOCKS = re.compile(r"--blocks (\d+)")
_IN_ALL = re.compile(r"\((\d+) in all(?:, ([^)]*))?\)")
_AGAIN = re.compile(r"--blocks \d+ into another results folder, ([^)]*)\)")
_MINUTES = {"s": 1 / 60, "min": 1.0, "h": 60.0}
Step = tuple[str, str]
"""What to do, in words, and the command."""


def next_step(page: Page) -> LeadLine:
    """The line that says what to do next."""
    words, command = _step(page)
    return LeadLine(label="Next", clauses=((words, False),), command=command)


def _step(page: Page) -> Step:
    if page.decision is not None and page.decision.todo:
        return page.decision.todo[0].rstrip("."), ""
    scenarios = [scenario for scenario in page.scenarios if scenario.commands]
    if scenarios and scenarios[0].outcome == Outcome.REGRESSED:
        return _first(page, scenarios[:1]) or ("nothing to measure: the regression is settled; leave the change out, or find the cause", "")
    return _first(page, scenarios) or ("nothing: settled", "")


def _first(page: Page, scenarios: Sequence[ScenarioView]) -> Step | None:
    """The most urgent step of these scenarios. What would take too long is told beside it, or alone where nothing else is left."""
    long = next((found for scenario in scenarios if (found := _too_long(page, scenario))), None)
    for test in (_repeated, _distrusted, _untested, _opened, _hinted, _uncalibrated):
        if step := next((found for scenario in scenarios if (found := test(page, scenario))), None):
            return (f"{step[0]}; {long[0]}", step[1]) if long else step
    return long


def _repeated(_: Page, scenario: ScenarioView) -> Step | None:
    if any(contradiction(scenario, row) for row in scenario.rows):
        return f"measure {scenario.name} a third time, on a quiet machine: two runs contradict each other", scenario.commands[0]
    return None


def _distrusted(_: Page, scenario: ScenarioView) -> Step | None:
    if not scenario.trust.distrust:
        return None
    return f"find what disturbs the machine, then measure {scenario.name} again", scenario.commands[0]


def _untested(_: Page, scenario: ScenarioView) -> Step | None:
    row = next((row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.UNTESTABLE), None)
    if scenario.rows and row is None:
        return None
    why = formatting.reason(row) if row else "no metric was compared"
    return f"fix the cause, then measure {scenario.name} again ({in_few_words(why)})", scenario.commands[0]


def _opened(page: Page, scenario: ScenarioView) -> Step | None:
    """More blocks; where one block decides the estimate, nobody can say how many."""
    open_ = _open(scenario)
    if not open_ or _too_long(page, scenario):
        return None
    if scenario.of_answers:
        return f"ask more items or prompts in {scenario.name}, which is open", scenario.commands[0]
    if _swayed(scenario):
        return f"measure {scenario.name} again: a single block decides its estimate", scenario.commands[0]
    needed = max((found for row in open_ if (found := blocks_needed(row))), default=None)
    if needed is None:
        return f"measure more blocks of {scenario.name}, or on a quieter machine", scenario.commands[0]
    blocks, time, _ = needed
    return f"measure {blocks} blocks of {scenario.name}{f' ({time})' if time else ''}, which would settle it", _more(page, scenario, needed)


def _open(scenario: ScenarioView) -> list[Judged]:
    return [row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.INCONCLUSIVE]


def _swayed(scenario: ScenarioView) -> bool:
    """Whether a single block decides an open estimate."""
    swayed = {(metric, candidate) for metric, candidate, _ in scenario.swayed}
    return any((row.metric, row.candidate) in swayed for row in _open(scenario))


def _too_long(page: Page, scenario: ScenarioView) -> Step | None:
    """What to make of an open verdict that nobody can wait for: its interval is the answer."""
    if scenario.of_answers or _swayed(scenario):
        return None
    found = [(needed, row) for row in _open(scenario) if (needed := blocks_needed(row)) and minutes(needed[1]) > PATIENCE]
    if not found:
        return None
    needed, row = max(found, key=lambda pair: pair[0][0])
    margin = formatting.margin(row).removeprefix("±").strip(THIN)
    words = (
        f"leave {scenario.name} open: its interval is the answer for now, to settle {margin} would take {needed[0]} blocks ({needed[1]})"
    )
    return words, _more(page, scenario, needed)


def minutes(time: str) -> float:
    """How many minutes a time in words is: "8.3 h", "22 min"; 0 for "", which says nothing."""
    number, _, unit = time.rpartition(" ")
    return float(number) * _MINUTES[unit] if number else 0.0


def _more(page: Page, scenario: ScenarioView, needed: tuple[int, str, bool]) -> str:
    """The command that measures so many blocks: the missing ones in the page's folder, or all again in another."""
    blocks, _, fresh = needed
    command = re.sub(r" --blocks \d+", "", scenario.commands[0]) + f" --blocks {blocks}"
    return command if fresh else command.replace(f"--results {facts.AGAIN}", f"--results {page.results}")


def blocks_needed(row: Judged) -> tuple[int, str, bool] | None:
    """How many blocks in all would settle an open verdict, how long they take, and whether all are measured again; None if not known."""
    if again := _BLOCKS.search(row.reason):
        time = _AGAIN.search(row.reason)
        return int(again[1]), time[1] if time else "", True
    if more := _IN_ALL.search(row.reason):
        return int(more[1]), more[2] or "", False
    return None


def _hinted(_: Page, scenario: ScenarioView) -> Step | None:
    if not any(row.suggests for row in scenario.primaries):
        return None
    command = re.sub(r"--profile \S+", "--profile standard", re.sub(r" --blocks \d+", "", scenario.commands[0]))
    return f"prove {scenario.name} with a fresh server for every trial", command


def _uncalibrated(_: Page, scenario: ScenarioView) -> Step | None:
    return ("calibrate: run the baseline against itself on this machine", scenario.trust.command) if scenario.trust.command else None
