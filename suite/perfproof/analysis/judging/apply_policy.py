"""Verdicts and a Policy to a Decision: pass or fail, with the rule and the reason of every metric.

For each judged row: what the policy asks of it is looked up; what its verdict does under that rule is found; where nothing could be tested,
whose trials failed is told, so that a base that is broken is never blamed on a change; and a waiver lets a failure pass. A
regression outweighs what could not be tested, and that outweighs what stayed inconclusive: the exit code names the gravest finding.
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
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import ACCURACY, ANSWERS, base_name
from perfproof.model.verdicts.gate_decision import ALSO_WORSE, Blame, Decision, Effect, Ruling
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import Asked, Policy, Then, sized

CODES = (EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_INCONCLUSIVE)
"""The exit codes of a ruling that fails, the gravest first."""
OVER = 1 + 1e-9
"""How much larger a count must be to be larger: means of equal counts may differ in their last bit."""
SOON = 7
"""Days before its end from which a waiver is told to run out."""
NOTHING = "nothing to judge: no metric that decides has a verdict"
MOVED = "not in this version"
"""How the reason of a trial begins whose benchmark does not find what it exercises."""
MISSING = "missing"
"""How the reason begins of a scenario that was to be judged and left no record."""
DISTRUST = "the A/A of this machine failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Whose trials of a scenario failed, and the reason of the first.

    Nobody's, where the change no longer has what the benchmark looks for (it was renamed or moved, which is no crash), or was measured
    without some of its files.
    """

    blame: Blame
    arm: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a verdict does under a rule, before waivers."""

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
    """The decision over every metric; nothing that decides is untestable, not a pass.

    `worse` are those without a verdict that surely got worse by much (`beside.also_worse`), among `judged` or not; `missing` the names of
    scenarios that were to be judged and left no record, each untestable; `beside` are rulings that are there already; `failures` are by
    scenario and candidate (`failures_of`); `notes` go with the decision; `today` tells which waivers end soon.
    Source: none, what the policy says; docs/policy.md.
    """
    also = {_key(row) for row in worse}
    every = [*judged, *(row for row in worse if _key(row) not in set(map(_key, judged)))]
    rulings = tuple(
        _ruling(row, policy, judged, (failures or {}).get((row.scenario, row.candidate)), also=_key(row) in also) for row in every
    )
    rulings += (*(_missing(name, policy) for name in missing), *beside)
    found = Decision(exit_code=EXIT_PASS, policy=policy.name, rulings=rulings, stopped="", todo=(), notes=tuple(notes), judged=True)
    codes = {ruling.code for ruling in rulings if not ruling.passes}
    if not found.deciding and not codes:
        code = EXIT_UNTESTABLE if policy.untestable == "fail" else EXIT_PASS
        found = dataclasses.replace(found, exit_code=code, stopped=NOTHING)
    else:
        found = dataclasses.replace(found, exit_code=next((code for code in CODES if code in codes), EXIT_PASS))
    told = [*notes, *_waivers_told(rulings, policy, today)]
    return dataclasses.replace(found, todo=tuple(dict.fromkeys(_todo(found))), notes=tuple(told))


def stopped(policy: str, why: str, code: int, *, todo: Iterable[str] = (), notes: Sequence[str] = (), judged: bool = True) -> Decision:
    """A decision that was made without measuring anything; `why` says how it came, `judged` whether it says something of the change.

    Source: none, bookkeeping.
    """
    return Decision(exit_code=code, policy=policy, rulings=(), stopped=why, todo=tuple(todo), notes=tuple(notes), judged=judged)


def unjudged(decision: Decision, why: str, code: int, todo: str) -> Decision:
    """What was to pass, where what was measured says nothing of the change: why, and what would.

    Source: none, bookkeeping.
    """
    return dataclasses.replace(decision, exit_code=code, stopped=why, todo=(*decision.todo, todo), judged=False)


def failures_of(records: Iterable[Record], *, part: bool = False) -> dict[tuple[str, str], Failure]:
    """By scenario and candidate whose trials failed: the base's if any of these did, else the candidate's alone; nobody's where the
    candidate is `part` of a change, and may lack the rest.

    Source: none, bookkeeping.
    """
    found: dict[tuple[str, str], Failure] = {}
    of_scenario: dict[str, list[Record]] = {}
    for record in records:
        of_scenario.setdefault(record.scenario, []).append(record)
    for scenario, mine in of_scenario.items():
        arms = mine[-1].definition["arms"]
        broken = {trial.arm: trial for trial in reversed(latest(mine)) if trial.status in ("failed", "unattested")}
        baseline = next((name for name, arm in arms.items() if arm.get("baseline")), "")
        for name in (name for name in arms if name != baseline):
            if baseline in broken:
                found[scenario, name] = Failure(blame="base", arm=baseline, reason=broken[baseline].reason)
            elif name in broken:
                blame: Blame = "" if part or broken[name].reason.startswith(MOVED) else "change"
                found[scenario, name] = Failure(blame=blame, arm=name, reason=broken[name].reason)
    return found


# --- one ruling -----------------------------------------------------------------------------------------------


def _missing(name: str, policy: Policy) -> Ruling:
    """Of a scenario that was to be judged and has no record: nothing of it was tested, which is no pass."""
    found = _then(policy.untestable, EXIT_UNTESTABLE, f"{MISSING}: it was to be judged, and there are no records of it")
    return Ruling(
        scenario=name,
        metric="any metric",
        candidate="",
        verdict=Outcome.UNTESTABLE,
        effect=found.effect,
        code=found.code,
        rule="must be there",
        reason=found.reason,
        blame="",
    )


def _key(row: Judged) -> tuple[str, str, str]:
    return row.scenario, row.metric, row.candidate


def _ruling(row: Judged, policy: Policy, judged: Sequence[Judged], failure: Failure | None, *, also: bool) -> Ruling:
    asked = policy.asks(row.scenario, row.metric, primary=row.primary)
    also = also and not asked.decides and not asked.silent and policy.also_worse != "pass"
    find = _found_of_host if row.of_host else _found
    found = find(row, asked, policy, judged, failure) if asked.decides else _Found(effect="report", code=0, reason=row.reason)
    if also:
        found = _then(policy.also_worse, EXIT_REGRESSED, _also(row))
    waiver = policy.waived(row.scenario, row.metric) if found.effect == "fail" else None
    if waiver is not None:
        found = _Found(effect="waived", code=0, reason=f"waived until {waiver.until}: {waiver.reason} ({waiver.issue}); {found.reason}")
    blame: Blame = failure.blame if failure and row.verdict is Outcome.UNTESTABLE else ""
    return Ruling(
        scenario=row.scenario,
        metric=row.metric,
        candidate=row.candidate,
        verdict=row.verdict,
        effect=found.effect,
        code=found.code,
        rule=ALSO_WORSE if also else rule_words(asked, row),
        reason=found.reason,
        blame=blame,
    )


def _found(row: Judged, asked: Asked, policy: Policy, judged: Sequence[Judged], failure: Failure | None) -> _Found:
    verdict, reason = row.verdict or Outcome.UNTESTABLE, row.reason
    if row.verdict is None:
        reason = f"the policy lets it decide, but it was not primary when it was measured: {row.reason or 'it has no verdict'}"
    if row.suggests and policy.shared_launches == "inconclusive":
        verdict, reason = Outcome.INCONCLUSIVE, f"{verdict.value}, but counted as inconclusive (policy: shared_launches): {reason}"
    if verdict is Outcome.UNTESTABLE:
        return _untestable(reason, policy, failure)
    if asked.family == "witnesses" and asked.count != "at_most":
        return _counted(row, asked, verdict, judged)
    if verdict is Outcome.REGRESSED:
        return _Found(effect="fail", code=EXIT_REGRESSED, reason=reason)
    if verdict is Outcome.INCONCLUSIVE:
        found = _then(policy.inconclusive, EXIT_INCONCLUSIVE, reason)
    else:
        found = _Found(effect="pass", code=0, reason=reason)
    return _warned(row, asked, found) if found.effect == "pass" else found


def _found_of_host(row: Judged, asked: Asked, policy: Policy, judged: Sequence[Judged], failure: Failure | None) -> _Found:
    """A count of the host's work: a primary one decides, against the policy's margin or else its own; any other warns or fails beyond the
    policy's, and has no say within."""
    within = _Found(effect="pass" if row.primary else "report", code=0, reason=row.reason)
    if row.verdict is Outcome.UNTESTABLE:
        return _untestable(row.reason, policy, failure) if row.primary else within
    growth = float("inf") if row.effect is None else row.effect
    fail = row.margin if asked.fail is None and row.primary else asked.fail
    if row.verdict is Outcome.REGRESSED and fail is not None and growth > fail:
        return _Found(effect="fail", code=EXIT_REGRESSED, reason=row.reason)
    if growth > 0 and asked.warn is not None and growth > asked.warn:
        return _Found(effect="warn", code=0, reason=row.reason)
    return within


