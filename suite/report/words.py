"""Every sentence and every formatted number of the report, said once for all its forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from suite.analysis.words import folded
from suite.model.judged import EXPLORATORY, OUTCOMES, Judged, Outcome
from suite.model.metrics import ANSWERS, METRICS, Better, base_name
from suite.report import units
from suite.report.nouns import GrowthView, ScenarioView, TrialView
from suite.report.units import NONE, THIN

SYMBOLS = {"regressed": "✗", "untestable": "⊘", "inconclusive": "?", "improved": "✓", "equivalent": "=", None: "·"}
"""A sign beside each outcome's word, for the eye; the word always stands with it."""
MEANINGS = {
    "improved": "better by at least the margin, and the interval excludes no change",
    "regressed": "worse by at least the margin, and the interval excludes no change",
    "equivalent": "the change lies inside the margin, with confidence: shown not to matter",
    "inconclusive": "the data neither show a change that matters nor rule one out: not good news, not bad news, no news",
    "untestable": "a trial failed, was invalid or unattested, or the arms did unequal work: nothing may be concluded",
}
ITSELF = " against itself"
"""What follows the name of an A/A: it judges no change, but the machine."""
MOST_CLAIMS = 8
"""Metrics in an answer's sentence; where there are more, those that a reader must not miss come first."""
_ACRONYMS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2el": "E2EL", "cpu": "CPU"}


def label(metric: str) -> str:
    """A metric's name for people: "median TTFT", "round time, output_length=16000"."""
    base, _, case = metric.partition("@")
    name = " ".join(_ACRONYMS.get(part, part) for part in base.split("_"))
    return f"{name}, {case}" if case else name


def meaning(metric: str) -> str:
    """What one value of the metric is, from the registry; "" for a metric that is not in it."""
    row = METRICS.get(base_name(metric))
    return row.per if row else ""


def unit_of(metric: str) -> tuple[str, Better]:
    """Unit and direction from the registry; a plain count, lower is better, for names that are not in it."""
    row = METRICS.get(base_name(metric))
    return (row.unit, row.better) if row else ("1", "lower")


def direction(better: Better) -> str:
    return "lower is better ↓" if better == "lower" else "higher is better ↑"


def verdict(row: Judged) -> str:
    return row.verdict or EXPLORATORY


def rank(row: Judged) -> int:
    """The place of a row's verdict when sorted: what a reader must not miss first."""
    return OUTCOMES.index(row.verdict) if row.verdict else len(OUTCOMES)


def change(row: Judged) -> str:
    """The candidate's change: "+31.2 %"; for counts that did not move "unchanged"."""
    if row.effect is None:
        return NONE
    if row.exact and row.effect == 0:
        return "unchanged"
    return f"{units.percent(row.effect, units.places_for(row.effect))}{_sign(row)}"


def _sign(row: Judged) -> str:
    """What stands behind a change: per cent, or points for what is compared by its difference."""
    return f"{THIN}{'points' if row.in_points else '%'}"


def interval(row: Judged) -> str:
    """The interval in per cent, without its sign: "[+29.8, +32.6]"; "exact" for counts; "" where there is none."""
    if row.exact:
        return "exact" if row.effect is not None else ""
    if row.low is None or row.high is None or row.effect is None:
        return ""
    places = units.places_for(row.effect)
    return f"[{units.percent(row.low, places)}, {units.percent(row.high, places)}]"


def factor(row: Judged) -> str:
    return "" if row.effect is None or row.in_points else units.factor(row.effect)


def margin(row: Judged) -> str:
    return NONE if row.margin is None or row.exact else f"±{THIN}{units.percent(row.margin, _few(row.margin), plus=False)}{_sign(row)}"


def detectable(row: Judged) -> str:
    """The smallest true worsening that this comparison would have seen: "1.4 %"."""
    return NONE if row.mde is None or row.exact else f"{units.percent(row.mde, _few(row.mde), plus=False)}{_sign(row)}"


def _few(fraction: float) -> int:
    return 0 if fraction >= 0.995 or round(fraction * 100, 6) == round(fraction * 100) else 1 if fraction >= 0.01 else 2


