"""The cost per step of giving the prompts' token ids to a pooler that reads them on the host (CPU and CUDA).

One round is a step of the V1 runner for a batch that has changed: `refresh_metadata`,
`get_pooling_metadata`, and the pooler over tiny hidden states (`hidden_size` numbers per
token), so that the transfer of the ids dominates. The poolers are vLLM's own: `splade` (looks at the
first and last id of each request), `bos_eos` (the filter of BGE-M3, the same looks) and `gritlm` (searches
each row for its instruction; gone after 0.28.0). The sizes are the author's: `max_model_len` 4,000,
prompts of about 48 tokens, as many requests as a step takes. The author's model is GritLM; the default is
SPLADE, which every release has.

Witnesses: how often a step makes the host wait for the device to read token ids, and how many padded
elements of token ids it builds. On CUDA PyTorch itself reports synchronisations; on a CPU the device's
copy is an ordinary tensor, so it is instrumented and every read of a value is counted: the number is the
same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from perfproof.bench.adapter import absent, cached_request, find, input_batch, mend_cpu_probe
from perfproof.bench.rounds import time_rounds

PARAMETERS = {
    "requests": 128,
    "prompt_tokens": 48,
    "max_model_len": 4_000,
    "pooler": "splade",
    "hidden_size": 8,
    "device": "cpu",
    "rounds": 50,
    "warmup_rounds": 5,
    "seed": 7,
}
CHOICES = {"pooler": ("splade", "bos_eos", "gritlm"), "device": ("cpu", "cuda")}
EXERCISES = (
    "vllm.v1.worker.gpu_input_batch:InputBatch.refresh_metadata",
    "vllm.v1.worker.gpu_input_batch:InputBatch.get_pooling_metadata",
)
TIMES = ("round_time",)
WITNESSES = ("host_syncs_per_step", "token_ids_built_per_step")
COUNT_AT = {"requests": 8}

VOCAB = 32_000
FIRST, LAST = 101, 102
"""The ids of the marks that SPLADE and the filter look for."""
LOOKS = frozenset({"item", "cpu", "numpy", "tolist", "__bool__", "__int__", "__float__", "__index__", "__array__"})
"""The methods of a tensor that copy a value of it to the host."""
GRITLM_IDS = {"<s>": 1, "▁<": 523, "<": 28789, "|": 28766, "embed": 14153, ">": 28767, "<0x0A>": 13, "user": 1838}
GRITLM_USER = ("▁<", "|", "user", "|", ">", "<0x0A>")
GRITLM_EMBED_LATER = ("<0x0A>", "<", "|", "embed", "|", ">", "<0x0A>")
GRITLM_EMBED_FIRST = ("▁<", "|", "embed", "|", ">", "<0x0A>")
POOLERS = CHOICES["pooler"]


def splade(hidden_size: int, device: Any, *, pooling: str = "max") -> Any:
    """vLLM's SPLADE pooler over a small stand-in for the model's vocabulary head."""
    import torch

    class Head(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.decoder = torch.nn.Linear(hidden_size, hidden_size)

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return self.decoder(hidden)

    torch.manual_seed(0)
    pooler = find("vllm.model_executor.models.bert:SPLADESparsePooler")
    return pooler(mlm_head=Head().to(device), cls_token_id=FIRST, sep_token_id=LAST, pooling=pooling)


def bos_eos(hidden_size: int, device: Any) -> Any:
    """vLLM's filter of first and last marks, over a pooler that only splits the batch into requests."""
    import torch

    class Split(torch.nn.Module):  # type: ignore[misc]
        def forward(self, hidden_states: torch.Tensor, pooling_metadata: Any) -> list[torch.Tensor]:
            return list(hidden_states.split(pooling_metadata.prompt_lens.tolist()))

    return find("vllm.model_executor.layers.pooler.special:BOSEOSFilter")(Split(), FIRST, LAST)


