"""The shapes of what a record holds, below its first level: whoever reads a record relies on them.

Records come from other machines, older versions and other hands. One whose inside is of another shape is told by its line and
skipped, like one that was cut off, instead of ending the command somewhere in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from suite.model import recorded_answers

MOST = 1e100
"""No measurement is this large; what is larger is no number that could be drawn or summed."""

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    """Whether it is a number that can be reckoned with: no truth value, not infinite, not out of this world."""
    return type(value) in (int, float) and -MOST <= value <= MOST


def _mapping(inner: Check = lambda value: True) -> Check:
    return lambda value: isinstance(value, dict) and all(map(inner, value.values()))


def _list(inner: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(inner, value))


def _either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def _nothing(value: Any) -> bool:
    return value is None


def _build(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("kind", ""))


_COUNTED = ("measurements", "witnesses", "work", "seconds")
_NUMBERS = _mapping(_number)
_LISTS = _mapping(_list(_number))
_SHAPES: tuple[tuple[tuple[str, ...], str, Check], ...] = (
    (("order",), "a list of texts", _list(_text)),
    (("warnings",), "a list of texts", _list(_text)),
    (("raw",), "lists of numbers", _LISTS),
    (("attestation", "build"), "a text", _text),
    (("attestation", "vllm_version"), "a text", _text),
    (("attestation", "sources"), "a text", _text),
    (("attestation", "patches"), "a mapping of mappings", _mapping(_mapping())),
    (("attestation", "refused"), "a mapping", _mapping()),
    (("attestation", "unwatchable"), "a list of texts", _list(_text)),
    (("attestation", "counts"), "numbers", _NUMBERS),
    (("attestation", "plugins"), "a mapping of texts", _mapping(_text)),
    (("attestation", "variables"), "a mapping of texts", _mapping(_text)),
    (("attestation", "unknown"), "a list of texts", _list(_text)),
    (("environment", "gpus"), "a list of mappings", _either(_nothing, _list(_mapping()))),
    (("environment", "memory_bytes"), "a number", _either(_nothing, _number)),
    (("environment", "telemetry"), "numbers", _mapping(_either(_nothing, _number))),
    (("definition", "workload"), "a mapping", _mapping()),
    (("definition", "metrics"), "a mapping", _mapping()),
    (("definition", "builds"), "a mapping of builds", _mapping(_build)),
    (("definition", "arms"), "a mapping of mappings", _mapping(_mapping())),
)
_OF_AN_ARM: Mapping[str, tuple[str, Check]] = {
    "environment": ("a mapping", _mapping()),
    "patches": ("a list of texts", _list(_text)),
    "server_arguments": ("a list of texts", _list(_text)),
}


def faults(data: Mapping[str, Any]) -> Iterator[str]:
    """What is of another shape than a record's, a sentence each; what is not there is no fault."""
    for key in _COUNTED:
        yield from (f"{key}.{name}: expected a number, got {value!r}" for name, value in data[key].items() if not _number(value))
    for (first, *inner), expected, check in _SHAPES:
        value = data[first]
        if inner and (value is None or inner[0] not in value):
            continue
        if not check(value[inner[0]] if inner else value):
            yield f"{'.'.join((first, *inner))}: expected {expected}"
    if _LISTS(data["raw"]):
        yield from recorded_answers.faults(data["raw"])
    arms = data["definition"].get("arms")
    for name, arm in (arms if isinstance(arms, dict) else {}).items():
        for key, (expected, check) in _OF_AN_ARM.items():
            if isinstance(arm, dict) and arm.get(key) is not None and not check(arm[key]):
                yield f"definition.arms.{name}.{key}: expected {expected}"
