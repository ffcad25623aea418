"""What a gate does with verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`inconclusive` and `untestable` say what such a primary metric does to the decision."""

    inconclusive: Literal["pass", "fail"]
    untestable: Literal["pass", "fail"]


DEFAULT_POLICY = Policy(inconclusive="pass", untestable="fail")
