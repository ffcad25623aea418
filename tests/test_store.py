"""Records on disk: appended whole, read back the same, and never lost to a neighbour's fault."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perfproof import store
from perfproof.model.base.errors import EXIT_USAGE, BadInput, CannotRun
from tests.factory import DEFINITION, record
from tests.report.factory import floor


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """Writing and reading a record changes nothing."""
    written = [record(block=1), record(block=2, status="failed", reason="crashed", attestation=None)]
    for one in written:
        store.append(tmp_path, one)
    assert list(store.read(tmp_path).records) == written


def test_a_line_cut_off_is_skipped_with_file_and_line(tmp_path: Path) -> None:
    """A crash in the middle of a write costs that line only, and the next record starts on a line of its own."""
    store.append(tmp_path, record(block=1))
    path = store.records_file(tmp_path, "swap_states")
    path.write_bytes(path.read_bytes() + path.read_bytes()[:200])
    store.append(tmp_path, record(block=2))
    read = store.read(tmp_path)
    assert [one.block for one in read.records] == [1, 2]
    assert read.warnings == (f"{path}:2: not a whole record, skipped; where its trial is missing, the next run measures it again",)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """Records of a newer perfproof are not guessed at."""
    store.append(tmp_path, record())
    path = store.records_file(tmp_path, "swap_states")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(BadInput, match="newer perfproof") as caught:
        store.read(tmp_path)
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("block", "x", "block: expected an integer from 1 on"),
        ("block", True, "block: expected an integer from 1 on"),
        ("block", 0, "block: expected an integer from 1 on"),
        ("block", -1, "block: expected an integer from 1 on"),
        ("block", 1.0, "block: expected an integer from 1 on"),
        ("block", 10**30, "block: expected an integer from 1 on, of 64 bits at most"),
        ("block", 10**400, "block: expected an integer from 1 on, of 64 bits at most"),
        ("position", 10**400, "position: expected an integer from 0 on, of 64 bits at most"),
        ("seed", 10**400, "seed: expected an integer, of 64 bits at most"),
        ("position", -1, "position: expected an integer from 0 on"),
        ("status", "great", "status: unknown 'great'"),
        ("measurements", {"round_time": "fast"}, "measurements.round_time: expected a number"),
        ("work", [], "work: expected a mapping"),
        ("extra", 1, "record: unknown extra"),
        ("schema", "1", "a record without a schema number"),
    ],
)
def test_a_line_with_a_wrong_field_is_skipped_and_named(tmp_path: Path, key: str, value: object, told: str) -> None:
    """A line that was tampered with is told by field and skipped; its neighbours are kept."""
    store.append(tmp_path, record(block=1))
    store.append(tmp_path, record(block=2))
    path = store.records_file(tmp_path, "swap_states")
    first, second = path.read_text().splitlines()
    path.write_text(json.dumps({**json.loads(first), key: value}) + "\n" + second + "\n")
    read = store.read(tmp_path)
    assert [one.block for one in read.records] == [2]
    assert told in read.warnings[0]


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    """Neither a missing nor an empty folder passes for an empty run."""
    with pytest.raises(BadInput, match="no such results folder"):
        store.read(tmp_path / "none")
    with pytest.raises(BadInput, match="holds no records"):
        store.read(tmp_path)


def test_a_full_disk_keeps_what_was_written(tmp_path: Path) -> None:
    """When the disk is full in the middle of a line, the file ends where it ended before and says so."""
    store.append(tmp_path, record(block=1))
    before = store.records_file(tmp_path, "swap_states").read_bytes()
    script = f"""
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 100}, {len(before) + 100}))
from perfproof import store
from perfproof.model.base.errors import CannotRun
from tests.factory import record
try:
    store.append(Path({str(tmp_path)!r}), record(block=2))
except CannotRun as error:
    sys.exit(f"told: {{error}}")
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=os.getcwd(), check=False)
    assert "could not be written" in done.stderr
    assert store.records_file(tmp_path, "swap_states").read_bytes() == before
    assert len(store.read(tmp_path).records) == 1


