"""docs/planted-faults.md: what the committed records say of every planted fault, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof import store
from perfproof.model.verdicts.judged import Outcome
from perfproof.validation.planted import PATCHES, descriptions, page, tried

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "results" / "planted"
MUST = {
    ("token_twice", "equality, greedy"),
    ("prompt_ignored", "equality, greedy"),
    ("bf16_logits", "equality, greedy"),
    ("last_token_dropped", "embeddings"),
}
"""The faults that the quick profile has to catch, and by what."""


def test_every_fault_says_what_it_does() -> None:
    """Each fault that a patch lists is described once, in its patch's docstring, by the name that asks for it."""
    import importlib

    known = set(descriptions())
    assert {"token_twice", "prompt_ignored", "bf16_logits", "last_token_dropped"} <= known
    for patch in PATCHES[1:]:
        assert set(importlib.import_module(f"perfproof.patches.planted.{patch}").FAULTS) <= known


def test_the_page_is_what_the_records_say() -> None:
    """The page is made by the command that stands in it, from the committed records."""
    assert (ROOT / "docs" / "planted-faults.md").read_text(encoding="utf-8") == page(store.read(RECORDS).records, "results/planted")


@pytest.mark.parametrize(("fault", "gate"), sorted(MUST))
def test_what_must_be_caught_is_caught_in_the_quick_profile(fault: str, gate: str) -> None:
    """Penalties that count twice or see no prompt, rounded logits and a dropped token: each by the gate that is there for it."""
    found = [each for each in tried(store.read(RECORDS).records) if (each.fault, each.gate) == (fault, gate)]
    assert found
    assert all(each.row.verdict == Outcome.REGRESSED for each in found)
