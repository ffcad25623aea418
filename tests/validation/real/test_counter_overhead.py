"""Rounds beside a counter that is off: what is measured, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED
from perfproof.validation.real import counter_overhead


def test_pairs_are_measured_and_told_with_their_interval(capsys: pytest.CaptureFixture[str]) -> None:
    """Six pairs of real processes; what comes out depends on the machine, the exit code follows from it."""
    code = counter_overhead.main(["--pairs", "6"])
    told = re.search(r"beside a counter that is off: .* \[([+-][\d.]+)%, ([+-][\d.]+)%\] of 6 pairs", capsys.readouterr().out)
    assert told
    within = all(abs(float(end)) <= 100 * counter_overhead.MARGIN for end in told.groups())
    assert code == (EXIT_PASS if within else EXIT_REGRESSED)


def test_few_pairs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Five have no interval."""
    with pytest.raises(SystemExit):
        counter_overhead.main(["--pairs", "5"])
    assert "at least 6" in capsys.readouterr().err


def test_an_interpreter_that_fails_is_named(tmp_path: Path) -> None:
    """With its words."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such thing here >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(SystemExit, match="python: no such thing here"):
        counter_overhead.paired(str(broken), 6)
