"""Which functions of vLLM a function calls: looked at from outside, in a round that nobody times or counts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def observe(work: Callable[[], object]) -> set[str]:
    """The Python functions of vLLM (`module:Qual.name`) that `work` calls, in all threads that it starts."""
    found: set[tuple[str, str]] = set()

    def called(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and isinstance(module, str) and (module == "vllm" or module.startswith("vllm.")):
            found.add((module, frame.f_code.co_qualname))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {f"{module}:{name}" for module, name in found}
