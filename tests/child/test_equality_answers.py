"""What the child keeps of vLLM's answers, of releases that say less, too."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfproof.child import equality


class Engine:
    """An engine that answers every prompt with the same outputs, and keeps how it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **output: Any) -> None:
        vllm = ModuleType("vllm")
        vllm.SamplingParams = dict  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "vllm", vllm)
        self.output, self.asked = output, list[dict[str, Any]]()

    def generate(self, prompts: list[str], sampling: Any, use_tqdm: bool) -> list[Any]:
        self.asked = sampling if isinstance(sampling, list) else [sampling]
        return [SimpleNamespace(**self.output) for _ in prompts]


def step(token: int, logprob: float, **said: Any) -> dict[int, Any]:
    return {token: SimpleNamespace(logprob=logprob, **said), 99: SimpleNamespace(logprob=-7.0)}


def test_an_answer_is_kept_with_what_it_says_besides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text, its sum of logprobs in full, its tokens' ranks and texts, and why it ended; it is asked with its text."""
    steps = [step(4, -0.1, rank=1, decoded_token="a"), step(5, -0.2, rank=3, decoded_token=" b")]
    answer = SimpleNamespace(
        token_ids=[4, 5], logprobs=steps, text="a b", cumulative_logprob=-0.1 - 0.2, finish_reason="stop", stop_reason=" b", index=0
    )
    engine = Engine(monkeypatch, outputs=[answer])
    kept = equality.answers(engine, ["x"], [{"max_tokens": 2}])
    said = {"finish_reason": "stop", "stop_reason": " b", "text": "a b", "cumulative_logprob": -0.1 - 0.2, "decoded_token": ["a", " b"]}
    assert (kept["tokens"], kept["ranks"], kept["said"]) == ([[4, 5]], [[1, 3]], [said])
    assert engine.asked[0].get("detokenize", True) is True


def test_what_a_release_does_not_say_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No field is made up: a rank that is missing is 0, other fields are not there; what is no text or number becomes one."""
    answer = SimpleNamespace(token_ids=[4], logprobs=[step(4, -0.1)], text="a", finish_reason=["odd"])
    kept = equality.answers(Engine(monkeypatch, outputs=[answer]), ["x"], [{}])
    assert (kept["ranks"], kept["said"]) == ([[0]], [{"text": "a", "finish_reason": "['odd']"}])


def test_a_text_s_tokens_are_kept_with_their_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a paragraph has none."""
    steps = [None, step(5, -0.2, rank=3, decoded_token="b")]
    kept = equality.text_logprobs(Engine(monkeypatch, prompt_token_ids=[4, 5], prompt_logprobs=steps), ["x"])
    assert kept == {"tokens": [[5]], "logprobs": [[-0.2]], "ranks": [[3]], "said": [{"decoded_token": ["b"]}]}
