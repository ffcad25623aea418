"""What is drawn of the inside of trials and of swept sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.report.base.page_model import SpreadView
from perfproof.report.figures import density, distributions, plot_layout, plots
from tests.report import factory


@given(st.lists(st.floats(min_value=1e-9, max_value=1e9), min_size=1, max_size=200))
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    """Quantiles are interpolated as numpy does it by default."""
    assert distributions.quantiles(values) == pytest.approx(np.quantile(values, distributions.LEVELS).tolist())


def test_growth_is_told_of_swept_sizes() -> None:
    """A metric measured at several sizes gets one growth view with the geometric means and the exponent in words."""
    view = factory.page(factory.thinking()).scenarios[0].growths[0]
    assert (view.name, view.parameter, view.sizes) == ("round time", "output length", (1000.0, 4000.0, 16000.0))
    assert all("is linear in output length" in told for told in view.words)
    assert view.costs[0][2] / view.costs[0][0] == pytest.approx(16, rel=0.02)


def test_invalid_trials_are_in_no_curve() -> None:
    """Distributions are drawn of valid trials alone."""
    spread = factory.page(factory.penalties()).scenarios[0].spreads[0]
    assert [len(arm) for arm in spread.curves] == [10, 9]


@given(st.floats(-0.999, 5), st.floats(1e-4, 3))
def test_axes_have_round_marks_within_their_ends(low: float, width: float) -> None:
    """Marks on the axis of changes lie within it and are round numbers."""
    high = low + width
    for change in plot_layout.nice_changes(low, high):
        assert low - 1e-6 <= change <= high + 1e-6


@pytest.mark.parametrize(("low", "high"), [(-0.41, 3.0), (-0.7, 0.02), (-0.6, 1.9)])
def test_an_axis_of_ratios_has_marks_enough_to_be_read_as_one(low: float, high: float) -> None:
    """Steps between marks show that the axis is one of ratios; with a mark at zero and one other alone it would be taken for linear."""
    assert len(plot_layout.nice_changes(low, high)) >= 3


def test_marks_of_a_wide_axis_are_powers_of_ten() -> None:
    """A hundredfold change is marked at 0, −90 and −99 per cent."""
    found = plot_layout.nice_changes(-0.992, 0.2)
    assert [round(math.log10(1 + change)) for change in found] == [-2, -1, 0]


def test_a_density_is_drawn_for_every_trial_and_holds_no_needle() -> None:
    """Each trial has its curve, the middle one of an arm a filled one; equal values, and values far apart, make a figure too."""
    for values in ([1.0, 1.1, 1.2, 1.4] * 5, [2.0] * 20, [1e-4, 1e-3, 1e-2, 1.0] * 5):
        curve = distributions.quantiles(values)
        view = SpreadView(name="ttft", unit="s", curves=((curve, curve), (curve,)))
        svg = density.spread(view, ["before", "after"], "d1")
        assert svg.count("clip-path") >= 3 + 2
        assert "nan" not in svg
    assert "Where the values of TTFT lie" in density.spread(SpreadView(name="ttft", unit="s", curves=((), ())), ["a", "b"], "d2")


def test_the_load_lies_beneath_its_trials() -> None:
    """Each trial of the two arms has its load at its own place; a figure without readings has no second axis."""
    scenario = factory.page(factory.watched(factory.penalties())).scenarios[0]
    row = scenario.primaries[0]
    load = next(signal for signal in scenario.signals if signal.name == "load")
    found = plot_layout.loads(row, scenario.trials, load)
    assert [x for x, _, _ in found] == [dot.x for dot in plot_layout.place(row, scenario.trials)]
    assert all(low <= high for _, low, high in found)
    assert ">load<" in plots.trials(row, scenario.trials, "f", "s", 1, load, 2)
    assert plot_layout.loads(row, scenario.trials, None) == []
    assert ">load<" not in plots.trials(row, scenario.trials, "f", "s", 1)
