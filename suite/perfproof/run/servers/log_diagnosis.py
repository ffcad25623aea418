"""Finds the cause of a dead server in its log, for the common causes.

A pure function over text: the first rule that matches gives the cause. If none does, the last lines of the log
are all there is.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Sequence

from perfproof.model.base.untrusted import lines
from perfproof.model.records.record import INTERRUPTED
from perfproof.run.host.disk_space import CAUSES

PORT_TAKEN = "its port was taken by another program between the choice and the start"
ERROR = r"((?:\w+\.)*\w*(?:Error|Exception|Refused|Interrupt): .+)"
"""The last line of a traceback."""
RULES: tuple[tuple[str, str], ...] = (
    (r"[Aa]ddress already in use", PORT_TAKEN),
    (r"patch (\S+) refused: (.+)", r"patch \1 refused: \2"),
    (rf"in load_general_plugins\n.*func\(\)\n(?:.*\n){{1,40}}?.*?{ERROR}", r"a plugin raised while it was applied: \1"),
    (r"unrecognized arguments: (.+)", r"this vLLM knows no such server argument: \1"),
    (r"error: argument (.+)", r"a server argument was refused: \1"),
    (
        r"larger than the available KV cache|KV cache is (?:too small|needed)|No available memory for the cache blocks|max seq len .* KV"
        r"|larger than the maximum number of tokens that can be stored in KV cache",
        "the KV cache is too small for the model's context: use less context, or more cache memory",
    ),
    (
        r"CUDA out of memory|torch\.OutOfMemoryError|DefaultCPUAllocator: can't allocate|MemoryError|Cannot allocate memory"
        r"|Free memory on device .* is less than desired|on kv cache allocation is less than requested",
        "it ran out of memory: use a smaller model, fewer sequences, or a machine with more",
    ),
    (
        r"Value error, Model Runner V2 requires Triton",
        "the Model Runner V2 was wanted, but this build has no Triton for it (as on a CPU)",
    ),
    (
        r"No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so\.1: cannot open|NVML Shared Library Not Found"
        r"|Failed to infer device type",
        "it found no CUDA device on this machine",
    ),
    (
        r"Can't load the configuration|not a valid model identifier|Invalid repository ID|couldn't connect to|Repo id must|RepositoryNotF"
        r"|LocalEntryNotFoundError|Cannot find an appropriate cached snapshot",
        "there is no such model, or the hub can't be reached",
    ),
    (r"validation errors? for (\w+)\n(?:\w+\n)?\s+(.+?)(?: \[type=|\n)", r"its settings don't fit together (\1): \2"),
    (r"ModuleNotFoundError: (.+)", r"a Python package is missing there: \1"),
    (r"Failed to load plugin (\S+)", r"the plugin \1 does not import"),
)


SIGNALS: tuple[tuple[int, str, str], ...] = (
    (
        signal.SIGILL,
        r"[Ee]xit ?code:? ?=?-4\b|SIGILL|Illegal instruction",
        "SIGILL is an instruction that this processor did not let it run; the bfloat16 kernels of vLLM 0.32.0 do that on a CPU with AMX: "
        "give every arm --dtype=float32 among its server_arguments",
    ),
    (
        signal.SIGBUS,
        r"[Ee]xit ?code:? ?=?-7\b|SIGBUS|Bus error",
        "SIGBUS means that there was no room for memory shared between processes: see whether /dev/shm or the disk is full (df /dev/shm)",
    ),
)
"""Signals with a common cause: how vLLM, a shell or Python reports that one ended a process, and what it means."""

NO_ROOM = {**{os.strerror(number): cause for number, cause in CAUSES.items()}, "SIGXFSZ": CAUSES[errno.EFBIG]}
"""Messages of a program that found no disk space for its files, and what they mean."""


def interrupted(reason: str) -> str:
    """Why a trial's failure is the machine's fault and not its arm's: a sentence, or ""."""
    cause = next((cause for message, cause in NO_ROOM.items() if message in reason), "")
    return f"{INTERRUPTED}: {cause}: {reason}" if cause else ""


NOISE = re.compile(
    r"^(nanobind: | - leaked | - \.\.\. skipped remainder|See https://nanobind)"
    r"|^(\(\w+ pid=\d+\) )?(ERROR [^]]*\] )?[\s^~]*$"
)
"""Lines that an orderly end prints after those that matter, and lines of a traceback that only point at the line before."""
PACKAGES = re.compile(r'(?<=")/[^"]*/(?=site-packages/)')
"""The folder of an interpreter's packages, which differs between machines."""

LAST = 12
"""Log lines at the end of a reason."""


def without_noise(log: str) -> list[str]:
    """The lines of a log without `NOISE`."""
    return [line for line in log.splitlines() if not NOISE.match(line)]


def last_words(log: str, most: int = LAST) -> str:
    """The last useful lines of a log, safe to print and of bounded length."""
    return lines(PACKAGES.sub("…/", "\n".join(without_noise(log)[-most:])), most)


def diagnose(log: str, signals: Sequence[int] = ()) -> str:
    """The cause of a program's end as one clause, from its log or from the signals that ended its processes; "" if it is unknown."""
    for number, pattern, words in SIGNALS:
        if number in signals or re.search(pattern, log):
            return words
    for pattern, words in RULES:
        match = re.search(pattern, log)
        if match:
            return match.expand(words).strip()
    return ""
