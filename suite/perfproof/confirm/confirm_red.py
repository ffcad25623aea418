"""`perfproof confirm`: two builds and a workload, measured in turns on this host, to one line and an exit code."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario, judge_records, spending_of
from perfproof.analysis.stats import power
from perfproof.analysis.trials.paired_trials import paired
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.confirm import workloads
from perfproof.confirm.answer import Answer, Claims, answer
from perfproof.executor import conduct
from perfproof.importers import perf_eval_recipe
from perfproof.model.base import quantities
from perfproof.model.base.errors import BadInput
from perfproof.model.installed.scenario_folders import located
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Profile, Scenario
from perfproof.model.verdicts.judged import Judged
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks.gpu_choice import choose_gpus
from perfproof.run.checks.resume import here
from perfproof.run.host.preflight import Start
from perfproof.run.trials.runner import Runner
from perfproof.runners import check_arms, check_names, opened
from perfproof.tracking.released_scenario import AFTER, BEFORE, against, named_build

Open = Callable[[Plan, Path], AbstractContextManager[Callable[[Scenario], Runner]]]
"""Opens the runners of a plan, whose trials go into a results folder."""
BASE = "base"
"""The word of a candidate's build that means the baseline's: base+my.diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question: the builds by their words, the workload, the nightly's numbers as they were typed, and where it is measured."""

    baseline: str
    candidate: str
    workload: Path | None
    words: Sequence[str]
    config: str | None
    claimed: Sequence[str]
    metric: str | None
    margin: float
    profile: Profile
    blocks: int | None
    seed: int
    results: Path


def confirm(
    asked: Asked,
    start: Start,
    *,
    builds: Path,
    report: Path | None,
    budget: float | None,
    as_json: bool,
    verbose: bool = False,
    console: Console | None = None,
    open_runners: Open | None = None,
) -> int:
    """Measures what is missing and prints the answer in a line; the exit code is the answer's. With `verbose` the table of verdicts, with
    its caveats, stands above it."""
    console = console or Console(stderr=as_json)
    scenario, made = scenario_of(asked)
    claims = claims_of(asked, scenario)
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    for sentence in made.left_out if made else ():
        say(f"left out: {sentence}", style="yellow")
    for file in made.beside if made else ():
        say(f"of the same recipe, judged by itself: {run_by_itself(file, asked)}")
    plan = make_plan([scenario], asked.seed)
    check_names(plan)
    check_arms(plan, {})
    choose_gpus(plan.scenarios, partial(console.print, highlight=False, markup=False))
    with RunProgress(console, sum(len(block.order) for block in plan.blocks)) as progress:
        runners = partial(open_runners, plan, asked.results) if open_runners else partial(opened, plan, builds, asked.results, progress.say)
        done = conduct(plan, asked.results, runners, progress, alone=start.alone, settle=start.settle, budget=budget)
    done.with_trials(budget)
    _show(asked.results, console, report, scenario.name, verbose=verbose)
    found = answered(scenario, asked, claims)
    if as_json:
        print(json.dumps({"schema": 1, **asdict(found)}, indent=1))
    else:
        say(found.sentence, style="bold")
    return found.exit_code


def _show(results: Path, console: Console, report: Path | None, name: str, *, verbose: bool) -> None:
    """Writes the page, and prints the table of every metric where it is wanted; of the records that can't be read always."""
    if verbose:
        record_verdicts.show(results, console, report, only={name})
        return
    for warning in store.read(results).warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    if report is not None:
        record_verdicts.write_html(record_verdicts.page_of(results, {name})[0], report)


def run_by_itself(file: Path, asked: Asked) -> str:
    """The command that runs another scenario of the same recipe on the two builds."""
    builds = ["--baseline", asked.baseline, "--candidate", asked.candidate, "--results", str(asked.results)]
    return shlex.join(["perfproof", "run", str(file), *builds])


