"""Lines that name a number: `TTFT: 12 ms`, `main: 810, 812, 815`, `branch=main run=1 total_ms=42.7`, `TTFT: 64 ms (main), 59 ms (PR)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.context.headings import SETTING, SETUP
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, UNIT, bare, cell, is_digits, unit_of
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better, better_in
from perfproof.model.scenarios.side_names import are_both_sides, commit, names_a_side, release, role, split

LONGEST_NAME = 80
FEW_WORDS = 3
NEAR = 12
"""Lines above and below a mean in which the runs stand that it is made of."""
_RATE = re.compile(rf"^(?P<name>[A-Za-z]{{1,10}}/s(?:ec)?)\s+(?P<digits>{DIGITS})$")
"""A rate before its number: "req/s 11.02"."""
_TWO = re.compile(
    rf"^(?P<name>[^\W\d_][\w ().%-]{{1,30}}?)\s+(?P<rest>{DIGITS}\s?(?:{UNIT})?\s*(?:vs\.?|versus|/|->|→"
    rf"|=>)\s*{DIGITS}\s?(?P<unit>{UNIT})?(?:\s*\(.*\))?)$"
)
"""A name and two numbers, without a colon."""
_VARIABLE = re.compile(r"(?:^|[\s`])[A-Z][A-Z0-9]*_[A-Z0-9_]+$")
_GROUPED = re.compile(r"^(?P<digits>[1-9][0-9]{0,2}(?: [0-9]{3})+(?:[.,][0-9]+)?)\s?(?P<unit>[^\W\d_][\w/µ]*)?$")
"""One number whose thousands are parted by blanks."""
_CHANGING = re.compile(r"(?i)^(?:this|the|my|our) (?:pr|change|patch|commit)\s+(?:\w+s)\s+(?:up\s+)?(?=[^\W\d])")
"""What begins a sentence that ends as a line: "This PR regresses decode: 41 -> 44 ms"."""
_VERB = re.compile(
    r"(?i)\s+(?:gives?|gave|gets?|got|is|was|has|had|runs?|ran|does|did|shows?|reports?|needs?|takes?|took|reach(?:es|ed)?)\b"
)
_SAID = re.compile(
    r"(?i)\b(?:vs|versus|is|are|was|were|goes|went|took|takes|take|about|around|at|of|for|in|on|from|to|by|than|with|after|before|i|we"
    r"|it|this|that|in total|total|only|every"
    r"|the|a|an|and|or|just|up|down|over|under|per|still|now|then|got|get|gets|sees?|saw|needs?|wait(?:ed|s)?|ran|runs?)\b"
)
"""Words of a sentence, which is no name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One number of a line or of an object: what is measured ("" where a heading says it), its digits and unit, its side and run where
    these are there, else ""."""

    name: str
    digits: str
    unit: str = ""
    side: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The numbers of one line, and what of it could not be read, as (name, text)."""

    values: tuple[Value, ...]
    unread: tuple[tuple[str, str], ...]
    number: int


