"""`perfproof pr` counts first: the count stands in every form, is the answer where no scenario is, and never hides one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from perfproof.analysis.judging.apply_policy import decide
from perfproof.changes import measure_change
from perfproof.changes.change_notes import conclusion, measured_times
from perfproof.changes.counting.host_count import HostCount
from perfproof.changes.time_estimates import TrialTime
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged, Outcome, Uncounted
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests.changes.counting.test_count_command import FUNCTION, came, compared
from tests.changes.counting.test_host_count import host
from tests.changes.test_measure_change import ANSWERS, ELSEWHERE, Place
from tests.changes.test_measure_change import bare as bare
from tests.changes.test_measure_change import place as place
from tests.changes.test_measure_change import shared as shared
from tests.report.factory import row

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
    """One feature ran it, and they did not: the text begins with the count, and neither times nor answers were tested, which is no pass."""
    (place.folder / "my.diff").write_text(ELSEWHERE)
    place.scenario("answers", **ANSWERS)
    place.runner.calls["answers"], place.host = 0, host(compared())
    assert place.pr() == EXIT_INCONCLUSIVE
    said = capsys.readouterr().out
    assert "no times: no scenario ran the change: answers never called it" in said
    last = next(line for line in said.splitlines() if "exit code" in line)
    assert last.startswith("counted, more Python work: decode, plain, 32 requests: ")
    assert last.endswith("times were NOT tested (exit code 4)")
    text = (place.folder / "reports" / "pr.md").read_text()
    assert text.startswith("### Counted, more Python work: decode, plain, 32 requests: ")
    assert "nswers were NOT tested for GPUModelRunner.execute_model: no scenario at all called it" in text.replace("\\", "")
    assert "could not be tested" not in text
    assert "fix the cause" not in text


def test_a_scenario_that_was_not_begun_does_not_hide_that_the_other_never_ran_the_change(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two, one called nothing and the budget let the other not begin: the count is the answer as well."""
    place.scenario("further", {"swaps": 9}, exercises=["vllm.v1.worker.batch:Batch.swap"])
    place.runner.calls["again"], place.host = 0, host(compared())
    monkeypatch.setattr(TrialTime, "block", lambda time, scenario: 1e9 if scenario.name == "further" else 1.0)
    monkeypatch.setattr(measure_change, "fitting", lambda scenarios, times, seconds, *, beside: (tuple(scenarios), ()))
    assert place.pr("--budget", "60") == EXIT_INCONCLUSIVE
    assert (place.folder / "reports" / "pr.md").read_text().startswith("### Counted, more Python work: ")


@pytest.mark.parametrize("verdict", ["inconclusive", "untestable"])
def test_the_heading_begins_with_the_count_where_no_time_is_settled(place: Place, verdict: str) -> None:
    """Noise that hides a time hides no count."""
    place.host = host(compared())

    def noisy(one: Record, tries: int) -> Record:
        if verdict == "untestable":
            return dataclasses.replace(one, environment={**one.environment, "telemetry": {"foreign": 0.9}})
        factor = (0.5, 1.0, 2.0)[one.block % 3] if one.arm == "diff" else 1.0
        return dataclasses.replace(one, measurements={name: value * factor for name, value in one.measurements.items()})

    place.runner.ratio, place.runner.fate = 1.0, noisy
    place.pr()
    head = (place.folder / "reports" / "pr.md").read_text().splitlines()[0]
    assert head.startswith("### Counted, more Python work: decode, plain, 32 requests: ")
    assert "ound time" in head or "times untestable" in head


def test_times_that_are_settled_stay_before_the_count(place: Place) -> None:
    """A time that got worse is the greater news."""
    place.host = host(compared())
    place.pr()
    assert "Counted" not in (place.folder / "reports" / "pr.md").read_text().splitlines()[0]


def test_a_change_whose_new_lines_never_ran_proves_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The changed function was called, and its new lines were not reached: heading, notes and last line say so, and it is no pass."""
    place.host = host(IDENTICAL, reach=came(lines=False, idle={"vllm/v1/worker/batch.py": [3]}))
    place.runner.ratio = 1.0
    place.runner.fate = lambda one, tries: dataclasses.replace(one, witnesses={"bytes_per_swap": 1024})
    assert place.pr("--scenarios", "scenarios/again.yaml") == EXIT_INCONCLUSIVE
    said = capsys.readouterr().out
    last = [line for line in said.splitlines() if "exit code" in line][-1]
    assert last.startswith("no new line of the change is known to have run, so that this proves nothing about them: ")
    assert last.endswith("(exit code 4)")
    assert "vllm/v1/worker/batch.py: 3" in last
    assert "called what the change touches: again (called Batch.swap)" in said
    assert "ran the change: " not in said
    text = (place.folder / "reports" / "pr.md").read_text()
    assert text.startswith("### No new line of the change is known to have run; ")
    assert "an the change: " not in text
    assert text.count("runs a line of the change (vllm/v1/worker/batch.py: 3)") == 1


def test_a_count_that_moved_shows_that_the_change_ran(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario may reach new lines that no feature does."""
    place.host = host(IDENTICAL, reach=came(lines=False, idle={"vllm/v1/worker/batch.py": [3]}))
    place.runner.ratio = 1.0
    place.runner.fate = lambda one, tries: dataclasses.replace(one, witnesses={"bytes_per_swap": 512 if one.arm == "diff" else 1024})
    assert place.pr("--scenarios", "scenarios/again.yaml") == EXIT_PASS
    assert "no new line of the change" not in capsys.readouterr().out


