"""The glossary of a page, one line per word: only words that are on it; a metric is explained by what one value means."""

from __future__ import annotations

from collections.abc import Iterator

from perfproof.model.scenarios.metrics import OF_ROUNDS, base_name
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page, ScenarioView

Term = tuple[str, str]
_ALWAYS: tuple[Term, ...] = (
    ("arm, baseline, candidate", "the sides of a comparison: the baseline and each candidate do the same work, in turns"),
    ("trial, block", "a trial is one measurement of one arm; a block is one trial of every arm, back to back, in random order"),
    ("change", "the candidate’s value relative to the baseline’s, over whole blocks: −50 % is half, ÷ 2; +100 % is double, × 2"),
    ("interval", "the confidence interval of the true change, at the level named beside the answer; if it holds 0, there may be no change"),
    ("margin", "the smallest change that matters, set before the run; primary metrics are judged against theirs, others only estimated"),
    ("detectable", "the smallest worsening that this many blocks, with this noise, would call regressed with 80 % power"),
)
_OF_TIMES: tuple[Term, ...] = (
    ("round", "one timed repetition of the benchmark’s function within a trial; the trial’s value is the median of its rounds"),
    (
        "noise floor, A/A",
        "a run of the baseline against itself on this machine: how far apart equal code lands, and whether it is ever judged changed",
    ),
)
_OF_WORK: tuple[Term, ...] = (
    ("exact count (witness)", "a count of work (bytes, elements, calls), not a time: it has no noise and is compared exactly"),
)
_OF_ACCURACY: tuple[Term, ...] = (
    ("flip; lost, won", "an item that one arm answers right and the other wrong; lost are those that only the baseline has right"),
    ("McNemar", "the exact test of lost against won: how often chance alone splits the flips at least this unevenly"),
    ("points", "percentage points: from 40 % to 41 % is one point"),
)
_OF_EQUALITY: tuple[Term, ...] = (
    ("logprob, nats", "the logarithm of the probability that the model gives a token; nats are its unit, 0.01 nats are about 1 %"),
    ("parted", "two answers differ in a token; after it they can’t be compared token by token"),
    ("near tie", "the two tokens were almost equally likely, so that rounding decides between them"),
)
_MODEL: dict[str, Term] = {
    "toy model": (
        "toy model",
        "a model of a few small layers, made for the run: vLLM’s own work is a larger share of a step than in real use",
    ),
    "dummy weights": ("dummy weights", "random weights: the speed is that of real weights of that size, the answers mean nothing"),
    "eager mode": ("eager mode", "without compilation and CUDA graphs: each step costs the host more than in the default mode"),
}


_MEANINGS = {
    "round_time": "the median time of a trial’s rounds",
    "feed_time": "host time per round to build the input of the penalties operation: lists or tensors of the token ids so far",
    "apply_time": "time per round of the whole penalties step, including its input",
    "output_throughput": "output tokens of all requests over the measured time",
    "total_token_throughput": "input and output tokens of all requests over the measured time",
    "request_throughput": "requests over the measured time",
    "bytes_per_swap": "what one swap of two batch rows copies",
    "bytes_allocated_per_step": "what one step allocates",
}
"""Meanings of metrics whose line in the registry presumes too much for a page."""
_UNITS = {"1": "", "s": "", "B": ", in bytes", "tok/s": ", tokens a second", "req/s": ", requests a second"}


def terms(page: Page) -> list[Term]:
    """Every term of the page with its meaning, then its metrics; none on a page without scenarios."""
    return [*_general(page.scenarios), *_metrics(page.scenarios)] if page.scenarios else []


def general(page: Page) -> list[Term]:
    """The terms alone, without the metrics."""
    return [*_general(page.scenarios)]


def _general(scenarios: tuple[ScenarioView, ...]) -> Iterator[Term]:
    judged = {kind.judged_by for scenario in scenarios if (kind := scenario.traits)}
    rows = [row for scenario in scenarios for row in scenario.rows]
    clauses = " ".join(clause for scenario in scenarios for clause in scenario.provisos)
    yield from _ALWAYS
    if any(base_name(row.metric) in OF_ROUNDS for row in rows):
        yield _OF_TIMES[0]
    if not all(scenario.of_answers for scenario in scenarios):
        yield _OF_TIMES[1]
    if any(row.exact for row in rows):
        yield from _OF_WORK
    if any(row.suggests for row in rows):
        yield "likely", formatting.HINT
    yield from (term for clause, term in _MODEL.items() if clause in clauses)
    if "items" in judged:
        yield from _OF_ACCURACY
    if "bits" in judged:
        yield from _OF_EQUALITY


def _metrics(scenarios: tuple[ScenarioView, ...]) -> Iterator[Term]:
    """Every metric once, whatever its cases, with its meaning from the registry."""
    names = dict.fromkeys(base_name(row.metric) for scenario in scenarios for row in scenario.rows)
    for name in names:
        meaning, (unit, better) = _MEANINGS.get(name, formatting.meaning(name)), formatting.unit_of(name)
        if meaning:
            yield formatting.label(name), f"{meaning}{_UNITS.get(unit, f', in {unit}')}; {better} is better"
