"""Runs trials of microbenchmarks, each in a process forked from a parent that has only imported vLLM.

`python micro.py TOOLS BENCH...` (TOOLS may be empty). It imports vLLM, PyTorch, pytest and the modules that the benchmark files name,
computes nothing, and reports that it is ready. For every order on its channel it forks: the child takes the arm's environment, loads the
arm's plugins as every process of vLLM does, runs the file under pytest-benchmark, leaves `benchmark.json` and `trial.json` in the trial's
folder and exits. A trial can't affect the next one, because the parent never runs any benchmark.

Behind the timed rounds the work of one round of each case is counted (`counted_rounds`), in the same process; where the order says so, that
alone is done. Of a benchmark of the user's own, which says nothing of its rounds, the tests run a second time for that, untimed
(`counted_benchmarks`).

Messages are JSON objects, one a line, over the pipes that `PERFPROOF_CHANNEL` numbers. Orders:
`{"bench", "own", "collect", "environment", "seed", "folder", "log", "count", "turns"}`, `own` saying that the benchmark is the user's,
`collect` that its tests are named and not run, `count` being null or what is counted (`alone`: nothing is timed), `turns` null or where
it takes turns with others (`turns`); answers:
`{"ready", "seconds", "threads", "faults"}`, then for each order `{"code", "seconds"}` (code: exit code, -N for signal N). It imports the
standard library, the counter beside it, and what the interpreter has.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import gc
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from perfproof.child import counted_rounds
from perfproof.child.benchmarks import why
from perfproof.child.turns import Turns

NO_ROOM = 74
"""The exit code of a trial that found no disk space for its files (EX_IOERR of sysexits.h)."""
LONGEST_OF_OWN = 0.02
"""Seconds of the processor in a round of a benchmark of the user's own from which it is too long to be counted in every trial."""
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder that perfproof lies in: the side folder of a build."""
NAMES = re.compile(r"^(vllm[\w.]*):[\w.]+$")


# --- the parent: imports, and forks -----------------------------------------------------------------------


def imports_of(file: str) -> Iterator[tuple[str, str]]:
    """The modules of vLLM, PyTorch and numpy that a file imports anywhere, with the name taken from each ("" for none)."""
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMES.match(node.value):
            yield node.value.partition(":")[0], ""


def with_helpers(benches: list[str]) -> list[str]:
    """The benchmarks' files, and those of perfproof's helpers that they import, directly or through one another."""
    files = dict.fromkeys(file for file in benches if os.path.exists(file))
    waiting = list(files)
    while waiting:
        for module, name in imports_of(waiting.pop()):
            if module.startswith("perfproof."):
                stem = os.path.join(TOP, *module.split("."))
                new = [file for file in (f"{stem}.py", os.path.join(stem, f"{name}.py")) if file not in files and os.path.exists(file)]
                files.update(dict.fromkeys(new))
                waiting += new
    return list(files)


def import_all(benches: list[str]) -> list[str]:
    """Imports what the benchmarks and pytest need; modules that a release lacks are skipped, other errors are reported."""
    faults = []
    wanted = [("vllm", ""), ("vllm.plugins", "load_general_plugins"), ("torch", ""), ("numpy", "")]
    for file in with_helpers(benches):
        wanted += [(module, name) for module, name in imports_of(file) if module.split(".")[0] in ("vllm", "torch", "numpy")]
    for module, name in dict.fromkeys(wanted):
        try:
            getattr(importlib.import_module(module), name or "__name__")
        except (ImportError, AttributeError):
            continue  # a release may lack it; a benchmark that needs it will report that
        except Exception as error:  # reported to the runner
            faults.append(f"{module}{'.' + name if name else ''}: {type(error).__name__}: {error}")
    import pytest_benchmark.plugin  # noqa: F401
    from _pytest.config import default_plugins

    for name in default_plugins:
        importlib.import_module(f"_pytest.{name}")
    return faults


def threads() -> int:
    """How many threads this process has; a fork keeps only the forking thread."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def serve(benches: list[str], orders: BinaryIO, answers: BinaryIO) -> None:
    began = time.perf_counter()
    faults = import_all(benches)
    gc.collect()
    gc.freeze()  # no child's garbage collector scans what was imported
    answer(answers, {"ready": True, "seconds": time.perf_counter() - began, "threads": threads(), "faults": faults})
    for line in orders:
        order = json.loads(line)
        began = time.perf_counter()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            child(order, (orders, answers))
        _, status = os.waitpid(pid, 0)
        answer(answers, {"code": os.waitstatus_to_exitcode(status), "seconds": time.perf_counter() - began})