_NAMED = re.compile(
    r"^(?P<name>\+?\s?[^\W\d_%#\"'(\[][^:=]{0,80}?|[0-9]{1,4}[kK](?:[ -][A-Za-z][\w -]{0,30})?(?=\s*:)|[0-9]{1,3}% percentile[^:=]{0,40}"
    r"|[Pp]?[0-9.]{1,5}(?:th)?(?: percentile)? [^:=]{2,60}?)\s*(?P<mark>:|=|\s-\s|\s–\s|\t|\s{2})\s*(?P<rest>\S.*)$"
)
_PLAIN = re.compile(rf"^(?P<name>[^\W\d_][^:=.;|]{{1,60}}?)\s+(?P<rest>{DIGITS}\s*{UNIT})$")
_OF_SIDE = re.compile(r"^(?P<name>[^\W\d_][^:=.;|0-9]{1,40}?)\s+(?P<rest>[0-9]{1,9}[.,][0-9]{1,9})$")
"""A side and its number, whose unit and metric stand above."""
_RAN = re.compile(
    rf"(?i)^(?P<name>(?:run|trial|rep|repeat|lauf|essai)\s?#?[0-9]{{1,3}}|mean|avg|average"
    rf"|median)\s+(?P<digits>{DIGITS})\s?(?P<unit>{UNIT})$"
)
"""The number of a run, without a colon, or what was made of all of them."""
_LIST = re.compile(
    rf"^[\[(]?\s*(?P<first>{DIGITS})\s*(?P<unit>{UNIT})?(?:(?:\s*[,;/|]\s+|\s{{2,}}"
    rf"|\s){DIGITS}\s*(?P<last>{UNIT})?)+\s*[\])]?\s*(?P<all>{UNIT})?\.?$"
)
_MADE = re.compile(
    r"(?i)\s*(?:[,;]|->|→|=>|\|)?\s*[(\[]?(?P<what>mean|average|avg|median)(?:\s+of\s+[0-9]+)?\s*[:=]?\s*"
    rf"(?P<digits>{DIGITS}(?<![,.]))\s*(?P<unit>[\w/µ%]*)[)\]]?\.?$"
)
"""What was made of the runs before it."""
_PART = re.compile(
    rf"^(?P<before>(?:[^\d]"
    rf"|(?<=[A-Za-z])[0-9][0-9.]{{0,4}}(?=[\s:=]))*?)\s*(?<![A-Za-z])(?P<digits>{DIGITS})\s*(?P<after>[^\d(\[]*?)(?:\s*[(\[](?P<inside>[^()\[\]]*)[)\]])?\.?$"
)
_ARROWED = re.compile(r"(?P<first>[\w~^#]+(?: \w+)?)\s*(?:→|->|=>)\s*(?P<second>[\w~^#]+(?: \w+)?)")
OF_TWO = ("first of two", "second of two")
"""The sides of two numbers beside each other, until a heading says whose they are."""
_BETWEEN = re.compile(r"\s*(?:/|\||,|\bvs\.?|\bversus\b|\bthen\b)\s*")
_COMMAS = re.compile(r"[,;]\s+|\s+\|\s+|\s+(?:and|vs\.?|versus)\s+")
_REMARK = re.compile(r"^(?:mean|average|avg|median|about|approx\.?|of)\b")
_INSIDE = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ODD = re.compile(r"^[~≈<>≤≥]?\s?-?[0-9]|^(?:inf|n/?a|nan|oom)\b", re.IGNORECASE)


