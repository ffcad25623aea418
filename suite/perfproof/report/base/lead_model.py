"""The nouns of a page's lead: what a reader sees first, in about 60 words and one figure."""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.verdicts.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a row judges. `place` is its place among the sorts of subjects (`lead.subjects`); `title` and `words` stand over its rows,
    `name` in a sentence or beside a number."""

    place: int
    title: str
    words: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadRow:
    """One row of the figure: a metric with its verdict. `row` is shown as it stands; where it is `turned`, it says what taking a released
    change out costs, and its values and interval are those of the altered arm against vLLM as released.

    `word`, `sign` and `look` are the verdict's word, sign and colour; `number` and `interval` are texts, and `detail` the two values of a
    count. `subject` is what it judges; `where` names the scenario, and the side where that is not clear; `model` on what, `against` the
    side that it is compared with. `note` says what contradicts it, "" where nothing does; `remarks` say why it is only likely, and what
    else than the code differs between the sides, which is then `unlike`, else "". `control` is set where it was planted on purpose.
    """

    row: Judged
    name: str
    subject: Subject
    where: str
    model: str
    against: str
    word: str
    sign: str
    look: str
    number: str
    interval: str
    detail: str
    note: str
    remarks: tuple[str, ...]
    unlike: str
    turned: bool
    control: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadGroup:
    """Rows on one axis. `title` says what they judge and `words` what that does, "" where all judge the same, which the lead has said
    before; `beside` is set where that is no change; `number` says how many rows are drawn, "" where all are; `against` names the side
    that all are compared with, "" where the rows name it; `far` is set for changes beyond a halving or doubling, all of which are
    then for the better or all for the worse."""

    title: str
    words: str
    beside: bool
    number: str
    against: str
    far: bool
    rows: tuple[LeadRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadLine:
    """One line beside the figure: its label ("Answers"), and its clauses, those that weaken the answer `flagged`. `commands` has one for
    each clause, "" where a clause has none; it is empty where no clause has one."""

    label: str
    clauses: tuple[tuple[str, bool], ...]
    commands: tuple[str, ...] = ()


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
