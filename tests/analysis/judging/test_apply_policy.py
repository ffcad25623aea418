"""The gate's rules: what each verdict does under each rule, whose fault what could not be tested is, and what waivers let pass."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from perfproof import history, store
from perfproof.analysis.judging.apply_policy import decide, failures_of
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.documents.policy_documents import load_policy
from perfproof.model.verdicts.judged import OUTCOMES, Judged, Outcome
from perfproof.model.verdicts.policy import Policy
from tests.factory import ATTESTATION, DEFINITION, record, run
from tests.report.factory import row

TODAY = date(2026, 11, 28)
WAIVER = {"metric": "bytes_per_swap", "reason": "known", "until": "2026-12-31", "issue": "https://example.org/1"}


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    """Makes a policy of what a test says."""

    def make(**document: Any) -> Policy:
        path = tmp_path / "p.yaml"
        path.write_text(json.dumps({"schema": 1, **document}))
        return load_policy(path, TODAY)

    return make


def count(metric: str, before: float, after: float, verdict: str, **more: Any) -> Judged:
    """A judged count."""
    values = {"baseline_value": before, "candidate_value": after, "effect": after / before - 1 if before else None}
    return row("swap", metric, Outcome(verdict), **values, **more)


@pytest.mark.parametrize(
    ("verdict", "policy", "effect", "code"),
    [
        ("regressed", {}, "fail", EXIT_REGRESSED),
        ("improved", {}, "pass", EXIT_PASS),
        ("equivalent", {}, "pass", EXIT_PASS),
        ("inconclusive", {}, "pass", EXIT_PASS),
        ("inconclusive", {"inconclusive": "warn"}, "warn", EXIT_PASS),
        ("inconclusive", {"inconclusive": "fail"}, "fail", EXIT_INCONCLUSIVE),
        ("untestable", {}, "fail", EXIT_UNTESTABLE),
        ("untestable", {"untestable": "warn"}, "warn", EXIT_PASS),
        ("regressed", {"times": {"decide": "none"}}, "report", EXIT_UNTESTABLE),
        ("regressed", {"scenarios": ["other"]}, "report", EXIT_UNTESTABLE),
    ],
)
def test_what_a_verdict_does(rules: Any, verdict: str, policy: dict[str, Any], effect: str, code: int) -> None:
    """A time's verdict under a policy; where nothing decides, that is untestable and no pass."""
    found = decide([row("swap", "round_time", Outcome(verdict))], rules(**policy))
    assert ([one.effect for one in found.rulings], found.exit_code) == ([effect], code)


def test_the_gravest_finding_is_the_exit_code(rules: Any) -> None:
    """A regression outweighs what can't be tested, that what stays inconclusive."""
    policy = rules(inconclusive="fail")
    rows = [row("swap", f"round_time@size={n}", verdict) for n, verdict in enumerate(OUTCOMES, 1)]
    assert decide(rows, policy).exit_code == EXIT_REGRESSED
    assert decide(rows[1:], policy).exit_code == EXIT_UNTESTABLE
    assert decide(rows[2:], policy).exit_code == EXIT_INCONCLUSIVE
    assert decide(rows[3:], policy).exit_code == EXIT_PASS


def test_what_to_do_names_a_cost_or_other_answers(rules: Any) -> None:
    """A change that answers otherwise is not told to mend a cost."""
    cost, answers = row("swap", "round_time", Outcome.REGRESSED), row("equal", "greedy_outputs", Outcome.REGRESSED)
    of_cost, of_answers = decide([cost], rules()).todo, decide([answers], rules()).todo
    assert [each.partition(",")[0] for each in (*of_cost, *of_answers)] == [
        "If this cost is not intended",
        "If these changed answers are not intended",
    ]
    assert decide([cost, answers], rules()).todo == of_cost + of_answers


@pytest.mark.parametrize(("effect", "low", "warned"), [(0.015, 0.002, True), (0.015, -0.001, False), (0.005, 0.001, False)])
def test_a_smaller_margin_warns(rules: Any, effect: float, low: float, warned: bool) -> None:
    """Worse by at least the warning's margin, and surely worse: it passes, with a warning that says both."""
    one = row("swap", "round_time", Outcome.EQUIVALENT, effect=effect, interval=(low, 0.02))
    [ruling] = decide([one], rules(times={"warn": 0.01})).rulings
    assert ruling.effect == ("warn" if warned else "pass")
    assert ("worse by 1.5 %, which warns from 1 %" in ruling.reason.replace("\u202f", " ")) is warned


