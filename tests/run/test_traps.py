"""What has fooled people who benchmarked servers: first the wrong answer that a naive run gives, then that ours is caught.

All on real servers, two of them, launched once and shared: `plain`, with the prefix cache on as vLLM has it, and `odd`, which runs nine
requests at once at most, keeps idle connections as long as vLLM does by itself, and has a patch whose function no CPU ever calls.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import http.client
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from perfproof.analysis.trials import mean_median_check, work_equivalence
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.executor import ruled
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, PythonBuild, Scenario, ToyModel
from perfproof.run.host import telemetry
from perfproof.run.kinds.serve.serve_runner import ServeRunner
from perfproof.run.servers.server import Server, ServerEnded
from perfproof.run.servers.server_pool import ServerPool
from tests import toy

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

CONTEXT = 4096
WORKLOAD = ServeWorkload(
    model=ToyModel(layers=2, hidden=64, heads=2, vocabulary=2048, context=CONTEXT),
    server_arguments=("--enforce-eager", "--max-num-batched-tokens=65536"),
    client={"backend": "vllm", "dataset-name": "random", "random-input-len": 16, "random-output-len": 16},
    requests=8,
    warmups=8,
    launches="shared",
)
PLAIN = dataclasses.replace(toy.arm("plain", environment=toy.NOT_ALONE), server_arguments=("--max-num-seqs=16", "--enable-prefix-caching"))
ODD = dataclasses.replace(
    toy.arm("odd", "swap_states_full_rows", environment={**toy.NOT_ALONE, "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "5"}, allow=True),
    server_arguments=("--max-num-seqs=9",),
)


class Bench:
    """The two servers and the client, with both ways to use them."""

    def __init__(self, runner: ServeRunner, results: Path) -> None:
        self.runner, self.results = runner, results
        self._number = 0

    def server(self, arm: Arm) -> Server:
        return self.runner._ready_launches().ready(arm)[0]

    def naive(self, arm: Arm, *, requests: int = 8, seed: int = 0, url: str = "", **flags: Any) -> dict[str, Any]:
        """What a person types: `vllm bench serve` with a few flags, and the file that it leaves. Its exit code is 0 whatever happened."""
        self._number += 1
        file, server = self.results / f"naive-{self._number}.json", self.server(arm)
        said = {"random-input-len": 16, "random-output-len": 16, **{name.replace("_", "-"): value for name, value in flags.items()}}
        words = [f"--{name}={value}" for name, value in said.items()]
        answer = self.runner._ready_client().measure(
            [
                *("--backend=vllm", "--dataset-name=random", f"--base-url={url or server.launch.url}", f"--model={self.model}"),
                *(f"--served-model-name={server.launch.name}", f"--num-prompts={requests}", f"--seed={seed}", "--disable-tqdm"),
                *("--percentile-metrics=ttft,tpot,itl,e2el", "--save-result", "--save-detailed"),
                *(f"--result-dir={file.parent}", f"--result-filename={file.name}", *words),
            ],
            timeout=120.0,
            watch=lambda: None,
        )
        assert answer["ok"], answer
        return dict(json.loads(file.read_text()))

    @property
    def model(self) -> str:
        return self.runner._model_at().name

    def ours(self, arm: Arm, *, seed: int = 1, client: Mapping[str, Any] | None = None, **changes: Any) -> Record:
        """One trial of our own runner on the same server."""
        self._number += 1
        runner = self.runner
        arms = tuple(arm if one.name == arm.name else one for one in runner.scenario.arms)
        runner.scenario = dataclasses.replace(runner.scenario, arms=arms)
        runner.workload = dataclasses.replace(WORKLOAD, client={**WORKLOAD.client, **(client or {})}, **changes)
        order = tuple(one.name for one in arms)
        return next(iter(runner.trials(Block(scenario=runner.scenario, number=self._number, order=order, seed=seed), [arm.name])))

    def texts(self, record: Record) -> list[str]:
        """What a trial of ours was answered."""
        kept = self.results / "logs" / "traps" / f"block{record.block:03d}-{record.arm}.json.gz"
        return list(json.loads(gzip.decompress(kept.read_bytes()))["generated_texts"])


@pytest.fixture(scope="module")
def bench(served_build: ReadyBuild, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Both servers up, nothing sent to either yet."""
    results = tmp_path_factory.mktemp("traps") / "results"
    scenario = Scenario(
        name="traps",
        question="Is every trap caught?",
        profile="quick",
        workload=WORKLOAD,
        builds={"default": PythonBuild(name="default", path=str(served_build.interpreter))},
        arms=(PLAIN, ODD),
        metrics=(),
        blocks=6,
        seed=0,
        source="traps.yaml",
        definition={"name": "traps"},
    )
    watch = ["vllm.v1.worker.gpu_input_batch:InputBatch.swap_states"]
    with contextlib.closing(ServeRunner(scenario, {"default": served_build}, results, seed=1, watch=watch, say=print)) as runner:
        yield Bench(runner, results)


