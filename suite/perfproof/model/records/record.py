"""What a trial left, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1
Status = Literal["ok", "failed", "invalid", "unattested"]
INTERRUPTED = "interrupted from outside"
"""How the reason of a trial begins if the cause is not its arm's fault."""
SPREAD = "spread"
"""The key of a record's environment that is true where its block was a job: one plan's blocks may lie on several hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """Proof, from inside the trial's processes, of what ran there.

    `vllm_file` is relative to the build's own folder. `sources` is a hash over all of vLLM's Python files.
    `patches` maps each applied patch to `{"direction", "verified", "changes_numerics", "targets"}`. `counts` are sums over the processes:
    `calls module:Qual.name`, `fast PATCH`, `fallback PATCH`. `runner` is "V1", "V2" or "" where no runner took part.
    `plugins` maps each plugin of the arm's own, and `variables` each variable that it sets, to "" where every process showed it, else to
    what is wrong with it; `unknown` are variables for vLLM that this release knows nothing of. `workers` are the steps that each process
    executed on a model runner, the most first: one number a worker. Older records have none of the four.
    """

    build: str
    python: str
    vllm_version: str
    vllm_file: str
    sources: str
    torch_version: str
    compiled_operators: bool
    patches: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]
    unwatchable: Sequence[str]
    counts: Mapping[str, int]
    runner: str
    processes: int
    plugins: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    unknown: Sequence[str] = field(default_factory=list)
    workers: Sequence[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One trial: one line of `results/<scenario>.jsonl`.

    `measurements` holds one number a metric, in base units; `raw` what they were reduced from. `work` are the
    counts that the arms of a block must share. `seconds` says where the trial's time went (phase to seconds). `block` counts
    from 1, `position` (the place within the block) from 0. `how` says how the trial was isolated ("forked", "process",
    "shared server", "blockwise server", "fresh server"). `counts` has what the host did in one counted round of each case, by the case's
    name ("" where there is one), as `count_lines.round_of` reads it; older records have none.
    """

    schema: int
    scenario: str
    digest: str
    definition: Mapping[str, Any]
    profile: str
    seed: int
    block: int
    position: int
    order: Sequence[str]
    arm: str
    started: str
    status: Status
    reason: str
    how: str
    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    witnesses: Mapping[str, float]
    work: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: Sequence[str]
    attestation: Attestation | None
    environment: Mapping[str, Any]
    log: str
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def took(self) -> float:
        """Seconds that the trial cost a run: where servers start in every block their start too, which `total` leaves out."""
        starts = self.how in ("fresh server", "blockwise server")
        return self.seconds.get("total", 0.0) + (self.seconds.get("server starts", 0.0) if starts else 0.0)

    @property
    def spread(self) -> bool:
        """Whether the block was a job of its own, so that other blocks of the same plan may have run on other hosts."""
        return bool(self.environment.get(SPREAD))

    @property
    def trial(self) -> tuple[str, int, str]:
        """What identifies the trial within its results folder."""
        return (self.scenario, self.block, self.arm)
