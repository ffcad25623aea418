"""Work equivalence: two times are comparable only if both did the same work.

The workload defines the counts (prompts, output tokens, finish reasons, prefix-cache hits, preemptions, rounds, a checksum of the inputs).
The counts of the arms of one block must be the same, key by key. Unequal work makes a metric *untestable*.
"""

from __future__ import annotations

from collections.abc import Mapping


def unequal(arms: Mapping[str, Mapping[str, int]]) -> str:
    """What the arms of a block did differently, as one sentence, or "" where they did the same.

    `arms` maps an arm's name to its counts. A count that one arm has and another lacks is a difference.
    Source: none, a comparison of counts.
    """
    names = list(arms)
    differences = []
    for key in sorted({key for counts in arms.values() for key in counts}):
        counts = [arms[name].get(key) for name in names]
        if any(count != counts[0] for count in counts[1:]):
            differences.append(f"{key.replace('_', ' ')} {_list(names, counts)}")
    return f"not comparable, the arms did different work: {'; '.join(differences)}" if differences else ""


def _list(names: list[str], counts: list[int | None]) -> str:
    return ", ".join(f"{'not counted' if count is None else count} in {name}" for name, count in zip(names, counts, strict=True))
