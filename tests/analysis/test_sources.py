"""Every public function of the analysis says where it comes from."""

from __future__ import annotations

import importlib
import inspect

import pytest

ROOMS = (
    "calibration",
    "comparison",
    "decision",
    "design",
    "explain",
    "exploratory",
    "foresight",
    "growth",
    "intervals",
    "invalidation",
    "power",
    "rates",
    "samples",
    "selfcheck",
    "spending",
    "sweeps",
    "trials",
    "verdict",
    "witness",
    "work",
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_names_its_source(room: str) -> None:
    """A paper, a library's function, this project's own simulated rule, or plainly none."""
    module = importlib.import_module(f"suite.analysis.{room}")
    for name, function in inspect.getmembers(module, inspect.isroutine):
        if not name.startswith("_") and function.__module__ == module.__name__:
            assert "ource" in (inspect.getdoc(function) or ""), f"{room}.{name}"
