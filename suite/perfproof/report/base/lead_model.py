"""The nouns of a page's lead: what a reader sees first, in about 60 words and one figure."""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.verdicts.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadRow:
    """One row of the figure: a metric with its verdict. `row` is shown as it stands; where it is `turned`, it says what taking a released
    change out costs, and its values and interval are those of the altered arm against vLLM as released.

    `word`, `sign` and `look` are the verdict's word, sign and colour; `number` and `interval` are texts, and `detail` the two values of a
    count. `where` names scenario and side, `against` the side that it is compared with. `note` says what contradicts it, "" where nothing
    does; `remarks` say why it is only likely, and what else than the code differs between the sides, which is
    then `unlike`.
    """

    row: Judged
    name: str
    where: str
    against: str
    word: str
    sign: str
    look: str
    number: str
    interval: str
    detail: str
    note: str
    remarks: tuple[str, ...]
    unlike: bool
    turned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadGroup:
    """Rows on one axis. `title` says what they judge, "" where all judge the change; `number` says of how many metrics; `against` names the
    side that all are compared with, "" where the rows name it; `far` is set for changes beyond a halving or doubling."""

    title: str
    number: str
    against: str
    far: bool
    rows: tuple[LeadRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadLine:
    """One line beside the figure: its label ("Answers"), its clauses, and a command ("" for none). Clauses that are `flagged` weaken the
    answer."""

    label: str
    clauses: tuple[tuple[str, bool], ...]
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The first screen: the result in a sentence, what was changed, the figure with the level of its intervals, the metrics that are not in
    it, and the lines."""

    result: str
    changed: str
    groups: tuple[LeadGroup, ...]
    further: str
    lines: tuple[LeadLine, ...]
    level: str
