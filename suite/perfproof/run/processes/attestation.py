"""Reads what a trial's processes attested, and says why a trial does not count.

Every process of a trial leaves `<pid>.json` and `<pid>.counts` (`suite/perfproof/patches/guard.py`). `read` merges them into one
Attestation; `verify` says in words why the trial does not count. A trial without an attestation never counts: vLLM continues unpatched when
a plugin does not import.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.record import Attestation
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.scenario import Arm
from perfproof.patches.attestation_report import fingerprint
from perfproof.patches.guard import SLOT
from perfproof.run.processes.trial_process import own_plugins, shown_variables

RUNNERS: Mapping[str, str] = {
    "V1": "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
    "V2": "vllm.v1.worker.gpu.model_runner:GPUModelRunner.execute_model",
}
"""The functions to count in a server, so that its attestation shows which model runner ran."""
NEVER_RAN = "nothing ran the changed code"
"""How the reason of a trial begins if it called none of the functions that its build changes."""


EVERYWHERE = frozenset({"general_plugins", "platform_plugins"})
"""The groups of plugins that every process of vLLM loads; only some processes load the others, so one process that did is enough."""
ADDED_TO = frozenset({"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"})
"""Lists that vLLM adds to."""
TAKEN_FROM = frozenset({"CUDA_VISIBLE_DEVICES"})
"""Lists that vLLM cuts down to a worker's own part."""


def read(folder: Path, build: ReadyBuild, arm: Arm) -> Attestation | None:
    """The merged attestation of the arm's processes in `folder`; None if there is none.

    A patch counts as applied if every process applied it; if only some did, it is under `refused`.
    """
    attested = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not attested:
        return None
    by_process = [read_counts(file) for file in folder.glob("*.counts")]
    counts = total(by_process)
    applied = {name: patch for one in attested for name, patch in one["patches"].items()}
    missing = {name: sum(name not in one["patches"] for one in attested) for name in applied}
    refused = {name: reason for one in attested for name, reason in one["refused"].items()}
    partly = {name: f"{count} of {len(attested)} processes run without patch {name}" for name, count in missing.items() if count}
    return Attestation(
        build=build.id,
        python=_one(attested, "python"),
        vllm_version=_one(attested, "vllm_version"),
        vllm_file=" and ".join(sorted({_relative(one["vllm_file"], build.folder) for one in attested})),
        sources=build.fingerprint.sources,
        torch_version=_one([one for one in attested if one["torch_version"]], "torch_version"),
        compiled_operators=build.fingerprint.compiled_operators,
        patches={name: patch for name, patch in sorted(applied.items()) if not missing[name]},
        refused={**partly, **refused},
        unwatchable=sorted({name for one in attested for name in one["unwatchable"]}),
        counts=counts,
        runner=runner_of(counts),
        workers=workers_of(by_process),
        processes=len(attested),
        plugins={name: _plugin_fault(name, [one.get("plugins", {}) for one in attested]) for name in own_plugins(arm)},
        variables={
            name: _variable_fault(name, value, [one.get("variables", {}) for one in attested])
            for name, value in sorted(shown_variables(build, arm).items())
        },
        unknown=sorted({name for one in attested for name in one.get("unknown", ())}),
    )


def _plugin_fault(name: str, attested: Sequence[Mapping[str, Mapping[str, bool]]]) -> str:
    """Why one of the arm's own plugins is not shown to be loaded; "" if it is. `attested` has each process's entry for all plugins."""
    groups = [one.get(name, {}) for one in attested]
    if not any(groups):
        return f"plugin {name} was not loaded: no package that is installed there, or on the arm's PYTHONPATH, has a plugin of that name"
    common = {group for one in groups for group in one} & EVERYWHERE
    without = sum(not any(one.get(group) for group in common) for one in groups)
    if common and without:
        return f"plugin {name} was not loaded in {without} of {len(attested)} processes"
    return "" if common or any(any(one.values()) for one in groups) else f"plugin {name} was not loaded in any process"


