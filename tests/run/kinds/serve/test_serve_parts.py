"""The pure parts of the serve runner: result files, arguments, launch commands, metrics pages, diagnoses."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.child.client import near
from perfproof.model.kinds.serve import ServeWorkload, default_warmups, one_wave, requests_for
from perfproof.model.scenarios.metrics import METRICS
from perfproof.model.scenarios.scenario import Dataset, ToyModel
from perfproof.run.host.ports import answers, free_port
from perfproof.run.kinds.serve.output_lengths import checksum, wanted_output
from perfproof.run.kinds.serve.serve_result import MOST_GAPS, read_result, warnings_for
from perfproof.run.servers.bench_client import OURS, arguments_for, client_faults, endpoint_faults, flags, packed_faults, spoken
from perfproof.run.servers.launch_spec import ModelAt, flags_of, locate_model, server_words, without_worker
from perfproof.run.servers.log_diagnosis import diagnose, last_words
from perfproof.run.servers.server import parse_metrics
from tests import toy

AN_ARM = toy.arm("plain")


def workload(client: Mapping[str, Any] | None = None, **changes: Any) -> ServeWorkload:
    plain = ServeWorkload(
        model="some/model", server_arguments=(), client={"random-output-len": 4, **(client or {})}, requests=2, warmups=2, launches="shared"
    )
    return dataclasses.replace(plain, **changes)


def result(**changes: Any) -> dict[str, Any]:
    """What vLLM 0.32.0 writes for two requests of four tokens, abridged."""
    said = {
        "duration": 4.0,
        "completed": 2,
        "failed": 0,
        "total_input_tokens": 6,
        "total_output_tokens": 8,
        "request_throughput": 0.5,
        "request_goodput": None,
        "output_throughput": 2.0,
        "total_token_throughput": 3.5,
        "output_lens": [4, 4],
        "ttfts": [0.1, 0.2],
        "itls": [[0.3, 0.3, 0.3], [0.2, 0.2, 0.2]],
        "errors": ["", ""],
        "mean_ttft_ms": 150.0,
        "median_tpot_ms": 250.0,
        "p99_e2el_ms": 1000.0,
    }
    return {**said, **changes}


# --- result files -----------------------------------------------------------------------------------------


def test_milliseconds_become_seconds_and_every_name_is_in_the_registry() -> None:
    """Measurements are in base units and under names that the one registry knows."""
    found = read_result(result(), workload())
    assert found.measurements["mean_ttft"] == pytest.approx(0.15)
    assert found.measurements["p99_e2el"] == pytest.approx(1.0)
    assert found.measurements["output_throughput"] == 2.0
    assert "request_goodput" not in found.measurements
    assert set(found.measurements) <= set(METRICS)
    assert found.raw == {"ttft": [0.1, 0.2], "tpot": [0.3, 0.2], "itl": [0.2, 0.2, 0.2, 0.3, 0.3, 0.3], "e2el": [1.0, 0.8]}
    assert found.work == {"requests": 2, "input_tokens": 6, "output_tokens": 8, "output_lengths_checksum": checksum([4, 4])}
    assert found.fault == ""


def test_of_many_gaps_between_tokens_their_distribution_is_kept() -> None:
    """However many tokens there were, a record keeps some hundreds of gaps, smallest and largest among them, evenly chosen."""
    gaps = [[k / 1000 for k in range(1, 3001)], [0.5] * 3000]
    kept = read_result(result(itls=gaps, output_lens=[3001, 3001]), workload()).raw["itl"]
    assert len(kept) == MOST_GAPS
    assert (kept[0], kept[-1], kept[MOST_GAPS // 2]) == (0.001, 3.0, 0.5)
    assert kept == sorted(kept)


def test_embeddings_have_end_to_end_latencies_alone() -> None:
    """A pooling run tells no tokens: its latencies are kept, and nothing else is made up."""
    said = {name: value for name, value in result(latencies=[0.4, 0.5]).items() if name not in ("ttfts", "itls", "output_lens")}
    assert read_result(said, workload()).raw == {"e2el": [0.4, 0.5]}


def test_a_failed_request_is_reported_with_its_error() -> None:
    """A run in which a request failed is no measurement; the last line of the first error is reported."""
    said = result(completed=1, failed=1, errors=["", "Traceback\nServer disconnected"])
    assert read_result(said, workload()).fault == "1 of 2 requests completed, 1 failed (the first: Server disconnected)"


def test_a_pooling_file_without_a_failed_count_still_tells_failures() -> None:
    """Where vLLM writes no `failed`, it is the difference to what was asked."""
    said = result(completed=1)
    del said["failed"]
    assert read_result(said, workload()).fault.startswith("1 of 2 requests completed, 1 failed")


def test_only_fixed_lengths_are_insisted_on() -> None:
    """A workload of random lengths has no one length; a fixed one has."""
    assert wanted_output(workload()) == 4
    assert wanted_output(workload({"random-range-ratio": "0.5"})) is None
    assert wanted_output(workload({"random-range-ratio": '{"input": 0.1, "output": 0.2}'})) is None
    assert wanted_output(workload({"ignore-eos": False})) is None
    assert wanted_output(workload({"dataset-name": "sharegpt"})) is None


def test_one_wave_is_what_runs_at_once() -> None:
    """Warm-ups are measured against the requests that are under way at once."""
    assert one_wave(2, {}) == 2
    assert one_wave(2, {"max-concurrency": 1}) == 1
    assert one_wave(1200, {"request-rate": "inf"}) == one_wave(1200, {"request-rate": float("inf")}) == 1200


ARRIVING = [{"request-rate": 40}, {"request-rate": "40.0"}, {"ramp-up-strategy": "linear", "ramp-up-start-rps": 1, "ramp-up-end-rps": 40}]
"""Flags with which requests arrive at 40 a second, at the most."""


@pytest.mark.parametrize("client", ARRIVING)
def test_nobody_knows_how_many_run_at_once_where_they_arrive_at_a_rate(client: dict[str, str | int]) -> None:
    """That depends on how long each takes: no wave is reported, unless `max-concurrency` bounds it, and warm-ups are two seconds of
    them."""
    assert one_wave(1200, client) is None
    assert one_wave(1200, {**client, "max-concurrency": 8}) == default_warmups(1200, {**client, "max-concurrency": 8}) == 8
    assert default_warmups(1200, client) == 80
    assert default_warmups(50, client) == 50
    asked = workload(client, requests=1200, warmups=64)
    found = read_result(result(completed=1200, duration=1.0), asked)
    (told,) = warnings_for(asked, found, profile="quick", client_load=0.5, server={"generation_tokens": 16}, steps=200)
    assert "or 'requests: 2400'" in told


def test_warm_ups_that_are_left_out_are_at_least_one_request() -> None:
    """A full wave where one is known; a slow rate still has one."""
    assert default_warmups(8, {}) == 8
    assert default_warmups(8, {"request-rate": 0.01}) == 1


def test_each_doubt_is_a_warning_with_its_remedy() -> None:
    """Short runs, few warm-ups, a busy client, cache hits and preemptions are reported; a run without them is silent."""
    found = read_result(result(duration=1.0), workload())
    told = warnings_for(workload(warmups=0), found, profile="quick", client_load=0.97, server={"prefix_cache_hits": 8, "preemptions": 1})
    assert len(told) == 5
    assert "set 'warmups: 2'" in told[1]
    assert (
        warnings_for(workload(), read_result(result(), workload()), profile="quick", client_load=0.5, server={"prefix_cache_hits": 0}) == []
    )


def test_small_batches_are_reported() -> None:
    """The same tokens in many more steps mean that requests ran one after another: a warning, unless they were to arrive at a rate."""
    found, counted = read_result(result(), workload()), {"generation_tokens": 16}
    assert warnings_for(workload(), found, profile="quick", client_load=0.5, server=counted, steps=10) == []
    told = warnings_for(workload(), found, profile="quick", client_load=0.5, server=counted, steps=20)
    assert len(told) == 1
    assert "0.8 tokens, but 2 requests were to run together" in told[0]
    assert warnings_for(workload({"request-rate": 1}), found, profile="quick", client_load=0.5, server=counted, steps=20) == []


def test_one_long_output_among_short_ones_is_no_small_batch() -> None:
    """The end of the longest output runs alone however well the others ran together: no warning, unless there were more steps than that."""
    drawn = workload({"random-range-ratio": 1.0})
    found, counted = read_result(result(output_lens=[2, 40], itls=[[0.1], [0.1] * 39]), drawn), {"generation_tokens": 44}
    assert warnings_for(drawn, found, profile="quick", client_load=0.5, server=counted, steps=60) == []
    assert len(warnings_for(drawn, found, profile="quick", client_load=0.5, server=counted, steps=90)) == 1


# --- arguments ----------------------------------------------------------------------------------------------


def test_temperature_and_ignored_end_are_always_said() -> None:
    """What the scenario does not set would be the server's to decide: temperature 0 and ignored end of sequence are explicit."""
    said = arguments_for(workload(), AN_ARM, model="m", url="http://x", name="n", seed=5, result=Path("/r/f.json"))
    assert {"--temperature=0", "--ignore-eos", "--seed=5", "--num-warmups=2", "--num-prompts=2", "--save-detailed"} <= set(said)
    chosen = arguments_for(workload({"temperature": 0.6}), AN_ARM, model="m", url="http://x", name="n", seed=5, result=Path("/r/f.json"))
    assert "--temperature=0.6" in chosen
    assert "--temperature=0" not in chosen


