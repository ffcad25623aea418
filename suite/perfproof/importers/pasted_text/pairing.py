"""From readings to pairs: each number of a baseline beside that of another side, in one section, in one unit, over counted runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from perfproof.importers.pasted_text import number_units
from perfproof.importers.pasted_text.baseline_choice import choose
from perfproof.importers.pasted_text.client_blocks import WORK, better
from perfproof.importers.pasted_text.readings import Found, Pair, Paste, Reading, Score, ScorePair, ordinal
from perfproof.model.base import numerals
from perfproof.model.base.quantities import known
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.metrics import Better

LITTLE = 0.01
"""How much more work one side may have done for it to be the same: outputs of other lengths by a few tokens."""
WIDEST = 2.0
"""Runs of one side that nobody numbered differ by no more than this factor, or they are no runs of one thing."""
_UNIT = re.compile(r"\s*[(\[]([^()\[\]]{1,20})[)\]]")

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """What one side says of one label in one section: its values in their unit, and how many runs they surely are."""

    label: str
    values: tuple[float, ...]
    runs: int | None
    better: Better | None

    @property
    def value(self) -> float:
        return float(median(self.values))


Samples = Mapping[str, Mapping[str, _Sample]]
"""By label, then by side."""


def pair(found: Found) -> Paste:
    """The pairs of all sections, and what was left out."""
    by = numerals.convention([reading.digits for reading in found.readings])
    left = [f"{each.label}: no heading names its side" for each in found.readings if not each.side and each.kind != "block"]
    readings = _ordered([each for each in found.readings if each.side or each.kind == "block"], found.conditions)
    groups = _sections(readings)
    pairs: list[Pair] = []
    faults: list[str] = []
    guesses: list[str] = []
    reasons: list[str] = []
    whole = {section: _samples(group, by, faults) for section, group in groups.items()}
    for section, samples in whole.items():
        sides = list(dict.fromkeys(reading.side for reading in groups[section]))
        choice = choose(sides) if len(sides) > 1 else None
        if len(sides) > 1 and choice is None:
            reasons.append(f"{_and(sides)}: no name says which side is the baseline; call one main or before")
        if choice is None:
            left += [_alone(name, section, of_side) for name, of_side in samples.items()]
            continue
        guesses += [choice.guessed] if choice.guessed else []
        pairs += _pairs(section, samples, choice.side, [side for side in sides if side != choice.side], choice.guessed)
        left += [_alone(name, section, of_side) for name, of_side in samples.items() if choice.side not in of_side or len(of_side) < 2]
    scores, totals, more = _score_pairs(found.scores)
    guesses += [score.guessed for score in scores if score.guessed]
    sides = list(dict.fromkeys([*_base_first(pairs, scores), *(each.side for each in readings), *(one.side for one in totals)]))
    return Paste(
        pairs=pairs,
        scores=scores,
        readings=readings,
        totals=totals,
        left_out=tuple(dict.fromkeys([*found.left_out, *left, *more])),
        faults=tuple(dict.fromkeys([*found.faults, *faults])),
        reasons=tuple(dict.fromkeys([*reasons, *found.sideless])),
        sides=tuple(sides),
        guessed="; ".join(dict.fromkeys(guesses)),
    )


def _base_first(pairs: Sequence[Pair], scores: Sequence[ScorePair]) -> list[str]:
    return [
        *(side for one in pairs[:1] for side in (one.baseline, one.candidate)),
        *(side for one in scores[:1] for side in (one.before.side, one.after.side)),
    ]


def _and(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:3]) + (" and more" if len(names) > 3 else "")


# --- sections -----------------------------------------------------------------------------------------------------


def _ordered(readings: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> list[Reading]:
    """The readings; blocks without a side's name by their order, blocks under other conditions in sections of their own."""
    unnamed: dict[Section, list[int]] = defaultdict(list)
    found = []
    for reading in readings:
        if not reading.side:
            places = unnamed[reading.context.section]
            places += [reading.place] if reading.place not in places else []
            reading = replace(reading, side=ordinal(places.index(reading.place) + 1))
        found.append(reading)
    return [_conditioned(reading, found, conditions) for reading in found] if conditions else found


