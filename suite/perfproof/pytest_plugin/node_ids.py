"""Node ids that are the same in every process.

pytest names a case after its parameters, and these names may differ between processes: by an address, a uuid, the order of a set. Addresses
and uuids are left out of the id on both sides; ids with other differences can't be matched, and are reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

PASSING = r"0x[0-9a-fA-F]{6,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])"
"""Parts that differ between processes; `suite/perfproof/child/benchmarks.py` gets this pattern."""
TWICE = "several of its cases differ only in an address or a uuid, so that they can't be matched: give them ids (pytest.param)"
MOVING = (
    "its name differs between processes (an address, a random number, the order of a set), so that it can't be found on both "
    "sides: give its cases fixed ids (pytest.param(..., id=...))"
)


def stable(test: str) -> str:
    """A node id without the parts that differ between processes."""
    name, bracket, case = test.partition("[")
    return name + bracket + re.sub(PASSING, "*", case)


def twice(tests: Iterable[str]) -> set[str]:
    """The ids that several tests share."""
    return {test for test, count in Counter(tests).items() if count > 1}
