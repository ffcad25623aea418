"""`perfproof blame` with real trials, killed in the middle: the same command goes on."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from perfproof.changes.blame.blame_command import perform
from perfproof.model.base.errors import EXIT_PASS
from tests.changes.blame.places import COSTS, GOOD, answer_from_folders, asked, real_trials, records

LAST = 3
"""The trial that the search does not survive: the first mixture."""


def test_a_killed_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The process that asks is killed while the process of a trial still lives; its lock is free, and no trial whose record is there runs
    twice."""
    answer_from_folders(monkeypatch)
    place = real_trials(tmp_path / "place")
    request = asked(place, tmp_path, place.diff("bad.diff", place.batch.replace(GOOD, COSTS)))
    place.last = LAST
    if not (child := os.fork()):
        perform(request, runners=place.runners)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(before := records(tmp_path)) == LAST - 1
    place.last = None
    assert perform(request, runners=place.runners) == EXIT_PASS
    found = json.loads(capsys.readouterr().out)
    assert [(one["function"], one["share"]) for one in found["guilty"]] == [("cost", 1.0)]
    assert set(before) < set(records(tmp_path))
    assert len(records(tmp_path)) == place.ran + LAST - 1
    assert place.ran == len(found["trials"]) == 2
