"""The request to a gate, from the command line; it makes the name of the results folder and the command that repeats the request."""

from __future__ import annotations

import dataclasses
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.changes.change_builds import Change, build_word
from perfproof.gate.gate_outputs import Outputs
from perfproof.model.scenarios.scenario import OverlayBuild, Profile
from perfproof.model.scenarios.scenario_paths import typed
from perfproof.model.verdicts.policy import Policy
from perfproof.report.extract.facts import AGAIN
from perfproof.run.checks import vllm_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """The request to a gate.

    `build_ref` is the commit that the build was made from, if that is not the base. `scenarios` None means those that the change touches,
    `all` means all. `budget` (minutes) and `profile` None mean the policy's. `results` None means a folder that belongs to the change.
    """

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
        """The name of the build for messages, without paths of this machine."""
        return build_word(self.change)

    @property
    def told(self) -> Change:
        """The change as messages name it."""
        return dataclasses.replace(self.change, build=self.build)

    def folder(self, build: OverlayBuild, policy: Policy) -> str:
        """The name of the results folder of this change under this policy, so that an interrupted gate continues there."""
        identity = f"{build.key} {self.profile or policy.profile} {self.seed} {policy!r}"
        name = build.diff.name.rpartition(".")[0] if build.diff else self.change.ref or "HEAD"
        plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:40].strip(".-")
        return f"{plain or 'change'}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"

    @property
    def command(self) -> str:
        """The command that decides again, for anybody to type."""
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
        words += ["--scenarios", *(typed(path.stem) for path in self.scenarios)] if self.scenarios is not None else []
        words += ["--no-count"] if self.no_count else []
        words += ["--count-features", ",".join(self.count_features)] if self.count_features else []
        words += ["--profile", self.profile] if self.profile else []
        words += ["--seed", str(self.seed)] if self.seed else []
        words += ["--budget", f"{self.budget:g}m"] if self.budget else []
        return shlex.join([*words, "--results", AGAIN])
