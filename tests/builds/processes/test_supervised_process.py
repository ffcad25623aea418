"""Programs under a supervisor, with real processes: what they get, how they end, and that nothing of them stays."""

from __future__ import annotations

import html
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.builds.processes import long_logs, redact
from perfproof.builds.processes.redact import scrub, scrub_file
from perfproof.builds.processes.supervised_process import Channel, how_ended, inherited, run_to_end, start, tail
from perfproof.model.base.errors import CannotRun

BROOD = textwrap.dedent(
    """
    import os, signal, subprocess, sys, time
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    sleep = [sys.executable, "-S", "-c", deaf]
    near = subprocess.Popen(sleep, stdout=subprocess.PIPE)
    far = subprocess.Popen(sleep, stdout=subprocess.PIPE, start_new_session=True)
    leave = f"import subprocess; print(subprocess.Popen({sleep!r}, start_new_session=True).pid)"
    orphan = subprocess.Popen([sys.executable, "-S", "-c", leave], stdout=subprocess.PIPE)
    adopted = int(orphan.stdout.readline())
    near.stdout.readline(), far.stdout.readline(), orphan.wait()
    with open(sys.argv[1] + ".new", "w") as file:
        print(os.getpid(), near.pid, far.pid, adopted, file=file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(600)
    """
)
"""A program with a child, a child in another session, and an orphan in a third: as a server and its engine processes."""


def brood(tmp_path: Path, *words: str) -> list[str | Path]:
    script = tmp_path / "brood.py"
    script.write_text(BROOD)
    return [sys.executable, "-S", script, tmp_path / "pids", *words]


def wait_for(path: Path) -> list[psutil.Process]:
    """The processes whose numbers a file will hold."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.02)
    return [psutil.Process(int(word)) for word in path.read_text().split()]


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def test_a_program_gets_the_given_environment_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is made from scratch: our own variables do not reach the program, its standard input is empty."""
    monkeypatch.setenv("A_TOKEN_OF_MINE", "12345678")
    script = "import os, sys; print(sorted(os.environ), repr(sys.stdin.read()))"
    done = run_to_end([sys.executable, "-c", script], environment={"GIVEN": "1"}, log=tmp_path / "log", timeout=60)
    assert done.ok
    assert "GIVEN" in done.tail()
    assert "A_TOKEN_OF_MINE" not in done.tail()
    assert done.tail().endswith("''")


def test_inherited_variables_come_from_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the listed variables, those named and those with a given prefix are handed on."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("UV_CACHE_DIR", "/cache")
    monkeypatch.setenv("HF_HOME", "/models")
    assert "AWS_SECRET_ACCESS_KEY" not in inherited()
    assert "UV_CACHE_DIR" not in inherited()
    assert inherited(prefixes=("UV_",))["UV_CACHE_DIR"] == "/cache"
    assert inherited(also=["HF_HOME"])["HF_HOME"] == "/models"


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("exit 3", 3, "exited with code 3"),
        ("kill -SEGV $$", -signal.SIGSEGV, "was ended by SIGSEGV"),
        ("exit 0", 0, "exited with code 0"),
    ],
)
def test_how_a_program_ended_is_reported(tmp_path: Path, script: str, code: int, words: str) -> None:
    """Exit codes and signals come through the supervisor unchanged."""
    done = run_to_end(["sh", "-c", script], environment=inherited(), log=tmp_path / "log", timeout=60)
    assert done.code == code
    assert done.how() == words


def test_a_program_that_does_not_exist_says_so(tmp_path: Path) -> None:
    """A missing program ends with code 127 and a sentence in the log."""
    done = run_to_end(["no-such-program"], environment=inherited(), log=tmp_path / "log", timeout=60)
    assert done.code == 127
    assert "cannot run no-such-program" in done.tail()


def test_a_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    """A program that can't even be given its folder raises `CannotRun`, not a traceback of the system's."""
    with pytest.raises(CannotRun, match="cannot start true"):
        start(["true"], environment=inherited(), log=tmp_path / "log", folder=tmp_path / "missing")


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """At the limit the program and its descendants are ended, and that is reported."""
    done = run_to_end(brood(tmp_path, "stubborn"), environment=inherited(), log=tmp_path / "log", timeout=8.0)
    assert done.code is None
    assert "ran out of time" in done.how()
    assert not (tmp_path / "pids").exists() or gone(_still(tmp_path / "pids"))


def _still(path: Path) -> list[psutil.Process]:
    return [psutil.Process(int(word)) for word in path.read_text().split() if psutil.pid_exists(int(word))]