def test_warm_ups_below_a_wave(bench: Bench) -> None:
    """The first wave of a server pays for what later ones find made: its first tokens come later, and the client's table does not tell
    which wave it was. Ours warns.

    Runs first: it needs servers to which nothing was sent.
    """
    cold, *warm = (bench.naive(PLAIN, requests=16, seed=seed) for seed in range(1, 6))
    assert {run["completed"] for run in (cold, *warm)} == {16}
    assert not any("warm" in key for key in cold)
    caught = bench.ours(PLAIN, requests=16, warmups=1)
    assert any("1 warm-ups are less than one wave: 16 requests run at once" in warning for warning in caught.warnings)
    first, later = cold["mean_ttft_ms"], [run["mean_ttft_ms"] for run in warm]
    if first <= min(later):
        pytest.skip(f"on this machine, just now, other work hides the first wave: {first:.0f} ms to the first token, then {later}")


def test_a_warm_prefix_cache(bench: Bench) -> None:
    """The same seed against the same server a second time is answered from the cache: the first token comes sooner by more than any patch
    could bring, and the client's table tells nothing of why. Ours: not comparable."""
    first, again = (bench.naive(PLAIN, seed=7, random_input_len=3500, random_output_len=4, max_concurrency=1) for _ in range(2))
    assert not any("cache" in key for key in again)
    assert (first["completed"], first["total_input_tokens"]) == (again["completed"], again["total_input_tokens"])
    one, two = (bench.ours(PLAIN, seed=70, client={"random-input-len": 2000, "random-output-len": 4}) for _ in range(2))
    assert two.work["server_prefix_cache_hits"] > one.work["server_prefix_cache_hits"]
    assert any("prompt tokens came from the prefix cache" in warning for warning in two.warnings)
    assert "the arms did different work: server prefix cache hits" in work_equivalence.unequal({"plain": one.work, "odd": two.work})
    assert two.environment["server_counted"]["prefix_cache_queries"] > 0
    if again["median_ttft_ms"] >= 0.8 * first["median_ttft_ms"]:
        times = f"{first['median_ttft_ms']:.0f} ms, then {again['median_ttft_ms']:.0f}"
        pytest.skip(f"on this machine, just now, other work hides what the cache saves: {times} to the first token")


def test_temperature_left_to_the_model(bench: Bench) -> None:
    """Without a word the server samples as the model's own defaults say: the same command is answered otherwise each time. Ours says 0."""
    first, again = (bench.naive(PLAIN, requests=4, seed=5, max_concurrency=1) for _ in range(2))
    assert first["generated_texts"] != again["generated_texts"]
    one, two = (bench.ours(PLAIN, seed=50, client={"max-concurrency": 1}, requests=4, warmups=4) for _ in range(2))
    assert bench.texts(one) == bench.texts(two)


def test_failed_requests(bench: Bench) -> None:
    """Prompts that are too long fail, the figures are those of the rest, and the exit code is 0. Ours is invalid and says how many."""
    flags = {"random-input-len": 3500, "random-range-ratio": 0.5, "random-output-len": 16}
    naive = bench.naive(PLAIN, seed=3, **{name.replace("-", "_"): value for name, value in flags.items()})
    assert 0 < naive["completed"] < 8
    assert naive["failed"] == 8 - naive["completed"]
    assert naive["output_throughput"] > 0
    caught = bench.ours(PLAIN, seed=3, client=flags)
    assert caught.status == "invalid"
    assert f"{naive['completed']} of 8 requests completed, {naive['failed']} failed" in caught.reason


