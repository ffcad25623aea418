"""Result files of frameworks for microbenchmarks.

The files in `frameworks/` were written by the tools themselves (pytest-benchmark 5.3.1, pyperf 2.11.0, Google Benchmark 1.7.1, hyperfine
1.15.0, asv 0.6.6), that of github-action-benchmark by hand. They are shortened by single rounds, and paths in them made plain; no number
was changed.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.cli import main
from perfproof.importers import result_files
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.records.result_runs import ResultFile, ResultRun
from tests.mistreated import JUNK, places, with_junk

FILES = Path(__file__).parent / "frameworks"
RESULTS = Path(__file__).resolve().parents[3] / "results" / "reference"
NAMES = sorted(path.name for path in FILES.glob("*.json"))


def content(name: str) -> Any:
    return json.loads((FILES / name).read_text())


def read(name: str) -> ResultFile:
    return result_files.read(FILES / name)


def written(folder: Path, content_: Any) -> ResultFile:
    path = folder / "file.json"
    path.write_text(json.dumps(content_))
    return result_files.read(path)


def values(run: ResultRun) -> dict[str, float]:
    return {value.metric: value.value for value in run.values}


# --- pytest-benchmark -------------------------------------------------------------------------------------------


def test_a_file_of_pytest_benchmark_is_one_trial_of_each_benchmark() -> None:
    """Its rounds are none; the median is judged, the deviation has no direction."""
    found = read("pytest_benchmark.json")
    assert (found.tool, found.trial) == ("pytest-benchmark", "one file, for it is one process")
    assert [run.benchmark for run in found.runs] == ["test_x.py::test_sum[10]", "test_x.py::test_sum[20]"]
    own = content("pytest_benchmark.json")["benchmarks"][0]["stats"]
    assert values(found.runs[0])["median_time"] == own["median"]
    assert [value.metric for value in found.runs[0].values if value.headline] == ["median_time"]
    assert next(value for value in found.runs[0].values if value.statistic == "std").better is None
    assert found.runs[0].inside == f"{own['rounds']} rounds of {own['iterations']} iterations"
    assert found.runs[0].setting["Python"] == "3.11.7"


def test_a_benchmark_that_is_there_twice_is_no_second_trial(tmp_path: Path) -> None:
    """A file is one process: two entries of one name are a fault."""
    data = content("pytest_benchmark.json")
    data["benchmarks"].append(data["benchmarks"][0])
    with pytest.raises(BadInput, match=r"test_sum\[10\] is there twice"):
        written(tmp_path, data)


def test_numbers_of_a_benchmarks_own_are_named_as_left_out(tmp_path: Path) -> None:
    """extra_info may hold anything: what is a number is said to be left out."""
    data = content("pytest_benchmark.json")
    data["benchmarks"][0]["extra_info"] = {"tokens": 12, "note": "x"}
    assert written(tmp_path, data).runs[0].left_out == ("extra_info: tokens, a number of the benchmark's own",)


def test_a_build_with_changes_is_no_plain_commit(tmp_path: Path) -> None:
    """A dirty checkout is said with its commit."""
    data = content("pytest_benchmark.json")
    data["commit_info"] |= {"id": "abc123", "dirty": True}
    assert written(tmp_path, data).runs[0].setting["commit"] == "abc123 with changes"


def test_exported_trials_are_judged_as_their_records_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export --format pytest-benchmark` and `judge` on the two folders: the verdict and effect of `compare`."""
    out = tmp_path / "out"
    assert main(["export", str(RESULTS), "--format", "pytest-benchmark", "--scenario", "swap_states", "--out", str(out)]) == EXIT_PASS
    capsys.readouterr()
    main(["compare", "--results", str(RESULTS), "--json"])
    compared = next(
        one
        for one in json.loads(capsys.readouterr().out)["comparisons"]
        if (one["scenario"], one["metric"]) == ("swap_states", "round_time")
    )
    sides = [str(out / "swap_states" / compared[name]) for name in ("baseline", "candidate")]
    main(["judge", *sides, "--interleaved", "--metric", "median_time", "--json"])
    judged = next(one for one in json.loads(capsys.readouterr().out)["comparisons"] if one["metric"] == "median_time")
    assert (judged["verdict"], judged["blocks"]) == (compared["verdict"], compared["blocks"])
    assert judged["effect"] == pytest.approx(compared["effect"])


# --- pyperf -----------------------------------------------------------------------------------------------------


