"""Quantities as people write them, and what sentences say of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.base.quantities import Change, changes, converted, known

UNITS = ("ns", "us", "µs", "ms", "s", "min", "B", "MiB", "GB", "tok/s", "tokens/ms", "req/s", "ms/step", "widgets", "%", "")


@pytest.mark.parametrize(
    ("value", "unit", "into", "result"),
    [
        (0.0098, "ms", "us", 9.8),
        (9.8, "μs", "µs", 9.8),
        (1.5, "min", "s", 90.0),
        (2.553, "tokens/ms", "tok/s", 2553.0),
        (3, "us/steps", "ms/step", 0.003),
        (1, "GiB", "MiB", 1024.0),
        (1, "MB", "kB", 1000.0),
        (4.2, "widgets", "widgets", 4.2),
        (1.2, "M", "k", 1200.0),
        (4.5, "ktok/s", "tok/s", 4500.0),
        (16.6, "Kops/s", "ops/s", 16600.0),
        (1, "k", "ms", None),
        (1, "ms", "MiB", None),
        (1, "ms", "", None),
        (1, "tok/s", "req/s", None),
        (1, "KB", "kB", None),
        (1, "widgets", "gadgets", None),
    ],
)
def test_a_value_is_reported_in_another_unit_of_the_same_kind(value: float, unit: str, into: str, result: float | None) -> None:
    """Exactly to a dozen figures; units of different kinds, and those that are not known, are not converted."""
    assert converted(value, unit, into) == result


@given(st.floats(1e-6, 1e6), st.sampled_from(UNITS), st.sampled_from(UNITS))
def test_there_and_back_is_the_same_value(value: float, unit: str, into: str) -> None:
    """Wherever there is a way there is one back."""
    there = converted(value, unit, into)
    back = None if there is None else converted(there, into, unit)
    assert (there is None) == (converted(value, into, unit) is None)
    assert back is None or back == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize(
    ("word", "sure"), [("ms", True), ("tok/s", True), ("%", True), ("GiB", True), ("p99", False), ("tok", False), ("A", False)]
)
def test_some_words_are_surely_units(word: str, sure: bool) -> None:
    """In a name's brackets there may be anything."""
    assert known(word) is sure


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Mean TTFT dropped from 190 ms to 188 ms on one H200.", ("Mean TTFT", "ms", 190.0, 188.0)),
        ("This reduces median inter-token latency from 12.3 us to 0.0098 ms.", ("median inter-token latency", "us", 12.3, 9.8)),
        ("Output token throughput went\nfrom 2,447 to 2,553 tok/s", ("Output token throughput", "tok/s", 2447.0, 2553.0)),
        ("P99 TPOT: 42.9 ms -> 40.1 ms", ("P99 TPOT", "ms", 42.9, 40.1)),
        ("time per step 3ms → 2ms", ("time per step", "ms", 3.0, 2.0)),
        ("The runtime was cut from 2 min to 90 s.", ("runtime", "min", 2.0, 1.5)),
    ],
)
def test_a_sentence_that_names_a_metric_and_its_change_is_read(text: str, told: tuple[str, str, float, float]) -> None:
    """The later value in the unit of the earlier one, whose unit may stand behind the second alone."""
    metric, unit, before, after = told
    assert changes(text) == (Change(metric=metric, unit=unit, before=before, after=after),)


@pytest.mark.parametrize(
    "text",
    [
        "It went from 12.3 us to 9.8 us.",
        "TTFT is 9 ms to 12 ms.",
        "TTFT ranges from 9 ms to 12 ms.",
        "TTFT dropped by from 9 ms to 12 ms.",
        "TTFT could be reduced from 12 ms to 9 ms.",
        "TTFT did not change from 12 ms to 9 ms.",
        "TTFT and TPOT went from 12 ms to 9 ms.",
        "TTFT went from 12 to 9.",
        "TTFT went from 12 ms to 9 tok/s.",
        "Throughput went from 12 ms to 9 ms.",
        "The timeout was raised from 10 s to 30 s.",
        "We raised the cache from 4 GiB to 8 GiB.",
        "Reverting this, mean TTFT rises from 188 ms to 190 ms.",
        "TTFT goes from 9 ms to 12 ms when rolled back.",
        "Without the patch TTFT rises from 9 ms to 12 ms.",
        "TTFT went from 7,500 ms to 7.250 ms.",
        "TTFT dropped from 12 ms to 9 ms at batch 8. TTFT dropped from 15 ms to 11 ms at batch 16.",
    ],
)
def test_what_may_mean_something_else_is_not_read(text: str) -> None:
    """A range, an amount, a wish, two metrics, none, no unit, one that does not fit, a setting, two values of one metric,
    or the way back."""
    assert changes(text) == ()


@given(st.text(max_size=300) | st.text(alphabet="fromtTFwen 0123456789.,msu/->→\n", max_size=300))
def test_any_text_is_read_or_passed_over(text: str) -> None:
    """Nothing that a person writes makes the reader fail."""
    changes(text)
