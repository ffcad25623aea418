"""The kernel of `penalties_incremental` against the operations that it stands for, bit for bit.

On a GPU the reference is upstream's own code. Elsewhere the kernel runs in Triton's interpreter, and the reference is upstream's
arithmetic on a GPU written out: repetition divides what is positive and multiplies what is not.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any

import pytest

SHAPES = [(5, 23), (3, 5_000), (2, 8_192)]
NEEDED = list(itertools.product((False, True), repeat=3))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernel's module, its kernel run by Triton's interpreter on the CPU."""
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.delitem(sys.modules, "perfproof.patches.penalties.penalties_kernel", raising=False)
    module = importlib.import_module("perfproof.patches.penalties.penalties_kernel")
    yield module
    sys.modules.pop("perfproof.patches.penalties.penalties_kernel", None)


class Case:
    """Random logits, infinities and both zeros among them, counts, prompts, penalties of that sign, and newest tokens."""

    def __init__(self, rows: int, vocabulary: int, sign: int, device: str) -> None:
        import torch

        generator = torch.Generator(device).manual_seed(rows * vocabulary + sign)

        def uniform(*shape: int) -> Any:
            return torch.rand(shape, generator=generator, device=device)

        self.logits = torch.randn((rows, vocabulary), generator=generator, device=device) * 5
        for value in (float("-inf"), 0.0, -0.0):
            self.logits[uniform(rows, vocabulary) < 0.03] = value
        self.counts = ((uniform(rows, vocabulary) * 40).int() * (uniform(rows, vocabulary) < 0.2)).int()
        self.prompt_mask = uniform(rows, vocabulary) < 0.2
        self.presence, self.frequency = uniform(rows) * sign, uniform(rows) * sign
        self.repetition = uniform(rows) + 0.5
        self.places = torch.randperm(rows, generator=generator, device=device).int()
        self.places[0] = -1
        self.newest = (uniform(rows, 1) * vocabulary).int()
        self.newest[-1] = -1

    def counted(self) -> Any:
        """The counts with the newest tokens, counted one by one."""
        counts = self.counts.clone()
        for row, place in enumerate(self.places.tolist()):
            token = int(self.newest[place, 0]) if place >= 0 else -1
            if token >= 0:
                counts[row, token] += 1
        return counts


def reference(case: Case, counts: Any, needed: tuple[bool, bool, bool]) -> Any:
    """The penalised logits, by upstream's operations in upstream's order."""
    import torch

    logits, produced = case.logits.clone(), counts > 0
    if needed[2] and logits.is_cuda:
        from vllm._custom_ops import apply_repetition_penalties

        apply_repetition_penalties(logits, case.prompt_mask, produced, case.repetition)
    elif needed[2]:
        factor = case.repetition.unsqueeze(1)
        logits = torch.where(case.prompt_mask | produced, torch.where(logits > 0, logits / factor, logits * factor), logits)
    if needed[1]:
        logits -= case.frequency.unsqueeze(1) * counts
    if needed[0]:
        logits -= case.presence.unsqueeze(1) * produced
    return logits


def equal_in_all_cases(kernel: Any, device: str, shapes: list[tuple[int, int]]) -> None:
    import torch

    for (rows, vocabulary), needed, sign, newest in itertools.product(shapes, NEEDED, (1, -1, 0), (False, True)):
        case = Case(rows, vocabulary, sign, device)
        counts = case.counted() if newest else case.counts.clone()
        want = reference(case, counts, needed)
        kernel.penalise(
            case.logits,
            case.counts,
            (case.presence, case.frequency, case.repetition),
            needed,
            prompt_mask=case.prompt_mask if needed[2] else None,
            places=case.places if newest else None,
            newest=case.newest if newest else None,
        )
        assert torch.equal(case.logits.view(torch.int32), want.view(torch.int32)), (rows, vocabulary, needed, sign, newest)
        assert torch.equal(case.counts, counts), (rows, vocabulary, needed, sign, newest)


def test_equals_the_operations_in_the_interpreter(interpreted: Any) -> None:
    """Every choice of penalties, either sign, with and without newest tokens: the same bits, and the same counts, as step by step."""
    equal_in_all_cases(interpreted, "cpu", SHAPES)


@pytest.mark.cuda
def test_equals_upstreams_operations_on_a_gpu() -> None:
    """The same, compiled, against upstream's repetition kernel and PyTorch's operators, at a real vocabulary too."""
    from perfproof.patches.penalties import penalties_kernel

    equal_in_all_cases(penalties_kernel, "cuda", [*SHAPES, (128, 151_936)])
