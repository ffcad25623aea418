"""`perfproof ci init`: what it writes is what its schemas allow, may do no more than it must, and is what this repository uses itself."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof.cli import main
from perfproof.cli.ci_command import BUILDKITE, GITHUB
from tests.published_schemas import refusal
from tests.pytest_plugin.project import commit, git

HERE = Path(__file__).resolve().parents[2]
GATE, COMMENT = GITHUB
PIPELINE = next(iter(BUILDKITE))
FORK = ("--perfproof", "example/perfproof@v0.1.0", "--build", "vllm==0.32.0", "--build-ref", "v0.32.0", "--policy", "ci/policy.yaml")


@pytest.fixture(params=[("--perfproof", "."), FORK], ids=["own", "fork"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the workflows for perfproof itself, and for a repository elsewhere."""
    assert main(["ci", "init", "--github", "--buildkite", "--dir", str(tmp_path), *request.param]) == 0
    return tmp_path


def _load(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text())
    return found


def _steps(flow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in flow["jobs"].values() for step in job["steps"]]


def test_the_committed_workflows_are_what_the_command_in_their_head_writes(tmp_path: Path) -> None:
    """Whoever edits one edits the template, too: the files here are written by their own first line."""
    for name in (GATE, COMMENT, PIPELINE):
        committed = (HERE / name).read_text()
        words = shlex.split(committed.partition("\n")[0].removeprefix("# Written by: "))
        assert main([*words[1:], "--dir", str(tmp_path), "--force"]) == 0
        assert (tmp_path / name).read_text() == committed


def test_the_workflows_are_what_their_services_read(written: Path) -> None:
    """GitHub's and Buildkite's own schemas accept them."""
    assert refusal("github-workflows", written / GATE, written / COMMENT) == ""
    assert refusal("buildkite", written / PIPELINE) == ""


def test_code_from_a_pull_request_runs_with_the_right_to_read_alone(written: Path) -> None:
    """The job that runs strangers' code can write nothing, keeps no credentials and sees no secret."""
    flow = _load(written / GATE)
    assert set(flow[True]) == {"pull_request", "schedule", "workflow_dispatch"}  # YAML reads the key `on` as true
    assert flow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in flow["jobs"].values())
    checkouts = [step for step in _steps(flow) if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert not re.search(r"secrets\.|pull_request_target|github\.token|GITHUB_TOKEN", (written / GATE).read_text())


def test_the_job_that_may_comment_runs_nothing_of_the_pull_request(written: Path) -> None:
    """It begins when the gate is done, checks nothing out, may write comments only, and takes no word of the run as code."""
    flow = _load(written / COMMENT)
    assert flow[True] == {"workflow_run": {"workflows": [_load(written / GATE)["name"]], "types": ["completed"]}}
    assert flow["permissions"] == {}
    assert flow["jobs"]["comment"]["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert not [step for step in _steps(flow) if "checkout" in step.get("uses", "")]


def test_every_action_is_pinned_to_a_commit(written: Path) -> None:
    """A tag may move; a commit may not."""
    used = [step["uses"] for name in (GATE, COMMENT) for step in _steps(_load(written / name)) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each) for each in used), used


def test_no_word_from_outside_becomes_part_of_a_script(written: Path) -> None:
    """Scripts hold no `${{ }}` at all; what they need of an event comes through variables. Buildkite fills in nothing beforehand."""
    scripts = [step["run"] for name in (GATE, COMMENT) for step in _steps(_load(written / name)) if "run" in step]
    assert not [script for script in scripts if "${{" in script]
    text = (written / PIPELINE).read_text()
    assert not re.search(r"(?<!\$)\$(?!\$)", text.replace("`$$`", ""))
    for script in [*scripts, *(each.replace("$$", "$") for each in _load(written / PIPELINE)["steps"][0]["commands"])]:
        assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr == ""


# --- the gate's script, on a change that needs no build ----------------------------------------------------------


def _fork(folder: Path) -> Path:
    """A clone of a repository with a vllm, on a branch of its own that changes a document."""
    origin, clone = folder / "origin", folder / "fork"
    (origin / "vllm").mkdir(parents=True)
    (origin / "vllm" / "__init__.py").write_text("")
    git(origin, "init", "--quiet", "--initial-branch=main")
    commit(origin)
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True)
    git(clone, "checkout", "--quiet", "-b", "mine")
    (clone / "README.md").write_text("words\n")
    commit(clone)
    return clone


