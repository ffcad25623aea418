"""Facts from the sources beside two counts: the functions that differ, the new lines, and whether those ran.

It is not enough that a function ran: the changed line may be in a branch that nothing took.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Collection, Iterable, Iterator
from types import CodeType

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes import selection_rules
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


def idle_lines(sides: Sides, counts: Iterable[Count]) -> tuple[Lines, bool]:
    """The new lines within functions that never ran, by file, and whether any new line ran (or there was none)."""
    ran: dict[str, set[int]] = {}
    for name, lines in _ran(counts):
        ran.setdefault(name.partition(":")[0], set()).update(lines)
    idle: dict[str, list[int]] = {}
    fresh_ones = took_ones = 0
    for path in touched_files(*sides):
        after = source(sides[1], path)
        fresh = added_lines(source(sides[0], path), after) & runnable(after or "")
        took = fresh & ran.get(selection_rules.module_of(path), set())
        fresh_ones, took_ones = fresh_ones + len(fresh), took_ones + len(took)
        if fresh - took:
            idle[path] = sorted(fresh - took)
    return idle, bool(took_ones) or not fresh_ones


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
    try:
        whole = compile(text, "changed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(line for code in _codes(whole) for line in _lines(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects of all functions within a code object."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & inspect.CO_OPTIMIZED:
                yield inner
            yield from _codes(inner)


def _lines(code: CodeType) -> Iterator[int]:
    named = not code.co_name.startswith("<")
    for _, _, line in code.co_lines():
        if line is not None and not (named and line == code.co_firstlineno):
            yield line
