"""How many workers compute a model together, as the flags of vLLM say: tensor, pipeline and data parallelism."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfproof.model.workloads.workload import Workload

FLAGS: Mapping[str, str] = {
    "--tensor-parallel-size": "tensor",
    "-tp": "tensor",
    "--pipeline-parallel-size": "pipeline",
    "-pp": "pipeline",
    "--data-parallel-size": "data",
    "-dp": "data",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """The sizes; a flag that is not said is 1."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1

    @property
    def workers(self) -> int:
        """Workers, each with a GPU of its own where there are GPUs."""
        return self.tensor * self.pipeline * self.data

    @property
    def per_step(self) -> int:
        """Workers that take part in one step of an engine."""
        return self.tensor * self.pipeline


def parallelism(workload: Workload, own: Sequence[str] = ()) -> Parallelism:
    """The parallelism of a workload whose arm adds the words `own`; of a flag that is said twice the last counts, as for vLLM."""
    words = [*itertools.chain.from_iterable(workload.vllm_words.values()), *own]
    flags = {f"--{name.replace('_', '-')}": str(value) for given in workload.vllm_flags.values() for name, value in given.items()}
    sizes = {FLAGS[flag]: int(value) for flag, value in (*flags.items(), *_pairs(words)) if flag in FLAGS and value.isdecimal()}
    return Parallelism(**{name: max(1, size) for name, size in sizes.items()})


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each flag with its value, which stands behind `=` or is the next word."""
    for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
        flag, mark, value = word.partition("=")
        if flag.startswith("-"):
            yield flag.replace("_", "-"), value if mark else after
