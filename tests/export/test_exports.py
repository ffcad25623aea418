"""Exported trials: whole, in the shapes that other tools take, and read back where we read them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pytest_benchmark.stats import Stats

from perfproof import store
from perfproof.analysis.stats.samples import typical
from perfproof.cli import main, report_command
from perfproof.export import trials as exports
from perfproof.export.format import Exported
from perfproof.export.formats import FORMATS
from perfproof.export.formats.pytest_benchmark import statistics_of
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.records.record import Record
from tests.export import rules
from tests.factory import DEFINITION, record, run

SERVED = Path(__file__).resolve().parents[2] / "results" / "serve-cpu"
BEFORE, AFTER = [0.040, 0.041, 0.042, 0.040, 0.043, 0.041], [0.030, 0.031, 0.029, 0.030, 0.032, 0.031]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return stored(tmp_path / "results", run(BEFORE, AFTER))


def stored(folder: Path, records: list[Record]) -> Path:
    for one in records:
        store.append(folder, one)
    return folder


def exported(records: list[Record]) -> Exported:
    return Exported(trials=records, left_out=(), results="results", judged=list)


def texts(form: str, records: list[Record]) -> dict[str, str]:
    chosen = next(one for one in FORMATS if one.name == form)
    return {name: str(content) for name, content in chosen.files(exported(records)).items()}


def printed(capsys: pytest.CaptureFixture[str], results: Path, form: str, *more: str) -> str:
    assert main(["export", str(results), "--format", form, *more]) == EXIT_PASS
    return capsys.readouterr().out


def test_the_help_names_every_format_there_is() -> None:
    """The command's list, which imports nothing, is the tuple's."""
    assert [name for name, _ in report_command.FORMATS] == [one.name for one in FORMATS]


# --- github-action-benchmark ------------------------------------------------------------------------------------


def test_each_direction_has_a_file_for_github_action_benchmark() -> None:
    """Throughputs lie in the file of the bigger, times in that of the smaller; both keep the action's rules."""
    trials, _ = exports.counted(store.read(SERVED).records)
    files = {name: json.loads(text) for name, text in texts("github-action-benchmark", trials).items()}
    assert set(files) == {"customSmallerIsBetter.json", "customBiggerIsBetter.json"}
    for entries in files.values():
        assert not list(rules.of_github_action(entries))
    smaller, bigger = ([entry["name"].split(" / ")[1] for entry in files[name]] for name in sorted(files, reverse=True))
    assert {"median_ttft", "peak_memory"} <= set(smaller)
    assert {"output_throughput", "kv_blocks"} <= set(bigger)
    assert not set(smaller) & set(bigger)


def test_an_entry_is_the_typical_trial_with_its_spread(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The value is the geometric mean, whose ratio is the effect; range and extra tell the spread and how many trials."""
    entries = json.loads(printed(capsys, results, "github-action-benchmark"))
    after = next(entry for entry in entries if entry["name"] == "swap_states / round_time / after")
    assert after["value"] == pytest.approx(typical(AFTER))
    assert after["range"].startswith("± 0.00104881")
    assert after["extra"].startswith("6 trials\n")


# --- PyTorch's benchmark database -------------------------------------------------------------------------------


def test_rows_for_pytorchs_database_hold_every_trial() -> None:
    """The rows keep the schema's rules, and benchmark_values are the trials in their order."""
    trials, _ = exports.counted(store.read(SERVED).records)
    rows = json.loads(texts("pytorch-hud", trials)["perfproof.json"])
    assert not list(rules.of_pytorch_hud(rows))
    for row in rows:
        own = [t for t in trials if (t.scenario, t.arm) == (row["benchmark"]["name"], row["benchmark"]["extra_info"]["arm"])]
        values = [{**t.measurements, **t.witnesses}[row["metric"]["name"]] for t in own]
        assert row["metric"]["benchmark_values"] == values
        assert row["dependencies"]["vllm"]["version"] == own[0].attestation.vllm_version  # type: ignore[union-attr]


# --- OpenMetrics ------------------------------------------------------------------------------------------------


def test_the_openmetrics_text_is_read_by_prometheus_own_parser() -> None:
    """Every series is a sample with its value, its unit in the name, and its arm in the labels."""
    trials, _ = exports.counted(store.read(SERVED).records)
    families = {one.name: one for one in text_string_to_metric_families(texts("openmetrics", trials)["perfproof.om"])}
    assert families["perfproof_median_ttft_seconds"].unit == "seconds"
    assert families["perfproof_output_throughput_tokens_per_second"].unit == "tokens_per_second"
    found = [
        sample for name, one in families.items() if name not in ("perfproof_trials", "perfproof_spread_ratio") for sample in one.samples
    ]
    assert sorted(sample.value for sample in found) == sorted(one.typical for one in exports.series(trials))
    assert {sample.labels["arm"] for sample in found} == {trial.arm for trial in trials}
    assert all(sample.value == 6 for sample in families["perfproof_trials"].samples if sample.labels["scenario"] == "serve_penalties_cpu")


# --- tables -----------------------------------------------------------------------------------------------------


def test_the_table_is_judged_as_the_records_are(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`judge` on the exported CSV has the verdict, effect and interval of `compare` on the folder."""
    table = tmp_path / "trials.csv"
    assert main(["export", str(results), "--format", "csv", "--out", str(table)]) == EXIT_PASS
    assert main(["compare", "--results", str(results), "--json"]) == EXIT_PASS
    compared = capsys.readouterr().out
    own = next(one for one in json.loads(compared[compared.index("{") :])["comparisons"] if one["metric"] == "round_time")
    main(["judge", str(table), "--metric", "round_time", "--better", "lower", "--interleaved", "--json"])
    judged = json.loads(capsys.readouterr().out)["comparisons"][0]
    for key in ("baseline", "candidate", "blocks", "effect", "interval", "verdict"):
        assert judged[key] == own[key], key


def test_parquet_holds_the_rows_of_the_csv(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same columns and cells, numbers as numbers."""
    table = tmp_path / "trials.parquet"
    assert main(["export", str(results), "--format", "parquet", "--out", str(table)]) == EXIT_PASS
    capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed(capsys, results, "csv"))))
    read = pyarrow.parquet.read_table(table).to_pylist()
    assert [{name: str(cell) for name, cell in row.items()} for row in read] == rows
    assert read[0]["value"] == 0.04


