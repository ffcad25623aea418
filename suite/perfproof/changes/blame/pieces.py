"""A Python file in pieces, by its syntax tree: functions, methods, heads of classes, statements, imports; and a file put together again.

The pieces of a file, joined, are its text: every line belongs to one, comments and empty lines to the piece that they stand before. Two
texts of a file are compared piece by piece by name; what differs in comments, layout or docstrings alone does not differ. A mixture is one
text with pieces of the other, and with the imports that those need.

Pure: texts in, texts out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["function", "class", "head", "statement", "import", "end"]
HEAD, END = "<head>", "<end>"
"""The names of a class's own lines before its first member, and of what stands behind everything."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a file. `name` is unique in it (`Class.method`, `Class.<head>`, `LIMIT`); `start` is the line of its first statement, from
    1 on; `nodes` are its statements, and `defines` the names that they bind in their scope; `bases` says of a head or whole class whether
    the class has bases."""

    name: str
    kind: Kind
    text: str
    start: int
    nodes: tuple[ast.stmt, ...]
    defines: frozenset[str]
    bases: bool = False

    @property
    def scope(self) -> str:
        """The class that it stands in, "" for the module."""
        return self.name.rpartition(".")[0]

    @property
    def lines(self) -> int:
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def uses(self) -> frozenset[str]:
        """The names, attributes and keywords that it has in it."""
        return frozenset(_used(self.nodes))

    def calls(self, name: str) -> list[str]:
        """Its calls of a function or method of that name, or with it as an argument, each as its syntax tree has it."""
        every = (child for node in self.nodes for child in ast.walk(node) if isinstance(child, ast.Call))
        return [ast.dump(call) for call in every if any(_called(part) == name for part in (call.func, *call.args))]

    def does_as(self, other: Piece) -> bool:
        """Whether both are the same but for docstrings, comments and layout."""
        return self.text == other.text or list(map(_code, self.nodes)) == list(map(_code, other.nodes))


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePieces:
    """The pieces of a file in order; `imports` maps each name that the module imports to a statement that does so."""

    pieces: tuple[Piece, ...]
    imports: Mapping[str, str]

    @property
    def by_name(self) -> dict[str, Piece]:
        return {piece.name: piece for piece in self.pieces}

    @property
    def defined(self) -> frozenset[str]:
        """What the module itself binds, imports included."""
        return frozenset(self.imports).union(*(piece.defines for piece in self.pieces if not piece.scope))


def pieces_of(text: str, whole: Collection[str] = ()) -> FilePieces:
    """The pieces of a file; the classes named in `whole` are one piece each. Raises `SyntaxError` or `ValueError` for what is no Python."""
    cut = _Cut(text, frozenset(whole))
    tree = ast.parse(text)
    cut.body(tree.body, "")
    return FilePieces(pieces=tuple(cut.end()), imports=_imports(tree))


def classes_of(text: str) -> frozenset[str]:
    """The qualified names of the classes of a file, those within functions left out."""
    return frozenset(_classes(ast.parse(text), ""))


def _classes(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield f"{prefix}{child.name}"
            yield from _classes(child, f"{prefix}{child.name}.")


def pair(before: str, after: str) -> tuple[FilePieces, FilePieces]:
    """The pieces of two texts of a file: classes that only one of them has are whole. Raises `SyntaxError` where one is no Python."""
    own, other = classes_of(before), classes_of(after)
    return pieces_of(before, own - other), pieces_of(after, other - own)


def differing(before: FilePieces, after: FilePieces) -> list[str]:
    """The names of the pieces that differ, those of the text after in its order, then those that only the text before has."""
    old, new = before.by_name, after.by_name
    both = [name for name, piece in new.items() if name not in old or not piece.does_as(old[name])]
    return [name for name in [*both, *(name for name in old if name not in new)] if name != END]


class _Cut:
    """Cuts a text into pieces, in the order of its lines."""

    def __init__(self, text: str, whole: frozenset[str]) -> None:
        self._lines, self._whole = text.splitlines(keepends=True) if "\r" not in text and "\x0c" not in text else _by_newline(text), whole
        self._at = 0
        self._found: list[Piece] = []
        self._names: dict[str, int] = {}

    def body(self, nodes: Sequence[ast.stmt], prefix: str) -> None:
        """Pieces of these statements."""
        for node in nodes:
            start, stop = _start(node), node.end_lineno or node.lineno
            words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            if start <= self._at or (words and self._found):  # on the line of the statement before, or a text about it
                self._extend(stop, None if words else node)
            elif isinstance(node, ast.ClassDef) and f"{prefix}{node.name}" not in self._whole and (last := self._head_ends(node)):
                self._class(node, prefix, last)
            else:
                self._take(stop, f"{prefix}{_name(node)}", _kind(node), [node])

    def _head_ends(self, node: ast.ClassDef) -> int:
        """The last line of a class before its first member, docstring included; 0 where it has no member on a line of its own."""
        members = _members(node)
        if not members:
            return 0
        last = _start(members[0]) - 1
        while last > node.lineno and (not self._lines[last - 1].strip() or self._lines[last - 1].lstrip().startswith("#")):
            last -= 1
        return last if last >= node.lineno else 0

    def _class(self, node: ast.ClassDef, prefix: str, last: int) -> None:
        head = copy.copy(node)
        head.body = []
        self._take(last, f"{prefix}{node.name}.{HEAD}", "head", [head], scope=node.name)
        self.body(_members(node), f"{prefix}{node.name}.")

    def end(self) -> Iterator[Piece]:
        if self._at < len(self._lines):
            self._take(len(self._lines), END, "end", [])
        return iter(self._found)

    def _take(self, stop: int, name: str, kind: Kind, nodes: Sequence[ast.stmt], scope: str = "") -> None:
        self._names[name] = number = self._names.get(name, 0) + 1
        first = next((node for node in nodes), None)
        self._found.append(
            Piece(
                name=name if number == 1 else f"{name}#{number}",
                kind=kind,
                text="".join(self._lines[self._at : stop]),
                start=_start(first) if first is not None else self._at + 1,
                nodes=tuple(nodes),
                defines=frozenset([scope]) if scope else frozenset().union(*(_defined(node) for node in nodes)),
                bases=isinstance(first, ast.ClassDef) and bool(first.bases),
            )
        )
        self._at = stop

    def _extend(self, stop: int, node: ast.stmt | None) -> None:
        """More lines for the last piece: a statement that begins on its last line, or only words (None)."""
        last, more = self._found[-1], [] if node is None else [node]
        self._found[-1] = Piece(
            name=last.name,
            kind=last.kind,
            text=last.text + "".join(self._lines[self._at : stop]),
            start=last.start,
            nodes=(*last.nodes, *more),
            defines=last.defines.union(*map(_defined, more)),
            bases=last.bases,
        )
        self._at = max(self._at, stop)


def _by_newline(text: str) -> list[str]:
    """The lines as Python numbers them: a form feed or a lone carriage return within one does not end it for `ast`."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _start(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Function | ast.ClassDef) else []
    return min([node.lineno, *(one.lineno for one in decorators)])


