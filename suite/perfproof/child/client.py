"""Keeps `vllm bench serve` imported and runs it on request.

Runs inside a build's interpreter, imports nothing else of the suite, and measures with vLLM's own unmodified code: its parser reads the
arguments, its `main` measures and writes the result file. So a trial takes the time of its measurement, without the 10 s of imports.

Requests and answers are lines of JSON over two pipes whose numbers are in `PERFPROOF_CHANNEL` ("reading,writing"): one request per line,
one answer per line. It ends when the requests end, also during a measurement, so that it never outlives the runner.

- at the start: `{"ready": true, "vllm": VERSION, "seconds": SECONDS}`
- `{"do": "check", "bench": NAME, "arguments": [...]}` parses only: `{"ok": true}`, or `{"ok": false, "fault": WORDS}`
- `{"do": "check server", "arguments": [...]}` the same for the arguments of `vllm serve`
- `{"do": "run", "arguments": [...]}` measures: the same, and `seconds` and `cpu_seconds` in all, `asked_lengths`, the output tokens that
  each request asked for, and `ignore_eos`, whether only the length ends an output; either is null where this vLLM does not provide it
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
    """The pipes of requests and answers; no process that vLLM starts inherits them."""
    reader, writer = (int(number) for number in os.environ["PERFPROOF_CHANNEL"].split(","))
    for end in (reader, writer):
        os.set_inheritable(end, False)
    return os.fdopen(reader, encoding="utf-8"), os.fdopen(writer, "w", buffering=1, encoding="utf-8")


def requests(source: TextIO) -> queue.Queue[dict[str, Any]]:
    """The queue of requests; a thread reads them, and ends the process when the input ends."""
    waiting: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        for line in source:
            waiting.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return waiting


def parse(arguments: list[str], bench: str = "serve") -> Any:
    """The arguments, parsed by the parser of `vllm bench BENCH`; `ValueError` with the parser's words if it refuses them.

    Abbreviated names are refused, although vLLM takes them: the suite would not check the lengths of `--random-output=64`.
    """
    add_cli_args = importlib.import_module(f"vllm.benchmarks.{bench}").add_cli_args
    parser = parsers()(prog=f"vllm bench {bench}", allow_abbrev=False)
    add_cli_args(parser)
    parsed = parsed_by(parser, arguments, list(parser._option_string_actions))
    if getattr(parsed, "dataset_name", None) == "custom" and importlib.util.find_spec("pandas") is None:
        raise ValueError("a custom data set needs pandas, which the client's build does not have: add it to that build's 'requirements'")
    return parsed


def parse_server(arguments: list[str]) -> None:
    """Checks the arguments with the parser of `vllm serve`; `ValueError` with its words if it refuses them.

    If a vLLM keeps that parser elsewhere, nothing is checked here: its server will refuse them.
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
    """vLLM's own parser class."""
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser  # type: ignore[no-redef]
    return FlexibleArgumentParser


def parsed_by(parser: Any, arguments: list[str], known: list[str]) -> Any:
    """The parsed arguments; `ValueError` with the parser's words, and similar ones of the `known` flags."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            return parser.parse_args(arguments)
    except SystemExit:
        lines = output.getvalue().strip().splitlines() or ["refused without a message"]
        error_line = next((line for line in lines if "error: " in line), lines[-1])
        fault = error_line.partition("error: ")[2] or error_line
        raise ValueError(fault + near(fault, known)) from None


def near(fault: str, known: list[str]) -> str:
    """Similar flags for those that a parser calls unknown."""
    flags = [word.partition("=")[0] for word in fault.split() if word.startswith("--")] if "unrecognized" in fault else []
    matches = {flag: difflib.get_close_matches(flag, known, n=2) for flag in flags}
    return "".join(f"; instead of {flag}, did you mean {' or '.join(names)}?" for flag, names in matches.items() if names)


def run(arguments: list[str]) -> dict[str, Any]:
    """One whole `vllm bench serve`, in its own event loop."""
    from vllm.benchmarks.serve import main

    parsed = parse(arguments)
    gc.unfreeze()
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    with noting() as lengths:
        main(parsed)
    took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {**took, "asked_lengths": lengths or None, "ignore_eos": getattr(parsed, "ignore_eos", None)}


@contextlib.contextmanager
def noting() -> Iterator[list[int]]:
    """Notes the output tokens that each request asks for, when vLLM's own function makes the requests; empty without such a function."""
    import vllm.benchmarks.serve as module

    lengths: list[int] = []
    samples = getattr(module, "get_samples", None)

    def noted(*args: Any, **kwargs: Any) -> Any:
        made = samples(*args, **kwargs)
        with contextlib.suppress(AttributeError, TypeError):
            lengths[:] = [int(request.expected_output_len or 0) for request in made]
        return made

    if samples is None:
        yield lengths
        return
    module.get_samples = noted
    try:
        yield lengths
    finally:
        module.get_samples = samples


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out a request; an error is an answer too, and its traceback goes to standard error."""
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
    message: dict[str, Any] = {"ready": True, "vllm": vllm.__version__, "seconds": time.perf_counter() - start}
    while True:
        answers.write(json.dumps(message) + "\n")
        message = answer(waiting.get())


if __name__ == "__main__":
    serve()
