"""Lengths of outputs: what is no run of what was asked for, whatever the data set, and that arms of other lengths did other work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perfproof.analysis.trials.work_equivalence import unequal
from perfproof.child import client
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import Dataset
from perfproof.run.kinds.serve import output_lengths
from perfproof.run.kinds.serve.serve_result import read_result

LENGTHS = st.lists(st.integers(2, 512), min_size=1, max_size=64)


def workload(requests: int, said: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> ServeWorkload:
    return ServeWorkload(
        model="some/model", server_arguments=(), client=said or {}, requests=requests, warmups=0, launches="shared", dataset=dataset
    )


DRAWN = Dataset(template="{i}", values={}, draw="in turn", output_tokens=(2, 512))
WORKLOADS: Sequence[tuple[Mapping[str, Any], Dataset | None]] = (
    ({}, DRAWN),
    ({"dataset-name": "custom", "dataset-path": "mine.jsonl", "custom-output-len": -1}, None),
    ({"dataset-name": "sharegpt", "dataset-path": "some.json"}, None),
    ({"dataset-name": "prefix_repetition"}, None),
    ({"random-output-len": 64, "random-range-ratio": 0.9}, None),
    ({"random-output-len": 64}, None),
    ({"backend": "openai-chat", "dataset-name": "hf"}, None),
)


@given(LENGTHS, st.sampled_from(WORKLOADS), st.data())
def test_every_output_is_held_against_its_own_length(asked: list[int], said: tuple[Mapping[str, Any], Dataset | None], data: Any) -> None:
    """Whatever the data set: outputs as long as asked for are fine, and one that is not, by any number of tokens, makes the run invalid."""
    work = workload(len(asked), *said)
    assert output_lengths.fault(asked, work, asked, True) == ""
    odd, place = list(asked), data.draw(st.integers(0, len(asked) - 1))
    odd[place] = data.draw(st.integers(0, 600).filter(lambda length: length != asked[place]))
    assert f"1 of {len(asked)} outputs were not" in output_lengths.fault(odd, work, asked, True)


@given(LENGTHS, st.sampled_from(WORKLOADS), st.data())
def test_where_outputs_may_end_by_themselves_none_is_empty_or_too_long_and_not_all_end_at_once(
    asked: list[int], said: tuple[Mapping[str, Any], Dataset | None], data: Any
) -> None:
    """With `ignore-eos: false` shorter outputs are fine; an empty one, a longer one, and a run of one token each are not."""
    client_said, dataset = said
    work = workload(len(asked), {**client_said, "ignore-eos": False}, dataset)
    made = [data.draw(st.integers(1, most)) for most in asked]
    assume(max(made) > 1)
    assert output_lengths.fault(made, work, asked, False) == ""
    place = data.draw(st.integers(0, len(asked) - 1))
    for odd, told in ((0, "are empty"), (asked[place] + 1, "are longer than asked for")):
        assert told in output_lengths.fault([*made[:place], odd, *made[place + 1 :]], work, asked, False)
    assert "ended with their first token" in output_lengths.fault([1] * len(asked), work, asked, False)


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), max_size=8))
def test_arms_did_the_same_work_only_if_their_outputs_are_as_long_one_by_one(first: list[int], second: list[int]) -> None:
    """Two arms whose outputs hold as many tokens in all, in other lengths or in another order, are not comparable."""
    counts = [{"output_tokens": 1, "output_lengths_checksum": output_lengths.checksum(made)} for made in (first, second)]
    assert bool(unequal(dict(zip("ab", counts, strict=True)))) == (first != second)


def test_a_client_that_tells_no_lengths_is_no_measurement() -> None:
    """A result without the length of every output, of a backend that generates, is a fault; backends that pool have none."""
    work = workload(2, {"random-output-len": 4})
    for told in (None, [], [4], 0, "44"):
        assert "the client did not give the length of each of the 2 outputs" in output_lengths.fault(told, work, None, None)
    assert output_lengths.fault(None, workload(2, {"backend": "openai-embeddings"}), None, None) == ""


def test_a_client_that_notes_no_lengths_is_taken_at_the_scenarios_word() -> None:
    """One length that the scenario names is insisted on; where it names none, empty outputs alone show."""
    assert output_lengths.fault([4, 3], workload(2, {"random-output-len": 4}), None, None) == (
        "1 of 2 outputs were not the 4 tokens asked for (3 to 4)"
    )
    drawn = workload(2, {"dataset-name": "sharegpt"})
    assert output_lengths.asked_for(drawn, None) is None
    assert output_lengths.fault([4, 0], drawn, None, None) == "1 of 2 outputs are empty"


@pytest.mark.parametrize("body", [{"stop": ["."]}, {"guided_json": {}}, {"structured_outputs": {"json": {}}}, {"ignore_eos": False}])
def test_what_ends_an_output_in_the_body_makes_lengths_the_most(body: Mapping[str, Any]) -> None:
    """A stop or a grammar in the `extra-body` may end outputs: then what was asked for is the most."""
    work = workload(2, {"random-output-len": 8, "extra-body": json.dumps(body)})
    assert output_lengths.fault([3, 8], work, [8, 8], True) == ""
    assert "are empty" in output_lengths.fault([0, 8], work, [8, 8], True)


def test_a_cap_in_the_body_cuts_outputs_short() -> None:
    """`max_tokens` in the `extra-body` is no length that was asked for: the run is invalid."""
    work = workload(2, {"dataset-name": "sharegpt", "extra-body": '{"max_tokens": 5}'})
    assert (
        output_lengths.fault([5, 5], work, [9, 7], True)
        == "2 of 2 outputs were not as long as asked for (the first: output 1, 5 tokens of 9)"
    )


def test_several_outputs_of_a_request_are_counted_together() -> None:
    """With `n` in the body the tokens of a request are those of all its outputs: no length is insisted on."""
    assert output_lengths.fault([16, 16], workload(2, {"random-output-len": 8, "extra-body": '{"n": 2}'}), [8, 8], True) == ""


def test_a_result_carries_the_checksum_of_its_lengths() -> None:
    """Work holds one number for all lengths in their order."""
    said = {"duration": 1.0, "completed": 2, "total_input_tokens": 1, "total_output_tokens": 3, "output_lens": [1, 2]}
    found = read_result(said, workload(2, {"dataset-name": "sharegpt"}), requested=[1, 2], ignored=True)
    assert found.work["output_lengths_checksum"] == output_lengths.checksum([1, 2])
    assert found.fault == ""


def test_the_client_notes_what_vllm_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lengths are those of the requests that vLLM's own function made; its function is put back, and one that is gone leaves none."""
    module = SimpleNamespace(get_samples=lambda args: [SimpleNamespace(expected_output_len=length) for length in (3, None)])
    original = module.get_samples
    monkeypatch.setitem(__import__("sys").modules, "vllm", SimpleNamespace(benchmarks=SimpleNamespace(serve=module)))
    monkeypatch.setitem(__import__("sys").modules, "vllm.benchmarks", SimpleNamespace(serve=module))
    monkeypatch.setitem(__import__("sys").modules, "vllm.benchmarks.serve", module)
    with client.noting() as asked:
        assert len(module.get_samples(None)) == 2
    assert (asked, module.get_samples) == ([3, 0], original)
    del module.get_samples
    with client.noting() as asked:
        pass
    assert asked == []
