"""A build that was moved, or copied with its checkout: found out, and set right where it lies now.

Its last file says where it was made. What in it names that place is mended: the scripts beside its interpreter, which otherwise start the
interpreter of the old place, and what was compiled for it, which is forgotten. Packages name no place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.integrity import COMPLETE, made_in

_SHEBANG = re.compile(rb"\A#!(?:/bin/sh\n'''exec' )?([^\n]+)\n(?:' '''\n)?")
_BESIDE = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
"""
"""How a script begins that starts the interpreter beside it, wherever that lies; what `uv venv --relocatable` has written too."""
_LARGEST = 2**16
"""Bytes of the largest script that is looked into: others are programs."""


def set_right(folder: Path, installer: Installer) -> bool:
    """Sets a build right that was made elsewhere, and says so; whether it was. Nothing happens to one that lies where it was made."""
    old = made_in(folder)
    if old is None or old == folder:
        return False
    installer.say(f"{installer.what}: {folder.name} was made in {old.parent}, and moved or copied here: set right")
    for script in sorted((folder / "bin").glob("*")):
        if script.is_file() and not script.is_symlink() and script.stat().st_size <= _LARGEST:
            _mend(script, os.fsencode(old), os.fsencode(folder))
    shutil.rmtree(installer.builds / "cache" / folder.name, ignore_errors=True)
    said: dict[str, Any] = json.loads((folder / COMPLETE).read_text())
    package = Path(said["fingerprint"]["package"])
    if package.is_relative_to(old):
        said["fingerprint"]["package"] = str(package.relative_to(old))
    replace(folder / COMPLETE, json.dumps({**said, "folder": str(folder)}, indent=1).encode())
    return True


def _mend(script: Path, old: bytes, new: bytes) -> None:
    text = script.read_bytes()
    begins = _SHEBANG.match(text)
    mended = _BESIDE + text[begins.end() :] if begins and old + b"/bin/" in begins.group(1) else text
    mended = mended.replace(old + b"/", new + b"/").replace(old + b"'", new + b"'").replace(old + b'"', new + b'"')
    if mended != text:
        replace(script, mended)


def replace(file: Path, content: bytes) -> None:
    """Gives a file new content by way of a rename, so that nobody meets half of it, and another name of the old one keeps the old."""
    draft = file.with_name(f".{file.name}.new-{os.getpid()}")
    draft.write_bytes(content)
    if file.exists():
        shutil.copymode(file, draft)
    draft.replace(file)