@pytest.mark.parametrize("some_ran", [True, False])
def test_answers_do_not_vouch_for_lines_that_no_feature_runs(place: Place, some_ran: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario about answers that calls the function need not run its new lines, whatever a benchmark's count says: it is no pass."""
    place.scenario("answers", **ANSWERS, exercises=["vllm.v1.worker.batch"])
    place.host = host(IDENTICAL, reach=came(lines=some_ran, idle={"vllm/v1/worker/batch.py": [3]}))
    place.runner.ratio = 1.0
    place.runner.fate = lambda one, tries: moved(one) if one.scenario == "again" else one
    assert place.pr() == EXIT_INCONCLUSIVE
    told = "were NOT tested for lines of the change that no tried feature runs: vllm/v1/worker/batch.py: 3"
    assert f"answers {told}" in capsys.readouterr().out
    text = (place.folder / "reports" / "pr.md").read_text()
    assert f"nswers {told}" in text
    assert "nothing: settled" not in text


@pytest.mark.parametrize(
    ("ends", "better", "as_what"),
    [
        ((0.1, 0.3), "lower", "regressed"),
        ((0.1, 0.3), "higher", "improved"),
        ((-0.1, 0.3), "lower", "untestable"),
        (None, "lower", "untestable"),
    ],
)
def test_times_that_a_busy_machine_spoilt_may_contradict_counts(ends: tuple[float, float] | None, better: Any, as_what: str) -> None:
    """What excluded blocks surely show is held against the counts; it is a verdict nowhere else."""
    seen = Uncounted(baseline_value=1.0, candidate_value=1.2, blocks=6, effect=0.2, interval=ends)
    spoilt = dataclasses.replace(row("queue", "round_time", Outcome.UNTESTABLE), better=better, uncounted=seen, reason="busy")
    assert measured_times([spoilt]) == [("queue", "round_time", Outcome(as_what))]


def moved(one: Record) -> Record:
    return dataclasses.replace(one, witnesses={"bytes_per_swap": 512 if one.arm == "diff" else 1024})


def said_of(rows: Sequence[Judged], counted: HostCount, *, untested: bool) -> tuple[int, list[str]]:
    return conclusion(decide(rows, DEFAULT_POLICY), rows, [], counted, untested=untested)


def test_the_last_line_names_what_grew() -> None:
    """More Python work is worse, though no time was settled: with the span of the scenarios' counts and the engine's own."""
    grown = [row("a", f"python_instructions@requests={n}", "regressed", primary=False, effect=n / 1000) for n in (49, 143, 60)]
    rows = [row("a", "round_time", "equivalent"), *grown]
    code, lines = said_of(rows, host(compared()), untested=True)
    assert code == EXIT_INCONCLUSIVE
    assert lines[-1].startswith("3 counts show more Python work, exactly (+4.90 % to +14.3 %); counted, more Python work: decode, plain, ")
    assert lines[-1].endswith("Nothing else got worse, but that is not a pass while these answers are untested (exit code 4)")
    code, (line,) = said_of(rows, HostCount(), untested=False)
    words = "3 counts show more Python work, exactly (+4.90 % to +14.3 %), which warns; nothing that decides got worse (exit code 0)"
    assert (code, line) == (EXIT_PASS, words)
    code, (line,) = said_of(rows[:1], HostCount(), untested=True)
    assert line == "nothing got worse, but that is not a pass while these answers are untested (exit code 4)"
    assert said_of(rows[:1], HostCount(), untested=False) == (EXIT_PASS, [])


def test_other_tokens_are_no_pass_beside_scenarios_that_found_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario may not see what the engine answered otherwise."""
    place.runner.ratio, place.host = 0.5, host(OTHER)
    assert place.pr("--scenarios", "scenarios/again.yaml") == EXIT_UNTESTABLE
    assert "no scenario is worse, but that is not a pass: counted, other work: " in capsys.readouterr().out


def test_a_budget_that_leaves_no_time_keeps_the_count(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count is told and written; times were not tested, which is no pass."""
    from perfproof.model.base.errors import CannotRun

    def spent(*asked: object) -> None:
        raise CannotRun("the time budget of 1 minutes was used up before anything was measured")

    monkeypatch.setattr(measure_change._Run, "_measure", spent)
    place.host = host(IDENTICAL)
    assert place.pr() == EXIT_INCONCLUSIVE
    assert "no times: the time budget of 1 minutes was used up" in (place.folder / "reports" / "pr.md").read_text()
    place.host = HostCount()
    assert main(["pr", "--diff", "my.diff", "--build", str(place.python)]) == EXIT_UNTESTABLE
