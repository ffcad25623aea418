"""Where a patch's module lies: a patch is known by its file's name, whichever room that is in."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from perfproof.patches import guard

ROOM = Path(guard.__file__).parent


def patch_module(name: str) -> Any:
    """The module of the patch of that name."""
    (file,) = ROOM.rglob(f"{name}.py")
    return importlib.import_module(".".join(("perfproof.patches", *file.relative_to(ROOM).with_suffix("").parts)))
