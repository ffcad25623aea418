"""What a gate is asked, as the command line has it: the folder of its results and the command that asks it again are made from that."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.changes.change_builds import Change
from perfproof.gate.gate_outputs import Outputs
from perfproof.model.scenarios.scenario import OverlayBuild, Profile
from perfproof.model.verdicts.policy import Policy
from perfproof.report.extract.facts import AGAIN
from perfproof.run.checks import vllm_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a gate is asked. `build_ref` is the commit that the build was made from, where that is not the base; `scenarios` None for
    those that the change touches, `all` for all; `budget` (minutes) and `profile` None for the policy's; `results` None for a folder that
    belongs to the change."""

    change: Change
    build_ref: str | None
    policy: str | None
    scenarios: Sequence[Path] | None
    all: bool
    tests: Sequence[Path]
    profile: Profile | None
    seed: int
    budget: float | None
    results: Path | None
    builds: Path
    outputs: Outputs
    wait: float
    anyway: bool
    no_count: bool = False
    count_features: Sequence[str] = ()

    @property
    def build(self) -> str:
        """The build to change, as it is told: no path of this machine."""
        named = self.change.build
        return named if "/" not in named else "path/to/python"

    def folder(self, build: OverlayBuild, policy: Policy) -> str:
        """The name of a results folder that belongs to this change under this policy, so that a gate that was broken off goes on."""
        asked = f"{build.key} {self.profile or policy.profile} {self.seed} {policy!r}"
        name = build.diff.name.rpartition(".")[0] if build.diff else self.change.ref or "HEAD"
        plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:40].strip(".-")
        return f"{plain or 'change'}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"

    @property
    def command(self) -> str:
        """The command that decides again, as somebody else would type it."""
        change = self.change
        words = ["perfproof", "gate"]
        if change.diff is not None:
            words += ["--diff", change.diff.name]
        else:
            words += ["--git", ".", "--base", str(change.base), *(["--ref", change.ref] if change.ref else [])]
        words += ["--build", self.build]
        words += ["--build-ref", self.build_ref] if self.build_ref else []
        words += ["--policy", Path(self.policy).name] if self.policy else []
        words += ["--all"] if self.all else []
        words += ["--tests", *(vllm_tests.shown(path) for path in self.tests)] if self.tests else []
        words += ["--scenarios", *(f"scenarios/{path.name}" for path in self.scenarios)] if self.scenarios is not None else []
        words += ["--no-count"] if self.no_count else []
        words += ["--count-features", ",".join(self.count_features)] if self.count_features else []
        words += ["--profile", self.profile] if self.profile else []
        words += ["--seed", str(self.seed)] if self.seed else []
        words += ["--budget", f"{self.budget:g}m"] if self.budget else []
        return shlex.join([*words, "--results", AGAIN])
