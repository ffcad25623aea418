"""What must not be kept: blotted out of every log and text that stays.

Home folder, host name, logins in addresses, and the values of environment variables whose names look like
secrets. A short value is blotted out only where it stands by itself, and only if the name plainly says that it is a secret: of `false` or
a number there would be nothing left to read. What is not text of ours is left as it is.
"""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_PLAINLY = re.compile(
    r"(^|_|[A-Z])(TOKEN|(API|ACCESS|PRIVATE)?_?KEY|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|PIN|CREDENTIALS?)(_?[0-9]+)?$", re.I
)
"""Names of which also a short value is a secret: TOKENIZERS_PARALLELISM and DISABLE_AUTH are not among them."""
LONG, LEAST = 8, 4
"""Characters from which on a value is blotted out wherever it stands; and below which it is no secret."""
_ORDINARY = frozenset(["true", "false", "none", "null", "auto", "default", "basic", "bearer", "enabled", "disabled", "password", "token"])
_LOGIN = re.compile(r"(://)[^/@\s:]+(:[^/@\s]*)?@")


def _blots() -> list[tuple[str, str]]:
    """What to blot out wherever it stands, and what to put in its place, longest first."""
    found = {form: "<secret>" for value in _secrets(LONG, math.inf, _SECRET) for form in (value, quote(value, safe=""))}
    home, host = os.path.expanduser("~"), socket.gethostname()
    if len(home) > 1:
        found[home] = "~"
    if len(host) > 3 and host != "localhost":
        found[host] = "<host>"
    return sorted(found.items(), key=lambda item: -len(item[0]))


def _secrets(least: int, most: float, named: re.Pattern[str]) -> Iterator[str]:
    """The lines of those of our variables whose names are so, from `least` characters on and below `most`; the path of a file is none."""
    for name, value in os.environ.items():
        if named.search(name) and not _is_place(value):
            yield from (line.strip() for line in value.splitlines() if least <= len(line.strip()) < most)


def _is_place(value: str) -> bool:
    """Whether a value is the path of something that is there (an agent's socket, a file of credentials)."""
    return value.startswith(("/", "~", ".")) and os.path.lexists(os.path.expanduser(value))


def scrub(text: str) -> str:
    """The text without home folder, host name, logins in addresses, and values of our secrets."""
    for what, instead in _blots():
        text = text.replace(what, instead)
    short = sorted({one for one in _secrets(LEAST, LONG, _PLAINLY) if one.lower() not in _ORDINARY}, key=len, reverse=True)
    if short:
        text = re.sub(rf"(?<![\w.])(?:{'|'.join(map(re.escape, short))})(?![\w.])", "<secret>", text)
    return _LOGIN.sub(r"\1***@", text)


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
