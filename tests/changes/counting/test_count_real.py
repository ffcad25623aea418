"""`perfproof count` on a real vLLM: a loop that a diff adds is told with its function, its lines and its exact cost."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import shutil
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.changes.counting import count_findings, host_count
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from tests.run.conftest import known_to
from tests.run.conftest import served_build as served_build

REQUESTS = 8
"""Of each feature, to be quick; the wheel's own test counts 32."""
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
ANCHOR = "            assert num_tokens_scheduled > 0\n            request = self.requests.get(req_id)\n            output_is_stale"
LOOP = "            for _ in range(12):\n                pass\n"


@pytest.fixture(scope="module")
def builds(served_build: ReadyBuild, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return known_to(tmp_path_factory.mktemp("builds"), served_build)


@pytest.fixture(autouse=True)
def _few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [dataclasses.replace(one, sizes=(REQUESTS,)) for one in count_findings.FEATURES]
    monkeypatch.setattr(count_findings, "FEATURES", few)


def diff_of(build: ReadyBuild, folder: Path, path: str, old: str, new: str) -> Path:
    """A diff in which a text of a file of vLLM becomes another one."""
    before = (build.fingerprint.package.parent / path).read_text()
    after = before.replace(old, new)
    assert before != after
    lines = [text.splitlines(keepends=True) for text in (before, after)]
    file = folder / "my.diff"
    file.write_text("".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}")))
    return file


def count(build: ReadyBuild, diff: Path, builds: Path, *more: str) -> int:
    words = ["count", "--diff", str(diff), "--build", str(build.interpreter), "--builds", str(builds)]
    return main([*words, "--features", "stop strings", *more])


@pytest.mark.vllm
@pytest.mark.slow
def test_a_loop_that_a_diff_adds_is_told_with_function_lines_and_cost(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second process confirms it, the same command has it from what was kept, and the JSON has the same numbers."""
    diff = diff_of(served_build, tmp_path, SCHEDULER, ANCHOR, LOOP + ANCHOR)
    assert count(served_build, diff, builds) == EXIT_REGRESSED
    told, progress = capsys.readouterr()
    assert told.startswith("more Python work: ")
    assert "stop strings: more Python work: " in progress
    assert "counted in" not in told
    line = re.search(r"decode, stop strings, 8 requests: ([\d,]+) to ([\d,]+) Python instructions a step .*", told)
    assert line
    base, candidate = (int(number.replace(",", "")) for number in line.groups())
    assert f": Scheduler.update_from_output +{candidate - base:,} (new line" in line[0]
    assert (candidate - base) % REQUESTS == 0
    assert count(served_build, diff, builds, "--json") == EXIT_REGRESSED
    told, progress = capsys.readouterr()
    assert not [word for word in ("counting", "counted in", "confirms") if word in progress]
    entries = json.loads(told)["comparisons"]
    decode = next(one for one in entries if one["phase"] == "decode" and one["metric"] == "python_instructions")
    assert (decode["baseline"], decode["candidate"], decode["verdict"]) == (base, candidate, "regressed")
    assert decode["functions"][0]["function"] == "vllm.v1.core.sched.scheduler:Scheduler.update_from_output"


@pytest.mark.vllm
@pytest.mark.slow
def test_a_renamed_variable_is_identical(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its function ran, and did the same to the last instruction."""
    diff = diff_of(served_build, tmp_path, SCHEDULER, "stopped_running_reqs", "ended_running_requests")
    assert count(served_build, diff, builds) == EXIT_PASS
    assert "identical to the last instruction, call and byte: 25 of 25 numbers" in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.slow
def test_a_line_that_stands_in_a_branch_not_taken_is_no_pass(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its function runs in every step, and the counts are identical: that says nothing of the line."""
    old, new = "return logits.argmax(dim=-1).view(-1)", "return logits.argmin(dim=-1).view(-1)"
    diff = diff_of(served_build, tmp_path, "vllm/v1/sample/sampler.py", old, new)
    assert count(served_build, diff, builds) == EXIT_UNTESTABLE
    assert "no tried feature runs a line of the change (vllm/v1/sample/sampler.py: " in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.slow
def test_other_tokens_are_other_work(served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is compared, and the first difference is told."""
    old = "return torch.ops._C.greedy_argmax(logits)"
    diff = diff_of(served_build, tmp_path, "vllm/v1/sample/sampler.py", old, f"{old} * 0 + 300")
    assert count(served_build, diff, builds) == EXIT_UNTESTABLE
    assert "stop strings, 8 requests: other work: request 0: token 1 was " in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.slow
def test_a_change_that_nothing_calls_is_no_pass(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer names what was touched and what was tried."""
    seldom = "self._reuse_watchers.pop(block.block_id, None)"
    diff = diff_of(served_build, tmp_path, "vllm/v1/core/block_pool.py", seldom, f"{seldom} or None")
    assert count(served_build, diff, builds) == EXIT_UNTESTABLE
    said = "no tried feature calls what the change touches (vllm.v1.core.block_pool:BlockPool._notify_reuse); tried: stop strings"
    assert said in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.slow
def test_a_new_file_that_nothing_imports_is_no_pass_and_a_constant_that_is_imported_is_one(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither touches a function: the first is named as never imported, of the second the line that ran on import."""
    diff = tmp_path / "new.diff"
    diff.write_text("--- /dev/null\n+++ b/vllm/big_new.py\n@@ -0,0 +1,2 @@\n+A = 1\n+B = 2\n")
    assert count(served_build, diff, builds) == EXIT_UNTESTABLE
    said = "no tried feature imports what the change touches (vllm/big_new.py); tried: stop strings"
    assert capsys.readouterr().out.splitlines()[0] == said
    old = "logger = init_logger(__name__)\n"
    diff = diff_of(served_build, tmp_path, SCHEDULER, old, f"{old}NOTHING_READS_THIS = 3\n")
    assert count(served_build, diff, builds) == EXIT_PASS
    assert "the change touches no function; its new lines ran on import: vllm/v1/core/sched/scheduler.py: " in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.slow
def test_pr_has_the_count_for_its_answer_where_no_scenario_is(
    served_build: ReadyBuild, builds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same loop: more work warns, the function stands in the text, and nothing was timed."""
    monkeypatch.setattr(host_count, "FIRST", ("stop strings",))  # those that `count` has counted above
    diff = diff_of(served_build, tmp_path, SCHEDULER, ANCHOR, LOOP + ANCHOR)
    monkeypatch.chdir(tmp_path)
    Path("scenarios").mkdir()
    shutil.copy(PACKAGE.parents[1] / "scenarios" / "swap_states.yaml", "scenarios")
    assert main(["pr", "--diff", str(diff), "--build", str(served_build.interpreter), "--builds", str(builds)]) == EXIT_PASS
    text = Path("reports/pr.md").read_text().replace("\\", "")
    assert re.match(r"### Counted, more Python work: .*, stop strings, 8 requests: .*: Scheduler\.update_from_output \+", text)
    assert "no times: no scenario exercises what the change touches" in text.replace("No times", "no times")
