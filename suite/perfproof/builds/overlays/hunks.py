"""Hunks are applied to a file's lines exactly, as `git apply` does it: what a hunk expects must stand there, perhaps a few lines away.

Nothing is guessed: a line that differs in one blank keeps the hunk out, and the fault says where it would nearly fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_WORK = 20_000_000
"""Comparisons of lines that the search for a near place may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """`before` are the lines that are expected from line `start` on (from 1), `after` those that take their place, with their line ends.

    `leading` and `trailing` count the lines of context at its ends.
    """

    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    leading: int
    trailing: int


class DoesNotApply(ValueError):
    """A hunk that does not fit the file; the message says which one, and near which line it would."""


def split(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one (a form feed in a source does not)."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def apply(text: str, hunks: Sequence[Hunk]) -> tuple[str, list[str]]:
    """The text after all hunks, and a sentence for each that was found at another line than it names. Raises `DoesNotApply`.

    Line ends count, but where they are all that is wrong: a diff and a file may come from different systems. Then the file's own stay.
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
            raise DoesNotApply(_told(lines, hunk, number, done))
        if place != expected:
            way = "below" if place > expected else "above"
            moved.append(f"hunk {number} (line {hunk.start}) found {abs(place - expected)} lines {way}")
        offset += place - expected
        made += lines[done:place]
        made += hunk.after
        done = place + len(hunk.before)
    return "".join([*made, *lines[done:]]), moved


def _place(lines: Sequence[str], hunk: Hunk, expected: int, least: int) -> int | None:
    """Where the hunk fits, nearest to the expected place; None if nowhere behind what is done already.

    A hunk without context (of `diff -U0`) fits at its own place alone: elsewhere nothing would hold it.
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
    """As git has it: a hunk of line 1 stands at the beginning of the file, one that no context ends stands at its end."""
    return (hunk.start > 1 or place == 0) and (hunk.trailing > 0 or place == last)


def _outwards(start: int, least: int, last: int) -> Iterator[int]:
    """`start`, then the places around it, nearest first, between `least` and `last`."""
    if least <= start <= last:
        yield start
    for distance in range(1, max(abs(start - least), abs(last - start)) + 1):
        for place in (start + distance, start - distance):
            if least <= place <= last:
                yield place


# --- what is told --------------------------------------------------------------------------------------------


def _told(lines: Sequence[str], hunk: Hunk, number: int, done: int) -> str:
    """Why a hunk does not apply: where it is done already, or where most of its lines stand, and the first that does not."""
    head = f"hunk {number} (line {hunk.start}) does not apply"
    if hunk.after and (place := _find(lines, hunk.after)) is not None:
        return f"{head}: what it makes stands at line {place + 1} already"
    if not hunk.before:
        return f"{head}: the file has {len(lines)} lines"
    place, count = _nearest(lines, hunk.before)
    if count == 0:
        return f"{head}: none of the {len(hunk.before)} lines that it expects stands in the file ({len(lines)} lines)"
    words = f"{head}: near line {place + 1} {count} of the {len(hunk.before)} lines that it expects stand"
    wrong = next((n for n, line in enumerate(hunk.before) if lines[place + n : place + n + 1] != [line]), None)
    if wrong is None:
        return f"{words}, but " + (
            "an earlier hunk has taken them"
            if place < done
            else "a hunk of a file's first or last line, or one without context, is not moved"
        )
    there = lines[place + wrong] if place + wrong < len(lines) else "the end of the file"
    return f"{words}; line {place + wrong + 1} is {_quoted(there)}, expected {_quoted(hunk.before[wrong])}"


def _find(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    if all(not line.strip() for line in wanted):
        return None
    starts = (place for place, line in enumerate(lines) if line == wanted[0])
    return next((place for place in starts if tuple(lines[place : place + len(wanted)]) == tuple(wanted)), None)


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """Where most of the wanted lines stand at their places, and how many; blank ones count for nothing."""
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
