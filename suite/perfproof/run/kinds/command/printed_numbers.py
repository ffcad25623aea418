"""Reads the numbers that a command printed: behind a pattern, in a JSON document, in a column of a table.

Every number is there exactly once, and whole, or its trial has failed: nothing is guessed, and no default stands in. What stands behind it
is looked at, too: `1m02s` is no 1, `9.8e-05` no 9.8, `1.2k` no 1.2, and no rate of another unit is taken for that of the scenario.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import CannotRun
from perfproof.model.base.quantities import converted, scale
from perfproof.model.base.untrusted import line
from perfproof.model.kinds.command.command_document import UNIT, VALUE
from perfproof.model.kinds.command.command_workload import Printed

MOST_BYTES = 64 * 2**20
"""Of an output, or of a file that a command writes."""
SHOWN = 600
"""Characters of the end of an output that a fault shows."""
BASES = {"time": "s", "bytes": "B"}
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?")
_RULE = re.compile(r"[-=+|:─━╌┼╪╞╡├┤┌┐└┘┬┴ ]*")
MOST_HEADS = 4
"""Lines that a table's head may have."""
_WORD = re.compile(r" ?([A-Za-zµμ]+(?:/[A-Za-zµμ]+)*)\b")
"""A word behind a number, or several with strokes between: a rate."""
_MORE = re.compile(r"[_'’]?\d|\.\d|[eE][-+]?\d|:\d\d(?!\d)|(?!x)[A-Za-zµμ]+\d")
"""The rest of a number of which the beginning was read: more digits, an exponent, seconds behind minutes (1:02, 1m02s)."""
_STEPS = {"d|days?": "h|hr|hours?", "h|hr|hours?": "m|mins?|minutes?", "m|mins?|minutes?": "s|secs?|seconds?"}
_THEN = re.compile(
    rf"(?:s \d+ ?ms|{'|'.join(rf' ?(?:{more})(?:,| and)? [0-9.]+ ?(?:{less})' for more, less in _STEPS.items())})(?![A-Za-z])"
)
"""The rest of a duration with blanks in it: 1m 2s, 2 minutes 3 seconds."""
_BEFORE = re.compile(r"\d\.?$")
_COMMA = re.compile(r",\d")
_HEXADECIMAL = re.compile(r"x[0-9a-fA-F]")
_MAGNITUDE = re.compile(r"[kKMGTP]i?(?![A-Za-zµμ\d])")
"""A letter that multiplies the number directly before it."""
_SIZED = re.compile(r"^[kKMGTP](?=[A-Za-z]{2})")
"""A letter that multiplies the unit behind it: Gbit, kimg."""
_OF_TIME = ("d", "day", "days", "h", "m")
"""Units of time where a time is expected."""
_COUNTED = ("tok", "req", "it", "step", "ops")
"""What known rates count."""
_CELLS = re.compile(r"\s*[|│┃]\s*|\t|\s{2,}")


class NotThere(CannotRun):
    """A number that was to be printed is not there, or not once."""


def read(name: str, printed: Printed, output: str, folder: Path) -> float:
    """The number called `name`, in base units (seconds, bytes, or as it stands). Raises `NotThere` with the end of the output."""
    return float(_once(name, printed, output, folder))


def _once(name: str, printed: Printed, output: str, folder: Path) -> float:
    """The number that all places agree on; one that is printed whole is an `int`, and exact."""
    found = dict(_found(name, printed, output, folder))
    if not found:
        raise NotThere(f"{name}: {_where(printed)} is not in what the command printed:\n{_end(output)}")
    if len(found) > 1:
        numbers = ", ".join(list(found.values())[:4])
        raise NotThere(f"{name}: {_where(printed)} has {len(found)} different numbers ({numbers}): name one of them more closely")
    value = next(iter(found))
    if not math.isfinite(value):
        raise NotThere(f"{name}: {_where(printed)} is too large: {found[value]}")
    return value


def whole(name: str, printed: Printed, output: str, folder: Path) -> int:
    """The whole number called `name`: how much was done. Raises `NotThere`, as `read` does, and for a number that is not whole."""
    value = _once(name, printed, output, folder)
    if not float(value).is_integer():
        raise NotThere(
            f"counts.{name}: {_where(printed)} is {value:g}, and a count is a whole number: read it as a metric (metrics.{name}), or count "
            f"something else; the command printed:\n{_end(output)}"
        )
    return int(value)


