"""For sessions under test: whatever else this machine does, no trial is thrown out for it and none waits."""

from __future__ import annotations

import os

import pytest

from perfproof.pytest_plugin import INSIDE


def pytest_configure(config: pytest.Config) -> None:
    if INSIDE not in os.environ:
        from perfproof.run.host import preflight, telemetry

        telemetry.between = lambda before, after: {}
        preflight.settle = lambda *asked, **more: None
