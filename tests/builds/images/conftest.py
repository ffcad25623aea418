"""A stand-in for podman on PATH, and an image of it whose Python is an environment of this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from perfproof.model.scenarios.scenario import ImageBuild
from tests import toy

IMAGE = "localhost/vllm:nightly"
DIGEST = "ab" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The stand-in: its folder, and the Python of its image."""

    folder: Path
    python: Path

    def has(self, name: str, digest: str, **variables: str) -> None:
        """Gives a name to an image with that digest."""
        file = self.folder / "images.json"
        images = json.loads(file.read_text()) if file.exists() else {}
        images[name] = {"Id": f"sha256:{digest}", "Config": {"Env": [f"{key}={value}" for key, value in variables.items()]}}
        file.write_text(json.dumps(images))

    def calls(self, verb: str) -> list[list[str]]:
        """The command lines of that verb so far."""
        file = self.folder / "journal.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [words for words in map(json.loads, lines) if words[0] == verb]

    @property
    def left(self) -> list[str]:
        """The containers that are there."""
        return sorted(file.name for file in (self.folder / "containers").glob("*"))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """podman with one image; docker is there and has no daemon."""
    made = Runtime(folder=tmp_path / "runtime", python=toy.interpreter(tmp_path / "inside"))
    made.folder.mkdir()
    made.has(IMAGE, DIGEST, VLLM_USAGE_SOURCE="image", PATH="/opt/bin")
    programs = tmp_path / "programs"
    programs.mkdir()
    fake = f"RUNTIME_FAKE={made.folder} exec {sys.executable} -I -S {toy.FAKES / 'container_runtime.py'}"
    for name, line in (("podman", f'{fake} "$@"'), ("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return made


@pytest.fixture
def image_of(runtime: Runtime) -> Callable[..., ImageBuild]:
    """A build of the stand-in's image."""

    def build(digest: str | None = None, image: str = IMAGE) -> ImageBuild:
        return ImageBuild(name="mine", image=image, runtime=None, python=str(runtime.python), digest=digest)

    return build
