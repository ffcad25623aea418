"""What tests of builds share: a stand-in for uv and pip, that makes environments with the stand-in for vLLM."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import uv

from tests import toy


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that tells the stand-in for uv what to do; pip finds PyTorch 2.13.0 unless a test says otherwise."""
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "torch").write_text("2.13.0+cpu")
    script = tmp_path / "uv"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {toy.FAKES / "uv.py"} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("UV_FAKE", str(folder))
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(script))
    return folder
