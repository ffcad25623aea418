"""20,000 records of a microbenchmark on 30 hosts, merged and judged: how long that takes, and how much memory.

`python -m tests.jobs.many` makes them in a temporary folder, 30 folders of a host each, and prints three lines.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from perfproof.model.records.record import Record
from tests.jobs.spread import attempt, definition, write

SCENARIOS = 10


def records(host: int, hosts: int, blocks: int) -> list[Record]:
    """What one host measured of the plans, with the packages and rounds of a microbenchmark's record in each."""
    name, made = f"{host:012x}", list[Record]()
    packages = {f"package-{number}": f"1.{number}" for number in range(180)}
    for asked in (definition(blocks, name=f"scenario_{number}") for number in range(SCENARIOS)):
        for block in range(1, blocks + 1):
            if (block - 1) // 2 % hosts == host:
                made += attempt(block, name, at=100 * block, asked=asked, noise=0.01)
    for one in made:
        one.environment["packages"] = packages  # type: ignore[index]
        one.raw["round_time"] = [one.measurements["round_time"]] * 40  # type: ignore[index]
    return made


def timed(*words: str) -> tuple[str, str]:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "perfproof", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.monotonic() - began:.1f} s ({cpu:.1f} s of CPU)", done.stdout


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--records", type=int, default=20_000)
    asked.add_argument("--hosts", type=int, default=30)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = [
            write(Path(scratch) / f"host{host}", records(host, options.hosts, options.records // 2 // SCENARIOS))
            for host in range(options.hosts)
        ]
        size = sum(path.stat().st_size for folder in folders for path in folder.rglob("*.jsonl"))
        out = str(Path(scratch) / "out")
        merged, said = timed("merge", *map(str, folders), "--out", out)
        judged, _ = timed("compare", "--results", out, "--json")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(said.strip().splitlines()[-1].partition(": ")[2])
    print(f"merged in {merged}, judged in {judged}, at most {peak:.2f} GiB of memory, {size / 2**20:.0f} MiB of records")


if __name__ == "__main__":
    main()
