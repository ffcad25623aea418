"""Counts what a vLLM engine does, feature by feature: `python run.py ORDER RESULT`.

Runs inside a build's interpreter. ORDER is a JSON object: `model` (a toy's folder) and its `vocabulary`; `cells`, features by their names
and the requests of each, `{"plain": [8, 32]}`; `closely`, functions whose lines are counted; `modules`, those of which it says whether
they are imported, and which of their lines run then; `scratch`, a folder; `timeout`, seconds for an engine; `confirms`, whether another
process counted the same: one wave of long outputs is enough then, and no times are taken. vLLM is imported once; each engine runs in a
process that is forked from there, so that one that crashes leaves the others.

RESULT gets one JSON object per line, at once: `{"started": ...}`, `{"imported": {"vllm.envs": [3, 4]}}`, then for a feature's cell
`phases`, `outputs` and more (`cell_of`), or `skipped` (this release does not know it) or `fault`, each with `feature` and `requests`; at
the end `{"done": true}`."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from perfproof.child.counting import VERSION, Counter, Device, ImportLines, Operators, Outside, has_device, quiet, settle
from perfproof.child.counting.counter import prove
from perfproof.child.counting.tally import Tally
from perfproof.child.engine import making
from perfproof.child.engine.features import END, START, Feature, engines
from perfproof.child.engine.waves import Rounds, agreed, odd, outside_of, timed

AGREE = 2
"""Waves that must agree."""
LOOKS = 5
"""Waves that are timed, and as many that are profiled: of what they say the least is taken, where two agree well enough."""
NAMED = 8
"""C functions that are kept by name with their seconds."""


class Results:
    """The file of results, one line each."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._began = 0
        if os.path.exists(path):
            with open(path) as file:
                self._began = file.read().count("\n")

    def say(self, **what: Any) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(what, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def reported(self) -> set[tuple[str, int | None]]:
        """The cells with a line since this process began."""
        with open(self._path) as file:
            lines = [json.loads(line) for line in file.read().split("\n")[self._began : -1]]
        return {(line["feature"], line.get("requests")) for line in lines if "feature" in line}


def main(argv: list[str]) -> int:
    order_file, result_file = argv
    with open(order_file) as file:
        order = json.load(file)
    results = Results(result_file)
    began, imports = time.perf_counter(), ImportLines(order["modules"])
    imports.install()
    try:
        import vllm
        import vllm.entrypoints.llm  # everything that an engine needs is imported before the forks
    except Exception as error:
        traceback.print_exc()
        results.say(fault=one_line(error), importing=True)
        return 1
    results.say(
        started=True, counter=VERSION, python=platform.python_version(), vllm=str(vllm.__version__), importing=time.perf_counter() - began
    )
    tell_imports(imports, results)
    for group in engines(tuple(order["cells"])):
        count_engine([(feature, requests) for feature in group for requests in order["cells"][feature.name]], order, results, imports)
    results.say(done=True)
    return 0


def count_engine(cells: list[tuple[Feature, int]], order: dict[str, Any], results: Results, imports: ImportLines) -> None:
    """Counts the cells of one engine in a forked process; if a cell ends the process, the other cells get a new one."""
    while cells:
        how = in_a_fork(lambda now=tuple(cells): run_engine(now, order, results, imports), order["timeout"])
        reported = results.reported()
        cells = [(feature, requests) for feature, requests in cells if not {(feature.name, requests), (feature.name, None)} & reported]
        if cells:
            culprit, requests = cells.pop(0)
            results.say(feature=culprit.name, requests=requests, fault=f"the engine's process {how or 'ended without a message'}")


def in_a_fork(work: Any, timeout: float) -> str:
    """Runs `work` in a forked process; returns how that ended, "" if it succeeded."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # an engine may hang or report errors if the interpreter's exit tears it down
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            ended = os.waitstatus_to_exitcode(status)
            return "" if not ended else f"was ended by {signal.Signals(-ended).name}" if ended < 0 else f"exited with code {ended}"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"had not ended after {timeout:.0f} s"


def run_engine(cells: tuple[tuple[Feature, int], ...], order: dict[str, Any], results: Results, imports: ImportLines) -> None:
    """Makes the engine that these cells share, and counts them one after another."""
    counter = Counter(tuple(order["closely"]))
    features = list(dict.fromkeys(feature for feature, _ in cells))
    began = time.perf_counter()
    try:
        counter.install()
        prove(counter)
        making.look_at_models_here()
        if features[0].needs and turned_off(making.config(order["model"], features[0]), features, results):
            return
        if features[0].starts:
            started(features[0], order, results, imports, began)
            return
        engine = making.engine(order["model"], features[0])
        settle()
    except Exception as error:
        tell(error, results, features)
        return
    facts, told = facts_of(engine.vllm_config), tell_imports(imports, results)
    results.say(engine=facts, features=[feature.name for feature in features], seconds=time.perf_counter() - began)
    for feature in features:
        if turned_off(engine.vllm_config, [feature], results):
            continue
        for requests in (size for one, size in cells if one is feature):
            began = time.perf_counter()
            try:
                cell = cell_of(engine, feature, requests, order, counter)
            except Exception as error:
                tell(error, results, [feature], requests=requests)
                abandon(engine)
            else:
                told = tell_imports(imports, results, told)
                results.say(feature=feature.name, requests=requests, took=time.perf_counter() - began, **cell)


def started(feature: Feature, order: dict[str, Any], results: Results, imports: ImportLines, began: float) -> None:
    """Counts what vLLM's own functions do while the engine of a feature is made, and while it is shut down. What others do there is not
    counted: PyTorch and the libraries that look at the machine do most of it, and not twice the same. Raises `making.Unknown`, and what the
    engine raises."""
    in_a_fork(lambda: making.config(order["model"], feature), order["timeout"])  # vLLM keeps on disk what it looked up of a model once
    counter = Counter(tuple(order["closely"]), within="vllm")
    counter.install()
    engines, phases = [], {}

    def make() -> None:
        engines.append(making.engine(order["model"], feature))

    for phase, work in ((START, make), (END, lambda: engines[0].engine_core.shutdown())):
        with quiet():
            counter.start()
            try:
                work()
            finally:
                tally = counter.stop()
        phases[phase] = {**tally.document(), "steps": 1, "waves": 1, "odd": []}
    tell_imports(imports, results)
    cell = {"phases": phases, "runner": "", "outside": {}, "outputs": [], "seconds": {}}
    results.say(feature=feature.name, requests=feature.sizes[0], took=time.perf_counter() - began, **cell)


def tell_imports(imports: ImportLines, results: Results, before: int = 0) -> int:
    """Tells the modules of interest that were imported, if there are more than `before`; returns how many there are."""
    if len(imports.found) > before:
        results.say(imported=imports.found)
    return len(imports.found)


def tell(error: Exception, results: Results, features: list[Feature], **more: Any) -> None:
    """Reports each feature as not counted: it is unknown to this release, or an error occurred."""
    unknown = isinstance(error, making.Unknown)
    if not unknown:
        traceback.print_exc()
    for feature in features:
        results.say(feature=feature.name, **more, **({"skipped": str(error)} if unknown else {"fault": one_line(error)}))


def facts_of(config: Any) -> dict[str, Any]:
    """What the engine made of its options."""
    return {
        "block_size": config.cache_config.block_size,
        "prefix_caching": bool(config.cache_config.enable_prefix_caching),
        "async_scheduling": bool(getattr(config.scheduler_config, "async_scheduling", False)),
    }


def turned_off(config: Any, features: list[Feature], results: Results) -> bool:
    """Whether all of these features need what the engine turned off, and says so of each that does."""
    facts, gone = facts_of(config), 0
    for feature in features:
        if off := sorted(name for name, value in feature.needs.items() if facts[name] != value):
            results.say(feature=feature.name, skipped=f"the engine turned {', '.join(off)} off on this platform")
            gone += 1
    return gone == len(features)


def model_runner(engine: Any) -> str:
    """`V1` or `V2`, by the class that runs the model; "" where this release keeps it somewhere else."""
    core = getattr(engine.engine_core, "engine_core", None)
    worker = getattr(getattr(core, "model_executor", None), "driver_worker", None)
    runner = getattr(getattr(worker, "worker", worker), "model_runner", None)
    if runner is None:
        return ""
    modules = {kind.__module__ for kind in type(runner).__mro__}
    return "V2" if any(name.startswith("vllm.v1.worker.gpu.") for name in modules) else "V1"


def cell_of(engine: Any, feature: Feature, requests: int, order: dict[str, Any], counter: Counter) -> dict[str, Any]:
    """The counts of one feature with so many requests: Python, then operators and a GPU's work in waves of their own, then times."""
    lora = making.adapter(os.path.join(order["scratch"], "adapter"), order["model"]) if feature.adapter else None
    rounds = Rounds(engine, feature, requests, order["vocabulary"], lora)
    scouted, steps = rounds.scout()
    long = bool(feature.positions)
    python, like = rounds.counted(counter, steps, None if long else scouted, 1 if long and order["confirms"] else AGREE)
    waves = 1 if long else AGREE
    operators = {} if feature.graphs else rounds.counted(Operators(), steps, like, waves)[0]
    device = rounds.counted(Device(), steps, like, waves)[0] if has_device() else {}
    phases = {}
    for phase, tallies in python.items():
        there = _best(tallies)
        torch, gpu = (_best(each.get(phase, ())) for each in (operators, device))
        phases[phase] = {
            **there.document(),
            "operators": torch.operators,
            "device": gpu.device,
            "steps": len(steps.get(phase, ())),
            "waves": len(tallies),
            "odd": odd(tallies) + odd(operators.get(phase, ())) + odd(device.get(phase, ())),
        }
    alone = [like] if long or order["confirms"] else [like, *(rounds.wave(None, {}) for _ in range(LOOKS - 1))]
    times = [timed(wave, steps, counted=long) for wave in alone]
    profiled = [rounds.wave(Outside(), steps) for _ in alone] if len(alone) > 1 else []
    return {
        "phases": phases,
        "runner": model_runner(engine),
        "outside": {phase: most(seconds) for phase, seconds in outside_of(alone, profiled, steps).items()},
        "outputs": [like.outputs[number] for number in sorted(like.outputs)],
        "seconds": {phase: min(each[phase] for each in times) for phase in times[0]},
    }


def _best(tallies: Sequence[Tally]) -> Tally:
    """The count that two waves agree on, else the last one."""
    return agreed(tallies) or (tallies[-1] if tallies else Tally())


def most(seconds: dict[str, float]) -> dict[str, float]:
    """The C functions that take most of these seconds, and all others together."""
    ordered = sorted(seconds.items(), key=lambda item: -item[1])
    return {**dict(ordered[:NAMED]), "": sum(second for _, second in ordered[NAMED:])}


def abandon(engine: Any) -> None:
    """Ends requests that remained after an error, so that the next feature finds an empty engine."""
    names = [str(request.request_id) for request in getattr(engine.output_processor, "request_states", {}).values()]
    try:
        engine.abort_request(names)
        engine.step()
    except Exception:  # the next feature will report its own fault
        traceback.print_exc()


def one_line(fault: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(fault).__name__}: {fault}".split())[:600]


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
