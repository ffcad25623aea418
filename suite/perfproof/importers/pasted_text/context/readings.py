"""The form between the text and the pairs: every number that was read, with its side, its section, and what it measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.metrics import Better

ORDINALS = ("first", "second", "third")


def ordinal(number: int) -> str:
    """What the side at a place is called where none has a name."""
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"number {number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A number of one side.

    `label` is what pairs it with that of another side, `measure` what decides its direction, `unit` its own unit and `named` that of its
    label, both "" for none. `runs` says of how many runs it surely is; `made` what it was made of them, "mean", "" for a number of its own.
    `place` is its item's, `number` its line.
    """

    side: str
    context: Context
    label: str
    measure: str
    digits: str
    unit: str = ""
    named: str = ""
    run: str = ""
    runs: int | None = None
    made: str = ""
    place: int = 0
    number: int = 0
    kind: str = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A total of lm_eval, and the section it stands in."""

    total: Total
    context: Context


@dataclass(slots=True, kw_only=True)
class Found:
    """What the readers of all shapes leave: numbers, scores, what was left out, what is wrong, and why a table has no sides; `led` are
    sides of which a table's own changes lead from the first to the second; `order` are words for both sides in their order, "without and
    with the flag", "" for none; `words` all headings and sentences, which may say which side came first."""

    readings: list[Reading] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    sideless: list[str] = field(default_factory=list)
    conditions: dict[int, Mapping[str, str]] = field(default_factory=dict)
    led: list[tuple[str, str]] = field(default_factory=list)
    order: str = ""
    words: str = ""

    def add(self, other: Found) -> None:
        """Takes over what another found."""
        self.readings += other.readings
        self.scores += other.scores
        self.left_out += other.left_out
        self.faults += other.faults
        self.sideless += other.sideless
        self.led += other.led


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A number that both sides printed: the median of a side's runs, or the mean where both sides printed that (`means`), in one unit.

    `runs` are the numbers of runs that are known to be behind either side, None where that is not told; `spans` the least and the most of
    them. `guessed` says why it may be the wrong way round, "" where words say which side is the baseline. `counted` says how runs were
    counted where no number says so.
    """

    section: str
    label: str
    better: Better | None
    baseline: str
    candidate: str
    before: float
    after: float
    runs: tuple[int | None, int | None]
    spans: tuple[tuple[float, float], tuple[float, float]]
    guessed: str
    same_work: bool = True
    is_work: bool = False
    means: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePair:
    """A score that both sides have."""

    section: str
    before: Total
    after: Total
    guessed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """Everything found in a paste, in its order; `left_out` are sentences, `faults` rows that can't be compared, `reasons` why there is no
    pair, where there is none."""

    pairs: Sequence[Pair]
    scores: Sequence[ScorePair]
    readings: Sequence[Reading]
    totals: Sequence[Total]
    left_out: tuple[str, ...]
    faults: tuple[str, ...]
    reasons: tuple[str, ...]
    sides: tuple[str, ...]
    guessed: str
