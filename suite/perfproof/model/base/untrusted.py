"""Makes untrusted text safe to print: no escape sequences, no invisible characters, no endless lines.

Escaping for HTML or markdown is up to the printer of the text. This module removes only what is never safe: terminal escapes are dropped,
control characters become U+FFFD, and marks that reorder or hide text are written as `<U+202E>`.
"""

from __future__ import annotations

import re
import unicodedata

LINE = 500
"""The most characters of one line of untrusted text; the raw records keep the rest."""
LINES = 40
NARROW = "\u202f"
"""The narrow no-break space between our own numbers and units."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])|\x9b[0-?]*[ -/]*[@-~]")


def line(text: object, limit: int = LINE) -> str:
    """One line of at most `limit` characters; line breaks become blanks."""
    shown_text = str(text)
    whole = len(shown_text)
    if whole > 4 * limit:
        shown_text = f"{shown_text[: 2 * limit]}{shown_text[-2 * limit :]}"
    missing = whole - len(shown_text)
    if not shown_text.isprintable():
        shown_text = re.sub(" {2,}", " ", _visible(shown_text)).strip()
    return shorten(shown_text, limit, missing)


def lines(text: object, most: int = LINES, limit: int = LINE) -> str:
    """The last `most` lines, each shortened, with a note if lines were left out."""
    whole = str(text)
    every = [line(each, limit) for each in re.split(r"\r\n|\r|\n", whole[-4 * most * limit :])]
    while every and not every[-1]:
        every.pop()
    left = max(len(every) - most, 0) + (1 if len(whole) > 4 * most * limit else 0)
    note = ["(earlier lines left out)"] if left else []
    return "\n".join([*note, *every[-most:]])


class _Shown(dict[int, str]):
    """The replacement of each character, by its number, for texts of full length; each is computed once."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        kept = character in "\n\t" or unicodedata.category(character) in ("Zs", "Cs")
        self[number] = character if kept else _shown(character)
        return self[number]


_KEPT = _Shown()


def harmless(text: str) -> str:
    """A whole text, with full lines, without terminal controls and invisible characters."""
    if text.isprintable():
        return text
    return _ESCAPES.sub("", re.sub(r"\r\n?", "\n", text)).translate(_KEPT)


def shorten(text: str, limit: int, missing: int = 0) -> str:
    """The text, or its beginning and end around an ellipsis with the number of omitted characters, including `missing`."""
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
