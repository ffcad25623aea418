"""docs/scenarios.md: its table of microbenchmarks is what their files declare. Those of a part of a step are in docs/hot-paths.md."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perfproof.model.scenarios.metrics import metric
from perfproof.run.checks.catalog import Bench, benches

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenarios.md"
ALONE = [bench for bench in benches().values() if not bench.room]
BEGIN, END = "<!-- from suite/perfproof/bench -->", "<!-- end -->"


def rows() -> Iterable[str]:
    """Every benchmark on a line: what it measures, its parameters with their defaults, its times and witnesses."""
    yield "| `bench` | what it measures | parameters and defaults | metrics |"
    yield "| --- | --- | --- | --- |"
    for bench in ALONE:
        parameters = ", ".join(f"`{name}` {_shown(value)}" for name, value in bench.parameters.items())
        measured = "; ".join(f"`{name}` ({metric(name).per})" for name in (*bench.times, *bench.witnesses))
        yield f"| `{bench.name}` | {_about(bench)} | {parameters} | {measured} |"


def _about(bench: Bench) -> str:
    """The first line of the benchmark's essay."""
    said = ast.get_docstring(ast.parse(bench.file.read_bytes())) or ""
    return said.partition("\n")[0]


def _shown(value: Any) -> str:
    """A default as a scenario file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_the_table_is_what_the_benchmarks_declare() -> None:
    """The page's table of microbenchmarks is made from their files; `PERFPROOF_GOLDEN=write` makes it again."""
    made = "\n".join([BEGIN, "", *rows(), "", END])
    text = PAGE.read_text(encoding="utf-8")
    kept = re.search(f"{re.escape(BEGIN)}.*?{re.escape(END)}", text, flags=re.S)
    assert kept, f"{PAGE} has no table of benchmarks"
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        PAGE.write_text(text.replace(kept[0], made), encoding="utf-8")
        return
    assert kept[0] == made, f"{PAGE} is stale; PERFPROOF_GOLDEN=write makes its table again"


def test_the_page_names_every_metric_of_a_benchmark() -> None:
    """Whatever a benchmark leaves has its place in the page, in words."""
    text = PAGE.read_text(encoding="utf-8")
    assert [name for bench in ALONE for name in bench.metrics if f"`{name}` (" not in text] == []