def gritlm(hidden_size: int, device: Any) -> Any:
    """vLLM's GritLM mean pool, given the ids of its tokenizer's marks instead of a tokenizer."""
    import numpy as np
    import torch

    kind = find("vllm.model_executor.models.gritlm:GritLMMeanPool")
    pooler = kind.__new__(kind)
    torch.nn.Module.__init__(pooler)
    pooler.token_ids = dict(GRITLM_IDS)
    pooler.user_pattern_ids = np.array(_gritlm(GRITLM_USER))
    pooler.embed_newline_pattern_ids = np.array(_gritlm(GRITLM_EMBED_LATER))
    pooler.embed_pattern_ids = np.array(_gritlm(GRITLM_EMBED_FIRST))
    return pooler


def _gritlm(tokens: Sequence[str]) -> list[int]:
    return [GRITLM_IDS[token] for token in tokens]


def build_pooler(kind: str, hidden_size: int, device: Any) -> Any:
    """The pooler of that name; skips if this release has none."""
    mend_cpu_probe()
    if kind not in POOLERS:
        raise ValueError(f"no pooler {kind!r}: one of {', '.join(POOLERS)}")
    return {"splade": splade, "bos_eos": bos_eos, "gritlm": gritlm}[kind](hidden_size, device)


def prompt_for(kind: str, length: int, random: Any) -> list[int]:
    """A prompt of `length` ids for that pooler: with its marks in half of the cases, drawn from a numpy generator."""
    ids: list[int] = random.integers(1_000, 28_000, size=length).tolist()
    if kind == "gritlm":
        opening = _gritlm(("<s>", *GRITLM_USER, "embed", *GRITLM_EMBED_LATER))
        return (opening + ids)[:length] if length > len(opening) else [GRITLM_IDS["<s>"], *ids][:length]
    ids[0] = FIRST if random.random() < 0.5 else ids[0]
    ids[-1] = LAST if random.random() < 0.5 else ids[-1]
    return ids


def pooling_request(req_id: str, prompt: Sequence[int], *, requires_token_ids: bool = True) -> Any:
    """A pooling request in the runner's form."""
    from vllm import PoolingParams

    params = PoolingParams(task="embed")
    params.requires_token_ids = requires_token_ids
    return cached_request(req_id, prompt, pooling_params=params)


def pooling_batch(requests: int, max_model_len: int, max_tokens: int, device: Any) -> Any:
    """An empty V1 batch of a pooling model."""
    return input_batch(
        max_num_reqs=requests,
        max_model_len=max_model_len,
        max_num_batched_tokens=max(requests, max_tokens),
        vocab_size=VOCAB,
        device=device,
        pin_memory=str(device) != "cpu",
        is_pooling_model=True,
    )


def step(batch: Any, pooler: Any, hidden_states: Any) -> Any:
    """Does the runner's work on token ids in one step; returns the pooler's output."""
    batch.refresh_metadata()
    return pooler(hidden_states, batch.get_pooling_metadata())


# --- witnesses ------------------------------------------------------------------------------------


