"""A delay of known length in every step of the engine's host path: a busy wait in the scheduler.

It exists to ask what host time is worth (`perfproof exposure`): a step that computes something waits so many microseconds longer before its
work goes to the device. `PERFPROOF_STEP_DELAY="100"` sets microseconds at the start. While the process lives, the delay is what the file
`step_delay` in the folder of its attestations says, eight bytes, so that one server can be measured with several. Results do not change.

`step delay steps` counts the steps that computed something, and `step delay ns` the nanoseconds that were really waited in them.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfproof.patches.guard import Counter, Patch, PatchRefused, Target, asked_for, counter, original_of

VARIABLE = "PERFPROOF_STEP_DELAY"
FILE = "step_delay"
STEPS, WAITED = "step delay steps", "step delay ns"
MOST = 1_000_000
"""The longest delay, in microseconds."""

SCHEDULE = Target(
    "vllm.v1.core.sched.scheduler",
    "Scheduler.schedule",
    {"0.22.0": "2ab85c3e0647be5e", "0.32.0": "81a3aa7c0bffa509"},
)
PATCH = Patch(
    name="step_delay",
    direction="removes",
    summary="makes every step of the engine's host longer by a known time, to see how much of it shows",
    origin="the suite's own",
    holds={"0.22.0": frozenset({"cpu", "cuda"}), "0.32.0": frozenset({"cpu"})},
    targets=(SCHEDULE,),
)


def asked_delay() -> int:
    """The microseconds that the environment asks for, 0 if it does not; raises `PatchRefused` for anything but a whole number."""
    text = os.environ.get(VARIABLE, "0")
    if not (text.isascii() and text.isdigit()) or int(text) > MOST:
        raise PatchRefused(f"patch {PATCH.name} refused: {VARIABLE} is {text!r}, wanted whole microseconds up to {MOST}")
    return int(text)


def delay_file(folder: Path) -> Path:
    """The file that says the delay of processes that attest in `folder`."""
    return folder / FILE


def set_delay(folder: Path, microseconds: int) -> None:
    """Sets the delay of every process that attests in `folder`, from its next step on."""
    with open(delay_file(folder), "r+b") as file:
        file.write(microseconds.to_bytes(8, "little"))


def shared_cell(folder: Path | None, microseconds: int) -> memoryview:
    """The cell that holds the delay, in the folder's file if there is a folder; the first process to come makes the file."""
    if folder is None:
        return memoryview(bytearray(microseconds.to_bytes(8, "little"))).cast("Q")
    folder.mkdir(parents=True, exist_ok=True)
    draft = delay_file(folder).with_name(f"{FILE}.{os.getpid()}")
    draft.write_bytes(microseconds.to_bytes(8, "little"))
    try:
        os.link(draft, delay_file(folder))  # whole or not at all, and never over a delay that was set meanwhile
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    with open(delay_file(folder), "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")


def delayed(
    upstream: Callable[..., Any],
    cell: memoryview,
    steps: Counter,
    waited: Counter,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Callable[..., Any]:
    """`upstream`, followed by a busy wait of the cell's microseconds if the step computes any token."""

    def slower(*args: Any, **kwargs: Any) -> Any:
        output = upstream(*args, **kwargs)
        if output.total_num_scheduled_tokens > 0:
            began = now = clock()
            until = began + 1000 * cell[0]
            while now < until:
                now = clock()
            steps.add()
            waited.add(now - began)
        return output

    return slower


def register() -> None:
    if not asked_for(PATCH.name):
        return
    attests = os.environ.get("PERFPROOF_ATTEST")
    cell = shared_cell(Path(attests) if attests else None, asked_delay())
    PATCH.apply(lambda: {SCHEDULE.name: delayed(original_of(SCHEDULE), cell, counter(STEPS), counter(WAITED))})
