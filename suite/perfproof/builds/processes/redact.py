"""What must not be kept: blotted out of every log and text that stays.

Home folder, host name, logins in addresses, what has the shape of a well-known service's token, and the values of environment variables
whose names look like secrets, as they are and as programs write them (quoted for an address, JSON, HTML, Python). A short value is blotted
out only where it stands by itself, and only if the name plainly says that it is a secret: of `false` or a number there would be nothing
left to read. What is not text of ours is left as it is.
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
"""Names of which also a short value is a secret: TOKENIZERS_PARALLELISM and DISABLE_AUTH are not among them."""
LONG, LEAST = 8, 4
"""Characters from which on a value is blotted out wherever it stands; and below which it is no secret."""
_ORDINARY = frozenset(["true", "false", "none", "null", "auto", "default", "basic", "bearer", "enabled", "disabled", "password", "token"])
_LOGIN = re.compile(r"(://)[^/@\s:]+(:[^/@\s]*)?@")
_OWN_LOGIN = re.compile(r"://([^@\s:/]*):(\S+)@")
"""A login in a value of ours; its password may hold any sign."""
_SHAPED = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[abeprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
)
"""Tokens that are known by their shape, whoever holds them: of hubs, forges, clouds, and signed ones."""
_HANDED_ON = re.compile(
    r"(\bauthorization['\"]?[:=]\s*['\"]?(?:bearer|basic|token)\s+|[?&](?:access_token|auth|token|api_?key|key|secret|password|sig|signature)=)"
    r"[^\s&'\"<>]+",
    re.IGNORECASE,
)
"""What a request hands on to be let in: in its headers, or in its address."""
_ALONE = r"(?:(?<=%[0-9A-Fa-f]{{2}})|(?<!\w)(?<!\w\.))(?:{})(?!\w|\.\w)"
"""A short text that stands by itself, also behind a sign that is quoted for an address."""


def _blots() -> dict[str, str]:
    """What to blot out wherever it stands, and what to put in its place."""
    found = {form: "<secret>" for value in _long_secrets() for form in _forms(value)}
    for home in (os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))):
        if len(home) > 1:
            found[home] = "~"
    host = socket.gethostname()
    if len(host) > 3 and host != "localhost":
        found[host] = "<host>"
    return found


def _long_secrets() -> Iterator[str]:
    yield from _secrets(LONG, math.inf, _SECRET)
    yield from (value for value in _passwords() if len(value) >= LONG)


def _short_secrets() -> Iterator[str]:
    yield from _secrets(LEAST, LONG, _PLAINLY)
    yield from (value for value in _passwords() if LEAST <= len(value) < LONG)


def _secrets(least: int, most: float, named: re.Pattern[str]) -> Iterator[str]:
    """The lines of those of our variables whose names are so, from `least` characters on and below `most`; the path of a file is none."""
    for name, value in os.environ.items():
        if named.search(name) and not _is_place(value):
            yield from (line.strip() for line in value.splitlines() if least <= len(line.strip()) < most)


def _passwords() -> Iterator[str]:
    """The passwords of addresses that our variables hold, whatever these are called."""
    for value in os.environ.values():
        for found in _OWN_LOGIN.finditer(value):
            yield from (found[2], unquote(found[2]))


def _is_place(value: str) -> bool:
    """Whether a value is the path of something that is there (an agent's socket, a file of credentials)."""
    return value.startswith(("/", "~", ".")) and os.path.lexists(os.path.expanduser(value))


def _forms(value: str) -> set[str]:
    """A value as programs write it: as it is, in an address or a form, in JSON, in Python, in HTML."""
    written = (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value), ascii(value))
    quoted = (how(value, safe=safe, errors="surrogateescape") for how in (quote, quote_plus) for safe in ("", "/"))
    return {value, *quoted, html.escape(value), *(form[1:-1] for form in written)}


def _longest_first(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))


def scrub(text: str) -> str:
    """The text without home folder, host name, logins in addresses, and values of our secrets."""
    blots = _blots()
    if blots:
        text = re.sub(_longest_first(blots), lambda found: blots[found[0]], text)
    short = {form for one in _short_secrets() if one.lower() not in _ORDINARY for form in _forms(one)}
    if short:
        text = re.sub(_ALONE.format(_longest_first(short)), "<secret>", text)
    return _SHAPED.sub("<secret>", _HANDED_ON.sub(r"\1<secret>", _LOGIN.sub(r"\1***@", text)))


def scrub_file(path: Path) -> None:
    """Scrubs a text file in place; leaves it untouched where there is nothing to blot out."""
    try:
        text = path.read_text(errors="surrogateescape")
    except FileNotFoundError:
        return
    clean = scrub(text)
    if clean != text:
        draft = path.with_suffix(path.suffix + ".new")
        draft.write_text(clean, errors="surrogateescape")
        draft.replace(path)
