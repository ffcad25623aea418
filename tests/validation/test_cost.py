"""What a trial costs beyond what it is for, read from records."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof import store
from perfproof.validation.cost import costs, main
from tests.factory import record


def test_a_trials_cost_is_what_start_warmups_and_measurement_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trials that count, at a server: seconds beyond the phases that they are for, and the share of a core that watching took."""
    kept = record(
        how="fresh server",
        seconds={"server starts": 40.0, "warming up": 5.0, "measuring": 30.0, "stopping the server": 1.0, "total": 37.0},
        environment={"while_measuring": {"watching": 0.004}},
    )
    (cost,) = costs([kept, record(how="forked"), record(how="fresh server", status="invalid", seconds={"measuring": 1.0})])
    assert (cost.beyond, cost.share, cost.kept) == ((2.0,), (0.004,), True)
    store.append(tmp_path, kept)
    assert main([str(tmp_path)]) == 0
    assert "2.00 s beyond start, warm-ups and measurement (at most 2.00); watched with 0.40% of a core" in capsys.readouterr().out


def test_a_promise_that_was_not_kept_ends_with_1() -> None:
    """More than 3 s, or 1 % of a core and more, is not what was promised; neither is nothing at all."""
    seconds = {"measuring": 30.0, "total": 33.5}
    assert not costs([record(how="shared server", seconds=seconds)])[0].kept
    busy = record(how="shared server", seconds={**seconds, "total": 31.0}, environment={"while_measuring": {"watching": 0.02}})
    assert not costs([busy])[0].kept
