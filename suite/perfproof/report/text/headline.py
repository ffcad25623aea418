"""The first line of every form: the outcomes by what was measured, the most important first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perfproof.analysis.judging.secondary_metrics import size
from perfproof.model.base.name_lists import few
from perfproof.model.verdicts.judged import OUTCOMES, Outcome
from perfproof.model.workloads.kind import Scope
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ScenarioView
from perfproof.report.text.exact_first import exact_beside, exact_first
from perfproof.report.text.shown_rows import became, contradiction, loses

MOST_NAMED = 3
"""The most scenarios that are named."""
ITSELF = " against itself"
"""The words after the name of an A/A: it judges the machine, not a change."""
MICRO = ("microbenchmark", "microbenchmarks")
_SERVED, _ASKED = ("end-to-end scenario", "end-to-end scenarios"), ("comparison of answers", "comparisons of answers")
_RUN = ("comparison of a command", "comparisons of commands")
_COUNTED = ("count of the host's work", "counts of the host's work")
ORDER = (_SERVED, _RUN, MICRO, _COUNTED, _ASKED)
"""The order of scopes with equally bad outcomes: the whole of vLLM, commands, parts of it, counts, answers, then others."""
NOUNS: Mapping[Scope, tuple[str, str]] = {"end to end": _SERVED, "part": MICRO, "host": _COUNTED, "program": _RUN, "answers": _ASKED}
"""The nouns of scenarios in a headline, singular and plural, by their scope: a part of vLLM is never counted with the whole."""
PLAIN, CHECKS = (
    ("scenario", "scenarios"),
    ("check of the machine (baseline against itself)", "checks of the machine (baseline against itself)"),
)


UNPATCHED = "releases or settings compared, no patch judged"
"""The words for scenarios that judge no patch: they compare releases, requests or settings."""
TAKEN_OUT = "a released change taken out"
"""The words for scenarios whose baseline is altered and whose candidate is vLLM as released."""
CONTROLS = "planted on purpose"
"""The words for scenarios all of whose candidates are controls."""


def headline(scenarios: Sequence[ScenarioView]) -> str:
    """The page's first line: outcomes by what was measured, the worst first.

    Exact counts come before times that could not be tested.

    "1 microbenchmark regressed and 2 improved; 1 end-to-end scenario likely improved; a released change taken out: 2 microbenchmarks lose
    by it, and 1 end-to-end scenario is equivalent".
    """
    if not scenarios:
        return "There are no records to judge"
    ends = f"{also(scenarios)}{_contradicted(scenarios)}"
    if len(scenarios) == 1:
        one = scenarios[0]
        if exact := exact_first(one):
            return f"{one.name}{_apart(one)}: {exact}{ends}"
        counted = f"{exact}; " if (exact := exact_beside(one)) else ""
        return f"{counted}{one.name}{ITSELF if one.itself else ''} {_is(_result(one), 1)}{_apart(one)}{ends}"
    clauses = _grouped([each for each in scenarios if not beside(each)])
    for words in (UNPATCHED, TAKEN_OUT, CONTROLS):
        apart = ", and ".join(_grouped([each for each in scenarios if beside(each) == words]))
        clauses += [f"{words}: {apart}"] if apart else []
    if all(each.outcome != Outcome.REGRESSED or each.control for each in scenarios):
        clauses = [f"{each.name}: {exact}" for each in scenarios if (exact := exact_first(each) or exact_beside(each))][:1] + clauses
    return f"{'; '.join(clauses)}{ends}"


def _contradicted(scenarios: Sequence[ScenarioView]) -> str:
    """The scenarios whose deciding verdicts a repeat contradicts: "; a repeat contradicts queue"; "" where there is none."""
    names = [one.name for one in scenarios if any(contradiction(one, row) for row in formatting.deciding(one.rows))]
    return f"; a repeat contradicts {few(names, MOST_NAMED)}" if names else ""


def beside(scenario: ScenarioView) -> str:
    """The words for a scenario that judges no change; "" for one that does."""
    if scenario.control:
        return CONTROLS
    return (TAKEN_OUT if scenario.altered or scenario.reverted else UNPATCHED) if scenario.unpatched else ""


def also(scenarios: Sequence[ScenarioView]) -> str:
    """The worst metric that is not primary and surely got much worse: "; also worse: p99 TTFT × 6.7"; "" where there is none."""
    worse = [(one, row) for one in scenarios if not one.control for row in one.worse if row.candidate not in one.taken_out]
    if not worse:
        return ""
    where, worst = max(worse, key=lambda pair: size(pair[1]))
    several = len({row.candidate for row in where.rows}) > 1
    named = (
        f"{formatting.label(worst.metric)}{f' ({worst.candidate})' if several else ''}{f' of {where.name}' if len(scenarios) > 1 else ''}"
    )
    hint = ", as far as servers that were launched once can tell" if where.shared else ""
    return f"; also worse: {named} {formatting.change(worst)}{f' and {len(worse) - 1} more' if len(worse) > 1 else ''}{hint}"


def ordered(scenarios: Sequence[ScenarioView]) -> list[ScenarioView]:
    """Scenarios in the order of the headline's counts, then by name, so that the page follows its first line."""
    named = sorted(scenarios, key=lambda each: each.name)
    places = ([each for each in named if not beside(each)], [each for each in named if each.unpatched and not each.control])
    return [each for some in (*places, [each for each in named if each.control]) for group in _groups(some).values() for each in group]


