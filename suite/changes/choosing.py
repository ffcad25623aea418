"""Which scenarios a change is measured by: the pure choice of `selecting`, fed with the files, sources and machine that are there.

First by the names of the touched files, before anything is made; then by what differs between the two builds. Scenarios for another
device, neighbours of the touched functions and, in the quick profile, sweeps are left out and named.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from suite.builds.prepare import COMPLETE, identity
from suite.builds.ready import ReadyBuild
from suite.builds.side import PACKAGE
from suite.changes import selecting
from suite.changes.selecting import Choice, TouchedModule
from suite.changes.watching import Watching, watching
from suite.model.build import foundation
from suite.model.errors import BadInput, CannotRun
from suite.model.scenario import MicroWorkload, OverlayBuild, Profile, Scenario
from suite.run import catalog

MOST_NEAR = 6
NEIGHBOURS = ("not measured (sweeps", "not measured (exercising")
"""Notes for who runs the command, not for a pull request."""


def scenario_files() -> list[Path]:
    """The scenario files that there are: of the folder `scenarios` here, else of the suite's own checkout."""
    for folder in (Path("scenarios"), PACKAGE.parent / "scenarios"):
        if found := sorted(folder.glob("*.yaml")):
            return found
    raise BadInput("there is no folder 'scenarios' here: run this in a checkout of perfproof, or name files with --scenarios")


def touching(scenarios: Sequence[Scenario], paths: Sequence[str]) -> list[Scenario]:
    """Those that exercise a touched file."""
    modules = [selecting.module_of(path) for path in paths]
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    found = {one.scenario for one in selecting.choose([TouchedModule(module=name, names=None, uses={}) for name in modules], exercised)}
    return [scenario for scenario in scenarios if scenario.name in found]


def by_files(scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None) -> Sequence[Scenario]:
    """As `touching`. Raises `BadInput` with the nearest where there are none; `package` is the base's vLLM, where it is there already."""
    found = touching(scenarios, paths)
    if not found:
        modules = [selecting.module_of(path) for path in paths]
        exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
        near = selecting.nearest(modules, exercised, _imports(exercised, package))
        raise BadInput(
            f"no scenario exercises what the change touches: {files(paths)}",
            *(f"near: {one.scenario}: {one.reason}" for one in near[:MOST_NEAR]),
            *([] if near else ["near: no scenario is in the same folder of vLLM either"]),
            "what to do: name scenarios with --scenarios scenarios/NAME.yaml, or write one (docs/scenarios.md)",
        )
    return found


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
                    found[module] = selecting.imports_of(module, source, package=is_package)
    return found


def differences(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> list[TouchedModule]:
    """What differs between the two builds in each touched file that a scenario exercises: nothing is asked of the others."""
    roots = [build.fingerprint.package.parent for build in (base, changed)]
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    asked = [path for path in paths if selecting.module_of(path) in exercised]
    return [selecting.touched(path, *(_source(root / path) for root in roots)) for path in asked]


def watched(paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild, scenarios: Sequence[Scenario]) -> Watching:
    """The functions that a change touches and that are counted as they are called, those in files that a scenario exercises first."""
    before, after = (build.fingerprint.package.parent for build in (base, changed))
    exercised = {target.partition(":")[0] for scenario in scenarios for target in catalog.exercised(scenario)}
    ordered = sorted(paths, key=lambda path: selecting.module_of(path) not in exercised)
    return watching((path, _source(before / path), _source(after / path)) for path in ordered)


def _source(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def choose(
    scenarios: Sequence[Scenario],
    changes: Sequence[TouchedModule],
    device: str,
    profile: Profile,
    *,
    picked: bool,
    idle: Collection[str] = (),
) -> tuple[list[Scenario], list[str]]:
    """The scenarios to measure, and in sentences why these, and why not others; all of them where the user `picked`.

    `device` is what the base runs on; the `idle` are known never to run what changed, and left where one names that. Raises
    `CannotRun` where none runs on this machine.
    """
    exercised = {scenario.name: catalog.exercised(scenario) for scenario in scenarios}
    choices = {choice.scenario: choice for choice in selecting.choose(changes, exercised)}
    if picked:
        return list(scenarios), _told({scenario.name: choices.get(scenario.name) for scenario in scenarios})
    run, left = selecting.picked(list(choices.values()))
    of_name = {scenario.name: scenario for scenario in scenarios}
    here = [of_name[choice.scenario] for choice in run if of_name[choice.scenario].device in (None, device or "cpu")]
    elsewhere = [choice.scenario for choice in run if of_name[choice.scenario] not in here]
    sure = any(choices[one.name].level == "function" and one.name not in idle for one in here)
    never = [one for one in here if sure and one.name in idle]
    asked = selecting.one_a_question([one for one in here if one not in never])
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
    notes = _told({scenario.name: choices[scenario.name] for scenario in chosen})
    return chosen, [*notes, *(f"{why}: {', '.join(names)}" for why, names in passed.items() if names)]


def _told(choices: Mapping[str, Choice | None]) -> list[str]:
    """Why each is measured, those with the same reason together."""
    of_reason: dict[str, list[str]] = {}
    for name, choice in choices.items():
        reason = "; ".join(choice.reasons[:4]) if choice else "exercises none of the touched code; measured because it was named"
        of_reason.setdefault(reason, []).append(name)
    return [
        f"{', '.join(names)}: {reason if len(names) == 1 else reason.replace('it exercises', 'they exercise')}"
        for reason, names in of_reason.items()
    ]


def _few(scenarios: Iterable[Scenario], profile: Profile) -> list[Scenario]:
    """In the quick profile a sweep over sizes is left out where the same benchmark is measured at one size."""
    found = list(scenarios)
    single = {one.workload.bench for one in found if isinstance(one.workload, MicroWorkload) and len(one.workload.cases) < 2}
    sweeps = [
        one for one in found if isinstance(one.workload, MicroWorkload) and len(one.workload.cases) > 1 and one.workload.bench in single
    ]
    return [one for one in found if profile != "quick" or one not in sweeps]


def files(paths: Sequence[str], most: int = 6) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")
