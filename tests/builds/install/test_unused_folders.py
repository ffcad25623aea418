"""What nothing has used for a month goes, whatever else runs; what a run takes stays."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from perfproof.builds.install.unused_folders import DAYS, KEPT, clean, taken

DAY = 24 * 3600


def folder(builds: Path, name: str, days: float) -> Path:
    """A folder with a file that was used so many days ago."""
    made = builds / name
    made.mkdir()
    (made / "file").write_text(name)
    used = time.time() - days * DAY
    os.utime(made, (used, used))
    return made


def test_old_folders_go_but_for_the_newest(tmp_path: Path) -> None:
    """Only those of the kind, only those that are old, and never all of them."""
    old = [folder(tmp_path, f"side-{place}", DAYS + 1 + place) for place in range(KEPT + 3)]
    young, other = folder(tmp_path, "side-young", DAYS - 1), folder(tmp_path, "plugin-old", 10 * DAYS)
    assert set(clean(tmp_path, "side-")) == {one.name for one in old[KEPT - 1 :]}
    assert [one.exists() for one in old] == [place < KEPT - 1 for place in range(KEPT + 3)]
    assert young.exists()
    assert other.exists()
    assert not list(tmp_path.glob(".gone-*"))
    assert clean(tmp_path, "side-") == []


def test_what_a_run_takes_is_no_longer_old(tmp_path: Path) -> None:
    """It is marked; what is not there is not taken."""
    old = [folder(tmp_path, f"plugin-{place}", 2 * DAYS) for place in range(KEPT + 2)]
    assert taken(old[-1])
    assert not taken(tmp_path / "plugin-none")
    clean(tmp_path, "plugin-")
    assert old[-1].exists()


def test_runs_that_take_and_clean_at_once_never_lose_what_they_took(tmp_path: Path) -> None:
    """A folder that `taken` has said to be there is there afterwards, however many clean meanwhile."""
    for place in range(KEPT):
        folder(tmp_path, f"side-new-{place}", 0)
    names = [folder(tmp_path, f"side-{place}", 2 * DAYS).name for place in range(24)]
    kept: list[str] = []

    def take() -> None:
        kept.extend(name for name in names[::2] if taken(tmp_path / name))

    threads = [threading.Thread(target=take), *(threading.Thread(target=clean, args=(tmp_path, "side-")) for _ in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((tmp_path / name / "file").read_text() == name for name in kept)
    assert not any((tmp_path / name).exists() for name in names[1::2])


def test_a_folder_that_nothing_can_be_written_to_loses_nothing(tmp_path: Path) -> None:
    """What is there is taken, and nothing is removed."""
    old = [folder(tmp_path, f"side-{place}", 2 * DAYS) for place in range(KEPT + 1)]
    (tmp_path / ".locks").write_text("in the way")
    assert taken(old[0])
    assert clean(tmp_path, "side-") == []
    assert all(one.exists() for one in old)
