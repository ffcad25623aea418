"""The words and formatted numbers of the report, written once for all its forms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import ACCURACY, ANSWERS, METRICS, PRINTED, Better, base_name, is_count
from perfproof.model.verdicts.judged import EXPLORATORY, OUTCOMES, Judged, Outcome
from perfproof.report.base import units
from perfproof.report.base.page_model import GrowthView
from perfproof.report.base.units import NONE, THIN

SYMBOLS = {
    "regressed": "✗",
    "untestable": "⊘",
    "inconclusive": "?",
    "improved": "✓",
    "less": "−",
    "equivalent": "=",
    "identical": "≡",
    "suggests": "~",
    None: "·",
}
"""A sign beside each look of a verdict (see `look`), for the eye; the word always stands with it."""
MEANINGS = {
    "improved": "better by at least the margin, and the whole interval lies on the better side of 0",
    "regressed": "worse by at least the margin, and the whole interval lies on the worse side of 0",
    "equivalent": "the change lies inside the margin, with confidence: it does not matter",
    "inconclusive": "the data neither show a change that matters nor rule one out",
    "untestable": "a trial failed, was invalid or unattested, or the arms did unequal work: nothing can be concluded",
}
MORE, OTHER = "more Python work", "other work"
LESS = "less Python work"
"""The word for a count that fell: no improvement by itself."""
NOT_COUNTED = "not counted"
"""The words beside an estimate from blocks that a busy machine spoilt: no verdict rests on it."""
HINT = "likely, not proved: each arm had one server for all blocks, so a lucky or unlucky launch is not ruled out"
"""What a verdict from shared launches is worth."""
_ACRONYMS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2el": "E2EL", "cpu": "CPU", "gpu": "GPU", "kv": "KV"}


def sentence(text: object) -> str:
    """A text from outside as every form of the report shows it: harmless, on one line, with the same minus sign throughout."""
    return units.with_minus(line(text))


def microseconds(text: str) -> str:
    """A sentence about microseconds as a page shows it: "−3 µs [−9, 4]"."""
    return re.sub(r"(?<![\w.-])-(?=\d)", units.MINUS, re.sub(r"\bus\b", "µs", sentence(text)))


def reason(row: Judged) -> str:
    """The reason of a row's verdict without its full stop, for use within a sentence."""
    return re.sub(r"[.\s]+$", "", row.reason) or "no reason was given"


_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|\+00:00)")


def moment(text: str) -> str:
    """A time of a record as people read it, to the minute: "2026-11-28 11:37 UTC"; any other text unchanged."""
    found = _MOMENT.fullmatch(text)
    return f"{found[1]} {found[2]} UTC" if found else text


def whole(value: object) -> str:
    """A number from a file in the report's notation; anything else unchanged."""
    return units.exact(value) if type(value) is int else line(str(value))


def label(metric: str) -> str:
    """A metric's name for people: "median TTFT", "round time, pooler=gritlm, requests=57", "latency (as printed by the command)"."""
    base, _, case = metric.partition("@")
    case = re.sub(r",(?! )", ", ", case)
    if base in PRINTED and case:
        return f"{case} (as printed by the command)"
    name = " ".join(_ACRONYMS.get(part, part) for part in base.split("_"))
    return f"{name}{' in ' if base == ACCURACY else ', '}{case}" if case else name


def listed(names: Sequence[str]) -> str:
    """Names as a list. Accuracy in several tasks lists the tasks once: "accuracy in sums, copying and series".

    Semicolons separate names that hold commas themselves.
    """
    head = f"{label(ACCURACY)} in "
    alike = all(name.startswith(head) for name in names)
    every = [names[0], *(name.removeprefix(head) if alike else name for name in names[1:])]
    comma = "; " if len(every) > 2 and any(", " in name for name in every) else ", "
    return every[0] if len(every) == 1 else f"{comma.join(every[:-1])} and {every[-1]}"


def meaning(metric: str) -> str:
    """What one value of the metric means, from the registry; "" for a metric that is not in it."""
    row = METRICS.get(base_name(metric))
    return row.per if row else ""


def unit_of(metric: str) -> tuple[str, Better]:
    """Unit and direction from the registry; a plain count, lower is better, for names that are not in it."""
    row = METRICS.get(base_name(metric))
    return (row.unit, row.better) if row else ("1", "lower")


def direction(better: Better) -> str:
    return "lower is better ↓" if better == "lower" else "higher is better ↑"


def verdict(row: Judged) -> str:
    """A row's verdict: "improved", "likely improved" where launches were shared, "exploratory" where it is not judged; of a count of the
    host's work what it did."""
    return of_host(row.metric, row.verdict, row.reason) or outcome_word(row.verdict, row.suggests)


