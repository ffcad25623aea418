"""`perfproof pr` counts first: the count stands in every form, is the answer where no scenario is, and never hides one."""

from __future__ import annotations

import pytest

from perfproof.changes.counting.host_count import HostCount
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from tests.changes.counting.test_count_command import FUNCTION, compared
from tests.changes.counting.test_host_count import host
from tests.changes.test_measure_change import ANSWERS, ELSEWHERE, Place
from tests.changes.test_measure_change import bare as bare
from tests.changes.test_measure_change import place as place
from tests.changes.test_measure_change import shared as shared

IDENTICAL = compared("identical", changed=(), change=0.0)
OTHER = compared("untestable", reason="other work: request 0: token 2 was 5 and is 9")


def test_the_count_stands_beside_the_times(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told before anything is timed, and in text and report; it does not change what the times decide."""
    place.host = host(compared())
    assert place.pr() == EXIT_REGRESSED
    said = capsys.readouterr().out
    assert said.index("counted, more Python work: decode, plain, 32 requests: ") < said.index("trials run")
    assert said.index("perfproof blame engine_host_cost --good ") < said.index("trials run") < said.index("perfproof blame again --good ")
    for file in ("pr.md", "pr.html"):
        text = (place.folder / "reports" / file).read_text().replace("\\", "")
        assert "Scheduler.update" in text
        assert "A count is not a time" in text
    assert place.counted == [()]


def test_more_work_that_was_faster_is_told_as_a_contradiction(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """In text and terminal, in one sentence."""
    place.host, place.runner.ratio = host(compared()), 0.5
    place.pr()
    sentence = "ounts and times disagree: more Python work was counted, and faster was measured"
    assert sentence in " ".join(capsys.readouterr().out.split())
    assert sentence in (place.folder / "reports" / "pr.md").read_text()


def test_features_are_named_and_the_count_may_be_left_out(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no feature is refused before anything is made; both at once contradict each other."""
    place.pr("--count-features", "penalties,LoRA")
    assert place.counted == [("penalties,LoRA",)]
    assert "--count-features penalties,LoRA" in (place.folder / "reports" / "pr.md").read_text()
    place.pr("--no-count")
    assert len(place.counted) == 1
    assert "--no-count" in (place.folder / "reports" / "pr.md").read_text()
    assert place.pr("--count-features", "teleport") == EXIT_USAGE
    assert place.pr("--count-features", "LoRA", "--no-count") == EXIT_USAGE
    assert "give only one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("counted", "code", "said"),
    [
        (host(compared()), EXIT_PASS, "Counted, more Python work: decode, plain"),
        (host(compared("less")), EXIT_PASS, "Counted, less Python work: decode, plain"),
        (host(IDENTICAL), EXIT_PASS, "Counted, identical: plain"),
        (host(OTHER), EXIT_UNTESTABLE, "Counted, other work: plain, 32 requests: other work: request 0: token 2 was 5 and is 9"),
        (host(IDENTICAL, never_ran=(FUNCTION,)), EXIT_UNTESTABLE, "No tried feature calls what the change touches"),
    ],
)
def test_where_no_scenario_is_the_count_is_the_answer(place: Place, counted: HostCount, code: int, said: str) -> None:
    """More work warns, less and equal pass, other work and what nothing called are no pass; text and report say that nothing was timed."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.host = counted
    assert place.pr() == code
    text = (place.folder / "reports" / "pr.md").read_text().replace("\\", "")
    assert text.startswith(f"### {said}")
    assert "no times: no scenario exercises what the change touches: vllm/v1/worker/gpu_model_runner.py" in text
    assert "perfproof pr --diff my.diff" in text
    assert "There are no records" not in text
    assert (place.folder / "reports" / "pr.html").exists()
    assert place.runner.ran == []


def test_without_a_count_what_no_scenario_exercises_is_untestable(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest scenarios are told, and why it could not be counted."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.host = HostCount(failed="no engine here")
    assert place.pr() == EXIT_UNTESTABLE
    told = capsys.readouterr().out
    assert "could not be counted: no engine here" in told
    assert "near: again: " in told
    assert "could not be counted: no engine here" in (place.folder / "reports" / "pr.md").read_text()


def test_a_count_that_failed_changes_nothing_else(place: Place) -> None:
    """The times decide, and the text says what is missing."""
    place.host = HostCount(failed="no engine here")
    place.runner.ratio = 0.5
    assert place.pr() == EXIT_INCONCLUSIVE
    assert "could not be counted: no engine here" in (place.folder / "reports" / "pr.md").read_text()


def test_scenarios_that_never_ran_the_change_leave_the_answer_to_the_count(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """One feature ran it, and they did not."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.scenario("answers", **ANSWERS)
    place.runner.calls["answers"], place.host = 0, host(IDENTICAL)
    assert place.pr() == EXIT_PASS
    assert "no scenario ran the change, so its count is the answer: counted, identical: plain (exit code 0)" in capsys.readouterr().out


def test_other_tokens_are_no_pass_beside_scenarios_that_found_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario may not see what the engine answered otherwise."""
    place.runner.ratio, place.host = 0.5, host(OTHER)
    assert place.pr("--scenarios", "scenarios/again.yaml") == EXIT_UNTESTABLE
    assert "no scenario is worse, but that is not a pass: counted, other work: " in capsys.readouterr().out


def test_a_budget_that_leaves_no_time_keeps_the_count(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count is told and written; times were not tested, which is no pass."""
    from perfproof.changes import measure_change
    from perfproof.model.base.errors import CannotRun

    def spent(*asked: object) -> None:
        raise CannotRun("the time budget of 1 minutes was used up before anything was measured")

    monkeypatch.setattr(measure_change._Run, "_measure", spent)
    place.host = host(IDENTICAL)
    assert place.pr() == EXIT_INCONCLUSIVE
    assert "no times: the time budget of 1 minutes was used up" in (place.folder / "reports" / "pr.md").read_text()
    place.host = HostCount()
    assert main(["pr", "--diff", "my.diff", "--build", str(place.python)]) == EXIT_UNTESTABLE
