"""The functions that a vLLM defines, by their names (`module:Qual.name`), and which of them differ between two vLLMs.

What is written inside a function belongs to it. What Python generates, such as a dataclass's `__init__`, is no function here. Comments,
layout and docstrings make no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from perfproof.changes.selection_rules import functions, module_of

Code = Mapping[str, str]
"""The code of each function by its name, comparable; functions that share a name are one."""


def functions_below(package: Path, folder: str) -> Code:
    """The functions of the files below a folder of vLLM, such as "v1"; `package` is the folder of the package `vllm`.

    A file that is not Python for this interpreter has none.
    """
    found: dict[str, str] = {}
    for file in sorted((package / folder).rglob("*.py")):
        found.update(functions_of(file.relative_to(package.parent).as_posix(), file.read_bytes()))
    return found


def functions_of(path: str, source: str | bytes) -> Code:
    """The functions of one file; `path` begins with `vllm/`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for name, node in functions(tree):
        full = f"{module_of(path)}:{name}"
        found[full] = found.get(full, "") + _code(node)
    return found


def differing(before: Code, after: Code) -> frozenset[str]:
    """The functions of `after` that are new, or whose code is another one than in `before`."""
    return frozenset(name for name, code in after.items() if before.get(name) != code)


def _code(node: ast.AST) -> str:
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(one, clean=False) is not None:
            one.body = one.body[1:] or [ast.Pass()]
    return ast.dump(node)
