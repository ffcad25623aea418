"""Compares the requests that client and server counted: it shows requests that another server answered, or another client sent."""

from __future__ import annotations

from collections.abc import Mapping

from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.kinds.serve.output_lengths import SEVERAL_OUTPUTS, extra_body

MORE_REQUESTS = frozenset(["use-beam-search", "probe-request-rate"])
"""Flags that make the client send requests that it does not count."""


def disagreement(workload: ServeWorkload, server: Mapping[str, int]) -> str:
    """Why the server finished other requests than the client sent, warm-ups included; "" if it did not.

    `server` is the growth of its counters. If a server does not count its requests, the client's number stands.
    """
    sent, answered = workload.requests + workload.warmups, server.get("requests")
    if answered is None or answered == sent or MORE_REQUESTS & set(workload.client) or SEVERAL_OUTPUTS & set(extra_body(workload)):
        return ""
    if answered < sent:
        return f"the server answered {answered} of the {sent} requests that the client sent: another server answered the rest"
    return f"the server answered {answered} requests, but the client sent {sent}: another client used it meanwhile"
