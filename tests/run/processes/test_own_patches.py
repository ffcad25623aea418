"""Patches of the user's own, by path, on a stand-in for vLLM: what is proved of them, and what each fault is called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install import own_patch_folders
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.contradictions import unproven
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks import catalog
from perfproof.run.checks.own_patch_targets import find_targets
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from tests import toy

SWAP = "vllm.v1.worker.batch:Batch.swap"
QUICK = """
from helper import swapped

def register():
    from vllm.v1.worker.batch import Batch
    original = Batch.swap
    Batch.swap = lambda self, first, second: swapped(original(self, first, second))
"""
Run = Callable[..., list[Record]]


def definition(build: ReadyBuild | None, *patches: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": "toy",
        "profile": "quick",
        "question": "Is it quicker?",
        "workload": {"kind": "micro", "bench": "toy"},
        "builds": {"default": {"kind": "python", "path": str(build.interpreter) if build else "python"}},
        "arms": {"plain": {"baseline": True}, "patched": {"patches": list(patches)}},
        "metrics": {"round_time": {"primary": True}},
    }


def written(folder: Path, source: str = QUICK, name: str = "quick_swap.py") -> Path:
    """A folder with a patch and its helper module."""
    place = folder / "mine" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(source)
    (folder / "mine" / "helper.py").write_text("swapped = tuple")
    return place


@pytest.fixture
def run(toy_build: ReadyBuild, tmp_path: Path) -> Iterator[Run]:
    """Runs one block of the toy benchmark, with the given patches in the second arm."""
    runners = []

    def block(*patches: Any) -> list[Record]:
        scenario = scenario_of(definition(toy_build, *patches), source="toy.yaml", folder=tmp_path)
        for patch in scenario.arms[0].own_patches:
            own_patch_folders.lay_out(patch, toy_build.side.parent)
        runners.append(MicroRunner({scenario.builds["default"].key: toy_build}, tmp_path / "logs", seed=3, bench_of=toy.bench))
        return list(runners[-1].trials(Block(scenario=scenario, number=1, order=("plain", "patched"), seed=0), ("plain", "patched")))

    yield block
    for runner in runners:
        runner.close()


def test_a_plugin_is_switched_on_in_its_arm_and_proved(run: Run, tmp_path: Path) -> None:
    """What it replaced is found without its help, counted as often as in the arm without it, and kept by name in the record."""
    written(tmp_path)
    plain, patched = run({"path": "mine/quick_swap.py"})
    assert (plain.status, patched.status) == ("ok", "ok"), patched.reason
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.patches == {}
    assert list(patched.attestation.patches["quick_swap"]["targets"]) == [SWAP]
    assert plain.attestation.counts[f"calls {SWAP}"] == patched.attestation.counts[f"calls {SWAP}"] == 4
    kept = patched.definition["arms"]["patched"]
    assert kept["patches"] == ["quick_swap"]
    assert kept["own_patches"]["quick_swap"]["path"] == "quick_swap.py"
    assert kept["own_patches"]["quick_swap"]["entry"] == "quick_swap:register"
    assert scenario_of(patched.definition, source="a record").digest == patched.digest


def test_an_entry_of_a_package_is_a_patch(run: Run, tmp_path: Path) -> None:
    """A folder with a package, and the function that registers it, beside a patch of the suite's own."""
    written(tmp_path, QUICK.replace("def register", "def install"), "my_pkg/plugin.py")
    (tmp_path / "mine" / "my_pkg" / "__init__.py").write_text("")
    _, patched = run({"entry": "my_pkg.plugin:install", "path": "mine"})
    assert patched.status == "ok", patched.reason
    assert patched.attestation is not None
    assert list(patched.attestation.patches) == ["my_pkg_plugin_install"]


DECLARED = """
from perfproof.patches.guard import Patch, Target

PATCH = Patch(name="NAME", direction="adds", summary="", origin="", holds={"0.32.0": frozenset({"cpu"})},
              targets=(Target("vllm.v1.worker.batch", "Batch.FUNCTION", {"0.32.0": "SOURCE"}),))

def register():
    PATCH.apply({"Batch.FUNCTION": lambda self, first, second: (first, second)})
"""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nowhere_at_all\ndef register(): pass", "plugin quick_swap:register does not import: ModuleNotFoundError: No module named"),
        ("def install(): pass", "quick_swap has no function register: write def register()"),
        ("def register(): raise ValueError('no rows')", "its register() raised ValueError: no rows"),
        ("def register(): pass", "its register() replaced no function of vLLM"),
        (QUICK.replace("Batch.swap", "Batch.turn"), "its register() raised AttributeError"),
        (
            "def register():\n    from vllm.v1.worker.batch import Batch\n    Batch.turn = lambda self: None",
            "this vLLM has no vllm.v1.worker.batch:Batch.turn: what the patch puts there, nobody calls",
        ),
        (QUICK.replace("Batch.swap", "Batch.never"), "the function that patch quick_swap replaces was never called"),
        (DECLARED.replace("NAME", "other"), "its PATCH is named 'other': name it 'quick_swap'"),
        (DECLARED.replace("NAME", "quick_swap").replace("FUNCTION", "turn"), f"this vLLM has no {SWAP.replace('swap', 'turn')}"),
        (DECLARED.replace("NAME", "quick_swap").replace("FUNCTION", "swap"), "is not the one tested"),
        (DECLARED.partition("def register")[0].replace("NAME", "quick_swap") + "def register(): pass", "did not apply its PATCH"),
    ],
)
def test_a_plugin_that_does_nothing_ends_its_trial_with_a_sentence(run: Run, tmp_path: Path, source: str, words: str) -> None:
    """It does not import, raises, replaces nothing, or what the release lacks or never calls: its trial does not count, the other does."""
    written(tmp_path, source)
    plain, patched = run({"path": "mine/quick_swap.py"})
    assert plain.status == "ok", plain.reason
    assert patched.status in ("failed", "unattested")
    assert words in patched.reason


