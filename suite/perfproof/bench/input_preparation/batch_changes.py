"""Requests leave the V1 batch and others come: rows are taken out, the batch is condensed, rows are filled, the metadata is made again."""

from __future__ import annotations

from typing import Any

from perfproof.bench.decoding_batch import Batch
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "changed": 8, "rounds": 40, "warmup_rounds": 5, "seed": 7}
EXERCISES = (
    "vllm.v1.worker.gpu_input_batch:InputBatch.remove_request",
    "vllm.v1.worker.gpu_input_batch:InputBatch.condense",
    "vllm.v1.worker.gpu_input_batch:InputBatch.add_request",
    "vllm.v1.worker.gpu_input_batch:InputBatch.refresh_metadata",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "within the runner's `_update_states`, at each step in which requests end or come"


class Leaving(Batch):
    """Every other of the first requests leaves, so that rows move; they come back in the next round."""

    rows = 0

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters, lambda n: {"temperature": 0.8, "seed": n, "top_p": 0.9})
        changed = min(parameters["changed"], max(1, self.count // 2))
        self.moved = [self.request(n) for n in range(0, 2 * changed, 2)]

    def prepare(self) -> Round:
        return self.change

    def change(self) -> None:
        for one in self.moved:
            self.batch.remove_request(one.req_id)
        self.batch.condense()
        self.batch.refresh_metadata()
        for one in self.moved:
            self.batch.add_request(one)
        self.batch.condense()
        self.batch.refresh_metadata()
        self.rows += self.batch.num_reqs


def counted_round(parameters: dict[str, Any]) -> Round:
    return Leaving(parameters).prepare()


def test_batch_changes(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests leave and come back."""
    leaving = Leaving(parameters)
    measure(benchmark, parameters, leaving.prepare, lambda: {"rows": leaving.rows})
