"""From readings to pairs: each number of a baseline beside that of another side, in one section, in one unit, over counted runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from perfproof.importers.pasted_text.clients.client_blocks import WORK, better
from perfproof.importers.pasted_text.context.readings import Found, Pair, Paste, Reading, ScorePair, ordinal
from perfproof.importers.pasted_text.pairs import cased_sides, means_of_runs, number_units, numbered_sides, pair_sections, score_pairs
from perfproof.importers.pasted_text.pairs.baseline_choice import Choice, choose
from perfproof.importers.pasted_text.pairs.pair_sections import Section, plain_name
from perfproof.model.base import numerals
from perfproof.model.base.quantities import PLACES
from perfproof.model.scenarios.metrics import Better
from perfproof.model.scenarios.side_names import role

LITTLE = 0.01
"""How much more work one side may have done for it to be the same: outputs of other lengths by a few tokens."""
ROUNDED = 0.005
"""By how much of the largest run a printed mean may lie outside of them."""
CAPTION = 40
"""Letters of what stands above a table that tell its numbers from those of the table before."""
WIDEST = 2.0
"""Runs of one side that nobody numbered differ by no more than this factor, or they are no runs of one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """What one side says of one label in one section: its values in their unit, how many runs they surely are, and the mean that is printed
    beside them, None where not every side has one."""

    label: str
    values: tuple[float, ...]
    runs: int | None
    better: Better | None
    mean: float | None = None

    @property
    def value(self) -> float:
        if self.mean is not None:
            return self.mean
        return float(f"{median(self.values):.{PLACES}g}") if len(self.values) > 1 else self.values[0]


_RUNS = re.compile(
    r"(?i)\(\s*(?:n\s*=\s*([0-9]{1,4})|(?:(?:mean|median|avg|average|best) of )?([0-9]{1,4}) (?:runs|reps|trials|repeats|launches))\s*\)"
)
"""How many runs the name of a side says that its numbers are of."""
_OWED = re.compile(r"(?i)\b(?:timeout|time-out|default|interval|deadline|threshold)s?$")
_SETTING = re.compile(
    r"(?i)(?:--)?[a-z]+(?:[_-][a-z]+)*[_-](?:size|sizes|seqs|tokens|len|length|workers|threads|gpus|limit|streams|blocks"
    r"|batches|depth|level|port)"
)
"""Names of what is set before a run."""
_VERB = re.compile(r"(?i)\s+(?:(?:i|we|you|it) )?(?:gives?|gave|gets?|got|shows?|reports?|needs?|takes?|took|reach(?:es|ed)?|does|did)\b")
Samples = Mapping[str, Mapping[str, _Sample]]
"""By label, then by side."""


def pair(found: Found) -> Paste:
    """The pairs of all sections, and what was left out."""
    by = numerals.convention([reading.digits for reading in found.readings])
    found.readings = _in_turn(found.readings, found.order)
    settings = [each for each in found.readings if each.kind == "line" and _is_set(each)]
    found.readings = [each for each in found.readings if each not in settings]
    left = [f"{each.label}: no heading names its side" for each in found.readings if not each.side and each.kind != "block"]
    left += [f"{each.label}: a setting" for each in settings]
    sided = numbered_sides.as_runs(cased_sides.apart(_spelt_alike([each for each in found.readings if each.side or each.kind == "block"])))
    readings = means_of_runs.folded(pair_sections.ordered(sided, found.conditions))
    groups = pair_sections.sections(readings)
    pairs: list[Pair] = []
    faults: list[str] = []
    guesses: list[str] = []
    reasons: list[str] = []
    whole = {section: _samples(group, by, faults, left) for section, group in groups.items()}
    for section, samples in whole.items():
        sides = list(dict.fromkeys(reading.side for reading in groups[section]))
        choice = choose(sides, found.words, found.led) if len(sides) > 1 else None
        if len(sides) > 1 and choice is None:
            reasons.append(f"{_and(sides)}: no name says which side is the baseline; call one main or before")
        if choice is None:
            left += [_alone(name, section, of_side) for name, of_side in samples.items()]
            continue
        for own, told in _by_sides(samples, sides).items():
            ours = _of_some(own, choice, found)
            if ours is None:
                left += [_alone(name, section, of_side) for name, of_side in told.items()]
                continue
            guesses += [ours.guessed] if ours.guessed else []
            left += [
                _idle(name, section) for name, of_side in told.items() if not WORK.match(name) and not any(map(_value, of_side.values()))
            ]
            pairs += _pairs(section, samples, told, ours.side, [side for side in own if side != ours.side], ours.guessed)
    left += _commas_read(readings, by) if pairs else []
    scores, totals, more = score_pairs.score_pairs(found.scores)
    guesses += [score.guessed for score in scores if score.guessed]
    sides = list(dict.fromkeys([*_base_first(pairs, scores), *(each.side for each in readings), *(one.side for one in totals)]))
    return Paste(
        pairs=pairs,
        scores=scores,
        readings=readings,
        totals=totals,
        left_out=tuple(dict.fromkeys([*found.left_out, *left, *more, *(found.sideless if pairs or scores else [])])),
        faults=tuple(dict.fromkeys([*found.faults, *faults])),
        reasons=tuple(dict.fromkeys([*reasons, *found.sideless])),
        sides=tuple(sides),
        guessed="; ".join(dict.fromkeys(guesses)),
    )


