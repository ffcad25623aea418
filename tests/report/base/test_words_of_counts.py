"""What a count of the host's work is called in every form: never a regression or an improvement of speed."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from perfproof.model.verdicts.gate_decision import Ruling
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.formats import gate_view, junit, pr_comment, terminal
from perfproof.report.formats.gate_view import Line
from perfproof.report.view import build
from tests.report import factory

NAME = "python_instructions@decode, plain, 32 requests"


def row(outcome: Outcome, reason: str = "told") -> Judged:
    made = factory.row("engine_host_cost", "round_time", Outcome.REGRESSED)
    return dataclasses.replace(made, metric=NAME, kind="count", unit="1", verdict=outcome, reason=reason)


@pytest.mark.parametrize(
    ("outcome", "reason", "word"),
    [
        (Outcome.REGRESSED, "", "more Python work"),
        (Outcome.LESS, "", "less Python work"),
        (Outcome.IDENTICAL, "", "identical"),
        (Outcome.EQUIVALENT, "", "equivalent"),
        (Outcome.UNTESTABLE, "other work: the requests were answered otherwise", "other work"),
        (Outcome.UNTESTABLE, "the candidate's engine failed", "untestable"),
    ],
)
def test_a_count_is_called_what_it_is(outcome: Outcome, reason: str, word: str) -> None:
    """In a row, and in a ruling, which has no row where a change was counted first."""
    assert formatting.verdict(row(outcome, reason)) == word
    ruling = Ruling(
        scenario="host_work", metric=NAME, candidate="diff", verdict=outcome, effect="warn", code=0, rule="", reason=reason, blame=""
    )
    assert gate_view.verdict(Line(ruling=ruling, row=None, candidate="")) == word


def test_other_metrics_keep_their_words() -> None:
    """A time that got worse has regressed, a witness too."""
    assert formatting.verdict(factory.row("s", "round_time", Outcome.REGRESSED)) == "regressed"
    assert formatting.of_host("bytes_per_swap", Outcome.REGRESSED, "") == ""


def test_every_form_says_it() -> None:
    """The headline, the pull request's text and its first line, JUnit and the terminal."""
    page = build([row(Outcome.REGRESSED)], (), made="today", version="0")
    assert page.headline == "engine_host_cost does more Python work"
    assert "**more Python work**" in pr_comment.render(page)
    assert "**regressed**" not in pr_comment.render(page)
    assert 'message="more Python work: ' in junit.render(page)
    shown = io.StringIO()
    terminal.show(page, Console(file=shown, width=200))
    assert "more Python work" in shown.getvalue()
    assert "regressed" not in shown.getvalue()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(Outcome.LESS)], "engine_host_cost does less Python work"),
        ([row(Outcome.UNTESTABLE, "other work: other tokens")], "engine_host_cost does other work"),
        ([row(Outcome.UNTESTABLE, "the engine failed")], "engine_host_cost is untestable"),
        ([row(Outcome.REGRESSED), factory.row("engine_host_cost", "round_time", Outcome.REGRESSED)], "engine_host_cost regressed"),
        (
            [row(Outcome.REGRESSED), factory.row("engine_host_cost", "round_time", Outcome.IMPROVED)],
            "engine_host_cost does more Python work",
        ),
    ],
)
def test_a_headline_has_the_count_s_words_where_counts_alone_make_the_outcome(rows: list[Judged], said: str) -> None:
    """A time that got worse too is a regression."""
    assert build(rows, (), made="today", version="0").headline.startswith(said)


def test_several_scenarios_are_counted_by_their_words() -> None:
    """Two with more work and one with a time that got worse are no three regressions."""
    more = [dataclasses.replace(row(Outcome.REGRESSED), scenario=name) for name in ("a", "b")]
    page = build([*more, factory.row("c", "round_time", Outcome.REGRESSED)], (), made="today", version="0")
    assert page.headline.startswith("1 scenario regressed and 2 do more Python work")