def named_line(lines: Sequence[Line], at: int) -> tuple[Named, int] | None:
    """A line with a name and its number, or its numbers."""
    spaced = re.match(r"([^\t:=]*?[^\W\d_][^\t:=]*?)(?:\t|\s{2,})(?=[-+]?[0-9])", lines[at].text)
    line = f"{spaced[1]}: {lines[at].text[spaced.end() :]}" if spaced else lines[at].text
    text = BULLET.sub("", bare(line)) or bare(line)
    if SETTING.match(text):
        return None
    found = _NAMED.match(text)
    if not found or len(found["name"]) > LONGEST_NAME or found["name"].count("(") > found["name"].count(")") or "//" in found["rest"][:3]:
        plain = _PLAIN.match(text)
        if (ran := _RAN.match(text)) and known(ran["unit"]):
            run = RUN.fullmatch(ran["name"])
            if not run and not any(
                (near := _RAN.match(line.text)) and RUN.fullmatch(near["name"]) for line in lines[max(0, at - NEAR) : at + NEAR]
            ):
                value = Value(name=ran["name"], digits=ran["digits"], unit=ran["unit"])
                return Named(values=(value,), unread=(), number=lines[at].number), at + 1
            value = Value(name="", digits=ran["digits"], unit=ran["unit"], run=run_of(run) if run else "")
            unread = () if run else ((ran["name"], f"{ran['digits']} {ran['unit']}, made of the runs"),)
            return Named(values=(value,) if run else (), unread=unread, number=lines[at].number), at + 1
        if (of_side := _OF_SIDE.match(text)) and names_a_side(of_side["name"]):
            return Named(values=(Value(name="", digits=of_side["rest"], side=of_side["name"]),), unread=(), number=lines[at].number), at + 1
        if (rate := _RATE.match(text)) and known(rate["name"]):
            value = Value(name=rate["name"], digits=rate["digits"], unit=rate["name"])
            return Named(values=(value,), unread=(), number=lines[at].number), at + 1
        side = _VERB.split(plain["name"])[0] if plain else ""
        if plain and names_a_side(side) and (one := cell(plain["rest"])).kind == "value" and known(one.unit):
            value = Value(name=one.unit if "/" in one.unit else "", digits=one.digits, unit=one.unit, side=side)
            return Named(values=(value,), unread=(), number=lines[at].number), at + 1
        if plain and _measured(plain["name"], cell(plain["rest"]).unit):
            return Named(
                values=(_sided(Value(name=plain["name"], digits=cell(plain["rest"]).digits, unit=cell(plain["rest"]).unit)),),
                unread=(),
                number=lines[at].number,
            ), at + 1
        two = _TWO.match(text)
        of_unit = two and (known(two["unit"]) and better_in(two["name"], two["unit"]) if two["unit"] else re.fullmatch(r"\w+", two["name"]))
        if two and of_unit and not _SAID.search(two["name"]):
            found = two
        elif not plain or better_in(plain["name"], unit_of(plain["rest"]) or "") is None or better(plain["name"]) is None:
            return None
        else:
            found = plain
    name, rest = found["name"].strip(), found["rest"].strip()
    if re.search(r"\), [^()]*$", name) and found.groupdict().get("mark") == "=" and re.fullmatch(r"[0-9]+(?:/[0-9]+)*", rest):
        return None  # a metric and its conditions: "Throughput (tok/s), ISL/OSL = 1024/1024"
    if found.groupdict().get("mark") == "=" and _VARIABLE.search(name) and cell(rest).kind in ("change", "versus") and not cell(rest).unit:
        return None  # how a variable was set: "output tok/s, VLLM_ROCM_USE_AITER=0 vs 1"
    values = tuple(_sided(value) for value in values_of(name, rest))
    if SETUP.match(text) and cell(rest).kind == "words" and not any(value.side for value in values):
        return None
    if values:
        spread = ((name, "±"),) if cell(rest).spread else ()
        return Named(values=values, unread=spread, number=lines[at].number), at + 1
    missing = cell(rest).kind == "missing" or (
        _ODD.match(rest) and not re.search(r"\s(?:vs\.?|versus|->|→|to)\s", rest) and len(rest) <= 40
    )
    if missing and (better(name) or unit_of(name)):
        return Named(values=(), unread=((name, rest),), number=lines[at].number), at + 1
    return None


def _measured(name: str, unit: str) -> bool:
    """Whether a few words before a quantity are what was measured, "decode 9.1 ms": no verb and no side."""
    plain = len(name.split()) <= FEW_WORDS and not _SAID.search(name) and not name.endswith((",", "."))
    return plain and bool(unit) and known(unit) and unit != "B" and better_in(name, unit) is not None and not role(name)


