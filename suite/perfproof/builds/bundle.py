"""A bundle: the suite, a vLLM and their dependencies, for a host without a package index.

vLLM's dependencies are resolved here for the host's Python and platform, as of a given day if there is one. Packages that the host has are
left out, above all PyTorch: a GPU host usually has its large CUDA build. The rest is a folder of wheels with an `install.sh` and the
checksums that it verifies, or the same in parts of a size that can be transferred.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib
from packaging.utils import canonicalize_name

from perfproof.builds.install.install_steps import Installer
from perfproof.model.base.errors import BadInput, CannotRun

ROOT = Path(__file__).resolve().parents[3]
NOT_NEEDED = frozenset({"uv"})
"""Packages that only making builds needs: a host without an index makes none."""
EXTRAS = ("report", "history")
"""The suite's extras that a bundle brings: `make bench` writes the page."""
MANYLINUX = (
    *(f"manylinux_2_{minor}_x86_64" for minor in (5, 12, 17, 24, 26, 27, 28, 31, 34, 35)),
    "manylinux1_x86_64",
    "manylinux2014_x86_64",
)
"""Platform tags of wheels for Linux on x86-64; pip takes only the tags named, and adds no older ones."""
_PIP = ("tool", "run", "pip")
INSTALL = """#!/bin/sh
# Installs the wheels beside this file into ./env, without a package index. PYTHON names the host's interpreter (default: python3);
# its packages stay importable after those of the bundle.
set -eu
cd "$(dirname "$0")"
python="${PYTHON:-python3}"
again() { echo "install.sh: $1 damaged or missing, see above: copy the named files again; nothing was installed" >&2; exit 1; }
"$python" -c 'import sys
have = "%d.%d" % sys.version_info[:2]
other = "install.sh: the bundle is for Python @PYTHON@, %s is %s: name another with PYTHON=, or make a bundle with --python %s"
sys.exit(0 if have == "@PYTHON@" else other % (sys.executable, have, have))'
@PARTS@sha256sum --quiet -c SHA256SUMS >&2 || again "the bundle is"
"$python" -m venv env
"$python" -c 'import site; print(*site.getsitepackages(), sep="\\n")' > host.pth
mv host.pth "$(env/bin/python -c 'import site; print(site.getsitepackages()[0])')/zz_host.pth"
env/bin/python -m pip install --quiet --no-index --no-deps --no-compile wheels/*.whl
echo "made by a bundle's install.sh: make installs nothing here" > env/.ready
echo "installed; in a checkout 'make bench VENV=$PWD/env', or put $PWD/env/bin first on PATH"
"""

PARTS = """if ls part_* > /dev/null 2>&1 || [ ! -f SHA256SUMS ]; then
sha256sum --quiet -c >&2 << SUMS || again "parts are"
@SUMS@SUMS
cat part_* | tar xf -
rm part_*
fi
"""
"""The script's first step if the bundle comes in parts: the parts stay until all of them are verified and unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The contents of a bundle and its host.

    `needs` are requirements besides the suite's own; `have` the names of packages that the host has; `carry` those that are packed anyway;
    `alone` pins that come without their dependencies, unless another version comes anyway. `as_of` leaves out later uploads (a date, in
    uv's format). Parts have at most `part_bytes`; None makes no parts.
    """

    needs: tuple[str, ...]
    have: frozenset[str] = frozenset()
    carry: frozenset[str] = frozenset()
    alone: tuple[str, ...] = ()
    python: str = "3.12"
    as_of: str | None = None
    part_bytes: int | None = None

    def packs(self, pin: str) -> bool:
        """Whether this pin (`name==version`) is packed."""
        name = name_of(pin)
        return name not in NOT_NEEDED and (name in self.carry or name not in self.have)


def name_of(pin: str) -> str:
    """The canonical name of the package in a requirement or a line of `pip freeze`."""
    match = re.match(r"[A-Za-z0-9._-]+", pin.strip())
    if match is None:
        raise BadInput(f"expected the name of a package, got {pin.strip()!r}")
    return canonicalize_name(match.group())


def names_in(lines: Iterable[str]) -> frozenset[str]:
    """The packages of a list as `pip freeze` or `pip list --format=freeze` prints it, or of bare names."""
    return frozenset(name_of(line) for line in lines if line.strip() and not line.lstrip().startswith(("#", "-")))