def test_a_records_file_that_cannot_be_opened_keeps_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the file can't even be opened, for instance because too many are open already, nothing of it is cut off."""
    store.append(tmp_path, record())
    path = next(tmp_path.glob("*.jsonl"))
    before = path.read_bytes()

    def refuse(*arguments: object, **named: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(CannotRun, match="Too many open files"):
        store.append(tmp_path, record())
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_lone_surrogate_costs_no_record(tmp_path: Path) -> None:
    """Text that came from a broken log is read, and what no file or terminal takes comes out as U+FFFD."""
    store.append(tmp_path, record(status="failed", reason="ended with \udcff"))
    assert [one.reason for one in store.read(tmp_path).records] == ["ended with \N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("when", ["", "yesterday", "2026-11-28", "2026-11-28T11:37:11", "1764329831"])
def test_a_record_or_noise_floor_without_a_moment_is_told(when: str, tmp_path: Path) -> None:
    """What a history would keep for ever, and an age could not be told of, is skipped with its line; a noise floor ends the reading."""
    store.append(tmp_path, record(started=when))
    assert "jsonl:1: started: expected a moment such as 2026-11-28T11:37:11Z, got" in store.read(tmp_path).warnings[0]
    store.append_floor(tmp_path, floor(record(), when=when))
    with pytest.raises(BadInput, match="when: expected a moment such as"):
        store.read_floors(tmp_path)


@pytest.mark.parametrize("when", ["2026-11-28T11:37:11Z", "2031-01-01T00:00:00Z", "2026-10-25T02:30:00+02:00"])
def test_any_moment_is_one(when: str, tmp_path: Path) -> None:
    """A clock that was wrong, or another offset from UTC, costs no record."""
    store.append(tmp_path, record(started=when))
    store.append_floor(tmp_path, floor(record(), when=when))
    assert (store.read(tmp_path).records[0].started, store.read_floors(tmp_path)[0].when) == (when, when)


def test_every_record_that_is_committed_has_the_shape_of_one() -> None:
    """What the suite writes passes its own reading: of the records that come along, none is skipped."""
    folders = sorted({path.parent for path in Path("results").rglob("*.jsonl") if path.parent.name in ("reference", "h200_32_cores")})
    assert len(folders) == 2
    assert [warning for folder in folders for warning in store.read(folder).warnings] == []


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("attestation", "counts"), None, "attestation.counts: expected numbers"),
        (("attestation", "counts"), [1], "attestation.counts: expected numbers"),
        (("attestation", "patches"), {"mine": "yes"}, "attestation.patches: expected a mapping of mappings"),
        (("environment", "gpus"), ["H200"], "environment.gpus: expected a list of mappings"),
        (("environment", "memory_bytes"), "much", "environment.memory_bytes: expected a number or nothing"),
        (("raw",), {"round_time": 1.0}, "raw: expected lists of numbers"),
        (("raw",), {"round_time": ["1"]}, "raw: expected lists of numbers"),
        (("warnings",), "one", "warnings: expected a list of texts"),
        (("order",), None, "order: expected a list of texts"),
        (("measurements",), {"round_time": 1e308}, "measurements.round_time: expected a number, got 1e+308"),
        (("measurements",), {"round_time": float("inf")}, "measurements.round_time: expected a number, got inf"),
        (("seconds",), {"total": True}, "seconds.total: expected a number, got True"),
        (("definition", "workload"), "micro", "definition.workload: expected a mapping"),
        (("definition", "arms"), {"base": {"patches": 3}}, "definition.arms.base.patches: expected a list of texts"),
    ],
)
def test_a_record_of_another_shape_is_skipped_with_what_is_wrong(tmp_path: Path, path: tuple[str, ...], value: object, told: str) -> None:
    """Whatever a foreign or damaged record holds inside, it is told by its line, and ends no command somewhere in the middle."""
    data = dataclasses.asdict(record())
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    (tmp_path / "swap_states.jsonl").write_text(json.dumps(data) + "\n")
    read = store.read(tmp_path)
    assert [each.removesuffix(store.REMEDY) for each in read.warnings] == [f"{tmp_path}/swap_states.jsonl:1: {told}, skipped"]


