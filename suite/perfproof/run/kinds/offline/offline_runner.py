"""Trials without a server: `vllm bench latency` and `vllm bench throughput`, a new process per trial.

In order: each build's own parser checks the flags of its arms, the model is written, and then each trial is one whole run of vLLM's
command: engine start, warm-up, measurement, end. Its output is kept, and its measurements are read from its own JSON. A trial counts only
if its processes proved what they ran and did the work asked for. A run that hangs is ended.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.offline import OFFLINE, OfflineWorkload
from perfproof.model.scenarios.scenario import Arm, Scenario, ToyModel
from perfproof.model.workloads.parallelism import parallelism
from perfproof.run.checks import catalog
from perfproof.run.host import telemetry
from perfproof.run.kinds.offline.offline_result import (
    UNCOUNTED,
    OfflineResult,
    latency_fault,
    made_by,
    read_latency,
    read_throughput,
    throughput_fault,
)
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import Running, tail
from perfproof.run.servers.bench_client import Client, client_faults, flags, meant
from perfproof.run.servers.flag_validation import parser_of
from perfproof.run.servers.launch_spec import PREFIX_CACHE, ModelAt, flags_of, model_faults, server_environment
from perfproof.run.servers.server import resident
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ModelProcessRunner
from perfproof.run.trials.trial_run import LOG_LINES, TrialRun, cause_of, looks

OURS = frozenset(["model", "tokenizer", "output-json", "seed", "profile"])
"""Flags that the suite sets itself."""
WORK = frozenset(
    [
        *("--input-len", "--output-len", "--batch-size", "--n", "--use-beam-search", "--num-iters", "--num-iters-warmup"),
        *("--disable-detokenize", "--backend", "--num-prompts", "--num-warmups", "--no-oversample", "--enable-multimodal-chat"),
        *("--dataset", "--dataset-name", "--dataset-path", "--custom-output-len", "--hf-subset", "--hf-split", "--hf-name", "--prefix-len"),
        *("--hf-output-len", "--sharegpt-output-len", "--sonnet-input-len", "--sonnet-output-len", "--sonnet-prefix-len"),
        *("--random-input-len", "--random-output-len", "--random-range-ratio", "--random-prefix-len", "--random-batch-size"),
        *("--prefix-repetition-prefix-len", "--prefix-repetition-suffix-len", "--prefix-repetition-num-prefixes"),
        *("--prefix-repetition-output-len", "--asr-min-audio-len-sec", "--asr-max-audio-len-sec"),
    ]
)
"""Flags of vLLM's two commands that define the work: no arm may have its own."""
PRINTED = 400
"""Lines at the end of a log that hold the printed count of tokens: the engine's last messages come after it."""
LATENCY_IDS = 10_000
"""`vllm bench latency` uses token ids below this, whatever the model's vocabulary."""


def scenario_faults(scenario: Scenario) -> list[str]:
    """The faults of an offline scenario that show before anything is made, one sentence each."""
    workload = workload_of(scenario)
    faults = [fault.replace(".client.", ".arguments.") for fault in client_faults("workload", workload.arguments, ours=OURS)]
    for arm in scenario.arms:
        where, given = f"arms.{arm.name}.server_arguments", flags_of(arm.server_arguments)
        faults += [f"{where}: {flag} is set by the suite" for flag in meant(given, {f"--{name}" for name in OURS})]
        faults += [
            f"{where}: {flag} changes the work, which must be the same in all arms: set it under workload.arguments"
            for flag in meant(given, WORK)
        ]
    faults += [f"workload.{fault}" for fault in model_faults(workload.model)]
    if isinstance(workload.model, ToyModel):
        if workload.bench == "latency" and workload.model.vocabulary < LATENCY_IDS:
            faults.append(f"workload.model.vocabulary: the latency benchmark uses ids up to {LATENCY_IDS}, got {workload.model.vocabulary}")
        if workload.model.pools:
            faults.append(f"workload.model.toy: a {workload.model.toy} generates nothing; an offline workload needs a model that does")
    return [f"{scenario.source}: {fault}" for fault in faults]


def workload_of(scenario: Scenario) -> OfflineWorkload:
    """The scenario's workload; `TypeError` for one that is not offline."""
    return OfflineWorkload.of(scenario.workload)


def arguments_for(workload: OfflineWorkload, arm: Arm, model: ModelAt, *, seed: int, result: Path) -> list[str]:
    """The words after `vllm bench latency` or `throughput`. The prefix cache is off unless the scenario sets it."""
    flags_given = [*flags(workload.arguments), *arm.server_arguments]
    cache = [] if flags_of(flags_given) & PREFIX_CACHE else ["--no-enable-prefix-caching"]
    defaults = [word for word in model.arguments if word.partition("=")[0] not in flags_of(flags_given)]
    return [f"--model={model.name}", f"--seed={seed}", f"--output-json={result}", *defaults, *cache, *flags_given]


