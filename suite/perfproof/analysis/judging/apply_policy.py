"""From verdicts and a policy to a decision: pass or fail, with the rule and the reason of every metric.

For each judged row, the policy's rule is looked up and applied to the verdict. Where nothing could be tested, the ruling says whose trials
failed, so that a broken base is never blamed on a change. A waiver lets a failure pass. A regression outweighs an untestable metric, which
outweighs an inconclusive one: the exit code names the worst finding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Scale
from perfproof.analysis.trials.paired_trials import latest
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from perfproof.model.base.first_words import first_words
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import ACCURACY, ANSWERS, base_name
from perfproof.model.verdicts.gate_decision import ALSO_WORSE, Blame, Decision, Effect, Ruling
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import Asked, Policy, Then, sized

CODES = (EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_INCONCLUSIVE)
"""The exit codes of failing rulings, the worst first."""
OVER = 1 + 1e-9
"""The least relative difference of counts: means of equal counts may differ in their last bit."""
SOON = 7
"""The days before a waiver ends during which a note says so."""
NOTHING = "nothing to judge: no deciding metric has a verdict"
MOVED = "not in this version"
"""The start of a trial's reason whose benchmark does not find the code that it exercises."""
MISSING = "missing"
"""The start of the reason for a scenario that should be judged and has no records."""
DISTRUST = "the A/A of this machine failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Whose trials of a scenario failed, and the reason of the first.

    Nobody is to blame where the change renamed or moved the code that the benchmark looks for, which is not a crash, or where it was
    measured without some of its files.
    """

    blame: Blame
    arm: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Consequence:
    """The effect of a verdict under a rule, before waivers."""

    effect: Effect
    code: int
    reason: str


def decide(
    judged: Sequence[Judged],
    policy: Policy,
    *,
    failures: Mapping[tuple[str, str], Failure] | None = None,
    notes: Sequence[str] = (),
    worse: Sequence[Judged] = (),
    missing: Sequence[str] = (),
    beside: Sequence[Ruling] = (),
    today: date | None = None,
) -> Decision:
    """The decision over every metric. Without a deciding metric it is untestable, not a pass.

    `worse` are metrics without a verdict that surely got much worse (`secondary_metrics.also_worse`), in `judged` or not. `missing` are the
    names of scenarios that should be judged and have no records; each is untestable. `beside` are further rulings. `failures` are by
    scenario and candidate (`failures_of`). `notes` go with the decision. `today` shows which waivers end soon.
    Source: none, the policy; docs/policy.md.
    """
    also = {_key(row) for row in worse}
    every = [*judged, *(row for row in worse if _key(row) not in set(map(_key, judged)))]
    rulings = tuple(
        _ruling(row, policy, judged, (failures or {}).get((row.scenario, row.candidate)), also=_key(row) in also) for row in every
    )
    rulings += (*(_missing(name, policy) for name in missing), *beside)
    decision = Decision(exit_code=EXIT_PASS, policy=policy.name, rulings=rulings, stopped="", todo=(), notes=tuple(notes), judged=True)
    codes = {ruling.code for ruling in rulings if not ruling.passes}
    if not decision.deciding and not codes:
        code = EXIT_UNTESTABLE if policy.untestable == "fail" else EXIT_PASS
        decision = dataclasses.replace(decision, exit_code=code, stopped=NOTHING)
    else:
        decision = dataclasses.replace(decision, exit_code=next((code for code in CODES if code in codes), EXIT_PASS))
    notes_ = [*notes, *_waiver_notes(rulings, policy, today)]
    return dataclasses.replace(decision, todo=tuple(dict.fromkeys(_todo(decision))), notes=tuple(notes_))


def stopped(policy: str, why: str, code: int, *, todo: Iterable[str] = (), notes: Sequence[str] = (), judged: bool = True) -> Decision:
    """A decision without any measurement; `why` is its reason, `judged` says whether it is about the change.

    Source: none, bookkeeping.
    """
    return Decision(exit_code=code, policy=policy, rulings=(), stopped=why, todo=tuple(todo), notes=tuple(notes), judged=judged)


def unjudged(decision: Decision, why: str, code: int, todo: str) -> Decision:
    """A passing decision turned into one that is not judged, because the measurements are not about the change; `todo` is the remedy.

    Source: none, bookkeeping.
    """
    return dataclasses.replace(decision, exit_code=code, stopped=why, todo=(*decision.todo, todo), judged=False)


def failures_of(records: Iterable[Record], *, part: bool = False) -> dict[tuple[str, str], Failure]:
    """Whose trials failed, by scenario and candidate: the base if any of its trials did, else the candidate.

    Nobody is to blame where the candidate is `part` of a change, because it may lack the rest.

    Source: none, bookkeeping.
    """
    failures: dict[tuple[str, str], Failure] = {}
    of_scenario: dict[str, list[Record]] = {}
    for record in records:
        of_scenario.setdefault(record.scenario, []).append(record)
    for scenario, own in of_scenario.items():
        arms = own[-1].definition["arms"]
        broken = {trial.arm: trial for trial in reversed(latest(own)) if trial.status in ("failed", "unattested")}
        baseline = next((name for name, arm in arms.items() if arm.get("baseline")), "")
        for name in (name for name in arms if name != baseline):
            if baseline in broken:
                failures[scenario, name] = Failure(blame="base", arm=baseline, reason=broken[baseline].reason)
            elif name in broken:
                blame: Blame = "" if part or broken[name].reason.startswith(MOVED) else "change"
                failures[scenario, name] = Failure(blame=blame, arm=name, reason=broken[name].reason)
    return failures


# --- one ruling -----------------------------------------------------------------------------------------------


def _missing(name: str, policy: Policy) -> Ruling:
    """The ruling on a scenario that should be judged and has no records: nothing was tested, which is not a pass."""
    ruled = _then(policy.untestable, EXIT_UNTESTABLE, f"{MISSING}: it should be judged, but has no records")
    return Ruling(
        scenario=name,
        metric="any metric",
        candidate="",
        verdict=Outcome.UNTESTABLE,
        effect=ruled.effect,
        code=ruled.code,
        rule="must be there",
        reason=ruled.reason,
        blame="",
    )


def _key(row: Judged) -> tuple[str, str, str]:
    return row.scenario, row.metric, row.candidate


def _ruling(row: Judged, policy: Policy, judged: Sequence[Judged], failure: Failure | None, *, also: bool) -> Ruling:
    bar = policy.asks(row.scenario, row.metric, primary=row.primary)
    also = also and not bar.decides and not bar.silent and policy.also_worse != "pass"
    rule = _consequence_of_host if row.of_host else _consequence
    ruled = rule(row, bar, policy, judged, failure) if bar.decides else _Consequence(effect="report", code=0, reason=row.reason)
    if also:
        ruled = _then(policy.also_worse, EXIT_REGRESSED, _also(row))
    waiver = policy.waived(row.scenario, row.metric) if ruled.effect == "fail" else None
    if waiver is not None:
        ruled = _Consequence(
            effect="waived", code=0, reason=f"waived until {waiver.until}: {waiver.reason} ({waiver.issue}); {ruled.reason}"
        )
    blame: Blame = failure.blame if failure and row.verdict is Outcome.UNTESTABLE else ""
    return Ruling(
        scenario=row.scenario,
        metric=row.metric,
        candidate=row.candidate,
        verdict=row.verdict,
        effect=ruled.effect,
        code=ruled.code,
        rule=ALSO_WORSE if also else rule_words(bar, row),
        reason=ruled.reason,
        blame=blame,
    )


def _consequence(row: Judged, bar: Asked, policy: Policy, judged: Sequence[Judged], failure: Failure | None) -> _Consequence:
    verdict, reason = row.verdict or Outcome.UNTESTABLE, row.reason
    if row.verdict is None:
        reason = f"the policy makes it decide, but it was not primary when it was measured: {row.reason or 'it has no verdict'}"
    if row.suggests and policy.shared_launches == "inconclusive":
        verdict, reason = Outcome.INCONCLUSIVE, f"{verdict.value}, but counted as inconclusive (policy: shared_launches): {reason}"
    if verdict is Outcome.UNTESTABLE:
        return _untestable(reason, policy, failure)
    if bar.family == "witnesses" and bar.count != "at_most":
        return _counted(row, bar, verdict, judged)
    if verdict is Outcome.REGRESSED:
        return _Consequence(effect="fail", code=EXIT_REGRESSED, reason=reason)
    if verdict is Outcome.INCONCLUSIVE:
        ruled = _then(policy.inconclusive, EXIT_INCONCLUSIVE, reason)
    else:
        ruled = _Consequence(effect="pass", code=0, reason=reason)
    return _warned(row, bar, ruled) if ruled.effect == "pass" else ruled


def _consequence_of_host(row: Judged, bar: Asked, policy: Policy, judged: Sequence[Judged], failure: Failure | None) -> _Consequence:
    """A count of the host's work: a primary one decides, against the policy's margin or else its own; any other warns or fails beyond the
    policy's, and has no say within."""
    within = _Consequence(effect="pass" if row.primary else "report", code=0, reason=row.reason)
    if row.verdict is Outcome.UNTESTABLE:
        return _untestable(row.reason, policy, failure) if row.primary else within
    growth = float("inf") if row.effect is None else row.effect
    fail = row.margin if bar.fail is None and row.primary else bar.fail
    if row.verdict is Outcome.REGRESSED and fail is not None and growth > fail:
        return _Consequence(effect="fail", code=EXIT_REGRESSED, reason=row.reason)
    if growth > 0 and bar.warn is not None and growth > bar.warn:
        return _Consequence(effect="warn", code=0, reason=row.reason)
    return within


