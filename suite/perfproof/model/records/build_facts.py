"""What a record's environment says of its build, compared with the build that its definition gives its arm.

Every trial notes the label of its build, the files of vLLM that an overlay changes and the image's digest. Arms that change places all
through a folder, order and all, still contradict these. What a record does not say is unknown and contradicts nothing: older ones say less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from perfproof.model.scenarios.build import SHOWN_PARTS, of_wheel, wheel_name

Doc = Mapping[str, Any]
_KINDS = ("overlay", "image", "python", "editable")
"""Kinds of builds whose ids begin with the kind; a release's begins with its name."""


def layers(builds: Mapping[str, Doc], name: Any) -> list[Doc]:
    """The documents of a build: overlays, the last first, then what is below them, as far as they are there."""
    found: list[Doc] = []
    while isinstance(name, str) and (doc := builds.get(name)) and len(found) <= len(builds):
        found.append(doc)
        name = doc.get("base") if doc.get("kind") == "overlay" else None
    return found


def faults(data: Mapping[str, Any]) -> Iterator[str]:
    """The contradictions between a record's build and what it says of it, a sentence each that begins with the field."""
    definition, environment, attestation = data["definition"], data["environment"], data["attestation"] or {}
    builds = definition.get("builds") or {}
    name = (definition["arms"].get(data["arm"]) or {}).get("build")
    docs = layers(builds, name)
    if not docs:
        return
    kind, named = docs[0].get("kind"), f"the build of its arm is {str(name)[:80]!r}"
    label = environment.get("build")
    if isinstance(label, str) and (not _pattern(docs).fullmatch(label) or _of_another(label, docs, builds)):
        yield f"environment.build: is {label[:80]!r}, {named}, another one"
    given = str(attestation.get("build", "")).partition("-")[0]
    if given in _KINDS and given != kind:
        yield f"attestation.build: is of kind {given}, {named} of kind {kind}"
    yield from _overlay(environment, docs, named)
    yield from _image(environment, docs[-1], named)


def _overlay(environment: Mapping[str, Any], docs: Sequence[Doc], named: str) -> Iterator[str]:
    overlay, is_one = environment.get("overlay"), docs[0].get("kind") == "overlay"
    if "overlay" in environment and (overlay is not None) != is_one:
        yield f"environment.overlay: {'is empty' if is_one else 'tells of changed files'}, {named}, {'an' if is_one else 'no'} overlay"
    elif overlay is not None and isinstance(base := overlay.get("base"), str) and not _pattern(docs[1:]).fullmatch(base):
        yield f"environment.overlay.base: is {base[:80]!r}, {named}, which has another base"


def _image(environment: Mapping[str, Any], below: Doc, named: str) -> Iterator[str]:
    if (image := environment.get("image")) is None:
        return
    if below.get("kind") not in ("image", "overlay"):
        yield f"environment.image: tells of an image, {named}, none"
    elif None not in (said := image.get("digest"), right := below.get("digest")) and said != right:
        yield f"environment.image.digest: is {str(said)[:12]!r}, {named}, with the digest {str(right)[:12]!r}"


def _of_another(label: str, own: Sequence[Doc], builds: Mapping[str, Doc]) -> bool:
    """Whether it is the label of another change: builds of one change may share a folder, and so the name of its file."""
    if own[0].get("kind") != "overlay" or _pattern(own, named=True).fullmatch(label):
        return False
    others = [layers(builds, name) for name, doc in builds.items() if doc.get("sha256") != own[0].get("sha256")]
    return any(_pattern(other, named=True).fullmatch(label) for other in others if other)


# --- labels, as `perfproof.model.scenarios.build` makes them of what a definition keeps -------------------------------------------------


def _pattern(docs: Sequence[Doc], *, named: bool = False) -> re.Pattern[str]:
    """What the label of a build matches. The name of a change's file counts only if asked for (`named`), an image's never: its digest
    does. Of a path a definition keeps less than a label, or more."""
    if not docs:
        return re.compile(".*", re.DOTALL)
    *overlays, below = docs if docs[-1].get("kind") != "overlay" else (*docs, {})
    words = [_below(below), *(re.escape(_change(doc)) if named else ".+" for doc in reversed(overlays))]
    return re.compile(r" \+ ".join(words), re.DOTALL)


def _below(doc: Doc) -> str:
    kind = doc.get("kind")
    if kind == "release":
        return re.escape(f"{doc.get('distribution')} {doc.get('version')}")
    if kind == "wheel":
        with suppress(ValueError):
            distribution, version = of_wheel(wheel_name(str(doc.get("wheel"))))
            return re.escape(f"{distribution} {version} (wheel {str(doc.get('sha256') or '')[:8] or 'of a URL'})")
    if kind in ("python", "editable"):
        return f"{kind} {_path(str(doc.get('path' if kind == 'python' else 'source')))}"
    return "image .+" if kind == "image" else ".*"


def _path(kept: str) -> str:
    """The end of a path that both its label and its definition show: one that begins with `…` and a hash, or at a home folder or a
    scenario's, has nothing before its last parts that can be compared."""
    parts = PurePath(kept).parts
    parts = parts[2:] if parts[:1] == ("…",) else parts
    known: list[str] = []
    for part in reversed(parts[-SHOWN_PARTS:]):
        if part in ("..", "/", "…") or part.startswith("~"):
            break
        known.insert(0, part)
    return r"(?:.*/)?" + r"/(?:\.?/)*".join(map(re.escape, known)) + r"/*" if known else ".*"


def _change(doc: Doc) -> str:
    """The name of an overlay's change in its label."""
    git = doc.get("git")
    if isinstance(git, Mapping):
        return f"{git.get('ref')} of {PurePath(str(git.get('repo'))).name}"
    return PurePath(str(doc.get("diff") or "")).name or "a diff"
