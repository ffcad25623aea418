"""Numbers as shown."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.stats import number_format
from perfproof.changes.counting import count_words
from perfproof.model.base.untrusted import line, lines
from perfproof.report import html
from perfproof.report.base import formatting, units
from perfproof.report.extract import facts
from perfproof.report.formats import pr_comment, terminal
from perfproof.report.text import answer_text
from tests.report import factory


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (4.13e-3, "s", "4.130 ms"),
        (36.84e-6, "s", "36.84 µs"),
        (9.1e-10, "s", "0.9100 ns"),
        (0.0, "s", "0 s"),
        (12.0, "s", "12 s"),
        (67_108_864, "B", "64 MiB"),
        (1000, "B", "1,000 B"),
        (3.1e9, "B", "2.887 GiB"),
        (96.23, "tok/s", "96.23 tok/s"),
        (12_345.6, "tok/s", "12,346 tok/s"),
        (528_384, "1", "528,384"),
        (math.nan, "s", "–"),
        (None, "s", "–"),
    ],
)
def test_quantity(value: float | None, unit: str, shown: str) -> None:
    """A value is shown with about four digits in the unit that suits it."""
    assert units.quantity(value, unit).replace(units.THIN, " ") == shown


def test_pairs_share_a_scale_unless_far_apart() -> None:
    """Two values that are compared by eye stand in one unit, unless one would be lost in it."""
    assert [shown.replace(units.THIN, " ") for shown in units.pair(2.1e-3, 3.5e-4, "s")] == ["2.100 ms", "0.3500 ms"]
    assert [shown.replace(units.THIN, " ") for shown in units.pair(4e-3, 3.6e-5, "s")] == ["4 ms", "36 µs"]


@pytest.mark.parametrize(
    ("effect", "shown"),
    [(0.312, "+31.2"), (-0.9911, "−99.11"), (0.002, "+0.20"), (0.0, "0.00"), (-0.00001, "0.00"), (2.5, "+250"), (12.7, "×\u202f13.7")],
)
def test_changes(effect: float, shown: str) -> None:
    """A change in per cent has the decimals that it deserves and a real minus sign."""
    assert units.percent(effect, units.places_for(effect)) == shown


@pytest.mark.parametrize(("effect", "shown"), [(-0.99, "÷ 100"), (2.4, "× 3.4"), (0.3, ""), (-0.3, ""), (-1.0, "")])
def test_factors(effect: float, shown: str) -> None:
    """Changes beyond a doubling or a halving are also told as a factor."""
    assert units.factor(effect).replace(units.THIN, " ") == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(1.73, 36.3, ("× 2.73", "× 37.3")), (0.5, 36.3, ("+50", "× 37.3")), (1.73, 4.0, ("+173", "+400")), (-0.4, 9.0, ("−40", "× 10"))],
)
def test_the_ends_of_an_interval_are_told_alike(low: float, high: float, shown: tuple[str, str]) -> None:
    """Where the upper end is a multiple, so is the lower one, unless it is less than a doubling."""
    assert tuple(end.replace(units.THIN, " ") for end in units.percents(low, high, 0)) == shown


@pytest.mark.parametrize(
    ("left", "told"), [(0.0005, "−99.95"), (0.000_06, "−99.99"), (0.000_000_3, "−99.99997"), (0.04, "−96.00"), (0.0, "−100")]
)
def test_only_what_is_gone_reads_as_all_of_it(left: float, told: str) -> None:
    """A count of which anything is left is nowhere −100 %: reasons, pages and counts of a change tell the same number."""
    assert number_format.percent(left - 1) == f"{told.replace('−', '-')} %"
    assert units.percent(left - 1, units.places_for(left - 1)) == told
    if left:
        assert count_words.percent(left - 1) == f"{told.replace('−', '-')} %"


@pytest.mark.parametrize(
    ("interval", "shown"),
    [((-0.9993, -0.9986), ("-99.93", "-99.86")), ((-0.12342, -0.12338), ("-12.342", "-12.338")), ((0.5, 0.5), ("+50.0", "+50.0"))],
)
def test_the_ends_of_an_interval_do_not_read_as_one_number(interval: tuple[float, float], shown: tuple[str, str]) -> None:
    """However narrow it is, its ends differ where they are written, in reasons and on pages; only what has no width has one number."""
    assert number_format.span(interval, "log") == " to ".join(f"{end} %" for end in shown)
    assert units.percents(*interval, units.places_for(interval[0])) == tuple(end.replace("-", "−") for end in shown)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (math.nan, ""), (-0.5, "-0.5"), (3, "3.0"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_every_number_has_a_place_when_sorted(value: float | None, shown: str) -> None:
    """Numbers without an end are written as the page's script reads them; what is no number is left out."""
    assert units.sortable(value) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [("1", "1 point"), ("+1", "+1 point"), ("−1", "−1 point"), ("1.00", "1.00 points"), ("0.00", "0.00 points"), ("11", "11 points")],
)
def test_one_point_is_no_points(number: str, shown: str) -> None:
    """A number that is written as 1 has its unit in the singular; with decimals it has the plural, as people say it."""
    assert units.points(number).replace(units.THIN, " ") == shown


