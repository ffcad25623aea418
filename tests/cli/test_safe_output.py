"""What commands print: no escape sequence of others, and no line that the service which reads the log takes for a command."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress

from perfproof.cli import main
from perfproof.cli.safe_output import Harmless
from perfproof.model.base.untrusted import harmless, line, lines

HOSTILE = (
    "\x1b]52;c;aGk=\x07",
    "\x1b]0;title",
    "\x1b[2J",
    "\x1b[1A",
    "\x9b31m",
    "\x9d52;c;x\x9c",
    "\x1bP1\x1b\\",
    "\x07",
    "\r",
    "\u202e",
    "\u200b",
)
WORDS = (*HOSTILE, "::add-mask::x", ":", "::", "##[add-mask]x", "##vso[task.complete]", "\n", " ", "\u00a0", "words", "##", "[x")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
COMMAND = re.compile(r"^\s*::|##\w*\[")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _written(below: io.StringIO, *texts: str) -> str:
    stream = Harmless(below)
    for text in texts:
        assert stream.write(text) == len(text)
    return below.getvalue()


@given(st.lists(TEXTS, max_size=4))
def test_no_line_is_a_command_and_no_character_is_acted_upon(texts: list[str]) -> None:
    """However a text is cut into writes: not an escape is left, nothing hidden, and no line that begins with a workflow's command."""
    shown = _written(io.StringIO(), *texts)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", shown)
    assert not [line for line in shown.split("\n") if COMMAND.search(line)]


@given(st.lists(st.text(st.sampled_from("#:[ vso\n\u3000x")), max_size=8))
def test_nothing_is_lost_or_doubled_where_a_command_is_broken(texts: list[str]) -> None:
    """However a text is cut into writes, only blanks are added to it: one within each command, and none of it is repeated."""
    shown = _written(io.StringIO(), *texts)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", "".join(texts))
    assert not [line for line in shown.split("\n") if COMMAND.search(line)]


@given(st.text())
def test_any_text_leaves_neither_escapes_nor_what_nobody_sees(text: str) -> None:
    """Arbitrary Unicode through every way of showing a text of others: no control, format or unassigned character, and no command."""
    for shown in (harmless(text), line(text), lines(text), _written(io.StringIO(), text)):
        assert not [one for one in shown if unicodedata.category(one) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") and one not in "\n\t"]
    assert "\n" not in line(text)
    assert not [one for one in _written(io.StringIO(), text).split("\n") if COMMAND.search(one)]


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters=":#\xa0"), max_size=40))
def test_plain_text_is_written_as_it_is(text: str) -> None:
    """Letters, signs and our own narrow blanks pass unchanged."""
    assert _written(io.StringIO(), text + "\n") == text + "\n"
    assert harmless(text) == text


@given(TEXTS)
def test_on_a_terminal_only_colours_and_the_display_are_left(text: str) -> None:
    """A style around a text of others survives, their sequences don't."""
    below = Terminal()
    Console(file=Harmless(below), force_terminal=True, width=200).print(text, style="yellow", markup=False, soft_wrap=True)  # type: ignore[arg-type]
    assert re.sub(r"\x1b\[[0-9;]*m", "", below.getvalue()).isprintable() or "\n" in below.getvalue()
    assert not re.search(r"\x1b(?!\[[0-9;]*m)|[\x07\x9b\x9d\u202e]", below.getvalue())


def test_the_progress_display_still_draws() -> None:
    """On a terminal the display goes up and clears its lines as before."""
    plain, through = Terminal(), Terminal()
    for below, stream in ((plain, plain), (through, Harmless(through))):
        with Progress(console=Console(file=stream, force_terminal=True, width=80), auto_refresh=False) as bar:  # type: ignore[arg-type]
            task = bar.add_task("x", total=2)
            bar.refresh()
            bar.console.print("told")
            bar.update(task, advance=1)
            bar.refresh()
        assert below.getvalue().count("\x1b[1A") == plain.getvalue().count("\x1b[1A") or "\x1b[2K" in below.getvalue()
    assert through.getvalue().count("\x1b[2K") == plain.getvalue().count("\x1b[2K") > 0


def test_a_table_that_wraps_begins_no_line_with_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A long word with a command in it, wrapped by a narrow terminal, is no command on its own line."""
    stream = Harmless(io.StringIO())
    Console(file=stream, width=20).print("a name of a task that is ::add-mask::secret here", markup=False)  # type: ignore[arg-type]
    assert not re.search(r"(?m)^\s*::", stream.getvalue())


@pytest.mark.parametrize("name", ["a\x1b]52;c;aGk=\x07b", "a\n::add-mask::b", "a\x1b[2Jb"])
def test_errors_show_no_sequence_of_others(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A path in a diff and the name of a file are told without what a terminal or a log's reader would act on."""
    diff = tmp_path / "my.diff"
    diff.write_text(f"--- a/vllm/{name}.py\n+++ b/../{name}.py\n@@ -1 +1 @@\n-a\n+b\n")
    assert main(["pr", "--diff", str(diff)]) != 0
    assert main(["judge", f"{tmp_path}/{name}.csv", "--better", "lower"]) == 2
    told = capsys.readouterr()
    assert not re.search(r"(?m)[\x1b\x07]|^\s*::", told.err + told.out)


def test_streams_are_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    """After a command standard output and error are the caller's own."""
    before = sys.stdout, sys.stderr
    assert main(["judge", "nowhere.csv", "--better", "lower"]) == 2
    assert (sys.stdout, sys.stderr) == before
