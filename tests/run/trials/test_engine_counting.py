"""A real vLLM engine is counted: the same each time, feature by feature, and faults stay where they are."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from perfproof.analysis.counts.count_comparison import compare, disagreeing
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.builds.processes.supervised_process import run_to_end
from perfproof.model.base.errors import CannotRun
from perfproof.model.records.count_lines import read_count
from perfproof.model.records.counts import Count
from perfproof.model.scenarios.scenario import DefiningFile, OverlayBuild, PythonBuild
from perfproof.run.processes.trial_process import build_environment
from perfproof.run.trials import engine_counting
from perfproof.run.trials.count_claims import Claims
from perfproof.run.trials.engine_counting import Wanted, count, kept_file
from tests.run.conftest import known_to

TORCH = """
import torch
from perfproof.child.counting import Operators
counts = []
for _ in range(2):
    operators = Operators()
    operators.start()
    a = torch.ones(4, 8)
    b = (a + a).sort(dim=1)
    counts.append(operators.stop().operators)
    a + a
assert counts[0] == counts[1], counts
print(sorted(counts[0].items()))
"""


@pytest.mark.vllm
def test_operators_are_counted_with_the_bytes_of_their_results(served_build: ReadyBuild, tmp_path: Path) -> None:
    """A sum of 4 x 8 floats is 128 bytes; a sort gives as many again and their places; what comes after is not counted."""
    script, log = tmp_path / "torch_counts.py", tmp_path / "log"
    script.write_text(TORCH)
    done = run_to_end([served_build.interpreter, script], environment=build_environment(served_build, threads=1), log=log, timeout=120)
    assert done.ok, done.tail()
    assert "('aten::add.Tensor', [1, 128])" in log.read_text()
    assert "('aten::sort', [1, 384])" in log.read_text()


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


@pytest.fixture(scope="module")
def base(served_build: ReadyBuild, builds: Path) -> ReadyBuild:
    """The interpreter of the build that is there, with folders of its own beside it."""
    known_to(builds, served_build)
    return prepare(PythonBuild(name="base", path=str(served_build.interpreter)), builds, print)


def changed(base: ReadyBuild, builds: Path, name: str, path: str, old: str, new: str) -> ReadyBuild:
    """An overlay in which a text of a file of vLLM is another one."""
    before = (base.fingerprint.package.parent / path).read_text()
    assert before.count(old) == 1
    lines = [text.splitlines(keepends=True) for text in (before, before.replace(old, new))]
    diff = builds / f"{name}.diff"
    diff.write_text("".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}")))
    file = DefiningFile(path=str(diff), sha256=hashlib.sha256(diff.read_bytes()).hexdigest())
    below = PythonBuild(name="base", path=str(base.interpreter))
    return prepare(OverlayBuild(name=name, base=below, diff=file, git=None), builds, print)


@pytest.fixture(scope="module")
def counted(base: ReadyBuild, builds: Path) -> Count:
    """The base, counted in a first process: every import of vLLM takes longer than what it is for."""
    cells = {"stop strings": [8], "JSON schema": [8], "async scheduling": [8], "embeddings": [8], "classification": [8]}
    return count([Wanted(build=base, cells=cells)], builds, print)[0]


@pytest.fixture(scope="module")
def again(base: ReadyBuild, builds: Path) -> tuple[Count, list[int]]:
    """The base, counted by a second process until it is enough, and how many cells there were at each look."""
    looks: list[int] = []

    def enough(now: Sequence[Count]) -> bool:
        looks.append(len(now[0].cells))
        return len(now[0].cells) >= 2

    wanted = Wanted(build=base, cells={"stop strings": [8], "JSON schema": [8, 64]}, process=2)
    with pytest.raises(CannotRun, match="before vLLM was imported"):
        count([wanted], builds, print, seconds=0.0)
    found = count([wanted], builds, print, enough=enough)[0]
    assert count([wanted], builds, print, enough=enough) == [found]
    return found, looks


@pytest.mark.vllm
def test_another_process_counts_the_same_to_the_last_instruction(counted: Count, again: tuple[Count, list[int]]) -> None:
    """All functions, C calls, operators and tokens; what a platform turns off is skipped and says so."""
    second, _ = again
    assert [cell.key for cell in second.cells] == [("stop strings", 8), ("JSON schema", 8)]
    assert disagreeing(counted, second) == {}
    assert {one.verdict for one in compare(counted, second, margin=0.005).compared} == {"identical"}
    assert [one.why for one in counted.left_out] == ["the engine turned async_scheduling off on this platform"]


@pytest.mark.vllm
def test_every_phase_is_there_and_each_does_what_it_is_called(counted: Count) -> None:
    """Requests are added on admission alone, scheduled in each step, freed at the end alone, and a block is taken in its own phase."""
    phases = counted.cells[0].phases
    assert list(phases) == ["admission", "prefill", "decode", "new block", "finish"]
    where = {name: {phase for phase, work in phases.items() if any(one.endswith(name) for one in work.functions)} for name in ENDS}
    assert where == {
        ":Scheduler.add_request": {"admission"},
        ":Scheduler.schedule": {"prefill", "decode", "new block", "finish"},
        ":Scheduler._free_request": {"finish"},
        ":BlockPool.get_new_blocks": {"prefill", "new block"},
    }
    assert all(work.odd == () and work.missed == () for work in phases.values())
    assert phases["decode"].operators
    assert all(len(tokens) == 28 for request in counted.cells[0].outputs for tokens in request)


ENDS = (":Scheduler.add_request", ":Scheduler.schedule", ":Scheduler._free_request", ":BlockPool.get_new_blocks")


@pytest.mark.vllm
def test_a_pooler_is_counted_too(counted: Count) -> None:
    """Its requests are at their end with their prompts: there is no decoding."""
    found = counted.only({"embeddings": [8], "classification": [8]})
    assert [list(cell.phases) for cell in found.cells] == [["admission", "prefill"]] * 2, found.left_out
    assert [len(cell.outputs) for cell in found.cells] == [8, 8]
    assert [len(cell.outputs[0][0]) for cell in found.cells] == [64, 2]  # numbers of an embedding, classes


@pytest.mark.vllm
def test_what_was_counted_is_kept_and_not_counted_again(
    base: ReadyBuild, builds: Path, counted: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command starts no process and waits for none, though others count in the same file."""
    wanted = Wanted(build=base, cells={"stop strings": [8], "JSON schema": [8]})
    file = kept_file(wanted, builds.resolve())
    before = file.read_bytes()
    said: list[str] = []
    others = Claims(file)
    assert all(others.take(feature) for feature in wanted.cells)
    with FileLock(file.with_suffix(".lock")):
        kept = count([wanted, wanted], builds, said.append)
    # the seconds of an import are those of the process that wrote to the file last
    assert [replace(one, importing=counted.importing) for one in kept] == [counted.only(wanted.cells)] * 2
    others.close()
    assert (file.read_bytes(), said) == (before, [])
    monkeypatch.setattr(engine_counting, "instruction_set", lambda: "another processor")
    assert kept_file(wanted, builds.resolve()) != file