def of_host(metric: str, outcome_: Outcome | None, reason_: str) -> str:
    """The word for a verdict on a count of the host's work, "more Python work"; "" for any other metric, and for what any may be."""
    if not is_count(metric):
        return ""
    if outcome_ == Outcome.UNTESTABLE:
        return OTHER if OTHER in reason_ else ""
    return {Outcome.REGRESSED: MORE, Outcome.LESS: LESS}.get(outcome_, "") if outcome_ else ""


def outcome_word(outcome_: Outcome | None, suggests: bool = False) -> str:
    """An outcome's word; see `verdict`."""
    if outcome_ and suggests:
        return f"likely {outcome_}"
    return LESS if outcome_ == Outcome.LESS else outcome_ or EXPLORATORY


def look(outcome_: str | None, suggests: bool = False) -> str:
    """The key of an outcome's colour and sign; a likely verdict never has the colour of a settled one."""
    return "suggests" if outcome_ and suggests else outcome_ or EXPLORATORY


def symbol(outcome_: str | None, suggests: bool = False) -> str:
    return SYMBOLS["suggests" if outcome_ and suggests else outcome_]


def rank(row: Judged) -> int:
    """The sort key of a row's verdict: the most important first."""
    return OUTCOMES.index(row.verdict) if row.verdict else len(OUTCOMES)


def change(row: Judged) -> str:
    """The candidate's change: "+31.2 %"; for counts that did not move "unchanged"; "+31.2 %, not counted" where a busy machine spoilt all
    blocks."""
    if row.effect is None and row.uncounted is not None and row.uncounted.effect is not None:
        return f"{change_of(row, row.uncounted.effect)}, {NOT_COUNTED}"
    if row.effect is None:
        return NONE
    return "unchanged" if row.exact and row.effect == 0 else change_of(row, row.effect)


def change_of(row: Judged, effect: float) -> str:
    """Any change of a row's metric, formatted like the row's own change."""
    text = units.percent(effect, units.places_for(effect))
    return text if text.startswith("×") else with_unit(row, text)


def with_unit(row: Judged, number: str) -> str:
    """A number with the unit of the row's change: per cent, or points where differences are compared."""
    return units.points(number) if row.in_points else f"{number}{THIN}%"


def interval(row: Judged) -> str:
    """The interval in per cent, without its sign: "[+29.8, +32.6]"; "exact" for counts; "" where there is none. Of blocks that do not count
    it is shown too: `change` says so."""
    if row.exact:
        return "exact" if row.effect is not None else ""
    effect_, ends = row.effect, row.interval
    if effect_ is None and row.uncounted is not None:
        effect_, ends = row.uncounted.effect, row.uncounted.interval
    if effect_ is None or ends is None:
        return ""
    return f"[{', '.join(units.percents(*ends, units.places_for(effect_)))}]"


def bound(row: Judged, bound_: float | None) -> str:
    """The one-sided bound that decides whether a drop is equivalent: "decides: at most 1.49 points lost"; "" where the interval decides."""
    if bound_ is None or row.verdict != "equivalent":
        return ""
    return f"decides: at most {units.points(units.percent(max(0.0, -bound_), 2, plus=False))} lost"


def factor(row: Judged) -> str:
    """The change as a factor, where per cent are hard to read; "" where they are not, or where the change is a multiple already."""
    return "" if row.effect is None or row.in_points or row.effect >= units.MOST else units.factor(row.effect)


def margin(row: Judged) -> str:
    if row.margin is None or (row.exact and not row.of_host):
        return NONE
    return f"±{THIN}{with_unit(row, units.percent(row.margin, _few(row.margin), plus=False))}"


def detectable(row: Judged) -> str:
    """The smallest true worsening that this comparison would have seen: "1.4 %", from a doubling on "× 8.9".

    Only for answers that are open or equivalent, where it says what could have been missed; beside a settled change it says nothing.
    """
    return NONE if row.verdict in ("improved", "regressed", "untestable") else reach(row)


def reach(row: Judged) -> str:
    """The same of any row."""
    if row.mde is None or row.exact:
        return NONE
    if row.mde >= 1 and not row.in_points:
        return units.factor(row.mde)
    return with_unit(row, units.percent(row.mde, _few(row.mde), plus=False))


def worsening(row: Judged) -> str:
    """The detectable worsening as a phrase: "a slowdown of 7.8 %", "a loss of 12 %", "a slowdown to 8.9 times the baseline"."""
    what = "drop" if row.in_points else "loss" if row.better == "higher" else "slowdown" if row.unit == "s" else "growth"
    seen = reach(row)
    return f"a {what} to {seen.removeprefix('×').strip(THIN)} times the baseline" if seen.startswith("×") else f"a {what} of {seen}"