def test_parquet_without_pyarrow_says_what_to_install(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyarrow is an extra: one sentence names it."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(results), "--format", "parquet", "--out", str(tmp_path / "t.parquet")]) == EXIT_UNTESTABLE
    assert "pip install 'perfproof[parquet]'" in capsys.readouterr().err


# --- perf-eval --------------------------------------------------------------------------------------------------


def test_rows_of_the_dashboard_are_seconds_and_per_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """A row a serving trial, by perf-eval's rules; what isn't served leaves none."""
    trials, _ = exports.counted(store.read(SERVED).records)
    rows = [json.loads(text) for text in texts("perf-eval", trials)["rows.jsonl"].splitlines()]
    assert not [fault for row in rows for fault in rules.of_perf_eval(row)]
    assert len(rows) == sum("output_throughput" in trial.measurements for trial in trials) < len(trials)
    assert (rows[0]["device"], rows[0]["conc"], rows[0]["isl"], rows[0]["osl"]) == ("cpu", 64, 16, 2048)
    assert rows[0]["median_ttft"] == trials[0].measurements["median_ttft"]


def served(**environment: Any) -> Record:
    """A serving trial of a toy, in an environment."""
    workload = {"kind": "serve", "model": "facebook/opt-125m", "client": {"max-concurrency": 8}, "requests": 16, "launches": "fresh"}
    measured = {"output_throughput": 400.0, "total_token_throughput": 600.0, "mean_tpot": 0.02, "mean_ttft": 0.1}
    work = {"requests": 16, "input_tokens": 16 * 100, "output_tokens": 16 * 200}
    return record({**DEFINITION, "workload": workload}, measurements=measured, witnesses={}, raw={}, work=work, environment=environment)


def test_a_row_of_the_dashboard_takes_its_device_and_its_parallelism_from_what_ran() -> None:
    """GPUs, tensor and data parallelism, precision and speculation are read from the server's arguments, in either spelling."""
    arguments = ["serve", "--tensor-parallel-size=4", "-dp", "2", "--quantization", "fp8", "--enable-expert-parallel"]
    trial = served(gpus=[{"name": "NVIDIA H200"}] * 8, server_arguments=[*arguments, '--speculative-config={"method": "ngram"}'])
    row = json.loads(texts("perf-eval", [trial])["rows.jsonl"])
    assert not list(rules.of_perf_eval(row))
    assert (row["device"], row["tp"], row["ep"], row["precision"], row["spec_decoding"]) == ("h200", 8, 8, "fp8", "true")
    assert (row["tput_per_gpu"], row["input_tput_per_gpu"], row["isl"], row["osl"], row["mean_intvty"]) == (75, 25, 100, 200, 50)


# --- pytest-benchmark -------------------------------------------------------------------------------------------


def on_a_fence(rounds: list[float]) -> bool:
    """Whether a round lies so near the bound of an outlier that the last digit of the mean decides."""
    mean, spread = statistics.mean(rounds), statistics.stdev(rounds) if len(rounds) > 1 else 0.0
    return any(math.isclose(abs(value - mean), spread, rel_tol=1e-9, abs_tol=1e-15) for value in rounds)


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40))
def test_the_statistics_are_pytest_benchmarks_own(rounds: list[float]) -> None:
    """Every figure is the one that pytest-benchmark makes of the same rounds."""
    own = Stats()
    for value in rounds:
        own.update(value)
    found = statistics_of(rounds)
    for name in Stats.fields:
        expected = getattr(own, name)
        if name in ("stddev_outliers", "outliers") and on_a_fence(rounds):
            continue
        assert found[name] == (expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-9)), name


