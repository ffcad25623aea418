"""What is kept of a build in its last file; and a build that was moved, or copied with its checkout, is adapted to its new folder.

The build's last file says where it was made. Scripts beside its interpreter, which would start the old folder's interpreter, are corrected,
and its compiled cache is removed. Packages do not depend on the folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.integrity import COMPLETE, made_in
from perfproof.builds.install.ready_build import Fingerprint
from perfproof.model.base import clock

_SHEBANG = re.compile(rb"\A#!(?:/bin/sh\n'''exec' )?([^\n]+)\n(?:' '''\n)?")
_BESIDE = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
"""
"""The beginning of a script that starts the interpreter beside it, in any folder, as `uv venv --relocatable` writes it."""
_LARGEST = 2**16
"""Bytes of the largest script that is checked: larger files are programs."""


def set_right(folder: Path, installer: Installer) -> bool:
    """Adapts a build that was made in another folder, and reports that; returns whether it was. Other builds stay unchanged."""
    old = made_in(folder)
    if old is None or old == folder:
        return False
    installer.say(f"{installer.what}: {folder.name} was made in {old.parent}, and moved or copied here: set right")
    for script in sorted((folder / "bin").glob("*")):
        if script.is_file() and not script.is_symlink() and script.stat().st_size <= _LARGEST:
            _mend(script, os.fsencode(old), os.fsencode(folder))
    shutil.rmtree(installer.builds / "cache" / folder.name, ignore_errors=True)
    content: dict[str, Any] = json.loads((folder / COMPLETE).read_text())
    package = Path(content["fingerprint"]["package"])
    if package.is_relative_to(old):
        content["fingerprint"]["package"] = str(package.relative_to(old))
    replace(folder / COMPLETE, json.dumps({**content, "folder": str(folder)}, indent=1).encode())
    return True


def _mend(script: Path, old: bytes, new: bytes) -> None:
    text = script.read_bytes()
    begins = _SHEBANG.match(text)
    mended = _BESIDE + text[begins.end() :] if begins and old + b"/bin/" in begins.group(1) else text
    mended = mended.replace(old + b"/", new + b"/").replace(old + b"'", new + b"'").replace(old + b'"', new + b'"')
    if mended != text:
        replace(script, mended)


def replace(file: Path, content: bytes) -> None:
    """Replaces a file by a rename, so that nobody reads half of it, and other hard links keep the old content."""
    draft = file.with_name(f".{file.name}.new-{os.getpid()}")
    draft.write_bytes(content)
    if file.exists():
        shutil.copymode(file, draft)
    draft.replace(file)


# --- what is kept of a build -----------------------------------------------------------------------------------


def keep(path: Path, fingerprint: Fingerprint, seconds: dict[str, float]) -> None:
    """Writes the fingerprint and the folder; the path of a vLLM below it is relative, so that it stays right after a move."""
    here = path.parent
    package = fingerprint.package.relative_to(here) if fingerprint.package.is_relative_to(here) else fingerprint.package
    print_ = {**asdict(fingerprint), "package": str(package), "packages": dict(fingerprint.packages)}
    content = {"fingerprint": print_, "seconds": seconds, "made": clock.now(), "folder": str(here)}
    replace(path, json.dumps(content, indent=1).encode())


def known_print(path: Path) -> Fingerprint | None:
    """The kept fingerprint; None if there is none, or one from another version of the suite."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())["fingerprint"]
        fingerprint = Fingerprint(**{**content, "package": path.parent / content["package"]})
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None
    return fingerprint if fingerprint.package.is_dir() else None