def test_pyperfs_processes_are_trials_and_its_values_are_none() -> None:
    """A run a process that measured, with the mean of its values and its date; the one that calibrated is passed over."""
    found = read("pyperf.json")
    assert (found.tool, found.trial) == ("pyperf", "one of its processes")
    for benchmark in content("pyperf.json")["benchmarks"]:
        own = [each for each in benchmark["runs"] if "values" in each]
        runs = [run for run in found.runs if run.benchmark == benchmark["metadata"]["name"]]
        assert [values(run)["time"] for run in runs] == [pytest.approx(fmean(each["values"])) for each in own]
        assert len({run.at for run in runs}) == len(runs) == 4
    assert found.runs[0].inside == "3 values of 64 loops"
    assert found.runs[0].setting["pyperf"] == "2.11.0"
    calibrated = [each for each in content("pyperf_command.json")["benchmarks"][0]["runs"] if "values" not in each]
    assert len(calibrated) == 1
    assert len(read("pyperf_command.json").runs) == 2


def test_what_pyperf_counts_in_bytes_is_memory(tmp_path: Path) -> None:
    """The unit is pyperf's; another one is a fault."""
    data = content("pyperf_command.json")
    data["metadata"]["unit"] = "byte"
    value = written(tmp_path, data).runs[0].values[0]
    assert (value.metric, value.unit, value.better) == ("memory", "B", "lower")
    data["metadata"]["unit"] = "fortnight"
    with pytest.raises(BadInput, match="unit: fortnight is none of second, byte, integer"):
        written(tmp_path, data)


def test_processes_that_only_calibrated_are_no_trials(tmp_path: Path) -> None:
    """A file of nothing but calibration holds no run."""
    data = content("pyperf.json")
    for benchmark in data["benchmarks"]:
        benchmark["runs"] = [each for each in benchmark["runs"] if "values" not in each] or [{"warmups": [[1, 0.1]]}]
    with pytest.raises(BadInput, match="no benchmark in it has a value"):
        written(tmp_path, data)


# --- Google Benchmark -------------------------------------------------------------------------------------------


def test_a_file_of_google_benchmark_is_one_trial_of_each_benchmark() -> None:
    """Times in the file's unit, rates higher, counters without a direction; a library built for debugging is doubted once."""
    found = read("google_benchmark.json")
    assert [run.benchmark for run in found.runs] == ["BM_Sum/64", "BM_Sum/512"]
    told = {value.metric: (value.unit, value.better, value.headline) for value in found.runs[0].values}
    assert told == {
        "real_time": ("ns", "lower", True),
        "cpu_time": ("ns", "lower", False),
        "entries": ("", None, False),
        "items_per_second": ("items/s", "higher", False),
    }
    assert [len(run.doubts) for run in found.runs] == [1, 0]
    assert found.runs[0].left_out == ("BM_Broken: failed: no device",)
    assert found.runs[0].at == 1795967570


def test_repetitions_of_one_process_are_one_trial() -> None:
    """Their median is taken; where the file has aggregates alone, the median that it has."""
    for name in ("google_benchmark_repetitions.json", "google_benchmark_aggregates.json"):
        entries = [each for each in content(name)["benchmarks"] if each["run_name"] == "BM_Sum/64"]
        found = [run for run in read(name).runs if run.benchmark == "BM_Sum/64"]
        own = [each["real_time"] for each in entries if each["run_type"] == "iteration"]
        expected = median(own) if own else next(each["real_time"] for each in entries if each["aggregate_name"] == "median")
        assert [values(run)["real_time"] for run in found] == [expected]
        assert "repetitions" in found[0].inside


def test_repetitions_in_two_units_are_a_fault(tmp_path: Path) -> None:
    """No median is made of nanoseconds and milliseconds."""
    data = content("google_benchmark_repetitions.json")
    data["benchmarks"][0]["time_unit"] = "ms"
    with pytest.raises(BadInput, match="time_unit"):
        written(tmp_path, data)


# --- hyperfine --------------------------------------------------------------------------------------------------


def test_hyperfines_launches_are_trials() -> None:
    """Each launch of a command is a process of its own; nothing says when it was."""
    found = read("hyperfine.json")
    assert (found.tool, found.trial) == ("hyperfine", "one launch of the command")
    for result in content("hyperfine.json")["results"]:
        runs = [run for run in found.runs if run.benchmark == result["command"]]
        assert [values(run)["time"] for run in runs] == result["times"]
        assert {run.at for run in runs} == {None}
    assert [run.benchmark for run in read("hyperfine_parameters.json").runs[::3]] == ["sleep 0.01", "sleep 0.02"]


def test_launches_that_failed_are_doubted(tmp_path: Path) -> None:
    """hyperfine goes on after an error where it is told to: the file's exit codes say so."""
    data = content("hyperfine.json")
    data["results"][0]["exit_codes"] = [0, 1, 1, 0, 0]
    assert written(tmp_path, data).runs[0].doubts == ("2 of 5 launches ended with an error, and hyperfine went on",)


