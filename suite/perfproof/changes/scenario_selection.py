"""Which scenarios a change is measured by: the pure choice of `selection_rules`, fed with the files, sources and machine that are there.

First by the names of the touched files, before anything is made; then by what differs between the two builds. Scenarios for another
device, neighbours of the touched functions and, in the quick profile, sweeps are left out and named.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import COMPLETE, identity
from perfproof.changes import selection_rules
from perfproof.changes.countable_functions import Watching, watching
from perfproof.changes.selection_rules import Choice, Near, TouchedModule
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.kinds import kind_of
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.scenario import OverlayBuild, Profile, Scenario
from perfproof.run.checks import catalog

MOST_NEAR = 6
NAMED = "names none of the touched code (exercises), and is measured because it was asked for"
GUESSED = "no scenario names the touched code (exercises); a whole vLLM may run it, and its calls tell"
"""Reasons that hold until the calls are counted."""
NEIGHBOURS = ("not measured (sweeps", "not measured (exercising")
"""Notes for who runs the command, not for a pull request."""


def scenario_files() -> list[Path]:
    """The scenario files that there are: of the folder `scenarios` here, else of the suite's own checkout."""
    for folder in (Path("scenarios"), PACKAGE.parents[1] / "scenarios"):
        if found := sorted(folder.glob("*.yaml")):
            return found
    raise BadInput("there is no folder 'scenarios' here: run this in a checkout of perfproof, or name files with --scenarios")


def touching(scenarios: Sequence[Scenario], paths: Sequence[str]) -> list[Scenario]:
    """Those that exercise a touched file."""
    modules = [selection_rules.module_of(path) for path in paths]
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    found = {
        one.scenario for one in selection_rules.choose([TouchedModule(module=name, names=None, uses={}) for name in modules], exercised)
    }
    return [scenario for scenario in scenarios if scenario.name in found]


