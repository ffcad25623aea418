"""The whole reasoning of one verdict in words, each sentence with its number: what `judge --explain` prints."""

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
    """The sentences in the order of the reasoning, from the blocks to the outcome; no source beyond those that the steps name."""
    found = verdict.comparison
    told = list(_blocks(sample))
    if found is not None:
        told += _estimate(found)
        told += _looks(found, spending)
        told += _intervals(found)
        told += _companion(found)
        told += _rule(found)
        told += _reach(found)
    told.append(f"So the verdict is {verdict.outcome.value}: {verdict.reason}.")
    told += [f"Note: {warning}." for warning in verdict.warnings]
    return told


def _blocks(sample: PairedSample) -> Iterator[str]:
    yield (
        f"{sample.metric}{f', in {sample.unit}' if sample.unit else ''}, where {sample.better} is better: "
        f"{number_format.count(sample.n, 'whole block')} with one value of each arm."
    )
    for loss in sample.lost:
        arm = f", arm {loss.arm}" if loss.arm else ""
        yield f"Block {loss.block}{arm} does not count, it is {loss.status.value}: {loss.reason}."


def _estimate(found: Comparison) -> Iterator[str]:
    unit = f" {found.unit}" if found.unit else ""
    yield f"The middle value of the baseline is {found.baseline:.6g}{unit}, that of the candidate {found.candidate:.6g}{unit}."
    x = "log(candidate / baseline)" if found.scale == "log" else "candidate - baseline"
    sign = "" if found.better == "lower" else "-"
    yield (
        f"In each block x = {sign}{x}, so that more than 0 is worse; over {found.blocks} blocks its mean is {found.mean_log:+.5f} "
        f"and its standard deviation {found.sd_log:.5f}, so the mean is known to a standard error of {_error(found):.5f}."
    )
    how = f"exp({'' if found.better == 'lower' else '-'}mean) - 1" if found.scale == "log" else "the mean difference"
    yield f"The effect, {how}, is {number_format.change(found.effect, found.scale)}."


def _error(found: Comparison) -> float:
    return found.widening * found.sd_log / math.sqrt(found.blocks)


def _looks(found: Comparison, spending: Spending) -> Iterator[str]:
    planned = ", ".join(str(look.blocks) for look in spending.looks)
    change = (1 - found.level) / 2
    whole = change * len(spending.looks) * spending.family
    if len(spending.looks) == 1:
        yield f"There is one look, at {planned} blocks, with the whole error."
    else:
        yield f"Looks are planned at {planned} blocks; this is what the look at {found.blocks} blocks saw."
    family = f", shared by a family of {spending.family}" if spending.family > 1 else ""
    total = number_format.percent(whole, signed=False)
    yield f"A look may be wrong in {change:.3g} of cases each way{family}; over all looks and the family that is {total}."


def _intervals(found: Comparison) -> Iterator[str]:
    change, equal = (intervals.quantile(found.blocks, level) for level in (found.level, found.equivalence_level))
    if found.widening != 1:
        yield f"The standard error is stretched {found.widening:.3f} times for the autocorrelation that the machine's long A/A measured."
    yield (
        f"Student's quantile at {found.blocks - 1} degrees of freedom is {change:.3f} for {number_format.level(found.level)}, "
        f"so the interval for a change is {number_format.span(found.interval, found.scale)}."
    )
    yield (
        f"For equivalence it is {equal:.3f} at {number_format.level(found.equivalence_level)}, "
        f"and the interval {number_format.span(found.equivalence_interval, found.scale)}."
    )
    yield f"Against no change at all, p is {found.p:.3g}."


def _companion(found: Comparison) -> Iterator[str]:
    robust = f"The robust companion (Hodges-Lehmann) is {number_format.change(found.companion, found.scale)}"
    if found.companion_interval is None:
        yield f"{robust}; below 6 blocks it has no {number_format.level(COMPANION_LEVEL)} interval."
    else:
        yield (
            f"{robust}, its exact {number_format.level(COMPANION_LEVEL)} interval "
            f"{number_format.span(found.companion_interval, found.scale)}."
        )
    if found.outlier is None:
        yield f"No block's studentised residual exceeds {OUTLIER:g}."
        return
    asked = "so the companion is asked too" if found.blocks >= OUTLIER_BLOCKS else f"but below {OUTLIER_BLOCKS} blocks nothing follows"
    large = abs(found.outlier.residual) > number_format.FARTHEST
    residual = f"over {number_format.FARTHEST:g} (the others hardly differ)" if large else f"{found.outlier.residual:+.1f}"
    yield f"Block {found.outlier.block} has a studentised residual of {residual}, beyond {OUTLIER:g}: an outlier, {asked}."


def _rule(found: Comparison) -> Iterator[str]:
    half = intervals.quantile(found.blocks, found.level) * _error(found)
    narrow = intervals.quantile(found.blocks, found.equivalence_level) * _error(found)
    low, high, delta = found.mean_log - half, found.mean_log + half, found.margin_log
    yield (
        f"The margin is {number_format.size(found.margin, found.scale)}, {delta:.5f} on the scale of x; it was given, not taken "
        f"from the noise."
    )
    mean = f"the mean {found.mean_log:+.5f} is"
    grew, fell = found.mean_log >= delta, found.mean_log <= -delta
    inside = abs(found.mean_log) + narrow < delta
    equal = f"the interval {found.mean_log - narrow:+.5f} to {found.mean_log + narrow:+.5f} {'lies' if inside else 'does not lie'}"
    above = f"the low end {low:+.5f} is {'' if low > 0 else 'not '}above 0"
    below = f"the high end {high:+.5f} is {'' if high < 0 else 'not '}below 0"
    yield _asked("Regressed", {above: low > 0, f"{mean} {'at least' if grew else 'less than'} {delta:.5f}": grew})
    yield _asked("Improved", {below: high < 0, f"{mean} {'at most' if fell else 'above'} {-delta:.5f}": fell})
    yield _asked("Equivalent", {f"{equal} inside {-delta:+.5f} to {delta:+.5f}": inside})


def _asked(question: str, conditions: Mapping[str, bool]) -> str:
    """A question, its conditions (each with whether it holds) and the answer: "Improved? The high end -0.03 is below 0: yes."."""
    said = ", and ".join(conditions)
    return f"{question}? {said[0].upper()}{said[1:]}: {'yes' if all(conditions.values()) else 'no'}."


def _reach(found: Comparison) -> Iterator[str]:
    if found.mde is not None:
        yield (
            f"With these blocks and this spread, it takes a true change of {number_format.size(found.mde, found.scale)} or more "
            f"for the worse "
            f"to be called {Outcome.REGRESSED.value} with 80 % chance."
        )
