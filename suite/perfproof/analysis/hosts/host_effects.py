"""What a change does on each host, and whether the hosts differ in it (the interaction of host and arm).

Blocks are pairs within a host, so that how fast a host is cancels; what is left is how much the change is worth there. Source: the one-way
analysis of variance with random groups (Searle, Casella & McCulloch, Variance Components, 1992).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from perfproof.analysis.stats import intervals, number_format
from perfproof.analysis.stats.comparison import to_effect
from perfproof.analysis.stats.samples import Floats, PairedSample, typical

INTERACTION_ERROR = 0.01
"""The p below which the hosts are said to differ."""
LEVEL = 0.95
SHOWN = 8
"""The most hosts that are listed one by one."""
DIGITS = 6
"""The digits of a host's name that are shown, where they tell hosts apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEffect:
    """The change on one host: the mean of x over its blocks (> 0 is worse), as an effect, with a 95 % interval from two blocks on."""

    host: str
    blocks: int
    mean: float
    effect: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEffects:
    """The change on every host, in the order of their first blocks. `p` is that of no difference between hosts, None where no host has two
    blocks; `between` the standard deviation of the change between hosts, on the scale of x."""

    hosts: tuple[HostEffect, ...]
    p: float | None
    between: float

    @property
    def differ(self) -> bool:
        """Whether hosts differ in what the change does."""
        return self.p is not None and self.p < INTERACTION_ERROR


def host_effects(sample: PairedSample, host_of_block: Mapping[int, str]) -> HostEffects:
    """The change on each host of a sample of at least one whole block.

    Source: one-way analysis of variance; Student's interval.
    """
    of_host = x_by_host(sample, host_of_block)
    p, between = _interaction(list(of_host.values()))
    return HostEffects(hosts=tuple(_effect(host, x, sample) for host, x in of_host.items()), p=p, between=between)


def x_by_host(sample: PairedSample, host_of_block: Mapping[int, str]) -> dict[str, Floats]:
    """The values of x of each host, in the order of their first blocks.

    Source: none, bookkeeping.
    """
    x, hosts = sample.x, [host_of_block[int(block)] for block in sample.blocks]
    return {host: x[[one == host for one in hosts]] for host in dict.fromkeys(hosts)}


def host_means(sample: PairedSample, host_of_block: Mapping[int, str]) -> PairedSample:
    """The sample of one value a host: its arms' typical values over its blocks, whose x is the mean of the blocks' x. Hosts take the
    place of blocks, numbered from 1.

    Source: none, an average.
    """
    hosts = [host_of_block[int(block)] for block in sample.blocks]
    names = list(dict.fromkeys(hosts))
    means = [[_middle(arm[[one == host for one in hosts]], sample.scale) for host in names] for arm in (sample.baseline, sample.candidate)]
    return PairedSample(
        metric=sample.metric,
        unit=sample.unit,
        better=sample.better,
        scale=sample.scale,
        baseline=np.array(means[0]),
        candidate=np.array(means[1]),
        blocks=np.arange(1, len(names) + 1),
        candidate_first=np.zeros(len(names), dtype=bool),
        lost=sample.lost,
    )


def sentences(effects: HostEffects, sample: PairedSample) -> list[str]:
    """What the hosts show, in sentences.

    Source: none, a reading of the effects.
    """
    names = short_names([one.host for one in effects.hosts])
    shown = effects.hosts if len(effects.hosts) <= SHOWN else sorted(effects.hosts, key=lambda one: one.effect)[:: len(effects.hosts) - 1]
    words = ", ".join(_words(one, names[one.host], sample) for one in shown)
    between = "" if shown is effects.hosts else "between "
    told = [f"{len(effects.hosts)} hosts: {between}{words}"]
    if effects.p is None:
        return [*told, "no host has two blocks: whether hosts differ in the change can't be told"]
    spread = float(to_effect(np.array([effects.between]), "lower", sample.scale)[0])
    differ = (
        f"the hosts differ in what the change does (p = {effects.p:.2g}), by {number_format.size(spread, sample.scale)} from host to host"
    )
    return [*told, differ if effects.differ else f"the hosts do not differ detectably in what the change does (p = {effects.p:.2g})"]


def short_names(hosts: Sequence[str]) -> dict[str, str]:
    """The names of hosts as they are shown: the first digits, if these tell them apart.

    Source: none.
    """
    short = {host[:DIGITS] for host in hosts}
    return {host: host[:DIGITS] if len(short) == len(set(hosts)) else host for host in hosts}


def _effect(host: str, x: Floats, sample: PairedSample) -> HostEffect:
    mean = float(x.mean())
    ends: tuple[float, float] | None = None
    if x.size > 1:
        half = float(intervals.student(x[np.newaxis]).half(LEVEL, 1.0)[0])
        low, high = sorted(to_effect(np.array([mean - half, mean + half]), sample.better, sample.scale).tolist())
        ends = low, high
    effect = float(to_effect(np.array([mean]), sample.better, sample.scale)[0])
    return HostEffect(host=host, blocks=int(x.size), mean=mean, effect=effect, interval=ends)


def _words(one: HostEffect, name: str, sample: PairedSample) -> str:
    interval = f"{number_format.span(one.interval, sample.scale)}; " if one.interval else ""
    return f"{name} {number_format.change(one.effect, sample.scale)} ({interval}{number_format.count(one.blocks, 'block')})"


def _middle(values: Floats, scale: str) -> float:
    return typical(values.tolist()) if scale == "log" else float(values.mean())


def _interaction(hosts: Sequence[Floats]) -> tuple[float | None, float]:
    """The p of no difference between hosts, None without two blocks on a host, and the deviation between hosts."""
    sizes = np.array([x.size for x in hosts], dtype=float)
    total, groups = float(sizes.sum()), len(hosts)
    if groups < 2 or total <= groups:
        return None, 0.0
    means = np.array([x.mean() for x in hosts])
    middle = float((sizes * means).sum() / total)
    within = sum(float(((x - x.mean()) ** 2).sum()) for x in hosts) / (total - groups)
    between = float((sizes * (means - middle) ** 2).sum()) / (groups - 1)
    exact = 0.0 if between > 0 else 1.0
    p = float(scipy.special.fdtrc(groups - 1, total - groups, between / within)) if within > 0 else exact
    size = (total - float((sizes**2).sum()) / total) / (groups - 1)
    return p, math.sqrt(max(0.0, (between - within) / size))
