"""Which direction of a label is better, and which side a name means: known words in their places, and nothing where they are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.scenarios.metric_directions import NOUNS, better, better_in, zero_is_ordinary
from perfproof.model.scenarios.side_names import describes, role

LOWER = [
    "P99 TTFT (ms)",
    "latency at 4 rps (ms)",
    "mean_ttft_ms",
    "Benchmark duration (s)",
    "Failed requests",
    "swap_states latency (us)",
    "ms",
]
LOWER += [
    "mean (ms)",
    "inter-token latency",
    "time to first token (ms)",
    "Time per output token",
    "peak memory (GiB)",
    "word error rate",
    "ppl",
]
HIGHER = [
    "Output token throughput (tok/s)",
    "tok/s",
    "QPS",
    "max rps at latency 100 ms",
    "cache hit rate (%)",
    "exact_match",
    "output_throughput",
]
HIGHER += ["tokens per second", "Request goodput (req/s)", "acceptance length"]
NEITHER = [
    "answered in time (%)",
    "in time (%)",
    "time in budget (%)",
    "latency reduction (%)",
    "latency SLO attainment",
    "uptime (s)",
    "n",
    "",
]
NEITHER += [
    "idle time (s)",
    "free memory (GiB)",
    "KV cache memory (GiB)",
    "requests under latency",
    "failed requests per second",
    "throughput (%)",
]
NEITHER += [
    "latency / throughput",
    "Peak concurrent requests",
    "time between failures (h)",
    "time saved (s)",
    "pct_stereotype",
    "batch size",
]


@pytest.mark.parametrize(("labels", "direction"), [(LOWER, "lower"), (HIGHER, "higher"), (NEITHER, None)])
def test_a_label_ends_with_a_known_metric_or_says_nothing(labels: list[str], direction: str | None) -> None:
    """Letters within other words, conditions and units of something else give no direction."""
    assert {label: better(label) for label in labels} == dict.fromkeys(labels, direction)


@pytest.mark.parametrize(
    ("label", "unit", "direction"),
    [
        ("free (us)", "us", "lower"),
        ("find_longest_cache_hit (us)", "us", "lower"),
        ("kv.Suite.time_saved_blocks(64)", "ms", "lower"),
        ("free memory (GiB)", "GiB", None),
        ("time saved (ms)", "ms", None),
        ("idle (ms)", "ms", None),
        ("HumanEval pass@1", "%", "higher"),
        ("alloc/op", "B", "lower"),
        ("scheduling delay", "ms", "lower"),
        ("KV cache usage", "%", None),
    ],
)
def test_a_time_beside_the_name_of_a_function_is_a_cost(label: str, unit: str, direction: str | None) -> None:
    """Words such as "free" and "cache" speak of memory there, not of what was spared."""
    assert better_in(label, unit) == direction


@given(
    st.sampled_from(sorted(NOUNS)),
    st.sampled_from(["at 4 rps", "with 2 GPUs", "@ 8", "for latency under load", "(batch 8)", ", throughput mode"]),
)
def test_a_condition_changes_no_direction(noun: str, condition: str) -> None:
    """What stands behind a preposition or a comma is not what was measured."""
    assert better(f"mean {noun} {condition}") == better(noun) == NOUNS[noun][0]


@given(st.sampled_from(sorted(NOUNS)), st.sampled_from(["reduction", "target", "attainment", "saved", "bucket", "samples"]))
def test_what_is_made_of_a_metric_is_another_one(noun: str, other: str) -> None:
    """Of a reduction of latency, more is better; no direction is assumed, because the numbers may be the latencies themselves."""
    assert better(f"{noun} {other}") is None


def test_no_latency_is_zero() -> None:
    """Of failed requests there may be none."""
    assert not zero_is_ordinary("TTFT (ms)")
    assert not zero_is_ordinary("throughput (tok/s)")
    assert zero_is_ordinary("Failed requests")
    assert zero_is_ordinary("accuracy")


BASELINES = [
    "main",
    "Main",
    "main branch",
    "origin/main",
    "main (A)",
    "v0.32.0 (baseline)",
    "before this PR",
    "without the patch",
    "w/o PR",
    "old code",
]
BASELINES += [
    "as released",
    "as_released",
    "main @ 1a2b3c4",
    "before (us)",
    "on main",
    "main on H100",
    "main, TP=2",
    "prefix caching off",
    "upstream main",
]
CANDIDATES = ["PR", "this PR", "after", "patched", "Now", "on", "HEAD", "#4711", "FLAG=1"]
BOTH = [
    "PR (rebased on main)",
    "PR on top of main",
    "after rebasing on main",
    "merged with main",
    "old one removed",
    "new baseline",
    "with main merged",
    "main + PR",
]
UNKNOWN = [
    "main/PR",
    "without main",
    "base model",
    "",
    "first",
]


@pytest.mark.parametrize(("names", "side"), [(BASELINES, "baseline"), (CANDIDATES, "candidate"), (BOTH, "both"), (UNKNOWN, "")])
def test_a_name_is_the_baselines_where_nothing_else_is_in_it(names: list[str], side: str) -> None:
    """A word alone says nothing: what is merged with main is not main."""
    assert {name: role(name) for name in names} == dict.fromkeys(names, side)


@given(
    st.sampled_from(["main", "master", "baseline", "old"]),
    st.sampled_from(
        [
            "PR on top of {}",
            "merged with {}",
            "{} + PR",
            "{} with my fix",
            "{} merged",
            "{} removed",
            "rebased on {}",
            "PR vs {}",
            "faster than {}",
        ]
    ),
)
def test_a_name_that_only_mentions_the_baseline_is_not_it(word: str, form: str) -> None:
    """Wherever in it the word stands."""
    assert role(form.format(word)) != "baseline"


DESCRIBING = [
    "change",
    "Δ",
    "%",
    "x",
    "p-value",
    "p",
    "runs",
    "n",
    "std",
    "95% CI",
    "speedup over main",
    "Δ vs main",
    "PR / main",
    "main/PR",
    "mean",
    "p99",
]
SIDES = ["main", "PR", "this change", "with change", "exchange", "run 1", "before (tok/s)", "mean before", "first", "merged with main"]


def test_columns_that_tell_of_the_sides_are_none() -> None:
    """A ratio, a p-value or a number of runs is nobody's result."""
    assert {name: describes(name) for name in DESCRIBING} == dict.fromkeys(DESCRIBING, True)
    assert {name: describes(name) for name in SIDES} == dict.fromkeys(SIDES, False)


SAYS = {
    "lower": ["lower is better", "↓", "less is better", "smaller better", "Lower=better"],
    "higher": ["higher is better", "↑", "more is better"],
}


@given(st.sampled_from([*sorted(NOUNS), "score", "cost", ""]), st.sampled_from(sorted(SAYS)), st.data(), st.booleans())
def test_what_a_label_says_of_itself_decides(noun: str, way: str, data: st.DataObject, inside: bool) -> None:
    """Whatever its words would say; both at once say nothing."""
    said = data.draw(st.sampled_from(SAYS[way]))
    assert better(f"{noun} ({said})" if inside else f"{noun} {said}") == way
    assert better(f"{noun} (lower is better) ↑") is None
