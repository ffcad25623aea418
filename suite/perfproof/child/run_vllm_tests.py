"""Runs vLLM's own tests in an interpreter under test and reports each outcome at once, by node id.

`python run_vllm_tests.py TOOLS OUT PYTEST-ARGUMENT...` (TOOLS, a folder with pytest, may be empty). Appends to OUT one JSON object per
line: `{"test", "phase", "outcome", "why"}` for every phase of every test, and `{"vllm_file"}` at the end, so that a crash loses only the
test that crashed. For test files the interpreter's packages come before the files beside them: the tests must not import a checkout's own
`vllm` folder. It imports the standard library and the interpreter's packages.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any, TextIO

MODE = "--import-mode=append"
OURS = ("-p", "no:perfproof")
"""If perfproof is installed in the interpreter, pytest would load its plugin, which the side folder's copy before that install lacks."""


class Outcomes:
    """A pytest plugin that records how every phase of every test ended."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def say(self, **entry: Any) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = "skipped" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        self.say(test=report.nodeid, phase=report.when, outcome=outcome, why=_why(report))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.say(test=report.nodeid, phase="collect", outcome="failed", why=_why(report))


def _why(report: Any) -> str:
    """The last line of an error, or the reason of a skip."""
    if report.passed or report.longrepr is None:
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [line for line in str(crash.message if crash else report.longrepr).splitlines() if line.strip()]
    if not lines:
        return ""
    return (lines[0] if crash else lines[-1].removeprefix("E").strip())[:400]


def main(words: list[str]) -> int:
    tools, out, *arguments = words
    if tools:
        sys.path.append(tools)
    import pytest

    if importlib.util.find_spec("pytest_benchmark"):
        arguments = [
            f"--benchmark-storage=file://{os.path.dirname(out)}/benchmarks",
            *arguments,
        ]  # else it leaves a folder in the working folder
    with open(out, "a", encoding="utf-8") as file:
        plugin = Outcomes(file)
        code = pytest.main([MODE, *OURS, "-p", "no:cacheprovider", "-q", *arguments], plugins=[plugin])
        plugin.say(vllm_file=getattr(sys.modules.get("vllm"), "__file__", None))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