def _also(row: Judged) -> str:
    scale: Scale = "difference" if row.in_points else "log"
    span = f" ({number_format.span(row.interval, scale)})" if row.interval else ""
    return f"also worse, although it is not primary: {number_format.change(row.effect or 0.0, scale)}{span}; {row.reason}"


def _then(then: Then, code: int, reason: str) -> _Consequence:
    return _Consequence(effect=then, code=code if then == "fail" else 0, reason=reason)


def _untestable(reason: str, policy: Policy, failure: Failure | None) -> _Consequence:
    """A change that fails where its base runs fails the gate, whatever the policy says about untestable metrics."""
    if failure is None:
        return _then(policy.untestable, EXIT_UNTESTABLE, reason)
    first = first_words(failure.reason) or "no reason was given"
    if failure.blame == "base":
        return _then(policy.untestable, EXIT_UNTESTABLE, f"the base itself fails, so the change can't be judged: {first}")
    if not failure.blame:
        excuse = (
            "renames or moves the code that the benchmark exercises" if first.startswith(MOVED) else "does not run without the rest of it"
        )
        return _then(policy.not_covered, EXIT_UNTESTABLE, f"the change {excuse}: {first}")
    return _Consequence(effect="fail", code=EXIT_UNTESTABLE, reason=f"fails in {failure.arm}, though the base runs: {first}")


