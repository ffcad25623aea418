"""A pipeline for `buildkite-agent pipeline upload`: a step a job, one at a time on each host, then a step that merges and judges.

Two steps may land on two agents, so a block is never split over steps. An agent that is lost gives its step back, twice at most.
"""

from __future__ import annotations

import shlex
from typing import Any

from perfproof.jobs.emitted.emission import Emission
from perfproof.jobs.job_list import FOLDER
from perfproof.model.base.yaml_io import text_of

LOST_AGENT = -1
"""The exit status of a step whose agent is gone."""


def pipeline(emission: Emission) -> str:
    """The pipeline as YAML."""
    steps: list[Any] = []
    for job, host in emission.dealt():
        steps.append(
            {
                "label": f":stopwatch: {job.name}",
                "key": job.name.replace(".", "-"),
                "command": _escaped(shlex.join(job.command)),
                "agents": {"queue": emission.queue or "default", **({"host": host} if host else {})},
                "concurrency": 1,
                "concurrency_group": f"perfproof/{host or emission.queue or 'default'}",
                "timeout_in_minutes": job.needs.minutes,
                "artifact_paths": [f"{job.results}/*.jsonl", f"{job.results}/*/*.json*"],
                "retry": {"automatic": [{"exit_status": LOST_AGENT, "limit": 2}]},
            }
        )
    download = f"buildkite-agent artifact download {shlex.quote(f'{emission.results / FOLDER}/**/*')} ."
    last = {
        "label": ":scales: verdict",
        "key": "perfproof-verdict",
        "agents": {"queue": emission.queue or "default"},
        "commands": [_escaped(word) for word in (download, emission.end)],
    }
    return text_of({"steps": [*steps, {"wait": None, "continue_on_failure": True}, last]})


def _escaped(command: str) -> str:
    """A command whose dollar signs reach the shell: the upload replaces single ones."""
    return command.replace("$", "$$")
