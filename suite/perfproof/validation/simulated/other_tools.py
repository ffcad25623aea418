"""The tools in use today, with the same question about the same trials: is the candidate slower?

Each tool is a function of the rounds of both arms, in seconds, shape (processes, rounds), and answers by its own code where that is a
package (`pyperf`, `pytest_benchmark`, `asv`; the extra `validate`), with its own defaults. A tool that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from perfproof.validation.simulated.noise import Floats

Decision = Callable[[Floats, Floats], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool with its command line in words, the package that it needs ("": scipy alone) and its decision."""

    name: str
    package: str
    slower: Decision

    @property
    def installed(self) -> bool:
        """Whether its own code can be called here."""
        return not self.package or importlib.util.find_spec(self.package) is not None


def pyperf(baseline: Floats, candidate: Floats) -> bool:
    """`pyperf compare_to`: one run a process; slower where its t-test over all values is significant and the mean larger."""
    package, compare = importlib.import_module("pyperf"), importlib.import_module("pyperf._compare")
    sides = [compare.CompareData("bench", package.Benchmark([_run(package, process) for process in arm])) for arm in (baseline, candidate)]
    result = compare.CompareResult(*sides)
    return bool(result.significant and result.norm_mean > 1)


def _run(package: Any, values: Floats) -> Any:
    return package.Run(values.tolist(), metadata={"name": "bench", "unit": "second"}, collect_metadata=False)


def pytest_benchmark(baseline: Floats, candidate: Floats) -> bool:
    """`--benchmark-compare-fail=median:5%` over the rounds of all processes."""
    utils = importlib.import_module("pytest_benchmark.utils")
    check = utils.parse_compare_fail("median:5%")
    return bool(check.fails(_statistics(candidate), _statistics(baseline)))


def pytest_benchmark_once(baseline: Floats, candidate: Floats) -> bool:
    """The same over one process of each, as most people run it."""
    return pytest_benchmark(baseline[:1], candidate[:1])


def _statistics(rounds: Floats) -> dict[str, float]:
    found = importlib.import_module("pytest_benchmark.stats").Stats()
    for seconds in rounds.ravel().tolist():
        found.update(seconds)
    return {"median": found.median}


def asv(baseline: Floats, candidate: Floats) -> bool:
    """`asv compare`: worse where its samples differ (Mann-Whitney at .002) and the ratio is beyond its factor, 1.1 unless asked."""
    return _asv(baseline, candidate, 1.1)


def asv_finer(baseline: Floats, candidate: Floats) -> bool:
    """`asv compare --factor 1.02`, the margin that perfproof has."""
    return _asv(baseline, candidate, 1.02)


def _asv(baseline: Floats, candidate: Floats, factor: float) -> bool:
    compare = importlib.import_module("asv.commands.compare")
    compute = importlib.import_module("asv_runner.statistics").compute_stats
    (before, before_stats), (after, after_stats) = (compute(arm.ravel().tolist(), 1) for arm in (baseline, candidate))
    sides = ((before_stats, baseline.ravel().tolist()), (after_stats, candidate.ravel().tolist()))
    return bool(compare._is_result_better(before, after, *sides, factor))


def mann_whitney(baseline: Floats, candidate: Floats) -> bool:
    """As benchstat does: Mann-Whitney at .05 over one value a process, and the larger median."""
    before, after = np.median(baseline, axis=1), np.median(candidate, axis=1)
    return bool(stats.mannwhitneyu(before, after).pvalue < 0.05 and np.median(after) > np.median(before))


def welch(baseline: Floats, candidate: Floats) -> bool:
    """Welch's t-test at .05 over the rounds of all processes, pooled as if they were independent."""
    before, after = baseline.ravel(), candidate.ravel()
    return bool(stats.ttest_ind(before, after, equal_var=False).pvalue < 0.05 and after.mean() > before.mean())


def _tool(name: str, package: str, slower: Decision) -> Tool:
    return Tool(name=name, package=package, slower=slower)


TOOLS = (
    _tool("`pyperf compare_to`", "pyperf", pyperf),
    _tool("`pytest-benchmark`, `median:5%`, one process", "pytest_benchmark", pytest_benchmark_once),
    _tool("`pytest-benchmark`, `median:5%`, all processes", "pytest_benchmark", pytest_benchmark),
    _tool("`asv compare` (factor 1.1)", "asv", asv),
    _tool("`asv compare --factor 1.02`", "asv", asv_finer),
    _tool("Mann-Whitney at .05 (as benchstat)", "", mann_whitney),
    _tool("Welch on pooled rounds at .05", "", welch),
)
