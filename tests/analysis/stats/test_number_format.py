"""Numbers in words: per cent where per cent says something, multiples beyond."""

from __future__ import annotations

import pytest

from perfproof.analysis.stats import number_format


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.0412, "+4.12 %"), (-0.872, "-87.2 %"), (7.92, "+792 %"), (12.7, "× 13.7"), (1371.9, "× 1,373"), (float("inf"), "unbounded")],
)
def test_a_change_from_tenfold_on_is_a_multiple(fraction: float, shown: str) -> None:
    """A change is told in per cent up to tenfold, beyond it as a multiple, so that nobody has to read thousands of per cent."""
    assert number_format.percent(fraction) == shown


@pytest.mark.parametrize(("fraction", "shown"), [(0.416, "41.6 %"), (1.0, "× 2"), (7.92, "× 8.92"), (12.7, "× 13.7")])
def test_a_size_from_a_doubling_on_is_a_multiple(fraction: float, shown: str) -> None:
    """A size that could or could not have been seen is a multiple from a doubling on."""
    assert number_format.size(fraction, "log") == shown
    assert number_format.size(0.0149, "difference") == "1.49 points"


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        ((1.73, 36.3), "× 2.73 to × 37.3"),
        ((0.5, 36.3), "+50.0 % to × 37.3"),
        ((1.73, 4.0), "+173 % to +400 %"),
        ((1.5, float("inf")), "× 2.5 to unbounded"),
    ],
)
def test_the_ends_of_an_interval_are_told_alike(interval: tuple[float, float], shown: str) -> None:
    """Where the upper end is a multiple, so is the lower one, unless it is less than a doubling."""
    assert number_format.span(interval, "log") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.004131, "s", "4.131 ms"),
        (96.23, "tok/s", "96.23 tok/s"),
        (3.1e9, "B", "2.887 GiB"),
        (-0.002, "s", "-2 ms"),
        (1.5e6, "1", "1,500,000"),
        (12.5, "", "12.5"),
    ],
)
def test_a_value_in_a_reason_has_its_metrics_unit(value: float, unit: str, shown: str) -> None:
    """Seconds and bytes are scaled as on a page, with plain signs and spaces."""
    assert number_format.quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(67_108_864, "B", "67,108,864 B"), (1_536_000.0, "1", "1,536,000"), (57_338.75, "B", "57,338.75 B"), (1e300, "", "1e+300")],
)
def test_a_count_in_a_reason_is_not_rounded(value: float, unit: str, shown: str) -> None:
    """Every figure of a whole number is told, with its unit; six figures would call unequal counts equal."""
    assert number_format.counted(value, unit) == shown


@pytest.mark.parametrize(("number", "shown"), [(1, "1 token"), (0, "0 tokens"), (833, "833 tokens"), (2651, "2,651 tokens")])
def test_a_number_of_things_has_its_thousands_apart(number: int, shown: str) -> None:
    """Sentences write numbers as tables do."""
    assert number_format.count(number, "token") == shown


def test_sentences_that_differ_in_large_numbers_are_one() -> None:
    """A number with its thousands apart is one number, and the range runs from the smallest to the largest."""
    told = number_format.folded(["1,024 requests came late", "998 requests came late", "2,048 requests came late"])
    assert set(told.values()) == {"998 to 2,048 requests came late"}
    assert number_format.shape("1,024 requests came late") == number_format.shape("998 to 2,048 requests came late")
