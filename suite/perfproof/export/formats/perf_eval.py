"""Rows of vLLM's performance dashboard, as vllm-project/perf-eval sends them: an object a serving trial, times in seconds.

What a trial's records don't say has the dashboard's own word for it: a precision that no argument sets is "auto".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import build_of, gpus_of, model_of, workload_of
from perfproof.model.base.clock import seconds_of
from perfproof.model.base.errors import BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record

THROUGHPUTS = ("output_throughput", "total_token_throughput")
LATENCY = re.compile(r"(mean|median|p[0-9.]+)_(ttft|tpot|itl|e2el)")


def files(exported: Exported) -> Files:
    found = [trial for trial in exported.trials if all(name in trial.measurements for name in THROUGHPUTS)]
    if not found:
        raise BadInput(f"{exported.results}: no trial of a server under load: such a row has throughputs, which no other trial measures")
    return {"rows.jsonl": "".join(f"{json.dumps(_row(trial), allow_nan=False)}\n" for trial in found)}


def _row(trial: Record) -> dict[str, Any]:
    arguments = [str(each) for each in trial.environment.get("server_arguments") or workload_of(trial).get("server_arguments") or ()]
    parallel = _number(arguments, "tensor-parallel-size", "tp") * _number(arguments, "data-parallel-size", "dp")
    output, total = (trial.measurements[name] for name in THROUGHPUTS)
    row = {
        "date": datetime.fromtimestamp(seconds_of(trial.started), UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "device": _device(trial),
        "conc": _concurrency(trial),
        "image": build_of(trial),
        "model": model_of(trial),
        "framework": "vllm",
        "precision": _value(arguments, "quantization", "q") or _value(arguments, "dtype") or "auto",
        "spec_decoding": _word("--speculative-config" in " ".join(arguments)),
        "disagg": "false",
        "isl": _length(trial, "input"),
        "osl": _length(trial, "output"),
        "is_multinode": "false",
        "tp": parallel,
        "ep": parallel if "--enable-expert-parallel" in arguments else 1,
        "dp_attention": "false",
        "tput_per_gpu": total / parallel,
        "output_tput_per_gpu": output / parallel,
        "input_tput_per_gpu": (total - output) / parallel,
    }
    latencies = {name: value for name, value in trial.measurements.items() if LATENCY.fullmatch(name)}
    return {
        **row,
        **latencies,
        **{name.replace("tpot", "intvty"): 1 / value for name, value in latencies.items() if "tpot" in name and value},
    }


def _device(trial: Record) -> str:
    """The tag of the device: "h200" of an NVIDIA H200, "cpu" without a GPU."""
    gpus = gpus_of(trial)
    return re.sub(r"^(nvidia|amd|intel)[-\s]+", "", gpus[0].casefold()).replace(" ", "-") if gpus else "cpu"


def _concurrency(trial: Record) -> int:
    """Requests under way at once: the client's limit, else all of them, for they are sent at once or as they arrive."""
    most = _client(trial).get("max-concurrency")
    return most if type(most) is int else int(trial.work.get("requests", 0))


def _length(trial: Record, side: str) -> int:
    """Tokens of a request: what the client asks for, else their mean."""
    asked = _client(trial).get(f"random-{side}-len")
    requests = trial.work.get("requests", 0)
    return asked if type(asked) is int else math.floor(trial.work.get(f"{side}_tokens", 0) / requests + 0.5) if requests else 0


def _client(trial: Record) -> Mapping[str, Any]:
    own = trial.definition["arms"][trial.arm].get("client") or {}
    return {**(workload_of(trial).get("client") or {}), **own}


def _value(arguments: Sequence[str], name: str, short: str = "") -> str:
    """The value of a server's argument, in either spelling; "" where it isn't set."""
    for place, argument in enumerate(arguments):
        key, equals, value = argument.partition("=")
        if key in (f"--{name}", f"-{short}"):
            return line(value if equals else next(iter(arguments[place + 1 : place + 2]), ""), 60)
    return ""


def _number(arguments: Sequence[str], name: str, short: str) -> int:
    text = _value(arguments, name, short)
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _word(truth: bool) -> str:
    return str(truth).lower()


PERF_EVAL = Format(name="perf-eval", files=files)
