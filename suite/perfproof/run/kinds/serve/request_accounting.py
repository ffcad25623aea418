"""What client and server counted, side by side: requests that another server answered, or that somebody else sent, show here."""

from __future__ import annotations

from collections.abc import Mapping

from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.kinds.serve.output_lengths import SEVERAL_OUTPUTS, extra_body

MORE_REQUESTS = frozenset(["use-beam-search", "probe-request-rate"])
"""Flags with which the client sends other requests than those that are counted."""


def disagreement(workload: ServeWorkload, server: Mapping[str, int]) -> str:
    """Why the requests that the server finished are not those that the client sent, warm-ups included; "" if they are.

    `server` is what its counters grew by. A server that does not count its requests is taken at the client's word.
    """
    sent, answered = workload.requests + workload.warmups, server.get("requests")
    if answered is None or answered == sent or MORE_REQUESTS & set(workload.client) or SEVERAL_OUTPUTS & set(extra_body(workload)):
        return ""
    if answered < sent:
        return f"the server answered {answered} of the {sent} requests that the client sent: another server answered the rest"
    return f"the server answered {answered} requests, of which the client had sent {sent}: somebody else used it meanwhile"
