"""Runs vLLM's own tests in the interpreters of two builds, and compares the outcomes.

A change is blamed only for a test that passes on the base and not with the change. A test that fails on both (a missing package, no GPU)
says nothing about the change and is listed separately. pytest's node id identifies a test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.run.host.environment import usable_cores
from perfproof.run.processes.trial_process import build_environment, run_to_end

LIMIT = 3600.0
"""Seconds after which the tests of an arm are ended."""
ROOT_MARKS = ("pytest.ini", "pyproject.toml", "setup.cfg", ".git")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a test ended: `word` is "passed", "failed" or "skipped", `why` is the last line of its error."""

    word: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The outcomes of an arm's tests by node id, and how pytest ended, in words; `complete` if it ended by itself."""

    label: str
    outcomes: Mapping[str, Outcome]
    ended: str
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a change did to tests, a sentence each; `passed` is how many pass on both arms."""

    passed: int
    broken: tuple[str, ...]
    failing: tuple[str, ...]
    mended: tuple[str, ...]
    skipped: tuple[str, ...]


def checked(paths: Sequence[Path]) -> None:
    """Raises `BadInput` for test paths that do not exist; `file.py::test_name` is a path too."""
    faults = [f"--tests {path}: there is no such file or folder" for path in paths if not Path(str(path).partition("::")[0]).exists()]
    if faults:
        raise BadInput(*faults)


def both(base: ReadyBuild, changed: ReadyBuild, paths: Sequence[Path], folder: Path) -> Compared:
    """Runs the tests on both builds, one after the other; raises as `run` and `compare` do."""
    return compare(*(run(build, paths, folder, build.name) for build in (base, changed)))


def shown(path: Path) -> str:
    """A test path relative to the parent folder of its checkout, as anybody can type it."""
    root = _root(path)
    return str(Path(root.name, Path(_absolute(path)).relative_to(root)))


def run(build: ReadyBuild, paths: Sequence[Path], folder: Path, arm: str) -> Ran:
    """Runs the tests of these paths in a build's interpreter; log and outcomes lie in `folder`.

    Raises `CannotRun` where the tests loaded another vLLM than the build's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out, log = folder.resolve() / f"{arm}.jsonl", folder.resolve() / f"{arm}.log"
    for file in (out, log):
        file.unlink(missing_ok=True)
    words = [build.interpreter, build.child / "run_vllm_tests.py", build.tools or "", out, *(_absolute(path) for path in paths)]
    finished = run_to_end(words, environment=_environment(build), log=log, timeout=LIMIT, folder=_root(paths[0]))
    entries = list(_lines(out))
    outcomes = fold(entries)
    loaded = next((one["vllm_file"] for one in entries if "vllm_file" in one), None)
    expected = build.imported / "__init__.py"
    if loaded and os.path.abspath(loaded) != os.path.abspath(expected):
        raise CannotRun(f"--tests: on {build.label} the tests loaded vLLM from {Path(*Path(loaded).parts[-3:])}, not from the build")
    ended = f"pytest {finished.how()}" + ("" if outcomes else f":\n{finished.tail()}")
    return Ran(label=build.label, outcomes=outcomes, ended=ended, complete=any("vllm_file" in one for one in entries))


def _absolute(path: Path) -> str:
    file, mark, rest = str(path).partition("::")
    return f"{Path(file).resolve()}{mark}{rest}"


def _root(path: Path) -> Path:
    """The folder to run the tests in: their checkout."""
    start = Path(str(path).partition("::")[0]).resolve()
    folder = start if start.is_dir() else start.parent
    return next((up for up in (folder, *folder.parents) if any((up / mark).exists() for mark in ROOT_MARKS)), folder)


def _environment(build: ReadyBuild) -> dict[str, str]:
    """The build's own environment. No checkout is imported first."""
    return {**build_environment(build, threads=usable_cores()), "VLLM_PLUGINS": "", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _lines(file: Path) -> Iterator[Mapping[str, str]]:
    """The lines that the tests' process wrote, without an incomplete last one."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            return


def fold(entries: Sequence[Mapping[str, str]]) -> dict[str, Outcome]:
    """One outcome per test from its phases: failed if any phase failed, else skipped if any was, else passed."""
    outcomes: dict[str, Outcome] = {}
    rank = {"failed": 2, "skipped": 1, "passed": 0}
    for one in entries:
        if "test" not in one or (one["phase"] == "setup" and one["outcome"] == "passed"):
            continue
        known = outcomes.get(one["test"])
        if known is None or rank[one["outcome"]] > rank[known.word]:
            outcomes[one["test"]] = Outcome(word=one["outcome"], why=one["why"])
    return outcomes


def compare(base: Ran, changed: Ran) -> Compared:
    """What the change did. Raises `BadInput` if no test ran on the base: there is nothing to compare the change with."""
    if not base.outcomes:
        raise BadInput(f"--tests: no test ran on {base.label}: {base.ended}")
    broken: list[str] = []
    failing: list[str] = []
    mended: list[str] = []
    skipped: list[str] = []
    passed = 0
    for test, before in base.outcomes.items():
        after = changed.outcomes.get(test) or _lost(test, changed)
        if (before.word, after.word) == ("passed", "passed"):
            passed += 1
        elif before.word == "passed":
            (broken if after.word == "failed" else skipped).append(_with_reason(test, after))
        elif before.word == "failed":
            (mended if after.word == "passed" else failing).append(_with_reason(test, before))
    broken += [
        _with_reason(test, one)
        for test, one in changed.outcomes.items()
        if "::" not in test and one.word == "failed" and test not in base.outcomes
    ]
    return Compared(passed=passed, broken=tuple(broken), failing=tuple(failing), mended=tuple(mended), skipped=tuple(skipped))


def _lost(test: str, changed: Ran) -> Outcome:
    """The outcome of a test that ran only on the base: with the change its file was not collected, or the process ended before it."""
    file = changed.outcomes.get(test.partition("::")[0])
    return Outcome(word="failed", why=file.why if file else f"did not run: {changed.ended}")


def _with_reason(test: str, outcome: Outcome) -> str:
    return f"{test}: {outcome.why}" if outcome.why else test
