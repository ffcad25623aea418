"""Output of the verbs of a history: sentences on the console, warnings on stderr, entries as JSON; and the offer of `perfproof blame`."""

from __future__ import annotations

import shlex
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


def blame_offer(scenario: str, good: str, bad: str, metric: str = "", *, clone: Sequence[str] = ()) -> str:
    """A sentence on how to find the functions behind a change between two builds, by their specs; of a `clone` its folder, the build that
    its commits lie on, and the commit that this was made from."""
    words = ["perfproof", "blame", scenario, "--good", good, "--bad", bad, *(["--metric", metric] if metric else [])]
    words += [word for pair in zip(("--git", "--base", "--base-ref"), clone, strict=False) for word in pair]
    return f"which functions and lines brought it: {shlex.join(words)}"
