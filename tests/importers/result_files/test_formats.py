"""Every format of result files, on a file in its tool's real shape: what was read, what one trial is, what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfproof.importers.result_files import read
from perfproof.importers.result_files.formats import FORMATS
from perfproof.importers.result_files.source import open_source
from perfproof.model.base.errors import BadInput
from perfproof.model.records.result_runs import ResultFile, ResultRun

FILES = Path(__file__).parent / "files"
SHOWN = (
    ("vllm_serve_first.json", "vllm bench serve", 1, {"output_throughput": (2019.4585929847171, "tok/s"), "median_ttft": (None, "ms")}),
    ("vllm_serve_detailed.json", "vllm bench serve", 1, {"output_throughput": (1305.69, "tok/s"), "median_tpot": (1.43056, "ms")}),
    (
        "vllm_serve_0.19.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (1204.4120058250674, "tok/s"), "median_ttft": (6.674314000065351, "ms")},
    ),
    (
        "vllm_serve_0.28.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (1169.9702635595386, "tok/s"), "median_ttft": (7.664355499855446, "ms")},
    ),
    (
        "vllm_serve_0.29.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (1241.9423050063294, "tok/s"), "median_ttft": (5.52960200002417, "ms")},
    ),
    (
        "vllm_serve_0.31.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (1137.5195759984422, "tok/s"), "median_ttft": (8.36935649977022, "ms")},
    ),
    (
        "vllm_serve_0.27.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (923.7657881049078, "tok/s"), "median_ttft": (7.0089579999148555, "ms")},
    ),
    (
        "vllm_serve_0.30.0.json",
        "vllm bench serve",
        1,
        {"output_throughput": (1130.9292422402482, "tok/s"), "median_ttft": (6.577600500122571, "ms")},
    ),
    ("vllm_serve_lines.json", "vllm bench serve", 2, {"output_throughput": (2139.23, "tok/s")}),
    ("by_hand_vllm_serve_0.6.json", "vllm bench serve", 1, {"request_throughput": (7.843, "req/s"), "p99_itl": (240.5, "ms")}),
    (
        "by_hand_vllm_serve_pooling.json",
        "vllm bench serve",
        1,
        {"input_sequence_throughput": (7.7575, "inputs/s"), "median_e2el": (99.25, "ms")},
    ),
    ("vllm_throughput.json", "vllm bench throughput", 1, {"total_token_throughput": (648.025, "tok/s"), "duration": (0.59257, "s")}),
    ("vllm_latency.json", "vllm bench latency", 1, {"mean_latency": (0.43779, "s"), "p50_latency": (None, "s")}),
    ("by_hand_vllm_latency_0.6.json", "vllm bench latency", 1, {"mean_latency": (1.28125, "s"), "p99_latency": (1.311875, "s")}),
    ("vllm_startup.json", "vllm bench startup", 4, {"startup_time": (None, "s")}),
    ("vllm_sweep/summary.csv", "vllm bench serve (summary.csv of a sweep)", 4, {"output_throughput": (None, "tok/s")}),
    (
        "by_hand_vllm_mm_processor.json",
        "vllm bench mm-processor",
        1,
        {"median_e2el": (790.25, "ms"), "p99_apply_hf_processor": (52.0, "ms")},
    ),
    ("by_hand_sglang.jsonl", "SGLang bench_serving", 2, {"output_throughput": (312.2, "tok/s"), "median_tpot": (44.75, "ms")}),
    ("guidellm.json", "GuideLLM", 1, {"request_throughput": (18.07425, "req/s"), "median_time_to_first_token": (11.32083, "ms")}),
    ("aiperf.json", "AIPerf or genai-perf (JSON)", 1, {"output_token_throughput": (399.71455, "tok/s")}),
    (
        "aiperf.csv",
        "AIPerf or genai-perf (CSV)",
        1,
        {"output_token_throughput": (399.71, "tok/s"), "p50_inter_token_latency": (5.65, "ms")},
    ),
    ("by_hand_genai_perf.json", "AIPerf or genai-perf (JSON)", 1, {"output_token_throughput": (45.84, "tok/s")}),
    (
        "by_hand_genai_perf.csv",
        "AIPerf or genai-perf (CSV)",
        1,
        {"output_token_throughput": (45.84, "tok/s"), "p99_request_latency": (1371.25, "ms")},
    ),
)
"""A file, its format, how many trials it holds, and values of the first; None where the value is not written here."""


def numbers(run: ResultRun) -> dict[str, tuple[float, str]]:
    """A run's values with their units, by metric."""
    return {value.metric: (value.value, value.unit) for value in run.values}


