"""The reasoning of one verdict in sentences with numbers, as `judge --explain` prints it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from perfproof.analysis.stats import intervals, number_format
from perfproof.analysis.stats.alpha_spending import Spending
from perfproof.analysis.stats.comparison import COMPANION_LEVEL, Comparison
from perfproof.analysis.stats.decision_rule import OUTLIER, OUTLIER_BLOCKS
from perfproof.analysis.stats.samples import PairedSample
from perfproof.analysis.verdicts.verdict import Verdict
from perfproof.model.verdicts.judged import Outcome


def explain(verdict: Verdict, sample: PairedSample, spending: Spending) -> list[str]:
    """The sentences in the order of the reasoning, from the blocks to the outcome. Source: those that the steps name."""
    result = verdict.comparison
    sentences = list(_blocks(sample))
    if result is not None:
        sentences += _estimate(result)
        sentences += _looks(result, spending)
        sentences += _intervals(result)
        sentences += _companion(result)
        sentences += _rule(result)
        sentences += _reach(result)
    sentences.append(f"So the verdict is {verdict.outcome.value}: {verdict.reason}.")
    sentences += [f"Note: {warning}." for warning in verdict.warnings]
    return sentences


def _blocks(sample: PairedSample) -> Iterator[str]:
    yield (
        f"{sample.metric}{f', in {sample.unit}' if sample.unit else ''}, where {sample.better} is better: "
        f"{number_format.count(sample.n, 'whole block')} with one value of each arm."
    )
    for loss in sample.lost:
        arm = f", arm {loss.arm}" if loss.arm else ""
        yield f"Block {loss.block}{arm} does not count, it is {loss.status.value}: {loss.reason}."


def _estimate(result: Comparison) -> Iterator[str]:
    unit = f" {result.unit}" if result.unit else ""
    yield f"The median of the baseline is {result.baseline:.6g}{unit}, that of the candidate {result.candidate:.6g}{unit}."
    x = "log(candidate / baseline)" if result.scale == "log" else "candidate - baseline"
    sign = "" if result.better == "lower" else "-"
    yield (
        f"In each block x = {sign}{x}, so that more than 0 is worse; over {result.blocks} blocks its mean is {result.mean_log:+.5f} "
        f"and its standard deviation {result.sd_log:.5f}, so the mean is known to a standard error of {_error(result):.5f}."
    )
    how = f"exp({'' if result.better == 'lower' else '-'}mean) - 1" if result.scale == "log" else "the mean difference"
    yield f"The effect, {how}, is {number_format.change(result.effect, result.scale)}."


def _error(result: Comparison) -> float:
    return result.widening * result.sd_log / math.sqrt(result.blocks)


def _looks(result: Comparison, spending: Spending) -> Iterator[str]:
    planned = ", ".join(str(look.blocks) for look in spending.looks)
    change = (1 - result.level) / 2
    whole = change * len(spending.looks) * spending.family
    if len(spending.looks) == 1:
        yield f"There is one look, at {planned} blocks, with the whole error."
    else:
        yield f"Looks are planned at {planned} blocks; this is what the look at {result.blocks} blocks saw."
    family = f", shared by a family of {spending.family}" if spending.family > 1 else ""
    total = number_format.percent(whole, signed=False)
    yield f"A look may be wrong in {change:.3g} of cases each way{family}; over all looks and the family that is {total}."


def _intervals(result: Comparison) -> Iterator[str]:
    change, equal = (intervals.quantile(result.blocks, level) for level in (result.level, result.equivalence_level))
    if result.widening != 1:
        yield f"The standard error is stretched {result.widening:.3f} times for the autocorrelation that the machine's long A/A measured."
    yield (
        f"Student's quantile at {result.blocks - 1} degrees of freedom is {change:.3f} for {number_format.level(result.level)}, "
        f"so the interval for a change is {number_format.span(result.interval, result.scale)}."
    )
    yield (
        f"For equivalence it is {equal:.3f} at {number_format.level(result.equivalence_level)}, "
        f"and the interval {number_format.span(result.equivalence_interval, result.scale)}."
    )
    yield f"Against no change at all, p is {result.p:.3g}."


def _companion(result: Comparison) -> Iterator[str]:
    robust = f"The robust companion (Hodges-Lehmann) is {number_format.change(result.companion, result.scale)}"
    if result.companion_interval is None:
        yield f"{robust}; below 6 blocks it has no {number_format.level(COMPANION_LEVEL)} interval."
    else:
        yield (
            f"{robust}, its exact {number_format.level(COMPANION_LEVEL)} interval "
            f"{number_format.span(result.companion_interval, result.scale)}."
        )
    if result.outlier is None:
        yield f"No block's studentised residual exceeds {OUTLIER:g}."
        return
    consequence = (
        "so the companion is used too" if result.blocks >= OUTLIER_BLOCKS else f"but below {OUTLIER_BLOCKS} blocks nothing follows"
    )
    large = abs(result.outlier.residual) > number_format.FARTHEST
    residual = f"over {number_format.FARTHEST:g} (the others hardly differ)" if large else f"{result.outlier.residual:+.1f}"
    yield f"Block {result.outlier.block} has a studentised residual of {residual}, beyond {OUTLIER:g}: an outlier, {consequence}."


def _rule(result: Comparison) -> Iterator[str]:
    half = intervals.quantile(result.blocks, result.level) * _error(result)
    narrow = intervals.quantile(result.blocks, result.equivalence_level) * _error(result)
    low, high, delta = result.mean_log - half, result.mean_log + half, result.margin_log
    yield (
        f"The margin is {number_format.size(result.margin, result.scale)}, {delta:.5f} on the scale of x; it comes from the caller, not "
        f"from the noise."
    )
    mean = f"the mean {result.mean_log:+.5f} is"
    grew, fell = result.mean_log >= delta, result.mean_log <= -delta
    inside = abs(result.mean_log) + narrow < delta
    equal = f"the interval {result.mean_log - narrow:+.5f} to {result.mean_log + narrow:+.5f} {'lies' if inside else 'does not lie'}"
    above = f"the low end {low:+.5f} is {'' if low > 0 else 'not '}above 0"
    below = f"the high end {high:+.5f} is {'' if high < 0 else 'not '}below 0"
    yield _check("Regressed", {above: low > 0, f"{mean} {'at least' if grew else 'less than'} {delta:.5f}": grew})
    yield _check("Improved", {below: high < 0, f"{mean} {'at most' if fell else 'above'} {-delta:.5f}": fell})
    yield _check("Equivalent", {f"{equal} inside {-delta:+.5f} to {delta:+.5f}": inside})


def _check(question: str, conditions: Mapping[str, bool]) -> str:
    """A question, its conditions (each with whether it holds) and the answer: "Improved? The high end -0.03 is below 0: yes."."""
    text = ", and ".join(conditions)
    return f"{question}? {text[0].upper()}{text[1:]}: {'yes' if all(conditions.values()) else 'no'}."


def _reach(result: Comparison) -> Iterator[str]:
    if result.mde is not None:
        yield (
            f"With these blocks and this spread, it takes a true change of {number_format.size(result.mde, result.scale)} or more "
            f"for the worse "
            f"to be called {Outcome.REGRESSED.value} with 80 % power."
        )
