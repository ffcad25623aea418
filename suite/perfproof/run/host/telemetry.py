"""The machine while a trial was measured, for the rules of invalidation (`analysis.trials.invalidation`).

There are two readings, before and after the trial, a few milliseconds each and outside everything that is timed. During a long trial a
`Sampler` also looks every two seconds, in under a millisecond, at what varies: clocks, heat, memory. Foreign CPU time is the CPU time of
the usable cores minus that of this process and all its descendants: the trial, the other arm's idle server, the client and the suite itself
are ours. A process that ends in between is counted by the process that waits for it, and supervisors adopt orphans, so nothing of ours
counts as foreign. Processes in containers of docker are no descendants, and ours too; where one ended in between, foreign CPU time is
unknown. A value that the machine does not report is left out, and breaks no rule.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from perfproof.builds.processes import containers
from perfproof.run.host import gpus
from perfproof.run.host.gpus import Look

SHORTEST = 0.5
"""Seconds below which there are no shares of CPU time: the kernel counts in steps of 10 ms, and one step would be several per cent."""
PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY = 2.0
"""Seconds between two looks of a `Sampler`, at least."""
CORES_ASKED = 4
"""Cores whose frequency is read: a reading can take the kernel a while, and all cores are much the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counts since the machine started: CPU seconds of the usable cores (all, busy, stolen) and of ours; bytes swapped; throttle events.

    `throttled` is None where the machine does not count them. GPUs have no counts, only this moment: `hot` is how many are throttled,
    `strangers` how many processes on them are not ours; None where that is unknown. `lost` is how many containers of ours have ended whose
    CPU time is not in `ours`.
    """

    seconds: float
    whole: float
    busy: float
    stolen: float
    ours: float
    swapped: float
    throttled: int | None
    hot: int | None
    strangers: int | None
    lost: int = 0


def read(*, gpus: bool = False) -> Reading:
    """A reading now; of GPUs only if `gpus` is set, after a trial."""
    ours = _ours()
    whole, busy, stolen = _cores()
    looks = _gpus() if gpus else ()
    return Reading(
        seconds=time.monotonic(),
        whole=whole,
        busy=busy,
        stolen=stolen,
        ours=ours,
        swapped=_swapped(),
        throttled=_throttled(),
        hot=sum(one.throttled for one in looks) if looks else None,
        strangers=_strangers(looks),
        lost=containers.apart()[1],
    )


def between(before: Reading, after: Reading) -> dict[str, float]:
    """The entries of `analysis.trials.invalidation` for the time between two readings."""
    changes: dict[str, float] = {"swapped": max(0.0, after.swapped - before.swapped)}
    whole = after.whole - before.whole
    if whole > 0 and after.seconds - before.seconds >= SHORTEST:
        foreign = after.busy - before.busy - (after.ours - before.ours)
        changes["steal"] = round(max(0.0, after.stolen - before.stolen) / whole, 4)
        if after.lost == before.lost:
            changes["foreign"] = round(max(0.0, foreign) / whole, 4)
    if after.throttled is not None and before.throttled is not None:
        changes["throttled"] = max(0, after.throttled - before.throttled)
    if after.hot is not None:
        changes["throttled"] = changes.get("throttled", 0) + after.hot
    if after.strangers is not None:
        changes["foreign_gpu"] = after.strangers
    return changes


def in_use(seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep) -> float:
    """The share of the usable cores' time that other programs take, stolen time included, over so many seconds; 0 where it is unknown."""
    before = read()
    sleep(seconds)
    after = read()
    whole = after.whole - before.whole
    taken = after.busy - before.busy + after.stolen - before.stolen - (after.ours - before.ours)
    return max(0.0, taken) / whole if whole > 0 else 0.0


def _ours() -> float:
    """CPU seconds of this process and its descendants, ended ones included."""
    total = 0.0
    for process in _our_processes():
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def _our_processes() -> list[psutil.Process]:
    """This process and its descendants, and those in our containers."""
    found = []
    for pid in (os.getpid(), *containers.apart()[0]):
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(pid)
            found += [root, *root.children(recursive=True)]
    return found


