"""From a plan to open runners: names are checked, builds prepared, versions checked, and each scenario gets the runner of its kind.

Everything a user can get wrong is refused here, before the first install.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from perfproof.analysis.judging import aa_check
from perfproof.builds import smollm
from perfproof.builds.install import editable_install, integrity, lock_file, own_patch_folders
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays import overlay
from perfproof.builds.prepare import is_made, missing, prepare
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.decode import DEFAULT_BUILD
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import (
    Build,
    EditableBuild,
    ImageBuild,
    OverlayBuild,
    PythonBuild,
    ReleaseBuild,
    Scenario,
    SmolModel,
)
from perfproof.run.checks import catalog, identical_arms, own_patch_targets, resume, runner_support
from perfproof.run.kinds import runner_of
from perfproof.run.processes import env_vars
from perfproof.run.processes.container_folders import with_folders
from perfproof.run.processes.trial_process import TAKEN
from perfproof.run.servers import config_file_flags
from perfproof.run.trials.runner import Opening, Runner

Say = Callable[[str], None]
SECOND = "second"
"""The folder below the builds for second installs of an A/A."""


def check_names(plan: Plan, versions: Mapping[str, str] | None = None) -> None:
    """Raises `BadInput` for every unknown bench, parameter, patch and flag, every missing interpreter, and every patch that does not fit
    its build's version.

    `versions` maps the key of a build to its vLLM version, for builds whose version is known only once they exist.
    """
    faults = [fault for build in plan.builds() for fault in build_faults(build)]
    for scenario in plan.scenarios:
        faults += catalog.faults(scenario, versions) + config_file_flags.faults(scenario)
        faults += runner_of(scenario).faults(scenario)
    if faults:
        raise BadInput(*faults)


def check_arms(plan: Plan, ready: Mapping[str, ReadyBuild]) -> None:
    """Raises `BadInput` for arms that run the same code. `ready` maps keys to ready builds; it is empty before any is made."""
    faults = [fault for scenario in plan.scenarios for check in (runner_support, identical_arms) for fault in check.faults(scenario, ready)]
    if faults:
        raise BadInput(*faults)


def build_faults(build: Build) -> list[str]:
    """The faults of a build that are known before anything is made; for an overlay those of its base first."""
    if isinstance(build, OverlayBuild):
        return [*build_faults(build.base), *overlay.faults_of(build)]
    if isinstance(build, EditableBuild):
        return editable_install.faults_of(build)
    if isinstance(build, ReleaseBuild):
        return lock_file.faults_of(build)
    if isinstance(build, ImageBuild):
        return []  # reading the scenario has found it
    return [fault for fault in [missing(build)] if fault]


def default_build() -> Build:
    """The build of arms that name no build."""
    return ReleaseBuild(name="default", distribution=DEFAULT_BUILD["distribution"], version=DEFAULT_BUILD["version"], requirements=())


def prepare_all(builds: Sequence[Build], folder: Path, say: Say) -> list[ReadyBuild]:
    """Every build, ready, in their order."""
    return [prepare(build, folder, say) for build in builds]


def to_make(builds: Sequence[Build], folder: Path) -> list[str]:
    """The labels of missing releases and source trees, which take minutes to make; an overlay takes seconds."""
    below = [foundation(build) for build in builds]
    return list(
        dict.fromkeys(build.label for build in below if not (isinstance(build, PythonBuild | ImageBuild) or is_made(build, folder)))
    )


def _make_models(plan: Plan, ready: Mapping[str, ReadyBuild], builds: Path, say: Say) -> None:
    """Writes out the models that come in packages, with the interpreter of the baseline, or of another arm if that is an image."""
    for scenario in plan.scenarios:
        if isinstance(scenario.workload.loads, SmolModel):
            made = [ready[scenario.builds[arm.build].key] for arm in (scenario.baseline, *scenario.candidates)]
            maker = next((one for one in made if one.container is None), made[0])
            smollm.make(scenario.workload.loads, builds, maker.interpreter, say)


def second_install(build: Build, builds: Path, say: Say) -> PythonBuild:
    """The interpreter of a second install of the same release, below `builds`.

    Two installs of one build may differ in speed (by the place of their files), and an A/A of one install can't show that.
    Raises `BadInput` for a build that can't be installed twice, `CannotRun` where the two installs don't hold the same code.
    """
    if not isinstance(build, ReleaseBuild):
        raise BadInput(f"build {build.name}: {build.label}: only a release can be installed a second time; leave out --second-install")
    first, again = prepare(build, builds, say), prepare(build, builds / SECOND, say)
    ours, theirs = first.fingerprint, again.fingerprint
    for what, one, other in (
        ("vLLM's files", ours.sources, theirs.sources),
        ("Python", ours.python, theirs.python),
        ("packages", ours.packages, theirs.packages),
    ):
        if one != other:
            raise CannotRun(f"{build.label}: the second install is another one ({what} differ): delete {builds / SECOND} and try again")
    here = Path.cwd()
    path = again.interpreter.relative_to(here) if again.interpreter.is_relative_to(here) else again.interpreter
    return PythonBuild(name=aa_check.SECOND, path=str(path))


@contextlib.contextmanager
def opened(plan: Plan, builds: Path, results: Path, say: Say, *, itself: bool = False) -> Iterator[Callable[[Scenario], Runner]]:
    """Prepares the plan's builds and gives the runner of each scenario; everything that runners keep alive ends with the context.

    A runner measures alone: servers of other runners are stopped before. With the first runner, the client of every serve scenario is
    started, so that a refused flag is reported before any trial runs.
    """
    if warning := env_vars.left_behind(os.environ, TAKEN, plan.scenarios):
        say(warning)
    ready = {build.key: made for build, made in zip(plan.builds(), prepare_all(plan.builds(), builds, say), strict=True)}
    ready = {key: with_folders(made, plan.scenarios, results) for key, made in ready.items()}
    for made in ready.values():
        integrity.remember(made)
    check_names(plan, {key: made.fingerprint.vllm_version for key, made in ready.items()})
    if not itself:
        check_arms(plan, ready)
        if faults := resume.changed_builds(plan, results, ready):
            raise BadInput(*faults)
    _make_models(plan, ready, builds, say)
    for patch in dict.fromkeys(patch for scenario in plan.scenarios for arm in scenario.arms for patch in arm.own_patches):
        for folder in {made.side.parent for made in ready.values()}:
            own_patch_folders.lay_out(patch, folder)
    for scenario in plan.scenarios:
        own_patch_targets.find_targets(scenario, ready)
    opening = Opening(ready=ready, results=results, seed=plan.seed, say=say)
    with contextlib.ExitStack() as stack:
        runners: dict[str, Runner] = {}

        def runner_for(scenario: Scenario) -> Runner:
            if not runners:
                _open(plan.scenarios, opening, runners, stack)
            runner = runners[scenario.name]
            for other in dict.fromkeys(runners.values()):
                if other is not runner:
                    other.rest()
            return runner

        yield runner_for


def _open(scenarios: Sequence[Scenario], opening: Opening, runners: dict[str, Runner], stack: contextlib.ExitStack) -> None:
    """Opens the runners of these scenarios in order, and checks each; `runners` collects them by scenario, `stack` closes them."""
    for scenario in scenarios:
        if scenario.name not in runners:
            kind = runner_of(scenario)
            alike = [one for one in scenarios if one.workload.kind == scenario.workload.kind]
            shared = alike if kind.shared else [scenario]
            runner = kind.open(shared, opening)
            runners |= dict.fromkeys([one.name for one in shared], runner)
            stack.callback(runner.close)
            runner.check()
