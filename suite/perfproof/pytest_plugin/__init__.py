"""The pytest plugin: `pytest --perfproof` measures a project's own pytest-benchmark tests against a base.

In order: pytest collects the tests as usual (`-k`, `-m` and paths choose); git finds what differs from the base and checks the base out
into a temporary worktree (`worktrees`); trials of both sides run in blocks, each a new process that runs pytest in its own checkout
(`benchmark_trials`), until the looks have decided (`benchmark_blocks`); each benchmark is then reported to pytest as a test that passed,
failed or was skipped, with the verdict's words (`benchmark_outcomes`). The tests are not changed.

Without `--perfproof` this module only defines its options, and imports nothing else of the suite. It refuses to run with pytest-xdist, and
it never runs inside its own trials.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from perfproof.pytest_plugin.plugin_session import Outcome

INSIDE = "PERFPROOF_TRIAL"
"""This variable is set in the processes of trials, whose pytest loads this plugin too."""
OUTCOME: pytest.StashKey[Outcome] = pytest.StashKey()
USAGE = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("perfproof", "paired trials of pytest-benchmark tests against a base")
    group.addoption("--perfproof", action="store_true", help="measure the benchmarks here against a base, instead of running tests")
    group.addoption(
        "--perfproof-base", metavar="REF", help="the branch, tag or commit to compare with (default: where HEAD left the main branch)"
    )
    group.addoption("--perfproof-blocks", type=int, metavar="N", help="one look after N blocks (default: looks after 6, 10, 16, 24)")
    group.addoption("--perfproof-margin", type=float, metavar="FRACTION", help="smallest change that matters, as a fraction (default 0.02)")
    group.addoption("--perfproof-results", type=Path, metavar="DIR", help="keep records and verdicts there; the same command continues")
    group.addoption("--perfproof-budget", type=float, metavar="MINUTES", help="start no block after so many minutes of measuring")
    group.addoption("--perfproof-wait", type=float, default=1.0, metavar="MINUTES", help="how long to wait for a busy machine (default 1)")
    group.addoption("--perfproof-seed", type=int, default=0, metavar="N", help="seed of the order of trials (default 0)")
    group.addoption("--perfproof-fail-on-inconclusive", action="store_true", help="inconclusive benchmarks fail, too")


def active(config: pytest.Config) -> bool:
    """Whether this session measures."""
    return bool(config.getoption("perfproof")) and INSIDE not in os.environ and not config.option.collectonly


def pytest_configure(config: pytest.Config) -> None:
    if not active(config):
        return
    faults = []
    if not hasattr(config.option, "benchmark_json"):
        faults.append("--perfproof needs pytest-benchmark, which this environment does not have (pip install pytest-benchmark)")
    if config.getoption("numprocesses", None) or config.getoption("dist", "no") != "no" or hasattr(config, "workerinput"):
        faults.append("--perfproof runs one trial at a time, and pytest-xdist would run several: leave out -n, or use -n 0")
    blocks, margin = config.getoption("perfproof_blocks"), config.getoption("perfproof_margin")
    if blocks is not None and not 6 <= blocks <= 1000:
        faults.append(f"--perfproof-blocks: expected 6 to 1000, got {blocks}: fewer than 6 blocks give no verdict")
    if margin is not None and not 0 < margin < 1:
        faults.append(f"--perfproof-margin: expected a fraction between 0 and 1, got {margin}")
    if faults:
        pytest.exit("perfproof: " + "; ".join(faults), returncode=USAGE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Replaces pytest's own loop; pytest itself reports collection errors."""
    if not active(session.config) or (session.testsfailed and not session.config.option.continue_on_collection_errors):
        return None
    from perfproof.pytest_plugin.plugin_session import measure

    session.config.stash[OUTCOME] = measure(session)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    outcome = session.config.stash.get(OUTCOME, None)
    if outcome is not None:
        session.exitstatus = outcome.exit_code


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    outcome = config.stash.get(OUTCOME, None)
    if outcome is not None:
        terminalreporter.section("perfproof")
        terminalreporter.write(outcome.text)
