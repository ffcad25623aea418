"""`python -m perfproof.validation.real.counter_overhead`: whether rounds that are not counted are slower where the counter is there.

A pair is two processes, forked from one that has run the same Python before, that time rounds of it side by side. In the one a counter was
installed, proved and used before, as in every process that counts. The least CPU time of the rounds stands for a process, so that the
machine may be busy. Ends with 1 where the interval of the change does not lie within half a percent.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perfproof.analysis.stats.intervals import companion
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.processes.supervised_process import run_to_end
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED

MARGIN = 0.005
LONGEST = 60.0
"""Seconds that a pair may take."""
ROUNDS = """
import json, math, os, sys, time
from perfproof.child.counting import Counter
from perfproof.child.counting.counter import prove

def parse(number):
    text = json.dumps({"number": number, "words": [str(n) for n in range(number % 7)]}, indent=1)
    return sorted(json.loads(text), key=lambda word: -len(word))

def work():
    return sum(len(parse(number)) for number in range(300))

def count():
    counter = Counter()
    counter.install()
    prove(counter)
    counter.start()
    work()
    counter.stop()
    return counter

def timed(counted):
    reader, writer = os.pipe()
    if not os.fork():
        there = count() if counted else None
        times = []
        for _ in range(40):
            began = time.thread_time()
            work()
            times.append(time.thread_time() - began)
        os.write(writer, repr(min(times)).encode())
        os._exit(0)
    os.close(writer)
    return reader

for _ in range(20):
    work()
for pair in range(int(sys.argv[1])):
    order = [pair % 2, 1 - pair % 2]
    readers = [timed(counted) for counted in order]
    least = dict(zip(order, [float(os.read(reader, 99)) for reader in readers]))
    for reader in readers:
        os.close(reader)
        os.wait()
    print(math.log(least[1] / least[0]), flush=True)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Times the pairs, and tells by how much the rounds are slower beside a counter."""
    parser = argparse.ArgumentParser(prog="python -m perfproof.validation.real.counter_overhead", description=__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="pairs of processes (40)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to look at (this one)")
    given = parser.parse_args(argv)
    if given.pairs < 6:
        parser.error(f"--pairs: at least 6 are needed to say anything, not {given.pairs}")
    change = companion(np.array([paired(given.python, given.pairs)]))
    middle, low, high = (float(np.expm1(side[0])) for side in (change.middle, change.low, change.high))
    print(f"a round beside a counter that is off: {middle:+.2%} [{low:+.2%}, {high:+.2%}] of {given.pairs} pairs, CPU time")
    return EXIT_PASS if -MARGIN <= low <= high <= MARGIN else EXIT_REGRESSED


def paired(interpreter: str, pairs: int) -> list[float]:
    """Of each pair the logarithm of how much longer a round takes with the counter there."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        environment = {"PYTHONPATH": str(PACKAGE.parent), "PYTHONHASHSEED": "0"}
        done = run_to_end([interpreter, "-c", ROUNDS, str(pairs)], environment=environment, log=log, timeout=LONGEST * pairs)
        if not done.ok:
            raise SystemExit(f"{interpreter}: {' '.join(done.tail().split())}")
        return [float(line) for line in log.read_text().split()]


if __name__ == "__main__":
    sys.exit(main())
