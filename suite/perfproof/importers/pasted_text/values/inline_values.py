"""Lines of several quantities, each with its own words: "main 45 ms | PR 41 ms", "p50: 45 ms -> 41 ms, p99: 120 ms -> 101 ms".

Every quantity must have a side or a metric of its own, or one that a quantity before it has; no two may have the same. Otherwise the line
is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.context.headings import SETTING, SETUP
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.values import named_values
from perfproof.importers.pasted_text.values.named_values import Named, Value, in_order
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, RUNS_BESIDE, UNIT, bare, is_digits, unit_of
from perfproof.importers.pasted_text.words.nouns import measured_in
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.base.quantities import known, scale
from perfproof.model.scenarios.metric_directions import STATISTICS, better, better_in
from perfproof.model.scenarios.side_names import commit, names_a_side, release, role, split

MOST, LONGEST_WORDS, LONGEST = 40, 6, 80
MOST_NAMES = 2
"""Names that stand before one another, at most: "main: run 1: Throughput: 12.3 requests/s"."""
_NUMBER = re.compile(
    rf"(?<![\w.#@/^~±-])(?<!± )(?<!\+/- )(?<!\+- )[~≈]?\s?(?P<digits>{DIGITS})\s?"
    rf"(?:(?:total|output|input|prompt|generated)\s+(?=[a-z]+/s))?(?P<unit>{UNIT})?(?![\w])"
)
_ARROW = re.compile(r"\s*(?:→|->|=>|➔|➜|⟶)\s*")
_APART = re.compile(r"\s*[,;|](?:\s+|$)|\s*[|•]\s*|\s+/\s+|\s+(?:and|und|et|y|vs\.?|versus)\s+|\s+[-–—]\s+")
_INSIDE = re.compile(r"^\s*[(\[](?P<text>[^()\[\]]{1,60})[)\]]")
_SAID = re.compile(
    r"(?i)\b(?:instead of|rather than|compared (?:to|with)|(?:down|up) from|is|are|was|were|goes|went|drops?|dropped|fell"
    r"|falls|rose|rises|takes?|took|gets?|got|sees?|saw|i|we|you|it|it's|that)\b"
)
"""Words of a sentence, which is read as one."""
_SIDED = re.compile(r"^(?P<side>[^:=|,;]{1,60}?)\s*(?::|\s[-–—]|=>|\s\|)\s+(?P<rest>[^\W\d].*[:=].*)$")
_EACH_SIDED = re.compile(
    rf"^(?:(?P<name>[^\W\d_][^:=]{{0,60}}?)\s*[:=]\s*)?(?P<before>{DIGITS})\s?(?P<unit>{UNIT})?\s*[(\[](?P<one>[^()\[\]]{{2,40}})[)\]]"
    rf"\s*(?:->|→|=>|vs\.?|versus|,|/|to)\s*(?P<after>{DIGITS})\s?(?P<late>{UNIT})?\s*[(\[](?P<other>[^()\[\]]{{2,40}})[)\]]\.?$"
)
"""Two numbers with their sides in brackets: "402 ms (0.10.2) -> 371 ms (0.11.0)"."""
_OF_RUN = re.compile(r"(?i)^(?P<side>(?:run|trial|rep)\s#?[0-9]{1,3})\s*[:.)-]?\s+(?P<rest>[^\W\d].*[0-9].*)$")
_WAS = re.compile(
    rf"(?i)^(?:(?P<name>[^\W\d_][^:=]{{0,60}}?)\s*[:=]\s*)?(?P<after>{DIGITS})\s?(?P<unit>{UNIT})?\s*[,(]\s*"
    r"(?P<word>was|vs\.?|versus|from|(?:down|up) from|previously|formerly|before|main|master|baseline|base|old"
    rf"|instead of|compared (?:to|with))\b:?\s*(?P<before>{DIGITS})\s?(?P<late>{UNIT})?"
    r"(?:\s+(?:(?:on|in|for|with)\s+)?(?P<side>[a-z][\w -]{1,30}?))?\s*\)?\.?$"
)
"""A number and, behind it, what it was: "41 ms (was 45 ms)", "41 ms (main: 45 ms)"."""
_KEY = re.compile(rf"^[\"'](?P<name>[^\"']{{2,60}})[\"']\s*:\s*[\"']?(?P<value>{DIGITS}\s?(?:{UNIT})?)[\"']?,?$")
"""A key and its number, of an object without its braces."""
_CHANGED = re.compile(rf"^(?P<change>{DIGITS}\s?(?:{UNIT})?\s*(?:→|->|=>)\s*{DIGITS}\s?(?:{UNIT})?)\s+(?P<label>[A-Za-z][^0-9]*)$")
"""A change, and what changed behind it."""
_SPREAD = re.compile(r"\s*±\s*[0-9][0-9.,]*")
_EDGES = " .,;|/:=()[]-–—•*\t"
_CLAIM = re.compile(r"^[-+]?[0-9.,]+\s?(?:%|[x×])$|^(?:[-+])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantity:
    """A number with the words before and behind it that are its own; `arrowed` says that it is what the one before became."""

    digits: str
    unit: str
    lead: str
    trail: str
    arrowed: bool


def named_line(lines: Sequence[Line], at: int, depth: int = 0) -> tuple[Named, int] | None:
    """A line with a name and its numbers (`named_values`); where that leaves quantities of it unread, each by its own words, and what
    stays unread by name."""
    if key := _KEY.match(lines[at].text):
        lines = [replace(lines[at], text=f"{key['name']}: {key['value'].rstrip(',')}")]
        found = named_values.named_line(lines, 0)
        return (found[0], at + 1) if found else None
    found = named_values.named_line(lines, at)
    text = BULLET.sub("", bare(lines[at].text))
    if SETTING.match(text):
        return None
    if bare_numbers := _alone(text):
        return Named(values=bare_numbers, unread=(), number=lines[at].number), at + 1
    if depth < MOST_NAMES and (sided := _below_name(text, lines[at], depth)):
        return sided, at + 1
    if "±" in text and (values := values_in(_SPREAD.sub("", text))) and len(values) > 1:
        return Named(values=tuple(values), unread=((text.split(":")[0][:LONGEST], "±"),), number=lines[at].number), at + 1
    if found and count(text) <= len(found[0].values) + len(found[0].unread):
        return found
    if values := values_in(text):
        return Named(values=tuple(values), unread=(), number=lines[at].number), at + 1
    if found is None:
        return None
    return replace(
        found[0],
        unread=(
            *found[0].unread,
            (
                found[0].values[0].name if found[0].values and found[0].values[0].name else text,
                f"more of its line was not read: {text[:LONGEST]}",
            ),
        ),
    ), at + 1


def _alone(text: str) -> tuple[Value, ...]:
    """A line of nothing but a number with a unit, or of several: what it measures and whose it is stands above."""
    if (changed := _CHANGED.match(text)) and better(changed["label"]) is not None:
        return tuple(replace(value, name=changed["label"]) for value in named_values.values_of("", changed["change"]))
    found = tuple(named_values.values_of("", text)) if re.match(r"[~≈]?\s?[0-9]", text) else ()
    return found if found and all(known(value.unit) and not value.name and not value.side for value in found) else ()


def _below_name(text: str, line: Line, depth: int) -> Named | None:
    """A line that begins with a side, or with a name, and goes on as a line of its own: "main: Throughput: 12.3 requests/s, 3158 total
    tokens/s", "Final estimate: PPL = 7.43"."""
    parts = _OF_RUN.match(text) or _SIDED.match(text)
    if not parts or better(parts["side"]) is not None or SETUP.match(text):
        return None
    inner = named_line([replace(line, text=parts["rest"])], 0, depth + 1)
    if not inner or not all(value.name and not value.side for value in inner[0].values):
        return None
    if run := RUN.fullmatch(parts["side"]):
        return replace(inner[0], values=tuple(replace(value, run=run_of(run)) for value in inner[0].values))
    if not _is_side(parts["side"]):
        named = all(better(value.name) for value in inner[0].values) and not re.search(r"[,;]", parts["side"])
        return (
            replace(inner[0], values=tuple(replace(value, name=f"{parts['side']} {value.name}") for value in inner[0].values))
            if named
            else None
        )
    return replace(inner[0], values=tuple(replace(value, side=parts["side"]) for value in inner[0].values))


