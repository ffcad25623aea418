"""Facts from the sources beside two counts: the functions that differ, the new lines, and whether those ran.

It is not enough that a function ran: the changed line may be in a branch that nothing took. What lies outside functions runs on import, in
files that are imported.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes import selection_rules
from perfproof.changes.counting.change_places import beside
from perfproof.model.records.counts import Count, Lines, outermost

Sides = tuple[ReadyBuild, ReadyBuild]


def touched_functions(base: ReadyBuild, candidate: ReadyBuild) -> frozenset[str]:
    """The functions (`module:Qual.name`) in which an overlay differs from its base.

    There are none where the candidate is not an overlay of the base: nearly all functions of two releases differ somehow.
    """
    found: set[str] = set()
    for path in touched_files(base, candidate):
        texts = [source(build, path) for build in (base, candidate)]
        change = selection_rules.touched(path, *texts)
        functions = {name for text in texts for name in _functions(text or "")}
        found |= {f"{change.module}:{name}" for name in change.names or () if name in functions}
    return frozenset(found)


def only_functions(base: ReadyBuild, candidate: ReadyBuild) -> bool:
    """Whether an overlay differs from its base in functions and imports alone: nothing else of it can run."""
    for path in touched_files(base, candidate):
        texts = [source(build, path) for build in (base, candidate)]
        functions = {name for text in texts for name in _functions(text or "")}
        names = selection_rules.touched(path, *texts).names
        if names is None or not functions.issuperset(set(names) - {selection_rules.IMPORTS}):
            return False
    return True


def code_files(base: ReadyBuild, candidate: ReadyBuild) -> tuple[str, ...]:
    """The Python files of an overlay that differ in more than comments and layout."""
    found = []
    for path in touched_files(base, candidate):
        before, after = source(base, path), source(candidate, path)
        if before is None or after is None or selection_rules.touched(path, before, after).names != ():
            found.append(path)
    return tuple(found)


def touched_files(base: ReadyBuild, candidate: ReadyBuild) -> tuple[str, ...]:
    """The Python files that an overlay changes."""
    if candidate.touched is None or candidate.touched.base != base.label:
        return ()
    return tuple(path for path in candidate.touched.files if path.endswith(".py"))


def functions_in(build: ReadyBuild, names: Collection[str]) -> frozenset[str]:
    """Those of these functions (`module:Qual.name`) that the build's files have."""
    modules = {name.partition(":")[0] for name in names}
    there = {module: _functions(source(build, path_of(build, module)) or "") for module in modules}
    return frozenset(name for name in names if name.partition(":")[2] in there[name.partition(":")[0]])


def _functions(text: str) -> set[str]:
    try:
        return {name for name, _ in selection_rules.functions(ast.parse(text))}
    except SyntaxError:
        return set()


def source(build: ReadyBuild, path: str) -> str | None:
    """The text of a file in a build; None where there is none."""
    file = build.fingerprint.package.parent / path
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def new_lines(sides: Sides, counts: Iterable[Count]) -> Lines:
    """For each function with counted lines, the lines of the candidate's file that the base lacks and that ran."""
    added: dict[str, frozenset[int]] = {}
    found: dict[str, set[int]] = {}
    for name, lines in _ran(counts):
        module = name.partition(":")[0]
        if module not in added:
            added[module] = _added_to(sides, module)
        found.setdefault(outermost(name), set()).update(added[module].intersection(lines))
    return {name: sorted(lines) for name, lines in found.items() if lines}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far the counted processes came into a change. `idle` are new lines within functions that never ran, by file; `lines` says whether
    any such line ran, or there is none. Of what lies outside functions: `loaded` are new lines that ran on import, by file; `unread` those
    that did not; `absent` are files that were never imported. `outside` says whether any file of the change was imported and ran such a
    line, or has none."""

    idle: Lines
    lines: bool
    loaded: Lines
    unread: Lines
    absent: tuple[str, ...]
    outside: bool


def reach(sides: Sides, counts: Sequence[Count]) -> Reach:
    """How far the candidate's processes came into the change between these sides."""
    ran: dict[str, set[int]] = {}
    for name, numbers in _ran(counts):
        ran.setdefault(name.partition(":")[0], set()).update(numbers)
    imported = {module: numbers for count in counts for module, numbers in count.imported.items()}
    idle: dict[str, list[int]] = {}
    loaded: dict[str, list[int]] = {}
    unread: dict[str, list[int]] = {}
    absent: list[str] = []
    fresh_ones = took_ones = 0
    outside = False
    for path in code_files(*sides):
        module, after = selection_rules.module_of(path), source(sides[1], path)
        added = added_lines(source(sides[0], path), after)
        fresh, own = added & runnable(after or ""), added & own_lines(after or "")
        took = fresh & ran.get(module, set())
        fresh_ones, took_ones = fresh_ones + len(fresh), took_ones + len(took)
        if fresh - took:
            idle[path] = sorted(fresh - took)
        if module not in imported:
            absent.append(path)
            continue
        lines = imported[module]
        read = own if lines is None else own.intersection(lines)
        if read:
            loaded[path] = sorted(read)
        if own - read:
            unread[path] = sorted(own - read)
        outside = outside or bool(read) or not own
    return Reach(idle=idle, lines=bool(took_ones) or not fresh_ones, loaded=loaded, unread=unread, absent=tuple(absent), outside=outside)


