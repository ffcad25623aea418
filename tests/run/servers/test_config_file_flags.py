"""What a plan refuses before anything is made: arguments that are hidden in a file, a model that is no folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import load_scenario
from perfproof.planning import make_plan
from perfproof.run.servers import config_file_flags
from perfproof.runners import check_names

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
SERVE, OFFLINE = "serve_penalties_cpu", "offline_latency_cpu"
ACCURACY, EQUALITY = "accuracy_penalties_cpu", "equality_penalties_cpu"


def written(folder: Path, name: str, place: str, value: Any) -> Path:
    """A scenario of the repository with `value` at a dotted place."""
    document = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text())
    at: Any = document
    *steps, last = place.split(".")
    for step in steps:
        at = at.setdefault(step, {})
    at[last] = value
    (folder / "tasks").symlink_to(SCENARIOS / "tasks")
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


@pytest.mark.parametrize(
    ("name", "place", "value", "where"),
    [
        (SERVE, "workload.server_arguments", ["--config", "more.yaml"], "workload.server_arguments"),
        (SERVE, "workload.server_arguments", ["--config=more.yaml"], "workload.server_arguments"),
        (SERVE, "arms.ARM.server_arguments", ["--conf", "more.yaml"], "arms.ARM.server_arguments"),
        (SERVE, "workload.client.config", "more.yaml", "workload.client.config"),
        (SERVE, "arms.ARM.client", {"config": True}, "arms.ARM.client.config"),
        (OFFLINE, "workload.arguments.config", "more.yaml", "workload.arguments.config"),
        (OFFLINE, "arms.ARM.server_arguments", ["--config", "more.yaml"], "arms.ARM.server_arguments"),
        (ACCURACY, "workload.server_arguments", ["--config", "more.yaml"], "workload.server_arguments"),
        (EQUALITY, "workload.arguments.config", "more.yaml", "workload.arguments.config"),
        (EQUALITY, "arms.ARM.server_arguments", ["--config=more.yaml"], "arms.ARM.server_arguments"),
    ],
)
def test_arguments_out_of_a_file_are_refused(name: str, place: str, value: Any, where: str, tmp_path: Path) -> None:
    """Whatever the workload and wherever it is said, `--config` is reported with file, place and what to do, before anything is made."""
    arm = _candidate(name)
    file = written(tmp_path, name, place.replace("ARM", arm), value)
    with pytest.raises(BadInput) as told:
        check_names(make_plan([load_scenario(file, "quick")], 0))
    why = "--config takes arguments from a file, which are neither checked nor recorded: write its arguments here instead"
    assert told.value.faults == (f"{file}: {where.replace('ARM', arm)}: {why}",)


def test_a_flag_among_the_values_of_another_is_refused(tmp_path: Path) -> None:
    """Values that are split at blanks can't bring flags that the suite sets itself."""
    file = written(tmp_path, SERVE, "workload.client.goodput", "ttft:500 --seed 3")
    (fault,) = config_file_flags.faults(load_scenario(file, "quick"))
    assert (
        fault == f"{file}: workload.client.goodput: --seed among its values would be a separate flag: set it separately, without its dashes"
    )


@pytest.mark.parametrize("said", [{"--config-format=auto": None}, {"--compilation-config": "{}"}])
def test_flags_that_only_sound_like_it_pass(said: Mapping[str, str | None], tmp_path: Path) -> None:
    """Longer names that begin alike are other flags."""
    words = [word for pair in said.items() for word in pair if word]
    assert config_file_flags.faults(load_scenario(written(tmp_path, SERVE, "workload.server_arguments", words), "quick")) == []


def test_no_scenario_of_the_repository_hides_arguments() -> None:
    """All that comes along says what it asks for."""
    assert [fault for file in sorted(SCENARIOS.glob("*.yaml")) for fault in config_file_flags.faults(load_scenario(file, "quick"))] == []


def _candidate(name: str) -> str:
    document = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text())
    return next(arm for arm, said in document["arms"].items() if not said.get("baseline"))


@pytest.mark.parametrize("name", [SERVE, OFFLINE, ACCURACY, EQUALITY])
def test_a_folder_that_is_not_there_is_no_model(name: str, tmp_path: Path) -> None:
    """A model that is written as a folder must be one: no server is started for it, and no hub asked."""
    file = written(tmp_path, name, "workload.model", "./nowhere/model")
    with pytest.raises(BadInput) as told:
        check_names(make_plan([load_scenario(file, "quick")], 0))
    [fault] = told.value.faults
    assert fault.startswith(f"{file}: workload.model: there is no folder ./nowhere/model; name a folder")


def test_a_name_on_a_hub_is_a_model(tmp_path: Path) -> None:
    """`owner/name` is nothing that could be looked for here."""
    file = written(tmp_path, SERVE, "workload.model", "nobody/nothing")
    check_names(make_plan([load_scenario(file, "quick")], 0))
