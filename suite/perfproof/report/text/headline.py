"""The first line of every form: what came out, apart by what was measured, what a reader must not miss first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perfproof.analysis.judging.secondary_metrics import size
from perfproof.model.verdicts.judged import OUTCOMES, Outcome
from perfproof.model.workloads.kind import Scope
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ScenarioView

ITSELF = " against itself"
"""What follows the name of an A/A: it judges no change, but the machine."""
MICRO = ("microbenchmark", "microbenchmarks")
_SERVED, _ASKED = ("end-to-end scenario", "end-to-end scenarios"), ("comparison of answers", "comparisons of answers")
_COUNTED = ("count of the host's work", "counts of the host's work")
ORDER = (_SERVED, MICRO, _COUNTED, _ASKED)
"""Of kinds whose worst news is alike, the whole of vLLM comes first, then parts of it, then answers; others after."""
NOUNS: Mapping[Scope, tuple[str, str]] = {"end to end": _SERVED, "part": MICRO, "host": _COUNTED, "answers": _ASKED}
"""What scenarios are called in a headline, one and several, by what they speak of: a part of vLLM on its own is never counted with the
whole."""
PLAIN, CHECKS = (
    ("scenario", "scenarios"),
    ("check of the machine (baseline against itself)", "checks of the machine (baseline against itself)"),
)


UNPATCHED = "vLLM as released, no patch judged"
"""What is said of scenarios that praise no patch: releases against each other, or a release against one that was altered."""


def headline(scenarios: Sequence[ScenarioView]) -> str:
    """The page's first line: what came out, apart by what was measured, worst news first: "1 microbenchmark regressed and 2 improved; 1
    end-to-end scenario suggests an improvement; vLLM as released, no patch judged: 2 microbenchmarks improved, and 1 end-to-end scenario is
    equivalent"."""
    if not scenarios:
        return "There are no records to judge"
    if len(scenarios) == 1:
        one = scenarios[0]
        return f"{one.name}{ITSELF if one.itself else ''} {_is(one.outcome, one.suggests, 1)}{_apart(one)}{also(scenarios)}"
    apart = ", and ".join(_grouped([each for each in scenarios if each.unpatched]))
    told = "; ".join([*_grouped([each for each in scenarios if not each.unpatched]), *([f"{UNPATCHED}: {apart}"] if apart else [])])
    return f"{told}{also(scenarios)}"


def also(scenarios: Sequence[ScenarioView]) -> str:
    """The worst of what surely got worse by much though it is not primary, behind what came out: "; also worse: p99 TTFT × 6.7"; ""."""
    found = [(one, row) for one in scenarios for row in one.worse]
    if not found:
        return ""
    where, worst = max(found, key=lambda pair: size(pair[1]))
    several = len({row.candidate for row in where.rows}) > 1
    named = (
        f"{formatting.label(worst.metric)}{f' ({worst.candidate})' if several else ''}{f' of {where.name}' if len(scenarios) > 1 else ''}"
    )
    hint = ", as far as servers that were launched once can tell" if any(trial.how == "shared server" for trial in where.trials) else ""
    return f"; also worse: {named} {formatting.change(worst)}{f' and {len(found) - 1} more' if len(found) > 1 else ''}{hint}"


def ordered(scenarios: Sequence[ScenarioView]) -> list[ScenarioView]:
    """Scenarios in the order in which the headline counts them, within a count by name: what a page shows follows what it opens with."""
    named = sorted(scenarios, key=lambda each: each.name)
    apart = ([each for each in named if each.unpatched is unpatched] for unpatched in (False, True))
    return [each for some in apart for group in _groups(some).values() for each in group]


def _groups(scenarios: Sequence[ScenarioView]) -> dict[tuple[str, str], list[ScenarioView]]:
    """Scenarios by the nouns of what they measure, those with the worst news first, and of each the worst news first."""
    groups: dict[tuple[str, str], list[ScenarioView]] = {}
    for scenario in sorted(scenarios, key=_news):
        groups.setdefault(_nouns(scenario), []).append(scenario)
    return groups


def _news(scenario: ScenarioView) -> tuple[int, int, bool]:
    """How soon a reader must hear of a scenario, the smallest first."""
    nouns = _nouns(scenario)
    return OUTCOMES.index(scenario.outcome), ORDER.index(nouns) if nouns in ORDER else len(ORDER), scenario.suggests


def _nouns(scenario: ScenarioView) -> tuple[str, str]:
    if scenario.itself:
        return CHECKS
    return NOUNS[scenario.traits.scope] if scenario.traits else PLAIN


def _grouped(scenarios: Sequence[ScenarioView]) -> list[str]:
    """What came out of scenarios, a clause for each kind of thing measured, that with the worst news first."""
    return [_counts(nouns, group) for nouns, group in _groups(scenarios).items()]


def _apart(scenario: ScenarioView) -> str:
    """What one scenario alone is, where its headline could be taken for more."""
    micro = {MICRO: " in a microbenchmark", _COUNTED: " in what the host does"}.get(_nouns(scenario), "")
    return f"{micro} ({UNPATCHED})" if scenario.unpatched else micro


def _counts(nouns: tuple[str, str], group: Sequence[ScenarioView]) -> str:
    """A group's outcomes, worst first: "2 microbenchmarks regressed, 1 is inconclusive and 3 improved"."""
    counts = Counter((scenario.outcome, scenario.suggests) for scenario in group)
    keys = [(each, hint) for each in OUTCOMES for hint in (False, True) if counts[each, hint]]
    parts = [f"{counts[key]} {_is(*key, counts[key])}" for key in keys]
    number, _, rest = parts[0].partition(" ")
    parts[0] = f"{number} {nouns[number != '1']} {rest}"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _is(result: Outcome, hint: bool, count: int) -> str:
    if hint:
        return formatting.said(result, True) if count == 1 else formatting.said(result, True).replace("suggests", "suggest", 1)
    if result == Outcome.LESS:
        return f"{'does' if count == 1 else 'do'} {formatting.LESS}"
    return result if result in ("improved", "regressed") else f"{'is' if count == 1 else 'are'} {result}"
