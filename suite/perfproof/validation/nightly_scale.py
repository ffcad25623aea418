"""200 scenarios on 30 hosts of 3 kinds every night, simulated: false alarms, how soon a 2 % step is confirmed, machine time, and storage.

`python -m perfproof.validation.nightly_scale` writes `docs/scale.md`; everything follows from the seed.

A lane is one scenario on one kind of host. Each night a lane compares tonight's build with a fixed one (the last release) by the plan's
looks. What is
simulated are blocks, from normal deviates and the very rule that judges runs; no vLLM runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfproof.analysis.stats.alpha_spending import Spending, sequential
from perfproof.analysis.stats.decision_rule import REGRESSED, decide_looks
from perfproof.analysis.stats.samples import Floats
from perfproof.validation.tables import source, table

SCENARIOS, HOSTS, KINDS = 200, 30, 3
LANES = SCENARIOS * KINDS
SPREADS = ((0.005, 0.3), (0.01, 0.3), (0.02, 0.3), (0.05, 0.1))
"""Deviations of x over blocks, and the share of scenarios that have each."""
BETWEEN = 0.002
"""The deviation of the change from host to host of a kind: drawn again for each run, which lands on any of them."""
MARGINS = (0.01, 0.02)
PRIMARIES = 3
STEP = 0.02
MINUTES = {"benchmark": 0.5, "server": 4.0}
"""Minutes of a block: a microbenchmark's, and of two servers that start fresh. Half of the scenarios are either."""
RECORD_BYTES = {"benchmark": 7_000, "server": 15_000}
"""Bytes of a record, rounded up from those of `results/validation/micro.jsonl` and `results/gpu/h200_32_cores_second`."""
POINT_BYTES, PAGE_MEGABYTES = 640, 1.9
"""Bytes of a point of a history with twelve values, and the page of one scenario's year, by `python -m tests.jobs.year_page`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How reds of a night become alarms: `shared` lanes share the error of a look; `again` measures a red again, on another host, before it
    is one."""

    name: str
    shared: int
    again: bool

    @property
    def spending(self) -> Spending:
        """The plan's looks, with the error of *regressed* and *improved* divided among the lanes."""
        plain = sequential(PRIMARIES)
        return replace(plain, looks=tuple(replace(look, change=look.change / self.shared) for look in plain.looks))


