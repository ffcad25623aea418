"""What an answer says besides its tokens and logprobs, compared with what the baseline's answer of the same tokens says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np

from perfproof.analysis.stats.samples import Floats
from perfproof.model.kinds.equality.said_column import Said, Scalar
from perfproof.model.verdicts.equality_details import SaidOtherwise

RANK, SUM = "rank", "cumulative_logprob"
ROUNDING = 1e-6
"""What sums of logprobs may lie apart, relative to them, where the logprobs themselves have moved: records keep nine figures."""
DIGITS, EVERY_DIGIT = 5, 17
"""The fewest and the most digits of a number that are shown."""
AROUND = 12
"""Characters of a text shown before the first that differs, and twice as many after it."""


def otherwise(said: tuple[Said, Said], logprobs: tuple[Floats, Floats], ranks: tuple[Floats, Floats] | None) -> tuple[SaidOtherwise, ...]:
    """What the second of two answers with the same tokens says otherwise. What one of them lacks is not compared.

    A sum of logprobs may move as far as the logprobs do. Ranks follow all logprobs, so they are compared where the tokens' are the same.
    Source: none, arithmetic.
    """
    found = [*_fields(*said, logprobs)]
    if ranks is not None and np.array_equal(*logprobs):
        found += _ranks(*ranks)
    return tuple(found)


def _fields(before: Said, after: Said, logprobs: tuple[Floats, Floats]) -> Iterator[SaidOtherwise]:
    for field, was in before.items():
        if field not in after or repr(was) == repr(after[field]):  # a NaN is the same as a NaN
            continue
        nats = _unexplained(was, after[field], logprobs) if field == SUM else None
        if nats != 0.0:
            first, second = _shown(was, after[field])
            yield SaidOtherwise(field=field, before=first, after=second, nats=nats)


def _unexplained(was: Scalar, now: Scalar, logprobs: tuple[Floats, Floats]) -> float | None:
    """How far two sums lie apart beyond what their logprobs explain, per token (nats); None where one of them is no finite number."""
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in (was, now)):
        return None
    apart, explained = abs(float(was) - float(now)), float(np.abs(logprobs[0] - logprobs[1]).sum())  # type: ignore[arg-type]
    if explained:
        explained += ROUNDING * (1.0 + abs(float(was)))  # type: ignore[arg-type]
    return max(0.0, apart - explained) / max(1, logprobs[0].size)


def _ranks(before: Floats, after: Floats) -> Iterator[SaidOtherwise]:
    differing = np.nonzero(before != after)[0]
    if differing.size:
        first = int(differing[0])
        yield SaidOtherwise(field=RANK, before=f"{before[first]:.0f} at token {first}", after=f"{after[first]:.0f}", nats=None)


def _shown(before: Scalar, after: Scalar) -> tuple[str, str]:
    """Both values in few words: numbers with the digits that tell them apart, of texts the place where they part."""
    if isinstance(before, float) and isinstance(after, float) and math.isfinite(before) and math.isfinite(after):
        shown = ((f"{before:.{digits}g}", f"{after:.{digits}g}") for digits in range(DIGITS, EVERY_DIGIT + 1))
        return next((pair for pair in shown if pair[0] != pair[1]), (repr(before), repr(after)))
    if not isinstance(before, str) or not isinstance(after, str):
        return _quoted(before), _quoted(after)
    pairs = enumerate(zip(before, after, strict=False))
    start = max(0, next((place for place, (one, other) in pairs if one != other), min(len(before), len(after))) - AROUND)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int) -> str:
    end = start + 3 * AROUND
    return f"{'…' if start else ''}{_quoted(text[start:end])}{'…' if end < len(text) else ''}"


def _quoted(value: Scalar) -> str:
    """In JSON's words, whose escapes no terminal and no page obeys."""
    return json.dumps(value)[: 12 * AROUND]
