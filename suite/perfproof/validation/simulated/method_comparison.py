"""The same trials through the tools in use today, and through perfproof: one generated table."""

from __future__ import annotations

import math
from importlib import metadata

import numpy as np

from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.validation.simulated import noise, simulated_runs
from perfproof.validation.simulated.noise import Floats, Kind, Trials
from perfproof.validation.simulated.other_tools import TOOLS, Tool
from perfproof.validation.simulated.simulated_runs import REGRESSED
from perfproof.validation.tables import BLOCKS, DELTA, Chapter, pc, source, table

PROCESSES = 12
"""Processes of each arm that every tool gets; perfproof's own looks stop at 6 to 24."""
METRICS = 40
CASES: tuple[tuple[str, Kind, float, float, bool], ...] = (
    ("no change, sd 2 %", noise.GAUSSIAN, 0.02, 0.0, False),
    ("no change, sd 5 %", noise.GAUSSIAN, 0.05, 0.0, False),
    ("no change, outliers", noise.KINDS[3], 0.02, 0.0, False),
    ("no change, drift, interleaved", noise.KINDS[1], 0.02, 0.0, False),
    ("no change, drift, as the tool is run", noise.KINDS[1], 0.02, 0.0, True),
    ("+3 %, sd 2 %", noise.GAUSSIAN, 0.02, 0.03, False),
    ("+5 %, sd 2 %", noise.GAUSSIAN, 0.02, 0.05, False),
    ("+10 %, sd 2 %", noise.GAUSSIAN, 0.02, 0.1, False),
    ("+10 %, sd 5 %", noise.GAUSSIAN, 0.05, 0.1, False),
)
"""Title, noise, block deviation, true effect, and whether all of the baseline runs before all of the candidate."""


def contest(seed: int, runs: int) -> Chapter:
    """How often each tool says "slower". `runs` are perfproof's; the other tools, slower to ask, get a quarter of them."""
    draw = source(seed, "contest")
    fewer = max(runs // 4, 20)
    tools = [tool for tool in TOOLS if tool.installed]
    answers: dict[str, list[str]] = {name: [] for name in ("looks", "one", *(tool.name for tool in tools))}
    for _, kind, sd, effect, sequentially in CASES:
        truth = math.log1p(effect)
        made = noise.trials(draw, kind, (runs, 1, BLOCKS), sd, truth)
        answers["looks"].append(pc(simulated_runs.fast(made.x, sequential(1), DELTA).any(REGRESSED) / runs))
        answers["one"].append(pc(simulated_runs.fast(made.x[..., :PROCESSES], one_look(PROCESSES), DELTA).any(REGRESSED) / runs))
        if sequentially:
            made = noise.one_after_the_other(draw, kind, (fewer, 1, PROCESSES), sd, truth)
        sides = _sides(draw, made, sd, fewer)
        for tool in tools:
            answers[tool.name].append(pc(_share(tool, *sides)))
    _any_of_forty(draw, answers, tools, runs)
    forty = f"no change, any of {METRICS} metrics, sd 2 %"
    header = ["says slower, % of runs", *(title for title, *_ in CASES), forty]
    names = {"looks": "**perfproof**, looks at 6 to 24 blocks", "one": f"**perfproof**, one look at the same {PROCESSES}"}
    rows = [[names.get(name, name), *cells] for name, cells in answers.items()]
    return Chapter(title="Beside other tools", text=f"{_preface(fewer)}\n\n{table(header, rows)}\n\n{_versions(tools)}", targets=())


def _preface(fewer: int) -> str:
    return (
        f"Every tool gets {PROCESSES} processes of {noise.ROUNDS} rounds for each arm ({fewer:,} runs a case), interleaved in random order "
        "unless the column says otherwise; processes deviate as the block deviation says, rounds within one half as much. In the column "
        "*as the tool is run* all processes of the baseline run first, as is usual, while perfproof interleaves. With no change, every "
        "*slower* is a false alarm; `pytest-benchmark` and `asv` have thresholds of 5 and 10 %, and do not detect less."
    )


def _versions(tools: list[Tool]) -> str:
    names = {"pyperf": "pyperf", "pytest_benchmark": "pytest-benchmark", "asv": "asv"}
    used = sorted({names[tool.package] for tool in tools if tool.package})
    absent = sorted({names[tool.package] for tool in TOOLS if not tool.installed})
    used_words = f"By their own code: {', '.join(f'{name} {metadata.version(name)}' for name in used) or 'none'}."
    return f"{used_words} Not installed, and left out: {', '.join(absent)}." if absent else used_words


def _sides(draw: np.random.Generator, made: Trials, sd: float, runs: int) -> tuple[Floats, Floats]:
    """Rounds of both arms, shape (runs, PROCESSES, ROUNDS), of the first metric."""
    first, second = (noise.rounds(draw, arm[:runs, 0, :PROCESSES], sd) for arm in (made.baseline, made.candidate))
    return first, second


def _share(tool: Tool, baseline: Floats, candidate: Floats) -> float:
    return float(np.mean([tool.slower(*sides) for sides in zip(baseline, candidate, strict=True)]))


def _any_of_forty(draw: np.random.Generator, answers: dict[str, list[str]], tools: list[Tool], runs: int) -> None:
    """Forty metrics without change, for perfproof six of them primary; a tool raises an alarm if it does for any of them."""
    made = noise.trials(draw, noise.GAUSSIAN, (runs, 6, BLOCKS), 0.02)
    answers["looks"].append(pc(simulated_runs.fast(made.x, sequential(6), DELTA).any(REGRESSED) / runs))
    once = one_look(PROCESSES, 6)
    answers["one"].append(pc(simulated_runs.fast(made.x[..., :PROCESSES], once, DELTA).any(REGRESSED) / runs))
    few = max(runs // 40, 10)
    metrics = noise.trials(draw, noise.GAUSSIAN, (few * METRICS, 1, PROCESSES), 0.02)
    sides = _sides(draw, metrics, 0.02, few * METRICS)
    for tool in tools:
        alarms = np.array([tool.slower(*pair) for pair in zip(*sides, strict=True)]).reshape(few, METRICS)
        answers[tool.name].append(pc(float(alarms.any(axis=1).mean())))