def test_flags_of_every_kind() -> None:
    """True is the bare flag, false leaves it out, several values are words of their own."""
    assert flags({"a": True, "b": False, "c": 1.5, "goodput": "ttft:100 tpot:20"}) == ["--a", "--c=1.5", "--goodput", "ttft:100", "tpot:20"]


MODEL = ModelAt(name="toy", folder=Path("/models"), arguments=("--load-format=dummy",), offline=True)


def test_the_prefix_cache_is_off_unless_the_scenario_speaks_of_it() -> None:
    """Without a word the cache is off; with either word the scenario's holds, in vLLM's spelling or with underscores."""
    plain = server_words(workload(), toy.arm("plain"), MODEL, "name", 8000)
    assert "--no-enable-prefix-caching" in plain
    assert plain[2:4] == ["serve", "toy"]
    spoken = server_words(workload(server_arguments=("--enable_prefix_caching",)), toy.arm("plain"), MODEL, "name", 8000)
    assert "--no-enable-prefix-caching" not in spoken


def test_a_single_worker_on_a_cpu_is_no_process_unless_the_scenario_says_how_work_is_spread() -> None:
    """Engine and worker in two processes wait for each other by keeping both cores busy; whoever asks for it gets it, in any spelling."""
    words, environment = without_worker(["serve", "toy"], {"A": "1"})
    assert words[-1] == "--distributed-executor-backend=uni"
    assert environment == {"A": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    for asked in ("--distributed_executor_backend=mp", "-tp", "-tp=2", "--tensor-parallel=2"):
        assert without_worker(["serve", "toy", asked], {}) == (["serve", "toy", asked], {})
    assert without_worker(["serve"], {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"})[0] == ["serve"]


def test_an_arms_own_load_format_wins_over_the_toys() -> None:
    """Arguments that a generated model brings are left out where the scenario gives them."""
    arm = dataclasses.replace(toy.arm("plain"), server_arguments=("--load-format=safetensors",))
    assert "--load-format=dummy" not in server_words(workload(), arm, MODEL, "name", 8000)
    assert flags_of(["--a=1", "--b_c", "x", "--d", "--e.f=1.5", "--g.h", "1"]) == {"--a", "--b-c", "--d", "--e", "--g"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("profile", "workload.client.profile: is set by the suite and can't be set here"),
        ("profil", "workload.client.profil: short for --profile, which is set by the suite and can't be set here"),
        ("append-resul", "workload.client.append-resul: short for --append-result, which is set by the suite and can't be set here"),
        ("append_res", "workload.client.append_res: short for --append-result, which is set by the suite and can't be set here"),
        ("save-", "workload.client.save-: short for --save-detailed or --save-result, which is set by the suite and can't be set here"),
        ("random-input-len", None),
        ("tokenizer-mode", None),
        ("max-concurrency", None),
    ],
)
def test_a_flag_of_the_suites_is_refused_cut_short_too(name: str, told: str | None) -> None:
    """vLLM's parsers take the beginning of a name; so does the check."""
    assert client_faults("workload", {name: 1}) == ([told] if told else [])


@given(st.sampled_from(sorted(OURS)), st.data())
def test_every_beginning_of_a_flag_of_the_suites_is_refused(flag: str, data: st.DataObject) -> None:
    """However short, and however its dashes are written."""
    cut = flag[: data.draw(st.integers(1, len(flag)))]
    assert client_faults("workload", {cut: True})
    assert client_faults("workload", {cut.replace("-", "_"): True})


@pytest.mark.parametrize(("folder", "name"), [("mine-1B", "mine-1B"), ("mine", "the-model/mine"), ("json", "the-model/json")])
def test_a_model_folder_is_named_by_a_link_in_a_folder_of_its_own(tmp_path: Path, folder: str, name: str) -> None:
    """Neither command nor result file holds a path of this machine, and nothing that lies beside or in a model can be imported."""
    model, idle = tmp_path / "models" / folder, tmp_path / "run"
    model.mkdir(parents=True)
    idle.mkdir()
    (model / "__init__.py").touch()
    (model.parent / "cloudpickle.py").touch()
    for _ in range(2):
        local = locate_model(str(model), tmp_path / "toys", idle)
    assert (local.name, local.offline) == (name, True)
    assert (local.folder / local.name).resolve() == model
    assert [entry.name for entry in local.folder.iterdir()] == [name.partition("/")[0]]
    assert not any(entry.name.isidentifier() for entry in local.folder.iterdir())


def test_every_model_has_processes_that_run_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """A hub name stays what it is and may need the hub; a toy is written once and linked."""
    hub = locate_model("org/model", tmp_path / "models", tmp_path)
    assert (hub.name, hub.offline, list(hub.folder.iterdir())) == ("org/model", False, [])
    made = locate_model(ToyModel(layers=1, hidden=64, heads=2, vocabulary=256, context=64), tmp_path / "models", tmp_path)
    assert made.folder == hub.folder
    assert (made.folder / made.name / "config.json").exists()


# --- servers ---------------------------------------------------------------------------------------------------


def test_a_metrics_page_is_summed_over_labels() -> None:
    """Counters of several engines are added; comments and odd lines are skipped."""
    page = '# HELP x y\nvllm:a_total{engine="0"} 1.0\nvllm:a_total{engine="1"} 2.0\nvllm:b 3e2\nvllm:c not-a-number\n'
    assert parse_metrics(page) == {"vllm:a_total": 3.0, "vllm:b": 300.0}


@given(st.text())
def test_any_page_is_read_without_an_error(page: str) -> None:
    """What answers on a port may send anything."""
    assert all(isinstance(value, float) for value in parse_metrics(page).values())


def test_a_free_port_is_one_that_nothing_answers_on() -> None:
    """A port handed out is not answered; a listening one is."""
    assert not answers(free_port())
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        assert answers(listening.getsockname()[1])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("OSError: [Errno 98] error while attempting to bind on address: address already in use", "its port was taken"),
        ("main.py: error: unrecognized arguments: --no-such-flag", "this vLLM knows no such server argument: --no-such-flag"),
        (
            "ValueError: To serve at least one request, 2 GiB KV cache is needed, which is larger than the available KV cache memory",
            "KV cache",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "out of memory"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "no CUDA device"),
        ("OSError: nowhere/nothing is not a local folder and is not a valid model identifier", "no such model"),
        ("perfproof.patches.guard.PatchRefused: patch swap refused: it was tested with vLLM 0.22.0", "patch swap refused: it was tested"),
        ("RuntimeError: Worker died unexpectedly (exit code: -4)", "SIGILL is an instruction that this processor did not let it run"),
        ("Bus error (core dumped)", "SIGBUS means that there was no room for memory shared between processes"),
        ("ModuleNotFoundError: No module named 'uvloop'", "a Python package is missing there: No module named 'uvloop'"),
        ("main.py: error: argument --max-num-seqs: invalid int value: 'x'", "a server argument was refused: --max-num-seqs: invalid int"),
        ("  Value error, Model Runner V2 requires Triton. [type=value_error]", "the Model Runner V2 was wanted, but this build has no"),
        ("ValueError: Free memory on device (3/141 GiB) on startup is less than desired GPU memory utilization", "it ran out of memory"),
        ("1 validation error for VllmConfig\n  Value error, max_model_len is too large [type=x]", "its settings don't fit together"),
        ("ERROR 11-28 [__init__.py:9] Failed to load plugin odd", "the plugin odd does not import"),
    ],
)
def test_common_ends_are_reported_in_words(line: str, words: str) -> None:
    """Each of the common ends of a server has a cause in words."""
    assert words in diagnose(f"INFO all is well\n{line}\n")


