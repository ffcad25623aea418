"""`perfproof gate` counts a change first: what its policy says of counts decides, in every form, and is the answer where no scenario is."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from perfproof.changes.counting.host_count import HostCount
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from tests.changes.counting.test_count_command import FUNCTION, compared
from tests.changes.counting.test_host_count import host
from tests.changes.test_measure_change import ELSEWHERE
from tests.gate.test_gate_change import Place, counts
from tests.gate.test_gate_change import place as place
from tests.gate.test_gate_change import shared as shared

IDENTICAL = compared("identical", changed=(), change=0.0)
OTHER = compared("untestable", reason="other work: request 0: token 2 was 5 and is 9")
SOME = compared(change=0.02)


@pytest.mark.parametrize(
    ("counted", "policy", "code", "effect"),
    [
        (compared(), "noisy-ci", EXIT_REGRESSED, "fail"),
        (SOME, "noisy-ci", EXIT_PASS, "warn"),
        (compared(), "quiet-gpu", EXIT_PASS, "warn"),
        (compared("less"), "noisy-ci", EXIT_PASS, "pass"),
        (IDENTICAL, "noisy-ci", EXIT_PASS, "pass"),
        (OTHER, "noisy-ci", EXIT_UNTESTABLE, "fail"),
    ],
)
def test_more_work_than_the_policy_allows_fails_in_every_form(
    place: Place, counted: object, policy: str, code: int, effect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terminal, comment, JUnit and JSON have the ruling, what changed, and what a count is not."""
    place.host = host(counted)
    rules = policy if policy == "noisy-ci" else place.policy()
    assert place.diff(policy=rules) == code
    (ruling,) = (one for one in place.told["rulings"] if one["scenario"] == "host_work")
    assert (ruling["metric"], ruling["effect"]) == ("python_instructions@plain", effect)
    assert place.told["counts"]["comparisons"][0]["feature"] == "plain"
    comment = (place.folder / "comment.md").read_text().replace("\\", "")
    forms = [" ".join(capsys.readouterr().out.split()), comment, (place.folder / "junit.xml").read_text()]
    assert all("A count is not a time" in form for form in forms)
    assert all("python instructions, plain" in form or "python_instructions@plain" in form for form in forms)
    cases = {case.get("classname"): case for case in ET.parse(place.folder / "junit.xml").iter("testcase")}
    tag = {EXIT_REGRESSED: "failure", EXIT_UNTESTABLE: "error"}.get(code, "system-out")
    assert cases["host_work"].find(tag) is not None


def test_the_headline_names_the_feature_that_fails(place: Place) -> None:
    """With what to do about it."""
    place.host = host(compared())
    place.diff()
    assert "perfproof blame engine_host_cost --good" in place.notes
    comment = (place.folder / "comment.md").read_text()
    assert "--metric 'python_instructions@decode, plain, 32 requests'`" in comment
    assert place.told["headline"] == "The gate fails (noisy-ci): python instructions, plain of host_work: more Python work"
    assert "add a waiver" in place.told["todo"][0]


def test_a_waiver_lets_more_counted_work_pass(place: Place) -> None:
    """It names the count, and is told with its reason."""
    waiver = {"metric": "python_instructions", "reason": "known", "until": "2999-12-31", "issue": "https://example.org/1"}
    place.host = host(compared())
    rules = {"counts": {"fail": 0.1}, "waivers": [waiver], "canary": []}
    assert place.diff(policy=place.policy(**rules)) == EXIT_PASS
    assert {one["effect"] for one in place.told["rulings"] if one["scenario"] == "host_work"} == {"waived"}
    assert "no longer waives anything" not in place.notes


def test_a_scenario_that_regresses_fails_whatever_was_counted(place: Place) -> None:
    """Less Python work excuses no byte; the two stand side by side."""
    place.host, place.fate = host(compared("less")), counts(2048)
    assert place.diff() == EXIT_REGRESSED
    assert "bytes per swap" in place.told["headline"]
    assert "less Python work: decode, plain" in place.notes


@pytest.mark.parametrize(
    ("counted", "code", "judged"),
    [
        (host(compared()), EXIT_REGRESSED, True),
        (host(SOME), EXIT_PASS, True),
        (host(IDENTICAL), EXIT_PASS, True),
        (host(IDENTICAL, never_ran=(FUNCTION,)), EXIT_PASS, False),
        (HostCount(failed="no engine here"), EXIT_PASS, False),
    ],
)
def test_where_no_scenario_decides_the_count_does(place: Place, counted: HostCount, code: int, judged: bool) -> None:
    """And where no feature ran it either, or none could be counted, it is not judged."""
    (place.folder / "scenarios" / "thinking_scan.yaml").unlink()
    place.scenario("thinking", {"swaps": 3})
    (place.folder / "my.diff").write_text(
        "diff --git a/vllm/v1/worker/gpu_model_runner.py b/vllm/v1/worker/gpu_model_runner.py\n" + ELSEWHERE
    )
    place.host = counted
    rules = {"counts": {"warn": 0.005, "fail": 0.1}, "times": {"decide": "none"}}
    assert place.diff(policy=place.policy(**rules)) == code
    assert place.told["judged"] is judged
    assert place.ran == []
    if counted.findings and not judged:
        assert "nor does a feature that was counted (plain), so nothing was measured" in place.told["headline"]
    if judged:
        assert "nothing was timed: its count decides" in place.notes


def test_a_change_that_a_feature_ran_is_judged_though_no_scenario_called_it(place: Place) -> None:
    """The canary never calls it, the engine does."""
    (place.folder / "scenarios" / "thinking_scan.yaml").unlink()
    place.scenario("thinking_scan", {"swaps": 3})
    (place.folder / "my.diff").write_text(
        "diff --git a/vllm/v1/worker/gpu_model_runner.py b/vllm/v1/worker/gpu_model_runner.py\n" + ELSEWHERE
    )
    place.diff()
    assert place.told["judged"] is False
    place.host = host(IDENTICAL)
    assert place.diff() == EXIT_PASS
    assert place.told["judged"] is True


def test_the_count_may_be_left_out(place: Place) -> None:
    """Then JSON has none; of a results folder there is nothing to count."""
    place.host = host(compared())
    assert place.diff("--no-count") == EXIT_PASS
    assert (place.told["counts"], place.counted) == (None, [])
    assert place.diff("--count-features", "LoRA") == EXIT_REGRESSED
    assert place.counted == [("LoRA",)]
    assert "--count-features LoRA" in (place.folder / "comment.md").read_text()
    assert place.diff("--count-features", "teleport") == EXIT_USAGE
    assert place.diff("--count-features", "LoRA", "--no-count") == EXIT_USAGE
    assert place.gate("--no-count") == EXIT_USAGE


def test_a_count_that_failed_changes_no_decision(place: Place) -> None:
    """It is told, and JSON says so."""
    place.host = HostCount(failed="no engine here")
    assert place.diff() == EXIT_PASS
    assert json.loads(json.dumps(place.told["counts"]))["warnings"] == ["the work of vLLM's host could not be counted: no engine here"]
    assert "could not be counted: no engine here" in place.notes
