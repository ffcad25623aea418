"""A soak: trial after trial, a third of whose servers are killed, stopped or slow to start, at random.

The short form measures the stand-in for vLLM, `PERFPROOF_SOAK_BLOCKS` blocks of two trials (9). `PERFPROOF_SOAK=real` takes a real one
(about a minute a trial, 20 blocks), as many trials as `PERFPROOF_SOAK_MINUTES` allow; with `PERFPROOF_SOAK_RESULTS` it continues from the
records in that folder, so that it can be run in pieces.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from filelock import FileLock
from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.invalidation import STANDARD
from perfproof.analysis.trials.paired_trials import latest
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.executor import conduct
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.host import machine_lock
from perfproof.run.host.ports import answers
from perfproof.run.host.preflight import Start
from perfproof.run.kinds.serve.serve_runner import ServeRunner
from perfproof.run.servers.server import SHARED, Server
from perfproof.run.servers.server_pool import ServerPool

pytestmark = pytest.mark.slow

REAL = os.environ.get("PERFPROOF_SOAK") == "real"
BLOCKS = int(os.environ.get("PERFPROOF_SOAK_BLOCKS", "20" if REAL else "9"))
SCENARIO = """
schema: 1
name: soak
question: Is the slow server found out though a third of all servers come to grief?
workload:
  kind: serve
  model: {{layers: 1, hidden: 64, heads: 2, vocabulary: 256, context: 256}}
  server_arguments: [{common}]
  client: {{random-input-len: 8, random-output-len: {length}}}
  requests: 4
  warmups: 4
  launches: fresh
builds:
  default: {{kind: python, path: {python}}}
arms:
  quick: {{baseline: true, server_arguments: [{quick}]}}
  slow: {{server_arguments: [{slow}]}}
