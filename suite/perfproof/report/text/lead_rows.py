"""The rows of the lead's figure: which metrics, in which groups, and the words of each.

A row says what was compared with what, and whatever keeps its verdict from being plain: a repeat that contradicts, servers that were
launched once, or a side that got other requests.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from perfproof.analysis.judging.repeats import contradicts
from perfproof.analysis.stats import number_format
from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadGroup, LeadRow
from perfproof.report.base.page_model import Page, ScenarioView

MOST_ROWS = 10
"""The most rows of the figure, the worst first: a first screen has no room for more."""
FAR = 2.0
"""Changes whose whole interval lies beyond this ratio, or beyond its inverse, have an axis of their own."""
ITSELF = "The change"
TAKEN_OUT = "A released change taken out"
UNPATCHED = "Releases or settings compared"
LIKELY = "likely: each arm's server was launched only once"
"""Why a verdict is only likely."""
Chosen = tuple[ScenarioView, Judged]


def chosen(page: Page) -> list[Chosen]:
    """The judged primary metrics and the counts that got worse, in the order of the figure: of the change first, the worst first.

    Answers are told in a line of their own; they have rows where one changed or is open, or where nothing else was judged.
    """
    rows = [(scenario, row) for scenario in page.scenarios for row in formatting.deciding(scenario.rows)]
    speed = [pair for pair in rows if not pair[0].of_answers]
    answers = [pair for pair in rows if pair[0].of_answers and (not speed or pair[1].verdict != Outcome.EQUIVALENT)]
    return sorted([*speed, *answers], key=lambda pair: (pair[0].unpatched, formatting.rank(pair[1]), pair[1].exact))


def groups(pairs: Sequence[Chosen]) -> tuple[LeadGroup, ...]:
    """The rows that are drawn, in groups with an axis each. Where rows are of several sorts, each sort has a title with its number."""
    rows = [(_title(scenario), lead_row(scenario, row)) for scenario, row in pairs]
    drawn = _fair(rows)
    common = {title: _common([one for other, one in rows if other == title]) for title, _ in rows}
    every, shown = Counter(title for title, _ in rows), Counter(title for title, _ in drawn)
    keys = dict.fromkeys((title, far(one.row)) for title, one in drawn)
    return tuple(
        LeadGroup(
            title=(title or ITSELF) if title or len(every) > 1 else "",
            number=f"{shown[title]} of {every[title]}" if shown[title] < every[title] else f"{every[title]}",
            against=common[title],
            far=beyond,
            rows=tuple(_beside(one, common[title]) for other, one in drawn if (other, far(one.row)) == (title, beyond)),
        )
        for title, beyond in keys
    )


def _common(rows: Sequence[LeadRow]) -> str:
    """The side that all rows are compared with; "" where they have several."""
    found = {one.against for one in rows}
    return found.pop() if len(found) == 1 else ""


def _beside(one: LeadRow, common: str) -> LeadRow:
    """The row as it stands under a title that names the side it is compared with."""
    return one if common else dataclasses.replace(one, where=f"{one.where} against {one.against}" if one.against else one.where)


def level(pairs: Sequence[Chosen]) -> str:
    """The confidence levels of the intervals, lowest to highest: "98 %", "98 to 99.5 %"; "" where no row has an interval."""
    found = sorted({row.level for _, row in pairs if row.level is not None and row.interval is not None and not row.exact})
    ends = [number_format.level(each).removesuffix(" %") for each in dict.fromkeys((found[0], found[-1]))] if found else []
    return f"{' to '.join(ends)}{units.THIN}% " if ends else ""


def further(pairs: Sequence[Chosen]) -> str:
    """The metrics that the figure has no room for: "and 7 more below: 1 equivalent, 6 improved"."""
    rows = [(_title(scenario), lead_row(scenario, row)) for scenario, row in pairs]
    drawn = _fair(rows)
    left = [(title, one) for title, one in rows if not any(one is other for _, other in drawn)]
    if not left:
        return ""
    counts = Counter(f"{one.word}{' (releases or settings)' if title == UNPATCHED else ''}" for title, one in left)
    return f"and {len(left)} more below: {', '.join(f'{number} {word}' for word, number in counts.items())}"


def _fair(rows: Sequence[tuple[str, LeadRow]]) -> list[tuple[str, LeadRow]]:
    """The first rows; where there are several titles, the later ones keep a few places."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    apart = [pair for pair in rows if pair[0]]
    kept = min(len(apart), MOST_ROWS // 4)
    own = [pair for pair in rows if not pair[0]][: MOST_ROWS - kept]
    return [*own, *apart[: MOST_ROWS - len(own)]]


def far(row: Judged) -> bool:
    """Whether a change lies wholly beyond a halving or a doubling."""
    ends = [end for end in (row.low, row.high) if end is not None] or ([row.effect] if row.effect is not None else [])
    ratios = [1 + end for end in ends]
    return bool(ratios) and not row.in_points and (max(ratios) <= 1 / FAR or min(ratios) >= FAR)


def _title(scenario: ScenarioView) -> str:
    """The title over the rows of a scenario that judges no patch."""
    if not scenario.unpatched:
        return ""
    return TAKEN_OUT if scenario.altered else UNPATCHED


def lead_row(scenario: ScenarioView, row: Judged) -> LeadRow:
    """The row of a metric. Of a baseline that was altered it says what the alteration costs."""
    turned = bool(scenario.altered) and row.effect is not None and not row.in_points
    shown = formatting.turned(row) if turned else row
    note = contradiction(scenario, row)
    sides = (row.baseline, row.candidate) if scenario.altered else (row.candidate, row.baseline)
    word, look = formatting.verdict(row), formatting.look(row.verdict, row.suggests)
    if turned and row.verdict in (Outcome.IMPROVED, Outcome.REGRESSED):
        word, look = ("costs" if row.verdict == Outcome.IMPROVED else "saves"), "equivalent"
    if note:
        word, look = "contradicted", "inconclusive"
    return LeadRow(
        row=shown,
        name=formatting.label(row.metric),
        where=": ".join(filter(None, (scenario.name, sides[0]))),
        against=sides[1],
        word=word,
        sign="?" if note else "·" if word in ("costs", "saves") else formatting.symbol(row.verdict, row.suggests),
        look=look,
        number=_number(shown),
        interval=_interval(shown),
        detail=formatting.between(shown) if shown.exact and shown.effect and _is_ratio(shown) else "",
        note=note,
        remarks=tuple(_remarks(scenario, row)),
        unlike=row.candidate in dict(scenario.unlike),
        turned=turned,
    )


def _remarks(scenario: ScenarioView, row: Judged) -> Iterator[str]:
    """What keeps a reader from taking the row for more than it is."""
    if row.verdict and row.suggests:
        yield LIKELY
    if other := dict(scenario.unlike).get(row.candidate):
        yield f"not the code alone: {other}"
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


def contradiction(scenario: ScenarioView, row: Judged) -> str:
    """What a repeat of the same definition gave, where it contradicts this verdict: "a repeat (h200_b) gave +2.2 %"; "" otherwise."""
    for repeat in scenario.repeats:
        other = next((each for each in repeat.rows if (each.metric, each.candidate) == (row.metric, row.candidate)), None)
        if other is not None and contradicts(row, other):
            return f"a repeat ({repeat.where}) gave {formatting.change(formatting.turned(other) if scenario.altered else other)}"
    return ""
