"""Which of a change's functions can be counted as they are called: code that never ran proves nothing, whatever was measured beside it.

A function counts where a wrapper in its place changes nothing but its speed: undecorated ones, and not those that the compiler traces
or that are handed on when their module is imported. What else a change holds (class attributes, a module's top level) is named: whether
it ran is not known. Pure: sources come in as text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfproof.changes import selection_rules
from perfproof.changes.selection_rules import IMPORTS, TOP, TouchedModule
from perfproof.patches.guard import SLOT

MOST = 40
"""So many functions are watched at most: a trial's counters are few."""
LONGEST = SLOT - len("calls ") - 9
"""Bytes of a name that a counter holds."""
TRACED = (
    *("vllm._", "vllm.attention", "vllm.compilation", "vllm.config", "vllm.distributed.communication_op", "vllm.envs"),
    *("vllm.distributed.device_communicators", "vllm.distributed.parallel_state", "vllm.forward_context", "vllm.ir", "vllm.kernels"),
    *("vllm.lora", "vllm.model_executor.custom_op", "vllm.model_executor.kernels", "vllm.model_executor.layers"),
    *("vllm.model_executor.models", "vllm.platforms", "vllm.scalar_type", "vllm.sequence", "vllm.triton_utils", "vllm.utils"),
)
"""How the modules begin whose functions the compiler may trace: a counter in them would break the graph."""
PLAIN = ("staticmethod", "classmethod", "override", "torch.inference_mode", "torch.no_grad")
"""Decorators that leave a function."""
SPECIAL = ("__init__", "__call__")
"""Special methods that may be replaced."""

_Node = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """`functions` (`module:Qual.name`) are the changed ones that are counted, one of which must run; `unknown` names, in words, changed
    code that no count can tell of: where there is some, a change may have run though none of the functions did."""

    functions: tuple[str, ...]
    unknown: tuple[str, ...]


def watching(files: Iterable[tuple[str, str | None, str | None]]) -> Watching:
    """Of the files of a change, each a path and its texts before and after (None: not there); none is looked at past `MOST` functions."""
    functions: list[str] = []
    unknown: list[str] = []
    for path, before, after in files:
        if len(functions) >= MOST:
            unknown.append(path)
            continue
        found = of_file(path, before, after)
        functions += found.functions
        unknown += found.unknown
    more = len(functions) - MOST
    return Watching(functions=tuple(functions[:MOST]), unknown=(*unknown, *([f"{more} more functions"] if more > 0 else [])))


def of_file(path: str, before: str | None, after: str | None) -> Watching:
    """Of one file. What only changed functions can reach (a new helper that one of them calls, a new name) is not asked for: where
    it ran, one of these did."""
    change = selection_rules.touched(path, before, after)
    if change.names is None:
        return Watching(functions=(), unknown=(change.module,))
    trees = [ast.parse(text or "") for text in (before, after)]
    found = [dict(selection_rules.functions(tree)) for tree in trees]
    changed = [name for name in change.names if name in found[0] or name in found[1]]
    stayed = [name for name in changed if name in found[0] and name in found[1]]
    reached = {other for tree in trees for name, others in selection_rules.uses(tree).items() if name in stayed for other in others}
    asked = [name for name in changed if name in stayed or name not in reached]
    early = {word for tree in trees for word in _early(tree)}
    watched = [name for name in asked if _watchable(change.module, name, found, early)]
    unknown = [f"{change.module}:{name}" for name in asked if name not in watched] + list(_beside(change, trees))
    if not watched and not unknown:
        unknown = [f"{change.module}:{name}" for name in change.names if name not in (TOP, IMPORTS)] or [change.module] * bool(change.names)
    return Watching(functions=tuple(f"{change.module}:{name}" for name in watched), unknown=tuple(unknown))


def _watchable(module: str, name: str, found: Sequence[Mapping[str, ast.AST]], early: set[str]) -> bool:
    """Whether calls of a function can be counted without changing what it is."""
    last = name.rpartition(".")[2]
    special = last.startswith("__") and last.endswith("__") and last not in SPECIAL
    nodes = [nodes[name] for nodes in found if name in nodes]
    decorated = [_decorator(one) for node in nodes if isinstance(node, _Node) for one in node.decorator_list]
    fits = len(f"{module}:{name}".encode()) <= LONGEST
    return fits and not special and last not in early and not module.startswith(TRACED) and all(each in PLAIN for each in decorated)


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _early(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    """The names that the import of a module takes up, outside functions: what is handed on there escapes a count."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _early(node)
        elif not isinstance(node, _Node):
            yield from selection_rules.words(node)


def _beside(change: TouchedModule, trees: Sequence[ast.Module]) -> Iterator[str]:
    """What changed outside functions, apart from what is new: nothing but changed code knows a new name."""
    classes = [{name for name, _ in _classes(tree, "")} for tree in trees]
    for name in change.names or ():
        if name in classes[0] and name in classes[1]:
            yield f"{change.module}:{name}, outside its methods"
    if not _only_adds(*(_rest(tree) for tree in trees)):
        yield f"the top level of {change.module}"
    was, now = (dict(_imported(tree)) for tree in trees)
    if any(now[name] != was[name] for name in was.keys() & now.keys()):
        yield f"the imports of {change.module}"


def _classes(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield f"{prefix}{child.name}", child
            yield from _classes(child, f"{prefix}{child.name}.")


def _rest(tree: ast.Module) -> dict[str, ast.stmt]:
    """The statements of a module outside functions and classes, imports apart, by what they say."""
    apart = (_Node, ast.ClassDef, ast.Import, ast.ImportFrom)
    return {ast.dump(node): node for node in tree.body if not any(isinstance(node, kind) for kind in apart)}


def _only_adds(before: Mapping[str, ast.stmt], after: Mapping[str, ast.stmt]) -> bool:
    """Whether nothing is gone, and what came only gives new names to values."""
    came = [node for said, node in after.items() if said not in before]
    known = {word for node in before.values() for word in selection_rules.words(node)}
    return before.keys() <= after.keys() and all(
        isinstance(node, ast.Assign | ast.AnnAssign) and not known & _bound(node) and "=" in ast.unparse(node) for node in came
    )


def _bound(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {word for target in targets for word in selection_rules.words(target)}


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name of a module's top level stands for."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"{'.' * node.level}{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((alias.asname or alias.name, f"{source}{alias.name}") for alias in node.names)
