"""One metric of a baseline and of several others in one line: "pass@1: baseline 0.81, AWQ 0.79", "41 ms on main, 30 ms with graphs
and 28 ms with both", "Baseline: 41 ms TPOT. Graphs bring it to 30 ms, both bring it to 28 ms".

Exactly one arm must be called a baseline, all have one metric and one unit, and no name may be a metric's, a statistic's or a limit's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.prose.piece_names import called
from perfproof.importers.pasted_text.values.named_values import Named, Value
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, RATE, bare, cell, is_digits, spelt_unit
from perfproof.importers.pasted_text.words.nouns import METRIC, measured_in
from perfproof.importers.pasted_text.words.unmeasured import UNMEASURED
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, better, better_in, word_set
from perfproof.model.scenarios.side_names import names_a_side, role

MOST_WORDS, LEAST, LONGEST = 5, 3, 400
_NUMBER = rf"[~≈]?(?P<digits>{DIGITS}(?<![.,]))\s?(?P<unit>{RATE})?"
_CLAIM = r"(?:\s*[(\[][^()\[\]]*(?:%|[0-9][x×]|faster|slower|better|worse)[^()\[\]]*[)\]])?"
_HEAD = re.compile(r"^(?P<name>[^\W\d][^:;|=]{1,70}?)\s*(?::|\s[–—-])\s+(?=\S)")
_NAME_FIRST = re.compile(rf"(?:(?:and|with|on|for)\s+)?(?P<side>[^\W_][^,;:=()|]{{0,50}}?)\s*(?:[:=]|\bis\b|\bat\b)?\s*{_NUMBER}{_CLAIM}")
_NUMBER_FIRST = re.compile(
    rf"(?P<lead>.{{0,80}}?)(?<![\w.]){_NUMBER}\s+(?:(?:on|in|for|using|under|with)\s+|(?=without\s)|[(\[])(?P<side>[^,;:()\[\]|]{{2,50}}?)[)\]]?{_CLAIM}"
)
_MISSING = re.compile(r"(?:and\s+)?(?P<side>[^\W_][^,;:=()|]{0,40}?)\s*[:=]?\s+(?P<what>\S[^,;|]{0,30})")
_BRINGS = re.compile(
    r"(?:(?:and|then|while|with)\s+)?(?P<side>[^\W\d][^,;:]{1,60}?)\s+(?:brings?|brought|takes?|took|gets?|got|push(?:es|ed)|lowers?|lowered"
    r"|raises?|raised|reduces?|reduced|cuts?|drops?|dropped|improves?|improved|increases?|increased|moves?|moved)\s+"
    rf"(?P<what>it|that|this|(?:the\s+|mean\s+|median\s+)*[^\W\d][\w@ -]{{1,40}}?)\s+(?:(?:further|down|up"
    rf"|again)\s+)*to\s+{_NUMBER}{_CLAIM}"
)
_LIMITS = word_set(
    "target threshold limit goal std stderr stddev error tolerance expected budget slo tp dp pp ep bs qps rps n seed run runs gpu gpus of "
    "to from than was were is are between within about least most"
)
"""Words of what is no side: what is owed, how often or at what something was run, and those of sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arm:
    side: str
    digits: str
    unit: str


def several_arms(lines: Sequence[Line], at: int, *, sentence: bool = False) -> tuple[Named, int] | None:
    """The numbers of a line, each with its arm as its side; of a `sentence` that may be read otherwise only what the arms bring a metric
    to."""
    text = BULLET.sub("", bare(lines[at].text)).rstrip(". ")
    if len(text) > LONGEST or "|" in text or not re.search(r"[0-9]", text):
        return None
    found = (None if sentence else _listed(text) or _behind(text)) or _brought(text)
    if not found:
        return None
    name, arms, missing = found
    values = tuple(Value(name=name, digits=arm.digits, unit=arm.unit, side=arm.side) for arm in arms)
    unread = tuple((", ".join(part for part in (name, side) if part), what) for side, what in missing)
    return Named(values=values, unread=unread, number=lines[at].number), at + 1


_Found = tuple[str, list[_Arm], list[tuple[str, str]]]


