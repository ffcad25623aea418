"""Sentences about judged rows; equal claims about several metrics and arms become one sentence with all their names.

`formatting` has the words and numbers of one row. Here they become the sentence that answers a scenario's question, and its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from perfproof.model.scenarios.metrics import ANSWERS, base_name
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.page_model import GrowthView

MOST_CLAIMS = 8
"""The most claims in an answer's sentence, and the most metrics that a claim names; of more claims, the most important are shown."""
MOST_WORDS = 24
"""The most words of a description within a sentence."""
_BRACKETS = re.compile(r" \([^()]*\)")


def answer(name: str, rows: Sequence[Judged], growths: Sequence[GrowthView] = ()) -> str:
    """The scenario's one sentence: "penalties: output throughput +31.2 % [+29.8, +32.6], 6 blocks; …", growth of primary metrics last."""
    judged = [row for row in rows if row.verdict and (row.primary or (row.exact and not row.of_host))]
    if not formatting.deciding(rows):
        return f"{name}: nothing could be judged; there is no comparison of a primary metric"
    several, groups = len({row.candidate for row in judged}) > 1, alike(judged, _text)
    shown = groups if len(groups) <= MOST_CLAIMS else sorted(groups, key=lambda group: min(map(formatting.rank, group)))[:MOST_CLAIMS]
    left = len(judged) - sum(map(len, shown))
    more = [f"and {left} more, in the table"] if left else []
    primary = {base_name(row.metric) for row in rows if row.primary} - {
        base_name(row.metric) for row in rows if row.verdict == "untestable"
    }
    grown = [line for view in growths if view.metric in primary for line in formatting.growth(view)]
    return f"{name}: {'; '.join([*_once([_claim(group, several) for group in shown]), *more, *grown])}"


DECIDED = ("regressed", "improved", "equivalent")
"""Verdicts on answers whose reason stands nowhere else."""


def on_answers(rows: Sequence[Judged]) -> list[str]:
    """The sentences about answers, equal ones together; they say what the baseline did when asked again. Open ones stand elsewhere."""
    answers = [row for row in rows if (row.verdict if row.metric in ANSWERS else formatting.of_accuracy(row) and row.verdict in DECIDED)]
    return grouped_claims(answers, len({row.candidate for row in rows}) > 1)


def grouped_claims(rows: Sequence[Judged], name_candidate: bool = False) -> list[str]:
    """The claims about the rows; rows with the same claim share one."""
    return _once([_claim(group, name_candidate) for group in alike(rows, _text)])


def alike(rows: Iterable[Judged], text_of: Callable[[Judged], str]) -> list[list[Judged]]:
    """The rows grouped by their text."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(text_of(row), []).append(row)
    return list(groups.values())


def _claim(group: Sequence[Judged], name_candidate: bool) -> str:
    """The claim about one row or several equal ones; a colon follows a list of names."""
    text = _text(group[0])
    colon = ":" if name_candidate and len(group) > 1 and not text.startswith(":") else ""
    return f"{who(group, name_candidate)}{colon}{text}"


def who(rows: Sequence[Judged], name_candidate: bool) -> str:
    """The names of the comparisons, each metric and each arm once: "accuracy in sums and copying, of a and b alike"."""
    pairs = [(row.candidate if name_candidate else "", formatting.label(row.metric)) for row in rows]
    return ", and ".join(_whose(names, arms) for names, arms in sharing(pairs))


def sharing(pairs: Iterable[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Groups pairs of an arm and a metric's name into few lists of names, each with the arms that have them all."""
    of_arm: dict[str, list[str]] = {}
    for arm, name in pairs:
        of_arm.setdefault(arm, []).append(name)
    arms: dict[tuple[str, ...], list[str]] = {}
    for arm, names in of_arm.items():
        arms.setdefault(tuple(names), []).append(arm)
    return [(list(names), several) for names, several in arms.items()]