def test_the_gates_step_leaves_what_the_next_steps_take(tmp_path: Path) -> None:
    """The committed script runs as it stands: a change of documents passes, and what is uploaded lies where it is looked for."""
    clone, tools = _fork(tmp_path), tmp_path / "bin"
    tools.mkdir()
    (tools / "perfproof").write_text(f'#!/bin/sh\nexec {sys.executable} -m perfproof "$@"\n')
    (tools / "perfproof").chmod(0o755)
    step = next(step for step in _steps(_load(HERE / GATE)) if step.get("name") == "Gate")
    given = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main", "NUMBER": "12", "HOME": str(tmp_path), "PYTHONPATH": str(HERE)}

    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=clone, env={**given, "PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "touches no code of vLLM" in done.stdout
    left = sorted(str(path.relative_to(clone / "perf-gate")) for path in (clone / "perf-gate").rglob("*") if path.is_file())
    assert [name for name in ("comment/comment.md", "comment/number", "gate.json", "junit.xml") if name not in left] == []
    assert (clone / "perf-gate" / "comment" / "number").read_text() == "12"


# --- the comment's script, against a stand-in for GitHub --------------------------------------------------------

GH = """\
#!/usr/bin/env python3
import json, os, pathlib, sys
here = pathlib.Path(os.environ["HERE"])
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
words = " ".join(sys.argv[1:])
if ".head.sha" in words:
    print("a" * 40)
elif "--paginate" in words:
    print(os.environ.get("KNOWN", ""), end="")
"""

JQ = """\
#!/usr/bin/env python3
import json, sys
json.dump({"body": open("untrusted/comment.md").read()}, sys.stdout)
"""


def _post(folder: Path, text: str, number: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """Runs the script that posts; its end, and what it asked of GitHub."""
    (folder / "untrusted").mkdir()
    (folder / "untrusted" / "comment.md").write_text(text)
    (folder / "untrusted" / "number").write_text(number)
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    if shutil.which("jq") is None:
        (folder / "jq").write_text(JQ)
        (folder / "jq").chmod(0o755)
    step = _steps(_load(HERE / COMMENT))[-1]
    given = {name: value for name, value in step["env"].items() if "${{" not in value}
    given |= {
        "HEAD_SHA": "a" * 40,
        "REPOSITORY": "o/r",
        "RUN_URL": "u",
        "HERE": str(folder),
        "PATH": f"{folder}:/usr/bin:/bin",
        **variables,
    }
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=given, capture_output=True, text=True)
    calls = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return done, [json.loads(call) for call in calls]


def test_the_comment_is_posted_once_and_then_edited(tmp_path: Path) -> None:
    """A pull request has one comment of the gate: the first run posts it, later ones change it."""
    for name, known, method in (("first", "", "POST"), ("later", "77\n", "PATCH")):
        (tmp_path / name).mkdir()
        done, calls = _post(tmp_path / name, "fine", "12\n", KNOWN=known)
        assert done.returncode == 0, done.stderr
        assert calls[-1][2:4] == ["--method", method]
        assert calls[-1][4] == ("repos/o/r/issues/12/comments" if method == "POST" else "repos/o/r/issues/comments/77")


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_a_strangers_text_calls_nobody_and_loads_nothing(tmp_path: Path) -> None:
    """Mentions, links and pictures in it are dead, and its length is bounded; whose words they are stands above."""
    done, _ = _post(tmp_path, "@everyone ![x](https://example.org/x.png) \u00e9" + "y" * 100_000, "12")
    assert done.returncode == 0, done.stderr
    body = json.loads((tmp_path / "body.json").read_text())["body"]
    whose = "<sub>Written by [this pull request’s own run](u), which has the report.</sub>"
    assert body.startswith(f"<!-- perf-gate -->\n{whose}\n\n@\u200beveryone !\u200b[x]\u200b(https:/\u200b/example.org/x.png) \u00e9yyy")
    assert len(body) < 65_536


ALIVE = (
    r"(?i)www\.",
    r"//",
    r"@(?!\u200b)",
    r"!\[",
    r"\]\(",
    r"\]:",
    r"\]\[",
    r"#[0-9]",
    r"(?i)gh-[0-9]",
    r"(```|~~~)[ \t]*(?!sh\n)[a-z]",
    r"(?<![\u200b\\])\$",
    r"\$(?!\u200b)",
    r"&(?!(amp|lt|gt|quot|#x27);|\u200b)",
    r"<(?!/?(details|summary)>|!-- -->|!-- perfproof gate -->|\u200b)",
)
"""What GitHub would make a link, a picture, a mention, a reference or HTML of."""
DEADLY = (
    *("https&#58;//h.example", "//h.example", "www.h.example", "WWW.h", "&#64;octocat", "@octocat", "http://h", "&#x40;", "&commat;"),
    *("```mermaid\n", "~~~ geojson\n", "````math\n", "```sh\n", "``` sh -x\n", "$$", "$`", "`$", "$\\href{http:h}{x}$", '"http:h.example"'),
    *('<img src="//h.example/x.png">', "<a href='javascript:x'>", "<!-- ", "-->", "<details>", "</details>", "<details open>", "<svg>"),
    *(
        "![x]",
        "[x]",
        "(//h)",
        "[ref]:",
        "[ref]",
        ": //h",
        "#1",
        "o/r#12",
        "GH-7",
        "gh-7",
        "&",
        "<",
        "/",
        "!",
        "]",
        "(",
        "w",
        ".",
        "\n",
        " ",
    ),
)


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_nothing_that_github_acts_on_is_left_of_a_strangers_text(tmp_path: Path) -> None:
    """However such words are put together: no link, picture, mention, reference, entity or tag lives but those of perfproof's own texts."""
    source = random.Random(1)
    text = "\n".join([*DEADLY, *("".join(source.choices(DEADLY, k=6)) for _ in range(600))])
    done, _ = _post(tmp_path, text, "12")
    assert done.returncode == 0, done.stderr
    body = json.loads((tmp_path / "body.json").read_text())["body"].partition("</sub>\n\n")[2]
    assert [found for pattern in ALIVE if (found := re.search(pattern, body))] == []
    assert body.replace("\u200b", "").strip() == text.strip()


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200f", "\x1b", "\x00", "\x9b", "\ufeff", "\r", "\u2062"])
def test_no_sign_that_hides_or_turns_a_strangers_text_is_posted(tmp_path: Path, sign: str) -> None:
    """What reorders text, or what nobody sees, is left out of the comment; what stands around it stays."""
    done, _ = _post(tmp_path, f"pass{sign}ed", "12")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "body.json").read_text())["body"].endswith("\n\npassed\n")


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_a_comment_of_our_own_folds_and_shows_as_before(tmp_path: Path) -> None:
    """Nothing that perfproof's own comments are made of is touched: their tables, folds and escapes."""
    ours = (HERE / "tests" / "report" / "golden" / "gate-comment.md").read_text()
    done, _ = _post(tmp_path, ours, "12")
    assert done.returncode == 0, done.stderr
    body = json.loads((tmp_path / "body.json").read_text())["body"].partition("</sub>\n\n")[2]
    assert [
        mark for mark in ("<details>", "</summary>", "<!-- -->", "&amp;", "&lt;", "```sh\n") if body.count(mark) != ours.count(mark)
    ] == []


