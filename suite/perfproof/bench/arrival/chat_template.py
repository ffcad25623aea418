"""A conversation becomes a prompt: messages are read, the chat template is filled, and the text becomes token ids."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.arrival.renderer import renderer
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import text

PARAMETERS = {"messages": 16, "letters": 200, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.renderers.base:BaseRenderer.render_chat",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"messages": 8}
MEANS = "once a request for a chat, in the process that serves HTTP; the whole conversation comes again with every turn"
TEMPLATE = "{% for one in messages %}<|{{ one.role }}|>{{ one.content }}</s>{% endfor %}<|assistant|>"


class Rendering:
    """A conversation that grows no further, again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.renderer = renderer()
        self.params = find("vllm.renderers.params:ChatParams")(
            chat_template=TEMPLATE, chat_template_content_format="string", chat_template_kwargs={"tokenize": False}
        )
        self.messages = [
            {"role": "assistant" if n % 2 else "user", "content": text(parameters["letters"], parameters["seed"] + n)}
            for n in range(parameters["messages"])
        ]
        self.tokens = 0

    def prepare(self) -> Round:
        return self.render

    def render(self) -> None:
        _, prompts = self.renderer.render_chat([self.messages], self.params)
        self.tokens += len(prompts[0]["prompt_token_ids"])


def counted_round(parameters: dict[str, Any]) -> Round:
    return Rendering(parameters).prepare()


def test_chat_template(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A conversation of several turns."""
    rendering = Rendering(parameters)
    measure(benchmark, parameters, rendering.prepare, lambda: {"tokens": rendering.tokens})
