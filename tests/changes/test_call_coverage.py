"""Which scenarios called what a change touches, and of what the answers were not tested."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof import store
from perfproof.analysis.judging.apply_policy import decide
from perfproof.changes.call_coverage import Called, called, called_by_case, earlier_records, idle_before, sentences
from perfproof.changes.change_notes import beside_the_change, conclusion, uncounted
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.host_count import HostCount
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import SCHEMA, Record
from perfproof.model.scenarios.scenario import digest_of
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests.analysis.judging.test_host_counts import table
from tests.factory import ATTESTATION, DEFINITION, record
from tests.report.factory import row

SWAP, FILL = "vllm.batch:Batch.swap", "vllm.batch:Batch.fill"
NEVER = "nothing ran the changed code: Batch.swap was never called"


def trial(scenario: str, arm: str, status: Any = "ok", reason: str = "", **counts: int) -> Record:
    """A trial that counted these functions of `Batch`."""
    said = {f"calls vllm.batch:Batch.{name}": count for name, count in counts.items()}
    attestation = dataclasses.replace(ATTESTATION, counts=said)
    position = list(DEFINITION["arms"]).index(arm)
    return record({**DEFINITION, "name": scenario}, arm=arm, position=position, status=status, reason=reason, attestation=attestation)


def both(scenario: str, **counts: int) -> list[Record]:
    """Both arms of a scenario; where nothing was called, the trials are thrown out for it."""
    status, reason = ("ok", "") if any(counts.values()) else ("unattested", NEVER)
    return [trial(scenario, arm, status, reason, **counts) for arm in ("before", "after")]


def found(*records: Record) -> Called:
    return called(Watching(functions=(SWAP, FILL), unknown=()), dict.fromkeys(one.scenario for one in records), records)


def test_who_never_called_it_steps_aside_where_another_did() -> None:
    """The scenario that ran the change is named, the other decides nothing, and answers of the function were not tested."""
    seen = found(*both("swaps", swap=5), *both("answers", swap=0))
    assert (seen.ran, seen.aside) == ({"swaps": (SWAP,)}, ("answers",))
    assert list(sentences(seen, {"answers"})) == [
        "ran the change: swaps (called Batch.swap)",
        "did not run the change, and so do not decide: answers (never called Batch.swap)",
        "answers were NOT tested for Batch.swap: no scenario about answers called it",
    ]


def test_what_a_counted_round_called_ran() -> None:
    """A property can't be counted as it is called; a round in which every function is counted shows that it ran all the same."""
    size = "vllm.batch:Batch.size"
    seen_there = table(100, functions={size: [100, 2, 100, 1, 3]})
    records = [
        dataclasses.replace(trial(scenario, arm), counts={"": seen_there} if scenario == "sizes" else {})
        for scenario in ("sizes", "others")
        for arm in ("before", "after")
    ]
    watched = Watching(functions=(), unknown=(size, "vllm.batch:Batch, outside its methods"))
    seen = called(watched, ["sizes", "others"], records)
    assert (seen.ran, seen.anywhere["sizes"]) == ({"sizes": (size,)}, {size: 4})
    assert uncounted(watched, ["sizes", "others"], records) == [
        f"whether the changed code ran is not known: others: calls can't be counted of {size}, vllm.batch:Batch, outside its methods"
    ]


def test_where_nobody_called_it_nobody_steps_aside() -> None:
    """All stay untestable."""
    seen = found(*both("swaps", swap=0), *both("answers", swap=0))
    assert (seen.idle, seen.aside) == (("swaps", "answers"), ())
    assert list(sentences(seen, {"answers"})) == ["answers were NOT tested for Batch.swap: no scenario at all called it"]


def test_of_several_functions_each_wants_a_scenario_about_answers() -> None:
    """One that answers called says nothing of the one beside it."""
    seen = found(*both("swaps", swap=5, fill=0), *both("answers", swap=0, fill=2))
    assert seen.aside == ()
    assert seen.untested({"answers"}) == {SWAP: True}
    assert next(sentences(seen, {"answers"})) == "ran the change: swaps (called Batch.swap); answers (called Batch.fill)"
    assert found(*both("answers", swap=1, fill=0)).untested({"answers"}) == {FILL: False}
    assert found(*both("answers", swap=1, fill=1)).untested({"answers"}) == {}


def test_calls_of_the_base_alone_test_no_answers_of_the_change() -> None:
    """Unless the change takes the function away."""
    base = trial("answers", "before", fill=1, swap=3)
    assert found(base, trial("answers", "after", fill=1, swap=0)).untested({"answers"}) == {SWAP: False}
    assert found(base, trial("answers", "after", fill=1)).untested({"answers"}) == {}


@pytest.mark.parametrize("status", ["failed", "ok", "invalid"])
def test_a_trial_that_was_not_thrown_out_for_it_keeps_its_scenario(status: str) -> None:
    """A change that crashes a server before anything is called is not passed over."""
    crashed = trial("answers", "after", status, "the server died", swap=0)
    assert found(*both("swaps", swap=5), trial("answers", "before", "unattested", NEVER, swap=0), crashed).aside == ()


