"""A small project with pytest-benchmark tests, in a git repository of its own, and sessions of pytest in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
CORE = """\
def total(count):
    found = 0
    for number in range(count):
        found += number
    return found


def longest(words):
    return max(words, key=len)
"""
SLOWER = CORE.replace("        found += number\n", "        found += number\n        for _ in range(3):\n            pass\n")
"""Several times the work for the same answer."""
TESTS = """\
import pytest

from adder.core import longest, total


def test_total(benchmark):
    assert benchmark.pedantic(total, args=(30_000,), rounds=15, warmup_rounds=2) == 449_985_000


@pytest.mark.parametrize("count", [2000])
def test_longest(benchmark, count):
    words = ["a" * (number % 50) for number in range(count)]
    assert len(benchmark.pedantic(longest, args=(words,), rounds=15, warmup_rounds=2)) == 49


def test_that_measures_nothing():
    assert total(3) == 3
"""


def make(folder: Path, tests: str = TESTS, **more: str) -> Path:
    """The project with one commit on main; `more` are further files by name, `__` standing for a slash and `_py` for the ending."""
    files = {"adder/__init__.py": "", "adder/core.py": CORE, "bench/test_core.py": tests}
    files |= {name.replace("__", "/").replace("_py", ".py"): text for name, text in more.items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "--quiet", "--message=change")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout


def pytest_in(folder: Path, *words: str, benchmark: bool = True) -> subprocess.CompletedProcess[str]:
    """`python -m pytest` in the project, with the plugins that it would find installed."""
    plugins = ["perfproof.pytest_plugin", "tests.pytest_plugin.quiet", *(["pytest_benchmark.plugin"] if benchmark else [])]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *(word for plugin in plugins for word in ("-p", plugin)), *words],
        cwd=folder,
        env={**variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE), "COLUMNS": "140"},
        capture_output=True,
        text=True,
        timeout=300,
    )
