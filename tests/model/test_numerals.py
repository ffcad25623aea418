"""Numbers of many countries' spreadsheets: one value each, or a doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.base.numerals import MARKS, convention, doubtful, is_number, value


@given(st.integers(100_000, 99_999_999), st.sampled_from(MARKS), st.sampled_from(".,"))
def test_blanks_and_apostrophes_part_thousands(size: int, mark: str, point: str) -> None:
    """As in France, Switzerland and the standard, whatever the decimals."""
    text = f"{size / 100:_.2f}".replace(".", point).replace("_", mark)
    assert is_number(text)
    assert value(text, convention([text])) == pytest.approx(size / 100)


@given(st.integers(1, 999), st.integers(0, 999), st.integers(1, 999), st.integers(0, 999))
def test_a_comma_beside_a_point_in_such_a_place_is_a_doubt(one: int, two: int, three: int, four: int) -> None:
    """7,500 and 7.250 are seven and a half and seven and a quarter, or thousands both: never 7500 and 7.25."""
    texts = [f"{one},{two:03}", f"{three}.{four:03}"]
    assert convention(texts) == ""
    assert doubtful(["7,500", "7.250"]) == "7,500"
    assert doubtful(["1,204,551", "980,221"]) == ""


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("1,001", "991.1"), "point"),
        (("7,5", "1,001"), "comma"),
        (("7,5", "7.25"), "mixed"),
        (("7,5", "7.250"), "mixed"),
        (("1.001,4", "991,1"), "comma"),
        (("991.125", "1001.250"), "point"),
        (("1,001.125", "991,125"), "point"),
        (("12", "13"), ""),
    ],
)
def test_what_one_number_shows_holds_for_all(texts: tuple[str, ...], found: str) -> None:
    """And where two contradict each other, that is said."""
    assert convention(texts) == found


@pytest.mark.parametrize("text", ["1 01", "1 0014", "1_001", "1 001 4", "1'00", "12 34.5", "1 001'002"])
def test_other_blanks_make_no_number(text: str) -> None:
    """Two numbers in one cell are not one."""
    assert not is_number(text)