def of(name: str) -> ResultFile:
    """A file of the folder, read."""
    return read(FILES / name)


@pytest.mark.parametrize(("name", "form", "runs", "values"), SHOWN)
def test_a_file_in_its_tools_shape_is_read(name: str, form: str, runs: int, values: dict[str, tuple[float | None, str]]) -> None:
    """Its format is recognised by the content alone, each run of the tool is a trial, and every value has its unit."""
    found = of(name)
    assert (found.format, len(found.runs)) == (form, runs)
    there = numbers(found.runs[0])
    for metric, (value, unit) in values.items():
        assert there[metric][1] == unit
        assert value is None or there[metric][0] == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("name", [row[0] for row in SHOWN])
def test_exactly_one_format_recognises_a_file(name: str, tmp_path: Path) -> None:
    """Whatever the file is called."""
    renamed = tmp_path / "x"
    renamed.write_bytes((FILES / name).read_bytes())
    assert sum(one.recognises(open_source(renamed)) for one in FORMATS) == 1


@pytest.mark.parametrize("name", [row[0] for row in SHOWN])
def test_every_headline_has_a_direction_and_no_spread_has_one(name: str) -> None:
    """Times fall and rates rise for the better; a standard deviation does neither."""
    for run in of(name).runs:
        assert run.values
        for value in run.values:
            assert (value.better is None) == (value.statistic == "std"), value
            if value.better:
                rate = (
                    value.unit.split("/")[0] in ("tok", "req", "inputs") or "acceptance" in value.metric or "accept_length" in value.metric
                )
                assert value.better == ("higher" if rate else "lower"), value
            assert value.better or not value.headline


@pytest.mark.parametrize("name", [row[0] for row in SHOWN if "mm_processor" not in row[0]])
def test_every_run_has_a_headline(name: str) -> None:
    """A verdict is about something."""
    for run in of(name).runs:
        assert any(value.headline for value in run.values)


def test_requests_are_no_trials() -> None:
    """The run says how many of them its values were made of."""
    assert of("vllm_serve_first.json").runs[0].inside == "200 requests"
    assert of("by_hand_sglang.jsonl").runs[0].inside == "100 requests"
    assert of("guidellm.json").runs[0].inside == "8 requests"
    assert of("vllm_latency.json").runs[0].inside == "6 batches"


def test_what_was_asked_is_kept_apart_from_what_it_ran_on() -> None:
    """The load must be alike on both sides; versions and metadata may be what is compared."""
    first = of("vllm_serve_lines.json").runs[0]
    assert first.asked["prompts"] == 8
    assert first.asked["concurrency"] == 4
    assert first.asked["request rate"] == "inf"
    assert first.setting == {"build": "a", "gpu": "none"}
    assert first.done == {"completed requests": 8, "input tokens": 256, "output tokens": 128}
    sglang = of("by_hand_sglang.jsonl").runs[0]
    assert (sglang.asked["model"], sglang.setting["SGLang"]) == ("Qwen/Qwen2.5-1.5B-Instruct", "0.5.4")
    aiperf = of("aiperf.json").runs[0]
    assert aiperf.asked == {
        "model": "toy",
        "endpoint": "completions",
        "streaming": "True",
        "input length": "32",
        "output length": "16",
        "requests": "24",
        "concurrency": "4",
    }
    assert of("by_hand_genai_perf.json").runs[0].asked["model"] == "llama-3.1-8b-instruct"


