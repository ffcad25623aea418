"""Micro trials on a stand-in for vLLM: what a record says, and what keeps a trial from counting."""

from __future__ import annotations

import dataclasses
import json
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from tests import toy
from tests.run.conftest import RunToy


def leftovers(record: Record, tmp_path: Path) -> dict[str, object]:
    """What the toy benchmark found when it started."""
    saved = json.loads((tmp_path / "results" / record.log).with_name("benchmark.json").read_text())
    found: dict[str, object] = saved["benchmarks"][0]["extra_info"]["leftovers"]
    return found


def test_a_block_leaves_one_attested_record_an_arm(run_toy: RunToy) -> None:
    """Each arm of a block leaves a record with its rounds, witnesses, work, phases and attestation, in the block's order."""
    plain, patched = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"))
    assert [plain.arm, patched.arm] == ["plain", "patched"]
    assert [plain.status, patched.status] == ["ok", "ok"], (plain.reason, patched.reason)
    assert plain.how == "forked"
    assert plain.seed == 3
    assert len(plain.raw["round_time"]) == 3
    assert plain.measurements["round_time"] == sorted(plain.raw["round_time"])[1]
    assert plain.witnesses == {"bytes_per_swap": 80}
    assert plain.work == patched.work == {"swaps": 4}
    assert set(plain.seconds) == {"import", "setup", "measure", "count", "overhead", "total"}
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.patches == {}
    assert list(patched.attestation.patches) == ["toy_patch"]
    assert plain.attestation.counts["calls vllm.v1.worker.batch:Batch.swap"] == 4
    assert plain.attestation.vllm_file == "vllm/__init__.py"


def test_a_record_tells_what_the_machine_did_meanwhile(run_toy: RunToy) -> None:
    """Each trial's record holds what the rules of invalidation read; the runner itself throws nothing out."""
    for one in run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch")):
        told = one.environment["telemetry"]
        assert set(told) <= {"swapped", "steal", "foreign", "throttled", "foreign_gpu"}
        assert all(value >= 0 for value in told.values())
        assert one.status == "ok"


def test_a_record_is_stored_and_read_again(run_toy: RunToy, tmp_path: Path) -> None:
    """A micro record survives the store unchanged."""
    (record,) = run_toy(toy.arm("plain"))
    store.append(tmp_path / "kept", record)
    (again,) = store.read(tmp_path / "kept").records
    assert json.loads(json.dumps(dataclasses.asdict(again))) == json.loads(json.dumps(dataclasses.asdict(record)))


def test_nothing_leaks_from_a_trial_into_the_next(run_toy: RunToy, tmp_path: Path) -> None:
    """A trial after a patched one finds no patch, zero counters, no global, no variable, and the same random numbers."""
    arms = (toy.arm("patched", "toy_patch"), toy.arm("plain"), toy.arm("again", "toy_patch"))
    records = run_toy(*arms)
    assert [record.status for record in records] == ["ok"] * 3, [record.reason for record in records]
    found = [leftovers(record, tmp_path) for record in records]
    assert found[0] == found[1] == found[2]
    assert found[0]["global"] == []
    assert found[0]["module"] is False
    assert found[0]["environment"] == ""
    counts = [record.attestation.counts for record in records if record.attestation]
    assert [count["calls vllm.v1.worker.batch:Batch.swap"] for count in counts] == [4, 4, 4]
    assert [bool(record.attestation and record.attestation.patches) for record in records] == [True, False, True]


def test_what_a_patch_is_asked_reaches_its_trial_alone_and_costs_no_import(run_toy: RunToy, tmp_path: Path) -> None:
    """Arms that differ in a variable of the suite's own patches share one import, and each trial sees only its own."""
    asked = [toy.arm(name, environment={"PERFPROOF_TOY": name}) for name in ("one", "other")]
    records = run_toy(asked[0], toy.arm("plain"), asked[1])
    assert [leftovers(record, tmp_path)["asked"] for record in records] == ["one", "", "other"]
    assert len(list((tmp_path / "results" / "logs" / "imports").glob("*.log"))) == 1


