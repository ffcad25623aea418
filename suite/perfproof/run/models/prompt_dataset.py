"""Custom data sets that the suite makes itself: one prompt per request, from a template.

All randomness comes from the seed, so the arms of a block get the same prompts, and every block gets others. Values in turn are the same
for every seed; the client shuffles a custom data set with the seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfproof.model.scenarios.scenario import Dataset
from perfproof.model.workloads.document_parts import PLACEHOLDER


def lines(dataset: Dataset, requests: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """The data set in vLLM's `custom` format: `prompt`, and `output_tokens` if the scenario draws them."""
    source = random.Random(f"{seed}/dataset")
    for number in range(requests):
        if dataset.draw == "at random":
            chosen = {name: source.choice(texts) for name, texts in dataset.values.items()}
        else:
            chosen = {name: texts[number % len(texts)] for name, texts in dataset.values.items()}
        line: dict[str, Any] = {"prompt": filled(dataset.template, {**chosen, "i": str(number)})}
        if dataset.output_tokens is not None:
            line["output_tokens"] = source.randint(*dataset.output_tokens)
        yield line


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with every placeholder replaced, in one pass: placeholders inside a value stay."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def write_dataset(dataset: Dataset, requests: int, seed: int, file: Path) -> Path:
    """Writes the data set as JSON lines; the same arguments give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines(dataset, requests, seed)), encoding="utf-8")
    return file
