"""How long a start may take, what was counted on both sides, how long something may last, and whose port it is."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.host.ports import HOST, shared_with_others
from perfproof.run.kinds.serve.request_accounting import disagreement
from perfproof.run.servers.server import Patience
from perfproof.run.servers.startup_history import FIRST, KEPT, LEAST, Starts, patience, start_key

WORKLOAD = ServeWorkload(model="m", server_arguments=(), client={}, requests=4, warmups=2, launches="fresh")


@given(st.lists(st.floats(1, 3000), max_size=10))
def test_a_start_may_always_take_half_as_long_again_as_the_longest_seen(known: list[float]) -> None:
    """Never less than was seen, never more than the limit but for that, and the limit where nothing is known."""
    allowed = patience(known)
    assert allowed <= max(FIRST, 1.5 * max(known, default=0.0))
    assert allowed >= max(LEAST, 1.5 * max(known, default=0.0)) or not known


def test_starts_are_remembered_by_kind(tmp_path: Path) -> None:
    """The last few of each kind; a file that is no such file remembers nothing."""
    starts = Starts(tmp_path / "cache" / "starts.json")
    for seconds in range(20):
        starts.add(start_key("build", "--a"), float(seconds))
    assert starts.known(start_key("build", "--a")) == [float(seconds) for seconds in range(20 - KEPT, 20)]
    assert starts.known(start_key("build", "--b")) == []
    (tmp_path / "cache" / "starts.json").write_text("[1]")
    assert starts.known(start_key("build", "--a")) == []


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (6, ""),
        (None, ""),
        (4, "the server answered 4 of the 6 requests that the client sent: another server answered the rest"),
        (9, "the server answered 9 requests, but the client sent 6: another client used it meanwhile"),
    ],
)
def test_requests_are_counted_on_both_sides(answered: int | None, words: str) -> None:
    """Fewer than were sent, or more, were not all between this client and this server."""
    assert disagreement(WORKLOAD, {} if answered is None else {"requests": answered}) == words


def test_probes_are_requests_beyond_those_that_are_counted() -> None:
    """Flags with which the client sends more, or the server makes several of one, leave nothing to compare."""
    for flags in ({"probe-request-rate": 1}, {"extra-body": '{"n": 2}'}):
        assert disagreement(dataclasses.replace(WORKLOAD, client=flags), {"requests": 12}) == ""
    for body in ('{"min_tokens": 2}', "no JSON", "[1]"):
        assert disagreement(dataclasses.replace(WORKLOAD, client={"extra-body": body}), {"requests": 12})


def test_time_in_which_nobody_looked_does_not_count() -> None:
    """A runner that was itself stopped for an hour finds no server hanging when it continues."""
    now = [0.0]
    waiting = Patience(10.0, longest=2.0, clock=lambda: now[0])
    for now[0] in (1.0, 2.0, 3602.0, 3603.0, 3604.0):
        assert not waiting.over(False)
    for now[0] in (3606.0, 3608.0, 3610.0):
        over = waiting.over(False)
    assert over
    assert not waiting.over(True)


def test_a_port_that_somebody_else_listens_on_too_is_not_ours() -> None:
    """Two sockets may share a port (SO_REUSEPORT); the one that is ours does not make the port ours."""
    with _listening(0) as ours:
        port = ours.getsockname()[1]
        assert not shared_with_others(port, [os.getpid()])
        assert shared_with_others(port, [])
        pid = os.fork()
        if pid == 0:
            ours.close()
            with _listening(port):
                os.kill(os.getpid(), signal.SIGSTOP)
                os._exit(0)
        os.waitpid(pid, os.WUNTRACED)
        try:
            assert shared_with_others(port, [os.getpid()])
            assert not shared_with_others(port, [os.getpid(), pid])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_connection_that_ends_while_sockets_are_looked_at_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is closed between the listing and the look costs its own entry alone: the port stays ours."""
    ended, real = iter([True]), os.readlink

    def readlink(path: str) -> str:
        if next(ended, False):
            raise FileNotFoundError(path)
        return real(path)

    with _listening(0) as ours:
        monkeypatch.setattr(os, "readlink", readlink)
        assert not shared_with_others(ours.getsockname()[1], [os.getpid()])


def _listening(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((HOST, port))
    made.listen()
    return made