def perhaps(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> list[Scenario]:
    """Those that start a whole vLLM, the nearest to the touched files first: where none names these, one of them may run them all the same,
    and its calls tell."""
    names = [near.scenario for near in _near(scenarios, paths, package)]
    whole = [scenario for scenario in scenarios if kind_of(scenario.workload).scope not in ("part", "host")]
    return sorted(whole, key=lambda one: names.index(one.name) if one.name in names else len(names))


def by_files(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> Sequence[Scenario]:
    """As `touching`, else as `perhaps`. Raises `BadInput` with the nearest where there are none; `package` is the base's vLLM, where it is
    there already."""
    found = touching(scenarios, paths) or perhaps(scenarios, paths, package)
    if not found:
        raise nothing_exercises(scenarios, paths, package)
    return found


def nothing_exercises(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> BadInput:
    """That no scenario can be asked of these files, with the nearest that there are."""
    near = _near(scenarios, paths, package)
    return BadInput(
        f"no scenario exercises what the change touches: {files(paths)}",
        *(f"near: {one.scenario}: {one.reason}" for one in near[:MOST_NEAR]),
        *([] if near else ["near: no scenario is in the same folder of vLLM either"]),
        "what to do: name scenarios with --scenarios scenarios/NAME.yaml, or write one (docs/scenarios.md)",
    )


def _near(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> Sequence[Near]:
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    return selection_rules.nearest([selection_rules.module_of(path) for path in paths], exercised, _imports(exercised, package))


def package_of(build: OverlayBuild, builds: Path) -> Path | None:
    """Where the vLLM below an overlay lies, if it was made or looked at before."""
    name = identity(foundation(build))
    for kept in (builds / name / COMPLETE, builds / f"{name}.json"):
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
            return Path(json.loads(kept.read_text())["fingerprint"]["package"])
    return None


def _imports(exercised: Mapping[str, Sequence[str]], package: Path | None) -> dict[str, frozenset[str]]:
    """What every exercised module imports, as far as its source is there."""
    found: dict[str, frozenset[str]] = {}
    for module in {target.partition(":")[0] for targets in exercised.values() for target in targets} if package else ():
        stem = package.parent.joinpath(*module.split(".")) if package else Path()
        for file, is_package in ((stem.with_suffix(".py"), False), (stem / "__init__.py", True)):
            if source := _source(file):
                with contextlib.suppress(SyntaxError):
                    found[module] = selection_rules.imports_of(module, source, package=is_package)
    return found


def differences(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> list[TouchedModule]:
    """What differs between the two builds in each touched file that a scenario exercises: nothing is asked of the others."""
    roots = [build.fingerprint.package.parent for build in (base, changed)]
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    asked = [path for path in paths if selection_rules.module_of(path) in exercised]
    return [selection_rules.touched(path, *(_source(root / path) for root in roots)) for path in asked]


def watched(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> Watching:
    """The functions that a change touches and that are counted as they are called, those in files that a scenario exercises first."""
    before, after = (build.fingerprint.package.parent for build in (base, changed))
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    ordered = sorted(paths, key=lambda path: selection_rules.module_of(path) not in exercised)
    return watching((path, _source(before / path), _source(after / path)) for path in ordered)


def _source(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The scenarios to measure, by name why each, and in sentences what is left and why. `guessed`: none of them names what changed, and
    they are about it only where they are seen to call it."""

    scenarios: tuple[Scenario, ...]
    reasons: Mapping[str, str]
    left: tuple[str, ...]
    guessed: bool

    @property
    def told(self) -> list[str]:
        """Everything in sentences."""
        return [*told(self.reasons), *self.left]


def choose(
    scenarios: Sequence[Scenario],
    changes: Sequence[TouchedModule],
    device: str,
    profile: Profile,
    *,
    picked: bool,
    idle: Collection[str] = (),
) -> Chosen:
    """The scenarios to measure, why these, and why not others; all of them where the user `picked`. Where none names what changed: of those
    that start a whole vLLM the first about answers and the first about times.

    `device` is what the base runs on; the `idle` are known never to run what changed, and left where one names that. Raises
    `CannotRun` where none runs on this machine.
    """
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    choices = {choice.scenario: choice for choice in selection_rules.choose(changes, exercised)}
    if picked:
        reasons = {one.name: _reason(choices.get(one.name), NAMED) for one in scenarios}
        return Chosen(scenarios=tuple(scenarios), reasons=reasons, left=(), guessed=False)
    if not choices:
        return _guessed(scenarios, device)
    run, left = selection_rules.picked(list(choices.values()))
    of_name = {scenario.name: scenario for scenario in scenarios}
    here = [of_name[choice.scenario] for choice in run if of_name[choice.scenario].device in (None, device or "cpu")]
    elsewhere = [choice.scenario for choice in run if of_name[choice.scenario] not in here]
    sure = any(choices[one.name].level == "function" and one.name not in idle for one in here)
    never = [one for one in here if sure and one.name in idle]
    asked = selection_rules.one_a_question([one for one in here if one not in never])
    chosen = _few(asked, profile)
    if not chosen:
        raise CannotRun(f"what the change touches is measured on another device only than this {device or 'cpu'}: {', '.join(elsewhere)}")
    more = [scenario.name for scenario in asked if scenario not in chosen]
    passed = {
        "not measured (earlier changes have shown that they do not run what changed)": [one.name for one in never],
        "not measured (sweeps, for --profile standard)": more,
        "not measured (exercising other functions of the same files)": [choice.scenario for choice in left],
        "not measured (needing another device)": elsewhere,
    }
    return Chosen(
        scenarios=tuple(chosen),
        reasons={one.name: _reason(choices[one.name], "") for one in chosen},
        left=tuple(f"{why}: {', '.join(names)}" for why, names in passed.items() if names),
        guessed=False,
    )


def _guessed(scenarios: Sequence[Scenario], device: str) -> Chosen:
    """Of scenarios that start a whole vLLM, the first about answers and the first about times."""
    here = [one for one in scenarios if one.device in (None, device or "cpu")]
    kinds = {one.name: kind_of(one.workload) for one in here}
    answers = next((one for one in here if kinds[one.name].judged_by == "bits"), None)
    times = next((one for one in here if kinds[one.name].scope == "end to end"), None)
    found = tuple(one for one in (answers, times) if one is not None)
    if not found:
        raise CannotRun(f"no scenario for this {device or 'cpu'} names what the change touches, nor starts a whole vLLM that might run it")
    return Chosen(scenarios=found, reasons={one.name: GUESSED for one in found}, left=(), guessed=True)


def _reason(choice: Choice | None, otherwise: str) -> str:
    return "; ".join(choice.reasons[:4]) if choice else otherwise


def told(reasons: Mapping[str, str]) -> list[str]:
    """Why each is measured, those with the same reason together."""
    of_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        of_reason.setdefault(reason, []).append(name)
    return [
        f"{', '.join(names)}: {reason if len(names) == 1 else reason.replace('it exercises', 'they exercise')}"
        for reason, names in of_reason.items()
    ]


def _few(scenarios: Iterable[Scenario], profile: Profile) -> list[Scenario]:
    """In the quick profile a sweep over sizes is left out where the same benchmark is measured at one size."""
    found = list(scenarios)
    single = {one.workload.benchmark for one in found if one.workload.sizes < 2} - {""}
    sweeps = [one for one in found if one.workload.sizes > 1 and one.workload.benchmark in single]
    return [one for one in found if profile != "quick" or one not in sweeps]


def files(paths: Sequence[str], most: int = 6) -> str:
    return few(paths, most)
