"""The session's arguments, adapted for a trial in another checkout.

A trial must collect the same tests as the session: it gets the same arguments, with paths of its own checkout. Arguments that write
elsewhere, measure something else or start more processes (coverage, xdist, reports, saved benchmarks) are removed or switched off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

TAKEN = (
    "--junitxml",
    "--junit-xml",
    "--benchmark-json",
    "--benchmark-save",
    "--benchmark-compare-fail",
    "--benchmark-storage",
    "--cov-report",
)
"""Options with a value that a trial does not get, also with the value after a blank."""
ALONE = (
    "--benchmark-autosave",
    "--benchmark-save-data",
    "--pdb",
    "--trace",
    "--lf",
    "--last-failed",
    "--ff",
    "--failed-first",
    "--nf",
    "--sw",
)
MAYBE = ("--benchmark-compare", "--benchmark-histogram", "--cov", "--perfproof")
"""Options whose value, if any, comes after a `=`."""


OURS = "perfproof.patches."
"""The module of the suite's own plugins of vLLM."""


def of_trial(given: Sequence[str], root: Path, here: Path, tree: Path, folder: Path, plugins: Collection[str]) -> list[str]:
    """pytest's arguments in `tree`, for a session that was started in `here`, a folder of the checkout at `root`, with the arguments
    `given`.

    Paths that this side lacks are left out. `plugins` of the session are switched off; `folder` takes the output files.
    """
    moved = [word for each in _kept(given) if (word := _moved(each, root, here, tree)) is not None]
    off = [
        *(["-n0"] if any(each.startswith("xdist") for each in plugins) else []),
        *(["--no-cov"] if any(each.startswith("pytest_cov") for each in plugins) else []),
    ]
    return [
        *moved,
        *off,
        *("-o", f"cache_dir={folder / 'cache'}", "--maxfail=0", "--continue-on-collection-errors", "--benchmark-enable"),
        *(f"--benchmark-storage=file://{folder / 'saved'}", f"--benchmark-json={folder / 'benchmark.json'}"),
    ]


def _kept(given: Sequence[str]) -> Iterable[str]:
    words = iter(given)
    for word in words:
        name, equals, _ = word.partition("=")
        if name in TAKEN or (name.startswith("--perfproof-") and name != "--perfproof-fail-on-inconclusive"):
            if not equals:
                next(words, None)
        elif word not in ALONE and name not in MAYBE and name != "--perfproof-fail-on-inconclusive":
            yield word


def _moved(word: str, root: Path, here: Path, tree: Path) -> str | None:
    """The argument with a path of the checkout replaced by one of `tree`; a node id becomes its file, because a trial chooses ids itself.

    None for a path that is in the checkout but not in `tree`.
    """
    option, equals, value = word.partition("=")
    if word.startswith("-"):
        absolute = equals and os.path.isabs(value) and Path(value).is_relative_to(root)
        return f"{option}={tree / Path(value).relative_to(root)}" if absolute else word
    path = word.partition("::")[0]
    place = Path(os.path.normpath(here / path))
    if not path or not place.exists() or not place.is_relative_to(root):
        return word
    moved = tree / place.relative_to(root)
    if not moved.exists():
        return None
    return str(moved) if os.path.isabs(path) else path


def import_folders(root: Path) -> list[str]:
    """The folders below `root`, relative to it, from which this session imports: on `sys.path`, and of editable installs."""
    places = [Path(os.path.realpath(each or os.getcwd())) for each in sys.path]
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", "") or "")
        mapping = getattr(module, "MAPPING", None)
        if isinstance(mapping, Mapping):
            places += [Path(os.path.realpath(str(place))).parent for place in mapping.values()]
    inside = [place for place in dict.fromkeys(places) if place.is_relative_to(root) and "site-packages" not in place.parts]
    return [str(place.relative_to(root)) for place in inside]


def environment(shell: Mapping[str, str], folders: Sequence[str], root: Path, tree: Path, hash_seed: int) -> dict[str, str]:
    """The session's own variables, with `PYTHONPATH` in `tree` where the session imports from `root`."""
    here = [str(tree / folder) for folder in folders if (tree / folder).is_dir()]
    given = [
        each for each in shell.get("PYTHONPATH", "").split(os.pathsep) if each and not Path(os.path.realpath(each)).is_relative_to(root)
    ]
    return {
        **{name: value for name, value in shell.items() if not name.startswith(("PYTEST_XDIST_", "COV_CORE_"))},
        "PYTHONPATH": os.pathsep.join([*here, *given]),
        "PYTHONHASHSEED": str(hash_seed % 2**32),
        "VLLM_PLUGINS": shell.get("VLLM_PLUGINS", ",".join(_plugins_of_others())),
    }


def _plugins_of_others() -> list[str]:
    """The plugins of vLLM that are installed here, except the suite's own patches: without a list, vLLM would load the patches too."""
    groups = [group for group in entry_points().groups if group.startswith("vllm.")]
    return sorted({point.name for group in groups for point in entry_points(group=group) if not point.value.startswith(OURS)})
