"""Documents are scored against a query that was kept (`LateInteractionRunner.postprocess_pooler_output`), and the query is let go."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"documents": 32, "query_tokens": 16, "document_tokens": 64, "width": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.pool.late_interaction_runner:LateInteractionRunner.postprocess_pooler_output",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of a reranker such as ColBERT, in the worker, behind the pooler"
COUNT_AT = {"documents": 4, "document_tokens": 16}


class Scoring:
    """A query that is kept before each round, and documents that come in one step."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import torch
        from vllm import PoolingParams

        made = find("vllm.v1.pool.late_interaction_runner:LateInteractionRunner")
        asked = find("vllm.pooling_params:LateInteractionParams")
        modes = (
            find("vllm.v1.pool.late_interaction:LATE_INTERACTION_MODE_CACHE_QUERY"),
            find("vllm.v1.pool.late_interaction:LATE_INTERACTION_MODE_SCORE_DOC"),
        )
        self.runner = made()
        draw = torch.Generator().manual_seed(parameters["seed"])
        count, width = parameters["documents"], parameters["width"]
        self.query = torch.rand((parameters["query_tokens"], width), generator=draw)
        self.documents = [torch.rand((parameters["document_tokens"], width), generator=draw) for _ in range(count)]
        self.kept, self.scored = (
            PoolingParams(task="token_embed", late_interaction_params=asked(mode=mode, query_key="q", query_uses=count)) for mode in modes
        )
        self.names = [f"r{n}" for n in range(count)]
        self.scores = 0

    def prepare(self) -> Round:
        self.runner.postprocess_pooler_output([self.query], [self.kept], ["query"], [True])
        for name in self.names:
            self.runner.register_request(name, self.scored)
        return self.score

    def score(self) -> None:
        count = len(self.documents)
        scores = self.runner.postprocess_pooler_output(list(self.documents), [self.scored] * count, self.names, [True] * count)
        self.scores += len(scores)
        if hasattr(self.runner, "release_queries"):
            self.runner.release_queries(["q"])


def counted_round(parameters: dict[str, Any]) -> Round:
    return Scoring(parameters).prepare()


def test_late_interaction(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's documents."""
    scoring = Scoring(parameters)
    measure(benchmark, parameters, scoring.prepare, lambda: {"scores": scoring.scores})
