"""The errors that end a command early, with their exit codes."""

from __future__ import annotations

from collections.abc import Sequence

EXIT_PASS = 0
EXIT_REGRESSED = 1
EXIT_USAGE = 2
EXIT_UNTESTABLE = 3
EXIT_INCONCLUSIVE = 4
EXIT_SIGNALLED = 128
"""The base of exit codes for signals, as in shells: 130 for Ctrl-C, 141 if the reader of its output ended."""


class PerfproofError(Exception):
    """Base of the errors that users see; `exit_code` is the command's exit code."""

    exit_code = EXIT_UNTESTABLE


class BadInput(PerfproofError):
    """A file, an option or an environment that the user must correct first; `faults` lists all faults, one sentence each."""

    exit_code = EXIT_USAGE

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults: Sequence[str] = faults


class CannotRun(PerfproofError):
    """This machine or this build can't carry out the command: a failed install, a server that doesn't start, a full disk."""

    exit_code = EXIT_UNTESTABLE
