"""What the machine did during each trial, from the records: load, stolen and foreign time, clocks, heat, throttling.

Each reading becomes a signal with the lowest and the highest value of a trial. This module judges nothing: the rules that exclude a
trial were fixed before the run (`analysis.trials.invalidation`). The signals show what those rules let pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.report.base import units
from perfproof.report.base.page_model import SignalView

Span = tuple[float, float] | None
MOST_GPUS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signal:
    """A reading: its name, its shown unit, the function that takes it from an environment, and whether a value above 0 is an event."""

    name: str
    unit: str
    take: Callable[[Mapping[str, Any]], Span]
    event: bool


def signals(records: Sequence[Record]) -> Iterable[SignalView]:
    """Every signal that at least one trial recorded, in a fixed order, over the trials in their order."""
    environments = [record.environment for record in records]
    gpus = max((len(_gpus(environment)) for environment in environments), default=0)
    for signal in (*_MACHINE, *(each for place in range(min(gpus, MOST_GPUS)) for each in _of_gpu(place, gpus))):
        spans = tuple(signal.take(environment) for environment in environments)
        if any(span is not None for span in spans):
            yield SignalView(name=signal.name, unit=signal.unit, spans=spans, finding=_finding(signal, spans))


def clock_reasons(records: Sequence[Record]) -> tuple[str, ...]:
    """Every reason that a GPU reported for a lower clock, with the number of trials that saw it."""
    counts: dict[str, int] = {}
    for record in records:
        for reason in {line(each) for gpu in _gpus(record.environment) for each in _list(gpu.get("reasons"))}:
            counts[reason] = counts.get(reason, 0) + 1
    return tuple(f"{reason} (in {count} of {len(records)} trials)" for reason, count in counts.items())


def _finding(signal: _Signal, spans: Sequence[Span]) -> str:
    """The summary of a signal: how often an event came, or the range of a reading."""
    known = [span for span in spans if span is not None]
    if signal.event:
        seen = sum(high > 0 for _, high in known)
        return f"in {seen} of {len(known)} trials" if seen else f"none in {len(known)} trials"
    low, high = min(low for low, _ in known), max(high for _, high in known)
    first, last = units.rough(low, signal.unit), units.rough(high, signal.unit)
    return last if first == last else f"{first} to {last}"


def _number(value: Any) -> float | None:
    """A finite number, or None for anything else that a file may hold."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _part(environment: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = environment.get(name)
    return part if isinstance(part, Mapping) else {}


def _span(values: Iterable[Any], factor: float = 1.0) -> Span:
    known = [number * factor for value in values if (number := _number(value)) is not None]
    return (min(known), max(known)) if known else None


def _moments(name: str) -> Callable[[Mapping[str, Any]], Span]:
    """A reading taken before and after a trial."""
    return lambda environment: _span(_part(environment, when).get(name) for when in ("before", "after"))


def _over(name: str, factor: float = 1.0) -> Callable[[Mapping[str, Any]], Span]:
    """A reading over a whole trial."""
    return lambda environment: _span([_part(environment, "telemetry").get(name)], factor)


def _clock(environment: Mapping[str, Any]) -> Span:
    """The processor's clock while measuring; where that was not recorded, before and after."""
    return _span(_list(_part(environment, "while_measuring").get("cpu_mhz"))) or _moments("frequency_mhz")(environment)


def _free(environment: Mapping[str, Any]) -> Span:
    meanwhile = _part(environment, "while_measuring").get("memory_available_bytes")
    return _span([meanwhile, *(_part(environment, when).get("memory_available_bytes") for when in ("before", "after"))])


_MACHINE = (
    _Signal(name="load", unit="1", take=_moments("load"), event=False),
    _Signal(name="taken by other processes", unit="%", take=_over("foreign", 100), event=False),
    _Signal(name="stolen by other machines", unit="%", take=_over("steal", 100), event=False),
    _Signal(name="CPU clock", unit="MHz", take=_clock, event=False),
    _Signal(name="throttling events", unit="1", take=_over("throttled"), event=True),
    _Signal(name="swapped", unit="B", take=_over("swapped"), event=True),
    _Signal(name="foreign processes on the GPU", unit="1", take=_over("foreign_gpu"), event=True),
    _Signal(name="memory available", unit="B", take=_free, event=False),
)
_GPU = (("clock", "MHz"), ("memory_clock", "MHz"), ("temperature", "°C"), ("power", "W"), ("used", "B"))


def _gpus(environment: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [gpu for gpu in _list(_part(environment, "while_measuring").get("gpus")) if isinstance(gpu, Mapping)]


def _of_gpu(place: int, gpus: int) -> Iterable[_Signal]:
    """The signals of one GPU, named by its number where there are several."""
    head = f"GPU {place}" if gpus > 1 else "GPU"

    def taking(name: str) -> Callable[[Mapping[str, Any]], Span]:
        return lambda environment: _span(_list(_gpus(environment)[place].get(name))) if place < len(_gpus(environment)) else None

    for name, unit in _GPU:
        reading = "memory used" if name == "used" else name.replace("_", " ")
        yield _Signal(name=f"{head} {reading}", unit=unit, take=taking(name), event=False)
