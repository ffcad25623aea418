"""Which lines of a module run while it is imported: those outside all functions, of which no count of a step can tell."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType
from typing import Any


class ImportLines:
    """Notes of these modules, by name, whether they are imported from now on and which of their own lines run meanwhile.

    `found` has each module that was imported with its lines; None where they could not be seen: the module was there before, or something
    else traced its import.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = frozenset(modules)
        self.found: dict[str, list[int] | None] = {name: None for name in sorted(self._modules) if name in sys.modules}

    def install(self) -> None:
        """Looks at imports from now on; at none where no module is asked for."""
        if self._modules:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec that another finder has; a module of ours is looked at while its loader runs it."""
        if name not in self._modules:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                self._watch(name, spec)
                return spec
        return None

    def _watch(self, name: str, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        whole = getattr(loader, "exec_module", None)

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            outer = sys.gettrace()
            if outer is not None and not isinstance(getattr(outer, "__self__", None), _Own):
                self.found[name] = None
                whole(module)
                return
            own = _Own(spec.origin)
            sys.settrace(own.called)
            try:
                whole(module)
            finally:
                self.found[name] = sorted(own.lines) if sys.gettrace() == own.called else None
                sys.settrace(outer)

        if whole is not None:
            loader.exec_module = exec_module


class _Own:
    """A trace function that notes the lines of one file outside its functions: of the module itself and of its classes."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self.lines: set[int] = set()

    def called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code: CodeType = frame.f_code
        return self._line if code.co_filename == self._file and not code.co_flags & inspect.CO_OPTIMIZED else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines.add(frame.f_lineno)
        return self._line
