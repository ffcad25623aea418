"""Applies hunks to a file's lines exactly, as `git apply` does: the expected lines must be there, perhaps a few lines away.

Nothing is guessed: a hunk with one different blank does not apply, and the fault says where it almost fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_WORK = 20_000_000
"""The most line comparisons in the search for a similar place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """`before` are the lines expected from line `start` on (from 1), `after` their replacement, with line ends.

    `leading` and `trailing` count the lines of context at its ends.
    """

    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    leading: int
    trailing: int


class DoesNotApply(ValueError):
    """A hunk does not fit the file; the message says which one, and near which line it almost does."""


def split(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends a line (a form feed does not)."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def apply(text: str, hunks: Sequence[Hunk]) -> tuple[str, list[str]]:
    """The text after all hunks, and a sentence for each hunk that was found at another line than it names. Raises `DoesNotApply`.

    Line ends count, unless they are the only difference: diff and file may come from different systems. Then the file's own line ends stay.
    """
    try:
        return _apply(split(text), hunks)
    except DoesNotApply:
        windows = "\r\n" in text
        if not windows and not any("\r\n" in line for hunk in hunks for line in hunk.before):
            raise
        plain, moved = _apply(split(text.replace("\r\n", "\n")), [_without_returns(hunk) for hunk in hunks])
        return (plain.replace("\n", "\r\n") if windows else plain), moved


def _without_returns(hunk: Hunk) -> Hunk:
    return Hunk(
        start=hunk.start,
        before=tuple(line.replace("\r\n", "\n") for line in hunk.before),
        after=tuple(line.replace("\r\n", "\n") for line in hunk.after),
        leading=hunk.leading,
        trailing=hunk.trailing,
    )


def _apply(lines: list[str], hunks: Sequence[Hunk]) -> tuple[str, list[str]]:
    made: list[str] = []
    moved: list[str] = []
    done, offset = 0, 0
    for number, hunk in enumerate(hunks, 1):
        expected = max(0, hunk.start - 1 if hunk.before else hunk.start) + offset
        place = _place(lines, hunk, expected, done)
        if place is None:
            raise DoesNotApply(_fault(lines, hunk, number, done))
        if place != expected:
            way = "below" if place > expected else "above"
            moved.append(f"hunk {number} (line {hunk.start}) found {abs(place - expected)} lines {way}")
        offset += place - expected
        made += lines[done:place]
        made += hunk.after
        done = place + len(hunk.before)
    return "".join([*made, *lines[done:]]), moved


def _place(lines: Sequence[str], hunk: Hunk, expected: int, least: int) -> int | None:
    """The line where the hunk fits, nearest to the expected one; None if it fits nowhere after the hunks done so far.

    A hunk without context (of `diff -U0`) fits only at its own line: elsewhere nothing confirms it.
    """
    size, last = len(hunk.before), len(lines) - len(hunk.before)
    if size == 0:
        return expected if least <= expected <= len(lines) and (expected > 0 or hunk.start <= 1) else None
    if not hunk.leading and not hunk.trailing:
        return expected if least <= expected <= last and tuple(lines[expected : expected + size]) == hunk.before else None
    for place in _outwards(expected, least, last):
        if lines[place] == hunk.before[0] and tuple(lines[place : place + size]) == hunk.before and _anchored(hunk, place, last):
            return place
    return None


def _anchored(hunk: Hunk, place: int, last: int) -> bool:
    """git's rule: a hunk of line 1 must be at the beginning of the file, a hunk without context at its end must be at the file's end."""
    return (hunk.start > 1 or place == 0) and (hunk.trailing > 0 or place == last)


def _outwards(start: int, least: int, last: int) -> Iterator[int]:
    """`start`, then the lines around it, nearest first, between `least` and `last`."""
    if least <= start <= last:
        yield start
    for distance in range(1, max(abs(start - least), abs(last - start)) + 1):
        for place in (start + distance, start - distance):
            if least <= place <= last:
                yield place


# --- the message ---------------------------------------------------------------------------------------------


def _fault(lines: Sequence[str], hunk: Hunk, number: int, done: int) -> str:
    """Why a hunk does not apply: where it is applied already, or where most of its lines are, and the first that differs."""
    head = f"hunk {number} (line {hunk.start}) does not apply"
    if hunk.after and (place := _find(lines, hunk.after)) is not None:
        return f"{head}: its result is already at line {place + 1}"
    if not hunk.before:
        return f"{head}: the file has {len(lines)} lines"
    place, count = _nearest(lines, hunk.before)
    if count == 0:
        return f"{head}: none of the {len(hunk.before)} lines that it expects is in the file ({len(lines)} lines)"
    words = f"{head}: near line {place + 1} there are {count} of the {len(hunk.before)} lines that it expects"
    wrong = next((n for n, line in enumerate(hunk.before) if lines[place + n : place + n + 1] != [line]), None)
    if wrong is None:
        return f"{words}, but " + (
            "an earlier hunk uses them" if place < done else "a hunk of a file's first or last line, or one without context, is not moved"
        )
    there = lines[place + wrong] if place + wrong < len(lines) else "the end of the file"
    return f"{words}; line {place + wrong + 1} is {_quoted(there)}, expected {_quoted(hunk.before[wrong])}"


def _find(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    if all(not line.strip() for line in wanted):
        return None
    starts = (place for place, line in enumerate(lines) if line == wanted[0])
    return next((place for place in starts if tuple(lines[place : place + len(wanted)]) == tuple(wanted)), None)


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """The line where most of the wanted lines match, and how many do; blank lines do not count."""
    by_line: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        by_line.setdefault(line, []).append(place)
    votes: dict[int, int] = {}
    work = 0
    for n, line in enumerate(wanted):
        places = by_line.get(line, []) if line.strip() else []
        work += len(places)
        if work > MOST_WORK:
            break
        for place in places:
            votes[place - n] = votes.get(place - n, 0) + 1
    best = max((place for place in votes if place >= 0), key=lambda place: votes[place], default=0)
    return best, sum(lines[best + n : best + n + 1] == [line] for n, line in enumerate(wanted)) if votes else 0


def _quoted(line: str) -> str:
    bare = line.rstrip("\r\n")
    return repr(bare if len(bare) <= 100 else bare[:97] + "...")
