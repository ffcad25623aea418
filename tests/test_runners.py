"""What runners do for each other while a plan of several scenarios runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perfproof import runners
from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds.serve import SERVE as SERVING
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.planning import make_plan
from perfproof.run.trials.runner import RunnerKind, one_each
from tests.test_planning import SERVE


def test_a_lane_measures_while_the_others_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever scenario is to measure, what the others keep up ends before."""
    did: list[tuple[str, str]] = []

    class Fake:
        def __init__(self, scenario: Scenario, *_: object, **__: object) -> None:
            self.name = scenario.name

        def check(self) -> None: ...

        def trials(self, *_: object) -> Iterator[Record]:
            yield from ()

        def rest(self) -> None:
            did.append((self.name, "rests"))

        def close(self) -> None:
            did.append((self.name, "ends"))

    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(SERVE.format(more=""))
    plan = make_plan([load_scenario(tmp_path / f"{name}.yaml", "quick") for name in ("one", "two")], 0)
    fake = RunnerKind(kind=SERVING, faults=lambda _: [], open=one_each(Fake, lambda _: ()))
    monkeypatch.setattr(runners, "runner_of", lambda _: fake)
    monkeypatch.setattr(runners, "prepare_all", lambda builds, *_: [None for _ in builds])
    for check in ("check_names", "check_arms", "_make_models"):
        monkeypatch.setattr(runners, check, lambda *_: None)
    monkeypatch.setattr(plan.__class__, "builds", lambda self: [])

    with runners.opened(plan, tmp_path, tmp_path, print) as runner_for:
        assert runner_for(plan.scenarios[1]).name == "two"  # type: ignore[attr-defined]
        assert did == [("one", "rests")]
        assert runner_for(plan.scenarios[0]).name == "one"  # type: ignore[attr-defined]
        assert did == [("one", "rests"), ("two", "rests")]
    assert {what for _, what in did[2:]} == {"ends"}
