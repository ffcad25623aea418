"""Runs lm_eval's tasks on a model: `python accuracy.py ORDER.json`.

Runs inside a build's interpreter and imports nothing else of the suite. ORDER names the work; lm_eval is in its folder `tools`, which goes
to the end of `sys.path`, so that the interpreter's own packages win. The answer is written to its `result`, also after an error.

- `"do": "check"` checks whether lm_eval knows the tasks, and their output types: `{"ok": true, "tasks": {NAME: OUTPUT_TYPE}}`, or
  `"unknown": {NAME: [NEAR, ...]}`
- `"do": "run"` makes the model once (an engine in this process, or a client of a server) and evaluates once for every folder of
  `outputs`, where lm_eval's own results and samples files go: `{"ok": true, "evaluations": [...]}`

Nothing is cached between evaluations: no answer of one build is ever used for another.
"""

from __future__ import annotations

import difflib
import json
import logging
import math
import os
import re
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

MISSING = ("Could not parse generations", "API returned null content")
"""lm_eval's log messages when a server gives no answer to an item; it then continues."""
RETRIED = ("API request failed", "retrying")
MOST_NEAR = 3


class Listener(logging.Handler):
    """Counts lm_eval's log messages about missing answers."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if any(part in message for part in MISSING):
            self.counts["missing"] += 1
        elif any(part in message for part in RETRIED):
            self.counts["retried"] += 1


def manager(order: dict[str, Any]) -> Any:
    """lm_eval's task manager; it loads lm_eval's own thousands of tasks only if one of them is wanted."""
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=order["folder"], include_defaults=order["defaults"], metadata=order["model_arguments"])


def check(order: dict[str, Any]) -> dict[str, Any]:
    tasks = manager(order)
    known = tasks.all_tasks
    unknown = {name: difflib.get_close_matches(name, known, n=MOST_NEAR) for name in order["tasks"] if name not in known}
    if unknown:
        return {"ok": False, "unknown": unknown}
    loaded = tasks.load(order["tasks"])["tasks"]
    return {"ok": True, "tasks": {name: str(task.get_config("output_type")) for name, task in loaded.items()}}


def model_of(order: dict[str, Any]) -> Any:
    import lm_eval.models  # noqa: F401  (its classes register themselves)
    from lm_eval.api.registry import get_model

    return get_model(order["model"]).create_from_arg_obj(order["model_arguments"], {"batch_size": order["batch_size"]})


def evaluate(order: dict[str, Any], model: Any, tasks: Any, output: str) -> dict[str, Any]:
    """One evaluation, with lm_eval's own files in the folder `output`."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker

    tracker, began, listener = EvaluationTracker(output_path=output), time.perf_counter(), Listener()
    logging.getLogger("lm_eval").addHandler(listener)
    try:
        results = lm_eval.simple_evaluate(
            model=model,
            model_args=order["model_arguments"],
            tasks=order["tasks"],
            num_fewshot=order["fewshot"],
            limit=order["limit"],
            gen_kwargs=order["generation"],
            apply_chat_template=order["chat"],
            fewshot_as_multiturn=order["chat"],
            batch_size=order["batch_size"],
            task_manager=tasks,
            evaluation_tracker=tracker,
            log_samples=True,
            bootstrap_iters=order["bootstraps"],
            random_seed=order["seed"],
            numpy_random_seed=order["seed"],
            torch_random_seed=order["seed"],
            fewshot_random_seed=order["seed"],
        )
    finally:
        logging.getLogger("lm_eval").removeHandler(listener)
    results["config"]["model"] = tracker.general_config_tracker.model_source = order["model"]
    samples = results.pop("samples")
    results.pop("pretty_env_info", None)  # it names this machine's kernel and processor; the record describes the machine
    seconds = time.perf_counter() - began
    no_numbers = {task: count for task, lines in samples.items() if (count := sum(has_nan(line["resps"]) for line in lines))}
    tracker.save_results_aggregated(results=results, samples=samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task_name=task, samples=lines)
    return {
        "seconds": seconds,
        "items": {task: counts["effective"] for task, counts in results.get("n-samples", {}).items()},
        "higher_is_better": results.get("higher_is_better", {}),
        "not_numbers": no_numbers,
        **{name: listener.counts[name] for name in ("missing", "retried")},
    }


def has_nan(answer: Any) -> bool:
    """Whether a nested answer holds a logprob that is NaN."""
    if isinstance(answer, (list, tuple)):
        return any(has_nan(one) for one in answer)
    return isinstance(answer, float) and math.isnan(answer)


def run(order: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    import lm_eval

    imported = time.perf_counter()
    tasks = manager(order)
    model = model_of(order)
    made = time.perf_counter()
    evaluations = [evaluate(order, model, tasks, output) for output in order["outputs"]]
    return {
        "ok": True,
        "lm_eval": str(lm_eval.__version__),
        "evaluations": evaluations,
        "seconds": {"lm_eval imports": imported - began, "model ready": made - imported},
    }


def one_line(fault: BaseException) -> str:
    """An error in one line, without paths of this machine."""
    words = " ".join(f"{type(fault).__name__}: {fault}".split())
    return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", words)[:600]


def main(argv: list[str]) -> int:
    with open(argv[0]) as file:
        order = json.load(file)
    sys.path.append(order["tools"])
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    try:
        answer = check(order) if order["do"] == "check" else run(order)
    except (Exception, SystemExit) as fault:
        traceback.print_exc()
        answer = {"ok": False, "fault": one_line(fault)}
    draft = Path(order["result"] + ".new")
    draft.write_text(json.dumps(answer))
    os.replace(draft, order["result"])
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
