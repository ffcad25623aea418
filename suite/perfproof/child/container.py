"""Starts a build's Python in a container: what the starter of an image's build runs, in place of an interpreter.

`python -I -S container.py CONTAINER.json WORDS...`. CONTAINER.json says runtime, image, python and mounts. The container has the machine's
network and shared memory, its GPUs where there are any, and our folders at the same paths as outside: those of CONTAINER.json, those that
`PERFPROOF_MOUNTS` names, the working folder, and every file or folder that a word or a variable names. It gets our environment, except for
what describes this machine and not the process (`OF_THE_HOST`). `--rm` removes it at its end; the supervisor does so where that was cut
short.

A channel (`PERFPROOF_CHANNEL`) reaches into the container by two named pipes in the working folder: a runtime with a daemon passes no open
file on.

It runs under the starting process's interpreter and imports only the standard library. Exit codes are those of the process inside;
128 + N for signal N.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

OF_THE_HOST = frozenset(
    [
        *("PATH", "HOME", "SHELL", "LD_LIBRARY_PATH", "NETRC", "CUDA_HOME", "PYTHONPATH", "PWD", "_"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
        *("PERFPROOF_AT_END", "PERFPROOF_CONTAINER", "PERFPROOF_LAUNCHER", "PERFPROOF_MOUNTS", "PERFPROOF_CHANNEL"),
    ]
)
"""Variables that stay outside, unless the arm itself sets them."""
OF_RUNTIMES = ("DOCKER_", "CONTAINER_", "CONTAINERS_", "BUILDAH_", "STORAGE_")
ARM_S = "PERFPROOF_VARIABLES"
"""The variable that names those which the arm sets (`perfproof.patches.attestation_report`)."""
SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
"""Folders that are the image's own."""
GPU = "/dev/nvidiactl"
INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_container.py")


# --- what it sees ------------------------------------------------------------------------------------------


class Mounts:
    """Folders and files at the same path inside and outside; a writable one within one that is not is a mount of its own."""

    def __init__(self) -> None:
        self.writable: dict[str, bool] = {}

    def add(self, path: str, *, writable: bool) -> None:
        """A path of this machine, unless a mount has it already or it is the image's own."""
        path = os.path.normpath(path)
        if path == "/" or any(_within(path, own) for own in SYSTEM):
            return
        above = max((one for one in self.writable if _within(path, one)), key=len, default=None)
        if above is None or (writable and not self.writable[above]):
            self.writable[path] = writable

    def named(self, text: str) -> None:
        """What a word or a variable's value names: existing files and folders, and the folder of a file to be written."""
        for part in [text, *text.split(os.pathsep), text.partition("=")[2]]:
            if os.path.isabs(part) and os.path.lexists(part):
                self.add(part, writable=True)
            elif os.path.isabs(part) and os.path.isdir(os.path.dirname(part)):
                self.add(os.path.dirname(part), writable=True)

    def options(self) -> Iterator[str]:
        for path in sorted(self.writable):
            yield f"--volume={path}:{path}:{'rw' if self.writable[path] else 'ro'}"


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def passed(environment: Mapping[str, str], image_python_path: str) -> dict[str, str]:
    """The variables of the process inside; the image's own folders for Python stay behind ours."""
    of_arm = set(environment.get(ARM_S, "").split())
    inside = {
        name: value for name, value in environment.items() if name in of_arm or not (name in OF_THE_HOST or name.startswith(OF_RUNTIMES))
    }
    if path := os.pathsep.join(filter(None, [environment.get("PYTHONPATH", ""), image_python_path])):
        inside["PYTHONPATH"] = path
    if "HF_HOME" not in inside and (cache := hub_cache(environment)):
        inside["HF_HOME"] = cache
    return inside


def hub_cache(environment: Mapping[str, str]) -> str:
    """The folder in which the hub's models lie on this machine; "" where there is none."""
    home = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", ""), ".cache")
    cache = os.path.join(home, "huggingface")
    return cache if os.path.isabs(cache) and os.path.isdir(cache) else ""