def test_an_unknown_end_has_no_invented_cause() -> None:
    """Where no rule speaks, nothing is claimed."""
    assert diagnose("INFO all is well\nRuntimeError: something new") == ""


def test_the_last_words_of_a_log_leave_out_what_says_nothing() -> None:
    """Marks that only point at the line above, empty lines and the place of the packages go; the order stays."""
    log = (
        'Traceback\n  File "/srv/joe/venv/lib/python3.11/site-packages/vllm/x.py", line 3, in y\n    z()\n    ^^^\n\n'
        "(EngineCore pid=7) ERROR 11-28 05:00:00 [core.py:1]     ~~~^^^\nValueError: no\nnanobind: leaked 3 functions!\n"
    )
    told = ["Traceback", '  File "…/site-packages/vllm/x.py", line 3, in y', "    z()", "ValueError: no"]
    assert last_words(log) == "\n".join(told)
    assert last_words(log, 2) == "\n".join(told[2:])


# --- data sets and pooling ----------------------------------------------------------------------------------------


TITLES = Dataset(template="{i}", values={}, draw="in turn", output_tokens=None)
POOLING = {"backend": "openai-embeddings", "endpoint": "/v1/embeddings", "custom-output-len": 1}


def test_a_pooling_client_is_asked_nothing_of_sampling() -> None:
    """A pooling backend refuses sampling parameters and knows end-to-end latency alone; the data set is the suite's file, as it stands."""
    said = arguments_for(
        workload(POOLING, dataset=TITLES), AN_ARM, model="m", url="http://x", name="n", seed=5, result=Path("/r/f.json"), dataset=Path("/d")
    )
    assert not any(word.startswith(("--temperature", "--ignore-eos")) for word in said)
    assert {"--percentile-metrics=e2el", "--dataset-name=custom", "--dataset-path=/d", "--skip-chat-template"} <= set(said)


