"""The guard: checks before it replaces, refuses with a reason, counts calls, and says on disk what it did."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfproof.patches import guard
from perfproof.patches.guard import Patch, PatchRefused, Target

HERE = "perfproof_toy"


def forty_one() -> int:
    return 41


class Toy:
    def double(self, number: int) -> int:
        return 2 * number

    @staticmethod
    def triple(number: int) -> int:
        return 3 * number


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.ModuleType:
    """A module to patch, one that imported from it by name, and a guard that has seen nothing yet."""
    module, importer = types.ModuleType(HERE), types.ModuleType(f"{HERE}_importer")
    module.answer, module.Toy = forty_one, type("Toy", (), dict(vars(Toy)))  # type: ignore[attr-defined]
    importer.answer = forty_one  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, HERE, module)
    monkeypatch.setitem(sys.modules, f"{HERE}_importer", importer)
    monkeypatch.setenv("PERFPROOF_ATTEST", str(tmp_path))
    monkeypatch.setenv("VLLM_PLUGINS", "toy,rival")
    monkeypatch.delenv("PERFPROOF_ALLOW_UNVERIFIED", raising=False)
    monkeypatch.setattr(guard.Attestation, "_current", guard.Attestation())
    monkeypatch.setattr(guard, "_counters", {})
    monkeypatch.setattr(guard, "_holders", {})
    return module


def patch_of(*targets: Target, release: str | None = None, device: str = "cpu", name: str = "toy") -> Patch:
    return Patch(name, "adds", "a toy", "nowhere", {release or guard.vllm_release(): frozenset({device})}, targets)


def target(qualname: str, function: Callable[..., Any], source: str | None = None) -> Target:
    return Target(HERE, qualname, {guard.vllm_release(): source or guard.source_hash(function)})


def said(folder: Path) -> dict[str, Any]:
    return json.loads((folder / f"{os.getpid()}.json").read_text())  # type: ignore[no-any-return]


def counts(folder: Path) -> dict[str, int]:
    raw = (folder / f"{os.getpid()}.counts").read_bytes()
    cells = [raw[at : at + guard.SLOT] for at in range(0, len(raw), guard.SLOT)]
    return {cell[:-8].rstrip(b"\0").decode(): int.from_bytes(cell[-8:], "little") for cell in cells if cell[0]}


def test_replaces_counts_and_attests(toy: Any, tmp_path: Path) -> None:
    """A patch that holds here takes its target's place, in importers too, and says so with a count of the calls."""
    patch = patch_of(target("answer", forty_one), target("Toy.triple", Toy.triple))
    patch.apply({"answer": lambda: 42, "Toy.triple": lambda number: -number})
    assert (toy.answer(), sys.modules[f"{HERE}_importer"].answer(), toy.Toy.triple(2), toy.Toy().triple(2)) == (42, 42, -2, -2)
    assert said(tmp_path)["patches"]["toy"]["verified"] is True
    assert said(tmp_path)["patches"]["toy"]["changes_numerics"] is False
    assert counts(tmp_path) == {f"calls {HERE}:answer": 2, f"calls {HERE}:Toy.triple": 2}


@pytest.mark.parametrize("plugins", [None, "", "rival"])
def test_a_patch_that_nobody_asked_for_does_nothing(toy: Any, monkeypatch: pytest.MonkeyPatch, plugins: str | None) -> None:
    """vLLM loads every plugin that is installed unless told which; beside somebody's own vLLM the suite's patches then change nothing."""
    monkeypatch.delenv("VLLM_PLUGINS") if plugins is None else monkeypatch.setenv("VLLM_PLUGINS", plugins)
    patch_of(target("answer", forty_one), release="0.1.0").apply({"answer": lambda: 42})
    assert toy.answer() == 41
    assert not guard.Attestation.current().patches


def test_a_second_time_does_nothing(toy: Any, tmp_path: Path) -> None:
    """vLLM loads plugins several times in a process; the patch is applied once."""
    patch = patch_of(target("answer", forty_one))
    patch.apply({"answer": lambda: 42})
    patch.apply({"answer": lambda: 43})
    assert toy.answer() == 42
    assert counts(tmp_path) == {f"calls {HERE}:answer": 1}


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: patch_of(target("answer", forty_one), release="0.1.0"), "it was tested with vLLM 0.1.0, this is"),
        (lambda: patch_of(target("answer", forty_one), device="tpu"), "it was tested on tpu, this is"),
        (lambda: patch_of(target("answer", forty_one, source="0" * 16)), "is not the one tested"),
        (lambda: patch_of(target("question", forty_one)), f"this vLLM has no {HERE}:question"),
    ],
)
def test_refuses_with_a_reason(made: Callable[[], Patch], reason: str, toy: Any, tmp_path: Path) -> None:
    """Another release, platform or source, or no such target: nothing is replaced, and the reason is reported and kept."""
    with pytest.raises(PatchRefused, match=reason):
        made().apply({"answer": lambda: 42, "question": lambda: 0})
    assert toy.answer() == 41
    assert reason in said(tmp_path)["refused"]["toy"]


