"""No room but those of kinds knows a kind of workload by its name: read from the source itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfproof
from perfproof.model.kinds import KINDS
from perfproof.model.workloads.workload import Workload

SOURCE = Path(perfproof.__file__).parent
NAMES = frozenset(kind.name for kind in KINDS)
OTHERWISE = {
    "analysis/judging/apply_policy.py": {"equality"},  # a family of a policy's rules
    "analysis/verdicts/eval_runs.py": {"accuracy"},  # the scenario of foreign evaluations
    "changes/coverage/coverage_figures.py": {"engine"},  # a folder of vLLM
    "child/benchmarks.py": {"pytest"},  # a key of what the process says
    "child/client.py": {"serve"},  # a word of vLLM's command
    "child/micro.py": {"pytest"},  # a key of what the process says
    "child/probe.py": {"pytest"},  # a package
    "cli/judge_commands.py": {"accuracy"},  # a verb
    "confirm/workloads.py": {"serve"},  # a word of vLLM's command
    "importers/pasted_text/lines/text_lines.py": {"command"},  # a part of a prompt
    "importers/pasted_text/tables/sides/side_labels.py": {"command"},  # a column of hyperfine's
    "importers/pasted_text/tables/table_readings.py": {"command"},  # a column of hyperfine's
    "importers/pasted_text/text_units.py": {"accuracy"},  # the measure of a score
    "importers/result_files/formats/frameworks/hyperfine.py": {"command"},  # a key of its results
    "importers/result_files/formats/frameworks/pyperf.py": {"command"},  # a key of its results
    "importers/lm_eval/lm_eval_runs.py": {"engine"},  # a backend of lm_eval's
    "jobs/emitted/buildkite.py": {"command"},  # a key of its steps
    "jobs/emitted/github.py": {"command"},  # a key of a matrix
    "jobs/job_list.py": {"command"},  # a key of a job
    "model/documents/policy_documents.py": {"accuracy", "equality"},  # families of a policy's rules
    "model/documents/scenario_documents.py": {"equality"},  # a key of an arm
    "model/records/count_tables.py": {"engine"},  # a key of a record's environment
    "model/scenarios/foreign_words.py": {"accuracy"},  # a word of a metric
    "model/scenarios/metric_directions.py": {"accuracy"},  # a word of a metric
    "model/scenarios/metrics.py": {"accuracy"},  # a metric
    "model/verdicts/policy.py": {"accuracy", "equality"},  # families of a policy's rules
    "pytest_plugin/benchmark_blocks.py": {"pytest"},  # the plugin writes scenarios of its own kind, and salts its orders with the word
    "pytest_plugin/benchmark_trials.py": {"pytest"},  # a package, and a key of what the process says
    "report/extract/aa_status.py": {"equality"},  # a key of an arm
    "run/trials/engine_counting.py": {"engine"},  # a folder of what runs inside
    "run/servers/bench_client.py": {"serve"},  # a word of vLLM's command
    "run/servers/flag_validation.py": {"serve"},  # a word of vLLM's command
    "run/servers/launch_spec.py": {"serve"},  # a word of vLLM's command
    "validation/planted.py": {"accuracy"},  # a metric and a gate
    "validation/real/__main__.py": {"micro", "serve"},  # parts of the proof, words of its command
    "validation/real/injected.py": {"micro", "serve"},  # the proof's own scenario documents
    "validation/real/machine_runs.py": {"micro", "serve"},  # parts of the proof
    "validation/real/real_page.py": {"micro", "serve"},  # parts of the proof
}
"""Where one of the words stands for something else than a kind to be told from others."""


def _nouns(noun: type[Workload]) -> Iterator[str]:
    for each in noun.__subclasses__():
        yield each.__name__
        yield from _nouns(each)


CLASSES = frozenset([*_nouns(Workload), *(kind.document.__name__ for kind in KINDS)])


def outside() -> list[Path]:
    """The package's files outside of the rooms of kinds."""
    return [path for path in sorted(SOURCE.rglob("*.py")) if "kinds" not in path.relative_to(SOURCE).parts]


def words(tree: ast.AST) -> set[str]:
    """The names of kinds that stand in a file as texts."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in NAMES}


def told_apart(tree: ast.AST) -> set[str]:
    """The nouns and documents of kinds by which a file tells workloads apart: in isinstance, a match, a comparison, a table's keys."""
    asked: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            asked += node.args[1:]
        if isinstance(node, ast.MatchClass):
            asked.append(node.cls)
        if isinstance(node, ast.Compare):
            asked += [node.left, *node.comparators]
        if isinstance(node, ast.Dict):
            asked += node.keys
    inner = [each for one in asked if one is not None for each in ast.walk(one)]
    return {name for each in inner for name in [getattr(each, "id", getattr(each, "attr", ""))] if name in CLASSES}


@pytest.mark.parametrize("path", outside(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_kind_is_known_by_name(path: Path) -> None:
    """Outside of `kinds` no workload is told from another by its class or the name of its kind; where a word means something else, it is
    listed here."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert told_apart(tree) == set()
    assert words(tree) == OTHERWISE.get(path.relative_to(SOURCE).as_posix(), set())


def test_files_that_are_excused_are_there() -> None:
    """The list of other meanings names no file that is gone."""
    assert set(OTHERWISE) <= {path.relative_to(SOURCE).as_posix() for path in outside()}


@pytest.mark.parametrize(
    ("source", "classes", "names"),
    [
        ("isinstance(x, ServeWorkload | OfflineWorkload)", {"ServeWorkload", "OfflineWorkload"}, set()),
        ("isinstance(x, (nouns.MicroWorkload, int))", {"MicroWorkload"}, set()),
        ("match x:\n    case EqualityDoc():\n        pass", {"EqualityDoc"}, set()),
        ("type(x) is PytestWorkload", {"PytestWorkload"}, set()),
        ("RUNNERS = {ServeWorkload: 1}", {"ServeWorkload"}, set()),
        ('x["kind"] == "serve"', set(), {"serve"}),
        ('T = {"micro": 8.0}', set(), {"micro"}),
        ("def f(x: ServeWorkload): return ServeWorkload.of(x)", set(), set()),
    ],
)
def test_what_knows_a_kind_is_seen(source: str, classes: set[str], names: set[str]) -> None:
    """Every way of telling kinds apart that the project has had is found; taking a workload as the one that it is is none."""
    assert (told_apart(ast.parse(source)), words(ast.parse(source))) == (classes, names)
