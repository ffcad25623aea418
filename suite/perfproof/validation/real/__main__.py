"""`python -m perfproof.validation.real`: known slowdowns on a real machine, found or not. It runs what is missing, then writes the page.

It can be interrupted and called again: every finished run has left its line. `--minutes` bounds one call, `--page-only` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from perfproof.model.base.errors import PerfproofError
from perfproof.model.documents.decode import DEFAULT_BUILD
from perfproof.progress import RunProgress
from perfproof.validation.real import injected, machine_runs
from perfproof.validation.real.outcomes import read
from perfproof.validation.real.real_page import page

PARTS = ("micro", "tools", "serve")
RESULTS = Path("results/validation")


def main(argv: Sequence[str] | None = None) -> int:
    """Reads the arguments, runs what is missing, writes the page."""
    given = parser().parse_args(argv)
    try:
        if not given.page_only:
            measure(given)
        if given.out is not None:
            runs, sittings = read(given.results)
            given.out.write_text(page(runs, sittings), encoding="utf-8")
    except PerfproofError as error:
        print(f"perfproof: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m perfproof.validation.real", description=__doc__)
    made.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to run, in this order (all)")
    made.add_argument("--batches", nargs="+", type=int, default=list(range(1, len(injected.BATCHES) + 1)), help="which batches (all)")
    made.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many minutes of measuring")
    made.add_argument("--results", type=Path, default=RESULTS, help=f"where a line a run is kept ({RESULTS})")
    made.add_argument("--work", type=Path, default=Path("results/local/validation"), help="where records and logs are kept meanwhile")
    made.add_argument("--builds", type=Path, default=Path("builds"), help="where builds are made (builds)")
    made.add_argument("--python", help="measure the vLLM of this interpreter instead of the release")
    made.add_argument("--out", type=Path, help="write the page here, for example docs/validation-real.md")
    made.add_argument("--close", action="store_true", help="at the end keep the runs that have begun as they stand")
    made.add_argument("--page-only", action="store_true", help="measure nothing, write the page of the lines that are there")
    return made


def measure(given: argparse.Namespace) -> None:
    """Runs the parts in their order, a batch at a time, until the minutes are spent."""
    build = {"kind": "python", "path": given.python} if given.python else DEFAULT_BUILD
    place = machine_runs.Place(results=given.results, work=given.work, builds=given.builds, build=build)
    until = machine_runs.Until(end=time.monotonic() + 60 * given.minutes)
    with RunProgress(Console(stderr=True), 0) as progress:
        for part in given.parts:
            for number in given.batches if part != "serve" else range(1, injected.SERVE_RUNS + 1):
                if part == "micro":
                    machine_runs.batch(number, place, until, progress)
                elif part == "tools":
                    machine_runs.sitting(number, trials_taken(given.results), place, until, progress)
                else:
                    machine_runs.serve(number, place, until, progress)
    if given.close:
        machine_runs.close(place)


def trials_taken(results: Path) -> dict[int, int]:
    """How many trials of each arm perfproof's own runs of the microbenchmark took on average, by slowdown."""
    runs, _ = read(results)
    taken: dict[int, list[int]] = {}
    for run in runs:
        if run.workload == "micro":
            taken.setdefault(run.percent, []).append(len(run.trials))
    return {percent: round(sum(counts) / len(counts) / 2) for percent, counts in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
