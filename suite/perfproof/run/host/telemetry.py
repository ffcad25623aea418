"""What the machine did while a trial was measured, as the rules of invalidation read it (`analysis.trials.invalidation`).

Two readings, one before and one after, a few milliseconds each and outside everything that is timed; and, beside a trial that takes
long, a look every other second (`Sampler`), at under a millisecond, for what comes and goes: clocks, heat, memory. Foreign CPU time is
what the usable cores did less what this process and all its descendants did: the trial, the other arm's idle server, the
client and the suite itself are ours. A process that ends in between is counted by the one that waits for it, and supervisors adopt what
is orphaned, so nothing of ours is taken for foreign. What a machine does not tell is left out, and breaks no rule.
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

from perfproof.run.host import gpus
from perfproof.run.host.gpus import Look

SHORTEST = 0.5
"""Seconds below which shares of CPU time are not told: the kernel counts in steps of 10 ms, and one step would be several per cent."""
PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY = 2.0
"""Seconds between two looks of a `Sampler`, at least."""
CORES_ASKED = 4
"""Cores whose frequency is looked at: asking one can take the kernel a while, and they tell much the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counts since the machine started: CPU seconds of the usable cores (all, busy, stolen) and of ours; bytes swapped; throttle events.

    `throttled` is None where the machine does not count them. Of GPUs there is only this moment: `hot` are those that are throttled,
    `strangers` the processes on them that are not ours; None where that can't be known.
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


def read(*, gpus: bool = False) -> Reading:
    """A reading of now; GPUs only where `gpus` is set: after a trial."""
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
    )


def between(before: Reading, after: Reading) -> dict[str, float]:
    """The entries of `analysis.trials.invalidation` for the time between two readings."""
    found: dict[str, float] = {"swapped": max(0.0, after.swapped - before.swapped)}
    whole = after.whole - before.whole
    if whole > 0 and after.seconds - before.seconds >= SHORTEST:
        foreign = after.busy - before.busy - (after.ours - before.ours)
        found["steal"] = round(max(0.0, after.stolen - before.stolen) / whole, 4)
        found["foreign"] = round(max(0.0, foreign) / whole, 4)
    if after.throttled is not None and before.throttled is not None:
        found["throttled"] = max(0, after.throttled - before.throttled)
    if after.hot is not None:
        found["throttled"] = found.get("throttled", 0) + after.hot
    if after.strangers is not None:
        found["foreign_gpu"] = after.strangers
    return found


def in_use(seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep) -> float:
    """The share of the usable cores' time that others take (stolen time with it), watched for so many seconds; 0 where the machine does
    not tell."""
    before = read()
    sleep(seconds)
    after = read()
    whole = after.whole - before.whole
    taken = after.busy - before.busy + after.stolen - before.stolen - (after.ours - before.ours)
    return max(0.0, taken) / whole if whole > 0 else 0.0


def _ours() -> float:
    """CPU seconds of this process and its descendants, those that have ended with them."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


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
    """Processes that compute on our GPUs and are not ours."""
    return gpus.strangers(looks, {process.pid for process in psutil.Process().children(recursive=True)}) if looks else None


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


# --- beside a trial -----------------------------------------------------------------------------------


class Sampler:
    """Looks at the machine now and then while a trial runs: `look` may be called as often as one likes, `told` at the end."""

    def __init__(self, every: float = EVERY, gpus: Callable[[], tuple[Look, ...]] = gpus.look) -> None:
        self._every, self._gpus = every, gpus
        self._next = 0.0
        self._began, self._cpu = time.monotonic(), time.process_time()
        self._frequencies: list[int] = []
        self._memory: list[int] = []
        self._looks: list[tuple[Look, ...]] = []

    def look(self) -> None:
        """Does nothing where the last look was just now."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        self._frequencies += frequencies()
        self._memory.append(psutil.virtual_memory().available)
        self._looks.append(self._gpus())

    def throttled(self) -> int:
        """GPUs that were seen throttled."""
        return sum(any(one.throttled for one in seen) for seen in zip(*self._looks, strict=True))

    def told(self) -> dict[str, Any]:
        """What a record keeps: extremes over the trial, in MHz, bytes, degrees Celsius and watts; what is not told is not there.

        `watching` is the share of one core that this process took meanwhile: it does nothing but look, and wait.
        """
        clocks = {"cpu_mhz": _range(self._frequencies)} if self._frequencies else {}
        memory = {"memory_available_bytes": min(self._memory)} if self._memory else {}
        every = [_gpu_told(seen) for seen in zip(*self._looks, strict=True)]
        watching = (time.process_time() - self._cpu) / max(time.monotonic() - self._began, 1e-9)
        return {"looks": len(self._looks), "watching": round(watching, 5), **clocks, **memory, **({"gpus": every} if every else {})}


def meanwhile(before: Reading, sampler: Sampler) -> dict[str, Any]:
    """What the machine did during a trial that is over now: `telemetry` for the rules of invalidation, `while_measuring` for whoever reads
    the record. A GPU that was seen throttled breaks its rule though it has cooled down since."""
    seen = between(before, read(gpus=True))
    if hot := sampler.throttled():
        seen["throttled"] = max(seen.get("throttled", 0), hot)
    return {"telemetry": seen, "while_measuring": sampler.told()}


def warnings(environment: Mapping[str, Any]) -> list[str]:
    """What a person has to look after, though the trial counts; `environment` has what `meanwhile` found."""
    errors = sum(gpu.get("uncorrected_errors", 0) for gpu in environment["while_measuring"].get("gpus", ()))
    return [f"{errors} errors of GPU memory that ECC could not correct came while measuring: look after the card"] if errors else []


def frequencies() -> list[int]:
    """What the first of the usable cores run at now, in MHz; empty where the machine does not tell."""
    cores = sorted(os.sched_getaffinity(0))[:CORES_ASKED] if hasattr(os, "sched_getaffinity") else []
    said = (_text(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq") for core in cores)
    return [int(text) // 1000 for text in said if text.isdigit()]


def _gpu_told(seen: Sequence[Look]) -> dict[str, Any]:
    """One GPU over a trial: lowest and highest of each, every reason that its clock had, errors beyond ECC that came meanwhile."""
    found: dict[str, Any] = {}
    for name in ("clock", "memory_clock", "temperature", "power", "used"):
        values = [value for one in seen if (value := getattr(one, name)) is not None]
        if values:
            found[name] = _range(values)
    reasons = {bit for one in seen for bit in gpus.REASONS if (one.reasons or 0) & bit}
    found["reasons"] = [gpus.REASONS[bit] for bit in sorted(reasons)]
    errors = [one.uncorrected for one in seen if one.uncorrected is not None]
    if errors:
        found["uncorrected_errors"] = errors[-1] - errors[0]
    return found


def _range(values: Sequence[float]) -> list[float]:
    return [round(min(values), 1), round(max(values), 1)]