metrics: {{output_throughput: {{primary: true, margin: 0.05}}}}
blocks: {blocks}
"""
TOY = {"common": "", "quick": "--delay=0.05", "slow": "--delay=0.1", "length": 8}
VLLM = {"common": "--enforce-eager", "quick": "--max-num-seqs=4", "slow": "--max-num-seqs=1"}


@dataclass(slots=True)
class Grief:
    """What comes over servers: in a third of all launches one of them, when the server starts or while it is measured."""

    chance: random.Random
    scale: float
    done: list[tuple[str, str]] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def meet(self, server: Server) -> None:
        self.servers.append(server)
        if self.chance.random() < 1 / 3:
            what = self.chance.choice([self.kill_one, self.stop_all, self.delay])
            self.threads.append(threading.Thread(target=what, args=(server, self.chance.random()), daemon=True))
            self.threads[-1].start()

    def kill_one(self, server: Server, when: float) -> None:
        """SIGKILL to one of its processes, while it is measured."""
        self._await_ready(server)
        time.sleep(when * self.scale)
        with contextlib.suppress(psutil.Error, IndexError):
            victim = server.processes()[int(when * 100) % len(server.processes() or [0])]
            victim.kill()
            self.done.append((server.arm, "killed"))

    def stop_all(self, server: Server, when: float) -> None:
        """SIGSTOP to all of its processes: half of the time at its start, half of the time while it is measured."""
        if when > 0.5:
            self._await_ready(server)
        time.sleep(when * self.scale)
        self._send(server, signal.SIGSTOP)
        self.done.append((server.arm, "stopped"))

    def delay(self, server: Server, when: float) -> None:
        """Stopped at its start, for a while in which it is not given up."""
        time.sleep(when * self.scale)
        self._send(server, signal.SIGSTOP)
        time.sleep(1.5)
        self._send(server, signal.SIGCONT)
        self.done.append((server.arm, "slow to start"))

    def _await_ready(self, server: Server) -> None:
        while server.ready_after is None and server.running.poll() is None:
            time.sleep(0.02)

    def _send(self, server: Server, number: int) -> None:
        for process in server.processes():
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)


@pytest.fixture
def grief(monkeypatch: pytest.MonkeyPatch) -> Iterator[Grief]:
    """Comes over every server that is launched meanwhile."""
    found = Grief(chance=random.Random(int(os.environ.get("PERFPROOF_SOAK_SEED", "6"))), scale=6.0 if REAL else 0.6)
    launch: Callable[[ServerPool, Arm], None] = ServerPool._launch

    def launched(self: ServerPool, arm: Arm) -> None:
        launch(self, arm)
        found.meet(self._up[arm.name])

    monkeypatch.setattr(ServerPool, "_launch", launched)
    yield found
    for thread in found.threads:
        thread.join(30)


def soaked(build: ReadyBuild, results: Path, folder: Path, budget: float | None) -> tuple[Scenario, str]:
    """Runs the scenario through the whole machinery; what was printed with it."""
    said = {"length": 32, **VLLM} if REAL else TOY
    file = folder / "soak.yaml"
    file.write_text(SCENARIO.format(python=build.interpreter, blocks=BLOCKS, **said))
    scenario = load_scenario(file, "quick")
    printed = io.StringIO()

    @contextlib.contextmanager
    def runners() -> Iterator[Callable[[Scenario], ServeRunner]]:
        with contextlib.closing(ServeRunner(scenario, {"default": build}, results, seed=0, watch=(), say=lambda message: None)) as runner:
            yield lambda _: runner

    start = Start(what="the soak", profile="quick", wait=1.0, anyway=True)
    with RunProgress(Console(file=printed, width=200), 2 * BLOCKS) as progress:
        rules = dataclasses.replace(STANDARD, foreign=2.0, steal=2.0)  # what is soaked is the runner, not the machine
        conduct(make_plan([scenario], 0), results, runners, progress, rules=rules, alone=start.alone, budget=budget)
    return scenario, printed.getvalue()


def test_trials_of_which_a_third_come_to_grief(
    grief: Grief, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every trial leaves a record that says what became of it, the verdict comes from the rest, and nothing at all is left behind."""
    build: ReadyBuild = request.getfixturevalue("served_build" if REAL else "toy_build")
    results = Path(os.environ.get("PERFPROOF_SOAK_RESULTS", tmp_path / "results"))
    minutes = float(os.environ.get("PERFPROOF_SOAK_MINUTES", "0")) or None
    soaked(build, results, tmp_path, minutes)
    for thread in grief.threads:
        thread.join(30)
    records = store.read(results).records
    trials = latest(records)
    with capsys.disabled():
        print(f"\nsoak: {len(grief.servers)} launches, {len(grief.done)} came to grief {dict(Counter(what for _, what in grief.done))};")
        print(f"  {len(records)} records of {len(trials)} trials: {dict(Counter(record.status for record in records))}")
        for record in records:
            if record.status != "ok":
                print(f"  block {record.block} {record.arm}: {record.status}: {record.reason.splitlines()[0][:150]}")
    nothing_is_left(grief, results, build)
    for record in records:
        assert record.status == "ok" or (record.status == "invalid" and "SIG" in record.reason), (record.status, record.reason)
    if minutes is None or len(trials) == 2 * BLOCKS:
        assert {record.trial for record in trials} == {("soak", block, arm) for block in range(1, BLOCKS + 1) for arm in ("quick", "slow")}
        assert len(grief.done) > BLOCKS / 3 or REAL
        assert {what for _, what in grief.done} == {"killed", "stopped", "slow to start"} or REAL
        [one] = judge_records(records)
        assert [row.verdict for row in one.judged] == ["regressed"], one.judged[0].reason
        assert one.judged[0].blocks >= BLOCKS - 3


def nothing_is_left(grief: Grief, results: Path, build: ReadyBuild) -> None:
    """No process, port, shared-memory segment, socket or lock of any server that there was."""
    assert not [process for server in grief.servers for process in server.processes()]
    ours = {str(server.launch.name) for server in grief.servers}
    living = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [words for words in living if any(word.partition("=")[2] in ours for word in words)]
    assert not [server.launch.port for server in grief.servers if answers(server.launch.port)]
    assert not [name for server in grief.servers for name in server._shared_memory if (SHARED / name).exists()]
    assert not (results / ".running").exists()
    for lock in (results / ".lock", machine_lock.folder() / "machine.lock"):
        FileLock(lock).acquire(timeout=0)
