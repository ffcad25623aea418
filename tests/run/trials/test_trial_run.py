"""A trial's own process: how it is waited for, and how its end is reported."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.records.record import Status
from perfproof.model.scenarios.plan import Block
from perfproof.run.host.gpus import MemoryKept
from perfproof.run.processes.trial_process import Ended, Running, start
from perfproof.run.trials.trial_run import TrialRun, cause_of, ending, looks, start_trial
from tests import toy


def running(folder: Path, script: str) -> Running:
    return start([sys.executable, "-c", script], environment={}, log=folder / "log.txt", folder=folder, grace=1.0)


def ended(folder: Path, script: str) -> Running:
    with running(folder, script) as process:
        for _ in looks(process, print, "it runs"):
            pass
    return process


def attempt(build: ReadyBuild) -> TrialRun:
    asked = toy.scenario(Path("python"), toy.arm("plain"), toy.arm("other"))
    return start_trial(Block(scenario=asked, number=1, order=("plain",), seed=1), asked.arms[0], build)


def test_a_process_that_is_never_done_is_given_up(tmp_path: Path) -> None:
    """After the longest time allowed, in words that say what it was at; it is ended with its context."""
    with running(tmp_path, "import time; time.sleep(60)") as process, pytest.raises(CannotRun) as told:
        for _ in looks(process, print, "arm plain answers prompts", 0.2):
            pass
    assert str(told.value) == "arm plain answers prompts, and had not ended after 0 s"
    assert process.poll() is not None


def test_an_end_is_reported_with_its_cause_and_the_last_words_of_the_log(tmp_path: Path) -> None:
    """What the log is known to mean stands before the log's own end."""
    process = ended(tmp_path, "import sys; print('torch.OutOfMemoryError: CUDA out of memory'); sys.exit(3)")
    cause = cause_of(process, tmp_path)
    assert cause.startswith("it ran out of memory")
    assert ending(process, cause) == (f"exited with code 3: {cause}; the end of its log:\ntorch.OutOfMemoryError: CUDA out of memory")
    assert ending(process, "").startswith("exited with code 3; the end of its log:\n")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (CannotRun("the file can't be read"), "failed", "the file can't be read"),
        (Ended("it exited with code 1"), "failed", "it exited with code 1"),
        (Ended("it was ended by SIGKILL", killed=True), "invalid", "interrupted from outside: it was ended by SIGKILL"),
        (MemoryKept("8192 MiB were not given back"), "invalid", "8192 MiB were not given back"),
    ],
)
def test_what_comes_from_outside_is_none_of_the_arms(toy_build: ReadyBuild, error: CannotRun, status: str, reason: str) -> None:
    """A SIGKILL, or memory that a GPU keeps, makes a trial invalid; whatever else can't continue fails it."""
    trial = attempt(toy_build)
    trial.record_error(error)
    assert (trial.status, trial.reason) == (status, reason)


@pytest.mark.parametrize(
    "reason", ["OSError: [Errno 27] File too large", "No space left on device", "Disk quota exceeded", "it was ended by SIGXFSZ"]
)
def test_what_found_no_room_is_none_of_the_arms(toy_build: ReadyBuild, reason: str) -> None:
    """A full disk, a spent quota and a limit on the size of files make a trial invalid, as the words of its end tell."""
    trial = attempt(toy_build)
    trial.failed(f"arm plain exited with code 1; the end of its log:\n{reason}")
    trial.finish(toy_build)
    assert trial.status == "invalid"
    assert trial.reason.endswith(reason)


@pytest.mark.parametrize("status", ["failed", "unattested"])
def test_a_trial_whose_log_could_not_be_written_is_none_of_the_arms(
    toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: Status
) -> None:
    """Where nothing can be written there are no words and no proof either: the folder itself tells."""
    trial = attempt(toy_build)
    trial.log, trial.status, trial.reason = tmp_path / "server.log", status, "it exited with code 1"
    monkeypatch.setattr("perfproof.run.host.disk_space.unwritable", lambda folder: "the disk is full")
    trial.finish(toy_build)
    assert (trial.status, trial.reason) == ("invalid", "interrupted from outside: the disk is full: it exited with code 1")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, "invalid"), (signal.SIGTERM, "failed")])
def test_what_somebody_killed_is_none_of_the_arms(toy_build: ReadyBuild, tmp_path: Path, number: signal.Signals, status: str) -> None:
    """Only `kill -9` comes from outside for sure: such a trial is invalid, any other end is the arm's failure."""
    trial = attempt(toy_build)
    trial.process_died(ended(tmp_path, f"import os; os.kill(os.getpid(), {int(number)})"), "", "lm_eval ")
    assert trial.status == status
    assert trial.reason.startswith(f"arm plain: lm_eval was ended by {number.name}; the end of its log:")
