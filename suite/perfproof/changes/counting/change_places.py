"""The places of a change's new lines: which calls stand beside them, so that what makes those calls is likely to come there.

That a feature calls a changed function is not enough: its new lines may lie in a branch, or behind an early return. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from perfproof.changes.selection_rules import functions

LIKELY = 0.75
"""What makes so large a part of the calls beside new lines that anything makes is as likely to run them."""
_Always = ast.With | ast.AsyncWith | ast.Try
"""Statements whose first block runs where they do."""
_Holder = ast.excepthandler | ast.match_case
"""What holds a block of statements without being one."""


def beside(text: str, added: Collection[int]) -> list[frozenset[str]]:
    """The names that are called in the blocks of statements to which lines are `added` in the functions of a text, a set a block; the
    innermost block of a line counts, without its own branches. None for a text that this Python can't read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    lines = frozenset(added)
    return [names for _, node in functions(tree) if isinstance(node, _Function) for names in _places(node.body, lines)]


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def share_called(places: Sequence[Collection[str]], called: Collection[str], known: Collection[str]) -> float:
    """The largest share of the `known` functions beside new lines that are `called`; all are names as a call has them. 1 where none of the
    places has a known one."""
    telling = [there for place in places if (there := frozenset(known).intersection(place))]
    return max((len(there.intersection(called)) / len(there) for there in telling), default=1.0)


def _places(block: Sequence[ast.stmt], added: frozenset[int]) -> Iterator[frozenset[str]]:
    together = list(_together(block))
    if any(added.intersection(_own_lines(one)) for one in together):
        yield frozenset(word for one in together for part in _parts(one) for word in _called(part))
    for one in together:
        for branch in _blocks(one)[int(isinstance(one, _Always)) :]:
            yield from _places(branch, added)


def _together(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, and those within them that run where it does."""
    for one in block:
        yield one
        if isinstance(one, _Always):
            yield from _together(one.body)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements within one, its first block first."""
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    holders = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    return [block for block in (*found, *(one.body for one in holders)) if isinstance(block, list) and block]


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """What of a statement runs where it does, without its blocks."""
    yield from (one for one in ast.iter_child_nodes(statement) if not isinstance(one, ast.stmt | _Holder))


def _called(part: ast.AST) -> Iterator[str]:
    """The names that a piece of code calls or, as those of properties, reads of an object."""
    for node in ast.walk(part):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _own_lines(statement: ast.stmt) -> set[int]:
    """The lines of a statement without those of its blocks; a text that stands for itself, such as a docstring, has none."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return set()
    within = [range(block[0].lineno, (block[-1].end_lineno or 0) + 1) for block in _blocks(statement)]
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)).difference(*within)
