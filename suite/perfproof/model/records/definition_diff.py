"""What two definitions of a scenario ask differently, key by key in words: why the records of one are none of the other's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from perfproof.model.base.untrusted import line

MOST = 4
"""So many differences are told; of more, how many."""
LONGEST = 60
"""Characters of a value that are told."""
ABSENT = "not said"


def told(before: Any, now: Any) -> str:
    """The differences from one definition to another: "metrics.round_time.margin was 0.02 and is 0.03, ..."; "" if there are none.

    The wording of the question is not told: it does not count.
    """
    found = [
        f"{line(key, LONGEST)} was {_short(old)} and is {_short(new)}" for key, old, new in differences(before, now) if key != "question"
    ]
    more = [f"{len(found) - MOST} more"] if len(found) > MOST else []
    return ", ".join([*found[:MOST], *more])


def differences(before: Any, now: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place where two values made of mappings and lists differ, its keys joined by dots, with what is there in each; lists are told
    whole where their lengths differ."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*before, *now]):
            yield from differences(before.get(name, ABSENT), now.get(name, ABSENT), f"{key}.{name}" if key else str(name))
    elif isinstance(before, list | tuple) and isinstance(now, list | tuple) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, f"{key}[{place}]")
    elif before != now:
        yield key, before, now


def _short(value: Any) -> str:
    """A value as JSON, of bounded length; records may be a stranger's."""
    if value is None or value == ABSENT:
        return ABSENT
    return line(json.dumps(value, ensure_ascii=False, default=str), LONGEST)
