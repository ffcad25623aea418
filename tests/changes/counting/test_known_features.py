"""Which features come first for a change: those that were seen to make the calls beside its new lines."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting.known_features import known_features
from perfproof.changes.observed import observed_calls
from perfproof.changes.observed.observed_calls import keep_calls

FILE, MODULE = "vllm/v1/sched.py", "vllm.v1.sched"
BEFORE = """\
class Scheduler:
    def bitmask(self, asked):
        if not asked:
            return None
        mask = self.manager.fill(asked)
        return mask

    def fill(self, asked):
        return asked
"""
WORDS = {"plain": ("Scheduler.bitmask",), "JSON schema": ("Scheduler.bitmask", "Scheduler.fill"), "LoRA": ("Scheduler.fill",)}


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A vLLM of which three features are known."""
    monkeypatch.setattr(observed_calls, "SHIPPED", tmp_path / "shipped.json")
    made = side(tmp_path, "base", BEFORE)
    keep_calls(made, {f"feature {name}": frozenset(f"{MODULE}:{one}" for one in words) for name, words in WORDS.items()}, tmp_path)
    return made


def side(folder: Path, name: str, text: str) -> ReadyBuild:
    (folder / name / FILE).parent.mkdir(parents=True)
    (folder / name / FILE).write_text(text)
    touched = SimpleNamespace(base="base", files=(FILE,)) if name != "base" else None
    fingerprint = SimpleNamespace(package=folder / name / "vllm", sources=name, vllm_version="1.0", device="cpu")
    return cast(ReadyBuild, SimpleNamespace(label=name, touched=touched, fingerprint=fingerprint))


@pytest.mark.parametrize(
    ("old", "new", "calling", "reaching"),
    [
        ("return mask\n", "return [mask]\n", ("JSON schema", "plain"), True),
        ("return None\n", "return []\n", ("plain", "JSON schema"), True),
        ("mask = self.manager.fill(asked)\n", "mask = self.fill(asked) if asked else self.fill([])\n", ("JSON schema", "plain"), True),
    ],
)
def test_what_makes_the_calls_beside_new_lines_comes_first(
    base: Any, tmp_path: Path, old: str, new: str, calling: tuple[str, ...], reaching: bool
) -> None:
    """Behind the early return the feature that fills a mask, though it is dearer; where nothing tells, the cheapest."""
    known = known_features((base, side(tmp_path, "changed", BEFORE.replace(old, new))), [f"{MODULE}:Scheduler.bitmask"], tmp_path)
    assert (known.calling, known.certain, known.reaching) == (calling, False, reaching)


def test_a_feature_that_makes_none_of_the_calls_beside_new_lines_does_not_reach_them(base: Any, tmp_path: Path) -> None:
    """What stands there is known to be called, and by others alone."""
    keep_calls(base, {"benchmark scheduler/asks": frozenset({f"{MODULE}:Scheduler.ask"})}, tmp_path)
    after = BEFORE.replace("            return None\n", "            self.ask()\n            return []\n")
    known = known_features((base, side(tmp_path, "changed", after)), [f"{MODULE}:Scheduler.bitmask"], tmp_path)
    assert (known.calling, known.reaching) == (("plain", "JSON schema"), False)


def test_where_no_feature_is_known_to_call_it_none_reaches_it(base: Any, tmp_path: Path) -> None:
    """Whatever stands beside its lines."""
    known = known_features((base, side(tmp_path, "changed", BEFORE)), [f"{MODULE}:Scheduler.other"], tmp_path)
    assert (known.calling, known.reaching) == ((), False)
