"""A workload as people have it: our scenario, a recipe of vLLM's performance dashboard, or a command line of `vllm bench serve`.

A recipe and a command line become a scenario of a server, in a file that stays. What can't be carried over is named, never dropped in
silence.
"""

from __future__ import annotations

import contextlib
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.importers.perf_eval_recipe import Load, Recipe, Task
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.kinds.accuracy.accuracy_document import ACCURACY as ANSWERS
from perfproof.model.kinds.serve import SERVE as SERVER
from perfproof.model.scenarios.metrics import ACCURACY
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN, LEAST_BLOCKS

BENCH = ("vllm", "bench", "serve")
SERVE = ("vllm", "serve")
PRIMARY = "output_throughput"
SHOWN = ("median_ttft", "median_tpot", "median_e2el", "cpu_time_per_token")
"""The metrics of a scenario that is made here, beside the one that decides."""
OURS = frozenset(
    {"host", "port", "base-url", "save-result", "save-detailed", "append-result", "result-dir", "result-filename", "metadata", "label"}
)
"""Flags of the client that the measurement sets itself, or that change nothing of it."""
REQUESTS = 1000
"""The client's own default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A scenario's file, and what of the source it does not have, a sentence each. `beside` are the files of further scenarios of it."""

    file: Path
    left_out: tuple[str, ...]
    beside: tuple[Path, ...] = ()


def of_recipe(recipe: Recipe, chosen: str | None, folder: Path, margin: float) -> Made:
    """The scenario of one load of a recipe. Raises `BadInput` where the recipe has several and none is chosen, or none of that name."""
    names = [load.name for load in recipe.loads]
    if chosen is None and len(names) > 1:
        raise BadInput(f"{recipe.source}: has {len(names)} loads: choose one with --config NAME ({', '.join(names)})")
    load = next((load for load in recipe.loads if chosen in (None, load.name)), None)
    if load is None:
        raise BadInput(f"{recipe.source}: has no load {chosen!r} under vllm_bench.configs; there are {', '.join(names) or 'none'}")
    environment = {name: str(value) for name, value in recipe.environment.items()}
    document = _document(
        f"Is the change of {recipe.name}, {load.name}, real?",
        recipe.model,
        recipe.server_arguments,
        _client(load),
        load.requests,
        None,
        margin,
    )
    tasks = {task.name: _of_task(recipe, task) for task in recipe.tasks}
    for each in (document, *tasks.values()):
        for arm in each["arms"].values():
            arm |= {"environment": environment} if environment else {}
    return Made(
        file=_written(document, f"{recipe.name}_{load.name}", folder),
        left_out=recipe.left_out,
        beside=tuple(_written(each, f"{recipe.name}_{name}", folder) for name, each in tasks.items()),
    )


def _of_task(recipe: Recipe, task: Task) -> dict[str, Any]:
    """The scenario of a task of lm_eval, asked through the recipe's server as the dashboard asks it."""
    return {
        "schema": 1,
        "question": f"Are the answers of {recipe.name} to {task.name} as good?",
        "workload": {
            "kind": ANSWERS.name,
            "model": recipe.model,
            "through": "server",
            "tasks": {task.name: {}},
            **({} if task.fewshot is None else {"fewshot": task.fewshot}),
            **({} if task.concurrency is None else {"concurrency": task.concurrency}),
            **({} if task.tokens is None else {"generation": {"max_gen_toks": task.tokens}}),
            "server_arguments": list(recipe.server_arguments),
        },
        "arms": {"base": {"baseline": True}, "candidate": {}},
        "metrics": {ACCURACY: {"primary": True, "margin": DEFAULT_MARGIN}},
    }


def of_words(words: Sequence[str], folder: Path, margin: float) -> Made:
    """The scenario of a command line: `vllm bench serve ...`, perhaps behind `vllm serve ... --`. Raises `BadInput` for any other."""
    server, client = _parted(words)
    flags, odd = _flags(client[len(BENCH) :])
    model = flags.pop("model", None) or (server[2] if len(server) > 2 and not server[2].startswith("-") else None)
    if odd:
        raise BadInput(f"vllm bench serve: {odd!r} is no flag and no value of one: write it as --flag value")
    if not isinstance(model, str):
        raise BadInput("vllm bench serve: which model? add --model NAME, or 'vllm serve MODEL ... --' before it")
    left_out = tuple(f"--{name} of the client: is set by the measurement itself" for name in flags if name in OURS)
    flags = {name: value for name, value in flags.items() if name not in OURS}
    requests, warmups = flags.pop("num-prompts", REQUESTS), flags.pop("num-warmups", None)
    for name, value in (("--num-prompts", requests), ("--num-warmups", warmups or 0)):
        if type(value) is not int or value < 0:
            raise BadInput(f"vllm bench serve: {name} {value}: expected a number")
    flags.setdefault("backend", "vllm")
    document = _document(
        "Is the change of this load real?", model, [word for word in server[2:] if word != model], flags, requests, warmups, margin
    )
    return Made(file=_written(document, "serve", folder), left_out=left_out)


def _parted(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of the server and of the client. Raises `BadInput` where they are no such commands."""
    at = next((place for place in range(len(words)) if tuple(words[place : place + 3]) == BENCH), None)
    server = [word for word in words[:at] if word != "--"]
    if at is None or (server and tuple(server[:2]) != SERVE):
        raise BadInput(f"{shlex.join(words)[:80]}: expected 'vllm bench serve ...', perhaps behind 'vllm serve MODEL ... --'")
    return server or SERVE, words[at:]


def _flags(words: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The flags without their dashes, with their values (True where there is none), and the first word that belongs to no flag."""
    flags: dict[str, Any] = {}
    name = ""
    for word in words:
        if re.match(r"--[a-z]", word):
            name, equals, value = word[2:].partition("=")
            name = name.replace("_", "-")
            flags[name] = _value(value) if equals else True
            name = "" if equals else name
        elif name:
            flags[name], name = _value(word), ""
        else:
            return flags, word
    return flags, ""


def _value(word: str) -> Any:
    """A flag's value as YAML has it; `inf` stays a word, which the client reads by itself."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            if math.isfinite(number := kind(word)):
                return number
    return word


def _client(load: Load) -> dict[str, Any]:
    """The client's flags of a load, as the dashboard's runner gives them."""
    lengths = {"random-input-len": load.input_length, "random-output-len": load.output_length} if load.dataset == "random" else {}
    return {
        "backend": load.backend,
        "dataset-name": load.dataset,
        **lengths,
        "max-concurrency": load.concurrency,
        "ignore-eos": True,
        **load.flags,
    }


def _document(
    question: str, model: str, server: Sequence[str], client: Mapping[str, Any], requests: int, warmups: int | None, margin: float
) -> dict[str, Any]:
    return {
        "schema": 1,
        "question": question,
        "workload": {
            "kind": SERVER.name,
            "model": model,
            "server_arguments": list(server),
            "client": dict(client),
            "requests": requests,
            **({} if warmups is None else {"warmups": warmups}),
        },
        "arms": {"base": {"baseline": True}, "candidate": {}},
        "metrics": {PRIMARY: {"primary": True, "margin": margin}, **{name: {} for name in SHOWN}},
        "profiles": {"quick": {"blocks": LEAST_BLOCKS}},
    }


def _written(document: Mapping[str, Any], name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    plain = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")[:60]
    file = folder / f"{plain if plain[:1].isalpha() else f'load_{plain}'}.yaml"
    write_mapping(file, document)
    return file