def _cores() -> tuple[float, float, float]:
    """Seconds in all, busy and stolen, of the cores that this process may use."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    whole = busy = stolen = 0.0
    for number, times in enumerate(psutil.cpu_times(percpu=True)):
        if usable is None or number in usable:
            steal = getattr(times, "steal", 0.0)
            worked = times.user + times.nice + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0)
            busy, stolen = busy + worked, stolen + steal
            whole += worked + steal + times.idle + getattr(times, "iowait", 0.0)
    return whole, busy, stolen


def _swapped() -> float:
    """Bytes swapped in and out since the machine started."""
    lines = (line.split() for line in _text("/proc/vmstat").splitlines())
    return float(PAGE * sum(int(words[1]) for words in lines if words[0] in ("pswpin", "pswpout")))


def _throttled() -> int | None:
    """Thermal throttle events that the processor's cores have counted; None where they don't count."""
    files = sorted(Path("/sys/devices/system/cpu").glob("cpu*/thermal_throttle/core_throttle_count"))
    return sum(int(_text(file) or 0) for file in files) if files else None


def _gpus() -> tuple[Look, ...]:
    return gpus.look()


def _strangers(looks: Sequence[Look]) -> int | None:
    """How many processes on our GPUs are not ours."""
    return gpus.strangers(looks, {process.pid for process in _our_processes()}) if looks else None


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


# --- beside a trial -----------------------------------------------------------------------------------


class Sampler:
    """Looks at the machine now and then while a trial runs: call `look` as often as you like, and `summary` at the end."""

    def __init__(self, every: float = EVERY, gpus: Callable[[], tuple[Look, ...]] = gpus.look) -> None:
        self._every, self._gpus = every, gpus
        self._next = 0.0
        self._began, self._cpu = time.monotonic(), time.process_time()
        self._frequencies: list[int] = []
        self._memory: list[int] = []
        self._looks: list[tuple[Look, ...]] = []

    def look(self) -> None:
        """Takes a sample, unless the last one was just now."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        self._frequencies += frequencies()
        self._memory.append(psutil.virtual_memory().available)
        self._looks.append(self._gpus())

    def throttled(self) -> int:
        """How many GPUs were seen throttled."""
        return sum(any(one.throttled for one in seen) for seen in zip(*self._looks, strict=True))

    def summary(self) -> dict[str, Any]:
        """The record's entry: extremes over the trial, in MHz, bytes, degrees Celsius and watts; unknown values are left out.

        `watching` is the share of one core that this process took meanwhile: it only looks and waits.
        """
        clocks = {"cpu_mhz": _range(self._frequencies)} if self._frequencies else {}
        memory = {"memory_available_bytes": min(self._memory)} if self._memory else {}
        every = [_gpu_summary(seen) for seen in zip(*self._looks, strict=True)]
        watching = (time.process_time() - self._cpu) / max(time.monotonic() - self._began, 1e-9)
        return {"looks": len(self._looks), "watching": round(watching, 5), **clocks, **memory, **({"gpus": every} if every else {})}


def meanwhile(before: Reading, sampler: Sampler) -> dict[str, Any]:
    """The machine during a trial that has just ended: `telemetry` for the rules of invalidation, `while_measuring` for readers of the
    record. A GPU that was seen throttled breaks its rule even if it has cooled down since."""
    seen = between(before, read(gpus=True))
    if hot := sampler.throttled():
        seen["throttled"] = max(seen.get("throttled", 0), hot)
    return {"telemetry": seen, "while_measuring": sampler.summary()}


def warnings(environment: Mapping[str, Any]) -> list[str]:
    """Warnings about the machine for a trial that counts; `environment` has the entries of `meanwhile`."""
    errors = sum(gpu.get("uncorrected_errors", 0) for gpu in environment["while_measuring"].get("gpus", ()))
    return [f"{errors} errors of GPU memory that ECC could not correct occurred while measuring: check the card"] if errors else []


def frequencies() -> list[int]:
    """The present frequencies of the first usable cores, in MHz; empty where unknown."""
    cores = sorted(os.sched_getaffinity(0))[:CORES_ASKED] if hasattr(os, "sched_getaffinity") else []
    texts = (_text(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq") for core in cores)
    return [int(text) // 1000 for text in texts if text.isdigit()]


def _gpu_summary(seen: Sequence[Look]) -> dict[str, Any]:
    """One GPU over a trial: lowest and highest of each value, all reasons for its clock, and the errors that ECC could not correct."""
    summary: dict[str, Any] = {}
    for name in ("clock", "memory_clock", "temperature", "power", "used"):
        values = [value for one in seen if (value := getattr(one, name)) is not None]
        if values:
            summary[name] = _range(values)
    reasons = {bit for one in seen for bit in gpus.REASONS if (one.reasons or 0) & bit}
    summary["reasons"] = [gpus.REASONS[bit] for bit in sorted(reasons)]
    errors = [one.uncorrected for one in seen if one.uncorrected is not None]
    if errors:
        summary["uncorrected_errors"] = errors[-1] - errors[0]
    return summary


def _range(values: Sequence[float]) -> list[float]:
    return [round(min(values), 1), round(max(values), 1)]
