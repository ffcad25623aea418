"""`perfproof plan --jobs` and `--emit`: prints a plan as jobs, in JSON or in the form of a queue. Starts nothing and writes nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfproof import store
from perfproof.commands.run_scenarios import RunRequest
from perfproof.jobs.emitted import buildkite, github, slurm
from perfproof.jobs.emitted.emission import Emission
from perfproof.jobs.job_list import Job, Options, document, jobs_of
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.documents.build_spec import PREFIXES
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import ImageBuild
from perfproof.model.verdicts.noise_floor import machine_fingerprint
from perfproof.planning import estimates, make_plan
from perfproof.run.host import environment
from perfproof.runners import check_arms, check_names

FORMS: Mapping[str, Callable[[Emission], str]] = {"slurm": slurm.script, "buildkite": buildkite.pipeline, "github": github.workflow}
"""The forms of queues by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsRequest:
    """A plan that is to become jobs; `gpus` None leaves each scenario its own number, `anyway` lets jobs begin on a busy host."""

    request: RunRequest
    builds: Path
    gpus: int | None = None
    hosts: Sequence[str] = ()
    queue: str = ""
    anyway: bool = False
    program: tuple[str, ...] = ("perfproof",)


def show(asked: JobsRequest, form: str | None) -> int:
    """Prints the jobs: as JSON, or in a form by its name."""
    plan, jobs = planned(asked)
    if form is None:
        print(json.dumps(document(plan, jobs, asked.request.results), indent=1))
    else:
        print(FORMS[form](emission(asked, jobs)), end="")
    return EXIT_PASS


def planned(asked: JobsRequest) -> tuple[Plan, list[Job]]:
    """The plan and its jobs; what a run would refuse beforehand is refused."""
    request = asked.request
    scenarios = request.load()
    plan = make_plan(scenarios, request.seed)
    check_names(plan)
    check_arms(plan, {})
    store.check_folder(request.results)
    kept, floors = store.records_in(request.results), store.read_floors(request.results)
    estimated = estimates(plan, kept, floors, machine_fingerprint(environment.machine()))
    files = {scenario.name: file for scenario, file in zip(scenarios, request.scenarios, strict=True)}
    options = Options(
        words=(*_words(request, plan), *(["--anyway"] if asked.anyway else [])),
        files=files,
        builds=asked.builds,
        results=request.results,
        program=asked.program,
    )
    jobs = jobs_of(plan, estimated, options)
    if asked.gpus is not None:
        jobs = [replace(job, needs=replace(job.needs, gpus=asked.gpus)) for job in jobs]
    return plan, jobs


def emission(asked: JobsRequest, jobs: Sequence[Job]) -> Emission:
    """What a form of these jobs is made of. Raises `BadInput` for a host or queue whose name a form could take for something else."""
    for name in (*asked.hosts, *filter(None, [asked.queue])):
        if shlex.quote(name) != name or "," in name:
            raise BadInput(f"{name}: a name of a host or queue has letters, digits, '.', '_' and '-' alone")
    return Emission(jobs=jobs, results=asked.request.results, hosts=asked.hosts, queue=asked.queue, program=asked.program)


def _words(request: RunRequest, plan: Plan) -> tuple[str, ...]:
    """The options of the plan, as its jobs give them to `perfproof run`: an image by its digest, since a tag may be another one there."""
    given = {"--blocks": request.blocks, "--baseline": request.baseline, "--candidate": request.candidate}
    more = [word for name, value in given.items() if value is not None for word in (name, _by_digest(str(value), plan))]
    return ("--profile", request.profile, "--seed", str(request.seed), *more)


def _by_digest(spec: str, plan: Plan) -> str:
    """A build's word, its image named by the digest that the plan has of it; other words unchanged."""
    prefix, _, rest = spec.partition(":")
    for image in (build for build in map(foundation, plan.builds()) if isinstance(build, ImageBuild)):
        if prefix in PREFIXES and image.digest and (rest == image.image or rest.startswith(f"{image.image}+")):
            return f"{prefix}:{image.digest}{rest.removeprefix(image.image)}"
    return spec