def test_stop_asks_first(tmp_path: Path) -> None:
    """`stop` sends SIGTERM to the program, which may end in its own way; its exit code is what it chose."""
    script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done"
    with start(["bash", "-c", script], environment=inherited(), log=tmp_path / "log") as running:
        while "up" not in tail(tmp_path / "log"):
            time.sleep(0.02)
        assert running.poll() is None
        assert running.stop() == 7
    assert "bye" in tail(tmp_path / "log")


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    """Whoever ignores SIGTERM is killed after the grace, with children, those in other sessions and orphans."""
    running = start(brood(tmp_path, "stubborn"), environment=inherited(), log=tmp_path / "log", grace=0.5)
    processes = wait_for(tmp_path / "pids")
    assert {process.pid for process in running.processes()} == {process.pid for process in processes}
    assert running.stop(grace=0.5) == -signal.SIGKILL
    assert gone(processes)


def test_what_a_program_leaves_behind_is_killed(tmp_path: Path) -> None:
    """When the program dies, for instance by `kill -9`, its children do not outlive it."""
    running = start(brood(tmp_path), environment=inherited(), log=tmp_path / "log")
    processes = wait_for(tmp_path / "pids")
    processes[0].kill()
    assert running.wait(30) == -signal.SIGKILL
    assert gone(processes)


def test_killing_the_supervisor_leaves_nothing(tmp_path: Path) -> None:
    """Where the supervisor itself is killed, the program dies with it and the rest is found by its mark."""
    running = start(brood(tmp_path), environment=inherited(), log=tmp_path / "log")
    processes = wait_for(tmp_path / "pids")
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait(30) == -signal.SIGKILL
    assert gone(processes)


def test_killing_the_supervisor_leaves_nothing_of_a_program_that_renamed_itself(tmp_path: Path) -> None:
    """A child that has written over its environment, as vLLM's engine does with its title, does not outlive a killed supervisor."""
    child = "import os, time; open('new', 'w').write(str(os.getpid())); os.rename('new', 'pid'); time.sleep(600)"
    parent = f"import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}], env={{}}).wait()"
    running = start([sys.executable, "-c", parent], environment=inherited(), log=tmp_path / "log", folder=tmp_path)
    processes = wait_for(tmp_path / "pid")
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait(30) == -signal.SIGKILL
    assert gone(processes)


RUNNER = """
import sys
from pathlib import Path
from perfproof.builds.processes.supervised_process import inherited, start
log = Path(sys.argv[1])
running = start(sys.argv[2:], environment=inherited(), log=log)
print(running.pid, flush=True)
running.wait()
"""


@pytest.mark.parametrize("moment", range(5))
def test_killing_the_runner_leaves_nothing(tmp_path: Path, moment: int) -> None:
    """`kill -9` on the process that started a program, at any moment, leaves neither supervisor nor program nor descendants."""
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, tmp_path / "log", *brood(tmp_path, "stubborn")], stdout=subprocess.PIPE, text=True
    )
    assert runner.stdout is not None
    supervisor = psutil.Process(int(runner.stdout.readline()))
    if moment == 0:
        wait_for(tmp_path / "pids")
    else:
        time.sleep(random.Random(moment).uniform(0.0, 0.6))
    family = [supervisor, *supervisor.children(recursive=True)] if supervisor.is_running() else []
    runner.kill()
    runner.wait()
    runner.stdout.close()
    assert gone(family)
    if (tmp_path / "pids").exists():
        assert gone(_still(tmp_path / "pids"))


def test_a_channel_carries_messages_both_ways(tmp_path: Path) -> None:
    """Messages are JSON objects, one a line; silence is None, and the end of the program is the end of the channel."""
    script = textwrap.dedent(
        """
        import json, os
        reading, writing = map(int, os.environ["PERFPROOF_CHANNEL"].split(","))
        with os.fdopen(reading) as orders, os.fdopen(writing, "w") as answers:
            line = json.loads(orders.readline())
            answers.write(json.dumps({"twice": line["n"] * 2, "long": "x" * 200_000}) + "\\n")
        """
    )
    channel = Channel()
    running = start([sys.executable, "-c", script], environment=inherited(), log=tmp_path / "log", channel=channel)
    assert channel.receive(0.05) is None
    channel.send({"n": 21})
    answer = channel.receive(30)
    assert answer is not None
    assert answer["twice"] == 42
    assert len(answer["long"]) == 200_000
    with pytest.raises(EOFError):
        channel.receive(30)
    assert running.wait(30) == 0
    with pytest.raises(BrokenPipeError):
        channel.send({"n": 1})
    channel.close()


