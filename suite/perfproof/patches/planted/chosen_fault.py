"""What the planted faults have in common: which one the environment asks for.

The faults exist to put the suite to the test (docs/planted-faults.md): whether a gate catches a wrong patch can only be asked of patches
that are known to be wrong. One variable names the fault, `PERFPROOF_FAULT=token_twice`; a patch without it refuses to run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import PatchRefused

VARIABLE = "PERFPROOF_FAULT"
Fault = Callable[..., Any]


def asked(patch: str, faults: Mapping[str, Fault]) -> Fault:
    """The fault that the environment asks for; raises `PatchRefused` where it asks for none that this patch has."""
    name = os.environ.get(VARIABLE, "")
    if name not in faults:
        raise PatchRefused(f"patch {patch} refused: {VARIABLE} is {name!r}, this patch has {', '.join(faults)}")
    return faults[name]
