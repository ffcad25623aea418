"""A process's report about its environment: the plugins of vLLM that it has loaded, and the variables that its arm sets.

vLLM silently ignores a name in `VLLM_PLUGINS` that is not installed, and continues without a plugin that does not import. So each process
reports its plugins itself. Values of variables are reported as hashes: they can be compared with the arm's value, but nobody can read a
token.

Environment (set by the runner, harmless when absent): `PERFPROOF_VARIABLES`, the names that the arm sets, separated by spaces.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

VARIABLES = "PERFPROOF_VARIABLES"


def plugins() -> dict[str, dict[str, bool]]:
    """For every name in `VLLM_PLUGINS` the groups of vLLM with a plugin of that name, and whether this process has loaded it.

    A name without a group has an empty entry.
    """
    report: dict[str, dict[str, bool]] = {name: {} for name in os.environ.get("VLLM_PLUGINS", "").split(",") if name}
    for point in _installed():
        if point.name in report:
            group = point.group.removeprefix("vllm.")
            report[point.name][group] = report[point.name].get(group, True) and loaded(point)
    return report


@functools.cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(point for group in entry_points().groups if group.startswith("vllm.") for point in entry_points(group=group))


def loaded(point: EntryPoint) -> bool:
    """Whether the object of an entry point has been imported."""
    current: Any = sys.modules.get(point.module)
    for step in filter(None, (point.attr or "").split(".")):
        current = getattr(current, step, None)
    return current is not None


def watch_loading(callback: Callable[[], None]) -> None:
    """Calls `callback` whenever vLLM has loaded the plugins of another group: some are loaded later, and only in one process."""
    module = sys.modules.get("vllm.plugins")
    load = getattr(module, "load_plugins_by_group", None)
    if load is None or hasattr(load, "perfproof_watches"):
        return

    @functools.wraps(load)
    def watched(*args: Any, **kwargs: Any) -> Any:
        result = load(*args, **kwargs)
        callback()
        return result

    watched.perfproof_watches = True  # type: ignore[attr-defined]
    for importer in [one for one in list(sys.modules.values()) if getattr(one, "__dict__", {}).get("load_plugins_by_group") is load]:
        importer.load_plugins_by_group = watched  # type: ignore[attr-defined]


def variables() -> dict[str, list[str]]:
    """The fingerprint of each variable that the arm sets, in this process; an empty list for a missing variable."""
    return {name: fingerprint(os.environ[name]) if name in os.environ else [] for name in os.environ.get(VARIABLES, "").split()}


def fingerprint(value: str) -> list[str]:
    """Hashes of a value: of the whole, then of its parts between colons or commas, because vLLM adds to lists and removes from them."""
    return [hashlib.sha256(part.encode(errors="surrogatepass")).hexdigest()[:16] for part in (value, *re.split("[:,]", value))]


def unknown() -> list[str]:
    """The variables for vLLM that the arm sets and that this release does not know."""
    try:
        known = importlib.import_module("vllm.envs").environment_variables
    except (ImportError, AttributeError):
        return []
    return [name for name in variables() if name.startswith("VLLM_") and name not in known]
