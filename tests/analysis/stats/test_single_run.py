"""One run a side: what it could have seen for a scatter that others can judge, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from perfproof.analysis.stats import single_run


@pytest.mark.parametrize("scatter", [0.01, 0.05])
def test_what_is_called_unseen_is_missed_one_time_in_five(scatter: float) -> None:
    """Two runs that scatter by so much, a change just as large as said: beyond the noise's 98 % in four cases of five."""
    source = np.random.default_rng(1)
    first, second = np.log1p(scatter) * source.standard_normal((2, 200_000))
    noise = np.quantile(np.abs(second - first), 0.98)
    seen = np.mean(np.log1p(single_run.unseen(scatter)) + second - first > noise)
    assert seen == pytest.approx(0.8, abs=0.01)
    assert single_run.most_scatter(np.exp(noise)) == pytest.approx(scatter, rel=0.02)


def test_direction_does_not_matter() -> None:
    """Twice and half are as far from one; no change is noise at any scatter."""
    assert single_run.most_scatter(2.0) == pytest.approx(single_run.most_scatter(0.5))
    assert single_run.most_scatter(1.0) == 0.0