def _conditioned(reading: Reading, all_: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> Reading:
    own = conditions.get(reading.place, {})
    varied = [name for name in own if _varies(name, reading, all_, conditions)]
    if not varied:
        return reading
    section = (*reading.context.section, *(f"{name} {own[name]}" for name in varied))
    return replace(reading, context=replace(reading.context, section=section))


def _varies(name: str, reading: Reading, all_: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> bool:
    """Whether runs of this reading's side have several values of a condition, in its section."""
    places = {one.place for one in all_ if (one.side, one.context.section) == (reading.side, reading.context.section)}
    return len({conditions[place].get(name, "") for place in places if place in conditions}) > 1


def _sections(readings: Sequence[Reading]) -> dict[Section, list[Reading]]:
    """The readings by their sections; weak headings part them only where both sides stand below each."""
    groups: dict[Section, list[Reading]] = defaultdict(list)
    names: dict[Section, Section] = {}
    for reading in readings:
        key = tuple(_key(name) for name in reading.context.section)
        groups[names.setdefault(key, reading.context.section)].append(reading)
    found: dict[Section, list[Reading]] = {}
    for section, group in groups.items():
        found |= _parted(section, group)
    return found


def _parted(section: Section, group: Sequence[Reading]) -> dict[Section, list[Reading]]:
    parts: dict[Section, list[Reading]] = defaultdict(list)
    for reading in group:
        parts[tuple(_key(name) for name in reading.context.weak)].append(reading)
    sided = [len({_key(reading.side) for reading in part}) > 1 for part in parts.values()]
    if len(parts) == 1 or not (all(sided) or _clashing(parts)):
        return {section: list(group)}
    return {(*section, *part[0].context.weak): part for part in parts.values()}


def _clashing(parts: Mapping[Section, Sequence[Reading]]) -> bool:
    """Whether one side has a label in several parts: then these are not one."""
    seen = [
        (_key(reading.side), _key(reading.label))
        for part in parts.values()
        for reading in {(_key(r.side), _key(r.label)): r for r in part}.values()
    ]
    return len(seen) != len(set(seen))


def _key(name: str) -> str:
    """A name by which both sides' are the same: without capitals, marks and units."""
    plain = _UNIT.sub(lambda found: "" if known(found[1]) and "/" not in found[1] else found[0], name)
    return " ".join(re.sub(r"[\s_*`:,;-]+", " ", plain).casefold().split()) or name.casefold()


def _label_key(reading: Reading) -> str:
    return _key(reading.label)


# --- samples ------------------------------------------------------------------------------------------------------


def _samples(group: Sequence[Reading], by: numerals.Convention, faults: list[str]) -> Samples:
    """What each side says of each label of a section; what can't be compared is a fault."""
    labels: dict[str, list[Reading]] = defaultdict(list)
    for reading in _numbered(group):
        labels[_label_key(reading)].append(reading)
    found: dict[str, dict[str, _Sample]] = {}
    for readings in labels.values():
        line = number_units.in_one_unit([(each.digits, each.unit, each.named) for each in readings], readings[0].label, by)
        if isinstance(line, str):
            faults.append(f"{'the column' if readings[0].kind == 'column' else 'the row'} {readings[0].label!r} {line}")
            continue
        of_side: dict[str, list[tuple[Reading, float]]] = defaultdict(list)
        for reading, value in zip(readings, line.values, strict=True):
            of_side[reading.side].append((reading, value))
        twice = [side for side, ones in of_side.items() if not _are_runs(ones)]
        if twice:
            faults.append(f"the row {readings[0].label!r} is there twice: name its numbers apart")
            continue
        way = better(readings[0].measure, line.unit or readings[0].named)
        found[line.label] = {
            side: _Sample(label=line.label, values=tuple(value for _, value in ones), runs=_runs(ones), better=way)
            for side, ones in of_side.items()
        }
    return found


def _numbered(group: Sequence[Reading]) -> Iterator[Reading]:
    """The readings; of tables of one shape in one section the later ones by their number."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for reading in group:
        if reading.kind not in ("row", "column") or reading.run:
            yield reading
            continue
        own = places[_key(reading.side), _label_key(reading)]
        own += [reading.place] if reading.place not in own else []
        number = own.index(reading.place) + 1
        yield replace(reading, label=f"{reading.label} (table {number})") if number > 1 else reading


def _are_runs(ones: Sequence[tuple[Reading, float]]) -> bool:
    """Whether several numbers of one side under one label are runs: numbered ones, or those of separate blocks and lines."""
    if len(ones) == 1:
        return True
    runs = [(reading.run, reading.place) for reading, _ in ones]
    if all(reading.run for reading, _ in ones):
        return len(set(runs)) == len(runs)
    values = [abs(value) for _, value in ones]
    apart = len({reading.place for reading, _ in ones}) == len(ones)
    return apart and ones[0][0].kind not in ("row", "column") and max(values) <= WIDEST * max(min(values), 0.0)


def _runs(ones: Sequence[tuple[Reading, float]]) -> int | None:
    if len(ones) > 1:
        return len(ones)
    return 1 if ones[0][0].single else None


# --- pairs --------------------------------------------------------------------------------------------------------


def _pairs(section: Section, samples: Samples, base: str, others: Sequence[str], guessed: str) -> Iterator[Pair]:
    for side in others:
        same = _same_work(samples, base, side)
        for name, of_side in samples.items():
            if base in of_side and side in of_side:
                one, two = of_side[base], of_side[side]
                is_work = bool(WORK.match(name))
                if one.value == two.value and (is_work or not one.value):
                    continue
                yield Pair(
                    section=" / ".join(section),
                    label=name,
                    better=one.better,
                    baseline=base,
                    candidate=side,
                    before=one.value,
                    after=two.value,
                    runs=(one.runs, two.runs),
                    spans=((min(one.values), max(one.values)), (min(two.values), max(two.values))),
                    guessed=guessed,
                    same_work=same,
                    is_work=is_work,
                )


def _same_work(samples: Samples, base: str, side: str) -> bool:
    """Whether two sides were asked for the same, and did it, but for a share that alters little."""
    work = [(each[base].value, each[side].value) for name, each in samples.items() if WORK.match(name) and base in each and side in each]
    return all(abs(one - other) <= LITTLE * max(abs(one), abs(other)) for one, other in work)


def _alone(name: str, section: Section, of_side: Mapping[str, _Sample]) -> str:
    where = f", under {' / '.join(section)}" if section else ""
    return f"{name}{where}: {' and '.join(of_side)} alone {'has' if len(of_side) == 1 else 'have'} it"


def _score_pairs(scores: Sequence[Score]) -> tuple[list[ScorePair], list[Total], list[str]]:
    """The scores that a baseline and another side have, all scores, and which one side alone has."""
    pairs: list[ScorePair] = []
    left: list[str] = []
    for section, group in _sections([_as_reading(score, at) for at, score in enumerate(scores)]).items():
        totals = [scores[reading.place].total for reading in group]
        found, more = _scored(" / ".join(section), totals)
        pairs += found
        left += more
    return pairs, [score.total for score in scores], left


def _as_reading(score: Score, at: int) -> Reading:
    """A score as a reading, for its section alone."""
    total = score.total
    return Reading(side=total.side, context=score.context, label=total.name, measure=total.metric, digits="", place=at, kind="score")


def _scored(section: str, totals: Sequence[Total]) -> tuple[list[ScorePair], list[str]]:
    """The pairs of one section; what is there twice, or on one side alone, is left out by name."""
    pairs: list[ScorePair] = []
    left: list[str] = []
    sides = list(dict.fromkeys(total.side for total in totals))
    choice = choose(sides) if len(sides) > 1 else None
    of: dict[tuple[str, str], list[Total]] = defaultdict(list)
    for total in totals:
        of[total.name, total.side].append(total)
    for name in dict.fromkeys(total.name for total in totals):
        where = f"{name}, under {section}" if section else name
        own = [side for side in sides if (name, side) in of]
        if any(len(of[name, side]) > 1 for side in own):
            left.append(f"{where}: is there twice on one side: put a heading above each")
        elif choice is None or choice.side not in own or len(own) < 2:
            left.append(f"{where}: {' and '.join(own)} alone {'has' if len(own) == 1 else 'have'} it")
        else:
            pairs += [
                ScorePair(section=section, before=of[name, choice.side][0], after=of[name, side][0], guessed=choice.guessed)
                for side in own
                if side != choice.side
            ]
    return pairs, left
