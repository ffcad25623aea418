"""Commands that judge existing data: compare, judge, accuracy, pasted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN


def add(verbs: Any) -> None:
    compare = options.verb(verbs, "compare", _compare, "verdicts from records alone: no vLLM, torch or GPU needed")
    options.results(compare)
    compare.add_argument("--json", action="store_true", help="as JSON")

    judge = options.verb(
        verbs,
        "judge",
        _judge,
        "the same verdict on any numbers: result files of two sides, or a CSV with the columns block,arm,value",
    )
    judge.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="BASELINE CANDIDATE: result files of other benchmarks, or folders of them (docs/formats.md); or one CSV: block,arm,value, one "
        "line a trial; of rates block,arm,errors,requests (docs/judge.md)",
    )
    judge.add_argument(
        "--candidate",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="the candidate's files, where a side has several: all that are named before are the baseline's",
    )
    judge.add_argument(
        "--baseline",
        metavar="ARM",
        help="the arm that the others are compared with (default: the one named baseline, base, before, "
        "main, control, unpatched, as_released or old; else the first in the file)",
    )
    judge.add_argument("--better", choices=("lower", "higher"), help="which direction of a CSV's value is better; result files say it")
    judge.add_argument(
        "--margin", type=options.fraction, default=DEFAULT_MARGIN, help="smallest change that matters, 0.05 or 5%% (default %(default)s)"
    )
    judge.add_argument(
        "--metric",
        metavar="NAME",
        help="what the values are called (default: the file's name); of a table with a metric column, or of result files, the one to judge",
    )
    judge.add_argument("--unit", default="", help="unit of the values; values in another unit are converted")
    judge.add_argument(
        "--interleaved",
        action="store_true",
        help="the arms were measured in turns, though the lines stand in another order; of result files without dates, run by run",
    )
    judge.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="what may differ between result files of two sides, by the name that the refusal gives it: --allow model judges FP16 beside "
        "FP8 of two names; once for each",
    )
    judge.add_argument("--json", action="store_true", help="as JSON")
    judge.add_argument("--explain", action="store_true", help="the whole reasoning, each sentence with its number")

    accuracy = options.verb(verbs, "accuracy", _accuracy, "judge two runs of lm_eval (--log_samples) item by item")
    accuracy.add_argument(
        "baseline", type=Path, metavar="BASELINE", help="a run of lm_eval: its folder, its results_<date>.json, or one samples file"
    )
    accuracy.add_argument("candidate", type=Path, metavar="CANDIDATE", help="likewise")
    options.points(accuracy)
    accuracy.add_argument("--passage", metavar="KEY", help="key of a document whose text several items ask about: they move together")
    accuracy.add_argument("--json", action="store_true", help="as JSON")

    paste = options.verb(verbs, "pasted", _pasted, "what a pasted before-and-after shows, and which change it could not detect")
    paste.add_argument(
        "file",
        type=Path,
        metavar="FILE.txt",
        help="tables, blocks of clients or lines under headings, columns of before and after, sentences (docs/judge.md)",
    )
    options.points(paste)
    paste.add_argument("--items", type=options.positive, metavar="N", help="the number of items behind the totals, for display")
    paste.add_argument("--json", action="store_true", help="as JSON")


def _compare(arguments: argparse.Namespace) -> int:
    from perfproof.commands import record_verdicts

    return record_verdicts.compare(arguments.results, as_json=arguments.json)


def _judge(arguments: argparse.Namespace) -> int:
    if arguments.candidate or len(arguments.files) > 1:
        return _judge_sides(arguments)
    if arguments.better is None:
        raise BadInput(
            f"{arguments.files[0]}: a table needs --better lower or --better higher; of result files, name two sides: "
            "perfproof judge BASELINE CANDIDATE"
        )
    if arguments.allow:
        raise BadInput("--allow is of result files of two sides, and does nothing for one CSV: leave it out")
    from perfproof.commands import record_verdicts

    return record_verdicts.judge(
        arguments.files[0],
        better=arguments.better,
        margin=arguments.margin,
        unit=arguments.unit,
        as_json=arguments.json,
        explain=arguments.explain,
        baseline=arguments.baseline,
        metric=arguments.metric,
        interleaved=arguments.interleaved,
    )


def _judge_sides(arguments: argparse.Namespace) -> int:
    """Result files of two sides."""
    for option in ("better", "baseline", "unit", "explain"):
        if getattr(arguments, option):
            raise BadInput(f"--{option} is of one CSV, and does nothing for result files of two sides: leave it out")
    if not arguments.candidate and len(arguments.files) > 2:
        raise BadInput("more than two files: name the candidate's behind --candidate, as in judge BEFORE... --candidate AFTER...")
    from perfproof.commands.foreign import result_sides

    baseline, candidate = (arguments.files, arguments.candidate) if arguments.candidate else (arguments.files[:1], arguments.files[1:])
    choice = result_sides.Options(
        margin=arguments.margin,
        as_json=arguments.json,
        metric=arguments.metric,
        interleaved=arguments.interleaved,
        allowed=tuple(arguments.allow),
    )
    return result_sides.judge(baseline, candidate, choice)


def _accuracy(arguments: argparse.Namespace) -> int:
    from perfproof.commands.foreign import evals

    return evals.accuracy(
        arguments.baseline, arguments.candidate, margin=arguments.margin, passage=arguments.passage, as_json=arguments.json
    )


def _pasted(arguments: argparse.Namespace) -> int:
    from perfproof.commands.foreign import pasted_results

    return pasted_results.paste(arguments.file, margin=arguments.margin, items=arguments.items, as_json=arguments.json)