def test_a_higher_is_better_metric_warns_of_less(rules: Any) -> None:
    """For throughput worse is less."""
    one = row("serve", "output_throughput", Outcome.EQUIVALENT, effect=-0.015, interval=(-0.02, -0.001))
    assert decide([one], rules(times={"warn": 0.01})).rulings[0].effect == "warn"


@pytest.mark.parametrize(
    ("rule", "verdict", "effect"),
    [
        ("at_most", "improved", "pass"),
        ("at_most", "equivalent", "pass"),
        ("at_most", "regressed", "fail"),
        ("equal", "improved", "fail"),
        ("equal", "equivalent", "pass"),
        ("equal", "regressed", "fail"),
    ],
)
def test_rules_of_counts(rules: Any, rule: str, verdict: str, effect: str) -> None:
    """At most the base's, or just the base's: then less is a failure too, for the pin wants to be moved on purpose."""
    after = {"improved": 5, "equivalent": 10, "regressed": 20}[verdict]
    found = decide([count("bytes_per_swap", 10, after, verdict)], rules(witnesses={"decide": "all", "rule": rule}))
    assert found.rulings[0].effect == effect
    assert found.exit_code == (EXIT_REGRESSED if effect == "fail" else EXIT_PASS)


@pytest.mark.parametrize(
    ("before", "after", "effects", "code"),
    [
        ((4, 4, 4), (2, 2, 2), ["pass"] * 3, EXIT_PASS),
        ((4, 4, 4), (2, 8, 32), ["pass", "fail", "fail"], EXIT_REGRESSED),
        ((4, 16, 64), (2, 8, 32), ["pass", "warn", "warn"], EXIT_PASS),
        ((4, 16, 64), (4, 32, 128), ["pass", "fail", "fail"], EXIT_REGRESSED),
    ],
)
def test_a_count_must_not_grow_with_the_size(
    rules: Any, before: tuple[int, ...], after: tuple[int, ...], effects: list[str], code: int
) -> None:
    """No size may cost more than the smallest; where the base grows as much, that is told and not blamed on the change."""
    rows = [
        count(f"tokens_compared_per_step@output_length={size}", old, new, "regressed" if new > old else "improved")
        for size, old, new in zip((1000, 4000, 16000), before, after, strict=True)
    ]
    found = decide(rows, rules(witnesses={"decide": "all", "rule": "constant"}))
    assert ([one.effect for one in found.rulings], found.exit_code) == (effects, code)


def test_growth_of_one_size_can_not_be_told(rules: Any) -> None:
    """The rule is for sweeps; elsewhere it says so."""
    found = decide([count("bytes_per_swap", 1, 1, "equivalent")], rules(witnesses={"decide": "all", "rule": "constant"}))
    assert found.exit_code == EXIT_UNTESTABLE
    assert "one size can't show whether it grows" in found.rulings[0].reason


def test_a_waiver_lets_a_failure_pass_and_says_so(rules: Any) -> None:
    """Until its day, with reason and issue in the ruling; what it does not name fails as ever."""
    rows = [count("bytes_per_swap", 1, 2, "regressed"), count("host_syncs_per_step", 1, 2, "regressed")]
    found = decide(rows, rules(witnesses={"decide": "all"}, waivers=[WAIVER]), today=TODAY)
    assert [one.effect for one in found.rulings] == ["waived", "fail"]
    assert found.rulings[0].reason.startswith("waived until 2026-12-31: known (https://example.org/1); ")
    assert decide(rows[:1], rules(witnesses={"decide": "all"}, waivers=[WAIVER]), today=TODAY).exit_code == EXIT_PASS


def test_a_waiver_that_waives_nothing_or_soon_ends_is_told(rules: Any) -> None:
    """So that nobody is surprised by the day on which the policy is refused, and no waiver outlives its cause."""
    policy = rules(witnesses={"decide": "all"}, waivers=[{**WAIVER, "until": "2026-12-01"}])
    better = decide([count("bytes_per_swap", 2, 1, "improved")], policy, today=TODAY)
    assert any("no longer waives anything" in note for note in better.notes)
    worse = decide([count("bytes_per_swap", 1, 2, "regressed")], policy, today=TODAY)
    assert any("ends on 2026-12-01" in note for note in worse.notes)


