"""What would make two like rounds differ, and has nothing to do with what they do: put to rest while something is counted."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No garbage collection within: when it comes depends on all that was allocated before, and what it calls (finalizers, callbacks) is
    Python. What is there already is left out of later collections; for good where something was left out before (`settle`)."""
    was, settled = gc.isenabled(), gc.get_freeze_count() > 0
    gc.disable()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not settled:
            gc.unfreeze()
        if was:
            gc.enable()


def settle() -> None:
    """Leaves all that is there out of collections for good: each of a process with vLLM in it takes half a second otherwise."""
    gc.collect()
    gc.freeze()