def test_the_hash_seed_is_that_of_the_round(run_toy: RunToy) -> None:
    """The arms of a block share one hash seed, which no block of another number has; a block that is measured again, or first in its round,
    has it too."""
    records = [*run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), seed=41), *run_toy(toy.arm("plain"), seed=42)]
    seeds = {record.environment["variables"]["PYTHONHASHSEED"] for record in records}
    (other,) = run_toy(toy.arm("plain"), number=2)
    assert len(seeds) == 1
    assert other.environment["variables"]["PYTHONHASHSEED"] not in seeds


def test_cases_are_metrics_of_their_own(run_toy: RunToy) -> None:
    """Every case of a workload has a metric, a witness and a count of work of its own, named by what it overrides."""
    (record,) = run_toy(toy.arm("plain"), cases=({"length": 5}, {"length": 50}), rounds=2)
    assert set(record.measurements) == {"round_time@length=5", "round_time@length=50"}
    assert record.witnesses == {"bytes_per_swap@length=5": 40, "bytes_per_swap@length=50": 400}
    assert set(record.work) == {"swaps@length=5", "swaps@length=50"}


def test_a_plugin_that_does_not_import_is_reported(run_toy: RunToy) -> None:
    """vLLM continues unpatched when a plugin fails to import; the trial is unattested and the reason is the import's own."""
    (record,) = run_toy(toy.arm("patched", "toy_broken"))
    assert record.status == "unattested"
    assert "toy_broken was not applied: its plugin failed to import: ModuleNotFoundError" in record.reason


def test_a_plugin_of_the_users_own_that_does_not_import_is_reported(run_toy: RunToy) -> None:
    """An arm that lists a plugin in its `VLLM_PLUGINS` is not measured without it: vLLM only logs that it failed to import."""
    (record,) = run_toy(toy.arm("plain", environment={"VLLM_PLUGINS": "toy_broken"}))
    assert record.status == "unattested"
    assert "plugin toy_broken failed to import: ModuleNotFoundError" in record.reason


def test_a_plugin_that_nobody_has_installed_is_reported(run_toy: RunToy) -> None:
    """vLLM says nothing of a name in `VLLM_PLUGINS` that no package has; the trial is unattested anyway."""
    (record,) = run_toy(toy.arm("plain", environment={"VLLM_PLUGINS": "nothing_has_this_name"}))
    assert record.status == "unattested"
    assert record.reason.startswith("plugin nothing_has_this_name was not loaded: no package that is installed there")


