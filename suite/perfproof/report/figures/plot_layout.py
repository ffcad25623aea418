"""The places and the texts of the marks in a figure of trials. `plots` draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import SignalView, TrialView
from perfproof.report.base.units import THIN
from perfproof.report.text import sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A trial in the figure: `x` is the block plus the place within it, `y` its value or None where it left none.

    `number` is the trial's place in the scenario's table, or -1 where the dot is not a single trial.
    """

    number: int
    block: int
    x: float
    y: float | None
    ok: bool
    baseline: bool
    text: str

    @property
    def kind(self) -> str:
        return "lost" if self.y is None else "counted" if self.ok else "spoilt"


def x_of(trial: TrialView, most: int) -> float:
    """The place of a trial: its block, and its place among the `most` trials of a block."""
    return trial.block + (trial.position - (most - 1) / 2) * min(0.3, 0.6 / most)


def loads(row: Judged, views: Sequence[TrialView], load: SignalView | None) -> list[tuple[float, float, float]]:
    """The place of every trial of the row's two arms, with the lowest and the highest load beside it; empty where none is known."""
    most = max((trial.position for trial in views), default=0) + 1
    spans = load.spans if load else ()
    pairs = zip(views, spans, strict=True) if spans else ()
    return [(x_of(trial, most), *span) for trial, span in pairs if span and trial.arm in (row.baseline, row.candidate)]


def place(row: Judged, views: Sequence[TrialView]) -> list[Dot]:
    """The trials of the row's two arms, each at its block and its place within it."""
    most = max((trial.position for trial in views), default=0) + 1
    dots = []
    for number, trial in enumerate(views):
        if trial.arm not in (row.baseline, row.candidate):
            continue
        value = trial.values.get(row.metric)
        shown = value if value is not None and math.isfinite(value) else None
        x = x_of(trial, most)
        value_text = units.quantity(shown, row.unit) if shown is not None else "no value"
        status = "" if trial.ok else f"; {trial.status}: {trial.reason or 'no reason was given'}"
        text = f"block {trial.block}, place {trial.position + 1}, {trial.arm}: {value_text}{status}"
        dots.append(Dot(number=number, block=trial.block, x=x, y=shown, ok=trial.ok, baseline=trial.arm == row.baseline, text=text))
    return dots


def label_of(row: Judged, dots: Sequence[Dot]) -> str:
    spoilt = sum(not dot.ok for dot in dots)
    return (
        f"{sentences.claim(row)}. {len(dots)} trials by block; {formatting.direction(row.better)}. "
        + (f"{spoilt} of them do not count. " if spoilt else "")
        + "The table below holds every value."
    )


def pairs(dots: Sequence[Dot]) -> list[tuple[Dot, Dot]]:
    """The blocks in which both arms left a value, baseline first."""
    of_block: dict[int, dict[bool, Dot]] = {}
    for dot in dots:
        if dot.y is not None:
            of_block.setdefault(dot.block, {})[dot.baseline] = dot
    return [(found[True], found[False]) for _, found in sorted(of_block.items()) if len(found) == 2]


def change(first: Dot, second: Dot) -> Dot:
    """A block's change from baseline to candidate, as a dot whose `y` is the log ratio."""
    ratio, ok = (second.y or 1) / (first.y or 1), first.ok and second.ok
    text = f"block {first.block}: {formatting.per_cent(ratio - 1)}" + ("" if ok else ", not counted")
    return Dot(number=-1, block=first.block, x=first.block, y=math.log(ratio), ok=ok, baseline=False, text=text)


def few(blocks: Sequence[int], most: int) -> list[int]:
    """Some of the blocks, evenly spaced, including the first."""
    return list(blocks[:: max(1, math.ceil(len(blocks) / most))])


def _step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * (1 - 1e-9))


def nice_changes(low: float, high: float) -> list[float]:
    """Round changes between two fractions, as marks of an axis: even steps near zero, else halves, tenths, hundredths and multiples."""
    if math.log1p(high) - math.log1p(low) < 1:
        step = _step((high - low) / 5)
        first = math.ceil(low / step - 1e-9)
        return [round(number * step, 9) for number in range(first, math.floor(high / step + 1e-9) + 1)]
    inside = _ratios((1, 2, 5), low, high)
    if len(inside) < 3:
        return _ratios((1, 1.5, 2, 3, 5, 7), low, high)
    return inside if len(inside) <= 5 else [ratio for ratio in inside if math.log10(1 + ratio) % 1 < 1e-9]


def _ratios(steps: Sequence[float], low: float, high: float) -> list[float]:
    """The changes between two fractions whose ratio is one of these steps times a power of ten."""
    ratios = (10.0**power * step for power in range(-9, 9) for step in steps)
    return [round(ratio - 1, 12) for ratio in ratios if low <= ratio - 1 <= high]


def tick(change: float) -> str:
    """A round change without needless decimals."""
    text = f"{100 * change:+,.3f}".rstrip("0").rstrip(".")
    return units.signed_minus("0" if float(text.replace(",", "")) == 0 else text) + f"{THIN}%"
