"""The scores of lm_eval that a baseline and another side have, section by section."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from perfproof.importers.pasted_text.context.readings import Reading, Score, ScorePair
from perfproof.importers.pasted_text.pairs import pair_sections
from perfproof.importers.pasted_text.pairs.baseline_choice import choose
from perfproof.model.records.eval_items import Total


def score_pairs(scores: Sequence[Score]) -> tuple[list[ScorePair], list[Total], list[str]]:
    """The scores that a baseline and another side have, all scores, and which one side alone has."""
    pairs: list[ScorePair] = []
    left: list[str] = []
    for section, group in pair_sections.sections([_as_reading(score, at) for at, score in enumerate(scores)]).items():
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
