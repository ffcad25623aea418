"""Metrics and units that a text says once for many numbers: "(mean TTFT over 3 runs, ms)", "Before (tok/s)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.tables import captions
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.importers.pasted_text.words.nouns import METRIC
from perfproof.model.base.quantities import known, scale
from perfproof.model.scenarios.evaluation_names import evaluates
from perfproof.model.scenarios.metric_directions import NOUNS, better, better_in


def metric_in_brackets(text: str) -> tuple[str, str] | None:
    """The metric that a line in brackets says all numbers are, and its unit, "" for none: "(mean TTFT over 3 runs, ms)"."""
    found = re.fullmatch(r"[(\[](.{3,60})[)\]]\.?", text.strip()) or re.match(r"(?:This is|These are) (?:the )?(.{3,80})", text.strip())
    alone = captions.of_all(text)
    if not found and alone.label and alone.unit:
        return alone.label, alone.unit
    match = METRIC.match(found[1]) if found else None
    return (match["label"], next((word for word in re.split(r"[\s,;()]+", text) if known(word)), "")) if match else None


def measured(reading: Reading, metric: str, unit: str) -> Reading:
    """A number whose own words name no metric, as one of the metric that a line says of all."""
    own = reading.unit or reading.named
    if reading.label == "value" and not reading.measure:
        return replace(reading, label=metric, measure=metric, unit=own or unit)
    if own or better(reading.measure) is not None or better_in(metric, unit) is None:
        return reading
    return replace(reading, measure=metric, unit=unit)


_NO_SCORE = re.compile(
    r"(?i)(?:^|[\s_.,(-])(?:time|latency|tokens?|tok|len|length|lens|num|samples?|size|std\w*|stderr|err\w*|invalid|fail\w*|wrong|refus\w*|loss|ppl"
    r"|temperature|top_p|top_k|seed|version|ratio|speed\w*|cost|delta|diff\w*|gap|n|p|p-value|budget|timeouts?|runs?|questions?|prompts?|steps?)"
    r"(?=$|[\s_.,)-])"
)
"""Words of numbers beside scores that are none."""


def as_scores(readings: Sequence[Reading], words: str) -> list[Reading]:
    """The readings; a number without a unit and a direction below words for an evaluation, "LongBench scores, main / PR", as a score of it;
    the whole text's words where these speak of nothing else."""
    return [replace(each, measure="accuracy") if _is_score(each, words) else each for each in readings]


@lru_cache(maxsize=1024)
def _evaluated(text: str) -> bool:
    """Whether some words speak of an evaluation, and of neither speed nor size."""
    if not evaluates(text):
        return False
    kinds = {NOUNS[noun][1] for found in METRIC.finditer(text) if (noun := found["label"].split()[-1].casefold()) in NOUNS}
    units = {scale(word)[0] for word in re.findall(r"[A-Za-zµ/]{2,}", text) if known(word)}
    return not kinds & {"time", "rate", "memory"} and not any("time" in unit or unit == "bytes" for unit in units)


def _is_score(reading: Reading, words: str) -> bool:
    plain = not reading.unit and not reading.named and "." in reading.digits and better_in(reading.measure, "") is None
    if not plain or _NO_SCORE.search(reading.label) or _NO_SCORE.search(reading.measure):
        return False
    near = (reading.context.caption, *reading.context.section, *reading.context.weak)
    return any(map(_evaluated, near)) or (_evaluated(words) and not any(better(text) for text in near))


def without_its_unit(reading: Reading) -> Reading:
    """A number below "Before (tok/s)": of the side Before, in that unit."""
    unit = unit_of(reading.side) if reading.side.endswith((")", "]")) else ""
    if not unit or not (side := re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", reading.side)):
        return reading
    return replace(reading, side=side, unit=reading.unit or ("" if reading.named else unit))


def in_unit(reading: Reading, unit: str) -> Reading:
    """A number without a unit of its own in the one that the text says of all; what can't be in it stays as it is."""
    if (
        reading.unit
        or reading.named
        or better_in(reading.measure, unit) is None
        or (better(reading.measure) == "higher" and "/" not in unit)
    ):
        return reading
    return replace(reading, unit=unit)
