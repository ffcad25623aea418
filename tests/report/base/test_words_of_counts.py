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
    """The pull request's text, JUnit and the terminal."""
    page = build([row(Outcome.REGRESSED)], (), made="today", version="0")
    assert "**more Python work**" in pr_comment.render(page)
    assert 'message="more Python work: ' in junit.render(page)
    shown = io.StringIO()
    terminal.show(page, Console(file=shown, width=200))
    assert "more Python work" in shown.getvalue()