def scenario_of(asked: Asked) -> tuple[Scenario, workloads.Made | None]:
    """The scenario of the two builds, and what it was made of, None for one of the user's. Raises `BadInput` for no workload, or two."""
    if bool(asked.words) is (asked.workload is not None):
        raise BadInput(
            "confirm: name one workload: a scenario, a recipe of vLLM's dashboard, or a command behind two dashes (-- vllm bench serve ...)"
        )
    made = _made(asked)
    file = located(asked.workload) if made is None and asked.workload else made.file if made else Path()
    (read,) = load([file], asked.profile, None)
    before = named_build(asked.baseline, Path.cwd())
    word = asked.candidate
    after = named_build(asked.baseline + word.removeprefix(BASE) if word.startswith(f"{BASE}+") else word, Path.cwd())
    blocks = asked.blocks if asked.blocks is not None else read.blocks
    return against(read, before, after, blocks=blocks), made


def _made(asked: Asked) -> workloads.Made | None:
    """The scenario that is made of a recipe or a command line; None for a scenario of one's own."""
    if asked.words:
        return workloads.of_words(asked.words, asked.results, asked.margin)
    if asked.workload is not None and asked.workload.is_file() and perf_eval_recipe.is_recipe(asked.workload):
        return workloads.of_recipe(perf_eval_recipe.read(asked.workload), asked.config, asked.results, asked.margin)
    if asked.config is not None:
        raise BadInput("--config: chooses a load of a recipe of vLLM's dashboard; this workload is none")
    return None


def metric_of(asked: Asked, scenario: Scenario) -> str:
    """The metric that decides: the named one, else the first timed primary. Raises `BadInput` for one that decides nothing."""
    deciding = [choice.name for choice in scenario.primaries if is_timed(choice.name)]
    if asked.metric is not None and asked.metric not in deciding:
        raise BadInput(f"--metric {asked.metric}: decides nothing here; what does: {', '.join(deciding) or 'no timed metric'}")
    if not deciding:
        raise BadInput(f"{scenario.source}: has no timed metric that decides: perfproof run judges its counts")
    return asked.metric or deciding[0]


def claims_of(asked: Asked, scenario: Scenario) -> Claims:
    """The nightly's numbers in the metric's base unit. Raises `BadInput` for what is no number above 0, or of another unit."""
    row = row_of(metric_of(asked, scenario))
    values = [_claim(text, row.unit, row.name) for text in asked.claimed]
    return Claims(good=values[0] if values else None, bad=values[1] if len(values) > 1 else None)


def _claim(text: str, unit: str, name: str) -> float:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzµ/%")
    try:
        value = float(digits.replace(",", ""))
    except ValueError:
        value = math.nan
    own = text[len(digits) :]
    converted = value if not own else quantities.converted(value, own, unit)
    if converted is None or not 0 < converted < math.inf:
        raise BadInput(f"--claimed {text}: expected a number of {name}, such as 2019, or with its unit ({unit})")
    return converted


def answered(scenario: Scenario, asked: Asked, claims: Claims) -> Answer:
    """The answer from the records of this host."""
    own, _ = here([one for one in store.read(asked.results).records if one.scenario == scenario.name])
    (judged,) = judge_records(own, floors=store.read_floors(asked.results))
    name = metric_of(asked, scenario)
    row = next(one for one in judged.judged if one.metric == name)
    row = replace(row, baseline=asked.baseline, candidate=asked.candidate)
    before, after = ([value for one in kept_apart(own) if (value := _value(one, arm, name)) is not None] for arm in (BEFORE, AFTER))
    return answer(row, before, after, claims, more=_more(judged, row, own))


def _value(record: Record, arm: str, name: str) -> float | None:
    return record.measurements.get(name) if record.arm == arm and record.status == "ok" else None


def _more(judged: JudgedScenario, row: Judged, records: Sequence[Record]) -> int | None:
    """The further blocks that would settle it, as `power.settling_blocks` has them."""
    scenario = judged.scenario
    sample = paired(scenario, scenario.candidates[0], records)[row.metric]
    if sample.n < 2 or row.margin is None:
        return None
    x, margin = sample.x, np.array([math.log1p(row.margin)])
    total = power.settling_blocks(np.array([x.mean()]), np.array([x.std(ddof=1)]), margin, spending_of(scenario).looks[-1], 1.0)[0]
    return max(1, math.ceil(float(total)) - sample.n) if total <= power.MOST_BLOCKS else None
