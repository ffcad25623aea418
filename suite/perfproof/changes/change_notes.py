"""Sentences beside the verdicts on a change: whether the changed code is known to have run, and what decided."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from perfproof.analysis.judging.judge import JudgedScenario
from perfproof.analysis.stats.number_format import percent
from perfproof.analysis.trials.paired_trials import counts, fine, latest
from perfproof.changes.call_coverage import NOT_TESTED, called
from perfproof.changes.change_builds import BASE
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.count_findings import unseen, warnings
from perfproof.changes.counting.host_count import HostCount
from perfproof.changes.scenario_selection import files
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_UNTESTABLE, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.scenarios.metrics import ANSWERS, is_count, is_timed
from perfproof.model.scenarios.plan import Plan
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from perfproof.run.checks import vllm_tests
from perfproof.run.checks.resume import decided
from perfproof.run.kinds.micro.micro_result import NOT_HERE
from perfproof.run.processes.attestation import NEVER_RAN

TIMES_NOT_TESTED = "times were NOT tested"
"""The start of the sentence on times that a busy machine spoilt, where counts were judged."""
UNPROVED = "no new line of the change is known to have run"
"""The start of the sentence on measurements that may have missed the new lines, and so prove nothing about them."""
BESIDE = "the times that decide call nothing of the change"
"""The start of the sentence on verdicts that are about cases beside the change."""
MOST_CASES = 3
"""The most cases in a sentence."""
MOST_TESTS = 10
"""The most tests listed of each kind."""


def settled(judged: JudgedScenario) -> bool:
    """Whether a scenario of a change needs no more blocks, by its looks or because nothing ran the changed code."""
    return decided(judged) or any(row.verdict == Outcome.UNTESTABLE and NEVER_RAN in row.reason for row in judged.judged)


def uncounted(counted: Watching, names: Collection[str], records: Sequence[Record]) -> list[str]:
    """A sentence on the scenarios in which none of the counted functions ran, or in which it is not known whether the changed code did."""
    counts = called(counted, names, records).anywhere
    if counted.unknown:
        idle = ", ".join(sorted(name for name in names if not any(counts[name].values())))
        never = f"nothing called {files(counted.functions)}, and " if counted.functions else ""
        why = f"{never}calls can't be counted of {files(counted.unknown)}"
        return [f"whether the changed code ran is not known: {idle}: {why}"] if idle else []
    idle = ", ".join(sorted(name for name in names if counts[name] and not any(counts[name].values())))
    return [f"{NEVER_RAN}: {idle}: their results say nothing about {files(counted.functions)}"] if idle else []


def counted_alone(decision: Decision, records: Sequence[Record]) -> list[str]:
    """The scenarios whose times a busy machine spoilt, while their exact counts or answers were judged; none where anything else is
    untestable or worse."""
    failing = decision.of("fail")
    judged = {
        (one.scenario, one.candidate)
        for one in decision.rulings
        if not is_timed(one.metric) and one.passes and one.verdict not in (None, Outcome.UNTESTABLE)
    }
    spoilt = {name for name in {own_name(one.scenario) for one in failing} if _busy(name, records)}
    alone = all(
        one.code == EXIT_UNTESTABLE
        and is_timed(one.metric)
        and (one.scenario, one.candidate) in judged
        and own_name(one.scenario) in spoilt
        for one in failing
    )
    return sorted(spoilt) if alone else []


def _busy(scenario: str, records: Sequence[Record]) -> bool:
    """Whether its trials lack only some times, which were excluded because the machine was busy."""
    trials = latest([record for record in records if record.scenario == scenario])
    return all(map(counts, trials)) and not all(map(fine, trials))


def conclusion(
    decision: Decision,
    rows: Sequence[Judged],
    records: Sequence[Record],
    host: HostCount,
    *,
    untested: bool,
    beside: Sequence[str] = (),
) -> tuple[int, list[str]]:
    """The exit code of verdicts and count together, and a sentence for each reason that differs from the verdicts' own.

    `rows` are the judged metrics; `untested`: answers should have been tested and were not; `beside`: sentences on verdicts about cases
    that call nothing of the change. What grew exactly is named in the last sentence: nobody should read that nothing got worse then.
    """
    code, lines, more = decision.exit_code, [], "; ".join(more_work(rows, host))
    by_count = host.code(DEFAULT_POLICY) if host.ran else EXIT_PASS
    if untimed := counted_alone(decision, records):
        code = EXIT_INCONCLUSIVE
        worse = more or "nothing that decides got worse"
        lines.append(f"{worse}, but {TIMES_NOT_TESTED} of {', '.join(untimed)}: the machine was busy (exit code {code})")
    elif code == EXIT_PASS and untested:
        code = EXIT_INCONCLUSIVE
        worse = f"{more}. Nothing else got worse, but that" if more else "nothing got worse, but that"
        lines.append(f"{worse} is not a pass while these answers are untested (exit code {code})")
    elif code == EXIT_PASS and more:
        lines.append(f"{more}, which warns; nothing that decides got worse (exit code {code})")
    if code in (EXIT_PASS, EXIT_INCONCLUSIVE) and by_count != EXIT_PASS:
        code = by_count
        worse = "; ".join(more_work(rows, HostCount())) or "no scenario is worse"
        lines.append(f"{worse}, but that is not a pass: {host.headline} (exit code {code})")
    if doubt := unproved(rows, host):
        code = EXIT_INCONCLUSIVE if code == EXIT_PASS else code
        lines.append(f"{doubt} (exit code {code})")
    for sentence in beside:
        code = EXIT_INCONCLUSIVE if code == EXIT_PASS else code
        lines.append(f"{sentence} (exit code {code})")
    return code, lines


def more_work(rows: Sequence[Judged], host: HostCount) -> list[str]:
    """What grew, exactly, in clauses: counts of scenarios with the span of their changes, and the worst of vLLM's whole host."""
    grown = [row for row in rows if is_count(row.metric) and row.verdict is Outcome.REGRESSED]
    effects = sorted(row.effect for row in grown if row.effect is not None)
    ends = list(dict.fromkeys(map(percent, (effects[0], effects[-1])))) if effects else []
    span = f" ({' to '.join(ends)})" if ends else ""
    of_scenarios = [f"{len(grown)} count{'s show' if len(grown) > 1 else ' shows'} more Python work, exactly{span}"] if grown else []
    return [*of_scenarios, *([host.headline] if host.more_work else [])]


