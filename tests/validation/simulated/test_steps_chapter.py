"""The chapter on steps in its short form, and the detectors that it asks."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from perfproof.validation.simulated.step_detectors import Detector, otava, pelt, perfproof
from perfproof.validation.simulated.steps_chapter import steps


@pytest.mark.parametrize("detector", [perfproof, lambda values: otava(values, 0.001), lambda values: pelt(values, 3)])
def test_every_detector_tells_a_plain_rise_and_nothing_of_a_constant(detector: Detector) -> None:
    """Each tool, by its own code, tells a large rise at its place and its direction; one that is not installed is skipped."""
    try:
        quiet = detector(np.full(40, 5.0))
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed (`make validate` does)")
    assert quiet == []
    values = np.exp(0.01 * np.random.default_rng(1).standard_normal(60)) * np.repeat([1.0, 1.5], 30)
    assert detector(values) == [(30, "rise")]


def test_the_chapter_is_made_whole_in_its_short_form() -> None:
    """Every part has its table, and every promise its figure; what is not installed is said to be left out."""
    chapter = steps(1, 40)
    assert chapter.title == "Steps of a series"
    assert ("is not installed" in chapter.text) is (importlib.util.find_spec("otava_test_data") is None)
    assert len(chapter.targets) >= 2
    assert all(target.measured for target in chapter.targets)
