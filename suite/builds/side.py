"""What lies beside an interpreter: the patches and benchmarks, and pytest where it has none.

Both are folders named by a hash of their content, made once and never changed: an edit of a patch
makes another folder, and a trial that runs keeps what it started with.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import suite
from suite.builds.installer import Installer

PACKAGE = Path(suite.__file__).resolve().parent
ROOMS = ("bench", "patches", "child")
TOOLS = ("pytest>=8,<10", "pytest-benchmark>=5,<6")
ATTEST = ("perfproof_attest", "suite.patches.guard:attest")


def entry_points(package: Path) -> dict[str, str]:
    """The vLLM plugins of a package folder: one for every patch file that has a `register`, and the attestation."""
    found = dict([ATTEST])
    for file in sorted((package / "patches").glob("*.py")):
        if _registers(file.read_bytes()):
            found[file.stem] = f"suite.patches.{file.stem}:register"
    return found


def _registers(source: bytes) -> bool:
    """Whether a file has a function `register`; one that Python can't read is a plugin too, so that vLLM says what is wrong with it."""
    try:
        return any(isinstance(node, ast.FunctionDef) and node.name == "register" for node in ast.parse(source).body)
    except (SyntaxError, ValueError):
        return b"def register" in source


def side_files(package: Path, vllm_version: str | None) -> dict[str, bytes]:
    """Every file of the side folder by its path.

    `vllm_version` is given where the interpreter lacks the distribution `vllm`: its metadata then lies here.
    """
    files = {"suite/__init__.py": (package / "__init__.py").read_bytes(), "pytest.ini": b"[pytest]\n"}
    for room in ROOMS:
        for file in sorted((package / room).rglob("*.py")):
            files[f"suite/{room}/{file.relative_to(package / room).as_posix()}"] = file.read_bytes()
    points = "".join(f"{name} = {where}\n" for name, where in entry_points(package).items())
    info = f"perfproof-{suite.__version__}.dist-info"
    files[f"{info}/METADATA"] = _metadata("perfproof", suite.__version__)
    files[f"{info}/entry_points.txt"] = f"[vllm.general_plugins]\n{points}".encode()
    if vllm_version:
        files[f"vllm-{vllm_version}.dist-info/METADATA"] = _metadata("vllm", vllm_version)
    return files


def _metadata(name: str, version: str) -> bytes:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


def side_folder(builds: Path, package: Path = PACKAGE, vllm_version: str | None = None) -> Path:
    """The folder that goes on `PYTHONPATH`; made if it is not there."""
    files = side_files(package, vllm_version)
    folder = builds / f"side-{_digest(files)}"
    if not folder.exists():
        with draft_folder(".side-", builds) as draft:
            for name, content in files.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                (draft / name).write_bytes(content)
            draft.chmod(0o755)
            settle(draft, folder)
    return folder


def tools_folder(installer: Installer, interpreter: Path, python: str) -> Path:
    """The folder with pytest and pytest-benchmark for that Python ("3.11.7"); made if it is not there."""
    minor = ".".join(python.split(".")[:2])
    folder = installer.builds / f"tools-{minor}-{hashlib.sha256(' '.join(TOOLS).encode()).hexdigest()[:8]}"
    if not folder.exists():
        with draft_folder(".tools-", installer.builds) as draft, installer.step("pytest beside it"):
            done = installer.uv_install(interpreter, "--target", draft, *TOOLS)
            installer.must(
                done, "pytest beside it", "see that the package index can be reached, or install pytest and pytest-benchmark there"
            )
            settle(draft, folder)
    return folder


@contextmanager
def draft_folder(prefix: str, builds: Path) -> Iterator[Path]:
    """A folder to be filled and given its name; whatever goes wrong, nothing half made stays."""
    draft = Path(tempfile.mkdtemp(prefix=prefix, dir=builds))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def settle(draft: Path, folder: Path) -> None:
    """Gives a folder its name in one go; where somebody else was faster, theirs is as good.

    Scripts of packages in it go: they name an interpreter by its path, and nobody starts them.
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
