"""Cases with the same counts in every build are one timeline; anything that differs keeps them apart."""

from __future__ import annotations

from tests.report.history.test_history_page import built, told

COUNTS = (10.0, 10.0, 12.0, 12.0, 12.0)


def metrics(of: dict[str, tuple[float, ...]], metric: str = "python_instructions") -> list[str]:
    page = built(*(told(f"{metric}@{case}", values=values) for case, values in of.items()))
    return [timeline.metric.partition("@")[2] for timeline in page.timelines]


def test_cases_with_the_same_counts_are_one_timeline_that_names_all() -> None:
    """By their size, not by their letters."""
    assert metrics({f"requests={n}": COUNTS for n in (128, 16, 64)}) == ["requests=16, 64, 128"]
    assert metrics({f"tokens={n},kind=a": COUNTS for n in (64, 256)}) == ["tokens=64, 256,kind=a"]


def test_one_that_differs_stays_apart() -> None:
    """In a count, or in two parameters."""
    assert len(metrics({"requests=16": COUNTS, "requests=64": (*COUNTS[:4], 13.0)})) == 2
    assert len(metrics({"tokens=64,kind=a": COUNTS, "tokens=256,kind=b": COUNTS})) == 2


def test_times_are_never_one() -> None:
    assert metrics({f"requests={n}": COUNTS for n in (16, 64)}, "round_time") == ["requests=16", "requests=64"]
