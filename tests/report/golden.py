"""One helper for golden files: compare, or write them when PERFPROOF_GOLDEN=write."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    """Compares with the golden file; writes it instead where the environment asks for that."""
    path = FOLDER / name
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text, f"{path} differs; PERFPROOF_GOLDEN=write writes it again, then read the difference"
