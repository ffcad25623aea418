"""The work of a trial, for the planner, the runners and the judge: every kind of workload is a subclass of this one.

The defaults are those of most kinds; a kind overrides the others. Facts that do not depend on a document are among the kind's traits
(`kind`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from perfproof.model.workloads.file_folder import CommitFiles, Files
from perfproof.model.workloads.model_source import Model

Profile = Literal["quick", "standard", "thorough"]
Flags = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The work of a trial. `kind` is the name of its kind."""

    kind: str

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """The workload as one of this class; `TypeError` for one of another kind."""
        if not isinstance(workload, cls):
            raise TypeError(f"a workload of kind {workload.kind!r} is not a {cls.__name__}")
        return workload

    # --- its content -------------------------------------------------------------------------------------

    @property
    def loads(self) -> Model | None:
        """The model that every trial loads; None if there is none."""
        return None

    @property
    def benchmark(self) -> str:
        """The benchmark of `suite/perfproof/bench` that it runs; "" for none."""
        return ""

    @property
    def benchmark_file(self) -> str:
        """The path of the benchmark that it runs, where that is none of `suite/perfproof/bench`; "" for none."""
        return ""

    @property
    def observed_as(self) -> tuple[str, ...]:
        """What is observed when its trials count which functions they call, such as "benchmark swap_states"; none where they can't."""
        return ()

    @property
    def counted(self) -> bool:
        """Whether its trials also count what the host does, which no busy machine changes."""
        return bool(self.observed_as)

    @property
    def sizes(self) -> int:
        """The number of sizes in one trial; a sweep has more than one."""
        return 1

    @property
    def vllm_words(self) -> Mapping[str, Sequence[str]]:
        """Arguments of vLLM's commands, by their key in the document."""
        return {}

    @property
    def vllm_flags(self) -> Mapping[str, Flags]:
        """Flags of vLLM's commands, without their dashes, by their key in the document."""
        return {}

    # --- how it is run -----------------------------------------------------------------------------------

    @property
    def turn_taking_changes(self) -> Mapping[str, Any]:
        """What in its document lets its arms take turns, so that a change of the machine's speed meets all; nothing: they can't, or do."""
        return {}

    def for_counts(self) -> Self:
        """The workload as it runs where only its counts are wanted: nothing is repeated for the sake of times."""
        return self

    @property
    def repeats(self) -> int:
        """How often the baseline alone runs again, after the only block."""
        return 0

    def most_blocks(self, looked: int) -> int:
        """The most blocks that it may have, if the looks at times would end after `looked`."""
        return looked

    @property
    def measured_whole(self) -> bool:
        """Whether the trials of a block belong together in time, so that a block that was broken off is measured again whole."""
        return False

    @property
    def servers_together(self) -> bool:
        """Whether the arms' servers are up together, from one trial to the next."""
        return False

    @property
    def starts_servers(self) -> bool:
        """Whether new servers start between the first trial and the last."""
        return False

    def on_shared_servers(self) -> Workload | None:
        """The same work with one server an arm for all blocks; None where no server is under load."""
        return None

    @property
    def chosen_together(self) -> int:
        """How many questions were chosen together with it, and share the error of its looks."""
        return 1

    @property
    def case(self) -> str:
        """The case that stands for all where one number is asked of it; "" where its metrics have none."""
        return ""

    def counted_once(self, case: str) -> Mapping[str, Any]:
        """The keys of its document that change so that a trial is as short as it can be and its counts are the same: of the case alone,
        where a trial can leave out others, and timed as little as it can be."""
        return {}

    def doubts(self, profile: Profile, measured: Sequence[float]) -> Iterator[str]:
        """Warnings before it runs. `measured` are the seconds that its trials have measured so far."""
        yield from ()

    # --- its files ---------------------------------------------------------------------------------------

    def with_files_pinned(self, pin: Callable[[CommitFiles], CommitFiles]) -> Workload:
        """The workload with the hash of the files of a commit that it names; itself if it names none."""
        return self

    def with_files(self, files: Files) -> Workload:
        """The workload with other files; itself if it takes none."""
        return self

    # --- in a definition ---------------------------------------------------------------------------------

    def kept(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document as plain JSON in the form that a definition keeps: files by name and hash."""
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWorkload(Workload):
    """A workload that loads a model."""

    model: Model

    @property
    def loads(self) -> Model | None:
        return self.model