def _members(node: ast.ClassDef) -> list[ast.stmt]:
    """The body of a class without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _kind(node: ast.stmt) -> Kind:
    if isinstance(node, _Function):
        return "function"
    if isinstance(node, ast.ClassDef):
        return "class"
    return "import" if isinstance(node, _Import) else "statement"


def _name(node: ast.stmt) -> str:
    """The name of a piece: what it defines, else what it is."""
    if isinstance(node, _Function | ast.ClassDef):
        return node.name
    if isinstance(node, _Import):
        return "<import>"
    if defined := sorted(_defined(node)):
        return ",".join(defined[:3])
    return f"<{type(node).__name__.lower()}>"


def _defined(node: ast.AST) -> frozenset[str]:
    """The names that a statement binds in its scope."""
    if isinstance(node, _Function | ast.ClassDef):
        return frozenset([node.name])
    if isinstance(node, _Import):
        return frozenset(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    found: set[str] = set()
    for child in _own(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            found.add(child.id)
        elif child is not node and isinstance(child, _Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            found |= _defined(child)
    return frozenset(found)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and what is in it, but for the insides of functions and classes."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.ClassDef | ast.Lambda):
            yield child
        else:
            yield from _own(child)


def _used(nodes: Sequence[ast.stmt]) -> Iterator[str]:
    for child in (one for node in nodes for one in ast.walk(node)):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
        elif isinstance(child, ast.keyword) and child.arg:
            yield child.arg


def _called(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _code(node: ast.stmt) -> str:
    """What of a statement counts: not its docstrings, comments and layout."""
    bare = copy.deepcopy(node)
    for child in ast.walk(bare):
        if isinstance(child, _Function | ast.ClassDef) and child.body and ast.get_docstring(child, clean=False) is not None:
            child.body = child.body[1:]
    return ast.dump(bare)


def _imports(tree: ast.Module) -> dict[str, str]:
    """Each name that the module imports outside of functions, with a statement that does so alone; one that is for type checkers only is
    imported under the same condition."""
    found: dict[str, str] = {}

    def look(nodes: Sequence[ast.stmt], checking: bool) -> None:
        for node in nodes:
            if isinstance(node, _Import):
                for alias in node.names:
                    one = copy.copy(node)
                    one.names = [alias]
                    words = ast.unparse(one)
                    name = alias.asname or alias.name.partition(".")[0]
                    found.setdefault(
                        name, f"import typing as _typing\nif _typing.TYPE_CHECKING:\n    {words}\n" if checking else f"{words}\n"
                    )
            elif isinstance(node, ast.If):
                look(node.body, checking or "TYPE_CHECKING" in ast.dump(node.test))
                look(node.orelse, checking)
            elif isinstance(node, ast.Try):
                look([*node.body, *node.orelse, *node.finalbody], checking)

    look(tree.body, False)
    return found


# --- mixtures -----------------------------------------------------------------------------------------------


def mixed(
    base: FilePieces, other: FilePieces, taken: Collection[str], imports: Collection[str] = (), texts: Mapping[str, str] | None = None
) -> str:
    """The text of `base` with the pieces named in `taken` as they are in `other`: replaced, left out where that has none, or put behind
    the piece that they follow there. `imports` are names to import as `other` does; `texts` has other texts for single pieces."""
    own, theirs, said = base.by_name, other.by_name, texts or {}
    parts = [
        (piece.name, said.get(piece.name) or (_text(theirs, piece.name) if piece.name in taken else piece.text)) for piece in base.pieces
    ]
    order = [piece.name for piece in other.pieces]
    for name in order:
        if name in taken and name not in own:
            parts.insert(_place(name, order, [one for one, _ in parts], base), (name, said.get(name) or theirs[name].text))
    parts = _as_there(parts, base, other)
    text = [_ended(part, last=place == len(parts) - 1) for place, (_, part) in enumerate(parts)]
    needed = [other.imports[name] for name in sorted(imports) if name in other.imports]
    if needed:
        text.insert(_behind_imports([name for name, _ in parts], base), "".join(needed))
    return "".join(text)


def _as_there(parts: Sequence[tuple[str, str]], base: FilePieces, other: FilePieces) -> list[tuple[str, str]]:
    """The parts with a class's fields in the order of the other text, where they are the same ones by name: which of them have a default,
    and so may not stand before others, may have changed."""
    kinds = {piece.name: piece.kind for piece in (*base.pieces, *other.pieces)}
    made = list(parts)
    for scope in dict.fromkeys(name.rpartition(".")[0] for name, text in parts if text and "." in name):
        places = [
            place for place, (name, text) in enumerate(parts) if text and kinds[name] == "statement" and name.rpartition(".")[0] == scope
        ]
        theirs = [piece.name for piece in other.pieces if piece.kind == "statement" and piece.scope == scope]
        here = {parts[place][0]: parts[place] for place in places}
        if set(here) == set(theirs) and len(here) == len(theirs):
            for place, name in zip(places, theirs, strict=True):
                made[place] = here[name]
    return made


def _text(pieces: Mapping[str, Piece], name: str) -> str:
    return pieces[name].text if name in pieces else ""


def _ended(text: str, *, last: bool) -> str:
    return text if last or not text or text.endswith("\n") else f"{text}\n"


def _place(name: str, order: Sequence[str], there: Sequence[str], base: FilePieces) -> int:
    """Where a piece that the base lacks goes: behind the nearest one before it, of its own scope, else at its scope's end."""
    scope = name.rpartition(".")[0]
    for before in reversed(order[: order.index(name)]):
        if before in there and (before.rpartition(".")[0] == scope or not scope):
            place = there.index(before) + 1
            while not scope and place < len(there) and before.partition(".")[0] == there[place].partition(".")[0] and "." in there[place]:
                place += 1
            return place
    inside = [place for place, one in enumerate(there) if scope and one.rpartition(".")[0] == scope]
    return inside[-1] + 1 if inside else _behind_imports(there, base)


def _behind_imports(there: Sequence[str], base: FilePieces) -> int:
    """The place behind the module's imports; behind its docstring where it has none."""
    own = base.by_name
    found = [place for place, name in enumerate(there) if name in own and own[name].kind == "import" and not own[name].scope]
    if found:
        return found[-1] + 1
    first = there[0] if there else ""
    return 1 if first in own and first.startswith("<expr>") else 0
