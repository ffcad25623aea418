"""Which functions of a change can be counted as they are called: a measurement that never ran the changed code proves nothing.

A function is countable where a wrapper in its place changes nothing but its speed: it has no decorator, the compiler does not trace it, and
nothing takes a reference to it while its module is imported, nor its class while that is made. Other changed code (class attributes, a
module's top level) is only named: whether it ran only a counted round can tell. Pure: sources come in as text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfproof.changes import selection_rules
from perfproof.changes.selection_rules import IMPORTS, TOP, TouchedModule
from perfproof.patches.guard import SLOT

MOST = 40
"""The most functions watched: a trial has few counters."""
LONGEST = SLOT - len("calls ") - 9
"""The most bytes of a name that a counter holds."""
TRACED = (
    *("vllm._", "vllm.attention", "vllm.compilation", "vllm.config", "vllm.distributed.communication_op", "vllm.envs"),
    *("vllm.distributed.device_communicators", "vllm.distributed.parallel_state", "vllm.forward_context", "vllm.ir", "vllm.kernels"),
    *("vllm.lora", "vllm.model_executor.custom_op", "vllm.model_executor.kernels", "vllm.model_executor.layers"),
    *("vllm.model_executor.models", "vllm.platforms", "vllm.scalar_type", "vllm.sequence", "vllm.triton_utils", "vllm.utils"),
)
"""Prefixes of modules whose functions the compiler may trace: a counter in them would break the graph."""
PLAIN = ("staticmethod", "classmethod", "override", "torch.inference_mode", "torch.no_grad")
"""Decorators that return a function."""
READ_ONCE = (
    *("__init_subclass__", "__set_name__", "__prepare__", "__mro_entries__", "__class_getitem__", "__new__", "__post_init__"),
    *("__get_pydantic", "__pydantic", "__torch_", "__tensor_"),
)
"""Beginnings of special methods that a class's maker or the compiler reads, or may read, once: what replaces them later is not called."""

_Node = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What to count of a change.

    `functions` (`module:Qual.name`) are the changed functions that are counted; one of them must run. `unknown` names, in words, changed
    code that can't be counted: where there is some, the change may have run although none of the functions did.
    """

    functions: tuple[str, ...]
    unknown: tuple[str, ...]


def watching(files: Iterable[tuple[str, str | None, str | None]]) -> Watching:
    """The functions to watch in the files of a change, each a path and its texts before and after (None: not there); at most `MOST`."""
    functions: list[str] = []
    unknown: list[str] = []
    for path, before, after in files:
        if len(functions) >= MOST:
            unknown.append(path)
            continue
        watched = of_file(path, before, after)
        functions += watched.functions
        unknown += watched.unknown
    more = len(functions) - MOST
    return Watching(functions=tuple(functions[:MOST]), unknown=(*unknown, *([f"{more} more functions"] if more > 0 else [])))


def of_file(path: str, before: str | None, after: str | None) -> Watching:
    """The functions to watch in one file. New code that only changed functions reach is left out: where it ran, one of those ran too."""
    change = selection_rules.touched(path, before, after)
    if change.names is None:
        return Watching(functions=(), unknown=(change.module,))
    trees = [ast.parse(text or "") for text in (before, after)]
    by_name = [dict(selection_rules.functions(tree)) for tree in trees]
    changed = [name for name in change.names if name in by_name[0] or name in by_name[1]]
    stayed = [name for name in changed if name in by_name[0] and name in by_name[1]]
    reached = {other for tree in trees for name, others in selection_rules.uses(tree).items() if name in stayed for other in others}
    names = [name for name in changed if name in stayed or name not in reached]
    early = {word for tree in trees for word in _early(tree)}
    watched = [name for name in names if _watchable(change.module, name, by_name, early)]
    unknown = [f"{change.module}:{name}" for name in names if name not in watched] + list(_beside(change, trees))
    if not watched and not unknown:
        unknown = [f"{change.module}:{name}" for name in change.names if name not in (TOP, IMPORTS)] or [change.module] * bool(change.names)
    return Watching(functions=tuple(f"{change.module}:{name}" for name in watched), unknown=tuple(unknown))


def _watchable(module: str, name: str, by_name: Sequence[Mapping[str, ast.AST]], early: set[str]) -> bool:
    """Whether calls of a function can be counted without changing its behaviour."""
    last = name.rpartition(".")[2]
    special = last.endswith("__") and last.startswith(READ_ONCE)
    nodes = [nodes[name] for nodes in by_name if name in nodes]
    decorated = [_decorator(one) for node in nodes if isinstance(node, _Node) for one in node.decorator_list]
    fits = len(f"{module}:{name}".encode()) <= LONGEST
    return fits and not special and last not in early and not module.startswith(TRACED) and all(each in PLAIN for each in decorated)


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _early(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    """The names that a module uses outside functions while it is imported: a function that it passes on there escapes a count."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _early(node)
        elif not isinstance(node, _Node):
            yield from selection_rules.words(node)


def _beside(change: TouchedModule, trees: Sequence[ast.Module]) -> Iterator[str]:
    """The changed code outside functions, except new names: only changed code knows those."""
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
    """The statements of a module outside functions and classes, except imports, by their code."""
    apart = (_Node, ast.ClassDef, ast.Import, ast.ImportFrom)
    return {ast.dump(node): node for node in tree.body if not any(isinstance(node, kind) for kind in apart)}


def _only_adds(before: Mapping[str, ast.stmt], after: Mapping[str, ast.stmt]) -> bool:
    """Whether no statement is gone, and new ones only assign new names."""
    came = [node for code, node in after.items() if code not in before]
    known = {word for node in before.values() for word in selection_rules.words(node)}
    return before.keys() <= after.keys() and all(
        isinstance(node, ast.Assign | ast.AnnAssign) and not known & _bound(node) and "=" in ast.unparse(node) for node in came
    )


def _bound(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {word for target in targets for word in selection_rules.words(target)}


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each imported name of a module's top level, with its source."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"{'.' * node.level}{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((alias.asname or alias.name, f"{source}{alias.name}") for alias in node.names)
