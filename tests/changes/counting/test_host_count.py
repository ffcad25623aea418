"""What `pr` and `gate` make of a count: what is told, what rules, and when the search for a feature ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting import count_findings, feature_order, host_count, known_features
from perfproof.changes.counting.count_findings import Setting
from perfproof.changes.counting.count_words import NOT_TIME
from perfproof.changes.counting.host_count import UNKNOWN, HostCount, budget_of, count_first
from perfproof.changes.counting.known_features import KnownFeatures
from perfproof.child.engine.features import FEATURES
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.records.counts import Cell, Count, FunctionWork, LeftOut
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY, CountMargins, Policy
from perfproof.run.trials.engine_counting import Wanted
from tests.analysis.counts.test_count_comparison import phase
from tests.changes.counting.test_count_command import FUNCTION, came, compared, found, told

STRICT = dataclasses.replace(DEFAULT_POLICY, counts=CountMargins(warn=0.005, fail=0.1))


def host(*comparisons: object, **more: object) -> HostCount:
    lost = more.pop("lost", ())
    return HostCount(findings=told(found(*comparisons, lost=lost), **more))  # type: ignore[arg-type]


def test_what_changed_is_told_feature_by_feature_the_worst_first() -> None:
    """With the functions behind it, what is identical in one line, and last what a count is not."""
    small = compared(feature="penalties", baseline=100_000, candidate=101_000, change=0.01)
    same = compared("identical", feature="logprobs", change=0.0, changed=())
    said = host(small, compared(), compared(phase="prefill", change=0.1), same).sentences()
    assert said[0] == (
        "counted, more Python work: decode, plain, 32 requests: 84,563 to 96,851 Python instructions a step (+14.5 %): "
        "Scheduler.update_from_output +12,288 (and in 1 more phases or sizes)"
    )
    assert said[1].startswith("counted, more Python work: decode, penalties, 32 requests: 100,000 to 101,000 ")
    assert said[2] == "counted, identical to the last instruction, call and byte: logprobs"
    assert said[-1] == NOT_TIME


def test_that_no_feature_ran_the_change_comes_first_with_what_was_tried() -> None:
    """It is no pass, and no feature rules."""
    idle = host(compared("identical", changed=()), never_ran=(FUNCTION,), tried=("plain", "LoRA"))
    assert idle.sentences()[0] == f"no tried feature calls what the change touches ({FUNCTION}); tried: plain, LoRA"
    assert (idle.ran, idle.rulings(STRICT), idle.code(STRICT)) == (False, (), EXIT_UNTESTABLE)


def test_what_differs_where_nothing_called_the_change_is_not_its_doing() -> None:
    """An engine's start differs from run to run by what vLLM keeps of models; where the change is not in functions alone it may."""
    other = host(compared(), never_ran=(FUNCTION,), tried=("start and end",), alone=True)
    assert (other.ran, other.rulings(STRICT), other.code(STRICT)) == (False, (), EXIT_UNTESTABLE)
    assert other.findings is not None
    assert other.findings.code == EXIT_UNTESTABLE
    assert other.headline == f"no tried feature calls what the change touches ({FUNCTION}); tried: start and end"
    assert other.more_work == ""
    constants = host(compared(), never_ran=(FUNCTION,), tried=("start and end",), alone=False)
    assert (constants.ran, constants.code(STRICT)) == (True, EXIT_REGRESSED)


def test_of_a_change_without_functions_an_identical_count_says_nothing() -> None:
    """A class attribute, the top level of a module: nobody knows whether it ran; where anything is otherwise, it did."""
    quiet = host(compared("identical", changed=()), touched=(), files=())
    assert (quiet.ran, quiet.code(STRICT), quiet.sentences()[0]) == (False, EXIT_UNTESTABLE, UNKNOWN)
    assert host(compared(), touched=(), files=()).code(STRICT) == EXIT_REGRESSED


@pytest.mark.parametrize(
    ("verdict", "change", "policy", "effect", "code"),
    [
        ("regressed", 0.145, DEFAULT_POLICY, "warn", EXIT_PASS),
        ("regressed", 0.145, STRICT, "fail", EXIT_REGRESSED),
        ("regressed", 0.02, STRICT, "warn", EXIT_PASS),
        ("regressed", 0.02, dataclasses.replace(STRICT, counts=CountMargins(warn=None, fail=None)), "report", EXIT_PASS),
        ("less", -0.145, STRICT, "pass", EXIT_PASS),
        ("equivalent", 0.001, STRICT, "pass", EXIT_PASS),
        ("identical", 0.0, STRICT, "pass", EXIT_PASS),
        ("untestable", 0.0, STRICT, "fail", EXIT_UNTESTABLE),
        ("untestable", 0.0, dataclasses.replace(STRICT, untestable="warn"), "warn", EXIT_PASS),
    ],
)
def test_a_feature_rules_as_the_policy_says(verdict: str, change: float, policy: Policy, effect: str, code: int) -> None:
    """More work warns and fails from its margins; less is never an improvement; other work is untestable."""
    one = host(compared(verdict, change=change, reason="other work: request 0" if verdict == "untestable" else ""))
    (ruling,) = one.rulings(policy)
    assert (ruling.scenario, ruling.metric, ruling.effect, ruling.code) == ("host_work", "python_instructions@plain", effect, code)
    assert ruling.verdict is not Outcome.IMPROVED
    assert one.code(policy) == code


