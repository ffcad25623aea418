"""What a command finds around it: closed streams, full disks under its words, a small address space, foreign packages on its path."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perfproof.cli import main, startup_checks
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, EXIT_USAGE, CannotRun
from tests.cli.test_cli import results

CLI = [sys.executable, "-m", "perfproof"]
GIB = 2**30


def shell(words: str, *given: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command line of `sh` in which `$perfproof` is the command; `given` are `$1` and so on, `more` its environment beside ours."""
    environment = {**os.environ, "perfproof": " ".join(CLI), **more}
    return subprocess.run(["sh", "-c", words, "sh", *given], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closing", [">&-", "<&- >&- 2>&-", ">&- 2>/dev/full", "2>&-", "2>/dev/full"])
def test_a_command_whose_streams_are_closed_or_full_still_ends_with_its_own_code(tmp_path: Path, closing: str) -> None:
    """Nothing can be told there, but the code can: a pass is a pass, a bad argument is no regression, and no traceback comes in between."""
    results(tmp_path)
    good = shell(f'$perfproof gate --results "$1" {closing}', str(tmp_path))
    bad = shell(f'$perfproof compare --results "$1" {closing}', str(tmp_path / "nowhere"))
    assert (good.returncode, bad.returncode) == (EXIT_PASS, EXIT_USAGE)
    assert "Traceback" not in good.stderr + bad.stderr


@pytest.mark.parametrize("form", ["--json", "--junit", "--comment"])
def test_a_file_that_is_written_never_takes_the_number_of_a_closed_stream(tmp_path: Path, form: str) -> None:
    """What is printed would go into it."""
    results(tmp_path)
    shell(f'$perfproof gate --results "$1" {form} "$2" >/dev/null', str(tmp_path), str(tmp_path / "open"))
    shell(f'$perfproof gate --results "$1" {form} "$2" >&- 2>&-', str(tmp_path), str(tmp_path / "closed"))
    assert (tmp_path / "closed").read_text() == (tmp_path / "open").read_text()


def test_streams_that_are_open_stay_what_they_are() -> None:
    """Only what is missing is replaced."""
    before = sys.stdout, sys.stderr
    startup_checks.open_streams()
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [("numpy", "raise RuntimeError('broken on purpose')\n"), ("numpy", "x = 1\n"), ("scipy", "import nothing_of_this_name\n")],
)
def test_a_broken_package_on_pythonpath_is_named_and_not_perfproofs_own_fault(tmp_path: Path, name: str, text: str) -> None:
    """Whether it fails, lacks what it should have, or needs what is not there: its file is named, and what to do."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / f"{name}.py").write_text(text)
    results(tmp_path / "records")
    done = shell('$perfproof compare --results "$1"', str(tmp_path / "records"), PYTHONPATH=str(tmp_path / "path"))
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, last) == (
        EXIT_UNTESTABLE,
        f"perfproof: {name} comes from PYTHONPATH ({tmp_path}/path/{name}.py), and is another package or broken: unset PYTHONPATH; "
        "nothing is judged",
    )


def test_a_package_that_is_not_there_names_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An environment that is not whole is no fault of perfproof's code."""

    def fail(*arguments: object, **named: object) -> None:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy.stats")

    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr("perfproof.commands.record_verdicts.compare", fail)
    assert main(["compare"]) == EXIT_UNTESTABLE
    assert "the package scipy can't be imported here: install perfproof's environment again" in capsys.readouterr().err


def limits(monkeypatch: pytest.MonkeyPatch, space: int, data: int) -> None:
    """Has the system say that this process may have so much."""
    said = {resource.RLIMIT_AS: (space, space), resource.RLIMIT_DATA: (data, data)}
    monkeypatch.setattr(resource, "getrlimit", said.__getitem__)