def test_a_connection_that_waited(bench: Bench) -> None:
    """vLLM closes a connection on which nothing happened for five seconds, which is what those of the warm-ups wait for where the client's
    one request before the run takes that long: the run then begins on closed connections, and its requests fail. Ours are kept."""
    naive, ours = (connected(bench.server(arm)) for arm in (ODD, PLAIN))
    with contextlib.closing(naive), contextlib.closing(ours):
        assert (status(naive), status(ours)) == (200, 200)
        time.sleep(6.0)
        with pytest.raises(ConnectionError):
            status(naive)
        assert status(ours) == 200


def connected(server: Server) -> http.client.HTTPConnection:
    """A connection that is not made again where it was closed."""
    url = urlsplit(server.launch.url)
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=30)
    connection.connect()
    connection.auto_open = 0
    return connection


def status(connection: http.client.HTTPConnection) -> int:
    """The status of an answer."""
    connection.request("GET", "/health")
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_output_lengths_that_differ(bench: Bench) -> None:
    """An arm that answers shorter is faster for the wrong reason, and the table looks the same. Ours is invalid and says by how much."""
    asked = {"random_output_len": 128}
    full, short = bench.naive(PLAIN, seed=11, **asked), bench.naive(PLAIN, seed=12, extra_body='{"max_tokens": 5}', **asked)
    assert short["total_output_tokens"] == 8 * 5 < full["total_output_tokens"]
    assert short["completed"] == full["completed"] == 8
    assert short["request_throughput"] > 1.2 * full["request_throughput"]
    caught = bench.ours(PLAIN, seed=13, client={"random-output-len": 128, "extra-body": '{"max_tokens": 5}'})
    assert caught.status == "invalid"
    assert "8 of 8 outputs were not the 128 tokens asked for (5 to 5)" in caught.reason


def test_requests_that_run_in_small_batches(bench: Bench) -> None:
    """The client says how many requests were under way at once; how many the engine computed together it does not know. Ours warns."""
    assert bench.naive(ODD, requests=32, seed=15)["max_concurrent_requests"] == 32
    caught = bench.ours(ODD, seed=16, requests=32, warmups=32)
    assert any("tokens, but 32 requests were to run together: they ran in small batches" in warning for warning in caught.warnings)


def test_requests_of_somebody_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second client on the same server takes its time, and the first one's table does not show it. Ours counts the answers."""
    client = bench.runner._ready_client()
    measure = client.measure

    def crowded(arguments: list[str], **given: Any) -> dict[str, Any]:
        monkeypatch.setattr(client, "measure", measure)
        bench.naive(PLAIN, requests=4, seed=21)
        return measure(arguments, **given)

    monkeypatch.setattr(client, "measure", crowded)
    caught = bench.ours(PLAIN, seed=22)
    assert caught.status == "invalid"
    assert "the server answered 20 requests, but the client sent 16: another client used it meanwhile" in caught.reason


def test_another_runner_than_was_asked_for(bench: Bench) -> None:
    """Where the Model Runner V2 can't run vLLM falls back to V1, and the client's table does not say which ran. Ours does."""
    naive = bench.naive(PLAIN, seed=31)
    assert naive["completed"] == 8
    assert not any("runner" in key for key in naive)
    asking = dataclasses.replace(PLAIN, environment={**PLAIN.environment, "VLLM_USE_V2_MODEL_RUNNER": "1"})
    try:
        caught = bench.ours(asking, seed=32)
    finally:
        bench.ours(PLAIN, seed=33)
    assert caught.status == "unattested"
    assert "the arm wanted the model runner V2 (VLLM_USE_V2_MODEL_RUNNER), but V1 ran" in caught.reason
    assert caught.attestation is not None
    assert caught.attestation.runner == "V1"


def test_a_patched_function_that_is_never_called(bench: Bench) -> None:
    """No CPU attention swaps rows: two tables whose figures differ by noise, and not a word of it there. Ours: it was never called."""
    plain, patched = (bench.naive(arm, seed=41) for arm in (PLAIN, ODD))
    assert plain["output_throughput"] != patched["output_throughput"]
    assert not any("patch" in key or "plugin" in key for key in patched)
    caught = bench.ours(ODD, seed=42)
    assert caught.status == "unattested"
    assert "the function that patch swap_states_full_rows replaces was never called" in caught.reason


