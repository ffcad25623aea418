"""What a thread starts is counted apart from the thread itself, where the machine counts instructions."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from perfproof.run.host.instruction_counter import OfChildren


def test_the_instructions_of_children_are_those_of_all_less_our_own() -> None:
    """Two counters of one thread: with what it starts, and without."""

    def opened(inherit: bool) -> int:
        reader, writer = os.pipe()
        os.write(writer, (700 if inherit else 200).to_bytes(8, "little"))
        os.close(writer)
        return reader

    assert OfChildren(opened).stop() == 500


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_machine_that_counts_nothing_says_why_and_leaves_nothing_open(fails_at: int) -> None:
    """Either counter may be refused: no number, a reason, and no open file."""
    asked: list[int] = []

    def opened(inherit: bool) -> int:
        if len(asked) + 1 == fails_at:
            raise OSError(errno.ENOENT, "no")
        reader, writer = os.pipe()
        os.close(writer)
        asked.append(reader)
        return reader

    counter = OfChildren(opened)
    assert counter.stop() is None
    assert "gives no instruction counts" in counter.why
    for descriptor in asked:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_loop_that_is_longer_takes_more_where_this_machine_counts() -> None:
    """The counter of the kernel, if there is one here."""
    counts = []
    for turns in (1, 3_000_000):
        counter = OfChildren()
        subprocess.run([sys.executable, "-I", "-S", "-c", f"for turn in range({turns}): pass"], check=True)
        counts.append(counter.stop())
        if counter.why:
            pytest.skip(counter.why)
    assert counts[0] is not None
    assert counts[1] is not None
    assert counts[1] - counts[0] > 10_000_000
