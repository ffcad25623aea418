"""vLLM's model runners, V1 and V2: how an arm chooses one, and what tells two of them apart in the keys of what is kept.

Releases choose a runner themselves where none is named (V2 wherever Triton is there, from 0.29 on; earlier ones for some models). Until
perfproof let them, every arm ran V1 unless its variables said otherwise: what was kept then has no runner in its keys, and keeps its
meaning, because only another runner than that one adds to a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
"""The variable that asks vLLM for a runner; unset, the release chooses."""
ModelRunner = Literal["v1", "v2", "default"]
"""What an arm may say."""
VALUES: Mapping[str, str] = {"v1": "0", "v2": "1"}
"""The variable's value for each runner that an arm may name."""
NAMES: Mapping[str, str] = {"0": "V1", "1": "V2"}
"""How a runner is attested, by the variable's value."""
EVERY = frozenset(NAMES.values())


def variables(runner: ModelRunner | None) -> dict[str, str]:
    """The variable that an arm with this choice sets; none for the release's own."""
    return {VARIABLE: value} if (value := VALUES.get(runner or "")) else {}


def said(arm: Mapping[str, Any]) -> bool:
    """Whether an arm of a definition says which runner it wants, if only that it wants the release's own choice."""
    return bool(arm.get("runner")) or VARIABLE in (arm.get("environment") or {})


def wanted(arm: Mapping[str, Any]) -> str:
    """The runner that an arm of a definition names, as attested: "V1" or "V2"; "" where it leaves the choice to the release."""
    return NAMES.get({**(arm.get("environment") or {}), **variables(arm.get("runner"))}.get(VARIABLE, ""), "")


def settings(arm: Mapping[str, Any], ran: str) -> dict[str, Any]:
    """What distinguishes the work of an arm of a definition that ran on the model runner `ran` ("" if none took part): its settings
    without its build. The runner is one of them only where no earlier trial of these settings could have had it."""
    own = {key: value for key, value in arm.items() if key not in ("baseline", "build", "runner")}
    earlier = NAMES.get((arm.get("environment") or {}).get(VARIABLE, "0"), "")
    return {**own, "runner": ran} if ran and ran != earlier else own
