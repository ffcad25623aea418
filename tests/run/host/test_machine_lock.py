"""Locks and scratch folders: two runs never overlap, and nothing that a killed run held is held any longer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfproof.model.base.errors import CannotRun
from perfproof.run.host.machine_lock import FOLDER, alone
from perfproof.run.processes.scratch_folders import Scratch, sweep


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of the test's own: a run on this machine must not keep it waiting."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "locks"))
    return tmp_path / "locks"


@contextmanager
def elsewhere(code: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs the code and then sleeps; it has said "held" before the context begins."""
    script = textwrap.dedent(code) + "\nimport time\ntime.sleep(600)\n"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


HOLDER = """
from contextlib import ExitStack
from perfproof.run.host.machine_lock import alone
stack = ExitStack()
stack.enter_context(alone("perfproof run scenarios/penalties.yaml", print))
print("held", flush=True)
"""


def test_the_second_run_is_told_who_holds_the_machine() -> None:
    """It waits as long as it was told to, then is refused; both times it says what the other runs, and in which process."""
    said: list[str] = []
    with elsewhere(HOLDER) as other, pytest.raises(CannotRun) as refused, alone("mine", said.append, wait=1.5):
        pytest.fail("two runs at once")
    for words in (said[0], str(refused.value)):
        assert f"another run holds this machine: perfproof run scenarios/penalties.yaml (process {other.pid}, since " in words
    assert "--wait MINUTES" in str(refused.value)


def test_a_run_that_waits_goes_on_when_the_other_ends() -> None:
    """The lock of a run that was killed, however hard, is nobody's: the one that waits has it at once."""
    said: list[str] = []
    with elsewhere(HOLDER) as other:
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        began = time.monotonic()
        with alone("mine", said.append, wait=30.0):
            assert time.monotonic() - began < 5


def test_a_lock_is_let_go_of_and_taken_again(locks: Path) -> None:
    """After a run nothing says any more that somebody holds the machine."""
    for _ in range(2):
        with alone("mine", print, gpus=["GPU-1", "GPU-2"], wait=0.0):
            assert len(list(locks.glob("*.holder"))) == 3
        assert not list(locks.glob("*.holder"))


@pytest.mark.parametrize("name", ["machine.lock", "machine.holder"])
def test_a_link_in_the_shared_folder_reaches_no_other_file(name: str, locks: Path, tmp_path: Path) -> None:
    """All users of a machine may write there: what one of them has laid a link to stays as it is, or is not made."""
    locks.mkdir()
    for target in (tmp_path / "mine", tmp_path / "nowhere"):
        (locks / name).unlink(missing_ok=True)
        (locks / name).symlink_to(target)
        (tmp_path / "mine").write_text("mine")
        with contextlib.suppress(CannotRun), alone("a run", print, wait=0.0):
            pass
        assert (tmp_path / "mine").read_text() == "mine"
        assert not (tmp_path / "nowhere").exists()


def test_a_gpu_is_held_by_itself() -> None:
    """Its lock keeps the second run out though the machine's own is free, and it is the GPU that is reported."""
    code = """
    from perfproof.run.host.machine_lock import _held
    import time
    held = _held("gpu-GPU-1", "theirs", print, 0.0, time.sleep, time.time)
    held.__enter__()
    print("held", flush=True)
    """
    with (
        elsewhere(code),
        pytest.raises(CannotRun, match="another run holds this GPU: theirs"),
        alone("mine", print, gpus=["GPU-1"], wait=0.0),
    ):
        pytest.fail("two runs at once")


def test_a_folder_that_can_hold_no_lock_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lock can't be made, the run says which folder and how to name another."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER, str(tmp_path / "file" / "locks"))
    with pytest.raises(CannotRun, match=rf"file/locks: the lock of this machine can't be made: .*; {FOLDER} names another folder"):
        alone("mine", print).__enter__()


# --- scratch folders --------------------------------------------------------------------------------------


def test_a_scratch_folder_goes_with_its_owner(tmp_path: Path) -> None:
    """Closing removes the folder, its lock, its folder for sockets, and the one above when it was the last."""
    one, two = Scratch(tmp_path / ".running", "a"), Scratch(tmp_path / ".running", "b")
    sockets = one.sockets()
    assert len(str(sockets)) < 60
    one.close()
    assert not sockets.exists()
    assert two.folder.is_dir()
    two.close()
    assert not (tmp_path / ".running").exists()


def test_only_what_the_dead_left_is_swept(tmp_path: Path) -> None:
    """The folder of a run that was killed is removed, with its sockets; that of one that lives is left alone."""
    code = f"""
    from pathlib import Path
    from perfproof.run.processes.scratch_folders import Scratch
    one = Scratch(Path({str(tmp_path / ".running")!r}), "dead")
    (one.sockets() / "socket").touch()
    print("held", flush=True)
    """
    mine = Scratch(tmp_path / ".running", "mine")
    with elsewhere(code) as other:
        theirs = next((tmp_path / ".running").glob("dead-????????"))
        sockets = (theirs / "sockets").resolve()
        assert sweep(tmp_path / ".running") == 0
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        assert sweep(tmp_path / ".running") == 1
    assert not sockets.exists()
    assert [entry.name for entry in (tmp_path / ".running").iterdir() if entry.is_dir()] == [mine.folder.name]
    mine.close()
    assert sweep(tmp_path / ".running") == 0