def test_a_run_too_short(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command five times, each over in a moment: figures that differ by more than many a patch is worth. Ours warns."""
    rates = [bench.naive(PLAIN, requests=4, seed=60 + number, random_output_len=8)["output_throughput"] for number in range(5)]
    assert max(rates) > 1.02 * min(rates)
    monkeypatch.setattr(bench.runner, "scenario", dataclasses.replace(bench.runner.scenario, profile="standard"))
    caught = bench.ours(PLAIN, seed=66, client={"random-output-len": 8}, requests=4, warmups=4)
    assert any("s only; standard needs 30 s" in warning for warning in caught.warnings)


def test_mean_and_median_that_disagree(bench: Bench) -> None:
    """Nine requests at once instead of sixteen: the median waits less for its first token, the mean more. Ours warns at both.

    Sixteen long prompts are computed in one step and all wait for all; of nine at once most wait for nine, and the rest for their answers.
    """
    flags: dict[str, Any] = {"requests": 16, "random_input_len": 3500, "random_output_len": 192}
    all_at_once, nine = ([bench.naive(arm, seed=80 + number, **flags) for number in range(3)][1:] for arm in (PLAIN, ODD))
    effects = {
        f"{which}_ttft": math.log(min(run[f"{which}_ttft_ms"] for run in nine) / min(run[f"{which}_ttft_ms"] for run in all_at_once))
        for which in ("mean", "median")
    }
    if not effects["median_ttft"] < -0.02 < 0.02 < effects["mean_ttft"]:
        pytest.skip(f"on this machine, just now, mean and median agree: {effects}")
    for name in effects:
        assert "mean and median disagree in sign" in mean_median_check.contradicted(name, 0.02, effects)


def test_a_client_that_is_the_bottleneck(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that keeps a whole core busy may be what was measured; nothing in its table says so. Ours warns (the load is injected)."""
    client = bench.runner._ready_client()
    measure: Callable[..., dict[str, Any]] = client.measure

    def busy(arguments: list[str], **given: Any) -> dict[str, Any]:
        answer = measure(arguments, **given)
        return {**answer, "cpu_seconds": answer["seconds"]}

    assert "cpu_seconds" not in bench.naive(PLAIN, seed=90)
    monkeypatch.setattr(client, "measure", busy)
    assert any("the client used 100% of a core" in warning for warning in bench.ours(PLAIN, seed=91).warnings)


def test_throttling(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor or GPU that slows down for heat makes a slower run of the same code. Ours is invalid (the events are injected)."""
    read = telemetry.read
    events = iter(range(0, 100, 3))
    monkeypatch.setattr(telemetry, "read", lambda **given: dataclasses.replace(read(**given), throttled=next(events)))
    seen = bench.ours(PLAIN, seed=95)
    caught = ruled(seen)
    assert seen.status == "ok", seen.reason
    assert caught.status == "invalid"
    assert "3 x throttling event" in caught.reason


def test_a_server_that_is_not_ours(bench: Bench) -> None:
    """Another arm's vLLM on the port answers `/health`, and a client that asks no further measures it. Ours never does.

    Runs late: the arm whose server was found to be another's loses it.
    """
    other, server = bench.server(ODD), bench.server(PLAIN)
    assert other._healthy()
    assert bench.naive(ODD, url=other.launch.url)["completed"] == 8
    runner = bench.runner
    launches = ServerPool(
        runner.scenario,
        runner.builds,
        runner._model_at(),
        idle=(),
        scratch=runner._scratch,
        logs=runner._logs,
        watch=(),
        say=print,
        ready_timeout=60.0,
        pick_port=lambda: other.launch.port,
    )
    with contextlib.closing(launches), pytest.raises(ServerEnded, match=r"another program answered on port \d+ before the launch"):
        launches.ready(PLAIN)
    launch = server.launch
    try:
        server.launch = dataclasses.replace(launch, port=other.launch.port)
        caught = bench.ours(PLAIN)
    finally:
        server.launch = launch
    assert caught.status == "failed"
    assert f" is not ours: it serves {other.launch.name}, not {launch.name}" in caught.reason


def test_nothing_is_left_of_the_servers(bench: Bench) -> None:
    """Last: when the runner is closed its servers' processes, ports, sockets and shared memory are gone."""
    servers = list(bench.runner._ready_launches()._up.values())
    assert servers
    processes = [process for server in servers for process in server.processes()]
    sockets = bench.runner._scratch.sockets()
    assert list(sockets.iterdir())
    segments = {name for server in servers for name in server._shared_memory}
    bench.runner.close()
    assert not any(process.is_running() for process in processes)
    assert not sockets.exists()
    assert not [name for name in segments if (Path(os.sep) / "dev" / "shm" / name).exists()]
