"""Everything that ends a command early, with the exit code that says so."""

from __future__ import annotations

from collections.abc import Sequence

EXIT_PASS = 0
EXIT_REGRESSED = 1
EXIT_USAGE = 2
EXIT_UNTESTABLE = 3
EXIT_INCONCLUSIVE = 4
EXIT_SIGNALLED = 128
"""To this the number of the signal that ended a command is added, as shells do: 130 for Ctrl-C, 141 where its reader went away."""


class PerfproofError(Exception):
    """Base of the errors that a user can meet; `exit_code` is the command's exit code."""

    exit_code = EXIT_UNTESTABLE


class BadInput(PerfproofError):
    """A file, an option or an environment that must be mended first; `faults` are all of them, one sentence each."""

    exit_code = EXIT_USAGE

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults: Sequence[str] = faults


class CannotRun(PerfproofError):
    """This machine or this build can't do what was asked: a failed install, a server that doesn't start, a full disk."""

    exit_code = EXIT_UNTESTABLE
