"""Rules fixed before the run that exclude a trial, and with it its whole block. They never look at measured values.

Each rule reads one entry of a trial's telemetry, a plain mapping; a missing entry cannot break its rule. The thresholds are about the
machine's state and not about the arm: a block is excluded for both arms or for none, so that no arm is favoured.

| entry | unit | what it is | rule |
| --- | --- | --- | --- |
| `failed_requests` | count | requests that did not complete | none may fail |
| `missing_requests` | count | asked and never answered for | none may miss |
| `steal` | share of CPU time, 0 to 1 | time the hypervisor gave to others while measuring | `Rules.steal` |
| `foreign` | share of CPU time, 0 to 1 | time of processes that are not the trial's, while measuring | `Rules.foreign` |
| `throttled` | count | thermal or power throttling events while measuring | none |
| `foreign_gpu` | count | processes on the trial's GPU that are not the trial's | none |
| `swapped` | bytes | memory swapped in or out while measuring | `Rules.swapped` |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from perfproof.analysis.stats import number_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The thresholds; they belong to a run and are stored with it."""

    steal: float
    foreign: float
    swapped: float
    busy_start: float
    """The share of the machine's CPU time in use before a run from which the machine is busy."""
    tolerated: float
    """The share of blocks that a quiet run on an ordinary machine may lose."""


REQUESTS = ("failed_requests", "missing_requests")
"""The entries that say that work was left undone: the machine alone does not cause that, and counts of such a trial do not hold."""
STANDARD = Rules(steal=0.25, foreign=0.25, swapped=64 * 2**20, busy_start=0.25, tolerated=0.05)
"""A quarter of the machine lost to others halves the speed of one trial in four. A shared 2-core virtual machine whose hypervisor took 13 %
in its worst trials stays inside. Quiet A/A runs show whether a machine needs other thresholds: `suggest`."""


NOISE_ALLOWED = dataclasses.replace(STANDARD, steal=1.0, foreign=1.0, swapped=2.0**62)
"""Rules that no neighbour can break, for runs that judge no times."""


ONLY_COUNTED = "only counted: nothing was timed"
"""The reason of a trial whose work was counted before anything is timed."""


def spoils_times_alone(reason: str, telemetry: object, rules: object) -> bool:
    """Whether a trial was excluded only because of the machine, or was not timed: its times are spoilt, its counts are not.

    `rules` are the applied rules in its record. Source: none, a reading of the rules.
    """
    entries = {key: value for key, value in _numbers(telemetry).items() if key not in REQUESTS}
    return reason == ONLY_COUNTED or (bool(reason) and reason == invalid(entries, _put(rules, STANDARD)))


def belied(telemetry: object, rules: object) -> str:
    """Why the applied rules in a valid trial's record should have excluded it, or "". For an older record without rules, only requests and
    throttling count.

    Source: none, a reading of the rules.
    """
    return invalid(_numbers(telemetry), _put(rules, NOISE_ALLOWED))


def _put(rules: object, otherwise: Rules) -> Rules:
    """The applied thresholds in a record; a missing one is that of `otherwise`."""
    return dataclasses.replace(otherwise, **{key: value for key, value in _numbers(rules).items() if key in STANDARD.__slots__})


def _numbers(mapping: object) -> dict[str, float]:
    """The numbers in a record's mapping; none if it is not a mapping."""
    pairs = mapping.items() if isinstance(mapping, Mapping) else ()
    return {name: value for name, value in pairs if isinstance(value, int | float)}


def invalid(telemetry: Mapping[str, float], rules: Rules = STANDARD) -> str:
    """Why a trial is invalid, as one sentence, or "". Unknown entries are ignored.

    Source: none, thresholds of `Rules`.
    """
    reasons = [sentence for sentence in (*_counted(telemetry), *_shared(telemetry, rules)) if sentence]
    return "; ".join(reasons)


def _counted(telemetry: Mapping[str, float]) -> list[str]:
    """The rules that allow none."""
    nouns = {
        "failed_requests": "failed request",
        "missing_requests": "request never answered",
        "throttled": "throttling event",
        "foreign_gpu": "foreign process on the GPU",
    }
    events = {key: int(telemetry.get(key, 0)) for key in nouns}
    return [f"{number} x {nouns[key]}" for key, number in events.items() if number > 0]


def _shared(telemetry: Mapping[str, float], rules: Rules) -> list[str]:
    """The rules with a threshold."""
    reasons = []
    for key, limit, what in (
        ("steal", rules.steal, "of the CPU time went to other machines (steal)"),
        ("foreign", rules.foreign, "of the CPU time went to other processes"),
    ):
        share = telemetry.get(key, 0.0)
        if share > limit:
            reasons.append(f"{number_format.percent(share, signed=False)} {what}, more than {number_format.percent(limit, signed=False)}")
    swapped = telemetry.get("swapped", 0.0)
    if swapped > rules.swapped:
        reasons.append(f"{swapped / 2**20:.0f} MiB were swapped, more than {rules.swapped / 2**20:.0f} MiB")
    return reasons


def busy(share: float, rules: Rules = STANDARD) -> str:
    """Whether a machine with this share of its CPU time in use is too busy to start on: a sentence, or "".

    Source: none, a threshold of `Rules`.
    """
    if share <= rules.busy_start:
        return ""
    used, limit = (number_format.percent(each, signed=False) for each in (share, rules.busy_start))
    return f"the machine is busy: {used} of its CPU time in use, more than {limit}"


def lost(shares: Mapping[str, list[float]], rules: Rules = STANDARD) -> list[str]:
    """The CPU time that the trials of an A/A lost to others, one sentence per rule, with the threshold that this machine would need if the
    standard one excludes too many of them.

    `shares` holds the recorded shares of CPU time of the trials, by the rule's entry. Source: empirical quantiles; `suggest`.
    """
    enough, sentences = suggest(shares, rules), []
    for key, what in (("steal", "other machines (steal)"), ("foreign", "other processes")):
        ordered = sorted(shares.get(key, []))
        if not ordered:
            continue
        middle, high, most = (number_format.percent(ordered[round(q * (len(ordered) - 1))], signed=False) for q in (0.5, 0.95, 1.0))
        limit, needed = getattr(rules, key), getattr(enough, key)
        beyond = sum(share > limit for share in ordered)
        sentence = f"of the CPU time {what} took {middle} in the median trial, {high} at 95 %, {most} at most"
        sentences.append(
            f"{sentence}; {beyond} of {number_format.count(len(ordered), 'trial')} beyond {number_format.percent(limit, signed=False)}"
        )
        if needed > limit:
            kept, wanted = (number_format.percent(each, signed=False) for each in (1 - rules.tolerated, needed))
            sentences.append(f"this machine would keep {kept} of its blocks with a threshold of {wanted}")
    return sentences


def suggest(shares: Mapping[str, list[float]], rules: Rules = STANDARD) -> Rules:
    """Thresholds from the trials of a quiet A/A: for steal and foreign, at least the standard, and enough that no more than the
    tolerated share of those trials would be lost. They are for the next run, never for the measured one.

    Source: the empirical quantile of a quiet A/A.
    """

    def enough(key: str, standard: float) -> float:
        ordered = sorted(shares.get(key, []))
        if not ordered:
            return standard
        return max(standard, ordered[min(len(ordered) - 1, int(len(ordered) * (1 - rules.tolerated / 2)))])

    return Rules(
        steal=enough("steal", rules.steal),
        foreign=enough("foreign", rules.foreign),
        swapped=rules.swapped,
        busy_start=rules.busy_start,
        tolerated=rules.tolerated,
    )
