"""What a way of running trials must offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block


class Lane(Protocol):
    """Runs trials of one kind of workload; owns whatever it keeps alive between them."""

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs one fresh trial of each of `arms` (names, in the order to run them), yielding each record as its trial ends."""
        ...

    def rest(self) -> None:
        """Ends the servers that it keeps up between trials: another lane is to measure. A later trial starts them anew."""
        ...

    def close(self) -> None:
        """Ends everything that still runs."""
        ...
