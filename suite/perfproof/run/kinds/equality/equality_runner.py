"""Trials whose answers are compared: one process an arm, which answers the same prompts in the same batches.

In order: the model is written, every arm's flags are checked by vLLM's own parser in the first process of its build before the engine
starts, and each trial is one process that answers everything. Answers are kept with the record, token by token, for the comparison is made
from records alone. What this refuses: a trial that did not prove what it ran, that answered less than it was asked, or with numbers
that are none.
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
from perfproof.model.scenarios.metrics import Part
from perfproof.model.scenarios.scenario import Arm, Scenario, ToyModel
from perfproof.run.checks import catalog
from perfproof.run.models import prompt_dataset
from perfproof.run.models.perplexity_text import PASSAGE, paragraphs
from perfproof.run.processes import attestation
from perfproof.run.processes.env_vars import of_caches
from perfproof.run.servers.bench_client import flags, meant
from perfproof.run.servers.launch_spec import PREFIX_CACHE, ModelAt, flags_of, model_faults, server_environment
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ModelProcessRunner
from perfproof.run.trials.trial_run import TrialRun, cause_of, looks

OURS = frozenset(["--model", "--seed", "--runner"])
"""Flags that the suite sets itself."""
MODE = "--logprobs-mode"
"""Unsaid, logprobs are taken after penalties and sampling parameters: what a fault there does is seen though no token changes."""
ENGINE_INSIDE: Mapping[str, str] = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_WAIT_POLICY": "PASSIVE"}
"""The engine in the process that asks: every prompt is there before the first step, so batches don't depend on when prompts arrive. Its
threads wait for one another without spinning: on a machine that is not alone that takes a tenth of the time."""
INVARIANT: Mapping[str, str] = {"VLLM_BATCH_INVARIANT": "1"}
"""Kernels whose results don't depend on the batch, where vLLM has them: on GPUs."""

EAGER, CACHE = "--enforce-eager", "VLLM_CACHE_ROOT"
"""With the one nothing is compiled, so that all arms may share the build's other; without, each set of patches has its own."""


def workload_of(scenario: Scenario) -> EqualityWorkload:
    """The scenario's workload; `TypeError` for one that compares no answers."""
    return EqualityWorkload.of(scenario.workload)


def parts_of(scenario: Scenario) -> tuple[Part, ...]:
    """What is asked: the scenario's metrics."""
    return tuple(cast(Part, choice.name) for choice in scenario.metrics)  # the document lets no others in


def scenario_faults(scenario: Scenario) -> list[str]:
    """What is wrong with an equality scenario, as far as can be seen before anything is made; one sentence each."""
    workload, parts = workload_of(scenario), parts_of(scenario)
    words = {
        "workload.arguments": flags(workload.arguments),
        **{f"arms.{a.name}.server_arguments": a.server_arguments for a in scenario.arms},
    }
    found = [f"{where}: {flag} is set by the suite" for where, said in words.items() for flag in meant(flags_of(said), OURS)]
    found += [f"workload.{fault}" for fault in model_faults(workload.model)]
    if isinstance(workload.model, ToyModel) and workload.model.pools != ("embeddings" in parts):
        found.append(f"metrics: a {workload.model.toy} {'is asked for embeddings' if workload.model.pools else 'gives no embeddings'}")
    if "embeddings" in parts and len(parts) > 1:
        found.append("metrics.embeddings: a model that gives embeddings answers nothing else; ask the other metrics in another scenario")
    if {"greedy_outputs", "sampled_outputs"} & {*parts} and workload.dataset.output_tokens is None:
        found.append("workload.dataset.output_tokens: is missing: how many tokens an answer has, the least and the most")
    if "sampled_outputs" in parts and not workload.sampled:
        found.append("workload.sampled: is missing: with which temperature, top_k and so on sampled answers are made")
    if "text_perplexity" in parts and not workload.text.strip():
        found.append(f"workload.text: is missing: the text that the model is led through, or {OURS_TEXT} for the suite's own")
    return [f"{scenario.source}: {fault}" for fault in found]


def arguments_for(workload: EqualityWorkload, arm: Arm, model: ModelAt, *, seed: int, pooling: bool) -> list[str]:
    """The words for vLLM's parser of engine arguments. The prefix cache is off unless the scenario speaks of it."""
    asked = [*flags(workload.arguments), *arm.server_arguments]
    given = flags_of(asked)
    defaults = [word for word in model.arguments if word.partition("=")[0] not in given]
    cache = [] if given & PREFIX_CACHE else ["--no-enable-prefix-caching"]
    mode = [] if pooling or MODE in given else [f"{MODE}=processed_logprobs"]
    runner = ["--runner=pooling"] if pooling else []
    return [f"--model={model.name}", f"--seed={seed}", *runner, *defaults, *cache, *mode, *asked]


