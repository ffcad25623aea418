"""The accuracy runner on stand-ins for vLLM and lm_eval: what a record keeps, what keeps a trial from counting, what is reported before."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfproof.analysis.judging.judge import judge_records
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.eval_items import AGAIN, FIRST, items_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.planning import make_plan
from perfproof.run.host import gpus
from perfproof.run.kinds.accuracy import accuracy_runner
from perfproof.run.kinds.accuracy.accuracy_runner import AccuracyRunner, scenario_faults
from perfproof.run.kinds.accuracy.lm_eval_request import engine_settings
from tests import toy

EVALUATOR = toy.FAKES / "evaluator"
SWAP = "vllm.v1.worker.batch:Batch.swap"
ITEMS = 200
Runner = Callable[..., AccuracyRunner]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder with two tasks of 200 items."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name in ("sums", "words"):
        (folder / f"{name}.yaml").write_text(
            f"task: {name}\noutput_type: generate_until\ntest_split: test\ndataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}\n"
        )
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"asked": f"{n} + 1", "answer": str(n + 1)}) + "\n" for n in range(ITEMS)))
    return folder


def scenario(build: ReadyBuild, folder: Path, **changes: Any) -> Scenario:
    """Two arms, of which the candidate has the toy patch; `candidate` are its server arguments, `metrics` and workload keys as given."""
    arms = {
        "plain": {"baseline": True, "server_arguments": list(changes.pop("baseline", ()))},
        "patched": {"patches": list(changes.pop("patches", ("toy_patch",))), "server_arguments": list(changes.pop("candidate", ()))},
    }
    metrics = changes.pop("metrics", {"accuracy": {"primary": True, "margin": 0.02}})
    workload = {
        "kind": "accuracy",
        "through": "offline",
        "model": {"layers": 1, "hidden": 64, "heads": 2, "vocabulary": 256, "context": 256},
        "task_folder": "tasks",
        "tasks": {"sums": {}, "words": {}},
        **changes,
    }
    definition = {
        "schema": 1,
        "name": "toy_accuracy",
        "question": "Does the machinery work?",
        "profile": "quick",
        "workload": workload,
        "builds": {"default": {"kind": "python", "path": str(build.interpreter)}},
        "arms": arms,
        "metrics": metrics,
    }
    return scenario_of(definition, source="toy.yaml", folder=folder.parent)


@pytest.fixture
def runner(toy_build: ReadyBuild, tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Makes a runner whose lm_eval is the stand-in; closed at the end, and then nothing that was only needed meanwhile is left."""
    monkeypatch.setattr(accuracy_runner, "lm_eval_folder", lambda build, say: EVALUATOR)
    runners: list[AccuracyRunner] = []

    def make(**changes: Any) -> AccuracyRunner:
        asked = scenario(toy_build, tasks, **changes)
        runners.append(AccuracyRunner(asked, {"default": toy_build}, tmp_path / "results", seed=3, watch=[SWAP], say=lambda _: None))
        runners[-1].check()
        return runners[-1]

    yield make
    for each in runners:
        each.close()
    assert not (tmp_path / "results" / ".running").exists()


def run(runner: AccuracyRunner) -> list[Record]:
    block = Block(scenario=runner.scenario, number=1, order=("plain", "patched"), seed=1)
    return list(runner.trials(block, block.order))


def judged(records: list[Record]) -> dict[str, Judged]:
    return {row.metric: row for found in judge_records(records) for row in found.judged}


