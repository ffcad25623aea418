"""What the builds of a tracked folder count, release by release: the table, and the functions behind each step.

Rounds of microbenchmarks are in `round_history`; here are engines, feature by feature. Only records and their tables are read. Builds come
in the order of their versions; each is compared with the one before it, and the numbers are those of one process a build, exact.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from packaging.version import Version

from perfproof import store
from perfproof.analysis.counts.count_comparison import Changed, Compared, Comparisons, compare
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.history.upstream_notes import load_upstream
from perfproof.model.records.count_tables import TABLES, read_table
from perfproof.model.records.counts import Count, Metric, numbers_of
from perfproof.model.scenarios.scenario import COUNT_MARGIN
from perfproof.report.history import round_markdown
from perfproof.report.history.count_markdown import Cell, Counted, Step, render
from perfproof.tracking import round_history

METRIC: Metric = "python_instructions"
TABLE = ".jsonl.gz"
"""How the name of an engine's table ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """A build with what it counted, and its version as its processes attested it."""

    build: str
    version: str
    count: Count


def show(folder: Path, *, margin: float = COUNT_MARGIN, top: int = 5, steps: int = 10, history: Path | None = None) -> int:
    """Prints the history of the counts below a folder as markdown, of engines and of microbenchmarks: `top` functions a step, the largest
    `steps`; `history` is the folder whose known changes of vLLM stand beside steps of microbenchmarks. Raises `BadInput` where there are
    no counts."""
    rounds = round_history.tracked_rounds(folder)
    if rounds.builds:
        upstream = load_upstream(history) if history is not None else ()
        found = list(round_history.steps(rounds, margin, upstream))
        builds = [one.build for one in rounds.builds]
        print(round_markdown.render(builds, list(round_history.rows(rounds)), found, top=top, most=steps), end="")
    if not rounds.builds or any(folder.rglob(f"{TABLES}/*{TABLE}")):
        named = [dataclasses.replace(one, build=line(one.build, 80)) for one in tracked(folder)]
        print(render([_counted(one) for one in named], list(steps_between(named, margin)), top=top, most=steps), end="")
    return EXIT_PASS


def tracked(folder: Path) -> list[Tracked]:
    """The builds of a tracked folder, in the order of their versions. Raises `BadInput` for a folder without counts, and for tables that
    are not there or are not what their records saw."""
    found: dict[str, Tracked] = {}
    for path in sorted({table.parent.parent for table in folder.rglob(f"{TABLES}/*{TABLE}")}):
        for record in latest(store.records_in(path)):
            table = read_table(path, record) if counts(record) else None
            if table is not None:
                build = str(record.environment.get("build") or record.arm)
                found.setdefault(build, Tracked(build=build, version=table.vllm, count=table))
    if not found:
        raise BadInput(
            f"{folder}: holds no counts; 'perfproof track scenarios/engine_host_cost.yaml --builds LIST --results {folder}' makes some"
        )
    return sorted(found.values(), key=lambda one: (_version(one.version), one.build))


def _version(text: str) -> Version:
    try:
        return Version(text)
    except ValueError:
        return Version("0")


def steps_between(builds: Sequence[Tracked], margin: float) -> Iterator[Step]:
    """Every change of instructions beyond the margin from one build to the next, with the functions behind it."""
    for before, after in pairwise(builds):
        found = compare(before.count, after.count, margin=margin)
        yield from (_step(before, after, one) for one in found.compared if one.metric == METRIC and one.verdict in ("regressed", "less"))


def _step(before: Tracked, after: Tracked, one: Compared) -> Step:
    return Step(
        before=before.build,
        after=after.build,
        cell=Cell(feature=one.feature, phase=one.phase, requests=one.requests),
        base=one.baseline,
        candidate=one.candidate,
        functions=tuple((line(changed.name, 160), changed.change) for changed in one.changed),
    )


def behind(found: Comparisons, feature: str, phase: str, requests: int) -> tuple[Changed, ...]:
    """The functions behind the change of one case, the worst first."""
    where = (feature, phase, requests, METRIC)
    return next((one.changed for one in found.compared if (one.feature, one.phase, one.requests, one.metric) == where), ())


def _counted(one: Tracked) -> Counted:
    numbers = {
        Cell(feature=cell.feature, phase=phase, requests=cell.requests): sum(
            value for name, value in numbers_of(work, METRIC).items() if name not in work.odd
        )
        for cell in one.count.cells
        for phase, work in cell.phases.items()
    }
    return Counted(build=one.build, numbers=numbers, left_out=tuple(dict.fromkeys(gone.feature for gone in one.count.left_out)))