def test_no_limit_of_concurrency_is_a_load_of_its_own() -> None:
    """vLLM writes null where no limit was asked; a file of a version without the key says nothing."""
    assert of("by_hand_vllm_serve_pooling.json").runs[0].asked["concurrency"] == "no limit"
    assert "concurrency" not in of("by_hand_vllm_serve_0.6.json").runs[0].asked


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("by_hand_vllm_serve_0.6.json", 1730801730.0),
        ("by_hand_vllm_mm_processor.json", 1773220500.125),
        ("guidellm.json", 1795966545.28),
        ("aiperf.json", 1795966455.512),
        ("vllm_throughput.json", None),
    ],
)
def test_a_date_is_read_where_a_file_has_one(name: str, at: float | None) -> None:
    """A date without a zone counts as one of UTC: only the order is used."""
    assert of(name).runs[0].at == (at if at is None else pytest.approx(at))


def test_each_start_of_a_startup_benchmark_is_a_trial() -> None:
    """Each has a process of its own; cold and warm ones are two benchmarks."""
    assert [run.benchmark for run in of("vllm_startup.json").runs] == ["cold start"] * 2 + ["warm start"] * 2


def test_what_is_no_measurement_is_left_out_by_name() -> None:
    """A time per token of -3.1 ms is a fault of the client, and an encoder that never ran took no time."""
    second = of("by_hand_sglang.jsonl").runs[1]
    assert "median_tpot" not in numbers(second)
    assert any("median_tpot_ms is -3.1" in each for each in second.left_out)
    assert any("encoder_forward_ms" in each for each in of("by_hand_vllm_mm_processor.json").runs[0].left_out)


def test_a_run_whose_requests_all_failed_has_no_rate() -> None:
    """Its zeros are left out, and the failures are said."""
    (run,) = of("guidellm_all_failed.json").runs
    assert not any(value.headline for value in run.values)
    assert run.doubts == ("of its requests, 8 errored; those do not count in its times",)


def test_guidellms_time_per_output_token_is_not_vllms() -> None:
    """It includes the first token, so it has another name."""
    there = numbers(of("guidellm.json").runs[0])
    assert "mean_time_per_output_token_with_first" in there
    assert not any(name.endswith("_tpot") for name in there)


def test_a_sweeps_rows_are_its_runs() -> None:
    """Row by row the same values as the JSON of each run, and the options that the sweep changed are asked."""
    rows = of("vllm_sweep/summary.csv").runs
    singles = [of(str(path.relative_to(FILES))).runs[0] for path in sorted((FILES / "vllm_sweep").rglob("run=*.json"))]
    assert len(singles) == len(rows) == 4
    assert {json.dumps(numbers(run), sort_keys=True) for run in rows} == {json.dumps(numbers(run), sort_keys=True) for run in singles}
    assert {float(run.asked["concurrency"]) for run in rows} == {1, 4}
    assert {run.asked["request rate"] for run in (*rows, *singles)} == {"inf"}


def test_a_warm_up_is_no_run(tmp_path: Path) -> None:
    """A sweep writes it beside its runs, with the number -1."""
    warm = json.loads((FILES / "vllm_serve_first.json").read_text()) | {"run_number": -1}
    (path := tmp_path / "warmup.json").write_text(json.dumps(warm))
    with pytest.raises(BadInput, match="without a run; a warm-up is none"):
        read(path)


def test_requests_that_failed_are_said(tmp_path: Path) -> None:
    """A server that answers half of the prompts is fast."""
    half = json.loads((FILES / "vllm_serve_first.json").read_text()) | {"completed": 100, "failed": 100}
    (path := tmp_path / "half.json").write_text(json.dumps(half))
    assert "100 of 200 requests were completed" in read(path).runs[0].doubts[0]


def test_results_of_lm_eval_are_sent_to_their_own_verb() -> None:
    """They hold answers, not times."""
    for path in sorted((FILES.parents[2] / "data/lm_eval").iterdir())[:2]:
        with pytest.raises(BadInput, match="is of lm_eval: perfproof accuracy BASELINE CANDIDATE"):
            read(path)


def test_no_failed_request_is_a_count_like_others(tmp_path: Path) -> None:
    """0 errors are measured; 0 tokens a second are not."""
    found = json.loads((FILES / "aiperf.json").read_text())
    found |= {"error_request_count": {"unit": "requests", "avg": 0.0}, "goodput": {"unit": "requests/sec", "avg": 0.0}}
    (path := tmp_path / "x.json").write_text(json.dumps(found))
    (run,) = read(path).runs
    assert numbers(run)["failed"] == (0.0, "")
    assert "goodput" not in numbers(run)
