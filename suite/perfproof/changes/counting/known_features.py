"""Which counted features are known to call what a change touches, which of them are likely to come to its new lines, and whether a short
budget has room for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting.change_places import LIKELY, share_called
from perfproof.changes.counting.count_findings import Setting
from perfproof.changes.counting.count_sources import Sides, calls_beside, touched_functions
from perfproof.changes.observed.observed_calls import features_by_calls, features_calling
from perfproof.model.base.name_lists import few

QUICK = 60.0
"""Seconds for counting below which each feature has its least number of requests, and counting ends once one has run the change; on a
machine that is slow, because it is busy, so many times more."""
NO_ROOM = "and the budget has room for one"
"""The end of the reason why a benchmark is measured and no engine is counted: nothing failed there."""
MOST = 6
"""The most benchmarks that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFeatures:
    """The features `calling` what a change touches: those first that make the calls beside its new lines, then the cheapest. `certain`: of
    all features that is known of this very vLLM. `reaching`: one of them makes such a call at all, or none there is known."""

    calling: tuple[str, ...]
    certain: bool
    reaching: bool


def known_features(sides: Sides, touched: Iterable[str], builds: Path) -> KnownFeatures:
    """What is known of the change between these sides, by what its base was seen to call."""
    calling, certain = features_calling(sides[0], touched, builds)
    if not calling:
        return KnownFeatures(calling=(), certain=certain, reaching=False)
    by, anyone = features_by_calls(sides[0], builds)
    places, known = calls_beside(sides), _as_called(anyone)
    shares = {name: share_called(places, _as_called(by[name]), known) for name in calling}
    ordered = sorted(calling, key=lambda name: shares[name] < LIKELY * max(shares.values()))
    return KnownFeatures(calling=tuple(ordered), certain=certain, reaching=any(shares.values()))


def _as_called(functions: Iterable[str]) -> frozenset[str]:
    """Functions by their names as a call has them: the last one, of what makes an object that of its class."""
    return frozenset(name.partition(":")[2].removesuffix(".__init__").rpartition(".")[2] for name in functions)


def no_room(base: ReadyBuild, candidate: ReadyBuild, by: Sequence[str], setting: Setting) -> str:
    """Why the engine is not counted where the time does not last for it and for a benchmark: the benchmarks `by` are known to call what the
    change touches, and no feature is, or none that makes a call beside its new lines. "" where there is time, or where a feature may
    answer."""
    left = setting.left()
    if left is None or left >= QUICK * setting.slowness or not by:
        return ""
    known = known_features((base, candidate), touched_functions(base, candidate), setting.builds)
    if known.reaching:
        return ""
    does = "come to the new lines of what" if known.calling else "call what"
    benchmarks = f"{few(by, MOST)} {'are' if len(by) > 1 else 'is'}"
    return f"no counted feature is known to {does} the change touches, {benchmarks}, {NO_ROOM}"
