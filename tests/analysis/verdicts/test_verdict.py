"""The rule: outcomes, looks, outliers, missing trials, and the properties that any honest rule has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.analysis.stats.samples import Lost, PairedSample, Status, pair_arrays
from perfproof.analysis.verdicts.exact_counts import judge_witness
from perfproof.analysis.verdicts.verdict import Verdict, judge, judge_all, should_stop
from perfproof.model.verdicts.judged import Outcome
from tests.analysis.numbers import made

FLIPPED = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}
DECIDED = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.EQUIVALENT)
values = st.lists(st.floats(0.5, 2.0, allow_nan=False), min_size=6, max_size=24)
pairs = st.integers(2, 24).flatmap(
    lambda n: st.tuples(*(st.lists(st.floats(0.9, 1.15, allow_nan=False), min_size=n, max_size=n) for _ in range(2)))
)


@pytest.mark.parametrize(
    ("effect", "sd", "outcome"),
    [
        (0.05, 0.02, Outcome.REGRESSED),
        (-0.05, 0.02, Outcome.IMPROVED),
        (0.0, 0.01, Outcome.EQUIVALENT),
        (0.005, 0.15, Outcome.INCONCLUSIVE),
        (0.05, 0.5, Outcome.INCONCLUSIVE),
    ],
)
@pytest.mark.parametrize("better", ["lower", "higher"])
def test_each_outcome_is_reached_in_either_direction(effect: float, sd: float, outcome: Outcome, better: str) -> None:
    """A clear change is regressed or improved, none at all equivalent, and noise inconclusive, whichever way the metric points."""
    verdict = judge(made(effect, sd, better=better, exactly=True), one_look(24))  # type: ignore[arg-type]
    assert verdict.outcome is outcome
    assert verdict.comparison is not None
    assert verdict.comparison.mean_log == pytest.approx(effect)
    sign = 1 if better == "lower" else -1
    assert verdict.comparison.effect == pytest.approx(np.expm1(sign * effect))
    low, high = verdict.comparison.interval
    assert low < verdict.comparison.effect < high


def test_a_significant_change_below_the_margin_is_no_regression() -> None:
    """Significance alone is not enough: the mean must reach the margin too."""
    verdict = judge(made(0.015, 0.005, exactly=True), one_look(24))
    assert verdict.comparison is not None
    assert verdict.comparison.interval[0] > 0
    assert verdict.outcome is Outcome.EQUIVALENT


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_fewer_than_six_blocks_decide_nothing(blocks: int) -> None:
    """However clear the change, a timed metric is inconclusive below 6 blocks, and the reason says so."""
    verdict = judge(made(0.5, 0.001, blocks), sequential(1))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "fewer than 6" in verdict.reason


def test_nothing_compared_is_no_verdict() -> None:
    """Records of one side alone, or without a whole block, are untestable once the run is over; while it goes on nothing is decided."""
    assert judge(made(0.5, 0.001, 0), sequential(1)).outcome is Outcome.UNTESTABLE
    assert judge(made(0.5, 0.001, 0), sequential(1), final=False).outcome is Outcome.INCONCLUSIVE


def test_a_metric_decided_at_a_look_stays_decided() -> None:
    """What came after the deciding look changes neither outcome nor interval."""
    early = made(0.08, 0.01, 6)
    sample = pair_arrays(np.append(early.baseline, [10.0] * 10), np.append(early.candidate, [9.0] * 10))
    verdict = judge(sample, sequential(1))
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.comparison is not None
    assert verdict.comparison.blocks == 6
    assert verdict.comparison.interval == pytest.approx(judge(early, sequential(1)).comparison.interval)  # type: ignore[union-attr]


def test_an_outlier_that_makes_the_verdict_withholds_it_and_is_named() -> None:
    """One wild block among quiet ones may move the mean beyond the margin; the companion disagrees, and the block is named."""
    found = []
    for height in np.geomspace(0.02, 1, 60):
        x = np.append(np.tile([0.0004, -0.0003, 0.0001], 33)[:11], height)
        verdict = judge(pair_arrays(np.ones(12), np.exp(x)), one_look(12), margin=0.001)
        found.append(verdict)
        assert verdict.outcome is not Outcome.REGRESSED
    assert all("block 12 is an outlier" in verdict.warnings[0] for verdict in found)


def test_an_outlier_against_a_small_but_steady_change_is_told_and_withheld() -> None:
    """Where Student's interval would decide by the outlier's help and the companion is not significant, nothing is decided."""
    x = np.array([0.03, 0.06, -0.02, 0.05, 0.04, -0.01, 0.06, 0.05, 0.045, 0.035, 0.055, -0.015, 0.05, 0.06, 0.04, 0.3])
    sample = pair_arrays(np.ones(16), np.exp(x))
    assert judge(sample, one_look(16)).outcome is Outcome.REGRESSED
    against = pair_arrays(np.ones(16), np.exp(np.append(x[:15] * 0, 0.0)))
    assert judge(against, one_look(16)).outcome is Outcome.EQUIVALENT


@pytest.mark.parametrize("status", [Status.FAILED, Status.UNATTESTED, Status.UNEQUAL, Status.ABSENT])
def test_one_trial_beyond_repair_makes_the_metric_untestable(status: Status) -> None:
    """A crash, a missing attestation, unequal work or a missing value is never a regression and never a pass."""
    sample = replace(made(0.05), lost=(Lost(block=3, arm="b", status=status, reason="it went away"),))
    verdict = judge(sample, sequential(1))
    assert verdict.outcome is Outcome.UNTESTABLE
    assert "block 3" in verdict.reason
    assert "it went away" in verdict.reason


def test_invalid_blocks_are_counted_and_shown_and_too_many_are_untestable() -> None:
    """A few invalid blocks are a warning with their reason; more than half mean that this machine cannot measure."""

    def lose(blocks: int) -> tuple[Lost, ...]:
        return tuple(Lost(block=100 + i, arm="a", status=Status.INVALID, reason="steal 9 %") for i in range(blocks))

    few = judge(replace(made(0.05), lost=lose(2)), sequential(1))
    assert few.outcome is Outcome.REGRESSED
    assert any("2 blocks excluded" in warning and "steal 9 %" in warning for warning in few.warnings)
    assert judge(replace(made(0.05), lost=lose(25)), sequential(1)).outcome is Outcome.UNTESTABLE


KILLED = "interrupted from outside: arm b: the benchmark was ended by SIGKILL"


@pytest.mark.parametrize(
    ("arms", "reasons", "says"),
    [
        (["b"] * 25, [KILLED] * 25, f"(the first: {KILLED}): each time arm b alone, which may end itself, or need too much memory"),
        (["a", "b"] * 13, [KILLED] * 26, f"(the first: {KILLED})"),
        ([""] * 25, [KILLED] * 25, f"(the first: {KILLED})"),
        (["b"] * 25, [*[KILLED] * 24, "steal 9 %"], f"(the first: {KILLED}): this machine is too noisy to measure on"),
    ],
)
def test_what_ends_every_time_is_not_told_as_noise(arms: list[str], reasons: list[str], says: str) -> None:
    """Only the rules of the machine's state say that it is noisy; an arm that alone is killed in every block is named."""
    lost = tuple(Lost(block=n, arm=arm, status=Status.INVALID, reason=why) for n, (arm, why) in enumerate(zip(arms, reasons, strict=True)))
    verdict = judge(replace(made(0.05), lost=lost), sequential(1))
    assert (verdict.outcome, verdict.reason.partition(" blocks are invalid ")[2]) == (Outcome.UNTESTABLE, says)