def test_a_margin_of_one_point_is_written_so() -> None:
    """Margins, detectable drops and what is told of tasks say "1 point" wherever they stand."""
    row = factory.row("a", "accuracy@sums", "equivalent", margin=0.01, mde=0.01, effect=0.001, blocks=200)
    assert formatting.margin(row) == "±\u202f1\u202fpoint"
    assert formatting.detectable(row) == "1\u202fpoint"
    assert formatting.margin(dataclasses.replace(row, margin=0.02)) == "±\u202f2\u202fpoints"
    assert answer_text.in_points(0.01) == "1\u202fpoint"
    page = factory.answers_page()
    assert not re.search(r"(?<![\d.,])1\spoints", pr_comment.render(page))
    for text in (html.render(page), terminal.text(page, 120)):
        assert not re.search(r"(?<![\d.,])1\spoints", text)
        assert re.search(r"(?<![\d.,])1\spoint\b", text)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["s", "B", "tok/s", "1", "furlong"]))
def test_any_number_can_be_shown(value: float, unit: str) -> None:
    """No value makes the report fail."""
    assert units.quantity(value, unit)
    assert units.pair(value, 1.0, unit)


@given(st.text())
def test_clean_text_has_no_character_that_hides_or_acts(text: str) -> None:
    """Whatever comes in, what goes out is printable, on one line, and bounded."""
    shown = line(text)
    assert shown.replace(units.THIN, "").isprintable()
    assert len(shown) < 600


def test_a_long_log_keeps_its_end() -> None:
    """Of a long log the last lines stay, and it is said that earlier ones are left out."""
    shown = lines("\n".join(f"line {k}" for k in range(1000)))
    assert shown.startswith("(earlier lines left out)\n")
    assert shown.endswith("line 999")


def test_missing_characters_are_counted() -> None:
    """A megabyte in one line is cut in the middle, and the number of characters left out is right."""
    assert "(1048076 characters left out)" in line("x" * 1_048_576)


@pytest.mark.parametrize(
    ("value", "shown"), [(528384.0, "528,384"), (57716.98539435248, "57,716.99"), (-2.5, "−2.5"), (0.333333333333, "0.3333333")]
)
def test_a_count_is_exact_and_a_mean_of_counts_readable(value: float, shown: str) -> None:
    """Whole numbers are told to their last figure, means to as many as anybody reads."""
    assert units.exact(value) == shown


def test_what_counts_has_its_thousands_apart_and_what_only_names_has_not() -> None:
    """Calls, memory and requests are written as in every table; a seed is a name, and has neither separators nor a range."""
    made = [factory.record("a", block, "patched", {}, environment={"block_seed": 1000 + block, "steps": 8200 + block}) for block in (1, 2)]
    told = {name: values for name, values, _ in facts.environment(made)}
    assert told == {"block seed": ("1001", "1002"), "steps": ("8,201 to 8,202",)}
    assert formatting.whole(1024) == "1,024"
    assert formatting.whole("many") == "many"
