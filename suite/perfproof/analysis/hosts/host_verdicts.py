"""The verdict over hosts on timed metrics: from six hosts on a host counts as one value, below that a block does.

A claim about hosts in general needs hosts as its unit, however many blocks each has: with the host a random factor, the mean of the
hosts' means and its Student interval are exact where hosts are alike but for chance. Fewer than six hosts are judged as these very hosts:
their blocks are one sample, and the scatter from host to host makes the interval wider, never narrower. Where hosts differ, the average
of several is no *equivalent*. The looks are those of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from perfproof.analysis.hosts.host_effects import HostEffects, host_effects, host_means, sentences
from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.alpha_spending import LEAST_BLOCKS, Look, Spending
from perfproof.analysis.stats.comparison import margin_on_scale
from perfproof.analysis.stats.samples import Lost, PairedSample, Status
from perfproof.analysis.verdicts.verdict import Verdict, judge
from perfproof.model.verdicts.judged import Outcome

LEAST_HOSTS = LEAST_BLOCKS
"""The hosts from which a host counts as one value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The host of every block, and why the times of some hosts do not count (their A/A failed), by host."""

    of_block: Mapping[int, str]
    left_out: Mapping[str, str]

    @property
    def several(self) -> bool:
        """Whether the blocks are of more than one host."""
        return len(set(self.of_block.values())) > 1


def without(sample: PairedSample, hosts: Hosts) -> PairedSample:
    """The sample without the blocks of hosts that are left out, which are *invalid* with the reason.

    Source: none, bookkeeping.
    """
    stays = np.array([hosts.of_block[int(block)] not in hosts.left_out for block in sample.blocks], dtype=bool)
    lost = tuple(
        Lost(block=int(block), arm="", status=Status.INVALID, reason=hosts.left_out[hosts.of_block[int(block)]])
        for block in sample.blocks[~stays]
    )
    kept = {name: getattr(sample, name)[stays] for name in ("baseline", "candidate", "blocks", "candidate_first")}
    return replace(sample, **kept, lost=(*sample.lost, *lost))


@dataclass(frozen=True, slots=True, kw_only=True)
class OverHosts:
    """The verdict over hosts, the sample that it is of (one value a host, or a block), and the blocks behind it."""

    verdict: Verdict
    sample: PairedSample
    blocks: int


def judge_over_hosts(
    sample: PairedSample,
    spending: Spending,
    hosts: Hosts,
    *,
    margin: float,
    widening: float,
    final: bool,
    minutes_per_block: float | None,
    planned: bool,
) -> OverHosts:
    """The verdict on one paired sample whose blocks are of several hosts; the arguments are those of `verdict.judge`.

    Source: of the random host, Student's interval of the hosts' means; of the looks `alpha_spending`.
    """
    names = {hosts.of_block[int(block)] for block in sample.blocks}
    asked = partial(judge, margin=margin, widening=widening, final=final)
    looks = spending.taken(sample.n, final)
    if len(names) < LEAST_HOSTS or sample.broken or not looks:
        verdict = asked(sample, spending, minutes_per_block=minutes_per_block, planned=planned)
        found = OverHosts(verdict=verdict, sample=sample, blocks=verdict.comparison.blocks if verdict.comparison else sample.n)
    else:
        found = _by_hosts(sample, looks, spending.family, hosts, asked)
    if len(names) < 2 or sample.broken:
        return found
    effects = host_effects(sample, hosts.of_block)
    told = replace(found.verdict, warnings=(*found.verdict.warnings, *sentences(effects, sample)))
    return replace(found, verdict=_cautious(told, effects, sample, margin))


def _by_hosts(sample: PairedSample, looks: Sequence[Look], family: int, hosts: Hosts, asked: Callable[..., Verdict]) -> OverHosts:
    """The verdict of the first look that decides, else of the last: each look at the means of the hosts that its blocks ran on."""
    for look in looks:
        part = _first(sample, look.blocks)
        means = host_means(part, hosts.of_block)
        seen = means if means.n >= LEAST_HOSTS else part
        verdict = asked(seen, Spending(looks=(replace(look, blocks=seen.n),), family=family))
        found = OverHosts(verdict=_in_hosts(verdict) if seen is means else verdict, sample=seen, blocks=part.n)
        if verdict.outcome is not Outcome.INCONCLUSIVE:
            break
    return found


def _first(sample: PairedSample, blocks: int) -> PairedSample:
    """The first blocks of a sample."""
    kept = {name: getattr(sample, name)[:blocks] for name in ("baseline", "candidate", "blocks", "candidate_first")}
    return replace(sample, **kept)


def _in_hosts(verdict: Verdict) -> Verdict:
    """A verdict on the means of hosts, in words of hosts."""
    texts = [re.sub(r"\bblock(s?)\b", r"host\1", text) for text in (verdict.reason, *verdict.warnings)]
    return replace(verdict, reason=texts[0], warnings=tuple(texts[1:]), settling=None)


def _cautious(verdict: Verdict, effects: HostEffects, sample: PairedSample, margin: float) -> Verdict:
    """The verdict; *equivalent* only where hosts do not differ, or none lies beyond the margin."""
    limit = margin_on_scale(margin, sample.scale)
    beyond = [one for one in effects.hosts if abs(one.mean) >= limit]
    if verdict.outcome is not Outcome.EQUIVALENT or not effects.differ or not beyond:
        return verdict
    size = number_format.size(margin, sample.scale)
    why = f"equivalent on average, but the hosts differ, and on {len(beyond)} of {len(effects.hosts)} the change is beyond {size}"
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, reason=f"{why}: judge these hosts apart", settling=None)
