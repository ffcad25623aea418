"""The machine's part of a record: enough to judge a figure, nothing that names machine or user.

Environment variables come from an allow-list of names and prefixes: other variables are never recorded. Host name, user, home folder,
network addresses and serial numbers are never read; a keyed digest distinguishes hosts.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from perfproof import __version__
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.run.host import gpus
from perfproof.run.processes import env_vars
from perfproof.run.processes.trial_process import scrub

RECORDED = (
    "VLLM_PLUGINS",
    "VLLM_USE_V2_MODEL_RUNNER",
    "VLLM_ENABLE_V1_MULTIPROCESSING",
    "VLLM_WORKER_MULTIPROC_METHOD",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "VLLM_BATCH_INVARIANT",
    "VLLM_CPU_KVCACHE_SPACE",
    "VLLM_CPU_OMP_THREADS_BIND",
    "VLLM_CPU_NUM_OF_RESERVED_CPU",
    "VLLM_DISABLE_COMPILE_CACHE",
    "VLLM_GPU_SYNC_CHECK",
    "VLLM_LOGGING_LEVEL",
    "VLLM_SERVER_DEV_MODE",
    "VLLM_USE_PRECOMPILED",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MALLOC_ARENA_MAX",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "TORCH_NUM_THREADS",
    "NCCL_NVLS_ENABLE",
    "PYTHONHASHSEED",
    "TOKENIZERS_PARALLELISM",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "PERFPROOF_WATCH",
    "PERFPROOF_CASES",
    "PERFPROOF_ALLOW_UNVERIFIED",
)
"""The environment variables that a record always holds; of others it holds those that may change what vLLM does (`env_vars.changing`)."""


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an arm that a record may hold, scrubbed too; a listed variable that is missing was not set."""
    whole = {name: scrub(environment[name]) for name in RECORDED if name in environment}
    return {**whole, **{name: scrub(env_vars.shown(environment[name])) for name in sorted(environment) if _further(name)}}


def _further(name: str) -> bool:
    return name not in RECORDED and env_vars.changing(name)


def of_build(build: ReadyBuild, variables: Mapping[str, str]) -> dict[str, Any]:
    """The record's entries about a trial's build and environment variables."""
    return {
        "variables": kept(variables),
        "build": build.label,
        "device": build.fingerprint.device,
        "packages": dict(build.fingerprint.packages),
        "lock": build.lock,
        "commit": build.commit,
        "overlay": asdict(build.touched) if build.touched else None,
        **({"image": of_image(build)} if build.container else {}),
    }


def of_image(build: ReadyBuild) -> dict[str, Any] | None:
    """A record's entry about the image that a build is: its digest, whose container it ran in, and the variables that it sets itself and
    that may change what vLLM does. None for other builds."""
    if build.container is None:
        return None
    return {"digest": build.container.digest, "runtime": build.container.runtime, "variables": kept(build.container.variables)}


@cache
def machine() -> dict[str, Any]:
    """Facts that stay the same while the suite runs: host, processor, cores, memory, kernel, GPUs, the suite itself."""
    memory = psutil.virtual_memory().total
    return {
        "perfproof": __version__,
        "host": host(),
        "system": platform.system(),
        "kernel": kernel(platform.release()),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": usable_cores(),
        "cores_of_machine": os.cpu_count(),
        "memory_bytes": memory,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo_off": _read("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "transparent_hugepages": _chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "virtual": "hypervisor" in (_read("/proc/cpuinfo") or ""),
        "gpus": gpus.describe(),
    }


def moment() -> dict[str, Any]:
    """Facts that change: load, stolen time so far (seconds), the processor's frequency, free memory."""
    times = psutil.cpu_times()
    frequency = psutil.cpu_freq() if hasattr(psutil, "cpu_freq") else None
    return {
        "load": round(os.getloadavg()[0], 2),
        "steal_seconds": round(float(getattr(times, "steal", 0.0)), 2),
        "frequency_mhz": round(frequency.current) if frequency else None,
        "memory_available_bytes": psutil.virtual_memory().available,
    }


def host(identity: tuple[str, ...] = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id")) -> str | None:
    """Twelve hex digits that distinguish this host from similar ones and can't be traced back to it; None where there is no id.

    They are a keyed digest of the installation's id, as machine-id(5) demands; in a container without one, of the kernel's boot id.
    """
    identifier = next((text for path in identity if (text := _read(path)) and text != "uninitialized"), None)
    return (
        hmac.new(identifier.encode(), b"perfproof: which trials were measured beside each other", hashlib.sha256).hexdigest()[:12]
        if identifier
        else None
    )


def kernel(release: str) -> str:
    """The numbers of a kernel's release, "6.18.44" of "6.18.44-cloud-7": the rest may name who built it."""
    match = re.match(r"[0-9.]*[0-9]", release)
    return match.group() if match else ""


def processor() -> str:
    """The processor's model name."""
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo") or "", re.MULTILINE)
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def instruction_set() -> str:
    """Sixteen hex digits for what the processor can do: its maker, and the flags or features that the kernel names. Programs choose kernels
    by it."""
    text = _read("/proc/cpuinfo") or ""
    found = [re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE) for name in ("vendor_id", "CPU implementer", "flags", "Features")]
    words = [" ".join(sorted(match.group(1).split())) if match else "" for match in found]
    return hashlib.sha256(repr([platform.machine(), *words]).encode()).hexdigest()[:16]


def usable_cores() -> int:
    """The number of cores that this process may use, within the limits of container and taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _chosen(text: str | None) -> str | None:
    """The choice in brackets, "madvise" of "always [madvise] never"."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match.group(1) if match else None
