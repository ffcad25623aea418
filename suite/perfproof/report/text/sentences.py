"""What judged rows say, in sentences: what is the same of several metrics and arms is told once, with all their names.

`formatting` has the words and numbers of one row; here they become the sentence that answers a scenario's question, and its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from perfproof.model.scenarios.metrics import ANSWERS, base_name
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.page_model import GrowthView

MOST_CLAIMS = 8
"""Claims in an answer's sentence, and metrics that one claim names; of more claims, those that a reader must not miss come first."""


def answer(name: str, rows: Sequence[Judged], growths: Sequence[GrowthView] = ()) -> str:
    """The scenario's one sentence: "penalties: output throughput +31.2 % [+29.8, +32.6], 6 blocks; …", growth of primary metrics last."""
    told = [row for row in rows if row.verdict and (row.primary or (row.exact and not row.of_host))]
    if not formatting.deciding(rows):
        return f"{name}: nothing could be judged; there is no comparison of a primary metric"
    several, groups = len({row.candidate for row in told}) > 1, alike(told, _said)
    shown = groups if len(groups) <= MOST_CLAIMS else sorted(groups, key=lambda group: min(map(formatting.rank, group)))[:MOST_CLAIMS]
    left = len(told) - sum(map(len, shown))
    more = [f"and {left} more, in the table"] if left else []
    primary = {base_name(row.metric) for row in rows if row.primary} - {
        base_name(row.metric) for row in rows if row.verdict == "untestable"
    }
    grown = [told for view in growths if view.metric in primary for told in formatting.growth(view)]
    return f"{name}: {'; '.join([*_once([_claim(group, several) for group in shown]), *more, *grown])}"


def told(rows: Sequence[Judged], name_candidate: bool = False) -> list[str]:
    """What the rows say, those that say the very same told as one."""
    return _once([_claim(group, name_candidate) for group in alike(rows, _said)])


def alike(rows: Iterable[Judged], told: Callable[[Judged], str]) -> list[list[Judged]]:
    """The rows of which the very same is told, together."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(told(row), []).append(row)
    return list(groups.values())


def _claim(group: Sequence[Judged], name_candidate: bool) -> str:
    """What is said of one row or of several alike; behind a list of names with a colon."""
    said = _said(group[0])
    colon = ":" if name_candidate and len(group) > 1 and not said.startswith(":") else ""
    return f"{who(group, name_candidate)}{colon}{said}"


def who(rows: Sequence[Judged], name_candidate: bool) -> str:
    """Which comparisons, each metric and each arm once: "accuracy in sums and copying, of a and b alike"."""
    pairs = [(row.candidate if name_candidate else "", formatting.label(row.metric)) for row in rows]
    return ", and ".join(_whose(names, arms) for names, arms in sharing(pairs))


def sharing(pairs: Iterable[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Pairs of an arm and a metric's name as few lists of names, each with the arms that have all of these."""
    of_arm: dict[str, list[str]] = {}
    for arm, name in pairs:
        of_arm.setdefault(arm, []).append(name)
    arms: dict[tuple[str, ...], list[str]] = {}
    for arm, names in of_arm.items():
        arms.setdefault(tuple(names), []).append(arm)
    return [(list(names), several) for names, several in arms.items()]


def _whose(names: Sequence[str], arms: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_CLAIMS} more"] if len(names) > MOST_CLAIMS else []
    told = formatting.listed([*names[:MOST_CLAIMS], *more])
    if arms == [""]:
        return told
    return f"{told}{',' if len(names) > 1 else ''} of {formatting.listed(arms)}{' alike' if len(arms) > 1 else ''}"


def _once(told: Sequence[str]) -> list[str]:
    """The claims with what several of them end with ("; the baseline gave the very same bits again") at the last of these alone."""
    ends = [claim.rpartition("; ")[2] for claim in told]
    return [
        claim.removesuffix(f"; {end}") if end in ends[place + 1 :] else claim
        for place, (claim, end) in enumerate(zip(told, ends, strict=True))
    ]


def check(name: str, outcome_: Outcome, rows: Sequence[Judged]) -> str:
    """An A/A's one sentence: whether the baseline differs from itself, which is a fault of the machine and no merit of a patch."""
    moved = [row for row in rows if row.primary and row.verdict in ("regressed", "improved")]
    head = f"{name}, the baseline against itself (an A/A, no patch is judged here)"
    if moved:
        said = "; ".join(f"{formatting.label(row.metric)} {formatting.change(row)} {formatting.interval(row)}" for row in moved)
        return f"{head}: it differs from itself ({said}): times on this machine are not to be believed"
    said = "; ".join(claim(row) for row in rows if row.primary and row.verdict)
    found = "no difference where there is none" if outcome_ == "equivalent" else f"{outcome_}, so the machine is not vouched for"
    return f"{head}: {found}{f': {said}' if said else ''}"


def claim(row: Judged, name_candidate: bool = False) -> str:
    """What one row says, in words; bad news and no news say so."""
    return _claim([row], name_candidate)


def _said(row: Judged) -> str:
    """What is said of a row, behind its name."""
    if row.verdict == "untestable":
        return f" could not be tested ({row.reason or 'no reason was given'})"
    if row.metric in ANSWERS or (row.verdict and formatting.of_accuracy(row)):
        return f": {row.reason}"
    times = f" ({formatting.factor(row)})" if formatting.factor(row) else ""
    if row.exact:
        return f" {formatting.change(row)}{times}, counted exactly"
    told = f" {formatting.change(row)}{times} {formatting.interval(row)}, {formatting.counted(row)}"
    if row.verdict == "inconclusive":
        return f"{told}: inconclusive{_would_see(row)}"
    if row.verdict == "equivalent":
        told = f"{told}: no change beyond {formatting.margin(row)}"
    return f"{told} (suggests only)" if row.verdict and row.suggests else told


def _would_see(row: Judged) -> str:
    return "" if row.mde is None else f", {formatting.worsening(row)} or less could have gone unseen"
