"""Commands of the history: history add, list, show, counts, prune, migrate, ack; steps."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfproof.cli import options
from perfproof.model.history.point import HISTORY
from perfproof.model.scenarios.scenario import COUNT_MARGIN, DEFAULT_MARGIN

if TYPE_CHECKING:
    from perfproof.history import Wanted
    from perfproof.model.history.step import Confirm

FILTERS = ("scenario", "metric", "arm", "build", "machine")


def add(verbs: Any) -> None:
    words = "points remembered over builds and nights: add, list, show, counts, prune, migrate, ack"
    history = options.verb(verbs, "history", _list, words)
    acts = history.add_subparsers(title="what to do", metavar="WHAT", required=True)

    adding = options.verb(acts, "add", _add, "add points from the records of results folders, or from other tools' histories")
    adding.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="results folders, or other tools' histories (docs/tracking.md)"
    )
    _folder(adding)

    listing = options.verb(acts, "list", _list, "list the series: how many points, of which builds, the newest value")
    _filters(listing)
    _json(listing)

    showing = options.verb(acts, "show", _show, "show points series by series, in the order of versions, the newest last")
    _filters(showing)
    showing.add_argument(
        "--last", type=options.natural, default=50, metavar="N", help="how many, of the newest builds (default %(default)s)"
    )
    _json(showing)

    counting = options.verb(acts, "counts", _counts, "what tracked builds count, release by release, and the functions behind each step")
    counting.add_argument("results", type=Path, metavar="RESULTS", help="the results folder of 'perfproof track'")
    counting.add_argument(
        "--margin", type=options.fraction, default=COUNT_MARGIN, help="smallest change that is a step (default %(default)s)"
    )
    counting.add_argument("--top", type=options.positive, default=5, metavar="N", help="functions told a step (default %(default)s)")
    counting.add_argument("--steps", type=options.positive, default=10, metavar="N", help="steps told, the largest (default %(default)s)")
    _folder(counting)

    pruning = options.verb(acts, "prune", _prune, "take out old points, and lines that are there twice; acknowledgements always stay")
    _filters(pruning)
    pruning.add_argument("--before", type=_day, metavar="DATE", help="points measured before this day (2026-01-31)")
    pruning.add_argument("--keep", type=options.natural, metavar="N", help="all but the newest N points of each series")
    pruning.add_argument("--dry-run", action="store_true", help="show how many would go, and change nothing")

    _folder(options.verb(acts, "migrate", _migrate, "rewrite lines of an older schema in the current one (reading does so by itself)"))

    accepting = options.verb(acts, "ack", _ack, "accept a step, with a reason that the report shows")
    _filters(accepting)
    accepting.add_argument("--at", required=True, metavar="BUILD", help="the first build after the step, as 'perfproof steps' names it")
    accepting.add_argument("--reason", required=True, metavar="TEXT", help="why it is accepted")

    steps = options.verb(
        verbs,
        "steps",
        _steps,
        "lasting changes of level in a series: a CSV with the columns point,value[,group], another tool's history, or a history",
    )
    steps.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="point,value[,group], one line a point, in order; or data.js of github-action-benchmark, rows of PyTorch's benchmark "
        "database or of vLLM's performance dashboard (docs/tracking.md); else the series of --history",
    )
    _filters(steps, default=None)
    steps.add_argument(
        "--margin",
        type=options.fraction,
        default=DEFAULT_MARGIN,
        help="smallest change of a time that counts, a fraction (default %(default)s)",
    )
    steps.add_argument(
        "--kind",
        choices=("auto", "timed", "witness", "count"),
        default="auto",
        help="of a CSV: exact counts (witness), where every change is a step, counts of the host's work (count), where one beyond "
        "0.5 %% is, or measurements (timed, the meaning of auto)",
    )
    _json(steps)
    steps.add_argument(
        "--confirm",
        action="store_true",
        help="of a history: measure the two builds beside each step of a time in pairs, and say whether it is real",
    )
    steps.add_argument(
        "--results",
        type=Path,
        default=Path("results/steps"),
        metavar="DIR",
        help="where --confirm keeps its records (default results/steps)",
    )
    options.start(steps)
    options.builds(steps)


def _folder(verb: argparse.ArgumentParser, default: Path | None = HISTORY) -> None:
    default_words = f" (default {default})" if default else ""
    verb.add_argument("--history", type=Path, default=default, metavar="DIR", help=f"the history folder{default_words}")


def _filters(verb: argparse.ArgumentParser, default: Path | None = HISTORY) -> None:
    _folder(verb, default)
    for name in FILTERS:
        verb.add_argument(f"--{name}", nargs="+", default=[], metavar=name.upper(), help=f"only of this {name}")


def _json(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="as JSON")


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-01-31, got {text}") from error


def _wanted(arguments: argparse.Namespace) -> Wanted:
    from perfproof.history import Wanted

    return Wanted(**{f"{name}s": frozenset(getattr(arguments, name)) for name in FILTERS})


def _add(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_verbs

    return history_verbs.add(arguments.results, arguments.history)


def _list(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_tables

    return history_tables.list_series(arguments.history, _wanted(arguments), as_json=arguments.json)


def _show(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_tables

    return history_tables.show(arguments.history, _wanted(arguments), last=arguments.last, as_json=arguments.json)


def _counts(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import count_history

    told = {"margin": arguments.margin, "top": arguments.top, "steps": arguments.steps, "history": arguments.history}
    return count_history.show(arguments.results, **told)


def _prune(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_verbs

    return history_verbs.prune(arguments.history, _wanted(arguments), before=arguments.before, keep=arguments.keep, dry=arguments.dry_run)


def _migrate(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_verbs

    return history_verbs.migrate(arguments.history)


def _ack(arguments: argparse.Namespace) -> int:
    from perfproof.tracking import history_verbs

    return history_verbs.acknowledge(arguments.history, _wanted(arguments), at=arguments.at, reason=arguments.reason)


def _steps(arguments: argparse.Namespace) -> int:
    from perfproof.model.base.errors import BadInput
    from perfproof.tracking import history_verbs

    if (arguments.file is None) == (arguments.history is None):
        raise BadInput("steps: give either a FILE.csv or --history DIR")
    if arguments.file is not None:
        if arguments.confirm:
            raise BadInput("--confirm: a CSV does not say how its builds are made: only the steps of a history can be confirmed")
        return history_verbs.steps_of_file(arguments.file, floor=arguments.margin, kind=arguments.kind, as_json=arguments.json)
    confirm = _confirm(arguments) if arguments.confirm else None
    return history_verbs.steps_of_history(
        arguments.history, _wanted(arguments), floor=arguments.margin, as_json=arguments.json, confirm=confirm
    )


def _confirm(arguments: argparse.Namespace) -> Confirm:
    """Measures in pairs, with its progress on stderr, so that stdout has the steps alone."""
    import sys
    from functools import partial

    from rich.console import Console

    from perfproof.model.documents.decode import load_scenario
    from perfproof.model.installed.scenario_folders import scenario_files
    from perfproof.tracking.confirm_step import Measuring, confirmer
    from perfproof.tracking.released_scenario import runners_on

    console = Console(file=sys.stderr)
    runners = runners_on(arguments.builds, partial(console.print, highlight=False, markup=False, soft_wrap=True))
    start = options.started("steps --confirm", arguments, profile="quick")
    measuring = Measuring(results=arguments.results, seed=0, runners=runners, console=console, start=start)
    return confirmer(scenario_files(), load_scenario, measuring)