def test_a_run_keeps_every_item_and_lm_evals_own_files(runner: Runner, tmp_path: Path) -> None:
    """Both arms answer both tasks, the baseline twice; the record has each item's score, the folder lm_eval's results and samples."""
    plain, patched = run(runner(candidate=["--wrong=10"]))
    assert [plain.status, patched.status] == ["ok", "ok"], (plain.reason, patched.reason)
    assert {task.task: len(task.items) for task in items_of(plain.raw, FIRST)} == {"sums": ITEMS, "words": ITEMS}
    assert items_of(plain.raw, AGAIN) != []
    assert items_of(patched.raw, AGAIN) == []
    assert patched.measurements == {"accuracy@sums": 0.9, "accuracy@words": 0.9}
    assert plain.work == patched.work == {"items sums": ITEMS, "items words": ITEMS}
    kept = tmp_path / "results" / "toy_accuracy.accuracy"
    assert {path.name for path in kept.iterdir()} == {"plain", "plain-again", "patched"}
    assert len(list(kept.rglob("samples_*.jsonl"))) == 6
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.counts[f"calls {SWAP}"] == 4 * ITEMS
    assert patched.attestation.counts[f"calls {SWAP}"] == 2 * ITEMS
    assert list(patched.attestation.patches) == ["toy_patch"]
    assert plain.environment["lm_eval"] == "0.4.13"
    assert str(tmp_path) not in json.dumps(dataclasses.asdict(plain))
    rows = judged([plain, patched])
    assert {name: row.verdict for name, row in rows.items()} == dict.fromkeys(("accuracy@sums", "accuracy@words"), Outcome.REGRESSED)
    assert "the baseline against itself changed 0 of 200" in rows["accuracy@sums"].reason


def test_the_same_answers_are_equivalent_through_a_server_too(runner: Runner) -> None:
    """Both arms' servers are asked by the one lm_eval; calls are those of this very trial."""
    plain, patched = run(runner(through="server", tasks={"sums": {}}))
    assert [plain.status, patched.status] == ["ok", "ok"], (plain.reason, patched.reason)
    assert plain.how == "shared server"
    assert plain.attestation is not None
    assert plain.attestation.counts[f"calls {SWAP}"] == 2 * ITEMS
    assert judged([plain, patched])["accuracy@sums"].verdict is Outcome.EQUIVALENT


def test_fresh_launches_ask_the_baseline_again_in_a_process_of_its_own(runner: Runner) -> None:
    """The floor then samples what differs from one start to the next; offline that is another process."""
    made = runner(tasks={"sums": {}}, launches="fresh")
    (plain,) = made.trials(Block(scenario=made.scenario, number=1, order=("plain", "patched"), seed=1), ("plain",))
    assert plain.status == "ok", plain.reason
    assert plain.attestation is not None
    assert plain.attestation.counts[f"calls {SWAP}"] == ITEMS
    assert {len(items_of(plain.raw, which)[0].items) for which in (FIRST, AGAIN)} == {ITEMS}