def count(text: str) -> int:
    """How many quantities with a known unit a text holds; a change in per cent is none."""
    return sum(known(one.unit) and one.unit != "%" for one in _quantities(text))


def values_in(text: str) -> list[Value]:
    """The quantities of a line with their sides and metrics, [] where these are not clear."""
    if (was := _WAS.match(text)) and not in_order(text) and all(map(is_digits, (was["after"], was["before"]))):
        side = next((each for each in (was["side"], was["word"]) if each and role(each) == "baseline"), "before")
        name, unit, late = was["name"] or "", was["unit"] or "", was["late"] or ""
        return [
            Value(name=name, digits=was["before"], unit=late or unit, side=side),
            Value(name=name, digits=was["after"], unit=unit or late, side="now"),
        ]
    if (sided := _EACH_SIDED.match(text)) and all(map(is_digits, (sided["before"], sided["after"]))):
        unit = sided["unit"] or sided["late"] or ""
        whose = (sided["one"], sided["other"])
        if known(unit) and (any(map(role, whose)) or all(release(side) is not None for side in whose)) and not any(map(measured_in, whose)):
            name = (sided["name"] or "").strip()
            return [
                Value(name=name, digits=sided["before"], unit=unit, side=whose[0]),
                Value(name=name, digits=sided["after"], unit=sided["late"] or unit, side=whose[1]),
            ]
    behind = re.search(r"\s[(\[](?P<metric>[^()\[\]]{2,30})[)\]]$", text)
    if behind and better(behind["metric"]) and not role(behind["metric"]) and (values := values_in(text[: behind.start()])):
        return [replace(value, name=behind["metric"]) if value.name in ("", value.unit) else value for value in values]
    found = list(_quantities(text))
    if not found or len(found) > MOST or text.endswith(":") or _SAID.search(text) or RUNS_BESIDE.search(text):
        return []
    values = list(_told(found))
    keys = [(value.name.casefold(), value.side.casefold()) for value in values]
    sides = {value.side for value in values} - {""}
    if len(values) != len(found) or len(set(keys)) < len(keys):
        return []
    if not sides:
        return values if len(values) > 1 and all(value.name and better_in(value.name, value.unit) for value in values) else []
    return values if all(value.side for value in values) and (len(values) > 1 or better(values[0].name)) else []


