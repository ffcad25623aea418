"""Texts of files as mixtures make them: their diff, where two texts of a piece differ, and whether a text can run at all.

Pure: texts in, texts out.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import symtable
from collections.abc import Mapping

Texts = Mapping[str, str | None]
"""Files by their paths: their texts, None for one that is not there."""


def diff_of(before: Texts, after: Texts) -> str:
    """The unified diff between files, "" where nothing differs."""
    return "".join(_one_diff(path, before.get(path), text) for path, text in after.items() if before.get(path) != text)


def _one_diff(path: str, before: str | None, after: str | None) -> str:
    old, new = _lines(before), _lines(after)
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    head = f"diff --git a/{path} b/{path}\n"
    if before is None or after is None:
        head += f"{'new' if before is None else 'deleted'} file mode 100644\n"
    lines = difflib.unified_diff(old, new, *names, n=3)
    return head + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    """The lines of a text, which end with a newline and nothing else."""
    parts = (text or "").split("\n")
    return [f"{line}\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def hunks_between(bad: str, good: str) -> list[tuple[str, int, int, int, int]]:
    """Where two texts differ, as `difflib` has it: lines of the bad one, then of the good one."""
    matcher = difflib.SequenceMatcher(None, bad.split("\n"), good.split("\n"), autojunk=False)
    return [block for block in matcher.get_opcodes() if block[0] != "equal"]


def fault_of(text: str, base: str | None) -> str:
    """Why a text of a file can't run, as far as it shows without running it; "" where nothing does. Names that the base's text has not
    bound either are left to the trial."""
    try:
        lacking = _unbound(text)
    except (SyntaxError, ValueError) as error:
        return f"is no Python: {getattr(error, 'msg', error)} (line {getattr(error, 'lineno', None)})"
    try:
        lacking -= _unbound(base or "")
    except (SyntaxError, ValueError):
        return ""
    return f"uses what nothing there binds: {', '.join(sorted(lacking))}" if lacking else ""


def _unbound(text: str) -> set[str]:
    """Names that functions of a module take from it, or from Python, and that neither has. With a `*` import it is not known."""
    tree = ast.parse(text)
    top = symtable.symtable(text, "mixture", "exec")
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return set()
    scopes, bound = [top], {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    bound |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    found: set[str] = set()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        found |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_referenced() and symbol.is_global()}
        if scope is top:
            found |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_referenced()}
    return {name for name in found - bound - _PYTHON if name.isidentifier()}


_PYTHON = frozenset([*dir(builtins), "__file__", "__name__", "__path__", "__doc__", "__class__", "__annotations__", "__spec__"])
