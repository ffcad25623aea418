"""The folded part of a pull request's comment: what its open part leaves out, nothing said twice, each part droppable by itself.

Numbers of trials are lists and not tables, what scenarios share is said once, and what the HTML report tells better is left to it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from perfproof.model.base.name_lists import few as few_names
from perfproof.model.base.untrusted import shorten
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.cause_model import BlameView
from perfproof.report.base.page_model import ExposureView, Fact, Page, ScenarioView
from perfproof.report.formats.markdown import LONGEST, escape, fence, few, table, verdict_of
from perfproof.report.text import answer_text, exclusions, sentences, table_headers, word_list
from perfproof.report.text.shown_rows import shown as displayed

MOST_VERDICTS = 100
MOST_COLUMNS = 6
"""The most metrics of a scenario whose raw values are listed."""
MOST_SPOILT = 4
"""The most reasons why trials do not count."""
MOST_SCENARIOS = 4
"""The most scenarios that a line of several names."""
LONG = 160
"""The most characters of a fact about the machine."""
MOST_BLAMED = 6
"""The most functions of a blame that are named."""
Part = tuple[str, str]
"""A title and a text."""


def parts(page: Page, told: Sequence[Judged], head: str) -> Iterator[Part]:
    """The parts in the order of their worth. The rows that the open part has `told` are not told again; `head` is its text."""
    found = list(_parts(page, told))
    yield from found
    said = "\n".join([head, *(text for _, text in found)]).lower()
    terms = [(term, meaning) for term, meaning in word_list.general(page) if any(each in said for each in _heads(term))]
    if page.scenarios:
        yield "What the words mean", "\n".join(f"- **{escape(term)}**: {escape(meaning)}" for term, meaning in terms)


def _heads(term: str) -> list[str]:
    """The words that a line of the glossary explains."""
    return [each.strip().lower() for each in re.split(r"[,;()]", term) if each.strip()]


def _parts(page: Page, told: Sequence[Judged]) -> Iterator[Part]:
    verdicts = _verdicts(page, told)
    if verdicts or page.scenarios:
        title = "The other verdicts, caveats and warnings" if told else "Every verdict, caveats and warnings"
        yield title, "\n\n".join([*verdicts, *_remarks(page)])
    for view in page.blames:
        yield f"What brings the change of {view.scenario}", _blame(view)
    if page.exposures:
        yield "What host time is worth", "\n".join(_exposure(view) for view in page.exposures)
    for scenario in page.scenarios:
        if columns := _columns(scenario):
            yield f"Raw values: {scenario.name}", _raw(scenario, columns)
    if worked := list(_work(page.scenarios)):
        yield "Work done, counted exactly", "\n".join(worked)
    if ran := list(_ran(page.scenarios)):
        yield "What ran in each arm", "\n".join(ran)
    if commands := list(_commands(page.scenarios)):
        yield "Commands", fence("\n".join(commands))
    if facts := [fact for fact in page.machine if _tells(fact)]:
        yield "Machine and packages", "\n".join(_fact(fact) for fact in facts)


# --- verdicts ------------------------------------------------------------------------------------------------------


def _verdicts(page: Page, told: Sequence[Judged]) -> list[str]:
    every = [(one, row) for one in page.scenarios for row in (*one.rows, *(each for each in one.worse if each in one.unlisted))]
    rows = [pair for pair in every if not any(pair[1] is row for row in told) and not _told_below(*pair)]
    if not rows:
        return []
    with_verdict = [row for row in rows if row[1].verdict]
    shown = (with_verdict + [row for row in rows if not row[1].verdict])[:MOST_VERDICTS]
    judged = [displayed(scenario, row).row for scenario, row in shown]
    numbers = ("baseline", "candidate", "change", table_headers.interval(judged), "margin", "detectable", table_headers.counted(judged))
    cells = (_cells(scenario, row, count) for (scenario, row), count in zip(shown, table_headers.counts(judged), strict=True))
    laid = table(("scenario", "metric", *numbers, "verdict"), "llrrrrrrrl", cells)
    return [laid] if len(rows) <= MOST_VERDICTS else [laid, f"{len(rows) - MOST_VERDICTS} further metrics are in the HTML report."]


def _told_below(scenario: ScenarioView, row: Judged) -> bool:
    """Whether a line about answers says all of a row: that they are the same."""
    return scenario.of_answers and row.verdict == Outcome.EQUIVALENT and bool(sentences.on_answers([row]))


def _cells(scenario: ScenarioView, row: Judged, count: str) -> Sequence[str]:
    one = displayed(scenario, row)
    first, second = formatting.values(one.row)
    several = len({each.candidate for each in scenario.rows}) > 1
    arm = f" ({escape(row.candidate)})" if several else ""
    change = formatting.change(one.row) + (f" ({formatting.factor(one.row)})" if formatting.factor(one.row) else "")
    return (
        escape(scenario.name),
        f"{escape(formatting.label(row.metric))}\u00a0{'↓' if row.better == 'lower' else '↑'}{arm}",
        *(first, second, f"**{change}**" if row.primary else change, formatting.interval(one.row) or units.NONE),
        formatting.margin(row),
        formatting.detectable(row),
        count,
        verdict_of(one),
    )


def _remarks(page: Page) -> Iterator[str]:
    """Answers, caveats, growth, trials that do not count, and warnings; a caveat of several scenarios once."""
    yield from _listed("Answers", _shared((one.name, told) for one in page.scenarios for told in _answers(one)))
    yield from _listed("Caveats", _shared((scenario.name, each) for scenario in page.scenarios for each in scenario.provisos))
    views = ((scenario, view) for scenario in page.scenarios for view in scenario.growths)
    yield from _listed("Growth with the size", (f"{one.name}: {told}" for one, view in views for told in formatting.growth(view)))
    spoilt = ((one.name, each) for one in page.scenarios for each in exclusions.spoilt(one.trials))
    yield from _listed("Not counted", _shared(spoilt), MOST_SPOILT)
    warned = _shared((one.name, each) for one in page.scenarios for each in one.warnings)
    yield from _listed("Warnings", (*page.warnings, *warned))


def _answers(scenario: ScenarioView) -> list[str]:
    """What is said of answers; in short where none differs."""
    same = answer_text.unchanged(scenario) and all(row.verdict in (None, Outcome.EQUIVALENT) for row in scenario.rows)
    return answer_text.claims(scenario) if same else sentences.on_answers(scenario.rows)


def _listed(title: str, texts: Iterable[str], most: int = 30) -> Iterator[str]:
    if found := [f"- {shorten(escape(each), LONGEST)}" for each in texts]:
        yield f"**{title}**\n\n" + few(found, most)


def _shared(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Every text once, with the names that it is said of."""
    names: dict[str, list[str]] = {}
    for name, text in pairs:
        names.setdefault(text, []).append(name)
    return (f"{few_names(list(dict.fromkeys(of)), MOST_SCENARIOS)}: {text}" for text, of in names.items())