def unproved(rows: Sequence[Judged], host: HostCount) -> str:
    """A sentence where the changed functions were called, and nothing shows that a new line of them ran; "" elsewhere.

    Lines are known of counted features alone. Where these ran none, a count or a time that moved shows that a scenario did; counts that are
    all the same show nothing. Of functions that no feature calls, nothing is said unless such counts are there.
    """
    if host.findings is None or not host.findings.unreached:
        return ""
    exact = _judged_counts(rows)
    if any(row.effect != 0 for row in exact) or any(row.verdict in (Outcome.REGRESSED, Outcome.IMPROVED) for row in rows):
        return ""
    never_called = len(host.findings.never_ran) == len(host.findings.touched)
    return "" if never_called and not exact else f"{UNPROVED}, so that this proves nothing about them: {warnings(host.findings)[0]}"


def unseen_lines(host: HostCount) -> str:
    """A sentence on new lines that no feature runs: a scenario about answers that calls their function need not run them either."""
    places = "" if host.findings is None else unseen(host.findings)
    return f"{NOT_TESTED} for lines of the change that no tried feature runs: {places}" if places else ""


def measured_times(rows: Sequence[Judged]) -> list[tuple[str, str, Outcome | None]]:
    """Scenario, metric and verdict of each time; of one that a busy machine spoilt, what its excluded blocks surely show."""
    return [(row.scenario, row.metric, _excluded(row) or row.verdict) for row in rows if is_timed(row.metric)]


