"""Which gate catches which planted fault: the page `docs/planted-faults.md`, made from committed records.

`python -m perfproof.validation.planted --results results/planted --out docs/planted-faults.md`. A fault is an arm whose environment names
it (`PERFPROOF_FAULT`); a gate is a metric of a scenario of kind equality or
accuracy. A fault counts as caught by a gate whose verdict is *regressed*, *inconclusive* never does.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof import store
from perfproof.analysis.equality.equality_verdict import details
from perfproof.analysis.judging.judge import JudgedScenario, judge_records
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import base_name
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.patches.planted.chosen_fault import VARIABLE
from perfproof.validation.tables import table

PATCHES = ("planted_penalties", "planted_sampler", "planted_pooling")
GATES: Mapping[str, str] = {
    "greedy_outputs": "equality, greedy",
    "sampled_outputs": "equality, sampled",
    "text_perplexity": "teacher-forced",
    "embeddings": "embeddings",
    "accuracy": "accuracy",
}
"""The gates by the metrics that they judge, in the order of the page's columns."""
FAULT = re.compile(r"^- `(\w+)`: (.+?)[;.]$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One fault tested by one gate of one scenario."""

    fault: str
    gate: str
    row: Judged
    detail: EqualityDetails | None


def descriptions() -> dict[str, str]:
    """The description of every planted fault by name, from its patch's own docstring."""
    return {
        name: " ".join(what.split())
        for patch in PATCHES
        for name, what in FAULT.findall(importlib.import_module(f"perfproof.patches.planted.{patch}").__doc__ or "")
    }


def tried(records: Sequence[Record]) -> list[Tried]:
    """Every fault at every gate that tested it, in the order of the records."""
    return [each for one in judge_records(records) for each in _tried(one, [r for r in records if r.scenario == one.scenario.name])]


def _tried(one: JudgedScenario, records: Sequence[Record]) -> Iterable[Tried]:
    faults = {arm.name: arm.environment.get(VARIABLE, "") for arm in one.scenario.candidates}
    bits = kind_of(one.scenario.workload).judged_by == "bits"
    behind = {(each.candidate, each.part): each for each in details(one.scenario, records)} if bits else {}
    for row in one.judged:
        gate = GATES.get(base_name(row.metric))
        if gate and faults.get(row.candidate):
            detail = next((each for (arm, part), each in behind.items() if (arm, part) == (row.candidate, row.metric)), None)
            yield Tried(fault=faults[row.candidate], gate=gate, row=row, detail=detail)


def page(records: Sequence[Record], folder: str) -> str:
    """The page in Markdown: one row per fault, one column per gate; then the faults that no gate caught, and the runs behind the page."""
    results = tried(records)
    gates = [gate for gate in GATES.values() if any(each.gate == gate for each in results)]
    faults = [name for name in descriptions() if any(each.fault == name for each in results)]
    rows = [
        [f"`{name}`", descriptions()[name], *(_cell([t for t in results if (t.fault, t.gate) == (name, gate)]) for gate in gates)]
        for name in faults
    ]
    missed = [name for name in faults if not any(_caught(each) for each in results if each.fault == name)]
    waiting = [name for name in descriptions() if name not in faults]
    parts = [
        "# Planted faults",
        "Patches that are wrong on purpose (`suite/perfproof/patches/planted/planted_*.py`), tested by the gates that should catch "
        "them. Made by "
        f"`python -m perfproof.validation.planted --results {folder} --out docs/planted-faults.md`; nothing on this page is typed by hand.",
        f"{len(faults) - len(missed)} of {len(faults)} faults were caught by some gate. **Caught** is the verdict *regressed*, which fails "
        "the gate with exit code 1; beside it stand how many prompts, tokens or items were asked and, of equality, how many gave it away. "
        "A dash is a gate that did not test the fault.",
        table(["fault", "what is wrong", *gates], rows),
        "## What no gate caught",
        *([f"- `{name}`: {descriptions()[name]}" for name in missed] or ["Nothing: every fault was caught by some gate."]),
        *(["## Not measured yet", *(f"- `{name}`: {descriptions()[name]}" for name in waiting)] if waiting else []),
        "## The runs behind it",
        *(_runs(records)),
    ]
    return "\n\n".join(_joined(parts)) + "\n"


def _joined(parts: Sequence[str]) -> list[str]:
    """Paragraphs, the items of a list kept together."""
    found: list[str] = []
    for part in parts:
        if found and part.startswith("- ") and found[-1].startswith("- "):
            found[-1] += f"\n{part}"
        else:
            found.append(part)
    return found


def _caught(each: Tried) -> bool:
    return each.row.verdict == Outcome.REGRESSED


def _cell(results: Sequence[Tried]) -> str:
    """The result of one gate for one fault, over its scenarios."""
    scored = [each for each in results if each.detail is None]
    texts = [*(_equality_text(each, each.detail) for each in results if each.detail is not None), *([_scored(scored)] if scored else [])]
    return "; ".join(dict.fromkeys(texts)) or "–"


def _scored(results: Sequence[Tried]) -> str:
    """The result of accuracy for one fault, over all its tasks."""
    many = {str(word): sum(each.row.verdict == word for each in results) for word in dict.fromkeys(each.row.verdict for each in results)}
    verdicts = ", ".join(f"{count} {word}" for word, count in many.items())
    items = sum(each.row.blocks for each in results)
    unseen = max((each.row.mde for each in results if each.row.mde is not None), default=0.0)
    word = "**caught**" if any(map(_caught, results)) else "not caught"
    return f"{word} ({verdicts}), {len(results)} tasks, {items:,} items; a task had to drop by {100 * unseen:.1f} points"


def _equality_text(each: Tried, detail: EqualityDetails) -> str:
    word = "**caught**" if _caught(each) else f"not caught ({each.row.verdict})"
    if detail.part == "text_perplexity":
        return f"{word}, {detail.tokens:,} tokens"
    far = f", by up to {detail.largest:.1g}" if detail.largest else ""
    moved = f", {detail.asked - detail.equal} differ{far}" if _caught(each) else ""
    return f"{word}, {detail.asked} prompts{moved}"


def _runs(records: Sequence[Record]) -> Iterable[str]:
    for name in dict.fromkeys(record.scenario for record in records):
        own = [record for record in records if record.scenario == name]
        first = own[0]
        machine = f"{first.environment.get('cores')} cores of {first.environment.get('processor')}"
        seconds = sum(record.seconds.get("total", 0.0) for record in own)
        yield (
            f"- `{name}` ({first.profile}): {len(own)} trials, {seconds / len(own):.0f} s each, on {machine}, "
            f"vLLM {first.attestation.vllm_version if first.attestation else 'unknown'}, {first.started[:10]}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Reads the records, prints the page and writes it."""
    parser = argparse.ArgumentParser(prog="python -m perfproof.validation.planted", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results/planted"), help="the folder of the records (results/planted)")
    parser.add_argument("--out", type=Path, help="also write the page here, for example docs/planted-faults.md")
    given = parser.parse_args(argv)
    text = page(store.read(given.results).records, str(given.results))
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
