"""`python -m perfproof.validation.real.counting_overhead`: are rounds slower for a counter being there that does not count just now?

A pair is two forks of one process. Both run the same rounds of plain Python and take the processor's time of each; one has counted a round
before, and has put the counter away. Which comes first changes from pair to pair. A fork's number is its fastest round. Nothing but this
command's own code is measured, so that no vLLM is needed. The exit code is 1 where the rounds are slower by more than the margin.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence

from perfproof.analysis.judging.judge import judge_table
from perfproof.child.counted_rounds import count_round
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED
from perfproof.model.verdicts.judged import Judged, Outcome

MARGIN = 0.01
WITHOUT, WITH = "without", "with"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the pairs, and tells the difference with its interval."""
    given = parser().parse_args(argv)
    rows = [row for pair in range(given.pairs) for row in one_pair(pair, given.rounds)]
    judged, _ = judge_table(
        rows, scenario="counting_overhead", name="processor time of a round", baseline=WITHOUT, better="lower", margin=MARGIN, unit="s"
    )
    print(told(judged[0]))
    return EXIT_REGRESSED if judged[0].verdict is Outcome.REGRESSED else EXIT_PASS


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m perfproof.validation.real.counting_overhead", description=__doc__)
    made.add_argument("--pairs", type=int, default=60, help="pairs of forks (60)")
    made.add_argument("--rounds", type=int, default=60, help="rounds of a fork (60)")
    return made


def one_pair(number: int, rounds: int) -> list[tuple[str, str, float]]:
    """A pair as (block, arm, seconds of the processor in the fastest round)."""
    arms = (WITHOUT, WITH) if number % 2 else (WITH, WITHOUT)
    return [(str(number), arm, fastest(arm, rounds)) for arm in arms]


def fastest(arm: str, rounds: int) -> float:
    """The fastest round of a fork. Raises `RuntimeError` where the fork did not come to its end."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        code = 1
        try:
            if arm == WITH:
                count_round(lambda: work)
            os.write(writing, json.dumps(min(_seconds() for _ in range(rounds))).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found = file.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"a fork ended with {os.waitstatus_to_exitcode(status)}")
    return float(json.loads(found))


def _seconds() -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def work() -> int:
    """Some milliseconds of what a scheduler's Python does: loops, dictionaries, lists and calls."""
    table: dict[int, list[int]] = {}
    for number in range(4_000):
        table.setdefault(number % 97, []).append(len(table))
    return sum(map(_last, table.values()))


def _last(items: list[int]) -> int:
    return items[-1]


def told(row: Judged) -> str:
    low, high = row.interval or (0.0, 0.0)
    change = 0.0 if row.effect is None else row.effect
    return (
        f"rounds behind a count against rounds without one: {100 * change:+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}], {row.blocks} "
        f"pairs, {row.verdict}: {row.reason}"
    )


if __name__ == "__main__":
    sys.exit(main())
