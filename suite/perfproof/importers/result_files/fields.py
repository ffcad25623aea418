"""Numbers and words out of an object of a result file.

What a tool writes for want of a measurement (null, NaN, a latency of 0 or less) is left out by name. What no tool writes (a list for a
number) is a fault. All faults of a file are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.number_range import is_number
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, ResultValue, Word
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.metrics import Better

MOST_FAULTS = 20
MOST_UNREAD = 6
LONGEST_WORD = 200


@dataclass(slots=True, kw_only=True)
class Fields:
    """One object of a file: what was read of it, what was left out, and what is wrong. `where` names the object in messages."""

    where: str
    members: Mapping[str, Any]
    values: list[ResultValue] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def number(self, key: str) -> float | None:
        """A finite number of any sign; None where it is absent, null or not finite, which is left out by name."""
        raw = self.members.get(key)
        if raw is None:
            return None
        if type(raw) not in (int, float):
            self.faults.append(f"{self.where}: {line(key, 60)}: expected a number, got {_kind(raw)}")
            return None
        if not is_number(raw):
            self.left_out.append(f"{line(key, 60)} is {line(raw, 40)}, which is no measurement")
            return None
        return float(raw)

    def take(
        self,
        key: str,
        metric: str,
        unit: str,
        *,
        statistic: str = "",
        headline: bool = False,
        better: Better | Literal["derive"] | None = "derive",
        value: float | None = None,
    ) -> None:
        """Adds the value under `key` if it is there; or `value`, which was made of several and has `key` for a name.

        The direction comes from the metric's name and unit unless it is given; a spread ("std") has none. A value of 0 or less is
        left out where none of its metric can be: of a latency it is a fault of the client.
        """
        raw = self.number(key) if value is None else value
        if raw is None:
            return
        label = f"{metric} ({unit})" if unit else metric
        way = metric_directions.better(label) if better == "derive" else better
        way = None if statistic == "std" else way
        if raw < 0 or (raw == 0 and not metric_directions.zero_is_ordinary(label) and statistic != "std"):
            self.left_out.append(f"{line(key, 60)} is {raw:g}, which is no measurement of it")
            return
        self.values.append(
            ResultValue(
                metric=metric,
                value=raw,
                unit=unit,
                better=way,
                statistic=statistic,
                headline=headline,
            )
        )

    def numbers(self, key: str) -> list[float]:
        """The finite numbers of the list under `key`; null and what is not finite is left out by name, all else is a fault."""
        raw = self.members.get(key)
        if raw is None:
            return []
        if not isinstance(raw, list):
            self.faults.append(f"{self.where}: {line(key, 60)}: expected a list of numbers, got {_kind(raw)}")
            return []
        inner = Fields(where=f"{self.where}: {line(key, 60)}", members={str(place): value for place, value in enumerate(raw, 1)})
        found = [value for place in inner.members if (value := inner.number(place)) is not None]
        self.faults += inner.faults
        lost = sum(value is None for value in raw) + len(inner.left_out)
        self.left_out += [f"{line(key, 60)}: {lost} of {len(raw)} are no numbers"] if lost else []
        return found

    def take_latencies(self, keys: re.Pattern[str], headlines: Collection[str]) -> list[str]:
        """Adds every latency in milliseconds whose key matches, by the group `statistic`; the keys that matched."""
        found = {key: matched for key in self.members if (matched := keys.fullmatch(key))}
        for key, matched in found.items():
            name = key.removesuffix("_ms")
            self.take(key, name, "ms", statistic=matched["statistic"], headline=name in headlines, better="lower")
        return list(found)

    def leave_unread(self, known: Collection[str]) -> None:
        """Leaves out, by name, the members that hold a number or statistics and that this reader does not know."""
        found = [line(key, 40) for key, raw in self.members.items() if key not in known and _measured(raw)]
        self.left_out += [f"metrics that are not read: {few(found, MOST_UNREAD)}"] if found else []

    def join(self, inner: Fields, named: str = "") -> None:
        """Takes over what was read of an object inside; `named` stands before what was left out of it."""
        self.values += inner.values
        self.faults += inner.faults
        self.left_out += [f"{named}: {each}" if named else each for each in inner.left_out]

    def part(self, key: str) -> Mapping[str, Any]:
        """The object under `key`; an empty one where it is absent, null, or no object, which is a fault."""
        raw = self.members.get(key)
        if raw is not None and not isinstance(raw, dict):
            self.faults.append(f"{self.where}: {line(key, 60)}: expected an object, got {_kind(raw)}")
        return raw if isinstance(raw, dict) else {}

    def words(self, names: Mapping[str, str]) -> dict[str, Word]:
        """The members with these keys under their names here, as words: numbers, texts and truth values; others are passed over."""
        found: dict[str, Word] = {}
        for key, name in names.items():
            raw = self.members.get(key)
            if isinstance(raw, str):
                found[name] = line(raw, LONGEST_WORD)
            elif isinstance(raw, bool) or (isinstance(raw, int | float) and is_number(raw)):
                found[name] = raw
        return found


def requests_inside(completed: float | None) -> str:
    """What a client's run consists of, in words."""
    return f"{completed:g} requests" if completed is not None else "requests"


def run_of_client(
    fields: Fields,
    asked: Mapping[str, Word],
    done: Mapping[str, Word],
    setting: Mapping[str, Word],
    at: float | None,
    doubts: Sequence[str],
) -> ResultRun:
    """One run of a serving client, with what was read of its object."""
    return ResultRun(
        source=fields.where,
        values=tuple(fields.values),
        asked=asked,
        done=done,
        setting=setting,
        at=at,
        inside=requests_inside(fields.number("completed")),
        left_out=tuple(fields.left_out),
        doubts=tuple(doubts),
    )


def _measured(raw: Any) -> bool:
    return type(raw) in (int, float) or (isinstance(raw, dict) and "unit" in raw)


def _kind(raw: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a text", bool: "a truth value"}
    return f"{names.get(type(raw), 'something else')} ({line(raw, 40)})"


def with_values(runs: Sequence[ResultRun], where: str) -> list[ResultRun]:
    """The runs that have values; why others have none stands with the first of these. Raises `BadInput` where none has."""
    found = [run for run in runs if run.values]
    lost = [f"{run.benchmark or run.source}: {why}" for run in runs if not run.values for why in run.left_out or ("has no values",)]
    if not found:
        raise BadInput(f"{where}: no benchmark in it has a value" + (f": {few(lost, 3)}" if lost else ""))
    return [replace(found[0], left_out=(*found[0].left_out, *lost)), *found[1:]]


def refuse(faults: list[str]) -> None:
    """Raises `BadInput` with the faults of a file, if there are any."""
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS} more faults"] if len(faults) > MOST_FAULTS else []
        raise BadInput(*faults[:MOST_FAULTS], *more)
