"""Which functions of vLLM the counted engines call while they are made: a process of a build says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.run.models.toy_model import write_toy_model
from perfproof.run.processes.scratch_folders import Scratch
from perfproof.run.processes.trial_process import start
from perfproof.run.trials.engine_counting import ENGINE, FOLDER, MODEL, environment_of


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