@pytest.mark.vllm
def test_a_feature_that_another_command_counts_is_waited_for_with_its_process_and_time(
    base: ReadyBuild, builds: Path, counted: Count
) -> None:
    """What nobody counts is not held up by it: here it is there already. The time for counting ends the wait, too."""
    wanted = Wanted(build=base, cells={"stop strings": [8], "penalties": [8]})
    others, said = Claims(kept_file(wanted, builds.resolve())), list[str]()
    assert others.take("penalties")
    try:
        (found,) = count([wanted], builds, said.append, seconds=2.0)
    finally:
        others.close()
    assert [cell.key for cell in found.cells] == [("stop strings", 8)]
    (line,) = said
    assert re.fullmatch(rf".*: penalties: another command counts this \(process {os.getpid()}, for \d+ s now\); waiting for it", line)


FAULTS = """    if logits.shape[0] == 4:
        raise RuntimeError("no four requests")
    if logits.shape[0] == 5:
        import sys

        sys.settrace(None)
    if logits.shape[0] == 8:
        import os

        os.kill(os.getpid(), 9)
"""


@pytest.mark.vllm
def test_an_engine_that_fails_in_one_feature_leaves_the_others(base: ReadyBuild, builds: Path) -> None:
    """One that raises is told with its words, one that sets a trace function with that, one that is killed with the signal; the next
    command tries them again."""
    old = "    _, vocab_size = logits.shape\n"
    fails = changed(base, builds, "fails", "vllm/v1/sample/ops/penalties.py", old, FAULTS + old)
    found = count([Wanted(build=fails, cells={"penalties": [4, 5, 8], "stop strings": [8]})], builds, print)[0]
    assert [cell.key for cell in found.cells] == [("stop strings", 8)]
    assert [(one.feature, one.requests, one.kind, one.why) for one in found.left_out] == [
        ("penalties", 4, "fault", "RuntimeError: no four requests"),
        ("penalties", 5, "fault", SETS_ITS_OWN),
        ("penalties", 8, "fault", "the engine's process was ended by SIGKILL"),
    ]
    assert not any(found.has("penalties", size) for size in (4, 5, 8))


