"""Numbers for machines: JSON has no word for what is not finite, and what reads it stumbles over Python's."""

from __future__ import annotations

import json
import math
from typing import Any


def plain_json(value: Any) -> str:
    """A value as JSON that every reader takes: numbers without end, and none at all, are null."""
    return json.dumps(_finite(value), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value
