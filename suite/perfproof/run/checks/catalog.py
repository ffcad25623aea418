"""The registry of benchmarks and patches, read without importing vLLM.

Benchmark files are read, not imported: their constants are literals. Patch modules import nothing heavy at the top (vLLM's plugin rules
demand it), so they are imported for their `PATCH`. `faults` gives all patch faults of a scenario that show before anything is built or run.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from perfproof.builds.install.side_folder import ATTEST, PACKAGE, entry_points, patch_files
from perfproof.model.base.errors import BadInput
from perfproof.model.records.counts import METRICS as COUNTS
from perfproof.model.scenarios.metrics import NORMALIZED, is_count
from perfproof.model.scenarios.scenario import Arm, OwnPatch, ReleaseBuild, Scenario
from perfproof.patches.guard import Patch, release_key

CONSTANTS = ("PARAMETERS", "CHOICES", "COUNT_AT", "EXERCISES", "LEAST", "MEANS", "TIMES", "WITNESSES")
LEAST: Mapping[str, int] = {"warmup_rounds": 0, "seed": 0}
"""Parameters of all benchmarks that may be 0 although their defaults are positive; a benchmark's own `LEAST` names others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A benchmark file: its default parameters, the vLLM functions that it exercises, the times that it measures, the witnesses that it
    counts.

    `declared` says how small an integer may be where `least` would tell otherwise, `choices` which values a parameter may have at all,
    `count_at` how large parameters are at most in a round whose work is counted, `means` what a round is to a whole engine.
    """

    name: str
    file: Path
    parameters: Mapping[str, Any]
    exercises: tuple[str, ...]
    witnesses: tuple[str, ...]
    times: tuple[str, ...] = ("round_time",)
    declared: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    count_at: Mapping[str, int] = field(default_factory=dict)
    means: str = ""
    counted: bool = False
    """Whether it has a round whose work can be counted."""
    by_ids: bool = False
    """Whether the ids of its tests are its cases: it declares no parameters."""
    explains: bool = True
    """Whether its `extra_info` is for us: it declares what it measures."""
    tests: bool = True
    """Whether it may have tests at all, as far as reading it tells."""

    @property
    def room(self) -> str:
        """The part of a step that it belongs to, a room of `suite/perfproof/bench`; "" for none."""
        return self.name.rpartition("/")[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it leaves of a trial, case by case; counts of the host's work apart."""
        beside = (NORMALIZED,) if self.explains and "round_time" in self.times else ()
        return (*self.times, *self.witnesses, *beside)

    @property
    def counts(self) -> tuple[str, ...]:
        """What of the host's work it counts, case by case."""
        return tuple(name for name in COUNTS if is_count(name)) if self.counted else ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of vLLM that it exercises."""
        return tuple(dict.fromkeys(target.partition(":")[0] for target in self.exercises))

    def least(self, name: str) -> int | None:
        """The smallest value of a parameter: 1 if the default is a positive integer, 0 if it is 0; None for other types."""
        default = self.parameters[name]
        if type(default) is not int:
            return None
        return {**LEAST, **self.declared}.get(name, min(default, 1))


@cache
def benches(folder: Path = PACKAGE / "bench") -> dict[str, Bench]:
    """Every benchmark file by name, those of rooms by room and name. Raises `BadInput` for a file whose constants are not literals."""
    known = {}
    for file in sorted([*folder.glob("*.py"), *folder.glob("*/*.py")]):
        constants, functions = _constants(file)
        if "PARAMETERS" in constants:
            name = file.relative_to(folder).with_suffix("").as_posix()
            known[name] = _bench(name, file, constants, counted="counted_round" in functions)
    return known


def bench_at(file: Path) -> Bench:
    """The benchmark of any pytest-benchmark file, its constants optional. Raises `BadInput` for a file that Python can't read."""
    constants, _ = _constants(file)
    return dataclasses.replace(
        _bench(file.name, file, constants, counted=True),
        by_ids="PARAMETERS" not in constants,
        explains=not {"PARAMETERS", "TIMES", "WITNESSES"}.isdisjoint(constants),
        tests=_may_have_tests(ast.parse(file.read_bytes())),
    )


def _bench(name: str, file: Path, constants: Mapping[str, Any], *, counted: bool) -> Bench:
    return Bench(
        name=name,
        file=file,
        parameters=constants.get("PARAMETERS", {}),
        exercises=tuple(constants.get("EXERCISES", ())),
        witnesses=tuple(constants.get("WITNESSES", ())),
        times=tuple(constants.get("TIMES", ("round_time",))),
        declared=constants.get("LEAST", {}),
        choices=constants.get("CHOICES", {}),
        count_at=constants.get("COUNT_AT", {}),
        means=constants.get("MEANS", ""),
        counted=counted,
    )


def _may_have_tests(tree: ast.Module) -> bool:
    """Whether something in a file has a test's name, or might: a function, a class, an import, an assignment."""
    names = (getattr(node, field, None) for node in ast.walk(tree) for field in ("name", "asname", "id"))
    return any(isinstance(name, str) and (name == "*" or name.lower().startswith("test")) for name in names)


def _constants(file: Path) -> tuple[dict[str, Any], frozenset[str]]:
    """The constants of a file by name, and the names of its functions."""
    constants: dict[str, Any] = {}
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise BadInput(f"{file}: line {error.lineno}: {error.msg}") from error
    except ValueError as error:  # null bytes
        raise BadInput(f"{file}: {error}") from error
    for node in tree.body:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)] if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        for name in names:
            if name in CONSTANTS and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                try:
                    constants[name] = ast.literal_eval(node.value)
                except ValueError:
                    raise BadInput(f"{file}: line {node.lineno}: {name} must be written out as a literal") from None
    return constants, frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def patches() -> dict[str, Patch]:
    """Every patch by name, except those that do not import here (`broken`)."""
    return {name: patch for name, patch in _imported().items() if isinstance(patch, Patch)}


