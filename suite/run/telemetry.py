"""What the machine did while a trial was measured, as the rules of invalidation read it (`analysis.invalidation`).

Two readings, one before and one after, a few milliseconds each and outside everything that is timed. Foreign CPU time is
what the usable cores did less what this process and all its descendants did: the trial, the other arm's idle server, the
client and the suite itself are ours. A process that ends in between is counted by the one that waits for it, and the wardens adopt whatever
is orphaned, so nothing of ours is taken for foreign. What a machine does not tell is left out, and breaks no rule.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from suite.run.process import inherited, run_to_end

SHORTEST = 0.5
"""Seconds below which shares of CPU time are not told: the kernel counts in steps of 10 ms, and one step would be several per cent."""
PAGE = os.sysconf("SC_PAGE_SIZE")
ALL_PROCESSES = "pid:[4026531836]"
"""The kernel's first process namespace; in any other, as in most containers, the process numbers of `nvidia-smi` mean nothing to us."""
THERMAL = ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown")
"""What `nvidia-smi` calls the reasons for a lower clock that are throttling; a power cap that is always there is not."""


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
    """A reading of now; GPUs, which take some 50 ms to ask, only where `gpus` is set: after a trial."""
    ours = _ours()
    whole, busy, stolen = _cores()
    asked = gpus and Path("/dev/nvidiactl").exists()
    return Reading(
        seconds=time.monotonic(),
        whole=whole,
        busy=busy,
        stolen=stolen,
        ours=ours,
        swapped=_swapped(),
        throttled=_throttled(),
        hot=_hot() if asked else None,
        strangers=_strangers() if asked and os.readlink("/proc/self/ns/pid") == ALL_PROCESSES else None,
    )


def between(before: Reading, after: Reading) -> dict[str, float]:
    """The entries of `analysis.invalidation` for the time between two readings."""
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


def _hot() -> int | None:
    """GPUs that are throttled for heat, or by the board, at this moment."""
    page = _asked("--query-gpu=" + ",".join(f"clocks_throttle_reasons.{reason}" for reason in THERMAL))
    return None if page is None else throttled_gpus(page)


def throttled_gpus(page: str) -> int:
    """How many lines of `nvidia-smi`'s answer name an active reason."""
    return sum(any(cell.strip() == "Active" for cell in line.split(",")) for line in page.splitlines())


def _strangers() -> int | None:
    """Processes that compute on our GPUs and are not ours."""
    page = _asked("--query-compute-apps=pid")
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    return None if page is None else sum(psutil.pid_exists(pid) and pid not in ours for pid in pids_of(page))


def pids_of(page: str) -> list[int]:
    """The process numbers in `nvidia-smi`'s answer."""
    return [int(line) for line in page.split() if line.isdigit()]


def _asked(query: str) -> str | None:
    """What `nvidia-smi` answers for the GPUs that are ours; None where it doesn't."""
    mine = os.environ.get("CUDA_VISIBLE_DEVICES")
    with tempfile.TemporaryDirectory(prefix="perfproof-") as folder:
        log = Path(folder) / "gpus"
        command = ["nvidia-smi", *(["-i", mine] if mine else []), query, "--format=csv,noheader"]
        done = run_to_end(command, environment=inherited(), log=log, timeout=30)
        return log.read_text() if done.ok else None


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
