"""Patches of the user's own: general plugins of vLLM that know nothing of perfproof, loaded by name and proved.

The entry point `NAME = perfproof.patches.own_plugins:NAME` stands for the one that `perfproof.own_patches` lists under that name. A plugin
with a `PATCH` proves itself, as the suite's own do. Of any other the functions of vLLM are compared before and after its `register`: what
it replaced is attested, and its calls are counted. A plugin that fails, or replaces nothing, ends its process with a sentence: vLLM would
go on without it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

from perfproof.patches.guard import SLOT, Attestation, Patch, PatchRefused, asked_for, counted_under, hold, holder_of, source_hash

GROUP = "perfproof.own_patches"
PLAIN = (staticmethod, classmethod)
LONGEST = SLOT - 9 - len("calls ")
"""The most bytes of a counted function's name."""


def __getattr__(name: str) -> Callable[[], None]:
    point = next((point for point in entry_points(group=GROUP) if point.name == name), None)
    if point is None:
        raise AttributeError(name)
    return functools.partial(load, point)


def load(point: EntryPoint) -> None:
    """Registers the plugin once in this process, and attests what it did. Raises `PatchRefused` where it did nothing, or failed."""
    attestation = Attestation.current()
    if not asked_for(point.name) or point.name in attestation.patches:
        return
    try:
        register = point.load()
    except Exception as error:
        if isinstance(error, AttributeError) and point.module in sys.modules:
            refuse(
                point.name,
                f"{point.module} has no function {point.attr}: write def {point.attr}(): ..., or name another with entry:",
                error,
            )
        refuse(point.name, f"its plugin {point.value} does not import: {type(error).__name__}: {error}", error)
    patch = getattr(sys.modules[point.module], "PATCH", None)
    if isinstance(patch, Patch):
        _load_declared(point, patch, register)
    else:
        _load_compared(point, register)


def refuse(name: str, why: str, cause: Exception | None = None) -> NoReturn:
    reason = f"patch {name}: {why}"
    Attestation.current().refuse(name, reason)
    raise PatchRefused(reason) from cause


def _load_declared(point: EntryPoint, patch: Patch, register: Callable[[], None]) -> None:
    if patch.name != point.name:
        refuse(point.name, f"its PATCH is named {patch.name!r}: name it {point.name!r}")
    _call(point.name, register)
    if point.name not in Attestation.current().patches:
        refuse(point.name, "its register() did not apply its PATCH: call PATCH.apply({...})")


def _load_compared(point: EntryPoint, register: Callable[[], None]) -> None:
    root = str(point.dist.locate_file("")) if point.dist is not None else ""
    seen = _Released()
    with seen.importing():
        _call(point.name, register)
    after = {one.key: one for owner in _owners() for one in functions(owner)}
    replaced = [one for key, one in after.items() if key in seen.before and one.function is not seen.before[key].bare]
    lacking = sorted(one.name for key, one in after.items() if key not in seen.before and one.of(root))
    seen.count_again(after)
    if taken := [f"{one.name} is held by patch {holder_of(one.name)} already" for one in replaced if holder_of(one.name)]:
        refuse(point.name, "; ".join(taken))
    if not replaced:
        refuse(point.name, _nothing(lacking))
    targets = {one.name: one.count(seen.before[one.key].bare) for one in replaced if one.countable}
    hold(targets, point.name)
    Attestation.current().patches[point.name] = {"direction": "changes", "targets": targets, "lacking": lacking}
    Attestation.current().write()


def _call(name: str, register: Callable[[], None]) -> None:
    try:
        register()
    except PatchRefused:
        raise
    except Exception as error:
        refuse(name, f"its register() raised {type(error).__name__}: {error}", error)


def _nothing(lacking: list[str]) -> str:
    if lacking:
        return f"this vLLM has no {', '.join(lacking[:3])}: what the patch puts there, nobody calls"
    return "its register() replaced no function of vLLM; if that is meant, name the plugin in VLLM_PLUGINS under environment of the arm"


@dataclass(frozen=True)
class Held:
    """What a module or class of vLLM holds under one name, and without the wrapper that counts its calls."""

    owner: Any
    attribute: str
    held: Any

    @property
    def key(self) -> tuple[int, str]:
        return id(self.owner), self.attribute

    @property
    def name(self) -> str:
        """As `module:Qual.name`."""
        if inspect.ismodule(self.owner):
            return f"{self.owner.__name__}:{self.attribute}"
        return f"{self.owner.__module__}:{self.owner.__qualname__}.{self.attribute}"

    @property
    def function(self) -> Any:
        return self.held.__func__ if isinstance(self.held, PLAIN) else self.held

    @property
    def bare(self) -> Any:
        """The function itself."""
        return self.function if holder_of(self.name) else getattr(self.function, "perfproof_original", self.function)

    @property
    def countable(self) -> bool:
        return inspect.isfunction(self.function) and len(self.name.encode()) <= LONGEST

    def of(self, root: str) -> bool:
        """Whether its code comes from a file below `root`."""
        return str(getattr(getattr(self.function, "__code__", None), "co_filename", "")).startswith(root)

    def put(self, function: Any) -> None:
        """Holds another function in its place."""
        setattr(self.owner, self.attribute, type(self.held)(function) if isinstance(self.held, PLAIN) else function)

    def count(self, original: Any) -> str:
        """Counts its calls; the hash of what it replaced, "" where that has no source."""
        self.put(counted_under(self.name, self.function, original))
        try:
            return source_hash(original)
        except (OSError, TypeError):
            return ""


class _Released(importlib.abc.MetaPathFinder):
    """What vLLM's modules hold before a patch, those too that are imported for it. Wrappers that count calls are taken away meanwhile: a
    patch that calls what it replaces would count each call twice."""

    def __init__(self) -> None:
        self.before: dict[tuple[int, str], Held] = {}
        self._watched: list[Held] = []
        self._asking: set[str] = set()
        for owner in _owners():
            self.take(owner)

    def take(self, owner: Any) -> None:
        for one in functions(owner):
            self.before[one.key] = one
            if one.bare is not one.function:
                self._watched.append(one)
                one.put(one.bare)

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Modules that are imported within are looked at before anybody else has them."""
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not _of_vllm(name) or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking.discard(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            for owner in (module, *_classes(module)):
                self.take(owner)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def count_again(self, after: Mapping[tuple[int, str], Held]) -> None:
        """Puts the wrappers back around what nobody replaced."""
        for one in self._watched:
            if one.key in after and after[one.key].function is one.bare:
                one.put(one.function)


def functions(owner: Any) -> list[Held]:
    """The functions that a module or class holds."""
    held = [Held(owner, name, value) for name, value in list(vars(owner).items())]
    return [one for one in held if inspect.isfunction(one.held) or isinstance(one.held, PLAIN)]


def _owners() -> Iterator[Any]:
    """The imported modules of vLLM, and their classes."""
    for name, module in list(sys.modules.items()):
        if _of_vllm(name) and inspect.ismodule(module):
            yield module
            yield from _classes(module)


def _classes(module: Any) -> list[Any]:
    return [one for one in list(vars(module).values()) if inspect.isclass(one) and one.__module__ == module.__name__]


def _of_vllm(name: str) -> bool:
    return name == "vllm" or name.startswith("vllm.")
