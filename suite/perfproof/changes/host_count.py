"""What a change costs vLLM's host, counted before anything is timed, for `pr` and `gate`: whatever the change touches, and always.

The cheapest feature comes first, with those that are asked for. Where none of them calls what the change touches, the matrix goes on, the
cheapest first, until one does or the time for counting is over. A count that can't be made is told, and changes nothing else. Each feature
makes a ruling: more work warns and fails as the policy's `counts` say, less is never an improvement, other tokens are untestable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.analysis.verdicts.count_comparison import WORDS, Compared, CountVerdict, ran
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.count_findings import Setting, Told, cells_of, concluded, document_of, wanted, warnings
from perfproof.changes.count_sources import Sides, idle_lines, touched_functions
from perfproof.changes.count_words import NOT_TIME, line_of, one_sided
from perfproof.child.engine.features import FEATURES
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, PerfproofError
from perfproof.model.records.counts import METRICS, Count
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.verdicts.gate_decision import Blame, Effect, Ruling
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import Policy
from perfproof.run.host.time_budget import counted_down
from perfproof.run.trials.engine_counting import Cells, count

FIRST = ("plain",)
"""What is counted of every change."""
SHARE = 3
"""Counting takes this part of a time budget, at most."""
SCENARIO = "host_work"
"""What counts are called where scenarios have their names."""
MOST = 6
"""Lines of a kind that are told, at most."""
UNKNOWN = "whether a feature that was counted ran the change is not known: it touches no function"
GRAVEST: tuple[CountVerdict, ...] = ("regressed", "untestable", "less", "equivalent", "identical")
OUTCOMES: dict[CountVerdict, Outcome] = {
    "regressed": Outcome.REGRESSED,
    "untestable": Outcome.UNTESTABLE,
    "less": Outcome.LESS,
    "equivalent": Outcome.EQUIVALENT,
    "identical": Outcome.IDENTICAL,
}
"""Verdicts of counts as those of metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCount:
    """What was counted of a change; None where nothing was, and then why it `failed`, "" where nobody asked."""

    told: Told | None = None
    failed: str = ""

    @property
    def ran(self) -> bool:
        """Whether the change was seen to run: a function that it touches, with a line that it brings, or that anything is otherwise."""
        told = self.told
        if told is None:
            return False
        return bool(told.comparisons.differing or told.comparisons.lost or (told.touched and not told.unreached))

    @property
    def headline(self) -> str:
        """What came out, in a clause: of all features the gravest, with its worst number."""
        if self.told is None:
            return "nothing was counted"
        features = self._features()
        if not self.ran or not features:
            lost = ", ".join(dict.fromkeys(feature for feature, _ in self.told.comparisons.lost))
            return f"the engine fails with the change ({lost})" if lost else warnings(self.told)[0] if self.told.unreached else UNKNOWN
        return self._line(_gravest(self._of(features[0]))) or f"counted, identical: {', '.join(features)}"

    def sentences(self) -> list[str]:
        """What came out, feature by feature, the worst first."""
        if self.told is None:
            return [f"the work of vLLM's host could not be counted: {self.failed}"] if self.failed else []
        told, found, beside = self.told, self.told.comparisons, warnings(self.told)
        first = beside[: int(told.unreached)]
        if not self.ran and not told.unreached:
            first = [UNKNOWN]
        lines = [line for feature in self._features() if (line := self._line(_gravest(self._of(feature))))]
        same = [feature for feature in self._features() if _gravest(self._of(feature)).verdict == "identical"]
        lines += [f"counted, identical to the last instruction, call and byte: {', '.join(same)}"] if same else []
        return [*first, *lines, *_few(list(one_sided(found))), *_few(beside[int(told.unreached) :]), NOT_TIME]

    def rulings(self, policy: Policy, *, part: bool = False) -> tuple[Ruling, ...]:
        """What each feature does to a decision; nothing where nothing ran the change. With `part` some files of the change were left out,
        and that it does not run is not its fault."""
        if self.told is None or not self.ran:
            return ()
        lost = dict.fromkeys(feature for feature, _ in self.told.comparisons.lost)
        return (*(_lost(name, policy, part) for name in lost), *(self._ruling(feature, policy) for feature in self._features()))

    def code(self, policy: Policy) -> int:
        """The exit code where the count is the only answer."""
        codes = {one.code for one in self.rulings(policy)}
        none = not self.ran or EXIT_UNTESTABLE in codes
        return EXIT_REGRESSED if EXIT_REGRESSED in codes else EXIT_UNTESTABLE if none else EXIT_PASS

    def contradictions(self, times: Sequence[tuple[str, str, Outcome | None]]) -> list[str]:
        """A sentence where counts and times, each with scenario, metric and verdict, say the opposite."""
        verdicts = {one.verdict for one in self.told.comparisons.compared} if self.told else set()
        more, less = "regressed" in verdicts, "less" in verdicts
        if more == less:
            return []
        opposite, way, faster = (Outcome.IMPROVED, "more", "faster") if more else (Outcome.REGRESSED, "less", "slower")
        named = [f"{metric} of {scenario}" for scenario, metric, verdict in times if is_timed(metric) and verdict is opposite]
        if not named:
            return []
        return [f"counts and times disagree: {way} Python work was counted, and {faster} was measured ({', '.join(_few(named))}); see both"]

    def document(self) -> dict[str, Any] | None:
        """As JSON has it, as `perfproof count --json` does; None where nobody asked."""
        if self.told is None:
            return {"schema": 1, "ran": False, "tried": [], "comparisons": [], "warnings": self.sentences()} if self.failed else None
        made = document_of(self.told)
        return {"schema": made["schema"], "ran": self.ran, "tried": list(self.told.tried), **made}

    def _of(self, feature: str) -> list[Compared]:
        return [one for one in self.told.comparisons.compared if one.feature == feature] if self.told else []

    def _features(self) -> list[str]:
        """The features that were compared, the worst first."""
        names = dict.fromkeys(one.feature for one in self.told.comparisons.compared) if self.told else {}
        return sorted(names, key=lambda name: _rank(_gravest(self._of(name))))

    def _line(self, worst: Compared) -> str:
        """`counted, more Python work: decode, plain, 32 requests: ...`; "" for what is identical."""
        if worst.verdict == "identical" or self.told is None:
            return ""
        alike = [one for one in self._of(worst.feature) if (one.verdict, one.metric) == (worst.verdict, worst.metric)]
        others = len(alike) - 1
        more = f" (and in {others} more phases or sizes)" if others and worst.verdict != "untestable" else ""
        return f"counted, {WORDS[worst.verdict]}: {line_of(worst, self.told.lines, 3)}{more}"

    def _ruling(self, feature: str, policy: Policy) -> Ruling:
        mine, fail = self._of(feature), policy.counts.fail
        beyond = [one for one in mine if one.verdict == "regressed" and fail is not None and (one.change or 0.0) > fail]
        worst = _gravest(beyond or mine)
        effect, code = _effect(worst, policy)
        reason = self._line(worst).removeprefix("counted, ") or "identical to the last instruction, call and byte"
        metric = f"{worst.metric}@{feature}"
        if effect == "fail" and (waiver := policy.waived(SCENARIO, metric)):
            effect, code, reason = "waived", 0, f"waived until {waiver.until}: {waiver.reason} ({waiver.issue}); {reason}"
        return _made(metric, OUTCOMES[worst.verdict], effect, code, _asked(policy), reason)