RULES = (
    Rule(name="each lane by itself", shared=1, again=False),
    Rule(name="each lane by itself, a red measured again at once (`perfproof confirm`)", shared=1, again=True),
    Rule(name="all lanes share the error", shared=LANES, again=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """Many runs of lanes: which were red, and the blocks that each took, its second measurement included."""

    red: NDArray[np.bool_]
    blocks: NDArray[np.int64]


def spreads(lanes: int, random: np.random.Generator) -> Floats:
    """The deviation of each lane's blocks."""
    values, shares = zip(*SPREADS, strict=True)
    return random.choice(values, size=lanes, p=shares)


def night(rule: Rule, spread: Floats, change: float, margin: float, random: np.random.Generator) -> Night:
    """One run of every lane; `change` is the true change of all primary metrics of it, which deviate independently."""
    first = _run(rule, spread, change, margin, random)
    if not rule.again or not first.red.any():
        return first
    again = _run(rule, spread[first.red], change, margin, random)
    red, blocks = first.red.copy(), first.blocks.copy()
    red[first.red] = again.red
    blocks[first.red] += again.blocks
    return Night(red=red, blocks=blocks)


def _run(rule: Rule, spread: Floats, change: float, margin: float, random: np.random.Generator) -> Night:
    looks, lanes = rule.spending.looks, spread.size
    host = BETWEEN * random.standard_normal((lanes, 1, 1))
    x = math.log1p(change) + host + spread[:, None, None] * random.standard_normal((lanes, PRIMARIES, looks[-1].blocks))
    flat = decide_looks(x.reshape(lanes * PRIMARIES, -1), looks, np.full(lanes * PRIMARIES, math.log1p(margin)))
    code, look = flat.code.reshape(lanes, PRIMARIES), flat.look.reshape(lanes, PRIMARIES)
    sizes = np.array([one.blocks for one in looks])
    regressed = code == REGRESSED
    red = regressed.any(axis=1)
    ends = np.where(red, np.where(regressed, look, len(looks) - 1).min(axis=1), look.max(axis=1))
    return Night(red=red, blocks=sizes[ends])


def weeks(rule: Rule, margin: float, nights: int, seed: int) -> tuple[float, float]:
    """False alarms a week where nothing changes, over all lanes, and the mean of blocks of a lane a night."""
    random = source(seed, f"quiet/{rule.name}/{margin}")
    spread = spreads(LANES, random)
    ran = [night(rule, spread, 0.0, margin, random) for _ in range(nights)]
    return 7 * sum(int(one.red.sum()) for one in ran) / nights, float(np.mean([one.blocks.mean() for one in ran]))


def nights_to_find(rule: Rule, spread: float, margin: float, lanes: int, seed: int, most: int = 60, runs: int = 1000) -> NDArray[np.int64]:
    """For each of many steps of 2 % that touch so many lanes: the first night on which one of them alarms; `most` + 1 where none did."""
    random = source(seed, f"step/{rule.name}/{spread}/{margin}/{lanes}")
    found = np.full(runs, most + 1, dtype=np.int64)
    for number in range(1, most + 1):
        waiting = np.flatnonzero(found > most)
        if not waiting.size:
            break
        red = night(rule, np.full(waiting.size * lanes, spread), STEP, margin, random).red.reshape(waiting.size, lanes).any(axis=1)
        found[waiting[red]] = number
    return found


def page(nights: int, seed: int) -> str:
    """The page, as Markdown."""
    quiet = {(rule.name, margin): weeks(rule, margin, nights, seed) for rule in RULES for margin in MARGINS}
    alarms = [[rule.name, *(_number(quiet[rule.name, margin][0], nights) for margin in MARGINS)] for rule in RULES]
    confirm = RULES[1]
    steps = [
        [
            f"{100 * spread:g} %",
            *(_found(nights_to_find(confirm, spread, margin, lanes, seed)) for margin in MARGINS for lanes in (1, KINDS)),
        ]
        for spread, _ in SPREADS
    ]
    costs = [_cost(quiet[confirm.name, margin][1], margin) for margin in MARGINS]
    points = LANES * PRIMARIES * POINT_BYTES * 365 / 1e6
    shares = ", ".join(f"{100 * spread:g} % ({100 * share:.0f} % of the scenarios)" for spread, share in SPREADS)
    return f"""# 200 scenarios, 30 hosts, every night

Simulated, not run: `python -m perfproof.validation.nightly_scale --nights {nights} --seed {seed} --out docs/scale.md` makes this page.
A *lane* is a scenario on one of {KINDS} kinds of hosts, {LANES} lanes in all; each night every
lane compares tonight's build with the last release by its plan ({", ".join(str(look.blocks) for look in sequential(1).looks)} blocks,
{PRIMARIES} primary metrics that share the error). Assumed: blocks deviate by {shares}; what a change is worth deviates by
{100 * BETWEEN:g} % from host to host; normal deviates, no drift.

## False alarms a week, all lanes together, where nothing changed

{table(["rule", *(f"margin {100 * margin:g} %" for margin in MARGINS)], alarms)}

A lane's own error (1 % for all its primary metrics) is spent {LANES} times a night. A red that is measured again before anybody is told,
on another host of its kind and with the whole plan, is an alarm only where both are red. Sharing the error among all
lanes needs no second run, and takes longer to see what is there.

## How soon a step of 2 % is confirmed

Nights until the first confirmed red, median (and the night by which 90 % are found), under the second rule, for a step in one lane and
in the lanes of all {KINDS} kinds:

{table(["blocks deviate by", *_columns()], steps)}

A step just as large as the margin is called *regressed* of one metric in half of the runs at best, for its estimate must reach the
margin; all three metrics have it here. Whoever wants steps of 2 % found in noisy lanes needs fewer of these, or more nights.

## Machine time, storage, page

{table(["", *(f"margin {100 * margin:g} %" for margin in MARGINS)], list(zip(COSTS, *costs, strict=True)))}

A block of a microbenchmark takes {MINUTES["benchmark"]:g} minutes, one of two servers that start fresh {MINUTES["server"]:g}; half of the
scenarios are either. Records have {RECORD_BYTES["benchmark"] / 1000:g} and {RECORD_BYTES["server"] / 1000:g} kB. Points of histories, what
`perfproof steps` and the page of
histories read, take {points:.0f} MB a year ({POINT_BYTES} bytes each, {PRIMARIES} a lane and night), whatever the margin.

The records of a night can go once their points are remembered; what is kept for long are points, and the records of reds. The page of
one scenario's year, {KINDS} kinds of hosts and {PRIMARIES} metrics, has {PAGE_MEGABYTES} MB (`python -m tests.jobs.year_page` makes it).
All {SCENARIOS} on one page would be {SCENARIOS * PAGE_MEGABYTES:.0f} MB, which no browser opens: make a page a scenario
(one folder of history each).
"""


COSTS = (
    "blocks a lane a night",
    "host hours a night, microbenchmarks",
    "host hours a night, servers",
    f"hours on each of {HOSTS} hosts",
    "GB of records a year",
)
"""What `_cost` gives."""


def _cost(blocks: float, margin: float) -> list[str]:
    """The costs of nights with so many blocks a lane."""
    micro, server = (LANES / 2 * blocks * MINUTES[kind] / 60 for kind in ("benchmark", "server"))
    size = sum(LANES / 2 * blocks * 2 * own * 365 / 1e9 for own in RECORD_BYTES.values())
    return [f"{blocks:.1f}", f"{micro:.0f}", f"{server:.0f}", f"{(micro + server) / HOSTS:.1f}", f"{size:.0f}"]


def _columns() -> list[str]:
    """The heads of the columns of nights: every margin with one lane and with the lanes of all kinds."""
    return [f"margin {100 * margin:g} %, {lanes} lane{'s' if lanes > 1 else ''}" for margin in MARGINS for lanes in (1, KINDS)]


def _number(value: float, nights: int) -> str:
    """Alarms a week; where there were none, in how many nights."""
    if not value:
        return f"none in {nights} nights"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _found(nights: NDArray[np.int64]) -> str:
    middle, late = (int(np.quantile(nights, share, method="inverted_cdf")) for share in (0.5, 0.9))
    most = int(nights.max())
    words = [f"{one}" if one < most or most <= 60 else "over 60" for one in (middle, late)]
    return f"{words[0]} ({words[1]})"


def main(argv: Sequence[str] | None = None) -> None:
    """Reads the arguments, prints the page, and writes it."""
    parser = argparse.ArgumentParser(prog="python -m perfproof.validation.nightly_scale", description=__doc__)
    parser.add_argument("--nights", type=int, default=100, help="quiet nights that are simulated (100)")
    parser.add_argument("--seed", type=int, default=1, help="everything follows from it (1)")
    parser.add_argument("--out", type=Path, help="also write the page here, for example docs/scale.md")
    given = parser.parse_args(argv)
    text = page(given.nights, given.seed)
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