def _counted(row: Judged, bar: Asked, verdict: Outcome, judged: Sequence[Judged]) -> _Consequence:
    """The effect of a count that must equal the base's, or must not grow with the size."""
    if bar.count == "equal":
        moved = verdict is not Outcome.EQUIVALENT
        return _Consequence(effect="fail" if moved else "pass", code=EXIT_REGRESSED if moved else 0, reason=row.reason)
    smallest, sizes = _smallest(row, judged)
    if smallest is None or row.candidate_value is None or smallest.candidate_value is None:
        reason = "one size can't show whether it grows: use a scenario with cases of several sizes"
        return _Consequence(effect="fail", code=EXIT_UNTESTABLE, reason=reason)
    if row.candidate_value <= smallest.candidate_value * OVER:
        return _Consequence(effect="pass", code=0, reason=f"no more than at the smallest of {sizes} sizes; {row.reason}")
    here, there = (number_format.counted(value, row.unit) for value in (row.candidate_value, smallest.candidate_value))
    grows = f"{here} at this size, {there} at the smallest"
    base = row.baseline_value, smallest.baseline_value
    if base[0] is not None and base[1] is not None and base[0] > base[1] * OVER and verdict is not Outcome.REGRESSED:
        return _Consequence(effect="warn", code=0, reason=f"{grows}; it grows in the base too, so the change is not to blame")
    return _Consequence(effect="fail", code=EXIT_REGRESSED, reason=f"{grows}; {row.reason}")


def _smallest(row: Judged, judged: Sequence[Judged]) -> tuple[Judged | None, int]:
    """The row of the same sweep at its smallest size, and the number of sizes; None where there is only one size."""
    case = sized(row.metric)
    of_size = {
        own[1]: other
        for other in judged
        if case
        and (own := sized(other.metric))
        and own[0] == case[0]
        and (other.scenario, other.candidate) == (row.scenario, row.candidate)
    }
    return (of_size[min(of_size)], len(of_size)) if len(of_size) > 1 else (None, len(of_size))


