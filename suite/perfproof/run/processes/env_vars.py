"""Environment variables that change what vLLM does: the same in every arm, recorded, and compared.

A process of an arm gets only those variables of the caller's shell that `trial_process` lists. So a variable that happens to be set there
(`VLLM_ATTENTION_BACKEND`, `TORCH_LOGS`, `LD_PRELOAD`) reaches no arm; the run reports it once, because it may be meant. A scenario sets the
variables of its arms. vLLM, PyTorch and Triton keep compiled code in the suite's folders, one per build, so they never find another vLLM's.
Two trials of a block are no pair if their recorded variables differ in anything that the scenario did not set: the later one is invalid,
and the block is measured again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.private_paths import SECRET
from perfproof.model.records.record import Record
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.scenario import Scenario

CHANGING = re.compile(
    r"^(VLLM|TORCH|PYTORCH|TORCHINDUCTOR|CUDA|CUBLAS|CUDNN|NCCL|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMBA|TRITON|FLASHINFER|HF|TRANSFORMERS"
    r"|TOKENIZERS|SAFETENSORS|XGRAMMAR|MALLOC|GLIBC|LD)_|^(PYTHONHASHSEED|PYTHONMALLOC|PYTHONOPTIMIZE|TORCHDYNAMO_.*|AOT_.*)$"
)
"""Names of variables that may change what vLLM does or how fast."""
PRIVATE = re.compile(rf"(?i:{SECRET.pattern})|KEY|PASS|AUTH|HOME|ENDPOINT|URL|HOST|_IP$")
"""Names whose values are private."""
COMPARED_ELSEWHERE = re.compile(r"^(VLLM_PLUGINS$|VLLM_CACHE_ROOT$|VLLM_RPC_BASE_PATH$|PERFPROOF_)")
"""Variables that may differ between arms although no scenario sets them: their patches, the compile cache of a set of patches, the folder
of a run's sockets (a run that continues in the middle of a block has another one), the suite's own."""


def changing(name: str) -> bool:
    """Whether a variable may change what vLLM does, and may be recorded."""
    return bool(CHANGING.match(name)) and not PRIVATE.search(name)


def shown(value: str) -> str:
    """A value as the record keeps it: of an absolute path only its end, because the rest may name a home folder."""
    return os.pathsep.join(os.path.basename(part) if part.startswith(("/", "~")) else part for part in value.split(os.pathsep))


def of_caches(build: ReadyBuild) -> dict[str, str]:
    """The folders for a build's compiled code: below the builds, never those of the user's own vLLM."""
    folder = build.side.parent / "cache" / build.id
    names = {"VLLM_CACHE_ROOT": "vllm", "VLLM_CONFIG_ROOT": "config", "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
    return {name: str(folder / place) for name, place in names.items()}


# --- the caller's shell --------------------------------------------------------------------------------------


def left_behind(shell: Mapping[str, str], taken: Iterable[str], scenarios: Sequence[Scenario]) -> str:
    """A sentence about variables of the caller's shell that may change what vLLM does but reach no arm; "" if there are none.

    `taken` are the names that arms do get from the shell; names that every arm sets itself are left out.
    """
    named = [set(arm.environment) for scenario in scenarios for arm in scenario.arms]
    set_by_all = set.intersection(*named) if named else set()
    lost = sorted(
        name for name in shell if CHANGING.match(name) and name not in {*taken, *set_by_all} and not COMPARED_ELSEWHERE.match(name)
    )
    if not lost:
        return ""
    return (
        f"set in this shell, but passed to no arm: {', '.join(lost)}; to use them, set them in the scenario, under "
        "'environment' of every arm"
    )


# --- two arms of a block -------------------------------------------------------------------------------------


def unasked(record: Record, others: Iterable[Record]) -> str:
    """How a trial's variables differ from those of its block's other trials beyond what the scenario sets; "" if they don't."""
    for other in others:
        if (other.scenario, other.block) == (record.scenario, record.block) and other.arm != record.arm and other.status == "ok":
            differing = _differing(record, other)
            if differing:
                both = f"{other.arm} (measured before) and {record.arm}"
                return f"the environments of {both} differ in variables that the scenario does not set: {'; '.join(differing)}"
    return ""


def _differing(record: Record, other: Record) -> list[str]:
    own, theirs = record.environment.get("variables", {}), other.environment.get("variables", {})
    set_by_arms = _set_by_arm(record) | _set_by_arm(other)
    names = sorted(name for name in {*own, *theirs} if own.get(name) != theirs.get(name) and name not in set_by_arms)
    return [
        f"{name} is {_shown_value(theirs, name)} in {other.arm} and {_shown_value(own, name)} in {record.arm}"
        for name in names
        if not COMPARED_ELSEWHERE.match(name)
    ]


def _set_by_arm(record: Record) -> set[str]:
    """The variables that the trial's arm sets, from its record, and the cache folders, which differ between builds."""
    arm = record.definition.get("arms", {}).get(record.arm, {})
    runner = model_runner.variables(arm.get("runner"))
    return {*arm.get("environment", {}), *runner, "VLLM_CONFIG_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}


def _shown_value(variables: Mapping[str, str], name: str) -> str:
    return repr(variables[name]) if name in variables else "unset"
