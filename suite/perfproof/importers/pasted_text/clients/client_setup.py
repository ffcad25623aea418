"""Lines in which a client or a command says which model it ran: what stands below them is of that model alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.lines.text_lines import Line

_LM_EVAL = re.compile(r"^[\w-]{1,60} \(")
_ASKED = re.compile(r"\b(?:model|pretrained)=(?P<model>[^,\s)]+)")
_COMMAND = re.compile(
    r"(?:^|\s)--model(?:=|\s+)(?P<model>[^\s\\-]\S*)|(?:^|\s)--model_args\s.{0,300}?\b(?:model|pretrained)=(?P<args>[^,\s]+)"
    r"|\bvllm serve (?P<served>[^\s\\-]\S*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A line that says of which model the numbers below it are, by the last part of its name."""

    model: str
    number: int


def setup_line(lines: Sequence[Line], at: int) -> tuple[Setup, int] | None:
    """What lm_eval prints above its table, or a command with its model."""
    text = lines[at].text
    asked = "num_fewshot" in text and _LM_EVAL.match(text)
    found = _ASKED.search(text) if asked else None if text.startswith("|") else _COMMAND.search(text)
    model = next(filter(None, found.groups()), "") if found else ""
    name = model.strip("'\"`").rstrip("/").rsplit("/", 1)[-1]
    return (Setup(model=name, number=lines[at].number), at + 1) if name else None