def _warned(row: Judged, bar: Asked, ruled: _Consequence) -> _Consequence:
    """Turns a pass into a warning where the change is surely worse, by at least the smaller margin."""
    if bar.warn is None or row.effect is None or row.low is None or row.high is None:
        return ruled
    worse, surely = (row.effect, row.low > 0) if row.better == "lower" else (-row.effect, row.high < 0)
    if not surely or worse < bar.warn:
        return ruled
    return dataclasses.replace(
        ruled, effect="warn", reason=f"worse by {_size(worse, row)}, which warns from {_size(bar.warn, row)}; {ruled.reason}"
    )


def _size(fraction: float, row: Judged) -> str:
    """A margin for people: "2 %", "1 point"."""
    number = f"{fraction * 100:.3g}"
    return f"{number} %" if not row.in_points else f"{number} point" if number == "1" else f"{number} points"


def rule_words(bar: Asked, row: Judged) -> str:
    """The rule for a metric in a few words.

    Source: none, bookkeeping.
    """
    if not bar.decides:
        return "only reported"
    if bar.family == "witnesses":
        return {"at_most": "no more than the base", "equal": "equal to the base", "constant": "no growth with the size"}[bar.count]
    if bar.family == "equality":
        return "same answers as the base"
    fail = row.margin if bar.fail is None and (row.primary or not row.of_host) else bar.fail
    parts = [f"warns from {_size(bar.warn, row)}"] if bar.warn is not None else []
    parts += [f"fails from {_size(fail, row)}"] if fail is not None else []
    return ", ".join(parts) or "must not regress"


# --- what to do -------------------------------------------------------------------------------------------------


def _todo(decision: Decision) -> Iterator[str]:
    """A sentence for each kind of finding that somebody must act on."""
    failing = decision.of("fail")
    if any(ruling.blame == "base" for ruling in (*failing, *decision.of("warn"))):
        yield "The base fails without the change: fix the base, then run the gate again. The change is not to blame."
    if any(ruling.blame == "change" for ruling in failing):
        yield "The change does not run where its base does: see the reason, and the log that the records name."
    worse = {base_name(ruling.metric) in {*ANSWERS, ACCURACY} for ruling in failing if ruling.code == EXIT_REGRESSED}
    for of_answers, what, it_is in ((False, "this cost is", "it is"), (True, "these changed answers are", "they are")):
        if of_answers in worse:
            yield (
                f"If {what} not intended, fix the change. If {it_is} intended, add a waiver to the policy, with its reason, an issue and "
                "the day on which it ends (docs/policy.md)."
            )
    lost = [ruling for ruling in failing if ruling.code == EXIT_UNTESTABLE and not ruling.blame]
    if gone := [ruling.scenario for ruling in lost if ruling.reason.startswith(MISSING)]:
        yield f"Measure {' and '.join(gone)}, or remove from the policy's 'scenarios' what should not be judged here."
        lost = [ruling for ruling in lost if not ruling.reason.startswith(MISSING)]
    if any(DISTRUST in ruling.reason for ruling in lost):
        yield (
            "This machine gave different times to the same code: no time is judged on it until the base passes against itself there. "
            "The next gate tries again, and 'perfproof calibrate' shows more. The change is not to blame."
        )
    elif lost:
        yield "See why nothing could be tested; a busy machine is not the change's fault: run the gate again."
    if any(ruling.code == EXIT_INCONCLUSIVE for ruling in failing):
        yield "Measure longer (a larger --budget): the reason of each says how many more blocks would settle it."
    if decision.stopped == NOTHING:
        yield f"Choose a policy under which some of these metrics decide; under '{decision.policy}' none does."


def _waiver_notes(rulings: Sequence[Ruling], policy: Policy, today: date | None) -> Iterator[str]:
    """Notes on waivers that no longer waive anything, and on those that end soon."""
    for waiver in policy.waivers:
        covered = [ruling for ruling in rulings if waiver.covers(ruling.scenario, ruling.metric)]
        named = f"the waiver of {waiver.scenario}/{waiver.metric}"
        if covered and not any(ruling.effect == "waived" for ruling in covered):
            yield f"{named} no longer waives anything: remove it from the policy"
        elif covered and today is not None and (waiver.until - today).days < SOON:
            yield f"{named} ends on {waiver.until}; from the next day on the policy is refused"
