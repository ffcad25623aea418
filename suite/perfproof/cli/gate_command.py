"""The command that decides: gate, on the records of a folder or on a change."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import PROFILES

DEFAULT_RESULTS = Path("results/local")


def add(verbs: Any) -> None:
    gate = options.verb(verbs, "gate", _gate, "pass or fail: for the records of a results folder, or for a change that is measured first")
    gate.add_argument(
        "--policy",
        metavar="POLICY",
        help="noisy-ci, quiet-gpu or a file (docs/policy.md); without one scenarios' own primaries and margins",
    )
    gate.add_argument("--results", type=Path, metavar="DIR", help="the results folder (default results/local; of a change, one of its own)")
    gate.add_argument(
        "--stored", type=Path, metavar="DIR", help="judge the records of --results against this history (results/history), not their base"
    )
    for form, words in (
        ("json", "the decision as JSON"),
        ("junit", "JUnit XML, one case per ruling"),
        ("comment", "the comment for the pull request, markdown"),
        ("report", "the HTML report"),
    ):
        gate.add_argument(f"--{form}", type=Path, metavar="FILE", help=f"also write {words}")
    _change(gate.add_argument_group("a change, measured against its base"))
    options.start(gate)
    options.builds(gate)


def _change(gate: Any) -> None:
    options.change(
        gate,
        diff="the change: a unified diff; files that are not part of vLLM are ignored",
        git="or a local clone, with --base: the branch is compared with the commit where it left its base",
        ref="the changed branch or commit of --git (default HEAD)",
        base="the branch into which the change goes",
    )
    gate.add_argument("--build-ref", metavar="REF", help="the commit that --build was made from, where that is not the base (v0.32.0)")
    gate.add_argument("--scenarios", nargs="+", type=Path, metavar="FILE", help="measure these (default: those that the change touches)")
    gate.add_argument("--all", action="store_true", help="measure every scenario of this device, whatever the change touches (nightly)")
    gate.add_argument(
        "--tests", nargs="+", type=Path, default=[], metavar="PATH", help="vLLM's own tests: run on both first; one that breaks decides"
    )
    options.counts(gate)
    gate.add_argument("--profile", choices=PROFILES, help="how much to measure (default: the policy's)")
    gate.add_argument("--seed", type=options.natural, default=0, help="seed of orders and workloads (default 0)")
    gate.add_argument("--budget", type=options.duration, metavar="TIME", help="time for all of it, such as 10m (default: the policy's)")


ONLY_CHANGES = (
    *("ref", "base", "build", "build_ref", "scenarios", "all", "tests", "no_count", "count_features"),
    *("profile", "seed", "budget", "wait", "anyway", "builds"),
)
"""Options that only matter with a change: without one, nothing is measured."""


def _gate(arguments: argparse.Namespace) -> int:
    from perfproof.gate import gate_outputs

    outputs = options.from_args(gate_outputs.Outputs, arguments)
    gate_outputs.forget(outputs)
    if arguments.diff is None and arguments.git is None:
        given = vars(arguments).get("given", set())
        if odd := [f"--{name.replace('_', '-')}" for name in ONLY_CHANGES if name in given or getattr(arguments, name) is True]:
            of_change = "only for a change: leave it out, or name the change with --diff FILE, or with --git REPO --base REF"
            raise BadInput(f"gate: {', '.join(odd)}: {of_change}")
        return gate_outputs.gate(arguments.results or DEFAULT_RESULTS, policy=arguments.policy, stored=arguments.stored, outputs=outputs)
    if arguments.stored is not None:
        raise BadInput("gate: --stored is for existing records (--results); a change is measured beside its base, which is better")
    of_git = arguments.git is not None and arguments.base is not None and arguments.diff is None
    of_diff = arguments.diff is not None and not any((arguments.git, arguments.base, arguments.ref, arguments.build_ref))
    if not of_git and not of_diff:
        raise BadInput("gate: name the change with --diff FILE, or with --git REPO --base REF (and --ref, --build-ref)")
    options.counts_something(arguments)
    from perfproof.gate.gate_change import gate_change
    from perfproof.gate.gate_request import GateRequest

    return gate_change(options.from_args(GateRequest, arguments, change=options.changed(arguments), outputs=outputs))
