"""The reason of a trial in one line, for whoever has room for no more."""

from __future__ import annotations

LOG = "; the end of its log"
"""The words that announce the end of a log."""


def first_words(reason: str) -> str:
    """The first line of a reason. Where that announces lines that follow (the end of a log, what a command printed), the last of these,
    which mostly says what went wrong, takes the place of the announcement."""
    first, _, rest = reason.strip().partition("\n")
    last = next((one.strip() for one in reversed(rest.splitlines()) if one.strip()), "")
    head = first.rstrip(": ").removesuffix(LOG)
    named = f"{LOG}, " in first  # the file is named, and the cause, where it is known, stands before it
    return f"{head}: {last}" if first.endswith(":") and last and not named else head
