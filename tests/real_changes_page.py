"""docs/real-changes.md: what came of the forty real changes that `python -m tests.forty_diffs` asked about."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from perfproof.changes.counting.host_count import RAN

ENDED = "(exit code "
"""How the end of the line begins that gives the answer."""
TOLD = 160
"""Characters of a sentence in a row of the page."""


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The answers of a file by their change; of several on one change the last, and how often it was `asked` within the same budget."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    asked = Counter((key_of(line["change"]), line["budget"]) for line in lines)
    return {(key := key_of(line["change"])): {**line, "asked": asked[key, line["budget"]]} for line in lines}


def key_of(change: Mapping[str, str]) -> str:
    return json.dumps(change, sort_keys=True)


def page(draw: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str:
    """docs/real-changes.md: the answers on what was drawn."""
    answers = [known[key] for change in draw["changes"] if (key := key_of(change)) in known]
    missed = [one for one in answers if not one["ran"]]
    ran = [one for one in answers if one["ran"]]
    return "\n".join([*_head(draw, answers), *_figures(draw, answers), *_tables(ran, missed)]).rstrip() + "\n"


def _head(draw: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    budgets = " or ".join(sorted({one["budget"] for one in answers}))
    releases = draw["releases"]
    yield "# Real changes\n"
    yield "Each change is one function's difference between two neighbouring releases of vLLM, laid over the older one, and put to"
    yield f"`perfproof pr --budget {budgets}`. They are drawn by a seed from all functions of `vllm/v1` that two neighbours from"
    yield f"{releases[0]} to {releases[-1]} both define, without what [coverage](coverage.md) leaves out and says that one CPU can't run."
    yield "What counts is an answer in which the change ran. The first command makes the diffs and asks, the second writes this page:\n"
    yield "```sh\npython -m tests.forty_diffs\npython -m tests.forty_diffs --page docs/real-changes.md\n```\n"


def _figures(draw: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    states, codes = (Counter(one[field] for one in answers) for field in ("suite", "code"))
    left = sum(draw["beyond"].values())
    yield (
        f"- {draw['differing']} functions differ; {left} of them were left out before the draw, because one CPU can't run them: "
        + ", ".join(f"{part} {count}" for part, count in draw["beyond"].items())
    )
    yield f"- of the {len(draw['changes'])} that are drawn, {len(answers)} have been asked about, in their order where not all have"
    seconds, worked, load = (f"{median(one[field] for one in answers):.0f}" for field in ("seconds", "worked", "load"))
    yield (
        f"- {sum(one['ran'] for one in answers)} of {len(answers)} changes ran; in the median an answer took {seconds} seconds, of which "
        f"{worked} of a processor, on 2 cores that {load} processes wanted before it came"
    )
    if again := sum(one["asked"] > 1 for one in answers):
        yield f"- {again} were asked about more than once, and the last answer counts; the records have all"
    yield (
        "- exit codes: " + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())) + "; a function that is laid over alone "
        "may need what else its release changed, and fails then: that is an answer, too"
    )
    yield (
        f"- the answers are of {len(states)} state{'s' if len(states) > 1 else ''} of perfproof: "
        + ", ".join(f"{name} ({count})" for name, count in states.most_common())
        + "\n"
    )


def _tables(ran: Sequence[Mapping[str, Any]], missed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for title, column, answers in (("ran", "what ran it", ran), ("did not run", "why", missed)):
        yield f"## Changes that {title}\n"
        yield f"| releases | function | {column} | exit code | seconds |"
        yield "| --- | --- | --- | ---: | ---: |"
        yield from (_row(one, _by(one["said"]) if one["ran"] else _why(one)) for one in answers)
        yield ""


def _row(one: Mapping[str, Any], words: str) -> str:
    change = one["change"]
    cells = (f"{change['before']} to {change['after']}", f"`{change['function']}`", words, str(one["code"]), f"{one['seconds']:.0f}")
    return f"| {' | '.join(cells)} |"


def _by(said: str) -> str:
    """Who ran it, of the sentence that says so."""
    return ", ".join(dict.fromkeys(part.partition(" (called")[0].strip() for part in said.removeprefix(RAN).split(";")))


def _why(one: Mapping[str, Any]) -> str:
    return str(one["answer"].partition(f" {ENDED}")[0].replace("|", "/")[:TOLD])