def test_pytest_benchmark_compares_the_files(results: Path, tmp_path: Path) -> None:
    """A file a trial, which pytest-benchmark's own command reads."""
    out = tmp_path / "files"
    assert main(["export", str(results), "--format", "pytest-benchmark", "--out", str(out)]) == EXIT_PASS
    files = sorted(out.rglob("*.json"))
    assert [str(file.relative_to(out)) for file in files[:2]] == ["swap_states/after/block_001.json", "swap_states/after/block_002.json"]
    command = [sys.executable, "-m", "pytest_benchmark", "compare", *map(str, files), "--columns=median"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "benchmark: 12 tests" in done.stdout


# --- the checklist's table --------------------------------------------------------------------------------------


def test_the_table_for_a_pull_request_has_all_that_is_asked_for(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Configuration, both sides, the difference with its interval, runs, variability and commands."""
    text = printed(capsys, results, "vllm-checklist")
    assert "- Configuration: microbenchmark swap_states" in text
    assert "- Baseline: before" in text
    assert "- Changed: after" in text
    row = next(line for line in text.splitlines() if line.startswith("| round time"))
    assert "improved" in row
    assert "| 6 + 6 |" in row
    assert row.count("±") == 2
    assert "perfproof run scenarios/swap_states.yaml" in text


# --- what is left out, and what is refused ----------------------------------------------------------------------


def test_trials_that_do_not_count_are_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failed trial has no line, and the count of those is told beside the file."""
    trials = run(BEFORE, AFTER)
    trials[3] = dataclasses.replace(trials[3], status="failed", reason="crashed", measurements={}, witnesses={}, raw={})
    folder = stored(tmp_path / "results", trials)
    assert main(["export", str(folder), "--format", "csv"]) == EXIT_PASS
    streams = capsys.readouterr()
    assert streams.out.count("round_time") == 11
    assert "1 of 12 trials left out (1 failed)" in streams.err
    assert "Not counted: swap_states: 1 of 12 trials left out (1 failed)" in printed(capsys, folder, "vllm-checklist").replace("\\", "")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--format", "csv", "--scenario", "swap"], "--scenario swap: there is none of that name; there are swap_states"),
        (["--format", "csv", "--arm", "pr"], "--arm pr: there is none of that name; there are after, before"),
        (["--format", "pytest-benchmark"], "makes 12 files"),
        (["--format", "parquet"], "makes no text"),
        (["--format", "perf-eval"], "no trial of a server under load"),
        (["--format", "vllm-checklist", "--arm", "after"], "has no trial of the baseline and of a change"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_its_reason(
    more: list[str], told: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown names, formats of several files without a folder, and trials that a format has no place for."""
    assert main(["export", str(results), *more]) == EXIT_USAGE
    assert told in capsys.readouterr().err


def test_a_metric_that_nobody_knows_is_named() -> None:
    """Its values are left out, for nobody knows their unit or direction."""
    _, notes = exports.counted([record(measurements={"round_time": 0.04, "warp_factor": 9.0})])
    assert notes == ["metrics that perfproof doesn't know are left out: warp_factor"]


def test_one_arm_alone_is_exported(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--arm` and `--scenario` choose."""
    rows = list(csv.DictReader(io.StringIO(printed(capsys, results, "csv", "--arm", "after", "--scenario", "swap_states"))))
    assert {row["arm"] for row in rows} == {"after"}


NAMES = st.text(min_size=1, max_size=30)
FORMS = [one.name for one in FORMATS if one.name not in ("perf-eval", "vllm-checklist")]


@settings(max_examples=40, deadline=None)
@given(NAMES, NAMES, NAMES, st.sampled_from(FORMS))
def test_names_of_others_break_no_format_and_lead_nowhere(scenario: str, arm: str, build: str, form: str) -> None:
    """Whatever a scenario, an arm or a build is called, the files keep their rules and lie in the folder."""
    definition = {**DEFINITION, "name": scenario, "arms": {arm: DEFINITION["arms"]["before"]}}
    trial = record(definition, environment={"build": build, "gpus": [{"name": build}]})
    files = next(one for one in FORMATS if one.name == form).files(exported([trial]))
    for name, content in files.items():
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
        if form == "openmetrics":
            samples = [one for family in text_string_to_metric_families(str(content)) for one in family.samples]
            assert len(samples) == 4
        elif form == "csv":
            rows = list(csv.DictReader(io.StringIO(str(content))))
            assert [float(row["value"]) for row in rows] == [0.04, 1024.0]
        elif form == "github-action-benchmark":
            assert not list(rules.of_github_action(json.loads(str(content))))
        elif form == "pytorch-hud":
            assert not list(rules.of_pytorch_hud(json.loads(str(content))))
        elif form == "pytest-benchmark":
            assert json.loads(str(content))["benchmarks"][0]["stats"]["data"] == [0.04, 0.041]
