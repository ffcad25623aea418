"""The text for a pull request: GitHub markdown that fits GitHub's limit, with raw values and commands to check it.

In order: the headline and one sentence per scenario (for a gate: its decision and one line per metric), the verdict table, what could not
be judged, raw values of every trial, work, what ran in each arm, commands, machine. The longer parts fold. If the whole is too long, the
last parts are left out, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.base.untrusted import shorten
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Fact, Page, ScenarioView
from perfproof.report.formats import gate_summary
from perfproof.report.formats.markdown import escape, fence, few, fold, table
from perfproof.report.text import table_headers, word_list

LIMIT = 65_000
"""GitHub refuses a comment of more than 65,536 characters."""


def render(page: Page, limit: int = LIMIT) -> str:
    """The text, at most `limit` characters."""
    head = "\n\n".join(_head(page))
    parts, left_out = [head], []
    room = limit - len(head) - 200
    for title, body in _folded(page):
        part = fold(title, body)
        if len(part) + 2 > room:
            left_out.append(title.lower())
            continue
        parts.append(part)
        room -= len(part) + 2
    if left_out:
        parts.append(f"_Left out, because a comment may hold no more: {', '.join(left_out)}. The HTML report has them._")
    text = "\n\n".join(parts) + "\n"
    return text if len(text) <= limit else f"{text[: limit - 80]}\n\n_Cut off here, because a comment may hold no more._\n"


def _head(page: Page) -> Iterable[str]:
    if page.decision is not None:
        yield from gate_summary.head(page, page.decision)
        return
    yield f"### {escape(page.headline)}"
    if page.scenarios:
        yield "\n".join(line for scenario in page.scenarios for line in _answer(scenario))
    if page.notes:
        yield "\n".join(f"- {shorten(escape(each), 400)}" for each in page.notes)
    if page.scenarios:
        yield _verdicts(page)
    yield from _remarks(page)


def _answer(scenario: ScenarioView) -> Iterable[str]:
    """A scenario's sentence, and its caveats below."""
    word = _word(scenario.outcome, scenario.suggests, formatting.count_word(scenario.rows, scenario.outcome))
    yield f"- {word} {escape(scenario.answer)}{_lacking(scenario)}"
    yield from (f"  - {shorten(escape(each), 400)}" for each in scenario.provisos)


def _lacking(scenario: ScenarioView) -> str:
    """How many blocks are missing, where that keeps a verdict open; "" where there are enough."""
    short = [row for row in scenario.primaries if row.verdict == Outcome.INCONCLUSIVE and not row.exact and row.blocks < LEAST_BLOCKS]
    if not scenario.traits or scenario.of_answers or not short:
        return ""
    blocks = min(row.blocks for row in short)
    which = (
        f"{formatting.listed(list(dict.fromkeys(formatting.label(row.metric) for row in short)))}: " if len(scenario.primaries) > 1 else ""
    )
    missing = "the missing one" if blocks == LEAST_BLOCKS - 1 else f"the missing {LEAST_BLOCKS - blocks}"
    return f" ({escape(which)}{blocks} of the {LEAST_BLOCKS} blocks that a verdict needs; the same command measures {missing})"


def _remarks(page: Page) -> Iterable[str]:
    """Growth, what was not judged, and warnings."""
    views = ((scenario, view) for scenario in page.scenarios for view in scenario.growths)
    grown = [f"- {escape(scenario.name)}: {escape(line)}" for scenario, view in views for line in formatting.growth(view)]
    if grown:
        yield "**Growth with the size**\n\n" + few(grown)
    unjudged = [f"- {escape(scenario.name)}: {escape(each)}" for scenario in page.scenarios for each in scenario.unjudged]
    if unjudged:
        yield "**Not judged, or not counted**\n\n" + few(unjudged)
    warned = [f"- {escape(each)}" for each in page.warnings]
    warned += [f"- {escape(scenario.name)}: {escape(each)}" for scenario in page.scenarios for each in scenario.warnings]
    if warned:
        yield "**Warnings**\n\n" + few(warned)


def _verdicts(page: Page) -> str:
    rows = [(one, row) for one in page.scenarios for row in (*one.rows, *(each for each in one.worse if each in one.unlisted))]
    with_verdict = [row for row in rows if row[1].verdict]
    most = 100
    shown = (with_verdict + [row for row in rows if not row[1].verdict])[:most]
    judged = [row for _, row in shown]
    numbers = ("baseline", "candidate", "change", table_headers.interval(judged), "margin", "detectable", table_headers.counted(judged))
    cells = (_cells(scenario, row, count) for (scenario, row), count in zip(shown, table_headers.counts(judged), strict=True))
    laid = table(("scenario", "metric", *numbers, "verdict"), "llrrrrrrrl", cells)
    return laid if len(rows) <= most else f"{laid}\n\n{len(rows) - most} further metrics are in the HTML report."


def _cells(scenario: ScenarioView, row: Judged, count: str) -> Sequence[str]:
    first, second = formatting.values(row)
    several = len({each.candidate for each in scenario.rows}) > 1
    metric = f"{escape(formatting.label(row.metric))}\u00a0{'↓' if row.better == 'lower' else '↑'}" + (
        f" ({escape(row.candidate)})" if several else ""
    )
    change = formatting.change(row) + (f" ({formatting.factor(row)})" if formatting.factor(row) else "")
    numbers = (first, second, f"**{change}**" if row.primary else change, formatting.interval(row) or units.NONE)
    return (
        escape(scenario.name),
        metric,
        *numbers,
        formatting.margin(row),
        formatting.detectable(row),
        count,
        _word(row.verdict, row.suggests, formatting.verdict(row)),
    )


