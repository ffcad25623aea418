"""The proof in its short form, and that what it is made of is what it says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from perfproof.analysis.stats.alpha_spending import sequential
from perfproof.validation.__main__ import main
from perfproof.validation.simulated import noise, simulated_runs
from perfproof.validation.simulated.false_alarms import false_alarms
from perfproof.validation.simulated.other_tools import TOOLS, Tool

SOURCE_SEED = 5


@pytest.mark.parametrize("kind", [*noise.KINDS, *noise.HARDER, *noise.CORRELATED], ids=lambda kind: kind.name)
def test_every_kind_of_noise_has_no_effect_on_average_and_the_deviation_it_names(kind: noise.Kind) -> None:
    """Without an effect the mean of x is 0, with one it is that, and the deviation is the case's (outliers add to it, drift too)."""
    x = noise.trials(np.random.default_rng(SOURCE_SEED), kind, (20_000, 24), 0.05, 0.1).x
    assert x.mean() == pytest.approx(0.1, abs=0.002)
    if "outliers" not in kind.name:
        assert x.std() == pytest.approx(0.05, rel=0.12)


def test_the_median_of_the_rounds_of_a_trial_is_the_trial() -> None:
    """Rounds scatter around the trial's own time, so that every tool sees the same trials."""
    source = np.random.default_rng(SOURCE_SEED)
    made = noise.trials(source, noise.GAUSSIAN, (3, 12), 0.05)
    seconds = noise.rounds(source, made.baseline, 0.05)
    assert seconds.shape == (3, 12, noise.ROUNDS)
    assert np.median(seconds, axis=-1) == pytest.approx(np.exp(made.baseline))


def test_all_of_one_arm_after_all_of_the_other_takes_the_drift_for_a_change() -> None:
    """Interleaved, a drift cancels in the mean; one after the other, it is the difference."""
    shape, sd = (4000, 12), 0.02
    apart = noise.one_after_the_other(np.random.default_rng(SOURCE_SEED), noise.KINDS[1], shape, sd).x
    mixed = noise.trials(np.random.default_rng(SOURCE_SEED), noise.KINDS[1], shape, sd).x
    assert apart.mean() == pytest.approx(noise.DRIFT * sd / 48 * 12, rel=0.05)
    assert abs(mixed.mean()) < 0.001


@pytest.mark.parametrize("primaries", [1, 6])
def test_runs_decided_at_once_and_block_by_block_agree(primaries: int) -> None:
    """The fast path of the simulations is the path of a real run."""
    made = noise.trials(np.random.default_rng(SOURCE_SEED), noise.KINDS[3], (25, primaries, 24), 0.02, 0.02)
    found = simulated_runs.fast(made.x, sequential(primaries), math.log1p(0.02))
    for run in range(found.runs):
        codes, blocks = simulated_runs.whole(
            noise.Trials(baseline=made.baseline[run], candidate=made.candidate[run]), sequential(primaries), 0.02
        )
        assert blocks == found.blocks[run]
        assert codes.tolist() == found.codes[run].tolist()


@pytest.mark.parametrize("kind", noise.KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("sd", [0.02, 0.11])
def test_false_regressions_stay_at_one_in_a_hundred(kind: noise.Kind, sd: float) -> None:
    """The short form of the promise: 2,000 runs with one primary metric and none of change, at most 1.6 % (three deviations) regressed."""
    x = noise.trials(np.random.default_rng(SOURCE_SEED), kind, (2000, 1, 24), sd).x
    assert simulated_runs.fast(x, sequential(1), math.log1p(0.02)).any(simulated_runs.REGRESSED) <= 32


@pytest.mark.parametrize(("primaries", "most"), [(1, 11), (6, 14)])
def test_three_per_cent_at_two_per_cent_noise_are_seen_in_few_blocks(primaries: int, most: int) -> None:
    """A true 3 % slowdown of one metric is regressed in at least 98.5 % of 2,000 runs (99 % is promised of 4,000), in few blocks."""
    x = noise.trials(np.random.default_rng(SOURCE_SEED), noise.GAUSSIAN, (2000, primaries, 24), 0.02).x
    x[:, 0] += math.log1p(0.03)
    found = simulated_runs.fast(x, sequential(primaries), math.log1p(0.02))
    assert np.mean(found.codes[:, 0] == simulated_runs.REGRESSED) >= 0.985
    assert found.blocks.mean() <= most


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_sees_a_large_slowdown_and_no_speed_up(tool: Tool) -> None:
    """Each tool, by its own code, calls +50 % slower and -50 % not; one that is not installed is skipped."""
    if not tool.installed:
        pytest.skip(f"{tool.package} is not installed (the extra `validate`)")
    source = np.random.default_rng(SOURCE_SEED)
    made = noise.trials(source, noise.GAUSSIAN, (1, 12), 0.01, math.log(1.5))
    before, after = (noise.rounds(source, arm[0], 0.01) for arm in (made.baseline, made.candidate))
    assert tool.slower(before, after)
    assert not tool.slower(after, before)


def test_the_page_has_every_chapter_and_comes_out_the_same_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A short page is written and printed, holds all tables, says that it is short, and follows from its seed."""
    out = tmp_path / "validation.md"
    assert main(["--runs", "20", "--seed", "3", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == text.strip()
    for title in (
        "Promises",
        "False alarms",
        "Many metrics",
        "Detection",
        "Coverage",
        "Autocorrelation",
        "The same path",
        "Beside other tools",
    ):
        assert f"## {title}" in text
    assert "A short form" in text
    assert "nan" not in text
    assert false_alarms(3, 20) == false_alarms(3, 20)


def test_too_few_runs_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A handful of runs says nothing; the command ends with 2 and names the option."""
    with pytest.raises(SystemExit) as ended:
        main(["--runs", "3"])
    assert ended.value.code == 2
    assert "--runs" in capsys.readouterr().err
