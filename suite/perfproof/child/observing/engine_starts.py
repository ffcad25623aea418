"""Which functions of vLLM an engine calls while it is made: `python engine_starts.py ORDER RESULT`.

Runs inside a build's interpreter. ORDER is a JSON object: `model` (a toy's folder), `features` (names), `timeout` (seconds for an engine).
The engines are those that the counted features share, each made in a process that is forked after vLLM is imported. RESULT gets one JSON
object per line: `features` with `functions` (`module:Qual.name`), or with `fault`; engines that this release or platform does not have are
left out.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from perfproof.child.engine import making
from perfproof.child.engine.features import Feature, engines
from perfproof.child.engine.run import Results, facts_of, in_a_fork, one_line
from perfproof.child.observing.observed_calls import observe


def main(argv: list[str]) -> int:
    order_file, result_file = argv
    with open(order_file) as file:
        order = json.load(file)
    results = Results(result_file)
    import vllm.entrypoints.llm  # noqa: F401 (everything that an engine needs is imported before the forks)

    for group in engines(tuple(order["features"])):
        names = [feature.name for feature in group]
        if how := in_a_fork(lambda feature=group[0], names=names: start(feature, names, order, results), order["timeout"]):
            results.say(features=names, fault=f"the engine's process {how}")
    return 0


def start(feature: Feature, names: list[str], order: dict[str, Any], results: Results) -> None:
    """Makes one engine, and says what that called."""
    making.look_at_models_here()
    try:
        facts = facts_of(making.config(order["model"], feature)) if feature.needs else {}
        if any(facts[name] != value for name, value in feature.needs.items()):
            return
        functions = observe(lambda: making.engine(order["model"], feature))
    except making.Unknown:
        return
    except Exception as error:
        results.say(features=names, fault=one_line(error))
        return
    results.say(features=names, functions=sorted(functions))


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
