"""Which format a file is of, and all runs of one side: of a file, of several, or of folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.formats import FORMATS
from perfproof.importers.result_files.source import Source, open_source
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.regular_files import checked
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultFile

MOST_FILES = 1000
MOST_TWICE = 5
SUFFIXES = (".json", ".jsonl", ".csv", ".js")
"""What a result file in a folder may be called; a file that is named itself may have any name."""


def read(path: Path) -> ResultFile:
    """The runs of one file. Raises `BadInput` where no format recognises it, two do, or it holds no run."""
    source = open_source(path)
    found = [one for one in FORMATS if one.recognises(source)]
    if not found:
        if any({"results", "config"} <= each.keys() or "doc_id" in each for _, each in source.objects):
            raise BadInput(f"{path}: is of lm_eval: perfproof accuracy BASELINE CANDIDATE compares two of its runs")
        raise BadInput(
            f"{path}: no result file that can be read; the formats are {', '.join(one.name for one in FORMATS)} (docs/formats.md)"
        )
    if len(found) > 1:
        raise BadInput(f"{path}: may be a file of {' or of '.join(one.name for one in found)}; nobody can tell which")
    return _runs(found[0], source)


def _runs(form: Format, source: Source) -> ResultFile:
    found = _file(form, source)
    if not found.runs:
        raise BadInput(f"{source.path}: is a file of {form.name} without a run; a warm-up is none")
    return found


def _file(form: Format, source: Source) -> ResultFile:
    runs = tuple(form.runs(source))
    for run in runs:
        names = [value.metric for value in run.values]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise BadInput(f"{run.source}: {few(twice, MOST_TWICE)} is there twice: keep one")
    return ResultFile(format=form.name, trial=form.trial, runs=runs, rounded=form.rounded)


def read_side(paths: Sequence[Path]) -> tuple[list[ResultFile], list[str]]:
    """All files of one side, and those of its folders that are no result files, in sentences.

    Raises `BadInput` for a file that was named itself and can't be read, and for a folder without a result file.
    """
    found: list[ResultFile] = []
    left_out: list[str] = []
    for path in paths:
        if not path.is_dir():
            found.append(read(path))
            continue
        files, aside = _folder(path)
        if not files:
            raise BadInput(f"{path}: no result file lies there" + (f"; passed over: {few(aside, 3)}" if aside else ""))
        found += files
        left_out += aside
    return found, left_out


def _folder(folder: Path) -> tuple[list[ResultFile], list[str]]:
    found, left_out = [], []
    for path in _files(folder):
        source = open_source(path)
        forms = [one for one in FORMATS if one.recognises(source)]
        file = _file(forms[0], source) if len(forms) == 1 else None
        if file and file.runs:
            found.append(file)
        else:
            left_out.append(f"{path}: {_no_run(source, bool(forms))}")
    return found, left_out


def _no_run(source: Source, recognised: bool) -> str:
    """Why a file of a folder holds no run, in words."""
    found = source.objects
    if len(found) == 1 and {"error_type", "error"} <= found[0][1].keys():
        return f"a run that failed ({line(found[0][1]['error_type'], 60)})"
    return "holds no run but a warm-up" if recognised else "no result file that can be read"


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those in it, by name, links to folders not followed."""
    paths = []
    for place, rooms, names in os.walk(folder):
        rooms.sort()
        paths += [Path(place, name) for name in sorted(names) if name.endswith(SUFFIXES)]
        if len(paths) > MOST_FILES:
            raise BadInput(f"{folder}: holds more than {MOST_FILES} files: name those that count")
    yield from (checked(path) for path in paths)
