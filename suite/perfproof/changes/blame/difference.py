"""The Python difference of two builds, in units that can be taken back or brought in one by one.

A unit is a file (`vllm/a.py`), a piece of one (`vllm/a.py:Class.method`) or a hunk of a piece (`vllm/a.py:Class.method@2`). Files of
functions that ran are taken apart into pieces at once, others only where they are suspected. What one side alone has and nothing there
depends on by itself (a new function, a new import) is no unit: it goes along with the units that use it.

A mixture is one build with some units as they are in the other, and with the names that these need: imports, module-level names, functions
that only the other has. It is texts and a diff; nothing is built here.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.changes import selection_rules
from perfproof.changes.blame.mixture_texts import Texts, diff_of, fault_of, hunks_between
from perfproof.changes.blame.pieces import FilePieces, Piece, differing, mixed, pair
from perfproof.changes.blame.search import Side, Units
from perfproof.model.base.name_lists import few

HUNK, PIECE = "@", ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Files of a build as a mixture has them, and the diff that makes them; `fault` says why there is none."""

    files: Texts
    diff: str
    fault: str = ""


class Difference:
    """What differs below two folders that hold `vllm`: the good build's, and the bad one's."""

    def __init__(self, good: Path, bad: Path) -> None:
        self._roots = {"good": good, "bad": bad}
        self.paths = tuple(_differing_files(good, bad))
        self._pairs: dict[str, tuple[FilePieces, FilePieces] | None] = {}
        self.near: tuple[str, ...] = ()
        """Files in which something ran: whose functions go along with those that they call."""
        self._resigned: dict[str, list[tuple[str, str]]] | None = None

    # --- units ------------------------------------------------------------------------------------------------

    def tiers(self, ran: Mapping[str, float]) -> list[list[str]]:
        """The units, the most suspicious tier first: pieces of functions that ran (`module:Qual.name` with a suspicion each), other pieces
        of their files, other files, those of the same folders first."""
        functions: dict[str, dict[str, float]] = {}
        for name, weight in ran.items():
            module, _, function = name.partition(":")
            functions.setdefault(module, {})[function] = weight
        first, second, rest = list[str](), list[str](), list[str]()
        self.near = tuple(path for path in self.paths if selection_rules.module_of(path) in functions and self.pieces(path) is not None)
        near = {str(Path(path).parent) for path in self.near}
        for path in self.paths:
            own = functions.get(selection_rules.module_of(path))
            if own is None or path not in self.near:
                rest += [path] if self._both(path) else []
                continue
            for unit in self.units_of(path):
                (first if unit.partition(PIECE)[2] in own else second).append(unit)
        first.sort(key=lambda unit: -abs(ran.get(function_of(unit), 0.0)))
        rest.sort(key=lambda path: (str(Path(path).parent) not in near, path))
        return [first, second, rest]

    def units_of(self, path: str) -> list[str]:
        """The pieces of a file that are units, in its order."""
        both = self.pieces(path)
        if both is None:
            return []
        good, bad = (one.by_name for one in both)
        return [f"{path}{PIECE}{name}" for name in differing(*both) if _acts(good.get(name), bad.get(name), good, bad)]

    def hunks_of(self, unit: str) -> list[str]:
        """The hunks of a piece that both builds have."""
        path, _, name = unit.partition(PIECE)
        both = self.pieces(path)
        if both is None or not all(name in one.by_name for one in both):
            return []
        good, bad = (one.by_name[name].text for one in both)
        return [f"{unit}{HUNK}{number}" for number, _ in enumerate(hunks_between(bad, good), 1)]

    def pieces(self, path: str) -> tuple[FilePieces, FilePieces] | None:
        """The pieces of a file in the good and in the bad build; None where one lacks it, or it is no Python."""
        if path not in self._pairs:
            texts = [self.text("good", path), self.text("bad", path)]
            try:
                self._pairs[path] = pair(*texts) if None not in texts else None  # type: ignore[arg-type]
            except (SyntaxError, ValueError):
                self._pairs[path] = None
        return self._pairs[path]

    def resigned(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """What of near files takes other parameters, by the name that it is called by: a file and a piece each. These are functions whose
        parameters differ, and fields that only one build's class has, of which its constructor is made."""
        if self._resigned is None:
            self._resigned = {}
            for path in self.near:
                good, bad = (one.by_name for one in self.pieces(path) or ())
                for name in sorted(good.keys() | bad.keys()):
                    if _resigns(good.get(name), bad.get(name), good, bad):
                        self._resigned.setdefault(called_by(good.get(name) or bad[name]), []).append((path, name))
        return self._resigned

    def text(self, build: str, path: str) -> str | None:
        """The text of a file in the `good` or `bad` build; None where there is none."""
        try:
            return (self._roots[build] / path).read_bytes().decode("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def _both(self, path: str) -> bool:
        return all((root / path).is_file() for root in self._roots.values())

    # --- mixtures ---------------------------------------------------------------------------------------------

    def mixture(self, side: Side, units: Units) -> Mixture:
        """The base (the bad build for "back", the good one for "forth") with these units as they are in the other."""
        mix = _Mix(self, *(("bad", "good") if side == "back" else ("good", "bad")))
        for unit in sorted(units):
            mix.take(unit)
        files = mix.files()
        base = {path: self.text(mix.base, path) for path in files}
        fault = next((f"{path}: {why}" for path, text in files.items() if text is not None and (why := fault_of(text, base[path]))), "")
        return Mixture(files=files, diff=diff_of(base, files), fault=fault)

    def brought_along(self, side: Side, unit: str) -> list[str]:
        """The units that a mixture with this one takes besides, because it needs them or they call it."""
        mix = _Mix(self, *(("bad", "good") if side == "back" else ("good", "bad")))
        mix.take(unit)
        return mix.besides(unit)

    def lines_of(self, unit: str) -> tuple[int, int] | None:
        """The first and last line of a unit in the bad build's file, from 1 on; None for what is not there."""
        whole, _, number = unit.partition(HUNK)
        path, _, name = whole.partition(PIECE)
        if not name:
            text = self.text("bad", path)
            return None if text is None else (1, len(text.splitlines()))
        both = self.pieces(path)
        if both is None:
            return None
        at = 1
        for piece in both[1].pieces:
            if piece.name == name:
                break
            at += piece.lines
        else:
            return None
        if not number:
            return piece.start, at + piece.lines - 1
        good = both[0].by_name[name].text if name in both[0].by_name else ""
        _, start, stop, _, _ = hunks_between(piece.text, good)[int(number) - 1]
        return at + start, at + max(start, stop - 1)


class _Mix:
    """A mixture in the making: which pieces and files come from the other build, and what these need."""

    def __init__(self, difference: Difference, base: str, other: str) -> None:
        self._of, self.base, self._other = difference, base, other
        self._files: set[str] = set()
        self._pieces: dict[str, set[str]] = {}
        self._hunks: dict[str, dict[str, set[int]]] = {}
        self._imports: dict[str, set[str]] = {}

    def take(self, unit: str) -> None:
        whole, _, number = unit.partition(HUNK)
        path, _, name = whole.partition(PIECE)
        if not name:
            self._take_file(path)
        elif number:
            self._hunks.setdefault(path, {}).setdefault(name, set()).add(int(number))
            self._support(path, self._sides(path)[1].by_name[name])
        else:
            self._take_piece(path, name)

    def _sides(self, path: str) -> tuple[FilePieces, FilePieces]:
        """The pieces of a file in the base and in the other build."""
        both = self._of.pieces(path)
        assert both is not None  # noqa: S101 (a piece is a unit only where both have the file)
        return (both[1], both[0]) if self.base == "bad" else both

    def _take_file(self, path: str) -> None:
        """A file: its pieces, without leaving out what other files of the base may import; whole where it can't be taken apart."""
        if self._of.pieces(path) is not None:
            for unit in self._of.units_of(path):
                self._take_piece(path, unit.partition(PIECE)[2])
        elif path not in self._files:
            self._files.add(path)
            for module, name in _imported(self._of.text(self._other, path) or "", path):
                self._need_of(module, name)

    def _take_piece(self, path: str, name: str) -> None:
        taken = self._pieces.setdefault(path, set())
        if name not in taken:
            taken.add(name)
            base, other = (side.by_name.get(name) for side in self._sides(path))
            if other is not None:
                self._support(path, other)
            either = base or other
            called = "" if either is None else called_by(either)
            if (path, name) in self._of.resigned().get(called, ()):
                self._take_callers(called)

    def _take_callers(self, called: str) -> None:
        """The functions that call what takes other parameters, and call it in another way: they pass what only their own build takes."""
        for path in self._of.near:
            base, other = self._sides(path)
            theirs = other.by_name
            for piece in base.pieces:
                there = theirs.get(piece.name)
                if piece.kind == "function" and there is not None and piece.calls(called) != there.calls(called):
                    self._take_piece(path, piece.name)

    def _support(self, path: str, piece: Piece) -> None:
        """What a piece of the other build uses and the base's file does not have."""
        base, other = self._sides(path)
        own, theirs, uses = base.by_name, other.by_name, piece.uses
        there = own.get(piece.name)
        fresh = uses - there.uses if there is not None else uses
        for name in uses & (other.defined - base.defined):
            if name in other.imports:
                self._imports.setdefault(path, set()).add(name)
                for module, wanted in _imported(other.imports[name], path):
                    self._need_of(module, wanted)
        for one in theirs.values():
            lacking = one.name not in own and one.kind != "import"
            if lacking and (
                (one.defines & (uses - base.defined) and not one.scope) or (one.scope and one.name.rpartition(".")[2] in fresh)
            ):
                self._take_piece(path, one.name)
        for module, wanted in (one for node in piece.nodes for one in _imports_in(node, path)):
            self._need_of(module, wanted)
        for called in uses & self._of.resigned().keys():
            if there is None or there.calls(called) != piece.calls(called):
                for where, name in self._of.resigned()[called]:
                    self._take_piece(where, name)

    def _need_of(self, module: str, name: str) -> None:
        """A name of a module that something imports, where the base does not have it there."""
        stem = module.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path not in self._of.paths:
                continue
            if self._of.text(self.base, path) is None:
                self._take_file(path)
            elif self._of.pieces(path) is not None and path not in self._files:
                base, other = self._sides(path)
                if name not in base.defined:
                    for piece in other.pieces:
                        if name in piece.defines and not piece.scope:
                            self._take_piece(path, piece.name)
                    if name in other.imports:
                        self._imports.setdefault(path, set()).add(name)

    def besides(self, unit: str) -> list[str]:
        """The units that were taken and are not this one."""
        every = [f"{path}{PIECE}{name}" for path, names in sorted(self._pieces.items()) for name in sorted(names)]
        acting = {one for path in self._pieces for one in self._of.units_of(path)}
        return [one for one in [*every, *sorted(self._files)] if one != unit and (one in acting or PIECE not in one)]

    def files(self) -> dict[str, str | None]:
        made: dict[str, str | None] = {path: self._of.text(self._other, path) for path in self._files}
        for path in sorted({*self._pieces, *self._hunks, *self._imports} - self._files):
            base, other = self._sides(path)
            texts = {name: self._partly(path, name, numbers) for name, numbers in self._hunks.get(path, {}).items()}
            made[path] = mixed(base, other, self._pieces.get(path, set()), self._imports.get(path, set()), texts)
        return {path: text for path, text in sorted(made.items()) if text != self._of.text(self.base, path)}

    def _partly(self, path: str, name: str, numbers: Collection[int]) -> str:
        """A piece of the base with some of its hunks as the other has them; hunks are numbered as the bad build has them."""
        base, other = (side.by_name[name].text for side in self._sides(path))
        bad, good = (base, other) if self.base == "bad" else (other, base)
        lines, theirs, made, at = bad.split("\n"), good.split("\n"), list[str](), 0
        for number, (_, start, stop, first, last) in enumerate(hunks_between(bad, good), 1):
            as_good = (number in numbers) is (self.base == "bad")
            made += [*lines[at:start], *(theirs[first:last] if as_good else lines[start:stop])]
            at = stop
        return "\n".join([*made, *lines[at:]])


# --- what differs -------------------------------------------------------------------------------------------


def _differing_files(good: Path, bad: Path) -> Iterator[str]:
    """The Python files below `vllm` that are not the same in both, by their paths."""
    names = {str(path.relative_to(root)) for root in (good, bad) for path in (root / "vllm").rglob("*.py")}
    for name in sorted(names):
        one, other = good / name, bad / name
        if not (one.is_file() and other.is_file()) or one.read_bytes() != other.read_bytes():
            yield name


def _acts(good: Piece | None, bad: Piece | None, before: Mapping[str, Piece], after: Mapping[str, Piece]) -> bool:
    """Whether a piece that differs can do something by itself. What one side alone has acts where nothing calls it by name: statements
    without a name, members of classes that may replace inherited ones, fields."""
    if good is not None and bad is not None:
        return good.kind != "import"
    piece = good or bad
    assert piece is not None  # noqa: S101 (one of the two is there)
    if piece.kind == "statement":
        return bool(piece.scope) or not piece.defines
    if piece.kind != "function" or not piece.scope:
        return False
    head = f"{piece.scope}.<head>"
    return piece.name.rpartition(".")[2].startswith("__") or any(side[head].bases for side in (before, after) if head in side)


def called_by(piece: Piece) -> str:
    """The name that a function is called by: its own; of a constructor, and of a field, that of its class."""
    last = piece.name.rpartition(".")[2]
    return piece.scope.rpartition(".")[2] if piece.kind == "statement" or last == "__init__" else last


def _resigns(good: Piece | None, bad: Piece | None, before: Mapping[str, Piece], after: Mapping[str, Piece]) -> bool:
    """Whether what a piece is called by takes other parameters in the other build."""
    if good is not None and bad is not None:
        return good.kind == "function" and _signature(good) != _signature(bad)
    piece = good or bad
    assert piece is not None  # noqa: S101 (one of the two is there)
    field = piece.kind == "statement" and bool(piece.scope) and all(isinstance(node, ast.AnnAssign) for node in piece.nodes)
    return field and not any(f"{piece.scope}.__init__" in side for side in (before, after))


def _signature(piece: Piece) -> list[str]:
    """The parameters of a function, with the words for how they are passed."""
    found = []
    for node in piece.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = node.args
            found += [f"{kind}{arg.arg}" for kind, args in (("/", own.posonlyargs), ("", own.args), ("*", own.kwonlyargs)) for arg in args]
            found += [f"{stars}{arg.arg}" for stars, arg in (("*", own.vararg), ("**", own.kwarg)) if arg is not None]
            found.append(f"{len(own.defaults)} {sum(one is not None for one in own.kw_defaults)}")
    return found


def function_of(unit: str) -> str:
    """The function of a piece as counts name it."""
    path, _, name = unit.partition(PIECE)
    return f"{selection_rules.module_of(path)}:{name}"


def _imported(text: str, path: str) -> Iterator[tuple[str, str]]:
    """The modules of vLLM that a text imports from, each with the name that it takes."""
    if "import" in text:
        try:
            yield from _imports_in(ast.parse(text), path)
        except (SyntaxError, ValueError):
            return


def _imports_in(node: ast.AST, path: str) -> Iterator[tuple[str, str]]:
    for child in ast.walk(node):
        if isinstance(child, ast.ImportFrom):
            module = _absolute(child, path)
            if module.split(".")[0] == "vllm":
                for alias in child.names:
                    yield module, alias.name
                    yield f"{module}.{alias.name}", ""
        elif isinstance(child, ast.Import):
            yield from ((alias.name, "") for alias in child.names if alias.name.split(".")[0] == "vllm")


def _absolute(node: ast.ImportFrom, path: str) -> str:
    if not node.level:
        return node.module or ""
    package = path.split("/")[: -node.level]
    return ".".join([*package, *((node.module or "").split(".") if node.module else [])])


def summary(units: Iterable[str]) -> str:
    """Units in a few words: `Class.method of vllm/a.py`, the first three of them."""
    named = [unit.partition(PIECE)[2] or unit for unit in sorted(units)]
    return few(named, 3)
