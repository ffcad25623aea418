"""The live display of a run: block, arm, trial, time elapsed and left; plain lines where there is no terminal.

The time left is estimated from the trials so far, scenario by scenario; before the first trial it is not shown.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from perfproof.analysis.stats.number_format import duration
from perfproof.model.base.untrusted import harmless, lines
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block


class RunProgress:
    """Shows what runs now. `clock` gives seconds; the console decides whether there is a terminal to draw on."""

    def __init__(self, console: Console, trials: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.clock = clock
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.left: dict[str, int] = defaultdict(int)
        self._started = clock()
        self._where = ""
        self._bar = Progress(
            TextColumn("[bold]{task.fields[what]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("trials"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("", total=trials, what="starting", left="")

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def expect(self, scenario: str, trials: int) -> None:
        """Sets the number of missing trials of a scenario."""
        self.left[scenario] = trials

    def say(self, message: str) -> None:
        """Shows what happens now (an install, a server's start) until the next message."""
        message = harmless(message)
        self._bar.update(self._task, what=escape(f"{self._where} · {message}" if self._where else message))
        if not self.console.is_terminal:
            self.console.print(message, highlight=False, markup=False, soft_wrap=True)

    def tell(self, message: str) -> None:
        """Prints a message that stays readable when the next one comes."""
        message = harmless(message)
        self._bar.update(self._task, what=escape(message))
        self.console.print(message, style="yellow", highlight=False, markup=False, soft_wrap=True)

    def block(self, block: Block) -> None:
        self._where = ""
        self.say(f"{block.scenario.name}: block {block.number} of {block.scenario.most_blocks}, {' then '.join(block.order)}")
        self._where = f"{block.scenario.name}: block {block.number} of {block.scenario.most_blocks}"

    def trial(self, record: Record) -> None:
        """A trial has ended."""
        name = record.scenario
        self.taken[name].append(record.took)
        self.left[name] = max(0, self.left[name] - 1)
        self._bar.update(self._task, advance=1, left=f"about {duration(self.seconds_left() / 60)} left")
        if record.status != "ok":
            reason = record.reason.removeprefix(f"arm {record.arm}: ")
            text = lines(f"{name}, block {record.block}, {record.arm}: {record.status}: {reason}")
            self.console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)

    def done(self, scenario: str) -> None:
        """No more trials of that scenario: it is decided, or its time is spent."""
        skipped, self.left[scenario] = self.left[scenario], 0
        total = self._bar.tasks[0].total
        self._bar.update(self._task, total=(total or 0) - skipped)

    def seconds_left(self) -> float:
        every = [seconds for taken in self.taken.values() for seconds in taken]
        typical = sum(every) / len(every) if every else 0.0
        return sum(
            count * (sum(self.taken[name]) / len(self.taken[name]) if self.taken[name] else typical) for name, count in self.left.items()
        )
