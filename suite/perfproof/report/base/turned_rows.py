"""A judged row seen from its other side: what it costs, or gives, to have the baseline instead of the candidate."""

from __future__ import annotations

import dataclasses
import re

from perfproof.model.scenarios.metrics import is_count
from perfproof.model.verdicts.judged import Judged, Outcome, Uncounted

FORECAST = re.compile(r"(would settle it, as )(improved|regressed)\b")
"""A forecast of a verdict in a reason."""


def turned(row: Judged) -> Judged:
    """The same comparison from the candidate to the baseline; the verdict stays that of the candidate."""
    return dataclasses.replace(
        row,
        effect=None if row.effect is None else _back(row.effect),
        interval=_back_interval(row.interval),
        baseline=row.candidate,
        candidate=row.baseline,
        baseline_value=row.candidate_value,
        candidate_value=row.baseline_value,
        uncounted=row.uncounted and _turned_uncounted(row.uncounted),
    )


def opposite(row: Judged) -> Judged:
    """The same comparison from the candidate to the baseline, with the baseline's verdict. The reason says whose numbers it has."""
    better = Outcome.LESS if is_count(row.metric) else Outcome.IMPROVED
    verdicts = {Outcome.REGRESSED: better, Outcome.IMPROVED: Outcome.REGRESSED, Outcome.LESS: Outcome.REGRESSED}
    return dataclasses.replace(
        turned(row),
        verdict=row.verdict and verdicts.get(row.verdict, row.verdict),
        reason=row.reason and f"{FORECAST.sub(_other_way, row.reason)} ({row.candidate} against {row.baseline})",
    )


def _other_way(forecast: re.Match[str]) -> str:
    return forecast[1] + (Outcome.REGRESSED if forecast[2] == Outcome.IMPROVED else Outcome.IMPROVED)


def _back(change_: float) -> float:
    """A change, seen from its end."""
    return 1 / (1 + change_) - 1 if change_ > -1 else float("inf")


def _back_interval(interval_: tuple[float, float] | None) -> tuple[float, float] | None:
    return interval_ and (_back(interval_[1]), _back(interval_[0]))


def _turned_uncounted(one: Uncounted) -> Uncounted:
    return dataclasses.replace(
        one,
        effect=None if one.effect is None else _back(one.effect),
        interval=_back_interval(one.interval),
        baseline_value=one.candidate_value,
        candidate_value=one.baseline_value,
    )
