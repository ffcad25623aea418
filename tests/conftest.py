"""What holds for every test: a run on this machine keeps none waiting, and none keeps a run waiting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.run.alone import FOLDER


@pytest.fixture(scope="session", autouse=True)
def _locks_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("locks")
        patch.setenv(FOLDER, str(folder))
        yield folder