@pytest.mark.parametrize(
    ("fake", "told"),
    [
        ("nan", "sums: 200 items have a logprob that is not a number (NaN)"),
        ("silent", "the server gave no answer to 1 items"),
        ("unscored", "sums, exact_match: 197 of 200 items have a score"),
        ("lower", "workload.tasks.sums: of exact_match less is better"),
        ("crash", "lm_eval exited with code 1: RuntimeError: no engine at model"),
    ],
)
def test_what_was_not_answered_with_numbers_fails_its_trial(runner: Runner, fake: str, told: str) -> None:
    """The reason names arm, task and count; the verdict is untestable and never a drop."""
    plain, patched = run(runner(tasks={"sums": {}}, candidate=[f"--fake={fake}"]))
    assert plain.status == "ok", plain.reason
    assert patched.status == "failed"
    assert told in patched.reason
    row = judged([plain, patched])["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert told in row.reason


def test_requests_that_were_sent_again_are_warned_of(runner: Runner) -> None:
    """lm_eval's own retries hide errors of a server; the record tells them."""
    _, patched = run(runner(tasks={"sums": {}}, candidate=["--fake=retry"]))
    assert patched.status == "ok"
    assert "arm patched: 1 requests failed and were sent again" in patched.warnings


def test_other_prompts_are_untestable(runner: Runner) -> None:
    """An arm that was asked something else is not compared."""
    row = judged(run(runner(tasks={"sums": {}}, candidate=["--fake=other prompt"])))["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert "document or prompt differ in 200 items" in row.reason


def test_a_server_that_answers_errors_fails_its_trial(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm_eval gives up after its retries; the other arm's trial stands."""
    monkeypatch.setattr(accuracy_runner, "DYING", 0.2)
    plain, patched = run(runner(through="server", tasks={"sums": {}}, candidate=["--fake=fail"]))
    assert (plain.status, patched.status) == ("ok", "failed")
    assert "HTTP Error 500" in patched.reason


def test_a_server_that_dies_is_named(runner: Runner) -> None:
    """Not lm_eval's complaint is the reason but the server's end."""
    _, patched = run(runner(through="server", tasks={"sums": {}}, candidate=["--fake=die"]))
    assert patched.status == "failed"
    assert "the server exited with code 7" in patched.reason


@pytest.mark.parametrize("through", ["server", "offline"])
def test_memory_that_a_gpu_does_not_give_back_makes_the_trial_invalid(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    """Whatever holds it, the server or the process that can't be started does not."""

    def kept(before: object) -> float:
        raise gpus.MemoryKept("8192 MiB of GPU memory were not given back")

    monkeypatch.setattr(gpus, "wait_free", kept)
    assert [record.status for record in run(runner(through=through, tasks={"sums": {}}))] == ["invalid"] * 2


def test_an_unpatched_arm_that_names_a_patch_is_unattested(runner: Runner) -> None:
    """A patch that was never called proves nothing."""
    _, patched = run(runner(tasks={"sums": {}}, patches=["toy_idle"]))
    assert patched.status == "unattested"
    assert "was never called" in patched.reason


def test_a_task_that_does_not_exist_is_reported_with_near_names(runner: Runner) -> None:
    """lm_eval is asked before any engine starts."""
    with pytest.raises(BadInput, match=r"toy.yaml: workload.tasks: unknown task 'gsm8', did you mean gsm8k\?"):
        runner(tasks={"sums": {}, "gsm8": {}})


def test_a_metric_that_was_not_written_is_reported_with_those_that_were(runner: Runner) -> None:
    """What a scenario names for a task must be there."""
    plain, _ = run(runner(tasks={"sums": {"metric": "acc"}}))
    assert plain.status == "failed"
    assert "workload.tasks.sums: lm_eval wrote no such metric or filter; it wrote exact_match (filter none)" in plain.reason


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"candidate": ["--max-num-seqs=4"]}, "arms.patched.server_arguments: --max-num-seqs is set by the suite"),
        ({"baseline": ["--seed=4"]}, "arms.plain.server_arguments: --seed is set by the suite"),
        ({"through": "server", "candidate": ["--port=1"]}, "arms.patched.server_arguments: --port is set by the suite"),
        ({"model": {"toy": "splade"}}, "workload.model.toy: a splade generates nothing"),
    ],
)
def test_what_can_not_be_asked_is_refused(changes: dict[str, Any], told: str, toy_build: ReadyBuild, tasks: Path) -> None:
    """Each fault is reported with its place, before anything is made."""
    (fault,) = scenario_faults(scenario(toy_build, tasks, **changes))
    assert fault.startswith(f"toy.yaml: {told}")


def test_logprobs_are_not_asked_of_a_chat_endpoint(toy_build: ReadyBuild, tasks: Path) -> None:
    """A task of multiple choice can't be asked there; the words say which and why."""
    (tasks / "sums.yaml").write_text("task: sums\noutput_type: multiple_choice\n")
    (fault,) = scenario_faults(scenario(toy_build, tasks, through="server", endpoint="chat"))
    assert fault == "toy.yaml: workload.tasks.sums: it needs logprobs (multiple_choice), which a chat endpoint does not give"


def test_a_scenario_is_asked_in_one_block(toy_build: ReadyBuild, tasks: Path) -> None:
    """Items are what is repeated, not blocks."""
    plan = make_plan([scenario(toy_build, tasks)], seed=0)
    assert [(block.number, set(block.order)) for block in plan.blocks] == [(1, {"plain", "patched"})]


def test_flags_of_a_server_become_arguments_of_an_engine() -> None:
    """Values keep their types; `--no-x` is false, a bare flag true."""
    assert engine_settings(["--a-b=3", "--dtype=float32", "--no-prefix", "--eager", "--c", "0.5", '--d={"e": 1}']) == {
        "a_b": 3,
        "dtype": "float32",
        "prefix": False,
        "eager": True,
        "c": 0.5,
        "d": {"e": 1},
    }
