"""`summary.csv` of `vllm bench sweep serve`: a row a run; its columns are the keys of `vllm bench serve` and the options of the sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.formats.vllm import serve
from perfproof.importers.result_files.source import Source
from perfproof.model.base import numerals
from perfproof.model.records.result_runs import ResultRun


def recognises(source: Source) -> bool:
    """Whether the header has what every run of `vllm bench serve` has, and the number of the run."""
    return bool(source.table) and {*serve.NEEDED, "run_number"} <= set(source.table[0])


def runs(source: Source) -> list[ResultRun]:
    """The rows as runs; raises `BadInput` with every fault."""
    header, *rows = source.table
    faults = [
        f"{source.path}: row {number}: {len(row)} cells under {len(header)} columns: write the file again"
        for number, row in enumerate(rows, 1)
        if len(row) != len(header)
    ]
    faults += [
        f"{source.path}: the column {name} is there twice: keep one" for name in sorted(set(header)) if name and header.count(name) > 1
    ]
    refuse(faults)
    found = [serve.run_of(f"{source.path}, row {number}", _members(header, row), faults) for number, row in enumerate(rows, 1)]
    refuse(faults)
    return [run for run in found if run is not None]


def _members(header: tuple[str, ...], row: tuple[str, ...]) -> Mapping[str, Any]:
    """A row as the object that it was; an empty cell is null, lists are passed over as the text that pandas makes of them."""
    return {name: _cell(name, cell) for name, cell in zip(header, row, strict=True) if name and not cell.startswith("[")}


def _cell(name: str, cell: str) -> Any:
    """A cell's value; a request rate of `inf` is the word that the JSON has for it."""
    if cell == "inf" and name in serve.ASKED:
        return cell
    if not cell.strip():
        return None
    return float(cell) if cell.isascii() and numerals.is_number(cell) and "," not in cell else cell


SWEEP_CSV = Format(name="vllm bench serve (summary.csv of a sweep)", trial="one run of the client", recognises=recognises, runs=runs)