Counting = Callable[[ReadyBuild, ReadyBuild, Sequence[str], Setting], HostCount]


def budget_of(minutes: float | None, left: Callable[[], float | None]) -> Callable[[], float | None]:
    """The seconds that counting has of a budget of so many minutes, of which `left` are left."""
    own = counted_down(None if minutes is None else minutes / SHARE)
    return lambda: min((each for each in (own(), left()) if each is not None), default=None)


def count_first(base: ReadyBuild, candidate: ReadyBuild, features: Sequence[str], setting: Setting) -> HostCount:
    """Counts a change. Raises `BadInput` for features that are none; whatever else keeps it from counting is in the answer."""
    sides, first = (base, candidate), cells_of((*FIRST, *features))
    try:
        return _counted(sides, first, setting)
    except PerfproofError as error:
        over = setting.left() == 0
        return HostCount(failed="the time for it was over before vLLM was imported" if over else " ".join(str(error).split()))


def _counted(sides: Sides, first: Cells, setting: Setting) -> HostCount:
    touched = touched_functions(*sides)
    setting.say(f"counting the work of vLLM's host, base and change: {', '.join(first)}")
    counts = count(wanted(sides, first, touched), setting.builds, setting.say, seconds=setting.left())
    asked = first
    if not _reached(sides, counts, touched) and setting.left() != 0:
        asked = {**first, **{one.name: one.sizes for one in FEATURES if one.name not in first and not one.positions}}
        setting.say("none of it runs what the change touches: on through the features, the cheapest first, until one does")

        def enough(now: Sequence[Count]) -> bool:
            known = _known(asked, now)
            return _reached(sides, [one.only(known) for one in now], touched)

        counts = count(wanted(sides, asked, touched), setting.builds, setting.say, seconds=setting.left(), enough=enough)
    known = _known(asked, counts)
    counts = [one.only(known) for one in counts]
    if not any(one.cells for one in counts):
        return HostCount(failed=next((gone.why for one in counts for gone in one.left_out), "no feature was counted in the time for it"))
    late = [name for name in asked if name not in known] if setting.left() == 0 else []
    notes = [f"not counted, as the time for it was over: {', '.join(late)}"] if late else []
    return HostCount(told=concluded(sides, counts, known, touched, setting, notes))


