"""What client and server counted, side by side: requests that another server answered, or that somebody else sent, show here."""

from __future__ import annotations

import json
from collections.abc import Mapping

from suite.model.scenario import ServeWorkload

MORE_REQUESTS = frozenset(["use-beam-search", "probe-request-rate"])
"""Flags with which the client sends other requests than those that are counted."""
SEVERAL_OUTPUTS = frozenset(["n", "best_of", "use_beam_search"])
"""What an `extra-body` says where the server makes several requests of one, and counts each."""


def disagreement(workload: ServeWorkload, server: Mapping[str, int]) -> str:
    """Why the requests that the server finished are not those that the client sent, warm-ups included; "" if they are.

    `server` is what its counters grew by. A server that does not count its requests is taken at the client's word.
    """
    sent, answered = workload.requests + workload.warmups, server.get("requests")
    if answered is None or answered == sent or MORE_REQUESTS & set(workload.client) or SEVERAL_OUTPUTS & _body(workload):
        return ""
    if answered < sent:
        return f"the server answered {answered} of the {sent} requests that the client sent: another server answered the rest"
    return f"the server answered {answered} requests, of which the client had sent {sent}: somebody else used it meanwhile"


def _body(workload: ServeWorkload) -> set[str]:
    """What the client's flags say to the server in their `extra-body`."""
    try:
        said = json.loads(str(workload.client.get("extra-body", "{}")))
    except ValueError:
        return set()
    return set(said) if isinstance(said, dict) else set()