def _excluded(row: Judged) -> Outcome | None:
    ends = row.uncounted.interval if row.uncounted is not None and row.verdict is Outcome.UNTESTABLE else None
    if ends is None or ends[0] <= 0 <= ends[1]:
        return None
    return Outcome.REGRESSED if (ends[0] > 0) is (row.better == "lower") else Outcome.IMPROVED


def beside_the_change(rows: Sequence[Judged], by_case: Mapping[str, Mapping[str, bool]]) -> list[str]:
    """A sentence on each scenario whose deciding times are all of cases that call nothing of the change, while another case does."""
    sentences = []
    for scenario, calls in by_case.items():
        own = [row for row in rows if own_name(row.scenario) == scenario and row.primary and is_timed(row.metric)]
        cases = list(dict.fromkeys(row.metric.partition("@")[2] for row in own))
        if cases and not any(calls.get(case, True) for case in cases):
            calling = few([case for case, calls_it in calls.items() if calls_it], MOST_CASES)
            sentences.append(f"{BESIDE} in {scenario} ({few(cases, MOST_CASES)}); {calling} calls it, and decides nothing there")
    return sentences


def exactly_first(rows: Sequence[Judged], host: HostCount) -> str:
    """The count of vLLM's host, where it belongs before the verdicts: no time is settled, and no scenario's own count says as much."""
    timed = [row for row in rows if row.primary and is_timed(row.metric) and row.verdict is not None]
    settled_ = [row for row in timed if row.verdict not in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)]
    own = _judged_counts(rows)
    more = any(row.verdict is Outcome.REGRESSED for row in own)
    return host.headline if host.ran and timed and not settled_ and not more and (host.more_work or not own) else ""


def _judged_counts(rows: Sequence[Judged]) -> list[Judged]:
    """The rows of exact counts that have a verdict."""
    return [row for row in rows if row.exact and row.metric not in ANSWERS and row.verdict not in (None, Outcome.UNTESTABLE)]


def measurable(plan: Plan, records: Sequence[Record]) -> tuple[set[str], list[str]]:
    """The scenarios that can measure the base, and a sentence for each that can't. Raises `CannotRun` where there is none."""
    absent: dict[str, str] = {}
    for scenario in plan.scenarios:
        own = [record for record in records if record.scenario == scenario.name and record.arm == BASE]
        if own and all(record.status == "failed" and record.reason.startswith(NOT_HERE) for record in own):
            absent[scenario.name] = own[-1].reason
    notes = [f"not measured (the base lacks what it exercises): {name}: {why}" for name, why in absent.items()]
    only = {scenario.name for scenario in plan.scenarios} - set(absent)
    if not only:
        raise CannotRun("\n".join(notes))
    return only, notes


# --- vLLM's own tests ----------------------------------------------------------------------------------------


def vllm_test_lines(tested: vllm_tests.Compared) -> Iterator[str]:
    """What the change did to vLLM's own tests, in lines."""
    yield tests_note(tested)
    for what, tests in (("fails on both", tested.failing), ("fixed", tested.mended), ("skipped with the change only", tested.skipped)):
        yield from (f"  {what}: {test}" for test in tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            yield f"  and {len(tests) - MOST_TESTS} more"
    yield from (f"  broken: {test}" for test in tested.broken)
    if tested.broken:
        yield f"{len(tested.broken)} of vLLM's own tests fail with the change alone: fix it first; nothing was measured"


def tests_note(tested: vllm_tests.Compared) -> str:
    """The results of vLLM's own tests in a sentence."""
    counts = {
        "pass on both arms": tested.passed,
        "pass on the base and fail with the change": len(tested.broken),
        "fail on both, which is not blamed on the change": len(tested.failing),
        "fail on the base and pass with the change": len(tested.mended),
        "pass on the base and are skipped with the change": len(tested.skipped),
    }
    return "vLLM's own tests: " + (", ".join(f"{count} {what}" for what, count in counts.items() if count) or "all were skipped")
