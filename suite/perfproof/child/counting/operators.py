"""PyTorch's operators, by name, with the bytes of their results: what a step hands to compiled code.

Only what runs eagerly in the calling thread is seen: a mode is a thread's own, and nothing is dispatched inside a compiled graph. The
mode is Python as well, so that it and the counter of instructions never count the same round.
"""

from __future__ import annotations

from typing import Any

from perfproof.child.counting.tally import Tally


class Operators:
    """Counts operators between `start` and `stop`."""

    def __init__(self) -> None:
        self._mode: Any = None
        self._counts: dict[str, list[int]] = {}

    def start(self) -> None:
        self._counts = {}
        self._mode = _mode(self._counts)
        self._mode.__enter__()

    def stop(self) -> Tally:
        """What was counted since `start`: a name's calls, and the bytes of its results."""
        self._mode.__exit__(None, None, None)
        return Tally(operators=self._counts)


def _mode(counts: dict[str, list[int]]) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            there = counts.setdefault(str(func.name()), [0, 0])
            there[0] += 1
            there[1] += size_of(result)
            return result

    return Counting()


def size_of(result: Any) -> int:
    """The bytes of the tensors in an operator's result."""
    if isinstance(result, (tuple, list)):
        return sum(size_of(one) for one in result)
    if not hasattr(result, "element_size") or not hasattr(result, "numel"):
        return 0
    return int(result.numel() * result.element_size())
