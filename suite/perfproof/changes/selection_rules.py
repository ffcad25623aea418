"""From the files that a change touches to the scenarios worth running on it, each with its reason.

A scenario names the functions or modules of vLLM that it exercises. It is chosen where the change touches one of these modules. Where the
code from before and after is known, the functions that differ count too: a scenario that exercises them comes before one that exercises
other functions of the file. Where no scenario is chosen, `nearest` lists the closest ones.

Pure: sources come in as text; nothing is imported or run. It never guesses: where no scenario exercises the code, the result says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.scenarios.scenario import Scenario

TOP = "<top level>"
IMPORTS = "<imports>"
"""The names for changes of a module outside all functions and classes; an import alone reaches no function."""

Level = Literal["function", "whole", "module"]
LEVELS: tuple[Level, ...] = ("function", "whole", "module")
"""The levels of a choice, the surest first."""
Exercised = Mapping[str, Sequence[str]]
"""By a scenario's name, what it exercises: `module:Qual.name` or a whole `module`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedModule:
    """A module that a change touches. `names` are the functions, classes (own bodies), `IMPORTS` and `TOP` that differ; None: unknown.

    `uses` maps every function of the module to the others in it that it may call, directly or indirectly.
    """

    module: str
    names: tuple[str, ...] | None
    uses: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A scenario whose code a change touches; `level` says how surely it runs the changed code.

    "function": it names a changed function, or one that may call a changed function. "whole": it exercises the whole module, and so perhaps
    the changed code. "module": it names other functions of the module.
    """

    scenario: str
    level: Level
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A scenario that exercises none of the touched code, and its relation to it."""

    scenario: str
    reason: str


# --- what a change touches ----------------------------------------------------------------------------------


def module_of(path: str) -> str:
    """The module of a file: `vllm/v1/outputs.py` is `vllm.v1.outputs`, `vllm/v1/__init__.py` is `vllm.v1`."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def touched(path: str, before: str | None, after: str | None) -> TouchedModule:
    """The differences between two texts of a file (None: not there), ignoring comments and layout.

    Raises `BadInput` if the text after the change is not Python. If the text before it is not, the names are unknown.
    """
    try:
        tree = ast.parse(after or "")
        new = _pieces(tree) if after is not None else {}
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput(
            f"{path}: is not Python after the change: {getattr(error, 'msg', error)}" + (f" (line {line})" if line else "")
        ) from error
    try:
        was = ast.parse(before or "")
        old = _pieces(was) if before is not None else {}
    except (SyntaxError, ValueError):
        return TouchedModule(module=module_of(path), names=None, uses={})
    names = tuple(name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name))
    return TouchedModule(module=module_of(path), names=names, uses=uses(tree if after else was))


def _pieces(tree: ast.Module) -> dict[str, str]:
    """The code of every function by its qualified name, of every class without its functions, and of the rest."""
    found = dict(_below(tree, ""))
    rest = [node for node in tree.body if not isinstance(node, _Defined)]
    found[IMPORTS] = "\n".join(ast.dump(node) for node in rest if isinstance(node, _Import))
    found[TOP] = "\n".join(ast.dump(node) for node in rest if not isinstance(node, _Import))
    return found


_Import = ast.Import | ast.ImportFrom
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _below(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    """Functions and classes. The pieces of a name that is defined twice are joined, as for overloads and properties."""
    found: dict[str, str] = {}
    for child in node.body:
        if isinstance(child, _Function):
            name = f"{prefix}{child.name}"
            found[name] = found.get(name, "") + ast.dump(child)
        elif isinstance(child, ast.ClassDef):
            own = [ast.dump(part) for part in (*child.decorator_list, *child.bases, *child.keywords)]
            own += [ast.dump(part) for part in child.body if not isinstance(part, _Defined)]
            yield f"{prefix}{child.name}", "\n".join(own)
            yield from _below(child, f"{prefix}{child.name}.")
    yield from found.items()


def uses(tree: ast.Module) -> dict[str, frozenset[str]]:
    """For every function of a module the others that it may call, directly or indirectly. Matching by last name finds rather too many."""
    bodies = dict(functions(tree))
    of_last: dict[str, set[str]] = {}
    for name in bodies:
        of_last.setdefault(name.rpartition(".")[2], set()).add(name)
    direct = {name: frozenset().union(*(of_last.get(word, set()) for word in words(body))) for name, body in bodies.items()}
    return {name: _closed(name, direct) for name in direct}


def functions(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function of a module or class by its qualified name."""
    for child in node.body:
        if isinstance(child, _Function):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")


def words(body: ast.AST) -> set[str]:
    """The names in a piece of code; of attributes the last part."""
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id for node in ast.walk(body) if isinstance(node, ast.Attribute | ast.Name)
    }


