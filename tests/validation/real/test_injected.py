"""The real part of the proof, without a real machine: what is injected, what is kept of a run, and what the page makes of it."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfproof.model.base.errors import BadInput
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.verdicts.judged import Outcome
from perfproof.patches.guard import Counter, PatchRefused
from perfproof.patches.planted.known_slowdown import ADDED, ENGINE_STEP, MEASURED, THINKING, VARIABLE, chosen_slowdown, slowed
from perfproof.progress import RunProgress
from perfproof.validation.real import injected, machine_runs
from perfproof.validation.real.__main__ import main, trials_taken
from perfproof.validation.real.outcomes import Run, Sitting, append, read, verdict_of
from perfproof.validation.real.real_page import page
from tests.factory import ATTESTATION, record


class Clock:
    """Goes on by a fixed step at every look."""

    def __init__(self, step: int) -> None:
        self.now, self.step = 0, step

    def __call__(self) -> int:
        self.now += self.step
        return self.now


def test_a_slowed_call_waits_for_its_fraction_and_counts_it() -> None:
    """A call of 1,000 ns slowed by 5 % waits 50 ns, counts both, and returns what it returned."""
    clock, measured, added = Clock(10), Counter("m"), Counter("a")

    def upstream(number: int) -> int:
        clock.now += 990
        return number + 1

    assert slowed(upstream, 0.05, measured, added, clock)(41) == 42
    assert (measured.value, added.value) == (1000, 50)


def test_a_fraction_of_nothing_waits_for_nothing() -> None:
    """The sham has the same wrapper and adds no wait; what is raised goes through."""
    clock, measured, added = Clock(10), Counter("m"), Counter("a")

    def upstream() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        slowed(upstream, 0.0, measured, added, clock)()
    assert (measured.value, added.value) == (10, 0)


@pytest.mark.parametrize("said", ["", "a:b", "a:b -1", "ab 0.1", "a:b 0.1 0.2", "a:b fast", "a:b 11"])
def test_what_is_asked_wrongly_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No function, no fraction, or one that makes no sense: the patch refuses with what it wants."""
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(PatchRefused, match=VARIABLE):
        chosen_slowdown()


def test_a_known_function_comes_with_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that was tested is checked against its source, another one is not known."""
    monkeypatch.setenv(VARIABLE, f"{ENGINE_STEP.name} 0.1")
    assert chosen_slowdown() == (ENGINE_STEP, 0.1)
    monkeypatch.setenv(VARIABLE, "vllm.other:function 0.1")
    assert not chosen_slowdown()[0].sources


def test_a_batch_holds_what_the_proof_asks_for() -> None:
    """The batches hold 40 runs without a change and 10 of each slowdown, each run once, all of one workload."""
    every = [scenario for number in range(1, len(injected.BATCHES) + 1) for scenario in injected.batch(number)]
    counted = [injected.percent_of(scenario.candidates[0]) for scenario in every]
    assert len({scenario.name for scenario in every}) == len(every)
    assert {percent: counted.count(percent) for percent in set(counted)} == {0: 40, 1: 10, 2: 10, 3: 10, 5: 10, 10: 10}
    assert {scenario.candidates[0].environment[VARIABLE].split()[0] for scenario in every} == {THINKING.name}


VERIFIED = {"direction": "slower", "verified": True, "changes_numerics": False, "targets": [MEASURED]}


class SlowedRunner:
    """Trials in no time, whose candidates take as much longer as their arm says, with some noise."""

    def __init__(self, noise: float) -> None:
        self.noise, self.source = noise, random.Random(1)

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for name in arms:
            arm = next(arm for arm in block.scenario.arms if arm.name == name)
            percent = injected.percent_of(arm) if arm.patches else 0
            value = 0.01 * (1 + percent / 100) * self.source.gauss(1, self.noise)
            yield record(
                block.scenario.definition,
                digest=block.scenario.digest,
                seed=1,
                block=block.number,
                arm=name,
                position=block.order.index(name),
                order=list(block.order),
                measurements={"round_time": value},
                raw={"round_time": [value, value * 1.01, value * 0.99]},
                seconds={"import": 1.0, "measure": 0.5, "overhead": 0.25, "total": 1.75},
                attestation=dataclasses.replace(
                    ATTESTATION,
                    patches=dict.fromkeys(arm.patches, VERIFIED),
                    counts={MEASURED: 1_000_000, ADDED: 10_000 * percent} if arm.patches else {},
                ),
            )

    def close(self) -> None:
        """Nothing stays open."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> machine_runs.Place:
    """One batch with its sittings, run on runners that need no vLLM; the tests read what it left."""

    @contextlib.contextmanager
    def runners(*_: Any) -> Iterator[Any]:
        runner = SlowedRunner(0.005)
        yield lambda scenario: runner

    folder = tmp_path_factory.mktemp("measured")
    place = machine_runs.Place(results=folder / "lines", work=folder / "work", builds=folder / "builds", build=injected.DEFAULT_BUILD)
    until = machine_runs.Until(end=1e9, clock=lambda: 0.0)
    with pytest.MonkeyPatch.context() as patch, RunProgress(Console(file=io.StringIO()), 0) as progress:
        patch.setattr(machine_runs, "opened", runners)
        patch.setattr(machine_runs, "settle", lambda *_: None)
        patch.setattr("perfproof.run.host.preflight.settle", lambda *_, **__: None)
        machine_runs.batch(1, place, until, progress)
        machine_runs.batch(1, place, until, progress)
        machine_runs.sitting(1, trials_taken(place.results), place, until, progress)
        machine_runs.sitting(1, trials_taken(place.results), place, until, progress)
    return place


