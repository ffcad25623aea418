"""Results folders are joined by content: order, repetition and partition change nothing; what does not belong together is refused."""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.spread_blocks import counted_once
from perfproof.cli import main
from perfproof.jobs.merge_folders import merge
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, EXIT_USAGE, BadInput
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import digest_of
from perfproof.model.verdicts.noise_floor import Floor
from tests.factory import ATTESTATION, DEFINITION
from tests.jobs.spread import HOSTS, attempt, definition, plan, write

NAME = DEFINITION["name"]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


def verdicts(records: list[Record]) -> list[tuple[str, str, str, float | None]]:
    return [(row.scenario, row.metric, str(row.verdict), row.effect) for one in judge_records(records) for row in one.judged]


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.sampled_from([1.0, 1.05]))
def test_order_repetition_and_partition_change_nothing(source: random.Random, folders: int, change: float) -> None:
    """However the records of a plan lie in folders, some in several, the joined folder is the same, byte by byte; so is its verdict,
    which is that of the records read at once. Joining it again, with itself or with its parts, changes nothing."""
    records = plan(8, HOSTS[:2], change=change, asked=definition(8))
    again = source.sample(range(1, 9), 2)
    records += [one for block in again for one in attempt(block, HOSTS[2], at=2000 + 100 * block, asked=definition(8), change=change)]
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        merge([write(Path(scratch) / "one", records)], whole)
        parts: list[list[Record]] = [[] for _ in range(folders)]
        for one in source.sample(records, len(records)):
            for part in source.sample(parts, source.randint(1, folders)):
                part.append(one)
        paths = [write(Path(scratch) / f"part{number}", part) for number, part in enumerate(parts) if part]
        joined = Path(scratch) / "joined"
        for path in source.sample(paths, len(paths)):
            merge([path], joined)
        assert content(joined) == content(whole)
        merge([*paths, joined, whole, *paths], joined)
        assert content(joined) == content(whole)
        read = store.read(joined)
        assert not read.warnings
        assert len(read.records) == len(records)
        assert verdicts(list(read.records)) == verdicts(records)


@pytest.mark.parametrize("seconds", [(0, 0, 0, 0), (0, 1, 1, 2), (0, 0, 1, 1), (0, 0, 0, 1)])
def test_attempts_of_one_second_stay_apart(seconds: tuple[int, ...], tmp_path: Path) -> None:
    """A block that was thrown out and measured again within a second is the second attempt in the joined folder, whichever line comes
    first."""
    spoilt = [dataclasses.replace(one, status="invalid", reason="busy") for one in attempt(1, HOSTS[0], at=0, salt=1)]
    again = attempt(1, HOSTS[0], at=0, salt=2)
    times = [f"2026-01-01T12:00:0{second}+00:00" for second in seconds]
    ran = [dataclasses.replace(one, started=time) for one, time in zip([*spoilt, *again], times, strict=True)]
    for number, records in enumerate((ran, ran[::-1])):
        merge([write(tmp_path / f"a{number}", records)], tmp_path / f"out{number}")
        kept = counted_once(store.read(tmp_path / f"out{number}").records)
        assert [(one.arm, one.status, one.measurements) for one in kept] == [(one.arm, "ok", one.measurements) for one in again]


def test_what_is_there_stays_and_is_told_apart(tmp_path: Path) -> None:
    """A second merge into the folder adds only what is new, and says how much that is."""
    records, out = plan(6), tmp_path / "out"
    first = merge([write(tmp_path / "a", records[:4])], out)
    second = merge([write(tmp_path / "b", records)], out)
    assert (first.new, second.new, second.records, second.hosts) == (4, 8, 12, 3)
    assert "8 new" in second.sentence


def test_blocks_that_are_missing_are_named(tmp_path: Path) -> None:
    """A job that was lost, or broken off between two arms, is told by its block; so is a folder that holds nothing yet."""
    records = [one for one in plan(6) if one.block != 2 and not (one.block == 5 and one.position == 1)]
    (tmp_path / "empty").mkdir()
    found = merge([write(tmp_path / "a", records), tmp_path / "empty"], tmp_path / "out")
    assert any("of 6 blocks 2 are missing or not whole: 2, 5" in told for told in found.told)
    assert any("1 folder without a record" in told for told in found.told)
    assert not found.whole
    assert main(["merge", str(tmp_path / "a"), "--out", str(tmp_path / "out")]) == EXIT_UNTESTABLE


