"""Keeps `vllm bench serve` imported and runs it as often as asked.

Runs inside a build's interpreter, imports nothing else of the suite, and leaves the measuring to
vLLM's own unmodified code: its parser reads the arguments, its `main` measures and writes the
result file. A trial so costs its measurement, not the 10 s of imports.

It talks in lines of JSON over two pipes whose numbers stand in `PERFPROOF_CHANNEL` ("reading,writing"):
one request a line, one answer a line. It ends when the requests end, in the midst of a measurement too, so
that it never outlives the runner.

- at the start: `{"ready": true, "vllm": VERSION, "seconds": SECONDS}`
- `{"do": "check", "bench": NAME, "arguments": [...]}` parses only: `{"ok": true}`, or `{"ok": false, "fault": WORDS}`
- `{"do": "check server", "arguments": [...]}` the same with what follows `vllm serve`
- `{"do": "run", "arguments": [...]}` measures: the same, and `seconds` and `cpu_seconds` that it took in all, `asked_lengths`, the output
  tokens that each request asked for, and `ignore_eos`, whether nothing else was to end it; null for either where this vLLM does not tell
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import importlib.util
import io
import json
import os
import queue
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any, TextIO


def channel() -> tuple[TextIO, TextIO]:
    """Where requests come from and where answers go; no process that vLLM starts inherits either."""
    reader, writer = (int(number) for number in os.environ["PERFPROOF_CHANNEL"].split(","))
    for end in (reader, writer):
        os.set_inheritable(end, False)
    return os.fdopen(reader, encoding="utf-8"), os.fdopen(writer, "w", buffering=1, encoding="utf-8")


def requests(source: TextIO) -> queue.Queue[dict[str, Any]]:
    """Requests as they come in, read by a thread that ends the process when the input ends."""
    waiting: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        for line in source:
            waiting.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return waiting


def parse(arguments: list[str], bench: str = "serve") -> Any:
    """The arguments as the own parser of `vllm bench BENCH` has them; `ValueError` with the parser's words if it refuses them.

    Names cut short are refused, though vLLM would take them: `--random-output=64` would be asked for and not be insisted on.
    """
    add_cli_args = importlib.import_module(f"vllm.benchmarks.{bench}").add_cli_args
    parser = parsers()(prog=f"vllm bench {bench}", allow_abbrev=False)
    add_cli_args(parser)
    parsed = parsed_by(parser, arguments, list(parser._option_string_actions))
    if getattr(parsed, "dataset_name", None) == "custom" and importlib.util.find_spec("pandas") is None:
        raise ValueError("a custom data set is read with pandas, which the client's build has not: add it to that build's 'requirements'")
    return parsed


def parse_server(arguments: list[str]) -> None:
    """Has the own parser of `vllm serve` look at the arguments; `ValueError` with its words if it refuses them.

    A vLLM that keeps that parser elsewhere has no say: its server will tell.
    """
    try:
        from vllm.entrypoints.cli.serve import cmd_init
    except ImportError:
        return
    parser = parsers()(prog="vllm")
    commands = parser.add_subparsers(dest="subparser")
    for command in cmd_init():
        command.subparser_init(commands)
    known = [name for each in commands.choices.values() for name in each._option_string_actions]
    parsed_by(parser, ["serve", *arguments], known)


def parsers() -> Any:
    """vLLM's own class of parsers."""
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser  # type: ignore[no-redef]
    return FlexibleArgumentParser


def parsed_by(parser: Any, arguments: list[str], known: list[str]) -> Any:
    """What the parser makes of the arguments; `ValueError` with its words, and the near ones of the `known` flags."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parser.parse_args(arguments)
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["refused without a word"]
        told = next((line for line in lines if "error: " in line), lines[-1])
        fault = told.partition("error: ")[2] or told
        raise ValueError(fault + near(fault, known)) from None


def near(fault: str, known: list[str]) -> str:
    """What may have been meant by the flags that a parser's words call unknown."""
    flags = [word.partition("=")[0] for word in fault.split() if word.startswith("--")] if "unrecognized" in fault else []
    found = {flag: difflib.get_close_matches(flag, known, n=2) for flag in flags}
    return "".join(f"; instead of {flag}, did you mean {' or '.join(names)}?" for flag, names in found.items() if names)


def run(arguments: list[str]) -> dict[str, Any]:
    """One whole `vllm bench serve`, in an event loop of its own."""
    from vllm.benchmarks.serve import main

    parsed = parse(arguments)
    gc.unfreeze()
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    with noting() as asked:
        main(parsed)
    took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {**took, "asked_lengths": asked or None, "ignore_eos": getattr(parsed, "ignore_eos", None)}


@contextlib.contextmanager
def noting() -> Iterator[list[int]]:
    """The output tokens that each request asks for, as vLLM's own function makes the requests; empty where there is no such function."""
    import vllm.benchmarks.serve as module

    asked: list[int] = []
    samples = getattr(module, "get_samples", None)

    def noted(*args: Any, **kwargs: Any) -> Any:
        made = samples(*args, **kwargs)
        with contextlib.suppress(AttributeError, TypeError):
            asked[:] = [int(request.expected_output_len or 0) for request in made]
        return made

    if samples is None:
        yield asked
        return
    module.get_samples = noted
    try:
        yield asked
    finally:
        module.get_samples = samples


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Does what a request asks; a fault is an answer too, and its traceback goes to standard error."""
    try:
        if request["do"] == "check":
            parse(request["arguments"], request["bench"])
            return {"ok": True}
        if request["do"] == "check server":
            parse_server(request["arguments"])
            return {"ok": True}
        return {"ok": True, **run(request["arguments"])}
    except (Exception, SystemExit) as fault:
        traceback.print_exc()
        return {"ok": False, "fault": f"{type(fault).__name__}: {fault}" if request["do"] == "run" else str(fault)}


def serve() -> None:
    source, answers = channel()
    waiting = requests(source)
    start = time.perf_counter()
    import vllm
    import vllm.benchmarks.serve

    parse([])
    said: dict[str, Any] = {"ready": True, "vllm": vllm.__version__, "seconds": time.perf_counter() - start}
    while True:
        answers.write(json.dumps(said) + "\n")
        said = answer(waiting.get())


if __name__ == "__main__":
    serve()