def values(row: Judged) -> tuple[str, str]:
    """The arms' typical values, in one scale if they are near each other; counts unrounded."""
    first, second = row.baseline_value, row.candidate_value
    if row.in_points:
        return (_share(first), _share(second))
    if row.exact and row.unit == "1":
        return (NONE if first is None else units.exact(first), NONE if second is None else units.exact(second))
    return units.pair(first, second, row.unit)


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value * 100:.2f}{THIN}%"


def blocks(count: int) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def counted(row: Judged) -> str:
    """What the verdict rests on: "9 blocks", or for answers "1,319 items", for those that are compared word by word "24 prompts"."""
    if row.metric in ANSWERS:
        return f"{row.blocks:,} {'token' if row.metric == 'text_perplexity' else 'prompt'}{'' if row.blocks == 1 else 's'}"
    answers = row.in_points and row.unit == "1"
    return f"{row.blocks:,} item{'' if row.blocks == 1 else 's'}" if answers else blocks(row.blocks)


def outcome(rows: Sequence[Judged]) -> Outcome:
    """The scenario's outcome: that of its judged primary rows which a reader must not miss; untestable if there are none.

    *improved* needs every other judged row to be improved or equivalent.
    """
    found = {row.verdict for row in _deciding(rows)}
    return next((each for each in OUTCOMES if each in found), Outcome.UNTESTABLE)


def _deciding(rows: Sequence[Judged]) -> list[Judged]:
    """The rows that make the outcome: judged primaries, and witnesses that got worse whether primary or not."""
    return [row for row in rows if row.verdict and (row.primary or (row.exact and row.verdict in ("regressed", "untestable")))]


def answer(name: str, rows: Sequence[Judged], growths: Sequence[GrowthView] = ()) -> str:
    """The scenario's one sentence: "penalties: output throughput +31.2 % [+29.8, +32.6], 6 blocks; …", growth of primary metrics last."""
    told = [row for row in rows if row.verdict and (row.primary or row.exact)]
    if not _deciding(rows):
        return f"{name}: nothing could be judged; there is no comparison of a primary metric"
    several = len({row.candidate for row in told}) > 1
    shown = told if len(told) <= MOST_CLAIMS else sorted(told, key=rank)[:MOST_CLAIMS]
    more = [f"and {len(told) - len(shown)} more, in the table"] if len(told) > len(shown) else []
    primary = {base_name(row.metric) for row in rows if row.primary} - {
        base_name(row.metric) for row in rows if row.verdict == "untestable"
    }
    grown = [told for view in growths if view.metric in primary for told in growth(view)]
    return f"{name}: {'; '.join([*(claim(row, several) for row in shown), *more, *grown])}"


def growth(view: GrowthView) -> tuple[str, ...]:
    """How each candidate's cost grows with the swept size: "round time: constant in output length, as_released linear in …"."""
    return tuple(f"{view.name}: {claim}" for claim in view.claims)


def check(name: str, outcome_: Outcome, rows: Sequence[Judged]) -> str:
    """An A/A's one sentence: whether the baseline differs from itself, which is a fault of the machine and no merit of a patch."""
    moved = [row for row in rows if row.primary and row.verdict in ("regressed", "improved")]
    head = f"{name}, the baseline against itself (an A/A, no patch is judged here)"
    if moved:
        said = "; ".join(f"{label(row.metric)} {change(row)} {interval(row)}" for row in moved)
        return f"{head}: it differs from itself ({said}): times on this machine are not to be believed"
    said = "; ".join(claim(row) for row in rows if row.primary and row.verdict)
    found = "no difference where there is none" if outcome_ == "equivalent" else f"{outcome_}, so the machine is not vouched for"
    return f"{head}: {found}{f': {said}' if said else ''}"


