"""A plan as jobs: each block a command of its own, with what it needs of the host that runs it.

Blocks about answers are one job, for another processor may answer otherwise. A job writes into a folder of its own below the plan's
results, so that no two hosts ever write into one; the same command goes on where it was killed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.model.kinds import kind_of
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.workloads.parallelism import parallelism
from perfproof.planning import Estimate

FOLDER = "jobs"
"""The folder of the jobs' results, below the plan's."""
STARTING = 10.0
"""Minutes that a job gets beside its trials and the wait for its host: a build may have to be made."""
TWICE = 2
"""How many times the estimate a job may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a host must have: `gpus` of them, and the minutes after which the job may be ended."""

    gpus: int
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A part of a plan: the words of its command, its results folder, and the order of the arms in its blocks."""

    name: str
    scenario: str
    blocks: tuple[int, ...]
    orders: tuple[tuple[str, ...], ...]
    seeds: tuple[int, ...]
    command: tuple[str, ...]
    results: Path
    needs: Needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the commands of all jobs share: the plan's own options as they were typed, the folders of builds and results, and the minutes
    that a job waits for a host that is busy or held by another one."""

    words: tuple[str, ...]
    files: Mapping[str, Path]
    builds: Path
    results: Path
    wait: float = 30.0
    program: tuple[str, ...] = ("perfproof",)


def jobs_of(plan: Plan, estimated: Sequence[Estimate], options: Options) -> list[Job]:
    """The jobs of a plan, in its order."""
    minutes = {one.scenario: one.minutes / max(1, one.trials) for one in estimated}
    jobs, taken = list[Job](), set[str]()
    for block in plan.blocks:
        scenario = block.scenario
        if not kind_of(scenario.workload).of_answers:
            jobs.append(_job(scenario, [block], minutes[scenario.name], options))
        elif scenario.name not in taken:
            taken.add(scenario.name)
            own = [other for other in plan.blocks if other.scenario is scenario]
            jobs.append(_job(scenario, sorted(own, key=lambda other: other.number), minutes[scenario.name], options))
    return jobs


def _job(scenario: Scenario, blocks: Sequence[Block], minutes: float, options: Options) -> Job:
    name = f"{scenario.name}-{blocks[0].number}"
    results = options.results / FOLDER / name
    numbers = [str(block.number) for block in blocks]
    trials = sum(len(block.order) for block in blocks)
    command = [*options.program, "run", str(options.files[scenario.name]), *options.words, "--block", *numbers]
    command += ["--results", str(results), "--builds", str(options.builds), "--wait", f"{options.wait:g}"]
    return Job(
        name=name,
        scenario=scenario.name,
        blocks=tuple(block.number for block in blocks),
        orders=tuple(block.order for block in blocks),
        seeds=tuple(block.seed for block in blocks),
        command=tuple(command),
        results=results,
        needs=Needs(gpus=gpus_of(scenario), minutes=math.ceil(TWICE * trials * minutes + options.wait + STARTING)),
    )


def gpus_of(scenario: Scenario) -> int:
    """The GPUs that a trial needs: one for each worker of its largest arm where the scenario is for CUDA, else none."""
    workers = max(parallelism(scenario.workload, arm.server_arguments).workers for arm in scenario.arms)
    return workers if scenario.device == "cuda" else 0


def document(plan: Plan, jobs: Sequence[Job], results: Path) -> dict[str, Any]:
    """The plan as JSON, for a queue that has no emitter."""
    return {
        "schema": 1,
        "seed": plan.seed,
        "builds": [build.label for build in plan.builds()],
        "jobs": [
            {
                "name": job.name,
                "scenario": job.scenario,
                "blocks": list(job.blocks),
                "orders": [list(order) for order in job.orders],
                "seeds": list(job.seeds),
                "command": list(job.command),
                "results": str(job.results),
                "needs": {"gpus": job.needs.gpus, "minutes": job.needs.minutes},
            }
            for job in jobs
        ],
        "merge": merge_command(results),
    }


def merge_command(results: Path) -> list[str]:
    """The command that joins the jobs' folders; a shell finds them."""
    return ["perfproof", "merge", f"{results}/{FOLDER}/*", "--out", str(results)]
