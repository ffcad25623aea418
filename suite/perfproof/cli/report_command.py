"""Commands that show, hand on or join results folders: report, export, merge."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.history.point import HISTORY
from perfproof.model.installed import extras
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN

FORMATS = (
    ("csv", "a table of trials"),
    ("parquet", "the same table as Parquet (needs pyarrow)"),
    ("github-action-benchmark", "its custom JSON, a file for each direction"),
    ("pytorch-hud", "rows of PyTorch's benchmark database, schema v3"),
    ("openmetrics", "text for Prometheus and its kin"),
    ("perf-eval", "rows of vLLM's performance dashboard"),
    ("pytest-benchmark", "its JSON, a file a trial"),
    ("vllm-checklist", "the short table that a pull request to vLLM is asked for"),
)
"""The formats by name, as `perfproof.export.formats` has them; said here, so that the help imports none of them."""


def add(verbs: Any) -> None:
    _add_report(verbs)
    _add_export(verbs)
    _add_merge(verbs)


def _add_report(verbs: Any) -> None:
    report = options.verb(verbs, "report", _report, "write the HTML report of a results folder")
    options.results(report)
    report.add_argument("--out", type=Path, metavar="FILE.html", help="the file to write")
    report.add_argument("--pr", action="store_true", help="print the text for a pull request instead")
    report.add_argument(
        "--history",
        nargs="?",
        type=Path,
        const=HISTORY,
        metavar="DIR",
        help="the page of a history instead: every metric over its builds (default results/history)",
    )
    report.add_argument("--markdown", action="store_true", help="with --history: print its tables instead, one row per build")
    report.add_argument(
        "--steps",
        type=Path,
        default=Path("results/steps"),
        metavar="DIR",
        help="with --history: what 'perfproof steps --confirm' measured, shown beside the steps (default results/steps)",
    )
    report.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML, one case per judged metric")


def _add_merge(verbs: Any) -> None:
    merge = options.verb(verbs, "merge", _merge, "join results folders by content: in any order, twice without harm")
    merge.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="results folders, of jobs or of other hosts")
    merge.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to join them in; what it has stays")


def _merge(arguments: argparse.Namespace) -> int:
    from perfproof.jobs import merge_folders

    merged = merge_folders.merge(arguments.folders, arguments.out)
    for sentence in (*merged.told, f"{arguments.out}: {merged.sentence}"):
        print(line(sentence))
    return EXIT_PASS if merged.whole else EXIT_UNTESTABLE


def _add_export(verbs: Any) -> None:
    export = options.verb(verbs, "export", _export, "write the trials of a results folder as other tools take them")
    export.add_argument("results", type=Path, metavar="RESULTS", help="a results folder")
    export.add_argument(
        "--format",
        required=True,
        choices=[name for name, _ in FORMATS],
        metavar="FORMAT",
        help="; ".join(f"{name}: {words}" for name, words in FORMATS) + " (docs/exports.md)",
    )
    export.add_argument(
        "--out", type=Path, metavar="PATH", help="the file to write, or the folder where a format makes several (default: print)"
    )
    export.add_argument("--scenario", nargs="+", default=[], metavar="SCENARIO", help="only of this scenario")
    export.add_argument("--arm", nargs="+", default=[], metavar="ARM", help="only of this arm")


def _report(arguments: argparse.Namespace) -> int:
    from perfproof.commands import record_verdicts
    from perfproof.model.documents.decode import load_scenario
    from perfproof.model.installed.scenario_folders import scenario_files
    from perfproof.tracking import history_verbs
    from perfproof.tracking.confirm_step import confirmed

    if arguments.out is not None or (arguments.history is not None and not arguments.markdown):
        extras.need("report", "report")
    if arguments.history is not None:
        if arguments.pr:
            raise BadInput("report --history: the text for a pull request needs a results folder (--results)")
        if arguments.markdown:
            return history_verbs.markdown(arguments.history, floor=DEFAULT_MARGIN)
        confirm = confirmed(scenario_files(), load_scenario, arguments.steps)
        return history_verbs.report(arguments.history, arguments.out or Path("reports/history.html"), floor=DEFAULT_MARGIN, confirm=confirm)
    if not arguments.pr and arguments.out is None and arguments.junit is None:
        raise BadInput("report: name the file to write with --out FILE.html (or --junit FILE), or use --pr for the pull request's text")
    return record_verdicts.report(arguments.results, out=arguments.out, pull_request=arguments.pr, junit=arguments.junit)


def _export(arguments: argparse.Namespace) -> int:
    from perfproof.commands import export_trials

    return export_trials.export(
        arguments.results, form=arguments.format, out=arguments.out, scenarios=arguments.scenario, arms=arguments.arm
    )
