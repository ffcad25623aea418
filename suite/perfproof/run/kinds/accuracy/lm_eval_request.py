"""The request to lm_eval for a scenario: its model and arguments, its tasks, the folder that it runs in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import Arm, Scenario, ToyModel
from perfproof.run.servers.bench_client import meant
from perfproof.run.servers.launch_spec import PREFIX_CACHE, SET_BY_SUITE, Launch, ModelAt, flags_of, linked, model_faults

ENGINE_INSIDE: Mapping[str, str] = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
"""Offline, the engine runs in lm_eval's process, so that vLLM is imported only once; an arm may set another value."""
OURS = frozenset([*SET_BY_SUITE, "--seed", "--max-num-seqs"])
"""Flags that the suite sets itself; offline, `concurrency` says how many sequences run at once."""
REQUEST_SECONDS = 1200
"""Seconds after which lm_eval counts a request to a server as failed."""
BOOTSTRAPS = 100_000
"""lm_eval's own default, so that its standard errors are the usual ones."""
MODELS = {"completions": "local-completions", "chat": "local-chat-completions"}
PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
GENERATES = "generate_until"


def workload_of(scenario: Scenario) -> AccuracyWorkload:
    """The scenario's workload; `TypeError` for one that scores no answers."""
    return AccuracyWorkload.of(scenario.workload)


def scenario_faults(scenario: Scenario) -> list[str]:
    """The faults of an accuracy scenario that show before anything is made, one sentence each."""
    workload = workload_of(scenario)
    arguments = {"workload": workload.server_arguments, **{f"arms.{arm.name}": arm.server_arguments for arm in scenario.arms}}
    ours = OURS if workload.through == "offline" else OURS - {"--max-num-seqs"}
    faults = [
        f"{where}.server_arguments: {flag} is set by the suite"
        for where, words in arguments.items()
        for flag in meant(flags_of(words), ours)
    ]
    faults += [f"workload.{fault}" for fault in model_faults(workload.model)]
    if isinstance(workload.model, ToyModel) and workload.model.pools:
        faults.append(f"workload.model.toy: a {workload.model.toy} generates nothing, but lm_eval needs text or logprobs")
    faults += answers_fault(workload, {name: task.output_type for name, task in workload.own.items()})
    return [f"{scenario.source}: {fault}" for fault in faults]


def answers_fault(workload: AccuracyWorkload, kinds: Mapping[str, str]) -> list[str]:
    """Tasks that the workload's endpoint can't answer; `kinds` maps tasks to lm_eval's output types, "" where unknown."""
    if workload.through == "offline" or workload.endpoint != "chat":
        return []
    task_names = {task.name for task in workload.tasks}
    odd = {name: kind for name, kind in kinds.items() if kind not in ("", GENERATES) and (name in task_names or name not in workload.own)}
    return [f"workload.tasks.{name}: it needs logprobs ({kind}), which a chat endpoint does not give" for name, kind in odd.items()]


def served(workload: AccuracyWorkload) -> ServeWorkload:
    """The same model and flags as a serve workload, from which launches and environments are made."""
    return ServeWorkload(
        model=workload.model, server_arguments=workload.server_arguments, client={}, requests=1, warmups=0, launches=workload.launches
    )


def engine_settings(words: Sequence[str]) -> dict[str, Any]:
    """Flags of `vllm serve` as arguments of vLLM's class: `--max-model-len=512` is `max_model_len=512`, `--no-x` is `x=False`."""
    settings: dict[str, Any] = {}
    for place, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, given, value = word.removeprefix("--").partition("=")
        after = words[place + 1] if place + 1 < len(words) else "--"
        if not given and not after.startswith("--"):
            given, value = "=", after
        name = name.replace("-", "_")
        if given:
            settings[name] = _value(value)
        elif name.startswith("no_"):
            settings[name.removeprefix("no_")] = False
        else:
            settings[name] = True
    return settings


def _value(text: str) -> Any:
    """The text as a number, true, false or JSON object if it is one, else as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)


def order_for(
    workload: AccuracyWorkload, arm: Arm, model: ModelAt, seed: int, outputs: Sequence[Path], launch: Launch | None = None
) -> dict[str, Any]:
    """The order for the child: offline for the arm's own engine, else for the server of `launch`.

    The prefix cache is off unless the scenario sets it: a second evaluation would be answered from the first.
    """
    words = [*workload.server_arguments, *arm.server_arguments]
    if workload.through == "offline" or launch is None:
        which, arguments = "vllm", _engine(workload, words, model, seed)
    else:
        which, arguments = MODELS[workload.endpoint], _client(workload, words, model, seed, launch)
    task_names = [task.name for task in workload.tasks]
    return {
        "do": "run",
        "model": which,
        "model_arguments": arguments,
        "tasks": task_names,
        "folder": FOLDER if workload.folder else None,
        "defaults": not set(task_names) <= set(workload.own),
        "fewshot": workload.fewshot,
        "limit": workload.limit,
        "generation": dict(workload.generation),
        "chat": workload.endpoint == "chat",
        "batch_size": "auto" if which == "vllm" else 1,
        "seed": seed,
        "bootstraps": BOOTSTRAPS,
        "outputs": [str(output) for output in outputs],
    }


def _engine(workload: AccuracyWorkload, words: Sequence[str], model: ModelAt, seed: int) -> dict[str, Any]:
    cache = {} if flags_of(words) & PREFIX_CACHE else {"enable_prefix_caching": False}
    defaults = engine_settings(model.arguments)
    return {
        "pretrained": model.name,
        "seed": seed,
        "max_num_seqs": workload.concurrency,
        **cache,
        **defaults,
        **engine_settings(words),
    }


def _client(workload: AccuracyWorkload, words: Sequence[str], model: ModelAt, seed: int, launch: Launch) -> dict[str, Any]:
    context = engine_settings(words).get("max_model_len")
    tokens = (
        {} if workload.endpoint == "chat" else {"tokenizer": model.name, "tokenizer_backend": "huggingface", "tokenized_requests": True}
    )
    return {
        "model": launch.name,
        "base_url": f"{launch.url}{PATHS[workload.endpoint]}",
        **tokens,
        **({"max_length": context} if isinstance(context, int) else {}),
        "num_concurrent": workload.concurrency,
        "seed": seed,
        "timeout": REQUEST_SECONDS,
        "max_retries": 3,
    }


FOLDER = "tasks"
"""Name of the folder of tasks where lm_eval runs."""


def importable(entry: Path) -> bool:
    """Whether Python could import a file or folder from its place; no process may find code of the tasks under a module's name."""
    return entry.suffix in (".py", ".so", ".pyc") or (entry / "__init__.py").exists()


def work_folder(folder: Path, workload: AccuracyWorkload, model: ModelAt) -> None:
    """Makes the folder that lm_eval runs in, with model and tasks under their bare names and the tasks' data beside them.

    Data files are then named relative to the folder of tasks, and no path of this machine gets into lm_eval's files.
    """
    folder.mkdir()
    if (model.folder / model.name).is_dir():
        linked((model.folder / model.name).resolve(), folder)
    if workload.folder is not None:
        tasks = Path(workload.folder.path)
        (folder / FOLDER).symlink_to(tasks)
        for entry in tasks.iterdir():
            if not (folder / entry.name).is_symlink() and not importable(entry):
                (folder / entry.name).symlink_to(entry)