def _also(row: Judged) -> str:
    scale: Scale = "difference" if row.in_points else "log"
    span = f" ({number_format.span(row.interval, scale)})" if row.interval else ""
    return f"also worse, though nobody declared it primary: {number_format.change(row.effect or 0.0, scale)}{span}; {row.reason}"


def _then(then: Then, code: int, reason: str) -> _Found:
    return _Found(effect=then, code=code if then == "fail" else 0, reason=reason)


def _untestable(reason: str, policy: Policy, failure: Failure | None) -> _Found:
    """A change that fails where its base runs fails the gate whatever the policy says of what can't be tested."""
    if failure is None:
        return _then(policy.untestable, EXIT_UNTESTABLE, reason)
    first = failure.reason.strip().partition("\n")[0] or "no reason was given"
    if failure.blame == "base":
        return _then(policy.untestable, EXIT_UNTESTABLE, f"the base itself fails, so the change can't be judged: {first}")
    if not failure.blame:
        excuse = "renames or moves what the benchmark exercises" if first.startswith(MOVED) else "does not run without the rest of it"
        return _then(policy.not_covered, EXIT_UNTESTABLE, f"the change {excuse}: {first}")
    return _Found(effect="fail", code=EXIT_UNTESTABLE, reason=f"fails in {failure.arm}, though the base runs: {first}")