def test_c_calls_beyond_the_margin_fail_though_instructions_only_warn() -> None:
    """Any of the counts may fail a feature."""
    (ruling,) = host(compared(change=0.02), compared(metric="c_calls", change=0.5)).rulings(STRICT)
    assert (ruling.metric, ruling.effect) == ("c_calls@plain", "fail")


def test_a_feature_that_only_the_base_can_run_fails_and_is_the_changes_doing() -> None:
    """Unless a part of the change was left out: then it may need the rest."""
    gone = host(compared("identical", changed=()), lost=(("LoRA", 32),))
    lost, _ = gone.rulings(DEFAULT_POLICY)
    assert (lost.effect, lost.code, lost.blame) == ("fail", EXIT_UNTESTABLE, "change")
    assert gone.code(DEFAULT_POLICY) == EXIT_UNTESTABLE
    assert gone.rulings(DEFAULT_POLICY, part=True)[0].effect == DEFAULT_POLICY.not_covered


@pytest.mark.parametrize(
    ("counts", "times", "said"),
    [
        ("regressed", Outcome.IMPROVED, "more Python work was counted, and faster was measured"),
        ("less", Outcome.REGRESSED, "less Python work was counted, and slower was measured"),
        ("less", Outcome.IMPROVED, ""),
        ("equivalent", Outcome.REGRESSED, ""),
    ],
)
def test_counts_and_times_that_say_the_opposite_are_told(counts: str, times: Outcome, said: str) -> None:
    """In one sentence, with the metric; a byte count is no time."""
    one = host(compared(counts))
    (found_,) = one.contradictions([("swap", "round_time", times), ("swap", "bytes_per_swap", times)]) or [""]
    assert said in found_
    assert bool(found_) is bool(said)
    assert "bytes_per_swap" not in found_


def test_many_times_that_contradict_a_count_are_named_up_to_a_few() -> None:
    """They end as every list of names does."""
    (said,) = host(compared("regressed")).contradictions([(name, "round_time", Outcome.IMPROVED) for name in "abcdefgh"])
    assert said.endswith("round_time of e, round_time of f and 2 more); see both")


def test_what_could_not_be_counted_is_told_and_rules_nothing() -> None:
    """And of what nobody asked for there is no word."""
    failed = HostCount(failed="no engine here")
    assert failed.sentences() == ["the work of vLLM's host could not be counted: no engine here"]
    left = HostCount(failed=f"no counted feature is known to call it, {known_features.NO_ROOM}")
    assert left.sentences() == [
        "the work of vLLM's host is left to a benchmark: no counted feature is known to call it, and the budget has room for one"
    ]
    assert (failed.rulings(STRICT), failed.ran) == ((), False)
    assert (failed.document() or {})["warnings"] == failed.sentences()
    assert (HostCount().sentences(), HostCount().document()) == ([], None)


@given(st.one_of(st.none(), st.floats(0.01, 1e4)), st.one_of(st.none(), st.floats(0, 1e6)))
def test_counting_takes_a_third_of_a_budget_or_two_minutes_of_a_small_one(minutes: float | None, left: float | None) -> None:
    """Never more than two thirds of it, and never more than is left of it."""
    seconds = budget_of(minutes, lambda: left)()
    assert (seconds is None) is (minutes is None and left is None)
    if seconds is not None:
        most = max(20 * minutes, min(120, 40 * minutes)) if minutes is not None else 1e9
        assert seconds <= min(most + 1e-6, left if left is not None else 1e9)


# --- the search for a feature ------------------------------------------------------------------------------------


