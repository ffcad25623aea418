"""A model of a hub is looked for before a server is asked for it: in the cache, then at the hub, with the real client of that hub."""

from __future__ import annotations

import dataclasses
import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from suite.builds.ready import ReadyBuild
from suite.model.decode import scenario_of
from suite.run.client import Client, hub_faults
from tests.factory import DEFINITION

ASK = """
import json, sys
import client
for name in sys.argv[1:]:
    try:
        print(json.dumps(client.find_model(name)))
    except Exception as error:
        print(json.dumps({"raised": type(error).__name__}))
"""


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
def hub() -> Iterator[str]:
    """The address of a hub on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _answers(build: ReadyBuild, endpoint: str, home: Path, *names: str) -> list[dict[str, Any]]:
    """What the client's process would answer of each model, in an interpreter that has vLLM."""
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "PYTHONPATH": str(build.child), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run([build.interpreter, "-c", ASK, *names], env=environment, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.vllm
def test_a_model_is_looked_for_in_the_cache_and_at_the_hub(real_build: ReadyBuild, hub: str, tmp_path: Path) -> None:
    """One in the cache is there, whatever the hub says; one that the hub has is; one that it has not is missing, in words."""
    held = tmp_path / "hub" / "models--held--model" / "snapshots" / "0123"
    held.mkdir(parents=True)
    (held / "params.json").write_text("{}")
    cached, there, missing = _answers(real_build, hub, tmp_path, "held/model", "there/model", "no/model")
    assert cached == there == {"ok": True}
    assert missing == {
        "ok": False,
        "missing": True,
        "fault": "the hub has no model of that name, or none that it shows without a token (HF_TOKEN)",
    }
    (lost,) = _answers(real_build, "http://127.0.0.1:9", tmp_path, "no/model")
    assert "raised" in lost, "a hub that does not answer is no hub without that model"


class Asked:
    """A client that has no model of a hub, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def model_fault(self, model: str) -> str:
        self.names.append(model)
        return "there is none"


@pytest.mark.parametrize(
    ("model", "flags", "environment", "asked"),
    [
        ("owner/name", [], {}, True),
        ("gpt2", ["--max-model-len"], {"OMP_NUM_THREADS": "1"}, True),
        ("owner/name:Q4_K_M", [], {}, False),
        ("s3://bucket/model", [], {}, False),
        ("owner/name", ["--download-dir"], {}, False),
        ("owner/name", [], {"HF_HOME": "/models"}, False),
        ("owner/name", [], {"VLLM_USE_MODELSCOPE": "1"}, False),
    ],
)
def test_only_what_the_client_can_know_is_asked(model: str, flags: list[str], environment: dict[str, str], asked: bool) -> None:
    """A hub or a cache that the arms alone know is theirs to ask; what is missing names file and field."""
    scenario = scenario_of(DEFINITION, source="mine.yaml")
    arms = tuple(dataclasses.replace(each, environment=environment) for each in scenario.arms)
    client = Asked()
    faults = hub_faults(cast(Client, client), dataclasses.replace(scenario, arms=arms), model, flags)
    assert client.names == ([model] if asked else [])
    assert bool(faults) == asked
    assert all(fault.startswith(f"mine.yaml: workload.model: {model}: there is none; ") for fault in faults)
