"""The names of metrics within running words."""

from __future__ import annotations

import re

from perfproof.model.scenarios import foreign_words
from perfproof.model.scenarios.metric_directions import NOUNS

_NOUN = "|".join(
    sorted((re.escape(noun).replace(r"\ ", r"[\s-]+") for noun in NOUNS if noun not in ("score", "failed", "times")), key=len, reverse=True)
)
METRIC = re.compile(
    rf"(?i)\b(?P<label>(?:(?:mean|median|average|avg\.?|p\d\d?(?:\.\d)?|total|output|input|request|token|inter-token|end-to-end"
    rf"|prefill|decode|step|round|peak|startup|generation|kernel|scheduling|queu(?:e|e?ing))\s+){{0,4}}"
    rf"(?:{_NOUN}))\b"
)


def measured_in(words: str) -> bool:
    """Whether some words hold the name of a metric, in any language that is known."""
    return METRIC.search(words) is not None or METRIC.search(foreign_words.metric(words)) is not None