def test_launches_that_the_file_does_not_keep_are_no_trials(tmp_path: Path) -> None:
    """Of statistics alone, one run is left, which says so."""
    data = content("hyperfine.json")
    for result in data["results"]:
        del result["times"]
    found = written(tmp_path, data)
    assert [run.inside for run in found.runs] == ["launches, of which the file keeps statistics alone"] * 2
    assert values(found.runs[0]) == {"mean_time": data["results"][0]["mean"], "median_time": data["results"][0]["median"]}


# --- asv --------------------------------------------------------------------------------------------------------


def test_a_file_of_asv_is_one_trial_of_each_benchmark_and_case() -> None:
    """Cases are named by their parameters, units come from the kind of benchmark, and what failed is told."""
    found = read("asv.json")
    told = {run.benchmark: (run.values[0].metric, run.values[0].unit, run.values[0].better, run.values[0].value) for run in found.runs}
    own = content("asv.json")["results"]
    assert told["sums.Sums.time_sum(1000, 'list')"] == ("time", "s", "lower", own["sums.Sums.time_sum"][0][2])
    assert told["sums.mem_list"] == ("memory", "B", "lower", 2104)
    assert told["sums.peakmem_list"][:3] == ("peak_memory", "B", "lower")
    assert told["sums.track_count"] == ("value", "", None, 42)
    assert found.runs[0].left_out == ("sums.time_broken: failed, or was skipped",)
    assert found.runs[0].at == own["sums.Sums.time_sum"][3] / 1000
    assert found.runs[0].setting["machine"] == "builder"


def test_an_older_result_of_asv_is_refused_with_what_rewrites_it(tmp_path: Path) -> None:
    """Version 1 has other columns."""
    data = content("asv.json") | {"version": 1}
    with pytest.raises(BadInput, match="version: 1 is not 2: let a newer asv rewrite it"):
        written(tmp_path, data)


def test_results_that_do_not_fit_their_parameters_are_a_fault(tmp_path: Path) -> None:
    """Of four cases and three results nobody knows which is missing."""
    data = content("asv.json")
    data["results"]["sums.Sums.time_sum"][0].pop()
    with pytest.raises(BadInput, match="3 results do not fit its parameters"):
        written(tmp_path, data)


# --- github-action-benchmark ------------------------------------------------------------------------------------


def test_exported_entries_come_back_with_their_directions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export --format github-action-benchmark` and the reader: the same values, each with its metric's direction."""
    out = tmp_path / "out"
    out.mkdir()
    assert (
        main(["export", str(RESULTS), "--format", "github-action-benchmark", "--scenario", "swap_states", "--out", str(out)]) == EXIT_PASS
    )
    (file,) = out.iterdir()
    (run,) = result_files.read(file).runs
    assert values(run) == {entry["name"]: entry["value"] for entry in json.loads(file.read_text())}
    assert {value.better for value in run.values} == {"lower"}
    assert {value.unit for value in run.values} == {"s", "B"}


def test_custom_entries_have_the_direction_of_their_name_or_none(tmp_path: Path) -> None:
    """The file has no direction: "startup time" has one by its name, a score has none and is not judged; a name twice is a fault."""
    entries = [{"name": "startup time", "unit": "ms", "value": 12}, {"name": "score", "unit": "points", "value": 3, "range": "± 1"}]
    (run,) = written(tmp_path, entries).runs
    assert [(value.metric, value.unit, value.better, value.headline) for value in run.values] == [
        ("startup time", "ms", "lower", True),
        ("score", "points", None, False),
    ]
    with pytest.raises(BadInput, match="score is there twice"):
        written(tmp_path, [*entries, entries[1]])


# --- PyTorch's benchmark database -------------------------------------------------------------------------------


def hud_row(name: str, values: list[Any], **more: Any) -> dict[str, Any]:
    """A row as vLLM's benchmarks write it."""
    args = {"model": "m", "max_concurrency": 4}
    return {
        "benchmark": {"name": "vLLM benchmark", "extra_info": {"args": args}},
        "model": {"name": "m"},
        "metric": {"name": name, "benchmark_values": values, "extra_info": {}},
        **more,
    }


def test_rows_of_a_serving_run_are_its_latencies() -> None:
    """Deviations within the run have no direction and are not judged."""
    (run,) = read("pytorch_hud.json").runs
    ways = {value.metric: (value.better, value.headline) for value in run.values}
    assert (ways["median_ttft"], ways["std_itl"]) == (("lower", True), (None, False))
    assert (run.asked["num_prompts"], run.asked["request_rate"]) == (8, "inf")


def test_a_file_of_hud_rows_is_one_run_of_vllms_benchmark(tmp_path: Path) -> None:
    """The batches of its one process are no trials: their median is taken; what was asked is compared."""
    (run,) = written(tmp_path, [hud_row("latency", [2.0, 1.0, 9.0]), hud_row("mean_ttft_ms", [12.5])]).runs
    assert values(run) == {"latency": 2.0, "mean_ttft": 12.5}
    assert {value.metric: (value.unit, value.better) for value in run.values}["mean_ttft"] == ("ms", "lower")
    assert (run.benchmark, run.asked["max_concurrency"], run.inside) == ("vLLM benchmark, m", 4, "3 values")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([hud_row("latency", [1.0]), hud_row("latency", [2.0])], "latency of vLLM benchmark, m is there twice"),
        ([hud_row("latency", ["1.0"])], "expected a number, got a text"),
        ([hud_row("", [1.0])], "name: expected a text"),
        ([hud_row("latency", [])], "no benchmark in it has a value"),
    ],
)
def test_hud_rows_that_cannot_be_compared_are_refused(rows: list[Any], told: str, tmp_path: Path) -> None:
    """With what is wrong with them."""
    with pytest.raises(BadInput, match=told):
        written(tmp_path, rows)


def test_exported_hud_rows_are_trials_of_one_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export --format pytorch-hud` and the reader: each value is a trial, with its metric's direction; two arms in a file are refused."""
    asked = ["export", str(RESULTS), "--format", "pytorch-hud", "--scenario", "swap_states"]
    assert main([*asked, "--out", str(tmp_path / "all.json")]) == EXIT_PASS
    rows = json.loads((tmp_path / "all.json").read_text())
    with pytest.raises(BadInput, match="write one arm a file"):
        result_files.read(tmp_path / "all.json")
    arm = rows[0]["benchmark"]["extra_info"]["arm"]
    own = {row["metric"]["name"]: row["metric"] for row in rows if row["benchmark"]["extra_info"]["arm"] == arm}
    assert main([*asked, "--arm", arm, "--out", str(tmp_path / "one.json")]) == EXIT_PASS
    runs = result_files.read(tmp_path / "one.json").runs
    for name, metric in own.items():
        assert [found for run in runs if (found := values(run).get(name)) is not None] == [one for one in metric["benchmark_values"] if one]
    assert all(value.better == own[value.metric]["extra_info"]["better"] for run in runs for value in run.values)


