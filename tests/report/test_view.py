"""The view model: what is judged, what is not, and the numbers beside it."""

from __future__ import annotations

import dataclasses

import pytest

from perfproof.model.verdicts.judged import OUTCOMES, Outcome
from perfproof.report import html
from perfproof.report.base import formatting, units
from perfproof.report.figures import sparklines
from perfproof.report.formats import pr_comment, terminal
from perfproof.report.lead.lead import lead
from perfproof.report.text.headline import headline, ordered
from perfproof.report.view import build
from tests.report import factory


def test_headline_tells_bad_news_first() -> None:
    """The first line counts every outcome, apart by what was measured, and begins with what a reader must not miss."""
    page = factory.page()
    assert page.headline == (
        "1 microbenchmark regressed, 1 is untestable, 1 is inconclusive and 1 improved; 1 end-to-end scenario improved"
    )


def test_headline_counts_hints_and_checks_of_the_machine_apart() -> None:
    """What only suggests is not counted with what is settled, and an A/A with nothing."""
    parts = (factory.suggested(), factory.penalties(), factory.itself())
    found = [scenario for part in parts for scenario in factory.page(part).scenarios]
    assert headline(found) == (
        "1 end-to-end scenario improved and 1 likely improved; 1 check of the machine (baseline against itself) is equivalent"
    )
    assert factory.page(factory.swap_states()).headline == "swap_states improved in a microbenchmark"
    assert factory.page(factory.suggested()).headline == "serve_shared likely improved"


def test_scenarios_stand_in_the_order_in_which_the_headline_counts_them() -> None:
    """End-to-end runs before microbenchmarks before answers where their worst news is alike, the worst news first; what judges no patch
    last; equals by name."""
    plain = factory.page(factory.swap_states()).scenarios[0]
    made = [
        dataclasses.replace(plain, name=name, kind=kind, outcome=outcome, suggests=suggests, unpatched=unpatched)
        for name, kind, outcome, suggests, unpatched in (
            ("g", "micro", Outcome.REGRESSED, False, True),
            ("i", "serve", Outcome.INCONCLUSIVE, False, True),
            ("f", "equality", Outcome.EQUIVALENT, False, False),
            ("a", "equality", Outcome.EQUIVALENT, False, False),
            ("e", "micro", Outcome.INCONCLUSIVE, False, False),
            ("d", "serve", Outcome.IMPROVED, True, False),
            ("c", "serve", Outcome.IMPROVED, False, False),
            ("h", "offline", Outcome.INCONCLUSIVE, False, False),
            ("b", "accuracy", Outcome.EQUIVALENT, False, False),
        )
    ]
    assert "".join(each.name for each in ordered(made)) == "hcdeabfgi"
    assert headline(made) == headline(ordered(made))
    assert headline(made) == (
        "1 end-to-end scenario is inconclusive, 1 improved and 1 likely improved; 1 microbenchmark is inconclusive; "
        "3 comparisons of answers are equivalent; releases or settings compared, no patch judged: 1 microbenchmark regressed, "
        "and 1 end-to-end scenario is inconclusive"
    )


def test_every_form_shows_scenarios_in_that_order() -> None:
    """The terminal, the comment and the page begin with what the headline begins with, whatever the order of the records."""
    page = factory.page(factory.swap_states(), factory.sampler(), factory.suggested())
    names = [each.name for each in page.scenarios]
    assert names == ["sampler_skip_copy", "swap_states", "serve_shared"]
    for text in (
        terminal.text(page, 100),
        pr_comment.render(page).partition("<details>")[2],
        html.render(page).partition('id="verdicts"')[2],
    ):
        places = [text.index(name) for name in names]
        assert places == sorted(places)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_one_bad_metric_outweighs_good_ones(outcome: str) -> None:
    """A scenario is called improved or equivalent only if none of its primary metrics is regressed, untestable or inconclusive."""
    rows = [factory.row("a", "round_time", "improved"), factory.row("a", "median_ttft", outcome)]  # type: ignore[arg-type]
    expected = outcome if outcome in ("regressed", "untestable", "inconclusive") else "improved"
    assert formatting.outcome(rows) == expected


def test_a_worse_witness_decides_even_if_it_is_not_primary() -> None:
    """More work done is bad news whatever the clock says."""
    rows = [factory.row("a", "round_time", "equivalent"), factory.row("a", "bytes_per_swap", "regressed", primary=False)]
    assert formatting.outcome(rows) == "regressed"


def test_a_scenario_without_judged_metric_is_untestable_and_says_so() -> None:
    """Records without a verdict are never taken for a pass."""
    records = factory.trials("a", 6, {"round_time": 1e-3}, {}, 0.01)
    scenario = build([], records, made=factory.MADE, version="0").scenarios[0]
    assert scenario.outcome == "untestable"
    assert scenario.unjudged == ("no primary metric was judged",)
    assert "nothing could be judged" in scenario.answer


