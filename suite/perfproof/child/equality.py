"""Answers the same prompts in one process: `python equality.py ORDER RESULT`.

Runs inside a build's interpreter and imports nothing else of the suite. The engine runs in this process, so that all prompts are queued
before the first step and batches are the same each time. ORDER is a JSON object:

- `arguments`: the words for vLLM's own parser of engine arguments; `checked`: those of all arms of this build, parsed before the engine
  starts;
- `parts`: the parts to run, of `greedy_outputs`, `sampled_outputs`, `text_perplexity`, `embeddings`;
- `prompts`: texts; `sampling`: for each of them the parameters of a greedy answer; `sampled`: those of a sampled one;
- `paragraphs`: the text whose perplexity is measured, each paragraph by itself.

RESULT is a JSON object: `fault` (words, "" after success), `seconds`, and in `parts` for each part lists with one entry per prompt:
`tokens`, `logprobs` (of the tokens chosen, or of the text's), `runners_up` (the best logprob of another token), `values` (embeddings),
`ranks` (of the tokens; 0 where vLLM gives none), and `said`: an object with what the answer says besides, by vLLM's own names. What a
release's answers do not have is left out. Numbers are float32, to nine figures; `cumulative_logprob` is a sum, and kept whole.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

LEAST = -9999.0
"""The value for minus infinity, the same as in vLLM's own server."""
BESIDE = 2
"""Number of logprobs to get besides the chosen token's: the best and the second."""
SAID = ("finish_reason", "stop_reason", "text", "cumulative_logprob")
"""What an answer says as a whole, by its attributes."""


def parse(words: list[str]) -> Any:
    """The parsed arguments of the engine; raises `ValueError` with the words of vLLM's parser if it refuses them."""
    import contextlib
    import io

    from vllm import EngineArgs

    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser  # type: ignore[no-redef]

    parser = EngineArgs.add_cli_args(FlexibleArgumentParser(prog="vllm"))
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            return EngineArgs.from_cli_args(parser.parse_args(words))
    except SystemExit:
        lines = output.getvalue().strip().splitlines() or ["refused without a message"]
        raise ValueError(lines[-1].partition("error: ")[2] or lines[-1]) from None


def engine(arguments: Any) -> Any:
    """vLLM's offline engine, with the plugins that the environment names."""
    from vllm import LLM

    made = getattr(LLM, "from_engine_args", None)
    return (
        made(arguments)
        if made is not None
        else LLM(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(arguments)})
    )


def figures(value: float) -> float:
    """A float32 as a number with nine figures, which restores it; minus infinity is `LEAST`."""
    return max(float(f"{value:.9g}"), LEAST) if value == value else value


def answers(llm: Any, prompts: list[str], parameters: list[dict[str, Any]]) -> dict[str, Any]:
    """Tokens and logprobs of every prompt's answer, and what else it says."""
    from vllm import SamplingParams

    sampling = [SamplingParams(**{"logprobs": BESIDE, "ignore_eos": True, **one}) for one in parameters]
    lists: dict[str, Any] = {"tokens": [], "logprobs": [], "runners_up": [], "ranks": [], "said": []}
    for output in llm.generate(prompts, sampling, use_tqdm=False):
        answer = output.outputs[0]
        tokens = [int(token) for token in answer.token_ids]
        steps = list(answer.logprobs or [])
        lists["tokens"].append(tokens)
        lists["logprobs"].append([figures(step[token].logprob) for token, step in zip(tokens, steps, strict=True)])
        lists["runners_up"].append([figures(runner_up(step, token)) for token, step in zip(tokens, steps, strict=True)])
        lists["ranks"].append(ranks(tokens, steps))
        lists["said"].append({name: plain(getattr(answer, name)) for name in SAID if hasattr(answer, name)} | decoded(tokens, steps))
    return lists


def ranks(tokens: list[int], steps: list[Any]) -> list[int]:
    """The rank of each token among all, from 1 on; 0 where vLLM gives none."""
    return [int(getattr(step[token], "rank", None) or 0) for token, step in zip(tokens, steps, strict=True)]


def decoded(tokens: list[int], steps: list[Any]) -> dict[str, list[Any]]:
    """The text of each token, as it stands beside its logprob; nothing where vLLM has no such texts."""
    if not all(hasattr(step[token], "decoded_token") for token, step in zip(tokens, steps, strict=True)):
        return {}
    return {"decoded_token": [plain(step[token].decoded_token) for token, step in zip(tokens, steps, strict=True)]}


def plain(value: Any) -> Any:
    """A value that JSON can hold; of any other its text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def runner_up(step: Any, token: int) -> float:
    """The best logprob of another token than the chosen one."""
    return max((one.logprob for other, one in step.items() if other != token), default=LEAST)


def text_logprobs(llm: Any, paragraphs: list[str]) -> dict[str, Any]:
    """The text's tokens and their logprobs, each after all tokens before it in its paragraph; the first of a paragraph has none."""
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0)
    lists: dict[str, Any] = {"tokens": [], "logprobs": [], "ranks": [], "said": []}
    for output in llm.generate(paragraphs, sampling, use_tqdm=False):
        tokens = [int(token) for token in output.prompt_token_ids][1:]
        steps = list(output.prompt_logprobs)[1:]
        lists["tokens"].append(tokens)
        lists["logprobs"].append([figures(step[token].logprob) for token, step in zip(tokens, steps, strict=True)])
        lists["ranks"].append(ranks(tokens, steps))
        lists["said"].append(decoded(tokens, steps))
    return lists


def embedded(llm: Any, prompts: list[str]) -> dict[str, Any]:
    """Every prompt's embedding."""
    return {"values": [[figures(value) for value in output.outputs.embedding] for output in llm.embed(prompts, use_tqdm=False)]}


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Runs all parts, in their order."""
    began = time.perf_counter()
    for name, words in order["checked"].items():
        try:
            parse(words)
        except ValueError as error:
            return {"fault": f"arms.{name}: vLLM's parser refuses it: {error}", "refused": True}
    imported = time.perf_counter()
    llm = engine(parse(order["arguments"]))
    started = time.perf_counter()
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "greedy_outputs": lambda: answers(llm, order["prompts"], order["sampling"]),
        "sampled_outputs": lambda: answers(llm, order["prompts"], order["sampled"]),
        "text_perplexity": lambda: text_logprobs(llm, order["paragraphs"]),
        "embeddings": lambda: embedded(llm, order["prompts"]),
    }
    parts = {part: ways[part]() for part in order["parts"]}
    seconds = {"importing": imported - began, "engine start": started - imported, "answering": time.perf_counter() - started}
    return {"fault": "", "seconds": seconds, "parts": parts}


def main(argv: list[str]) -> int:
    order_file, result_file = argv
    with open(order_file) as file:
        order = json.load(file)
    try:
        answer = run(order)
    except Exception as error:  # any error of the engine is the trial's result; its traceback goes to the log
        traceback.print_exc()
        answer = {"fault": f"{type(error).__name__}: {error}"}
    with open(result_file + ".new", "w") as file:
        json.dump(answer, file)
    os.replace(result_file + ".new", result_file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if not answer["fault"] else 1)  # an engine may hang or report errors if the interpreter's exit tears it down


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