def test_a_failed_calibration_makes_timed_verdicts_untestable_in_both_directions() -> None:
    """With a distrusted machine nothing timed is called regressed, improved or equivalent."""
    for effect in (-0.1, 0.0, 0.1):
        verdict = judge(made(effect), sequential(1), distrust="the baseline differs from itself")
        assert (verdict.outcome, verdict.reason) == (Outcome.UNTESTABLE, "the baseline differs from itself")


def test_an_inconclusive_verdict_says_how_many_blocks_and_minutes_would_settle_it() -> None:
    """The reason holds the number of further blocks and, from the minutes of a block, the time."""
    verdict = judge(made(0.0, 0.06, 10, exactly=True), one_look(10), minutes_per_block=3.0)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.settling is not None
    assert verdict.settling.more > 10
    assert verdict.settling.minutes == pytest.approx(3 * verdict.settling.more)
    assert f"{verdict.settling.more} more blocks" in verdict.reason


@given(pairs)
@settings(max_examples=150, deadline=None)
def test_swapping_the_arms_flips_the_verdict(drawn: tuple[list[float], list[float]]) -> None:
    """What is regressed one way is improved the other way, and nothing else changes."""
    there, back = (judge(pair_arrays(a, b), sequential(1)) for a, b in (drawn, drawn[::-1]))
    assert back.outcome is FLIPPED.get(there.outcome, there.outcome)


