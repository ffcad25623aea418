"""Removes private data from every log and text that is kept.

Private are the home folder, the host name, logins in addresses, texts with the form of a well-known service's token, and the values of
environment variables whose names look like secrets, plain and encoded (for an address, JSON, HTML, Python). A short value is removed only
if it is a whole word, and only if the name clearly means a secret: otherwise every `false` and every number would disappear. Files that are
not text stay unchanged.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

from perfproof.model.records.private_paths import SECRET

_SECRET = re.compile(rf"{SECRET.pattern}|TOKEN|KEY|AUTH", re.IGNORECASE)
_PLAINLY = re.compile(
    r"(^|_|[A-Z])(TOKEN|(API|ACCESS|PRIVATE)?_?KEY|SECRET|(?<!BY)(?<!COM)PASS|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|PIN|PINCODE|(?<!^)(?<!^OLD)PWD"
    r"|CREDENTIALS?|COOKIE|JWT|SALT)(_?[0-9]+)?$",
    re.IGNORECASE,
)
"""Names whose short values are secrets too: TOKENIZERS_PARALLELISM and DISABLE_AUTH are not among them."""
LONG, LEAST = 8, 4
"""The length from which a value is removed everywhere; and the length below which it is no secret."""
PIECE = 4 * 2**20
"""Bytes of a file that are scrubbed at once."""
AROUND = 64 * 2**10
"""Bytes on either side of where a file is cut for that, in which a secret must lie that stands there."""
MOST_BORDERS = 16
"""Places that are tried, of each kind."""
_ORDINARY = frozenset(["true", "false", "none", "null", "auto", "default", "basic", "bearer", "enabled", "disabled", "password", "token"])
_LOGIN = re.compile(r"(://)[^/@\s:]+(:[^/@\s]*)?@")
_OWN_LOGIN = re.compile(r"://([^@\s:/]*):(\S+)@")
"""A login in one of our values; its password may hold any character."""
_SHAPED = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[abeprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
)
"""Tokens that have a known form: of model hubs, code hosts, clouds, and signed tokens."""
_HANDED_ON = re.compile(
    r"(\bauthorization['\"]?[:=]\s*['\"]?(?:bearer|basic|token)\s+|[?&](?:access_token|auth|token|api_?key|key|secret|password|sig|signature)=)"
    r"[^\s&'\"<>]+",
    re.IGNORECASE,
)
"""The credentials of a request: in its headers, or in its address."""
_ALONE = r"(?:(?<=%[0-9A-Fa-f]{{2}})|(?<!\w)(?<!\w\.))(?:{})(?!\w|\.\w)"
"""A short text that is a whole word, also after a percent-encoded character."""


def _blots() -> dict[str, str]:
    """The texts to remove everywhere, each with its replacement."""
    replacements = {form: "<secret>" for value in _long_secrets() for form in _forms(value)}
    for home in (os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))):
        if len(home) > 1:
            replacements[home] = "~"
    host = socket.gethostname()
    if len(host) > 3 and host != "localhost":
        replacements[host] = "<host>"
    return replacements


def _long_secrets() -> Iterator[str]:
    yield from _secrets(LONG, math.inf, _SECRET)
    yield from (value for value in _passwords() if len(value) >= LONG)


def _short_secrets() -> Iterator[str]:
    yield from _secrets(LEAST, LONG, _PLAINLY)
    yield from (value for value in _passwords() if LEAST <= len(value) < LONG)


def _secrets(least: int, most: float, named: re.Pattern[str]) -> Iterator[str]:
    """The lines in our variables with matching names, from `least` to below `most` characters; paths of existing files are left out."""
    for name, value in os.environ.items():
        if named.search(name) and not _is_place(value):
            yield from (line.strip() for line in value.splitlines() if least <= len(line.strip()) < most)


def _passwords() -> Iterator[str]:
    """The passwords in addresses that our variables hold, whatever the variables' names."""
    for value in os.environ.values():
        for login in _OWN_LOGIN.finditer(value):
            yield from (login[2], unquote(login[2]))


def _is_place(value: str) -> bool:
    """Whether a value is the path of an existing file (an agent's socket, a file of credentials)."""
    return value.startswith(("/", "~", ".")) and os.path.lexists(os.path.expanduser(value))


def _forms(value: str) -> set[str]:
    """A value in all forms that programs write: plain, in an address or a form, in JSON, in Python, in HTML."""
    written = (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value), ascii(value))
    quoted = (how(value, safe=safe, errors="surrogateescape") for how in (quote, quote_plus) for safe in ("", "/"))
    return {value, *quoted, html.escape(value), *(form[1:-1] for form in written)}


def _longest_first(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))


def scrub(text: str) -> str:
    """The text without home folder, host name, logins in addresses, and values of our secrets."""
    blots = _blots()
    if blots:
        text = re.sub(_longest_first(blots), lambda match: blots[match[0]], text)
    short = {form for one in _short_secrets() if one.lower() not in _ORDINARY for form in _forms(one)}
    if short:
        text = re.sub(_ALONE.format(_longest_first(short)), "<secret>", text)
    return _SHAPED.sub("<secret>", _HANDED_ON.sub(r"\1<secret>", _LOGIN.sub(r"\1***@", text)))


def scrub_file(path: Path) -> None:
    """Scrubs a text file in place, in pieces of limited size; leaves it untouched if there is nothing to remove."""
    try:
        if all(clean == piece for piece, clean in _scrubbed(path)):
            return
    except FileNotFoundError:
        return
    draft = path.with_suffix(path.suffix + ".new")
    with open(draft, "wb") as file:
        file.writelines(clean for _, clean in _scrubbed(path))
    draft.replace(path)


def _scrubbed(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The pieces of a file, each as it is and scrubbed."""
    with open(path, "rb") as file:
        held = file.read(PIECE)
        while more := file.read(PIECE):
            end = next((place for place in _borders(held) if _parts(held, place)), max(0, len(held) - AROUND))
            yield held[:end], _scrub_bytes(held[:end])
            held = held[end:] + more
        yield held, _scrub_bytes(held)


def _borders(text: bytes) -> Iterator[int]:
    """Where a text could be cut, with room for a secret behind: behind a line, else behind a word, else anywhere."""
    last = len(text) - AROUND
    for mark in (b"\n", b" "):
        place = max(0, last)
        for _ in range(MOST_BORDERS):
            place = text.rfind(mark, 0, place)
            if place < 0:
                break
            yield place + 1
    yield from range(max(0, last), max(0, last - AROUND), -max(1, AROUND // MOST_BORDERS))


def _parts(text: bytes, place: int) -> bool:
    """Whether what stands around a place is scrubbed alike when it is cut there."""
    before, behind = text[max(0, place - AROUND) : place], text[place : place + AROUND]
    return _scrub_bytes(before + behind) == _scrub_bytes(before) + _scrub_bytes(behind)


def _scrub_bytes(text: bytes) -> bytes:
    return scrub(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")