@pytest.mark.parametrize(
    ("text", "number", "sha", "code"),
    [
        ("x" * 300_001, "12", "a" * 40, 1),
        ("fine", "12; gh api -X DELETE repos/o/r", "a" * 40, 1),
        ("fine", "../../other/repo", "a" * 40, 1),
        ("fine", "12", "b" * 40, 0),
    ],
    ids=["too large", "a command", "a path", "another commit"],
)
def test_what_a_stranger_left_is_posted_nowhere_else(tmp_path: Path, text: str, number: str, sha: str, code: int) -> None:
    """A text that is too large, a number that is none, and one of another commit's pull request post nothing."""
    done, calls = _post(tmp_path, text, number, HEAD_SHA=sha)
    assert done.returncode == code
    assert not [call for call in calls if "--method" in call]


# --- the command ------------------------------------------------------------------------------------------------


def test_nothing_is_written_over_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file that is there is named, and none of the others written; with --force they are."""
    (tmp_path / GATE).parent.mkdir(parents=True)
    (tmp_path / GATE).write_text("mine\n")
    words = ["ci", "init", "--dir", str(tmp_path), "--perfproof", "."]
    assert main(words) == 2
    assert f"{GATE} exists already: --force overwrites it" in capsys.readouterr().err
    assert (tmp_path / GATE).read_text() == "mine\n"
    assert not (tmp_path / COMMENT).exists()
    assert main([*words, "--force"]) == 0
    assert (tmp_path / COMMENT).exists()
    assert not (tmp_path / PIPELINE).exists()


def test_a_value_that_is_more_than_a_word_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What becomes part of a script can't end it; all faults are told at once."""
    odd = ["--policy", "x; rm -rf /", "--build", "vllm", "--budget", "soon", "--perfproof", "o/r", "--queue", "a\nb: c"]
    assert main(["ci", "init", "--dir", str(tmp_path), *odd]) == 2
    told = capsys.readouterr().err
    assert [name for name in ("policy", "build", "budget", "perfproof", "queue") if f"--{name} " not in told] == []
    assert list(tmp_path.iterdir()) == []


def test_elsewhere_the_place_of_perfproof_must_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only in its own repository is perfproof found without being named."""
    assert main(["ci", "init", "--dir", str(tmp_path)]) == 2
    assert "--perfproof OWNER/NAME@TAG" in capsys.readouterr().err
