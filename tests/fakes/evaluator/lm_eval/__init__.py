"""A stand-in for lm_eval: tasks are JSON lines files where it runs, a model says the answer or not, the files are lm_eval's own."""

import json
import logging
from pathlib import Path

__version__ = "0.4.13"

LOG = logging.getLogger("lm_eval.models.fake")


def simple_evaluate(model, tasks, limit, evaluation_tracker, **asked):
    """Scores every line of every task; `model.fake` makes it misbehave."""
    samples = {}
    for task in tasks:
        lines = [json.loads(line) for line in Path(f"{task}.jsonl").read_text().splitlines()][:limit]
        samples[task] = [_sample(model, number, doc, asked["gen_kwargs"]) for number, doc in enumerate(lines)]
    if model.fake == "silent":
        LOG.warning("API returned null content. Content filled with a placeholder")
    if model.fake == "retry":
        LOG.warning("API request failed! Status code: 500, Response text: busy. Retrying...")
    kept = {task: lines[: -3 if model.fake == "unscored" else None] for task, lines in samples.items()}
    return {
        "results": {},
        "config": {},
        "samples": kept,
        "n-samples": {task: {"original": len(lines), "effective": len(lines)} for task, lines in samples.items()},
        "higher_is_better": {task: {"exact_match": model.fake != "lower"} for task in tasks},
    }


def _sample(model, number, doc, generation):
    said = model.answer(number, doc)
    return {
        "doc_id": number,
        "doc": doc,
        "target": doc["answer"],
        "arguments": [(doc["asked"], generation)],
        "resps": [[said]],
        "filtered_resps": [said],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"d{number}",
        "prompt_hash": f"{model.fake if model.fake == 'other prompt' else 'p'}{number}",
        "target_hash": "t",
        "exact_match": 1.0 if said == doc["answer"] else 0.0,
    }