def _variable_fault(name: str, value: str, attested: Sequence[Mapping[str, Sequence[str]]]) -> str:
    """Why a variable is not shown to have had the arm's value; "" if it is. `attested` has each process's fingerprints."""
    by_process = [one.get(name, ()) for one in attested]
    others = sum(not _same(name, fingerprint(value), fingerprints) for fingerprints in by_process)
    if not others:
        return ""
    how = "another value than the arm's" if any(by_process) else "no value"
    return f"variable {name} has {how} in {others} of {len(attested)} processes"


def _same(name: str, want: Sequence[str], have: Sequence[str]) -> bool:
    if name in ADDED_TO:
        return {*want[1:]} <= {*have[1:]}
    if name in TAKEN_FROM:
        return bool(have) and {*have[1:]} <= {*want[1:]}
    return list(want) == list(have)


def signals(folder: Path) -> tuple[int, ...]:
    """The signals that ended processes of a trial from outside, as their parents attested."""
    attested = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    return tuple(ended["signal"] for one in attested for ended in one.get("ended", ()))


def _one(attested: Sequence[Mapping[str, Any]], key: str) -> str:
    """The value that all processes agree on; all values where they don't."""
    return " and ".join(sorted({str(one[key]) for one in attested}))


def _relative(file: str, folder: Path) -> str:
    """A path relative to the build's folder; of a path elsewhere only the end, because the rest may name a home folder.

    The file itself may be a link (an overlay's are): the place of the import counts, not the link's target.
    """
    real, root = Path(os.path.realpath(os.path.dirname(file)), os.path.basename(file)), Path(os.path.realpath(folder))
    return str(real.relative_to(root)) if real.is_relative_to(root) else str(Path("elsewhere", *real.parts[-2:]))


def runner_of(counts: Mapping[str, int]) -> str:
    """The model runner that these calls were of."""
    return " and ".join(name for name, target in RUNNERS.items() if counts.get(f"calls {target}"))


def workers_of(by_process: Iterable[Mapping[str, int]]) -> list[int]:
    """The steps that each process executed on a model runner, the most first; processes that executed none are no workers."""
    steps = (sum(counts.get(f"calls {target}", 0) for target in RUNNERS.values()) for counts in by_process)
    return sorted(filter(None, steps), reverse=True)


def worker_fault(attestation: Attestation | None, wanted: int) -> str:
    """Why it is not shown that so many workers computed; "" if it is, if one was wanted, or if no model runner took part at all."""
    ran = len(attestation.workers) if attestation else 0
    if wanted == 1 or not ran or ran == wanted:
        return ""
    return f"{wanted} workers were to compute, and {ran} executed steps of the model"


def read_counts(file: Path) -> dict[str, int]:
    """The counters of one process: slots of a zero-padded name and a little-endian u64."""
    data, counts = file.read_bytes(), {}
    for start in range(0, len(data) - SLOT + 1, SLOT):
        slot = data[start : start + SLOT]
        name = slot[: SLOT - 8].rstrip(b"\0").decode()
        if not name:
            break
        counts[name] = struct.unpack("<Q", slot[SLOT - 8 :])[0]
    return counts


