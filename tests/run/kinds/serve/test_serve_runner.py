"""Serve trials on a stand-in for vLLM: what a record says, what keeps a trial from counting, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import http.server
import json
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, PythonBuild, Scenario, ToyModel
from perfproof.run.host import gpus
from perfproof.run.host.ports import free_port
from perfproof.run.kinds.serve.output_lengths import UNKNOWN, checksum
from perfproof.run.kinds.serve.serve_runner import ServeRunner, scenario_faults
from perfproof.run.processes.scratch_folders import RUNNING, sweep
from perfproof.run.servers import server, server_snapshot
from perfproof.run.servers.server import ServerEnded
from tests import toy

SWAP = "vllm.v1.worker.batch:Batch.swap"
MODEL = ToyModel(layers=1, hidden=64, heads=2, vocabulary=256, context=256)
Serve = Callable[..., ServeRunner]


def arm(name: str, *patches: str, server: tuple[str, ...] = ()) -> Arm:
    return dataclasses.replace(toy.arm(name, *patches), server_arguments=server)


PLAIN = arm("plain")
PATCHED = arm("patched", "toy_patch")


def scenario(build: ReadyBuild, *arms: Arm, launches: str = "shared", client: Mapping[str, Any] | None = None, **changes: Any) -> Scenario:
    workload = ServeWorkload(
        model=changes.get("model", MODEL),
        server_arguments=changes.get("server_arguments", ()),
        client={"random-output-len": 8, **(client or {})},
        requests=3,
        warmups=3,
        launches=launches,  # type: ignore[arg-type]
    )
    return Scenario(
        name="toy_serve",
        question="Does the machinery work?",
        profile="quick",
        workload=workload,
        builds={"default": PythonBuild(name="default", path=str(build.interpreter))},
        arms=arms,
        metrics=(),
        blocks=6,
        seed=0,
        source="toy_serve.yaml",
        definition={
            "name": "toy_serve",
            "profile": "quick",
            "workload": {"kind": "serve", "launches": launches},
            "arms": {one.name: {"patches": list(one.patches)} for one in arms},
            "metrics": {},
        },
    )


@pytest.fixture
def serve(toy_build: ReadyBuild, tmp_path: Path) -> Iterator[Serve]:
    """Makes a runner for the given arms; closed at the end, and then no process of it may be left."""
    runners: list[ServeRunner] = []

    def make(*arms: Arm, pick_port: Callable[[], int] = free_port, ready_timeout: float = 60.0, **changes: Any) -> ServeRunner:
        runners.append(
            ServeRunner(
                scenario(toy_build, *(arms or (PLAIN, PATCHED)), **changes),
                {"default": toy_build},
                tmp_path / "results",
                seed=3,
                watch=[SWAP],
                say=lambda message: None,
                pick_port=pick_port,
                ready_timeout=ready_timeout,
            )
        )
        return runners[-1]

    yield make
    for runner in runners:
        runner.close()
    assert not leftovers(toy_build)


def leftovers(build: ReadyBuild) -> list[str]:
    """The command lines of processes of the toy build that still run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if str(build.interpreter) in words:
            found.append(" ".join(words))
    return found


def run(runner: ServeRunner, number: int = 1, seed: int = 11) -> list[Record]:
    order = tuple(arm.name for arm in runner.scenario.arms)
    return list(runner.trials(Block(scenario=runner.scenario, number=number, order=order, seed=seed), order))


# --- what a good trial leaves ---------------------------------------------------------------------------


def test_a_block_leaves_one_attested_record_an_arm(serve: Serve) -> None:
    """Each arm leaves a record with base-unit measurements, work by the client's and the server's count, phases and attestation."""
    plain, patched = run(serve())
    assert [plain.status, patched.status] == ["ok", "ok"], (plain.reason, patched.reason)
    assert plain.how == "shared server"
    assert plain.seed == 3
    assert plain.measurements["median_ttft"] == pytest.approx(0.002)
    assert {"output_throughput", "duration", "p99_itl", "mean_e2el", "cpu_time_per_token", "peak_memory"} <= set(plain.measurements)
    assert plain.work == patched.work
    assert plain.work == {
        "requests": 3,
        "input_tokens": 12,
        "output_tokens": 24,
        "output_lengths_checksum": checksum([8, 8, 8]),
        "server_requests": 6,
        "server_prompt_tokens": 24,
        "server_generation_tokens": 48,
        "server_prefix_cache_hits": 0,
        "server_preemptions": 0,
    }
    assert len(plain.raw["ttft"]) == len(plain.raw["tpot"]) == len(plain.raw["e2el"]) == 3
    assert {"client imports", "server starts", "warming up", "measuring", "total"} <= set(plain.seconds)
    assert 0 < plain.seconds["total"] < 60
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.runner == "V1"
    assert plain.attestation.patches == {}
    assert list(patched.attestation.patches) == ["toy_patch"]
    assert plain.environment["variables"]["VLLM_PLUGINS"] == "perfproof_attest"
    assert plain.environment["telemetry"]["swapped"] >= 0


