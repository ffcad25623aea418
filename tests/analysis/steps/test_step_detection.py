"""Steps of a series: found where they are, and nowhere else."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from perfproof.analysis.steps import Change, Group, find, steps
from perfproof.analysis.steps.deviation_partition import costs, splits
from perfproof.analysis.steps.level_test import chance, two_levels
from perfproof.analysis.steps.rank_scan import LONGEST, proposals, ranks, stretches
from perfproof.analysis.steps.step_detection import between

FLOOR = 0.02
LABELLED = Path(os.environ.get("PERFPROOF_LABELLED", Path(__file__).parents[3].parent / "shared/data/sap-hana-small-2021"))
SEEDS = st.integers(0, 2**32 - 1)
RUNS = int(os.environ.get("PERFPROOF_SERIES", "40"))
"""Simulated series a case; PERFPROOF_SERIES lengthens it."""


def noisy(seed: int, *levels: tuple[int, float], sd: float = 0.02, rho: float = 0.0) -> np.ndarray:
    """A series of levels, (points, value) each, with noise of relative deviation `sd`, autocorrelated by `rho`."""
    source = np.random.default_rng(seed)
    level = np.concatenate([np.full(points, value) for points, value in levels])
    error = source.standard_normal(level.size + 50)
    for at in range(1, error.size):
        error[at] = rho * error[at - 1] + np.sqrt(1 - rho**2) * error[at]
    return level * np.exp(sd * error[50:])


def found(values: np.ndarray, floor: float = FLOOR) -> tuple[Change, ...]:
    """The steps of a timed series with one measurement a build."""
    return find(list(np.asarray(values, dtype=float)[:, None]), floor=floor, kind="timed").changes


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(12, 60), st.integers(4, 40), st.sampled_from([1.3, 1 / 1.3]))
@example(479001599, 29, 6, 1 / 1.3)  # three low points before the step were taken for a step, and held the step off by one
def test_a_large_step_is_found_at_its_place(seed: int, before: int, after: int, factor: float) -> None:
    """A change of thirty per cent in one per cent of noise is seen from the fourth point on, at the point where it is, in its direction."""
    (step,) = found(noisy(seed, (before, 1.0), (after, factor), sd=0.01))
    assert step.index == before
    assert step.direction == ("rise" if factor > 1 else "fall")
    assert step.effect == pytest.approx(factor - 1, abs=0.03)
    assert step.interval is not None
    assert step.interval[0] < step.effect < step.interval[1]
    assert step.confidence > 0.99


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.floats(1e-9, 1e9))
def test_the_unit_does_not_matter(seed: int, factor: float) -> None:
    """Seconds or nanoseconds, the steps and their relative size are the same."""
    values = noisy(seed, (30, 1.0), (20, 1.1))
    assert [(one.index, pytest.approx(one.effect)) for one in found(values)] == [(one.index, one.effect) for one in found(values * factor)]


def test_a_reason_tells_values_in_the_unit_of_the_metric() -> None:
    """Seconds and bytes of a step are never bare numbers; where nobody knows the unit they are."""
    values = noisy(1, (30, 0.004), (20, 0.006), sd=0.001)[:, None]
    (timed,) = find(list(values), floor=FLOOR, kind="timed", unit="s").changes
    assert re.search(r"\+\d\d\.\d %, 4\.\d{3} ms to [56]\.\d{3} ms \(medians of", timed.reason)
    (crossed,) = find(list(values - 0.005), floor=FLOOR, kind="timed", unit="s").changes
    assert re.search(r"-1\.\d{3} ms to 1\.\d{3} ms .*; noise \d\.\d{3} µs, auto", crossed.reason)
    (counted,) = find([np.array([count]) for count in (512.0, 512.0, 67_108_864.0)], floor=FLOOR, kind="witness", unit="B").changes
    assert counted.reason.startswith("an exact count: 512 B before, 67,108,864 B from here on")
    assert re.search(r"%, 0\.00\d+ to 0\.00\d+ \(medians", find(list(values), floor=FLOOR, kind="timed").changes[0].reason)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_series_read_backwards_steps_the_other_way(seed: int) -> None:
    """Reversed, a rise is a fall, and it is as many points from the other end."""
    values = noisy(seed, (30, 1.0), (25, 1.2), (30, 1.0), sd=0.01)
    there, back = found(values), found(values[::-1])
    assert [(values.size - one.index, one.direction) for one in reversed(back)] == [
        (one.index, {"rise": "fall", "fall": "rise"}[one.direction]) for one in there
    ]


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.randoms(use_true_random=False))
def test_the_order_within_a_build_does_not_matter(seed: int, random: object) -> None:
    """Measurements of one build are one point, however they are ordered."""
    values = noisy(seed, (60, 1.0), (40, 1.1)).reshape(-1, 4)
    mixed = [random.sample(list(group), 4) for group in values]  # type: ignore[attr-defined]
    assert find(list(values), floor=FLOOR) == find([np.array(group) for group in mixed], floor=FLOOR)


@pytest.mark.parametrize("kind", ["auto", "timed", "witness"])
@pytest.mark.parametrize("points", [1, 2, 7, 8, 50, 500])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.3, -2.0, 1e-12, 1e300])
def test_a_constant_has_no_step(kind: str, points: int, value: float) -> None:
    """A series that never changes never steps, whatever it is taken for."""
    assert find([np.array([value])] * points, floor=FLOOR, kind=kind).changes == ()  # type: ignore[arg-type]


def test_noise_free_levels_are_told_apart() -> None:
    """A timed series without any noise steps where it steps."""
    assert [(one.index, one.direction) for one in found(np.repeat([1.0, 1.5, 1.0], 10))] == [(10, "rise"), (20, "fall")]


def test_three_points_are_not_enough_and_four_are() -> None:
    """A level has to last for four points before it is called a step."""
    assert found(noisy(1, (30, 1.0), (3, 1.5))) == ()
    assert [one.index for one in found(noisy(1, (30, 1.0), (4, 1.5)))] == [30]


@pytest.mark.parametrize("new", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_step_names_no_build_of_the_old_level(new: int, factor: float) -> None:
    """Three points of a new level, however far off, are no step yet; the fourth makes it one, at the first of them, and backwards alike."""
    values = np.concatenate([10 + np.arange(20) % 3 * 0.01, 10 * factor + np.arange(new) % 3 * 0.01])
    assert [one.index for one in found(values)] == ([20] if new >= 4 else [])
    assert [one.index for one in found(values[::-1])] == ([new] if new >= 4 else [])


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 3))
def test_a_new_level_that_is_too_short_hides_no_earlier_step(seed: int, new: int) -> None:
    """The step before it is told where it is, and the short level not at all, or never at a build before it."""
    places = [one.index for one in found(noisy(seed, (30, 1.0), (20, 1.3), (new, 2.0), sd=0.01))]
    assert 30 in places
    assert not {*range(46, 50)} & {*places}


def test_a_step_from_nothing_has_no_relative_effect() -> None:
    """From 0 to 5 of a measured value is told with both levels; a fall to 0 is all of it."""
    zeros = np.repeat([0.0, 5.0], 10)
    (rise,) = find(list(zeros[:, None]), floor=FLOOR, kind="timed", unit="s").changes
    assert (rise.index, rise.direction, rise.before, rise.after, rise.effect, rise.interval) == (10, "rise", 0.0, 5.0, None, None)
    assert rise.reason.startswith("0 s to 5")
    (fall,) = found(zeros[::-1])
    assert (fall.direction, fall.effect) == ("fall", -1.0)


def test_a_step_from_nothing_between_two_environments_is_told() -> None:
    """The border is known, and the percentage is not."""
    change = between([np.array([0.0])] * 10, [np.array([5.0])] * 10, floor=FLOOR, kind="timed")
    assert change is not None
    assert (change.before, change.after, change.effect, change.interval) == (0.0, 5.0, None, None)


@pytest.mark.parametrize("place", [5, 30, 58, 59])
def test_one_outlier_is_no_step(place: int) -> None:
    """A point that stands alone says nothing of the build."""
    values = noisy(3, (60, 1.0))
    values[place] *= 5
    assert found(values) == ()


def test_a_chance_proposal_beside_a_step_does_not_hide_it() -> None:
    """Evidence in a short stretch that seems to wander is worth less, but never nothing: it used to be thrown away with its neighbour."""
    assert chance(54.0, 11, 0.4) < 0.001


def test_a_change_below_the_floor_is_no_step() -> None:
    """However sure, a change smaller than what matters raises nothing."""
    values = noisy(4, (60, 1.0), (60, 1.03), sd=0.002)
    assert [one.index for one in found(values)] == [60]
    assert found(values, floor=0.05) == ()


def test_a_random_walk_and_a_drift_raise_nothing() -> None:
    """A series that wanders or creeps has no step, though its ends differ by far."""
    source = np.random.default_rng(5)
    walk = np.exp(0.01 * source.standard_normal(200).cumsum())
    drift = noisy(6, (100, 1.0), sd=0.005) * np.linspace(1, 1.1, 100)
    assert found(walk) == ()
    assert found(drift) == ()


def test_a_rise_and_its_fix_are_two_steps() -> None:
    """A regression that is mended later is told with both ends."""
    both = found(noisy(7, (40, 1.0), (8, 1.2), (40, 1.0)))
    assert [(one.index, one.direction) for one in both] == [(40, "rise"), (48, "fall")]


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("points", [40, 120, 400])
def test_quiet_series_stay_quiet(points: int, rho: float) -> None:
    """Of series without a step, autocorrelated up to .6, at most 2 % are alarmed (here: within three deviations of that)."""
    alarmed = sum(bool(found(noisy(seed, (points, 1.0), rho=rho))) for seed in range(RUNS))
    assert alarmed <= RUNS * 0.02 + 3 * np.sqrt(RUNS * 0.02 * 0.98)


@pytest.mark.parametrize("before", [30, 100])
def test_five_per_cent_in_two_per_cent_noise_are_seen_within_ten_points(before: int) -> None:
    """At least nine in ten such steps are found with ten points after them, placed within five."""
    seen = [found(noisy(seed, (before, 1.0), (10, 1.05))) for seed in range(RUNS)]
    hits = sum(any(one.direction == "rise" and abs(one.index - before) <= 5 for one in each) for each in seen)
    assert hits >= RUNS * 0.9 - 2 * np.sqrt(RUNS * 0.9 * 0.1)


def test_ten_thousand_points_take_seconds() -> None:
    """A long series with many steps is searched whole; the time that it may take is ten seconds on a quiet machine."""
    levels = [(100, 1.0 + 0.2 * (place % 2)) for place in range(100)]
    places = [one.index for one in found(noisy(8, *levels))]
    assert places == list(range(100, 10_000, 100))


# --- counts -------------------------------------------------------------------------------------------


def test_every_change_of_a_count_is_a_step() -> None:
    """A count needs no second point: a single build that differs is a fall and a rise."""
    values = [np.array([value]) for value in (16000.0, 16000, 16000, 2, 16000, 16000)]
    result = find(values, floor=FLOOR, kind="witness")
    assert result.exact
    assert [(one.index, one.direction, one.confidence) for one in result.changes] == [(3, "fall", 1.0), (4, "rise", 1.0)]


def test_a_count_that_begins_at_nothing_has_no_relative_effect() -> None:
    """From 0 to 5 is a rise without a percentage."""
    (step,) = find([np.array([value]) for value in (0.0, 0.0, 5.0)], floor=FLOOR, kind="witness").changes
    assert (step.direction, step.effect, step.interval) == ("rise", None, None)


def test_counts_that_floats_round_are_warned_of() -> None:
    """Beyond 2 to the 53rd two whole numbers may be one float, so that a change of one is not seen; up to there it is."""
    for least, steps_of, warnings in ((2**53 - 2, 1, 0), (10**16, 0, 1)):
        result = find([np.array([float(value)]) for value in (least, least, least + 1)], floor=FLOOR, kind="witness")
        assert (len(result.changes), len(result.warnings)) == (steps_of, warnings)


def test_counts_that_differ_within_a_build_are_judged_as_times() -> None:
    """What is not exact is not called exact, and that is said."""
    result = find([np.array([1.0, 2.0])] * 10, floor=FLOOR, kind="witness")
    assert not result.exact
    assert "not exact" in result.warnings[0]


def test_measured_times_are_not_taken_for_counts() -> None:
    """Neither fractions nor whole numbers that scatter are counts."""
    assert not find([np.array([1.5])] * 9 + [np.array([2.5])], floor=FLOOR).exact
    assert not find([np.array([float(value)]) for value in (163, 173, 168, 171, 164, 175, 166, 170)], floor=FLOOR).exact


# --- environments -------------------------------------------------------------------------------------


def groups(*runs: tuple[str, list[float]]) -> list[Group]:
    """One build a value, numbered, in the environments named."""
    values = [(environment, value) for environment, run in runs for value in run]
    return [Group(label=place, environment=name, values=np.array([value])) for place, (name, value) in enumerate(values)]


def test_a_step_where_the_environment_changed_is_labelled() -> None:
    """A new kernel explains a new level as well as the build does, and the reason begins with it."""
    old, new = list(noisy(1, (12, 1.0))), list(noisy(2, (12, 1.3)))
    result = steps(groups(("a", old), ("b", new)), floor=FLOOR, kind="timed", describe=lambda one, two: f"kernel {one} to {two}")
    (step,) = result.steps
    assert (step.at, step.last, step.environment) == (12, 11, "kernel a to b")
    assert step.reason.startswith("environment: kernel a to b")


def test_environments_never_mix() -> None:
    """Points of two environments that alternate give no step between them, and that is said."""
    slow, fast = noisy(1, (20, 1.3)), noisy(2, (20, 1.0))
    mixed = [Group(label=place, environment="ab"[place % 2], values=np.array([(fast, slow)[place % 2][place // 2]])) for place in range(40)]
    result = steps(mixed, floor=FLOOR, kind="timed", describe=lambda one, two: f"{one} to {two}")
    assert result.steps == ()
    assert "alternate" in result.warnings[0]


def test_too_few_points_in_an_environment_are_said() -> None:
    """Two points after a new kernel tell nothing, and the reader hears of the border."""
    result = steps(groups(("a", [1.0] * 12), ("b", [2.0, 2.0])), floor=FLOOR, kind="timed", describe=lambda one, two: f"{one} to {two}")
    assert result.steps == ()
    assert any("the environment changed at 12 (a to b)" in warning for warning in result.warnings)


def test_a_count_steps_over_a_change_of_environment() -> None:
    """A count that changes together with the environment is a step, labelled."""
    result = steps(groups(("a", [4.0, 4.0]), ("b", [9.0, 9.0])), floor=FLOOR, kind="witness", describe=lambda one, two: f"{one} to {two}")
    assert [(step.at, step.environment) for step in result.steps] == [(2, "a to b")]


# --- the parts ----------------------------------------------------------------------------------------


def test_stretches_cover_every_place_in_many_lengths() -> None:
    """Every split lies well inside some stretch, short and long ones, and none is longer than what may matter."""
    made = stretches(1000)
    assert max(end - start for start, end in made) <= LONGEST + 1
    for split in range(8, 992):
        assert any(start + 4 <= split <= end - 4 and end - start <= 32 for start, end in made)
    assert min(start for start, _ in made) == 0
    assert max(end for _, end in made) == 1000
    assert stretches(7) == []


def test_ranks_propose_a_step_and_the_partition_sees_it() -> None:
    """Both detectors place a clear step where it is."""
    y = np.log(noisy(9, (30, 1.0), (30, 1.1), sd=0.01))
    assert proposals(y) == [30]
    assert splits(y, 0.01) == [30]


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 20))
def test_the_table_holds_the_cost_of_every_stretch(seed: int, n: int) -> None:
    """The looked-up cost is the sum of absolute deviations from the median."""
    values = np.random.default_rng(seed).standard_normal(n)
    table = costs(values)
    for start in range(n):
        for end in range(start + 1, n + 1):
            part = values[start:end]
            assert table[start, end] == pytest.approx(np.abs(part - np.median(part)).sum())


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_equal_values_share_their_rank(values: list[int]) -> None:
    """The ranks are those of `scipy.stats.rankdata`."""
    assert ranks(np.array(values, dtype=float)).tolist() == stats.rankdata(values).tolist()


def test_the_fit_knows_shift_and_autocorrelation() -> None:
    """On long stretches the fitted shift, deviation and autocorrelation are those that were put in."""
    fits = [two_levels(np.log(noisy(seed, (100, 1.0), (100, 1.1), rho=0.5)), 100) for seed in range(20)]
    assert np.mean([fit.shift for fit in fits]) == pytest.approx(np.log(1.1), abs=0.005)
    assert np.mean([fit.rho for fit in fits]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([fit.sd for fit in fits]) == pytest.approx(0.02, rel=0.1)


def test_chance_falls_with_the_evidence() -> None:
    """No evidence is chance, more of it is less so; in a short stretch, or one that wanders, it says less."""
    assert chance(0.0, 100, 0.0) == 1.0
    assert chance(30.0, 100, 0.0) < chance(20.0, 100, 0.0) < chance(20.0, 100, 0.5) < chance(20.0, 30, 0.5) < 1
    assert chance(50.0, 7, 0.0) == 1.0


# --- labelled series ----------------------------------------------------------------------------------


@pytest.mark.skipif(not LABELLED.is_dir(), reason="the labelled series are not here (PERFPROOF_LABELLED names their folder)")
def test_the_labelled_regressions_are_found_and_the_others_left_alone() -> None:
    """Of SAP's labelled series every regression is found within five builds, and at most one other is alarmed upwards."""
    alarms, missed = [], []
    with open(LABELLED / "dataset_details.csv", newline="") as file:
        details = [(row["Dataset"], int(row["Change Point"])) for row in csv.DictReader(file, delimiter=";")]
    for name, last in details:
        with open(LABELLED / "data" / name, newline="") as file:
            rows = [(row["GHC"], float(row["Measurement"])) for row in csv.DictReader(file)]
        builds = list(dict.fromkeys(build for build, _ in rows))
        changes = find([np.array([value for own, value in rows if own == build]) for build in builds], floor=FLOOR).changes
        rises = [change.index for change in changes if change.direction == "rise"]
        if not last:
            alarms += [name] if rises else []
        elif not any(abs(rise - builds.index(rows[last][0])) <= 5 for rise in rises):
            missed.append(name)
    assert missed == []
    assert len(alarms) <= 1


def test_a_count_of_the_host_steps_beyond_its_margin_and_many_small_changes_do_too() -> None:
    """Half a per cent of the level is none; what creeps past it, at the point where it does."""
    values = [100_000.0, 100_500.0, 100_500.0, 101_100.0, 101_200.0, 90_000.0]
    found = find([np.array([value]) for value in values], floor=FLOOR, kind="count")
    seen = [(change.index, change.before, change.after) for change in found.changes]
    assert seen == [(3, 100_500.0, 101_100.0), (5, 101_200.0, 90_000.0)]
    assert found.exact


def test_a_count_of_the_host_between_two_environments_has_the_same_margin() -> None:
    """A change within it is none there either."""
    sides = [np.array([1000.0])], [np.array([1005.0])], [np.array([1006.0])]
    assert between(sides[0], sides[1], floor=FLOOR, kind="count") is None
    assert between(sides[0], sides[2], floor=FLOOR, kind="count") is not None
