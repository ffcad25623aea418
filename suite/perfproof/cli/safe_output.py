"""Makes all printed text safe, at the one place that it passes.

Messages, tables and logs contain text from outside: names in a diff, tasks of an evaluation, records, pages. This module removes escape
sequences (except colours and the progress display, on a terminal), and replaces other control characters by U+FFFD. Nothing at the start of
a line, or wrapped to it by a table, stays a command of the service that reads the log (`::add-mask::`, `##[...]`, `##vso[...]`).
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from perfproof.model.base.untrusted import harmless

_DISPLAY = re.compile(r"(?:\r|\x1b\[(?:[0-9]*[AGK]|\?25[hl]))*")
"""The start of the progress display's output to a terminal: the way up, the clearing of a line, the cursor."""
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")
_COMMAND = re.compile(r"(?m)^(\s*:)(?=:)")
_BEGUN = re.compile(r"\s*:?")
_TAG_BEGUN = re.compile(r"##?\w*\Z")
"""A line, or its end, that the next words may still turn into a command."""
_TAGGED = re.compile(r"(##\w*)(?=\[)")


class Harmless:
    """A text stream that writes only safe text; everything else is passed to the stream below."""

    def __init__(self, below: TextIO) -> None:
        self._below = below
        self._begun = ""

    def write(self, text: str) -> int:
        """Writes the text, with unsafe parts made visible. Returns its length."""
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
        """The remembered part of an unfinished line: all of it, if it may become a command, else its end."""
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
    """Sends everything printed meanwhile through `Harmless`."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast(TextIO, Harmless(out)), cast(TextIO, Harmless(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
