"""Other tools' histories: read by `steps` and `history add`, and round-tripped with what `export` writes.

No file here was written by its tool: github-action-benchmark and the two databases take entries alone, so what they keep is made here in
their shapes (benchmark-action/github-action-benchmark `src/write.ts`, pytorch/test-infra `oss_ci_benchmark_v3`, vllm-project/perf-eval
`lib/ingest_perf.py`).
"""

from __future__ import annotations

import copy
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof import history
from perfproof.cli import main
from perfproof.export.format import Exported
from perfproof.export.formats import FORMATS
from perfproof.importers.result_files import histories
from perfproof.model.base.errors import EXIT_PASS, EXIT_USAGE, BadInput
from perfproof.model.records.record import Record
from tests.factory import DEFINITION, record
from tests.mistreated import JUNK, places, with_junk

START = 1_760_000_000
DAY = 86_400
BUILDS = 24
STEP = 14
"""The first build of the new level."""


def level(build: int) -> float:
    """A time in seconds, 20 % longer from a build on, with a little noise."""
    return (0.012 if build >= STEP else 0.010) * random.Random(build).gauss(1, 0.004)


def commit(build: int) -> str:
    return f"{build:02d}" + "ab" * 19


def moment(build: int) -> str:
    return datetime.fromtimestamp(START + build * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def trials(build: int) -> list[Record]:
    """Three trials of a serving benchmark on a build."""
    workload = {"kind": "serve", "model": "facebook/opt-125m", "client": {"max-concurrency": 8}, "requests": 16, "launches": "fresh"}
    definition = {**DEFINITION, "name": "chat", "workload": workload, "arms": {"main": DEFINITION["arms"]["before"]}}
    return [
        record(
            definition,
            arm="main",
            order=["main"],
            block=block,
            started=moment(build),
            measurements={
                "median_ttft": level(build) * (1 + block / 1000),
                "mean_tpot": 0.02,
                "output_throughput": 400.0,
                "total_token_throughput": 600.0,
            },
            witnesses={},
            raw={},
            work={"requests": 16, "input_tokens": 1600, "output_tokens": 3200},
            environment={"build": f"vllm {commit(build)[:12]}", "commit": commit(build), "gpus": [{"name": "NVIDIA H200"}]},
        )
        for block in (1, 2, 3)
    ]


def exported(form: str, build: int) -> dict[str, str]:
    chosen = next(one for one in FORMATS if one.name == form)
    files = chosen.files(Exported(trials=trials(build), left_out=(), results="results", judged=list))
    return {name: str(text) for name, text in files.items()}


def data_js() -> dict[str, Any]:
    """What the action keeps of our exports: an entry a run and tool."""
    entries = []
    for build in range(BUILDS):
        for name, text in exported("github-action-benchmark", build).items():
            said = {"id": commit(build), "message": f"change {build}", "timestamp": moment(build), "url": "https://example.org"}
            date = (START + build * DAY) * 1000
            entries.append({"commit": said, "date": date, "tool": name.removesuffix(".json"), "benches": json.loads(text)})
    return {"lastUpdate": (START + BUILDS * DAY) * 1000, "repoUrl": "https://example.org", "entries": {"h200": entries}}


def hud_rows() -> list[dict[str, Any]]:
    return [row for build in range(BUILDS) for row in json.loads(exported("pytorch-hud", build)["perfproof.json"])]


def dashboard_rows() -> list[dict[str, Any]]:
    return [json.loads(text) for build in range(BUILDS) for text in exported("perf-eval", build)["rows.jsonl"].splitlines()]


def written(folder: Path, form: str) -> Path:
    path = folder / f"{form}.json"
    if form == "data.js":
        path.write_text(f"window.BENCHMARK_DATA = {json.dumps(data_js())};\n")
    elif form == "hud":
        path.write_text(json.dumps(hud_rows()))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in dashboard_rows()))
    return path


KINDS = ("data.js", "hud", "dashboard")
AT = {"data.js": commit(STEP)[:12], "hud": commit(STEP)[:12], "dashboard": f"vllm {commit(STEP)[:12]}"}
"""What each history calls the first build of the new level."""


