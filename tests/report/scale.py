"""How large a report gets and how long it takes: `python -m tests.report.scale`.

Makes synthetic runs of 500 and of 10,000 trials (6 scenarios, 40 metrics), writes their pages and, where there is a Chromium, opens
them. Prints a line each with what was asked for; ends with 1 where that was missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.report import html
from perfproof.report.view import build
from tests.report import factory
from tests.report.browser import CHROMIUM, Browser

METRICS, SCENARIOS = 40, 6
INTERACTIVE = 1.0
"""Seconds until the page of the ordinary run must answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a page of so many trials may take: seconds to make, bytes, seconds to open (None: not asked)."""

    trials: int
    seconds: float
    size: int
    opens: float | None


ASKED = (Asked(trials=500, seconds=4, size=3_000_000, opens=INTERACTIVE), Asked(trials=10_000, seconds=20, size=15_000_000, opens=None))


def run_of(trials: int) -> tuple[list[Judged], list[Record]]:
    """Judged rows and records of a synthetic run."""
    blocks = -(-trials // (2 * SCENARIOS))
    base = {f"round_time@size={k}": 1e-3 * (k + 1) for k in range(METRICS)}
    rows, records = [], []
    for number in range(SCENARIOS):
        name = f"scenario_{number}"
        records += factory.trials(name, blocks, base, {}, 0.02)
        rows += [factory.row(name, metric, "equivalent" if place < 4 else None) for place, metric in enumerate(base)]
    return rows, records[:trials]


def opening(path: Path) -> float:
    """Seconds from asking a browser for the page until it has loaded and a click has sorted its table, in sight of it."""
    browser = Browser()
    try:
        began = time.monotonic()
        browser.open(path)
        browser.run("document.querySelector('table.verdicts').scrollIntoView(); document.querySelector('thead button').click()")
        browser.run("document.body.offsetHeight")
        return time.monotonic() - began
    finally:
        browser.close()


def measure(asked: Asked, folder: Path) -> bool:
    """Makes, weighs and opens one page; whether it is within what was asked."""
    rows, records = run_of(asked.trials)
    began = time.monotonic()
    text = html.render(build(rows, records, made=factory.MADE, version="0.1.0"))
    path = folder / f"{asked.trials}.html"
    path.write_text(text, "utf-8")
    took, size = time.monotonic() - began, path.stat().st_size
    opened = opening(path) if CHROMIUM else None
    shown = "" if opened is None else f", opened and sorted in {opened:.2f} s{f' (at most {asked.opens:.0f})' if asked.opens else ''}"
    print(
        f"{asked.trials:,} trials: {took:.1f} s (at most {asked.seconds:.0f}), {size / 1e6:.1f} MB (at most {asked.size / 1e6:.0f}){shown}"
    )
    return took < asked.seconds and size < asked.size and (opened is None or asked.opens is None or opened < asked.opens)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.report.scale", description=__doc__)
    parser.add_argument("--out", type=Path, help="keep the pages in this folder")
    out = parser.parse_args(words).out
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        return 1 if [asked for asked in ASKED if not measure(asked, folder)] else 0


if __name__ == "__main__":
    sys.exit(main())