def _found(name: str, printed: Printed, output: str, folder: Path) -> Iterator[tuple[float, str]]:
    """Every number that stands in its place, in base units and as it was printed."""
    if printed.json_file:
        value = _of_json(name, printed, output, folder)
        yield in_base(name, value, printed.unit), str(value) if isinstance(value, int) else f"{value:g}"
    elif printed.column:
        for cell in column(output, printed.column, printed.row):
            value, behind = _split(name, cell)
            _same_number(name, value, behind)
            _same_behind(name, behind, printed.unit)
            yield in_base(name, value, printed.unit), cell
    else:
        for match in re.finditer(printed.pattern, output, re.MULTILINE):
            groups = match.re.groupindex
            place = groups.get(VALUE) or next(one for one in range(1, match.re.groups + 1) if one != groups.get(UNIT))
            if match[place] is not None:
                yield _matched(name, match, place, printed.unit)


def _matched(name: str, match: re.Match[str], place: int, unit: str) -> tuple[float, str]:
    """The number in a pattern's group, in base units and as it was printed. What the output has behind it is looked at, too."""
    value, rest = _split(name, match[place])
    if _BEFORE.search(match.string[max(0, match.start(place) - 2) : match.start(place)]):
        raise NotThere(
            f"{name}: {match[place].strip()} is only the end of a number, the pattern has taken its beginning: name what stands before it"
        )
    said = match[UNIT] if UNIT in match.re.groupindex and match[UNIT] else unit
    behind = rest + match.string[match.end(place) : match.end(place) + SHOWN]
    _same_number(name, value, behind, comma=match.end() == match.end(place) and "." not in match[place])
    if UNIT not in match.re.groupindex:
        _same_behind(name, behind, unit)
    same = converted(value, _like(name, said, unit), unit)
    return in_base(name, value, said) if same is None else in_base(name, same, unit), f"{match[place].strip()} {said}".removesuffix(" 1")


def number(name: str, text: str) -> float:
    """A number as programs print it, thousands separated by commas or not. Raises `NotThere` for anything else, `nan` and `inf` too, and
    for what only begins with a number."""
    value, behind = _split(name, text)
    _same_number(name, value, behind)
    return float(value)


def _split(name: str, text: str) -> tuple[float, str]:
    """The number that a text begins with, an `int` where it is whole, and what stands behind it."""
    match = _NUMBER.match(text.lstrip())
    rest = text.lstrip()[match.end() :] if match else ""
    plain = match[0].replace(",", "") if match else "nan"
    if not math.isfinite(float(plain)) or rest.strip()[:1].isdigit() or rest.strip()[:1] in (",", "."):
        raise NotThere(f"{name}: expected a number, got {text.strip()[:80]!r}")
    digits, _, places = plain.partition(".")
    exact = digits.lstrip("+-").isdigit() and not places.strip("0") and len(digits) < sys.float_info.max_10_exp + 10
    return int(digits) if exact else float(plain), rest


def _same_number(name: str, value: float, behind: str, *, comma: bool = False) -> None:
    """Raises `NotThere` where what stands behind a number belongs to it: the rest of 12_100, 9.8e-05 or 1m02s, with `comma` of 1,100."""
    more = _MORE.match(behind) or _THEN.match(behind) or (comma and _COMMA.match(behind)) or (value == 0 and _HEXADECIMAL.match(behind))
    if more:
        rest = line(re.split(r"\s", behind[more.end() :], maxsplit=1)[0], 40)
        raise NotThere(
            f"{name}: {more[0] + rest!r} stands behind {value} and belongs to it: have the pattern catch the whole number, and the "
            "command print it with digits, a point and an exponent alone, in one unit"
        )


def in_base(name: str, value: float, unit: str) -> float:
    """A value in seconds, bytes, or per second, where its unit is one of these; else as it is."""
    dimension, factor = scale(unit)
    if dimension in BASES:
        base = converted(value, unit, BASES[dimension])
        return value * factor if base is None else base
    return value * factor if "time" in dimension.split("/") else value


def _like(name: str, said: str, unit: str) -> str:
    """A unit that stands beside the number; one that measures something else than the scenario says is a fault."""
    if _MAGNITUDE.fullmatch(said) if unit == "1" else scale(said)[0] != scale(unit)[0]:
        raise NotThere(f"{name}: is printed in {said}, the scenario says {unit}")
    return said


def _same_behind(name: str, behind: str, unit: str) -> None:
    """Raises `NotThere` where the word behind a number is another unit of time, memory or a rate than the scenario says, or multiplies it:
    a program that prints ms or s, 1.2k or 900 as it fits is not misread."""
    size, word = _MAGNITUDE.match(behind), _WORD.match(behind)
    if size and size[0][0].replace("K", "k") != unit[:1].replace("K", "k"):
        raise NotThere(
            f"{name}: {size[0]} stands behind the number and multiplies it, the scenario says {unit}: have the command print "
            f"it whole, or say {size[0]} for its unit"
        )
    if word and not size and _differ(word[1], unit):
        raise NotThere(
            f"{name}: {word[1]} stands behind the number, the scenario says {unit}; if it changes, have the pattern catch it: "
            f"([0-9.]+) (?P<{UNIT}>\\S+)"
        )