@pytest.mark.parametrize("form", KINDS)
def test_a_step_in_what_was_exported_is_found_in_the_other_tools_history(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trials go out build by build, come back as a history, and `steps` finds the one rise at its build, and nothing else."""
    assert main(["steps", str(written(tmp_path, form)), "--json"]) == EXIT_PASS
    said = json.loads(capsys.readouterr().out)
    (step,) = said["steps"]
    assert (step["direction"], step["at"]) == ("rise", AT[form])
    assert step["effect"] == pytest.approx(0.2, abs=0.02)
    assert "median_ttft" in step["reason"]


@pytest.mark.parametrize("form", KINDS)
def test_what_was_exported_is_added_to_a_history(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`history add` keeps the points of known metrics, in base units and with every run's value; adding them again adds nothing."""
    file, folder = written(tmp_path, form), tmp_path / "history"
    assert main(["history", "add", str(file), "--history", str(folder)]) == EXIT_PASS
    first = capsys.readouterr()
    points = history.read(folder).points
    times = [point for point in points if point.metric == "median_ttft"]
    assert {point.build for point in times} == {AT[form].replace(commit(STEP)[:12], commit(build)[:12]) for build in range(BUILDS)}
    of_step = next(point for point in times if commit(STEP)[:12] in point.build)
    own = [trial.measurements["median_ttft"] for trial in trials(STEP)]
    assert of_step.value == pytest.approx(own[1] if form != "dashboard" else own[0], rel=0.01)
    assert len(of_step.values) == (3 if form == "hud" else 1)
    assert (of_step.unit, of_step.better, of_step.when) == ("s", "lower", moment(STEP))
    assert {point.value for point in points if point.metric == "output_throughput"} == {400.0}
    assert ("metrics that a history has no place for: input_tput_per_gpu, mean_intvty" in first.err) is (form == "dashboard")
    assert main(["history", "add", str(file), "--history", str(folder)]) == EXIT_PASS
    assert "0 new lines" in capsys.readouterr().out
    assert main(["steps", "--history", str(folder), "--json"]) == EXIT_PASS
    assert [step["direction"] for step in json.loads(capsys.readouterr().out)["steps"]] == ["rise"]


def test_throughputs_of_one_gpu_are_those_of_all_in_a_history(tmp_path: Path) -> None:
    """With a tensor parallelism of 4 the dashboard has a quarter; the history has the whole."""
    file = tmp_path / "rows.json"
    rows = [row | {"tp": 4, "output_tput_per_gpu": 100.0} for row in dashboard_rows()]
    file.write_text(json.dumps(rows))
    assert main(["history", "add", str(file), "--history", str(tmp_path / "history")]) == EXIT_PASS
    assert {point.value for point in history.read(tmp_path / "history").points if point.metric == "output_throughput"} == {400.0}


def test_rows_as_vllm_writes_them_are_told_apart_by_their_load_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments of the load part series; paths and seeds, which are new in every run, don't. Milliseconds are converted."""
    rows = []
    for build in range(BUILDS):
        for rate in ("1", "inf"):
            arguments = {"request_rate": rate, "max_concurrency": None, "seed": build, "save_dir": f"/tmp/{build}"}
            rows.append(
                {
                    "timestamp": START + build * DAY,
                    "head_sha": commit(build),
                    "runners": [{"name": "cuda", "type": "NVIDIA H100", "gpu_count": 8}],
                    "benchmark": {"name": "vLLM benchmark", "extra_info": {"args": json.dumps(arguments) if build % 2 else arguments}},
                    "model": {"name": "meta/llama"},
                    "metric": {"name": "median_ttft_ms", "benchmark_values": [1000 * level(build)]},
                }
            )
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows))
    found = histories.read(file)
    assert {point.scenario for point in found.points} == {f"vLLM benchmark, meta/llama, request_rate {rate}" for rate in ("1", "inf")}
    assert {point.machine for point in found.points} == {"8 x NVIDIA H100"}
    assert main(["steps", str(file), "--json"]) == EXIT_PASS
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 2
    assert main(["history", "add", str(file), "--history", str(tmp_path / "history")]) == EXIT_PASS
    assert all(0.009 < point.value < 0.013 for point in history.read(tmp_path / "history").points)


