"""Plugins are loaded as vLLM loads them: filtered by name, and one that does not import is only logged."""

import logging
import os

logger = logging.getLogger(__name__)
plugins_loaded = False


def load_general_plugins():
    global plugins_loaded
    if plugins_loaded:
        return
    plugins_loaded = True
    from importlib.metadata import entry_points

    allowed = os.environ["VLLM_PLUGINS"].split(",")
    functions = []
    for plugin in entry_points(group="vllm.general_plugins"):
        if plugin.name in allowed:
            try:
                functions.append(plugin.load())
            except Exception:
                logger.exception("Failed to load plugin %s", plugin.name)
    for function in functions:
        function()