class OfflineRunner(ModelProcessRunner[OfflineWorkload]):
    """Runs the trials of one offline scenario, each in its own process."""

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def check(self) -> None:
        """Checks that the hub has the model, and has the parser of every arm's build check its flags.

        Raises `BadInput` if one of them refuses, `CannotRun` where the hub does not answer.
        """
        faults = self.hub_faults(flags(self.workload.arguments))
        builds = {build.id: build for build in map(self._build, self.scenario.arms)}
        with contextlib.ExitStack() as stack:
            clients = {
                name: stack.enter_context(contextlib.closing(parser_of(build, self._model, self._logs))) for name, build in builds.items()
            }
            for arm in self.scenario.arms:
                if fault := self._refused(arm, clients[self._build(arm).id]):
                    faults.append(f"{self.scenario.source}: arms.{arm.name}: {fault}")
        if faults:
            raise BadInput(*faults)

    def _refused(self, arm: Arm, client: Client) -> str:
        """Why the parser does not take the arm's flags. If a candidate's build has no parser to ask, its trials will fail."""
        words = arguments_for(self.workload, arm, self._model, seed=0, result=Path("result.json"))
        try:
            return client.fault(words, self.workload.bench)
        except CannotRun:
            if arm.build == self.scenario.baseline.build:
                raise
            return ""

    def _attempt(self, trial: TrialRun) -> None:
        """Runs vLLM's command once and judges whether its measurement counts."""
        build, result, attests = self._build(trial.arm), self._folder("result") / "result.json", self._folder("attest")
        trial.environment["block_seed"] = trial.block.seed
        words = arguments_for(self.workload, trial.arm, self._model, seed=trial.block.seed, result=result)
        variables = server_environment(build, trial.arm, self.workload, offline=self._model.offline, attests=attests, watch=self.watch)
        recorded_words = [word for word in words if not word.startswith("--output-json")]
        command = [build.interpreter, "-m", "vllm.entrypoints.cli.main", "bench", self.workload.bench, *words]
        quiet, sampler = telemetry.read(), telemetry.Sampler()
        with self._start(trial, command, variables, ["bench", self.workload.bench, *recorded_words]) as running:
            peak = self._wait(trial.arm, running, sampler)
        trial.environment |= telemetry.meanwhile(quiet, sampler)
        trial.warnings += telemetry.warnings(trial.environment)
        trial.attestation = attestation.read(attests, build, trial.arm)
        if running.poll() != 0 or not result.exists():
            trial.process_died(running, cause_of(running, attests) or raised(tail(running.log, LOG_LINES)))
            return
        measured = self._read(result)
        self._take(trial, measured, peak, running.seconds)
        fault = self._other_lengths(trial, measured, words, tail(running.log, PRINTED))
        if trial.prove(build) and fault:
            trial.status, trial.reason = "invalid", fault

    def _other_lengths(self, trial: TrialRun, measured: OfflineResult, words: Sequence[str], log: str) -> str:
        """Why outputs were not as long as asked for; "" if they were. Uncounted tokens are a warning; counted ones are part of the work."""
        if self.workload.bench == "latency":
            together = parallelism(self.workload, trial.arm.server_arguments).per_step
            steps = sum(trial.attestation.workers if trial.attestation else ()) // together
            trial.warnings += [] if steps else [UNCOUNTED]
            return latency_fault(measured, self.workload, words, steps)
        made = made_by(log)
        trial.warnings += [UNCOUNTED] if made is None else []
        trial.work |= {} if made is None else {"output_tokens": made}
        return throughput_fault(measured, self.workload, made)

    def _take(self, trial: TrialRun, measured: OfflineResult, peak: int, lived: float) -> None:
        """Puts the measurements into the trial; the process lived `lived` seconds and held at most `peak` bytes."""
        trial.measurements |= {**measured.measurements, **({"peak_memory": float(peak)} if peak else {})}
        trial.raw |= measured.raw
        trial.work |= measured.work
        trial.warnings += measured.warnings
        trial.seconds |= {"measuring": measured.seconds, "engine start and end": lived - measured.seconds}

    def _read(self, result: Path) -> OfflineResult:
        """Reads vLLM's result file; raises `CannotRun` for content that this command is not known to write."""
        read = read_latency if self.workload.bench == "latency" else read_throughput
        try:
            return read(json.loads(result.read_text()), self.workload, self.scenario.profile)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            raise CannotRun(f"the file of 'vllm bench {self.workload.bench}' can't be read: {type(error).__name__}: {error}") from error

    def _wait(self, arm: Arm, running: Running, sampler: telemetry.Sampler) -> int:
        """Waits for the process and samples the machine; returns the most memory that its processes held, in bytes."""
        peak = 0
        for _ in looks(running, self.say, f"arm {arm.name}: 'vllm bench {self.workload.bench}' runs"):
            sampler.look()
            peak = max(peak, resident(running.processes()))
        return peak


def raised(log: str) -> str:
    """The last exception that a log names at the start of a line: vLLM's engine prints much while it ends, but not why."""
    exceptions = re.findall(r"^(?:\(\w+ pid=\d+\) )?((?:\w+\.)*\w*(?:Error|Exception|Refused): .+)$", log, re.MULTILINE)
    return str(exceptions[-1])[:300] if exceptions else ""


RUNNER = RunnerKind(kind=OFFLINE, faults=scenario_faults, open=one_each(OfflineRunner, catalog.watched))