def answer(file: BinaryIO, message: dict[str, Any]) -> None:
    file.write(json.dumps(message).encode() + b"\n")
    file.flush()


# --- the child: one trial -----------------------------------------------------------------------------------


def child(order: dict[str, Any], inherited: tuple[BinaryIO, ...]) -> None:
    """Runs one trial and ends with `os._exit`: 0 if the file ran, 1 if not, `NO_ROOM` without disk space for its files. Never returns."""
    code = 1
    try:
        for file in inherited:
            file.close()
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(order["environment"])
        seed_all(order["seed"])
        code = trial(order["bench"], order["own"], order["folder"], order["count"], order["collect"], order["turns"])
    except BaseException as error:
        import traceback

        code = NO_ROOM if found_no_room(error) else 1
        with contextlib.suppress(OSError):
            traceback.print_exc()
    finally:
        leave_no_folder()
        for file in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # a full disk under the log
                file.flush()
        os._exit(code)


def leave_no_folder() -> None:
    """Removes the folders that benchmarks made for as long as the process lasts: nothing else does where a process ends at once."""
    helper = sys.modules.get("perfproof.bench.engine_objects")
    for folder in getattr(helper, "LASTING", ()):
        with contextlib.suppress(OSError):
            folder.cleanup()


def found_no_room(error: BaseException | None) -> bool:
    """Whether an error, or an error behind it, says that there was no disk space for a file."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def seed_all(seed: int) -> None:
    """Seeds all random generators, so that the arms of a block start from the same state; a fork alone does not ensure that."""
    import random

    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def trial(bench: str, own: bool, folder: str, counting: dict[str, Any] | None, collect: bool, turns: dict[str, Any] | None) -> int:
    """Loads the plugins, runs the benchmark, counts what is asked for, says what came of it in `trial.json`."""
    watch = Watch()
    outcome: dict[str, Any] = {"fault": "", "seconds": watch.seconds, "tests": watch.tests, "benchmarks": watch.benchmarks}
    try:
        began = time.perf_counter()
        from vllm.plugins import load_general_plugins

        load_general_plugins()
        watch.seconds["plugins"] = time.perf_counter() - began
        if counting and counting.get("alone"):
            outcome["counted"] = count_alone(bench, counting, watch)
            return 0
        if own:
            sys.path += [os.path.dirname(bench), os.path.dirname(os.path.dirname(bench))]
        results = None if collect else os.path.join(folder, "benchmark.json")
        with taken(turns, watch):
            run_pytest([*arguments(bench, own, results), *(["--collect-only"] if collect else [])], watch)
        outcome["pytest"] = watch.code
        if counting and not watch.code:
            outcome["counted"] = count(bench, own, counting, watch)
    except Exception as error:  # a plugin that refuses is the trial's result, not a fault of the runner
        outcome["fault"] = f"{type(error).__name__}: {error}"
        raise
    finally:
        with open(os.path.join(folder, "trial.json"), "w") as file:
            json.dump(outcome, file)
    return 0


@contextlib.contextmanager
def taken(turns: dict[str, Any] | None, watch: Watch) -> Iterator[None]:
    """Runs only when it is this trial's turn, where it takes turns with others."""
    if turns is None:
        yield
        return
    mine = Turns(**turns, test_number=lambda: len(watch.tests))
    mine.install()
    mine.take()
    try:
        yield
    finally:
        mine.leave()


def count(bench: str, own: bool, counting: dict[str, Any], watch: Watch) -> dict[str, Any]:
    """What a round of each case does, where the benchmark can say what a round is; of one of the user's own, what its tests do."""
    began = time.perf_counter()
    module = next((one for one in list(sys.modules.values()) if getattr(one, "__file__", None) == bench), None)
    found: dict[str, Any] = {}
    if hasattr(module, "counted_round"):
        found = counted_rounds.count_cases(module, counting["cases"], counting["at"])
    elif own:
        found = count_tests(bench, watch)
    watch.seconds["count"] = time.perf_counter() - began
    return found


