"""Trials whose answers are compared: one process per arm answers the same prompts in the same batches.

In order: the model is written. In the first process of a build, before the engine starts, vLLM's own parser checks the flags of all its
arms. Each trial is one process that answers everything. The record keeps the answers token by token, because the comparison is made from
records alone. It refuses a trial that did not prove what it ran, left prompts unanswered, or answered with NaN or infinite values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.equality.equality_document import EQUALITY
from perfproof.model.kinds.equality.equality_workload import PASSAGE as OURS_TEXT
from perfproof.model.kinds.equality.equality_workload import EqualityWorkload
from perfproof.model.kinds.equality.said_column import SAID, column_of
from perfproof.model.scenarios.metrics import Part
from perfproof.model.scenarios.scenario import Arm, Scenario, ToyModel
from perfproof.run.checks import catalog
from perfproof.run.models import prompt_dataset
from perfproof.run.models.perplexity_text import PASSAGE, paragraphs
from perfproof.run.processes import attestation, model_infos
from perfproof.run.processes.env_vars import of_caches
from perfproof.run.servers.bench_client import flags, meant
from perfproof.run.servers.launch_spec import PREFIX_CACHE, ModelAt, flags_of, model_faults, server_environment
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ModelProcessRunner
from perfproof.run.trials.trial_run import TrialRun, cause_of, looks

OURS = frozenset(["--model", "--seed", "--runner"])
"""Flags that the suite sets itself."""
MODE = "--logprobs-mode"
"""The default takes logprobs after penalties and sampling parameters, so that a fault there shows even if no token changes."""
ENGINE_INSIDE: Mapping[str, str] = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_WAIT_POLICY": "PASSIVE"}
"""The engine runs in the child's process: all prompts are queued before the first step, so batches don't depend on when prompts arrive. Its
threads wait for one another without spinning, which takes a tenth of the time on a busy machine."""
INVARIANT: Mapping[str, str] = {"VLLM_BATCH_INVARIANT": "1"}
"""Kernels whose results don't depend on the batch; vLLM has them on GPUs."""

EAGER, CACHE = "--enforce-eager", "VLLM_CACHE_ROOT"
"""With `--enforce-eager` nothing is compiled, so all arms share the build's cache; without it, each set of patches has its own."""


def workload_of(scenario: Scenario) -> EqualityWorkload:
    """The scenario's workload; `TypeError` for one that compares no answers."""
    return EqualityWorkload.of(scenario.workload)


def parts_of(scenario: Scenario) -> tuple[Part, ...]:
    """The parts to run: the scenario's metrics."""
    return tuple(cast(Part, choice.name) for choice in scenario.metrics)  # the document accepts no others


def scenario_faults(scenario: Scenario) -> list[str]:
    """The faults of an equality scenario that show before anything is made, one sentence each."""
    workload, parts = workload_of(scenario), parts_of(scenario)
    words = {
        "workload.arguments": flags(workload.arguments),
        **{f"arms.{a.name}.server_arguments": a.server_arguments for a in scenario.arms},
    }
    faults = [f"{where}: {flag} is set by the suite" for where, arguments in words.items() for flag in meant(flags_of(arguments), OURS)]
    faults += [f"workload.{fault}" for fault in model_faults(workload.model)]
    if isinstance(workload.model, ToyModel) and workload.model.pools != ("embeddings" in parts):
        faults.append(f"metrics: a {workload.model.toy} {'gives embeddings only' if workload.model.pools else 'gives no embeddings'}")
    if "embeddings" in parts and len(parts) > 1:
        faults.append("metrics.embeddings: a model that gives embeddings gives nothing else; put the other metrics into another scenario")
    if {"greedy_outputs", "sampled_outputs"} & {*parts} and workload.dataset.output_tokens is None:
        faults.append("workload.dataset.output_tokens: is missing: the least and the most tokens of an answer")
    if "sampled_outputs" in parts and not workload.sampled:
        faults.append("workload.sampled: is missing: temperature, top_k and so on of the sampled answers")
    if "text_perplexity" in parts and not workload.text.strip():
        faults.append(f"workload.text: is missing: the text whose perplexity is measured, or {OURS_TEXT} for the suite's own")
    return [f"{scenario.source}: {fault}" for fault in faults]


def arguments_for(workload: EqualityWorkload, arm: Arm, model: ModelAt, *, seed: int, pooling: bool) -> list[str]:
    """The words for vLLM's parser of engine arguments. The prefix cache is off unless the scenario sets it."""
    flags_given = [*flags(workload.arguments), *arm.server_arguments]
    given = flags_of(flags_given)
    defaults = [word for word in model.arguments if word.partition("=")[0] not in given]
    cache = [] if given & PREFIX_CACHE else ["--no-enable-prefix-caching"]
    mode = [] if pooling or MODE in given else [f"{MODE}=processed_logprobs"]
    runner = ["--runner=pooling"] if pooling else []
    return [f"--model={model.name}", f"--seed={seed}", *runner, *defaults, *cache, *mode, *flags_given]