def _listed(text: str) -> _Found | None:
    """A metric and then each arm before its number."""
    head = _HEAD.match(text)
    name, rest = (head["name"], text[head.end() :]) if head else ("", text)
    if names_a_side(name):
        return None
    arms: list[_Arm] = []
    missing: list[tuple[str, str]] = []
    for part in re.split(r"(?<!\d),\s*(?:and\s+)?|(?<=\d),\s+(?:and\s+)?|;\s+|\s+/\s+|\s+(?:and|vs\.?|versus)\s+", rest):
        if (one := _NAME_FIRST.fullmatch(part)) and is_digits(one["digits"]):
            arms.append(_Arm(side=one["side"], digits=one["digits"], unit=spelt_unit(one["unit"] or "")))
        elif (gone := _MISSING.fullmatch(part)) and (cell(gone["what"]).kind == "missing" or UNMEASURED.fullmatch(gone["what"])):
            missing.append((gone["side"], gone["what"]))
        else:
            return None
    least = LEAST if not (head and better(name)) else 2
    if len(arms) < 2 or len(arms) + len(missing) < least:
        return None
    whole = _alike(arms, name)
    return (name, whole, missing) if whole and all(_is_side(side) for side, _ in missing) else None


def _behind(text: str) -> _Found | None:
    """Each number before its arm, the metric before the first of them."""
    parts = [_NUMBER_FIRST.fullmatch(part) for part in re.split(r"(?<!\d),\s*(?:and\s+)?|(?<=\d),\s+|;\s+|\s+and\s+(?=[~≈]?[0-9])", text)]
    if len(parts) < LEAST or not all(parts) or any(part["lead"].strip() for part in parts[1:] if part):
        return None
    arms = [_Arm(side=part["side"], digits=part["digits"], unit=spelt_unit(part["unit"] or "")) for part in parts if part]
    lead = parts[0]["lead"] if parts[0] else ""
    name = called(lead, arms[0].unit) if lead.strip() else ""
    whole = _alike(arms, name) if len(name.split()) <= MOST_WORDS else []
    return (name, whole, []) if whole else None


_BASELINE = re.compile(
    rf"(?i)(?:the |our )?(?P<side>baseline|main|master|before)(?:\s+(?:is|was|=|\()\s*(?P<what>[^\d:;,()]{{2,40}}?)\)?)?"
    rf"\s*(?::|\bis\b|\bat\b|\bhas\b|\bneeds\b|\btakes\b)?\s*"
    rf"(?P<lead>[^\W\d][^\d:;,]{{0,30}}?\s)??{_NUMBER}(?:\s+(?P<metric>[^\W\d][\w -]{{1,30}}))?"
)


def _brought(text: str) -> _Found | None:
    """What the baseline has, and to what each of the others brings it."""
    sentences = re.split(r"(?<=[^\W_])\.\s+|;\s+|,\s+(?:and\s+|then\s+|while\s+)?(?=[^\W\d])", text)
    begun = next((at for at, part in enumerate(sentences) if _BASELINE.fullmatch(part)), None)
    if begun is None:
        return None
    base = _BASELINE.fullmatch(sentences[begun])
    name = (base["metric"] or called(base["lead"] or "", spelt_unit(base["unit"] or ""))) if base else ""
    arms = [_Arm(side=base["side"], digits=base["digits"], unit=spelt_unit(base["unit"] or ""))] if base else []
    for part in sentences[begun + 1 :]:
        one = _BRINGS.fullmatch(part)
        if not one:
            if re.search(rf"{DIGITS}\s?(?:ms|s|us|tok/s|req/s|%)\b", part):
                return None
            continue
        what = "" if one["what"].lower() in ("it", "that", "this") else called(one["what"], "")
        if what and name and _noun(what) != _noun(name):
            return None
        name = name or what
        arms.append(_Arm(side=one["side"], digits=one["digits"], unit=spelt_unit(one["unit"] or "")))
    whole = _alike(arms, name) if name and len(arms) > 1 else []
    return (name, whole, []) if whole else None


def _noun(name: str) -> str:
    found = list(METRIC.finditer(name))
    return found[-1]["label"].split()[-1].casefold() if found else name.casefold()


def _alike(arms: Sequence[_Arm], name: str) -> list[_Arm]:
    """The arms, all in one unit; [] where they are not of one metric, or not exactly one of them is called a baseline."""
    units = {arm.unit for arm in arms if arm.unit}
    unit = next(iter(units), "")
    if len(units) > 1 or (unit and not known(unit)) or unit == "%" or not all(is_digits(arm.digits) for arm in arms):
        return []
    if better_in(name, unit) is None or (not unit and better(name) is None):
        return []
    sides = [arm.side.strip() for arm in arms]
    if len({side.casefold() for side in sides}) < len(sides) or [role(side) for side in sides].count("baseline") != 1:
        return []
    if not all(_is_side(side) for side in sides):
        return []
    return [_Arm(side=side, digits=arm.digits, unit=unit) for side, arm in zip(sides, arms, strict=True)]


def _is_side(side: str) -> bool:
    words = side.lower().split()
    plain = 0 < len(words) <= MOST_WORDS and not set(words) & (_LIMITS | STATISTICS) and not re.search(r"[=@]", side)
    return plain and (bool(role(side)) or (better(side) is None and not measured_in(side) and not known(side)))
