"""`perfproof blame`: from two builds to the functions and lines that bring a change, and the smallest diff that takes it back.

In order: both builds are made and counted once; the first count that differs is the change, else the scenario's time, where the paired rule
finds that it changed. The tables of functions say where to look. Then mixtures of the two are counted, or timed, until the guilty units are
found; each is narrowed to its hunks. The diff that takes the change back is written, and the scenario's answer with it. Every trial is
kept, so the same command goes on where it was ended.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.blame import blame_words, guilty_units, other_packages, suspects
from perfproof.changes.blame.difference import Difference
from perfproof.changes.blame.finding import Blame
from perfproof.changes.blame.mixture_trials import CountedMixtures, Ends, Mixtures, Say, measured_ends
from perfproof.changes.blame.other_packages import Beside
from perfproof.changes.blame.search import Found, OutOfBudget, Units
from perfproof.changes.blame.timed_mixtures import LEAST as LEAST_OF_TIMES
from perfproof.changes.blame.timed_mixtures import Left, TimedMixtures, timed_metric, whole_change
from perfproof.changes.blame.upstream_commits import Clone, clone_of
from perfproof.commands import record_verdicts
from perfproof.executor import held
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.history.upstream_notes import UpstreamChange, between, load_upstream
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, base_name, is_timed, metric
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks import catalog
from perfproof.run.host.preflight import Start
from perfproof.run.host.time_budget import counted_down
from perfproof.tracking.confirm_step import Measuring, taking_turns
from perfproof.tracking.released_scenario import NamedBuild, OpenRunners, alone, build_of, runners_on


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRequest:
    """A scenario and two builds; the metric (None: the first count that differs, else a time), the smallest share of the change that is
    looked for (None: the usual one), the minutes that it may take (None: as many as it needs), where things lie, and how a run of times
    starts (None: at once). `clone` names the commits that changed guilty lines, between two `commits` (None: the tags of the versions)."""

    scenario: Scenario
    good: NamedBuild
    bad: NamedBuild
    metric: str | None
    least: float | None
    budget: float | None
    builds: Path
    results: Path
    history: Path
    report: Path | None
    as_json: bool
    seed: int = 0
    start: Start | None = None
    clone: Path | None = None
    commits: tuple[str, str] | None = None


class Unfinished(CannotRun):
    """The budget ended the search before there was anything to search."""

    exit_code = EXIT_INCONCLUSIVE


def perform(request: BlameRequest, console: Console | None = None, runners: OpenRunners | None = None) -> int:
    """Finds who is guilty, prints it and returns the exit code: inconclusive where nothing was found.

    `runners` opens the runners of a plan; tests pass their own. Raises `BadInput` for faults that are known before anything is made,
    `CannotRun` where the builds can't be measured or do not differ.
    """
    console = console or Console()
    _check(request)
    record_verdicts.clear(request.report)
    say = partial(Console(stderr=True).print if request.as_json else console.print, highlight=False, markup=False, soft_wrap=True)
    found = blame(request, say, runners or runners_on(request.builds, say))
    document, told = blame_words.document(found), list(blame_words.sentences(found))
    (found.folder / "blame.json").write_text(json.dumps(document, indent=1) + "\n")
    if request.report is not None:
        diff = found.diff_back.read_text(encoding="utf-8", errors="replace") if found.diff_back else ""
        record_verdicts.show_blame(told[0], told[1:], document, diff, request.report)
        say(f"report: {request.report}")
    if request.as_json:
        print(json.dumps(document, indent=1))
    else:
        for sentence in told:
            console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    return EXIT_PASS if found.named and found.blamed.complete else EXIT_INCONCLUSIVE


def _check(request: BlameRequest) -> None:
    """Raises `BadInput` for a question without an answer, as far as that shows before anything is made."""
    scenario, wanted = request.scenario, request.metric
    if request.good.docs == request.bad.docs and request.good.name == request.bad.name:
        raise BadInput(f"--good and --bad are the same build, {request.good.word}: name one without the change and one with it")
    if wanted is not None and base_name(wanted) in METRICS and is_timed(wanted):
        timed_metric(scenario, wanted)
    elif wanted is not None and base_name(wanted) not in METRICS and wanted not in {choice.name for choice in scenario.metrics}:
        names = ", ".join(choice.name for choice in scenario.metrics)
        raise BadInput(f"--metric {wanted}: there is no such metric; {scenario.name} has {names}")
    kinds = {metric(choice.name).kind for choice in scenario.metrics}
    if wanted is None and not scenario.workload.counted and not kinds & {"time", "rate", "witness", "count"}:
        raise BadInput(
            f"{scenario.name} measures no count and no time, which mixtures of builds are compared by: take a scenario that does"
        )


def blame(request: BlameRequest, say: Callable[[str], None], runners: OpenRunners) -> Blame:
    """The whole of it. Raises `CannotRun` where nothing differs between the two builds."""
    left = counted_down(request.budget)
    ready = {which: _ready(request, which, build, say) for which, build in (("good", request.good), ("bad", request.bad))}
    difference = Difference(*(one.fingerprint.package.parent for one in ready.values()))
    differs = other_packages.beside(ready["good"], ready["bad"], request.builds.resolve() / ".logs" / "packages.log")
    if not difference.paths and not differs.parts:
        raise CannotRun(
            f"{request.good.word} and {request.bad.word} do not differ, neither in vLLM's files nor in their packages: there is nothing to "
            "find"
        )
    folder = folder_of(request, ready, differs)
    measuring = Measuring(results=folder, seed=request.seed, runners=runners, console=Console(stderr=True), start=None)
    with held(folder):
        return _found(request, ready, difference, differs, measuring, say, left)


def _found(
    request: BlameRequest,
    ready: dict[str, ReadyBuild],
    difference: Difference,
    differs: Beside,
    measuring: Measuring,
    say: Callable[[str], None],
    left: Callable[[], float | None],
) -> Blame:
    scenario, clone = shortened(request.scenario, request.metric), _clone(request, ready)
    say(f"counting {request.good.word} and {request.bad.word}: {scenario.name}")
    records = measured_ends(scenario, request.good, request.bad, measuring)
    ends = Ends(good=request.good, bad=request.bad, records=records, metric=_metric(request, scenario, records, say))
    rounds = {which: suspects.round_of(measuring.results / which, record, ends.metric) for which, record in records.items()}
    tables = [one for one in rounds.values() if one is not None]
    shares = suspects.split(*tables) if len(tables) == len(rounds) else []
    suspicion = suspects.ran(tables, shares, exercised(scenario))
    if is_timed(ends.metric):
        search = _by_times(request, ends, difference, measuring, say, left)
    else:
        search = _by_counts(request, scenario, ends, difference, measuring, say, left)
    say(blame_words.change(ends.metric, *search.values))
    blamed = search.find(suspicion)
    blamed = dataclasses.replace(blamed, guilty=tuple(search.mixtures.measured(one, blamed.support) for one in blamed.guilty))
    lines = {unit: difference.lines_of(unit) for one in blamed.guilty for unit in (*one.units, *one.hunks)}
    diff_back, answer = _taken_back(blamed, difference, search, measuring)
    packages = other_packages.factor(blamed, search.least, (request.good, request.bad), differs, search.mixtures, say, measuring.results)
    return Blame(
        folder=measuring.results,
        scenario=scenario.name,
        builds=(request.good.word, request.bad.word),
        metric=ends.metric,
        values=search.values,
        blamed=blamed,
        lines=lines,
        along={unit: tuple(difference.brought_along("back", unit)) for one in blamed.guilty for unit in one.units},
        shares=tuple(shares),
        tried=search.mixtures.tried,
        diff_back=diff_back,
        answer=answer,
        packages=packages,
        elsewhere=differs,
        lies_in=other_packages.lies_in(blamed, search.least, packages, differs),
        known=tuple(_known(request, ready, scenario.name, ends.metric)),
        commits={} if clone is None else {unit: clone.behind(one, unit, lines) for one in blamed.guilty for unit in one.units},
        seconds=sum(one.took for one in records.values()) + sum(one.seconds for one in search.mixtures.tried),
    )


def _metric(request: BlameRequest, scenario: Scenario, records: Mapping[str, Record], say: Callable[[str], None]) -> str:
    """The count that shows the change, or the time to look at: the one asked for, or the first primary one where no count differs."""
    wanted = request.metric
    if wanted is None or not (base_name(wanted) in METRICS and is_timed(wanted)):
        if (found := suspects.changed_count(scenario, records["good"], records["bad"], wanted)) is not None:
            return found
        say(f"no count of {scenario.name} differs between {request.good.word} and {request.bad.word}")
    timed = timed_metric(request.scenario, wanted)
    if timed is None:
        raise CannotRun(
            f"no count of {scenario.name} differs between {request.good.word} and {request.bad.word}, and no time of it decides: "
            "--metric names a time"
        )
    return timed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """How a change is looked for: the values of both builds, the smallest share that matters, what answers for mixtures, the search, and
    what the scenario says of the bad build with units taken back."""

    values: tuple[float, float]
    least: float
    mixtures: Mixtures
    find: Callable[[Mapping[str, float]], Found]
    answer: Callable[[Units], str]


def _by_counts(
    request: BlameRequest, scenario: Scenario, ends: Ends, difference: Difference, measuring: Measuring, say: Say, left: Left
) -> _Search:
    mixtures = CountedMixtures(scenario, ends, difference, measuring, say, left)
    least, good = request.least or guilty_units.LEAST, ends.value("good")

    def answer(units: Units) -> str:
        told = mixtures.told("back", units)
        return blame_words.answer(ends.metric, good, None if told is None else told.value)

    return _Search(
        values=(good, ends.value("bad")),
        least=least,
        mixtures=mixtures,
        find=lambda suspicion: guilty_units.find(difference, suspicion, mixtures.ask, lambda: mixtures.trials, say, least=least),
        answer=answer,
    )


def _by_times(request: BlameRequest, ends: Ends, difference: Difference, measuring: Measuring, say: Say, left: Left) -> _Search:
    say(f"measuring {ends.metric} of both builds, in pairs")
    scenario, measuring = taking_turns(request.scenario, dataclasses.replace(measuring, start=request.start))
    try:
        whole = whole_change(scenario, request.good, request.bad, ends.metric, measuring, left)
    except OutOfBudget as spent:
        raise Unfinished(
            f"the budget of {request.budget:g} minutes was over before {ends.metric} of both builds was known: the same command goes on"
        ) from spent
    mixtures, least = TimedMixtures(scenario, ends, whole, difference, measuring, say, left), request.least or LEAST_OF_TIMES

    def find(suspicion: Mapping[str, float]) -> Found:
        return guilty_units.find_roughly_first(
            difference, suspicion, mixtures.to, mixtures.differs, lambda: mixtures.trials, say, least=least
        )

    return _Search(values=whole.values, least=least, mixtures=mixtures, find=find, answer=mixtures.verdict)


def _ready(request: BlameRequest, which: str, build: NamedBuild, say: Callable[[str], None]) -> ReadyBuild:
    """A build made ready. Raises `BadInput` that names the option."""
    try:
        return prepare(build_of(alone(request.scenario, build)), request.builds, say)
    except BadInput as error:
        raise BadInput(*(f"--{which} {build.word}: {_OF_BUILD.sub('', fault)}" for fault in error.faults)) from None


_OF_BUILD = re.compile(r"^(?:\S+: )?builds?[ .]tracked(?:\.\w+)?: ")
"""What a fault of a build begins with: the name that it has in a scenario of its own, which nobody typed."""


def folder_of(request: BlameRequest, ready: Mapping[str, ReadyBuild], differs: Beside) -> Path:
    """The results folder of a question: other files or packages of the builds, another metric or workload have another folder, whatever
    the builds are called."""
    builds = [[request.good.word, request.bad.word], *([one.id, one.fingerprint.sources, one.lock] for one in ready.values())]
    said = json.dumps([request.scenario.digest, request.metric, builds, differs.state])
    name = f"{request.scenario.name}-{request.good.slug}-{request.bad.slug}-{hashlib.sha256(said.encode()).hexdigest()[:6]}"
    return request.results / name


def shortened(scenario: Scenario, metric: str | None) -> Scenario:
    """The scenario as short as its counts allow: of one case where a trial can leave out others, and timed as little as can be."""
    case = metric.partition("@")[2] if metric and "@" in metric else scenario.workload.case
    changes = scenario.workload.counted_once(case)
    if not changes:
        return scenario
    definition = {**scenario.definition, "workload": {**scenario.definition["workload"], **changes}}
    made = scenario_of(definition, source=scenario.source, folder=Path(scenario.source).parent)
    return dataclasses.replace(made, exercises=scenario.exercises, device=scenario.device)


def exercised(scenario: Scenario) -> tuple[str, ...]:
    """The functions that a scenario is about, by its own word and by its benchmark's."""
    named = catalog.bench(scenario.workload.benchmark).exercises if scenario.workload.benchmark else ()
    return (*scenario.exercises, *named)


