"""Packages as a factor of a change: the good build's vLLM beside the packages of the bad one, where that installs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perfproof.tracking.released_scenario import NamedBuild


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesFactor:
    """What the good build did beside the bad one's `packages`: the `share` of the change that is there then (None: not known, for the
    reason `why`)."""

    packages: tuple[str, ...]
    share: float | None
    interval: tuple[float, float] | None
    why: str


def differing(own: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The packages, vLLM's own apart, of which both have a version and not the same, as requirements of the other's."""
    names = sorted(name for name in own.keys() & other.keys() if not name.startswith("vllm") and own[name] != other[name])
    return [f"{name}=={other[name].partition('+')[0]}" for name in names]


def beside(good: NamedBuild, requirements: list[str]) -> NamedBuild | None:
    """A release, or diffs on one, with these packages instead of its own; None for anything else, into which nothing is installed."""
    releases = [name for name, doc in good.docs.items() if doc.get("kind") == "release"]
    if len(releases) != 1:
        return None
    (name,) = releases
    doc = good.docs[name]
    docs = {**good.docs, name: {**doc, "requirements": [*doc.get("requirements", []), *requirements]}}
    return NamedBuild(word=f"{good.word} with {', '.join(requirements)}", name=good.name, docs=docs)
