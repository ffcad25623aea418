"""What every change costs vLLM's host, counted before anything is timed, for `pr` and `gate`.

The cheapest feature comes first, with those that the user chose and the cheapest that is known to call what the change touches. Where none
of them calls it, the other features of the matrix follow, the cheapest first, until one does or the time for counting is over; they don't
where each is known not to call it. In less than a minute (`QUICK`) what is known to call the change comes first, above all what makes the
calls beside its new lines, and one answer is enough; where none of these ran it and benchmarks are known to, they have the rest.
The order is reported. A count that fails is reported and changes nothing else. Each feature makes a ruling: more work warns or fails by
the policy's `counts`, less work is never an improvement, other tokens are untestable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.analysis.counts.count_comparison import Compared, CountVerdict, ran
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting.count_findings import Findings, Setting, cells_of, concluded, document_of, modules_of, wanted, warnings
from perfproof.changes.counting.count_sources import Sides, functions_in, reach, touched_functions
from perfproof.changes.counting.count_words import NOT_TIME, gravity, line_about, one_sided
from perfproof.changes.counting.feature_order import fails_alone, in_turn, known_cells, left_out, limit, order, sizes_of, with_caller
from perfproof.changes.counting.known_features import NO_ROOM, QUICK, known_features
from perfproof.changes.observed.observed_calls import keep_count
from perfproof.child.engine.features import END, FEATURES, START
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, PerfproofError
from perfproof.model.base.name_lists import few, few_lines
from perfproof.model.records.counts import Count
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.verdicts.gate_decision import Blame, Effect, Ruling
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import Policy
from perfproof.run.host.time_budget import counted_down
from perfproof.run.trials.engine_counting import Cells, count

FIRST = ("plain",)
"""The feature that is counted for every change."""
SHARE = 3
"""Counting may take one of so many parts of a time budget."""
LEAST, LARGEST = 2.0, 2 / 3
"""Or so many minutes, if they are no larger a share of the budget: a count that a second process confirms takes that on a busy machine."""
SCENARIO = "host_work"
"""The name of counts in the place of a scenario's name."""
MOST = 6
"""The most lines of one kind."""
RAN = "ran the change: "
"""How the sentence begins that says what ran it."""
SEARCHING = "no counted feature runs what the change touches: counting further features until one does"
NEVER_CALLED = "no other feature was counted: all were counted on this vLLM before, and none calls what the change touches"
UNKNOWN = "it is not known whether a counted feature ran the change, because the change touches no code"
OUTCOMES: dict[CountVerdict, Outcome] = {
    "regressed": Outcome.REGRESSED,
    "untestable": Outcome.UNTESTABLE,
    "less": Outcome.LESS,
    "equivalent": Outcome.EQUIVALENT,
    "identical": Outcome.IDENTICAL,
}
"""Verdicts of counts as outcomes of metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCount:
    """The counts of a change. `findings` is None where nothing was counted; `failed` then says why, "" where counting was not wanted.
    `importing` are the seconds that importing vLLM took when it was counted here, 0 if unknown."""

    findings: Findings | None = None
    failed: str = ""
    importing: float = 0.0

    @property
    def ran(self) -> bool:
        """Whether the change is known to have run: a touched function with a new line, or a line outside functions on import; or a count
        differs, and the change is not in functions alone that nothing called."""
        findings = self.findings
        if findings is None or findings.elsewhere:
            return False
        return bool(findings.comparisons.differing or findings.comparisons.lost or (findings.files and not findings.unreached))

    @property
    def calls(self) -> list[str]:
        """A sentence on the counted features that ran the change, with its functions that they called; none where none did."""
        findings = self.findings
        names = [name.partition(":")[2] for name in findings.touched if name not in findings.never_ran] if findings and self.ran else []
        if findings is None or not names or not findings.callers:
            return []
        return [f"{RAN}{', '.join(findings.callers)}, counted (called {few(names, MOST)})"]

    @property
    def headline(self) -> str:
        """The result in a clause: the feature with the worst verdict, with its worst number."""
        if self.findings is None:
            return "nothing was counted"
        features = self._features()
        if not self.ran or not features:
            lost = ", ".join(dict.fromkeys(feature for feature, _ in self.findings.comparisons.lost))
            return (
                f"the engine fails with the change ({lost})" if lost else warnings(self.findings)[0] if self.findings.unreached else UNKNOWN
            )
        return self._line(_worst(self._of(features[0]))) or f"counted, identical: {', '.join(features)}"

    @property
    def more_work(self) -> str:
        """The count of a step that grew most beyond the margin, as a metric with its case; "" where none did."""
        compared = self.findings.comparisons.compared if self.findings and not self.findings.elsewhere else ()
        grown = [one for one in compared if one.verdict == "regressed" and one.phase not in (START, END)]
        if not grown:
            return ""
        worst = _worst(grown)
        return f"{worst.metric}@{worst.phase}, {worst.feature}, {worst.requests} requests"

    def sentences(self) -> list[str]:
        """The results by feature, the worst first."""
        if self.findings is None:
            how = "is left to a benchmark" if self.failed.endswith(NO_ROOM) else "could not be counted"
            return [f"the work of vLLM's host {how}: {self.failed}"] if self.failed else []
        findings, comparisons, beside = self.findings, self.findings.comparisons, warnings(self.findings)
        first = beside[: int(findings.unreached)]
        if not self.ran and not findings.unreached:
            first = [UNKNOWN]
        lines = [line for feature in self._features() if (line := self._line(_worst(self._of(feature))))]
        same = [feature for feature in self._features() if _worst(self._of(feature)).verdict == "identical"]
        lines += [f"counted, identical to the last instruction, call and byte: {', '.join(same)}"] if same else []
        of_one, others = few_lines(list(one_sided(comparisons)), MOST), few_lines(beside[int(findings.unreached) :], MOST)
        return [*first, *lines, *of_one, *others, NOT_TIME]

    def rulings(self, policy: Policy, *, part: bool = False) -> tuple[Ruling, ...]:
        """One ruling per feature; none where nothing ran the change.

        With `part`, some files of the change were left out, so it is not the change's fault if it does not run.
        """
        if self.findings is None or not self.ran:
            return ()
        lost = dict.fromkeys(feature for feature, _ in self.findings.comparisons.lost)
        return (*(_lost(name, policy, part) for name in lost), *(self._ruling(feature, policy) for feature in self._features()))

    def code(self, policy: Policy) -> int:
        """The exit code where the count is the only answer."""
        codes = {one.code for one in self.rulings(policy)}
        none = not self.ran or EXIT_UNTESTABLE in codes
        return EXIT_REGRESSED if EXIT_REGRESSED in codes else EXIT_UNTESTABLE if none else EXIT_PASS

    def contradictions(self, times: Sequence[tuple[str, str, Outcome | None]]) -> list[str]:
        """A sentence where the counts contradict the times, which are given with scenario, metric and verdict."""
        verdicts = {one.verdict for one in self.findings.comparisons.compared} if self.findings else set()
        more, less = "regressed" in verdicts, "less" in verdicts
        if more == less:
            return []
        opposite, way, faster = (Outcome.IMPROVED, "more", "faster") if more else (Outcome.REGRESSED, "less", "slower")
        named = [f"{metric} of {scenario}" for scenario, metric, verdict in times if is_timed(metric) and verdict is opposite]
        if not named:
            return []
        return [f"counts and times disagree: {way} Python work was counted, and {faster} was measured ({few(named, MOST)}); see both"]

    def document(self) -> dict[str, Any] | None:
        """The counts in the form of `perfproof count --json`; None where counting was not wanted."""
        if self.findings is None:
            return {"schema": 1, "ran": False, "tried": [], "comparisons": [], "warnings": self.sentences()} if self.failed else None
        made = document_of(self.findings)
        return {"schema": made["schema"], "ran": self.ran, "tried": list(self.findings.tried), **made}

    def _of(self, feature: str) -> list[Compared]:
        return [one for one in self.findings.comparisons.compared if one.feature == feature] if self.findings else []

    def _features(self) -> list[str]:
        """The features that were compared, the worst first."""
        names = dict.fromkeys(one.feature for one in self.findings.comparisons.compared) if self.findings else {}
        return sorted(names, key=lambda name: gravity(_worst(self._of(name))))

    def _line(self, worst: Compared) -> str:
        """`counted, more Python work: decode, plain, 32 requests: ...`; "" for what is identical."""
        if worst.verdict == "identical" or self.findings is None:
            return ""
        return f"counted, {line_about(worst, self._of(worst.feature), self.findings.lines)}"

    def _ruling(self, feature: str, policy: Policy) -> Ruling:
        own, fail = self._of(feature), policy.counts.fail
        beyond = [one for one in own if one.verdict == "regressed" and fail is not None and (one.change or 0.0) > fail]
        worst = _worst(beyond or own)
        effect, code = _effect(worst, policy)
        reason = self._line(worst).removeprefix("counted, ") or "identical to the last instruction, call and byte"
        metric = f"{worst.metric}@{feature}"
        if effect == "fail" and (waiver := policy.waived(SCENARIO, metric)):
            effect, code, reason = "waived", 0, f"waived until {waiver.until}: {waiver.reason} ({waiver.issue}); {reason}"
        return _made(metric, OUTCOMES[worst.verdict], effect, code, _rule_words(policy), reason)


Counting = Callable[[ReadyBuild, ReadyBuild, Sequence[str], Setting], HostCount]


def budget_of(minutes: float | None, left: Callable[[], float | None]) -> Callable[[], float | None]:
    """The seconds for counting in a budget of `minutes`, of which `left` seconds remain."""
    own = counted_down(None if minutes is None else max(minutes / SHARE, min(LEAST, minutes * LARGEST)))
    return lambda: min((each for each in (own(), left()) if each is not None), default=None)


def count_first(base: ReadyBuild, candidate: ReadyBuild, features: Sequence[str], setting: Setting) -> HostCount:
    """Counts a change. Raises `BadInput` for unknown features; any other failure is in the result."""
    sides, first = (base, candidate), cells_of((*FIRST, *features))
    try:
        return _counted(sides, first, setting)
    except PerfproofError as error:
        over = setting.left() == 0
        return HostCount(failed="the time for counting was over before vLLM was imported" if over else " ".join(str(error).split()))


def _counted(sides: Sides, asked: Cells, setting: Setting) -> HostCount:
    touched, modules, left = touched_functions(*sides), modules_of(sides), setting.left()
    known = known_features(sides, touched, setting.builds)
    quick = left is not None and 0 < left < QUICK * setting.slowness
    first, hopeless = with_caller(asked, known.calling, quick), _hopeless(sides[0], touched, known.calling, known.certain)
    more = {} if hopeless else {name: sizes for name, sizes in sizes_of(quick).items() if name not in first}
    cells: Cells = in_turn(known.calling, {**first, **more}) if quick else first

    def reached(now: Sequence[Count]) -> bool:
        there = known_cells(cells, now)
        enough = [one.only(there) for one in now]
        vain = quick and setting.others and bool(known.calling) and there.keys() >= set(known.calling)
        asked_for = all(name in there for name in asked if name not in FIRST)
        return asked_for and (vain or fails_alone(enough) or _reached(sides, enough, touched))

    def counted() -> Sequence[Count]:
        ends = reached if quick or cells is not first else None
        return count(wanted(sides, cells, touched, modules), setting.builds, setting.say, seconds=setting.left(), enough=ends)

    setting.say(f"counting the work of vLLM's host, base and change: {order(first)}{limit(setting.left())}")
    counts = counted()
    if more and not quick and not _reached(sides, counts, touched) and setting.left() != 0:
        cells = {one.name: {**first, **more}[one.name] for one in FEATURES if one.name in {**first, **more}}
        setting.say(f"{SEARCHING}, in this order: {order(more)}")
        counts = counted()
    there = known_cells(cells, counts)
    counts = [one.only(there) for one in counts]
    if not any(one.cells for one in counts):
        return HostCount(failed=next((gone.why for one in counts for gone in one.left_out), "no feature was counted in the time for it"))
    keep_count(sides[0], counts[0], setting.builds)
    notes = left_out([name for name in cells if name not in there], first, over=setting.left() == 0)
    notes += [NEVER_CALLED] if hopeless and not _reached(sides, counts, touched) else []
    return HostCount(importing=max(one.importing for one in counts), findings=concluded(sides, counts, there, touched, setting, notes))


def _hopeless(base: ReadyBuild, touched: frozenset[str], calling: Sequence[str], certain: bool) -> bool:
    """Whether it is known that no feature calls what the change touches."""
    return bool(touched) and certain and not calling and touched <= functions_in(base, touched)


def _reached(sides: Sides, counts: Sequence[Count], touched: frozenset[str]) -> bool:
    """Whether anything ran what the change touches and a new line of it, on import where it touches no function; true where it touches no
    code."""
    if not touched:
        return not modules_of(sides) or reach(sides, counts[1:]).outside
    return bool(ran(counts, touched)) and reach(sides, counts[1:]).lines


# --- rulings ---------------------------------------------------------------------------------------------------


def _worst(compared: Sequence[Compared]) -> Compared:
    """The number that represents all: the worst verdict, instructions before others, the largest change."""
    return min(compared, key=gravity)


def _effect(one: Compared, policy: Policy) -> tuple[Effect, int]:
    """The effect of a number under a policy, and its exit code."""
    margins = policy.counts
    if one.verdict == "untestable":
        return policy.untestable, EXIT_UNTESTABLE if policy.untestable == "fail" else EXIT_PASS
    if one.verdict != "regressed":
        return "pass", EXIT_PASS
    if margins.fail is not None and one.change is not None and one.change > margins.fail:
        return "fail", EXIT_REGRESSED
    return ("report" if margins.warn is None else "warn"), EXIT_PASS


def _rule_words(policy: Policy) -> str:
    """The policy's rule for counts, in words."""
    named = (("warns", policy.counts.warn), ("fails", policy.counts.fail))
    return ", ".join(f"{word} above {100 * margin:.3g} %" for word, margin in named if margin is not None) or "only reported"


def _lost(feature: str, policy: Policy, part: bool) -> Ruling:
    """The ruling for a feature that the base can run and the change can't."""
    effect: Effect = policy.not_covered if part else "fail"
    blame: Blame = "" if part else "change"
    why = "the change does not run without the rest of it" if part else "the engine fails with the change, and runs on its base"
    code = EXIT_UNTESTABLE if effect == "fail" else EXIT_PASS
    return _made(f"python_instructions@{feature}", Outcome.UNTESTABLE, effect, code, _rule_words(policy), f"{feature}: {why}", blame)


def _made(metric: str, verdict: Outcome | None, effect: Effect, code: int, rule: str, reason: str, blame: Blame = "") -> Ruling:
    return Ruling(
        scenario=SCENARIO,
        metric=metric,
        candidate="diff",
        verdict=verdict,
        effect=effect,
        code=code,
        rule=rule,
        reason=reason,
        blame=blame,
    )
