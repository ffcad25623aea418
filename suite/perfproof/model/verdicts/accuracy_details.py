"""The data behind an accuracy verdict, task by task, for the report's accuracy panel.

`perfproof.analysis.judging.accuracy_tasks.details` makes these from a scenario's records. Fractions throughout: .012 is 1.2 points.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.verdicts.judged import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The baseline against itself: with the same `items` again in the same run, it lost some and won some.

    `rate` is the share of items that changed: the smallest change that a comparison on this machine can see. `p` is McNemar's exact p, None
    where values are not 0 and 1.
    """

    items: int
    lost: int
    won: int
    p: float | None

    @property
    def rate(self) -> float:
        return (self.lost + self.won) / self.items if self.items else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetails:
    """One task (with its filter and metric) of one candidate against the baseline.

    `baseline` and `candidate` are the shares right (means, where values are not 0 and 1) with their standard errors, as lm_eval prints
    them. `both`, `lost`, `won` and `neither` are McNemar's table: items right under both arms, under the baseline alone, under the
    candidate alone, under neither; `both` and `neither` are None where values are not 0 and 1 (then `lost` and `won` count items with a
    lower or a higher value). `p` is McNemar's exact p, None likewise. `difference` is candidate minus baseline, `interval` at the
    confidence `level`. `detectable` is the true drop that would have been called *regressed* with 80 % chance. `lost_items` and
    `won_items` are the ids (lm_eval's doc_id) of up to twenty items that changed. `floor` is None where the baseline was not asked
    again. `verdict` is None for a task that does not decide; `bound` is the lower end of the one-sided interval that decides whether a
    drop is equivalent, None likewise.
    """

    name: str
    task: str
    filter: str
    metric: str
    primary: bool
    items: int
    baseline: float
    baseline_error: float
    candidate: float
    candidate_error: float
    both: int | None
    lost: int
    won: int
    neither: int | None
    p: float | None
    difference: float
    interval: tuple[float, float]
    level: float
    margin: float
    detectable: float
    lost_items: tuple[int, ...]
    won_items: tuple[int, ...]
    floor: Floor | None
    verdict: Outcome | None
    reason: str
    bound: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyDetails:
    """All tasks of one candidate, those that decide first. `through` is how the model was asked: `server` or `offline`."""

    scenario: str
    baseline: str
    candidate: str
    through: str
    tasks: tuple[TaskDetails, ...]