class Engines:
    """Counts that are there at once: what the change touches is called by the feature `by` alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
        self.by, self.asked = by, list[list[str]]()
        self.fault = ""
        for room in (host_count, count_findings):
            monkeypatch.setattr(room, "count", self.count)
        for room in (host_count, known_features):
            monkeypatch.setattr(room, "touched_functions", lambda *sides: frozenset({"m:f"}))
            monkeypatch.setattr(room, "known_features", lambda sides, functions, builds: self.knows())
        for room in (host_count, count_findings):
            monkeypatch.setattr(room, "reach", lambda sides, counts: came())
            monkeypatch.setattr(room, "modules_of", lambda sides: ("m",))
        monkeypatch.setattr(count_findings, "code_files", lambda *sides: ("m.py",))
        monkeypatch.setattr(count_findings, "only_functions", lambda *sides: True)
        monkeypatch.setattr(count_findings, "new_lines", lambda sides, counts: {})
        self.known: tuple[tuple[str, ...], bool] = ((), False)
        self.kept: list[Count] = []
        self.reaching = True
        monkeypatch.setattr(host_count, "functions_in", lambda build, names: frozenset(names))
        monkeypatch.setattr(host_count, "keep_count", lambda build, count, builds: self.kept.append(count))

    def knows(self) -> KnownFeatures:
        return KnownFeatures(calling=self.known[0], certain=self.known[1], reaching=self.reaching and bool(self.known[0]))

    def count(
        self,
        wanted: Sequence[Wanted],
        builds: Path,
        say: Callable[[str], object],
        *,
        seconds: float | None = None,
        enough: Callable[[Sequence[Count]], bool] | None = None,
        about: str = "",
    ) -> list[Count]:
        self.asked.append(list(wanted[0].cells))
        cells: list[Cell] = []
        gone: list[LeftOut] = []
        for name, sizes in wanted[0].cells.items():
            if self.fault:
                gone.append(LeftOut(feature=name, requests=None, kind="fault", why=self.fault))
            cells += [self.cell(name, size) for size in sizes] if not self.fault else []
            found = [Count(vllm="1", python="3", cells=tuple(cells), left_out=tuple(gone), refused="") for _ in wanted]
            if enough is not None and enough(found):
                break
        return found

    def cell(self, name: str, size: int) -> Cell:
        own = FunctionWork(instructions=5, calls=1, inclusive=5, c_calls=0, line=1)
        work = dataclasses.replace(phase({}), functions={"m:f" if name == self.by else "m:g": own})
        return Cell(feature=name, requests=size, phases={"decode": work}, outputs=(), seconds={})

    def __call__(self, *features: str, left: float | None = None, others: bool = False) -> HostCount:
        setting = Setting(builds=Path("builds"), margin=0.005, say=lambda text: None, left=lambda: left, others=others)
        build = cast("ReadyBuild", type("Build", (), {"label": "vllm"})())
        return count_first(build, build, features, setting)


def test_only_the_cheapest_feature_is_counted_where_it_runs_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that are asked for."""
    engines = Engines(monkeypatch, "plain")
    assert engines().ran
    assert engines("LoRA").findings.tried == ("plain", "LoRA")  # type: ignore[union-attr]
    assert engines.asked == [["plain"], ["plain", "LoRA"]]


def test_the_matrix_goes_on_until_a_feature_runs_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest first; what comes after is not counted, and all that was tried is told."""
    one = Engines(monkeypatch, "penalties")()
    assert one.findings is not None
    assert one.ran
    assert one.findings.tried == ("plain", "logit bias and min tokens", "penalties")


def test_all_features_are_tried_but_long_outputs_before_it_is_said_that_none_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long outputs call nothing that short ones do not."""
    one = Engines(monkeypatch, "")()
    assert one.findings is not None
    assert not one.ran
    assert one.findings.tried == tuple(feature.name for feature in FEATURES if not feature.positions)


def test_the_cheapest_feature_that_is_known_to_call_the_change_is_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a search, and without a second feature where one that is counted anyway calls it; what was counted of the base is kept."""
    engines = Engines(monkeypatch, "penalties")
    engines.known = (("penalties", "LoRA"), True)
    assert engines().findings.tried == ("plain", "penalties")  # type: ignore[union-attr]
    assert engines("LoRA").findings.tried[:2] == ("plain", "logit bias and min tokens")  # type: ignore[union-attr]
    assert engines.asked[:2] == [["plain", "penalties"], ["plain", "LoRA"]]
    assert engines.kept[0].cells[-1].feature == "penalties"


def test_what_no_feature_of_this_vllm_is_known_to_call_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all features were counted on it before; a table of another release ends no search."""
    engines = Engines(monkeypatch, "")
    engines.known = ((), True)
    one = engines()
    assert engines.asked == [["plain"]]
    assert any("all were counted on this vLLM before, and none calls what the change touches" in line for line in one.sentences())
    engines.known = ((), False)
    engines()
    assert len(engines.asked) == 3


