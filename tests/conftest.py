"""What holds for every test: a run on this machine keeps none waiting, and none keeps a run waiting; long files begin first."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from perfproof.run.host.machine_lock import FOLDER

TESTS = Path(__file__).parent
if os.environ.get("PERFPROOF_SAME_EXAMPLES"):  # CI stops nobody for an example that chance found today; `make test` goes on looking
    from hypothesis import settings

    settings.register_profile("same examples", derandomize=True, deadline=None)
    settings.load_profile("same examples")

LONG = (
    "test_inside.py",
    "builds/install/test_release_install.py",
    "run/test_traps.py",
    "changes/counting/test_count_real.py",
    "run/kinds/serve/test_serve_runner.py",
    "run/trials/test_engine_counting.py",
    "changes/test_measure_change.py",
    "run/kinds/serve/test_soak.py",
    "run/kinds/serve/test_pooling_real.py",
    "report/test_browser.py",
    "run/kinds/accuracy/test_accuracy_real.py",
    "gate/test_gate_change.py",
    "run/kinds/serve/test_serve_real.py",
    "pytest_plugin/test_sessions.py",
    "run/kinds/equality/test_equality_runner.py",
    "run/kinds/micro/test_planted_in_parts.py",
    "run/kinds/micro/test_micro_runner.py",
    "run/kinds/micro/test_micro_vllm.py",
    "changes/blame/test_blame_real.py",
    "jobs/test_slurm_engine.py",
    "builds/install/test_wheel.py",
)
"""Files that take more than half a minute, the longest first: what begins last must be short, or a worker waits for the other."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is imported here is garbage: Python looks for none meanwhile, a quarter of the time, and passes it over ever after."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order of `LONG`, then the others as ever; the tests of a file keep theirs."""
    places = {TESTS / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


@pytest.fixture(scope="session", autouse=True)
def _locks_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("locks")
        patch.setenv(FOLDER, str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def _no_worker_of_ours_is_that_of_a_session_under_test() -> Iterator[None]:
    """pytest-benchmark measures nothing where a variable names a worker of pytest-xdist; our children would inherit ours."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_parser_of_the_command_line_is_made_once() -> Iterator[None]:
    """As in every process of a user; here commands follow one another, and many take no longer than that."""
    if importlib.util.find_spec("vllm") is not None:  # inside a build there are no commands
        yield
        return
    from perfproof import cli

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "parser", functools.cache(cli.parser))
        yield