def test_secrets_are_blotted_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home folder, values of secrets and logins in addresses are replaced; the rest of a log stays as it was."""
    monkeypatch.setenv("HOME", "/home/joe")
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    text = "at /home/joe/x with hf_0123456789 from https://joe:pa55@index.example/simple and 1.5e-3"
    assert scrub(text) == "at ~/x with <secret> from https://***@index.example/simple and 1.5e-3"
    log = tmp_path / "log"
    log.write_bytes(text.encode() + b"\n\xff\xfe")
    scrub_file(log)
    assert log.read_bytes() == scrub(text).encode() + b"\n\xff\xfe"


@pytest.mark.parametrize("gap", [b"\n", b" ", b"", b" and\r\n"])
def test_a_long_file_is_scrubbed_in_pieces_as_if_it_were_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap: bytes) -> None:
    """No secret escapes because it lies where two pieces meet, in lines, in one line, or without a blank; the rest stays to the byte."""
    monkeypatch.setenv("MY_TOKEN", "quite a long secret")
    monkeypatch.setattr(redact, "PIECE", 700)
    monkeypatch.setattr(redact, "AROUND", 100)
    log = tmp_path / "log"
    for shift in range(0, 60, 7):
        words = [b"quite a long secret", b"x" * 31, b"\xff\xc3\xa9", b"https://joe:pa55@h/?token=abcdef&x"]
        text = b"y" * shift + b"\n" + gap.join(words[number % 4] for number in range(400))
        log.write_bytes(text)
        scrub_file(log)
        assert log.read_bytes() == scrub(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        assert b"secret>" in log.read_bytes()
        assert b"long secret" not in log.read_bytes()


def test_a_file_without_secrets_is_not_written(tmp_path: Path) -> None:
    """It stays the file that it was, and nothing is left beside it."""
    log = tmp_path / "log"
    log.write_bytes(b"a line\r\n" * 1_000_000)
    before = log.stat()
    scrub_file(log)
    assert (log.stat().st_ino, log.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [log]


@pytest.mark.parametrize("line", [b"a line of the log\n", b"no line ends here"])
def test_of_a_long_log_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    """A line between them says how many bytes are missing; a shorter log stays as it is."""
    monkeypatch.setattr(long_logs, "BEGINNING", 1000)
    monkeypatch.setattr(long_logs, "END", 5000)
    log = tmp_path / "log"
    log.write_bytes(b"first\n" + line * 1000 + b"\nlast\n")
    whole = log.read_bytes()
    long_logs.shorten(log)
    parts = re.fullmatch(rb"(.*?)\[perfproof: ([0-9,]+) bytes of this output were left out here\]\n(.*)", log.read_bytes(), re.DOTALL)
    assert parts is not None
    beginning, said, end = parts.groups()
    assert whole.startswith(beginning)
    assert whole.endswith(end)
    assert len(end) <= 5000
    assert len(beginning) + int(said.replace(b",", b"")) + len(end) == len(whole)
    if b"\n" in line:
        assert end.startswith(line)
        assert beginning.endswith(line)
    log.write_bytes(b"short\n" * 1000)
    long_logs.shorten(log)
    assert log.read_bytes() == b"short\n" * 1000
    long_logs.shorten(tmp_path / "none")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="blocks are given back on Linux")
def test_a_program_that_prints_without_end_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log takes little more than what is kept, while it runs and when it has ended."""
    monkeypatch.setattr(long_logs, "BEGINNING", 2**20)
    monkeypatch.setattr(long_logs, "END", 2**20)
    script = "import time\nprint('begins')\nfor _ in range(65 * 1024): print('x' * 1023)\nprint('done', flush=True)\ntime.sleep(60)"
    log = tmp_path / "log"
    with start([sys.executable, "-c", script], environment=inherited(), log=log) as running:
        deadline = time.monotonic() + 30
        while not tail(log).endswith("done") and time.monotonic() < deadline:
            assert running.wait(0.05) is None
        assert running.poll() is None
        assert log.stat().st_size > 64 * 2**20
        assert log.stat().st_blocks * 512 < 8 * 2**20
        assert log.read_bytes()[: 2**20].startswith(b"begins\n")
    assert log.stat().st_size < 2.1 * 2**20
    assert b"bytes of this output were left out here" in log.read_bytes()
    assert log.read_bytes().endswith(b"done\n")
    assert b"\0" not in log.read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "text", "clean"),
    [
        ("MY_TOKEN", "ab/cd+ef/gh==", "use ab/cd+ef/gh== now", "use <secret> now"),
        ("MY_TOKEN", "ab/cd+ef/gh==", "?t=ab%2Fcd%2Bef%2Fgh%3D%3D&x", "?t=<secret>&x"),
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI/K7MDENG", "key /wJalrXUtnFEMI/K7MDENG.", "key <secret>."),
        ("DB_PASSWORD", "hunter2", "login hunter2, not hunter22", "login <secret>, not hunter22"),
        ("APP_SECRET", "s3/x", "with s3/x", "with <secret>"),
        ("PGPASSWORD", "123456", "it is 123456; 1234567 and 0.123456 stay", "it is <secret>; 1234567 and 0.123456 stay"),
        ("DB_PASS", "longvalue1234", "with longvalue1234", "with <secret>"),
        ("MYSQL_PWD", "s3cr3t!", "the password is s3cr3t!.", "the password is <secret>."),
        ("GPG_PASSPHRASE", "correct horse battery", "=correct+horse+battery&", "=<secret>&"),
        ("SOME_TOKEN", 'a"b\\c"1234', r'{"t": "a\"b\\c\"1234"}', '{"t": "<secret>"}'),
        ("ANY_PASSWORD", "pässwörd-lang", r"p\u00e4ssw\u00f6rd-lang", "<secret>"),
        (
            "DATABASE_URL",
            "postgres://u:p/w@ss@h/db",
            "at postgres%3A%2F%2Fu%3Ap%2Fw%40ss%40h/db",
            "at postgres%3A%2F%2Fu%3A<secret>%40h/db",
        ),
        ("UNNAMED", "x", "hf_abcdefghijklmnopqrstuv, ghp_abcdefghijklmnopqrstuvwx", "<secret>, <secret>"),
        ("UNNAMED", "x", "GET /x?access_token=abcd&y=1", "GET /x?access_token=<secret>&y=1"),
        ("UNNAMED", "x", "{'Authorization': 'Bearer abcdef'}", "{'Authorization': 'Bearer <secret>'}"),
        ("OLDPWD", "/gone/here/x", "cd /gone/here/x", "cd /gone/here/x"),
        ("VLLM_BYPASS", "something", "something", "something"),
        ("DEPLOY_KEY", "first line here\nsecond line here", "second line here\nx", "<secret>\nx"),
        ("TOKENIZERS_PARALLELISM", "false", "false", "false"),
        ("API_KEY", "none", "none", "none"),
        ("SSH_AUTH_SOCK", "/dev/null", "/dev/null", "/dev/null"),
    ],
)
def test_secrets_of_every_shape_are_blotted_out(monkeypatch: pytest.MonkeyPatch, name: str, value: str, text: str, clean: str) -> None:
    """With a slash, quoted for an address, short, of several lines; what is no secret, or the path of a file, stays."""
    monkeypatch.setenv(name, value)
    assert scrub(text) == clean


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=8)
    .map(str.strip)
    .filter(lambda one: len(one) >= 8 and not Path(one).exists()),
    name=st.sampled_from(["HF_TOKEN", "DB_PASS", "my_api_key", "MYSQL_PWD", "A_PASSPHRASE", "A_COOKIE", "X_CREDENTIALS", "BASIC_AUTH"]),
    form=st.sampled_from([str, json.dumps, repr, ascii, quote, quote_plus, partial(quote, safe=""), html.escape]),
)
def test_a_secret_is_blotted_out_however_it_is_written(
    monkeypatch: pytest.MonkeyPatch, value: str, name: str, form: Callable[[str], str]
) -> None:
    """Whatever a secret is made of, and whichever of the usual ways a program writes it, nothing of it is left."""
    monkeypatch.setenv(name, value)
    written = form(value)
    inside = written[1:-1] if form in (json.dumps, repr, ascii) else written
    assert scrub(f"<{written}>") == f"<{written}>".replace(inside, "<secret>")


