"""The lead of a page: the result in a sentence, what was changed, the rows of the figure, and the lines on answers, trust and what next.

Whatever weakens an answer stands here, where it bears on it: an open verdict, a machine that was never tested against itself, its load,
servers that were launched once, trials at two speeds, and a repeat that contradicts. The rest of the page has the details.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from perfproof.model.base.name_lists import few
from perfproof.model.verdicts.judged import OUTCOMES, Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import Lead, LeadLine, LeadRow
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.text import answer_text, lead_rows
from perfproof.report.text.exact_first import exact_first
from perfproof.report.text.headline import MICRO, nouns
from perfproof.report.text.lead_rows import Chosen, contradiction, lead_row
from perfproof.report.text.next_step import next_step
from perfproof.report.text.sentences import in_few_words

MOST_NAMED = 4
"""The most changes that are named, and the most sizes of models."""
_COUNTED = re.compile(r"[\d.]+ [mb]illion parameters")
BUSY = 1.5
"""A load above this multiple of the cores is flagged."""


def lead(page: Page) -> Lead:
    """The lead of a page; on a page without scenarios its headline alone."""
    if not page.scenarios:
        return Lead(result=page.headline, changed="", groups=(), further="", lines=(), level="")
    chosen = lead_rows.chosen(page)
    return Lead(
        result=_result(page, chosen),
        changed=_changed(page),
        groups=(drawn := lead_rows.groups(chosen)),
        further=lead_rows.further(chosen),
        level=lead_rows.level(chosen),
        lines=(_answers(page), _trust(page, {one.note for group in drawn for one in group.rows}), next_step(page)),
    )


# --- the result --------------------------------------------------------------------------------------------------


def _result(page: Page, chosen: Sequence[Chosen]) -> str:
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
        parts.append(
            (exact_first(speed[0][0]) or _told(*speed[0])) + _others(alike) + _beside([pair for pair in speed[1:] if pair not in alike])
        )
    return "; ".join(parts) or page.headline


def _told(scenario: ScenarioView, row: Judged) -> str:
    """The first metric of the figure, with its verdict as a verb."""
    one = lead_row(scenario, row)
    name = one.name[:1].upper() + one.name[1:]
    several = len({each.candidate for each in scenario.primaries}) > 1
    unlike = row.candidate in dict(scenario.unlike)
    name += f" of {row.candidate}" if (several or unlike) and not one.turned else ""
    name += f" against {row.baseline}, with {dict(scenario.unlike)[row.candidate].partition(' (')[0]}," if unlike and not one.turned else ""
    limit = " in a microbenchmark" if nouns(scenario) == MICRO else ""
    if one.note:
        return f"{name} is contradicted{limit}: {one.number} here, but {one.note}"
    if one.word in ("costs", "saves"):
        return f"Without the released change, {name[:1].lower() + name[1:] if not name[:2].isupper() else name}{limit} is {_as_much(one)}"
    word = formatting.verdict(row)
    if row.verdict == Outcome.INCONCLUSIVE:
        return f"{name} is not settled{limit}: {one.number} {one.interval}{', lower is better' if one.row.better == 'lower' else ''}"
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


def _others(rest: Sequence[Chosen]) -> str:
    counts = Counter(lead_row(*pair).word for pair in rest)
    return f"; {', '.join(f'{number} more {word}' for word, number in counts.items())}" if counts else ""


def _beside(rest: Sequence[Chosen]) -> str:
    """The metrics of the figure that the sentence has not counted, where others are of the change itself."""
    out = sum(bool(scenario.altered) for scenario, _ in rest)
    parts = (
        f"; {out} more on a change taken out" if out else "",
        f"; {len(rest) - out} more on releases or settings" if len(rest) > out else "",
    )
    return "".join(parts)


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
    parts = [_named(own), f"released change taken out by {_named(out, described=not own)}" if out else ""]
    if not any(parts):
        arms = next(((row.candidate, row.baseline) for scenario in judged for row in scenario.rows), None)
        parts = [f"{arms[0]} against {arms[1]}"] if arms else []
    text = "; ".join(filter(None, parts))
    begins = text[:1] if text[1:2].isupper() else text[:1].upper()
    return f"{begins}{text[1:]}{base}." if text else ""


def _named(found: Iterable[tuple[str, str]], described: bool = True) -> str:
    """Names of changes, patches and diffs together; the first one with its description."""
    pairs = list(found)
    shown = pairs[:MOST_NAMED]
    names = {
        name: f"{name} ({in_few_words(words)})" if words and described and place == 0 else name for place, (name, words) in enumerate(shown)
    }
    parts = []
    for kind, plural in (("patch ", "patches"), ("diff ", "diffs")):
        own = [name for name, _ in shown if name.startswith(kind)]
        if own:
            parts.append(f"{plural if len(own) > 1 else kind.strip()} {', '.join(names[name].removeprefix(kind) for name in own)}")
    parts += [names[name] for name, _ in shown if not name.startswith(("patch ", "diff "))]
    more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return f"{'; '.join(parts)}{more}"


def _sizes(sizes: Sequence[str]) -> str:
    """Sizes of models, with a unit that they share once: "0.35, 0.6 and 8.2 billion parameters"."""
    units_ = {size.partition(" ")[2] for size in sizes}
    if len(units_) > 1 or not all(_COUNTED.fullmatch(size) for size in sizes):
        return "; ".join([*sizes[:MOST_NAMED], *([f"and {len(sizes) - MOST_NAMED} more"] if len(sizes) > MOST_NAMED else [])])
    numbers = sorted((size.partition(" ")[0] for size in sizes), key=float)
    return f"{formatting.listed(numbers)} {units_.pop()}"


# --- the lines -------------------------------------------------------------------------------------------------------


def _answers(page: Page) -> LeadLine:
    """Whether answers changed, and whose were not compared."""
    return LeadLine(label="Answers", clauses=tuple(answer_text.in_brief(page.scenarios)))


def _trust(page: Page, drawn: Set[str]) -> LeadLine:
    """On what it was measured, and what weakens the verdicts: one clause each. Contradictions that the figure has `drawn` stand there."""
    speed = [scenario for scenario in page.scenarios if not scenario.of_answers] or list(page.scenarios)
    clauses = [(f"{_distinct(each.machine for each in speed)}", False), *_calibrated(page), *_loaded(speed), *_modelled(page)]
    for scenario in speed:
        clauses += [
            (f"{found} for {scenario.name}", True)
            for row in scenario.rows
            if (found := contradiction(scenario, row)) and found not in drawn
        ]
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
        busy = bool(cores and most > BUSY * cores)
        yield f"load up to {units.rough(most, '1')}{f', beyond the {cores} cores' if busy else ''}", busy


def _modelled(page: Page) -> Iterator[tuple[str, bool]]:
    """Whether the model was a real one."""
    of_speed = [scenario for scenario in page.scenarios if scenario.model and not scenario.of_answers]
    found = dict.fromkeys(scenario.model for scenario in of_speed)
    kinds: dict[str, dict[str, None]] = {}
    for scenario in of_speed:
        made_up = "dummy weights" in scenario.model or "toy" in scenario.model
        kinds.setdefault("made-up model" if made_up else "real model", {})[scenario.model_size] = None
    if len(found) == 1:
        yield f"{next(iter(kinds))}: {next(iter(found))}", False
    elif found:
        yield " and ".join(f"{kind}{'s' if len(sizes) > 1 else ''} of {_sizes(list(sizes))}" for kind, sizes in kinds.items()), False
    elif any(nouns(scenario) == MICRO for scenario in page.scenarios):
        yield "no model: microbenchmarks", False