SETS_ITS_OWN = (
    "NotCounting: what was counted sets a trace or profile function of its own, so that nothing can be counted in it: leave that out of "
    "what is counted (sys.settrace, sys.setprofile, a debugger, coverage)"
)


@pytest.mark.vllm
def test_counting_ends_with_the_time_for_it_or_once_it_is_enough(again: tuple[Count, list[int]]) -> None:
    """What was counted until then is kept, and the rest is not known; a time that is over before vLLM is imported is said."""
    found, looks = again
    assert [cell.key for cell in found.cells] == [("stop strings", 8), ("JSON schema", 8)]
    assert looks[-1] == 2
    assert not found.has("JSON schema", 64)


UNKNOWN = """
import json, sys
from perfproof.child.counting import ImportLines
from perfproof.child.engine import making, run
from perfproof.child.engine.features import Feature

order = {"model": "nowhere", "vocabulary": 512, "closely": [], "scratch": ".", "timeout": 60, "confirms": False}
results = run.Results(sys.argv[1])
run.run_engine(((Feature("beaming", engine={"teleport": True}), 8),), order, results, ImportLines(()))
try:
    making.parameters(Feature("beaming", sampling={"warp": 9}), 0, 28)
except making.Unknown as unknown:
    results.say(feature="warp", skipped=str(unknown))
"""


@pytest.mark.vllm
def test_a_feature_that_a_release_does_not_know_is_skipped_and_named(base: ReadyBuild, tmp_path: Path) -> None:
    """Before an engine is made: its option, or its sampling parameter, is not there."""
    script, result, log = tmp_path / "unknown.py", tmp_path / "result", tmp_path / "log"
    script.write_text(UNKNOWN)
    done = run_to_end([base.interpreter, script, result], environment=build_environment(base, threads=1), log=log, timeout=120)
    assert done.ok, done.tail()
    found = read_count(result).left_out
    assert [(one.feature, one.kind, one.why) for one in found] == [
        ("beaming", "unknown", "its engine has no teleport"),
        ("warp", "unknown", "its sampling parameters have no warp"),
    ]


@pytest.mark.vllm
def test_a_change_that_breaks_the_import_is_one_sentence(base: ReadyBuild, builds: Path) -> None:
    """With what Python says of it; the base is not counted to its end before."""
    broken = changed(base, builds, "broken", "vllm/v1/core/block_pool.py", "class BlockPool:", "not_there\n\n\nclass BlockPool:")
    both = [Wanted(build=base, cells={"plain": [8, 32, 128]}), Wanted(build=broken, cells={"plain": [8, 32, 128]})]
    with pytest.raises(CannotRun, match=r"broken\.diff: vLLM does not import: NameError: name 'not_there' is not defined"):
        count(both, builds, print)
    assert not read_count(kept_file(both[0], builds.resolve())).holds(both[0].cells)
    assert not kept_file(both[1], builds.resolve()).exists()


@pytest.mark.vllm
def test_lines_that_are_no_count_are_a_fault_of_the_change_and_are_not_kept(base: ReadyBuild, builds: Path) -> None:
    """What is counted may write where its counts are written: that is told, and spoils nothing."""
    writes = 'import sys as _sys\n\nopen(_sys.argv[2], "a").write("no count\\n")\n\n\nclass BlockPool:'
    junk = changed(base, builds, "junk", "vllm/v1/core/block_pool.py", "class BlockPool:", writes)
    wanted = Wanted(build=junk, cells={"plain": [8]})
    with pytest.raises(CannotRun, match=r"junk\.diff: the counting process wrote what is no count: .*is no JSON"):
        count([wanted], builds, print)
    assert not kept_file(wanted, builds.resolve()).exists()
