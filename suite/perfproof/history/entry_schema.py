"""Converts entries to lines and back: one JSON object each, whose `entry` names its type; older schemas are migrated here, field by
field."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import orjson

from perfproof.history import contradictions
from perfproof.model.base import number_range
from perfproof.model.history.point import POINT_SCHEMA, Acknowledgement, Entry, Point, Setting
from perfproof.model.scenarios.metrics import METRICS, base_name

NAMES: Mapping[str, type[Point] | type[Setting] | type[Acknowledgement]] = {
    "point": Point,
    "setting": Setting,
    "acknowledgement": Acknowledgement,
}
_KEYS = {name: frozenset(field.name for field in dataclasses.fields(noun)) for name, noun in NAMES.items()}
_NUMBERS = ("value",)
_WHOLE = ("schema", "rounds")
_OTHER = {"what", "values", *_NUMBERS, *_WHOLE}
_CHOICES = {"better": ("lower", "higher"), "kind": ("witness", "count", "timed")}
LONGEST_VERSION = 200
"""The most characters of a version: numbers of thousands of digits can't be compared."""


class Newer(ValueError):
    """A line that a newer perfproof wrote."""

    def __init__(self, schema: int) -> None:
        super().__init__(f"written by a newer perfproof (schema {schema}, this one reads {POINT_SCHEMA})")


def text(entry: Entry) -> bytes:
    """The line of an entry, without its end; raises `ValueError` for a number that is not finite."""
    name = next(name for name, noun in NAMES.items() if isinstance(entry, noun))
    fields = {"entry": name, **dataclasses.asdict(entry)}
    return json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()


def schema_of(line: bytes) -> int:
    """The schema of a line that `entry_of` accepts."""
    return int(orjson.loads(line)["schema"])


def entry_of(data: Any) -> Entry:
    """An entry from its JSON object; `ValueError` names its fault, `Newer` means a later schema.

    An older point gets the id that follows from its fields now: schema 1 had fewer.
    """
    if not isinstance(data, dict):
        raise ValueError("not an entry of a history")
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise ValueError("an entry without a schema number")
    if schema > POINT_SCHEMA:
        raise Newer(schema)
    name = data.get("entry")
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(f"entry: unknown {name!r}")
    fields = {key: value for key, value in data.items() if key != "entry"}
    if schema < POINT_SCHEMA:
        fields = migrated(name, fields)
    _check(name, fields)
    entry = NAMES[name](**fields)
    if schema < POINT_SCHEMA and isinstance(entry, Point):
        entry = dataclasses.replace(entry, id=contradictions.identity(entry))
    if fault := next(contradictions.faults(entry), ""):
        raise ValueError(fault)
    return entry


def migrated(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an older line in the current schema; fields that schema 1 lacks are unknown."""
    unknown: dict[str, Any] = {"packages": "", "rounds": 0} if name == "point" else {}
    return {**unknown, **fields, "schema": POINT_SCHEMA}


def _check(name: str, fields: Mapping[str, Any]) -> None:
    missing, unknown = _KEYS[name] - fields.keys(), fields.keys() - _KEYS[name]
    if missing or unknown:
        differences = ", ".join(sorted(missing)) + " missing" if missing else "unknown " + ", ".join(sorted(unknown))
        raise ValueError(f"{name}: {differences}")
    for key, value in fields.items():
        if key not in _OTHER and not isinstance(value, str):
            raise ValueError(f"{key}: expected a text, got {value!r}")
        if key in _NUMBERS and not _number(value):
            raise ValueError(f"{key}: expected a number, got {value!r}")
        if key in _WHOLE and (not isinstance(value, int) or isinstance(value, bool)):
            raise ValueError(f"{key}: expected an integer, got {value!r}")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise ValueError(f"{key}: unknown {value!r}")
    if name == "point" and not (isinstance(fields["values"], list) and fields["values"] and all(map(_number, fields["values"]))):
        raise ValueError("values: expected a list of numbers")
    if name == "point" and base_name(fields["metric"]) not in METRICS:
        raise ValueError(f"metric: unknown {fields['metric']!r}")
    if name == "point" and len(fields["version"]) > LONGEST_VERSION:
        raise ValueError(f"version: {len(fields['version']):,} characters, expected at most {LONGEST_VERSION}")
    what = fields.get("what", {})
    if not (isinstance(what, dict) and all(isinstance(value, str) for value in what.values())):
        raise ValueError("what: expected a mapping of texts")


def _number(value: Any) -> bool:
    """Whether it is a finite number in the range that records allow."""
    return number_range.is_number(value)
