"""The lead: the result in a sentence, what was changed, the rows, and the lines on answers, trust and what next."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.report import html
from perfproof.report.base.lead_model import Lead
from perfproof.report.extract import changes
from perfproof.report.text.lead import lead
from perfproof.report.text.lead_rows import ITSELF, LIKELY, MOST_ROWS, TAKEN_OUT, UNPATCHED
from perfproof.report.view import build
from tests.report import factory

RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture(scope="module")
def reference() -> Lead:
    return lead(page_of(RESULTS / "reference", None)[0])


def _line(found: Lead, label: str) -> list[str]:
    return [text for line in found.lines if line.label == label for text, _ in line.clauses]


def test_the_reference_run_in_a_sentence(reference: Lead) -> None:
    """The most important metric has its verdict and number, the others are counted; patches that were judged and taken out are named."""
    told = "Output throughput likely improved: +36.8\u202f%; 6 more improved"
    assert reference.result == f"{told}; 2 more on a change taken out; 2 more on releases or settings"
    assert reference.changed == (
        "Patches penalties_incremental (penalties from counts that lie on the logits' device and change only by the new tokens), "
        "penalties_from_token_ids, thinking_watermark; vLLM 0.32.0 against vLLM 0.17.1; "
        "released change taken out by patch swap_states_full_rows."
    )
    assert _line(reference, "Answers") == [
        "identical to the baseline’s: 800 items, 24 prompts, 833 tokens of the text",
        "not compared: watermark",
    ]
    assert "one server per arm for all blocks (serve_penalties_cpu): a lucky launch is not ruled out" in _line(reference, "Trust")
    assert "load up to 4.56, beyond the 2 cores" in _line(reference, "Trust")
    assert [line.command for line in reference.lines if line.label == "Next"] == [
        "perfproof run scenarios/serve_penalties_cpu.yaml --profile standard --seed 0 --results results/again"
    ]


def test_where_the_baseline_is_altered_the_page_says_what_taking_it_out_costs(reference: Lead) -> None:
    """No "improved, no patch judged": the altered arm is told as a cost, on an axis of its own, in no green."""
    group = next(group for group in reference.groups if group.title == TAKEN_OUT)
    assert [(row.word, row.look, row.number, row.interval, row.detail) for row in group.rows] == [
        ("costs", "equivalent", "×\u202f3.15", "[×\u202f2.92, ×\u202f3.4]", ""),
        ("costs", "equivalent", "×\u202f9.72", "exact", "55.99\u202fKiB → 544\u202fKiB"),
    ]
    alone = page_of(RESULTS / "reference", {"swap_states"})[0]
    assert lead(alone).result == "Without the released change, round time in a microbenchmark is ×\u202f3.15; 1 more costs"
    assert lead(alone).changed.startswith(
        "Released change taken out by patch swap_states_full_rows (exchanging two rows copies all max_model_len tokens again"
    )
    assert "no patch judged" not in html.render(alone)


def test_rows_are_the_worst_first_and_few() -> None:
    """The figure begins with what got worse, whatever the order of the scenarios, and leaves out no title."""
    found = lead(page_of(RESULTS / "patches", None)[0])
    words = [row.word for group in found.groups for row in group.rows]
    assert words[0] == "regressed"
    assert len(words) == MOST_ROWS
    assert TAKEN_OUT in [group.title for group in found.groups]
    assert re.fullmatch(r"and \d+ more below: .*", found.further)


def test_answers_that_changed_come_first() -> None:
    """A faster patch that answers otherwise is told as one that answers otherwise."""
    page = factory.answers_page()
    fast = factory.page(factory.swap_states())
    both = lead(dataclasses.replace(page, scenarios=(*page.scenarios, *fast.scenarios)))
    assert both.result.startswith("Answers changed for the worse; Round time improved in a microbenchmark")
    assert _line(both, "Answers")[0].startswith("changed for the worse: greedy outputs identical on 198 of 200 prompts")
    assert next(row.word for group in both.groups for row in group.rows) == "regressed"


def _next(reason: str, calibrated: bool = False) -> tuple[str, str]:
    rows, records = factory.pooling()
    floors = [factory.floor(records[0])] if calibrated else []
    found = lead(factory.page(([dataclasses.replace(rows[0], reason=reason)], records), floors=floors))
    (step,) = (line for line in found.lines if line.label == "Next")
    return step.clauses[0][0], step.command


def test_what_to_do_next_names_the_blocks_that_would_settle_it() -> None:
    """An open verdict's command measures as many blocks as its reason names: all again elsewhere, or the missing ones in its folder."""
    words, command = _next("so; about 24 blocks, all measured again (--blocks 24 into another results folder, 40 min), would settle it")
    assert (words, command.endswith("again --blocks 24")) == (
        "measure 24 blocks of pooling_token_ids (40 min), which would settle it",
        True,
    )
    words, command = _next("so; about 14 more blocks (20 in all, 21 min) would settle it")
    assert (words, command.endswith("--results results --blocks 20")) == (
        *("measure 20 blocks of pooling_token_ids (21 min), which would settle it", True),
    )


