"""Accuracy: how often the paired rule reports a drop that is not there, and one that is, beside the gates in use today."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from perfproof.analysis.verdicts.accuracy_verdict import EQUIVALENCE_ERROR, judge_items
from perfproof.analysis.verdicts.item_intervals import CHANGE_ERROR
from perfproof.analysis.verdicts.paired_items import pair_items
from perfproof.model.verdicts.judged import Outcome
from perfproof.validation.simulated.simulated_runs import share
from perfproof.validation.tables import Chapter, Target, pc, source, table

RIGHT = 0.77
"""Share of items that the baseline has right: GSM8K by a model of middling size."""
MARGIN = 0.01
TOLERANCE = 0.08
"""vLLM's own gate: the measured value may fall short of the expected one by this fraction of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """So many items; the candidate loses `drop` of them on balance while `flips` of them change in either direction without meaning."""

    items: int
    flips: float
    drop: float

    def draw(self, random: np.random.Generator, runs: int) -> np.ndarray:
        """Counts of items lost, won, right in both and wrong in both: an array of shape (runs, 4)."""
        lost, won = self.flips / 2 + self.drop, self.flips / 2
        return random.multinomial(self.items, [lost, won, RIGHT - lost, 1 - RIGHT - won], size=runs)


CASES = tuple(
    _Case(items=items, flips=flips, drop=drop)
    for items, flips in ((1319, 0.005), (1319, 0.02), (1319, 0.05), (200, 0.005), (50, 0.02))
    for drop in (0.0, 0.01, 0.02, 0.03, 0.05)
)


def answers(seed: int, runs: int) -> Chapter:
    """Every case through the whole rule, and through an unpaired z-test and a fixed tolerance."""
    random = source(seed, "answers")
    rows, alarms, passed = [], [], []
    for case in CASES:
        counts = case.draw(random, runs)
        outcomes = _outcomes(counts)
        regressed, equivalent = (float(np.mean([one is word for one in outcomes])) for word in (Outcome.REGRESSED, Outcome.EQUIVALENT))
        unpaired, tolerated = _unpaired(counts), _tolerance(counts)
        rows.append(
            [f"{case.items:,}", f"{case.flips:.1%}", f"{case.drop * 100:g}", *map(pc, (regressed, equivalent, unpaired, tolerated))]
        )
        if not case.drop:
            alarms.append(round(regressed * runs))
        if case.drop == MARGIN:
            passed.append(round(equivalent * runs))
    alarm, wave = (share(max(counts), runs) for counts in (alarms, passed))
    seen = next(row for case, row in zip(CASES, rows, strict=True) if (case.items, case.flips, case.drop) == (1319, 0.02, 0.03))
    header = ["items", "flips without meaning", "true drop, points", "regressed, %", "equivalent, %", "unpaired z, %", "tolerance 8 %, %"]
    text = (
        f"{runs:,} runs a case; the baseline has {RIGHT * 100:g} % right; margin {MARGIN * 100:g} point. The last two columns are how "
        "often an unpaired z-test at .05 one-sided (as lm_eval's own comparison of two runs computes it) and a fixed tolerance of 8 % (as "
        f"vLLM's own gate) would fail the candidate.\n\n{table(header, rows)}"
    )
    targets = (
        Target(
            promise="accuracy: a drop that is none is called one in at most 1 % of runs",
            measured=f"at most {pc(alarm.rate)} % (95 % bound {pc(alarm.upper)} %)",
            met=alarm.rate <= CHANGE_ERROR,
        ),
        Target(
            promise="accuracy: a drop of the margin is called equivalent in about 5 % of runs, at most 6 %",
            measured=f"at most {pc(wave.rate)} % (95 % bound {pc(wave.upper)} %)",
            met=wave.rate <= 1.2 * EQUIVALENCE_ERROR,
        ),
        Target(
            promise="accuracy: three points lost of 1,319 items with 2 % flips are called a drop in at least 95 %",
            measured=f"{seen[3]} %",
            met=float(seen[3]) >= 95,
        ),
    )
    return Chapter(title="Accuracy, item by item", text=text, targets=targets)


def _outcomes(counts: np.ndarray) -> list[Outcome]:
    """The rule's outcome of every run; runs with equal counts are judged once."""
    known: dict[tuple[int, ...], Outcome] = {}
    return [known.get(key) or known.setdefault(key, _judge(*key)) for key in map(tuple, counts.tolist())]


def _judge(lost: int, won: int, right: int, wrong: int) -> Outcome:
    numbers = (lost, won, right, wrong)
    return judge_items(pair_items("t", np.repeat([1, 0, 1, 0], numbers), np.repeat([0, 1, 1, 0], numbers)), margin=MARGIN).outcome


def _unpaired(counts: np.ndarray) -> float:
    items = counts[0].sum()
    before, after = (counts[:, [0, 2]].sum(1) / items, counts[:, [1, 2]].sum(1) / items)
    spread = np.sqrt((before * (1 - before) + after * (1 - after)) / (items - 1))
    return float(np.mean((before - after) / spread > -float(special.ndtri(0.05))))


def _tolerance(counts: np.ndarray) -> float:
    items = counts[0].sum()
    return float(np.mean(counts[:, [1, 2]].sum(1) < RIGHT * (1 - TOLERANCE) * items))
