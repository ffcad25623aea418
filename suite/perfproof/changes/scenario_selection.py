"""Which scenarios measure a change: the pure rules of `selection_rules`, applied to the files, sources and machine that are there.

The names of the touched files choose first, before anything is made; then the differences between the two builds. Scenarios for another
device, for neighbours of the touched functions and, in the quick profile, sweeps are left out and named.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import COMPLETE, identity
from perfproof.changes import selection_rules
from perfproof.changes.countable_functions import Watching, watching
from perfproof.changes.observed.observed_calls import observed_calls, tables_for
from perfproof.changes.selection_rules import Choice, Near, TouchedModule
from perfproof.model.base.errors import CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.kinds import kind_of
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.scenario import OverlayBuild, Profile, Scenario
from perfproof.run.checks import catalog

MOST_NEAR = 6
NAMED = "names none of the touched code (exercises), and is measured because you chose it"
GUESSED = "no scenario names the touched code (exercises); a whole vLLM may run it, which its counted calls will show"
"""Reasons that hold until the calls are counted."""
NEIGHBOURS = ("not measured (sweeps", "not measured (exercising")
"""Starts of notes for the user of the command, not for a pull request."""


def touching(scenarios: Sequence[Scenario], paths: Sequence[str]) -> list[Scenario]:
    """The scenarios that exercise a touched file."""
    modules = [selection_rules.module_of(path) for path in paths]
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    found = {
        one.scenario for one in selection_rules.choose([TouchedModule(module=name, names=None, uses={}) for name in modules], exercised)
    }
    return [scenario for scenario in scenarios if scenario.name in found]


def perhaps(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> list[Scenario]:
    """The scenarios that start a whole vLLM, the nearest to the touched files first.

    Where no scenario names the files, one of these may still run them; its counted calls will show that.
    """
    names = [near.scenario for near in _near(scenarios, paths, package)]
    whole = [scenario for scenario in scenarios if kind_of(scenario.workload).scope not in ("part", "host")]
    return sorted(whole, key=lambda one: names.index(one.name) if one.name in names else len(names))


def by_files(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> Sequence[Scenario]:
    """The scenarios of `touching`, else of `perhaps`. `package` is the base's vLLM, if it is made already."""
    return touching(scenarios, paths) or perhaps(scenarios, paths, package)