def names_of(file: Path) -> frozenset[str]:
    """The packages of a list in a file, as `names_in`. Raises `BadInput` for a file that can't be read."""
    try:
        return names_in(file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise BadInput(f"{file}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}") from error


def make(bundle: Bundle, out: Path, installer: Installer) -> list[str]:
    """Packs the bundle into `out`, which must be empty or missing; returns the packed pins.

    Raises `BadInput` for a folder that is not empty or a suite without its source, `CannotRun` for a step that failed; then `out` is
    unchanged, and the same command can be run again.
    """
    if not (ROOT / "pyproject.toml").is_file():
        raise BadInput("a bundle carries the suite, which is installed here without its source: run this from a checkout")
    if os.path.lexists(out) and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{out}: expected a folder that is empty or does not exist yet")
    was_there = out.is_dir()
    try:
        (out / "wheels").mkdir(parents=True)
        return _packed(bundle, out, installer)
    except BaseException as error:
        _emptied(out, was_there)
        if isinstance(error, OSError):
            reason = f"{error.filename or out}: {error.strerror or error}"
            raise CannotRun(f"{reason}; nothing was left behind: make room there, or name another folder with --out") from error
        raise


def _emptied(out: Path, was_there: bool) -> None:
    """Removes half-made files, and the folder itself if it did not exist before."""
    for path in out.iterdir() if out.is_dir() else ():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if out.is_dir() and not was_there:
        out.rmdir()


def _packed(bundle: Bundle, out: Path, installer: Installer) -> list[str]:
    wheels = out / "wheels"
    with installer.step("resolve"):
        pins = [pin for pin in resolve(bundle, out, installer) if bundle.packs(pin)]
    with installer.step(f"download {len(pins)} packages"):
        download(pins, bundle.python, wheels, installer)
    with installer.step("pack the suite"):
        installer.must(installer.uv("build", "--quiet", "--wheel", "--out-dir", wheels, ROOT), "pack the suite", "the log says why")
    (wheels / ".gitignore").unlink(missing_ok=True)
    finish(out, bundle.part_bytes, ".".join(bundle.python.split(".")[:2]))
    return pins


def resolve(bundle: Bundle, out: Path, installer: Installer) -> list[str]:
    """All packages of the bundle, as `name==version`, also written to `pins.txt`.

    `needs` are resolved first, as of the day; the suite, which is of today, then takes these versions and adds its own dependencies.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = [*project["dependencies"], *(need for extra in EXTRAS for need in project["optional-dependencies"][extra])]
    chosen = out / "pins.txt"
    day = ["--exclude-newer", bundle.as_of] if bundle.as_of else []
    theirs = _compile(bundle.needs, chosen, day, bundle.python, installer) if bundle.needs else []
    chosen.write_text("".join(f"{pin}\n" for pin in theirs))
    ours = _compile(own, out / "own.txt", ["--constraint", chosen], bundle.python, installer)
    (out / "own.txt").unlink()
    names = {name_of(pin) for pin in (*theirs, *ours)}
    pins = sorted({*theirs, *ours, *(pin for pin in bundle.alone if name_of(pin) not in names)})
    chosen.write_text("".join(f"{pin}\n" for pin in pins))
    return pins


def _compile(needs: Iterable[str], to: Path, more: Sequence[str | Path], python: str, installer: Installer) -> list[str]:
    requirements = to.with_suffix(".in")
    requirements.write_text("".join(f"{need}\n" for need in needs))
    words = ["--python-version", python, "--python-platform", "x86_64-manylinux_2_28", "--no-annotate", "--no-header", "--quiet"]
    done = installer.uv("pip", "compile", *words, *more, "--output-file", to, requirements)
    installer.must(done, "resolve", "check whether these requirements fit together, and existed on that day")
    requirements.unlink()
    return [line.strip() for line in to.read_text().splitlines() if "==" in line]


def download(pins: Sequence[str], python: str, wheels: Path, installer: Installer) -> None:
    """Downloads the pins' wheels for the host, all in one call; if one has no wheel, each separately.

    Builds a wheel where there are only sources, which must be pure Python.
    """
    if _fetched(pins, python, wheels, installer):
        return
    for pin in pins:
        if not _fetched([pin], python, wheels, installer):
            _built(pin, wheels, installer)


def _fetched(pins: Sequence[str], python: str, wheels: Path, installer: Installer) -> bool:
    platforms = [word for name in MANYLINUX for word in ("--platform", name)]
    words = ("download", "--quiet", "--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python)
    return installer.uv(*_PIP, *words, *platforms, "--dest", wheels, *pins).ok


def _built(pin: str, wheels: Path, installer: Installer) -> None:
    before = set(wheels.iterdir())
    done = installer.uv(*_PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, pin)
    installer.must(done, f"download {pin}", "name it in --have if the host has it")
    made = set(wheels.iterdir()) - before
    if any(not wheel.name.endswith("-none-any.whl") for wheel in made):
        raise BadInput(f"{pin}: there is no wheel of it for Linux on x86-64, and a wheel built here would not run there")


def finish(out: Path, part_bytes: int | None, python: str) -> None:
    """Writes the checksums and the script, for that Python ("3.12"); then, with `part_bytes`, moves all but the script into `part_0000`,
    `part_0001`, ..."""
    (out / "SHA256SUMS").write_text(_sums(sorted((out / "wheels").iterdir()), out))
    if part_bytes is not None:
        _cut(out, part_bytes)
    parts = sorted(out.glob("part_*"))
    first = PARTS.replace("@SUMS@", _sums(parts, out)) if parts else ""
    (out / "install.sh").write_text(INSTALL.replace("@PYTHON@", python).replace("@PARTS@", first))
    (out / "install.sh").chmod(0o755)


def _sums(paths: Iterable[Path], out: Path) -> str:
    """One line per file, in the format that `sha256sum -c` reads in `out`."""
    return "".join(f"{_sum_of(path)}  {path.relative_to(out)}\n" for path in paths)


def _cut(out: Path, part_bytes: int) -> None:
    whole = out / "whole.tar"
    with tarfile.open(whole, "w") as tar:
        for name in ("SHA256SUMS", "pins.txt", "wheels"):
            if (out / name).exists():
                tar.add(out / name, arcname=name)
    _split(whole, part_bytes)
    whole.unlink()
    (out / "SHA256SUMS").unlink()
    shutil.rmtree(out / "wheels")


def _split(whole: Path, part_bytes: int) -> None:
    with open(whole, "rb") as file:
        for number in range(-(-whole.stat().st_size // part_bytes)):
            part = whole.with_name(f"part_{number:04d}")  # `cat part_*` joins them in the order of their names
            with open(part, "wb") as to:
                left = part_bytes
                while left and (piece := file.read(min(left, 2**20))):
                    to.write(piece)
                    left -= len(piece)


def _sum_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