def test_the_search_ends_with_the_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is begun."""
    engines = Engines(monkeypatch, "penalties")
    assert not engines(left=0.0).ran
    assert engines.asked == [["plain"]]


def test_in_less_than_a_minute_one_feature_that_runs_the_change_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known to call it comes first, each with its least number of requests, in one process; what was asked for is counted, too."""
    engines = Engines(monkeypatch, "penalties")
    engines.known = (("penalties", "LoRA"), False)
    one = engines(left=40.0)
    assert one.ran
    assert engines.asked[0][:3] == ["penalties", "LoRA", "plain"]
    assert one.findings is not None
    assert one.findings.tried == ("penalties",)
    assert "not counted, for the budget, once the change had run: plain" in one.sentences()
    assert one.calls == ["ran the change: penalties, counted (called f)"]
    engines.known = ((), False)
    assert engines("LoRA", left=40.0).findings.tried == (  # type: ignore[union-attr]
        "plain",
        "LoRA",
        "logit bias and min tokens",
        "penalties",
    )
    assert len(engines.asked) == 2, "a second process would have to import vLLM, too"


@pytest.mark.parametrize(("others", "tried"), [(True, ("penalties", "LoRA")), (False, None)])
def test_in_less_than_a_minute_benchmarks_have_what_known_features_leave(
    monkeypatch: pytest.MonkeyPatch, others: bool, tried: tuple[str, ...] | None
) -> None:
    """Once every feature that is known to call the change was counted in vain; where nothing else is known to, all others are tried."""
    engines = Engines(monkeypatch, "")
    engines.known = (("penalties", "LoRA"), False)
    one = engines(left=40.0, others=others)
    assert one.findings is not None
    assert not one.ran
    assert one.findings.tried == (
        tried or tuple(dict.fromkeys(["penalties", "LoRA", *(each.name for each in FEATURES if not each.positions)]))
    )


def test_an_engine_that_fails_with_the_change_alone_is_answer_enough() -> None:
    """Nothing else is searched for what ran it: the base runs the feature, and the change does not."""
    engine = Engines.__new__(Engines)
    engine.by = "plain"
    base = Count(vllm="1", python="3", cells=(engine.cell("plain", 8),), left_out=(), refused="")
    gone = LeftOut(feature="plain", requests=8, kind="fault", why="AttributeError")
    assert feature_order.fails_alone([base, dataclasses.replace(base, cells=(), left_out=(gone,))])
    assert not feature_order.fails_alone([base, base])
    assert not feature_order.fails_alone([base, dataclasses.replace(base, cells=(), left_out=(dataclasses.replace(gone, kind="unknown"),))])


@pytest.mark.parametrize(
    ("left", "by", "features", "why"),
    [
        (40.0, ["swap"], (), "no counted feature is known to call what the change touches, swap is, and the budget has room for one"),
        (40.0, [], (), ""),
        (40.0, ["swap"], ("plain",), ""),
        (
            40.0,
            ["swap"],
            ("plain", "LoRA"),
            "no counted feature is known to come to the new lines of what the change touches, swap is, and the budget has room for one",
        ),
        (90.0, ["swap"], (), ""),
        (None, ["swap"], (), ""),
    ],
)
def test_a_short_budget_is_left_to_the_benchmark_that_alone_calls_the_change(
    monkeypatch: pytest.MonkeyPatch, left: float | None, by: list[str], features: tuple[str, ...], why: str
) -> None:
    """Importing vLLM for an engine that calls nothing of it would take what the benchmark needs."""
    engines = Engines(monkeypatch, "")
    engines.known, engines.reaching = (features, False), not why
    setting = Setting(builds=Path("builds"), margin=0.005, say=lambda text: None, left=lambda: left)
    build = cast("ReadyBuild", type("Build", (), {"label": "vllm"})())
    assert known_features.no_room(build, build, by, setting) == why


def test_no_offer_of_blame_rests_on_the_start_of_an_engine() -> None:
    """Blame counts steps."""
    start = compared(feature="start and end", phase="start", requests=0, change=2.0)
    assert host(start).more_work == ""
    assert host(start, compared()).more_work == "python_instructions@decode, plain, 32 requests"
    assert (
        host(start)
        .sentences()[0]
        .startswith("counted, more Python work: start, start and end: 84,563 to 96,851 Python instructions in all")
    )


def test_an_engine_that_this_machine_can_not_run_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault on both sides, a process that ends, a kept file that is broken: each is told in a sentence."""
    engines = Engines(monkeypatch, "plain")
    engines.fault = "no device here"
    assert engines() == HostCount(failed="no device here")

    def fails(*asked: object, **more: object) -> list[Count]:
        raise CannotRun("vllm: vLLM does not import:\nNameError")

    monkeypatch.setattr(host_count, "count", fails)
    assert engines() == HostCount(failed="vllm: vLLM does not import: NameError")
    assert "the time for counting was over" in engines(left=0.0).failed
    with pytest.raises(BadInput, match="is not a feature"):
        engines("teleport")
