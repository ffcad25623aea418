"""The command `perfproof`: reads argv, calls one function per verb, and owns the exit code.

Each group of commands has one file with `add(verbs)`; a new group has its place in `GROUPS`. Imports of numpy, scipy, matplotlib and the
like happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

from perfproof import __version__
from perfproof.cli import (
    bundle_command,
    change_commands,
    ci_command,
    count_command,
    gate_command,
    history_commands,
    judge_commands,
    report_command,
    run_commands,
    startup_checks,
    track_commands,
)
from perfproof.cli.options import EPILOG
from perfproof.cli.safe_output import harmless_streams
from perfproof.cli.startup_checks import forget, tell
from perfproof.model.base.errors import EXIT_SIGNALLED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput, PerfproofError
from perfproof.model.base.untrusted import harmless

GROUPS = (
    run_commands,
    count_command,
    change_commands,
    judge_commands,
    report_command,
    gate_command,
    ci_command,
    track_commands,
    history_commands,
    bundle_command,
)
"""The groups of commands, in the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    startup_checks.open_streams()
    with harmless_streams():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    arguments, unknown = parser().parse_known_args(argv)
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        return _carried_out(arguments)
    except Exception as error:
        # Python's own exit code is 1, which here means a regression: no change is to blame for a fault of ours.
        why = startup_checks.foreign(error) or "this is a fault of perfproof itself; please report it with the lines above"
        tell(f"{traceback.format_exc()}perfproof: {why}; nothing is judged")
        return EXIT_UNTESTABLE


def _carried_out(arguments: argparse.Namespace) -> int:
    """The exit code of one command. Faults of the user or the machine are printed in a line each."""
    try:
        startup_checks.see_to_address_space()
        startup_checks.see_to_extras(arguments)
        code = _done(arguments)
        sys.stdout.flush()
        return code
    except BadInput as error:
        for fault in error.faults:
            tell(f"perfproof: {harmless(fault)}")
        return EXIT_USAGE
    except PerfproofError as error:
        tell(f"perfproof: {harmless(str(error))}")
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        tell("\nperfproof: interrupted; every complete record is kept, and the same command continues from there")
        return EXIT_SIGNALLED + (signal.SIGTERM if isinstance(interrupt, _Terminated) else signal.SIGINT)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _reader_gone()  # rich ends the program where it meets one
    except BrokenPipeError:
        return _reader_gone()
    except MemoryError:
        tell("perfproof: this process can't get more memory (ulimit -v, a container's limit): nothing is judged")
        return EXIT_UNTESTABLE
    except OSError as error:
        where = error.filename or ("standard output: can't be written to" if _output_is_lost() else "this machine")
        tell(f"perfproof: {harmless(str(where))}: {error.strerror or error}")
        return EXIT_UNTESTABLE


def _done(arguments: argparse.Namespace) -> int:
    """The exit code of the command. A package of an extra that is missing is the user's to install."""
    try:
        return int(arguments.verb(arguments))
    except ModuleNotFoundError as error:
        startup_checks.refuse_for_extra(error)
        raise


class _Terminated(KeyboardInterrupt):
    """A SIGTERM, which ends a command like Ctrl-C."""


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def _reader_gone() -> int:
    """Ends like a program whose reader is gone: without output, and with a code that means no verdict."""
    forget(sys.stdout)
    return EXIT_SIGNALLED + signal.SIGPIPE


def _output_is_lost() -> bool:
    """Whether standard output accepts nothing, not even the end of a line."""
    try:
        print(flush=True)
    except OSError:
        forget(sys.stdout)
        return True
    return False


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="perfproof",
        description="Proves vLLM performance patches, or finds them wanting.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"perfproof {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        group.add(verbs)
    return top