def command(starter: Mapping[str, Any], words: list[str], environment: Mapping[str, str], folder: str, pipes: list[str]) -> list[str]:
    """The runtime's whole command line. `pipes` are the channel's named pipes, none without a channel."""
    inside, mounts = passed(environment, starter.get("python_path", "")), Mounts()
    for path, writable in [*starter["mounts"], *json.loads(environment.get("PERFPROOF_MOUNTS", "[]"))]:
        mounts.add(path, writable=writable)
    mounts.add(os.path.dirname(INSIDE), writable=False)
    mounts.add(folder, writable=True)
    for text in [*words, *(inside.values() if "PERFPROOF_CONTAINER" in os.environ else ())]:
        mounts.named(text)
    return [
        *(starter["runtime"], "run", "--rm", "--pull=never", "--log-driver=none", f"--name={environment['PERFPROOF_CONTAINER']}"),
        *(f"--label=perfproof.launcher={environment['PERFPROOF_LAUNCHER']}", "--network=host", "--ipc=host", f"--workdir={folder}"),
        *("--security-opt=seccomp=unconfined", "--security-opt=label=disable", "--cap-add=SYS_NICE"),
        *gpus(starter["runtime"]),
        *user(starter["runtime"]),
        *mounts.options(),
        *(f"--env={name}" if environment.get(name) == value else f"--env={name}={value}" for name, value in sorted(inside.items())),
        *(f"--entrypoint={starter['python']}", starter["image"], "-I", "-S", INSIDE),
        *(",".join(pipes), ",".join(map(str, sorted(os.sched_getaffinity(0)))), starter["python"], *words),
    ]


def gpus(runtime: str, device: str = GPU) -> Iterable[str]:
    """All GPUs, if the machine has any: `CUDA_VISIBLE_DEVICES` says the same inside as outside."""
    if not os.path.exists(device):
        return ()
    return ("--gpus=all",) if runtime == "docker" else ("--device=nvidia.com/gpu=all",)


def user(runtime: str) -> Iterable[str]:
    """Whose files it writes: podman maps its root to the user; docker's root is the machine's."""
    if runtime == "docker" and os.getuid():
        return (f"--user={os.getuid()}:{os.getgid()}", "--env=HOME=/tmp")
    return ()


# --- running -----------------------------------------------------------------------------------------------


def copy(source: int | str, target: int | str) -> None:
    """Copies bytes from one pipe to another until the source ends; a name is opened first, which waits for the other side."""
    reader = os.open(source, os.O_RDONLY) if isinstance(source, str) else source
    writer = os.open(target, os.O_WRONLY) if isinstance(target, str) else target
    try:
        while data := os.read(reader, 65536):
            while data:
                data = data[os.write(writer, data) :]
    except OSError:
        pass
    finally:
        os.close(writer)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def run(line: list[str], pipes: list[str], channel: str) -> int:
    """Runs the command line to its end, with the channel's bytes carried in and out; returns its exit code."""
    ours = [int(end) for end in channel.split(",")] if channel else []
    for end in ours:
        os.set_inheritable(end, False)
    pid = os.posix_spawnp(line[0], line, os.environ)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, _: send(pid, given))
    answers = None
    if ours:
        threading.Thread(target=copy, args=(ours[0], pipes[0]), daemon=True).start()
        answers = threading.Thread(target=copy, args=(pipes[1], ours[1]), daemon=True)
        answers.start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if answers is not None:
        answers.join(0.5)  # its last words may still be on their way
    return code if code >= 0 else 128 - code


def main(argv: list[str]) -> int:
    with open(argv[0], encoding="utf-8") as file:
        starter = json.load(file)
    environment, channel = dict(os.environ), os.environ.get("PERFPROOF_CHANNEL", "")
    environment.setdefault("PERFPROOF_CONTAINER", f"perfproof-{uuid.uuid4().hex}")
    environment.setdefault("PERFPROOF_LAUNCHER", "0-0")
    pipes = [os.path.abspath(f".{environment['PERFPROOF_CONTAINER']}-{name}") for name in ("orders", "answers")] if channel else []
    try:
        for pipe in pipes:
            os.mkfifo(pipe)
        return run(command(starter, argv[1:], environment, os.getcwd(), pipes), pipes, channel)
    except FileNotFoundError as error:
        os.write(2, f"cannot run {starter['runtime']}: {error.strerror}\n".encode())
        return 127
    finally:
        for pipe in pipes:
            os.unlink(pipe)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