def test_a_line_cut_off_anywhere_costs_no_other(tmp_path: Path) -> None:
    """Wherever a write ended, the records before it are read, the next one stands on a line of its own, and nothing is read by halves."""
    store.append(tmp_path, record(block=1))
    path = store.records_file(tmp_path, "swap_states")
    whole = path.read_bytes()
    for cut in range(0, len(whole), 37):
        path.write_bytes(whole + whole[:cut])
        store.append(tmp_path, record(block=2))
        read = store.read(tmp_path)
        assert [one.block for one in read.records] == [1, 2]
        assert len(read.warnings) == (cut > 0)


def test_kill_9_in_the_midst_of_appending_loses_no_record_that_was_kept(tmp_path: Path) -> None:
    """A process that is killed while it appends leaves whole records, at most one cut-off line, and a file that others can append to."""
    script = f"""
from pathlib import Path
from perfproof import store
from tests.factory import DEFINITION, record
raw = {{"round_time": [0.1] * 20_000}}
for block in range(1, 10_000):
    store.append(Path({str(tmp_path)!r}), record(DEFINITION | {{"blocks": 20_000}}, block=block, raw=raw))
    print(block, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=os.getcwd())
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.kill()
    kept = 3 + len(process.stdout.read().splitlines())
    process.wait()
    store.append(tmp_path, record(DEFINITION | {"blocks": 20_000}, block=20_000))
    read = store.read(tmp_path)
    assert [one.block for one in read.records][:kept] == list(range(1, kept + 1))
    assert [one.block for one in read.records][-1] == 20_000
    assert len(read.records) - kept in (1, 2)
    assert len(read.warnings) <= 1


def test_a_file_that_is_gone_is_not_made_again_after_others(tmp_path: Path) -> None:
    """Records that a run has written already and that are no longer there end it: it does not go on as if it had them."""
    store.append(tmp_path / "deep", record(block=1))
    store.append(tmp_path / "deep", record(block=2), after=True)
    store.records_file(tmp_path / "deep", "swap_states").unlink()
    with pytest.raises(CannotRun, match="was deleted while this run wrote into it"):
        store.append(tmp_path / "deep", record(block=3), after=True)


def test_a_line_of_brackets_without_end_is_no_record(tmp_path: Path) -> None:
    """A line nested too deeply to be read is skipped like any other that is none."""
    store.append(tmp_path, record())
    with (tmp_path / "swap_states.jsonl").open("a") as file:
        file.write("[" * 200_000 + "\n")
    assert len(store.read(tmp_path).records) == 1


@pytest.mark.parametrize("name", ["swap_states", "backup", "z"])
def test_a_line_that_stands_twice_counts_once_and_is_told(tmp_path: Path, name: str) -> None:
    """A copy of a file beside it, or a file that was joined with itself, measures no block again: the trial that it repeats stays."""
    for block in (1, 2):
        store.append(tmp_path, record(block=block, arm="before"))
        store.append(tmp_path, record(block=block, arm="after"))
    path = store.records_file(tmp_path, "swap_states")
    whole = path.read_bytes()
    with open(tmp_path / f"{name}.jsonl", "ab") as file:
        file.write(whole[: whole.index(b"\n") + 1].rstrip(b"\n") + b" \n")
    read = store.read(tmp_path)
    assert sorted((one.block, one.arm) for one in read.records) == [(1, "after"), (1, "before"), (2, "after"), (2, "before")]
    [warning] = read.warnings
    assert "the same line is also in" in warning
    assert "measures it again" not in warning


def test_two_that_write_into_one_folder_tear_no_line(tmp_path: Path) -> None:
    """Two machines on a shared folder append at the same time: every line is whole, and none is lost."""
    script = f"""
import sys
from pathlib import Path
from perfproof import store
from tests.factory import DEFINITION, record
raw = {{"round_time": [0.1] * 5_000}}
for block in range(1, 41):
    store.append(Path({str(tmp_path)!r}), record(DEFINITION | {{"blocks": 40}}, block=block, raw=raw, environment={{"host": sys.argv[1]}}))
"""
    both = [subprocess.Popen([sys.executable, "-c", script, host], cwd=os.getcwd()) for host in ("aaaa", "bbbb")]
    assert [one.wait() for one in both] == [0, 0]
    read = store.read(tmp_path)
    assert (len(read.records), read.warnings) == (80, ())
