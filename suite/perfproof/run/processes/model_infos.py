"""What vLLM finds out about a model's class, found out once for all builds that have the same models.

To see what a model can do, vLLM imports itself in one more process (some ten seconds of a core) and keeps the answer below its cache, by a
hash of the model's file. Here every build, every overlay and every set of patches has a cache of its own, for what is compiled depends on
them. The answer depends on the models' files, vLLM, Python and PyTorch: builds that agree in these share it. What an arm patches may
change a class, so that an arm with plugins of its own starts no sharing. A process whose start is measured shares nothing: one side would
pay for both. Processes that count find it out in themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from perfproof.builds.install.interpreter_probe import hash_sources
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.run.processes.trial_process import ATTEST_PLUGIN

FOLDER = "modelinfos"
"""vLLM's name of the folder, below its cache."""


def share(build: ReadyBuild, environment: Mapping[str, str]) -> None:
    """Has a process with this environment, which starts next, find what others have found out. A cache that is not ours is left alone, and
    so is one that knows something already."""
    own, ours = Path(environment["VLLM_CACHE_ROOT"]) / FOLDER, caches(build)
    if environment["VLLM_PLUGINS"] != ATTEST_PLUGIN or not own.is_relative_to(ours) or own.exists():
        return
    place = folder_of(build)
    with contextlib.suppress(OSError):  # without, vLLM finds it out
        place.mkdir(parents=True, exist_ok=True)
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(os.path.relpath(place, own.parent))


def folder_of(build: ReadyBuild) -> Path:
    """The folder for builds with the same models, vLLM, Python and PyTorch."""
    said = build.fingerprint
    rooms = [hash_sources(said.package.joinpath(*room))[0] for room in (("model_executor", "models"), ("models",))]
    key = repr([said.vllm_version, said.python, said.torch_version, *rooms])
    return caches(build) / f"{FOLDER}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def caches(build: ReadyBuild) -> Path:
    """The folder of all caches, below the builds."""
    return build.side.parent / "cache"
