"""The command for authors of a change: pr."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import PROFILES


def add(verbs: Any) -> None:
    pr = options.verb(verbs, "pr", _pr, "measure a change: base against base plus diff, over the scenarios whose code it touches")
    options.change(
        pr,
        diff="the change: a unified diff, as git diff or a pull request's .diff gives it",
        git="or a local clone, with --ref and --base: what differs below vllm/",
        ref="the changed branch or commit of --git",
        base="the branch or commit that it is compared with",
    )
    pr.add_argument(
        "--scenarios", nargs="+", default=["auto"], metavar="FILE", help="scenario files (default auto: those that the change touches)"
    )
    pr.add_argument(
        "--tests",
        nargs="+",
        type=Path,
        default=[],
        metavar="PATH",
        help="a vLLM checkout's tests: run on both first; one that breaks ends it",
    )
    pr.add_argument("--profile", choices=PROFILES, default="quick", help="how much to measure (default quick)")
    pr.add_argument("--seed", type=options.natural, default=0, help="seed of orders and workloads (default 0)")
    options.blocks(pr)
    options.counts(pr)
    pr.add_argument("--budget", type=options.minutes, metavar="MINUTES", help=options.BUDGET)
    pr.add_argument("--results", type=Path, metavar="DIR", help="the results folder (default: one below results/pr for each change)")
    pr.add_argument("--text", type=Path, default=Path("reports/pr.md"), metavar="FILE", help="its text (default %(default)s)")
    pr.add_argument("--report", type=Path, default=Path("reports/pr.html"), metavar="FILE", help="the HTML report (default %(default)s)")
    pr.add_argument("--print", action="store_true", help="print the pull request's text too")
    options.start(pr)
    options.builds(pr)


def _pr(arguments: argparse.Namespace) -> int:
    of_git = [arguments.git, arguments.ref, arguments.base]
    if (arguments.diff is None) == (None in of_git) or (arguments.diff is not None and any(of_git)):
        raise BadInput("pr: name the change with --diff FILE, or with --git REPO --ref REF --base REF")
    options.counts_something(arguments)
    from perfproof.changes.measure_change import Wanted, contribute

    named = None if arguments.scenarios == ["auto"] else [Path(name) for name in arguments.scenarios]
    return contribute(options.changed(arguments), options.from_args(Wanted, arguments, scenarios=named, print_text=arguments.print))
