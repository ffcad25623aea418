"""Accuracy and equality, as the page tells them."""

from __future__ import annotations

import dataclasses
import re

import pytest

from perfproof.model.verdicts.judged import Outcome
from perfproof.report import html
from perfproof.report.text import answer_text
from tests.report import factory


def test_a_run_without_answers_says_so_at_its_head() -> None:
    """Where nothing compared answers the page says that nobody looked, not that they are the same."""
    page = factory.page(factory.swap_states())
    assert page.answers == answer_text.NOT_COMPARED
    assert "nothing here shows whether the candidates give the same answers as the baseline" in html.render(page)


def test_flips_and_parted_prompts_are_told_at_the_head() -> None:
    """The line at the head of the page says whether answers changed, worst first, with the figures."""
    page = factory.answers_page()
    assert page.answers.startswith(
        "Answers changed for the worse: equality_penalties: "
        "greedy outputs identical on 198 of 200 prompts (25,600 tokens), 2 with other tokens; "
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
    assert page.answers.startswith("No answer that was compared changed: ")


def test_same_tokens_that_say_something_else_are_not_called_other_logprobs() -> None:
    """Where no logprob moved, it is the text, the sum, a rank or the end of the answer that differs."""
    said = factory.equality_details(identical=190, equal=190, parted=0, largest=0.0, differences=())
    assert answer_text.equal(said).endswith("10 with the same tokens and another text, sum, rank or end")
    assert answer_text.equal(dataclasses.replace(said, largest=0.1)).endswith("10 with the same tokens and other logprobs")


def test_many_comparisons_in_which_nothing_changed_are_told_in_short() -> None:
    """Where more scenarios compared answers than a line holds, and none changed, they are named once, by what was compared."""
    plain = factory.answers_page([factory.equality_details(identical=200, equal=200, parted=0, differences=())], [], Outcome.EQUIVALENT)
    one = next(each for each in plain.scenarios if each.equality)
    items = factory.answers_page([], [factory.accuracy_details(lost=0, won=0, lost_items=(), won_items=())], Outcome.EQUIVALENT)
    other = dataclasses.replace(next(each for each in items.scenarios if each.accuracy), name="accuracy_a")
    many = [*(dataclasses.replace(one, name=f"equality_{letter}") for letter in "abcdefg"), other]
    said = answer_text.head(many)
    assert "equality_a, equality_b, equality_c, equality_d, equality_e, equality_f and equality_g; not one item changed" in said
    assert said.startswith("No answer that was compared changed: bit-identical in equality_a, ")
    assert said.endswith("between right and wrong in accuracy_a")


def test_the_first_differing_tokens_and_mcnemars_table_are_shown() -> None:
    """Behind the verdicts stand where each answer parted, by which tokens and how close the race was, and which items flipped."""
    text = re.sub(r"<[^>]+>", " ", html.render(factory.answers_page()))
    words = " ".join(text.split())
    assert "17 3 311 902 0.0004" in words.replace("4.00e-04", "0.0004")
    assert "greedy outputs patched ✗ regressed 200 198 0 2 0.02000 bit-identical" in words
    assert "537 7 lost" in words
    assert "5 won 770" in words
    assert "Lost (doc_id): 3, 88, 401, …." in words
    assert "3 of 1,319 flipped" in words
    assert "p = 0.77" in words


def test_how_to_read_a_table_of_answers_is_told_once() -> None:
    """What counts, and what the brackets ask, stands above the first table of its sort, however many scenarios and candidates follow."""
    accuracy = [dataclasses.replace(factory.accuracy_details(), candidate=name) for name in ("a", "b")]
    text = html.render(factory.answers_page(None, accuracy))
    assert text.count("Only items that flipped count") == 1
    assert text.count(", the same items, asked through a server.") == 2
    assert text.count("After the first token that differs") == 1


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


def test_what_differs_is_told_first_and_what_is_alike_once() -> None:
    """Candidates with the same finding share a claim, and what differs stands before what is identical."""
    same = {"identical": 200, "equal": 200, "parted": 0, "differences": ()}
    parts = [
        factory.equality_details(**same, candidate="a"),
        factory.equality_details(**same, candidate="b"),
        factory.equality_details(candidate="c"),
        factory.equality_details(candidate="c", identical=190, equal=190, part="sampled_outputs"),
    ]
    told = factory.answers_page(parts, []).answers.partition("equality_penalties: ")[2]
    assert told == (
        "c: greedy outputs identical on 198 of 200 prompts (25,600 tokens), 2 with other tokens; "
        "c: sampled outputs identical on 190 of 200 prompts (25,600 tokens), 8 with the same tokens and other logprobs, "
        "2 with other tokens; "
        "a and b: greedy outputs identical on 200 of 200 prompts (25,600 tokens)"
    )


def test_tasks_without_a_flip_are_one_claim() -> None:
    """Where no answer flipped in several tasks, the head says so once, and the panel gives a reason that they share once."""
    still = {"lost": 0, "won": 0, "lost_items": (), "won_items": (), "reason": "at most a point may be lost"}
    first = factory.accuracy_details(**still, name="accuracy@sums")
    second = factory.accuracy_details(**still, name="accuracy@series").tasks
    page = factory.answers_page([], [dataclasses.replace(first, tasks=(*first.tasks, *second))], Outcome.EQUIVALENT)
    assert "accuracy in sums and series: not one of 2,638 items changed between right and wrong" in page.answers
    assert html.render(page).count("at most a point may be lost") == 1
