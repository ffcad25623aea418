"""Micro trials on a real vLLM: nothing leaks between forked trials, and a trial costs little beyond what it measures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, PythonBuild
from perfproof.run.checks import catalog
from perfproof.run.checks.catalog import Bench
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from tests import toy

pytestmark = pytest.mark.vllm


def bench_of(name: str) -> Bench:
    if name != "leaks":
        return catalog.bench(name)
    return dataclasses.replace(catalog.bench("swap_states"), name="leaks", parameters={}, witnesses=())


Run = Callable[..., list[Record]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def run(real_build: ReadyBuild, results: Path) -> Iterator[Run]:
    """Runs one block of a benchmark; all tests of this file fork from one parent, for its import is what takes long."""
    key = PythonBuild(name="default", path=str(real_build.interpreter)).key
    runner = MicroRunner({key: real_build}, results / "logs", seed=0, benches=("leaks", "swap_states"), bench_of=bench_of)

    def block(bench: str, *arms: Arm, **parameters: object) -> list[Record]:
        workload = MicroWorkload(bench=bench, parameters=parameters, cases=({},))
        scenario = dataclasses.replace(toy.scenario(real_build.interpreter, *arms), name=f"real_{bench}", workload=workload)
        names = tuple(arm.name for arm in arms)
        return list(runner.trials(Block(scenario=scenario, number=1, order=names, seed=11), names))

    yield block
    runner.close()


def test_nothing_leaks_between_forked_trials(run: Run, results: Path) -> None:
    """A trial after one that patched vLLM, left objects, variables, threads and another default type finds none of it."""
    patch = "swap_states_full_rows"
    arms = (toy.arm("patched", patch), toy.arm("plain"), toy.arm("again", patch), toy.arm("last"))
    records = run("leaks", *arms)
    assert [record.status for record in records] == ["ok"] * 4, [record.reason for record in records]
    found = []
    for record, arm in zip(records, arms, strict=True):
        saved = json.loads((results / record.log).with_name("benchmark.json").read_text())
        found.append(saved["benchmarks"][0]["extra_info"]["leftovers"])
        assert found[-1].pop("plugins") == ["perfproof_attest", *arm.patches]
        assert record.attestation is not None
        assert list(record.attestation.patches) == list(arm.patches)
        assert record.attestation.counts["calls vllm.v1.worker.gpu_input_batch:InputBatch.swap_states"] == 3
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0]["left"] is False
    assert found[0]["variable"] == ""
    assert found[0]["batches"] == 0


def test_plugins_and_variables_of_an_arms_own_are_attested(run: Run) -> None:
    """A name that no package has makes a trial unattested, as vLLM says nothing of it; a variable is shown, a misspelt one is reported."""
    arms = (
        toy.arm("ghost", environment={"VLLM_PLUGINS": "nothing_has_this_name"}),
        toy.arm("misspelt", environment={"VLLM_LOGING_LEVEL": "ERROR", "OMP_DYNAMIC": "false"}),
    )
    ghost, misspelt = run("swap_states", *arms, requests=4)
    assert (ghost.status, ghost.reason.partition(":")[0]) == ("unattested", "plugin nothing_has_this_name was not loaded")
    assert (misspelt.status, misspelt.reason) == ("ok", "")
    assert misspelt.attestation is not None
    assert misspelt.attestation.variables == {"OMP_DYNAMIC": "", "VLLM_LOGING_LEVEL": ""}
    assert any("VLLM_LOGING_LEVEL: this release of vLLM knows no variable of that name" in one for one in misspelt.warnings)


def test_the_swap_moves_less_where_it_copies_active_prefixes(run: Run) -> None:
    """On a real batch, whole rows and active prefixes do the same swaps, and the witness distinguishes them exactly."""
    whole, active = run(
        "swap_states",
        toy.arm("whole", "swap_states_full_rows"),
        toy.arm("active"),
        requests=16,
        max_model_len=4096,
        shortest=64,
        longest=256,
        swaps=50,
        rounds=2,
    )
    assert (whole.status, active.status) == ("ok", "ok"), (whole.reason, active.reason)
    assert whole.work == active.work
    assert all(one.measurements["normalized_round_time"] > 0 for one in (whole, active))
    assert whole.witnesses["bytes_per_swap"] > 5 * active.witnesses["bytes_per_swap"]


def test_a_patch_that_goes_around_the_exchange_counts_as_exercising_it(run: Run) -> None:
    """The batched patch reorders without one call of `swap_states`: its trials are attested by the reordering that it replaces."""
    pairs, batched = run(
        "swap_states",
        toy.arm("as_released"),
        toy.arm("batched", "swap_states_batched"),
        requests=16,
        max_model_len=4096,
        shortest=64,
        longest=256,
        reorders=3,
        rounds=2,
    )
    assert (pairs.status, batched.status) == ("ok", "ok"), (pairs.reason, batched.reason)
    assert pairs.work == batched.work
    assert batched.witnesses["bytes_per_swap"] < pairs.witnesses["bytes_per_swap"]
