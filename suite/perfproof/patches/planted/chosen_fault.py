"""The common part of the planted faults: the environment chooses one.

The faults exist to test the suite (docs/planted-faults.md): only patches that are known to be wrong can show whether a gate catches them.
One variable names the fault, `PERFPROOF_FAULT=token_twice`; a patch without it refuses to run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import PatchRefused

VARIABLE = "PERFPROOF_FAULT"
Fault = Callable[..., Any]


def chosen(patch: str, faults: Mapping[str, Fault]) -> Fault:
    """The fault that the environment names; raises `PatchRefused` if this patch does not have it."""
    name = os.environ.get(VARIABLE, "")
    if name not in faults:
        raise PatchRefused(f"patch {patch} refused: {VARIABLE} is {name!r}, this patch has {', '.join(faults)}")
    return faults[name]
