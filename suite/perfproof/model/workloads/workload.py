"""What a trial executes, as the planner, the runners and the judge ask of it: every kind of workload is a noun below this one.

The defaults are those of most kinds; a kind overrides what is otherwise with it. What holds of a kind whatever its document says is
among its traits (`kind`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from perfproof.model.workloads.model_source import Model

Profile = Literal["quick", "standard", "thorough"]
Flags = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is executed, and what it takes. `kind` is the name of its kind."""

    kind: str

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """The workload as one of this class; `TypeError` for one of another kind."""
        if not isinstance(workload, cls):
            raise TypeError(f"a workload of kind {workload.kind!r} is no {cls.__name__}")
        return workload

    # --- what it asks ------------------------------------------------------------------------------------

    @property
    def loads(self) -> Model | None:
        """The model that every trial loads; None where none is."""
        return None

    @property
    def benchmark(self) -> str:
        """The benchmark of `suite/perfproof/bench` that it runs; "" for none."""
        return ""

    @property
    def sizes(self) -> int:
        """At how many sizes it is measured in one trial; a sweep has more than one."""
        return 1

    @property
    def vllm_words(self) -> Mapping[str, Sequence[str]]:
        """Arguments of vLLM's commands as the document has them, by their key."""
        return {}

    @property
    def vllm_flags(self) -> Mapping[str, Flags]:
        """Flags of vLLM's commands, without their dashes, as the document has them, by their key."""
        return {}

    # --- how it is run -----------------------------------------------------------------------------------

    @property
    def repeats(self) -> int:
        """How often the baseline alone runs again, after the only block."""
        return 0

    def most_blocks(self, looked: int) -> int:
        """How many blocks it may have, where the looks at times would end after `looked`."""
        return looked

    @property
    def servers_stay(self) -> bool:
        """Whether servers of the arms are up from the first trial to the last."""
        return False

    @property
    def starts_servers(self) -> bool:
        """Whether every trial waits for a server of its own."""
        return False

    @property
    def chosen_together(self) -> int:
        """How many questions were chosen together with it, and share the error of its looks."""
        return 1

    @property
    def case(self) -> str:
        """The case that stands for all where one number is asked of it; "" where its metrics have none."""
        return ""

    def doubts(self, profile: Profile, measured: Sequence[float]) -> Iterator[str]:
        """What makes one doubt it before it runs, in sentences. `measured` are the seconds that its trials have measured so far."""
        yield from ()

    # --- what is kept of it ------------------------------------------------------------------------------

    def kept(self, said: dict[str, Any]) -> dict[str, Any]:
        """What a definition keeps of it, from its document as plain JSON: files by name and hash."""
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWorkload(Workload):
    """A workload that loads a model."""

    model: Model

    @property
    def loads(self) -> Model | None:
        return self.model