@given(pairs, st.floats(1e-6, 1e6))
@settings(max_examples=150, deadline=None)
def test_scaling_all_values_changes_nothing(drawn: tuple[list[float], list[float]], factor: float) -> None:
    """Seconds or milliseconds, the outcome and the effect are the same (rounded inputs aside)."""
    plain = judge(pair_arrays(*drawn), sequential(1))
    scaled = judge(pair_arrays(*(np.array(arm) * factor for arm in drawn)), sequential(1))
    assert plain.comparison is not None
    assert scaled.comparison is not None
    assert scaled.comparison.mean_log == pytest.approx(plain.comparison.mean_log, abs=1e-9)
    assert scaled.comparison.sd_log == pytest.approx(plain.comparison.sd_log, abs=1e-9)
    assert scaled.outcome is plain.outcome or _on_an_edge(plain)


def _on_an_edge(verdict: Verdict) -> bool:
    """Whether a bound lies within rounding of its threshold, where a last digit may decide."""
    found = verdict.comparison
    assert found is not None
    edges = (
        *np.log1p(found.interval),
        *(np.abs(np.log1p(found.equivalence_interval)) - found.margin_log),
        abs(found.mean_log) - found.margin_log,
    )
    return found.sd_log < 1e-9 or bool(np.min(np.abs(edges)) < 1e-9)