def test_a_line_that_was_cut_off_is_left_behind(tmp_path: Path) -> None:
    """A killed job may leave half a line: the merged folder has whole lines alone, and says what it left."""
    folder = write(tmp_path / "a", plan(6))
    path = folder / f"{NAME}.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    found = merge([folder], tmp_path / "out")
    assert found.records == 11
    assert any("not a whole record: not merged" in told for told in found.told)


OTHER = definition(metrics={"round_time": {"primary": True, "margin": 0.03}})
FOREIGN: dict[str, tuple[Callable[[Record], Record], str]] = {
    "question": (lambda one: dataclasses.replace(one, definition=OTHER, digest=digest_of(OTHER)), "metrics.round_time.margin"),
    "seed": (lambda one: dataclasses.replace(one, seed=7), "--seed 7"),
    "build": (lambda one: dataclasses.replace(one, attestation=dataclasses.replace(ATTESTATION, sources="ffff")), "other builds"),
    "packages": (lambda one: dataclasses.replace(one, environment={**one.environment, "lock": "ffff"}), "other builds"),
    "GPU": (lambda one: dataclasses.replace(one, environment={**one.environment, "gpus": [{"name": "NVIDIA H100"}]}), "other GPUs"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_foreign_folders_are_refused_with_the_reason(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another definition, seed, build or GPU: exit code 2, both folders named, and nothing written."""
    change, words = FOREIGN[what]
    records = [dataclasses.replace(one, environment={**one.environment, "lock": "aaaa"}) for one in plan(6)]
    ours, theirs = write(tmp_path / "ours", records), write(tmp_path / "theirs", [change(one) for one in records])
    out = tmp_path / "out"
    assert main(["merge", str(ours), "--out", str(out)]) == EXIT_PASS
    before = content(out)
    assert main(["merge", str(theirs), "--out", str(out)]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert words in said
    assert str(theirs) in said
    assert content(out) == before


def test_a_record_never_names_the_file_that_it_is_written_to(tmp_path: Path) -> None:
    """A record of another scenario than its file's is left behind: a foreign folder chooses no path."""
    folder = write(tmp_path / "a", plan(6))
    (folder / f"{NAME}.jsonl").rename(folder / "other.jsonl")
    with pytest.raises(BadInput, match="another scenario"):
        merge([folder], tmp_path / "out")


def test_folders_that_are_not_there_are_all_named(tmp_path: Path) -> None:
    """Every fault at once."""
    with pytest.raises(BadInput) as error:
        merge([tmp_path / "x", tmp_path / "y"], tmp_path / "out")
    assert len(error.value.faults) == 2


def test_noise_floors_go_along(tmp_path: Path) -> None:
    """The A/A of each host is in the joined folder once, oldest first."""
    for number, host in enumerate(HOSTS):
        folder = write(tmp_path / host, plan(6))
        for copy in (host, "again"):
            write(tmp_path / copy, plan(6))
            store.append_floor(tmp_path / copy, floor(host, when=f"2026-01-0{9 - number}T00:00:00Z"))
        assert folder.is_dir()
    merge([tmp_path / name for name in (*HOSTS, "again")], tmp_path / "out")
    assert [one.host for one in store.read_floors(tmp_path / "out")] == [*reversed(HOSTS)]


def floor(host: str, **changes: Any) -> Floor:
    plain = Floor(
        schema=1,
        scenario=NAME,
        metric="round_time",
        unit="s",
        better="lower",
        primary=True,
        workload="w",
        machine="m",
        blocks=8,
        sd=0.004,
        sd_low=0.003,
        sd_high=0.006,
        effect=0.0,
        order_p=None,
        rho=None,
        widening=1.0,
        false_verdicts=0,
        windows=1,
        minutes_per_block=1.0,
        passed=True,
        reason="",
        when="2026-01-01T00:00:00Z",
        records="",
        host=host,
    )
    return dataclasses.replace(plain, **changes)
