"""Which functions of vLLM the counted engines call while they are made, and which a server calls: processes of a build say so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.run.host.ports import free_port
from perfproof.run.models.toy_model import write_toy_model
from perfproof.run.processes.scratch_folders import Scratch
from perfproof.run.processes.trial_process import start
from perfproof.run.trials.engine_counting import ENGINE, FOLDER, MODEL, environment_of

FAULT = "fault: "
"""How a line begins that says what went wrong."""
SERVER = ("--load-format=dummy", "--enforce-eager", "--max-model-len=512", "--max-num-seqs=16")
"""The arguments of the server that is watched."""
REQUESTS: tuple[tuple[str, str, Mapping[str, Any] | None], ...] = (("GET", "/metrics", None),)
"""What it is asked."""
UNTIL_READY = 300.0
"""Seconds for the server to be ready."""


def calls_at_start(build: ReadyBuild, features: Sequence[str], builds: Path) -> tuple[frozenset[str], list[str]]:
    """The functions (`module:Qual.name`) that are called while the engines of these features are made, and faults in sentences."""
    scratch = Scratch(builds.resolve() / FOLDER / ".running", "starts")
    try:
        order_file, result_file = scratch.folder / "order.json", scratch.folder / "result.jsonl"
        model = str(write_toy_model(MODEL, builds.resolve() / "models"))
        order_file.write_text(json.dumps({"model": model, "features": list(features), "timeout": ENGINE}))
        result_file.touch()
        log = scratch.folder / "starts.log"
        words = [build.interpreter, build.child / "observing" / "engine_starts.py", order_file, result_file]
        running = start(words, environment=environment_of(build, "default"), log=log)
        running.wait(ENGINE * len(features))
        ended = running.finished()
        running.kill_now()
        lines = [json.loads(line) for line in result_file.read_text().splitlines()]
    finally:
        scratch.close()
    faults = [f"the engine of {', '.join(line['features'])}: {line['fault']}" for line in lines if "fault" in line]
    if not ended.ok:
        faults.append(f"the engines' process {ended.how()}")
    return frozenset(name for line in lines for name in line.get("functions", ())), faults


def calls_of_server(build: ReadyBuild, builds: Path) -> tuple[frozenset[str], list[str]]:
    """The functions that a server's processes call from its start to its end, and faults in sentences."""
    scratch = Scratch(builds.resolve() / FOLDER / ".running", "server")
    try:
        order_file, result_file = scratch.folder / "order.json", scratch.folder / "result.txt"
        order = {
            "model": str(write_toy_model(MODEL, builds.resolve() / "models")),
            "port": free_port(),
            "arguments": list(SERVER),
            "requests": list(REQUESTS),
            "timeout": UNTIL_READY,
        }
        order_file.write_text(json.dumps(order))
        result_file.touch()
        words = [build.interpreter, build.child / "observing" / "server_calls.py", order_file, result_file]
        environment = {**environment_of(build, "default"), "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
        running = start(words, environment=environment, log=scratch.folder / "server.log")
        running.wait(UNTIL_READY + ENGINE)
        running.finished()
        running.kill_now()
        lines = result_file.read_text().splitlines()
    finally:
        scratch.close()
    faults = [f"the server: {line.removeprefix(FAULT)}" for line in lines if line.startswith(FAULT)]
    functions = frozenset(line for line in lines if not line.startswith(FAULT))
    return functions, faults if functions else [*faults, "the server: it called nothing"]