# --- any of them, mistreated ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_a_trial_is_and_what_is_none_is_said(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`judge` on two files of a tool says what one trial is, and that what lies within it is none."""
    other = tmp_path / name
    data = content(name)
    scaled(data)
    other.write_text(json.dumps(data))
    assert main(["judge", str(FILES / name), str(other)]) == EXIT_PASS
    assert f"a trial is {read(name).trial}" in capsys.readouterr().out


def scaled(data: Any) -> None:
    """Every time a thousandth longer, so that the file is another run's."""
    for place, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        if isinstance(value, dict | list):
            scaled(value)
        elif type(value) is float:
            data[place] = value * 1.001


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(NAMES), choice=st.randoms(use_true_random=False), junk=JUNK, gone=st.booleans())
def test_a_file_with_anything_in_any_place_is_read_or_refused(
    name: str, choice: random.Random, junk: Any, gone: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands where, or lacks: a plain refusal that names the file, or runs whose values are finite and above 0."""
    data = content(name)
    data = with_junk(data, choice.choice(list(places(data))), junk, gone)
    found, faults = attempted(tmp_path_factory.mktemp("junk"), data)
    assert all(("file.json" in fault or fault.startswith("and ")) and "\x1b" not in fault for fault in faults)
    assert bool(found) is not bool(faults)
    assert all(run.values and all(math.isfinite(value.value) and value.value >= 0 for value in run.values) for run in found)


def attempted(folder: Path, data: Any) -> tuple[tuple[ResultRun, ...], list[str]]:
    """The runs of a file, or its faults."""
    try:
        return written(folder, data).runs, []
    except BadInput as error:
        return (), list(error.faults)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), share=st.floats(0.01, 0.99))
def test_a_file_that_was_cut_off_is_refused(name: str, share: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Half a file is no file of fewer runs."""
    text = (FILES / name).read_text().strip()
    path = tmp_path_factory.mktemp("cut") / "file.json"
    path.write_text(text[: int(len(text) * share)])
    with pytest.raises(BadInput):
        result_files.read(path)


def shuffled(data: Any, choice: random.Random) -> Any:
    if isinstance(data, dict):
        items = [(key, shuffled(value, choice)) for key, value in data.items()]
        return dict(choice.sample(items, len(items)))
    return [shuffled(each, choice) for each in data] if isinstance(data, list) else data


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), choice=st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(name: str, choice: random.Random, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Objects have no order: the same runs come out, with the same values."""
    folder = tmp_path_factory.mktemp("order")
    one, other = written(folder, content(name)), written(folder, shuffled(content(name), choice))
    key = lambda run: (run.benchmark, sorted(values(run).items()))  # noqa: E731
    assert sorted(map(key, one.runs)) == sorted(map(key, other.runs))
