"""The page of the committed reference records: what a stranger reads first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.report import html
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.figures import distributions, sparklines
from perfproof.report.panels import attestation, machine, spread

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of(REFERENCE, None)[0]


def of(page: Page, name: str) -> ScenarioView:
    return next(each for each in page.scenarios if each.name == name)


def test_answers_are_not_drawn_as_times(page: Page) -> None:
    """Of scenarios that compare answers nothing is drawn within the trials, and no figure is titled with a list of what was kept."""
    assert {each.name: [view.name for view in each.spreads] for each in page.scenarios if each.kind in ("accuracy", "equality")} == {
        "accuracy_penalties_cpu": [],
        "equality_penalties_cpu": [],
    }
    drawn = [view.name for each in page.scenarios for view in each.spreads]
    assert {"feed_time", "apply_time", "ttft", "tpot"} <= set(drawn) <= {"feed_time", "apply_time", "ttft", "tpot", "itl", "e2el"}
    assert not [name for name in drawn if "[" in name]
    assert not re.search(r"<figcaption>[^<]*\[&#34;", html.render(page))


def test_the_table_within_trials_is_of_the_line_that_is_drawn_thick(page: Page) -> None:
    """The quantiles told of an arm are those of its middle trial, and the ends over all its trials reach as far as the lines do."""
    view = next(view for view in of(page, "serve_penalties_cpu").spreads if view.name == "ttft")
    for arm, trials in enumerate(view.curves):
        assert spread.middle(view, arm) == [distributions.middle(trials)[place] for place in spread.SHOWN]
        assert distributions.middle(trials) in trials
        assert spread.ends(view, arm)[-1][1] == max(max(curve) for curve in trials)


def test_what_judges_no_patch_is_counted_apart(page: Page) -> None:
    """Releases against each other, and a release against an altered one, are no improvement of a patch in the headline."""
    assert page.headline == (
        "1 end-to-end scenario likely improved; 2 microbenchmarks improved; 2 comparisons of answers are equivalent; "
        "releases or settings compared, no patch judged: 1 microbenchmark improved; "
        "a released change taken out: 1 microbenchmark loses by it"
    )
    assert html.render(page).count("<small>no patch judged</small>") == 1


def test_the_head_says_whose_answers_were_compared_and_whose_were_not(page: Page) -> None:
    """Candidates with a verdict on speed whose answers nobody asked are named; those that were asked are not among them."""
    said, _, unasked = page.answers.partition(". Nothing here tests the answers of ")
    assert unasked == "as_released (swap_states), release_0_32_0 (swap_states_releases) and watermark (thinking_scan)"
    assert "incremental: accuracy in copying, knowledge, series and sums: not one of 800 items changed between right and wrong" in said
    assert "from_token_ids and incremental: greedy outputs and sampled outputs identical on 24 of 24 prompts (561 tokens)" in said


def test_a_repeat_is_judged_from_its_own_folder(page: Page) -> None:
    """All three commands name the folder of the repeat: nobody takes the old records for it."""
    for scenario in page.scenarios:
        assert [command.split("--results ")[1].split()[0] for command in scenario.commands] == ["results/again"] * 3


def test_the_bound_that_decides_stands_in_the_row(page: Page) -> None:
    """Where a bar reaches beyond the margin and the verdict is equivalent all the same, the bound that decided is told and drawn."""
    accuracy = of(page, "accuracy_penalties_cpu")
    assert [round(accuracy.bound(row) or 0, 4) for row in accuracy.rows] == [-0.0149] * 4
    text = html.render(page)
    assert text.count("decides: at most 1.49\u202fpoints lost</small>") == 1 + 4
    assert text.count('<line class="bound"') == 1


def test_what_was_asked_more_often_is_no_difference_of_code(page: Page) -> None:
    """Only the patch and the variable that names it are marked as different; unequal counts of calls have their reason."""
    accuracy = of(page, "accuracy_penalties_cpu")
    assert [fact.name for fact in accuracy.attestations if fact.differs] == ["patches", "variable VLLM_PLUGINS"]
    assert "as_released got the same requests twice" in attestation.counted(accuracy)
    assert "fall into batches" in attestation.counted(of(page, "serve_penalties_cpu"))
    assert attestation.counted(of(page, "swap_states")) == ""


def test_nothing_is_told_twice(page: Page) -> None:
    """A block that the estimate is sensitive to, and shared servers, are caveats of the answer and not warnings as well."""
    assert of(page, "serve_penalties_cpu").warnings == ()
    served = of(page_of(REFERENCE.with_name("gpu"), {"serve_penalties_cuda"})[0], "serve_penalties_cuda")
    assert any("outlier" in each for row in served.rows for each in row.warnings)
    assert any("sensitive to block 3" in each for each in served.provisos)
    assert not any("outlier" in each or "one server" in each for each in served.warnings)


def test_a_count_that_fell_to_nothing_has_its_mark(page: Page) -> None:
    """Every judged row has a mark on the strip, also one whose change is −100 %."""
    gone = next(row for row in of(page, "penalties").rows if row.effect == -1)
    assert 'class="mark"' in sparklines.forest(gone, sparklines.axis(of(page, "penalties").rows))


def test_the_machine_is_trusted_or_not_in_a_first_sentence(page: Page) -> None:
    """Whether the machine can be trusted is said first; a load beyond the cores and stolen time are told in words."""
    assert machine.trusted(page) == "Not known: no A/A was run"
    load, steal = machine.remarks(page)
    assert "beyond the 2 cores in swap_states_releases (4.56)" in load
    assert "accuracy_penalties_cpu" not in load
    assert steal.startswith("Steal, the time for which the host gave these cores to others")


def test_there_is_one_minus_sign(page: Page) -> None:
    """No hyphen stands before a number where another place has a minus; names, dates and versions keep theirs."""
    told = [text for each in page.scenarios for row in each.rows for text in (row.reason, *row.warnings)]
    told += [task.reason for each in page.scenarios for one in each.accuracy for task in one.tasks]
    assert not [text for text in told if re.search(r"(^|[\s(\[])-\d", text)]
    kept = "2026-11-28, exit code -9, --temperature=-0.5, v-0.1.2, -O3"
    assert formatting.sentence(f"-2.95 points to -1 %, by -0.12 (p = 0.3), {kept}") == f"−2.95 points to −1 %, by −0.12 (p = 0.3), {kept}"