def _differ(word: str, unit: str) -> bool:
    """Whether a word is surely another unit: words that are not known differ from none."""
    (have, size), (want, other) = scale(word), scale(unit)
    if _SIZED.sub("", have) == _SIZED.sub("", want):
        return have != want or size != other
    return any(_parts_differ(part, wanted, "/" in word) for part, wanted in zip(word.split("/"), unit.split("/"), strict=False))


def _parts_differ(word: str, unit: str, of_rate: bool) -> bool:
    (have, size), (want, other) = scale(word), scale(unit)
    sure = {*BASES, *(_COUNTED if of_rate else ())}
    if have == want:
        return size != other
    return {have, want} <= sure or (want == "time" and word in _OF_TIME)


def _of_json(name: str, printed: Printed, output: str, folder: Path) -> float:
    text = output if printed.json_file == "-" else _written(name, printed.json_file, folder)
    try:
        value: Any = _document(text) if printed.json_file == "-" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotThere(f"{name}: {printed.json_file if printed.json_file != '-' else 'the output'} is no JSON ({error})") from None
    for key in printed.json_path.split("."):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise NotThere(f"{name}: the JSON has no {printed.json_path} (nothing at {key!r})")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotThere(f"{name}: {printed.json_path} is no number in the JSON")
    if abs(value) > sys.float_info.max or math.isnan(value):
        raise NotThere(f"{name}: {printed.json_path} is not finite, or too large, in the JSON")
    return value


def _document(output: str) -> Any:
    """The last JSON object that stands in an output at the beginning of a line, and in no other one.

    Where a bracket that is alone on its line opens none (a line of a log broke into it), what is indented further is a part of it.
    """
    decoder, last, end, broken = json.JSONDecoder(), None, 0, math.inf
    for match in re.finditer(r"^([ \t]*)[{\[]([ \t]*$)?", output, re.MULTILINE):
        indent = len(match[1])
        if match.start() < end or indent > broken:
            continue
        try:
            last, end = decoder.raw_decode(output, match.end(1))
            broken = math.inf
        except (ValueError, RecursionError):
            broken = indent if match[2] is not None else broken
    if last is None:
        raise ValueError("no object stands at the beginning of a line, or it is nested too deeply")
    return last


def _written(name: str, named: str, folder: Path) -> str:
    """A file that the command wrote where it ran. Raises `NotThere` for one that is not there, leads out of the folder, or is too large."""
    file = folder / named
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        raise NotThere(f"{name}: the command wrote no file {named} where it ran")
    if file.stat().st_size > MOST_BYTES:
        raise NotThere(f"{name}: {named} has more than {MOST_BYTES:,} bytes")
    return file.read_text(encoding="utf-8", errors="replace")


def column(output: str, name: str, row: str = "") -> Iterator[str]:
    """The cells of a printed table's column; with `row` those of the rows whose first cell is that, or of `head=cell` those that have the
    cell in the column of that head. Columns stand between bars, tabs or gaps of two spaces; heads of several lines are joined by blanks. A
    line with another number of cells ends the table."""
    place, heads, block = -1, list[str](), list[list[str]]()
    for printed in output.splitlines():
        ruled = bool(_RULE.fullmatch(printed.strip()))
        cells = [] if ruled else [cell.strip() for cell in _CELLS.split(printed.strip().strip("|│┃").strip())]
        block = [*(block if block and len(block[0]) == len(cells) else []), cells][-MOST_HEADS:] if not ruled else []
        joined = [" ".join(filter(None, parts)) for parts in zip(*block, strict=True)]
        if joined.count(name) == 1:
            place, heads = joined.index(name), joined
        elif place >= 0 and len(cells) == len(heads):
            if _of_row(cells, heads, row) and not _RULE.fullmatch("".join(cells)):
                yield cells[place]
        elif place >= 0 and not ruled:
            place = -1


def _of_row(cells: Sequence[str], heads: Sequence[str], row: str) -> bool:
    head, named, cell = row.rpartition("=")
    return cells[heads.index(head)] == cell if named and head in heads else not row or cells[0] == row


def _where(printed: Printed) -> str:
    if printed.json_file:
        return f"{printed.json_path} of {'the output' if printed.json_file == '-' else printed.json_file}"
    if printed.column:
        return f"column {printed.column!r}" + (f" of row {printed.row!r}" if printed.row else "")
    return f"the pattern {printed.pattern!r}"


def _end(output: str) -> str:
    text = output.strip()
    return text[-SHOWN:] if text else "(nothing)"