def test_every_run_leaves_one_line_that_judges_as_it_did(measured: machine_runs.Place) -> None:
    """A batch leaves a line a run, once however often it is called, and the verdict computed from the line is the one that was given."""
    runs, sittings = read(measured.results)
    assert len(runs) == sum(injected.BATCHES[0].values())
    assert len(sittings) == sum(injected.SITTINGS[0].values())
    assert all(str(verdict_of(run).outcome) == run.verdict for run in runs)
    found = {percent: {run.verdict for run in runs if run.percent == percent} for percent in injected.BATCHES[0]}
    assert found[0] == {"equivalent"}
    assert found[5] == found[10] == {"regressed"}


def test_a_run_that_is_cut_short_takes_its_next_look_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time is over, runs with 6 blocks and more are kept with the verdict of what there is; those with fewer are not."""

    @contextlib.contextmanager
    def runners(*_: Any) -> Iterator[Any]:
        runner = SlowedRunner(0.05)
        yield lambda scenario: runner

    monkeypatch.setattr(machine_runs, "opened", runners)
    monkeypatch.setattr(machine_runs, "settle", lambda *_: None)
    monkeypatch.setattr("perfproof.run.host.preflight.settle", lambda *_, **__: None)
    monkeypatch.setattr(injected, "BATCHES", ({0: 2},))
    place = machine_runs.Place(results=tmp_path / "lines", work=tmp_path / "work", builds=tmp_path / "builds", build=injected.DEFAULT_BUILD)
    with RunProgress(Console(file=io.StringIO()), 0) as progress:
        machine_runs.batch(1, place, machine_runs.Until(end=1e9, clock=lambda: 0.0), progress)
    for file in (tmp_path / "work" / "micro-01").glob("*.jsonl"):
        blocks = 8 if file.stem == "micro_00_01" else 5
        file.write_text("".join(line for line in file.read_text().splitlines(True) if json.loads(line)["block"] <= blocks))
    (tmp_path / "lines" / "micro.jsonl").unlink()
    machine_runs.close(place)
    (run,), _ = read(place.results)
    assert (run.number, run.blocks, run.cut) == (1, 8, True)
    assert str(verdict_of(run).outcome) == run.verdict


def test_what_was_added_is_told_by_its_own_counter(measured: machine_runs.Place) -> None:
    """A candidate's trial says what share the busy wait added, a baseline's none; imports are no part of its seconds."""
    runs, _ = read(measured.results)
    trials = [trial for run in runs if run.percent == 5 for trial in run.trials]
    assert {trial.added for trial in trials if trial.arm == "b"} == {0.05}
    assert {trial.added for trial in trials if trial.arm == "a"} == {0.0}
    assert {trial.seconds for trial in trials} == {0.75}


def test_the_others_get_as_many_trials(measured: machine_runs.Place) -> None:
    """A sitting holds, of each arm in one go, as many trials as perfproof's runs of that slowdown took on average."""
    taken = trials_taken(measured.results)
    _, sittings = read(measured.results)
    assert all(len(one.baseline) == len(one.candidate) == taken[one.percent] for one in sittings)


def test_the_page_is_made_of_the_lines_alone(measured: machine_runs.Place, tmp_path: Path) -> None:
    """The page counts verdicts by slowdown, names its own command, and says of too few runs that they are too few."""
    out = tmp_path / "page.md"
    assert main(["--page-only", "--results", str(measured.results), "--out", str(out)]) == 0
    text = out.read_text()
    assert text == page(*read(measured.results))
    assert "| 5 % is *regressed* in at least 9 of 10 runs | 10 of 10 | met |" in text
    assert "| 0 % is *regressed* at most once in 40 runs | 0 of 20 | too few runs |" in text
    assert "--page-only" in text
    assert "| 10 % | 10.00 % | 10 | 10 | 0 | 0 | 0 | 0 |" in text


def test_lines_come_back_as_they_were_kept(tmp_path: Path) -> None:
    """A run and a sitting read back equal to what was appended; another schema is refused."""
    run = Run(
        workload="micro",
        percent=0,
        number=1,
        machine="m",
        when="2026-01-01T00:00:00Z",
        vllm="0.32.0",
        metric="round_time",
        margin=0.02,
        looks=(6, 10),
        family=1,
        verdict=str(Outcome.INCONCLUSIVE),
        effect=None,
        mde=None,
        blocks=0,
        cut=False,
        of="the wrapped calls",
        trials=(
            machine_runs.Trial(
                block=1, position=0, arm="a", status="ok", value=0.5, added=0.0, steal=None, foreign=0.1, seconds=1.0, rounds=(5, 6)
            ),
        ),
    )
    sitting = Sitting(percent=1, number=1, machine="m", when="", seconds=1.5, baseline=((0.1, 0.2),), candidate=((0.3,),))
    append(tmp_path / "a.jsonl", run)
    append(tmp_path / "a.jsonl", sitting)
    assert read(tmp_path) == ([run], [sitting])
    (tmp_path / "b.jsonl").write_text(json.dumps({"schema": 2, "kind": "run"}) + "\n")
    with pytest.raises(BadInput, match="schema"):
        read(tmp_path)