@pytest.mark.parametrize(("space", "data"), [(GIB // 2, resource.RLIM_INFINITY), (resource.RLIM_INFINITY, GIB - 1), (8 * GIB, 4096)])
def test_too_little_address_space_is_refused_before_anything_spins(monkeypatch: pytest.MonkeyPatch, space: int, data: int) -> None:
    """Linear algebra that is refused memory asks again for ever, and hears no signal."""
    limits(monkeypatch, space, data)
    with pytest.raises(CannotRun, match=r"MiB of address space, perfproof needs 1024 MiB: raise the limit \(ulimit -v, ulimit -d\)"):
        startup_checks.see_to_address_space()


def test_a_limit_that_is_large_enough_costs_threads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread of linear algebra takes tens of megabytes; without a limit nothing is changed."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    limits(monkeypatch, resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    startup_checks.see_to_address_space()
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    limits(monkeypatch, 2 * GIB, resource.RLIM_INFINITY)
    startup_checks.see_to_address_space()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


@pytest.mark.parametrize("megabytes", [300, 600, 1000, 1100])
def test_a_command_in_little_address_space_ends(tmp_path: Path, megabytes: int) -> None:
    """By its verdict or by a refusal with what to do, never by a signal from outside."""
    results(tmp_path)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))

    command = [*CLI, "gate", "--results", str(tmp_path)]
    done = subprocess.run(command, preexec_fn=limited, capture_output=True, text=True, check=False)
    assert done.returncode == (EXIT_PASS if megabytes >= 1024 else EXIT_UNTESTABLE), done.stderr
    assert ("perfproof needs 1024 MiB" in done.stderr) is (megabytes < 1024)


@pytest.mark.parametrize(
    ("words", "wait", "anyway"),
    [
        ([], 60.0, False),
        (["--wait", "0"], 0.0, False),
        (["--anyway"], 0.0, True),
        (["--wait", "2", "--anyway"], 120.0, True),
        (["--anyway", "--wait", "2"], 120.0, True),
    ],
)
@pytest.mark.parametrize("verb", ["run", "pr", "gate", "calibrate x", "track x --since 2026-01-01", "bisect x --good a --bad b"])
def test_anyway_waits_for_nothing_unless_it_is_told_to(verb: str, words: list[str], wait: float, anyway: bool) -> None:
    """No wait at all can be asked for; what is waited for in spite of --anyway is what --wait says."""
    from perfproof.cli import parser

    said = parser().parse_args([*verb.split(), *words])
    assert (said.wait, said.anyway) == (wait, anyway)


@pytest.mark.parametrize("verb", ["run", "plan", "compare", "history list", "ci init"])
def test_an_unknown_option_shows_the_usage_of_its_command(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """That is where the option that was meant is found."""
    with pytest.raises(SystemExit) as caught:
        main([*verb.split(), "--bogus"])
    told = capsys.readouterr().err
    assert caught.value.code == EXIT_USAGE
    assert told.startswith(f"usage: perfproof {verb} [-h]")
    assert told.endswith(f"perfproof {verb}: error: unrecognized arguments: --bogus\n")


@pytest.mark.parametrize("option", ["--builds", "--builds-dir"])
def test_a_plan_says_which_builds_are_still_to_be_made_where(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    """In the folder that is named; one that is there to its last file is not among them."""
    from perfproof.builds.prepare import COMPLETE, identity
    from perfproof.runners import default_build

    asked = ["plan", "scenarios/swap_states.yaml", "--results", str(tmp_path / "none"), option, str(tmp_path)]
    assert main(asked) == EXIT_PASS
    told = "".join(capsys.readouterr().out.split())  # a line is broken where it is full, with a long path at any place
    assert f"tobemadein{tmp_path}:vllm-cpu0.32.0" in told
    folder = tmp_path / identity(default_build())  # type: ignore[arg-type]
    folder.mkdir()
    (folder / COMPLETE).touch()
    assert main(asked) == EXIT_PASS
    assert "tobemade" not in "".join(capsys.readouterr().out.split())


def test_too_little_memory_is_no_fault_of_perfproofs_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What can't be held in memory ends in a line and exit code 3, without a traceback."""

    def greedy(*arguments: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr("perfproof.commands.record_verdicts.compare", greedy)
    assert main(["compare"]) == 3
    told = capsys.readouterr().err
    assert "can't get more memory" in told
    assert "Traceback" not in told