def test_exploratory_metrics_never_make_an_outcome() -> None:
    """A metric that was only looked at decides nothing."""
    rows = [factory.row("a", "round_time", None), factory.row("a", "median_ttft", "equivalent")]
    assert formatting.outcome(rows) == "equivalent"


def test_spoilt_trials_are_told_with_block_and_reason() -> None:
    """Every trial that does not count is named beside the answer."""
    page = factory.page(factory.penalties())
    assert page.scenarios[0].unjudged == ("1 trial of patched invalid (block 3): another process used 73 % of a core while this trial ran",)


def test_unequal_work_is_found_per_block() -> None:
    """Work that the arms of a block do not share is told with the block."""
    records = factory.trials("a", 6, {"round_time": 1e-3}, {}, 0.01)
    records[3] = factory.failed(records[3], "ok", "", work={"swaps": 199, "inputs checksum": 1_234_567})
    scenario = build([factory.row("a", "round_time", "equivalent")], records, made="", version="0").scenarios[0]
    assert {work.name: work.unequal for work in scenario.work} == {"swaps": (2,), "inputs checksum": ()}


def test_attestations_mark_the_difference_between_arms() -> None:
    """What differs between the arms is marked; what both share is not."""
    facts = {fact.name: fact for fact in factory.page(factory.swap_states()).scenarios[0].attestations}
    assert facts["patches"].differs
    assert facts["patches"].values == ("none", "swap_states_active_prefix (adds, verified)")
    assert not facts["hash of vLLM's Python files"].differs


def test_environment_separates_what_moved_from_what_stayed() -> None:
    """A changed load is shown as a range and marked; the processor is told once."""
    facts = {fact.name: fact for fact in factory.page(factory.swap_states()).machine}
    assert facts["before: load"].values == ("0.38 to 0.73",)
    assert facts["before: load"].differs
    assert not facts["cpu: model"].differs
    assert facts["memory"].values == (units.quantity(25_284_001_792, "B"),)


def test_commands_are_quoted_for_a_shell() -> None:
    """A hostile scenario name can't smuggle a command into the line that a reader pastes."""
    records = [factory.failed(record, "ok", "", scenario="a; rm -rf ~ $(id)") for record in factory.swap_states()[1]]
    command = build([], records, made="", version="0").scenarios[0].commands[0]
    assert "'scenarios/a; rm -rf ~ $(id).yaml'" in command


def test_every_form_says_the_same() -> None:
    """Terminal, page and pull-request block show the same verdict, change, interval and detectable effect of every metric."""
    page = factory.page()
    forms = [terminal.text(page, 200), html.render(page), pr_comment.render(page).replace("\\", "")]
    assert page.headline in forms[0]
    assert lead(page).result in forms[1]
    assert lead(page).result in forms[2]
    for scenario in page.scenarios:
        for row in scenario.rows:
            for place, form in enumerate(forms):
                lines = [line for line in _lines(form) if formatting.label(row.metric).split(",")[0] in line]
                told = [
                    formatting.change(row),
                    formatting.interval(row),
                    str(formatting.verdict(row)),
                    formatting.detectable(row).strip("–") if place < 2 else "",
                    *formatting.values(row),
                ]
                assert any(all(each in line for each in told) for line in lines), (row.metric, told)
            assert formatting.detectable(row).strip("–") in forms[2]


def _lines(form: str) -> list[str]:
    """The lines of a table in text, or the rows of a table in HTML."""
    return form.split("<tr") if form.startswith("<!doctype") else form.splitlines()


def test_strips_put_better_to_the_right_whatever_the_direction() -> None:
    """A higher throughput and a lower time both lie right of the middle."""
    axis = sparklines.axis([factory.row("a", "output_throughput", "improved"), factory.row("a", "round_time", "improved")])
    for metric in ("output_throughput", "round_time"):
        good, bad = (factory.row("a", metric, verdict) for verdict in ("improved", "regressed"))
        places = [axis.x(sparklines.betterment(row, row.effect) or 0) for row in (good, bad)]
        assert places[0] > sparklines.WIDTH / 2 > places[1]


def test_the_answer_speaks_of_growth_where_it_may() -> None:
    """Growth of a primary metric is part of the answer and of every text form; not of the answer where its metric is untestable."""
    rows, records = factory.thinking()
    told = "round time: linear in output length"
    spoilt = factory.page((rows, records)).scenarios[0]
    assert told not in spoilt.answer
    good = factory.page(([row for row in rows if row.verdict == "equivalent"], records))
    assert told in good.scenarios[0].answer
    assert told in " ".join(terminal.text(good, 200).split())
    assert told in pr_comment.render(good)
