"""docs/hot-paths.md: a row for every microbenchmark of a part of a step, as its file declares it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.run.checks.catalog import Bench, benches

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "hot-paths.md"
BEGIN, END = "<!-- from suite/perfproof/bench -->", "<!-- end -->"
OF_ROOMS = [bench for bench in benches().values() if bench.room]


def sections() -> Iterator[str]:
    """A table for each room: its essay's first line, then a row a benchmark."""
    rooms = dict.fromkeys(bench.room for bench in OF_ROOMS)
    for room in rooms:
        yield f"### {room.replace('_', ' ').capitalize()}\n"
        yield f"{_essay(PACKAGE / 'bench' / room / '__init__.py')}\n"
        yield "| `bench` | what a round is | what it is end to end | parameters and defaults |"
        yield "| --- | --- | --- | --- |"
        yield from (_row(bench) for bench in OF_ROOMS if bench.room == room)
        yield ""


def _row(bench: Bench) -> str:
    parameters = ", ".join(f"`{name}` {_shown(value)}" for name, value in bench.parameters.items() if name not in ("warmup_rounds", "seed"))
    return f"| `{bench.name}` | {_essay(bench.file)} | {bench.means} | {parameters} |"


def _essay(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_bytes())) or "").partition("\n")[0]


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_the_tables_are_what_the_benchmarks_declare() -> None:
    """The page's tables are made from the benchmarks' files; `PERFPROOF_GOLDEN=write` makes them again."""
    made = "\n".join([BEGIN, "", *sections(), END])
    text = PAGE.read_text(encoding="utf-8")
    kept = re.search(f"{re.escape(BEGIN)}.*?{re.escape(END)}", text, flags=re.S)
    assert kept, f"{PAGE} has no tables of benchmarks"
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        PAGE.write_text(text.replace(kept[0], made), encoding="utf-8")
        return
    assert kept[0] == made, f"{PAGE} is stale; PERFPROOF_GOLDEN=write makes its tables again"


def test_every_benchmark_of_a_room_says_what_its_round_means_and_has_a_scenario() -> None:
    """What a round is to a whole engine stands in the file, in words; and a scenario runs it, so that a change can be measured."""
    assert [bench.name for bench in OF_ROOMS if not bench.means] == []
    workloads = [load_scenario(file, "quick").workload for file in (ROOT / "scenarios").glob("*_*.yaml")]
    asked = {workload.bench for workload in workloads if isinstance(workload, MicroWorkload)}
    assert sorted({bench.name for bench in OF_ROOMS} - asked) == []
