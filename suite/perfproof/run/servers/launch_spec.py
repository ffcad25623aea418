"""How an arm's server is launched: the model, the words of its command, its environment.

The suite itself sets a server's address and name, and identifies its own servers by them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds import smollm
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import Arm, Model, Scenario, SmolModel, ToyModel
from perfproof.model.workloads.workload import ModelWorkload
from perfproof.run.host.environment import usable_cores
from perfproof.run.host.ports import HOST
from perfproof.run.models.toy_model import faults_of, write_toy_model
from perfproof.run.processes.trial_process import arm_variables, build_environment
from perfproof.run.servers.bench_client import meant

SET_BY_SUITE = frozenset(
    ["--host", "--port", "--served-model-name", "--model", "--uds", "--api-key", "--root-path", "--ssl-keyfile", "--ssl-certfile"]
)
PREFIX_CACHE = frozenset(["--enable-prefix-caching", "--no-enable-prefix-caching"])
SPREAD = frozenset(
    ["--distributed-executor-backend", "--tensor-parallel-size", "-tp", "--pipeline-parallel-size", "-pp", "--data-parallel-size", "-dp"]
)
"""Flags that set how many processes compute, and how they work together."""
KV_CACHE = frozenset(["--kv-cache-memory-bytes"])
"""The flag that fixes the KV cache's size, so that a server does not measure the free GPU memory."""
MULTIPROCESSING = "VLLM_ENABLE_V1_MULTIPROCESSING"
HERE, DEEPER = "here", "the-model"
"""The folder that processes of a model run in; and a folder in it whose name no Python can import."""
KEEP_ALIVE = "600"
"""Seconds for which a server keeps an idle connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAt:
    """Where servers and client find the model: `name`, relative to `folder`, in which they run and which holds nothing else; `offline` if
    no hub is needed."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    offline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a server is launched. `name` is its `--served-model-name`, unique; `attest` takes the attestations of its processes."""

    arm: str
    name: str
    port: int
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    attest: Path
    folder: Path

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def workload_of(scenario: Scenario) -> ServeWorkload:
    """The scenario's workload; `TypeError` for one that does not serve."""
    return ServeWorkload.of(scenario.workload)


def with_arm_flags(workload: ServeWorkload, arm: Arm) -> ServeWorkload:
    """The workload with the arm's own client flags added."""
    return dataclasses.replace(workload, client={**workload.client, **arm.client})


def flags_of(arguments: Sequence[str]) -> set[str]:
    """The flags among server arguments, without values and in vLLM's own spelling: `--a_b=c` is `--a-b`, `--a.b=c` belongs to `--a`."""
    return {re.split("[=.]", argument, maxsplit=1)[0].replace("_", "-") for argument in arguments if argument.startswith("--")}


def model_faults(model: Model) -> list[str]:
    """Faults of a toy whose dimensions can't be built, and of a model written as a folder that does not exist: servers would ask a hub for
    it."""
    if isinstance(model, ToyModel):
        return faults_of(model)
    if not isinstance(model, str) or not (model.startswith(("/", ".", "~")) or model.count("/") > 1) or Path(model).expanduser().is_dir():
        return []
    return [f"model: there is no folder {model}; name a folder, a model of a hub (owner/name), or a model to generate ({{layers: 2, ...}})"]


def locate_model(model: Model, models: Path, idle: Path) -> ModelAt:
    """The model, written below `models` if it is a toy; its processes run in their own folder below `idle`.

    A model from a package is made with the builds; raises `CannotRun` if it was not.

    That folder holds only a link to the model's folder: Python imports files of the working folder first, and would import files beside a
    model. The link names the model, so that no path of this machine gets into a record or a log.
    """
    here = idle / HERE
    here.mkdir(exist_ok=True)
    if isinstance(model, ToyModel):
        folder = write_toy_model(model, models)
        return ModelAt(name=linked(folder, here), folder=here, arguments=("--load-format=dummy",), offline=True)
    if isinstance(model, SmolModel):
        folder = smollm.folder_of(model, models.parent)
        if not folder.is_dir():
            raise CannotRun(f"{folder.name} does not exist; it is made together with the builds")
        return ModelAt(name=linked(folder, here), folder=here, arguments=(), offline=True)
    if Path(model).expanduser().is_dir():
        return ModelAt(name=linked(Path(model).expanduser().resolve(), here), folder=here, arguments=(), offline=True)
    return ModelAt(name=model, folder=here, arguments=(), offline=False)