def test_calls_are_counted_by_trial_though_the_server_lives_on(serve: Serve) -> None:
    """The second trial of a shared server counts its own calls alone: 3 warm-ups and 3 requests, not the 12 of the server's life."""
    runner = serve()
    first, second = run(runner, 1), run(runner, 2)
    counts = [record.attestation.counts[f"calls {SWAP}"] for record in (*first, *second) if record.attestation]
    assert counts == [6, 6, 6, 6]
    assert "server starts" not in second[0].seconds


def test_the_arms_of_a_block_share_its_seed_and_explicit_sampling(serve: Serve, tmp_path: Path) -> None:
    """Both arms are asked with the block's seed, temperature 0 and ignored end of sequence, although the scenario is silent on them."""
    run(serve(), number=4, seed=99)
    kept = sorted((tmp_path / "results" / "logs" / "toy_serve").glob("block004-*.json.gz"))
    said = [json.loads(gzip.decompress(file.read_bytes())) for file in kept]
    assert [(one["seed"], one["temperature"], one["ignore_eos"]) for one in said] == [(99, 0.0, True)] * 2


def test_a_record_is_stored_and_read_again(serve: Serve, tmp_path: Path) -> None:
    """A serve record survives the store unchanged."""
    for record in run(serve()):
        store.append(tmp_path / "kept", record)
    again = store.read(tmp_path / "kept").records
    assert [record.arm for record in again] == ["plain", "patched"]


def test_fresh_launches_give_every_trial_its_own_server(serve: Serve, tmp_path: Path) -> None:
    """With fresh launches each trial has a server of its own, whose start time is measured, and none is up afterwards."""
    runner = serve(launches="fresh")
    records = [*run(runner, 1), *run(runner, 2)]
    assert [record.status for record in records] == ["ok"] * 4, [record.reason for record in records]
    assert all(record.measurements["start_time"] > 0 for record in records)
    assert len({record.log for record in records}) == 4
    logs = tmp_path / "results"
    assert len({(logs / record.log).read_text().splitlines()[0] for record in records}) == 4


def test_blockwise_launches_give_every_block_its_own_servers(serve: Serve, tmp_path: Path, toy_build: ReadyBuild) -> None:
    """The servers of a block's arms are up together and go before those of the next are launched; the records say so."""
    runner = serve(launches="blockwise")
    first = run(runner, 1)
    up = set(runner._ready_launches()._up)
    second = run(runner, 2)
    assert up == {"plain", "patched"}
    assert [record.status for record in (*first, *second)] == ["ok"] * 4, [record.reason for record in (*first, *second)]
    assert {record.how for record in (*first, *second)} == {"blockwise server"}
    assert ["server starts" in record.seconds for record in (*first, *second)] == [True, False, True, False]
    assert not any("start_time" in record.measurements for record in (*first, *second))
    assert len({record.log for record in (*first, *second)}) == 4
    counts = [record.attestation.counts[f"calls {SWAP}"] for record in (*first, *second) if record.attestation]
    assert counts == [6, 6, 6, 6]
    assert sum("supervisor.py" in words and "-toy_serve-" in words for words in leftovers(toy_build)) == 2, "the last block's servers alone"


