"""What host time is worth: from a scenario to its delays, and from their records to a sentence."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Callable
from typing import Any

from perfproof.analysis.judging import exposure
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.patches.planted.step_delay import PATCH, STEPS, VARIABLE, WAITED
from perfproof.report.view import build
from tests.factory import ATTESTATION, DEFINITION, record

SERVE: dict[str, Any] = {
    **copy.deepcopy(DEFINITION),
    "name": "serve_x",
    "workload": {"kind": "serve", "model": {"layers": 2}, "requests": 8, "warmups": 8, "launches": "fresh"},
    "metrics": {"output_throughput": {"primary": True, "margin": 0.02}, "median_tpot": {"primary": False, "margin": 0.02}},
}


def measured(
    cost: Callable[[float], float], blocks: int = 6, noise: float = 0.0, delays: tuple[int, ...] = exposure.DELAYS
) -> list[Record]:
    """Records in which a delay (us) costs TPOT `cost` of it, above 5,000 us; every step waits 1 us more than it is told."""
    definition = scenario_of(exposure.delayed(SERVE, exposure.DELAYS, 6), source="example").definition
    chance = random.Random(3)
    made = []
    for block in range(1, 7):
        for delay in exposure.DELAYS:
            tpot = (5000 + 10 * block + cost(delay) + chance.gauss(0, noise)) / 1e6
            counts = {STEPS: 100, WAITED: 100 * (1000 * delay + 1000), f"calls {PATCH.targets[0].name}": 100}
            made.append(
                record(
                    definition,
                    block=block,
                    arm=f"delay_{delay}us",
                    how="shared server",
                    measurements={"median_tpot": tpot, "output_throughput": 8 / tpot},
                    witnesses={},
                    work={"output_tokens": 8},
                    attestation=dataclasses.replace(ATTESTATION, counts=counts, patches={PATCH.name: {"targets": {}, "verified": True}}),
                )
            )
    return made


def test_a_scenario_becomes_one_of_delays_on_one_server() -> None:
    """The baseline with each delay, whatever the other arms are; the first is the baseline."""
    made = scenario_of(exposure.delayed(SERVE, (0, 50, 400), 6), source="example")
    assert made.name == "serve_x_exposure"
    assert [arm.environment[VARIABLE] for arm in made.arms] == ["0", "50", "400"]
    assert [arm.baseline for arm in made.arms] == [True, False, False]
    assert all(arm.patches == ("step_delay",) for arm in made.arms)
    assert made.workload.servers_together
    assert made.blocks == 6
    assert exposure.is_exposure(made.definition)
    assert not exposure.is_exposure(SERVE)


def test_a_pooling_server_is_asked_for_its_requests() -> None:
    """It has no TPOT."""
    pools = {**SERVE, "metrics": {"request_throughput": {"primary": True, "margin": 0.02}}}
    assert list(exposure.delayed(pools, (0, 50, 400), 6)["metrics"]) == ["request_throughput", "mean_e2el"]


def test_the_share_of_host_time_that_shows() -> None:
    """Of every microsecond 0.12 show: the slope and the sentence say so, with the delays as they were really waited."""
    found = exposure.exposure_of(measured(lambda delay: 0.12 * delay, noise=1.0))
    assert found is not None
    assert found.tpot is not None
    assert found.tpot.low < 0.12 < found.tpot.high
    assert found.blocks == 6
    assert found.delays == (1.0, 51.0, 101.0, 201.0, 401.0)
    said = exposure.sentences(found)
    assert said[0].startswith("of 100 us saved on the host per step, 12 us [")
    assert said[0].endswith("] show in TPOT on serve_x")
    assert "of the throughput, from 6 blocks of 5 delays up to 401 us" in said[-1]


def test_a_cost_that_begins_late_is_told() -> None:
    """Where the device waits for the host only beyond 150 us, a saving shows next to nothing, whatever the whole line says."""
    found = exposure.exposure_of(measured(lambda delay: max(0.0, delay - 150), noise=1.0))
    assert found is not None
    assert any("of the first 100 us alone it is" in each and "no straight line" in each for each in exposure.sentences(found))


def test_large_delays_alone_have_an_exposure() -> None:
    """Without a second small delay nothing is said of the smallest ones, and the rest stands."""
    definition = scenario_of(exposure.delayed(SERVE, (0, 250, 500, 1000), 6), source="example").definition
    names = {"delay_0us": 0, "delay_250us": 250, "delay_500us": 500, "delay_1000us": 1000}
    records = [
        record(
            definition,
            block=block,
            arm=arm,
            measurements={"median_tpot": (5000 + 0.5 * delay) / 1e6, "output_throughput": 1e6 / (5000 + 0.5 * delay)},
            attestation=dataclasses.replace(ATTESTATION, counts={STEPS: 10, WAITED: 10_000 * delay}),
        )
        for block in (1, 2)
        for arm, delay in names.items()
    ]
    found = exposure.exposure_of(records)
    assert found is not None
    assert found.early is None
    assert found.tpot is not None
    assert abs(found.tpot.value - 0.5) < 1e-6


def test_records_that_somebody_altered_break_nothing() -> None:
    """Delays that are no numbers are no exposure, and equal waits give none."""
    whole = measured(lambda delay: delay)
    odd = copy.deepcopy(dict(whole[0].definition))
    odd["arms"]["delay_50us"]["environment"][VARIABLE] = "many"
    assert exposure.exposure_of([dataclasses.replace(one, definition=odd) for one in whole]) is None
    equal = dataclasses.replace(ATTESTATION, counts={STEPS: 10, WAITED: 10_000})
    assert exposure.exposure_of([dataclasses.replace(one, attestation=equal) for one in whole]) is None


def test_too_little_has_no_exposure() -> None:
    """One block, blocks that lack a delay, trials that prove no delay, and records of another scenario."""
    whole = measured(lambda delay: delay)
    assert exposure.exposure_of([one for one in whole if one.block == 1]) is None
    assert exposure.exposure_of([one for one in whole if one.block == 1 or one.arm != "delay_50us"]) is None
    assert exposure.exposure_of([dataclasses.replace(one, attestation=ATTESTATION) for one in whole]) is None
    assert exposure.exposure_of([record()]) is None
    assert exposure.exposure_of([]) is None


def test_a_page_says_beside_microbenchmarks_what_host_time_is_worth() -> None:
    """In the place of the caveat that it does not show what a server gains; without an exposure that stands."""
    patched = copy.deepcopy(DEFINITION)
    patched["arms"]["after"]["patches"] = ["swap_states_full_rows"]
    micro = record(patched, witnesses={})
    alone = build([], [micro], made="", version="")
    assert any("does not show what a server gains" in each for each in alone.scenarios[0].provisos)
    page = build([], [micro, *measured(lambda delay: 0.12 * delay)], made="", version="")
    beside = next(one for one in page.scenarios if one.name == "swap_states").provisos
    assert any(each.startswith("a microbenchmark: of 100 us saved on the host per step, 12 us") for each in beside)
    assert not any("does not show what a server gains" in each for each in beside)
    own = next(one for one in page.scenarios if one.name == "serve_x_exposure").provisos
    assert any("show in TPOT on serve_x" in each for each in own)