@pytest.mark.parametrize(
    ("arms", "blame", "told"),
    [
        ({"before"}, "base", "the base itself fails"),
        ({"before", "after"}, "base", "the base itself fails"),
        ({"after"}, "change", "fails in after, though the base runs: no module named x"),
    ],
)
def test_a_base_that_fails_is_not_blamed_on_the_change(rules: Any, arms: set[str], blame: str, told: str) -> None:
    """Whose trials failed decides the words; untestable either way."""
    records = [
        record(block=one.block, arm=one.arm, status="failed", reason="no module named x\nlog") if one.arm in arms else one
        for one in run([0.04] * 6, [0.04] * 6)
    ]
    failures = failures_of(records)
    assert failures["swap_states", "after"].blame == blame
    found = decide([row("swap_states", "round_time", Outcome.UNTESTABLE, candidate="after")], rules(), failures=failures)
    assert (found.exit_code, found.rulings[0].blame) == (EXIT_UNTESTABLE, blame)
    assert told in found.rulings[0].reason
    assert ("not to blame" in " ".join(found.todo)) is (blame == "base")


def test_a_change_that_crashes_fails_whatever_the_policy_says(rules: Any) -> None:
    """`untestable: pass` is for machines, not for a change that does not run where its base does."""
    records = [
        record(block=one.block, arm=one.arm, status="failed", reason="no") if one.arm == "after" else one
        for one in run([1.0] * 6, [1.0] * 6)
    ]
    one = row("swap_states", "round_time", Outcome.UNTESTABLE, candidate="after")
    assert decide([one], rules(untestable="pass"), failures=failures_of(records)).exit_code == EXIT_UNTESTABLE
    assert decide([one], rules(untestable="pass")).exit_code == EXIT_PASS


def test_a_function_that_was_renamed_is_no_crash(rules: Any) -> None:
    """The benchmark does not find what it exercises in the change: not covered, as the policy says, and nobody is blamed."""
    why = "not in this version: vLLM 0.32.0 has no vllm.x:Y.z"
    records = [
        record(block=one.block, arm=one.arm, status="failed", reason=why) if one.arm == "after" else one
        for one in run([1.0] * 6, [1.0] * 6)
    ]
    one = row("swap_states", "round_time", Outcome.UNTESTABLE, candidate="after")
    found = decide([one], rules(), failures=failures_of(records))
    assert (found.exit_code, found.rulings[0].effect, found.rulings[0].blame) == (EXIT_PASS, "warn", "")
    assert found.rulings[0].reason == f"the change renames or moves the code that the benchmark exercises: {why}"


def test_a_failed_aa_is_the_machines_fault(rules: Any) -> None:
    """The words say so, and what to do."""
    one = row(
        "swap", "round_time", Outcome.UNTESTABLE, reason="the A/A of this machine failed: round_time: the baseline differs from itself"
    )
    found = decide([one], rules())
    assert found.exit_code == EXIT_UNTESTABLE
    assert any("perfproof calibrate" in each and "The change is not to blame" in each for each in found.todo)


# --- the command on records -----------------------------------------------------------------------------------


def results(folder: Path, after: float = 0.04, counted: tuple[float, float] = (9.0, 9.0)) -> Path:
    both = {**DEFINITION, "metrics": {"round_time": {"primary": True, "margin": 0.02}, "bytes_per_swap": {"primary": True, "margin": 0.02}}}
    for one in run([0.04 + n * 1e-6 for n in range(6)], [after + n * 1e-6 for n in range(6)], definition=both, witnesses=counted):
        store.append(folder, one)
    return folder


def test_noisy_ci_does_not_fail_on_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A time twice as long is reported; a count that is larger fails."""
    assert main(["gate", "--results", str(results(tmp_path / "a", after=0.08)), "--policy", "noisy-ci"]) == EXIT_PASS
    assert "reported swap_states  round time" in capsys.readouterr().out
    assert main(["gate", "--results", str(results(tmp_path / "b", counted=(9.0, 10.0))), "--policy", "noisy-ci"]) == EXIT_REGRESSED


def test_the_default_is_what_scenarios_declare(tmp_path: Path) -> None:
    """Without a policy a time that is twice as long fails."""
    assert main(["gate", "--results", str(results(tmp_path / "a", after=0.08))]) == EXIT_REGRESSED


def test_a_margin_of_the_policy_is_the_statistics_margin(tmp_path: Path) -> None:
    """Ten per cent slower fails at two and passes at twenty."""
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, "metrics": {"round_time": {"fail": 0.2}}}))
    folder = str(results(tmp_path / "a", after=0.044))
    assert main(["gate", "--results", folder]) == EXIT_REGRESSED
    assert main(["gate", "--results", folder, "--policy", str(tmp_path / "p.yaml")]) == EXIT_PASS


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"waivers": [{**WAIVER, "until": "2020-01-01"}]}, "expired on 2020-01-01"),
        ({"metrics": {"round_tim": {"fail": 0.1}}}, "unknown metric 'round_tim', did you mean round_time"),
        (
            {"metrics": {"swap_states/median_ttft": {"fail": 0.1}}},
            "the scenario swap_states has no metric 'median_ttft'; it has round_time",
        ),
        ({"scenarios": ["swap_state"]}, "p.yaml: scenarios.0: there is no scenario 'swap_state', did you mean swap_states"),
        (
            {"waivers": [{**WAIVER, "scenario": "swop_states", "until": "2999-01-01"}]},
            "p.yaml: waivers.0.scenario: there is no scenario 'swop_states'",
        ),
    ],
)
def test_policies_that_can_not_be_meant_end_with_exit_code_2(
    tmp_path: Path, document: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A waiver that ran out, a metric or scenario that there is not: a sentence each, and no decision."""
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, **document}))
    assert main(["gate", "--results", str(results(tmp_path / "a")), "--policy", str(tmp_path / "p.yaml")]) == EXIT_USAGE
    assert told in capsys.readouterr().err