def test_an_image_that_many_builds_have_is_told_apart_by_its_day(tmp_path: Path) -> None:
    """ "vllm/vllm-openai:nightly" is another build every day."""
    file = tmp_path / "rows.json"
    rows = [row | {"image": "vllm/vllm-openai:nightly"} for row in dashboard_rows()]
    file.write_text(json.dumps(rows))
    assert len({point.build for point in histories.read(file).points}) == BUILDS
    assert histories.read(file).points[0].build == "nightly of 2025-10-09"


def test_a_bench_that_stands_twice_in_an_entry_is_left_out_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody can tell which of the two belongs to the series."""
    data = data_js()
    data["entries"]["h200"][0]["benches"] *= 2
    file = tmp_path / "data.json"
    file.write_text(json.dumps(data))
    assert main(["steps", str(file)]) == EXIT_PASS
    assert "stands 2 times in one entry, and is left out" in capsys.readouterr().err


def test_directions_are_those_of_the_actions_tools(tmp_path: Path) -> None:
    """A bench of pytest is a rate, one of cargo a time; of a tool that nobody knows there is none."""
    bench = {"name": "fib", "value": 3, "unit": "x"}
    entries = [
        {"commit": {"id": "a" * 40}, "date": START * 1000, "tool": tool, "benches": [bench]} for tool in ("pytest", "cargo", "own tool")
    ]
    file = tmp_path / "data.json"
    file.write_text(json.dumps({"entries": {"suite": entries}}))
    assert [point.better for point in histories.read(file).points] == ["higher", "lower", None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"name": "fib", "value": 3, "unit": "ns"}]', "no history that can be read; the formats are github-action-benchmark"),
        ('{"entries": {"suite": [{"benches": []}]}}', "has no commit, so its place in the history is unknown"),
        ('{"entries": {"suite": [{"commit": {"id": "abc"}, "benches": []}]}}', "has no date"),
        ('{"entries": {}}', "without a point"),
        ("window.BENCHMARK_DATA = {", "is cut off or no JSON"),
        ('[{"metric": {"benchmark_values": [1]}}]', "metric.name: expected a text"),
    ],
)
def test_what_is_no_history_is_refused_with_its_reason(text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `steps` and by `history add` alike."""
    file = tmp_path / "file.json"
    file.write_text(text)
    for command in (["steps", str(file)], ["history", "add", str(file), "--history", str(tmp_path / "history")]):
        assert main(command) == EXIT_USAGE
        assert told in capsys.readouterr().err


def test_metrics_that_a_history_has_no_place_for_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The history knows vLLM's metrics; others are looked at by `steps` alone."""
    bench = {"name": "fib(20)", "value": 3, "unit": "ns"}
    entry = {"commit": {"id": "a" * 40}, "date": START * 1000, "tool": "cargo", "benches": [bench]}
    file = tmp_path / "data.json"
    file.write_text(json.dumps({"entries": {"suite": [entry]}}))
    assert main(["history", "add", str(file), "--history", str(tmp_path / "history")]) == EXIT_USAGE
    assert "metrics that a history has no place for: fib(20); 'perfproof steps data.json' looks at them" in capsys.readouterr().err


def of_units(folder: Path, *levels: tuple[int, float, str]) -> Path:
    """A `data.js` of one bench, with so many entries of each value and unit."""
    each = [(value, unit) for entries, value, unit in levels for _ in range(entries)]
    entries = [
        {
            "commit": {"id": commit(place)},
            "date": (START + place * DAY) * 1000,
            "tool": "customSmallerIsBetter",
            "benches": [{"name": "lat", "value": value, "unit": unit}],
        }
        for place, (value, unit) in enumerate(each)
    ]
    path = folder / "data.js"
    path.write_text(f"window.BENCHMARK_DATA = {json.dumps({'entries': {'suite': entries}})}")
    return path


