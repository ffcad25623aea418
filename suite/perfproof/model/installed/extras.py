"""The optional packages: which extra of perfproof brings them, and the one sentence where one is missing.

`pip install perfproof` brings what running, counting and judging need. A command that needs more is refused before it measures anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from perfproof.model.base.errors import BadInput

EXTRAS = {
    "report": ("jinja2", "markupsafe", "matplotlib"),
    "history": ("pandas",),
    "parquet": ("pyarrow",),
    "validate": ("ruptures",),
}
"""The modules that perfproof imports of each extra of pyproject.toml."""


def lacking(extra: str) -> list[str]:
    """The modules of this extra that are not installed here."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def without(extra: str, modules: Sequence[str]) -> str:
    """What is missing and how to install it, to follow the name of what needs it."""
    named = ", ".join(modules[:-1]) + " and " * (len(modules) > 1) + modules[-1]
    return f"needs {named}, which perfproof itself does without: pip install 'perfproof[{extra}]'"


def need(extra: str, what: str) -> None:
    """Raises `BadInput` where a module of this extra is missing; `what` needs it."""
    if modules := lacking(extra):
        raise BadInput(f"{what}: {without(extra, modules)}")


def extra_with(module: str) -> str | None:
    """The extra that brings a module, by the name of the module or of one inside it."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)
