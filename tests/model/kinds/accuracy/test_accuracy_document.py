"""Scenarios of kind accuracy: what a file may say, how its folder of tasks is known again, what a record keeps of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof.model.base.errors import BadInput
from perfproof.model.documents import decode
from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload, AskedTask, deciding
from perfproof.model.scenarios.scenario import Scenario, SmolModel

WORKLOAD: dict[str, Any] = {
    "kind": "accuracy",
    "through": "offline",
    "model": {"smollm2": "135m-instruct"},
    "task_folder": "tasks",
    "tasks": {"sums": {}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "sums.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    (tmp_path / "tasks" / "sums.yaml").write_text(
        "task: sums\noutput_type: multiple_choice\ntest_split: test\ndataset_kwargs: {data_files: {test: sums.jsonl}}\n"
    )
    (tmp_path / "tasks" / "odd.yaml").write_text("task: odd  # with a tag of lm_eval's own\nprocess_results: !function utils.f\n")
    return tmp_path


def loaded(folder: Path, profile: Any = "quick", line: int | None = None, **changes: Any) -> Scenario:
    top = {key: changes.pop(key) for key in ("metrics", "arms", "blocks") if key in changes}
    said = {
        "schema": 1,
        "question": "As good?",
        "workload": {**WORKLOAD, **changes},
        "arms": {"plain": {"baseline": True}, "other": {"patches": ["penalties_incremental"]}},
        "metrics": {"accuracy": {"primary": True, "margin": 0.02}},
        **top,
    }
    (folder / "good.yaml").write_text(yaml.safe_dump(said))
    return decode.load_scenario(folder / "good.yaml", profile, blocks=line)


def test_a_file_becomes_a_workload(folder: Path) -> None:
    """Greedy generation is said unasked, a quick run asks again in the same engine, the folder's tasks are known with their size."""
    workload = loaded(folder, generation={"max_gen_toks": 4}).workload
    assert isinstance(workload, AccuracyWorkload)
    assert workload.model == SmolModel(smollm2="135m-instruct")
    assert workload.generation == {"temperature": 0, "do_sample": False, "max_gen_toks": 4}
    assert workload.launches == "shared"
    assert {name: (task.output_type, task.items) for name, task in workload.own.items()} == {
        "sums": ("multiple_choice", 2),
        "odd": ("", None),
    }
    assert (workload.items("sums"), workload.items("gsm8k")) == (2, None)
    standard = loaded(folder, "standard").workload
    assert isinstance(standard, AccuracyWorkload)
    assert standard.launches == "fresh"


def test_a_record_keeps_the_folders_hash_and_not_its_place(folder: Path) -> None:
    """The scenario comes back from its definition; an edit of an item is another question, another place is not."""
    asked = loaded(folder)
    again = decode.scenario_of(asked.definition, source="a record")
    assert again.digest == asked.digest
    assert str(folder) not in str(asked.definition)
    assert asked.most_blocks == again.most_blocks == 1
    (folder / "tasks" / "sums.jsonl").write_text('{"a": 1}\n\n{"a": 3}\n')
    assert loaded(folder).digest != asked.digest


def test_blocks_asked_for_on_the_command_line_are_for_others(folder: Path) -> None:
    """`--blocks 6` with timed scenarios beside it changes nothing of what is asked once."""
    assert loaded(folder, line=6).digest == loaded(folder).digest


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"through": "onlin"}, "workload.through: expected 'server' or 'offline'"),
        ({"tasks": {}}, "workload.tasks: "),
        ({"tasks": {"a b": {}}}, "workload.tasks.a b"),
        ({"tasks": {"sums": {"metrics": "acc"}}}, "workload.tasks.sums.metrics: unknown key, did you mean 'metric'"),
        ({"task_folder": "nowhere"}, "workload.task_folder: nowhere: there is no such folder"),
        ({"task_folder_sha256": "0" * 64}, "workload.task_folder: tasks: its files have the SHA-256"),
        ({"generation": {"seed": 1}}, "generation.seed: is set by the suite"),
        ({"generation": {"max_tokens": 4}}, "generation.max_gen_toks is lm_eval's name"),
        ({"limit": 0}, "workload.limit: "),
        ({"blocks": 6}, "blocks: a workload of kind 'accuracy' runs once"),
        ({"metrics": {"output_throughput": {"primary": True}}}, "metrics.output_throughput: a workload of kind 'accuracy' does not"),
        ({"metrics": {"accuracy@words": {"primary": True}}}, "metrics.accuracy@words: the workload has no such task, it has sums"),
        (
            {"arms": {"a": {"baseline": True}, "b": {"client": {"x": 1}}}},
            "arms.b.client: a workload of kind 'accuracy' has none",
        ),
    ],
)
def test_what_a_file_may_not_say_is_reported(folder: Path, changes: dict[str, Any], told: str) -> None:
    """Each fault with its path, before anything is made."""
    with pytest.raises(BadInput) as fault:
        loaded(folder, **changes)
    assert told in str(fault.value)


def test_the_named_metric_decides_and_else_the_first() -> None:
    """A task without the metric that is named for it is left out; a group's tasks have what stands first."""
    keys = [("a", "strict", "em"), ("a", "flex", "em"), ("b", "none", "acc"), ("b", "none", "acc_norm"), ("g_x", "none", "acc")]
    asked = [
        AskedTask(name="a", metric=None, filter="flex", passage=None),
        AskedTask(name="b", metric="f1", filter=None, passage=None),
        AskedTask(name="g", metric=None, filter=None, passage=None),
    ]
    assert deciding(asked, keys) == {"a": ("flex", "em"), "g_x": ("none", "acc")}
    assert deciding([], keys) == {"a": ("strict", "em"), "b": ("none", "acc"), "g_x": ("none", "acc")}
