"""Trials that count: a process a trial, in which engines go through the features of the workload.

In order: the model is written, the process counts feature by feature, and a trial counts only if its processes proved what they ran. The
first block's counts are those of one process of each arm; where arms differ, a second block confirms it in another.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.engine import ENGINE, EngineWorkload
from perfproof.model.records.count_lines import read_count
from perfproof.model.records.count_tables import TOLD, keep_table
from perfproof.model.records.counts import Count
from perfproof.model.scenarios.metrics import base_name
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.checks import catalog
from perfproof.run.kinds.engine.engine_result import calls_of, result_of
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import arm_variables, build_environment
from perfproof.run.trials.engine_counting import ENGINE as LONGEST
from perfproof.run.trials.engine_counting import QUIET, order_for
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ProcessRunner
from perfproof.run.trials.trial_run import TrialRun, cause_of, looks

SET = frozenset([*QUIET, "PYTHONHASHSEED", "OMP_NUM_THREADS"])
"""Variables that counting needs as they are."""


def scenario_faults(scenario: Scenario) -> list[str]:
    """What is wrong with a scenario, as far as can be seen before anything is made; one sentence each."""
    return [
        f"{scenario.source}: arms.{arm.name}.environment.{name}: counting sets it itself; leave it out"
        for arm in scenario.arms
        for name in sorted(SET & arm.environment.keys())
    ]


def workload_of(scenario: Scenario) -> EngineWorkload:
    """The scenario's workload; `TypeError` for one of another kind."""
    return EngineWorkload.of(scenario.workload)


class EngineRunner(ProcessRunner[EngineWorkload]):
    """Runs the trials of one engine scenario; nothing is kept alive between them."""

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def check(self) -> None:
        """Nothing: what a release does not know, its trial tells."""

    def _attempt(self, trial: TrialRun) -> None:
        """Counts once, and judges whether that counts."""
        build, result, attests = self._build(trial.arm), self._folder("result") / "counted.jsonl", self._folder("attest")
        models = self._build(self.scenario.baseline).side.parent / "models"
        order = self._folder("order") / "order.json"
        untimed = not self.workload.timed and not self.workload.long  # of long outputs it would leave out waves that are counted, too
        order.write_text(json.dumps(order_for(models, self.workload.cells, (), order.parent, confirms=untimed)))
        command: Sequence[str | Path] = [build.interpreter, build.child / "engine" / "run.py", order, result]
        with self._start(trial, command, self._environment(build, trial.arm, attests), []) as running:
            longest = LONGEST * len(self.workload.features)
            for _ in looks(running, self.say, f"arm {trial.arm.name} is counted", longest):
                pass
        trial.seconds["counting"] = running.seconds
        trial.attestation = attestation.read(attests, build, trial.arm)
        count = self._count(result)
        if count.refused:
            trial.failed(f"arm {trial.arm.name}: vLLM does not import: {count.refused}")
        elif running.poll() != 0 or not count.vllm:
            trial.process_died(running, cause_of(running, attests))
        else:
            self._take(trial, count, result)

    def _count(self, result: Path) -> Count:
        try:
            return read_count(result)
        except BadInput as error:
            raise CannotRun("; ".join(error.faults)) from error

    def _take(self, trial: TrialRun, count: Count, result: Path) -> None:
        """What was counted, and whether its processes proved what they ran. A feature that failed is named; all that did is a
        failure."""
        found = result_of(count, {base_name(choice.name) for choice in self.scenario.metrics})
        trial.witnesses |= found.witnesses
        trial.work["output_tokens"] = found.tokens
        name = f"{self.scenario.name}-{trial.arm.name}-{trial.block.number}"
        trial.environment |= {TOLD: {**found.told, "table": keep_table(result.read_text(), self.results, name)}}
        trial.warnings += [f"{one.feature}: {'skipped' if one.kind == 'unknown' else 'failed'}: {one.why}" for one in count.left_out]
        if trial.attestation is not None:
            called = {f"calls {target}": calls for target, calls in calls_of(count, self.watch)}
            trial.attestation = dataclasses.replace(trial.attestation, counts={**called, **trial.attestation.counts})
        if trial.prove(self._build(trial.arm)) and not count.cells:
            trial.failed(f"arm {trial.arm.name}: no feature was counted: {'; '.join(one.why for one in count.left_out)}")

    def _environment(self, build: ReadyBuild, arm: Arm, attests: Path) -> Mapping[str, str]:
        variables = arm_variables(arm, attest=attests, watch=self.watch)
        return {**build_environment(build, arm, threads=1), **variables, **QUIET}


RUNNER = RunnerKind(kind=ENGINE, faults=scenario_faults, open=one_each(EngineRunner, catalog.watched))
