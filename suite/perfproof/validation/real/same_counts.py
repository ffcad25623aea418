"""`python -m perfproof.validation.real.same_counts`: a build counted again and again beside a second install of itself, on a busy machine.

Both are installed each for itself. A run is a process of each, counted at the same time, while loops keep the processors busy. Every run
leaves a line: what the two did not have in common, to the last instruction, call, operator, byte and token. It may be broken off and called
again. The exit code is 1 where any run was not identical, and 3 where not all could be counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from perfproof.analysis.counts.count_comparison import compare
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.builds.processes.supervised_process import start
from perfproof.model.base import clock
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, PerfproofError
from perfproof.model.records.counts import METRICS, Count
from perfproof.run.trials.engine_counting import Wanted, count
from perfproof.runners import default_build

RESULTS = Path("results/validation/same_counts.jsonl")
FEATURE, REQUESTS, PHASE = "plain", 8, "decode"
BUSY = "while True: pass"


def main(argv: Sequence[str] | None = None) -> int:
    """Counts the runs that are missing, and tells how many of all were identical."""
    given = parser().parse_args(argv)
    try:
        if given.builds.resolve() == given.second.resolve():
            raise BadInput(f"--second: {given.second}: names the same install as --builds; name another folder")
        first = prepare(default_build(), given.builds, print)
        second = prepare(default_build(), given.second, print)
        with busy(given.busy):
            until = time.monotonic() + 60 * given.minutes
            for number in range(len(lines_of(given.results)) + 1, given.runs + 1):
                if time.monotonic() < until:
                    places = ((first, given.builds), (second, given.second))
                    append(given.results, {"run": number, "busy": given.busy, **run(number, places)})
    except PerfproofError as error:
        print(f"perfproof: {error}", file=sys.stderr)
        return error.exit_code
    return concluded(lines_of(given.results), given.runs)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m perfproof.validation.real.same_counts", description=__doc__)
    made.add_argument("--runs", type=int, default=40, help="runs in all, those that are kept already among them (40)")
    made.add_argument("--busy", type=int, default=2, help="loops that keep processors busy meanwhile (2)")
    made.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so many minutes")
    made.add_argument("--builds", type=Path, default=Path("builds"), help="where the one install is (builds)")
    made.add_argument("--second", type=Path, default=Path("builds/second-install"), help="where the other is (builds/second-install)")
    made.add_argument("--results", type=Path, default=RESULTS, help=f"where a line a run is kept ({RESULTS})")
    return made


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Other work on the machine, for as long as it takes."""
    with contextlib.ExitStack() as stack:
        log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "log"
        for _ in range(loops):
            stack.callback(start([sys.executable, "-c", BUSY], environment={}, log=log).kill_now)
        yield


def run(number: int, places: Sequence[tuple[ReadyBuild, Path]]) -> dict[str, Any]:
    """One process of each install, and what their counts do not have in common. Raises `CannotRun` where one could not be counted.

    Counts are kept below each install's own folder: equal builds have equal names, and one would stand for both.
    """
    began, at = time.monotonic(), clock.now()

    def counted(place: tuple[ReadyBuild, Path]) -> Count:
        return count([Wanted(build=place[0], cells={FEATURE: [REQUESTS]}, process=number)], place[1], print)[0]

    with ThreadPoolExecutor(len(places)) as pool:
        counts = list(pool.map(counted, places))
    return {"at": at, "seconds": round(time.monotonic() - began, 1), "load": round(os.getloadavg()[0], 1), **told(*counts)}


def told(first: Count, second: Count) -> dict[str, Any]:
    """The numbers of a step, and how many of all are identical; by name what differs, or was not the same twice within a process."""
    found = compare(first, second, margin=0.0)
    differing = sorted({f"{one.phase}: {changed.name}" for one in found.compared for changed in one.changed})
    step = {one.metric: one.baseline for one in found.compared if one.phase == PHASE}
    return {
        **{metric: step.get(metric) for metric in METRICS},
        "numbers": len(found.compared),
        "identical": sum(one.verdict == "identical" for one in found.compared),
        "differing": differing,
        "warnings": list(found.warnings),
    }


def append(results: Path, line: dict[str, Any]) -> None:
    """Keeps a run's line, in place of one that was cut off, and shows it in short."""
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(line).encode() + b"\n")
    print(f"run {line['run']}: {line['identical']} of {line['numbers']} numbers identical, {line['seconds']} s, load {line['load']}")


def lines_of(results: Path) -> list[dict[str, Any]]:
    """The runs that are kept; a line that its writer was ended in is none."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def concluded(lines: Sequence[dict[str, Any]], runs: int) -> int:
    """Says how many runs were identical; the exit code. One that counted nothing, or left something out, is not."""
    same = [line for line in lines if line["numbers"] and line["identical"] == line["numbers"] and not line["warnings"]]
    print(f"{len(same)} of {len(lines)} runs identical to the last instruction, call, operator, byte and token")
    for line in lines:
        if line not in same:
            print(f"run {line['run']}: {', '.join([*line['differing'], *line['warnings']]) or 'nothing was counted'}")
    return EXIT_REGRESSED if len(same) < len(lines) else EXIT_PASS if len(lines) >= runs else EXIT_UNTESTABLE


if __name__ == "__main__":
    sys.exit(main())