def _counted(row: Judged, asked: Asked, verdict: Outcome, judged: Sequence[Judged]) -> _Found:
    """A count that must be just the base's, or must not grow."""
    if asked.count == "equal":
        moved = verdict is not Outcome.EQUIVALENT
        return _Found(effect="fail" if moved else "pass", code=EXIT_REGRESSED if moved else 0, reason=row.reason)
    smallest, sizes = _smallest(row, judged)
    if smallest is None or row.candidate_value is None or smallest.candidate_value is None:
        reason = "whether it grows can't be told from one size: ask this of a scenario with cases of several sizes"
        return _Found(effect="fail", code=EXIT_UNTESTABLE, reason=reason)
    if row.candidate_value <= smallest.candidate_value * OVER:
        return _Found(effect="pass", code=0, reason=f"no more than at the smallest of {sizes} sizes; {row.reason}")
    here, there = (number_format.counted(value, row.unit) for value in (row.candidate_value, smallest.candidate_value))
    grows = f"{here} at this size, {there} at the smallest"
    base = row.baseline_value, smallest.baseline_value
    if base[0] is not None and base[1] is not None and base[0] > base[1] * OVER and verdict is not Outcome.REGRESSED:
        return _Found(effect="warn", code=0, reason=f"{grows}; it grows in the base too, so the change is not to blame")
    return _Found(effect="fail", code=EXIT_REGRESSED, reason=f"{grows}; {row.reason}")


def _smallest(row: Judged, judged: Sequence[Judged]) -> tuple[Judged | None, int]:
    """The row of the same sweep at its smallest size, and how many sizes there are; None where there is one size alone."""
    mine = sized(row.metric)
    of_size = {
        own[1]: other
        for other in judged
        if mine
        and (own := sized(other.metric))
        and own[0] == mine[0]
        and (other.scenario, other.candidate) == (row.scenario, row.candidate)
    }
    return (of_size[min(of_size)], len(of_size)) if len(of_size) > 1 else (None, len(of_size))


