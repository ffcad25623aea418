"""Environment variables that change what vLLM does: pinned alike in every arm, recorded, and compared.

A process of an arm gets nothing of the caller's shell but what `trial_process` lists. So a variable that happens to be set there
(`VLLM_ATTENTION_BACKEND`, `TORCH_LOGS`, `LD_PRELOAD`) reaches no arm; the run says so once, because a person may have meant it. What an
arm is to have is said in its scenario. The folders that vLLM, PyTorch and Triton keep compiled code in are the suite's, one a build: what
another vLLM left there is not found. And two trials of a block whose recorded variables differ in
anything that the scenario did not ask for are no pair: the later one is invalid, and the block is measured again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.private_paths import SECRET
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario

CHANGING = re.compile(
    r"^(VLLM|TORCH|PYTORCH|TORCHINDUCTOR|CUDA|CUBLAS|CUDNN|NCCL|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMBA|TRITON|FLASHINFER|HF|TRANSFORMERS"
    r"|TOKENIZERS|SAFETENSORS|XGRAMMAR|MALLOC|GLIBC|LD)_|^(PYTHONHASHSEED|PYTHONMALLOC|PYTHONOPTIMIZE|TORCHDYNAMO_.*|AOT_.*)$"
)
"""Names of variables that may change what vLLM does or how fast."""
PRIVATE = re.compile(rf"(?i:{SECRET.pattern})|KEY|PASS|AUTH|HOME|ENDPOINT|URL|HOST|_IP$")
"""Names whose values are nobody's business."""
TOLD_OTHERWISE = re.compile(r"^(VLLM_PLUGINS$|VLLM_CACHE_ROOT$|VLLM_RPC_BASE_PATH$|PERFPROOF_)")
"""What arms may differ in without being asked: their patches, the compile cache of a set of patches, the folder of a run's sockets (a run
that goes on in the midst of a block has another one), the suite's own."""


def changing(name: str) -> bool:
    """Whether a variable may change what vLLM does, and may be recorded."""
    return bool(CHANGING.match(name)) and not PRIVATE.search(name)


def shown(value: str) -> str:
    """A value as a record keeps it: of a path from the root only its end, for the rest may name a home."""
    return os.pathsep.join(os.path.basename(part) if part.startswith(("/", "~")) else part for part in value.split(os.pathsep))


def of_caches(build: ReadyBuild) -> dict[str, str]:
    """Where processes of a build keep what they compile: below the builds, never where the user's own vLLM does."""
    folder = build.side.parent / "cache" / build.id
    names = {"VLLM_CACHE_ROOT": "vllm", "VLLM_CONFIG_ROOT": "config", "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
    return {name: str(folder / place) for name, place in names.items()}


# --- the caller's shell --------------------------------------------------------------------------------------


def left_behind(shell: Mapping[str, str], taken: Iterable[str], scenarios: Sequence[Scenario]) -> str:
    """A sentence about what is set in the caller's shell, may change what vLLM does, and reaches no arm; "" where there is nothing.

    `taken` are the names that arms do get from the shell; what every arm names itself is not told.
    """
    named = [set(arm.environment) for scenario in scenarios for arm in scenario.arms]
    asked = set.intersection(*named) if named else set()
    lost = sorted(name for name in shell if CHANGING.match(name) and name not in {*taken, *asked} and not TOLD_OTHERWISE.match(name))
    if not lost:
        return ""
    return (
        f"set in this shell and not taken into any arm: {', '.join(lost)}; what is to count is said in the scenario, under "
        "'environment' of every arm"
    )


# --- two arms of a block -------------------------------------------------------------------------------------


def unasked(record: Record, others: Iterable[Record]) -> str:
    """How a trial's variables differ from those of its block's other trials, without the scenario asking for it; "" if they don't."""
    for other in others:
        if (other.scenario, other.block) == (record.scenario, record.block) and other.arm != record.arm and other.status == "ok":
            differing = _differing(record, other)
            if differing:
                both = f"{other.arm} (measured before) and {record.arm}"
                return f"the environments of {both} differ in what the scenario did not ask for: {'; '.join(differing)}"
    return ""


def _differing(record: Record, other: Record) -> list[str]:
    mine, theirs = record.environment.get("variables", {}), other.environment.get("variables", {})
    asked = _asked(record) | _asked(other)
    names = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name) and name not in asked)
    return [
        f"{name} is {_said(theirs, name)} in {other.arm} and {_said(mine, name)} in {record.arm}"
        for name in names
        if not TOLD_OTHERWISE.match(name)
    ]


def _asked(record: Record) -> set[str]:
    """What the trial's arm says of its environment, as its record kept it; the caches of another build are another folder."""
    arm = record.definition.get("arms", {}).get(record.arm, {})
    return {*arm.get("environment", {}), "VLLM_CONFIG_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}


def _said(variables: Mapping[str, str], name: str) -> str:
    return repr(variables[name]) if name in variables else "unset"