def linked(model: Path, here: Path) -> str:
    """The name of a link to a model's folder, relative to `here`. A name that Python could import lies one folder deeper."""
    name = f"{DEEPER}/{model.name}" if model.name.isidentifier() else model.name
    (here / name).parent.mkdir(exist_ok=True)
    if not (here / name).is_symlink():
        (here / name).symlink_to(model)
    return name


def server_words(workload: ServeWorkload, arm: Arm, model: ModelAt, name: str, port: int) -> list[str]:
    """The words after the interpreter.

    The prefix cache is off unless the scenario sets it: a second run would be answered from the first.
    """
    arguments = [*workload.server_arguments, *arm.server_arguments]
    given = flags_of(arguments)
    cache = [] if given & PREFIX_CACHE else ["--no-enable-prefix-caching"]
    defaults = [word for word in model.arguments if word.partition("=")[0] not in given]
    command = ["-m", "vllm.entrypoints.cli.main", "serve", model.name, f"--host={HOST}", f"--port={port}", f"--served-model-name={name}"]
    return [*command, *defaults, *cache, *arguments]


def measures_memory(build: ReadyBuild, workload: ServeWorkload, arm: Arm) -> bool:
    """Whether the arm's server makes its KV cache as large as the free memory at its start.

    vLLM looks at the GPU before and after a trial run of its model, and assumes that no other process takes or frees memory meanwhile
    (0.32.0, `Worker.determine_available_memory`). Seen on an H200: of two servers that started together one had a cache of 51 GiB, the
    other had 1.55 GiB left and ended.
    """
    return build.fingerprint.device != "cpu" and not meant(flags_of([*workload.server_arguments, *arm.server_arguments]), KV_CACHE)


def server_environment(
    build: ReadyBuild,
    arm: Arm,
    workload: ModelWorkload,
    *,
    offline: bool,
    attests: Path,
    watch: Iterable[str],
) -> dict[str, str]:
    """The whole environment of an arm's server.

    Each set of patches has its own cache, because vLLM's compile cache does not notice that a function was replaced. Connections stay open
    longer than vLLM's five seconds: after the warm-ups the client sends a single request, and if that takes about as long, the server
    closes the other connections just when the run begins to use them (seen here: 58 of 192 requests failed).
    """
    small = isinstance(workload.model, ToyModel | SmolModel)
    patches = hashlib.sha256(f"{build.side.name} {' '.join(sorted(arm.patch_contents))}".encode()).hexdigest()[:8]
    return {
        **build_environment(build, arm, threads=usable_cores(), hub=not offline),
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": KEEP_ALIVE,
        "VLLM_CACHE_ROOT": str(build.side.parent / "cache" / f"{build.id}-{patches}"),
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        **({"VLLM_CPU_KVCACHE_SPACE": "1"} if small and build.fingerprint.device == "cpu" else {}),
        **arm_variables(arm, attest=attests, watch=watch),
    }


def without_worker(words: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Words and environment of a server on a CPU whose engine computes in its own process, unless they set how work is spread.

    On a CPU vLLM gives even a single worker its own process; engine and worker then wait for each other in a loop that yields their cores.
    Seen on 2 cores (kernel 6.18): other processes, API server and client among them, stopped for 1 to 8 s in every third trial, and
    throughput halved. vLLM forbids an executor without a worker there, because it could not set OpenMP's number of threads; the suite sets
    it. vLLM allows such an executor if engines are declared not to be processes; a server's engine is a process anyway.
    """
    if meant(flags_of(words), SPREAD) or SPREAD & {word.partition("=")[0] for word in words} or MULTIPROCESSING in environment:
        return list(words), dict(environment)
    return [*words, "--distributed-executor-backend=uni"], {**environment, MULTIPROCESSING: "0"}
