"""What must not be kept: blotted out of every log and text that stays.

Home folder, host name, logins in addresses, and the values of environment variables whose names look like
secrets. What is not text of ours is left as it is.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_LOGIN = re.compile(r"(://)[^/@\s:]+(:[^/@\s]*)?@")


def _blots() -> list[tuple[str, str]]:
    """What to blot out, and what to put in its place, longest first."""
    found = {value: "<secret>" for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= 8 and "/" not in value}
    home, host = os.path.expanduser("~"), socket.gethostname()
    if len(home) > 1:
        found[home] = "~"
    if len(host) > 3 and host != "localhost":
        found[host] = "<host>"
    return sorted(found.items(), key=lambda item: -len(item[0]))


def scrub(text: str) -> str:
    """The text without home folder, host name, logins in addresses, and values of our secrets."""
    for what, instead in _blots():
        text = text.replace(what, instead)
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
