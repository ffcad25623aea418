"""Rows of PyTorch's benchmark database, schema v3: an object a metric and arm, whose `benchmark_values` are the trials.

What only the workflow knows (repo, branch, commit, job) is left out: PyTorch's upload action puts it in, and a key that is there already
would win over its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import TrialSeries, build_of, gpus_of, is_baseline, model_of, series, version_of, workload_of
from perfproof.model.base.clock import seconds_of
from perfproof.model.base.json_numbers import plain_json
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record

GIB = 2**30


def files(exported: Exported) -> Files:
    return {"perfproof.json": plain_json([_row(one) for one in series(exported.trials)]) + "\n"}


def _row(one: TrialSeries) -> dict[str, Any]:
    first = one.trials[0]
    return {
        "timestamp": int(min(seconds_of(trial.started) for trial in one.trials)),
        "schema_version": "v3",
        "name": "perfproof",
        "runners": [_runner(first)],
        "benchmark": {
            "name": line(one.scenario, 200),
            "mode": "inference",
            "dtype": "",
            "extra_info": _texts({"arm": one.arm, "baseline": str(is_baseline(first)).lower(), "build": build_of(first)}),
        },
        "model": {
            "name": model_of(first) or line(one.scenario, 200),
            "type": line(workload_of(first).get("kind", ""), 100),
            "backend": "vllm",
            "origins": [],
            "extra_info": {},
        },
        "inputs": {},
        "dependencies": _dependencies(first),
        "metric": {
            "name": line(one.name, 200),
            "benchmark_values": list(one.values),
            "extra_info": {"unit": one.metric.unit, "better": one.metric.better},
        },
    }


def _runner(trial: Record) -> dict[str, Any]:
    told, gpus = trial.environment, gpus_of(trial)
    return {
        "name": "cuda" if gpus else "cpu",
        "type": gpus[0] if gpus else line(told.get("processor") or told.get("machine") or "", 100),
        "cpu_info": line(told.get("processor") or told.get("machine") or "", 100),
        "cpu_count": told.get("cores") or 0,
        "avail_mem_in_gb": int(told.get("memory_bytes") or 0) // GIB,
        "gpu_info": gpus[0] if gpus else "",
        "gpu_count": len(gpus),
        "extra_info": _texts({"kernel": told.get("kernel") or ""}),
    }


def _dependencies(trial: Record) -> dict[str, Any]:
    packages: Mapping[str, Any] = trial.environment.get("packages") or {}
    versions = {"vllm": version_of(trial), "torch": packages.get("torch") or (trial.attestation.torch_version if trial.attestation else "")}
    commits = {"vllm": trial.environment.get("commit") or "", "torch": ""}
    repos = {"vllm": "vllm-project/vllm", "torch": "pytorch/pytorch"}
    return {
        name: {"repo": repos[name], "branch": "", "sha": line(commits[name], 80), "version": line(version, 100), "extra_info": {}}
        for name, version in versions.items()
    }


def _texts(found: Mapping[str, Any]) -> dict[str, str]:
    """The database holds texts alone here."""
    return {key: line(value, 200) for key, value in found.items()}


PYTORCH_HUD = Format(name="pytorch-hud", files=files)