def _warned(row: Judged, asked: Asked, found: _Found) -> _Found:
    """A warning where the change is worse by at least the smaller margin, and surely worse."""
    if asked.warn is None or row.effect is None or row.low is None or row.high is None:
        return found
    worse, surely = (row.effect, row.low > 0) if row.better == "lower" else (-row.effect, row.high < 0)
    if not surely or worse < asked.warn:
        return found
    return dataclasses.replace(
        found, effect="warn", reason=f"worse by {_size(worse, row)}, which warns from {_size(asked.warn, row)}; {found.reason}"
    )


def _size(fraction: float, row: Judged) -> str:
    """A margin as people write it: "2 %", "1 point"."""
    said = f"{fraction * 100:.3g}"
    return f"{said} %" if not row.in_points else f"{said} point" if said == "1" else f"{said} points"


def rule_words(asked: Asked, row: Judged) -> str:
    """What is asked of a metric, in a few words.

    Source: none, bookkeeping.
    """
    if not asked.decides:
        return "only reported"
    if asked.family == "witnesses":
        return {"at_most": "no more than the base", "equal": "equal to the base", "constant": "no growth with the size"}[asked.count]
    if asked.family == "equality":
        return "as the base"
    fail = row.margin if asked.fail is None and (row.primary or not row.of_host) else asked.fail
    told = [f"warns from {_size(asked.warn, row)}"] if asked.warn is not None else []
    told += [f"fails from {_size(fail, row)}"] if fail is not None else []
    return ", ".join(told) or "must not regress"


# --- what to do -------------------------------------------------------------------------------------------------


def _todo(found: Decision) -> Iterator[str]:
    """A sentence for each kind of finding that somebody must act on."""
    failing = found.of("fail")
    if any(ruling.blame == "base" for ruling in (*failing, *found.of("warn"))):
        yield "The base fails without the change: mend the base, then run the gate again. The change is not to blame."
    if any(ruling.blame == "change" for ruling in failing):
        yield "The change does not run where its base does: see the reason, and the log that the records name."
    worse = {base_name(ruling.metric) in {*ANSWERS, ACCURACY} for ruling in failing if ruling.code == EXIT_REGRESSED}
    for of_answers, what, it_is in ((False, "this cost is", "it is"), (True, "these other answers are", "they are")):
        if of_answers in worse:
            yield (
                f"If {what} not meant, mend the change. If {it_is} meant, add a waiver to the policy, with its reason, an issue and "
                "the day on which it ends (docs/policy.md)."
            )
    lost = [ruling for ruling in failing if ruling.code == EXIT_UNTESTABLE and not ruling.blame]
    if gone := [ruling.scenario for ruling in lost if ruling.reason.startswith(MISSING)]:
        yield f"Measure {' and '.join(gone)}; what is not to be judged here goes out of the policy's 'scenarios'."
        lost = [ruling for ruling in lost if not ruling.reason.startswith(MISSING)]
    if any(DISTRUST in ruling.reason for ruling in lost):
        yield (
            "This machine gave different times to the same code: no time is judged on it until the base run against itself passes there. "
            "The next gate tries again, and 'perfproof calibrate' tells more. The change is not to blame."
        )
    elif lost:
        yield "See why nothing could be tested; a machine that was busy is no fault of the change: run the gate again."
    if any(ruling.code == EXIT_INCONCLUSIVE for ruling in failing):
        yield "Measure longer (a larger --budget): the reason of each says how many more blocks would settle it."
    if found.stopped == NOTHING:
        yield f"Choose a policy under which some of these metrics decide; under '{found.policy}' none does."


def _waivers_told(rulings: Sequence[Ruling], policy: Policy, today: date | None) -> Iterator[str]:
    """Waivers that waive nothing any more, and those that soon end."""
    for waiver in policy.waivers:
        mine = [ruling for ruling in rulings if waiver.covers(ruling.scenario, ruling.metric)]
        named = f"the waiver of {waiver.scenario}/{waiver.metric}"
        if mine and not any(ruling.effect == "waived" for ruling in mine):
            yield f"{named} waives nothing any more: it can be removed from the policy"
        elif mine and today is not None and (waiver.until - today).days < SOON:
            yield f"{named} ends on {waiver.until}; from the next day on the policy is refused"
