"""A plan as jobs: each block one command that any queue can start, and the forms that queues take."""

from __future__ import annotations

import dataclasses
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof import store
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput
from perfproof.model.records.record import SPREAD
from perfproof.planning import make_plan, shard_of, some_blocks
from tests import toy
from tests.jobs import counted
from tests.jobs.spread import write
from tests.published_schemas import refusal
from tests.test_executor import scenario


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy.seen_once(monkeypatch)
    return counted.scenario(tmp_path).relative_to(tmp_path)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["plan", *words]) == EXIT_PASS
    return capsys.readouterr().out


def test_every_block_is_a_job_with_its_own_folder(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan as JSON: so many jobs as blocks, each with scenario, seed, order, needs, and a command with a results folder of its own."""
    made = json.loads(planned(capsys, str(file), "--jobs", "--blocks", "24", "--results", "results", "--seed", "5"))
    plan = json.loads(planned(capsys, str(file), "--json", "--blocks", "24", "--seed", "5"))
    assert [(job["scenario"], job["blocks"][0], job["orders"][0], job["seeds"][0]) for job in made["jobs"]] == [
        (trial["scenario"], trial["block"], trial["order"], trial["seed"]) for trial in plan["trials"]
    ]
    assert len({job["results"] for job in made["jobs"]}) == 24
    first = made["jobs"][0]
    assert first["needs"]["gpus"] == 0
    assert first["needs"]["minutes"] > 30 + 10
    assert " ".join(first["command"]).startswith("perfproof run counted.yaml --profile standard --seed 5 --blocks 24 --block 1 --results")
    assert made["merge"] == ["perfproof", "merge", "results/jobs/*", "--out", "results"]


def test_jobs_that_ran_anywhere_are_merged_to_the_verdict_of_a_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every job's command is run, the third one twice; merged, they are what a run alone would have left, but for the mark of a job in
    each."""
    made = json.loads(planned(capsys, str(file), "--jobs", "--blocks", "6", "--results", "results"))
    for job in [*made["jobs"], made["jobs"][2]]:
        assert main([*job["command"][1:], "--anyway"]) == EXIT_PASS
    assert main(["merge", *[job["results"] for job in made["jobs"]], "--out", "results"]) == EXIT_PASS
    records = store.read(Path("results")).records
    assert len({one.trial for one in records}) == 12
    assert all(one.spread for one in records)
    alone = [{key: value for key, value in one.environment.items() if key != SPREAD} for one in records]
    write(Path("alone"), [dataclasses.replace(one, environment=own) for one, own in zip(records, alone, strict=True)])
    assert main(["gate", "--results", "results"]) == main(["gate", "--results", "alone"]) == EXIT_REGRESSED
    judged = []
    for results in ("alone", "results"):
        capsys.readouterr()
        main(["compare", "--results", results, "--json"])
        judged.append([row for row in json.loads(capsys.readouterr().out)["comparisons"] if row["primary"]])
    assert judged[0] == judged[1]
    assert [row["verdict"] for row in judged[0]] == ["regressed"]


def test_a_job_says_by_its_exit_code_whether_it_is_whole(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One job judges nothing; where a trial of it failed its code is 3."""
    words = ["run", str(file), "--blocks", "6", "--block", "4", "--results", "job", "--anyway"]
    (file.parent / "files" / "script.py").write_text("raise SystemExit(3)")
    assert main(words) == EXIT_UNTESTABLE
    said = capsys.readouterr().out
    assert "block 4, before: failed" in said
    assert "block 4 of 6 in job; 'perfproof merge' joins it" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--block", "7", "--blocks", "6"], "--block 7: counted has blocks 1 to 6"),
        (["--block", "1", "--shard", "1/2"], "give only one"),
        (["--shard", "7/7", "--blocks", "6"], "has no block"),
        (["--block", "1", "--report", "page.html"], "a part of a plan has no verdict"),
        (["--gpus", "1"], "give --engine slurm too"),
        (["--engine", "slurm", "--block", "1"], "--block: is for a run on this machine"),
    ],
)
def test_what_makes_no_job_is_refused(file: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    """Before anything starts, with the option that is wrong."""
    assert main(["run", str(file), *words]) == EXIT_USAGE
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 12, 24])
@pytest.mark.parametrize("blocks", [6, 10, 24])
def test_shards_part_a_plan(shards: int, blocks: int) -> None:
    """Every block is in one shard; where there are pairs enough, a shard has whole pairs, so that each arm goes first equally often."""
    plan = make_plan([scenario(blocks=blocks)], 0)
    if shards > blocks:
        with pytest.raises(BadInput, match="has no block"):
            shard_of(plan, shards, shards)
        return
    parts = [shard_of(plan, number, shards).blocks for number in range(1, shards + 1)]
    assert sorted(block.number for part in parts for block in part) == list(range(1, blocks + 1))
    if blocks >= 2 * shards:
        assert all(sorted(b.order for b in part) == sorted(b.order[::-1] for b in part) for part in parts)


def test_some_blocks_keep_their_order_and_seed() -> None:
    """A job's block is the plan's own."""
    plan = make_plan([scenario(blocks=8)], 3)
    assert some_blocks(plan, [5, 2]).blocks == tuple(block for block in plan.blocks if block.number in (2, 5))


def emitted(capsys: pytest.CaptureFixture[str], file: Path, form: str, *words: str) -> str:
    return planned(capsys, str(file), "--emit", form, "--blocks", "6", "--results", "my results", *words)


def test_the_script_for_slurm_is_an_array_with_a_log_a_job(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bash accepts it, and each task runs its own command and writes its own log, run here by a stand-in for perfproof."""
    script = emitted(capsys, file, "slurm", "--gpus", "2", "--hosts", "h1", "h2", "--queue", "gpu")
    assert "#SBATCH --array=0-5\n" in script
    assert "#SBATCH --gpus=2\n#SBATCH --nodelist=h1,h2\n#SBATCH --partition=gpu\n" in script
    Path("array.sh").write_text(script)
    tools = Path("tools")
    tools.mkdir()
    (tools / "perfproof").write_text('#!/bin/sh\necho "$@"\n')
    (tools / "perfproof").chmod(0o755)
    for task in range(6):
        environment = {"PATH": f"{tools.absolute()}:/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": str(task)}
        subprocess.run(["bash", "array.sh"], env=environment, check=True)
    logs = sorted(Path("my results/logs").glob("*.log"))
    assert [log.name for log in logs] == [f"counted-{number}.log" for number in range(1, 7)]
    assert "--block 3 --results my results/jobs/counted-3 " in logs[2].read_text()


@pytest.mark.parametrize(("form", "schema"), [("buildkite", "buildkite"), ("github", "github-workflows")])
def test_pipelines_and_workflows_are_what_their_schemas_say(form: str, schema: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The published schemas of Buildkite's pipelines and of GitHub's workflows accept them."""
    Path("made.yml").write_text(emitted(capsys, file, form, "--hosts", "h1", "h2"))
    assert refusal(schema, "made.yml") == ""
    Path("made.yml").write_text("steps: 3\njobs: 3\n")
    assert "made.yml" in refusal(schema, "made.yml")


def test_a_step_of_buildkite_is_a_block_on_one_host(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pairs of blocks go to a host, hosts take one step at a time, and the last step merges even where one failed."""
    steps: list[Any] = yaml.safe_load(emitted(capsys, file, "buildkite", "--hosts", "h1", "h2", "--queue", "gpu"))["steps"]
    assert [(step["agents"]["host"], step["concurrency"], step["concurrency_group"]) for step in steps[:6]] == [
        (host, 1, f"perfproof/{host}") for host in ("h1", "h1", "h2", "h2", "h1", "h1")
    ]
    assert steps[6] == {"wait": None, "continue_on_failure": True}
    merge, gate = "perfproof merge 'my results/jobs'/* --out 'my results'", "perfproof gate --results 'my results'"
    assert steps[7]["commands"][1:] == [f"code=0; {merge} || code=$$?; {gate} || code=$$?; exit $$code"]
    assert shlex.split(steps[2]["command"])[-5:-4] == ["my results/jobs/counted-3"]


def test_a_matrix_takes_no_more_jobs_than_github_allows(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """300 blocks are refused with what to do instead."""
    assert main(["plan", str(file), "--emit", "github", "--blocks", "300"]) == EXIT_USAGE
    assert "a matrix takes 256" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a b", "$(id)", "h1,h2", "-x;y"])
def test_names_of_hosts_are_no_code(name: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A host's name is letters and digits, or it is refused."""
    assert main(["plan", str(file), "--emit", "slurm", "--hosts", "h1", f" {name}" if name.startswith("-") else name]) == EXIT_USAGE
    assert "letters, digits" in capsys.readouterr().err