def _quantities(text: str) -> Iterator[_Quantity]:
    """The quantities of a line: numbers with a known unit, or behind = or an arrow."""
    found = []
    for one in _NUMBER.finditer(text):
        before, digits = text[: one.start()].rstrip(), one["digits"].rstrip(",.")
        marked = before.endswith(("=", ":")) or _ARROW.search(before[-3:]) or _ARROW.match(text[one.end() :])
        inside = _INSIDE.match(text[one.end() :])
        if (
            is_digits(digits)
            and not commit(re.match(r"[~≈]?\s?(\w*)", text[one.start() :])[1])  # type: ignore[index]
            and (known(one["unit"] or "") or marked or (inside and role(inside["text"])))
            and not _CLAIM.match(one[0].strip())
        ):
            found.append(one)
    last, trailing = 0, _trailing(text, found)
    for at, one in enumerate(found):
        between = text[last : one.start()]
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        behind = text[one.end() : end]
        lead = between if not at else _parted(between, trailing)[1]
        trail = _parted(behind, trailing)[0] if at + 1 < len(found) else behind
        yield _Quantity(
            digits=one["digits"].rstrip(",."),
            unit=(one["unit"] or "") if known(one["unit"] or "") or not role(one["unit"] or "") else "",
            lead=lead,
            trail=trail,
            arrowed=bool(at and _ARROW.fullmatch(between)),
        )
        last = one.end()