def test_a_program_runs_in_an_empty_folder_unless_told_where(tmp_path: Path) -> None:
    """Nothing of where the caller stands is found by what is started; the folder is gone when it has ended."""
    done = run_to_end(["sh", "-c", "pwd; ls -A"], environment=inherited(), log=tmp_path / "log", timeout=60)
    (folder,) = (tmp_path / "log").read_text().split()
    assert done.ok
    assert Path(folder) != Path.cwd()
    assert not Path(folder).exists()


def test_a_log_is_scrubbed_when_its_program_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program prints of a secret is not kept in its log."""
    monkeypatch.setenv("SOME_TOKEN", "abcdefghijk")
    done = run_to_end(["echo", "token abcdefghijk"], environment=inherited(), log=tmp_path / "log", timeout=60)
    assert done.ok
    assert (tmp_path / "log").read_text() == "token <secret>\n"


def test_the_tail_of_a_large_log_is_its_end(tmp_path: Path) -> None:
    """Only the last lines are reported, however long the log is; a log that is not there tells nothing."""
    log = tmp_path / "log"
    log.write_text("".join(f"line {n}\n" for n in range(100_000)))
    assert tail(log, 3) == "line 99997\nline 99998\nline 99999"
    assert tail(tmp_path / "none") == ""


def test_endings_are_reported_in_words() -> None:
    """An exit code, a signal and a time limit each have their words, an unknown signal too."""
    assert how_ended(None, 12.4) == "ran out of time after 12 s"
    assert how_ended(-9, 1.0) == "was ended by SIGKILL"
    assert how_ended(-99, 1.0) == "was ended by signal 99"
