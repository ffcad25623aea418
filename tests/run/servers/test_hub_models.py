"""A model of a hub is looked for before anything is asked to load it: in the cache, then at the hub, with the real client of that hub."""

from __future__ import annotations

import dataclasses
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.child import hub as child
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.run.kinds.accuracy import accuracy_runner
from perfproof.run.kinds.accuracy.accuracy_runner import AccuracyRunner
from perfproof.run.kinds.equality import equality_runner
from perfproof.run.kinds.equality.equality_runner import EqualityRunner
from perfproof.run.servers import hub_models
from perfproof.run.servers.launch_spec import ModelAt
from tests.factory import DEFINITION


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub that has one model, and says so as the real one does."""

    def do_GET(self) -> None:
        there = self.path.startswith("/api/models/there/model")
        body = json.dumps({"id": "there/model", "modelId": "there/model", "siblings": []} if there else {"error": "Repository not found"})
        self.send_response(200 if there else 404)
        if not there:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words: Any) -> None:
        """Nothing."""


@pytest.fixture
def at() -> Iterator[str]:
    """The address of a hub on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.vllm
def test_a_model_is_looked_for_in_the_cache_and_at_the_hub(
    real_build: ReadyBuild, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in the cache is there, whatever the hub says; one that the hub has is; one that it has not is missing; no answer is none."""
    held = tmp_path / "hub" / "models--held--model" / "snapshots" / "0123"
    held.mkdir(parents=True)
    (held / "params.json").write_text("{}")
    for name, value in {"HF_HOME": str(tmp_path), "HF_ENDPOINT": at, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    log = tmp_path / "hub.log"
    assert [hub_models.has(real_build, name, log) for name in ("held/model", "there/model", "no/model")] == [True, True, False]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CannotRun, match=r"no/model is not in the cache here, and the hub does not answer: \w+Error: .*HF_HOME"):
        hub_models.has(real_build, "no/model", log)


def test_runner_and_child_mean_the_same_by_their_exit_code() -> None:
    """The number that says that the hub has no such model is one in both processes."""
    assert hub_models.MISSING == child.MISSING


@pytest.mark.parametrize(
    ("model", "said", "environment", "asked"),
    [
        ("owner/name", [], {}, True),
        ("gpt2", ["--max-model-len=9"], {"OMP_NUM_THREADS": "1"}, True),
        ("owner/name:Q4_K_M", [], {}, False),
        ("s3://bucket/model", [], {}, False),
        ("owner/name", ["--download_dir=/models"], {}, False),
        ("owner/name", [], {"HF_HOME": "/models"}, False),
        ("owner/name", [], {"VLLM_USE_MODELSCOPE": "1"}, False),
    ],
)
def test_only_what_can_be_known_is_asked(
    model: str,
    said: list[str],
    environment: dict[str, str],
    asked: bool,
    toy_build: ReadyBuild,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hub or a cache that the arms alone know is theirs to ask; what is missing names file and field."""
    scenario = scenario_of(DEFINITION, source="mine.yaml")
    scenario = dataclasses.replace(scenario, arms=tuple(dataclasses.replace(each, environment=environment) for each in scenario.arms))
    names: list[str] = []
    monkeypatch.setattr(hub_models, "has", lambda build, name, log: bool(names.append(name)))
    found = ModelAt(name=model, folder=tmp_path, arguments=(), offline=False)
    faults = hub_models.hub_faults(scenario, toy_build, found, said, tmp_path / "hub.log")
    assert names == ([model] if asked else [])
    assert bool(faults) == asked
    assert all(fault.startswith(f"mine.yaml: workload.model: {model}: the hub has no model of that name") for fault in faults)
    assert not hub_models.hub_faults(scenario, toy_build, dataclasses.replace(found, offline=True), said, tmp_path / "hub.log")


WORKLOADS: dict[str, tuple[type[EqualityRunner | AccuracyRunner], dict[str, Any], str]] = {
    "equality": (EqualityRunner, {"dataset": {"template": "say {i}", "output_tokens": [4, 4]}, "prompts": 2}, "greedy_outputs"),
    "accuracy": (AccuracyRunner, {"through": "offline", "tasks": {"gsm8k": {}}}, "accuracy"),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_model_that_the_hub_has_not_is_reported_before_anything_starts(
    kind: str, toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equality and accuracy scenarios are refused with file and field: no engine starts, and lm_eval is not installed for them."""
    runner, more, metric = WORKLOADS[kind]
    workload = {"kind": kind, "model": "no/model", **more}
    arms = {"plain": {"baseline": True}, "other": {"server_arguments": ["--max-model-len=64"]}}
    builds = {"default": {"kind": "python", "path": str(toy_build.interpreter)}}
    metrics = {metric: {"primary": True, **({"margin": 0.02} if kind == "accuracy" else {})}}
    made = scenario_of({**DEFINITION, "workload": workload, "arms": arms, "builds": builds, "metrics": metrics}, source="mine.yaml")
    monkeypatch.setattr(hub_models, "has", lambda build, name, log: False)
    for room, name in ((accuracy_runner, "lm_eval_folder"), (accuracy_runner, "start"), (equality_runner, "looks")):
        monkeypatch.setattr(room, name, None)
    opened = runner(made, {"default": toy_build}, tmp_path, seed=0, watch=(), say=print)
    try:
        with pytest.raises(BadInput, match=r"mine\.yaml: workload\.model: no/model: the hub has no model of that name"):
            opened.check()
    finally:
        opened.close()
