"""Names for groups of one scenario's records that are judged separately: "swap_states [2 of 3]" for the scenario swap_states."""

from __future__ import annotations

import re

_GROUP = re.compile(r" \[\d+ of \d+\]$")


def named(scenario: str, number: int, groups: int) -> str:
    """The name of one of several groups of a scenario's records, from 1 on."""
    return f"{scenario} [{number} of {groups}]"


def own_name(name: str) -> str:
    """The scenario's own name, as in its file and in the rules of a policy."""
    return _GROUP.sub("", name)