def calls_beside(sides: Sides) -> list[frozenset[str]]:
    """The names beside the new lines of a change's functions, place by place (`change_places`)."""
    texts = [(source(sides[0], path), source(sides[1], path) or "") for path in code_files(*sides)]
    return [names for before, after in texts for names in beside(after, added_lines(before, after))]


def texts_of(candidate: ReadyBuild, lines: Lines) -> dict[str, dict[int, str]]:
    """The text of these lines of functions, by their numbers, as the candidate's files have it."""
    found: dict[str, dict[int, str]] = {}
    for name, numbers in lines.items():
        text = (source(candidate, path_of(candidate, name.partition(":")[0])) or "").splitlines()
        found[name] = {number: text[number - 1].rstrip() for number in numbers if 0 < number <= len(text)}
    return {name: texts for name, texts in found.items() if texts}


def path_of(build: ReadyBuild, module: str) -> str:
    """The file of a module in a build, below the folder that holds the package; that of a plain module where it has neither."""
    stem = module.replace(".", "/")
    return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if source(build, path) is not None), f"{stem}.py")


def _ran(counts: Iterable[Count]) -> Iterator[tuple[str, Collection[int]]]:
    """Every function with counted lines, with the lines that ran, phase by phase."""
    for count in counts:
        for cell in count.cells:
            for phase in cell.phases.values():
                for name, lines in phase.lines.items():
                    yield name, lines.keys()


def _added_to(sides: Sides, module: str) -> frozenset[int]:
    path = path_of(sides[1], module)
    after = source(sides[1], path)
    return frozenset() if after is None else added_lines(source(sides[0], path), after)


def added_lines(before: str | None, after: str | None) -> frozenset[int]:
    """The numbers of the lines in the text after that the text before lacks, from 1 on."""
    matcher = difflib.SequenceMatcher(None, (before or "").splitlines(), (after or "").splitlines(), autojunk=False)
    blocks = [block for block in matcher.get_opcodes() if block[0] in ("insert", "replace")]
    return frozenset(line + 1 for _, _, _, start, end in blocks for line in range(start, end))


def runnable(text: str) -> frozenset[int]:
    """The lines within functions that have instructions: no comments, no signatures, nothing that runs on import.

    For a text that this Python can't compile there are none.
    """
    return frozenset(line for code in _codes(text) if code.co_flags & inspect.CO_OPTIMIZED for line in _lines(code))


def own_lines(text: str) -> frozenset[int]:
    """The lines outside functions that have instructions: of the module and of its classes, which run on import.

    For a text that this Python can't compile there are none.
    """
    return frozenset(line for code in _codes(text) if not code.co_flags & inspect.CO_OPTIMIZED for _, _, line in code.co_lines() if line)


def _codes(text: str) -> Iterator[CodeType]:
    """The code objects of a text, those within others too."""
    try:
        open_ = [compile(text, "changed", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return
    while open_:
        code = open_.pop()
        yield code
        open_ += [inner for inner in code.co_consts if isinstance(inner, CodeType)]


def _lines(code: CodeType) -> Iterator[int]:
    named = not code.co_name.startswith("<")
    for _, _, line in code.co_lines():
        if line is not None and not (named and line == code.co_firstlineno):
            yield line