def nothing_exercises(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> str:
    """Lines that no scenario exercises these files, with the nearest ones."""
    near = _near(scenarios, paths, package)
    lines = [
        f"no scenario exercises what the change touches: {files(paths)}",
        *(f"near: {one.scenario}: {one.reason}" for one in near[:MOST_NEAR]),
        *([] if near else ["near: no scenario is in the same folder of vLLM either"]),
        "what to do: name scenarios with --scenarios scenarios/NAME.yaml, or write one (docs/scenarios.md)",
    ]
    return "\n".join(lines)


def _near(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> Sequence[Near]:
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    return selection_rules.nearest([selection_rules.module_of(path) for path in paths], exercised, _imports(exercised, package))


def package_of(build: OverlayBuild, builds: Path) -> Path | None:
    """The folder of the vLLM below an overlay, if it was made or inspected before."""
    name = identity(foundation(build))
    for kept in (builds / name / COMPLETE, builds / f"{name}.json"):
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
            return Path(json.loads(kept.read_text())["fingerprint"]["package"])
    return None


def _imports(exercised: Mapping[str, Sequence[str]], package: Path | None) -> dict[str, frozenset[str]]:
    """The imports of every exercised module, as far as its source is there."""
    found: dict[str, frozenset[str]] = {}
    for module in {target.partition(":")[0] for targets in exercised.values() for target in targets} if package else ():
        stem = package.parent.joinpath(*module.split(".")) if package else Path()
        for file, is_package in ((stem.with_suffix(".py"), False), (stem / "__init__.py", True)):
            if source := _source(file):
                with contextlib.suppress(SyntaxError):
                    found[module] = selection_rules.imports_of(module, source, package=is_package)
    return found


def differences(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> list[TouchedModule]:
    """The differences between the two builds in each touched file that a scenario exercises; other files do not matter."""
    roots = [build.fingerprint.package.parent for build in (base, changed)]
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    exercised_paths = [path for path in paths if selection_rules.module_of(path) in exercised]
    return [selection_rules.touched(path, *(_source(root / path) for root in roots)) for path in exercised_paths]


def watched(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> Watching:
    """The touched functions to count as they are called, first those in files that a scenario exercises."""
    before, after = (build.fingerprint.package.parent for build in (base, changed))
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    ordered = sorted(paths, key=lambda path: selection_rules.module_of(path) not in exercised)
    return watching((path, _source(before / path), _source(after / path)) for path in ordered)


def _source(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Which of the changed functions the trials of scenarios were observed to call, by name; a scenario that was never observed is not
    there. `whole`: nothing of the change but these functions can run."""

    called: Mapping[str, tuple[str, ...]]
    exact: Collection[str]
    whole: bool

    def outweighing(self, declared: Mapping[str, Choice], names: Iterable[str]) -> Iterator[Choice]:
        """The choices of these scenarios: by what was observed where a changed function was called, else by what they declare. One that was
        observed on this very vLLM to call none is no choice."""
        for name in names:
            if functions := self.called.get(name):
                where = "on this vLLM" if name in self.exact else "on another release, or with other parameters"
                shown = few([one.partition(":")[2] for one in functions], 4)
                yield Choice(scenario=name, level="function", reasons=(f"calls {shown}, as was observed {where}",))
            elif name in declared and not (self.whole and name in self.exact):
                yield declared[name]


NO_CALLS = Calls(called={}, exact=(), whole=False)
"""Nothing was observed."""


def observed(scenarios: Iterable[Scenario], watched: Watching, base: ReadyBuild, builds: Path) -> Calls:
    """What the trials of these scenarios are known to call of the changed functions on a base."""
    tables = tables_for(base, builds)
    seen = {one.name: found for one in scenarios if (found := observed_calls(tables, one)) is not None}
    return Calls(
        called={name: found.any_of([*watched.functions, *watched.unknown]) for name, found in seen.items()},
        exact=frozenset(name for name, found in seen.items() if found.exact),
        whole=bool(watched.functions) and not watched.unknown,
    )


def calling(scenarios: Iterable[Scenario], calls: Calls) -> list[Scenario]:
    """The scenarios that were observed to call a changed function and time something; what only counts is counted for every change."""
    return [one for one in scenarios if calls.called.get(one.name) and not kind_of(one.workload).exact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The scenarios to measure, the reason for each by name, and sentences on what is left out and why.

    `guessed`: none of them names the changed code, so their results count only where they are seen to call it.
    """

    scenarios: tuple[Scenario, ...]
    reasons: Mapping[str, str]
    left: tuple[str, ...]
    guessed: bool

    @property
    def lines(self) -> list[str]:
        """Everything in sentences."""
        return [*reason_lines(self.reasons), *self.left]


def choose(
    scenarios: Sequence[Scenario],
    changes: Sequence[TouchedModule],
    device: str,
    profile: Profile,
    *,
    picked: bool,
    idle: Collection[str] = (),
    calls: Calls = NO_CALLS,
    seconds: Mapping[str, float] | None = None,
) -> Chosen:
    """The scenarios to measure, with reasons for these and against others; all of them where the user `picked` them.

    What trials were observed to call (`calls`) outweighs what a scenario declares. Where none names or calls the changed code: the first
    about answers and the first about times of those that start a whole vLLM. `device` is the base's device. The `idle` are known never to
    run the changed code, and are left out if another one names it. `seconds` are those of a trial of each scenario: of those that run the
    change equally surely those come first that were seen to call it, then the cheapest; before them one about answers that was seen to call
    it, for answers need no quiet machine. Raises `CannotRun` where none runs on this machine.
    """
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    declared = {choice.scenario: choice for choice in selection_rules.choose(changes, exercised)}
    choices = {choice.scenario: choice for choice in calls.outweighing(declared, [one.name for one in scenarios])}
    if picked:
        reasons = {one.name: _reason(choices.get(one.name), NAMED) for one in scenarios}
        return Chosen(scenarios=tuple(scenarios), reasons=reasons, left=(), guessed=False)
    silent = {"not measured (their trials were observed never to call what changed)": sorted(declared.keys() - choices.keys())}
    if not choices:
        guessed = _guessed([one for one in scenarios if one.name not in declared], device)
        return dataclasses.replace(guessed, left=_sentences(silent))
    run, left = selection_rules.picked(list(choices.values()))
    of_name = {scenario.name: scenario for scenario in scenarios}
    if seconds is not None:

        def surest(one: Choice) -> tuple[bool, int, bool, float]:
            called = bool(calls.called.get(one.scenario))
            answers = called and kind_of(of_name[one.scenario].workload).of_answers
            return not answers, selection_rules.LEVELS.index(one.level), not called, seconds.get(one.scenario, 0.0)

        run = tuple(sorted(run, key=surest))
    here = [of_name[choice.scenario] for choice in run if of_name[choice.scenario].device in (None, device or "cpu")]
    elsewhere = [choice.scenario for choice in run if of_name[choice.scenario] not in here]
    sure = any(choices[one.name].level == "function" and one.name not in idle for one in here)
    never = [one for one in here if sure and one.name in idle]
    candidates = selection_rules.one_per_workload([one for one in here if one not in never])
    chosen = _few(candidates, profile)
    if not chosen:
        raise CannotRun(
            f"all scenarios for what the change touches need another device than this {device or 'cpu'}: {', '.join(elsewhere)}"
        )
    more = [scenario.name for scenario in candidates if scenario not in chosen]
    passed = {
        **silent,
        "not measured (earlier changes have shown that they do not run what changed)": [one.name for one in never],
        "not measured (sweeps, for --profile standard)": more,
        "not measured (exercising other functions of the same files)": [choice.scenario for choice in left],
        "not measured (needing another device)": elsewhere,
    }
    return Chosen(
        scenarios=tuple(chosen),
        reasons={one.name: _reason(choices[one.name], "") for one in chosen},
        left=_sentences(passed),
        guessed=False,
    )


def _sentences(passed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(f"{why}: {', '.join(names)}" for why, names in passed.items() if names)


def _guessed(scenarios: Sequence[Scenario], device: str) -> Chosen:
    """The first scenario about answers and the first about times, of those that start a whole vLLM."""
    here = [one for one in scenarios if one.device in (None, device or "cpu")]
    kinds = {one.name: kind_of(one.workload) for one in here}
    answers = next((one for one in here if kinds[one.name].judged_by == "bits"), None)
    times = next((one for one in here if kinds[one.name].scope == "end to end"), None)
    guesses = tuple(one for one in (answers, times) if one is not None)
    if not guesses:
        raise CannotRun(f"no scenario for this {device or 'cpu'} names what the change touches or starts a whole vLLM that might run it")
    return Chosen(scenarios=guesses, reasons={one.name: GUESSED for one in guesses}, left=(), guessed=True)


def _reason(choice: Choice | None, otherwise: str) -> str:
    return "; ".join(choice.reasons[:4]) if choice else otherwise


def reason_lines(reasons: Mapping[str, str]) -> list[str]:
    """The reason for measuring each scenario; scenarios with the same reason share a line."""
    of_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        of_reason.setdefault(reason, []).append(name)
    return [
        f"{', '.join(names)}: {reason if len(names) == 1 else reason.replace('it exercises', 'they exercise')}"
        for reason, names in of_reason.items()
    ]


def _few(scenarios: Iterable[Scenario], profile: Profile) -> list[Scenario]:
    """The scenarios; in the quick profile without sweeps over sizes whose benchmark is also measured at one size."""
    kept = list(scenarios)
    single = {one.workload.benchmark for one in kept if one.workload.sizes < 2} - {""}
    sweeps = [one for one in kept if one.workload.sizes > 1 and one.workload.benchmark in single]
    return [one for one in kept if profile != "quick" or one not in sweeps]


def files(paths: Sequence[str], most: int = 6) -> str:
    return few(paths, most)
