"""The counts that `penalties_incremental` keeps: how often each row of a batch has produced each token.

Storage row *i* is row *i* of the batch, so that a step without moves works on plain views. It
grows with the batch up to the most rows that the batch can have: 4 bytes a row and token, and one more
once a repetition penalty needs to know which tokens the prompts hold. (Upstream takes about 22 bytes for
the length of every step.)

With asynchronous scheduling a row's newest token is on the device before it is on the host. `expect` settles, before
the sampler runs, that this step's tokens can be counted there; the lists are then paid later (`pending_tokens`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfproof.patches.guard import counter
from perfproof.patches.penalties.pending_tokens import Ledger


@dataclass(frozen=True)
class Newest:
    """Where the newest token of each row lies on the device: `tokens[places[row], 0]`, or nowhere (-1). Both int32."""

    places: Any
    tokens: Any


@dataclass(frozen=True)
class Arrival:
    """The same tokens on their way to the host: `arriving[places[row], 0]` is there once `event` has happened."""

    places: list[int]
    arriving: Any
    event: Any


class Tally:
    """Counts int32 `[rows, vocabulary]` on one device, for the lists that they belong to."""

    def __init__(self, vocab_size: int, device: Any, max_rows: int) -> None:
        import torch

        self.vocab_size = vocab_size
        self.device = device
        self.max_rows = max_rows
        self.counts = torch.zeros((0, vocab_size), dtype=torch.int32, device=device)
        self.prompt_mask: Any = None
        self._unit = {amount: torch.full((1,), amount, dtype=torch.int32, device=device) for amount in (1, -1)}
        self._owners: list[Sequence[int] | None] = []
        self._counted: list[int] = []
        self._last: list[int] = []
        self._prompted: list[bool] = []
        self._ledger = Ledger()
        self.newest: Newest | None = None
        self._expected: tuple[Newest, Arrival] | None = None
        self._rows: list[Any] | None = None
        self._placed: tuple[list[int], Any] = ([], None)
        self._entered = counter("rows entered penalties_incremental")
        self._moved = counter("rows moved penalties_incremental")
        self._recounted = counter("rows recounted penalties_incremental")

    def forget(self, owner: Sequence[int]) -> None:
        """Drops the counts of this list, because it enters the batch again."""
        for row, known in enumerate(self._owners):
            if known is owner:
                self._owners[row] = None

    def follow(self, rows: Sequence[Sequence[int]]) -> bool:
        """Brings the counts up to date with these output lists, the batch's rows in order.

        False if some token is not in the vocabulary: then nothing kept here is valid.
        """
        self.pay()
        self._settle(rows)
        counted, last = self._counted, self._last
        places: list[int] = []
        tokens: list[int] = []
        for row, out in enumerate(rows):
            start = counted[row]
            ahead = len(out) - start
            if ahead == 1:
                token = out[start]
                if token != -1:
                    places.append(row)
                    tokens.append(token)
                    counted[row] += 1
                    last[row] = token
            elif ahead:
                new = self._catch_up(row, out)
                places += [row] * len(new)
                tokens += new
        if not self.in_range(tokens):
            return False
        self.add(self.counts, places, tokens, amount=1)
        return True

    def _catch_up(self, row: int, out: Sequence[int]) -> list[int]:
        """The tokens to count of a list that grew by more than one, or shrank; counts that can't be valid are dropped."""
        start = self._counted[row]
        if len(out) < start or (start and out[start - 1] != self._last[row]):
            self.counts[row].zero_()
            self._recounted.add()
            start = 0
        new = list(out[start:])
        known = new.index(-1) if -1 in new else len(new)
        self._counted[row] = start + known
        if start + known:
            self._last[row] = out[start + known - 1]
        if any(token != -1 for token in new[known:]):
            # Tokens beyond a placeholder count now, but not in their order: count all again next time.
            self._owners[row] = None
            return [token for token in new if token != -1]
        return new[:known]

    # --- newest tokens, counted where the sampler left them ------------------------------------------

    def expect(self, rows: Sequence[list[int]], places: list[int], tokens: Any, arriving: Any, event: Any) -> bool:
        """Whether each of these output lists has at most one new token, and that lies on the device.

        The newest token of row *i* is `tokens[places[i], 0]`, int32 on the device, and on its way to the host in `arriving`
        (there once `event` has happened); -1 is no place. If so, `take_newest` counts this step; if not, nothing has changed and
        `follow` must.
        """
        self._expected = None
        if self._ledger.full:
            self.pay()
        self._settle(rows)
        if not self._one_each(rows, places):
            return False
        if self._placed[0] != places:
            self._placed = (places, self._send_int32(places))
        self._expected = (Newest(self._placed[1], tokens), Arrival(self._placed[0], arriving, event))
        return True

    def _one_each(self, rows: Sequence[list[int]], places: list[int]) -> bool:
        """Whether every list with a place ends in one placeholder that is not counted, and no other list has new tokens.

        A list whose last token is not missing has no place: `places` is then set to -1.
        """
        counted, lengths = self._counted[: len(rows)], list(map(len, rows))
        if min(places, default=-1) >= 0 and lengths == [have + 1 for have in counted] and all(out[-1] == -1 for out in rows):
            return True
        for row, out in enumerate(rows):
            ahead = lengths[row] - counted[row]
            if places[row] < 0 or not out or out[-1] != -1:
                places[row] = -1
                if ahead:
                    return False
            elif ahead != 1:
                return False
        return True

    @property
    def expecting(self) -> bool:
        return self._expected is not None

    def take_newest(self, rows: Sequence[list[int]]) -> bool:
        """Leaves the tokens that `expect` accepted in `newest`, for the operation to count; from now on they are pending for the lists."""
        if self._expected is None:
            return False
        (self.newest, arrival), self._expected = self._expected, None
        if self._rows is None:
            self._rows = list(rows)
        self._ledger.owe(self._rows, arrival.places, arrival.arriving, arrival.event)
        size = len(rows)
        self._counted[:size] = [have + (place >= 0) for have, place in zip(self._counted[:size], arrival.places, strict=True)]
        return True

    def pay(self) -> None:
        """Writes the pending tokens into the lists."""
        self._expected = None
        if not len(self._ledger):
            return
        short = self._ledger.pay()
        for row, owner in enumerate(self._owners):
            if owner is not None and 0 < self._counted[row] <= len(owner):
                self._last[row] = owner[self._counted[row] - 1]
        for owner in short:
            self.forget(owner)

    # --- rows that come, go and move ------------------------------------------------------------

    def _settle(self, rows: Sequence[Sequence[int]]) -> None:
        """Makes storage row *i* belong to `rows[i]`: moves the counts of known lists, clears the rows of new ones."""
        size = len(rows)
        if len(self._owners) < size:
            self._grow(size)
        owners = self._owners
        if not all(map(operator.is_, rows, owners)):
            self._rows = None
            known = {id(owner): row for row, owner in enumerate(owners) if owner is not None}
            astray = [row for row in range(size) if owners[row] is not rows[row]]
            came_from = {row: known[id(rows[row])] for row in astray if id(rows[row]) in known}
            self._move(list(came_from), list(came_from.values()))
            self._enter([row for row in astray if row not in came_from])
            owners[:size] = rows
        if len(owners) > size and owners[size] is not None:
            self._rows = None
            owners[size:] = [None] * (len(owners) - size)

    def _move(self, to: list[int], came_from: list[int]) -> None:
        """Copies the counts of rows, all at once, so that rows may change places."""
        if not to:
            return
        self._moved.add(len(to))
        target, source = self._send(to), self._send(came_from)
        self.counts[target] = self.counts[source]
        if self.prompt_mask is not None:
            self.prompt_mask[target] = self.prompt_mask[source]
        known = [(self._counted[row], self._last[row], self._prompted[row]) for row in came_from]
        for row, values in zip(to, known, strict=True):
            self._counted[row], self._last[row], self._prompted[row] = values

    def _enter(self, rows: list[int]) -> None:
        """Clears rows for new requests."""
        if not rows:
            return
        self._entered.add(len(rows))
        self.counts[self._send(rows)] = 0
        for row in rows:
            self._counted[row] = 0
            self._prompted[row] = False

    def _grow(self, size: int) -> None:
        have = len(self._owners)
        more = max(size, min(2 * have, self.max_rows)) - have
        self.counts = self._widened(self.counts, more)
        if self.prompt_mask is not None:
            self.prompt_mask = self._widened(self.prompt_mask, more)
        self._owners += [None] * more
        self._counted += [0] * more
        self._last += [-1] * more
        self._prompted += [False] * more

    def _widened(self, kept: Any, more: int) -> Any:
        import torch

        wide = torch.zeros((len(kept) + more, self.vocab_size), dtype=kept.dtype, device=self.device)
        wide[: len(kept)] = kept
        return wide

    # --- prompts ----------------------------------------------------------------------------------

    def learn_prompts(self, size: int, prompts: Any) -> None:
        """Marks the tokens of those prompts that aren't marked yet.

        `prompts` is int64 `[rows, longest]`, padded with the vocabulary's size.
        """
        import torch

        if all(self._prompted[:size]):
            return
        if self.prompt_mask is None:
            self.prompt_mask = torch.zeros(self.counts.shape, dtype=torch.bool, device=self.device)
        rows = [row for row in range(size) if not self._prompted[row]]
        where = self._send(rows)
        seen = torch.zeros((len(rows), self.vocab_size + 1), dtype=torch.bool, device=self.device)
        seen.scatter_(1, prompts[where], True)
        self.prompt_mask[where] = seen[:, : self.vocab_size]
        for row in rows:
            self._prompted[row] = True

    # --- tokens -----------------------------------------------------------------------------------

    def in_range(self, tokens: Sequence[int]) -> bool:
        """Whether these are tokens of the vocabulary."""
        return not tokens or (min(tokens) >= 0 and max(tokens) < self.vocab_size)

    def add(self, counts: Any, rows: list[int], tokens: list[int], *, amount: int) -> None:
        """Adds `amount`, 1 or -1, to `counts`, int32 `[rows, vocabulary]`, at each of these tokens of these rows."""
        if not tokens:
            return
        flat = np.array(rows, dtype=np.int64)
        flat *= self.vocab_size
        flat += np.array(tokens, dtype=np.int64)
        if self.device.type == "cpu":
            np.add.at(counts.view(-1).numpy(), flat, amount)
            return
        counts.view(-1).scatter_add_(0, self._send(flat), self._unit[amount].expand(len(flat)))

    def _send_int32(self, numbers: list[int]) -> Any:
        import torch

        tensor = torch.tensor(numbers, dtype=torch.int32)
        return tensor if self.device.type == "cpu" else tensor.pin_memory().to(self.device, non_blocking=True)

    def _send(self, numbers: Any) -> Any:
        """Integers as an int64 tensor on the device; the host does not wait for the copy."""
        import torch

        tensor = torch.as_tensor(np.asarray(numbers, dtype=np.int64))
        return tensor if self.device.type == "cpu" else tensor.pin_memory().to(self.device, non_blocking=True)
