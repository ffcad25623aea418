"""The exact witnesses of every microbenchmark scenario that needs no GPU: counts of work, equal on every machine.

A pin says what one benchmark counts with given parameters (those that differ from its defaults) as released or with a patch, and
for which releases of vLLM. `test_witnesses.py` counts them again inside a build; `tests/test_pins.py` sees that every
scenario's cases and arms have one, and that the committed records agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Release = tuple[int, ...]


@dataclass(frozen=True)
class Pin:
    """`witnesses` of `bench` with `parameters` and `patch` ("" as released), for releases from `since` to `until`, both included."""

    bench: str
    parameters: Mapping[str, Any]
    patch: str
    since: Release
    until: Release
    witnesses: Mapping[str, float]

    @property
    def name(self) -> str:
        case = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return " ".join(filter(None, (self.bench, case, self.patch or "as released", self.span)))

    @property
    def span(self) -> str:
        return f"{'.'.join(map(str, self.since))} to {'.'.join(map(str, self.until))}"

    def fits(self, bench: str, parameters: Mapping[str, Any], patch: str, release: Release) -> bool:
        return (self.bench, dict(self.parameters), self.patch) == (bench, dict(parameters), patch) and self.since <= release <= self.until


FIRST, LAST = (0, 17, 1), (0, 32, 0)


def pin(bench: str, parameters: Mapping[str, Any], patch: str, since: Release = FIRST, until: Release = LAST, **witnesses: float) -> Pin:
    return Pin(bench, parameters, patch, since, until, witnesses)


def sized(sizes: tuple[int, ...], default: int, name: str, **more: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each size with its parameters; the default also where it is not set."""
    yield default, dict(more)
    yield from ((size, {**more, name: size}) for size in sizes)


def swaps() -> Iterator[Pin]:
    """Whole rows: 17 bytes a token of `max_model_len`. From 0.19 on what is in use, and a byte a token of it for the block tables."""
    for length, case in sized((8_192, 32_768, 131_072), 32_768, "max_model_len"):
        yield pin("swap_states", case, "", until=(0, 18, 1), bytes_per_swap=17 * length)
        yield pin("swap_states", case, "", since=(0, 19, 0), bytes_per_swap=24_570.8 + length)
        yield pin("swap_states", case, "swap_states_active_prefix", until=(0, 18, 1), bytes_per_swap=24_570.8 + length)
        yield pin("swap_states", case, "swap_states_full_rows", since=(0, 19, 0), bytes_per_swap=17 * length)
        yield pin("swap_states", case, "swap_states_batched", since=(0, 22, 0), bytes_per_swap=25_728.56)
    for length, case in sized((8_192, 32_768, 131_072), 32_768, "max_model_len", reorders=8):
        yield pin("swap_states", case, "", since=(0, 19, 0), bytes_per_swap=24_948.98539435248 + length)
        yield pin("swap_states", case, "swap_states_full_rows", since=(0, 19, 0), bytes_per_swap=17 * length)
        yield pin("swap_states", case, "swap_states_batched", since=(0, 22, 0), bytes_per_swap=20_354.565725413828)
    drafts = {"speculative_tokens": 5}
    yield pin("swap_states", drafts, "", since=(0, 19, 0), bytes_per_swap=56_383.04)
    yield pin("swap_states", drafts, "swap_states_full_rows", since=(0, 19, 0), bytes_per_swap=17 * 32_768)
    yield pin("swap_states", drafts, "swap_states_batched", since=(0, 22, 0), bytes_per_swap=24_723.768)


def thinking() -> Iterator[Pin]:
    """The mean of the eight steps after two: the whole output as released, but in 0.25; the new token and a look at the last, patched."""
    for length, case in sized((1_000, 4_000, 16_000, 32_000), 16_000, "output_length"):
        for since, until in (((0, 22, 0), (0, 24, 0)), ((0, 26, 0), LAST)):
            yield pin("thinking_scan", case, "", since, until, tokens_compared_per_step=length + 6.5)
        yield pin("thinking_scan", case, "", (0, 25, 0), (0, 25, 1), tokens_compared_per_step=1)
        yield pin("thinking_scan", case, "thinking_watermark", since=(0, 22, 0), tokens_compared_per_step=2)


def penalties() -> Iterator[Pin]:
    """Every output converted at every step as released; none of it the prime-rl way; one token a request where counts are kept.

    Asynchronous scheduling adds the repair of a request's placeholder: three elements are read as released, seven the prime-rl way, which
    writes the token into the array, too. Where counts are kept nothing is repaired, and a look at the last element is all.
    """
    sizes = sized((1_000, 4_000, 12_000, 32_000), 12_000, "output_length")
    for length, batch, case in (*((length, 128, case) for length, case in sizes), (2_000, 32, {"batch": 32, "output_length": 2_000})):
        yield pin("penalties", case, "", list_elements_converted_per_step=batch * length)
        yield pin("penalties", case, "penalties_from_token_ids", since=(0, 22, 0), list_elements_converted_per_step=0)
        yield pin("penalties", case, "penalties_incremental", since=(0, 22, 0), list_elements_converted_per_step=batch)
    for length, case in sized((1_000, 4_000, 12_000), 12_000, "output_length", scheduling="asynchronous"):
        yield pin("penalties", case, "", since=(0, 22, 0), list_elements_converted_per_step=128 * (length + 3))
        yield pin("penalties", case, "penalties_from_token_ids", since=(0, 22, 0), list_elements_converted_per_step=128 * 7)
        yield pin("penalties", case, "penalties_incremental", since=(0, 22, 0), list_elements_converted_per_step=128)


def pooling() -> Iterator[Pin]:
    """Two waits a request (GritLM one) and the padded ids once up to 0.18; none and twice from 0.19 to 0.28; none and once after."""
    batches = ((2 * requests, requests * 48, case) for requests, case in sized((8, 32, 128), 128, "requests"))
    prompts = ((256, 128 * length, {"prompt_tokens": length}) for length in (64, 512, 4_000))
    for waits, ids, case in (*batches, *prompts, (128, 128 * 48, {"pooler": "gritlm"})):
        for patch, since, until, waited, built in (
            ("", FIRST, (0, 18, 1), waits, ids),
            ("pooling_cpu_token_ids", FIRST, (0, 18, 1), 0, 2 * ids),
            ("", (0, 19, 0), (0, 28, 0), 0, 2 * ids),
            ("pooling_device_round_trip", (0, 19, 0), (0, 28, 0), waits, ids),
            ("", (0, 29, 0), LAST, 0, ids),
        ):
            if case.get("pooler") == "gritlm" and until == LAST:
                continue  # the model is gone after 0.28.0
            yield pin("pooling_token_ids", case, patch, since, until, host_syncs_per_step=waited, token_ids_built_per_step=built)


def output_ids() -> Iterator[Pin]:
    """A batch that needs no output ids is handed them in 0.21.0 alone."""
    yield pin("output_ids_needed", {}, "", FIRST, (0, 20, 2), output_ids_needed=0)
    yield pin("output_ids_needed", {}, "", (0, 21, 0), (0, 21, 0), output_ids_needed=1)
    yield pin("output_ids_needed", {}, "", (0, 22, 0), LAST, output_ids_needed=0)


PINS = (*swaps(), *thinking(), *penalties(), *pooling(), *output_ids())