def test_a_plugin_and_a_variable_of_the_users_own_are_shown(run_toy: RunToy, tmp_path: Path) -> None:
    """A plugin that lies on the arm's PYTHONPATH and is loaded counts, and so does a variable; one that vLLM does not know is reported."""
    (tmp_path / "theirs-1.dist-info").mkdir()
    (tmp_path / "theirs-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (tmp_path / "theirs-1.dist-info" / "entry_points.txt").write_text("[vllm.general_plugins]\ntheirs = theirs_module:register\n")
    (tmp_path / "theirs_module.py").write_text("def register():\n    pass\n")
    said = {"VLLM_PLUGINS": "theirs", "PYTHONPATH": str(tmp_path), "OMP_DYNAMIC": "false"}
    (record,) = run_toy(toy.arm("plain", environment=said))
    assert (record.status, record.reason) == ("ok", "")
    assert record.attestation is not None
    assert record.attestation.plugins == {"theirs": ""}
    assert record.attestation.variables == dict.fromkeys(sorted(said), "")


def test_nothing_is_imported_from_where_a_command_stands(run_toy: RunToy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside the caller that is called like a module of Python or of vLLM is not run by a trial."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("json", "pickle", "numpy", "cloudpickle", "multiprocessing", "sitecustomize", "usercustomize"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\nraise ImportError\n")
    monkeypatch.chdir(here)
    (record,) = run_toy(toy.arm("plain"))
    assert record.status == "ok"
    assert not (tmp_path / "ran").exists()


def test_a_patched_function_that_is_never_called_is_reported(run_toy: RunToy) -> None:
    """A patch whose function the workload does not call proves nothing: unattested."""
    (record,) = run_toy(toy.arm("patched", "toy_idle"))
    assert record.status == "unattested"
    assert "the function that patch toy_idle replaces was never called" in record.reason


def test_a_workload_that_misses_its_function_is_reported(run_toy: RunToy) -> None:
    """A benchmark that does not call what it exercises is unattested in the unpatched arm too."""
    (record,) = run_toy(toy.arm("plain"), mode="uncalled")
    assert record.status == "unattested"
    assert "never called" in record.reason


def test_a_patch_that_refuses_this_version_fails_the_trial(run_toy: RunToy) -> None:
    """A patch that was tested with another release refuses in the process, and its sentence is the reason."""
    (record,) = run_toy(toy.arm("patched", "toy_other"))
    assert record.status == "failed"
    assert "patch toy_other refused: it was tested with vLLM 0.1.0, this is 0.32.0" in record.reason


def test_an_untested_patch_runs_where_the_arm_allows_it(run_toy: RunToy) -> None:
    """With `allow_unverified` the patch runs and the attestation says that it was not tested."""
    (record,) = run_toy(toy.arm("patched", "toy_other", allow=True))
    assert record.status == "ok", record.reason
    assert record.attestation is not None
    assert record.attestation.patches["toy_other"]["verified"] is False


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("absent", "not in this version: vLLM 0.32.0 has no toy"),
        ("fail", "the swap lost a row"),
        ("crash", "was ended by SIGSEGV"),
    ],
)
def test_a_trial_that_measures_nothing_says_why(run_toy: RunToy, mode: str, words: str) -> None:
    """A skipped, a failing and a crashing benchmark leave a failed record each, with the reason in words."""
    first, second = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), mode=mode)
    assert [first.status, second.status] == ["failed", "failed"]
    assert words in first.reason
    assert words in second.reason


def test_a_full_disk_is_not_the_arms_failure(run_toy: RunToy) -> None:
    """A trial that found no room for its files is invalid, so that the same command measures its block again."""
    (full,) = run_toy(toy.arm("plain"), mode="full")
    assert full.status == "invalid"
    assert "the disk is full" in full.reason


@pytest.mark.parametrize("limit", [1, 8192, 40_000])
def test_a_trial_whose_files_find_no_room_is_invalid_whichever_of_them_it_is(run_toy: RunToy, limit: int) -> None:
    """Of files that may not grow, log, attestation, results or all of them are missing: never the arm's failure, be it patched or not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        records = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), rounds=20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [record.status for record in records] == ["invalid"] * 2, [record.reason for record in records]
    assert all("ulimit -f" in record.reason for record in records)


def test_work_is_recorded_for_each_arm(run_toy: RunToy) -> None:
    """What each arm did is in its record, so that arms of a block that did different work are found out."""
    first, second = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), mode="cheat")
    assert first.work == {"swaps": 4}
    assert second.work == {"swaps": 3}


def test_an_arms_own_variables_are_there_at_import(run_toy: RunToy, tmp_path: Path) -> None:
    """vLLM sees an arm's variables while it is imported, and the other arm's process does not see them."""
    plain, other = run_toy(toy.arm("plain"), toy.arm("other", environment={"VLLM_TOY_SETTING": "on"}))
    assert leftovers(plain, tmp_path)["setting"] == ""
    assert leftovers(other, tmp_path)["setting"] == "on"


def test_no_secret_gets_into_record_or_log(run_toy: RunToy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that a trial prints, the home folder and a login in an address are blotted out; no unlisted variable is recorded."""
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnop")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("MY_API_KEY", "sk-1234567890")
    (record,) = run_toy(toy.arm("plain", environment={"SOME_KEY": "sk-0987654321"}), mode="secret")
    everything = json.dumps(dataclasses.asdict(record))
    kept = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert kept
    for text in [everything, *(path.read_bytes().decode(errors="replace") for path in kept)]:
        for secret in ("hf_abcdefghijklmnop", "/home/somebody", "sk-1234567890", "joe:pass"):
            assert secret not in text
    assert "sk-0987654321" not in everything


