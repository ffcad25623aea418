"""What of a change lies beside vLLM's Python: compiled code and packages, which can only be taken whole.

Packages are tried as a factor: the good build's vLLM beside the packages of the bad one, where that installs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.blame.mixture_trials import Mixtures, Say
from perfproof.changes.blame.search import Found, OutOfBudget
from perfproof.tracking.released_scenario import NamedBuild


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesFactor:
    """What the good build did beside the bad one's `packages`: the `share` of the change that is there then (None: not known, for the
    reason `why`)."""

    packages: tuple[str, ...]
    share: float | None
    interval: tuple[float, float] | None
    why: str


def factor(
    blamed: Found, least: float, good: NamedBuild, ready: Mapping[str, ReadyBuild], mixtures: Mixtures, say: Say
) -> PackagesFactor | None:
    """What the bad build's packages do beside the good one's vLLM; None where vLLM's Python brings the whole change, or no package
    differs."""
    requirements = differing(*(ready[which].fingerprint.packages for which in ("good", "bad")))
    explained = blamed.share if blamed.reach is None else blamed.reach
    if not requirements or abs(1 - explained) < least:
        return None
    lost = partial(PackagesFactor, packages=tuple(requirements), share=None, interval=None)
    build = beside(good, requirements)
    if build is None:
        return lost(why=f"nothing is installed into {good.word}; an environment of it with them can be --bad")
    say(f"trying {build.word}")
    try:
        one = mixtures.whole(build, "packages")
    except OutOfBudget:
        return lost(why="the budget is spent")
    return PackagesFactor(packages=tuple(requirements), share=one.share, interval=one.interval, why=one.why)


def differing(own: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The packages, vLLM's own apart, of which both have a version and not the same, as requirements of the other's."""
    names = sorted(name for name in own.keys() & other.keys() if not name.startswith("vllm") and own[name] != other[name])
    return [f"{name}=={other[name].partition('+')[0]}" for name in names]


def beside(good: NamedBuild, requirements: Sequence[str]) -> NamedBuild | None:
    """A release, or diffs on one, with these packages instead of its own; None for anything else, into which nothing is installed."""
    releases = [name for name, doc in good.docs.items() if doc.get("kind") == "release"]
    if len(releases) != 1:
        return None
    (name,) = releases
    doc = good.docs[name]
    docs = {**good.docs, name: {**doc, "requirements": [*doc.get("requirements", []), *requirements]}}
    return NamedBuild(word=f"{good.word} with {', '.join(requirements)}", name=good.name, docs=docs)


def elsewhere(good: ReadyBuild, bad: ReadyBuild) -> list[str]:
    """What differs beside vLLM's Python, in words."""
    found = []
    own, other = good.fingerprint, bad.fingerprint
    if own.python != other.python:
        found.append(f"Python {own.python} and {other.python}")
    if own.vllm_version != other.vllm_version:
        found.append(f"the compiled code of vLLM {own.vllm_version} and {other.vllm_version}")
    names = [name for name in sorted({*own.packages, *other.packages}) if not name.startswith("vllm")]
    found += [
        f"{name} {own.packages.get(name, '–')} and {other.packages.get(name, '–')}"
        for name in names
        if own.packages.get(name) != other.packages.get(name)
    ]
    return found
