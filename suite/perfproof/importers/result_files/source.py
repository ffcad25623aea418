"""A result file, opened: as JSON, as JSON lines, as a CSV, or as text.

A key that stands twice in one object is a fault: readers differ in which of the two they believe.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.regular_files import checked
from perfproof.model.base.untrusted import line

LARGEST_FILE = 100_000_000
MOST_COLUMNS = 10_000
SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file's path and text, and what the text is read as. Whatever it is not, is empty."""

    path: Path
    text: str

    @cached_property
    def documents(self) -> tuple[tuple[str, Any], ...]:
        """Each JSON document with where it stands: the one of a JSON file, or the one of each line of JSON lines.

        Raises `BadInput` for a file that begins as JSON and is none.
        """
        if self.text[:1] not in ("{", "["):
            return ()
        try:
            return ((str(self.path), self._parsed(self.text)),)
        except json.JSONDecodeError as error:
            lines = [(number, each) for number, each in enumerate(self.text.splitlines(), 1) if each.strip()]
            if len(lines) < 2 or not lines[0][1].rstrip().endswith(("}", "]")):
                raise BadInput(f"{self.path}:{error.lineno}: is cut off or no JSON: {error.msg}; write the file again") from error
        return tuple((f"{self.path}, line {number}", self._line(number, each)) for number, each in lines)

    @cached_property
    def objects(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The documents, where all of them are objects; a list of objects counts as its members."""
        found = self.documents
        if len(found) == 1 and isinstance(found[0][1], list):
            found = tuple((f"{self.path}, entry {number}", each) for number, each in enumerate(found[0][1], 1))
        return found if all(isinstance(each, dict) for _, each in found) else ()

    @cached_property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The rows of a CSV, blank ones left out; empty for JSON, and for what is no CSV."""
        if self.text[:1] in ("{", "["):
            return ()
        try:
            rows = tuple(
                tuple(row) for row in csv.reader(io.StringIO(self.text, newline=""), strict=True) if any(cell.strip() for cell in row)
            )
        except csv.Error:
            return ()
        return rows if rows and max(map(len, rows)) <= MOST_COLUMNS else ()

    def _line(self, number: int, text: str) -> Any:
        try:
            return self._parsed(text)
        except json.JSONDecodeError as error:
            raise BadInput(f"{self.path}:{number}: this line is cut off or no JSON: {error.msg}; remove it, or write it again") from error

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text, object_pairs_hook=self._members)
        except json.JSONDecodeError:
            raise
        except RecursionError as error:
            raise BadInput(f"{self.path}: nests too deeply for a result file") from error
        except ValueError as error:  # a number of more digits than Python converts
            raise BadInput(f"{self.path}: holds a number of thousands of digits, which no benchmark writes") from error

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInput(f"{self.path}: the key {line(twice, SHOWN)!r} is there twice in one object: keep one")
        return found


def open_source(path: Path) -> Source:
    """A file with its text. Raises `BadInput` where it can't be read, is larger than 100 MB, is empty or no text in UTF-8."""
    try:
        with open(checked(path), "rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    if len(raw) > LARGEST_FILE:
        raise BadInput(
            f"{path}: larger than {LARGEST_FILE // 1_000_000} MB; leave out the single requests, which are no trials (--save-detailed)"
        )
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text in UTF-8: {error.reason} at byte {error.start}") from error
    if not text:
        raise BadInput(f"{path}: is empty")
    return Source(path=path, text=text)
