"""The parts of every chapter of the proof: tables, promises kept or not, and its own random source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

MARGIN = 0.02
DELTA = math.log1p(MARGIN)
BLOCKS = 24
SPREADS = (0.01, 0.02, 0.05, 0.11)
PROMISED_RUNS = 4000
"""The runs per case for which the promises are made; fewer runs show the tables and prove nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A promise, what was measured, and whether it was kept."""

    promise: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A section of the page."""

    title: str
    text: str
    targets: tuple[Target, ...]


def source(seed: int, chapter: str) -> np.random.Generator:
    """The random source of one chapter, independent of the others and of their order."""
    return np.random.default_rng([seed, *chapter.encode()])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def pc(rate: float) -> str:
    """A rate in per cent: 0.83, 9.50, 12.4, 100."""
    return "100" if rate == 1 else f"{100 * rate:.2f}" if rate < 0.1 else f"{100 * rate:.1f}"
