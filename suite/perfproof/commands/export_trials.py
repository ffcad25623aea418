"""The verb that writes trials as other tools take them: export. No vLLM, torch or GPU is needed here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging import judge as judging
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.commands.record_verdicts import nothing_left, write
from perfproof.export import trials as exports
from perfproof.export.format import Exported, Files
from perfproof.export.formats import FORMATS
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import is_of_all_hosts, own_name
from perfproof.model.verdicts.judged import Judged


def export(results: Path, *, form: str, out: Path | None, scenarios: Collection[str] = (), arms: Collection[str] = ()) -> int:
    """Writes the trials of a results folder in a format, to `out`: a file, or a folder where the format makes several.

    Without `out` one file of text is printed. Trials that don't count are left out, and told. Raises `BadInput` for a scenario or an arm
    that no trial is of.
    """
    read = store.read(results)
    if not read.records:
        raise nothing_left(results, read, None)
    records = [record for record in kept_apart(read.records) if not is_of_all_hosts(record.scenario)]
    wanted = _wanted(results, records, scenarios, arms)
    trials, notes = exports.counted(wanted)
    for note in (*read.warnings, *notes):
        print(f"perfproof: warning: {line(note)}", file=sys.stderr)
    if not trials:
        raise BadInput(f"{results}: none of these {len(wanted)} trials counts: there is nothing to export")
    chosen = next(one for one in FORMATS if one.name == form)
    named = results.name if results.is_absolute() else str(results)
    exported = Exported(trials=trials, left_out=notes, results=named, judged=_verdicts(results, wanted))
    _write(form, chosen.files(exported), out)
    return EXIT_PASS


def _wanted(results: Path, records: Sequence[Record], scenarios: Collection[str], arms: Collection[str]) -> list[Record]:
    for what, names, there in (
        ("--scenario", scenarios, {own_name(record.scenario) for record in records} | {record.scenario for record in records}),
        ("--arm", arms, {record.arm for record in records}),
    ):
        if unknown := [name for name in names if name not in there]:
            raise BadInput(f"{results}: {what} {unknown[0]}: there is none of that name; there are {few(sorted(map(line, there)), 10)}")
    return [
        record
        for record in records
        if (not scenarios or record.scenario in scenarios or own_name(record.scenario) in scenarios) and (not arms or record.arm in arms)
    ]


def _verdicts(results: Path, records: Sequence[Record]) -> Callable[[], list[Judged]]:
    return lambda: [row for one in judging.judge_records(records, floors=store.read_floors(results)) for row in one.judged]


def _write(form: str, files: Files, out: Path | None) -> None:
    """Prints the one file of text, or writes all, and prints which."""
    content = next(iter(files.values()))
    if out is None:
        if len(files) > 1 or isinstance(content, bytes):
            what = f"{len(files)} files ({few(list(files), 3)}): say in which folder" if len(files) > 1 else "no text: say into which file"
            raise BadInput(f"export --format {form}: makes {what} with --out")
        sys.stdout.write(str(content))
        return
    for name, each in files.items():
        path = out if len(files) == 1 and not out.is_dir() else out / name
        write(each, path)
        print(f"{form}: {path}")
