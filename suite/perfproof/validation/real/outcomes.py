"""The kept line of a run on a real machine: JSON that is small enough to commit and complete enough to judge again.

A `Run` holds the numbers behind its verdict, trial by trial; `verdict_of` pairs and judges them like the records of a results folder. A
`Sitting` holds the rounds for the other tools. Lines are appended as runs end.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perfproof.analysis.stats.alpha_spending import Spending, one_look, sequential
from perfproof.analysis.stats.samples import Floats, Observation, Status, pair
from perfproof.analysis.verdicts.verdict import Verdict, judge
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.metrics import metric

SCHEMA = 1
ROUND_UNITS = 1e7
"""Units of a kept round in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial: its block (from 1), place in it, arm ("a" baseline, "b" candidate), status, and the metric's value in base units.

    `added` is what the busy wait added, as a share of the time that `Run.of` names; 0 in the baseline. `steal` and `foreign` are
    shares of the CPU time, None where the machine did not tell. `seconds` is the trial's wall time, imports and server starts apart.
    `rounds` are the timed rounds of a microbenchmark, in units of 0.1 microseconds: what the other tools look at.
    """

    block: int
    position: int
    arm: str
    status: str
    value: float | None
    added: float
    steal: float | None
    foreign: float | None
    seconds: float
    rounds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run with a known slowdown in per cent, its verdict at that time, and its trials.

    `looks` are the blocks of the planned looks, `family` the comparisons that shared the error. `cut` says that it was ended before it was
    decided. `of` says of what `Trial.added` is a share.
    """

    workload: str
    percent: int
    number: int
    machine: str
    when: str
    vllm: str
    metric: str
    margin: float
    looks: tuple[int, ...]
    family: int
    verdict: str
    effect: float | None
    mde: float | None
    blocks: int
    cut: bool
    of: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """All trials of the baseline, then all of the candidate: seconds of their rounds, shape (trials, rounds) each.

    `seconds` is the wall time of the trials, imports apart.
    """

    percent: int
    number: int
    machine: str
    when: str
    seconds: float
    baseline: tuple[tuple[float, ...], ...]
    candidate: tuple[tuple[float, ...], ...]


def spending_of(run: Run) -> Spending:
    """The looks that the run planned."""
    if len(run.looks) == 1:
        return one_look(run.looks[0], 1, run.family)
    return sequential(1, run.family, run.looks)


def verdict_of(run: Run) -> Verdict:
    """The verdict on a run's trials, computed again. Source: `analysis.verdicts.verdict.judge`."""
    row = metric(run.metric)
    # Of a block that was measured again, the last trials count, as in a results folder.
    last = {(trial.block, trial.arm): trial for trial in run.trials}
    observations = [
        Observation(
            block=trial.block,
            arm=trial.arm,
            value=trial.value,
            status=Status(trial.status),
            reason="" if trial.status == "ok" else trial.status,
            position=trial.position,
        )
        for trial in last.values()
    ]
    sample = pair(observations, baseline="a", candidate="b", metric=run.metric, unit=row.unit, better=row.better)
    return judge(sample, spending_of(run), margin=run.margin)


def rounds_of(run: Run) -> tuple[Floats, Floats]:
    """Seconds of the rounds of both arms over a run's whole blocks, shape (blocks, rounds) each, in the order of blocks."""
    sides: dict[str, dict[int, tuple[int, ...]]] = {"a": {}, "b": {}}
    for trial in run.trials:
        sides[trial.arm].pop(trial.block, None)
        if trial.status == "ok":
            sides[trial.arm][trial.block] = trial.rounds
    both = sorted(sides["a"].keys() & sides["b"].keys())
    first, second = (np.array([sides[arm][block] for block in both], dtype=float) / ROUND_UNITS for arm in ("a", "b"))
    return first, second


def append(file: Path, line: Run | Sitting) -> None:
    """Appends a line, completely or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kind = "run" if isinstance(line, Run) else "sitting"
    fields = {name: value for name, value in dataclasses.asdict(line).items() if name != "trials"}
    if isinstance(line, Run):
        fields["trials"] = [list(dataclasses.asdict(trial).values()) for trial in line.trials]
    with file.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps({"schema": SCHEMA, "kind": kind, **fields}, separators=(",", ":")) + "\n")


def read(folder: Path) -> tuple[list[Run], list[Sitting]]:
    """Every run and sitting of the folder's files. Raises `BadInput` for a line of another schema."""
    runs, sittings = [], []
    for file in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            line = json.loads(text)
            if line.pop("schema") != SCHEMA:
                raise BadInput(f"{file}:{number}: schema: expected {SCHEMA}")
            if line.pop("kind") == "run":
                runs.append(_run(line))
            else:
                sides = {side: tuple(tuple(rounds) for rounds in line[side]) for side in ("baseline", "candidate")}
                sittings.append(Sitting(**{**line, **sides}))
    return runs, sittings


def _run(line: dict[str, Any]) -> Run:
    names = [field.name for field in dataclasses.fields(Trial)]
    trials = tuple(Trial(**{**dict(zip(names, values, strict=True)), "rounds": tuple(values[-1])}) for values in line["trials"])
    return Run(**{**line, "looks": tuple(line["looks"]), "trials": trials})
