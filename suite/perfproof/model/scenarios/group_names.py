"""Names for groups of one scenario's records: "swap_states [2 of 3]" is judged separately, "swap_states [3 hosts]" has all of them."""

from __future__ import annotations

import re

_ALL = re.compile(r" \[\d+ hosts\]$")
_GROUP = re.compile(r" \[(\d+ of \d+|\d+ hosts)\]$")


def named(scenario: str, number: int, groups: int) -> str:
    """The name of one of several groups of a scenario's records, from 1 on."""
    return f"{scenario} [{number} of {groups}]"


def of_all_hosts(scenario: str, hosts: int) -> str:
    """The name of the group that has the records of all hosts."""
    return f"{scenario} [{hosts} hosts]"


def is_of_all_hosts(name: str) -> bool:
    """Whether this is the name of a group of all hosts."""
    return bool(_ALL.search(name))


def own_name(name: str) -> str:
    """The scenario's own name, as in its file and in the rules of a policy."""
    return _GROUP.sub("", name)