def _few(fraction: float) -> int:
    return 0 if fraction >= 0.995 or round(fraction * 100, 6) == round(fraction * 100) else 1 if fraction >= 0.01 else 2


def values(row: Judged) -> tuple[str, str]:
    """The typical values of both arms, in one scale if they are close to each other; counts unrounded."""
    first, second = row.baseline_value, row.candidate_value
    if first is None and second is None and row.uncounted is not None:
        first, second = row.uncounted.baseline_value, row.uncounted.candidate_value
    if row.in_points:
        return (_share(first), _share(second))
    if row.exact and row.unit == "1":
        return (NONE if first is None else units.exact(first), NONE if second is None else units.exact(second))
    return units.pair(first, second, row.unit)


def between(row: Judged) -> str:
    """The values of both arms, "96.85 tok/s → 126.1 tok/s"; a dash where neither is known."""
    first, second = values(row)
    return NONE if first == second == NONE else f"{first} → {second}"


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value * 100:.2f}{THIN}%"


def blocks(count: int) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def counted(row: Judged) -> str:
    """The sample behind a verdict: "9 blocks", for accuracy "1,319 items", for answers compared token by token "24 prompts"."""
    return f"{row.blocks:,} {noun(row).removesuffix('s') if row.blocks == 1 else noun(row)}"


def noun(row: Judged) -> str:
    """The noun of the sample behind a verdict: "blocks", "items", "prompts", "tokens"."""
    if row.metric in ANSWERS:
        return "tokens" if row.metric == "text_perplexity" else "prompts"
    return "items" if row.in_points and row.unit == "1" else "blocks"


def outcome(rows: Sequence[Judged]) -> Outcome:
    """The scenario's outcome: the most important one among its judged primary rows; untestable if there are none.

    *improved* needs every other judged row to be improved or equivalent.
    """
    verdicts = {row.verdict for row in deciding(rows)}
    return next((each for each in OUTCOMES if each in verdicts), Outcome.UNTESTABLE)


def deciding(rows: Sequence[Judged]) -> list[Judged]:
    """The rows that make the outcome: judged primaries, and exact counts that got worse, primary or not."""
    worse = ("regressed", "untestable")
    return [row for row in rows if row.verdict and (row.primary or (row.kind == "witness" and row.verdict in worse))]


def count_word(rows: Sequence[Judged], outcome_: Outcome) -> str:
    """A scenario's outcome in the words of the counts that make it, "more Python work"; "" where a time or another metric makes it too."""
    made = [of_host(row.metric, row.verdict, row.reason) for row in deciding(rows) if row.verdict == outcome_]
    return (made[0] if len(set(made)) == 1 else "") if made else LESS if outcome_ == Outcome.LESS else ""


def suggests(rows: Sequence[Judged], outcome_: Outcome) -> bool:
    """Whether a scenario's outcome is only likely: for *regressed* where all of its rows are, for any other where one is."""
    hints = [row.suggests for row in deciding(rows) if row.verdict == outcome_]
    return bool(hints) and (all(hints) if outcome_ == "regressed" else any(hints))


def growth(view: GrowthView) -> tuple[str, ...]:
    """How each candidate's cost grows with the swept size: "round time: constant in output length, as_released linear in …"."""
    return tuple(f"{view.name}: {claim}" for claim in view.claims)


def of_accuracy(row: Judged) -> bool:
    """Whether a row compares the share of right answers; its reason names the flips and the bound, which the interval does not."""
    return base_name(row.metric) == ACCURACY and bool(row.reason)


def share(value: float | None, interval_: tuple[float, float] | None = None) -> str:
    """A share of a change in per cent, with its interval where the ends are not the share itself; a dash where it is not known."""
    if value is None:
        return NONE
    shown = "" if interval_ is None or interval_[0] == interval_[1] else f" [{', '.join(f'{100 * end:.3g}' for end in interval_)}]"
    return f"{100 * value:.3g} %{shown}"


def work(values: Sequence[float], unit: str) -> str:
    """An exact count in one arm, or the range if its trials differ; bytes also scaled."""
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
    text = last if first == last else f"{first} to {last}"
    return text if last.startswith("×") else f"{text}{THIN}%"


def per_cent(fraction: float) -> str:
    """A change with its sign for per cent, as on an axis or in a tooltip."""
    text = units.percent(fraction, units.places_for(fraction))
    return text if text.startswith("×") else f"{text}{THIN}%"