def decoded(folder: Path, *patches: Any) -> Scenario:
    return scenario_of(definition(None, *patches), source="toy.yaml", folder=folder)


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"path": "mine/nowhere.py"}, "arms.patched.patches: mine/nowhere.py: there is no such file (paths are relative to the scenario"),
        ({"path": "nowhere", "entry": "a:b"}, "arms.patched.patches: nowhere: there is no such folder"),
        ({"path": "mine"}, "expected a .py file with a function register, or a folder and entry: my_package.plugin:register"),
        ({"path": "mine/quick_swap.py", "entry": "quick_swap"}, "'quick_swap' does not match"),
        ({"entry": "a:b"}, "a patch by path has a key path"),
        ({"path": "mine/quick_swap.py", "sha256": "0" * 64}, "the scenario expects"),
    ],
)
def test_a_patch_that_is_not_there_is_refused(tmp_path: Path, patch: Any, words: str) -> None:
    """A path that leads nowhere, and an entry that is none, are reported with what is expected."""
    written(tmp_path)
    with pytest.raises(BadInput) as caught:
        decoded(tmp_path, patch)
    assert words in str(caught.value)


def test_its_name_is_nobody_elses(tmp_path: Path) -> None:
    """A file that is called like a patch of the suite's is refused: a record could not tell them apart."""
    written(tmp_path, name="swap_states_batched.py")
    (fault,) = catalog.faults(decoded(tmp_path, {"path": "mine/swap_states_batched.py"}))
    assert "patch swap_states_batched has the name of one of perfproof's own: rename your file" in fault


def test_what_a_patch_says_is_part_of_the_question(tmp_path: Path) -> None:
    """Another text is another question, and gets its own compile cache; arms without such patches leave nothing new in a definition."""
    written(tmp_path)
    before = decoded(tmp_path, {"path": "mine/quick_swap.py"})
    written(tmp_path, QUICK + "\n")
    after = decoded(tmp_path, {"path": "mine/quick_swap.py"})
    assert after.digest != before.digest
    assert after.arms[1].patch_contents != before.arms[1].patch_contents
    assert decoded(tmp_path, "swap_states_batched").arms[1].patch_contents == ["swap_states_batched"]
    assert "own_patches" not in decoded(tmp_path, "swap_states_batched").definition["arms"]["patched"]


def test_a_record_with_such_a_patch_contradicts_nothing(run: Run, tmp_path: Path) -> None:
    """A record that says ok is believed, and reads as any other."""
    written(tmp_path)
    _, patched = run({"path": "mine/quick_swap.py"})
    assert unproven(dataclasses.asdict(patched)) == ""


def test_what_it_replaces_is_counted_in_every_arm(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """The patch is loaded once before: every arm then counts the same functions, those of modules that only it imports, too."""
    source = QUICK.replace("Batch.swap", "GPUModelRunner.execute_model").replace(
        "batch import Batch", "gpu_model_runner import GPUModelRunner"
    )
    written(tmp_path, source)
    scenario = scenario_of(definition(toy_build, {"path": "mine/quick_swap.py"}), source="toy.yaml", folder=tmp_path)
    own_patch_folders.lay_out(scenario.arms[0].own_patches[0], toy_build.side.parent)
    find_targets(scenario, {scenario.builds["default"].key: toy_build})
    assert catalog.targets_of(scenario.arms) == ("vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",)


def test_a_patch_that_fails_to_load_is_refused_before_anything_is_measured(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Its fault names the scenario, the arm and the patch."""
    written(tmp_path, "def register():\n    raise ValueError('no rows')")
    scenario = scenario_of(definition(toy_build, {"path": "mine/quick_swap.py"}), source="toy.yaml", folder=tmp_path)
    own_patch_folders.lay_out(scenario.arms[0].own_patches[0], toy_build.side.parent)
    with pytest.raises(BadInput) as caught:
        find_targets(scenario, {scenario.builds["default"].key: toy_build})
    assert caught.value.faults == ("toy.yaml: arms.patched.patches: patch quick_swap: its register() raised ValueError: no rows",)