# --- blame and exposure --------------------------------------------------------------------------------------------


def _blame(view: BlameView) -> str:
    """Who brings the change, and whether the diff that takes it back does."""
    lines = [f"{escape(f'{view.builds[0]} to {view.builds[1]}, {view.metric}')}: {escape(' to '.join(view.values))}", ""]
    for one in view.guilty[:MOST_BLAMED]:
        known = f"; {one.known}" if one.known else ""
        named = f"{one.function or one.file} ({one.file}, lines {one.hunks or one.lines}){known}"
        lines.append(f"- **{escape(formatting.share(one.share, one.interval))}** {escape(named)}")
    lines += [f"- and {len(view.guilty) - MOST_BLAMED} more"] if len(view.guilty) > MOST_BLAMED else []
    lines += ["", f"With these taken back: {escape(view.answer)}"] if view.answer else []
    return "\n".join(lines)


def _exposure(view: ExposureView) -> str:
    return f"- {escape(view.scenario)}: {escape('; '.join(view.told))}"


# --- trials, work, arms --------------------------------------------------------------------------------------------


def _columns(scenario: ScenarioView) -> list[tuple[str, str]]:
    """The primary metrics with values in trials, and their units. Answers are shown by item and prompt, not by trial."""
    if scenario.of_answers:
        return []
    kept = {name for trial in scenario.trials for name in trial.values}
    named = dict.fromkeys((row.metric, row.unit) for row in scenario.rows if row.primary and not row.exact and row.metric in kept)
    return list(named)[:MOST_COLUMNS]


def _raw(scenario: ScenarioView, columns: Sequence[tuple[str, str]]) -> str:
    """Every trial's value of the primary metrics, a line for each arm in the order of blocks; values that do not count are in brackets."""
    return "\n".join(_values(scenario, name, unit, arm.name) for name, unit in columns for arm in scenario.arms)


def _values(scenario: ScenarioView, name: str, unit: str, arm: str) -> str:
    scale = units.scale((trial.values[name] for trial in scenario.trials if name in trial.values), unit)
    own = [trial for trial in scenario.trials if trial.arm == arm]
    told = (scale.number(trial.values[name]) if name in trial.values else units.NONE for trial in own)
    shown = (text if trial.ok else f"({text} {trial.status} in block {trial.block})" for text, trial in zip(told, own, strict=True))
    head = f"{formatting.label(name)}, {arm}{f', {scale.name}' if scale.name else ''}"
    return f"- {escape(head)}: {escape(' · '.join(shown))}"


