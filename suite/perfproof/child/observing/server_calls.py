"""Which functions of vLLM a server calls, in all its processes: `python server_calls.py ORDER RESULT`.

Runs inside a build's interpreter. ORDER is a JSON object: `model` (a toy's folder), `port` and `arguments` of the server, `requests`, each
a method, a path and a body (null: none), and `timeout` in seconds. The server starts in this process, as from a shell; its other processes
are watched from their start, by a `sitecustomize` beside RESULT. It gets the requests one after the other and is told to end. RESULT gets a
line for each function (`module:Qual.name`) that a process calls for the first time, as it does so, and `fault: ...` for a request that was
refused or not answered.
"""

from __future__ import annotations

import http.client
import json
import os
import runpy
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

SERVER = "vllm.entrypoints.openai.api_server"
PAUSE = 0.2
"""Seconds between two looks whether the server is there."""
PATIENCE = 60.0
"""Seconds for an answer."""
REFUSED = 400
"""The least status of an answer that is none."""


STARTS = """\
import runpy

runpy.run_path({here!r})["watch"]({result!r})
"""
"""What each Python runs when it starts."""


def watch(file: str) -> int:
    """From here on every function of vLLM that this process calls says so in a file; the file's descriptor."""
    result = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    seen: set[tuple[str, str]] = set()

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        module = frame.f_globals.get("__name__", "")
        name = (module, frame.f_code.co_qualname)
        if isinstance(module, str) and module.startswith("vllm") and name not in seen:
            seen.add(name)
            os.write(result, f"{module}:{name[1]}\n".encode())

    threading.setprofile(called)
    sys.setprofile(called)
    return result


def watch_others(file: str) -> None:
    """Has every Python that is started from here do the same."""
    folder = os.path.dirname(os.path.abspath(file))
    with open(os.path.join(folder, "sitecustomize.py"), "w") as starts:
        starts.write(STARTS.format(here=os.path.abspath(__file__), result=os.path.abspath(file)))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))


def ask(order: dict[str, Any], result: int) -> None:
    """Waits for the server, sends it the requests, and has it end."""
    port = order["port"]
    ends = time.monotonic() + order["timeout"]
    try:
        while not answered(port, "GET", "/health", None)[0]:
            if time.monotonic() > ends:
                os.write(result, f"fault: it was not there after {order['timeout']:.0f} s\n".encode())
                return
            time.sleep(PAUSE)
        for method, path, body in order["requests"]:
            fine, how = answered(port, method, path, body)
            if not fine:
                os.write(result, f"fault: {method} {path}: {how}\n".encode())
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def answered(port: int, method: str, path: str, body: Any) -> tuple[bool, str]:
    """Whether a request was answered well, and how else."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return False, str(error)
    finally:
        connection.close()
    return answer.status < REFUSED, " ".join(f"{answer.status} {said}".split())[:400]


def main(argv: list[str]) -> int:
    order_file, result_file = argv
    with open(order_file) as file:
        order = json.load(file)
    watch_others(result_file)
    result = watch(result_file)
    threading.Thread(target=ask, args=(order, result), daemon=True).start()
    sys.argv = [SERVER, "--model", order["model"], "--host", "127.0.0.1", "--port", str(order["port"]), *order["arguments"]]
    runpy.run_module(SERVER, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
