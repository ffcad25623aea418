"""What lanes do for each other while a plan of several scenarios runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof import runners
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import ServeWorkload
from perfproof.planning import make_plan
from tests.test_planning import SERVE


def test_a_lane_measures_while_the_others_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever scenario is to measure, what the others keep up ends before."""
    did: list[tuple[str, str]] = []

    class Fake:
        def __init__(self, scenario: object, *_: object, **__: object) -> None:
            self.name = scenario.name  # type: ignore[attr-defined]

        def check(self) -> None: ...

        def rest(self) -> None:
            did.append((self.name, "rests"))

        def close(self) -> None:
            did.append((self.name, "ends"))

    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(SERVE.format(more=""))
    plan = make_plan([load_scenario(tmp_path / f"{name}.yaml", "quick") for name in ("one", "two")], 0)
    monkeypatch.setattr(runners, "LANES", {ServeWorkload: Fake})
    monkeypatch.setattr(runners, "prepare_all", lambda builds, *_: [None for _ in builds])
    for check in ("check_names", "check_arms", "_make_models"):
        monkeypatch.setattr(runners, check, lambda *_: None)
    monkeypatch.setattr(runners, "MicroLane", lambda *_, **__: Fake(plan.scenarios[0]))
    monkeypatch.setattr(plan.__class__, "builds", lambda self: [])

    with runners.opened(plan, tmp_path, tmp_path, print) as lane_of:
        assert lane_of(plan.scenarios[1]).name == "two"  # type: ignore[attr-defined]
        assert did == [("one", "rests")]
        assert lane_of(plan.scenarios[0]).name == "one"  # type: ignore[attr-defined]
        assert did == [("one", "rests"), ("two", "rests")]
    assert {what for _, what in did[2:]} == {"ends"}
