"""The simulated nights: what the rules promise of many lanes, and that the page is the script's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from perfproof.validation.nightly_scale import LANES, PRIMARIES, RULES, Rule, night, page, spreads

DOCS = Path(__file__).resolve().parents[2] / "docs"


def reds(rule: Rule, change: float, nights: int = 6) -> int:
    random = np.random.default_rng(1)
    spread = spreads(LANES, random)
    return sum(int(night(rule, spread, change, 0.01, random).red.sum()) for _ in range(nights))


def test_a_lane_alone_keeps_its_error_and_both_family_rules_keep_far_less() -> None:
    """Of 3,600 quiet runs at most 1 % are red, and next to none where a red is measured again or the lanes share the error."""
    alone, again, shared = (reds(rule, 0.0) for rule in RULES)
    assert 0 < alone <= 0.01 * 6 * LANES * 1.3
    assert max(again, shared) <= 2


def test_a_large_step_is_red_in_every_lane_under_every_rule() -> None:
    """30 % slower is found on the first night, whoever shares the error."""
    assert [reds(rule, 0.3, nights=1) for rule in RULES] == [LANES] * 3


def test_the_first_looks_are_those_of_a_run() -> None:
    """A lane that nothing divides spends what `perfproof run` spends."""
    assert RULES[0].spending.looks[0].change == 0.0025 / PRIMARIES


def test_the_page_is_what_the_script_writes() -> None:
    """Its text, apart from the simulated numbers, follows from the script; the command that made it stands in it."""
    committed = (DOCS / "scale.md").read_text()
    assert re.search(r"`python -m perfproof\.validation\.nightly_scale --nights 100 --seed 1 --out docs/scale\.md`", committed)
    assert [line for line in page(1, 1).splitlines() if line.startswith("#")] == [
        line for line in committed.splitlines() if line.startswith("#")
    ]
