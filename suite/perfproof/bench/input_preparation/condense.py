"""Requests leave the batch and the rows that are left close up (`InputBatch.remove_request` and `condense`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import cached_request, drain_moves, input_batch
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "leaving": 16, "output_tokens": 256, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_input_batch:InputBatch.remove_request", "vllm.v1.worker.gpu_input_batch:InputBatch.condense")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "at a step after which requests ended and no others came, in each worker"


class Leaving:
    """A full batch, of which each round takes the first rows out; they are put back untimed."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        count, output, seed = parameters["requests"], parameters["output_tokens"], parameters["seed"]
        self.batch = input_batch(max_num_reqs=count, max_model_len=output + 64, vocab_size=engine.VOCABULARY)
        self.requests = [
            cached_request(f"r{n}", engine.token_ids(16, seed + n), engine.token_ids(output, seed + 500 + n)) for n in range(count)
        ]
        for request in self.requests:
            self.batch.add_request(request)
        self.leaving = min(parameters["leaving"], count)
        self.gone: list[Any] = []
        self.moved = 0

    def prepare(self) -> Round:
        for request in self.gone:
            self.batch.add_request(request)
        self.moved += drain_moves(self.batch)
        self.batch.refresh_metadata()
        row = self.batch.req_id_to_index
        self.gone = sorted(self.requests, key=lambda request: row[request.req_id])[: self.leaving]
        return self.leave

    def leave(self) -> None:
        for request in self.gone:
            self.batch.remove_request(request.req_id)
        self.batch.condense()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Leaving(parameters).prepare()


def test_condense(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Rows go, the others close up."""
    leaving = Leaving(parameters)
    measure(benchmark, parameters, leaving.prepare, lambda: {"rows_moved": leaving.moved})
