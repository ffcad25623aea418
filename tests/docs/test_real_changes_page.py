"""The page of real changes says what the committed answers say, and no more."""

from __future__ import annotations

import json
from pathlib import Path

from perfproof.changes.coverage.coverage_figures import beyond_one_cpu
from tests.forty_diffs import DRAW, drawn
from tests.real_changes_page import key_of, page, read

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_the_committed_answers() -> None:
    """`python -m tests.forty_diffs --page docs/real-changes.md` writes it."""
    folder = ROOT / "results/forty_diffs"
    draw = json.loads((folder / DRAW).read_text(encoding="utf-8"))
    assert (ROOT / "docs/real-changes.md").read_text(encoding="utf-8") == page(draw, read(folder / "answers.jsonl"))


def test_what_one_cpu_cannot_run_is_not_drawn(tmp_path: Path) -> None:
    """Of three changes the two that need something else are left out and counted by what they need; what was seen to run here is drawn
    whatever its name is."""
    source = "def request_memory(): return {0}\nclass KVBlockZeroer:\n  def __init__(self): self.a = {0}\ndef f(): return {0}\n"
    packages = {}
    for release, number in (("1.0.0", 1), ("1.1.0", 2)):
        packages[release] = tmp_path / release / "vllm"
        (packages[release] / "v1" / "worker").mkdir(parents=True)
        (packages[release] / "v1" / "worker" / "utils.py").write_text(source.format(number))
    draw, diffs = drawn(list(packages), packages, 40)
    assert (draw.differing, draw.beyond) == (3, {"Triton kernels and what starts them": 1, "a GPU's worker and its memory": 1})
    assert [change.function for change in draw.changes] == ["vllm.v1.worker.utils:f"]
    assert "+def f(): return 2" in diffs[0]
    assert beyond_one_cpu("vllm.v1.worker.utils:request_memory", {"vllm.v1.worker.utils:request_memory"}) == ""


def test_answers_on_what_is_no_longer_drawn_are_kept_and_not_told() -> None:
    """The page has those of the draw, in its order."""
    change = {"before": "1.0.0", "after": "1.1.0", "function": "m:f"}
    answer = {
        "budget": "1",
        "code": 0,
        "seconds": 30.0,
        "worked": 20.0,
        "load": 1.0,
        "ran": True,
        "said": "ran the change: x",
        "asked": 2,
        "suite": "s",
    }
    known = {key_of({**change, "function": name}): {**answer, "change": {**change, "function": name}} for name in ("m:g", "m:f")}
    draw = {"releases": ["1.0.0", "1.1.0"], "differing": 3, "beyond": {"XPU": 1}, "changes": [change, {**change, "function": "m:h"}]}
    told = page(draw, known)
    assert "3 functions differ; 1 of them were left out before the draw, because one CPU can't run them: XPU 1" in told
    assert "of the 2 that are drawn, 1 have been asked about" in told
    assert "1 were asked about more than once" in told
    assert "`m:f`" in told
    assert "m:g" not in told


def test_of_several_answers_on_a_change_the_last_counts(tmp_path: Path) -> None:
    """It was asked once more within the same budget, and before that within another."""
    file = tmp_path / "answers.jsonl"
    told = [("4", True), ("1", False), ("1", True)]
    file.write_text("".join(json.dumps({"change": {"function": "m:f"}, "budget": budget, "ran": ran}) + "\n" for budget, ran in told))
    assert [(one["ran"], one["asked"]) for one in read(file).values()] == [(True, 2)]
