"""The command that writes what other tools take: export."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options

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


def _export(arguments: argparse.Namespace) -> int:
    from perfproof.commands import export_trials

    return export_trials.export(
        arguments.results, form=arguments.format, out=arguments.out, scenarios=arguments.scenario, arms=arguments.arm
    )