def order_for(scenario: Scenario, arm: Arm, model: ModelAt, seed: int) -> dict[str, Any]:
    """What the child is asked; the same for every arm but for the engine's arguments, and those of the arms of its build, which its parser
    looks at."""
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


def _in_turn(said: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {name: value[number % len(value)] if isinstance(value, tuple) else value for name, value in said.items()}


def answers_of(said: Mapping[str, Any], order: Mapping[str, Any]) -> tuple[dict[str, list[float]], dict[str, int]]:
    """What the child left as `raw` (every part's lists joined, their lengths beside) and `work` (what arms must share).

    Raises `CannotRun` where it answered less than it was asked, or with numbers that are none.
    """
    raw: dict[str, list[float]] = {}
    work: dict[str, int] = {}
    for part in order["parts"]:
        asked = len(order["paragraphs"] if part == "text_perplexity" else order["prompts"])
        for name, rows in said["parts"][part].items():
            if len(rows) != asked:
                raise CannotRun(f"{part}: {len(rows)} answers to {asked} prompts")
            for number, row in enumerate(rows):
                if (bad := next((place for place, value in enumerate(row) if not math.isfinite(value)), None)) is not None:
                    raise CannotRun(f"{part}: {name} of prompt {number} hold a value that is no number (NaN or infinite), first at {bad}")
            raw[f"{part}.{name}"] = [value for row in rows for value in row]
        lengths = [len(row) for row in next(iter(said["parts"][part].values()))]
        raw[f"{part}.lengths"] = [float(length) for length in lengths]
        work |= {f"{part} prompts": asked, f"{part} values" if part == "embeddings" else f"{part} tokens": sum(lengths)}
    return raw, work


class EqualityRunner(ModelProcessRunner[EqualityWorkload]):
    """Runs the trials of one equality scenario; nothing is kept alive between them. Prompts and sampling are the same in every block.

    A trial raises `BadInput` where vLLM's parser refuses an arm's flags.
    """

    faults = staticmethod(scenario_faults)
    asked = staticmethod(workload_of)

    def check(self) -> None:
        """Has a hub say that it has the model; raises `BadInput` where it has not, `CannotRun` where it does not answer.

        A build's first trial has its parser look at the flags of all its arms before the engine starts, which costs no process.
        """
        if missing := self.hub_faults(flags(self.workload.arguments)):
            raise BadInput(*missing)

    def _attempt(self, trial: TrialRun) -> None:
        """Runs the process once and judges whether what it answered counts."""
        build, folder, attests = self._build(trial.arm), self._folder("asked"), self._folder("attest")
        asked, result = folder / "order.json", folder / "result.json"
        order = order_for(self.scenario, trial.arm, self._model, self.seed)
        asked.write_text(json.dumps(order))
        command = [build.interpreter, build.child / "equality.py", asked, result]
        with self._start(trial, command, self._environment(build, trial.arm, attests), order["arguments"]) as running:
            for _ in looks(running, self.say, f"arm {trial.arm.name} answers prompts"):
                pass
        trial.attestation = attestation.read(attests, build, trial.arm)
        said: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {"fault": cause_of(running, attests)}
        if said.get("refused"):
            raise BadInput(f"{self.scenario.source}: {said['fault']}")
        if "parts" not in said:
            trial.process_died(running, said["fault"])
            return
        trial.seconds |= said["seconds"]
        raw, work = answers_of(said, order)
        trial.raw |= raw
        trial.work |= work
        trial.prove(build)

    def _environment(self, build: ReadyBuild, arm: Arm, attests: Path) -> dict[str, str]:
        said = server_environment(build, arm, self.workload, offline=self._model.offline, attests=attests, watch=self.watch)
        invariant = INVARIANT if build.fingerprint.device == "cuda" else {}
        shared = EAGER in flags_of([*flags(self.workload.arguments), *arm.server_arguments]) and CACHE not in arm.environment
        return {**invariant, **ENGINE_INSIDE, **said, **({CACHE: of_caches(build)[CACHE]} if shared else {})}


RUNNER = RunnerKind(kind=EQUALITY, faults=scenario_faults, open=one_each(EqualityRunner, catalog.watched))
