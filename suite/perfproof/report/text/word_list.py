"""The words of a page, each explained in a line: only those that stand on it, metrics by what one value of them is."""

from __future__ import annotations

from collections.abc import Iterator

from perfproof.model.scenarios.metrics import OF_ROUNDS, base_name
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page, ScenarioView

Term = tuple[str, str]
_ALWAYS: tuple[Term, ...] = (
    ("arm, baseline, candidate", "what is compared: one and the same work done by the baseline and by each candidate, in turns"),
    ("trial, block", "a trial is one measurement of one arm; a block is one trial of every arm, back to back, in random order"),
    ("change", "the candidate’s value against the baseline’s, over whole blocks: −50 % is half, ÷ 2; +100 % is double, × 2"),
    ("interval", "where the true change lies, with the confidence told beside the answer; one that holds 0 may be no change at all"),
    ("margin", "the smallest change that matters, set before the run; primary metrics decide against theirs, others are explored only"),
    ("detectable", "the smallest worsening that this many blocks, with this noise, would have called regressed four times in five"),
)
_OF_TIMES: tuple[Term, ...] = (
    ("round", "one timed repetition of the benchmark’s function within a trial; the trial’s value is the median of its rounds"),
    (
        "noise floor, A/A",
        "a run of the baseline against itself on this machine: how far apart equal code lands, and whether it is ever called changed",
    ),
)
_OF_WORK: tuple[Term, ...] = (
    ("witness", "a count of work done (bytes, elements, calls), not a time: it has no noise and compares exactly"),
)
_OF_ACCURACY: tuple[Term, ...] = (
    ("flip; lost, won", "an item that one arm answers right and the other wrong; lost are those that only the baseline has right"),
    ("McNemar", "the exact test of lost against won: how often chance alone splits the flips at least so unevenly"),
    ("points", "percentage points: from 40 % to 41 % is one point"),
)
_OF_EQUALITY: tuple[Term, ...] = (
    ("logprob, nats", "the logarithm of the probability that the model gives a token; nats are its unit, 0.01 nats are about 1 %"),
    ("parted", "from the first token that is another one on, two answers can’t be compared token by token: they parted there"),
    ("near tie", "the two tokens were so nearly equally likely that rounding decides between them"),
)
_MODEL: dict[str, Term] = {
    "toy model": (
        "toy model",
        "a model of a few small layers, made for the run: vLLM’s own work is a larger part of a step than in real use",
    ),
    "dummy weights": ("dummy weights", "random weights: speed is measured as with real ones of that size, answers mean nothing"),
    "eager mode": ("eager mode", "without compilation and CUDA graphs: each step costs the host more than in the default mode"),
}


_MEANINGS = {
    "round_time": "the middle one of a trial’s rounds, by the time that it took",
    "feed_time": "host time, a round, to make what the penalties operation is fed: lists or tensors of the token ids so far",
    "apply_time": "time, a round, of the whole penalties step, its feed among it",
    "output_throughput": "output tokens of all requests over the measured time",
    "total_token_throughput": "input and output tokens of all requests over the measured time",
    "request_throughput": "requests over the measured time",
    "bytes_per_swap": "what one swap of two batch rows copies",
    "bytes_allocated_per_step": "what one step allocates",
}
"""Of metrics whose line in the registry takes more for granted than a page may."""
_UNITS = {"1": "", "s": "", "B": ", in bytes", "tok/s": ", tokens a second", "req/s": ", requests a second"}


def terms(page: Page) -> list[Term]:
    """Every term of the page with its meaning, then its metrics; none on a page without scenarios."""
    return [*_general(page.scenarios), *_metrics(page.scenarios)] if page.scenarios else []


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
        yield "suggests", formatting.HINT
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
