"""Node ids that are the same in every process.

pytest names a case after its parameters, and a project may name them so that every process has other names: by an address, a uuid, the
order of a set. What is an address or a uuid is left out of the id on both sides; what else differs can't be matched and is told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

PASSING = r"0x[0-9a-fA-F]{6,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])"
"""What lives no longer than its process; `suite/perfproof/child/benchmarks.py` is told it."""
TWICE = "several of its cases differ in an address or a uuid alone, so that none can be told from the others: give them ids (pytest.param)"
MOVING = (
    "pytest names it otherwise in another process (by an address, a random number, the order of a set), so that it can't be found on both "
    "sides: give its cases ids that stay (pytest.param(..., id=...))"
)


def stable(test: str) -> str:
    """A node id without what lives no longer than its process."""
    name, bracket, case = test.partition("[")
    return name + bracket + re.sub(PASSING, "*", case)


def twice(tests: Iterable[str]) -> set[str]:
    """The ids that several tests share."""
    return {test for test, count in Counter(tests).items() if count > 1}