_SIGNS = {
    "regressed": "❌",
    "untestable": "🚫",
    "inconclusive": "❔",
    "improved": "✅",
    "less": "➖",
    "equivalent": "🟰",
    "identical": "🟰",
    "suggests": "〰️",
}


def _word(outcome: Outcome | None, suggests: bool = False, word: str = "") -> str:
    shown = word or formatting.outcome_word(outcome, suggests)
    return f"{_SIGNS[formatting.look(outcome, suggests)]} **{shown}**" if outcome else shown


def _folded(page: Page) -> Iterable[tuple[str, str]]:
    if page.decision is not None and page.scenarios:
        borne = [f"- {escape(scenario.name)}: {escape(each)}" for scenario in page.scenarios for each in scenario.provisos]
        mind = [f"**Caveats**\n\n{few(borne)}"] if borne else []
        yield "All verdicts", "\n\n".join([_verdicts(page), *mind, *_remarks(page)])
    for scenario in page.scenarios:
        if columns := _columns(scenario):
            yield f"Raw values: {scenario.name}", _raw(scenario, columns)
    worked = "\n\n".join(_work(scenario) for scenario in page.scenarios if scenario.witnesses or scenario.work)
    if worked:
        yield "Work done, counted exactly", worked
    ran = "\n\n".join(_attested(scenario) for scenario in page.scenarios if scenario.attestations)
    if ran:
        yield "What ran in each arm", ran
    if page.scenarios:
        yield "Commands", "\n\n".join(dict.fromkeys(fence("\n".join(scenario.commands)) for scenario in page.scenarios))
    if facts := [fact for fact in page.machine if _tells(fact)]:
        rows = ([escape(fact.name), escape(" · ".join(fact.values)), "differed" if fact.differs else ""] for fact in facts)
        yield "Machine", table(("what", "value", "between trials"), "lll", rows)
    if page.scenarios:
        yield "What the words mean", "\n".join(f"- **{escape(term)}**: {escape(meaning)}" for term, meaning in word_list.terms(page))


EMPTY = ("", "unknown", "none", units.NONE)
OWN = (
    *("rules: ", "overlay", "log end", "block seed", "threads at fork", "before: steal", "after: steal", "no instructions"),
    *("server counted: ", "while measuring: looks", "while measuring: watching", "PERFPROOF_", "VLLM_PLUGINS", "PYTHONHASHSEED"),
    *("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "VLLM_RPC_BASE_PATH"),
    *("VLLM_LOGGING_COLOR", "VLLM_NO_USAGE_STATS"),
)
"""Prefixes of facts that are the suite's own bookkeeping or stand elsewhere in the comment; the HTML report has them."""


def _tells(fact: Fact) -> bool:
    """Whether a fact about the machine is of use to a reader of the comment."""
    return not fact.name.startswith(OWN) and any(value not in EMPTY and not value.startswith("not recorded in") for value in fact.values)


def _columns(scenario: ScenarioView) -> list[tuple[str, str]]:
    """The primary metrics with values in trials, and their units. Answers that are compared one by one have none."""
    kept = {name for trial in scenario.trials for name in trial.values}
    named = dict.fromkeys((row.metric, row.unit) for row in scenario.rows if row.primary and not row.exact and row.metric in kept)
    return list(named)[:6]


def _raw(scenario: ScenarioView, columns: Sequence[tuple[str, str]]) -> str:
    """Every trial's value of the primary metrics, one line per block; values that do not count are in brackets."""
    scales = {name: units.scale((trial.values[name] for trial in scenario.trials if name in trial.values), unit) for name, unit in columns}
    head = ("block", "order", *(f"{formatting.label(name)}, {arm.name}" for name, _ in columns for arm in scenario.arms))
    of_block: dict[int, dict[str, str]] = {}
    for trial in scenario.trials:
        for name, _ in columns:
            value = scales[name].text(trial.values[name]) if name in trial.values else units.NONE
            of_block.setdefault(trial.block, {})[f"{name}\n{trial.arm}"] = value if trial.ok else f"({value}) {trial.status}"
    orders = (
        {block: ", ".join(dict.fromkeys(trial.arm for trial in scenario.trials if trial.block == block)) for block in of_block}
        if len(of_block) <= 200
        else {}
    )
    rows = (
        [
            str(block),
            escape(orders.get(block, "")),
            *(escape(cells.get(f"{name}\n{arm.name}", units.NONE)) for name, _ in columns for arm in scenario.arms),
        ]
        for block, cells in of_block.items()
    )
    return table(tuple(escape(each) for each in head), "rl" + "r" * (len(head) - 2), rows)


def _work(scenario: ScenarioView) -> str:
    lines = [f"**{escape(scenario.name)}**", ""]
    if scenario.witnesses:
        rows = (
            [escape(formatting.label(each.name)), *(escape(formatting.work(values, each.unit)) for values in each.values)]
            for each in scenario.witnesses
        )
        lines += [table(("exact count", *(escape(arm.name) for arm in scenario.arms)), "l" + "r" * len(scenario.arms), rows), ""]
    for each in scenario.work:
        where = f"**unequal** in block {', '.join(map(str, each.unequal))}" if each.unequal else "equal in every block"
        lines.append(f"{escape(formatting.label(each.name))}: {where}  ")
    return "\n".join(lines).strip()


def _attested(scenario: ScenarioView) -> str:
    rows = (
        [f"**{escape(fact.name)}**" if fact.differs else escape(fact.name), *(escape(value) for value in fact.values)]
        for fact in scenario.attestations
    )
    return f"**{escape(scenario.name)}**\n\n" + table(
        ("what", *(escape(arm.name) for arm in scenario.arms)), "l" * (len(scenario.arms) + 1), rows
    )
