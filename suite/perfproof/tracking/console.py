"""Output of the verbs of a history: sentences on the console, warnings on stderr, entries as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from perfproof.model.base.json_numbers import plain_json
from perfproof.model.base.untrusted import line


def say(console: Console, sentence: str) -> None:
    """Prints a sentence without wrapping it at the terminal's width."""
    console.print(Text(line(sentence)), soft_wrap=True)


def warn(*warnings: str) -> None:
    """Prints warnings on stderr."""
    for warning in warnings:
        print(f"perfproof: warning: {line(warning)}", file=sys.stderr)


def print_json(name: str, entries: Sequence[Any], warnings: Sequence[str], schema: int = 1, **more: str) -> None:
    """Prints entries under their name as JSON, with further texts under theirs."""
    print(plain_json({"schema": schema, name: list(entries), "warnings": list(warnings), **more}))
