"""A whole engine in this process, made as vLLM makes it, whose parts are called one by one: a part is measured where it is wired.

The model is a stub: it is loaded, so that its layers have their caches, but what is called is a function that gives zeros; every request
samples the same token at every step. An engine is made once in a process, since making it takes seconds; requests of one benchmark leave
before those of the next come.

vLLM and torch are imported inside the functions.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent, accepted
from perfproof.bench.rounds import Round
from perfproof.bench.texts import tokenizer

BLOCK_SIZE = 32
"""Tokens of a block of the KV cache: the least that vLLM's attention on a CPU takes."""
TOKEN = 7
"""What every request samples at every step."""
DRAFTS = 3
"""Tokens that speculation drafts for a step."""
MODEL: Mapping[str, Any] = {**engine.MODEL, "hidden_size": 128, "max_position_embeddings": 4_096}
"""Heads of 32 numbers, the least that vLLM's attention on a CPU takes."""
OPTIONS: Mapping[str, Any] = {
    "load_format": "dummy",
    "enforce_eager": True,
    "distributed_executor_backend": "uni",
    "async_scheduling": False,
    "block_size": BLOCK_SIZE,
    "max_num_seqs": 128,
    "max_num_batched_tokens": 16_384,
    "max_model_len": 1_024,
    "kv_cache_memory_bytes": 96 << 20,
    "num_gpu_blocks_override": 2_048,
    "dtype": "float32",
    "seed": 0,
    "disable_log_stats": False,
}
"""The options of every engine, as far as a release takes them."""


def _speculating(**how: Any) -> dict[str, Any]:
    return {"speculative_config": {"num_speculative_tokens": DRAFTS, **how}}


def _transfer() -> Any:
    """A KV connector that moves nothing: vLLM's own for benchmarks."""
    from vllm.config import KVTransferConfig

    return KVTransferConfig(kv_connector="DecodeBenchConnector", kv_role="kv_both")


KINDS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "plain": dict,
    "ngram": lambda: _speculating(method="ngram", prompt_lookup_max=3, prompt_lookup_min=1),
    "draft_model": lambda: _speculating(method="draft_model", model=model_folder()),
    "lora": lambda: {"enable_lora": True, "max_loras": 2, "max_lora_rank": 8},
    "pooling": lambda: {"runner": "pooling"},
    "connected": lambda: {"kv_transfer_config": _transfer()},
    "profiled": lambda: {"profiler_config": {"profiler": "torch", "torch_profiler_dir": engine.lasting_folder("profile")}},
}
"""Engines by what they do, with the options that say so."""


@functools.cache
def model_folder() -> str:
    """A folder with the model's configuration and its tokenizer; it stays as long as the process."""
    folder = engine.lasting_folder("whole-engine")
    tokenizer().save_pretrained(folder)
    Path(folder, "config.json").write_text(json.dumps(MODEL))
    return folder


def llm_engine(kind: str = "plain") -> Any:
    """vLLM's `LLMEngine` in this process, of a kind of `KINDS`. The one KV connector that a process has is this engine's from here on."""
    made, connector = _made(kind)
    kv_transfer_state()._KV_CONNECTOR_AGENT = connector
    return made


def kv_transfer_state() -> Any:
    """vLLM's module that holds a process's KV connector."""
    return importlib.import_module("vllm.distributed.kv_transfer.kv_transfer_state")


@functools.cache
def _made(kind: str) -> tuple[Any, Any]:
    """An engine and its KV connector, if it has one; no engine takes another's."""
    state = kv_transfer_state()
    state._KV_CONNECTOR_AGENT = None
    return _new_engine(kind), state._KV_CONNECTOR_AGENT


def _new_engine(kind: str) -> Any:
    from vllm import EngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor import Executor

    engine.look_at_models_here()
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # a CPU's worker has a process of its own otherwise
    known = {field.name for field in dataclasses.fields(EngineArgs)}
    wanted = {**OPTIONS, **KINDS[kind]()}
    if lacks := sorted(set(KINDS[kind]()) - known):
        absent(f"option {lacks[0]} of an engine")
    arguments = EngineArgs(model=model_folder(), **{name: value for name, value in wanted.items() if name in known})
    config = arguments.create_engine_config(UsageContext.LLM_CLASS)
    with engine.kernels_looked_for():
        made = LLMEngine(**accepted(LLMEngine.__init__, vllm_config=config, executor_class=Executor.get_class(config), log_stats=True))
    _stub(_runner_of(made))
    return made


def _runner_of(llm_engine: Any) -> Any:
    return llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner


def _stub(runner: Any) -> None:
    """Has the runner's model, and its draft model if there is one, answer without computing anything."""
    for model in filter(None, (runner.model, getattr(getattr(runner, "drafter", None), "model", None))):
        _answer_at_once(model)


