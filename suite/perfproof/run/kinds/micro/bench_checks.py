"""The faults of a microbenchmark's scenario. The literals of the benchmark's file show them before anything is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks.catalog import Bench, bench_at, benches, case_name, unknown

WRITE_ONE = "write one: def test_mine(benchmark): benchmark(function)"


def bench_faults(scenario: Scenario) -> list[str]:
    """Unknown benchmarks, parameters and cases, values that a parameter can't have, and metrics that the benchmark does not measure."""
    return [f"{scenario.source}: {fault}" for fault in _faults(MicroWorkload.of(scenario.workload), scenario)]


def _faults(workload: MicroWorkload, scenario: Scenario) -> Iterator[str]:
    try:
        bench = bench_at(Path(workload.benchmark_file)) if workload.files is not None else benches()[workload.bench]
    except BadInput as error:
        yield from (f"workload.bench: {fault}" for fault in error.faults)
        return
    except FileNotFoundError:
        yield f"workload.bench: {workload.benchmark_file}: there is no such file any more"
        return
    except KeyError:
        yield (
            f"workload.bench: {unknown('bench', workload.bench, benches())}; a file of your own is named by its path: ./{workload.bench}.py"
        )
        return
    if not bench.tests:
        yield f"workload.bench: {bench.file}: it has no test; {WRITE_ONE}"
    given = [
        ("parameters", workload.parameters),
        ("count_at", workload.count_at),
        *((f"cases.{n}", case) for n, case in enumerate(workload.cases)),
    ]
    for where, values in given:
        yield from _value_faults(f"workload.{where}", values, bench)
    cases = [case_name(case) for case in workload.cases]
    for choice in scenario.metrics:
        if fault := _metric_fault(choice.name, bench, cases):
            yield f"metrics.{choice.name}: {fault}"


def _value_faults(where: str, values: Mapping[str, Any], bench: Bench) -> Iterator[str]:
    if values and bench.by_ids:
        yield f"{where}: {bench.name} declares no PARAMETERS, so that none can be set; its tests' ids are its cases"
        return
    for key, value in values.items():
        if key not in bench.parameters:
            yield f"{where}: {unknown('parameter', key, bench.parameters)}"
        elif expected := _expected(bench, key, value):
            yield f"{where}.{key}: expected {expected}, got {value!r}"


def _expected(bench: Bench, key: str, value: Any) -> str:
    """The values that a known parameter can have, if this is none of them; "" if it is one."""
    default, least = bench.parameters[key], bench.least(key)
    if not fits(value, default):
        return f"{_kind(default)} such as {default!r}"
    if least is not None and value < least:
        return f"{least} or more, such as {default!r}"
    if value not in bench.choices.get(key, (value,)):
        return " or ".join(map(repr, bench.choices[key]))
    return ""


def _metric_fault(name: str, bench: Bench, cases: Sequence[str]) -> str:
    """Why a benchmark has no such metric; "" if it has it, as far as its file tells. With cases, each case has its own value, under the
    case's name."""
    base, at, case = name.partition("@")
    named = [each for each in cases if each]
    if base not in (*bench.metrics, *bench.counts):
        return f"the benchmark {bench.name} does not measure it; it measures {', '.join(bench.metrics)}"
    if bench.by_ids:
        return ""
    if at and not named:
        return "the workload has no cases"
    if at and case not in named:
        return f"no such case; the cases are {'; '.join(named)}"
    if not at and "" not in cases:
        return f"with cases write {' or '.join(f'{base}@{each}' for each in named)}"
    return ""


def fits(value: object, default: object) -> bool:
    """Whether a parameter may have that value: one of the default's type, an integer for a float, anything for None."""
    return default is None or type(value) is type(default) or (isinstance(default, float) and type(value) is int)


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a text", list: "a list", tuple: "a list"}
    return names.get(type(value), "a value")
