"""Counts one round of each case of a benchmark: what the host did, function by function. Never a round that is timed.

A benchmark that can be counted has a function `counted_round(parameters)`, which makes a round's state again and gives the function that is
the round. In order, for each case: PyTorch's operators are counted until two rounds agree, the first of which warms up what is made once
and shows whether a round is short enough; then Python is counted until two rounds agree to the last instruction. What no two rounds agree
on is named. A case that can't be counted says why.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from perfproof.child.counting import VERSION, Counter, NotCounting, Operators, Tally, equal, quiet, unsteady
from perfproof.child.counting.counter import prove

Ready = Callable[[], Callable[[], object]]
"""Makes the state of a round, and gives the round."""
MOST = 4
"""Rounds that are counted, at most, until two agree."""
LONGEST = 0.1
"""Seconds of the processor in an uncounted round from which it is too long to be counted, which takes a hundred times as long."""


class TooLong(RuntimeError):
    """A round that can't be counted in a reasonable time."""


def count_cases(
    module: Any, cases: Mapping[str, Mapping[str, Any]], smaller: Mapping[str, Any], *, attested: bool = False
) -> dict[str, Any]:
    """`counts` by case, as a record has them; in `left_out` by case, and in sentences as `warnings`, why others have none. `smaller` are
    parameters that are no larger than so while counting; which they were stands in a case's `at`. `attested` as in `count_round`."""
    counts: dict[str, Any] = {}
    left_out, warnings, known = dict[str, str](), list[str](), dict[str, dict[str, Any]]()
    for case, given in cases.items():
        parameters = {**getattr(module, "PARAMETERS", {}), **given}
        at = {key: value for key, value in smaller.items() if key in parameters and parameters[key] > value}
        chosen = {**parameters, **at}
        same = json.dumps(chosen, sort_keys=True, default=repr)
        try:
            if same not in known:
                known[same] = count_round(lambda chosen=chosen: module.counted_round(chosen), attested=attested)
            counts[case] = {**known[same], "at": at}
        except BaseException as error:  # the trial has measured what it measured; a benchmark that skips raises none of Exception's
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            left_out[case] = reason(error) + ("; a smaller round is named with workload.count_at" if isinstance(error, TooLong) else "")
            warnings.append(f"{f'{case}: ' if case else ''}its work was not counted: {left_out[case]}")
    return {"counts": counts, "warnings": warnings, "left_out": left_out}


def reason(error: BaseException) -> str:
    """Why a round was not counted, in a line."""
    words = str(error).strip().partition("\n")[0]
    return words if isinstance(error, (TooLong, NotCounting)) else f"{type(error).__name__}: {words}"


def count_round(ready: Ready, longest: float = LONGEST, *, attested: bool = False) -> dict[str, Any]:
    """The counts of a round as a record has them. A round that takes more than `longest` seconds of the processor is too long. Where
    nothing is timed, its calls are `attested`.

    Raises `TooLong`, `NotCounting`, and what the round raises.
    """
    with nullcontext() if attested else unattested(), quiet():
        operators = _agreed(Operators(), ready, longest) if "torch" in sys.modules else [_warmed(ready, longest)]
        counter = Counter()
        counter.install()
        try:
            prove(counter)
            python = _agreed(counter, ready)
        finally:
            counter.remove()
    work, torch = python[-1], operators[-1]
    odd = sorted({*_odd(python), *_odd(operators)})
    more = {"odd": odd, "steps": 1, "waves": len(python), "counter": VERSION}
    return {**work.document(), "operators": torch.document()["operators"], **more}


def _warmed(ready: Ready, longest: float) -> Tally:
    """A round that nobody counts, where there are no operators: it warms up, and shows whether it is short enough."""
    work, began = ready(), time.thread_time()
    work()
    _not_long(time.thread_time() - began, longest)
    return Tally()


def _not_long(took: float, longest: float) -> None:
    if took > longest:
        raise TooLong(f"a round takes {took:.2g} s of the processor, which is too long: counting takes some hundred times that")


def _agreed(counter: Any, ready: Ready, longest: float = float("inf")) -> list[Tally]:
    """Counts of rounds, each with a state of its own, until one agrees with an earlier one, which is the last; else all of them."""
    found: list[Tally] = []
    for _ in range(MOST):
        work = ready()
        counter.start()
        began = time.thread_time()
        try:
            work()
        finally:
            took, tally = time.thread_time() - began, counter.stop()
        _not_long(took, longest)
        found.append(tally)
        if any(equal(tally, earlier) for earlier in found[:-1]):
            break
    return found


def _odd(tallies: Sequence[Tally]) -> list[str]:
    """What no two of the rounds agree on; nothing where the last agrees with one before."""
    last = tallies[-1]
    if any(equal(last, earlier) for earlier in tallies[:-1]):
        return []
    return sorted({name for earlier in tallies[:-1] for name in unsteady(earlier, last)})


def unattested() -> AbstractContextManager[None]:
    """Counted rounds prove nothing of the timed ones: calls made within are not among those attested."""
    guard = sys.modules.get("perfproof.patches.guard")
    found: AbstractContextManager[None] = nullcontext() if guard is None else guard.not_attested()
    return found
