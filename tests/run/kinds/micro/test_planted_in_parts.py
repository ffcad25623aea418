"""A slowdown planted in a part of a step is found by the counts of a benchmark of that part, to the instruction; its harmless twin is not.

One overlay has all the slowdowns, another all the twins: a row for each part says which benchmark finds its own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import prepare
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.records.counts import outermost
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import Build, DefiningFile, OverlayBuild
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.runners import default_build
from tests import toy

DIFFS = PACKAGE.parents[1] / "scenarios" / "diffs"
PARTS = [
    ("arrival/process_inputs", {"requests": 2}, "arrival", "vllm.v1.engine.input_processor:InputProcessor.process_inputs"),
    ("scheduler/schedule_decode", {"requests": 16}, "schedule", "vllm.v1.core.sched.scheduler:Scheduler.schedule"),
    ("kv_cache/hash_request", {"tokens": 1_024}, "block_hash", "vllm.v1.core.kv_cache_utils:hash_block_tokens"),
    ("input_preparation/condense", {"requests": 16, "leaving": 4}, "condense", "vllm.v1.worker.gpu_input_batch:InputBatch.condense"),
    ("sampling/greedy", {"requests": 4}, "sampler", "vllm.v1.sample.sampler:Sampler.forward"),
    ("outputs/detokenizer", {"requests": 4}, "detokenizer", "vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.get_next_output_text"),
    (
        "structured_output/apply_bitmask",
        {"requests": 8, "structured": 4},
        "bitmask",
        "vllm.v1.structured_output.utils:apply_grammar_bitmask",
    ),
    ("features/image_hash", {"images": 1, "side": 64}, "image_hash", "vllm.multimodal.hasher:MultiModalHasher.hash_kwargs"),
    ("speculation/ngram", {"requests": 8}, "ngram", "vllm.v1.spec_decode.ngram_proposer:NgramProposer.batch_propose"),
    ("process/core_step", {"requests": 8}, "core_step", "vllm.v1.engine.core:EngineCore._attach_weight_version"),
]
"""A benchmark, its parameters, its diffs `slower_NAME.diff` and `same_NAME.diff`, and the function that they change."""


def overlay(kind: str, folder: Path) -> OverlayBuild:
    """The default build with all diffs of that kind laid over it."""
    diff = folder / f"{kind}.diff"
    diff.write_text("".join((DIFFS / f"{kind}_{name}.diff").read_text() for _, _, name, _ in PARTS))
    defining = DefiningFile(path=str(diff), sha256=hashlib.sha256(diff.read_bytes()).hexdigest())
    return OverlayBuild(name=kind, base=default_build(), diff=defining, git=None)


def scenario(bench: str, parameters: dict[str, Any], builds: dict[str, Build]) -> Scenario:
    arms = tuple(
        Arm(
            name=name,
            baseline=name == "released",
            build=name,
            patches=(),
            environment=dict(toy.NOT_ALONE),
            server_arguments=(),
            client={},
            allow_unverified=False,
        )
        for name in builds
    )
    given = {**parameters, "rounds": 2, "warmup_rounds": 0}
    workload = MicroWorkload(bench=bench, parameters=given, cases=({},))
    name = bench.replace("/", "_")
    document = {"kind": "micro", "bench": bench, "parameters": given}
    return Scenario(
        name=name,
        question="Is it found?",
        profile="quick",
        workload=workload,
        builds=builds,
        arms=arms,
        metrics=(),
        blocks=6,
        seed=0,
        source=f"{name}.yaml",
        definition={"name": name, "profile": "quick", "workload": document, "arms": {arm.name: {} for arm in arms}, "metrics": {}},
    )


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Record]:
    """A trial of every part in every build, by benchmark and arm; a build is imported once."""
    folder = tmp_path_factory.mktemp("planted")
    builds: dict[str, Build] = {"released": default_build(), "slower": overlay("slower", folder), "same": overlay("same", folder)}
    ready = {build.key: prepare(build, PACKAGE.parents[1] / "builds", print) for build in builds.values()}
    runner = MicroRunner(ready, folder / "results" / "logs", seed=3, benches=[bench for bench, *_ in PARTS])
    found = {}
    try:
        for bench, parameters, _, _ in PARTS:
            block = Block(scenario=scenario(bench, parameters, builds), number=1, order=tuple(builds), seed=0)
            found.update({(bench, record.arm): record for record in runner.trials(block, block.order)})
    finally:
        runner.close()
    return found


def work(record: Record) -> dict[str, tuple[int, int]]:
    """The instructions and calls of each function in a trial's round; what is defined within a function is its own."""
    assert record.status == "ok" or "CPU time went to other processes" in record.reason, record.reason
    (table,) = record.counts.values()
    found: dict[str, tuple[int, int]] = {}
    for name, (instructions, calls, *_) in table["functions"].items():
        instructions_before, calls_before = found.get(outermost(name), (0, 0))
        found[outermost(name)] = (instructions_before + instructions, calls_before + calls)
    return found


@pytest.mark.vllm
@pytest.mark.parametrize(("bench", "function"), [(bench, function) for bench, _, _, function in PARTS])
def test_the_slowdown_is_found_and_its_twin_is_not(records: dict[tuple[str, str], Record], bench: str, function: str) -> None:
    """The changed function does more, and every other the same; of the twin's all do the same."""
    released, slower, same = (work(records[bench, arm]) for arm in ("released", "slower", "same"))
    assert slower[function] > released[function]
    assert {**slower, function: released[function]} == released
    assert same == released