def order_for(scenario: Scenario, arm: Arm, model: ModelAt, seed: int) -> dict[str, Any]:
    """The order for the child. Arms differ in the engine's arguments, and in the arguments of all arms of the build, which its parser
    checks."""
    workload, parts = workload_of(scenario), parts_of(scenario)
    pooling = "embeddings" in parts
    lines = list(prompt_dataset.lines(workload.dataset, workload.prompts, seed))
    greedy = [_parameters(workload, line, number, seed) | {"temperature": 0.0} for number, line in enumerate(lines)]
    sampled = [one | _in_turn(workload.sampled, number) for number, one in enumerate(greedy)]
    alike = [each for each in scenario.arms if each.build == arm.build]
    return {
        "arguments": arguments_for(workload, arm, model, seed=seed, pooling=pooling),
        "checked": {each.name: arguments_for(workload, each, model, seed=seed, pooling=pooling) for each in alike},
        "parts": list(parts),
        "prompts": [line["prompt"] for line in lines],
        "sampling": greedy,
        "sampled": sampled,
        "paragraphs": paragraphs(PASSAGE if workload.text == OURS_TEXT else workload.text),
    }


def _parameters(workload: EqualityWorkload, line: Mapping[str, Any], number: int, seed: int) -> dict[str, Any]:
    length = {"max_tokens": line["output_tokens"]} if "output_tokens" in line else {}
    return {**_in_turn(workload.sampling, number), **length, "seed": seed % 2**31 + number}


def _in_turn(parameters: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The parameters of one prompt: of a list of values, prompts take one after the other."""
    return {name: value[number % len(value)] if isinstance(value, tuple) else value for name, value in parameters.items()}


def answers_of(answer: Mapping[str, Any], order: Mapping[str, Any]) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The child's answer as `raw` (every part's lists joined, with their lengths) and `work` (what arms must share).

    Raises `CannotRun` for unanswered prompts, and for NaN or infinite values.
    """
    raw: dict[str, list[float]] = {}
    work: dict[str, int] = {}
    for part in order["parts"]:
        prompts = len(order["paragraphs"] if part == "text_perplexity" else order["prompts"])
        for name, rows in answer["parts"][part].items():
            if len(rows) != prompts:
                raise CannotRun(f"{part}: {len(rows)} answers for {prompts} prompts")
            if name == SAID:
                raw[f"{part}.{SAID}"] = column_of(rows)
                continue
            for number, row in enumerate(rows):
                if (bad := next((place for place, value in enumerate(row) if not math.isfinite(value)), None)) is not None:
                    raise CannotRun(
                        f"{part}: {name} of prompt {number} hold a value that is not a number (NaN or infinite), first at {bad}"
                    )
            raw[f"{part}.{name}"] = [value for row in rows for value in row]
        lengths = [len(row) for row in next(iter(answer["parts"][part].values()))]
        raw[f"{part}.lengths"] = [float(length) for length in lengths]
        work |= {f"{part} prompts": prompts, f"{part} values" if part == "embeddings" else f"{part} tokens": sum(lengths)}
    return raw, work


class EqualityRunner(ModelProcessRunner[EqualityWorkload]):
    """Runs the trials of one equality scenario, each in its own process. Prompts and sampling are the same in every block.

    A trial raises `BadInput` where vLLM's parser refuses an arm's flags.
    """

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def check(self) -> None:
        """Raises `BadInput` where the hub does not have the model, `CannotRun` where it does not answer.

        Flags need no process here: in a build's first trial its parser checks the flags of all its arms before the engine starts.
        """
        if missing := self.hub_faults(flags(self.workload.arguments)):
            raise BadInput(*missing)

    def _attempt(self, trial: TrialRun) -> None:
        """Runs the process once and judges whether its answer counts."""
        build, folder, attests = self._build(trial.arm), self._folder("order"), self._folder("attest")
        order_file, result = folder / "order.json", folder / "result.json"
        order = order_for(self.scenario, trial.arm, self._model, self.seed)
        order_file.write_text(json.dumps(order))
        command = [build.interpreter, build.child / "equality.py", order_file, result]
        environment = self._environment(build, trial.arm, attests)
        model_infos.share(build, environment)
        with self._start(trial, command, environment, order["arguments"]) as running:
            for _ in looks(running, self.say, f"arm {trial.arm.name} answers prompts"):
                pass
        trial.attestation = attestation.read(attests, build, trial.arm)
        answer: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {"fault": cause_of(running, attests)}
        if answer.get("refused"):
            raise BadInput(f"{self.scenario.source}: {answer['fault']}")
        if "parts" not in answer:
            trial.process_died(running, answer["fault"])
            return
        trial.seconds |= answer["seconds"]
        raw, work = answers_of(answer, order)
        trial.raw |= raw
        trial.work |= work
        trial.prove(build)

    def _environment(self, build: ReadyBuild, arm: Arm, attests: Path) -> dict[str, str]:
        variables = server_environment(build, arm, self.workload, offline=self._model.offline, attests=attests, watch=self.watch)
        invariant = INVARIANT if build.fingerprint.device == "cuda" else {}
        shared = EAGER in flags_of([*flags(self.workload.arguments), *arm.server_arguments]) and CACHE not in arm.environment
        return {**invariant, **ENGINE_INSIDE, **variables, **({CACHE: of_caches(build)[CACHE]} if shared else {})}


RUNNER = RunnerKind(kind=EQUALITY, faults=scenario_faults, open=one_each(EqualityRunner, catalog.watched))
