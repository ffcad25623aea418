"""The text for a pull request: GitHub markdown that fits GitHub's limit, with raw values and commands to check it.

In the open, in at most `OPEN` lines: the result and what was changed, a row for every metric that changed or is open, answers, trust and
the next step, as on the page, and why what is open is open (for a gate: its decision and one line per metric). All else folds: every
verdict, caveats and warnings, raw values of every trial, work, what ran in each arm, commands, machine. If the whole is too long, the last
parts are left out, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.base.untrusted import shorten
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadLine
from perfproof.report.base.page_model import Fact, Page, ScenarioView
from perfproof.report.formats import gate_summary
from perfproof.report.formats.markdown import escape, fence, few, fold, table
from perfproof.report.text import reasons, sentences, table_headers, word_list
from perfproof.report.text.lead import lead, lead_row

OPEN = 40
"""The most lines before the first fold."""
MOST_ROWS, MOST_REASONS, MOST_NOTES = 12, 6, 8
"""The most rows, reasons and notes in the open."""
HEAD = ("verdict", "metric", "change", "interval", "from → to")
ALSO_WORSE = "also worse"
"""The word for a metric that nobody declared primary and that surely got much worse."""
SAME = (Outcome.EQUIVALENT, Outcome.IDENTICAL)
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
    first = lead(page)
    yield f"### {escape(first.result)}"
    if first.changed:
        yield escape(first.changed)
    notes = [f"- {shorten(escape(each), 400)}" for each in page.notes]
    if notes:
        yield "\n".join(notes[:MOST_NOTES])
    rows = _changed(page)
    if rows:
        yield table(HEAD, "llrrr", (_row(scenario, row) for scenario, row in rows[:MOST_ROWS]))
    if more := _unchanged(page, len(rows[MOST_ROWS:])):
        yield more
    if reasons_ := list(_open(page)):
        yield few(reasons_, MOST_REASONS)
    if first.lines:
        yield "\n".join(_line(one) for one in first.lines)


def _changed(page: Page) -> list[tuple[ScenarioView, Judged]]:
    """The judged metrics that changed or are open, and others that surely got much worse; the worst first."""
    rows = [(one, row) for one in page.scenarios for row in one.rows if row.verdict and row.verdict not in SAME]
    worse = [(one, row) for one in page.scenarios for row in one.worse]
    return [*sorted(rows, key=lambda pair: (pair[0].unpatched, formatting.rank(pair[1]))), *worse]


def _row(scenario: ScenarioView, row: Judged) -> Sequence[str]:
    one = lead_row(scenario, row)
    first, second = formatting.values(one.row)
    sign = _SIGNS["less" if one.word in ("costs", "saves") else one.look] if one.look in _SIGNS else "▫️"
    name = f"{escape(one.name)}\u00a0{'↓' if row.better == 'lower' else '↑'} · {escape(one.where)}"
    note = f" ({escape(one.note)})" if one.note else ""
    number = f"**{escape(f' {one.number}').strip()}**{note}"
    return (
        f"{sign} **{one.word if row.verdict else ALSO_WORSE}**",
        name,
        number,
        escape(f" {one.interval}").strip() or units.NONE,
        f"{first} → {second}",
    )


def _unchanged(page: Page, cut: int) -> str:
    """How many metrics the table leaves out, by verdict."""
    rows = [row for one in page.scenarios for row in one.rows]
    parts = [
        f"{cut} more that changed or are open" if cut else "",
        f"{same} without a change that matters" if (same := sum(row.verdict in SAME for row in rows)) else "",
        f"{plain} not judged" if (plain := sum(row.verdict is None for row in rows)) else "",
    ]
    return f"_Folded below: {', '.join(filter(None, parts))}._" if any(parts) else ""


def _open(page: Page) -> Iterable[str]:
    """Why metrics are open or could not be tested; those with the same reason together."""
    for scenario in page.scenarios:
        rows = [row for row in scenario.rows if row.verdict in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)]
        for place, group in enumerate(sentences.alike(rows, reasons.told)):
            who = sentences.who(group, len({row.candidate for row in scenario.rows}) > 1)
            lacking = _lacking(scenario) if place == 0 else ""
            said = shorten(escape(f"{scenario.name}, {who}: {reasons.told(group[0]) or 'no reason was given'}"), 300)
            yield f"- {_SIGNS[group[0].verdict or 'inconclusive']} {said}{lacking}"


def _line(one: LeadLine) -> str:
    told = "; ".join(f"**{escape(text)}**" if flagged else escape(text) for text, flagged in one.clauses)
    command = f": `{one.command}`" if one.command and not set(one.command) & set("`<@#") else ""
    return f"- {one.label}: {told}{command}"


def _answer(scenario: ScenarioView) -> Iterable[str]:
    """A scenario's sentence, and its caveats below."""
    word = _word(scenario.outcome, scenario.suggests, formatting.count_word(scenario.rows, scenario.outcome))
    yield f"- {word} {escape(scenario.answer)}"
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
    if page.scenarios:
        answers = "\n".join(line for scenario in page.scenarios for line in _answer(scenario))
        yield "All verdicts, caveats and warnings", "\n\n".join([_verdicts(page), answers, *_remarks(page)])
    if page.decision is None and len(page.notes) > MOST_NOTES:
        yield "More about the change", "\n".join(f"- {shorten(escape(each), 400)}" for each in page.notes[MOST_NOTES:])
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
        yield "Machine and packages", table(("what", "value", "between trials"), "lll", rows)
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