def _trailing(text: str, found: Sequence[re.Match[str]]) -> bool:
    """Whether sides stand behind their numbers: the last words of the line are a side's, the first are none."""
    if not found:
        return False
    return bool(role(text[found[-1].end() :].strip(_EDGES))) and not role(text[: found[0].start()].strip(_EDGES))


def _parted(between: str, trailing: bool) -> tuple[str, str]:
    """What stands between two numbers as the words of either: a bracket is the first one's, then a comma or the like parts them."""
    inside = _INSIDE.match(between)
    begin = inside.end() if inside else 0
    cut = _APART.search(between, begin)
    if cut is None:
        return (between, "") if trailing else (between[:begin], between[begin:])
    return between[: cut.start()], between[cut.end() :]


def _told(found: Sequence[_Quantity]) -> Iterator[Value]:
    """Each quantity with its metric and its side, its own or the last one's."""
    side = metric = unit = ""
    for at, one in enumerate(found):
        if one.arrowed:
            continue
        becomes = found[at + 1] if at + 1 < len(found) and found[at + 1].arrowed else None
        own, words = _side(one)
        if len(words.split()) > LONGEST_WORDS:
            return
        named = _metric(words, metric if not unit or not one.unit or scale(unit)[0] == scale(one.unit)[0] else "", one.unit)
        if named is None:
            return
        metric, side, unit = named, own or side, one.unit or unit
        if becomes is None:
            yield Value(
                name=named or (one.unit if known(one.unit) and better(one.unit) else ""), digits=one.digits, unit=one.unit, side=side
            )
            continue
        unit = one.unit or becomes.unit
        yield Value(name=named, digits=one.digits, unit=unit, side="before")
        yield Value(name=named, digits=becomes.digits, unit=becomes.unit or unit, side="after")


def _side(one: _Quantity) -> tuple[str, str]:
    """The side that a quantity's own words name, "" for none, and the other words before it."""
    inside = _INSIDE.match(one.trail)
    behind = (inside["text"] if inside else one.trail).strip(_EDGES)
    lead = " ".join(re.sub(r"[:=|]", " ", one.lead).strip(_EDGES).split())
    if behind and not inside and better(behind) is not None and (not lead or _is_side(lead)):
        return (lead, behind) if lead else ("", behind)
    if behind and _is_side(behind):
        return re.sub(r"^(?:on|for|in)\s+", "", behind), lead
    for side, rest in split(lead):
        if better(rest) is not None or _statistics(rest):
            return side, rest
    if _is_side(lead) and better(lead) is None:
        return lead, ""
    return next(((side, rest) for side, rest in split(lead) if better_in(rest, one.unit) is not None), ("", lead))


def _is_side(text: str) -> bool:
    plain = re.sub(r"^(?:on|with|for|in)\s+(?=\S)", "", text)
    return names_a_side(plain) and len(text.split()) <= LONGEST_WORDS and not measured_in(plain)


def _metric(words: str, last: str, unit: str) -> str | None:
    """What a quantity measures, by its own words or the last one's; None where its words are no metric."""
    if not words:
        return last
    if _statistics(words):
        rest = " ".join(word for word in last.split() if word.lower() not in STATISTICS)
        return f"{words} {rest}".strip() if last else words
    if better(words) is not None and unit and better_in(words, unit) is None:
        return None
    if better(words) is not None or unit_of(words) or (better_in(words, unit) is not None and len(words.split()) <= LONGEST_WORDS // 2):
        return words
    return None


def _statistics(words: str) -> bool:
    return all(word.lower().strip(".") in STATISTICS for word in words.split())