def claim(row: Judged, name_candidate: bool = False) -> str:
    """What one row says, in words; bad news and no news say so."""
    who = f"{label(row.metric)} of {row.candidate}" if name_candidate else label(row.metric)
    if row.verdict == "untestable":
        return f"{who} could not be tested ({row.reason or 'no reason was given'})"
    if row.metric in ANSWERS:
        return f"{who}: {row.reason}"
    times = f" ({factor(row)})" if factor(row) else ""
    if row.exact:
        return f"{who} {change(row)}{times}, counted exactly"
    said = f"{who} {change(row)}{times} {interval(row)}, {counted(row)}"
    if row.verdict == "inconclusive":
        return f"{said}: inconclusive{_would_see(row)}"
    if row.verdict == "equivalent":
        return f"{said}: no change beyond {margin(row)}"
    return said


def _would_see(row: Judged) -> str:
    return "" if row.mde is None else f", a worsening under {detectable(row)} could have gone unseen"


def headline(scenarios: Sequence[ScenarioView]) -> str:
    """The page's first line, worst news first: "1 scenario regressed, 2 improved, 1 inconclusive"."""
    if not scenarios:
        return "There are no records to judge"
    if len(scenarios) == 1:
        return f"{scenarios[0].name}{ITSELF if scenarios[0].itself else ''} {_is(scenarios[0].outcome, 1)}"
    counts = Counter(scenario.outcome for scenario in scenarios)
    parts = [f"{counts[each]} {_is(each, counts[each])}" for each in OUTCOMES if counts[each]]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    checks = sum(scenario.itself for scenario in scenarios)
    which = f" ({checks} of them the baseline against itself)" if checks else ""
    return f"Of {len(scenarios)} scenarios{which}, {listed}"


def _is(result: Outcome, count: int) -> str:
    return result if result in ("improved", "regressed") else f"{'is' if count == 1 else 'are'} {result}"


def unjudged(rows: Sequence[Judged], trials: Sequence[TrialView]) -> tuple[str, ...]:
    """What could not be judged and why, and every trial that does not count; never empty when something is amiss."""
    told = [
        f"{label(row.metric)} ({row.candidate}): {row.verdict}; {_why(row)}"
        for row in rows
        if row.verdict in ("untestable", "inconclusive")
    ]
    if not any(row.verdict and row.primary for row in rows):
        told.insert(0, "no primary metric was judged")
    return (*told, *spoilt(trials))


def spoilt(trials: Sequence[TrialView]) -> Iterable[str]:
    """The trials that do not count, by arm, status and reason, with their blocks; reasons that differ in their numbers alone are one."""
    amiss = [trial for trial in trials if not trial.ok]
    one_for = folded(trial.reason for trial in amiss)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for trial in amiss:
        groups.setdefault((trial.arm, trial.status, one_for[trial.reason]), []).append(trial.block)
    for (arm, status, reason), found in groups.items():
        where = ", ".join(map(str, dict.fromkeys(found)))
        several = "" if len(found) == 1 else "s"
        yield f"{len(found)} trial{several} of {arm} {status} (block {shortened(where)}): {reason or 'no reason was given'}"


def _why(row: Judged) -> str:
    return re.sub(r"[.\s]+$", "", row.reason) or "no reason was given"


def shortened(listed: str, most: int = 80) -> str:
    return listed if len(listed) <= most else f"{listed[:most].rpartition(',')[0]}, …"


def work(values: Sequence[float], unit: str) -> str:
    """A witness in one arm: the exact count, or the range if its trials differ; bytes also scaled."""
    if not values:
        return NONE
    text = units.exact(values[0]) if len(values) == 1 else f"{units.exact(values[0])} to {units.exact(values[-1])}"
    if unit == "B":
        scaled = f" ({units.quantity(values[0], 'B')})" if len(values) == 1 and abs(values[0]) >= 1024 else ""
        return f"{text}{THIN}B{scaled}"
    return text if unit == "1" else f"{text}{THIN}{unit}"


def span(changes: Sequence[float]) -> str:
    """Several changes as a range: "+3.1 to +9.0 %"."""
    low, high = min(changes), max(changes)
    places = min(units.places_for(low), units.places_for(high))
    first, last = units.percent(low, places), units.percent(high, places)
    return f"{last}{THIN}%" if first == last else f"{first} to {last}{THIN}%"


def per_cent(fraction: float) -> str:
    """A change on its own, as marked on an axis or said when pointed at."""
    return f"{units.percent(fraction, units.places_for(fraction))}{THIN}%"