def _is_set(reading: Reading) -> bool:
    """Whether a number may be a setting's: a whole one, without a unit and without a direction."""
    if _OWED.search(reading.label) and better(reading.measure, reading.unit or reading.named) is None:
        return True
    bare = reading.digits.isdigit() and not reading.unit and not reading.named and better(reading.measure) is None
    return bare and bool(_SETTING.fullmatch(reading.label))


def _in_turn(readings: Sequence[Reading], said: str) -> list[Reading]:
    """The readings; lines without a side, where none has one and each is there twice, below words for two sides in their order: the first
    side's first. That is a guess, and told as one."""
    lines = [each for each in readings if each.kind == "line" and not each.side and not each.run]
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for each in lines:
        places[(*each.context.section, plain_name(each.label))].append(each.place)
    if not said or not lines or any(each.side for each in readings) or any(len(set(own)) != 2 or len(own) != 2 for own in places.values()):
        return list(readings)
    return [
        replace(each, side=ordinal(places[(*each.context.section, plain_name(each.label))].index(each.place) + 1))
        if each in lines
        else each
        for each in readings
    ]


def _by_sides(samples: Samples, sides: Sequence[str]) -> Mapping[tuple[str, ...], Samples]:
    """The labels of a section by the sides that have them: some may be of before and after, others of main and the patch."""
    found: dict[tuple[str, ...], dict[str, Mapping[str, _Sample]]] = {}
    for name, of_side in samples.items():
        found.setdefault(tuple(side for side in sides if side in of_side), {})[name] = of_side
    return found


def _of_some(sides: Sequence[str], whole: Choice, found: Found) -> Choice | None:
    """The baseline among some sides of a section: the whole section's where it is one of them, else one that its own name says."""
    own = choose(sides, found.words, found.led) if len(sides) > 1 else None
    if own is None or own.side == whole.side or (whole.side not in sides and not own.guessed):
        return own
    return whole if whole.side in sides else None


def _spelt_alike(readings: Sequence[Reading]) -> list[Reading]:
    """The readings, with each side spelt as it first was, without a verb: Before and before are one."""
    names: dict[str, str] = {}
    cut = {each.side: short if role(short := _VERB.split(each.side)[0]) else each.side for each in readings}
    return [replace(each, side=names.setdefault(cut[each.side].casefold(), cut[each.side])) for each in readings]