def test_killing_the_parent_spoils_the_trial_and_leaves_no_process(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """`kill -9` on the importing process during a trial: the record has that reason, and no process stays."""
    scenario = toy.scenario(toy_build.interpreter, toy.arm("plain"), mode="hang")
    runner = MicroRunner({scenario.builds["default"].key: toy_build}, tmp_path / "logs", seed=0, bench_of=toy.bench)
    victims: list[psutil.Process] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while len(victims) < 2 and time.monotonic() < deadline:
            victims[:] = micro_processes()
            time.sleep(0.05)
        victims[0].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    (record,) = runner.trials(Block(scenario=scenario, number=1, order=("plain",), seed=0), ("plain",))
    killer.join()
    runner.close()
    assert len(victims) >= 2
    assert record.status == "invalid"
    assert "SIGKILL" in record.reason
    _, alive = psutil.wait_procs(victims, timeout=5)
    assert alive == []


RUNNER = """
import sys
from pathlib import Path
from perfproof.builds.prepare import prepare
from perfproof.model.scenarios.plan import Block
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from tests import toy
python, builds, package, results = map(Path, sys.argv[1:])
scenario = toy.scenario(python, toy.arm("plain"), mode="hang")
ready = prepare(scenario.builds["default"], builds, lambda _: None, package)
runner = MicroRunner({scenario.builds["default"].key: ready}, results / "logs", seed=0, bench_of=toy.bench)
list(runner.trials(Block(scenario=scenario, number=1, order=("plain",), seed=0), ("plain",)))
"""


def test_killing_the_runner_leaves_no_process(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """`kill -9` on the runner during a trial ends the importing process and the trial too."""
    package = toy.package(tmp_path / "perfproof")
    words = [sys.executable, "-c", RUNNER, toy_build.interpreter, tmp_path / "builds", package, tmp_path / "results"]
    launcher = subprocess.Popen([str(word) for word in words], cwd=Path(__file__).parents[4])
    family: list[psutil.Process] = []
    deadline = time.monotonic() + 120
    while len(family) < 2 and time.monotonic() < deadline:
        family = micro_processes()
        time.sleep(0.05)
    launcher.kill()
    launcher.wait()
    assert len(family) >= 2
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []


def micro_processes() -> list[psutil.Process]:
    """The importing processes of this test and their trials, each before its children; supervisors are not among them."""
    return [p for p in psutil.Process().children(recursive=True) if len(_words(p)) > 1 and _words(p)[1].endswith("micro.py")]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_trial_that_runs_out_of_time_is_ended(toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that hangs is killed at its limit and reported as failed; the next arm gets a process of its own."""
    monkeypatch.setattr("perfproof.run.kinds.micro.forking_parent.TRIAL_LIMIT", 1.0)
    scenario = toy.scenario(toy_build.interpreter, toy.arm("plain"), toy.arm("patched", "toy_patch"), mode="hang")
    runner = MicroRunner({scenario.builds["default"].key: toy_build}, tmp_path / "logs", seed=0, bench_of=toy.bench)
    names = ("plain", "patched")
    records = list(runner.trials(Block(scenario=scenario, number=1, order=names, seed=0), names))
    assert [record.status for record in records] == ["failed", "failed"]
    assert all("ran out of time" in record.reason for record in records)
    runner.close()
    assert micro_processes() == []


def test_stopping_early_ends_the_parents(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Whoever stops asking for records half-way and closes the runner leaves no process behind."""
    scenario = toy.scenario(toy_build.interpreter, toy.arm("plain"), toy.arm("patched", "toy_patch"))
    runner = MicroRunner({scenario.builds["default"].key: toy_build}, tmp_path / "logs", seed=0, bench_of=toy.bench)
    trials = runner.trials(Block(scenario=scenario, number=1, order=("plain", "patched"), seed=0), ("plain", "patched"))
    next(trials)
    trials.close()
    runner.close()
    assert micro_processes() == []
