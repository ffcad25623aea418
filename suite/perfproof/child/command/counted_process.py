"""Counts the Python of a whole command: of its first process, from its script's first line to its end, without imports.

What modules do while they are imported is not counted, nor is it slowed: most of what a process of vLLM runs is that. The counter is away
while a module that is not there yet is found and loaded. Processes that the command starts, or forks, are not counted; the file names them.
"""

from __future__ import annotations

import atexit
import gc
import importlib._bootstrap as _bootstrap  # type: ignore[import-not-found]
import json
import os
import sys
from typing import Any

from perfproof.child.counting import VERSION, Counter, NotCounting
from perfproof.child.counting.counter import prove

OTHERS = ".others"
"""What the name of the file with one line for each other process ends in."""


def begin(file: str) -> None:
    """Counts this process if it is the first, and writes `file` at its end; else notes it beside the file."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        _note(file, "started")
        return
    gc.disable()  # when a collection comes depends on all that was allocated before, and what it calls is Python
    counter = Counter()
    counter.install()
    try:
        prove(counter)
    except NotCounting as error:
        _write(file, {"fault": str(error)})
        return
    _leave_out_imports(counter)
    counting = [True]

    def end() -> None:
        if counting.pop():
            _write(file, _counted(counter))

    def forked() -> None:
        counter.abandon()
        atexit.unregister(end)
        _note(file, "forked")

    atexit.register(end)
    os.register_at_fork(after_in_child=forked)
    counter.start()


def _counted(counter: Counter) -> dict[str, Any]:
    try:
        return {**counter.stop().document(), "counter": VERSION}
    except NotCounting as error:
        return {"fault": str(error)}


def _leave_out_imports(counter: Counter) -> None:
    """The counter is away while a module is found and loaded."""
    find_and_load = _bootstrap._find_and_load

    def uncounted(*words: Any) -> Any:
        away = counter.suspend()
        try:
            return find_and_load(*words)
        finally:
            counter.resume(away)

    _bootstrap._find_and_load = uncounted


def _note(file: str, how: str) -> None:
    with open(f"{file}{OTHERS}", "a") as others:
        others.write(f"{how} {os.path.basename(sys.argv[0]) if getattr(sys, 'argv', None) else ''}\n")


def _write(file: str, document: dict[str, Any]) -> None:
    with open(file, "w") as out:
        json.dump(document, out)