def values_of(name: str, rest: str) -> Iterator[Value]:
    """The numbers behind a name, "" for a line that has none."""
    found = cell(rest)
    if found.kind == "change":
        first, second = arrowed(name) or ("before", "after")
        name = _CHANGING.sub("", name)
        yield Value(name=name, digits=found.before, unit=found.first_unit, side=first)
        yield Value(name=name, digits=found.digits, unit=found.unit, side=second)
    elif found.kind == "versus" and role(name) and better(name) is None:
        yield Value(name=name, digits=found.before, unit=found.first_unit)
        yield Value(name="of", digits=found.digits, unit=found.unit, side=name)
    elif found.kind == "versus":
        one, other = next((sides for text in _INSIDE.findall(rest) if (sides := in_order(text))), OF_TWO)
        yield Value(name=name, digits=found.before, unit=found.first_unit, side=one)
        yield Value(name=name, digits=found.digits, unit=found.unit, side=other)
    elif grouped := _GROUPED.match(rest):
        yield Value(name=name, digits=grouped["digits"], unit=grouped["unit"] or "")
    elif runs := _listed(name, rest):
        yield from runs
    elif found.kind == "value" and not re.search(rf"[,;]\s+{DIGITS}\s*[A-Za-z(]", _INSIDE.sub("", rest)):
        yield Value(name=name, digits=found.digits, unit=found.unit)
    else:
        yield from _several(name, rest)


def _listed(name: str, rest: str) -> list[Value]:
    """Several numbers of one kind, and what was made of them left out: "810, 812, 815 ms (mean 812)"; [] for anything else."""
    told = _MADE.sub("", rest)
    if not _LIST.match(told) or (told == rest and is_digits(rest.strip("[]() ."))):
        return []
    runs = list(_runs(name, told))
    made = _MADE.search(rest)
    if made and made["what"].lower() != "median" and is_digits(made["digits"]) and len(runs) > 1:
        unit = made["unit"] if known(made["unit"]) else runs[0].unit
        sided = role(name) and better(name) is None
        runs.append(
            Value(
                name="mean" if sided else f"{name}{'' if better(name) else ','} mean".strip(" ,"),
                digits=made["digits"],
                unit=unit,
                side=name if sided else "",
            )
        )
    return runs


def in_order(text: str) -> tuple[str, str] | None:
    """The sides that a heading names in the order of its numbers, "before / after" and "main vs. PR" too; None without any."""
    if found := arrowed(text):
        return found
    for between in _BETWEEN.finditer(text):
        one, other = (_SIDE_WORD.findall(part) for part in (text[: between.start()], text[between.end() :]))
        ways = [
            (" ".join(one[-left:]), " ".join(other[:right]))
            for left in (1, 2)
            for right in (1, 2)
            if len(one) >= left and len(other) >= right and other[right - 1].casefold() not in ("this", "the", "my", "our")
        ]
        ways.sort(key=lambda way: way[0].split()[-1].casefold() != way[1].split()[-1].casefold())
        sides = next((way for way in ways if are_both_sides(way)), None)
        if sides := sides or next((way for way in ways if {_of_version(side) for side in way} == {"version", "candidate"}), None):
            return sides
    return None


_SIDE_WORD = re.compile(r"v?[0-9]{1,3}(?:\.[0-9]{1,4})+\w{0,10}|[\w~^#]+")


def _of_version(side: str) -> str:
    """What a name's side is, "version" for one that was released, or built in a night, which stands against a change."""
    return "version" if side.casefold() == "nightly" or (release(side) is not None and "." in side and not role(side)) else role(side)


def arrowed(name: str) -> tuple[str, str] | None:
    """The sides that a name itself gives the numbers behind it, "TTFT (after -> before)", in their order; None without any."""
    found = _ARROWED.search(name)
    sides = (found["first"].strip(), found["second"].strip()) if found else ("", "")
    return sides if found and are_both_sides(sides) else None


def _runs(name: str, rest: str) -> Iterator[Value]:
    """Several numbers of one kind: runs, in their order."""
    texts = [found for found in re.split(r"[,;/|]\s+|\s+", re.sub(r"[\[\]()]", " ", rest).strip(" .")) if found]
    units = [text for text in texts if not is_digits(text)]
    numbers = [text for text in texts if is_digits(text)]
    if len(set(units)) <= 1:
        for run, digits in enumerate(numbers, 1):
            yield Value(name=name, digits=digits, unit=units[0] if units else "", run=str(run))


