"""The thinking budget looks only at new tokens for its markers (prime-rl #2772; lost in vLLM 0.26 by #45984).

`ThinkingBudgetStateHolder._update_think_state` uses -1 both for "not scanned" and for "not there", and
so searches the whole output for a marker again at every step until it appears: a cost that grows with the
output. Here each request's state remembers up to where its output was scanned (`SCANNED`), and the search
goes on from there, overlapping by the marker's length less one. "Scanned, not there" is `ABSENT` (-2),
which does not set off upstream's own search; upstream's function does the rest of the step, so
only the count-down of an ordinary thinking step is repeated here.

Exact because:

- an output that got shorter than what was scanned (a discarded load, a rejected draft), or whose last
  scanned token is another object now, is scanned from scratch; a `fallback` is counted;
- placeholders (-1) at the end are not taken as scanned: a later step puts the tokens there;
- up to 0.27 `sync_batch` copies the state, instead of moving it, where of two swapped rows only one is
  tracked; two rows then feed one state, which from then on is scanned from scratch at every step;
- from 0.26 on the search never goes below `scan_offset`, the end of the last thinking block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

NAME = "thinking_watermark"
UNSCANNED, ABSENT, PLACEHOLDER = -1, -2, -1
SCANNED, LAST, SHARED = "perfproof_scanned", "perfproof_last", "perfproof_shared"
"""Keys of a request's state: how many tokens were scanned, the last of them, whether two rows share the state."""

HOLDER = "vllm.v1.sample.thinking_budget_state"
UPDATE = Target(
    HOLDER,
    "ThinkingBudgetStateHolder._update_think_state",
    {"0.22.0": "5cfea5698119bb87", "0.28.0": "4b71297075194a70", "0.32.0": "4b71297075194a70"},
)
SYNC = Target(
    HOLDER,
    "ThinkingBudgetStateHolder.sync_batch",
    {"0.22.0": "b018ccc3add468b9", "0.28.0": "5ab5e2c89e4e251b", "0.32.0": "5ab5e2c89e4e251b"},
)

PATCH = Patch(
    name=NAME,
    direction="adds",
    summary="searches only new tokens for the markers of a thinking section",
    origin="https://github.com/PrimeIntellect-ai/prime-rl/pull/2772",
    holds={release: frozenset({"cpu", "cuda"} if release == "0.22.0" else {"cpu"}) for release in UPDATE.sources},
    targets=(UPDATE, SYNC),
)


def find_last(output: list[int], marker: list[int], low: int, high: int) -> int:
    """Where in `output[low:high]` the last `marker` starts, `ABSENT` if nowhere.

    It compares every place where one could start with the marker's first token, and goes on only where one does.
    """
    last = high - len(marker)
    if not marker or last < low or marker[0] not in output[low : last + 1]:
        return ABSENT
    for start in range(last, low - 1, -1):
        if output[start : start + len(marker)] == marker:
            return start
    return ABSENT


def settled(output: list[int]) -> int:
    """How many tokens come before the placeholders at the end."""
    end = len(output)
    if not end or output[-1] != PLACEHOLDER:
        return end
    while end and output[end - 1] == PLACEHOLDER:
        end -= 1
    return end


def watermark(state: dict[str, Any], end: int, rescans: Callable[[], None]) -> int:
    """Up to where the output was scanned before and has not changed; 0 if that is unknown."""
    scanned: int = state.get(SCANNED, 0)
    if not scanned:
        return 0
    if SHARED in state or end < scanned or state["output_tok_ids"][scanned - 1] is not state[LAST]:
        rescans()
        return 0
    return scanned


def counted_down(state: dict[str, Any], start_marker: list[int]) -> bool:
    """Whether this step only counts the budget down, done here if so (as upstream does before it looks any further)."""
    length, before = len(state["output_tok_ids"]), state["prev_output_length"]
    inside = before == 0 and not state["continue_thinking"]
    left = state["check_count_down"] - (length - (len(start_marker) if inside else before))
    if state["in_end"] or left - len(state["spec_token_ids"]) - 1 < 0:
        return False
    state["check_count_down"], state["prev_output_length"] = left, length
    return True


def incremental(upstream: Callable[[Any, dict[str, Any]], None]) -> Callable[[Any, dict[str, Any]], None]:
    """`_update_think_state` with upstream's searches answered beforehand."""
    rescans = counter(f"fallback {NAME}").add

    def _update_think_state(self: Any, state: dict[str, Any]) -> None:
        if state["thinking_token_budget"] == -1 or not self.think_end_token_ids:
            return upstream(self, state)
        start, stop = state["start_thinking"], state["end_thinking"]
        if start < 0 or stop < 0:
            output, offset = state["output_tok_ids"], state.get("scan_offset", 0)
            end = settled(output)
            scanned = watermark(state, end, rescans)
            if start < 0:
                marker = self.think_start_token_ids
                low = scanned - len(marker) + 1
                start_found = find_last(output, marker, low if low > offset else offset, end)
                state["start_thinking"] = start = UNSCANNED if start_found == ABSENT else start_found
            if stop < 0:
                marker = self.think_end_token_ids
                low = scanned - len(marker) + 1
                state["end_thinking"] = stop = find_last(output, marker, low if low > offset else offset, end)
            state[SCANNED], state[LAST] = end, output[end - 1] if end else None
        if start < 0 or (stop < 0 and counted_down(state, self.think_start_token_ids)):
            return None
        return upstream(self, state)

    return _update_think_state


def telling_shared(upstream: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """`sync_batch`, marking every state that two rows share afterwards."""

    def sync_batch(self: Any, batch_update: Any) -> None:
        upstream(self, batch_update)
        if batch_update and batch_update.moved:
            seen: set[int] = set()
            for state in self._state.values():
                if id(state) in seen:
                    state[SHARED] = True
                seen.add(id(state))

    return sync_batch


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {UPDATE.name: incremental(original_of(UPDATE)), SYNC.name: telling_shared(original_of(SYNC))}


def register() -> None:
    PATCH.apply(replacements)