def test_every_form_is_written(tmp_path: Path) -> None:
    """JSON, JUnit, comment and report beside each other; `report --junit` writes the verdicts without a decision."""
    folder, names = str(results(tmp_path / "a")), {"json": "g.json", "junit": "j.xml", "comment": "c.md", "report": "r.html"}
    words = [word for form, name in names.items() for word in (f"--{form}", str(tmp_path / name))]
    assert main(["gate", "--results", folder, "--policy", "noisy-ci", *words]) == EXIT_PASS
    assert json.loads((tmp_path / "g.json").read_text())["exit_code"] == EXIT_PASS
    assert (tmp_path / "c.md").read_text().startswith("<!-- perfproof gate -->\n### ✅ The gate passes")
    assert 'name="decision (noisy-ci)"' in (tmp_path / "j.xml").read_text()
    assert main(["report", "--results", folder, "--junit", str(tmp_path / "k.xml")]) == EXIT_PASS
    assert "decision" not in (tmp_path / "k.xml").read_text()


def remembered(folder: Path, counted: float = 9.0) -> Path:
    """A history of the arm `before`, measured on the first day of the year."""
    records = [one for one in store.read(results(folder / "then", counted=(counted, counted))).records if one.arm == "before"]
    history.append(folder / "history", history.entries_of(records))
    return folder / "history"


def test_records_are_judged_against_a_stored_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A count against what the history has: more is a regression, and the ruling says of when and where it is."""
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, "times": {"decide": "none"}}))
    words = ["--stored", str(remembered(tmp_path)), "--policy", str(tmp_path / "p.yaml"), "--json", str(tmp_path / "g.json")]
    assert main(["gate", "--results", str(results(tmp_path / "same")), *words]) == EXIT_PASS
    assert main(["gate", "--results", str(results(tmp_path / "more", counted=(9.0, 12.0))), *words]) == EXIT_REGRESSED
    told = json.loads((tmp_path / "g.json").read_text())
    [ruling] = told["rulings"]
    assert (ruling["metric"], ruling["effect"]) == ("bytes_per_swap", "fail")
    assert "stored baseline of" in ruling["reason"]
    assert "days old" in ruling["reason"]


def test_a_patched_arm_is_judged_against_what_was_remembered_as_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`track` remembers vLLM as released, and that is what a patch is held against; where a history lies elsewhere, the remedy says so."""
    kept = remembered(tmp_path)
    arms = {**DEFINITION["arms"], "after": {**DEFINITION["arms"]["after"], "patches": ["mine"], "allow_unverified": True}}
    proof = dataclasses.replace(ATTESTATION, patches={"mine": {"verified": False}})
    for one in run([0.04] * 6, [0.04] * 6, definition={**DEFINITION, "arms": arms}, witnesses=(9.0, 12.0)):
        store.append(tmp_path / "now", dataclasses.replace(one, attestation=proof if one.arm == "after" else ATTESTATION))
    words = ["gate", "--results", str(tmp_path / "now"), "--stored", str(kept), "--policy", str(tmp_path / "p.yaml")]
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, "times": {"decide": "none"}, "witnesses": {"decide": "all"}}))
    assert main(words) == EXIT_REGRESSED
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, "baseline": {"max_age_days": 1}}))
    capsys.readouterr()
    assert main(words) == EXIT_USAGE
    assert capsys.readouterr().err.endswith(f"give each of these commands --history {kept} too\n")


