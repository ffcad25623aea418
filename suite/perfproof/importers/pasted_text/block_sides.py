"""Whose the blocks and the score tables of a text are, by the headings above them."""

from __future__ import annotations

from dataclasses import replace

from perfproof.importers.pasted_text.clients.client_blocks import Block
from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import ordinal


class BlockSides:
    """The sides of blocks and score tables: after a remark, a second one below the same heading is no longer of the side it names."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, object]] = set()
        self._remarked = False
        self._unnamed = 0

    def remark(self) -> None:
        self._remarked = True

    def of_block(self, context: Context, block: Block) -> Context:
        if block.side:
            return replace(context, side=block.side)
        return self._own(context, "block")

    def of_scores(self, context: Context) -> Context:
        context = self._own(context, "scores")
        if context.side:
            return context
        self._unnamed += 1
        return replace(context, side=ordinal(self._unnamed))

    def _own(self, context: Context, kind: str) -> Context:
        seen = (kind, (context.side, context.section, context.weak, context.run))
        again = seen in self._seen and self._remarked and not context.run
        self._seen.add(seen)
        self._remarked = False
        return replace(context, side="") if again else context
