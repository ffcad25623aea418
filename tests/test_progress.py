"""What a run shows of itself: where it is, what it does, what is not to be missed."""

from __future__ import annotations

import io

from rich.console import Console

from perfproof.model.documents.decode import scenario_of
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from tests.factory import DEFINITION, record


def shown(*, terminal: bool) -> str:
    """A short run, drawn at a width of 120."""
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=terminal, width=120, color_system=None)
    block = make_plan([scenario_of(DEFINITION, source="example")], 0).blocks[0]
    with RunProgress(console, 12) as progress:
        progress.tell("the machine is busy: waiting")
        progress.expect("swap_states", 12)
        progress.block(block)
        progress.say("arm before: the server starts, 5 s so far")
        progress._bar.refresh()
        progress.trial(record(seconds={"total": 4.0}))
        progress.trial(record(arm="after", status="failed", reason="arm after: it [crashed]", seconds={"total": 6.0}))
        progress._bar.refresh()
    return printed.getvalue()


def test_a_step_is_shown_with_the_block_that_it_is_a_step_of() -> None:
    """On a terminal one line says scenario, block, step, trials done and the time left, in seconds where it is short."""
    text = shown(terminal=True)
    assert "swap_states: block 1 of 6 · arm before: the server starts, 5 s so far" in text
    assert "2/12 trials" in text
    assert "about 50 s left" in text


def test_warnings_and_failures_stay_to_be_read() -> None:
    """What is not to be missed is printed, on a terminal and in a log alike; what a trial failed of may hold brackets."""
    for terminal in (True, False):
        text = shown(terminal=terminal)
        assert "the machine is busy: waiting\n" in text
        assert "swap_states, block 1, after: failed: it [crashed]\n" in text


def test_what_a_trial_left_in_its_log_can_not_drive_the_terminal() -> None:
    """The reason of a failed trial ends with lines of a foreign program's log: their escape sequences are not printed."""
    printed = io.StringIO()
    with RunProgress(Console(file=printed, width=200, color_system=None), 1) as progress:
        progress.trial(record(status="failed", reason="it ended\n\x1b]0;title\x07\x1b[2Jlast words\u202e", seconds={"total": 1.0}))
    assert printed.getvalue().endswith("it ended\nlast words<U+202E>\n")


def test_lines_of_a_log_are_not_broken_where_there_is_no_terminal() -> None:
    """Where output goes to a file, a long line of a foreign log stays one line."""
    printed = io.StringIO()
    with RunProgress(Console(file=printed, width=80, color_system=None), 1) as progress:
        progress.tell("the machine is busy " * 6)
        progress.trial(record(status="failed", reason="it ended; the end of its log:\n" + "usage " * 40, seconds={"total": 1.0}))
    assert len(printed.getvalue().splitlines()) == 3