def broken() -> dict[str, str]:
    """Why a patch's file does not import here, by the patch's name. Inside vLLM it may import: a trial shows that."""
    return {name: why for name, why in _imported().items() if isinstance(why, str)}


@cache
def _imported() -> dict[str, Patch | str]:
    imported: dict[str, Patch | str] = {}
    for name, where in entry_points(PACKAGE).items():
        if name == ATTEST[0]:
            continue
        try:
            patch = getattr(importlib.import_module(where.partition(":")[0]), "PATCH", None)
        except BaseException as error:  # a patch may raise anything, SystemExit too: it is reported, and tried inside vLLM
            if isinstance(error, KeyboardInterrupt):
                raise
            patch = f"{type(error).__name__}: {error}"
        if isinstance(patch, Patch | str):
            imported[name] = patch
    return imported


def bench(name: str) -> Bench:
    """The benchmark of that name; raises `BadInput` with the near names."""
    known = benches().get(name)
    if known is None:
        raise BadInput(unknown("bench", name, benches()))
    return known


_TARGETS: dict[OwnPatch, tuple[str, ...]] = {}
"""The functions that patches of the user's own replace: only loading them shows it."""


def remember_targets(patch: OwnPatch, targets: Iterable[str]) -> None:
    """From now on every arm counts what that patch was seen to replace."""
    _TARGETS[patch] = tuple(dict.fromkeys([*_TARGETS.get(patch, ()), *targets]))


def targets_of(arms: Iterable[Arm]) -> tuple[str, ...]:
    """The functions that the patches of these arms replace, or their builds change. All arms count them, so that calls show in the
    unpatched arm too."""
    arms = tuple(arms)
    names = dict.fromkeys(name for arm in arms for name in arm.patches)
    replaced = [target.name for name in names if name in patches() for target in patches()[name].targets]
    own = [target for arm in arms for patch in arm.own_patches for target in _TARGETS.get(patch, ())]
    return tuple(dict.fromkeys([*replaced, *own, *(name for arm in arms for name in arm.changed)]))


def watched(scenario: Scenario) -> tuple[str, ...]:
    """The functions that are counted in every arm of a scenario."""
    known = bench_of(scenario)
    return tuple(sorted({*(known.exercises if known else ()), *targets_of(scenario.arms)}))


def bench_of(scenario: Scenario) -> Bench | None:
    """The benchmark that a scenario runs; None where it runs none, or none that is there."""
    file = scenario.workload.benchmark_file
    if file:
        return bench_at(Path(file)) if os.path.isfile(file) else None
    return benches().get(scenario.workload.benchmark)


def exercised(scenario: Scenario) -> tuple[str, ...]:
    """The modules and functions of vLLM that a scenario exercises: its own list, and its benchmark's."""
    known = bench_of(scenario)
    return tuple(dict.fromkeys([*(known.exercises if known else ()), *scenario.exercises]))


def case_name(case: Mapping[str, Any]) -> str:
    """The part after the `@` in a case's metrics: "output_length=16000"."""
    return ",".join(f"{key}={value}" for key, value in case.items())


# --- faults of a scenario ----------------------------------------------------------------------------------


def faults(scenario: Scenario, versions: Mapping[str, str] | None = None) -> list[str]:
    """Unknown patches, and patches that were not tested with their build's version.

    `versions` maps the key of a build to its vLLM version, where only the build itself knows it.
    """
    faults_found = list[str]()
    for arm in scenario.arms:
        build = scenario.builds[arm.build]
        version = build.version if isinstance(build, ReleaseBuild) else (versions or {}).get(build.key)
        for name in arm.patches:
            faults_found += [f"{scenario.source}: arms.{arm.name}.patches: {fault}" for fault in _patch_faults(name, arm, version)]
    return faults_found


def _patch_faults(name: str, arm: Arm, version: str | None) -> Iterator[str]:
    if name in {patch.name for patch in arm.own_patches}:
        if name in patch_files(PACKAGE):
            yield f"patch {name} has the name of one of perfproof's own: rename your file"
        return
    if name in broken():
        return
    if name not in patches():
        yield _lacks(name) or unknown("patch", name, _imported())
        return
    if patches()[name].name != name:
        yield f"patch {name}: the PATCH in its file is named {patches()[name].name!r}, which no arm can name; a patch has its file's name"
        return
    release = re.match(r"\d+\.\d+\.\d+", version or "")
    holds = patches()[name].holds
    if version is not None and not arm.allow_unverified and (release.group() if release else version) not in holds:
        held = ", ".join(sorted(holds, key=release_key)) or "no version yet"
        yield f"patch {name} does not hold for vLLM {version}; it was tested with {held} (allow_unverified: true runs it anyway)"


def _lacks(name: str) -> str:
    """What a file of that name lacks to be a patch; "" if there is no such file."""
    file = patch_files(PACKAGE).get(name)
    if file is None:
        return ""
    lacking = "PATCH = Patch(...)" if name in entry_points(PACKAGE) else "function register()"
    return f"patch {name}: {file} has no {lacking}, so it is not a patch"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, with the similar names, or else all names."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3)
    return f"unknown {what} {name!r}" + (f", did you mean {', '.join(near)}?" if near else f"; there are {', '.join(names)}")
