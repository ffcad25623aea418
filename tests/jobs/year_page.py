"""How large the page of a history is after a year of nights: one scenario on 3 kinds of hosts with 3 metrics, a point a night each.

`python -m tests.jobs.year_page` makes the history in a temporary folder and prints two sizes.
"""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path
from statistics import geometric_mean

from perfproof.history import contradictions, history_files
from perfproof.model.history.point import POINT_SCHEMA, Point

METRICS = ("output_throughput", "median_ttft", "median_tpot")


def points(nights: int, kinds: int) -> list[Point]:
    source, made = random.Random(1), []
    for night in range(nights):
        when = (date(2026, 1, 1) + timedelta(days=night)).isoformat()
        for kind in range(kinds):
            for metric in METRICS:
                rate = metric == "output_throughput"
                values = [source.gauss(100, 1) for _ in range(12)]
                one = Point(
                    schema=POINT_SCHEMA,
                    id="",
                    scenario="nightly",
                    metric=metric,
                    unit="tok/s" if rate else "s",
                    better="higher" if rate else "lower",
                    kind="timed",
                    arm="as_released",
                    build=f"nightly {when}",
                    version="0.32.0",
                    sources=f"{night:016x}",
                    machine=f"{kind:012x}",
                    environment="0" * 16,
                    packages="0" * 16,
                    workload="0" * 12,
                    value=geometric_mean(values),
                    values=values,
                    rounds=12,
                    when=f"{when}T00:00:00Z",
                )
                made.append(dataclasses.replace(one, id=contradictions.identity(one)))
    return made


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, page = Path(scratch) / "history", Path(scratch) / "page.html"
        history_files.append(folder, points(365, 3))
        subprocess.run([sys.executable, "-m", "perfproof", "report", "--history", str(folder), "--out", str(page)], check=True)
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        print(f"a scenario's year: {size / 1e6:.1f} MB of points, a page of {page.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
