"""What a gate does with verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`inconclusive` and `untestable` say what such a primary metric does to the decision; `shared_launches` whether a verdict from
    servers that were launched once for all blocks counts as it is, or as inconclusive."""

    inconclusive: Literal["pass", "fail"]
    untestable: Literal["pass", "fail"]
    shared_launches: Literal["inconclusive", "count"]


DEFAULT_POLICY = Policy(inconclusive="pass", untestable="fail", shared_launches="inconclusive")
