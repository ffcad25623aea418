"""`perfproof run --engine slurm`: submits the blocks in waves of the plan's looks, waits, merges, looks, and submits the next wave.

A wave is one job array. Jobs that were killed or lost are submitted again, three times at most; a whole job is never run twice. Where
this command is interrupted its jobs are cancelled, and the same command goes on from what is there.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.judge import judge_records, spending_of
from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.paired_trials import spoilt_for
from perfproof.analysis.trials.spread_blocks import counted_once
from perfproof.builds.processes.supervised_process import Finished, run_to_end
from perfproof.commands import record_verdicts
from perfproof.executor import AGAIN, held
from perfproof.jobs import merge_folders
from perfproof.jobs.emitted import slurm
from perfproof.jobs.job_list import FOLDER, Job
from perfproof.jobs.plan_jobs import JobsRequest, emission, planned
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, CannotRun
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario

PAUSE = 5.0
"""Seconds between two looks at the queue."""
PATIENCE = 60.0
"""Seconds that a command of Slurm may take."""
SHOWN = 8
"""The most jobs that are named."""
_GONE = "Invalid job id"
_ID = re.compile(r"\d+")


@dataclass(slots=True, kw_only=True)
class Slurm:
    """Slurm's commands; `words` are further options of `sbatch`, such as a partition or an account."""

    words: Sequence[str] = ()
    pause: float = PAUSE
    sleep: Callable[[float], None] = time.sleep
    call: Callable[[Sequence[str]], tuple[Finished, str]] = field(default_factory=lambda: _called)

    def submit(self, script: Path) -> str:
        """Submits a script and returns the number of its array. Raises `CannotRun` with what `sbatch` says where it is refused."""
        done, said = self.call(["sbatch", "--parsable", *self.words, str(script)])
        number = _ID.match(said.strip())
        if not done.ok or number is None:
            raise CannotRun(f"sbatch {done.how}: {said.strip() or 'it said nothing'}")
        return number[0]

    def states(self, array: str) -> Counter[str]:
        """How many tasks of an array are in each state; none once all have ended. Raises `CannotRun` where the queue does not answer."""
        done, said = self.call(["squeue", "--noheader", "--array", "--jobs", array, "--format", "%T"])
        if not done.ok and _GONE not in said:
            raise CannotRun(f"squeue {done.how}: {said.strip()}; the jobs go on, and the same command goes on from what they leave")
        return Counter(said.split()) if done.ok else Counter()

    def cancel(self, array: str) -> None:
        """Cancels what is left of an array."""
        self.call(["scancel", array])


def run(asked: JobsRequest, queue: Slurm, *, report: Path | None, console: Console) -> int:
    """Measures a plan on a Slurm cluster and prints the verdicts; the exit code is that of `perfproof run`, and no pass
    (3) where a block that was submitted never came out whole: what ends a job for good may be the change."""
    plan, jobs = planned(asked)
    results = asked.request.results
    say = _printer(console)
    with held(results / FOLDER):
        open_ones, lost = list(plan.scenarios), dict[str, Job]()
        for blocks in waves(plan):
            for _ in range(1 + AGAIN):
                merged(results, jobs, say)
                if not (wanted := _to_run(open_ones, jobs, results, blocks)):
                    break
                _array(asked, wanted, queue, say)
            merged(results, jobs, say)
            lost |= {job.name: job for job in _to_run(open_ones, jobs, results, blocks)}
            open_ones = _undecided(open_ones, results)
        every = {scenario.name: scenario.most_blocks for scenario in plan.scenarios}
        lost = {job.name: job for job in _to_run(plan.scenarios, jobs, results, every) if job.name in lost}
    if not any(results.glob("*.jsonl")):
        raise CannotRun(f"{results}: no job left a record; their logs are in {results / slurm.LOGS}")
    code = record_verdicts.show(results, console, report, only={scenario.name for scenario in plan.scenarios})
    if lost:
        names = ", ".join(list(lost)[:SHOWN])
        say(f"{number_format.count(len(lost), 'job')} did not end whole ({names}): see {results / slurm.LOGS}")
    return EXIT_UNTESTABLE if lost and code == EXIT_PASS else code