def _several(name: str, rest: str) -> list[Value]:
    """Numbers with a word or a unit each: "23.5 requests/s, 972 total tokens/s", "59 ms (PR), 64 ms (main)", "TTFT 12 ms, TPOT 3 ms"."""
    parts = [_PART.match(part.strip()) for part in _COMMAS.split(rest) if part.strip()]
    if not parts or not all(part and is_digits(part["digits"]) for part in parts):
        return []
    found = [_part(name, part) for part in parts if part]
    sides = [value.side for value in found]
    if any(sides) and not all(side == name for side in sides):
        return found if all(sides) and len(set(sides)) == len(sides) else []
    names = [value.name for value in found]
    return found if len(set(names)) == len(names) and (len(found) > 1 or name not in names[0]) else []


def _part(name: str, part: re.Match[str]) -> Value:
    before, after, inside = part["before"].strip(" :=-"), part["after"].strip(), (part["inside"] or "").strip()
    word, _, rest = after.partition(" ")
    unit = word if word and (known(word) or not rest) else ""
    words = rest if unit else after
    if after and not unit and known(last := after.rsplit(" ", 1)[-1]):
        unit, words = last, after
    side = next((each for each in (inside, before, words) if each and role(re.sub(r"^(?:on|with|for|in)\s+(?=\S)", "", each))), "")
    sided = bool(role(name) or release(name) is not None or commit(name)) and better(name) is None
    label = before if before and before != side and not (_REMARK.match(before) and better(before) is None) else ""
    if side:
        return Value(name=name, digits=part["digits"], unit=unit, side=re.sub(r"^(?:on|for|in)\s+", "", side))
    if label and role(name):
        return Value(name=label, digits=part["digits"], unit=unit, side=name)
    if sided and better(words) is not None:
        return Value(name=words, digits=part["digits"], unit=unit, side=name)
    if sided and words and not label and better_in(words, unit):
        return Value(name=words, digits=part["digits"], unit=unit, side=name)
    if sided and not (label or words) and known(unit):
        return Value(name=unit, digits=part["digits"], unit=unit, side=name)
    if unit and not (label or words) and better(name) is not None and better_in(name, unit) is None:
        return Value(name=unit, digits=part["digits"], unit=unit)  # "Elapsed: 12.4 s, 824 req/s"
    case = label or words or (unit if unit else "")
    return Value(name=f"{name}, {case}" if case else name, digits=part["digits"], unit=unit)


def _sided(value: Value) -> Value:
    """A value whose name is a side's, or begins or ends with one."""
    first, comma, rest = value.name.partition(", ")
    if comma and (numbered := RUN.fullmatch(first)):
        value = replace(value, name=rest, run=run_of(numbered))
    if value.side:
        return value
    numbered = re.fullmatch(r"(?P<run>[^()\[\]]+?)\s*[(\[](?P<side>[^()\[\]]+)[)\]]", value.name)
    if numbered and (counted := RUN.fullmatch(numbered["run"])) and role(numbered["side"]):
        return replace(value, name="", side=numbered["side"], run=run_of(counted))
    ran = RUN.search(value.name)
    name, run = (value.name[: ran.start()].strip(" ,:(-–—"), run_of(ran)) if ran else (value.name, value.run)
    for side, rest in split(name):
        if better_in(rest, value.unit or unit_of(rest)) is not None and (better(rest) is not None or unit_of(rest)):
            return replace(value, name=rest, side=side, run=run)
        if side in ("before", "after") and re.fullmatch(r"[a-z]\w*_\w+|[a-z]{3,20}", rest):
            return replace(value, name=rest, side=side, run=run)
    if (role(name) or release(name) is not None or commit(name)) and better(name) is None:
        return replace(value, name="", side=name, run=run)
    return replace(value, name=name, run=run)
