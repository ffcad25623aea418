"""A judged row as every form shows it: its numbers, the word for its verdict, and the sign and colour of that word.

Where the baseline is altered and the candidate is vLLM as released, a row says what taking the released change out costs, seen from the
release. What perfproof planted on purpose is found or missed, and neither good nor bad news. A verdict that a repeat contradicts says so.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from perfproof.analysis.judging.repeats import contradicting
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, turned_rows
from perfproof.report.base.page_model import PlantedView, ScenarioView

COSTS, SAVES = "costs", "saves"
"""What taking a released change out does."""
FOUND, MISSED, ALARM = "found", "missed", "false alarm"
"""What became of a control: a planted harm that was found or missed, and a harmless twin that was taken for harm."""
CONTRADICTED = "contradicted"
_TURNED = {Outcome.IMPROVED: COSTS, Outcome.REGRESSED: SAVES, Outcome.LESS: COSTS}
_PLAIN = {Outcome.IMPROVED: SAVES, Outcome.REGRESSED: COSTS, Outcome.LESS: SAVES}
"""The words for a change that is taken out, by the verdict on the release against the altered arm, and on the altered arm."""
LOSES = {Outcome.IMPROVED: ("loses by it", "lose by it"), Outcome.REGRESSED: ("gains by it", "gain by it")}
"""What a scenario does when a released change is taken out, singular and plural."""
_SAME = (Outcome.EQUIVALENT, Outcome.IDENTICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A row as it is shown. `row` is `turned` where the baseline is altered: from vLLM as released to the altered arm. `planted` is the
    control that it judges; `note` says what contradicts it, "" where nothing does. `candidate` is the scenario's, whichever way the
    row is turned; `plain` is set where the word is the verdict's own."""

    row: Judged
    candidate: str
    word: str
    sign: str
    look: str
    plain: bool
    turned: bool
    planted: PlantedView | None
    note: str


def shown(scenario: ScenarioView, row: Judged) -> Shown:
    """The row as every form shows it. `row` is one of the scenario's, not turned."""
    turned = bool(scenario.altered) and not row.in_points
    note, control = contradiction(scenario, row), scenario.planted.get(row.candidate)
    own = _worded(row, turned, row.candidate in scenario.taken_out, control)
    word, sign, look = (CONTRADICTED, "?", "inconclusive") if note else own
    return Shown(
        row=turned_rows.turned(row) if turned else row,
        candidate=row.candidate,
        word=word,
        sign=sign,
        look=look,
        plain=word == formatting.verdict(row),
        turned=turned,
        planted=control,
        note=note,
    )


def _worded(row: Judged, turned: bool, out: bool, control: PlantedView | None) -> tuple[str, str, str]:
    """The word, sign and colour of a verdict; those of its own where it is `turned`, takes a released change `out`, or judges a control."""
    if control is not None and (found := _control(row, turned, control)):
        return _likely(row, found), *_of_control(found)
    if row.verdict and (told := (_TURNED if turned else _PLAIN if out else {}).get(row.verdict)):
        return _likely(row, told), "·", "equivalent"
    return formatting.verdict(row), formatting.symbol(row.verdict, row.suggests), formatting.look(row.verdict, row.suggests)


def foretold(row: Judged, altered: bool, out: bool, control: PlantedView | None) -> Judged:
    """The row, whose reason says with the row's own words as what more blocks would settle it: "as costs", where the baseline is
    `altered` or the candidate takes a released change `out`, and "as found" of a control."""

    def word(found: re.Match[str]) -> str:
        settled = dataclasses.replace(row, verdict=Outcome(found[2]), reason="")
        return found[1] + _worded(settled, altered and not row.in_points, out, control)[0]

    told = turned_rows.FORECAST.sub(word, row.reason) if altered or out or control is not None else row.reason
    return row if told == row.reason else dataclasses.replace(row, reason=told)


def sides(scenario: ScenarioView) -> str:
    """What a scenario's rows compare, as they are shown: "patched against as_released", and what they are no verdict on."""
    candidates, baseline = ", ".join(dict.fromkeys(row.candidate for row in scenario.rows)), scenario.rows[0].baseline
    if scenario.altered and not all(row.in_points for row in scenario.rows):
        told = "planted on purpose" if scenario.control else "what taking the released change out costs"
        return f"{baseline} against {candidates}: {told}"
    if scenario.reverted:
        return f"{candidates} against {baseline}: what taking the released change out costs"
    return f"{candidates} against {baseline}{': planted on purpose, a control' if scenario.control else ''}"


def became(scenario: ScenarioView) -> str:
    """What became of a scenario that is a control; "" for any other, and where its outcome says neither."""
    if not scenario.control:
        return ""
    worse = scenario.outcome == (Outcome.IMPROVED if scenario.altered else Outcome.REGRESSED)
    if all(one.harmless for one in scenario.planted.values()):
        return ALARM if worse else ""
    return FOUND if worse else MISSED if scenario.outcome in _SAME else ""


def loses(scenario: ScenarioView) -> tuple[str, str]:
    """What the scenario does when a released change is taken out, singular and plural; "" where none is, or its outcome says neither."""
    way = {Outcome.IMPROVED: Outcome.REGRESSED, Outcome.REGRESSED: Outcome.IMPROVED} if scenario.reverted else {}
    return LOSES.get(way.get(scenario.outcome, scenario.outcome), ("", "")) if scenario.altered or scenario.reverted else ("", "")


def outcome(scenario: ScenarioView) -> tuple[str, str, str]:
    """The word, sign and colour of a scenario's outcome."""
    likely = "likely " if scenario.suggests else ""
    if found := became(scenario):
        return f"{likely}{found}", *_of_control(found)
    if lost := loses(scenario)[0]:
        return f"{likely}{lost}", "·", "equivalent"
    word = formatting.count_word(scenario.rows, scenario.outcome) or formatting.outcome_word(scenario.outcome, scenario.suggests)
    return word, formatting.symbol(scenario.outcome, scenario.suggests), formatting.look(scenario.outcome, scenario.suggests)


def _of_control(found: str) -> tuple[str, str]:
    """The sign and colour of what became of a control."""
    return ("·", "equivalent") if found == FOUND else ("!", "inconclusive")


def _likely(row: Judged, word: str) -> str:
    return f"likely {word}" if row.suggests else word


def _control(row: Judged, turned: bool, control: PlantedView) -> str:
    """What became of a control in this metric; "" where its verdict says neither."""
    worse = row.verdict == (Outcome.IMPROVED if turned else Outcome.REGRESSED)
    if control.harmless:
        return ALARM if worse else ""
    return FOUND if worse else MISSED if row.verdict in _SAME else ""


def contradiction(scenario: ScenarioView, row: Judged) -> str:
    """What a repeat of the same definition gave, where it contradicts this verdict: "a repeat (h200_b) gave +2.2 %"; "" otherwise."""
    found = contradicting(row, ((repeat.where, repeat.rows) for repeat in scenario.repeats))
    if found is None:
        return ""
    where, other = found
    told = turned_rows.turned(other) if scenario.altered and not other.in_points else other
    return f"a repeat ({where}) gave {formatting.change(told)}"