def test_what_was_not_counted_is_not_told() -> None:
    """A function that no trial could count is in no sentence."""
    assert list(sentences(found(*both("swaps")), ())) == []


# --- known from other changes ------------------------------------------------------------------------------


def known(folder: Path, *records: Record, functions: tuple[str, ...] = (SWAP,), unknown: tuple[str, ...] = ()) -> set[str]:
    scenario = scenario_of(copy.deepcopy(DEFINITION), source="example")
    asked = [{**scenario.definition, "workload": {**scenario.definition["workload"], **one.definition["workload"]}} for one in records]
    for one, definition in zip(records, asked, strict=True):
        store.append(folder / "earlier", dataclasses.replace(one, definition=definition, digest=digest_of(definition)))
    if all(one.schema == SCHEMA for one in records):
        skipped = store.read(folder / "earlier").warnings
        assert all(store.AGAIN in each for each in skipped), "each is a record, and no line that is skipped"
    base: Any = SimpleNamespace(fingerprint=SimpleNamespace(sources=ATTESTATION.sources))
    return idle_before([scenario], Watching(functions=functions, unknown=unknown), base, earlier_records([folder / "earlier"]))


def test_an_earlier_change_shows_that_the_base_never_calls_it(tmp_path: Path) -> None:
    """The same workload on the same code, with every function counted and none called."""
    assert known(tmp_path, *both("swap_states", swap=0)) == {"swap_states"}


@pytest.mark.parametrize(
    ("arm", "more"),
    [
        ("before", {"swap": 1, "fill": 0}),
        ("before", {"fill": 0}),
        ("after", {"swap": 0}),
        ("other code", {"swap": 0}),
        ("other workload", {"swap": 0}),
        ("crashed", {"swap": 0}),
    ],
)
def test_what_an_earlier_change_does_not_show_is_not_taken_for_known(arm: str, more: dict[str, int], tmp_path: Path) -> None:
    """It called it, did not count it, ran the change itself, other code or another workload, or died before."""
    one = trial("swap_states", "before" if arm != "after" else arm, "failed" if arm == "crashed" else "ok", **more)
    if arm == "other code":
        assert one.attestation is not None
        one = dataclasses.replace(one, attestation=dataclasses.replace(one.attestation, sources="another"))
    if arm == "other workload":
        one = dataclasses.replace(one, definition={**DEFINITION, "workload": {**DEFINITION["workload"], "parameters": {"swaps": 5}}})
    assert known(tmp_path, one) == set()


def test_what_no_count_can_tell_of_is_not_known_before(tmp_path: Path) -> None:
    """Nor is a function that the base lacks."""
    records = both("swap_states", swap=0)
    assert known(tmp_path, *records, unknown=("the top level of vllm.batch",)) == set()
    assert known(tmp_path, *records, functions=(SWAP, FILL)) == set()
    assert known(tmp_path, functions=()) == set()


def test_a_folder_of_a_newer_format_is_passed_over(tmp_path: Path) -> None:
    """What it knows can't be read; that is no reason not to measure."""
    one = dataclasses.replace(both("swap_states", swap=0)[0], schema=99)
    assert known(tmp_path, one) == set()


def in_cases(text: int, tools: int) -> list[Record]:
    """Trials of a scenario with two cases, whose counted rounds called `swap` so often."""
    rounds = {
        case: table(100, functions={SWAP: [100, calls, 100, 1, 3]} if calls else {}) for case, calls in (("text", text), ("tools", tools))
    }
    return [dataclasses.replace(trial("stream", arm), counts=rounds) for arm in ("before", "after")]


@pytest.mark.parametrize(
    ("text", "tools", "primary", "told"),
    [
        (0, 5, ["text"], ["the times that decide call nothing of the change in stream (text); tools calls it, and decides nothing there"]),
        (0, 5, ["tools"], []),
        (0, 5, ["text", "tools"], []),
        (5, 5, ["text"], []),
        (0, 0, ["text"], []),
    ],
)
def test_a_verdict_on_a_case_beside_the_change_is_no_pass(text: int, tools: int, primary: list[str], told: list[str]) -> None:
    """Where another case calls what changed and those that decide do not, their verdicts say nothing of the change."""
    cases = called_by_case(Watching(functions=(SWAP,), unknown=()), {"stream"}, in_cases(text, tools))
    rows = [row("stream", f"round_time@{case}", Outcome.EQUIVALENT, primary=case in primary) for case in ("text", "tools")]
    sentences = beside_the_change(rows, cases)
    assert sentences == told
    code, lines = conclusion(decide(rows, DEFAULT_POLICY), rows, [], HostCount(), untested=False, beside=sentences)
    assert (code, lines) == ((EXIT_INCONCLUSIVE, [f"{told[0]} (exit code 4)"]) if told else (EXIT_PASS, []))


def test_of_code_that_no_count_sees_no_case_is_beside_the_change() -> None:
    """What can't be counted may have run in any case."""
    assert called_by_case(Watching(functions=(SWAP,), unknown=("csrc/a.cu",)), {"stream"}, in_cases(0, 5)) == {}
