"""Runs vLLM's own tests in an interpreter under test and tells each outcome by its node id, as it comes.

`python run_vllm_tests.py TOOLS OUT PYTEST-ARGUMENT...` (TOOLS, a folder with pytest, may be empty). Appends to OUT one JSON object a line:
`{"test", "phase", "outcome", "why"}` for every phase of every test, and `{"vllm_file"}` at the end, so that a crash loses only the test
that crashed. Test files import what they lie beside only after what the interpreter has: a checkout's own `vllm` folder must not be
what is tested. It imports the standard library and what the interpreter has.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any, TextIO

MODE = "--import-mode=append"
OURS = ("-p", "no:perfproof")
"""Where perfproof is installed in the interpreter, pytest would load its plugin, which the files put before that install don't have."""


class Outcomes:
    """A pytest plugin that writes down how every phase of every test ended."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def say(self, **said: Any) -> None:
        self._file.write(json.dumps(said) + "\n")
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
        arguments = [f"--benchmark-storage=file://{os.path.dirname(out)}/benchmarks", *arguments]  # else it leaves a folder where it runs
    with open(out, "a", encoding="utf-8") as file:
        plugin = Outcomes(file)
        code = pytest.main([MODE, *OURS, "-p", "no:cacheprovider", "-q", *arguments], plugins=[plugin])
        plugin.say(vllm_file=getattr(sys.modules.get("vllm"), "__file__", None))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
