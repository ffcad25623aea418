"""Objects and lists as programs print them: JSON, or what Python prints of its own."""

from __future__ import annotations

import ast
import json
from typing import Any

DEEPEST = 8


def parsed(text: str) -> tuple[Any, int]:
    """What stands at the beginning of a text, and where it ends; None and 0 where it is neither JSON nor a literal of Python."""
    try:
        return json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        pass
    end = _balanced(text)
    try:
        return (ast.literal_eval(text[:end]), end) if end else (None, 0)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None, 0


def _balanced(text: str) -> int:
    """Where the brackets that a text begins with are closed, 0 where they never are."""
    depth, quote = 0, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and text[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
            if not depth:
                return place + 1
        if depth > 2 * DEEPEST:
            return 0
    return 0
