"""What a table of observed calls covers of a vLLM: figures, with the names behind them.

The parts of vLLM that count, and those that do not, were named before anything was measured.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from perfproof.changes.observed.call_table import CallTable
from perfproof.changes.observed.observed_calls import BENCHMARK, FEATURE
from perfproof.child.engine.features import FEATURES

STEP = ("core", "engine", "metrics", "outputs", "pool", "request", "sample", "spec_decode", "structured_output", "worker")
"""The folders and modules of `vllm/v1` whose functions a step or a request may call on the host."""
MOST = 60
"""The most functions of vLLM that a microbenchmark may call: one that calls more steps a whole engine, and shows nothing of a part."""
OF_BENCHMARK = f"{BENCHMARK} "
"""How the subject of a microbenchmark begins."""
STARTS = frozenset(FEATURE + one.name for one in FEATURES if one.starts)
"""The subjects of features that are counted while an engine is made and shut down: they have no steps."""
GENERATED = ":__create_fn__"
"""What the methods are called that Python writes for a dataclass: no functions of vLLM's."""
EXCLUDED: Mapping[str, str] = {
    "attention/": r"vllm\.v1\.attention[.:]",
    "worker/gpu/ (needs Triton)": r"vllm\.v1\.worker\.gpu[.:]",
    "HiSparse": r"(?i).*hisparse",
    "KV offload": r"(?i).*offload",
    "watermarking": r"vllm\.v1\.watermarking[.:]",
    "XPU": r"(?i).*xpu",
    "fault tolerance": r"vllm\.v1\.fault_tolerance[.:]",
}
"""What is left out of the functions that differ between two releases: by name, a pattern for `module:Qual.name`."""
BEYOND: Mapping[str, str] = {
    "Triton kernels and what starts them": (
        r".*(topk_topp_triton|flash_maxsim|mamba_utils:|ComputeSlotMappingKernel\.|KVBlockZeroer|_score_flash_shared_query)"
    ),
    "CUDA graphs": r".*(encoder_cudagraph|cudagraph_capture|capture_model|preserve_serving_state)",
    "a GPU's worker and its memory": (
        r"vllm\.v1\.worker\.(workspace:|utils:request_memory|gpu_model_runner:GPUModelRunner\.load_model|gpu_worker:Worker\."
        r"(_\w*sleep_parameters|_init_workspace_and_model_runner|_make_model_runner|init_device|compile_or_warm_up|determine_available))"
    ),
    "several engines, devices or front ends": (
        r".*(DPLB|CoreEngineActorManager|_dp_nodes_master_first|dcp_dummy|sync_and_gather_intermediate|APIServerProcessManager|"
        r"multiproc_executor|_shutdown_\w+_listeners|gpu_worker_sentinel)"
    ),
    "Model Runner V2 (needs Triton)": r".*SchedulerOutput\.make_empty",
    "the front end in Rust": r".*RustFrontend",
    "models without kernels for a CPU": r".*(spec_decode\.(gemma4|step3p5)|diffusion_scheduler|is_ultraquant|CircularBuffer)",
}
"""What one CPU can't run, of functions that nothing was seen to call: by name, a pattern for `module:Qual.name`."""
_STEP = re.compile(rf"vllm\.v1\.({'|'.join(STEP)})[.:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """So many functions of some: those that are `called`, and those that are `missing`."""

    called: frozenset[str]
    missing: frozenset[str]

    @property
    def of(self) -> int:
        return len(self.called) + len(self.missing)

    @property
    def share(self) -> float:
        """A fraction; 1 of nothing."""
        return len(self.called) / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What is covered of a vLLM.

    `steps`: of the functions that the counted engine's steps call, those that some microbenchmark calls. `changed`: of the functions that
    differ from an earlier vLLM, those that anything calls, or None without one; `excluded` says of each part that is left out how many
    functions differ there, `beyond` of what one CPU can't run how many of those that are missing. `defined` are all functions below
    `vllm/v1`, `called` maps each that is called to its subjects, `large` are benchmarks that call too many to count, with how many.
    `partial` are the numbers of functions by benchmark.
    """

    version: str
    since: str
    steps: Share
    changed: Share | None
    excluded: Mapping[str, int]
    beyond: Mapping[str, int]
    defined: frozenset[str]
    called: Mapping[str, tuple[str, ...]]
    large: Mapping[str, int]
    partial: Mapping[str, int]


def covered(table: CallTable, defined: Iterable[str], *, changed: Iterable[str] | None = None, since: str = "") -> Coverage:
    """The coverage of a table. `defined` are the functions of this vLLM, `changed` those that differ from the vLLM `since`."""
    there = frozenset(defined)
    calls = {subject: names & there for subject, names in table.calls.items()}
    written = {subject: [name for name in names if GENERATED not in name] for subject, names in table.calls.items()}
    of_benchmarks = {subject: len(names) for subject, names in written.items() if subject.startswith(OF_BENCHMARK)}
    small = [subject for subject, count in of_benchmarks.items() if count <= MOST]
    in_steps = frozenset(name for subject, names in calls.items() if of_steps(subject) for name in names if _STEP.match(name))
    in_parts = frozenset[str]().union(*(calls[subject] for subject in small))
    anyone = frozenset[str]().union(*calls.values())
    differ = frozenset(changed or ())
    parts = {name: part_of(name) for name in differ}
    counted = frozenset(name for name, part in parts.items() if not part)
    beyond = [beyond_one_cpu(name, anyone) for name in counted]
    return Coverage(
        version=table.version,
        since=since,
        steps=_share(in_steps, in_parts),
        changed=_share(counted, anyone) if changed is not None else None,
        excluded={part: sum(one == part for one in parts.values()) for part in EXCLUDED},
        beyond={part: count for part in BEYOND if (count := beyond.count(part))},
        defined=there,
        called={name: tuple(subject for subject, names in calls.items() if name in names) for name in anyone},
        large={subject.removeprefix(OF_BENCHMARK): count for subject, count in of_benchmarks.items() if subject not in small},
        partial={subject.removeprefix(OF_BENCHMARK): of_benchmarks[subject] for subject in small},
    )


def of_steps(subject: str) -> bool:
    """Whether a subject is a feature whose steps are counted."""
    return subject.startswith(FEATURE) and subject not in STARTS


def part_of(function: str, parts: Mapping[str, str] = EXCLUDED) -> str:
    """The part that a function belongs to, the excluded ones unless others are given; "" for none."""
    return next((part for part, pattern in parts.items() if re.match(pattern, function)), "")


def beyond_one_cpu(function: str, called: Container[str]) -> str:
    """The part that a function belongs to of what one CPU can't run; "" for none, and for a function that was seen to be `called` here."""
    return "" if function in called else part_of(function, BEYOND)


def _share(functions: frozenset[str], by: frozenset[str]) -> Share:
    return Share(called=functions & by, missing=functions - by)