def _closed(name: str, direct: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    open_ = [name]
    while open_:
        new = direct[open_.pop()] - found
        found |= new
        open_ += new
    return frozenset(found - {name})


# --- which scenarios -----------------------------------------------------------------------------------------


def choose(changes: Sequence[TouchedModule], exercised: Exercised) -> tuple[Choice, ...]:
    """The scenarios whose modules a change touches: first those whose functions it touches, then those of whole modules.

    A change with unknown names, of a module's top level, or of the class around an exercised function counts as touching the function.
    """
    found = [choice for name, targets in exercised.items() if (choice := _choice(name, targets, changes))]
    return tuple(sorted(found, key=lambda choice: LEVELS.index(choice.level)))


def picked(choices: Sequence[Choice]) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
    """The choices to run and those to leave out: where some may run the changed code, those of other functions of the file are left out."""
    direct = tuple(choice for choice in choices if choice.level != "module")
    return (direct, tuple(choice for choice in choices if choice.level == "module")) if direct else (tuple(choices), ())


def _choice(name: str, targets: Sequence[str], changes: Sequence[TouchedModule]) -> Choice | None:
    by_level: dict[Level, list[str]] = {level: [] for level in LEVELS}
    for change in changes:
        names = [target.partition(":")[2] for target in targets if target.partition(":")[0] == change.module]
        reached = {own: list(_reached(own, change)) for own in names}
        for own, sentences in reached.items():
            by_level["function" if own else "whole"] += sentences
        if names and not any(reached.values()):
            by_level["module"].append(_only_module(names, change))
    level = next((level for level in LEVELS if by_level[level]), None)
    reasons = by_level["function"] + by_level["whole"] or by_level["module"]
    return Choice(scenario=name, level=level, reasons=tuple(dict.fromkeys(reasons))) if level else None


def _reached(own: str, change: TouchedModule) -> Iterator[str]:
    """How a change reaches an exercised function; `own` is "" where the whole module is exercised."""
    if change.names is None:
        yield f"touches {change.module}, which it exercises"
        return
    uses = change.uses.get(own, frozenset())
    for name in change.names:
        if not own:
            yield f"touches {_shown(name, change)}, in a module that it exercises"
        elif name == own or name.startswith(f"{own}."):
            yield f"touches {name}, which it exercises"
        elif name == TOP or own.startswith(f"{name}."):
            yield f"touches {_shown(name, change)}, around {own}, which it exercises"
        elif name in uses:
            yield f"touches {name}, which {own} may call, which it exercises"


def _only_module(exercised: Sequence[str], change: TouchedModule) -> str:
    if not change.names:
        return f"touches only comments or layout of {change.module}, of which it exercises {', '.join(exercised) or 'all'}"
    names = few([_WORDS.get(name, name) for name in change.names], 4)
    return f"touches {names} of {change.module}, of which it exercises only {', '.join(exercised)}"


_WORDS = {TOP: "the top level", IMPORTS: "the imports"}


def _shown(name: str, change: TouchedModule) -> str:
    return f"{_WORDS[name]} of {change.module}" if name in _WORDS else name


def one_per_workload(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """One scenario per workload: with the arms of a change, two scenarios of the same workload are equal."""
    found: dict[str, Scenario] = {}
    for scenario in scenarios:
        workload = scenario.definition["workload"]
        server = (scenario.baseline.server_arguments, scenario.baseline.client)
        found.setdefault(repr((workload, dict(scenario.baseline.environment), server)), scenario)
    return tuple(found.values())


# --- where none fits -----------------------------------------------------------------------------------------


def nearest(modules: Sequence[str], exercised: Exercised, imports: Mapping[str, frozenset[str]]) -> tuple[Near, ...]:
    """The scenarios closest to touched modules: those of modules that import one, then of the same package, then of the same top folder.

    `imports` are the modules that an exercised module imports, as far as sources are known.
    """
    found: list[tuple[int, Near]] = []
    for name, targets in exercised.items():
        ranked = [rank for own in _modules(targets) for module in modules if (rank := _rank(own, module, imports))]
        if ranked:
            place, reason = min(ranked)
            found.append((place, Near(scenario=name, reason=reason)))
    return tuple(near for _, near in sorted(found, key=lambda one: one[0]))


def _modules(targets: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target.partition(":")[0] for target in targets))


def _rank(own: str, module: str, imports: Mapping[str, frozenset[str]]) -> tuple[int, str] | None:
    if module in imports.get(own, frozenset()):
        return 0, f"{own}, which it exercises, imports {module}"
    if own.rpartition(".")[0] == module.rpartition(".")[0]:
        return 1, f"{own}, which it exercises, is in the same package as {module}"
    if own.split(".")[1:2] == module.split(".")[1:2] != []:
        return 2, f"{own}, which it exercises, is in the same top folder as {module}"
    return None


def imports_of(module: str, source: str, *, package: bool = False) -> frozenset[str]:
    """The modules of vLLM that a source may import, anywhere in it. A name imported from a package may be a module, and counts as one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node, package)
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(name for name in found if name.partition(".")[0] == "vllm")


def _absolute(module: str, node: ast.ImportFrom, package: bool) -> str:
    """The module that an import names; a relative import is resolved from `module`."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + (1 if package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])])
