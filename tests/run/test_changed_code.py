"""Changed code must have run: a trial that calls none of the functions that its build changes proves nothing."""

from __future__ import annotations

import dataclasses

from perfproof.model.scenarios.scenario import Arm
from perfproof.run.checks import catalog
from tests import toy
from tests.run.conftest import RunToy

BATCH = "vllm.v1.worker.batch:Batch"


def arm(*changed: str, more: bool = False) -> Arm:
    return dataclasses.replace(toy.arm("plain"), changed=changed, changes_more=more)


def test_changed_code_that_never_ran_proves_nothing(run_toy: RunToy) -> None:
    """The trial is unattested, and says which functions nothing called."""
    (record,) = run_toy(arm(f"{BATCH}.never"))
    assert record.status == "unattested"
    assert record.reason == "nothing ran the changed code: Batch.never was never called"


def test_one_changed_function_that_ran_is_enough(run_toy: RunToy) -> None:
    """Calls of all are kept; one that this vLLM lacks, as the change adds it, is not asked for."""
    (record,) = run_toy(arm(f"{BATCH}.never", f"{BATCH}.swap", f"{BATCH}.added"))
    assert record.status == "ok", record.reason
    assert record.attestation is not None
    assert record.attestation.counts[f"calls {BATCH}.swap"] == 4
    assert record.attestation.counts[f"calls {BATCH}.never"] == 0
    assert record.attestation.unwatchable == [f"{BATCH}.added"]


def test_an_arm_without_any_of_the_changed_functions_is_not_blamed(run_toy: RunToy) -> None:
    """The base of a change that only adds functions has none to call."""
    (record,) = run_toy(arm(f"{BATCH}.added"))
    assert record.status == "ok", record.reason


def test_where_more_changed_than_can_be_counted_nothing_is_claimed(run_toy: RunToy) -> None:
    """What no count can tell of may have run: the trial counts, with its calls kept."""
    (record,) = run_toy(arm(f"{BATCH}.never", more=True))
    assert record.status == "ok", record.reason
    assert record.attestation is not None
    assert record.attestation.counts[f"calls {BATCH}.never"] == 0


def test_every_kind_of_scenario_watches_the_changed_functions() -> None:
    """What arms change is counted as what patches replace is, in the order of the arms, once."""
    assert catalog.targets_of([arm("m:a", "m:b"), arm("m:b", "m:c")]) == ("m:a", "m:b", "m:c")
