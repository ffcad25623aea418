"""A workflow for GitHub Actions: a matrix of jobs on runners, then a job that merges and judges.

A group of GitHub's concurrency holds one waiting job and cancels others, so that a group a host would lose blocks: what keeps a host to
itself is its runner, which takes one job at a time.
"""

from __future__ import annotations

import shlex

from perfproof.jobs.emitted.emission import Emission
from perfproof.jobs.job_list import FOLDER
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import text_of

MOST = 256
"""The most jobs of one matrix."""


def workflow(emission: Emission) -> str:
    """The workflow as YAML. Raises `BadInput` for more jobs than a matrix takes."""
    if len(emission.jobs) > MOST:
        raise BadInput(
            f"--emit github: {len(emission.jobs)} jobs, and a matrix takes {MOST}: plan fewer scenarios at a time, or use shards "
            "(perfproof run --shard)"
        )
    queue = [emission.queue or "self-hosted"]
    include = [
        {"name": job.name, "command": shlex.join(job.command), "results": str(job.results), "runner": [*queue, host] if host else queue}
        for job, host in emission.dealt()
    ]
    steps = [
        {"uses": "actions/checkout@v4"},
        {"name": "Measure", "run": "${{ matrix.command }}"},
        {
            "if": "always()",
            "uses": "actions/upload-artifact@v4",
            "with": {"name": "perfproof-${{ matrix.name }}", "path": "${{ matrix.results }}", "if-no-files-found": "warn"},
        },
    ]
    verdict = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/download-artifact@v4", "with": {"pattern": "perfproof-*", "path": str(emission.results / FOLDER)}},
        {"name": "Verdict", "run": emission.end},
    ]
    return text_of(
        {
            "name": "perfproof",
            "on": {"workflow_dispatch": {}},
            "permissions": {"contents": "read"},
            "jobs": {
                "block": {
                    "name": "${{ matrix.name }}",
                    "strategy": {"fail-fast": False, "matrix": {"include": include}},
                    "runs-on": "${{ matrix.runner }}",
                    "timeout-minutes": max(job.needs.minutes for job in emission.jobs),
                    "steps": steps,
                },
                "verdict": {"needs": "block", "if": "always()", "runs-on": queue, "steps": verdict},
            },
        }
    )
