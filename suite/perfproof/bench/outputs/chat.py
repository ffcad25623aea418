"""A chat server's front end in this process: vLLM's own serving class, with recorded outputs of an engine in an engine's place.

What streams is plain text, thoughts and text, or a call of a tool, a token at a time; parsers get it as they would from a model.
"""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find
from perfproof.bench.front_end import loop
from perfproof.bench.texts import text, tokenizer

MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
"""Special tokens of the models whose parsers are used here (DeepSeek R1 and Hermes)."""
NAME = "served"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Searches.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}},
        },
    }
]


def marked_tokenizer() -> Any:
    """The tokenizer, with the marks."""
    return tokenizer(MARKS)


def answer(shape: str, tokens: int, seed: int) -> list[int]:
    """The token ids of an answer of about so many tokens: `text`; `reasoning`, thoughts and then text; `tools`, calls of a tool."""
    half = tokens // 2
    if shape == "reasoning":
        said = f"<think>{text(half, seed)}</think>{text(half, seed + 1)}"
    elif shape == "tools":
        call = json.dumps({"name": "search", "arguments": {"query": text(tokens - 64, seed), "limit": 5}})
        said = f"<tool_call>{call}</tool_call>"
    else:
        said = text(tokens, seed)
    ids: list[int] = marked_tokenizer().encode(said, add_special_tokens=False)
    return ids


def outputs(ids: list[int], prompt: int) -> list[Any]:
    """What an engine gives for an answer that streams: a `RequestOutput` for each token, with what is new."""
    from vllm.outputs import CompletionOutput, RequestOutput

    made = []
    coder = marked_tokenizer()
    for place, token in enumerate(ids):
        last = place == len(ids) - 1
        one = CompletionOutput(
            **accepted(
                CompletionOutput,
                index=0,
                text=coder.decode([token]),
                token_ids=[token],
                cumulative_logprob=None,
                logprobs=None,
                finish_reason="stop" if last else None,
                stop_reason=None,
            )
        )
        made.append(
            RequestOutput(
                request_id="chatcmpl-1",
                prompt=None,
                prompt_token_ids=engine.token_ids(prompt, 1),
                prompt_logprobs=None,
                outputs=[one],
                finished=last,
            )
        )
    return made


@functools.cache
def serving(shape: str) -> Any:
    """vLLM's `OpenAIServingChat`, with the parsers that the shape of an answer needs."""
    made = find("vllm.entrypoints.openai.chat_completion.serving:OpenAIServingChat")
    models = find("vllm.entrypoints.openai.models.serving:OpenAIServingModels")
    path = find("vllm.entrypoints.openai.models.protocol:BaseModelPath")
    config = engine.vllm_config(max_num_seqs=8).model_config
    client = SimpleNamespace(
        model_config=config,
        vllm_config=SimpleNamespace(model_config=config),
        renderer=SimpleNamespace(tokenizer=marked_tokenizer(), get_tokenizer=marked_tokenizer),
        input_processor=None,
        io_processor=None,
        errored=False,
    )
    given: dict[str, Any] = {
        "engine_client": client,
        "models": models(**accepted(models.__init__, engine_client=client, base_model_paths=[path(name=NAME, model_path=NAME)])),
        "response_role": "assistant",
        "online_renderer": None,
        "openai_serving_render": None,
        "request_logger": None,
        "chat_template": None,
        "chat_template_content_format": "auto",
        "reasoning_parser": "deepseek_r1" if shape == "reasoning" else "",
        "tool_parser": "hermes" if shape == "tools" else None,
        "enable_auto_tools": shape == "tools",
    }
    return made(**accepted(made.__init__, **given))


def request(shape: str) -> Any:
    """A request for a chat that streams."""
    made = find("vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest")
    more: Mapping[str, Any] = {"tools": TOOLS, "tool_choice": "auto"} if shape == "tools" else {}
    return made(model=NAME, messages=[{"role": "user", "content": "?"}], stream=True, **more)


async def recorded(results: list[Any]) -> AsyncIterator[Any]:
    """An engine's answer, all of which is there already."""
    for one in results:
        yield one


def chunks(shape: str, results: list[Any], asked: Any) -> list[str]:
    """The lines that a client reads."""
    metadata = find(
        "vllm.entrypoints.generate.base.protocol:RequestResponseMetadata", "vllm.entrypoints.openai.engine.protocol:RequestResponseMetadata"
    )
    served = serving(shape)
    stream = served.chat_completion_stream_generator(
        **accepted(
            served.chat_completion_stream_generator,
            request=asked,
            result_generator=recorded(results),
            request_id="chatcmpl-1",
            model_name=NAME,
            conversation=[{"role": "user", "content": "?"}],
            tokenizer=marked_tokenizer(),
            request_metadata=metadata(request_id="chatcmpl-1"),
            chat_template_kwargs={},
        )
    )
    return loop().run_until_complete(_all(stream))


async def _all(stream: AsyncIterator[str]) -> list[str]:
    return [line async for line in stream]


def message(lines: list[str]) -> dict[str, Any]:
    """What a client makes of the lines: `content`, `reasoning` and the names and arguments of `tools`."""
    got: dict[str, Any] = {"content": "", "reasoning": "", "tools": []}
    for line in lines:
        data = line.removeprefix("data: ").strip()
        if data == "[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            delta = choice["delta"]
            got["content"] += delta.get("content") or ""
            got["reasoning"] += delta.get("reasoning") or delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or []:
                if call["index"] == len(got["tools"]):
                    got["tools"].append({"name": "", "arguments": ""})
                function = call.get("function") or {}
                got["tools"][call["index"]]["name"] += function.get("name") or ""
                got["tools"][call["index"]]["arguments"] += function.get("arguments") or ""
    return got