def waves(plan: Plan) -> Iterator[Mapping[str, int]]:
    """The number of blocks of each scenario that must be there at each look of the plan."""
    looks = {scenario.name: _looks(scenario) for scenario in plan.scenarios}
    for number in range(max(map(len, looks.values()))):
        yield {name: own[min(number, len(own) - 1)] for name, own in looks.items()}


def _looks(scenario: Scenario) -> list[int]:
    most = scenario.most_blocks
    return [look.blocks for look in spending_of(scenario).looks if look.blocks < most] + [most]


def unfinished(scenario: Scenario, records: Sequence[Record], blocks: int) -> set[int]:
    """The blocks up to this number that are not whole: an arm is missing, or a rule threw the block out."""
    arms: dict[int, set[str]] = {}
    for record in counted_once([record for record in records if record.scenario == scenario.name]):
        if not spoilt_for(scenario, record):
            arms.setdefault(record.block, set()).add(record.arm)
    whole = {arm.name for arm in scenario.arms}
    again = {scenario.baseline.name} if scenario.again else whole
    return {block for block in range(1, blocks + 1) if not arms.get(block, set()) >= (again if block > 1 else whole)}


def _to_run(scenarios: Sequence[Scenario], jobs: Sequence[Job], results: Path, blocks: Mapping[str, int]) -> list[Job]:
    """The jobs of these scenarios, up to these blocks, that are not whole."""
    records = store.records_in(results)
    wanted = {scenario.name: unfinished(scenario, records, blocks[scenario.name]) for scenario in scenarios}
    return [job for job in jobs if wanted.get(job.scenario, set()) & set(job.blocks)]


def _undecided(scenarios: Sequence[Scenario], results: Path) -> list[Scenario]:
    """The scenarios that the look at a whole wave does not decide: half a wave may lack what only one of its blocks has, such as counts."""
    judged = judge_records(store.records_in(results), final=False, floors=store.read_floors(results))
    decided = {own_name(one.scenario.name) for one in judged if one.stop}
    return [scenario for scenario in scenarios if scenario.name not in decided]


def _array(asked: JobsRequest, jobs: Sequence[Job], queue: Slurm, say: Callable[[str], None]) -> None:
    """Submits these jobs as an array and waits until all its tasks have ended, however they ended."""
    folder = asked.request.results / slurm.LOGS
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "array.sh"
    script.write_text(slurm.script(emission(asked, jobs)))
    array = queue.submit(script)
    say(f"job array {array}: {number_format.count(len(jobs), 'job')}, logs in {folder}")
    shown: Counter[str] = Counter()
    with _cancelled_if_interrupted(queue, array):
        while states := queue.states(array):
            if states != shown:
                ended = len(jobs) - states.total()
                say(f"job array {array}: {', '.join(f'{count} {state.lower()}' for state, count in sorted(states.items()))}, {ended} ended")
                shown = states
            queue.sleep(queue.pause)


@contextlib.contextmanager
def _cancelled_if_interrupted(queue: Slurm, array: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        queue.cancel(array)
        raise


def merged(results: Path, jobs: Sequence[Job], say: Callable[[str], None]) -> None:
    """Joins the folders of the jobs that began."""
    folders = [job.results for job in jobs if any(job.results.glob("*.jsonl"))]
    if folders:
        found = merge_folders.merge(folders, results)
        if found.new:
            say(f"{results}: {found.sentence}")


def _called(words: Sequence[str]) -> tuple[Finished, str]:
    """Runs a command of Slurm, whose jobs take over this command's environment."""
    with tempfile.TemporaryDirectory(prefix="perfproof-") as folder:
        log = Path(folder) / "output"
        done = run_to_end(words, environment=dict(os.environ), log=log, timeout=PATIENCE, folder=Path.cwd())
        return done, log.read_text(errors="replace")


def _printer(console: Console) -> Callable[[str], None]:
    return lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True)
