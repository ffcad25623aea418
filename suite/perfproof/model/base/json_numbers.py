"""Numbers in JSON: it has no form for infinite values and NaN, and other readers reject Python's."""

from __future__ import annotations

import json
import math
from typing import Any


def plain_json(value: Any) -> str:
    """A value as JSON that every reader accepts: infinite values and NaN become null."""
    return json.dumps(_finite(value), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value
