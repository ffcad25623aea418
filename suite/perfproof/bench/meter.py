"""Counts the work of code, in runs that are not timed.

`Meter` counts the bytes that numpy copies, `TokenMeter` how often a token is compared with anything.
Both count what really ran, without knowledge of the code. A numpy operation that can't be counted raises
an error instead of being missed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np


class Meter:
    """Counts every byte written by a copy from or to the arrays it wraps, temporaries included."""

    def __init__(self) -> None:
        self.bytes = 0

    def wrap(self, array: np.ndarray) -> np.ndarray:
        """The same memory, metered."""
        metered = array.view(_Metered)
        metered.meter = self
        return metered


class _Metered(np.ndarray):
    """A view that reports to its meter; its slices do too."""

    meter: Meter | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.meter = getattr(source, "meter", None)

    def _report(self, size: int) -> None:
        if self.meter is not None:
            self.meter.bytes += size

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        if isinstance(item, np.ndarray) and not np.may_share_memory(item.view(np.ndarray), self.view(np.ndarray)):
            self._report(item.nbytes)
        return item

    def __setitem__(self, key: Any, value: Any) -> None:
        written = np.ndarray.__getitem__(self.view(np.ndarray), key)
        self._report(written.nbytes)
        super().__setitem__(key, value)

    def copy(self, order: Any = "C") -> Any:
        self._report(self.nbytes)
        return super().copy(order)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        raise TypeError(f"{function.__name__} copies without being metered")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{ufunc.__name__} copies without being metered")


class TokenMeter:
    """Counts the comparisons of its tokens anywhere: in a loop, in a search, inside a comparison of lists.

    Python treats an object as equal to itself without comparing, so the markers to search for must be
    plain numbers, not tokens of the meter.
    """

    def __init__(self) -> None:
        self.compared = 0
        meter = self

        class Token(int):
            def __eq__(self, other: object) -> bool:
                meter.compared += 1
                return int.__eq__(self, other)

            def __ne__(self, other: object) -> bool:
                meter.compared += 1
                return int.__ne__(self, other)

            __hash__ = int.__hash__

        self._token = Token

    def tokens(self, values: Iterable[int]) -> list[int]:
        return [self._token(value) for value in values]
