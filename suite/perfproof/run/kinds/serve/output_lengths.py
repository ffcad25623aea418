"""Compares output lengths with the lengths asked for: a run whose outputs have other lengths measured something else.

If the end of a sequence is ignored, every output must have exactly the length that its request asked for. If not, no output may be empty
or longer than that, and not all of them may end with their first token. The client notes the length that each request asked for, for any
data set. If a client can't, the workload's own length counts, where it names one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.servers.bench_client import POOLING, SAMPLING

CUSTOM_LENGTH = 256
"""Output tokens that vLLM asks for if neither the custom data set nor a flag names a number."""
SEVERAL_OUTPUTS = frozenset(["n", "best_of", "use_beam_search"])
"""Keys of an `extra-body` that make the server give several outputs for one request, and count the tokens of all."""
ENDING = frozenset(["stop", "stop_token_ids", "ignore_eos", "response_format", "structured_outputs", "repetition_detection"])
"""Keys of an `extra-body` that end an output before its length; so do all keys that begin with `guided_`."""

UNKNOWN = "the length that each request asked for is unknown: of outputs that ended early, only empty ones would show"
"""The warning for a run whose requested lengths are unknown."""


def extra_body(workload: ServeWorkload) -> Mapping[str, Any]:
    """The client's `extra-body` flag, which goes to the server with every request."""
    try:
        body = json.loads(str(workload.client.get("extra-body", "{}")))
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def asked_for(workload: ServeWorkload, noted: Sequence[int] | None) -> Sequence[int] | None:
    """The most tokens that each request asked for by the client's flags, in their order; None where unknown.

    `noted` are the lengths that the client noted, None where it could not. A `max_tokens` in the `extra-body` does not count: it cuts
    outputs short.
    """
    if SEVERAL_OUTPUTS & set(extra_body(workload)):
        return None
    if noted is not None and len(noted) == workload.requests and all(noted):
        return noted
    wanted = wanted_output(workload)
    return None if wanted is None else [wanted] * workload.requests


def fault(lengths: object, workload: ServeWorkload, noted: Sequence[int] | None, ignored: bool | None) -> str:
    """Why outputs of these lengths, one per request, are not those asked for; "" if they are, and for pooling models.

    The client noted `noted`, the lengths asked for, and `ignored`, whether the end of a sequence was ignored; None where unknown.
    """
    if workload.client.get("backend") in POOLING:
        return ""
    count = workload.requests
    if not isinstance(lengths, list) or len(lengths) != count:
        return f"the client did not give the length of each of the {count} outputs: whether they are as long as asked for is unknown"
    requested = asked_for(workload, noted)
    if requested is not None and _exact(workload, ignored):
        return _other(lengths, requested)
    if none := sum(length < 1 for length in lengths):
        return f"{none} of {count} outputs are empty"
    if requested is None:
        return ""
    if more := sum(length > most for length, most in zip(lengths, requested, strict=True)):
        return f"{more} of {count} outputs are longer than asked for ({max(lengths)} of at most {max(requested)} tokens)"
    if max(lengths) == 1 < max(requested):
        return f"all {count} outputs ended with their first token, of up to {max(requested)} asked for: nothing was decoded"
    return ""


def _other(lengths: Sequence[int], requested: Sequence[int]) -> str:
    """Which outputs differ from the exact length that their request asked for; "" if none does."""
    odd = [place for place, (length, wanted) in enumerate(zip(lengths, requested, strict=True)) if length != wanted]
    if not odd:
        return ""
    count_of_odd, first = f"{len(odd)} of {len(requested)} outputs were not", odd[0]
    if len(set(requested)) == 1:
        return f"{count_of_odd} the {requested[0]} tokens asked for ({min(lengths)} to {max(lengths)})"
    return f"{count_of_odd} as long as asked for (the first: output {first + 1}, {lengths[first]} tokens of {requested[first]})"


def _exact(workload: ServeWorkload, ignored: bool | None) -> bool:
    """Whether only its length may end an output."""
    body = extra_body(workload)
    ending = ENDING & set(body) or any(name.startswith("guided_") for name in body)
    ignores = ignored if ignored is not None else bool(workload.client.get("ignore-eos", True))
    return ignores and not ending and workload.client.get("backend", "openai") in SAMPLING


def checksum(lengths: Sequence[int]) -> int:
    """One number for the lengths of all outputs in their order; the arms of a block made the same if it is equal."""
    return zlib.crc32(",".join(map(str, lengths)).encode())


def wanted_output(workload: ServeWorkload) -> int | None:
    """The length that every output must have by the scenario; None where it leaves that open."""
    client = workload.client
    if workload.dataset is not None:
        fixed = workload.dataset.output_tokens is None and client.get("ignore-eos", True)
        return int(client.get("custom-output-len") or client.get("output-len") or CUSTOM_LENGTH) if fixed else None
    length = client.get("random-output-len", client.get("output-len"))
    fixed = client.get("dataset-name", "random") == "random" and _ratio(client.get("random-range-ratio", 0)) == 0
    return int(length) if fixed and length is not None and client.get("ignore-eos", True) else None


def _ratio(value: str | int | float | bool) -> float:
    """A range ratio; a JSON text with one ratio for input and one for output counts as positive: then no single length is asked for."""
    try:
        return float(value)
    except ValueError:
        return 1.0
