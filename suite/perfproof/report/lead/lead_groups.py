"""The figure of the lead: which metrics, in which order, and under which titles.

Rows that judge the same stand together, those of changes before those that judge none, and the worst first.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from perfproof.analysis.stats import number_format
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadGroup, LeadRow
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.lead import subjects
from perfproof.report.lead.lead_rows import far, lead_row
from perfproof.report.text.shown_rows import contradiction

MOST_ROWS = 10
"""The most rows of the figure, the worst first: a first screen has no room for more."""
MOST_BESIDE = 2
"""The most rows of it that judge no change, where others do."""
MOST_TITLES = 5
"""The most subjects that keep a place in it for their worst row."""
Chosen = tuple[ScenarioView, Judged]


def chosen(page: Page) -> list[Chosen]:
    """The judged primary metrics and the counts that got worse, in the order of the figure: of changes first, the worst first.

    Answers have a line of their own; they have rows where one changed or is open, or where nothing else was judged.
    """
    rows = [(scenario, row) for scenario in page.scenarios for row in formatting.deciding(scenario.rows)]
    speed = [pair for pair in rows if not pair[0].of_answers]
    answers = [pair for pair in rows if pair[0].of_answers and (not speed or pair[1].verdict != Outcome.EQUIVALENT)]
    return sorted([*speed, *answers], key=_order)


def _order(pair: Chosen) -> tuple[int, bool, int, bool]:
    scenario, row = pair
    return subjects.subject(scenario, row.candidate).place, not contradiction(scenario, row), formatting.rank(row), row.exact


def groups(pairs: Sequence[Chosen]) -> tuple[LeadGroup, ...]:
    """The rows that are drawn, in groups with a title and an axis each; titles where rows judge several things."""
    rows = [lead_row(*pair) for pair in pairs]
    drawn = _drawn(rows)
    titles = list(dict.fromkeys(row.subject.title for row in rows))
    models = len({row.model for row in rows}) > 1
    return tuple(group for title in titles for group in _titled(title, rows, drawn, len(titles) > 1, models))


def _titled(title: str, rows: Sequence[LeadRow], drawn: Sequence[LeadRow], several: bool, models: bool) -> list[LeadGroup]:
    """The groups of a title: small changes, large ones for the better and large ones for the worse apart."""
    every, shown = ([row for row in some if row.subject.title == title] for some in (rows, drawn))
    against = {row.against for row in every}
    common = against.pop() if len(against) == 1 else ""
    return [
        LeadGroup(
            title=title if several else "",
            words=every[0].subject.words if several else "",
            beside=every[0].subject.place != subjects.CHANGE,
            number=f"{len(shown)} of {len(every)} metrics shown" if len(shown) < len(every) else "",
            against=common,
            far=key[0],
            rows=tuple(_beside(row, common, models) for row in shown if _axis(row) == key),
        )
        for key in dict.fromkeys(map(_axis, shown))
    ]


def _axis(one: LeadRow) -> tuple[bool, bool]:
    """Whether a row lies far off, and if so whether for the worse."""
    effect, beyond = one.row.effect, far(one.row)
    return beyond, beyond and effect is not None and (effect > 0) == (one.row.better == "lower")


def _beside(one: LeadRow, common: str, models: bool) -> LeadRow:
    """The row as it stands under its title: with the side that it is compared with, unless that is common, and its model,
    unless all share it."""
    where = one.where if common or not one.against else f"{one.where} against {one.against}"
    return dataclasses.replace(one, where=where, model=one.model if models else "")


def _drawn(rows: Sequence[LeadRow]) -> list[LeadRow]:
    """The first rows, in their order; the worst of the first subjects keeps its place, of each sort of subjects above all."""
    worst: dict[str, LeadRow] = {}
    sorts: dict[int, LeadRow] = {}
    for row in rows:
        worst.setdefault(row.subject.title, row)
        if row.subject.place != subjects.COMPARISON:
            sorts.setdefault(row.subject.place, row)
    first = list({id(row): row for row in (*sorts.values(), *worst.values())}.values())
    beside = [row for row in (*first, *rows) if row.subject.place != subjects.CHANGE]
    if any(row.subject.place == subjects.CHANGE for row in rows):
        few = {id(row) for row in list({id(row): row for row in beside}.values())[MOST_BESIDE:]}
        first, rows = ([row for row in some if id(row) not in few] for some in (first, rows))
    kept = {id(row) for row in first[:MOST_TITLES]}
    kept |= {id(row) for row in [row for row in rows if id(row) not in kept][: MOST_ROWS - len(kept)]}
    return [row for row in rows if id(row) in kept]


def level(pairs: Sequence[Chosen]) -> str:
    """The confidence levels of the intervals, lowest to highest: "98 %", "98 to 99.5 %"; "" where no row has an interval that could
    fail to hold the change: that of identical answers holds it for sure."""
    levels = {row.level for _, row in pairs if row.level is not None and row.interval is not None and not row.exact}
    found = sorted(each for each in levels if each < 1)
    ends = [number_format.level(each).removesuffix(" %") for each in dict.fromkeys((found[0], found[-1]))] if found else []
    return f"{' to '.join(ends)}{units.THIN}% " if ends else ""


def further(pairs: Sequence[Chosen]) -> str:
    """The metrics that the figure has no room for: "and 7 more below: 1 equivalent, 6 improved"."""
    rows = [lead_row(*pair) for pair in pairs]
    drawn = _drawn(rows)
    left = [row for row in rows if not any(row is other for other in drawn)]
    if not left:
        return ""
    counts = Counter(f"{row.word}{' (releases or settings)' if row.subject.place == subjects.UNPATCHED else ''}" for row in left)
    return f"and {len(left)} more below: {', '.join(f'{number} {word}' for word, number in counts.items())}"