@given(pairs, st.randoms())
@settings(max_examples=150, deadline=None)
def test_permuting_the_blocks_of_one_look_changes_nothing(drawn: tuple[list[float], list[float]], random: object) -> None:
    """At one look, the order of the blocks is no information."""
    order = list(range(len(drawn[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    plan = one_look(len(order))
    plain, mixed = (judge(pair_arrays(*([arm[i] for i in places] for arm in drawn)), plan) for places in (range(len(order)), order))
    assert mixed.outcome is plain.outcome or _on_an_edge(plain)


@given(pairs, st.sampled_from([Status.FAILED, Status.UNATTESTED, Status.INVALID]), st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_adding_a_failed_trial_never_turns_untestable_into_a_pass(
    drawn: tuple[list[float], list[float]], status: Status, broken: int
) -> None:
    """A sample that is untestable stays so whatever else fails; a failure beyond repair always makes it so."""
    sample = replace(
        pair_arrays(*drawn), lost=tuple(Lost(block=90 + i, arm="a", status=Status.FAILED, reason="exit 1") for i in range(broken))
    )
    worse = replace(sample, lost=(*sample.lost, Lost(block=99, arm="b", status=status, reason="gone")))
    if judge(sample, sequential(1)).outcome is Outcome.UNTESTABLE:
        assert judge(worse, sequential(1)).outcome is Outcome.UNTESTABLE
    if status is not Status.INVALID:
        assert judge(worse, sequential(1)).outcome is Outcome.UNTESTABLE


@given(pairs, st.floats(0.001, 0.2), st.floats(1.0, 4.0))
@settings(max_examples=150, deadline=None)
def test_a_wider_margin_never_makes_a_change_nor_unmakes_an_equivalence(
    drawn: tuple[list[float], list[float]], margin: float, factor: float
) -> None:
    """Monotone in the margin: as it grows, changes only cease to be called, equivalence only begins to be (at one look)."""
    sample, plan = pair_arrays(*drawn), one_look(len(drawn[0]))
    narrow, wide = (judge(sample, plan, margin=each).outcome for each in (margin, margin * factor))
    if wide in (Outcome.REGRESSED, Outcome.IMPROVED):
        assert narrow is wide
    if narrow is Outcome.EQUIVALENT:
        assert wide is Outcome.EQUIVALENT


@given(pairs, st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_more_primary_metrics_never_make_a_change_easier(drawn: tuple[list[float], list[float]], family: int) -> None:
    """Dividing the error widens the interval, so that nothing new is called at one look."""
    alone, shared = (judge(pair_arrays(*drawn), one_look(len(drawn[0]), each)).outcome for each in (1, family))
    assert shared is alone or alone in (Outcome.REGRESSED, Outcome.IMPROVED)


def test_many_samples_judged_together_are_judged_as_each_alone() -> None:
    """Batches of mixed sizes, directions and margins give what judging one by one gives, in the order given."""
    mixed: list[PairedSample] = [made(0.01 * i, 0.02, 5 + i, seed=i, better="higher" if i % 2 else "lower") for i in range(18)]
    margins = [0.01 + 0.002 * i for i in range(18)]
    together = judge_all(mixed, sequential(3), margins=margins)
    alone = [judge(sample, sequential(3), margin=margin) for sample, margin in zip(mixed, margins, strict=True)]
    assert [v.outcome for v in together] == [v.outcome for v in alone]
    assert [v.reason for v in together] == [v.reason for v in alone]


def test_widening_from_autocorrelation_makes_every_interval_wider() -> None:
    """A widening of 2 doubles the interval, and a narrow regression is no longer called."""
    sample = made(0.03, 0.03, 16, exactly=True)
    plain, wide = judge(sample, one_look(16)), judge(sample, one_look(16), widening=2.0)
    assert plain.outcome is Outcome.REGRESSED
    assert wide.outcome is Outcome.INCONCLUSIVE
    assert plain.comparison is not None
    assert wide.comparison is not None
    assert wide.comparison.mde is not None
    assert plain.comparison.mde is not None
    assert wide.comparison.mde > plain.comparison.mde


def test_a_scenario_stops_on_a_regression_when_all_are_decided_or_at_the_last_look() -> None:
    """The stopping rule names its reason, and says nothing while a primary metric is open and blocks are left."""
    bad, good, open_ = (judge(made(e, s), sequential(1)) for e, s in ((0.1, 0.01), (0.0, 0.005), (0.02, 0.3)))
    plan = sequential(2)
    assert "regressed" in should_stop([open_, bad], 6, plan)
    assert "decided" in should_stop([good, good], 6, plan)
    assert should_stop([good, open_], 16, plan) == ""
    assert "last look" in should_stop([good, open_], 24, plan)


def test_an_exact_regression_stops_a_scenario_whose_times_a_busy_machine_spoils() -> None:
    """Counted in as many blocks as the first look takes; before, and where the counts are equal and a time is open, it goes on."""
    worse, same = judge_witness([1.0] * 6, [2.0] * 6), judge_witness([1.0] * 6, [1.0] * 6)
    open_, plan = judge(made(0.02, 0.3), sequential(1)), sequential(1)
    assert "regressed" in should_stop([open_, worse], 0, plan, 6)
    assert should_stop([open_, worse], 0, plan, 5) == ""
    assert should_stop([open_, same], 0, plan, 6) == ""
    assert "decided" in should_stop([same], 0, plan, 6)


def test_while_a_run_goes_on_nothing_is_said_of_blocks_between_looks() -> None:
    """With final=False, 8 blocks are judged at 6 only, and 5 not at all."""
    sample = made(0.0, 0.3, 8)
    going, ended = judge(sample, sequential(1), final=False), judge(sample, sequential(1))
    assert going.comparison is not None
    assert ended.comparison is not None
    assert (going.comparison.blocks, ended.comparison.blocks) == (6, 8)
    assert going.settling is None


def test_a_verdict_shows_the_interval_it_rests_on() -> None:
    """Equivalent shows the equivalence interval and its level, everything else the interval for a change."""
    equal, worse = judge(made(0.0, 0.005), sequential(1)), judge(made(0.1, 0.01), sequential(1))
    assert equal.comparison is not None
    assert worse.comparison is not None
    assert (equal.interval, equal.level) == (equal.comparison.equivalence_interval, pytest.approx(0.975))
    assert (worse.interval, worse.level) == (worse.comparison.interval, pytest.approx(0.995))
