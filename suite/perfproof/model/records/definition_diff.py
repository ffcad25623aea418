"""The differences between two definitions of a scenario, key by key in words: they are why the records of one don't belong to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from perfproof.model.base.untrusted import line

MOST = 4
"""The most differences that are listed; of others, only the number."""
LONGEST = 60
"""The most characters of a value that are shown."""
ABSENT = "not said"


def describe(before: Any, now: Any) -> str:
    """The differences from one definition to another: "metrics.round_time.margin was 0.02 and is 0.03, ..."; "" if there are none.

    The wording of the question is left out: it does not count.
    """
    parts = [
        f"{line(key, LONGEST)} was {_short(old)} and is {_short(new)}" for key, old, new in differences(before, now) if key != "question"
    ]
    more = [f"{len(parts) - MOST} more"] if len(parts) > MOST else []
    return ", ".join([*parts[:MOST], *more])


def differences(before: Any, now: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place where two values made of mappings and lists differ, its keys joined by dots, with both values; lists of different lengths
    are one difference."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*before, *now]):
            yield from differences(before.get(name, ABSENT), now.get(name, ABSENT), f"{key}.{name}" if key else str(name))
    elif isinstance(before, list | tuple) and isinstance(now, list | tuple) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, f"{key}[{place}]")
    elif before != now:
        yield key, before, now


def _short(value: Any) -> str:
    """A value as JSON, of bounded length; records may be from anybody."""
    if value is None or value == ABSENT:
        return ABSENT
    return line(json.dumps(value, ensure_ascii=False, default=str), LONGEST)