def test_a_drawn_length_is_left_to_the_data_set() -> None:
    """Where the data set says how long outputs are, the client must not."""
    drawn = dataclasses.replace(TITLES, output_tokens=(1, 4))
    assert spoken({}, drawn, Path("/d"))["custom-output-len"] == -1
    assert wanted_output(workload({"random-output-len": 4}, dataset=drawn)) is None
    assert wanted_output(workload({"custom-output-len": 7}, dataset=TITLES)) == 7


def test_several_inputs_in_one_request_are_refused() -> None:
    """The client counts such a request once; one input a request is what it does unasked."""
    assert packed_faults("workload", {"random-batch-size": 1, "random-input-len": 8}) == []
    [fault] = packed_faults("arms.other", {"random_batch_size": 4})
    assert fault.startswith("arms.other.client.random_batch_size: several inputs in one request")


def test_an_endpoint_that_a_backend_refuses_is_reported_before_anything_starts() -> None:
    """A pooling backend asks for its own endpoint, which the client would only say when it measures."""
    assert endpoint_faults("workload", POOLING) == []
    assert endpoint_faults("workload", {}) == []
    assert "needs one that ends with 'pooling', got '/v1/completions'" in endpoint_faults("workload", {"backend": "vllm-pooling"})[0]


def test_as_many_requests_as_would_last_are_reported_in_whole_waves() -> None:
    """Four requests in two seconds, two at a time: 30 seconds take 60."""
    assert requests_for(30.0, 4, 2.0, 2) == 60
    assert requests_for(30.0, 5, 2.1, 4) == 72


def test_near_names_of_an_unknown_flag_are_reported() -> None:
    """A flag that vLLM's parser does not know is reported with what it may have meant; other faults are left as they are."""
    known = ["--random-output-len", "--random-input-len", "--burstiness"]
    assert near("unrecognized arguments: --random-outptu-len=3", known) == (
        "; instead of --random-outptu-len, did you mean --random-output-len or --random-input-len?"
    )
    assert near("argument --seed: invalid int value: 'x'", known) == near("unrecognized arguments: --zzz", known) == ""
