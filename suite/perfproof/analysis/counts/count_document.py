"""Comparisons of counts as JSON has them: what `count --json` prints, a gate's JSON holds and a page is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.analysis.counts.count_comparison import Compared, Comparisons
from perfproof.child.engine.features import POSITIONS
from perfproof.model.records.counts import METRICS, Lines, outermost

SCHEMA = 1


def document(
    found: Comparisons,
    lines: Lines,
    warnings: Sequence[str],
    *,
    builds: tuple[str, str],
    texts: Mapping[str, Mapping[int, str]] | None = None,
) -> dict[str, Any]:
    """All of it; functions, C calls or operators the worst first. `lines` are new lines of functions that ran, `texts` what they read.

    Source: none, bookkeeping.
    """
    return {
        "schema": SCHEMA,
        "builds": list(builds),
        "comparisons": [_entry(one, lines) for one in found.compared],
        "source_lines": {name: {str(number): text for number, text in lines.items()} for name, lines in (texts or {}).items()},
        "warnings": list(warnings),
    }


def _entry(one: Compared, lines: Lines) -> dict[str, Any]:
    return {
        "feature": one.feature,
        "phase": one.phase,
        "requests": one.requests,
        "output_position": POSITIONS.get(one.phase),
        "metric": one.metric,
        "unit": METRICS[one.metric][1] + ("/step" if one.steps == 1 else ""),
        "steps": one.steps,
        "baseline": one.baseline,
        "candidate": one.candidate,
        "change": one.change,
        "verdict": one.verdict,
        "reason": one.reason,
        "functions": [
            {
                "function": changed.name,
                "base": changed.base,
                "change": changed.change,
                "inclusive_change": changed.inclusive,
                "touched": changed.touched,
                "new_lines": list(lines.get(outermost(changed.name), ())),
            }
            for changed in one.changed
        ],
    }
