"""Runs a project's own pytest-benchmark tests in one checkout of it: one trial of `pytest --perfproof`.

`python benchmarks.py ORDER`, where ORDER is a JSON file: `arguments` for pytest, `wanted` (node ids; null collects only), `folder` (takes
`benchmark.json` and `trial.json`), `passing` (a pattern: what it finds of a case's id is the process's own, and `*` stands for it), `count`
(whether each benchmark's work is counted, and nothing timed), `tree` (the checkout's top), `other` (the top of the other side's checkout,
from which nothing may be imported; "" for none) and `modules` (names of the modules that the change touches). The tests are the project's
as they are; what is added is a plugin that leaves out those that are not wanted and writes down how each ended and which files were loaded.
It imports the standard library, the counter beside it where it counts, and what the interpreter has.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

MOST_ROUNDS = 1000
"""The most rounds of a benchmark that are kept; of more, every second, third and so on. The median is over all rounds."""


class Watch:
    """A pytest plugin that selects the wanted benchmarks, records how each ended, and saves pytest-benchmark a look at the machine."""

    def __init__(self, wanted: list[str] | None, passing: str) -> None:
        self.wanted = None if wanted is None else set(wanted)
        self.passing = passing
        self.found: list[str] = []
        self.tests: dict[str, dict[str, str]] = {}
        self.faults: list[str] = []
        self.seconds = 0.0

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        benchmarks = [item for item in items if "benchmark" in getattr(item, "fixturenames", ())]
        self.found = [stable(item.nodeid, self.passing) for item in benchmarks]
        if self.wanted is not None:
            chosen = [stable(item.nodeid, self.passing) in self.wanted for item in items]
            left = [item for item, kept in zip(items, chosen) if not kept]  # noqa: B905 (an interpreter may be older than `strict`)
            items[:] = [item for item, kept in zip(items, chosen) if kept]  # noqa: B905
            config.hook.pytest_deselected(items=left)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds += report.duration
        test = stable(report.nodeid, self.passing)
        known = self.tests.get(test)
        if known is None or (report.outcome != "passed" and known["outcome"] == "passed"):
            self.tests[test] = {"outcome": report.outcome, "why": why(report)}

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.faults.append(f"{report.nodeid}: {why(report)}")

    def pytest_benchmark_generate_machine_info(self, config: Any) -> dict[str, Any]:
        return {"machine": "described in the record"}

    def pytest_benchmark_generate_commit_info(self, config: Any) -> dict[str, Any]:
        return {"id": "unversioned"}


def stable(test: str, passing: str) -> str:
    """A node id with a `*` for each part that differs between processes."""
    name, bracket, case = test.partition("[")
    return name + bracket + re.sub(passing, "*", case)


def why(report: Any) -> str:
    """Why a test did not pass, in one line."""
    if report.outcome == "passed" or report.longrepr is None:
        return ""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2]).replace("Skipped: ", "", 1)
    crash = getattr(longrepr, "reprcrash", None)
    lines = [line for line in str(crash.message if crash is not None else longrepr).splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1].removeprefix("E").strip())[:400] if lines else "no reason was given"


def loaded() -> Iterator[tuple[str, str]]:
    """Name and file of every module that was imported from a file, except those of the interpreter's own environment."""
    inside = tuple(os.path.join(os.path.realpath(place), "") for place in {sys.prefix, sys.base_prefix})
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and name != "__main__":
            path = os.path.abspath(file)
            if not os.path.realpath(path).startswith(inside) or f"{os.sep}site-packages{os.sep}" not in path:
                yield name, path


def below(path: str, top: str) -> bool:
    """Whether a file lies in a checkout, however the folder's path is written."""
    return bool(top) and (
        path.startswith(os.path.join(top, "")) or os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), ""))
    )


def sources(tree: str) -> dict[str, str]:
    """The loaded files of the checkout, relative to its top, each with the beginning of its hash."""
    hashes = {}
    for _, path in loaded():
        if path.startswith(os.path.join(tree, "")):
            try:
                with open(path, "rb") as file:
                    hashes[os.path.relpath(path, tree)] = hashlib.sha256(file.read()).hexdigest()[:16]
            except OSError:
                continue  # a generated file that was removed again
    return hashes


def strangers(tree: str, other: str) -> list[str]:
    """Files of the other side's checkout that were loaded here."""
    return [os.path.relpath(path, other) for _, path in loaded() if not path.startswith(os.path.join(tree, "")) and below(path, other)]


def installed(tree: str, other: str, modules: list[str]) -> list[str]:
    """Modules that the change touches but that came from neither checkout: from an installed copy of the project."""
    names = []
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if (
            isinstance(file, str)
            and not below(file, tree)
            and not below(file, other)
            and name.partition(".")[0] not in sys.stdlib_module_names
        ):
            names.append(name)
    return names


def results(folder: str, passing: str) -> dict[str, dict[str, Any]]:
    """The benchmarks of pytest-benchmark's JSON by node id: median of all rounds (seconds per iteration), rounds, iterations per round."""
    try:
        with open(os.path.join(folder, "benchmark.json"), encoding="utf-8") as file:
            benchmarks = json.load(file)["benchmarks"]
    except (OSError, ValueError):  # no benchmark ended
        return {}
    by_test = {}
    for one in benchmarks:
        rounds, iterations = one["stats"]["data"], one["stats"].get("iterations", 1)
        kept = rounds[:: -(-len(rounds) // MOST_ROUNDS)]
        by_test[stable(one["fullname"], passing)] = {"median": one["stats"]["median"], "rounds": kept, "iterations": iterations}
    return by_test


def counted(passing: str) -> Any:
    """What counts each benchmark, in place of what times it."""
    from perfproof.child.counted_benchmarks import Counting

    counting = Counting(lambda test: stable(test, passing))
    counting.install()
    return counting


def run(order: dict[str, Any]) -> None:
    import pytest

    for hook in (Watch.pytest_benchmark_generate_machine_info, Watch.pytest_benchmark_generate_commit_info):
        pytest.hookimpl(tryfirst=True, optionalhook=True)(hook)  # else pytest-benchmark asks the machine, which takes a second
    pytest.hookimpl(trylast=True)(Watch.pytest_collection_modifyitems)
    watch = Watch(order["wanted"], order["passing"])
    counting = counted(order["passing"]) if order["count"] else None
    code = int(pytest.main(order["arguments"], plugins=[watch]))
    outcome = {
        "pytest": code,
        "found": watch.found,
        "tests": watch.tests,
        "faults": watch.faults,
        "seconds": watch.seconds,
        "benchmarks": results(order["folder"], order["passing"]),
        "sources": sources(order["tree"]),
        "strangers": strangers(order["tree"], order["other"]),
        "installed": installed(order["tree"], order["other"], order["modules"]),
        "counts": counting.counts if counting else {},
        "uncounted": counting.warnings if counting else {},
    }
    with open(os.path.join(order["folder"], "trial.json"), "w", encoding="utf-8") as file:
        json.dump(outcome, file)


if __name__ == "__main__":
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    with open(sys.argv[1], encoding="utf-8") as order_file:
        run(json.load(order_file))