@pytest.mark.parametrize(
    ("policy", "folder", "told"),
    [
        ({"baseline": {"max_age_days": 30}}, "history", "too old, at most 30 days are allowed; renew it with: perfproof track"),
        ({}, "nowhere", "nowhere"),
        ({"metrics": {"round_time": {"decide": True}}}, "counts", "the history has no points of this metric"),
    ],
)
def test_a_stored_baseline_that_is_missing_or_too_old_ends_with_exit_code_2(
    tmp_path: Path, policy: dict[str, Any], folder: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate does not pass for want of something to compare with: the fault says how to renew it."""
    kept = remembered(tmp_path)
    if folder == "counts":
        counts = [one for one in history.read(kept).points if one.kind == "witness"]
        history.append(tmp_path / "counts", counts)
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, **policy}))
    words = ["--stored", str(tmp_path / folder), "--policy", str(tmp_path / "p.yaml")]
    assert main(["gate", "--results", str(results(tmp_path / "now")), *words]) == EXIT_USAGE
    assert told in capsys.readouterr().err


# --- what is not primary, and what was not measured ------------------------------------------------------------------

TAIL = row("swap", "p99_ttft", None, primary=False, better="lower", kind="time", effect=5.7, interval=(4.0, 9.0), q=0.001, blocks=6)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("document", "effect", "code"),
    [
        ({}, "warn", EXIT_PASS),
        ({"also_worse": "pass"}, "report", EXIT_PASS),
        ({"also_worse": "fail"}, "fail", EXIT_REGRESSED),
        ({"also_worse": "fail", "metrics": {"p99_ttft": {"decide": False}}}, "report", EXIT_PASS),
        ({"also_worse": "fail", "waivers": [{**WAIVER, "metric": "p99_ttft"}]}, "waived", EXIT_PASS),
    ],
)
def test_what_got_worse_beside_the_primaries_does_what_the_policy_says(
    rules: Any, document: dict[str, Any], effect: str, code: int, listed: bool
) -> None:
    """It warns, fails or is reported, whether the scenario names the metric or not; an exception or a waiver of it holds."""
    improved = row("swap", "round_time", Outcome.IMPROVED)
    found = decide([improved, *([TAIL] if listed else [])], rules(**document), worse=[TAIL])
    assert (found.rulings[-1].metric, found.rulings[-1].effect, found.exit_code) == ("p99_ttft", effect, code)
    assert len(found.deciding) == 1
    assert effect == "report" or "also worse" in found.rulings[-1].reason


def test_what_got_worse_beside_is_no_verdict(rules: Any) -> None:
    """Where nothing decides, a warning beside it makes no pass of it."""
    found = decide([row("swap", "round_time", Outcome.IMPROVED)], rules(times={"decide": "none"}), worse=[TAIL])
    assert (found.exit_code, found.of("warn") != ()) == (EXIT_UNTESTABLE, True)


@pytest.mark.parametrize(("document", "effect", "code"), [({}, "fail", EXIT_UNTESTABLE), ({"untestable": "warn"}, "warn", EXIT_PASS)])
def test_a_scenario_that_was_to_be_judged_and_has_no_record_is_missing(
    rules: Any, document: dict[str, Any], effect: str, code: int
) -> None:
    """It is untestable, with the word and what to do; what the others say is no pass for it."""
    found = decide([row("swap", "round_time", Outcome.IMPROVED)], rules(**document), missing=["serve_*"])
    last = found.rulings[-1]
    assert (last.scenario, last.verdict, last.effect, found.exit_code) == ("serve_*", Outcome.UNTESTABLE, effect, code)
    assert last.reason.startswith("missing: ")
    assert effect == "warn" or any(each.startswith("Measure serve_*, or remove") for each in found.todo)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["swap_states"], EXIT_PASS),
        (["swap_*", "*"], EXIT_PASS),
        (["swap_states", "penalties"], EXIT_UNTESTABLE),
        (["serve_*", "*"], EXIT_UNTESTABLE),
    ],
)
def test_a_results_folder_lacks_what_the_policy_names(
    tmp_path: Path, names: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """`gate --results` of a folder without one record of a scenario that the policy names, or of a pattern: missing, exit code 3."""
    for one in run([0.04] * 6, [0.03 + 0.0001 * n for n in range(6)]):
        store.append(tmp_path / "results", one)
    (tmp_path / "p.yaml").write_text(json.dumps({"schema": 1, "scenarios": names}))
    assert main(["gate", "--results", str(tmp_path / "results"), "--policy", str(tmp_path / "p.yaml")]) == code
    assert ("missing" in capsys.readouterr().out) == (code != EXIT_PASS)
