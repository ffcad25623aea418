"""Recipes of vLLM's performance dashboard, `workloads/*.yaml`: a server (`vllm:`), loads (`vllm_bench:`), and tasks (`lm_eval:`, `bfcl:`).

A recipe is read strictly: a key that is not known is named as left out, a known one of another shape is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_mapping, shown

_OF_LOAD = frozenset({"name", "backend", "dataset", "input_len", "output_len", "num_prompts", "max_concurrency", "args"})
_CARRIED = frozenset({"name", "vllm", "vllm_bench", "lm_eval"})
_SILENT = frozenset({"gpu", "num_gpus", "nightly", "bench_only", "timeout_in_minutes"})
"""Keys about where and when a recipe runs, which says nothing of what is measured."""
_OF_SERVER = frozenset({"model", "serve_args", "env"})
_OF_TASK = frozenset({"name", "num_fewshot", "model_args"})
_CONCURRENCY, _TOKENS = "num_concurrent", "max_gen_toks"
"""The arguments of lm_eval's model that a scenario says too: requests at once, and the most tokens of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load of a recipe: `flags` are further flags of the client without their dashes."""

    name: str
    backend: str
    dataset: str
    input_length: int
    output_length: int
    requests: int
    concurrency: int
    flags: Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task of lm_eval: its examples, requests at once and tokens of an answer at most, None where the recipe leaves them to lm_eval."""

    name: str
    fewshot: int | None
    concurrency: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe; `left_out` tells what of it is not in here, a sentence each."""

    source: str
    name: str
    model: str
    server_arguments: tuple[str, ...]
    environment: Mapping[str, str | int | float | bool]
    loads: tuple[Load, ...]
    tasks: tuple[Task, ...]
    left_out: tuple[str, ...]


def is_recipe(path: Path) -> bool:
    """Whether a file is a recipe and no scenario: it has a `vllm:` part, and neither schema nor workload."""
    try:
        data = read_mapping(path)
    except BadInput:
        return False
    return "vllm" in data and not {"schema", "workload"} & data.keys()


def read(path: Path) -> Recipe:
    """A recipe. Raises `BadInput` with all faults."""
    data, faults = read_mapping(path), list[str]()
    server = _mapping(data.get("vllm"), "vllm", faults)
    bench = _mapping(data.get("vllm_bench"), "vllm_bench", faults)
    configs = bench.get("configs") or []
    if not isinstance(configs, list) or not configs:
        faults.append("vllm_bench.configs: expected a list of loads: a recipe without one has nothing to time")
    model = server.get("model")
    if not isinstance(model, str):
        faults.append(f"vllm.model: expected a name, got {shown(model)}")
    arguments = server.get("serve_args") or ""
    if not isinstance(arguments, str):
        faults.append(f"vllm.serve_args: expected a text, got {shown(arguments)}")
    environment = _mapping(server.get("env"), "vllm.env", faults)
    loads = [
        _load(config, f"vllm_bench.configs[{place}]", faults) for place, config in enumerate(configs if isinstance(configs, list) else [])
    ]
    tasks, left = _tasks(_mapping(data.get("lm_eval"), "lm_eval", faults), faults)
    if faults:
        raise BadInput(*(f"{path}: {fault}" for fault in faults))
    return Recipe(
        source=str(path),
        name=str(data.get("name") or path.stem),
        model=str(model),
        server_arguments=tuple(_words(str(arguments), path)),
        environment=environment,
        loads=tuple(load for load in loads if load is not None),
        tasks=tuple(tasks),
        left_out=(*_left_out(data, server, configs), *left),
    )


def _words(arguments: str, path: Path) -> list[str]:
    """The words of a server's arguments, as the dashboard's shell parts them: quotes within braces are a JSON value's own."""
    words = [word if "{" in word else None for word in arguments.split()]
    try:
        return [own if own is not None else shlex.split(word)[0] for own, word in zip(words, arguments.split(), strict=True)]
    except (ValueError, IndexError) as error:
        raise BadInput(f"{path}: vllm.serve_args: can't be parted into words: {error}") from error