def instrumented(ids: Any, looked: Callable[[str], None]) -> Any:
    """The same ids; every read of a value of them, of a view or of a comparison calls `looked` with the method's name."""
    import torch

    class DeviceIds(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(func, "__name__", "")
            if name not in LOOKS:
                return super().__torch_function__(func, types, args, kwargs or {})
            looked(name)
            return func(args[0].as_subclass(torch.Tensor), *args[1:], **(kwargs or {}))

    return ids.as_subclass(DeviceIds)


def looks_at_ids(batch: Any, pooler: Any, hidden_states: Any) -> int:
    """How often one step reads values of the device's copy of the token ids on the host."""
    seen: list[str] = []
    batch.refresh_metadata()
    ids = batch.sampling_metadata.prompt_token_ids
    if ids is not None:
        batch.sampling_metadata.prompt_token_ids = instrumented(ids, seen.append)
    pooler(hidden_states, batch.get_pooling_metadata())
    batch.sampling_metadata.prompt_token_ids = ids
    return len(seen)


def cuda_syncs(call: Callable[[], Any]) -> int:
    """How many synchronising CUDA operations PyTorch reports during a call."""
    import torch

    torch.cuda.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            call()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing CUDA operation" in str(warning.message) for warning in caught)


def ids_built(call: Callable[[], Any], requests: int) -> int:
    """How many elements of padded token ids, int64 with one row per request, a call makes on the host."""
    import torch
    from torch.overrides import TorchFunctionMode

    built: list[int] = []

    class Count(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            made = getattr(func, "__name__", "") in ("empty", "zeros", "full")
            if made and result.dtype is torch.int64 and result.dim() == 2 and result.shape[0] == requests and result.device.type == "cpu":
                built.append(result.numel())
            return result

    with Count():
        call()
    return sum(built)


# --- the benchmark --------------------------------------------------------------------------------


class Serving:
    """A full batch of a pooling model, and the step that is timed."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import numpy as np
        import torch

        self.device = torch.device(parameters["device"])
        if self.device.type == "cuda" and not torch.cuda.is_available():
            pytest.skip("asked for device=cuda, and PyTorch sees no GPU here")
        requests, length = parameters["requests"], parameters["prompt_tokens"]
        self.pooler = build_pooler(parameters["pooler"], parameters["hidden_size"], self.device)
        random = np.random.default_rng(parameters["seed"])
        self.batch = pooling_batch(requests, parameters["max_model_len"], requests * length, self.device)
        if not hasattr(self.batch, "get_pooling_metadata"):
            absent("InputBatch.get_pooling_metadata")
        self.states = [pooling_request(f"r{i}", prompt_for(parameters["pooler"], length, random)) for i in range(requests)]
        for state in self.states:
            self.batch.add_request(state)
        generator = torch.Generator().manual_seed(parameters["seed"])
        self.hidden_states = torch.randn(requests * length, parameters["hidden_size"], generator=generator).to(self.device)

    def change(self) -> None:
        """As between steps of a pooling server: the batch is another one, and all uploads are done."""
        last = self.batch.num_reqs - 1
        self.batch.remove_request(self.states[last].req_id)
        self.batch.add_request(self.states[last])
        self.wait()

    def step(self) -> Any:
        """A step, without waiting for the device; what the pooler made of it."""
        return step(self.batch, self.pooler, self.hidden_states)

    def run(self) -> None:
        """The step that is timed."""
        self.step()
        self.wait()

    def wait(self) -> None:
        import torch

        if self.device.type == "cuda":
            torch.cuda.synchronize()


def counted_round(parameters: dict[str, Any]) -> Callable[[], None]:
    """The second step of a batch of its own, for its work to be counted."""
    import torch

    serving = Serving(parameters)
    with torch.inference_mode():
        serving.change()
        serving.step()
        serving.change()

    def counted() -> None:
        with torch.inference_mode():
            serving.run()

    return counted


def test_pooling_token_ids(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One step's way of the token ids to a pooler that reads them on the host."""
    import torch

    serving, requests = Serving(parameters), parameters["requests"]
    with torch.inference_mode():
        serving.change()
        pooled = serving.step()
        serving.change()
        if serving.device.type == "cuda":
            syncs = cuda_syncs(serving.step)
        else:
            syncs = looks_at_ids(serving.batch, serving.pooler, serving.hidden_states)
        serving.change()
        built = ids_built(serving.step, requests)
        time_rounds(benchmark, parameters, serving.run, serving.change)
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["witnesses"] = {"host_syncs_per_step": syncs, "token_ids_built_per_step": built}
    benchmark.extra_info["work"] = {
        "requests": requests,
        "token_ids": requests * parameters["prompt_tokens"],
        "pooled_rows": sum(len(one) if parameters["pooler"] == "bos_eos" else 1 for one in pooled),
    }
