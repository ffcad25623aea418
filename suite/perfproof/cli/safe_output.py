"""What commands print, made harmless at the one place that all of it goes through.

Messages, tables and logs hold words of others: names in a diff, tasks of an evaluation, records, pages. Here escape sequences go
(but for colours and the progress display, on a terminal), other control characters become U+FFFD, and nothing that begins a line, or that
a table wrapped into the beginning of one, is left a command of the service that reads the log (`::add-mask::`, `##[...]`, `##vso[...]`).
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from perfproof.model.base.untrusted import harmless

_DISPLAY = re.compile(r"(?:\r|\x1b\[(?:[0-9]*[AGK]|\?25[hl]))*")
"""What the progress display begins its writing to a terminal with: the way up, the clearing of a line, the cursor."""
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")
_COMMAND = re.compile(r"(?m)^(\s*:)(?=:)")
_BEGUN = re.compile(r"\s*:?")
_TAG_BEGUN = re.compile(r"##?\w*\Z")
"""A line, or its end, of which so much was written that the next words may still make a command of it."""
_TAGGED = re.compile(r"(##\w*)(?=\[)")


class Harmless:
    """A stream of text that writes what is harmless; whatever else it is asked for is the stream's below."""

    def __init__(self, below: TextIO) -> None:
        self._below = below
        self._begun = ""

    def write(self, text: str) -> int:
        """Writes the text, of which what would be taken for more is shown; returns how long it was."""
        shown = self._shown(text)
        begun = self._begun + shown
        safe = _TAGGED.sub(r"\1 ", _COMMAND.sub(r"\1 ", begun))
        self._below.write(safe[len(self._begun) :])
        self._begun = self._left_open(safe.rpartition("\n")[2])
        return len(text)

    def writelines(self, texts: Any) -> None:
        for text in texts:
            self.write(text)

    @staticmethod
    def _left_open(line: str) -> str:
        """What to remember of a line that goes on: all of it, where it may become a command; else how it ends."""
        if _BEGUN.fullmatch(line):
            return line
        tag = _TAG_BEGUN.search(line)
        return f".{tag[0]}" if tag else "."

    def _shown(self, text: str) -> str:
        if not self._below.isatty():
            return harmless(text)
        begins = found.end() if (found := _DISPLAY.match(text)) else 0
        return text[:begins] + "".join(part if _COLOUR.fullmatch(part) else harmless(part) for part in _COLOUR.split(text[begins:]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


@contextlib.contextmanager
def harmless_streams() -> Iterator[None]:
    """What is printed meanwhile goes through `Harmless`."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast(TextIO, Harmless(out)), cast(TextIO, Harmless(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
