"""What a verdict means for a nightly's red."""

from __future__ import annotations

import dataclasses

import pytest

from perfproof.confirm.answer import Answer, Claims, Seen, answer
from perfproof.model.verdicts.judged import Judged, Outcome

BEFORE = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2]
ROW = Judged(
    scenario="serve",
    metric="output_throughput",
    unit="tok/s",
    better="higher",
    kind="rate",
    primary=True,
    baseline="0.31.0",
    candidate="0.32.0",
    baseline_value=100.0,
    candidate_value=100.0,
    blocks=6,
    effect=0.001,
    interval=(-0.01, 0.01),
    level=0.995,
    margin=0.02,
    mde=0.02,
    verdict=Outcome.EQUIVALENT,
    reason="because",
    warnings=(),
    q=None,
)


def told(verdict: Outcome = Outcome.EQUIVALENT, *, more: int | None = None, after: list[float] | None = None, **claims: float) -> Answer:
    return answer(dataclasses.replace(ROW, verdict=verdict), BEFORE, after or BEFORE, Claims(**claims), more=more)


@pytest.mark.parametrize(
    ("verdict", "word", "code"),
    [
        (Outcome.REGRESSED, "confirmed", 1),
        (Outcome.EQUIVALENT, "not confirmed", 0),
        (Outcome.IMPROVED, "not confirmed", 0),
        (Outcome.INCONCLUSIVE, "can't tell yet", 4),
        (Outcome.UNTESTABLE, "untestable", 3),
    ],
)
def test_a_verdict_alone_has_its_answer_and_code(verdict: Outcome, word: str, code: int) -> None:
    """Each outcome is one answer, whose sentence begins with its word; only a regression fails, and nothing untested passes."""
    found = told(verdict)
    assert (found.word, found.exit_code) == (word, code)
    assert found.sentence.startswith(word)


def test_a_number_that_is_not_seen_again_was_lucky() -> None:
    """8 % too good for the earlier build, and the builds are equivalent: a lucky baseline, with both numbers."""
    found = told(good=108.0)
    assert (found.word, found.exit_code) == ("lucky baseline", 0)
    assert "108 tok/s is not seen again: its runs here give 100.0 tok/s" in found.sentence
    assert told(good=100.9).word == "not confirmed"


def test_a_red_number_that_is_not_seen_here_came_from_a_slow_host() -> None:
    """The earlier number is seen again, the red one is not: the host that gave it was slow."""
    assert told(good=100.0, bad=92.0).word == "slow host"
    assert told(good=108.0, bad=100.0).word == "lucky baseline"


def test_a_host_that_is_slower_for_both_builds_is_told_as_such() -> None:
    """Both numbers are better than either build is here: not the baseline was lucky, this host is slow."""
    found = told(good=120.0, bad=112.0)
    assert found.word == "slow host"
    assert "this one is slower than the nightly's" in found.sentence


def test_a_confirmed_change_may_still_be_smaller_than_claimed() -> None:
    """A real regression from a lucky number: confirmed, and the number is told as not seen again."""
    found = told(Outcome.REGRESSED, good=108.0)
    assert (found.word, found.exit_code) == ("confirmed", 1)
    assert "108 tok/s is not seen again" in found.sentence


def test_blocks_that_would_do_are_named() -> None:
    """How many more; or that none would."""
    assert "needs about 9 more blocks" in told(Outcome.INCONCLUSIVE, more=9).sentence
    assert "no number of blocks would do" in told(Outcome.INCONCLUSIVE).sentence


def test_of_latencies_less_is_better() -> None:
    """A claimed latency 8 % below what is seen here was lucky, one above was not."""
    row = dataclasses.replace(ROW, metric="median_ttft", unit="s", better="lower")
    assert answer(row, BEFORE, BEFORE, Claims(good=92.0), more=None).word == "lucky baseline"
    assert answer(row, BEFORE, BEFORE, Claims(good=108.0), more=None).word == "not confirmed"


def test_a_prediction_needs_four_runs() -> None:
    """From fewer nothing is said of a claimed number; the interval holds one more run of a normal spread in 99 % of cases."""
    assert Seen.of(BEFORE[:3]) is None
    found = Seen.of(BEFORE)
    assert found is not None
    assert found.low < min(BEFORE) < found.typical < max(BEFORE) < found.high
