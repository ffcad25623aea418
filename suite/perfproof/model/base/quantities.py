"""Quantities as people write them: which units can be compared, and what a sentence says to have changed from what to what.

It refuses to guess: a unit that is not known is comparable with itself alone, and of a sentence only what names its metric, a change of
it, and two times or rates that fit that metric is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfproof.model.base import numerals

_TIMES = {
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds", "microsec"), 1e-6),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("hr", "hour", "hours"), 3600.0),
}
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_BYTES |= {unit.lower(): size for unit, size in _BYTES.items() if unit != "B"}
_WORDS = {
    **dict.fromkeys(("tok", "toks", "token", "tokens"), "tok"),
    **dict.fromkeys(("req", "reqs", "request", "requests"), "req"),
    **dict.fromkeys(("it", "iter", "iters", "iteration", "iterations"), "it"),
    **dict.fromkeys(("step", "steps"), "step"),
}
"""Counts that have several spellings, each with one."""
_SHORT = {f"{letter}flops": f"{letter.upper()}FLOP/s" for letter in "mgtp"} | {f"{size}Bps": f"{size}B/s" for size in "MGT"}
"""Rates in one word, in small letters but for bytes."""
MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6}
"""Letters behind a number, or before a count, that multiply it: 1.2M, 4.5 ktok/s."""
PLACES = 12
"""Figures that are kept of a value in another unit: what comes behind is no more than the conversion's own error."""


def scale(unit: str) -> tuple[str, float]:
    """What a unit measures, in one word, and how many of its base unit it is: "ms" is ("time", 0.001), "tokens/s" ("tok/time", 1)."""
    parts = [_scale(part) for part in (_SHORT.get(unit) or _SHORT.get(unit.lower(), unit)).split("/")]
    dimension, factor = parts[0]
    for over, size in parts[1:]:
        dimension, factor = f"{dimension}/{over}", factor / size
    return dimension, factor


def _scale(word: str) -> tuple[str, float]:
    if word in _TIMES:
        return "time", _TIMES[word]
    if word in _BYTES:
        return "bytes", _BYTES[word]
    if word in MULTIPLES:
        return "", MULTIPLES[word]
    counted = _WORDS.get(word[1:], "ops" if word[1:] == "ops" else "")
    return (counted, MULTIPLES[word[0]]) if word[:1] in MULTIPLES and counted else (_WORDS.get(word, word), 1.0)


def converted(value: float, unit: str, into: str) -> float | None:
    """A value in another unit; None where the two measure different things. The same unit leaves it as it is."""
    (have, factor), (want, other) = scale(unit), scale(into)
    if have != want:
        return None
    return value if factor == other else float(f"{value * factor / other:.{PLACES}g}")


def known(unit: str) -> bool:
    """Whether a word is surely a unit: of time or memory, a share of one of these, a rate, or per cent."""
    dimension = scale(unit)[0]
    return dimension == "%" or bool({"time", "bytes"} & set(dimension.split("/")))


# --- sentences -------------------------------------------------------------------------------------------------

_NUMBER, _UNIT = r"[0-9][0-9,]{0,30}(?:\.[0-9]{1,30})?", r"[A-Za-zµμ][\w/µμ]{0,30}"
_CHANGE = re.compile(
    rf"(?P<from>\bfrom\s+)?(?<![\w.])(?P<before>{_NUMBER})(?:\s?(?P<unit>{_UNIT}))?\s*(?P<to>\bto\b|->|→|=>)\s*"
    rf"(?P<after>{_NUMBER})\s?(?P<other>{_UNIT})"
)
_VERB = re.compile(
    r"(?i)\b(went|goes|dropp?(ed|s)?|fell|falls|rose|rises|grew|grows|shrank|shrinks|cuts?|improved?s?|reduced?s?|lower(ed|s)|raised?s?"
    r"|(in|de)creased?s?|changed?s?|regressed|regresses)\b"
)
_DOUBT = re.compile(r"(?i)\b(rang\w+|var(y|ies|ied|ying)|between|could|would|might|should|may|can|not|by)\b|n't\b")
"""Words with which two numbers may be a range, an amount, or nothing that happened."""
UNDONE = re.compile(
    r"(?i)\b(revert\w*|downgrad\w*|go(?:ing|es)? back|back to|roll\w* back|undo\w*|undid|without|disabl\w+|turn\w* off|(?:was|were) \d"
    r"|(?:pr|patch|patched|new|candidate|head|after|now)"
    r" (?:to|back to|->|→|=>|vs\.?) (?:the )?(?:main|master|base\w*|before|old|stock|upstream)\b)"
)
"""Words of a sentence in which the second number may be the earlier one."""
_KIND = r"(?P<lower>latency|ttft|tpot|itl|e2el|duration|runtime|time|delay|stall)|(?P<rate>throughput|goodput)"
_METRIC = re.compile(
    rf"(?i)\b(?P<label>(?:(?:mean|median|average|p\d\d?|total|output|input|request|token|inter-token|end-to-end|prefill|decode"
    rf"|step|round|peak|scheduling|queu(?:e|e?ing))\s+)*"
    rf"(?:{_KIND})(?:\s+per\s+(?:output\s+)?\w+)?)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a sentence says of a metric; `after` is in the unit of `before`."""

    metric: str
    unit: str
    before: float
    after: float


def changes(text: str) -> tuple[Change, ...]:
    """What the sentences of a text say: "mean TTFT dropped from 190 ms to 188 ms", "throughput: 2,447 -> 2,553 tok/s".

    None at all where two of them say different things of one metric, or where some numbers have decimal points and others decimal commas.
    """
    by = numerals.convention([_digits(match[name]) for match in _CHANGE.finditer(text) for name in ("before", "after")])
    found = [change for sentence in _SENTENCE.split(text) for change in _said(sentence, by)] if by != "mixed" else []
    one_each = {change.metric: change for change in found}
    return tuple(one_each.values()) if all(one_each[change.metric] == change for change in found) else ()


def _said(sentence: str, by: numerals.Convention) -> Iterator[Change]:
    start = 0
    for match in _CHANGE.finditer(sentence):
        words, start = sentence[start : match.start()], match.end()
        metrics = list(_METRIC.finditer(words))
        told = match["to"] != "to" or (match["from"] and _VERB.search(sentence[: match.start()]))
        if told and len(metrics) == 1 and not _DOUBT.search(words) and not UNDONE.search(sentence):
            yield from _fitting(metrics[0], match, by)


def _digits(text: str) -> str:
    return text.rstrip(",")


def _fitting(metric: re.Match[str], match: re.Match[str], by: numerals.Convention) -> Iterator[Change]:
    """The change, where both values have units of what the metric is."""
    unit = match["unit"] or match["other"]
    dimension = scale(unit)[0]
    fits = dimension.endswith("/time") if metric["rate"] else dimension.partition("/")[0] == "time"
    texts = [_digits(match[name]) for name in ("before", "after")]
    if not all(map(numerals.is_number, texts)) or (by == "" and unit == match["other"] and numerals.doubtful(texts)):
        return
    before, after = (numerals.value(text, by) for text in texts)
    same = converted(after, match["other"], unit)
    if fits and same is not None:
        yield Change(metric=" ".join(metric["label"].split()), unit=unit, before=before, after=same)
