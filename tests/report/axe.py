"""The axe-core accessibility engine, as the wheel of `axe-playwright-python` carries it; nothing is fetched and no Playwright is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from tests.report.browser import Browser

WANTED = {"resultTypes": ["violations"]}
"""Every rule is run and every violation told; of what is in order axe-core need not describe every place: megabytes, and half the time."""
OF_COLOURS = {**WANTED, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""Those of these rules that look at colours."""


def violations(browser: Browser, wanted: Mapping[str, Any] = WANTED) -> list[str]:
    """What axe-core finds wrong with the page that is open: the rule, what it asks, and the places. Best practices count too."""
    if browser.run("typeof axe") == "undefined":
        browser.run((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found: dict[str, Any] = json.loads(browser.run(f"axe.run({json.dumps(wanted)}).then(found => JSON.stringify(found))"))
    assert found["passes"], "axe-core looked at nothing"
    return [f"{one['id']}: {one['help']}: {'; '.join(_place(node) for node in one['nodes'][:5])}" for one in found["violations"]]


def _place(node: dict[str, Any]) -> str:
    return f"{' '.join(map(str, node['target']))} ({node.get('failureSummary', '').strip().splitlines()[-1].strip()})"
