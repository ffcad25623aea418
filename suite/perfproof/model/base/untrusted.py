"""Text that others wrote, made harmless to look at: no escape sequences, no invisible characters, no endless lines.

Escaping for HTML or markdown is the business of whoever shows it; here only what no reader should ever be
handed goes: terminal escapes are dropped, control characters become U+FFFD, and marks that reorder or hide text
are spelled out as `<U+202E>`.
"""

from __future__ import annotations

import re
import unicodedata

LINE = 500
"""Most characters of one line of foreign text; the raw records keep the rest."""
LINES = 40
NARROW = "\u202f"
"""The narrow no-break space that stands between our own numbers and units."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])|\x9b[0-?]*[ -/]*[@-~]")


def line(text: object, limit: int = LINE) -> str:
    """One line of at most `limit` characters; line breaks become blanks."""
    found = str(text)
    whole = len(found)
    if whole > 4 * limit:
        found = f"{found[: 2 * limit]}{found[-2 * limit :]}"
    missing = whole - len(found)
    if not found.isprintable():
        found = re.sub(" {2,}", " ", _visible(found)).strip()
    return shorten(found, limit, missing)


def lines(text: object, most: int = LINES, limit: int = LINE) -> str:
    """The last `most` lines, each shortened; says how many were left out."""
    whole = str(text)
    every = [line(each, limit) for each in re.split(r"\r\n|\r|\n", whole[-4 * most * limit :])]
    while every and not every[-1]:
        every.pop()
    left = max(len(every) - most, 0) + (1 if len(whole) > 4 * most * limit else 0)
    note = ["(earlier lines left out)"] if left else []
    return "\n".join([*note, *every[-most:]])


class _Shown(dict[int, str]):
    """What a character becomes in a text that is kept whole, by its number; each is looked up once."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        kept = character in "\n\t" or unicodedata.category(character) in ("Zs", "Cs")
        self[number] = character if kept else _shown(character)
        return self[number]


_KEPT = _Shown()


def harmless(text: str) -> str:
    """All of a text, its lines none of them shortened, without what a terminal would act on or nobody would see."""
    if text.isprintable():
        return text
    return _ESCAPES.sub("", re.sub(r"\r\n?", "\n", text)).translate(_KEPT)


def shorten(text: str, limit: int, missing: int = 0) -> str:
    """The text, or its beginning and end around an ellipsis that says how much is left out, the `missing` included."""
    if len(text) <= limit:
        return text
    keep = limit // 2
    return f"{text[:keep]} … ({len(text) - 2 * keep + missing} characters left out) … {text[-keep:]}"


def _visible(text: str) -> str:
    return "".join(_shown(character) for character in _ESCAPES.sub("", text))


def _shown(character: str) -> str:
    if character in "\t\n\r\u2028\u2029\xa0":
        return " "
    category = unicodedata.category(character)
    if character.isprintable():
        return character
    if category == "Zs":
        return character if character == NARROW else " "
    if category == "Cf":
        return f"<U+{ord(character):04X}>"
    return "\N{REPLACEMENT CHARACTER}" if category in ("Cc", "Cs", "Co", "Cn") else character