def _reached(sides: Sides, counts: Sequence[Count], touched: frozenset[str]) -> bool:
    """Whether anything ran what the change touches, or a line that it brings; so where it touches no function."""
    return not touched or (bool(ran(counts, touched)) and idle_lines(sides, counts[1:])[1])


def _known(cells: Cells, counts: Sequence[Count]) -> dict[str, list[int]]:
    """The cells of which every count says something."""
    found = {name: [size for size in sizes if all(_says(one, name, size) for one in counts)] for name, sizes in cells.items()}
    return {name: sizes for name, sizes in found.items() if sizes}


def _says(count: Count, feature: str, requests: int) -> bool:
    gone = any(one.feature == feature and one.requests in (None, requests) for one in count.left_out)
    return gone or count.cell((feature, requests)) is not None


# --- rulings ---------------------------------------------------------------------------------------------------


def _gravest(compared: Sequence[Compared]) -> Compared:
    """The number that stands for all: of the gravest verdict, instructions before others, the largest change."""
    return min(compared, key=_rank)


def _rank(one: Compared) -> tuple[int, int, float, int]:
    size = abs(one.change) if one.change is not None else 0.0
    return GRAVEST.index(one.verdict), list(METRICS).index(one.metric), -size, -one.requests


def _effect(one: Compared, policy: Policy) -> tuple[Effect, int]:
    """What a number does under a policy, and the exit code that it stands for."""
    margins = policy.counts
    if one.verdict == "untestable":
        return policy.untestable, EXIT_UNTESTABLE if policy.untestable == "fail" else EXIT_PASS
    if one.verdict != "regressed":
        return "pass", EXIT_PASS
    if margins.fail is not None and one.change is not None and one.change > margins.fail:
        return "fail", EXIT_REGRESSED
    return ("report" if margins.warn is None else "warn"), EXIT_PASS


def _asked(policy: Policy) -> str:
    """What is asked of counts, in words."""
    named = (("warns", policy.counts.warn), ("fails", policy.counts.fail))
    return ", ".join(f"{word} above {100 * margin:.3g} %" for word, margin in named if margin is not None) or "only reported"


def _lost(feature: str, policy: Policy, part: bool) -> Ruling:
    """A feature that the base can run and the change can't."""
    effect: Effect = policy.not_covered if part else "fail"
    blame: Blame = "" if part else "change"
    why = "the change does not run without the rest of it" if part else "the engine fails with the change, and runs on its base"
    code = EXIT_UNTESTABLE if effect == "fail" else EXIT_PASS
    return _made(f"python_instructions@{feature}", Outcome.UNTESTABLE, effect, code, _asked(policy), f"{feature}: {why}", blame)


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


def _few(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield f"and {len(lines) - MOST} more"
