"""Which image a build means: the one that a runtime of this machine has under its name, known by its digest from then on.

A tag may move, so a scenario is pinned once it is read; its records keep the digest, and an image with another one is another build.
Nothing is pulled: that takes minutes and a network, and is the user's own step.
"""

from __future__ import annotations

import dataclasses
import re

from perfproof.builds.processes import containers
from perfproof.builds.processes.containers import Image
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode_builds import kept
from perfproof.model.scenarios.scenario import Build, ImageBuild, OverlayBuild, Scenario

DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{64}")
"""An image by its digest."""


def pinned(scenario: Scenario) -> Scenario:
    """The scenario with a digest for every image that has none yet; the same scenario if it has none of these.

    Raises `BadInput` for an image that no runtime here has.
    """
    builds = {name: _pinned(build) for name, build in scenario.builds.items()}
    if builds == scenario.builds:
        return scenario
    return dataclasses.replace(scenario, builds=builds, definition=kept(dict(scenario.definition), builds))


def _pinned(build: Build) -> Build:
    if isinstance(build, OverlayBuild):
        return dataclasses.replace(build, base=_pinned(build.base))
    if not isinstance(build, ImageBuild) or build.digest is not None:
        return build
    return dataclasses.replace(build, digest=found(build).digest)


def found(build: ImageBuild) -> Image:
    """The image of a build, by its digest if it has one, and the runtime that has it.

    Raises `BadInput` where no runtime here has it.
    """
    where, runtimes = f"build {build.name}: image {build.image}", [build.runtime] if build.runtime else containers.here()
    present = containers.here()
    if not set(runtimes) & set(present):
        raise BadInput(f"{where}: there is no program {build.runtime or 'docker or podman'} on PATH; install it, or name another build")
    told: list[str] = []
    for runtime in runtimes:
        image = containers.image(runtime, build.digest or build.image)
        if isinstance(image, Image):
            return image
        told.append(f"{runtime}: {image}")
    if build.digest is None and not DIGEST.fullmatch(build.image):
        raise BadInput(f"{where}: is not here ({'; '.join(told)}); get it first: {runtimes[0]} pull {build.image}")
    if build.digest is None:
        raise BadInput(f"{where}: is not here ({'; '.join(told)}); pull it by its name, or save it where it is and load it here")
    raise BadInput(f"{where}: is not here with the digest {build.digest} ({'; '.join(told)}): {_instead(build, runtimes)}")


def _instead(build: ImageBuild, runtimes: list[str]) -> str:
    """What that name means here, where the digest is not here."""
    for runtime in runtimes:
        image = containers.image(runtime, build.image)
        if isinstance(image, Image):
            return f"that name is {image.digest[:12]} here, another build; bring the image that is meant, or leave out 'digest'"
    return f"bring it: {runtimes[0]} pull, or save it where it is and load it here"