def test_a_step_is_seen_over_a_change_of_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10 s after 10 ms are a thousand times as much, at the commit that has them, and are told in the first unit."""
    assert main(["steps", str(of_units(tmp_path, (10, 10, "ms"), (10, 10, "s"))), "--json"]) == EXIT_PASS
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["at"], step["before"], step["after"]) == (commit(10)[:12], 10.0, 10_000.0)
    assert "10 ms to 10,000 ms" in step["reason"]


@pytest.mark.parametrize("units", [(("ms", 10), ("s", 0.010)), (("us", 10_000), ("ms", 10)), (("MiB", 1), ("KiB", 1024))])
def test_another_unit_for_the_same_values_is_no_step(
    units: tuple[tuple[str, float], ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """10 ms and 0.010 s are one level, and nothing is warned of."""
    assert main(["steps", str(of_units(tmp_path, *((10, value, unit) for unit, value in units))), "--json"]) == EXIT_PASS
    said = json.loads(capsys.readouterr().out)
    assert (said["steps"], [warning for warning in said["warnings"] if "unit" in warning]) == ([], [])


@pytest.mark.parametrize(("unit", "told"), [("tok/s", "ms, tok/s"), ("", "ms, no unit"), ("widgets", "ms, widgets")])
def test_units_of_different_things_part_a_series(unit: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No step is told between them; one within either is, with the unit in its series' name; the file is told what was done."""
    file = of_units(tmp_path, (10, 10, "ms"), (10, 500, unit), (10, 20, "ms"))
    assert main(["steps", str(file), "--json"]) == EXIT_PASS
    said = json.loads(capsys.readouterr().out)
    (step,) = said["steps"]
    assert (step["before"], step["after"]) == (10.0, 20.0)
    assert step["reason"].startswith("metric suite lat in ms: ")
    assert f"{file}: suite lat: values in {told} can't be converted: each is a series of its own" in said["warnings"]


# --- mistreated -------------------------------------------------------------------------------------------------

WHOLE: dict[str, Any] = {"data.js": data_js(), "hud": hud_rows()[:8], "dashboard": dashboard_rows()[:6]}
WHOLE["data.js"]["entries"]["h200"] = WHOLE["data.js"]["entries"]["h200"][:4]


@settings(max_examples=100, deadline=None)
@given(form=st.sampled_from(KINDS), choice=st.randoms(use_true_random=False), junk=JUNK, gone=st.booleans())
def test_a_history_with_anything_in_any_place_is_read_or_refused(
    form: str, choice: random.Random, junk: Any, gone: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands where, or lacks: a plain refusal, or points that can be written into a history."""
    data = copy.deepcopy(WHOLE[form])
    data = with_junk(data, choice.choice(list(places(data))), junk, gone)
    folder = tmp_path_factory.mktemp("junk")
    (folder / "file.json").write_text(json.dumps(data))
    code = main(["history", "add", str(folder / "file.json"), "--history", str(folder / "history")])
    assert code in (EXIT_PASS, EXIT_USAGE)
    assert code == EXIT_USAGE or not history.read(folder / "history").warnings
    assert main(["steps", str(folder / "file.json")]) in (EXIT_PASS, EXIT_USAGE)


@settings(max_examples=30, deadline=None)
@given(form=st.sampled_from(KINDS), choice=st.randoms(use_true_random=False))
def test_the_order_of_entries_changes_nothing(form: str, choice: random.Random, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Points stand by their dates, however the file has them."""
    data = copy.deepcopy(WHOLE[form])
    choice.shuffle(data["entries"]["h200"] if form == "data.js" else data)
    folder = tmp_path_factory.mktemp("order")
    for name, each in (("one.json", WHOLE[form]), ("other.json", data)):
        (folder / name).write_text(json.dumps(each))
    one, other = ([(p.at, p.series, p.values) for p in histories.read(folder / name).points] for name in ("one.json", "other.json"))
    assert sorted(one) == sorted(other)
    assert [at for at, _, _ in other] == sorted(at for at, _, _ in other)


@settings(max_examples=30, deadline=None)
@given(form=st.sampled_from(["data.js", "hud"]), share=st.floats(0.01, 0.99))
def test_a_history_that_was_cut_off_is_refused(form: str, share: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Half a file is no shorter history."""
    text = json.dumps(WHOLE[form])
    path = tmp_path_factory.mktemp("cut") / "file.json"
    path.write_text(text[: max(1, int(len(text) * share))])
    with pytest.raises(BadInput):
        histories.read(path)
