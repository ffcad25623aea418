"""What a page, a comment and a terminal say under a verdict: no forecast that one block decides, and no date in a second form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.report import html
from perfproof.report.base.page_model import Page
from perfproof.report.formats import pr_comment, terminal
from perfproof.report.text.reasons import NO_FORECAST
from tests.report import factory

RESULTS = Path(__file__).parents[3] / "results"
FORECAST = re.compile(r"blocks (?:[^.;|]*\b)?would (?:settle it|be needed)(?! is not)|, as (?:regressed|improved|equivalent)\b")


def _forms(page: Page) -> list[str]:
    return [re.sub(r"<[^>]*>", " ", html.render(page)), pr_comment.render(page), re.sub(r"\s+", " ", terminal.text(page, 120))]


@pytest.fixture(scope="module")
def swayed() -> list[str]:
    """The forms of a run whose open estimate one block decides."""
    return _forms(page_of(RESULTS / "gpu" / "h200_64_cores", {"serve_swap_states_flashinfer_cuda"})[0])


@pytest.mark.parametrize("form", range(3))
def test_nobody_forecasts_where_one_block_decides(swayed: list[str], form: int) -> None:
    """An estimate that one block moves by half says so, instead of how many blocks would settle it, and as what; in every form."""
    assert not FORECAST.search(swayed[form])
    assert NO_FORECAST in swayed[form]


def test_an_open_verdict_otherwise_says_what_would_settle_it() -> None:
    """Where no block decides, the forecast stands in every form."""
    assert all(FORECAST.search(form) for form in _forms(factory.page(factory.pooling())))


def test_dates_have_one_form() -> None:
    """On the page and in the comment of the reference run a time is written as "2026-11-28 11:37 UTC", and never as records write it."""
    for form in _forms(page_of(RESULTS / "reference", {"swap_states", "accuracy_penalties_cpu"})[0])[:2]:
        assert not re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S*", form)
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", form) or "<details>" in form