def test_runs_unverified_where_that_is_allowed(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PERFPROOF_ALLOW_UNVERIFIED=1 an untested patch runs, and the attestation says that it is unverified and why."""
    monkeypatch.setenv("PERFPROOF_ALLOW_UNVERIFIED", "1")
    patch_of(target("answer", forty_one), release="0.1.0").apply({"answer": lambda: 42})
    entry = said(tmp_path)["patches"]["toy"]
    assert toy.answer() == 42
    assert entry["verified"] is False
    assert "0.1.0" in entry["faults"][0]


def test_two_patches_of_one_target_refuse(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two patches that replace the same function refuses, unverified or not."""
    monkeypatch.setenv("PERFPROOF_ALLOW_UNVERIFIED", "1")
    patch_of(target("answer", forty_one)).apply({"answer": lambda: 42})
    with pytest.raises(PatchRefused, match="held by patch toy already"):
        patch_of(target("answer", forty_one), name="rival").apply({"answer": lambda: 43})
    assert toy.answer() == 42


def test_watched_targets_are_counted_unpatched(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin of every arm counts the calls of what is watched and tells what it can't watch."""
    monkeypatch.setenv("PERFPROOF_WATCH", f"{HERE}:Toy.double {HERE}:nothing")
    guard.attest()
    assert toy.Toy().double(4) == 8
    assert counts(tmp_path) == {f"calls {HERE}:Toy.double": 1}
    assert said(tmp_path)["unwatchable"] == [f"{HERE}:nothing"]


def test_special_methods_are_watched_and_python_s_own_are_left_alone(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class that has `__bool__` counts it; one whose other arm has it inherits Python's own, or none, and goes on as it did."""
    toy.Toy.__bool__ = lambda self: False
    names = [f"{HERE}:Toy.{name}" for name in ("__bool__", "__eq__", "__init__", "__new__", "__len__")]
    monkeypatch.setenv("PERFPROOF_WATCH", " ".join(names))
    guard.attest()
    one = toy.Toy()
    assert not one
    assert counts(tmp_path) == {f"calls {names[0]}": 1}
    assert said(tmp_path)["unwatchable"] == names[1:]
    with pytest.raises(TypeError):
        toy.Toy(1)


def test_watching_and_patching_count_once(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is watched and patched, in either order, is counted once a call and hashed as released."""
    monkeypatch.setenv("PERFPROOF_WATCH", f"{HERE}:answer")
    guard.attest()
    patch = patch_of(target("answer", forty_one))
    patch.apply({"answer": lambda: 42})
    guard.attest()
    assert toy.answer() == 42
    assert counts(tmp_path) == {f"calls {HERE}:answer": 1}
    assert said(tmp_path)["patches"]["toy"]["targets"][f"{HERE}:answer"] == guard.source_hash(forty_one)


def test_a_fork_attests_for_itself(toy: Any, tmp_path: Path) -> None:
    """A forked process writes its own files, says what it inherited and counts from zero."""
    patch_of(target("answer", forty_one)).apply({"answer": lambda: 42})
    toy.answer()
    child = os.fork()
    if child == 0:
        toy.answer()
        toy.answer()
        os._exit(0)
    os.waitpid(child, 0)
    raw = (tmp_path / f"{child}.counts").read_bytes()
    assert int.from_bytes(raw[guard.SLOT - 8 : guard.SLOT], "little") == 2
    assert "toy" in json.loads((tmp_path / f"{child}.json").read_text())["patches"]
    assert counts(tmp_path) == {f"calls {HERE}:answer": 1}


def test_importing_the_guard_imports_neither_vllm_nor_torch() -> None:
    """vLLM swallows what goes wrong while a plugin is imported, so nothing may."""
    import subprocess

    room = Path(guard.__file__).parent
    files = [path.relative_to(room).with_suffix("") for path in room.rglob("*.py") if path.stem != "__init__"]
    names = [".".join(file.parts) for file in files]
    code = (
        "import sys; " + "; ".join(f"import perfproof.patches.{name}" for name in names) + "; print({'vllm', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
