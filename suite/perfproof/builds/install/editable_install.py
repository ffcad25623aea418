"""Installs a source tree in editable mode, with the user's own command: for changes that an overlay can't make (compiled code, build
files).

The environment is the suite's, below `builds/`; the command is a list of words that runs in the tree, never through a shell. The word
`{python}` stands for the environment's interpreter, which is also first on PATH. `VLLM_USE_PRECOMPILED=1` avoids compiling what did not
change, unless the caller sets another value.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.ready_build import Fingerprint
from perfproof.builds.processes.supervised_process import Finished, inherited, run_to_end
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import EditableBuild

DEFAULT_COMMAND = ("{python}", "-m", "pip", "install", "--no-input", "--editable", ".")
COMMAND_LIMIT = 4 * 3600.0
"""Seconds that the user's command may take: it may compile all of vLLM."""
_HANDED_ON = ("PIP_", "UV_", "VLLM_", "CMAKE_", "CUDA", "TORCH_", "LC_")
_NAMED = ("MAX_JOBS", "NVCC_THREADS", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CCACHE_DIR", "SCCACHE_DIR", "GIT_SSH_COMMAND")


def faults_of(build: EditableBuild) -> list[str]:
    """Why the source tree can't be a build; empty if it can."""
    tree = Path(build.source)
    where = f"build {build.name}: {tree.name}"
    if not tree.is_dir():
        return [f"{where}: there is no such folder (paths are relative to the scenario file)"]
    if not (tree / "vllm" / "__init__.py").is_file():
        return [f"{where}: this is not a source tree of vLLM: it has no vllm/__init__.py"]
    return []


def install(build: EditableBuild, folder: Path, installer: Installer) -> None:
    """Makes the environment and runs the command. Raises `BadInput` for a folder that is no source tree, `CannotRun` if a step fails."""
    if faults := faults_of(build):
        raise BadInput(*faults)
    with installer.step("virtual environment"):
        made = installer.uv("venv", "--seed", "--relocatable", "--python", sys.executable, folder)
        installer.must(made, "virtual environment", "check that the folder is writable")
    command = [word.replace("{python}", str(folder / "bin" / "python")) for word in build.command or DEFAULT_COMMAND]
    with installer.step("the command of the source tree"):
        done = run_to_end(command, environment=_environment(folder), log=installer.log, timeout=COMMAND_LIMIT, folder=Path(build.source))
    if not done.ok:
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotRun(
            f"{build.label}: its command {done.how()}:\n{done.tail()}\n  what to do: read the output; the command ran in the tree, "
            f"with the environment's python first on PATH: {' '.join(build.command or DEFAULT_COMMAND)}\n  whole output: {installer.log}"
        )


def _environment(folder: Path) -> dict[str, str]:
    variables = inherited(also=_NAMED, prefixes=_HANDED_ON)
    path = os.pathsep.join([str(folder / "bin"), variables.get("PATH", os.defpath)])
    return {"VLLM_USE_PRECOMPILED": "1", **variables, "PATH": path, "VIRTUAL_ENV": str(folder), "PYTHONNOUSERSITE": "1"}


def fingerprint(build: EditableBuild, interpreter: Path, installer: Installer, side: Path) -> Fingerprint:
    """The fingerprint of the environment's vLLM, which must be the tree's. Raises `CannotRun`."""
    seen = interpreter_probe.look(interpreter, installer.log)
    loaded = seen if isinstance(seen, Finished) else interpreter_probe.load(interpreter, seen, installer.log, side=side, ours=False)
    if isinstance(loaded, Finished):
        raise CannotRun(f"{build.label}: vllm does not import after its command: it {loaded.how()}:\n{loaded.tail()}")
    if not is_of(build, loaded):
        raise CannotRun(
            f"{build.label}: after its command vllm is not the source tree's: it is imported from elsewhere\n"
            "  what to do: have the command install editable (pip install --editable .)"
        )
    return loaded


def is_of(build: EditableBuild, fingerprint_found: Fingerprint) -> bool:
    """Whether a vLLM is the source tree's."""
    return fingerprint_found.package.resolve().is_relative_to(Path(build.source).resolve())