def _work(scenarios: Sequence[ScenarioView]) -> Iterator[str]:
    """The exact counts of every scenario, and whether the work that arms share was equal; scenarios with the same counts together."""
    yield from (f"- {escape(each)}" for each in _shared((one.name, told) for one in scenarios for told in _counts(one)))


def _counts(scenario: ScenarioView) -> Iterator[str]:
    arms = [arm.name for arm in scenario.arms]
    for each in scenario.witnesses:
        pairs = (f"{arm} {formatting.work(values, each.unit)}" for arm, values in zip(arms, each.values, strict=True))
        yield f"{formatting.label(each.name)}: {', '.join(pairs)}"
    for shared in scenario.work:
        if shared.unequal:
            yield f"{formatting.label(shared.name)}: UNEQUAL in block {', '.join(map(str, shared.unequal))}"
    if scenario.work and not any(each.unequal for each in scenario.work):
        yield "the work that arms share was equal in every block"


def _ran(scenarios: Sequence[ScenarioView]) -> Iterator[str]:
    """What differs between the arms, by scenario, and what was the same in all arms of several scenarios once."""
    same = _shared(
        (scenario.name, f"{fact.name} {fact.values[0]}")
        for scenario in scenarios
        for fact in scenario.attestations
        if fact.name in SHARED and len(set(fact.values)) == 1
    )
    yield from (f"- {escape(each)}" for each in _joined(same))
    yield from (f"- {escape(each)}" for each in _shared((one.name, told) for one in scenarios for told in _apart(one)))


def _apart(scenario: ScenarioView) -> Iterator[str]:
    """What differs between the arms of a scenario."""
    arms = [arm.name for arm in scenario.arms]
    for fact in (fact for fact in scenario.attestations if not fact.name.startswith(NAMED_ABOVE)):
        if fact.differs or (fact.name in SHARED and len(set(fact.values)) > 1):
            yield f"{fact.name}: {', '.join(f'{arm} {value}' for arm, value in zip(arms, fact.values, strict=True))}"


SHARED = ("build", "vLLM version", "torch version", "Python", "model runner")
"""What a reader asks of every arm, whether it differs or not."""


NAMED_ABOVE = ("variable VLLM_PLUGINS", "package vllm", "build in words")
"""What says once more which patches or build an arm has."""


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """Texts "names: fact" with the same names as one: "names: fact, fact"."""
    of_names: dict[str, list[str]] = {}
    for text in texts:
        names, _, fact = text.partition(": ")
        of_names.setdefault(names, []).append(fact)
    return (f"{names}: the same in every arm: {', '.join(facts)}" for names, facts in of_names.items())


# --- how to repeat it, on what -------------------------------------------------------------------------------------


def _commands(scenarios: Sequence[ScenarioView]) -> Iterator[str]:
    """The commands of all scenarios, each once; runs that differ in the scenario alone are one."""
    runs: dict[tuple[str, ...], list[str]] = {}
    others: dict[str, None] = {}
    for command in (each for scenario in scenarios if all(scenario.commands) for each in scenario.commands):
        words = shlex.split(command)
        if words[:2] == ["perfproof", "run"] and len(words) > 2 and not words[2].startswith("-"):
            runs.setdefault(tuple(words[3:]), []).append(words[2])
        else:
            others[command] = None
    yield from (shlex.join(["perfproof", "run", *dict.fromkeys(names), *options]) for options, names in runs.items())
    yield from others


EMPTY = ("", "unknown", "none", units.NONE)
OWN = (
    *("rules: ", "overlay", "log end", "block seed", "threads at fork", "before: ", "after: ", "while measuring: ", "no instructions"),
    *("server counted: ", "telemetry: ", "client", "server arguments", "PERFPROOF_", "VLLM_PLUGINS", "PYTHONHASHSEED"),
    *("vllm", "vLLM", "build", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "VLLM_RPC_BASE_PATH"),
    *("VLLM_LOGGING_COLOR", "VLLM_NO_USAGE_STATS"),
)
"""Prefixes of facts that are the suite's own bookkeeping, are read beside every trial, or stand elsewhere; the HTML report has them."""
LOAD = "before: load"
"""The one reading beside the trials that a comment tells."""


def _tells(fact: Fact) -> bool:
    """Whether a fact about the machine is of use to a reader of the comment."""
    own = fact.name.startswith(OWN) and fact.name != LOAD
    return not own and any(value not in EMPTY and not value.startswith("not recorded in") for value in fact.values)


def _fact(fact: Fact) -> str:
    told = " · ".join(fact.values)
    told = told if len(told) <= LONG else f"{told[:LONG].rpartition(' ')[0]} …"
    return f"- {escape(fact.name)}: {escape(told)}{', which differed between trials' if fact.differs else ''}"