def test_no_secret_home_or_path_gets_into_what_is_kept(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the caller's environment and the model's absolute path are in no record, log or kept result file."""
    monkeypatch.setenv("HF_TOKEN", "hf_averysecrettoken")
    for record in run(serve()):
        store.append(tmp_path / "results", record)
    for file in (tmp_path / "results").rglob("*"):
        if file.is_file() and ".running" not in file.parts:
            text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text(errors="replace")
            assert "hf_averysecrettoken" not in text, file
            assert str(tmp_path / "results") not in text, file


def test_an_arm_may_change_the_clients_flags(serve: Serve, tmp_path: Path) -> None:
    """An arm's own client flags are laid on the workload's: its length is what is asked for and insisted on."""
    shorter = dataclasses.replace(arm("shorter"), client={"random-output-len": 5})
    plain, changed = run(serve(PLAIN, shorter))
    assert (plain.status, changed.status) == ("ok", "ok"), changed.reason
    assert (plain.work["output_tokens"], changed.work["output_tokens"]) == (24, 15)


# --- in which order servers start ------------------------------------------------------------------------


FIXED = ("--kv-cache-memory-bytes=1024",)
ALONE = "the servers start one after another"


def starts(runner: ServeRunner, build: ReadyBuild, device: str) -> tuple[list[str], list[str]]:
    """What happens in which order when all arms' servers start on such a device, and what was reported of it."""
    happened: list[str] = []
    told: list[str] = []

    def say(words: str) -> None:
        told.append(words)
        if "is ready" in words:
            happened.append("ready")

    def pick() -> int:
        happened.append("launched")
        return free_port()

    runner.builds = {"default": dataclasses.replace(build, fingerprint=dataclasses.replace(build.fingerprint, device=device))}
    runner.say, runner._pick_port = say, pick
    runner._ready_launches().ready(runner.scenario.arms[0])
    return happened, [words for words in told if ALONE in words]


@pytest.mark.parametrize(
    ("device", "common", "own", "together"),
    [
        ("cpu", (), (), True),
        ("cuda", (), (), False),
        ("cuda", FIXED, (), True),
        ("cuda", (), FIXED, False),
        ("cuda", ("--kv-cache-memory-bytes", "1024"), (), True),
    ],
)
def test_servers_that_measure_free_memory_start_one_after_another(
    serve: Serve, toy_build: ReadyBuild, device: str, common: tuple[str, ...], own: tuple[str, ...], together: bool
) -> None:
    """On a GPU each is ready before the next is launched, which is reported once, unless every arm fixes its KV cache; on a CPU never."""
    happened, told = starts(serve(PLAIN, arm("other", server=own), server_arguments=common), toy_build, device)
    assert happened == (["launched", "launched", "ready", "ready"] if together else ["launched", "ready"] * 2)
    assert len(told) == (0 if together else 1)


def test_a_server_that_does_not_start_keeps_none_of_those_after_it_from_starting(serve: Serve, toy_build: ReadyBuild) -> None:
    """One after another, too: its own trial tells it, the other server starts, and is remembered with how long it took by itself."""
    runner = serve(arm("plain", server=("--fake=crash",)), arm("other"))
    with pytest.raises(ServerEnded, match="arm plain: the server exited"):
        starts(runner, toy_build, "cuda")
    assert list(runner._ready_launches()._up) == ["other"]
    server, warnings = runner._ready_launches().ready(runner.scenario.arms[1])
    starting, key = runner._ready_launches()._keys["other"]
    assert (starting.known(key)[-1], warnings) == (round(server.ready_after or 0.0, 1), [])


# --- bad input ------------------------------------------------------------------------------------------


def test_a_flag_that_the_client_does_not_know_is_refused_before_a_server_starts(serve: Serve, tmp_path: Path) -> None:
    """An unknown client flag is bad input, reported in the parser's words with the file's name, and no server was launched."""
    with pytest.raises(BadInput, match=r"toy_serve\.yaml: workload\.client: .*unrecognized arguments: --burst-size"):
        run(serve(client={"burst-size": 3}))
    assert not list((tmp_path / "results").rglob("server-*.log"))


def test_a_flag_cut_short_is_refused_with_its_whole_name(serve: Serve) -> None:
    """vLLM's parser would take the beginning of a name; what is not written out could be asked for and not be insisted on."""
    with pytest.raises(
        BadInput, match=r"unrecognized arguments: --random-output=5; instead of --random-output, did you mean --random-output-len"
    ):
        serve(client={"random-output": 5}).check()


def test_a_client_value_of_the_wrong_type_is_refused(serve: Serve) -> None:
    """A value that the client's parser can't read is bad input."""
    with pytest.raises(BadInput, match=r"workload\.client: .*invalid int value: 'many'"):
        serve(client={"random-input-len": "many"}).check()


def test_an_arms_client_flags_are_checked_too(serve: Serve) -> None:
    """A flag of one arm that the client refuses is bad input, reported under that arm."""
    odd = dataclasses.replace(arm("odd"), client={"no-such": 1})
    with pytest.raises(BadInput, match=r"toy_serve\.yaml: arms\.odd\.client: .*unrecognized arguments: --no-such=1"):
        serve(PLAIN, odd).check()


def test_a_flag_that_the_server_does_not_know_is_refused_before_a_server_starts(serve: Serve, tmp_path: Path) -> None:
    """Every arm's flags go by the parser of `vllm serve`: file, field, its words and the near name; of all arms' flags it is reported
    once."""
    odd = dataclasses.replace(arm("odd"), server_arguments=("--delya=1",))
    with pytest.raises(BadInput) as caught:
        run(serve(PLAIN, odd))
    (fault,) = caught.value.faults
    assert "toy_serve.yaml: arms.odd.server_arguments: 'vllm serve' of " in fault
    assert "unrecognized arguments: --delya=1; instead of --delya, did you mean --delay" in fault
    with pytest.raises(BadInput, match=r"workload\.server_arguments: .*argument --delay: invalid float value: 'x'") as caught:
        run(serve(PLAIN, arm("other", server=("--fake=noise",)), server_arguments=("--delay=x",)))
    assert len(caught.value.faults) == 1
    assert not list((tmp_path / "results").rglob("server-*.log"))


def test_an_arm_with_plugins_of_its_own_is_asked_of_its_server(serve: Serve) -> None:
    """A plugin may bring flags that the parser knows only where the plugin is loaded."""
    own = dataclasses.replace(arm("own"), server_arguments=("--of-a-plugin",), environment={"VLLM_PLUGINS": "mine"})
    serve(PLAIN, own).check()


@pytest.fixture(scope="session")
def newer_build(toy_build: ReadyBuild, tmp_path_factory: pytest.TempPathFactory) -> ReadyBuild:
    """A stand-in whose server knows a flag more than the other's, and one less."""
    folder = tmp_path_factory.mktemp("newer")
    python = toy.interpreter(folder / "env")
    (flags,) = (folder / "env").rglob("entrypoints/cli/serve.py")
    flags.write_text(flags.read_text().replace('"--delay"', '"--newer"'))
    return dataclasses.replace(toy_build, id="newer", label="vLLM newer", interpreter=python, folder=folder / "env")


@pytest.mark.parametrize(
    ("common", "plain", "newer", "told"),
    [
        ((), (), (), ""),
        ((), ("--delay=1",), ("--newer=1",), ""),
        ((), (), ("--delay=1",), "arms.newer.server_arguments: 'vllm serve' of vLLM newer refuses it: unrecognized arguments: --delay=1"),
        ((), ("--newer=1",), (), "arms.plain.server_arguments: 'vllm serve' of "),
        (("--delay=1",), (), (), "workload.server_arguments: 'vllm serve' of vLLM newer refuses it: unrecognized arguments: --delay=1"),
    ],
)
def test_an_arm_of_another_build_is_asked_of_that_build_s_parser(
    toy_build: ReadyBuild,
    newer_build: ReadyBuild,
    tmp_path: Path,
    common: tuple[str, ...],
    plain: tuple[str, ...],
    newer: tuple[str, ...],
    told: str,
) -> None:
    """Before any server starts each arm's flags go by the parser of the vLLM that it runs, not by the baseline's; that build is named."""
    arms = arm("plain", server=plain), dataclasses.replace(arm("newer", server=newer), build="newer")
    asked = scenario(toy_build, *arms, server_arguments=common)
    runner = ServeRunner(asked, {"default": toy_build, "newer": newer_build}, tmp_path, seed=3, watch=[], say=lambda message: None)
    try:
        if told:
            with pytest.raises(BadInput) as caught:
                runner.check()
            (fault,) = caught.value.faults
            assert fault.startswith(f"toy_serve.yaml: {told}")
        else:
            runner.check()
        assert len(list(tmp_path.rglob("parser-*.log"))) == bool(common or newer), "a build that is given no flags is not asked"
    finally:
        runner.close()
    assert not leftovers(newer_build)


def test_a_build_that_cannot_be_asked_is_left_to_its_server(toy_build: ReadyBuild, newer_build: ReadyBuild, tmp_path: Path) -> None:
    """Where the other vLLM does not even import, its trials tell, and the baseline's own are not lost."""
    arms = arm("plain"), dataclasses.replace(arm("newer", server=("--newer=1",)), build="newer")
    broken = dataclasses.replace(newer_build, interpreter=tmp_path / "gone")
    runner = ServeRunner(
        scenario(toy_build, *arms), {"default": toy_build, "newer": broken}, tmp_path, seed=3, watch=[], say=lambda message: None
    )
    try:
        runner.check()
    finally:
        runner.close()


def test_flags_that_the_suite_sets_are_refused_all_at_once(toy_build: ReadyBuild) -> None:
    """A seed, a port or a served name in the scenario is refused, each named, before anything is made."""
    odd = scenario(
        toy_build,
        PLAIN,
        arm("other", server=("--port=8000",)),
        client={"seed": 1},
        server_arguments=("--served_model_name", "x"),
        model=dataclasses.replace(MODEL, hidden=50),
    )
    told = scenario_faults(odd)
    assert len(told) == 4
    assert all(fault.startswith("toy_serve.yaml: ") for fault in told)
    assert {word for fault in told for word in ("seed", "--port", "--served-model-name", "model.hidden") if word in fault} == {
        "seed",
        "--port",
        "--served-model-name",
        "model.hidden",
    }


# --- what keeps a trial from counting -------------------------------------------------------------------


def test_a_server_that_crashes_at_its_start_is_reported_with_cause_and_log(serve: Serve) -> None:
    """The arm whose server does not start fails with the cause in words and the end of the log; the other arm is measured."""
    plain, broken = run(serve(PLAIN, arm("broken", server=("--fake=crash",))))
    assert plain.status == "ok"
    assert broken.status == "failed"
    assert "exited with code 1" in broken.reason
    assert "the KV cache is too small" in broken.reason
    assert "max seq len (4096)" in broken.reason


def test_the_record_of_a_failed_start_names_its_log_and_brings_its_end_along(serve: Serve, tmp_path: Path) -> None:
    """Log, settings and the last lines, of bounded length and harmless to look at, are in the record; one that counts needs no lines."""
    plain, broken = run(serve(PLAIN, arm("broken", server=("--fake=crash", "--fake=noise"))))
    log = (tmp_path / "results" / broken.log).read_text()
    assert "\x1b]0;" in log
    assert len(log) > 1_000_000
    end = broken.environment["log_end"]
    assert end.splitlines()[-1].startswith("ValueError: the model's max seq len (4096)")
    assert len(end.splitlines()) <= 41
    assert len(end) < 25_000
    assert len(broken.reason) < 10_000
    assert not {"\x1b", "\u202e"} & set(end + broken.reason)
    assert "--fake=crash" in broken.environment["server_arguments"]
    assert "log_end" not in plain.environment


def test_a_server_that_does_not_start_is_tried_once_a_block(serve: Serve, tmp_path: Path) -> None:
    """The failure is reported by the trial of its own arm; neither that trial nor the other arm's starts it again before the next block."""
    runner = serve(PLAIN, arm("broken", server=("--fake=crash",)))
    logs = tmp_path / "results" / "logs" / "toy_serve"
    for blocks in (1, 2):
        plain, broken = run(runner, blocks)
        assert (plain.status, broken.status) == ("ok", "failed")
        assert len(list(logs.glob("server-broken-*.log"))) == blocks
        assert broken.log == f"logs/toy_serve/server-broken-{blocks}.log"


def test_a_lane_that_rests_has_no_server_up_and_starts_them_again(serve: Serve) -> None:
    """While another scenario measures none of its servers is up; the next block has new ones, and nobody calls that an accident."""
    runner = serve()
    first = run(runner)
    runner.rest()
    assert not [process for process in psutil.process_iter(["cmdline"]) if "perfproof-toy_serve" in " ".join(process.info["cmdline"] or [])]
    again = run(runner, 2)
    assert [record.status for record in (*first, *again)] == ["ok"] * 4
    assert {record.log for record in first}.isdisjoint(record.log for record in again)
    assert not any("launched again" in warning for record in again for warning in record.warnings)


def test_memory_that_a_gpu_does_not_give_back_makes_the_trial_invalid(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is held by a server before, or by somebody else, not by the arm that is to start: invalid, and the next block is measured."""

    def kept(before: object) -> float:
        raise gpus.MemoryKept("8192 MiB of GPU memory were not given back")

    runner = serve()
    with monkeypatch.context() as held:
        held.setattr(gpus, "wait_free", kept)
        records = run(runner)
    assert [record.status for record in records] == ["invalid"] * 2
    assert [record.reason for record in records] == ["8192 MiB of GPU memory were not given back"] * 2
    assert [record.status for record in run(runner, 2)] == ["ok"] * 2


def test_an_instruction_that_the_processor_refuses_is_reported_with_its_remedy(serve: Serve) -> None:
    """An engine that ends by SIGILL fails the trial, with the argument that avoids the kernels that do it."""
    _, ended = run(serve(PLAIN, arm("ended", server=("--fake=engine illegal",))))
    assert ended.status == "failed"
    assert "SIGILL had ended a process that it had started" in ended.reason
    assert "give every arm --dtype=float32 among its server_arguments" in ended.reason


def test_a_server_that_dies_in_a_trial_fails_it_and_is_launched_again(serve: Serve) -> None:
    """A server that dies under its requests fails the trial; the other arm and the next block continue."""
    runner = serve(PLAIN, arm("dying", server=("--fake=die",)))
    plain, dying = run(runner)
    assert (plain.status, dying.status) == ("ok", "failed")
    assert "exited with code 7" in dying.reason
    assert run(runner, 2)[0].status == "ok"


def test_a_server_killed_from_outside_makes_the_trial_invalid(serve: Serve) -> None:
    """A SIGKILL says nothing of the arm: the trial is invalid, so that its block is measured again."""
    _, killed = run(serve(PLAIN, arm("killed", server=("--fake=killed",))))
    assert killed.status == "invalid"
    assert "SIGKILL" in killed.reason


@pytest.mark.parametrize("fake", ["engine killed", "engine killed, then asked to end", "engine lost"])
def test_an_engine_killed_from_outside_makes_the_trial_invalid(serve: Serve, fake: str) -> None:
    """A SIGKILL of the engine's process alone is distinguished from a crash, though vLLM then exits with code 0 or answers on: invalid."""
    runner = serve(PLAIN, arm("killed", server=(f"--fake={fake}",)))
    _, killed = run(runner)
    assert killed.status == "invalid", killed.reason
    assert "SIGKILL had ended a process that it had started" in killed.reason
    assert "nanobind" not in killed.reason


def test_an_engine_that_crashes_fails_the_trial(serve: Serve) -> None:
    """An engine that ends by a signal of its own making, such as SIGSEGV, is the arm's failure, and the signal is reported."""
    _, crashed = run(serve(PLAIN, arm("crashed", server=("--fake=engine crashed",))))
    assert crashed.status == "failed"
    assert "SIGSEGV had ended a process that it had started" in crashed.reason


def test_a_server_that_hangs_is_found_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes no CPU time during a measurement fails the trial instead of holding up the run."""
    monkeypatch.setattr(server_snapshot.Watcher.__init__, "__defaults__", (1.5, 300.0))
    _, hung = run(serve(PLAIN, arm("hung", server=("--fake=hang",))))
    assert hung.status == "failed"
    assert "the server hangs" in hung.reason


def test_a_busy_server_that_makes_no_token_is_found_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes CPU time and gets nowhere is not waited for either."""
    monkeypatch.setattr(server_snapshot, "ASKED_EVERY", 0.5)
    monkeypatch.setattr(server_snapshot.Watcher.__init__, "__defaults__", (300.0, 1.5))
    _, hung = run(serve(PLAIN, arm("hung", server=("--fake=hang",))))
    assert hung.status == "failed"
    assert "has made no token for 2 s" in hung.reason


def test_a_server_that_is_stopped_makes_the_trial_invalid(serve: Serve) -> None:
    """A SIGSTOP says nothing of the arm: found out within seconds, and its block is measured again."""
    _, stopped = run(serve(PLAIN, arm("stopped", server=("--fake=stopped",))))
    assert stopped.status == "invalid"
    assert "the server was stopped from outside (SIGSTOP) and did not go on" in stopped.reason
    assert stopped.seconds["total"] < 20


def test_a_client_whose_run_was_given_up_is_not_believed_for_the_next_one(serve: Serve) -> None:
    """When a server is lost during a run, what the client says of it later is not taken for the answer of the next trial."""
    runner = serve(PLAIN, arm("stopped", server=("--fake=stopped",)))
    first = run(runner)
    second = run(runner, 2, seed=12)
    assert [record.status for record in (*first, *second)] == ["ok", "invalid", "ok", "invalid"], [record.reason for record in second]
    assert "server starts" not in second[0].seconds or second[0].work == first[0].work


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(serve: Serve) -> None:
    """The server is launched again on another port, and the trial counts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = iter([taken.getsockname()[1], free_port(), free_port()])
        plain, patched = run(serve(pick_port=lambda: next(ports)))
    assert [plain.status, patched.status] == ["ok", "ok"], plain.reason


def test_a_start_is_measured_against_those_before(serve: Serve, toy_build: ReadyBuild) -> None:
    """How long a server took to be ready is remembered beside the build's cache, by what was launched."""
    run(serve(launches="fresh"))
    known = json.loads((toy_build.side.parent / "cache" / "starts.json").read_text())
    assert all(0 < seconds < 60 for times in known.values() for seconds in times)


def test_a_server_that_is_never_ready_is_given_up(serve: Serve) -> None:
    """A server that is not ready in time fails the trial and says how long was waited."""
    _, slow = run(serve(PLAIN, arm("slow", server=("--fake=slow start",)), ready_timeout=8.0))
    assert slow.status == "failed"
    assert "not ready after 8 s" in slow.reason


def test_a_server_that_is_not_ours_is_recognised(serve: Serve) -> None:
    """A program that answers on the port with another model's name is never measured: the trial fails and says who answers."""
    with foreign_server(b'{"data": [{"id": "somebody-elses"}]}') as port:
        runner = serve(pick_port=lambda: port)
        plain, patched = run(runner)
    assert [plain.status, patched.status] == ["failed", "failed"]
    assert f"another program answered on port {port}" in plain.reason


def test_a_server_that_took_the_port_meanwhile_is_recognised(serve: Serve) -> None:
    """A program that takes the port after it was chosen answers in our server's place: its other model name gives it away."""
    runner = serve(PLAIN, PATCHED)
    server, _ = runner._ready_launches().ready(PLAIN)
    server.launch = dataclasses.replace(server.launch, name="ours")
    plain, _ = run(runner)
    assert plain.status == "failed"
    assert " is not ours: it serves perfproof-toy_serve-plain-" in plain.reason


def test_a_port_shared_with_another_program_is_never_measured(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """If sockets of another program listen on the port too, the kernel spreads requests over both: the trial fails with that reason."""
    monkeypatch.setattr(server, "shared_with_others", lambda port, ours: True)
    plain, _ = run(serve())
    assert plain.status == "failed"
    assert "another program listens there too" in plain.reason


def test_a_server_killed_while_its_port_is_looked_at_is_not_taken_for_anothers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket of a process that was ended meanwhile seems to be nobody's: the trial is invalid, for what was done from outside."""

    def killed(port: int, ours: list[int]) -> bool:
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return True

    monkeypatch.setattr(server, "shared_with_others", killed)
    plain, _ = run(serve())
    assert plain.status == "invalid"
    assert "SIGKILL" in plain.reason


def test_an_arm_whose_patch_fails_to_import_is_unattested(serve: Serve) -> None:
    """vLLM serves on when a plugin does not import; the trial then does not count and says why."""
    _, broken = run(serve(PLAIN, arm("broken", "toy_broken")))
    assert broken.status == "unattested"
    assert "toy_broken was not applied" in broken.reason
    assert "a_module_that_does_not_exist" in broken.reason


def test_an_arm_whose_patched_function_is_never_called_is_unattested(serve: Serve) -> None:
    """A patch off the executed path proves nothing: the trial says that its function was never called."""
    _, idle = run(serve(PLAIN, arm("idle", "toy_idle")))
    assert idle.status == "unattested"
    assert "was never called" in idle.reason


def test_failed_requests_make_a_trial_invalid(serve: Serve) -> None:
    """vLLM's client leaves failed requests out of its means and succeeds; such a trial is invalid and says how many failed."""
    _, failing = run(serve(PLAIN, arm("failing", server=("--fake=fail",))))
    assert failing.status == "invalid"
    assert "0 of 3 requests completed, 3 failed" in failing.reason
    assert "500" in failing.reason


def test_outputs_of_another_length_make_a_trial_invalid(serve: Serve) -> None:
    """An arm whose answers are shorter than was asked for is faster for the wrong reason: invalid."""
    _, short = run(serve(PLAIN, arm("short", server=("--fake=short",))))
    assert short.status == "invalid"
    assert "3 of 3 outputs were not the 8 tokens asked for (7 to 7)" in short.reason


@pytest.mark.parametrize(
    ("client", "fake", "told"),
    [
        ({"random-range-ratio": 0.5}, "short", "3 of 3 outputs were not as long as asked for (the first: output 1, "),
        ({"random-range-ratio": 0.5}, "first token", "3 of 3 outputs were not as long as asked for (the first: output 1, 1 tokens of "),
        ({"ignore-eos": False}, "first token", "all 3 outputs ended with their first token, of up to 8 asked for: nothing was decoded"),
        ({"ignore-eos": False}, "no token", "3 of 3 outputs are empty"),
    ],
)
def test_drawn_lengths_and_open_ends_are_looked_at_too(serve: Serve, client: Mapping[str, Any], fake: str, told: str) -> None:
    """Where lengths are drawn each output is compared with its own; where outputs may end earlier, none and one token each are no run."""
    plain, odd = run(serve(PLAIN, arm("odd", server=(f"--fake={fake}",)), client=client))
    assert (plain.status, plain.reason) == ("ok", "")
    assert UNKNOWN not in plain.warnings
    assert odd.status == "invalid"
    assert told in odd.reason


def test_a_warm_prefix_cache_shows_in_the_work(serve: Serve) -> None:
    """Prompts answered from the cache are counted, warned of, and make the arms' work unequal."""
    plain, cached = run(serve(PLAIN, arm("cached", server=("--enable-prefix-caching",))))
    assert plain.work["server_prefix_cache_hits"] == 0
    assert cached.work["server_prefix_cache_hits"] == 12
    assert any("prefix cache" in warning for warning in cached.warnings)


def test_a_client_killed_from_outside_makes_the_trial_invalid_and_is_replaced(serve: Serve) -> None:
    """When the client is killed the trial in hand is invalid; the next trial has a new client."""
    runner = serve(client={"fake": "killed"})
    plain, patched = run(runner)
    assert [plain.status, patched.status] == ["invalid", "invalid"]
    assert "SIGKILL" in plain.reason
    assert "client imports" in patched.seconds


def test_a_client_that_raises_fails_the_trial_with_its_words(serve: Serve) -> None:
    """An exception in vLLM's client is reported, and the client lives on for the next trial."""
    plain, patched = run(serve(client={"fake": "raise"}))
    assert plain.status == patched.status == "failed"
    assert "ValueError: the dataset is empty" in plain.reason
    assert "client imports" not in patched.seconds


def test_a_client_that_leaves_no_result_fails_the_trial(serve: Serve) -> None:
    """vLLM's client may end without its file and without a word when its server dies under it: the trial says so, the run continues."""
    plain, patched = run(serve(client={"fake": "no result"}))
    assert plain.status == patched.status == "failed"
    assert "the client failed: it ended without a result file" in plain.reason


def test_a_result_file_of_another_kind_fails_the_trial(serve: Serve) -> None:
    """What is not what this client is known to write fails the trial, with its name, and not the run."""
    for record in run(serve(client={"fake": "other file"})):
        assert record.status == "failed"
        assert record.reason == "the result file of 'vllm bench serve' can't be read: KeyError: 'duration'"


def test_a_short_run_and_few_warm_ups_are_warned_of(serve: Serve) -> None:
    """A run of a fraction of a second is reported as a warning with the remedy; warm-ups of a whole wave are not."""
    plain, _ = run(serve())
    assert any("measured for 0.0 s only" in warning for warning in plain.warnings)
    assert not any("warm-ups" in warning for warning in plain.warnings)


# --- nothing is left ------------------------------------------------------------------------------------


def test_closing_ends_every_process_and_removes_what_was_only_needed_meanwhile(serve: Serve, toy_build: ReadyBuild, tmp_path: Path) -> None:
    """After `close` there is no process, no port that answers and no running folder; logs and result files stay."""
    runner = serve()
    run(runner)
    assert len(leftovers(toy_build)) >= 3
    runner.close()
    assert not leftovers(toy_build)
    assert not (tmp_path / "results" / ".running").exists()
    assert len(list((tmp_path / "results" / "logs" / "toy_serve").iterdir())) == 5


def test_nothing_of_a_lane_outlives_a_killed_runner(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """After `kill -9` of the runner client and servers are gone within seconds, and what it needed meanwhile with the next run."""
    launcher = multiprocessing.get_context("fork").Process(target=_run_slowly, args=(toy_build, tmp_path / "results"))
    launcher.start()
    deadline = time.monotonic() + 90
    while not _measuring(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(leftovers(toy_build)) >= 3
    assert launcher.pid is not None
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.join()
    while leftovers(toy_build) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not leftovers(toy_build)
    assert sweep(tmp_path / "results" / RUNNING) == 1
    assert not (tmp_path / "results" / RUNNING).exists()


def _run_slowly(build: ReadyBuild, results: Path) -> None:
    made = scenario(build, arm("plain", server=("--delay=60",)), PATCHED)
    run(ServeRunner(made, {"default": build}, results, seed=3, watch=[SWAP], say=lambda message: None))


def _measuring(tmp_path: Path) -> bool:
    """Whether both servers have said that they run."""
    logs = list((tmp_path / "results").rglob("server-*.log"))
    return len(logs) == 2 and all("the server is" in log.read_text() for log in logs)


class foreign_server:
    """A program that answers every page with the same body, on a port of its own."""

    def __init__(self, body: bytes) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> int:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        time.sleep(0.1)
        return self._server.server_port

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