def _whose(names: Sequence[str], arms: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_CLAIMS} more"] if len(names) > MOST_CLAIMS else []
    metrics = formatting.listed([*names[:MOST_CLAIMS], *more])
    if arms == [""]:
        return metrics
    return f"{metrics}{',' if len(names) > 1 else ''} of {formatting.listed(arms)}{' alike' if len(arms) > 1 else ''}"


def _once(claims: Sequence[str]) -> list[str]:
    """The claims, where an ending that several share (such as "; the baseline repeated itself") stays only at the last of them."""
    ends = [claim.rpartition("; ")[2] for claim in claims]
    return [
        claim.removesuffix(f"; {end}") if end in ends[place + 1 :] else claim
        for place, (claim, end) in enumerate(zip(claims, ends, strict=True))
    ]


def in_few_words(text: str) -> str:
    """A description, to stand within a sentence: of a long one without what is in brackets, and up to the end of a clause."""
    each = text.split()
    if len(each) > MOST_WORDS:
        each = _BRACKETS.sub("", text).split()
    if len(each) > MOST_WORDS:
        ends = [place for place, word in enumerate(each[:MOST_WORDS], 1) if word.endswith((",", ";", ":")) and 2 * place > MOST_WORDS]
        end = ends[-1] if ends else MOST_WORDS
        each = [*each[: end - 1], each[end - 1].rstrip(",;:"), "…"]
    cut = " ".join(each)
    return cut if cut[1:2].isupper() else cut[:1].lower() + cut[1:]


def check(name: str, outcome_: Outcome, rows: Sequence[Judged]) -> str:
    """The one sentence of an A/A: whether the baseline differs from itself. If it does, the machine is at fault."""
    moved = [row for row in rows if row.primary and row.verdict in ("regressed", "improved")]
    head = f"{name}, the baseline against itself (an A/A, no patch is judged here)"
    if moved:
        details = "; ".join(f"{formatting.label(row.metric)} {formatting.change(row)} {formatting.interval(row)}" for row in moved)
        return f"{head}: it differs from itself ({details}): times on this machine can't be trusted"
    details = "; ".join(claim(row) for row in rows if row.primary and row.verdict)
    result = "no difference, as expected" if outcome_ == "equivalent" else f"{outcome_}, so the machine is not shown to be reliable"
    return f"{head}: {result}{f': {details}' if details else ''}"


def claim(row: Judged, name_candidate: bool = False) -> str:
    """The claim of one row, in words."""
    return _claim([row], name_candidate)


def _seen(row: Judged) -> str:
    """What blocks showed that a busy machine spoilt; "" where there are none."""
    if row.uncounted is None or row.uncounted.effect is None:
        return ""
    interval = f" {formatting.interval(row)}" if formatting.interval(row) else ""
    return f"; {formatting.blocks(row.uncounted.blocks)} showed {formatting.change_of(row, row.uncounted.effect)}{interval}, not counted"


def _text(row: Judged) -> str:
    """The text about a row, to follow its name."""
    if row.verdict == "untestable":
        return f" could not be tested ({row.reason or 'no reason was given'}){_seen(row)}"
    if row.metric in ANSWERS or (row.verdict and formatting.of_accuracy(row)):
        return f": {row.reason}"
    times = f" ({formatting.factor(row)})" if formatting.factor(row) else ""
    if row.exact:
        return f" {formatting.change(row)}{times}, counted exactly"
    text = f" {formatting.change(row)}{times} {formatting.interval(row)}, {formatting.counted(row)}"
    if row.verdict == "inconclusive":
        return f"{text}: inconclusive{_would_see(row)}"
    if row.verdict == "equivalent":
        text = f"{text}: no change beyond {formatting.margin(row)}"
    return f"{text} (likely, not proved)" if row.verdict and row.suggests else text


def _would_see(row: Judged) -> str:
    return "" if row.mde is None else f", {formatting.worsening(row)} or less could have been missed"
