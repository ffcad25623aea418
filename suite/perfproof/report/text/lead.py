"""The lead of a page: the result in a sentence, what was changed, the rows of the figure, and the lines on answers, trust and what next.

Whatever weakens an answer stands here, where it bears on it: an open verdict, a machine that was never tested against itself, its load,
servers that were launched once, trials at two speeds, and a repeat that contradicts. The rest of the page has the details.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from perfproof.analysis.judging.repeats import contradicts
from perfproof.model.base.name_lists import few
from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.verdicts.judged import OUTCOMES, Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import Lead, LeadGroup, LeadLine, LeadRow
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.extract import facts
from perfproof.report.text import answer_text
from perfproof.report.text.exact_first import exact_first
from perfproof.report.text.headline import MICRO, nouns

MOST_ROWS = 10
"""The most rows of the figure, the worst first: a first screen has no room for more."""
MOST_NAMED = 4
"""The most changes that are named."""
MOST_WORDS = 24
"""The most words of a description."""
FAR = 2.0
"""Changes whose whole interval lies beyond this ratio, or beyond its inverse, have an axis of their own."""
BUSY = 1.5
"""A load above this multiple of the cores is flagged."""
_BLOCKS = re.compile(r"--blocks (\d+)")
_IN_ALL = re.compile(r"\((\d+) in all(?:, ([^)]*))?\)")
_AGAIN = re.compile(r"--blocks \d+ into another results folder, ([^)]*)\)")


def lead(page: Page) -> Lead:
    """The lead of a page; on a page without scenarios its headline alone."""
    if not page.scenarios:
        return Lead(result=page.headline, changed="", groups=(), further="", lines=())
    chosen = _chosen(page)
    groups, left = _groups(chosen)
    return Lead(
        result=_result(page, chosen),
        changed=_changed(page),
        groups=groups,
        further=_further(left),
        lines=(_answers(page), _trust(page), _next(page)),
    )


# --- the rows ----------------------------------------------------------------------------------------------------


def _chosen(page: Page) -> list[tuple[ScenarioView, Judged]]:
    """The judged primary metrics and the counts that got worse, in the order of the figure: of the change first, the worst first.

    Answers are told in a line of their own; they have rows where one changed or is open, or where nothing else was judged.
    """
    rows = [(scenario, row) for scenario in page.scenarios for row in formatting.deciding(scenario.rows)]
    speed = [pair for pair in rows if not pair[0].of_answers]
    answers = [pair for pair in rows if pair[0].of_answers and (not speed or pair[1].verdict != Outcome.EQUIVALENT)]
    return sorted([*speed, *answers], key=lambda pair: (pair[0].unpatched, formatting.rank(pair[1]), pair[1].exact))


def _groups(chosen: Sequence[tuple[ScenarioView, Judged]]) -> tuple[tuple[LeadGroup, ...], list[LeadRow]]:
    """The rows that are drawn, in groups with an axis each, and those that are left out."""
    rows = [(_title(scenario), lead_row(scenario, row)) for scenario, row in chosen]
    shown = _fair(rows)
    keys = dict.fromkeys((title, far(one.row)) for title, one in shown)
    groups = (
        LeadGroup(title=title, far=beyond, rows=tuple(one for other, one in shown if (other, far(one.row)) == (title, beyond)))
        for title, beyond in keys
    )
    return tuple(groups), [one for _, one in rows if not any(one is other for _, other in shown)]


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
    return "What taking a released change out costs" if scenario.altered else "No patch: releases or settings compared"


def lead_row(scenario: ScenarioView, row: Judged) -> LeadRow:
    """The row of a metric. Of a baseline that was altered it says what the alteration costs."""
    turned = bool(scenario.altered) and row.effect is not None and not row.in_points
    shown = formatting.turned(row) if turned else row
    note = contradiction(scenario, row)
    side = row.baseline if scenario.altered else row.candidate
    word, look = formatting.verdict(row), formatting.look(row.verdict, row.suggests)
    if turned and row.verdict in (Outcome.IMPROVED, Outcome.REGRESSED):
        word, look = ("costs" if row.verdict == Outcome.IMPROVED else "saves"), "equivalent"
    if note:
        word, look = "contradicted", "inconclusive"
    return LeadRow(
        row=shown,
        name=formatting.label(row.metric),
        where=f"{scenario.name}{f', {side}' if side else ''}",
        word=word,
        sign="?" if note else "·" if word in ("costs", "saves") else formatting.symbol(row.verdict, row.suggests),
        look=look,
        number=_number(shown),
        interval=_interval(shown),
        detail=" → ".join(formatting.values(shown)) if shown.exact and shown.effect and _is_ratio(shown) else "",
        note=note,
        turned=turned,
    )


def _is_ratio(row: Judged) -> bool:
    """Whether a change is a ratio of two values, none of them 0."""
    return row.effect is not None and -1 < row.effect < float("inf")


def _number(row: Judged) -> str:
    """The change of a row, as a multiple where it lies far off; of a count that came from nothing or is gone its two values."""
    if row.metric in ANSWERS and row.in_points and (share := formatting.values(row)[1]) != units.NONE:
        return f"{share} identical"
    if row.exact and row.effect is not None and not _is_ratio(row):
        return " → ".join(formatting.values(row))
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


def _further(left: Sequence[LeadRow]) -> str:
    """The metrics that the figure has no room for: "and 7 more below: 1 equivalent, 6 improved"."""
    if not left:
        return ""
    counts = Counter(one.word for one in left)
    return f"and {len(left)} more below: {', '.join(f'{number} {word}' for word, number in counts.items())}"


# --- the result --------------------------------------------------------------------------------------------------


def _result(page: Page, chosen: Sequence[tuple[ScenarioView, Judged]]) -> str:
    """The page in one sentence: answers that changed, the most important metric with its number, and how many more there are."""
    compared = [scenario for scenario in page.scenarios if scenario.of_answers and not scenario.itself]
    speed = [pair for pair in chosen if not pair[0].of_answers and not pair[0].itself]
    worst = next((each for each in OUTCOMES if any(scenario.outcome == each for scenario in compared)), None)
    parts = []
    if worst is not None and (worst != Outcome.EQUIVALENT or not speed):
        parts.append(
            answer_text.HEADS[worst] if worst != Outcome.EQUIVALENT else answer_text.head(compared).partition(":")[0].partition(".")[0]
        )
    if speed:
        alike = [pair for pair in speed[1:] if pair[0].unpatched == speed[0][0].unpatched]
        parts.append((exact_first(speed[0][0]) or _told(*speed[0])) + _others(alike))
    return "; ".join(parts) or page.headline


def _told(scenario: ScenarioView, row: Judged) -> str:
    """The first metric of the figure, with its verdict as a verb."""
    one = lead_row(scenario, row)
    name = one.name[:1].upper() + one.name[1:]
    several = len({each.candidate for each in scenario.primaries}) > 1
    name += f" of {row.candidate}" if several and not one.turned else ""
    limit = " in a microbenchmark" if nouns(scenario) == MICRO else ""
    if one.note:
        return f"{name} is contradicted{limit}: {one.number} here, but {one.note}"
    if one.word in ("costs", "saves"):
        return f"Without the released change, {name[:1].lower() + name[1:] if not name[:2].isupper() else name}{limit} is {_as_much(one)}"
    word = formatting.verdict(row)
    if row.verdict == Outcome.INCONCLUSIVE:
        return f"{name} is not settled{limit}: {one.number} {one.interval}"
    if row.verdict == Outcome.EQUIVALENT:
        return f"{name} did not change by more than {formatting.margin(row).removeprefix('±').strip(units.THIN)}{limit}"
    if row.verdict == Outcome.UNTESTABLE:
        return f"{name} could not be tested{limit}"
    if row.verdict in (Outcome.IMPROVED, Outcome.REGRESSED) and not formatting.of_host(row.metric, row.verdict, row.reason):
        return f"{name} {word}{limit}: {one.number}"
    return f"{name}{limit}: {word}, {one.number}"


def _as_much(one: LeadRow) -> str:
    """How much a metric is without the released change: "× 3.15", "12 % higher", "57 instead of 0"."""
    if "→" in one.number:
        before, after = one.number.split(" → ")
        return f"{after} instead of {before}"
    return formatting.factor(one.row) or one.number


def _others(rest: Sequence[tuple[ScenarioView, Judged]]) -> str:
    counts = Counter(lead_row(*pair).word for pair in rest)
    return f"; {', '.join(f'{number} more {word}' for word, number in counts.items())}" if counts else ""


# --- what was changed ------------------------------------------------------------------------------------------------


def _changed(page: Page) -> str:
    """What was changed, in a sentence: the patches, diffs, builds or settings, the first one with its description."""
    judged = [scenario for scenario in page.scenarios if not scenario.itself]
    if not judged:
        return "Nothing: the baseline was run against itself, which tests the machine."
    own = dict.fromkeys(pair for scenario in judged if not scenario.altered for pair in scenario.changed)
    out = dict.fromkeys(pair for scenario in judged if scenario.altered for pair in scenario.changed)
    releases = list(dict.fromkeys(arm.version.partition("+")[0] for scenario in judged for arm in scenario.arms if arm.version))
    base = f", on vLLM {releases[0]}" if len(releases) == 1 else ""
    parts = [_named(own), f"taken out: {_named(out, described=not own)}" if out else ""]
    if not any(parts):
        arms = next(((row.candidate, row.baseline) for scenario in judged for row in scenario.rows), None)
        parts = [f"{arms[0]} against {arms[1]}"] if arms else []
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}{base}." if text else ""


def _named(found: Iterable[tuple[str, str]], described: bool = True) -> str:
    """Names of changes, patches and diffs together; the first one with its description."""
    pairs = list(found)
    shown = pairs[:MOST_NAMED]
    names = {name: f"{name} ({_short(words)})" if words and described and place == 0 else name for place, (name, words) in enumerate(shown)}
    parts = []
    for kind, plural in (("patch ", "patches"), ("diff ", "diffs")):
        own = [name for name, _ in shown if name.startswith(kind)]
        if own:
            parts.append(f"{plural if len(own) > 1 else kind.strip()} {', '.join(names[name].removeprefix(kind) for name in own)}")
    parts += [names[name] for name, _ in shown if not name.startswith(("patch ", "diff "))]
    more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return f"{'; '.join(parts)}{more}"


def _short(words: str) -> str:
    each = words.split()
    text = " ".join(each[:MOST_WORDS]) + (" …" if len(each) > MOST_WORDS else "")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


# --- the lines -------------------------------------------------------------------------------------------------------


def _answers(page: Page) -> LeadLine:
    """Whether answers changed, and whose were not compared."""
    return LeadLine(label="Answers", clauses=tuple(answer_text.in_brief(page.scenarios)))


def _trust(page: Page) -> LeadLine:
    """On what it was measured, and what weakens the verdicts: one clause each."""
    speed = [scenario for scenario in page.scenarios if not scenario.of_answers] or list(page.scenarios)
    clauses = [(f"{_distinct(each.machine for each in speed)}", False), *_calibrated(page), *_loaded(speed), *_modelled(page)]
    for scenario in speed:
        clauses += [(f"{found} for {scenario.name}", True) for row in scenario.rows if (found := contradiction(scenario, row))]
    shared = [
        scenario.name
        for scenario in speed
        if scenario.shared and any(row.verdict not in (None, Outcome.UNTESTABLE) for row in scenario.primaries)
    ]
    if shared:
        clauses.append((f"one server per arm for all blocks{_in(shared, speed)}: a lucky launch is not ruled out", True))
    clauses += [(clause, True) for scenario in speed for clause in scenario.speeds]
    clauses += [(clause, True) for scenario in speed for *_, clause in scenario.swayed]
    return LeadLine(label="Trust", clauses=tuple(dict.fromkeys((text, flag) for text, flag in clauses if text)))


def _distinct(texts: Iterator[str]) -> str:
    found = list(dict.fromkeys(filter(None, texts)))
    return (
        found[0] if len(found) == 1 else f"{len(found)} machines ({'; '.join(found[:2])}{' …' if len(found) > 2 else ''})" if found else ""
    )


def _in(names: Sequence[str], every: Sequence[ScenarioView]) -> str:
    return "" if len(names) == len(every) else f" ({', '.join(names[:2])}{f' and {len(names) - 2} more' if len(names) > 2 else ''})"


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
        yield f"load up to {units.rough(most, '1')}", bool(cores and most > BUSY * cores)


def _modelled(page: Page) -> Iterator[tuple[str, bool]]:
    """Whether the model was a real one."""
    found = dict.fromkeys(scenario.model for scenario in page.scenarios if scenario.model and not scenario.of_answers)
    kinds = dict.fromkeys("made-up model" if "dummy weights" in each or "toy" in each else "real model" for each in found)
    if found:
        yield f"{' and '.join(kinds)}{f': {next(iter(found))}' if len(found) == 1 else ''}", False
    elif any(nouns(scenario) == MICRO for scenario in page.scenarios):
        yield "no model: microbenchmarks", False


# --- what next ---------------------------------------------------------------------------------------------------------


def _next(page: Page) -> LeadLine:
    """The next step, with the command for it: the first that applies of repeat, calibrate, more blocks, fresh servers; or none."""
    words, command = _step(page)
    return LeadLine(label="Next", clauses=((words, False),), command=command)


def _step(page: Page) -> tuple[str, str]:
    if page.decision is not None and page.decision.todo:
        return page.decision.todo[0].rstrip("."), ""
    scenarios = [scenario for scenario in page.scenarios if scenario.commands]
    for place, scenario in enumerate(scenarios):
        steps = (test(page, scenario) for test in (_repeated, _distrusted, _untested, _opened, _hinted, _uncalibrated))
        if step := next(filter(None, steps), None):
            return step
        if place == 0 and scenario.outcome == Outcome.REGRESSED:
            return "nothing to measure: the regression is settled", ""
    return "nothing: settled", ""


def _repeated(_: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    if any(contradiction(scenario, row) for row in scenario.rows):
        return "measure a third time, on a quiet machine: two runs contradict each other", scenario.commands[0]
    return None


def _distrusted(_: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    return (
        (f"find what disturbs the machine, then measure {scenario.name} again", scenario.commands[0]) if scenario.trust.distrust else None
    )


def _untested(_: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    row = next((row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.UNTESTABLE), None)
    if scenario.rows and row is None:
        return None
    why = formatting.reason(row) if row else "no metric was compared"
    return f"mend the cause, then measure {scenario.name} again ({_short(why)})", scenario.commands[0]


def _opened(page: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    """More blocks; where one block decides the estimate, nobody can say how many."""
    open_ = [row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.INCONCLUSIVE]
    if not open_:
        return None
    if scenario.of_answers:
        return f"ask more items or prompts in {scenario.name}, which is open", scenario.commands[0]
    swayed = next(
        (block for metric, candidate, block in scenario.swayed if any((row.metric, row.candidate) == (metric, candidate) for row in open_)),
        "",
    )
    if swayed:
        return (
            f"measure {scenario.name} again: a single block decides its estimate, so how many would settle it is not known",
            scenario.commands[0],
        )
    needed = max((found for row in open_ if (found := blocks_needed(row))), default=None)
    if needed is None:
        return f"measure more blocks of {scenario.name}, or on a quieter machine", scenario.commands[0]
    blocks, time, fresh = needed
    command = re.sub(r" --blocks \d+", "", scenario.commands[0]) + f" --blocks {blocks}"
    command = command if fresh else command.replace(f"--results {facts.AGAIN}", f"--results {page.results}")
    return f"measure {blocks} blocks of {scenario.name}{f' ({time})' if time else ''}, which would settle it", command


def blocks_needed(row: Judged) -> tuple[int, str, bool] | None:
    """How many blocks in all would settle an open verdict, how long they take, and whether all are measured again; None if not known."""
    if again := _BLOCKS.search(row.reason):
        time = _AGAIN.search(row.reason)
        return int(again[1]), time[1] if time else "", True
    if more := _IN_ALL.search(row.reason):
        return int(more[1]), more[2] or "", False
    return None


def _hinted(_: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    if not any(row.suggests for row in scenario.primaries):
        return None
    command = re.sub(r"--profile \S+", "--profile standard", re.sub(r" --blocks \d+", "", scenario.commands[0]))
    return f"prove {scenario.name} with a fresh server for every trial", command


def _uncalibrated(_: Page, scenario: ScenarioView) -> tuple[str, str] | None:
    return ("calibrate: run the baseline against itself on this machine", scenario.trust.command) if scenario.trust.command else None
