"""Gives a benchmark its parameters.

Every benchmark file declares `PARAMETERS`, the defaults of its workload. `PERFPROOF_CASES`, a JSON
list of objects, overrides them, one benchmark case per object; without it there is one case, the
defaults. An unknown key or type is refused before anything runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

CASES = "PERFPROOF_CASES"


def cases(defaults: Mapping[str, Any], text: str | None) -> list[dict[str, Any]]:
    """The parameters of every case: the defaults, overridden by each object of the JSON list `text`.

    Raises `ValueError` with all its faults at once.
    """
    overrides = json.loads(text) if text else [{}]
    if not isinstance(overrides, list) or not all(isinstance(one, dict) for one in overrides) or not overrides:
        raise ValueError(f"{CASES} must be a JSON list of objects, such as [{{}}]")
    faults = [fault for n, one in enumerate(overrides) for fault in _faults(n, one, defaults)]
    if faults:
        raise ValueError("; ".join(faults))
    return [{**defaults, **one} for one in overrides]


def _faults(number: int, override: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    where = f"{CASES}[{number}]"
    faults = [f"{where}: no parameter {key!r} (there are {', '.join(defaults)})" for key in override if key not in defaults]
    for key, value in override.items():
        if key in defaults and not _fits(value, defaults[key]):
            faults.append(f"{where}: {key} is {value!r}, wanted like {defaults[key]!r}")
    return faults


def _fits(value: object, default: object) -> bool:
    """Whether a value fits in place of the default: the same type, an integer for a float, anything for None."""
    if default is None or type(value) is type(default):
        return True
    return isinstance(default, float) and type(value) is int


def case_id(override: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The parameters of a case that differ from the defaults, for the test's name: "max_model_len=131072"."""
    return ",".join(f"{key}={value}" for key, value in override.items() if value != defaults[key]) or "default"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "parameters" not in metafunc.fixturenames:
        return
    defaults = getattr(metafunc.module, "PARAMETERS", None)
    if defaults is None:
        return  # a fixture or parameters of the benchmark's own
    try:
        all_cases = cases(defaults, os.environ.get(CASES))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize("parameters", all_cases, ids=[case_id(one, defaults) for one in all_cases])
