"""The lead of a page: the result in a sentence, what was changed, the figure, and the lines on answers, machine, trust and what next.

Whatever weakens an answer stands here, where it bears on it: an open verdict, a machine that was never tested against itself, its load,
servers that were launched once, trials at two speeds, and a repeat that contradicts. The rest of the page has the details.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfproof.model.base.name_lists import few
from perfproof.model.verdicts.judged import OUTCOMES, Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import Lead, LeadLine, LeadRow, Subject
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.lead import lead_groups, subjects, trust
from perfproof.report.lead.lead_groups import Chosen
from perfproof.report.lead.lead_rows import lead_row
from perfproof.report.lead.next_step import next_step
from perfproof.report.text import answer_text
from perfproof.report.text.exact_first import exact_beside, exact_first
from perfproof.report.text.headline import MICRO, nouns
from perfproof.report.text.shown_rows import ALARM, COSTS, SAVES

MOST_NAMED, MOST_TOLD = 4, 3
"""The most names in a list, and the most changes that the sentence above the figure names: of more it tells the number."""


def lead(page: Page) -> Lead:
    """The lead of a page; on a page without scenarios its headline alone."""
    if not page.scenarios:
        return Lead(result=page.headline, changed="", groups=(), further="", lines=(), level="")
    chosen = lead_groups.chosen(page)
    drawn = lead_groups.groups(chosen)
    lines = (
        _answers(page),
        trust.measured(page),
        trust.trust(page, {one.note for group in drawn for one in group.rows}),
        *next_step(page, sum(len(group.rows) for group in drawn)),
    )
    return Lead(
        result=_result(page, chosen),
        changed=_changed(page, chosen),
        groups=drawn,
        further=lead_groups.further(chosen),
        level=lead_groups.level(chosen),
        lines=tuple(line for line in lines if line.clauses),
    )


# --- the result --------------------------------------------------------------------------------------------------


def _result(page: Page, chosen: Sequence[Chosen]) -> str:
    """The page in one sentence: answers that changed, the most important metric with its number, and how many more there are."""
    compared = [scenario for scenario in page.scenarios if scenario.of_answers and not scenario.itself and not scenario.control]
    speed = [pair for pair in chosen if not pair[0].of_answers and not pair[0].itself]
    worst = next((each for each in OUTCOMES if any(scenario.outcome == each for scenario in compared)), None)
    parts = [page.before] if page.before else []
    if worst is not None and (worst != Outcome.EQUIVALENT or not speed):
        head = answer_text.HEADS[worst] if worst != Outcome.EQUIVALENT else answer_text.head(compared).partition(":")[0].partition(".")[0]
        parts.append(f"{head}{_with([scenario for scenario in compared if scenario.outcome == worst])}")
    if speed:
        changes = [pair for pair in speed if _of(pair).place == _of(speed[0]).place]
        exact = exact_first(speed[0][0])
        counted = "" if exact else next((found for pair in changes if (found := _counted_first(pair, changes))), "")
        parts += [f"{_of(speed[0]).name}: {exact}".removeprefix(": ")] if exact else [counted] if counted else []
        told = [pair for pair in changes if not pair[1].exact] if counted else changes
        parts += [] if exact else [_summed(told, len({_of(pair).title for pair in speed}) > 1)]
        beside = (lead_row(*pair) for pair in speed if pair not in changes)
        parts += list(dict.fromkeys(f"{one.subject.name} contradicted by a repeat" for one in beside if one.note))
    return "; ".join(parts) or page.headline


def _counted_first(pair: Chosen, pairs: Sequence[Chosen]) -> str:
    """What counts say exactly of a scenario whose times are open; "" where any of the `pairs` is settled, which is greater news."""
    if not all(row.verdict in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE) or row.exact for _, row in pairs):
        return ""
    exact = exact_beside(pair[0])
    return f"{_of(pair).name}: {exact}".removeprefix(": ") if exact else ""


def _with(compared: Sequence[ScenarioView]) -> str:
    """The changes whose answers were compared: " with a, b and 2 more"."""
    names = dict.fromkeys(subjects.subject(scenario, candidate).name for scenario in compared for candidate in scenario.changes)
    return f" with {few(list(filter(None, names)), MOST_TOLD)}" if any(names) else ""


def _summed(pairs: Sequence[Chosen], several: bool) -> str:
    """The metrics of one sort of subjects: that which is news in a clause, then what became of the others, by subject."""
    first = min(pairs, key=lambda pair: _news(lead_row(*pair)))
    own = [pair for pair in pairs if _of(pair).title == _of(first).title]
    told = _told(*first, several, len(pairs) == 1) + ("" if several else _others([pair for pair in own if pair is not first]))
    others: dict[str, list[str]] = {}
    for title in dict.fromkeys(_of(pair).title for pair in pairs if _of(pair).title != _of(first).title):
        worst = min((lead_row(*pair) for pair in pairs if _of(pair).title == title), key=_news)
        others.setdefault(f"{PLAIN.get(worst.word, worst.word)}{_on(worst)}", []).append(worst.subject.name)
    return "; ".join([told, *(f"{few(names, MOST_TOLD)} {word}" for word, names in others.items())])


NEWS = ("regressed", "contradicted", "untestable", "improved", "costs", "saves", "found", "missed", "equivalent", "inconclusive")
"""The words of verdicts, the greatest news first."""
PLAIN = {"inconclusive": "not settled", "equivalent": "without a change that matters"}
"""Plainer words for some, within a sentence."""


def _news(one: LeadRow) -> tuple[int, bool]:
    """The sort key of a row: what says most comes first, a microbenchmark after what is not."""
    word = one.word.removeprefix("likely ")
    return (NEWS.index(word) if word in NEWS else len(NEWS)), one.model == MICRO[0]


def _on(one: LeadRow) -> str:
    return f" in {MICRO[1]}" if one.model == MICRO[0] else ""


def _of(pair: Chosen) -> Subject:
    return subjects.subject(pair[0], pair[1].candidate)


def _told(scenario: ScenarioView, row: Judged, several: bool, whole: bool) -> str:
    """The first metric of the figure, with its change and its verdict as a verb. It names the model where the page has `several` changes;
    what is open has its interval where that is the `whole` page."""
    one = lead_row(scenario, row)
    on = f" ({one.model.partition(',')[0]})" if several and one.model and one.model != MICRO[0] else ""
    limit = " in a microbenchmark" if nouns(scenario) == MICRO else on
    if one.control and one.word.endswith(ALARM):
        return f"False alarm by the harmless {one.subject.name}{limit}: {_lower(one.name)} {one.number}".rstrip()
    if one.control:
        return f"The planted {one.subject.name}{limit} is {_became(one)}: {_lower(one.name)} {one.number}".rstrip()
    name, unlike = one.name[:1].upper() + one.name[1:], dict(scenario.unlike).get(row.candidate, "")
    plain = one.subject.name and one.subject.place in (subjects.CHANGE, subjects.UNPATCHED, subjects.COMPARISON)
    name += f" {'of' if one.subject.name.startswith('vLLM ') else 'with'} {one.subject.name}" if plain else ""
    name += f" and {_other(unlike)}, against {row.baseline}," if unlike and not one.turned else ""
    if one.note:
        return f"{name} is contradicted{limit}: {one.number} here, but {one.note}"
    if one.word.rpartition(" ")[2] in (COSTS, SAVES):
        likely = "likely " if row.suggests else ""
        change = f"the released change that {one.subject.name} takes out" if one.subject.name else "the released change"
        return f"Without {change}, {_lower(name)}{limit} is {likely}{_as_much(one)}"
    return _in_words(one, row, name, limit, whole)


def _in_words(one: LeadRow, row: Judged, name: str, limit: str, whole: bool) -> str:
    """A metric with its verdict as a verb and its number."""
    if row.verdict == Outcome.INCONCLUSIVE:
        interval, way = f" {one.interval}" if whole else "", ", lower is better" if one.row.better == "lower" else ""
        return f"{name} is not settled{limit}: {one.number}{interval}{way}"
    if row.verdict == Outcome.EQUIVALENT:
        margin = formatting.margin(row).removeprefix("±").strip(units.THIN)
        return f"{name} did not change{'' if margin == units.NONE else f' by more than {margin}'}{limit}"
    if row.verdict == Outcome.UNTESTABLE:
        return f"{name} could not be tested{limit}"
    if row.verdict in (Outcome.IMPROVED, Outcome.REGRESSED) and not formatting.of_host(row.metric, row.verdict, row.reason):
        return f"{name} {one.word}{limit}: {one.number}"
    return f"{name}{limit}: {one.word}, {one.number}"


def _other(unlike: str) -> str:
    """What else than the code differs, in few words: "presence-penalty 1.5 instead of 0", or "other requests"."""
    kind, _, detail = unlike.partition(" (")
    return detail.removesuffix(")") if " instead of " in detail and ";" not in unlike else kind


def _lower(name: str) -> str:
    return name if name[:2].isupper() else name[:1].lower() + name[1:]


def _became(one: LeadRow) -> str:
    """What became of a control, as a verb: "found", "not found", "not settled"."""
    plain = {"missed": "not found", "inconclusive": "not settled", "untestable": "not tested"}
    return plain.get(one.word, one.word)


def _as_much(one: LeadRow) -> str:
    """How much a metric is without the released change: "× 3.15", "12 % higher", "57 instead of 0"."""
    if "→" in one.number:
        before, after = one.number.split(" → ")
        return f"{after} instead of {before}"
    return formatting.factor(one.row) or one.number


def _others(rest: Sequence[Chosen]) -> str:
    counts = Counter(lead_row(*pair).word for pair in rest)
    return f"; {', '.join(f'{number} more {word}' for word, number in counts.items())}" if counts else ""


# --- what was changed ------------------------------------------------------------------------------------------------


def _changed(page: Page, chosen: Sequence[Chosen]) -> str:
    """What was changed, in a sentence: patches, diffs, builds, settings. What one does stands by its name; of several, over the rows."""
    found = {subject.title: subject for subject in map(_of, chosen)}
    if all(scenario.itself for scenario in page.scenarios):
        return "Nothing: the baseline was run against itself, which tests the machine."
    releases = {arm.version.partition("+")[0] for scenario in page.scenarios if not scenario.itself for arm in scenario.arms if arm.version}
    base = f", on vLLM {releases.pop()}" if len(releases) == 1 else ""
    if len(found) == 1:
        return f"{_alone(next(iter(found.values())), chosen[0])}{base}."
    own = [title for title, subject in found.items() if subject.place == subjects.CHANGE]
    out = [title.removeprefix(subjects.OUT).strip() for title, subject in found.items() if subject.place == subjects.TAKEN_OUT]
    rows = [lead_row(*pair) for pair in chosen if _of(pair).place == subjects.CHANGE]
    against = {row.against for row in rows}
    many = len(found) > MOST_TOLD
    parts = [
        _gathered(own, many)
        + (", each by itself" if len(own) > 1 else "")
        + (_unlike(rows) or (f", against {against.pop()}" if len(against) == 1 else "")),
        *(title for title, subject in found.items() if subject.place == subjects.UNPATCHED),
        f"{_gathered(out, many)}, which revert{'s' if len(out) == 1 else ''} a released change" if out else "",
        *(f"{subject.name}, planted on purpose" for subject in found.values() if subject.place == subjects.CONTROL),
    ]
    text = "; ".join(filter(None, parts))
    return f"{_capital(text)}{'' if '(vLLM ' in text else base}." if text else ""


def _unlike(rows: Sequence[LeadRow]) -> str:
    """With what else a change was timed, where no row compares it with the same requests or settings without it; "" elsewhere."""
    if not rows or not all(row.unlike for row in rows):
        return ""
    also, against = (list(dict.fromkeys(texts)) for texts in ((_other(row.unlike) for row in rows), (row.against for row in rows)))
    alone = "the patch alone is not timed here" if rows[0].subject.title.startswith("patch ") else "the change alone is not timed here"
    return f" with {formatting.listed(also)}, against {formatting.listed(against)}, which has neither: {alone}"


def _alone(subject: Subject, pair: Chosen) -> str:
    """The only subject of a page, with what it does."""
    if subject.place == subjects.CONTROL:
        return f"Nothing to accept or to reject. {subject.title} ({subject.words})"
    words = f" ({subject.words})" if subject.words and subject.place != subjects.UNPATCHED else ""
    one = lead_row(*pair)
    plain = subject.title == pair[1].candidate and not one.unlike
    alike = "" if subject.place == subjects.UNPATCHED else _unlike([one])
    return f"{_capital(subject.title)}{f' against {pair[1].baseline}' if plain else ''}{words}{alike}"


def _capital(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]


def _gathered(titles: Sequence[str], many: bool) -> str:
    """Names of changes, "patches a and b" and "diff c"; the numbers of `many`, whose names stand over their rows: "3 patches"."""
    parts = []
    for kind, plural in (("patch", "patches"), ("diff", "diffs")):
        own = [title.removeprefix(kind).strip() for title in titles if title.startswith(f"{kind} ")]
        parts += (
            [f"{len(own)} {plural}" if many and len(own) > 1 else f"{plural if len(own) > 1 else kind} {formatting.listed(own)}"]
            if own
            else []
        )
    parts += [title for title in titles if not title.startswith(("patch ", "diff "))][:MOST_NAMED]
    return "; ".join(parts)


# --- answers ---------------------------------------------------------------------------------------------------------


def _answers(page: Page) -> LeadLine:
    """Whether answers changed, and whose were not compared."""
    return LeadLine(label="Answers", clauses=tuple(answer_text.in_brief(page.scenarios)))
