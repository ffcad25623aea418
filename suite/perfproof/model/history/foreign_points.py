"""A point of somebody else's history: one metric of one build, with the values that one entry of a file has of it."""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.scenarios.metrics import Better


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPoint:
    """`scenario` is what was measured (a suite, a benchmark with its load), `metric` what of it, as the file calls it.

    `arm` and `machine` are "" where the file says none. `build` is a commit, a version or an image, `version` vLLM's own, "" where the file
    doesn't say. `values` are those of the runs behind the point, each of one of so many `devices`. `at` is when it was measured, in seconds
    since 1970; `where` is its place in the file.
    """

    scenario: str
    metric: str
    arm: str
    machine: str
    build: str
    version: str
    unit: str
    better: Better | None
    values: tuple[float, ...]
    at: float
    where: str
    devices: int = 1

    @property
    def series(self) -> tuple[str, str, str, str]:
        """What tells its timeline from others."""
        return self.scenario, self.metric, self.arm, self.machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignHistory:
    """A file's points, the oldest first; `tool` is its format, `notes` are what was left out, in sentences."""

    tool: str
    points: tuple[ForeignPoint, ...]
    notes: tuple[str, ...]
