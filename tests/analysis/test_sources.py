"""Every public function of the analysis says where it comes from."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import perfproof.analysis

ROOMS = [
    module.name.removeprefix("perfproof.analysis.")
    for module in pkgutil.walk_packages(perfproof.analysis.__path__, "perfproof.analysis.")
    if not module.ispkg and not module.name.endswith(".number_format")
]
"""All but the room that only writes numbers as words."""


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_names_its_source(room: str) -> None:
    """A paper, a library's function, this project's own simulated rule, or plainly none."""
    module = importlib.import_module(f"perfproof.analysis.{room}")
    for name, function in inspect.getmembers(module, inspect.isroutine):
        if not name.startswith("_") and function.__module__ == module.__name__:
            assert "ource" in (inspect.getdoc(function) or ""), f"{room}.{name}"
