"""`perfproof blame` from two builds to its answer, on stand-ins for vLLM: changes that lie in functions, in a package or in compiled code,
a bisection that hands over, a budget that ends, and questions without an answer."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfproof.changes.blame import blame_command
from perfproof.changes.blame.blame_command import BlameRequest, perform
from perfproof.changes.blame.search import OutOfBudget
from perfproof.cli import main
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_USAGE, BadInput, CannotRun, PerfproofError
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios.scenario import Scenario
from perfproof.tracking import released_scenario
from perfproof.tracking.confirm_step import Measuring
from perfproof.tracking.released_scenario import OpenRunners, named_build
from tests.changes.blame.places import BAD, BATCH, COMPILED, COSTS, GOOD, InProcess, answer_from_folders, asked, committed, interpreter

SCENARIO = """\
schema: 1
question: What does a swap cost?
workload: {kind: micro, bench: swap_states}
arms: {before: {baseline: true}, after: {}}
metrics: {bytes_per_swap: {primary: true}, round_time: {}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    folder = tmp_path_factory.mktemp("blame")
    with pytest.MonkeyPatch.context() as patch:
        answer_from_folders(patch)
        yield InProcess(folder=folder, python=interpreter(folder / "good"))


@pytest.fixture(scope="module")
def bad(place: InProcess) -> str:
    return place.diff("bad.diff", place.batch.replace(GOOD, BAD))


def told(request: BlameRequest, place: InProcess, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    runners: OpenRunners = place.runners
    code = perform(request, runners=runners)
    return code, json.loads(capsys.readouterr().out)


def said(request: BlameRequest, place: InProcess) -> str:
    """The sentences, and what is said on the way."""
    console = Console(file=io.StringIO(), width=400)
    perform(dataclasses.replace(request, as_json=False), console, place.runners)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_guilty_functions_have_their_shares_and_a_diff_back(
    place: InProcess, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two functions that only run together crash one without the other, and the search goes around that; the page has the shares."""
    code, found = told(asked(place, tmp_path, bad, report=tmp_path / "page.html"), place, capsys)
    assert code == EXIT_PASS
    assert [(one["function"], one["share"]) for one in found["guilty"]] == [("cost", pytest.approx(0.8)), ("more", pytest.approx(0.2))]
    assert [one["interval"] for one in found["guilty"]] == [[one["share"]] * 2 for one in found["guilty"]]
    assert (found["reach"], found["lies_in"]) == (1, [])
    assert found["answer"].startswith("equivalent")
    assert "80 %" in (tmp_path / "page.html").read_text()
    applied = subprocess.run(
        ["git", "apply", "--stat", found["diff_back"]], capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ
    )
    assert BATCH.rpartition("/")[2] in applied.stdout


def test_a_spent_budget_says_so_and_the_same_command_goes_on(
    place: InProcess, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No mixture is begun after it; what was measured is kept."""
    code, found = told(asked(place, tmp_path, bad, budget=1e-9), place, capsys)
    assert (code, found["complete"], found["guilty"]) == (EXIT_INCONCLUSIVE, False, [])
    place.ran = 0
    code, found = told(asked(place, tmp_path, bad), place, capsys)
    assert (code, found["complete"]) == (EXIT_PASS, True)
    assert place.ran == sum(not one["why"].startswith("vllm/") for one in found["trials"])
    place.ran = 0
    assert told(asked(place, tmp_path, bad), place, capsys)[1]["guilty"] == found["guilty"]
    assert place.ran == 0


def test_a_budget_that_ends_before_the_times_are_known_says_so(place: InProcess, bad: str, tmp_path: Path) -> None:
    """There is nothing to search in yet; the same command goes on."""
    request = asked(place, tmp_path, bad, metric="round_time", budget=1e-9)
    with pytest.raises(PerfproofError, match="was over before round_time of both builds was known: the same command goes on") as over:
        perform(request, runners=place.runners)
    assert over.value.exit_code == EXIT_INCONCLUSIVE


def test_times_are_those_of_builds_that_take_turns(place: InProcess, bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their trials lie in a folder of their own, apart from those of builds that ran one after the other."""
    seen: list[tuple[Scenario, Path]] = []

    def whole_change(scenario: Scenario, good: object, bad: object, metric: str, measuring: Measuring, left: object) -> None:
        seen.append((scenario, measuring.results))
        raise OutOfBudget

    monkeypatch.setattr(blame_command, "whole_change", whole_change)
    with pytest.raises(PerfproofError, match="the same command goes on"):
        perform(asked(place, tmp_path, bad, metric="round_time", budget=1), runners=place.runners)
    ((scenario, results),) = seen
    assert scenario.definition["workload"]["alternate_rounds"] is True
    assert MicroWorkload.of(scenario.workload).alternate_rounds
    assert results.name == "alternating_rounds"


def test_the_lines_that_are_told_are_those_of_the_guilty_hunks(place: InProcess, tmp_path: Path) -> None:
    """Not the whole function's: what the diff takes back is said, a line for one hunk, spans for several."""
    long = "def cost():\n    one = 1\n    two = 2\n    return 0\n"
    text = place.batch.replace("def cost():\n    return 0\n", long)
    assert text != place.batch
    good = place.diff("long.diff", text)
    one = place.diff("one.diff", text.replace("    return 0\n", "    return 80\n", 1))
    at = text[: text.index("    two = 2\n")].count("\n") + 2
    request = asked(place, tmp_path, one)
    words = said(dataclasses.replace(request, good=named_build(good, tmp_path)), place)
    assert f"the change: cost ({BATCH}, line {at})" in words.replace("100 % of ", "")


# --- elsewhere ----------------------------------------------------------------------------------------------


def test_a_change_in_a_package_is_told_as_that(place: InProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python that differs beside it and does nothing is not named; the package is, and why it could not be tried with the good vLLM."""
    python = interpreter(place.folder / tmp_path.name, torch=50, version="9.9")
    path = next(python.parents[1].glob(f"lib/*/site-packages/{BATCH}"))
    path.write_text(path.read_text().replace("return (second, first)", "return (second, first) + ()"))
    request = asked(place, tmp_path, str(python))
    code, found = told(request, place, capsys)
    assert (code, found["guilty"], found["reach"]) == (EXIT_INCONCLUSIVE, [], 0)
    assert (found["elsewhere"], found["lies_in"]) == (["torch 2.13.0 and 9.9"], ["packages"])
    assert found["packages"]["packages"] == ["torch==9.9"]
    sentences = said(request, place)
    assert "no unit of vLLM's Python was found that brings the change" in sentences
    assert "100 % of the change is not in vLLM's Python; beside it differ: torch 2.13.0 and 9.9" in sentences
    assert f"{place.python} beside the bad build's torch==9.9 could not be tried: nothing is installed into {place.python} and" in sentences


def test_a_change_in_compiled_code_is_told_as_that(place: InProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A function has its share; what is left lies in compiled code, where nothing else differs that could bring it. Code that is compiled
    again in its place is another question."""
    python = interpreter(place.folder / tmp_path.name, cost=30, compiled=90)
    request = asked(place, tmp_path, str(python))
    code, found = told(request, place, capsys)
    assert (code, [(one["function"], one["share"]) for one in found["guilty"]]) == (EXIT_PASS, [("cost", 0.25)])
    assert (found["reach"], found["lies_in"], found["packages"]) == (0.25, ["compiled code"], None)
    sentences = said(request, place)
    assert "75 % of the change is not in vLLM's Python; beside it differ: vLLM's compiled code (_C.abi3.so)" in sentences
    assert "what is left lies in vLLM's compiled code, which can only be taken whole" in sentences
    next(python.parents[1].glob(f"lib/*/site-packages/{COMPILED}")).write_text("120")
    assert told(request, place, capsys)[1]["guilty"][0]["share"] == pytest.approx(0.2)
    assert len(list((tmp_path / "results").glob("*/blame.json"))) == 2


def test_builds_with_the_same_python_differ_elsewhere(place: InProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of vLLM's Python can be taken back: none of the change lies in it."""
    python = interpreter(place.folder / tmp_path.name, compiled=50)
    code, found = told(asked(place, tmp_path, str(python)), place, capsys)
    assert (code, found["guilty"], found["reach"], found["trials"]) == (EXIT_INCONCLUSIVE, [], 0, [])
    assert found["lies_in"] == ["compiled code"]


def test_a_diff_that_changes_under_its_name_is_another_question(
    place: InProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the file said before is in no answer."""
    for cost in (40, 10):
        build = place.diff("again.diff", place.batch.replace("def cost():\n    return 0", f"def cost():\n    return {cost}"))
        assert told(asked(place, tmp_path, build), place, capsys)[1]["values"] == [100, 100 + cost]


# --- commits ------------------------------------------------------------------------------------------------


def test_a_clone_names_the_commits_behind_the_lines(place: InProcess, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commit that changed the guilty function after the good build's, with its pull request; one that changed another stays away."""
    repo, old = tmp_path / "clone", place.batch
    committed(repo, {"begin": old, "Swaps are dearer (#4711)": old.replace(GOOD, COSTS), "The rest (#4712)": old.replace(GOOD, BAD)})
    _, found = told(asked(place, tmp_path, bad, clone=repo, commits=("t0", "t2")), place, capsys)
    by_name = {one["function"]: one for one in found["guilty"]}
    assert [(one["pull"], one["subject"]) for one in by_name["cost"]["commits"]] == [(4711, "Swaps are dearer")]
    assert by_name["cost"]["known_as"] == "#4711: Swaps are dearer"
    assert by_name["more"]["known_as"] == "#4712: The rest"
    with pytest.raises(BadInput, match=r"v0\.32\.0"):
        perform(asked(place, tmp_path / "tags", bad, clone=repo), runners=place.runners)


def test_a_bisection_hands_its_last_two_commits_over(
    place: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`bisect --blame` goes on from the commit that it found to the function and lines in it; the command for that is printed whole. The
    commit that the base was made from, and one with the same files, are the base."""
    repo, old = tmp_path / "clone", place.batch
    innocent = old.replace("    return (second, first)", "    return (second, first) + ()")
    tags = committed(repo, {"begin": old, "Innocent (#1)": innocent, "Dearer (#4711)": innocent.replace(GOOD, COSTS)})
    (tmp_path / "swap_states.yaml").write_text(SCENARIO)
    for module in (released_scenario, blame_command):
        monkeypatch.setattr(module, "runners_on", lambda builds, say: place.runners)
    words = [str(tmp_path / "swap_states.yaml"), "--good", tags[0], "--bad", tags[2], "--git", str(repo), "--base", str(place.python)]
    words += ["--base-ref", tags[0], "--metric", "bytes_per_swap", "--builds", str(place.builds), "--results", str(tmp_path / "r")]
    assert main(["bisect", *words, "--blame"]) == EXIT_PASS
    out = capsys.readouterr().out
    named = subprocess.run(["git", "-C", repo, "rev-parse", *tags], capture_output=True, text=True, check=True).stdout.split()
    before, after = (commit[:12] for commit in named[1:])
    assert f"bytes_per_swap regressed first in {after} (Dearer (#4711)); {before}, the one before, is good" in out
    assert f"100 % of the change: cost ({BATCH}" in out
    assert f"changed by {after[:7]}" in out
    offer = f"--good {before} --bad {after} --metric bytes_per_swap --git {repo} --base {place.python} --base-ref {tags[0]}"
    assert f"perfproof blame swap_states {offer}" in out
    assert main(["bisect", *words, "--blame", "--json"]) == EXIT_USAGE
    assert main(["blame", *words]) == EXIT_PASS
    assert f"100 % of the change: cost ({BATCH}" in capsys.readouterr().out


# --- questions without an answer ----------------------------------------------------------------------------


def test_what_can_have_no_answer_is_refused_before_a_trial(place: InProcess, bad: str, tmp_path: Path) -> None:
    """One build twice, builds of the same content, metrics that there are not, a diff that does not apply, an accuracy."""
    place.ran = 0
    same = interpreter(place.folder / tmp_path.name)
    (accuracy,) = load([Path("tests/model/kinds/accuracy.yaml")], "quick", None)
    wrong = place.folder / "wrong.diff"
    wrong.write_text(f"--- a/{BATCH}\n+++ b/{BATCH}\n@@ -1 +1 @@\n-nothing of this\n+is there\n")
    refused: list[tuple[BlameRequest, type[Exception], str]] = [
        (asked(place, tmp_path, str(place.python)), BadInput, "--good and --bad are the same build"),
        (asked(place, tmp_path, str(same)), CannotRun, "do not differ, neither in vLLM's files nor in their packages"),
        (asked(place, tmp_path, bad, metric="nothing"), BadInput, "--metric nothing: there is no such metric; swap_states has bytes_per_"),
        (asked(place, tmp_path, bad, metric="batch_latency"), BadInput, "--metric batch_latency: swap_states times round_time"),
        (asked(place, tmp_path, f"{place.python}+{wrong}"), BadInput, f"--bad {place.python}+{wrong}: wrong.diff: "),
        (asked(place, tmp_path, "/nope/python"), BadInput, "--bad /nope/python: /nope/python: there is no such file"),
        (asked(place, tmp_path, f"{place.python}+nope.diff"), BadInput, "nope.diff: No such file or directory"),
        (asked(place, tmp_path, bad, scenario=accuracy, metric=None), BadInput, "accuracy measures no count and no time"),
    ]
    for request, error, why in refused:
        with pytest.raises(error, match=re.escape(why)):
            perform(request, runners=place.runners)
    assert place.ran == 0


def test_builds_that_do_not_differ_in_the_count_are_refused(place: InProcess, tmp_path: Path) -> None:
    """There is nothing to find, and the sentence says so."""
    innocent = place.diff("innocent.diff", place.batch.replace("return 1", "return 1 + 0"))
    with pytest.raises(CannotRun, match="is the same in both builds"):
        perform(asked(place, tmp_path, innocent), runners=place.runners)