def total(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    summed: dict[str, int] = {}
    for counts in many:
        for name, count in counts.items():
            summed[name] = summed.get(name, 0) + count
    return dict(sorted(summed.items()))


def verify(attestation: Attestation | None, arm: Arm, build: ReadyBuild, log: str = "", exercises: Sequence[str] = ()) -> str:
    """Why a trial of that arm does not count; "" if it does.

    `log` is the text of the trial's log, where vLLM says why a plugin failed to import. At least one of the functions `exercises` must have
    been called.
    """
    if attestation is None:
        return "no process attested what it ran: the plugin perfproof_attest was not loaded" + plugin_fault("perfproof_attest", log)
    return (
        _wrong_code(attestation, build)
        or _wrong_patches(attestation, arm, log)
        or _wrong_runner(attestation, arm)
        or _wrong_surroundings(attestation, log)
        or _never_called(attestation, arm, exercises)
    )


def _wrong_code(attestation: Attestation, build: ReadyBuild) -> str:
    print_ = build.fingerprint
    expected = _relative(str(build.imported / "__init__.py"), build.folder)
    if attestation.vllm_file != expected:
        return f"vLLM was loaded from {attestation.vllm_file}, not from the build's own {expected}"
    for what, have, want in (
        ("vLLM", attestation.vllm_version, print_.vllm_version),
        ("Python", attestation.python, print_.python),
        ("PyTorch", attestation.torch_version, print_.torch_version),
    ):
        if have != want and (have or what != "PyTorch"):  # a command may never import PyTorch
            return f"the processes ran {what} {have}, the build has {want}"
    return ""


def _wrong_patches(attestation: Attestation, arm: Arm, log: str) -> str:
    for name in arm.patches:
        if name in attestation.refused:
            return attestation.refused[name]
        if name not in attestation.patches:
            return f"patch {name} was not applied: its plugin failed to import" + plugin_fault(name, log)
        if not attestation.patches[name].get("verified", True) and not arm.allow_unverified:
            return f"patch {name} runs where it was not tested, and the arm does not allow that (allow_unverified)"
    foreign = sorted(set(attestation.patches) - set(arm.patches))
    return f"patch {', '.join(foreign)} was applied, which the arm does not name" if foreign else ""


def _wrong_surroundings(attestation: Attestation, log: str) -> str:
    """A plugin of the user's that was not loaded, or a variable of the arm's that was missing: vLLM continues without either."""
    for name, fault in attestation.plugins.items():
        if fault:
            why = plugin_fault(name, log)
            return f"plugin {name} failed to import{why}" if why else fault
    return next(filter(None, attestation.variables.values()), "")


def notes(attestation: Attestation | None) -> list[str]:
    """Notes on the environment of a trial that counts, a sentence each."""
    unknown = attestation.unknown if attestation else ()
    return [f"{', '.join(unknown)}: this release of vLLM knows no variable of that name, and may not read it"] if unknown else []


def _wrong_runner(attestation: Attestation, arm: Arm) -> str:
    """Why another model runner ran than the arm wanted: releases choose one themselves, and fall back with only a line in the log."""
    wanted = model_runner.wanted({"runner": arm.runner, "environment": arm.environment})
    if attestation.runner in ("", wanted) or not wanted:
        return ""
    how = f"runner: {arm.runner}" if arm.runner else model_runner.VARIABLE
    return f"the arm wanted the model runner {wanted} ({how}), but {attestation.runner} ran"


def _never_called(attestation: Attestation, arm: Arm, exercises: Sequence[str]) -> str:
    for name in arm.patches:
        targets = list(attestation.patches[name]["targets"])
        if targets and not any(_calls(attestation, target) for target in targets):
            ran = f"; the model runner was {attestation.runner}" if attestation.runner else ""
            return f"the function that patch {name} replaces was never called ({', '.join(targets)}{ran})"
    changed = [target for target in arm.changed if target not in attestation.unwatchable]
    if changed and not arm.changes_more and not any(_calls(attestation, target) for target in changed):
        return f"{NEVER_RAN}: {_listed([target.partition(':')[2] for target in changed])} never called"
    if exercises and not any(_calls(attestation, target) for target in exercises):
        return f"the functions that the workload exercises were never called ({', '.join(exercises)})"
    return ""


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Some names with their verb: "a was", "a and b were", "a, b, c, d and 3 more were"."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    shown = [*names[:most], *more]
    return f"{' and '.join([', '.join(shown[:-1]), shown[-1]])} were" if len(shown) > 1 else f"{shown[0]} was"


def _calls(attestation: Attestation, target: str) -> int:
    """How often a target was called; the counter's slot may hold only the beginning of its name."""
    return attestation.counts.get(f"calls {target}".encode()[: SLOT - 9].decode(errors="ignore"), 0)


def plugin_fault(name: str, log: str) -> str:
    """vLLM's own reason, from its log, why a plugin failed to import: ": ImportError: ...", or nothing."""
    _, heading, rest = log.partition(f"Failed to load plugin {name}")
    if not heading:
        return ""
    for line in rest.splitlines()[1:60]:
        bare = line.partition("] ")[2] if line.startswith(("ERROR", "(")) and "] " in line else line
        head = bare.partition(":")[0].strip()
        if bare[:1].strip() and head.rpartition(".")[2].endswith(("Error", "Exception", "Refused")) and " " not in head:
            return f": {bare.strip()}"
    return ""
