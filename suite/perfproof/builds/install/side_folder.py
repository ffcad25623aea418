"""The folders beside an interpreter: the patches and benchmarks, and pytest if it has none.

A hash of the content names each folder. It is made once and never changed: an edit of a patch makes another folder, and a running trial
keeps its own. Those that no run has taken for a month are removed (`unused_folders`).
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import perfproof
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.unused_folders import clean, taken

PACKAGE = Path(perfproof.__file__).resolve().parent
ROOMS = ("bench", "patches", "child")
TOOLS = ("pytest>=8,<10", "pytest-benchmark>=5,<6")
ATTEST = ("perfproof_attest", "perfproof.patches.guard:attest")


def entry_points(package: Path) -> dict[str, str]:
    """The vLLM plugins of a package folder: one for every patch file with a `register`, and the attestation."""
    points = dict([ATTEST])
    for name, file in patch_files(package).items():
        if _registers(file.read_bytes()):
            points[name] = f"{'.'.join(('perfproof', *file.relative_to(package).with_suffix('').parts))}:register"
    return points


def patch_files(package: Path) -> dict[str, Path]:
    """The files of the patches and their helpers, by name, in all rooms."""
    return {file.stem: file for file in sorted((package / "patches").rglob("*.py"))}


@lru_cache(maxsize=512)  # every build that is made ready asks of every patch
def _registers(source: bytes) -> bool:
    """Whether a file has a function `register`; a file that Python can't read counts too, so that vLLM reports its fault."""
    try:
        return any(isinstance(node, ast.FunctionDef) and node.name == "register" for node in ast.parse(source).body)
    except (SyntaxError, ValueError):
        return b"def register" in source


def side_files(package: Path, vllm_version: str | None) -> dict[str, bytes]:
    """Every file of the side folder by its path.

    With `vllm_version`, if the interpreter lacks the distribution `vllm`, the folder also has its metadata.
    """
    files = {"perfproof/__init__.py": (package / "__init__.py").read_bytes(), "pytest.ini": b"[pytest]\n"}
    for room in ROOMS:
        for file in sorted((package / room).rglob("*.py")):
            files[f"perfproof/{file.relative_to(package).as_posix()}"] = file.read_bytes()
    points = "".join(f"{name} = {where}\n" for name, where in entry_points(package).items())
    info = f"perfproof-{perfproof.__version__}.dist-info"
    files[f"{info}/METADATA"] = _metadata("perfproof", perfproof.__version__)
    files[f"{info}/entry_points.txt"] = f"[vllm.general_plugins]\n{points}".encode()
    if vllm_version:
        files[f"vllm-{vllm_version}.dist-info/METADATA"] = _metadata("vllm", vllm_version)
    return files


def _metadata(name: str, version: str) -> bytes:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


def side_folder(builds: Path, package: Path = PACKAGE, vllm_version: str | None = None) -> Path:
    """The folder that goes on `PYTHONPATH`; made if it does not exist."""
    files = side_files(package, vllm_version)
    folder = builds / f"side-{_digest(files)}"
    if not taken(folder):
        clean(builds, "side-")
        with draft_folder(".side-", builds) as draft:
            for name, content in files.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                (draft / name).write_bytes(content)
            draft.chmod(0o755)
            settle(draft, folder)
    return folder


def tools_folder(installer: Installer, interpreter: Path | None, python: str) -> Path:
    """The folder with pytest and pytest-benchmark for that Python ("3.11.7"); made if it does not exist. None: an interpreter that uv can't
    ask, in an image."""
    minor = ".".join(python.split(".")[:2])
    folder = installer.builds / f"tools-{minor}-{hashlib.sha256(' '.join(TOOLS).encode()).hexdigest()[:8]}"
    if not folder.exists():
        with draft_folder(".tools-", installer.builds) as draft, installer.step("pytest beside it"):
            asked = () if interpreter else ("--python-version", minor)
            done = installer.uv_install(interpreter or Path(sys.executable), *asked, "--target", draft, *TOOLS)
            installer.must(
                done, "pytest beside it", "check that the package index can be reached, or install pytest and pytest-benchmark there"
            )
            settle(draft, folder)
    return folder


@contextmanager
def draft_folder(prefix: str, builds: Path) -> Iterator[Path]:
    """A temporary folder to fill; after an error it is removed."""
    draft = Path(tempfile.mkdtemp(prefix=prefix, dir=builds))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def settle(draft: Path, folder: Path) -> None:
    """Renames the draft to its final name; if another process was faster, its folder is kept.

    Scripts of packages are removed: they name an interpreter by its path, and nothing starts them.
    """
    shutil.rmtree(draft / "bin", ignore_errors=True)
    try:
        os.rename(draft, folder)
    except OSError:
        shutil.rmtree(draft)
        if not folder.is_dir():
            raise


def _digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{len(files[name])}\0".encode())
        total.update(files[name])
    return total.hexdigest()[:12]
