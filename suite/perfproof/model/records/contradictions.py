"""Contradictions between parts of a record: its digest and its definition, its arm and the arms, its build and its environment, its answers
and its work, its status and its attestation.

The suite writes a record as a whole; if two of its parts disagree, somebody changed one, or two files were mixed. It is not guessed which
is right: the record is reported and does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from perfproof.model.kinds import kind_in
from perfproof.model.records import answer_schema, build_facts
from perfproof.model.scenarios.build import of_wheel, wheel_name
from perfproof.model.scenarios.scenario import digest_of

_LISTS = frozenset({"VLLM_PLUGINS", "PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH"})
"""Variables to whose values the suite adds its own."""
_PLAIN = re.compile(r"[\w.,:+=-]{0,100}", re.ASCII)
"""Values that a record keeps as they are: neither paths nor secrets."""
UNPROVEN = "it says that it is ok, and not what ran"


def faults(data: Mapping[str, Any]) -> Iterator[str]:
    """The contradictions of a record whose shape is right (`record_schema`), a sentence each that begins with the field."""
    definition = data["definition"]
    if (right := digest_of(definition)) != data["digest"]:
        yield f"digest: is {data['digest'][:40]!r}, that of its definition is {right!r}: one of them was changed"
    for field, defined in (("scenario", definition["name"]), ("profile", definition.get("profile", data["profile"]))):
        if data[field] != defined:
            yield f"{field}: is {data[field][:80]!r}, its definition says {str(defined)[:80]!r}"
    if data["arm"] not in definition["arms"]:
        yield f"arm: {data['arm'][:80]!r} is none of its definition's ({', '.join(definition['arms'])[:200]})"
    if data["status"] == "ok" and data["reason"]:
        yield f"reason: is {data['reason'][:80]!r}, which a trial that is ok has not"
    if isinstance(blocks := definition.get("blocks"), int) and data["block"] > blocks:
        yield f"block: is {data['block']}, its definition has {blocks} of them"
    yield from _order(data)
    if attests(definition):
        yield from build_facts.faults(data)
    yield from _work(data)
    yield from _of_kind(data)


def _order(data: Mapping[str, Any]) -> Iterator[str]:
    order, arm, position = data["order"], data["arm"], data["position"]
    if twice := [name for name, times in Counter(order).items() if times > 1]:
        yield f"order: names {twice[0][:80]!r} more than once"
    elif foreign := [name for name in order if name not in data["definition"]["arms"]]:
        yield f"order: {foreign[0][:80]!r} is none of its definition's arms"
    if arm not in order:
        yield f"order: does not name the arm {arm[:80]!r}"
    elif not (position < len(order) and order[position] == arm):
        yield f"position: is {position}, its order has {arm[:80]!r} at {order.index(arm)}"


def _work(data: Mapping[str, Any]) -> Iterator[str]:
    """The contradictions between the answers of a trial that is ok and the counts of them in its work."""
    for name, kept in answer_schema.counts(data["raw"]).items() if data["status"] == "ok" else ():
        if name not in data["work"]:
            yield f"work.{name}: is missing, there are {kept:,.0f} in raw"
        elif data["work"][name] != kept:
            yield f"work.{name}: is {data['work'][name]:,.15g}, there are {kept:,.0f} in raw"


def attests(definition: Mapping[str, Any]) -> bool:
    """Whether trials of its kind of workload prove what they ran."""
    kind = kind_in(definition)
    return kind is None or kind.attests


def _of_kind(data: Mapping[str, Any]) -> Iterator[str]:
    """The contradictions that its kind of workload checks."""
    kind = kind_in(data["definition"])
    if kind is not None:
        yield from kind.contradicted(data)


def unproven(data: Mapping[str, Any]) -> str:
    """Why a record with status ok proves nothing; "" if it does prove it, has another status, or is of a kind that attests nothing."""
    definition, attestation = data["definition"], data["attestation"]
    if data["status"] != "ok" or not attests(definition):
        return ""
    if attestation is None:
        return f"{UNPROVEN}: it has no attestation"
    arm = definition["arms"][data["arm"]]
    why = next(chain(_patches(arm, attestation), _version(arm, definition, attestation), _surroundings(arm, data)), "")
    return f"{UNPROVEN}: {why}" if why else ""


def _patches(arm: Mapping[str, Any], attestation: Mapping[str, Any]) -> Iterator[str]:
    named, applied = set(arm.get("patches") or ()), attestation["patches"]
    if lost := sorted(named - set(applied)):
        yield f"its attestation lacks patch {', '.join(lost)}"
    if foreign := sorted(set(applied) - named):
        yield f"it attests patch {', '.join(map(str, foreign))}, which its arm does not name"
    for name in sorted(named):
        if name in attestation["refused"]:
            yield f"its attestation refuses patch {name}: {attestation['refused'][name][:200]}"
        if applied[name].get("verified") is False and arm.get("allow_unverified") is not True:
            yield f"patch {name} ran where it was not tested, and its arm does not allow that (allow_unverified)"
        counts = [attestation["counts"].get(f"calls {target}") for target in applied[name].get("targets") or ()]
        if counts and not any(count is None or count for count in counts):
            yield f"the functions that patch {name} replaces were never called"


def _version(arm: Mapping[str, Any], definition: Mapping[str, Any], attestation: Mapping[str, Any]) -> Iterator[str]:
    """The contradiction between a release's version, also of an overlay's base, and the attested one; the part after a plus is ignored."""
    *_, below = [{}, *build_facts.layers(definition.get("builds") or {}, arm.get("build"))]
    if isinstance(wanted := _named_version(below), str):
        ran = attestation["vllm_version"]
        if ran.partition("+")[0] != wanted.partition("+")[0]:
            yield f"it attests vLLM {ran[:80]}, but its build is {wanted[:80]}"


def _named_version(build: Mapping[str, Any]) -> Any:
    """The version that a build's document names: a release's own, or that in a wheel's name; None for builds that name none."""
    if build.get("kind") == "wheel":
        with suppress(ValueError):
            return of_wheel(wheel_name(str(build.get("wheel"))))[1]
    return build.get("version") if build.get("kind") == "release" else None


def _surroundings(arm: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    """The arm's own plugins and variables that some process did not show, or showed with another value; variables and a model runner that
    are another arm's."""
    own, attestation, seen = arm.get("environment") or {}, data["attestation"], data["environment"].get("variables") or {}
    for kind in ("plugins", "variables"):
        yield from (fault[:200] for fault in (attestation.get(kind) or {}).values() if fault)
    for name in sorted(set(attestation.get("variables") or ()) - set(own)):
        yield f"it attests variable {name[:80]}, which its arm does not set"
    for name in sorted(set(own) & set(seen) - _LISTS):
        if own[name] != seen[name] and all(_PLAIN.fullmatch(str(value)) for value in (own[name], seen[name])):
            yield f"variable {name[:80]} was {seen[name]}, its arm sets {own[name]}"
    ran, wanted = attestation["runner"], str(arm.get("runner")).upper()
    if ran and wanted in ("V1", "V2") and ran != wanted:
        yield f"it attests model runner {ran[:80]}, its arm names {wanted}"