def _answer_at_once(model: Any) -> None:
    import torch

    width = int(MODEL["hidden_size"])

    def forward(input_ids: Any = None, positions: Any = None, *args: Any, **kwargs: Any) -> Any:
        return torch.zeros((len(positions if input_ids is None else input_ids), width))

    def compute_logits(hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
        logits = torch.zeros((len(hidden_states), engine.VOCABULARY))
        logits[:, TOKEN] = 1.0
        return logits

    model.forward, model.compute_logits = forward, compute_logits


_replaced: list[tuple[Any, str]] = []


class Parts:
    """An engine with `requests` requests that decode, and its parts.

    `sampling(n)` are parameters of the n-th request, `adapter(n)` its LoRA adapter. `of` says which engine.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        of: str = "plain",
        *,
        sampling: Callable[[int], Mapping[str, Any]] = lambda n: {},
        adapter: Callable[[int], Any] = lambda n: None,
    ) -> None:
        self.engine = llm_engine(of)
        self.core = self.engine.engine_core.engine_core
        self.scheduler = self.core.scheduler
        self.worker = self.core.model_executor.driver_worker
        self.runner = _runner_of(self.engine)
        if not hasattr(self.runner, "sample_tokens"):
            absent("step of the runner in two halves")
        self.sampling, self.adapter = sampling, adapter
        self.prompt, self.seed = parameters["prompt_tokens"], parameters["seed"]
        self.made = self.tokens = 0
        self.scheduled: Any = None
        self.output: Any = None
        self.clear()
        for _ in range(parameters["requests"]):
            self.add()
        self.steps(3)

    def clear(self) -> None:
        """Ends what is in the engine, as it was left by an earlier benchmark or round."""
        self.restore()
        self.runner.execute_model_state = self.scheduled = None
        if states := list(self.engine.output_processor.request_states):
            abort = self.engine.abort_request
            abort(**accepted(abort, request_ids=states, internal=True))
        if self.scheduler.requests or self.scheduler.finished_req_ids:
            self.core.abort_requests(list(self.scheduler.requests))
            self.engine.step()
        self.engine.reset_prefix_cache()

    def replace(self, owner: Any, method: str, function: Callable[..., Any]) -> None:
        """Has a part of the engine call a function of ours in place of its method, until `restore`."""
        setattr(owner, method, function)
        _replaced.append((owner, method))

    @staticmethod
    def restore() -> None:
        """Every part has its own methods again."""
        while _replaced:
            owner, method = _replaced.pop()
            vars(owner).pop(method, None)

    def add(self, **more: Any) -> None:
        """Another request comes in; `more` are further parameters of its sampling."""
        n, self.made = self.made, self.made + 1
        self.engine.add_request(f"r{n}", {"prompt_token_ids": self.prompt_of(n)}, self._asked(n, more), **self._adapted(n))

    def _asked(self, n: int, more: Mapping[str, Any]) -> Any:
        """What the n-th request asks for."""
        from vllm import PoolingParams, SamplingParams

        if self.runner.is_pooling_model:
            return PoolingParams(**accepted(PoolingParams, task="embed"))
        return SamplingParams(**{"temperature": 0.0, "ignore_eos": True, "max_tokens": 900, **self.sampling(n), **more})

    def _adapted(self, n: int) -> dict[str, Any]:
        adapter = self.adapter(n)
        return {} if adapter is None else {"lora_request": adapter}

    def prompt_of(self, n: int) -> list[int]:
        """The token ids of the n-th request's prompt; prompts differ in length by up to a KV block."""
        return engine.token_ids(self.prompt + n % BLOCK_SIZE, self.seed + n)

    def steps(self, count: int) -> None:
        """So many whole steps of the engine."""
        for _ in range(count):
            self.engine.step()

    # --- a step in its parts ------------------------------------------------------------------------

    def schedule(self) -> Any:
        """The scheduler's part of the next step; the step before ends first, if it has not."""
        self.settle()
        self.scheduled, self.output = self.scheduler.schedule(), None
        self.tokens += self.scheduled.total_num_scheduled_tokens
        return self.scheduled

    def settle(self) -> None:
        """The step that has begun ends: its tokens are sampled, and go to their requests."""
        if self.scheduled is not None:
            if self.output is None:
                self.sample()
            self.scheduler.update_from_output(self.scheduled, self.output)
            self.core.post_step(model_executed=True)
            self.scheduled = None

    def execute(self) -> None:
        """The worker's part of it, up to the logits; of a pooling model all of it."""
        self.output = self.worker.execute_model(self.scheduled)

    def sample(self) -> None:
        """The worker's part of it, from the logits on."""
        self.output = self.worker.sample_tokens(None)

    def step(self) -> None:
        """A whole step of the engine core, part by part."""
        self.schedule()
        self.execute()
        if self.output is None:
            self.sample()

    def given(self, owner: Any, method: str, work: Round) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that `work` gives last to a method of a part."""
        original = getattr(owner, method)
        seen: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        def note(*args: Any, **kwargs: Any) -> Any:
            seen.append((args, kwargs))
            return original(*args, **kwargs)

        self.replace(owner, method, note)
        try:
            work()
        finally:
            self.restore()
        if not seen:
            absent(f"call of {method} in a step")
        return seen[-1]

    def answered(self, owner: Any, methods: Sequence[str], work: Round) -> None:
        """From here on, until `restore`, the methods answer at once what they last answered while `work` ran."""
        answers: dict[str, Any] = {}

        def noting(method: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def note(*args: Any, **kwargs: Any) -> Any:
                answers[method] = call(*args, **kwargs)
                return answers[method]

            return note

        for method in methods:
            self.replace(owner, method, noting(method, getattr(owner, method)))
        try:
            work()
        finally:
            self.restore()
        for method, answer in answers.items():
            self.replace(owner, method, lambda *args, answer=answer, **kwargs: answer)

    def replayed(self, owner: Any, method: str) -> Round:
        """A call of the method with the arguments that the next step gives it."""
        import torch

        args, kwargs = self.given(owner, method, self.step)
        call = getattr(owner, method)

        def again() -> None:
            with torch.inference_mode():
                call(*args, **kwargs)

        return again