def _load(config: Any, where: str, faults: list[str]) -> Load | None:
    if not isinstance(config, dict):
        faults.append(f"{where}: expected a mapping, got {shown(config)}")
        return None
    bad = [
        key for key in ("input_len", "output_len", "num_prompts", "max_concurrency") if type(config.get(key)) is not int or config[key] < 1
    ]
    faults += [f"{where}.{key}: expected a number from 1 on, got {shown(config.get(key))}" for key in bad]
    flags = {_flag(name): value for name, value in _mapping(config.get("args"), f"{where}.args", faults).items()}
    odd = [
        name
        for name, value in flags.items()
        if not isinstance(value, str | int | float | bool) or not re.fullmatch(r"[a-z][a-z0-9-]*", name)
    ]
    faults += [f"{where}.args.{name}: expected a flag with a plain value" for name in odd]
    if bad or odd:
        return None
    return Load(
        name=str(config.get("name") or where),
        backend=str(config.get("backend") or "openai"),
        dataset=str(config.get("dataset") or "random"),
        input_length=config["input_len"],
        output_length=config["output_len"],
        requests=config["num_prompts"],
        concurrency=config["max_concurrency"],
        flags=flags,
    )


def _tasks(part: Mapping[str, Any], faults: list[str]) -> tuple[list[Task], list[str]]:
    """The tasks of lm_eval, and what of them a scenario does not have."""
    listed = part.get("tasks") or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in listed):
        faults.append("lm_eval.tasks: expected a list of tasks, each with a name")
        return [], []
    common = _mapping(part.get("model_args"), "lm_eval.model_args", faults)
    left = [f"lm_eval.{key}: is not carried over" for key in sorted(part.keys() - {"tasks", "model_args"})]
    tasks = []
    for place, one in enumerate(listed):
        where = f"lm_eval.tasks[{place}]"
        of_model = {**common, **_mapping(one.get("model_args"), f"{where}.model_args", faults)}
        numbers = {"num_fewshot": one.get("num_fewshot"), **{f"model_args.{key}": of_model.get(key) for key in (_CONCURRENCY, _TOKENS)}}
        bad = [key for key, value in numbers.items() if value is not None and (type(value) is not int or value < (key != "num_fewshot"))]
        faults += [f"{where}.{key}: expected a number, got {shown(numbers[key])}" for key in bad]
        others = [*sorted(one.keys() - _OF_TASK), *(f"model_args.{key}" for key in sorted(of_model.keys() - {_CONCURRENCY, _TOKENS}))]
        left += [f"lm_eval, {one['name']}: {', '.join(others)}: not carried over"] if others else []
        if not bad:
            fewshot, concurrency, tokens = numbers.values()
            tasks.append(Task(name=one["name"], fewshot=fewshot, concurrency=concurrency, tokens=tokens))
    return tasks, left


def _flag(name: Any) -> str:
    return str(name).lstrip("-").replace("_", "-")


def _mapping(value: Any, where: str, faults: list[str]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.append(f"{where}: expected a mapping, got {shown(value)}")
        return {}
    return value


def _left_out(data: Mapping[str, Any], server: Mapping[str, Any], configs: Any) -> Iterator[str]:
    """What a scenario of this recipe does not have."""
    for key in sorted(data.keys() - _CARRIED - _SILENT):
        yield f"{key}: " + ("its tasks are not carried over" if key == "bfcl" else "is not carried over")
    for key in server.keys() - _OF_SERVER:
        yield f"vllm.{key}: " + ("the two builds take its place" if key in ("image", "startup_timeout") else "is not carried over")
    for config in configs:
        for key in sorted(config.keys() - _OF_LOAD):
            yield f"vllm_bench.configs, {config.get('name')}: {key}: is not carried over"