def test_nobody_is_sent_to_measure_for_a_night() -> None:
    """Where a verdict would take hours, its interval is the answer for now; something shorter comes first, if there is anything."""
    reason = "so; about 224 blocks, all measured again (--blocks 224 into another results folder, 6.3 h), would settle it"
    long = "leave pooling_token_ids open: its interval is the answer for now, to settle 2\u202f% would take 224 blocks (6.3 h)"
    words, command = _next(reason)
    assert words == f"calibrate: run the baseline against itself on this machine; {long}"
    assert command.startswith("perfproof calibrate")


def test_a_row_names_what_it_is_compared_with_and_what_weakens_it() -> None:
    """The baseline stands over its rows or in them; a row says why it is only likely, and where a side got other requests."""
    found = lead(page_of(RESULTS / "gpu" / "h200_32_cores", {"serve_penalties_ceiling_4096_cuda"})[0])
    (group,) = found.groups
    assert (group.against, group.rows[0].where) == ("no_penalty", "serve_penalties_ceiling_4096_cuda: incremental")
    assert group.rows[0].remarks == ("not the code alone: other requests (presence-penalty 1.5 instead of 0)",)
    assert found.result.startswith("Output throughput of incremental against no_penalty, with other requests, is not settled")
    rows, records = factory.suggested()
    assert lead(factory.page((rows, records))).groups[0].rows[0].remarks == (LIKELY,)
    other = [factory.row("b", "round_time", "improved", baseline="before"), factory.row("a", "round_time", "improved")]
    (group,) = lead(build(other, [], made=factory.MADE, version="0")).groups
    assert (group.against, {row.where.rpartition(" against ")[2] for row in group.rows}) == ("", {"before", "as released"})


def test_the_counts_of_the_title_add_up(reference: Lead) -> None:
    """The first metric, the others of its sort and those that judge no patch are as many as the rows of the figure and those below it."""
    told = 1 + sum(map(int, re.findall(r"; (\d+) more", reference.result)))
    drawn = sum(len(group.rows) for group in reference.groups)
    assert told == drawn + int(re.findall(r"and (\d+) more below", reference.further)[0]) == 11
    numbers = {group.title: group.number for group in reference.groups}
    assert numbers == {ITSELF: "7", TAKEN_OUT: "2", UNPATCHED: "1 of 2"}


def test_models_are_told_with_their_size() -> None:
    """A made-up model has its layers or its parameters beside it, several have theirs once."""
    found = lead(page_of(RESULTS / "gpu" / "h200_32_cores", {"serve_penalties_ceiling_4096_cuda", "serve_penalties_ceiling_8b_cuda"})[0])
    assert "made-up models of 0.52 and 8.2 billion parameters" in _line(found, "Trust")


def test_a_settled_run_on_a_proved_machine_needs_nothing() -> None:
    """With an A/A that passed and verdicts that are settled, nothing is left to do, and nothing weakens the answer."""
    rows, records = factory.as_scenario(factory.swap_states())
    found = lead(factory.page((rows, records), floors=[factory.floor(records[0])]))
    assert _line(found, "Next") == ["nothing: settled"]
    assert "A/A passed" in _line(found, "Trust")
    assert not [text for line in found.lines if line.label == "Trust" for text, flagged in line.clauses if flagged]


def test_trials_at_two_speeds_are_told_in_the_lead() -> None:
    """Where an arm's trials fall into two groups, the lead says so, with both speeds."""
    found = lead(page_of(RESULTS / "gpu" / "h200_64_cores", {"pooling_token_ids_cuda"})[0])
    assert "as_released ran at two speeds (2.2\u202fms and 4.14\u202fms)" in _line(found, "Trust")


def test_patches_are_described_by_their_first_sentence() -> None:
    """Every patch of the suite has a description that ends before brackets; others have none, and nothing is imported."""
    assert changes.summary("thinking_watermark") == "The thinking budget looks only at new tokens for its markers"
    assert changes.summary("somebody_elses") == ""


def test_a_page_without_scenarios_has_its_headline_alone() -> None:
    """What was counted and not timed keeps its own first line."""
    page = build((), (), made=factory.MADE, version="0")
    assert lead(page) == Lead(result="There are no records to judge", changed="", groups=(), further="", lines=(), level="")