def _groups(scenarios: Sequence[ScenarioView]) -> dict[tuple[str, str], list[ScenarioView]]:
    """Scenarios by their nouns, the group with the worst outcome first, and within a group the worst first."""
    groups: dict[tuple[str, str], list[ScenarioView]] = {}
    for scenario in sorted(scenarios, key=_news):
        groups.setdefault(nouns(scenario), []).append(scenario)
    return groups


def _news(scenario: ScenarioView) -> tuple[int, int, bool]:
    """The sort key of a scenario: the smallest is the most important."""
    own = nouns(scenario)
    return OUTCOMES.index(scenario.outcome), ORDER.index(own) if own in ORDER else len(ORDER), scenario.suggests


def nouns(scenario: ScenarioView) -> tuple[str, str]:
    """What a scenario is called in a headline, singular and plural."""
    if scenario.itself:
        return CHECKS
    return NOUNS[scenario.traits.scope] if scenario.traits else PLAIN


def _grouped(scenarios: Sequence[ScenarioView]) -> list[str]:
    """The outcomes of scenarios, one clause per noun, the worst first."""
    return [_counts(nouns, group) for nouns, group in _groups(scenarios).items()]


def _apart(scenario: ScenarioView) -> str:
    """The words that limit the headline of a single scenario, where it could be taken for more."""
    micro = {MICRO: " in a microbenchmark", _COUNTED: " in what the host does"}.get(nouns(scenario), "")
    return f"{micro} ({apart})" if (apart := beside(scenario)) else micro


def _counts(nouns: tuple[str, str], group: Sequence[ScenarioView]) -> str:
    """A group's outcomes, worst first: "2 microbenchmarks regressed, 1 is inconclusive and 3 improved"."""
    counts = Counter(map(_result, group))
    keys = sorted(counts, key=lambda key: (OUTCOMES.index(key[0]), *key[1:]))
    parts = [f"{counts[key]} {_is(key, counts[key])}" for key in keys]
    number, _, rest = parts[0].partition(" ")
    parts[0] = f"{number} {nouns[number != '1']} {rest}"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_Result = tuple[Outcome, bool, str, tuple[str, str], str]


def _result(scenario: ScenarioView) -> _Result:
    """The outcome, whether it is only likely, the count's own words where counts alone make it, what it does where a released change is
    out, and what became of a control."""
    counted = formatting.count_word(scenario.rows, scenario.outcome)
    return scenario.outcome, scenario.suggests, counted, loses(scenario), became(scenario)


def _is(result: _Result, count: int) -> str:
    outcome, hint, count_word, lost, control = result
    if control:
        return f"{'is' if count == 1 else 'are'} {'likely ' if hint else ''}{control}"
    if count_word:
        return f"{'does' if count == 1 else 'do'} {count_word}"
    if lost[0]:
        return f"{'likely ' if hint else ''}{lost[count != 1]}"
    words = formatting.outcome_word(outcome, hint)
    return words if outcome in ("improved", "regressed") else f"{'is' if count == 1 else 'are'} {words}"
