"""Accuracy and equality, as the page tells them."""

from __future__ import annotations

import re

import pytest

from suite.model.judged import Outcome
from suite.report import answered, html
from tests.report import factory


def test_a_run_without_answers_says_so_at_its_head() -> None:
    """Where nothing compared answers the page says that nobody looked, not that they are the same."""
    page = factory.page(factory.swap_states())
    assert page.answers == answered.NOT_COMPARED
    assert "none of its scenarios is of kind accuracy or equality" in html.render(page)


def test_flips_and_parted_prompts_are_told_at_the_head() -> None:
    """The line at the head of the page says whether answers changed, worst first, with the figures."""
    page = factory.answers_page()
    assert page.answers.startswith(
        "Answers changed for the worse: equality_penalties: greedy outputs identical on 198 of 200 prompts, 2 parted; "
    )
    assert "gsm8k 41.24\u202f% to 41.09\u202f%, −0.15\u202fpoints [−0.76, +0.46], 12 of 1,319 answers flipped" in page.answers


@pytest.mark.parametrize(
    ("verdict", "begins"),
    [(Outcome.INCONCLUSIVE, "is not settled"), (Outcome.UNTESTABLE, "could not be tested"), (Outcome.EQUIVALENT, "beyond what is allowed")],
)
def test_only_identical_answers_are_called_unchanged(verdict: Outcome, begins: str) -> None:
    """What was not settled, could not be tested or only stayed within the allowed says just that."""
    assert begins in factory.answers_page(verdict=verdict).answers.split(":")[0]


def test_identical_answers_are_told_as_such() -> None:
    """Where every bit is the same and no item flipped, the head says that answers did not change."""
    same = factory.equality_details(identical=200, equal=200, parted=0, differences=())
    still = factory.accuracy_details(lost=0, won=0, lost_items=(), won_items=())
    page = factory.answers_page([same], [still], Outcome.EQUIVALENT)
    assert page.answers.startswith("Answers did not change: every one of them is identical: ")


def test_the_first_differing_tokens_and_mcnemars_table_are_shown() -> None:
    """Behind the verdicts stand where each answer parted, by which tokens and how close the race was, and which items flipped."""
    text = re.sub(r"<[^>]+>", " ", html.render(factory.answers_page()))
    words = " ".join(text.split())
    assert "17 3 311 902 0.0004" in words.replace("4.00e-04", "0.0004")
    assert "the baseline gave the very same bits again" in words
    assert "537 7 lost" in words
    assert "5 won 770" in words
    assert "Lost (doc_id): 3, 88, 401, …." in words
    assert "3 of 1,319" in words
    assert "p = 0.77" in words


def test_details_of_others_are_harmless() -> None:
    """Names, reasons and filters of tasks, and names of arms, show as text."""
    nasty = dict.fromkeys(("name", "task", "filter", "metric"), f"{factory.HOSTILE}{factory.ANSI}{factory.RIGHT_TO_LEFT}")
    accuracy = factory.accuracy_details(**nasty, reason=factory.LONG + factory.SURROGATE)
    equality = factory.equality_details(candidate=factory.HOSTILE, baseline=factory.RIGHT_TO_LEFT)
    text = html.render(factory.answers_page([equality], [accuracy]))
    assert "<script>alert" not in text
    assert not re.search(r"[\x00-\x08\x1b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert len(text) < 400_000


def test_many_differences_are_cut_and_counted() -> None:
    """Of thousands of prompts that differ some are listed, and the page says how many there are."""
    one = factory.equality_details().differences[0]
    text = html.render(factory.answers_page([factory.equality_details(differences=(one,) * 3000)]))
    assert "The first 40 of 3000" in text
    assert len(text) < 400_000
