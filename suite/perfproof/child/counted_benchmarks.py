"""Counts pytest-benchmark's tests, in a process of their own in which nothing is timed.

The fixture's two ways of running a function, `benchmark(...)` and `benchmark.pedantic(...)`, call it without their timers, which take trace
functions away. The test gets the function's answer, as ever. A benchmark that can't be counted says why, and its test goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfproof.child.counted_rounds import LONGEST, count_round, reason
from perfproof.child.observing.observed_calls import observe


class Counting:
    """The counted round of each benchmark by node id, and why others have none. With `observing` also how many functions of vLLM a round
    calls. `longest` is in seconds of the processor: longer rounds are not counted."""

    def __init__(self, named: Callable[[str], str], *, longest: float = LONGEST, observing: bool = False) -> None:
        self.named = named
        self.longest = longest
        self.observing = observing
        self.observed: dict[str, int] = {}
        self.counts: dict[str, Any] = {}
        self.warnings: dict[str, str] = {}

    def install(self) -> None:
        """From here on the fixture counts."""
        from pytest_benchmark.fixture import BenchmarkFixture

        def call(fixture: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            return self.count(fixture, function, lambda: (args, kwargs), None)

        def pedantic(fixture: Any, target: Callable[..., Any], args: Any = (), kwargs: Any = None, **more: Any) -> Any:
            setup, given = more.get("setup"), (args, kwargs or {})
            return self.count(fixture, target, lambda: (setup and setup()) or given, more.get("teardown"))

        BenchmarkFixture.__call__, BenchmarkFixture.pedantic = call, pedantic

    def count(self, fixture: Any, function: Callable[..., Any], make: Callable[[], Any], teardown: Callable[..., Any] | None) -> Any:
        """Counts a function whose arguments are made again for each round; its last answer."""
        rounds, test = _Rounds(function, make, teardown), self.named(fixture.fullname)
        try:
            if self.observing:
                self.observed[test] = self.observed.get(test, 0) + len(observe(rounds.ready()))
            self.counts[test] = count_round(rounds.ready, self.longest)
        except Exception as error:
            self.warnings[test] = f"its work was not counted: {reason(error)}"
            if rounds.fault is not None:
                raise
        finally:
            rounds.end()
        return rounds.answer


class _Rounds:
    """Rounds of a function, each set up and torn down; `fault` is what the function itself raised."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any], teardown: Callable[..., Any] | None) -> None:
        self.function, self.make, self.teardown = function, make, teardown
        self.given: Any = None
        self.answer: Any = None
        self.fault: BaseException | None = None

    def ready(self) -> Callable[[], None]:
        self.end()
        self.given = self.make()
        return self.run

    def run(self) -> None:
        args, kwargs = self.given
        try:
            self.answer = self.function(*args, **kwargs)
        except BaseException as error:
            self.fault = error
            raise

    def end(self) -> None:
        """Tears the round down that was run last."""
        given, self.given = self.given, None
        if given is not None and self.teardown is not None:
            self.teardown(*given[0], **given[1])
