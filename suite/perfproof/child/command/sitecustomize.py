"""Has every Python process of a command prove what it ran: when it imports vLLM, vLLM's plugins are loaded at once.

Packages that the scenario names and the interpreter lacks come last on `sys.path`. Where the command is counted, its first process is.

Python imports a module of this name at its start from the front of `PYTHONPATH`. Scripts need not make an engine, which is when vLLM loads
its plugins by itself. The module makes way for one of the same name that the interpreter has. It imports the standard library alone.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


class FindsVllm(importlib.abc.MetaPathFinder):
    """Waits for the import of vLLM, and lets every other finder find it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != "vllm":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = LoadsPlugins(spec.loader)
                return spec
        return None


class LoadsPlugins(importlib.abc.Loader):
    """Executes vLLM as its own loader does, then loads its plugins."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._inner.exec_module(module)
        try:
            from vllm.plugins import load_general_plugins
        except ImportError as error:
            print(f"perfproof: vLLM's plugins can't be loaded ({error}): this process proves nothing", file=sys.stderr)
            return
        load_general_plugins()


def make_way() -> None:
    """Imports the module of this name that the interpreter would have found without us."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    mine = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if mine is not None:
            sys.modules["sitecustomize"] = mine


def count(file: str) -> None:
    """Has the Python of this process counted, if it is the command's first."""
    from perfproof.child.command.counted_process import begin

    begin(file)


if beside := os.environ.get("PERFPROOF_BESIDE"):
    sys.path.append(beside)
sys.meta_path.insert(0, FindsVllm())
make_way()
if counted := os.environ.get("PERFPROOF_COUNT"):
    count(counted)
