"""For sessions under test: whatever else this machine does, no trial is thrown out for it and none waits."""

from __future__ import annotations

import os

import pytest

from suite.pytest_plugin import INSIDE


def pytest_configure(config: pytest.Config) -> None:
    if INSIDE not in os.environ:
        from suite.run import start, telemetry

        telemetry.between = lambda before, after: {}
        start.settle = lambda *asked, **more: None