def _commas_read(readings: Sequence[Reading], by: numerals.Convention) -> list[str]:
    """What was made of commas that no number of the text proves to be of thousands."""
    odd = next((each.digits for each in readings if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", each.digits)), "")
    if by == "comma" and odd:
        return [
            f"commas were read as of decimals, as in the other numbers: {odd} as {odd.replace(',', '.')}, not as {odd.replace(',', '')}"
        ]
    odd = odd if by == "" else ""
    return [f"commas were read as of thousands: {odd} as {odd.replace(',', '')}, not as {odd.replace(',', '.')}"] if odd else []


def _base_first(pairs: Sequence[Pair], scores: Sequence[ScorePair]) -> list[str]:
    return [
        *(side for one in pairs[:1] for side in (one.baseline, one.candidate)),
        *(side for one in scores[:1] for side in (one.before.side, one.after.side)),
    ]


def _and(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:3]) + (" and more" if len(names) > 3 else "")


# --- samples ------------------------------------------------------------------------------------------------------


def _samples(group: Sequence[Reading], by: numerals.Convention, faults: list[str], left: list[str]) -> Samples:
    """What each side says of each label of a section; what can't be compared is a fault, a mean that is not used is left out."""
    labels: dict[str, list[Reading]] = defaultdict(list)
    for reading in _numbered(group):
        labels[plain_name(reading.label)].append(reading)
    found: dict[str, dict[str, _Sample]] = {}
    for readings in labels.values():
        line = number_units.in_one_unit([(each.digits, each.unit, each.named) for each in readings], readings[0].label, by)
        if isinstance(line, str):
            faults.append(f"{'the column' if readings[0].kind == 'column' else 'the row'} {readings[0].label!r} {line}")
            continue
        of_side: dict[str, list[tuple[Reading, float]]] = defaultdict(list)
        made: dict[str, list[float]] = defaultdict(list)
        for reading, value in zip(readings, line.values, strict=True):
            if reading.made:
                made[reading.side].append(value)
            else:
                of_side[reading.side].append((reading, value))
        means = _means(of_side, made)
        left += [f"{each.made} of the runs of {each.side}" for each in readings if each.made] if not means else []
        twice = [side for side, ones in of_side.items() if not _are_runs(ones)]
        if twice:
            faults.append(f"the row {readings[0].label!r} is there twice: name its numbers apart")
            continue
        way = better(readings[0].measure, line.unit or readings[0].named)
        found[line.label] = {
            side: _Sample(label=line.label, values=tuple(value for _, value in ones), runs=_runs(ones), better=way, mean=means.get(side))
            for side, ones in of_side.items()
        }
    return found


def _numbered(group: Sequence[Reading]) -> Iterator[Reading]:
    """The readings; of tables of one shape in one section the later ones by their number."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for reading in group:
        if reading.kind not in ("row", "column") or reading.run or reading.made:
            yield reading
            continue
        own = places[plain_name(reading.side), plain_name(reading.label)]
        own += [reading.place] if reading.place not in own else []
        number = own.index(reading.place) + 1
        caption = reading.context.caption.strip(" :*_")[:CAPTION]
        yield replace(reading, label=f"{reading.label} ({caption or f'table {number}'})") if number > 1 else reading


def _means(of_side: Mapping[str, Sequence[tuple[Reading, float]]], made: Mapping[str, Sequence[float]]) -> Mapping[str, float]:
    """The mean that each side printed beside its runs; {} where one has none, or has a number that can't be their mean."""
    for side, ones in of_side.items():
        values, printed = [value for _, value in ones], made.get(side, ())
        room = ROUNDED * max(map(abs, values))
        if len(values) < 2 or len(printed) != 1 or not min(values) - room <= printed[0] <= max(values) + room:
            return {}
    return {side: made[side][0] for side in of_side}


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
    said = _RUNS.search(ones[0][0].side) if ones[0][0].runs is None else None
    return int(said[1] or said[2]) if said else ones[0][0].runs


# --- pairs --------------------------------------------------------------------------------------------------------


def _pairs(section: Section, samples: Samples, told: Samples, base: str, others: Sequence[str], guessed: str) -> Iterator[Pair]:
    for side in others:
        same = _same_work(samples, base, side)
        for name, of_side in told.items():
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
                    means=one.mean is not None and two.mean is not None,
                )


def _same_work(samples: Samples, base: str, side: str) -> bool:
    """Whether two sides were asked for the same, and did it, but for a share that alters little."""
    work = [(each[base].value, each[side].value) for name, each in samples.items() if WORK.match(name) and base in each and side in each]
    return all(abs(one - other) <= LITTLE * max(abs(one), abs(other)) for one, other in work)


def _value(sample: _Sample) -> float:
    return sample.value


def _idle(name: str, section: Section) -> str:
    return f"{name}{_under(section)}: 0 on both sides"


def _alone(name: str, section: Section, of_side: Mapping[str, _Sample]) -> str:
    return f"{name}{_under(section)}: {' and '.join(of_side)} alone {'has' if len(of_side) == 1 else 'have'} it"


def _under(section: Section) -> str:
    return f", under {' / '.join(section)}" if section else ""
