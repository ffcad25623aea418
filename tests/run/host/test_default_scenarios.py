"""What is measured where no scenario is named: the list of this machine, reported in a line, and every fault of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof.cli import main
from perfproof.commands import run_scenarios
from perfproof.model.base.errors import EXIT_PASS, EXIT_USAGE, BadInput
from perfproof.model.documents.decode import load_scenario
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.run.host import default_scenarios, gpus
from tests.factory import SCENARIO
from tests.run.host.test_gpus import Nvml

ROOT = Path(__file__).resolve().parents[3]
LISTS = 'cpu = ["one.yaml"]\ncuda = ["two.yaml", "one.yaml"]\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout of two scenarios and their lists, on a machine without a GPU."""
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "main.toml").write_text(LISTS)
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(SCENARIO))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpus, "pynvml", None)
    gpus.handles.cache_clear()
    yield folder
    gpus.handles.cache_clear()


def two_gpus(monkeypatch: pytest.MonkeyPatch, allowed: str | None = None) -> None:
    monkeypatch.setattr(gpus, "pynvml", Nvml())
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)


def test_a_machine_without_a_gpu_gets_those_for_the_cpu() -> None:
    """The line says what was seen, which list follows from it, where it stands, and how to have others."""
    picked = default_scenarios.pick()
    assert picked.files == (Path("scenarios/one.yaml"),)
    assert picked.note == "no NVIDIA GPU: the main scenarios for the CPU (scenarios/main.toml); name scenarios to run others"


@pytest.mark.parametrize(
    ("allowed", "seen"), [(None, "2 GPUs (NVIDIA H200)"), ("1", "1 GPU (NVIDIA H200)"), ("GPU-0", "1 GPU (NVIDIA H200)")]
)
def test_a_machine_with_a_gpu_gets_those_for_cuda(monkeypatch: pytest.MonkeyPatch, allowed: str | None, seen: str) -> None:
    """In the list's order; counted are the GPUs that our processes may use."""
    two_gpus(monkeypatch, allowed)
    picked = default_scenarios.pick()
    assert [file.name for file in picked.files] == ["two.yaml", "one.yaml"]
    assert picked.note == f"{seen}: the main scenarios for CUDA (scenarios/main.toml); name scenarios to run others"


def test_gpus_that_may_not_be_used_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CUDA_VISIBLE_DEVICES takes every GPU away, the CPU's are measured, and the line names the variable."""
    two_gpus(monkeypatch, "")
    picked = default_scenarios.pick()
    assert picked.files == (Path("scenarios/one.yaml"),)
    assert picked.note.startswith("no NVIDIA GPU that CUDA_VISIBLE_DEVICES='' lets us use: the main scenarios for the CPU")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, ["no scenario is named, and there is no scenarios/main.toml here"]),
        ("cpu = [", ["scenarios/main.toml: can't be read as TOML"]),
        ('cuda = ["one.yaml"]', ["scenarios/main.toml: cpu: expected a list of scenario files", "got nothing"]),
        ('cpu = "one.yaml"', ["scenarios/main.toml: cpu: expected a list of scenario files", "got 'one.yaml'"]),
        ("cpu = []", ["got []"]),
        ("cpu = [1]", ["got [1]"]),
        ('gpu = ["one.yaml"]\ncpu = ["one.yaml"]', ["scenarios/main.toml: gpu: there is no such list; expected cpu and cuda"]),
        ('cpu = ["lost.yaml", "one.yaml", "gone.yaml"]', ["lost.yaml: there is no scenarios/lost.yaml", "cpu: gone.yaml: there is no"]),
    ],
)
def test_what_is_wrong_with_the_list_is_reported_at_once(
    here: Path, capsys: pytest.CaptureFixture[str], text: str | None, told: list[str]
) -> None:
    """A list that is missing, can't be read, names what is not there or is not what it should be: exit code 2 and every fault."""
    (here / "main.toml").unlink()
    if text is not None:
        (here / "main.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        default_scenarios.pick([Path("scenarios")])
    said = "\n".join(caught.value.faults)
    assert [words for words in told if words not in said] == []
    if text is not None:
        assert main(["plan"]) == EXIT_USAGE
        assert said.splitlines()[0] in capsys.readouterr().err


def test_elsewhere_the_suite_s_own_checkout_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without scenarios the list is that of the checkout which the suite was installed from."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert default_scenarios.pick().files[0] == ROOT / "scenarios" / "thinking_scan.yaml"


def test_plan_and_run_take_the_main_scenarios_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both tell the line first; where scenarios are named there is none. As JSON the plan keeps standard output to itself."""
    taken: list[Any] = []
    monkeypatch.setattr(run_scenarios, "run", lambda asked, start, **more: taken.append((asked.scenarios, start.what)) or EXIT_PASS)
    assert main(["run", "--profile", "quick"]) == EXIT_PASS
    assert capsys.readouterr().out.startswith("no NVIDIA GPU: the main scenarios for the CPU")
    assert main(["run", "scenarios/two.yaml"]) == EXIT_PASS
    assert capsys.readouterr().out == ""
    assert taken == [
        ((Path("scenarios/one.yaml"),), "perfproof run one.yaml"),
        ([Path("scenarios/two.yaml")], "perfproof run two.yaml"),
    ]
    assert main(["plan", "--blocks", "6", "--json"]) == EXIT_PASS
    said = capsys.readouterr()
    assert {trial["scenario"] for trial in json.loads(said.out)["trials"]} == {"one"}
    assert said.err.startswith("no NVIDIA GPU")


def test_calibrate_wants_scenarios_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The main scenarios ask about answers too, which have their own A/A in every run: so calibrate has no default."""
    with pytest.raises(SystemExit) as caught:
        main(["calibrate"])
    assert caught.value.code == EXIT_USAGE
    assert "SCENARIO" in capsys.readouterr().err


def test_the_list_is_no_scenario() -> None:
    """What takes every scenario of the folder passes over it."""
    assert [file.name for file in scenario_files()] == ["one.yaml", "two.yaml"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_project_s_own_lists_hold_scenarios_of_their_device(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """Every file that `make bench` would measure is there, is a good scenario, and is for that device; none occurs twice."""
    if device == "cuda":
        two_gpus(monkeypatch)
    files = default_scenarios.pick([ROOT / "scenarios"]).files
    assert len(set(files)) == len(files) > 4
    fits = {"cpu": (None, "cpu"), "cuda": ("cuda",)}[device]
    assert [file.name for file in files if load_scenario(file, "quick").device not in fits] == []
