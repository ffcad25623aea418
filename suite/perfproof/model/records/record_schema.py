"""The shapes of what a record holds, below its first level: whoever reads a record relies on them.

Records come from other machines, older versions and other hands. One whose inside is of another shape is named by its line and
skipped, like one that was cut off, instead of ending the command somewhere in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.number_range import MOST, is_number
from perfproof.model.records import answer_schema, count_lines, kept_counts

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) <= MOST


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _mapping(inner: Check = lambda value: True) -> Check:
    """Of a mapping, whose keys are texts wherever it was JSON."""
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
_NUMBERS = _mapping(is_number)
_LISTS = _mapping(_list(is_number))
_PERHAPS = {"a number": _either(_nothing, is_number), "a text": _either(_nothing, _text), "a mapping": _either(_nothing, _mapping())}
_NEEDED: tuple[tuple[tuple[str, ...], str, Check], ...] = (
    (("order",), "a list of texts", _list(_text)),
    (("warnings",), "a list of texts", _list(_text)),
    (("raw",), "lists of numbers", _LISTS),
    *((("attestation", key), "a text", _text) for key in ("build", "python", "vllm_version", "vllm_file", "sources", "torch_version")),
    (("attestation", "compiled_operators"), "true or false", _truth),
    (("attestation", "patches"), "a mapping of mappings", _mapping(_mapping())),
    (("attestation", "refused"), "a mapping of texts", _mapping(_text)),
    (("attestation", "unwatchable"), "a list of texts", _list(_text)),
    (("attestation", "counts"), "numbers", _NUMBERS),
    (("attestation", "runner"), "a text", _text),
    (("attestation", "processes"), "an integer", _whole),
    (("definition", "name"), "a text", _text),
    (("definition", "workload"), "a mapping", _mapping()),
    (("definition", "metrics"), "a mapping of mappings", _mapping(_mapping())),
    (("definition", "arms"), "a mapping of mappings", _mapping(_mapping())),
)
"""What every record has, for what judges it relies on it."""
_KNOWN: tuple[tuple[tuple[str, ...], str, Check], ...] = (
    (("environment", "spread"), "true or false", _truth),
    (("environment", "gpus"), "a list of mappings", _either(_nothing, _list(_mapping()))),
    (("environment", "telemetry"), "numbers", _mapping(_either(_nothing, is_number))),
    (("environment", "variables"), "a mapping of texts", _mapping(_text)),
    (("environment", "packages"), "a mapping of texts", _mapping(_text)),
    *((("environment", key), "a number or nothing", _PERHAPS["a number"]) for key in ("memory_bytes", "cores", "cores_of_machine")),
    *(
        (("environment", key), "a text or nothing", _PERHAPS["a text"])
        for key in ("host", "processor", "build", "lock", "commit", "device")
    ),
    *(
        (("environment", key), "a mapping or nothing", _PERHAPS["a mapping"])
        for key in ("before", "after", "overlay", "image", "while_measuring")
    ),
    (("definition", "builds"), "a mapping of builds", _mapping(_build)),
    *((("attestation", key), "a mapping of texts", _mapping(_text)) for key in ("plugins", "variables")),
    (("attestation", "unknown"), "a list of texts", _list(_text)),
    (("attestation", "workers"), "a list of integers", _list(_whole)),
)
"""What a record may lack: older ones and other kinds of trials do."""
_OF_AN_ARM: Mapping[str, tuple[str, Check]] = {
    "environment": ("a mapping", _mapping()),
    "patches": ("a list of texts", _list(_text)),
    "server_arguments": ("a list of texts", _list(_text)),
}


def faults(data: Mapping[str, Any]) -> Iterator[str]:
    """What is of another shape than a record's, a sentence each, and what is missing of that on which every reader relies."""
    for key in _COUNTED:
        yield from (f"{key}.{name}: expected a number, got {value!r}" for name, value in data[key].items() if not is_number(value))
    for needed, (path, expected, check) in (*((True, row) for row in _NEEDED), *((False, row) for row in _KNOWN)):
        value, where = data[path[0]], ".".join(path)
        if path[0] == "attestation" and value is None:
            continue
        if len(path) > 1 and path[1] not in value:
            if needed:
                yield f"{where}: is missing"
        elif not check(value[path[1]] if len(path) > 1 else value):
            yield f"{where}: expected {expected}"
    for case, table in data.get("counts", {}).items():
        if kept_counts.elsewhere(table):
            continue
        try:
            count_lines.round_of(table, f"counts.{case}" if case else "counts")
        except BadInput as error:
            yield from error.faults
    if _LISTS(data["raw"]):
        yield from answer_schema.faults(data["raw"])
    arms = data["definition"].get("arms")
    for name, arm in (arms if isinstance(arms, dict) else {}).items():
        for key, (expected, check) in _OF_AN_ARM.items():
            if isinstance(arm, dict) and arm.get(key) is not None and not check(arm[key]):
                yield f"definition.arms.{name}.{key}: expected {expected}"