def _taken_back(blamed: Found, difference: Difference, search: _Search, measuring: Measuring) -> tuple[Path | None, str]:
    """The diff that takes the change back, and what the scenario says of the bad build with it."""
    if not blamed.back:
        return None, ""
    file = measuring.results / "back.diff"
    file.write_bytes(difference.mixture("back", blamed.back).diff.encode("utf-8", "surrogateescape"))
    try:
        return file, search.answer(blamed.back)
    except OutOfBudget:
        return file, "not measured: the budget is spent"


def _clone(request: BlameRequest, ready: Mapping[str, ReadyBuild]) -> Clone | None:
    """The clone that names commits, if there is one. Raises `BadInput` where it lacks a build's version."""
    if request.clone is None:
        return None
    if request.commits is not None:
        return Clone(folder=request.clone, good=request.commits[0], bad=request.commits[1])
    good, bad = (ready[which].fingerprint.vllm_version for which in ("good", "bad"))
    return clone_of(request.clone, (good, bad))


def _known(request: BlameRequest, ready: dict[str, ReadyBuild], scenario: str, metric: str) -> list[UpstreamChange]:
    """What upstream is known to have changed between the two, by our list."""
    versions = [ready[which].fingerprint.vllm_version for which in ("good", "bad")]
    return between(load_upstream(request.history), scenario, metric, *versions)
