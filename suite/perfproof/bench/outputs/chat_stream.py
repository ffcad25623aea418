"""An answer's stream of outputs through vLLM's `OpenAIServingChat`: parsers of reasoning and tools, and a line of JSON for each token."""

from __future__ import annotations

from typing import Any

from perfproof.bench.outputs import chat
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"answer": "text", "tokens": 256, "rounds": 15, "warmup_rounds": 2, "seed": 7}
CHOICES = {"answer": ("text", "reasoning", "tools")}
EXERCISES = ("vllm.entrypoints.openai.chat_completion.serving:OpenAIServingChat.chat_completion_stream_generator",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 64}
MEANS = "once a token of every chat that streams, in the process that serves HTTP: past some hundred streams it limits the server"


class Streaming:
    """The same answer again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.shape = parameters["answer"]
        self.ids = chat.answer(self.shape, parameters["tokens"], parameters["seed"])
        chat.serving(self.shape)
        self.lines = 0

    def prepare(self) -> Round:
        results, asked = chat.outputs(self.ids, 16), chat.request(self.shape)
        return lambda: self.stream(results, asked)

    def stream(self, results: list[Any], asked: Any) -> None:
        self.lines += len(chat.chunks(self.shape, results, asked))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Streaming(parameters).prepare()


def test_chat_stream(benchmark: Any, parameters: dict[str, Any]) -> None:
    """An answer to a chat, as a client reads it."""
    streaming = Streaming(parameters)
    measure(benchmark, parameters, streaming.prepare, lambda: {"lines": streaming.lines})
