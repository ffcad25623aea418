"""A row of the lead's figure: what it judges on what, its number, and whatever keeps its verdict from being plain.

That is a repeat that contradicts, servers that were launched once, or a side that got other requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadRow
from perfproof.report.base.page_model import ScenarioView
from perfproof.report.lead import subjects
from perfproof.report.text.headline import MICRO, nouns
from perfproof.report.text.shown_rows import FOUND, shown

FAR = 2.0
"""Changes whose whole interval lies beyond this ratio, or beyond its inverse, have an axis of their own."""
_PARAMETERS = re.compile(r"([\d.]+) ([mb])illion parameters")
LIKELY = "likely: each arm's server was launched only once"
"""Why a verdict is only likely."""


def far(row: Judged) -> bool:
    """Whether a change lies wholly beyond a halving or a doubling."""
    ends = [end for end in (row.low, row.high) if end is not None] or ([row.effect] if row.effect is not None else [])
    ratios = [1 + end for end in ends]
    return bool(ratios) and not row.in_points and (max(ratios) <= 1 / FAR or min(ratios) >= FAR)


def lead_row(scenario: ScenarioView, row: Judged) -> LeadRow:
    """The row of a metric. Of a baseline that was altered it says what the alteration costs."""
    one = shown(scenario, row)
    subject = subjects.subject(scenario, row.candidate)
    unlike = "" if subject.place == subjects.COMPARISON else dict(scenario.unlike).get(row.candidate, "")
    side, against = (row.baseline, row.candidate) if scenario.altered else (row.candidate, row.baseline)
    return LeadRow(
        row=one.row,
        name=formatting.label(row.metric),
        subject=subject,
        where=": ".join(filter(None, (scenario.name, side if subjects.own_arm(scenario, row.candidate) else ""))),
        model=model(scenario),
        against=_versioned(scenario, against),
        word=one.word,
        sign=one.sign,
        look=one.look,
        number=_number(one.row),
        interval=_interval(one.row),
        detail=formatting.between(one.row) if one.row.exact and one.row.effect and _is_ratio(one.row) else "",
        note=one.note,
        remarks=tuple(_remarks(scenario, row, one.word, unlike)),
        unlike=unlike,
        turned=one.turned,
        control=one.planted is not None,
    )


def _versioned(scenario: ScenarioView, name: str) -> str:
    """An arm with the release of vLLM that it ran: "as_released (vLLM 0.32.0)"; its name alone where that holds the
    release, or none is known."""
    version = next((arm.version.partition("+")[0] for arm in scenario.arms if arm.name == name), "")
    return name if not version or version.replace(".", "_") in name else f"{name} (vLLM {version})"


def model(scenario: ScenarioView) -> str:
    """The model of a scenario in a few words: "8.2B model", "toy model, 1 layer"; that there is none in a microbenchmark."""
    if not scenario.model:
        return MICRO[0] if nouns(scenario) == MICRO else ""
    if counted := _PARAMETERS.fullmatch(scenario.model_size):
        return f"{counted[1]}{counted[2].upper()} model"
    return f"toy model, {scenario.model_size.partition(',')[0]}" if "toy" in scenario.model else scenario.model_size


def _remarks(scenario: ScenarioView, row: Judged, word: str, unlike: str) -> Iterator[str]:
    """What keeps a reader from taking the row for more than it is."""
    if word.endswith(FOUND):
        yield "worse, as it should be"
    if row.verdict and row.suggests:
        yield LIKELY
    if unlike:
        yield f"not the code alone: {unlike}"
    if row.verdict == Outcome.INCONCLUSIVE and not row.exact and 0 < row.blocks < LEAST_BLOCKS and not scenario.of_answers:
        yield f"{formatting.blocks(row.blocks)}, where a verdict needs {LEAST_BLOCKS}"


def _is_ratio(row: Judged) -> bool:
    """Whether a change is a ratio of two values, none of them 0."""
    return row.effect is not None and -1 < row.effect < float("inf")


def _number(row: Judged) -> str:
    """The change of a row, as a multiple where it lies far off; of a count that came from nothing or is gone its two values."""
    if row.metric in ANSWERS and row.in_points and (share := formatting.values(row)[1]) != units.NONE:
        return f"{share} identical"
    if row.exact and row.effect is not None and not _is_ratio(row):
        return formatting.between(row)
    return (formatting.factor(row) if far(row) else "") or formatting.change(row)


def _interval(row: Judged) -> str:
    if (
        far(row)
        and not row.exact
        and row.interval is not None
        and (ends := sorted(filter(None, map(units.factor, row.interval)), key=_size))
    ):
        return f"[{', '.join(ends)}]"
    return formatting.interval(row)


def _size(factor: str) -> float:
    return float(factor.lstrip("×÷").strip(units.THIN).replace(",", ""))
