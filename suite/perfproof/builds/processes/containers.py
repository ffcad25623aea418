"""Container runtimes: asked about images, and told to remove the container of a program that was ended.

A build from an image has a starter in place of an interpreter, with `container.json` in the folder above it (`perfproof.child.container`
reads both). A program that is started through it runs in a container whose name has the program's mark. So the container is found by name,
whichever process dies: the supervisor removes it at the program's end, and a later run those of a launcher that is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNTIMES = ("docker", "podman")
STARTER = "container.json"
"""The file in a build's folder that says which image its starter runs."""
LABEL = "perfproof.launcher"
"""The label of our containers, with the process that launched it."""
ASKING = 60.0
"""Seconds for an answer of a runtime."""
NEEDED = frozenset(["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"])
PREFIXES = ("DOCKER_", "CONTAINER_", "CONTAINERS_", "BUILDAH_", "STORAGE_")
"""Variables by which a runtime finds its daemon and its images; no process in a container gets them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that a runtime has: its digest (64 hex digits), and the variables that it sets."""

    runtime: str
    digest: str
    variables: Mapping[str, str]


def here() -> list[str]:
    """The runtimes on `PATH`."""
    return [runtime for runtime in RUNTIMES if shutil.which(runtime)]


def image(runtime: str, name: str) -> Image | str:
    """The image of that name or digest; else the runtime's last line about why it has none."""
    done = _ask(runtime, "image", "inspect", name)
    if isinstance(done, str):
        return done
    try:
        (found,) = json.loads(done.stdout)
        digest = str(found["Id"]).removeprefix("sha256:")
        pairs = (entry.partition("=") for entry in (found.get("Config") or {}).get("Env") or ())
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"its answer about {name} is none of an image"
    return Image(runtime=runtime, digest=digest, variables={key: value for key, _, value in pairs})


def sweep(runtime: str) -> int:
    """Removes the containers of ours whose launcher is dead, also by `kill -9`; returns how many there were."""
    done = _ask(runtime, "ps", "--all", "--filter", f"label={LABEL}", "--format", f'{{{{.Names}}}} {{{{.Label "{LABEL}"}}}}')
    lines = () if isinstance(done, str) else (line.split() for line in done.stdout.splitlines())
    dead = [line[0] for line in lines if len(line) == 2 and launcher(int(line[1].partition("-")[0] or 0)) != line[1]]
    if dead:
        _ask(runtime, "rm", "--force", *dead)
    return len(dead)


def launcher(pid: int) -> str:
    """A process by its number and the time of its start, in clock ticks: another process gets the number sooner or later."""
    try:
        return f"{pid}-{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return f"{pid}-0"


def _ask(runtime: str, *words: str) -> subprocess.CompletedProcess[str] | str:
    """The runtime's answer; the last line of its complaint if it has none."""
    try:
        done = subprocess.run([runtime, *words], capture_output=True, text=True, timeout=ASKING, check=False)  # noqa: S603 (no shell)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"it exited with code {done.returncode}"])[-1]
    return done


# --- the container of a program ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The container that a program runs in, by its runtime and name."""

    runtime: str
    name: str

    @property
    def removal(self) -> Sequence[str]:
        """The command that kills and removes it."""
        return (self.runtime, "rm", "--force", "--volumes", self.name)

    def remove(self) -> None:
        """Kills and removes it, if it is there."""
        _ask(*self.removal)

    def pid(self) -> int | None:
        """Its first process, as this machine numbers it; None until it runs."""
        done = _ask(self.runtime, "inspect", "--format", "{{.State.Pid}}", self.name)
        text = "" if isinstance(done, str) else done.stdout.strip()
        return int(text) if text.isdigit() and text != "0" else None


_APART: dict[str, int] = {}
"""The first process of each running container of ours that is no descendant of this process, because a daemon started it; 0 until it is
known."""
_ENDED = [0]


def began(container: Container) -> None:
    """Notes a container that starts; docker's daemon is the parent of its own, podman's are descendants of who calls it."""
    if container.runtime == "docker":
        _APART[container.name] = 0


def ended(container: Container) -> None:
    """Notes that a container has ended."""
    if _APART.pop(container.name, None) is not None:
        _ENDED[0] += 1


def apart() -> tuple[list[int], int]:
    """The first processes of our running containers that are no descendants of this process; and how many such containers have ended, whose
    CPU time nobody knows any more."""
    for name in [name for name, pid in _APART.items() if not pid]:
        _APART[name] = Container(runtime="docker", name=name).pid() or 0
    return [pid for pid in _APART.values() if pid], _ENDED[0]


def of_program(program: str, mark: str) -> Container | None:
    """The container that a program with that mark will run in; None for programs that start none."""
    file = Path(program).parent.parent / STARTER
    if not os.path.isabs(program):
        return None
    try:
        starter: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return Container(runtime=str(starter["runtime"]), name=f"perfproof-{mark}")


def variables(container: Container) -> dict[str, str]:
    """The variables by which the starter and the supervisor find the runtime, name the container and remove it."""
    own = {name: value for name, value in os.environ.items() if name in NEEDED or name.startswith(PREFIXES)}
    return {
        **own,
        "PERFPROOF_CONTAINER": container.name,
        "PERFPROOF_LAUNCHER": launcher(os.getpid()),
        "PERFPROOF_AT_END": json.dumps(container.removal),
    }
