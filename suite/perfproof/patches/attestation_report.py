"""What a process says of its surroundings: the plugins of vLLM that it has loaded, and the variables that its arm sets.

vLLM says nothing of a name in `VLLM_PLUGINS` that nobody has installed, and goes on without a plugin that does not import. So each process
says itself what is there. Values of variables are told as hashes: whoever knows what was set can compare, and nobody can read a token.

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
    """For every name in `VLLM_PLUGINS` the groups of vLLM that have a plugin so called, and whether this process has loaded it.

    A name that no group has is there all the same, with nothing to it.
    """
    found: dict[str, dict[str, bool]] = {name: {} for name in os.environ.get("VLLM_PLUGINS", "").split(",") if name}
    for point in _installed():
        if point.name in found:
            group = point.group.removeprefix("vllm.")
            found[point.name][group] = found[point.name].get(group, True) and loaded(point)
    return found


@functools.cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(point for group in entry_points().groups if group.startswith("vllm.") for point in entry_points(group=group))


def loaded(point: EntryPoint) -> bool:
    """Whether what an entry point names has been imported."""
    found: Any = sys.modules.get(point.module)
    for step in filter(None, (point.attr or "").split(".")):
        found = getattr(found, step, None)
    return found is not None


def watch_loading(told: Callable[[], None]) -> None:
    """Calls back whenever vLLM has loaded the plugins of another group: some are loaded later, and in one process alone."""
    module = sys.modules.get("vllm.plugins")
    load = getattr(module, "load_plugins_by_group", None)
    if load is None or hasattr(load, "perfproof_watches"):
        return

    @functools.wraps(load)
    def watched(*args: Any, **kwargs: Any) -> Any:
        found = load(*args, **kwargs)
        told()
        return found

    watched.perfproof_watches = True  # type: ignore[attr-defined]
    for importer in [one for one in list(sys.modules.values()) if getattr(one, "__dict__", {}).get("load_plugins_by_group") is load]:
        importer.load_plugins_by_group = watched  # type: ignore[attr-defined]


def variables() -> dict[str, list[str]]:
    """The fingerprint of each variable that the arm sets, as it is here; of one that is not here an empty list."""
    return {name: fingerprint(os.environ[name]) if name in os.environ else [] for name in os.environ.get(VARIABLES, "").split()}


def fingerprint(value: str) -> list[str]:
    """Hashes of a value: of the whole, then of its parts between colons or commas, for lists that vLLM adds to or takes from."""
    return [hashlib.sha256(part.encode(errors="surrogatepass")).hexdigest()[:16] for part in (value, *re.split("[:,]", value))]


def unknown() -> list[str]:
    """The variables for vLLM that the arm sets and this release knows nothing of."""
    try:
        known = importlib.import_module("vllm.envs").environment_variables
    except (ImportError, AttributeError):
        return []
    return [name for name in variables() if name.startswith("VLLM_") and name not in known]
