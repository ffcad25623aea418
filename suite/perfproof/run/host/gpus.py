"""NVIDIA GPUs, read through NVML as `nvidia-smi` does: in microseconds, and while a trial runs.

Only the GPUs that our processes may use are read (`CUDA_VISIBLE_DEVICES`). Without a driver or the Python binding there are no GPUs:
nothing here stops a CPU machine from measuring.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput, CannotRun

pynvml: Any = None
with contextlib.suppress(ImportError):  # without NVIDIA's binding the machine counts as one without GPUs
    pynvml = importlib.import_module("pynvml")

ALL_PROCESSES = "pid:[4026531836]"
"""The kernel's first process namespace; in any other, as in most containers, NVML's process numbers mean nothing."""
CHOSEN = "CUDA_VISIBLE_DEVICES"
"""The variable that says which GPUs a process may use."""
SLACK = 512 * 2**20
"""Bytes that a GPU may hold after a server more than before it: the driver's own memory varies."""
REASONS = {
    0x01: "idle",
    0x02: "application clocks",
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "heat (software)",
    0x40: "heat (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Why a GPU's clock is lower than it could be (`nvmlClocksEventReasons`)."""
THROTTLING = 0x08 | 0x20 | 0x40 | 0x80
"""The reasons that are throttling; a power cap that is always active is not."""


class MemoryKept(CannotRun):
    """An earlier server, or another program, did not free GPU memory: this is not the fault of the arm that is to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One GPU at one moment: MHz, degrees Celsius, watts, bytes used, the reasons for its clock, errors that ECC could not correct.

    `pids` are the processes that compute on it. A value that the GPU does not report is None.
    """

    clock: int | None
    memory_clock: int | None
    temperature: int | None
    power: float | None
    used: int | None
    reasons: int | None
    uncorrected: int | None
    pids: tuple[int, ...]

    @property
    def throttled(self) -> bool:
        return bool((self.reasons or 0) & THROTTLING)


def look() -> tuple[Look, ...]:
    """Every GPU that we may use, now; a fraction of a millisecond each."""
    return tuple(_look(handle) for handle in handles())


def describe() -> list[dict[str, str]]:
    """Name, memory, driver, persistence mode and ECC mode of every GPU that we may use; no serial number, no UUID."""
    return [_described(handle) for handle in handles()]


def uuids() -> list[str]:
    """The UUIDs of this machine's GPUs: for locks, never for a record."""
    return [_uuid(handle) for handle in handles()]


_choices: set[str] = set()
"""The values of `CHOSEN` that this process has set itself."""


def choose(wanted: int) -> str:
    """Keeps `wanted` GPUs for this process and all that it starts, those that hold the least memory; returns a sentence that says which.

    "" where there is nothing to choose: the user has (`CUDA_VISIBLE_DEVICES`), there are no more than that, or they are of several kinds,
    which CUDA may number otherwise than NVML. An earlier choice of its own is taken back first. Raises `BadInput` where there are fewer.
    """
    if os.environ.get(CHOSEN) in _choices:
        if len(handles()) == wanted:
            return ""
        del os.environ[CHOSEN]
        handles.cache_clear()
    there = handles()
    if there and len(there) < wanted:
        raise BadInput(f"{wanted} GPUs are needed, one a worker, and {len(there)} may be used{_by_user()}")
    if len(there) <= wanted or CHOSEN in os.environ or len({one["name"] for one in describe()}) > 1:
        return ""
    held = used()
    kept = sorted(sorted(range(len(there)), key=lambda number: (held[number], number))[:wanted])
    os.environ[CHOSEN] = ",".join(map(str, kept))
    _choices.add(os.environ[CHOSEN])
    handles.cache_clear()
    return f"of {len(there)} GPUs, {' and '.join(map(str, kept))} {'is' if wanted == 1 else 'are'} used: the least memory is in use there"


def _by_user() -> str:
    return f" ({CHOSEN}={os.environ[CHOSEN]!r})" if CHOSEN in os.environ else ""


def strangers(looks: Sequence[Look], ours: set[int]) -> int | None:
    """How many processes on our GPUs are not ours; None where process numbers can't be compared."""
    if not looks or os.readlink("/proc/self/ns/pid") != ALL_PROCESSES:
        return None
    return len({pid for one in looks for pid in one.pids if pid not in ours and Path(f"/proc/{pid}").exists()})


def used() -> tuple[int, ...]:
    """Bytes in use on each GPU that we may use."""
    return tuple(one.used or 0 for one in look())


def wait_free(
    before: Sequence[int], timeout: float = 90.0, look: Callable[[], tuple[int, ...]] = used, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Waits until each GPU holds no more than `before`; returns the seconds that took.

    The driver frees memory some time after a process has ended. Raises `MemoryKept` where it does not.
    """
    waited = 0.0
    while True:
        kept = [now - then for now, then in zip(look(), before, strict=True)]
        if all(more <= SLACK for more in kept):
            return waited
        if waited >= timeout:
            raise MemoryKept(
                f"{max(kept) / 2**20:.0f} MiB of GPU memory were not freed within {timeout:.0f} s after the server had ended: "
                "'nvidia-smi' shows which process holds them"
            )
        sleep(0.5)
        waited += 0.5


def wait_steady(
    timeout: float = 30.0, look: Callable[[], tuple[int, ...]] = used, sleep: Callable[[float], None] = time.sleep, pause: float = 2.0
) -> float:
    """Waits until the bytes in use have not fallen for `pause` seconds: then the memory of a dead process is free, while others keep
    theirs. Returns the seconds that took; at most `timeout`, 0 where there is no GPU."""
    waited, before = 0.0, look()
    while before and waited < timeout:
        sleep(pause)
        waited += pause
        now = look()
        if not any(then - more > SLACK for more, then in zip(now, before, strict=True)):
            break
        before = now
    return waited


@cache
def handles() -> tuple[Any, ...]:
    """NVML's handles of the GPUs that our processes may use."""
    if pynvml is None:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    every = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
    return tuple(every[number] for number in visible([_uuid(handle) for handle in every]))


def visible(names: Sequence[str], chosen: str | None = None) -> list[int]:
    """The numbers of the GPUs in `CUDA_VISIBLE_DEVICES`, which names numbers or prefixes of UUIDs; all GPUs if it is not set."""
    chosen = os.environ.get(CHOSEN) if chosen is None else chosen
    if chosen is None:
        return list(range(len(names)))
    numbers = []
    for word in filter(None, (word.strip() for word in chosen.split(","))):
        if word.isdigit() and int(word) < len(names):
            numbers.append(int(word))
        else:
            numbers += [number for number, name in enumerate(names) if word.startswith("GPU-") and name.startswith(word)]
    return numbers


def _described(handle: Any) -> dict[str, str]:
    return {
        "name": _text(lambda: pynvml.nvmlDeviceGetName(handle)),
        "memory": _text(lambda: f"{pynvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20} MiB"),
        "driver": _text(pynvml.nvmlSystemGetDriverVersion),
        "persistence": _text(lambda: ("Disabled", "Enabled")[pynvml.nvmlDeviceGetPersistenceMode(handle)]),
        "ecc": _text(lambda: ("Disabled", "Enabled")[pynvml.nvmlDeviceGetEccMode(handle)[0]]),
        "power_limit": _text(lambda: f"{pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000:.0f} W"),
    }


def _uuid(handle: Any) -> str:
    return _text(lambda: pynvml.nvmlDeviceGetUUID(handle))


def _look(handle: Any) -> Look:
    return Look(
        clock=_number(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        memory_clock=_number(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
        temperature=_number(lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
        power=_number(lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        used=_number(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used),
        reasons=_reasons(handle),
        uncorrected=_number(
            lambda: pynvml.nvmlDeviceGetTotalEccErrors(handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
        ),
        pids=_pids(handle),
    )


def _reasons(handle: Any) -> int | None:
    """Drivers before 535 know the function only by its old name."""
    reasons: int | None = _number(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    return reasons if reasons is not None else _number(lambda: pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _pids(handle: Any) -> tuple[int, ...]:
    with contextlib.suppress(pynvml.NVMLError):
        return tuple(int(process.pid) for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    return ()


def _number(ask: Callable[[], Any]) -> Any:
    """A GPU's answer; None where it does not support the question."""
    try:
        return ask()
    except pynvml.NVMLError:
        return None


def _text(ask: Callable[[], Any]) -> str:
    answer = _number(ask)
    return "" if answer is None else answer.decode() if isinstance(answer, bytes) else str(answer)
