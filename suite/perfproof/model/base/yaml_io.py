"""Reads a YAML file as plain values: those of JSON, without YAML's additions.

The loader accepts no tags, anchors or duplicate keys. Its result passes through JSON, so that exactly the values of a later record are
validated.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Hashable, Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from perfproof.model.base.errors import BadInput

LARGEST_FILE = 1_000_000
"""The most bytes of a file."""
_OCTAL = re.compile(r"[-+]?0[0-9_]+")


class _PlainLoader(yaml.SafeLoader):
    """YAML without duplicate keys, anchors and tags."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "anchors and aliases are not allowed", self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise yaml.constructor.ConstructorError(None, None, "anchors and aliases are not allowed", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"the tag {event.tag} is not allowed, write the plain value", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        _refuse_old_numbers(node)
        return super().construct_yaml_int(node)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        _refuse_old_numbers(node)
        return super().construct_yaml_float(node)


def _refuse_old_numbers(node: yaml.ScalarNode) -> None:
    """Raises for numbers that YAML 1.1 reads differently from people: 010 as 8, 1:30 as 90."""
    if ":" in node.value or _OCTAL.fullmatch(node.value):
        problem = f"the number {node.value} can be read in two ways, write it plainly or quote it"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_PlainLoader.add_constructor("tag:yaml.org,2002:int", _PlainLoader.construct_yaml_int)
_PlainLoader.add_constructor("tag:yaml.org,2002:float", _PlainLoader.construct_yaml_float)


def read_mapping(path: Path) -> dict[str, Any]:
    """The plain mapping in a YAML file, with JSON's values only; `BadInput` names file and line, or field."""
    plain, faults = read_plain(path)
    if faults:
        raise BadInput(*(f"{path}: {fault}" for fault in faults))
    return plain


def read_plain(path: Path) -> tuple[dict[str, Any], list[str]]:
    """As `read_mapping`, but values that JSON can't hold become texts, each with a fault that names its field."""
    try:
        status = path.stat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise BadInput(f"{path}: can't be read: not a file")
        if size > LARGEST_FILE:
            raise BadInput(f"{path}: the file has {size:,} bytes, at most {LARGEST_FILE:,} are allowed")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}{_near(path)}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from error
    try:
        data = yaml.load(text, Loader=_PlainLoader)  # noqa: S506  (a stricter SafeLoader)
        faults = list[str]()
        plain = json.loads(json.dumps(_plain(data, "", faults), allow_nan=False))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        raise BadInput(f"{path}:{line} {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise BadInput(f"{path}: only plain values are allowed ({error})") from error
    if not isinstance(plain, dict):
        raise BadInput(f"{path}: expected a mapping, lines of 'key: value', got {shown(plain) if plain is not None else 'an empty file'}")
    odd = _unspeakable(plain)
    if odd:
        raise BadInput(
            f"{path}: the text {odd[:60]!r} has a character that no program accepts as an argument (NUL, or half of a surrogate pair)"
        )
    return plain, faults


def _plain(value: Any, where: str, faults: list[str]) -> Any:
    """The value with texts instead of dates, infinite numbers and NaN, each of which adds a fault."""
    if isinstance(value, dict):
        return {key: _plain(inner, f"{where}.{key}", faults) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, f"{where}.{place}", faults) for place, inner in enumerate(value)]
    field = where.lstrip(".") or "the file"
    if isinstance(value, date):
        faults.append(f"{field}: only plain values are allowed, write a date in quotes: '{value}'")
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        faults.append(f"{field}: only plain values are allowed, got a number that is infinite or NaN ({value})")
        return str(value)
    return value


def _near(path: Path) -> str:
    """A clause with similar names of files beside a missing one; "" if there are none."""
    if path.exists() or not path.parent.is_dir():
        return ""
    beside = {each.stem: each for each in sorted(path.parent.glob("*.yaml"))}
    near = [str(beside[stem]) for stem in get_close_matches(path.stem, beside, n=3)]
    return f", did you mean {' or '.join(near)}?" if near else ""


def _unspeakable(value: Any) -> str:
    """The first text in a plain value, key or not, that can't be an argument of a program; "" if there is none."""
    if isinstance(value, str):
        return value if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value) else ""
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return next(filter(None, map(_unspeakable, inner)), "")


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` merged with `over`, mapping by mapping; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def shown(value: Any) -> str:
    """A value in the form for faults, shortened if it is long."""
    text = json.dumps(value) if isinstance(value, (dict, list)) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def write_mapping(file: Path, mapping: Mapping[str, Any]) -> None:
    """Writes a file that `read_mapping` reads as the same mapping."""
    file.write_text(text_of(mapping), encoding="utf-8")


def text_of(mapping: Mapping[str, Any]) -> str:
    """A mapping as YAML."""
    return str(yaml.safe_dump(json.loads(json.dumps(mapping)), sort_keys=False, allow_unicode=True, width=140))
