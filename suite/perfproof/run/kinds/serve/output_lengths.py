"""How long outputs were, held against how long they were asked to be: a run whose outputs are of other lengths measured something else.

Where the end of a sequence is ignored, every output must have just the length that its request asked for; where it is not, none may be
empty or longer than that, and not all of them may end at once. What was asked for is told by the client, request by request and whatever
the data set; a client that can't tell is taken at the workload's word, where that names one length.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.servers.bench_client import POOLING, SAMPLING

CUSTOM_LENGTH = 256
"""Output tokens that vLLM asks for where a custom data set and the flags name none."""
SEVERAL_OUTPUTS = frozenset(["n", "best_of", "use_beam_search"])
"""What an `extra-body` says where the server makes several outputs of one request, and counts the tokens of all."""
ENDING = frozenset(["stop", "stop_token_ids", "ignore_eos", "response_format", "structured_outputs", "repetition_detection"])
"""What an `extra-body` says that ends an output before its length; so does whatever begins with `guided_`."""

UNKNOWN = "how long each output was to be is not known: had outputs ended early, only empty ones would have shown"
"""What makes one doubt a run of which nobody told the lengths that were asked for."""


def extra_body(workload: ServeWorkload) -> Mapping[str, Any]:
    """What the client's flags say to the server in their `extra-body`."""
    try:
        said = json.loads(str(workload.client.get("extra-body", "{}")))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def asked_for(workload: ServeWorkload, told: Sequence[int] | None) -> Sequence[int] | None:
    """The most tokens that each request asked for by the client's flags, in their order; None where that is not known.

    `told` is what the client noted, None where it could not. A `max_tokens` in the `extra-body` is no such flag: it cuts outputs short.
    """
    if SEVERAL_OUTPUTS & set(extra_body(workload)):
        return None
    if told is not None and len(told) == workload.requests and all(told):
        return told
    wanted = wanted_output(workload)
    return None if wanted is None else [wanted] * workload.requests


def fault(lengths: object, workload: ServeWorkload, told: Sequence[int] | None, ignored: bool | None) -> str:
    """Why outputs of these lengths, one a request, are not those that were asked for; "" if they are, and for what pools.

    `told` and `ignored` are what the client noted: lengths asked for, and whether the end of a sequence was ignored; None where unknown.
    """
    if workload.client.get("backend") in POOLING:
        return ""
    count = workload.requests
    if not isinstance(lengths, list) or len(lengths) != count:
        return f"the client told no length of each of the {count} outputs: whether they were those asked for is not known"
    asked = asked_for(workload, told)
    if asked is not None and _exact(workload, ignored):
        return _other(lengths, asked)
    if none := sum(length < 1 for length in lengths):
        return f"{none} of {count} outputs hold no token"
    if asked is None:
        return ""
    if more := sum(length > most for length, most in zip(lengths, asked, strict=True)):
        return f"{more} of {count} outputs are longer than was asked for ({max(lengths)} of at most {max(asked)} tokens)"
    if max(lengths) == 1 < max(asked):
        return f"all {count} outputs ended with their first token, of up to {max(asked)} asked for: nothing was decoded"
    return ""


def _other(lengths: Sequence[int], asked: Sequence[int]) -> str:
    """Outputs that had just to be of the length asked for, and are not."""
    odd = [place for place, (length, wanted) in enumerate(zip(lengths, asked, strict=True)) if length != wanted]
    if not odd:
        return ""
    said, first = f"{len(odd)} of {len(asked)} outputs were not", odd[0]
    if len(set(asked)) == 1:
        return f"{said} the {asked[0]} tokens asked for ({min(lengths)} to {max(lengths)})"
    return f"{said} as long as asked for (the first: output {first + 1}, {lengths[first]} tokens of {asked[first]})"


def _exact(workload: ServeWorkload, ignored: bool | None) -> bool:
    """Whether nothing but its length may end an output."""
    body = extra_body(workload)
    ending = ENDING & set(body) or any(name.startswith("guided_") for name in body)
    ignores = ignored if ignored is not None else bool(workload.client.get("ignore-eos", True))
    return ignores and not ending and workload.client.get("backend", "openai") in SAMPLING


def checksum(lengths: Sequence[int]) -> int:
    """One number for the lengths of all outputs in their order, by which the arms of a block show whether they made the same."""
    return zlib.crc32(",".join(map(str, lengths)).encode())


def wanted_output(workload: ServeWorkload) -> int | None:
    """The length that every output must have by the scenario's own words; None where these leave it open."""
    client = workload.client
    if workload.dataset is not None:
        fixed = workload.dataset.output_tokens is None and client.get("ignore-eos", True)
        return int(client.get("custom-output-len") or client.get("output-len") or CUSTOM_LENGTH) if fixed else None
    length = client.get("random-output-len", client.get("output-len"))
    fixed = client.get("dataset-name", "random") == "random" and _ratio(client.get("random-range-ratio", 0)) == 0
    return int(length) if fixed and length is not None and client.get("ignore-eos", True) else None


def _ratio(value: str | int | float | bool) -> float:
    """A range ratio; one that is a JSON text for input and output apart counts as some: no single length is asked for then."""
    try:
        return float(value)
    except ValueError:
        return 1.0