def count_alone(bench: str, counting: dict[str, Any], watch: Watch) -> dict[str, Any]:
    """What a round of each case of one of perfproof's benchmarks does, without any timed round before; its calls are attested."""
    began = time.perf_counter()
    module = importlib.import_module(os.path.relpath(bench, TOP).removesuffix(".py").replace(os.sep, "."))
    found = counted_rounds.count_cases(module, counting["cases"], counting["at"], attested=True)
    watch.seconds["count"] = time.perf_counter() - began
    return found


def count_tests(bench: str, watch: Watch) -> dict[str, Any]:
    """Runs the tests once more, and counts a round of each; `counts` and `observed` by the test's id."""
    import pytest

    from perfproof.child.counted_benchmarks import Counting

    counting = Counting(test_id, longest=LONGEST_OF_OWN, observing=True)
    counting.install()
    with counted_rounds.unattested():
        pytest.main(arguments(bench, True, None))
    warnings = [f"{test}: {reason}" for test, reason in counting.warnings.items()]
    passed = {test["name"] for test in watch.tests if test["outcome"] == "passed"}
    unseen = [test for test in watch.benchmarks if test.rpartition("::")[2] in passed and test not in counting.observed]
    warnings += [f"{test}: what its round calls is not known: the test did not run a second time" for test in unseen]
    return {"counts": counting.counts, "warnings": warnings, "observed": counting.observed}


def test_id(node: str) -> str:
    """A test's own part of its node id: "test_swap[64]", "TestSwap::test_swap"."""
    return node.partition("::")[2]


def arguments(bench: str, own: bool, results: str | None) -> list[str]:
    """pytest's arguments: only the file runs, without any configuration, plugin or cache of its folder. A `conftest.py` beside a benchmark
    of the user's own is theirs, and counts."""
    top = os.path.dirname(bench) if own else TOP
    root = os.path.dirname(top) if own else top
    return [
        bench,
        *("-c", os.path.join(root, "pytest.ini"), "--rootdir", root, "--confcutdir", top),
        *("-p", "no:cacheprovider", "-p", "pytest_benchmark.plugin", "-q", "-rs"),
        *(("-p", "perfproof.bench.conftest") if own else ()),
        "--benchmark-disable-gc",
        *(("--benchmark-json", results) if results else ()),
    ]


def run_pytest(arguments: list[str], watch: Watch) -> None:
    """Runs the tests under pytest."""
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for hook in (Watch.pytest_benchmark_generate_machine_info, Watch.pytest_benchmark_generate_commit_info):
        pytest.hookimpl(tryfirst=True)(hook)  # else pytest-benchmark's own comes first, and takes 1.3 s
    began = time.perf_counter()
    watch.code = int(pytest.main(arguments, plugins=[watch]))
    watch.seconds["pytest"] = time.perf_counter() - began


class Watch:
    """A pytest plugin that records how long every test took and how it ended, and saves pytest-benchmark a look at the machine."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.tests: list[dict[str, Any]] = []
        self.benchmarks: list[str] = []
        self.code = 0

    def pytest_collection_finish(self, session: Any) -> None:
        self.benchmarks += [test_id(item.nodeid) for item in session.items if "benchmark" in getattr(item, "fixturenames", ())]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds["tests"] = self.seconds.get("tests", 0.0) + report.duration
        if report.when == "call" or report.outcome != "passed":
            self.tests.append({"name": report.nodeid.rpartition("::")[2], "outcome": report.outcome, "why": why(report)})

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome != "passed":
            self.tests.append({"name": report.nodeid, "outcome": report.outcome, "why": why(report)})

    def pytest_benchmark_generate_machine_info(self, config: Any) -> dict[str, Any]:
        return {"machine": "described in the record"}

    def pytest_benchmark_generate_commit_info(self, config: Any) -> dict[str, Any]:
        return {"id": "unversioned"}


def main(argv: list[str]) -> int:
    tools, *benches = argv
    if tools:
        sys.path.append(tools)
    reading, writing = (int(number) for number in os.environ.pop("PERFPROOF_CHANNEL").split(","))
    with os.fdopen(reading, "rb", buffering=0) as raw, os.fdopen(writing, "wb") as answers:
        import io

        serve(benches, io.BufferedReader(raw), answers)  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
