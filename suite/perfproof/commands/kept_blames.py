"""The blames that a results folder keeps: what `perfproof blame` found of its scenarios, for their page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from perfproof.model.base import regular_files, strict_json
from perfproof.model.base.errors import BadInput

BLAME, DOCUMENT, DIFF = "blame", "blame.json", "back.diff"
"""The folder of a results folder that keeps blames, and the files of each."""
MOST = 20
"""Blames that are shown, at most."""


def blames(results: Path, scenarios: Set[str]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The document and the diff of each blame of these scenarios that named somebody. What can't be read is left out: it says nothing."""
    for file in sorted((results / BLAME).glob(f"*/{DOCUMENT}"))[:MOST]:
        diff = file.with_name(DIFF)
        try:
            document = strict_json.loads(regular_files.content(file))
            text = diff.read_text("utf-8", errors="replace") if diff.is_file() else ""
        except (OSError, ValueError, RecursionError, BadInput):
            continue
        if isinstance(document, dict) and document.get("scenario") in scenarios and _named(document):
            yield document, text


def _named(document: Mapping[str, Any]) -> bool:
    """Whether a blame named a unit of vLLM's Python, or a package."""
    packages = document.get("packages")
    return bool(document.get("guilty") or (isinstance(packages, dict) and packages.get("guilty")))
