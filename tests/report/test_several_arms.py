"""Tables and sentences of scenarios with several candidates, and of those that compare answers: as a stranger reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perfproof.analysis.judging.apply_policy import decide
from perfproof.commands.record_verdicts import page_of
from perfproof.gate import gate_outputs
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from perfproof.report import html
from perfproof.report.base.page_model import Page
from perfproof.report.formats import gate_view, pr_comment, terminal
from perfproof.report.text import sentences
from perfproof.report.view import build
from tests.report import factory

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
ARMS = ("skip_copy", "skip_copy_cached")
TASKS = ("copying", "knowledge", "series", "sums")
NO_CHANGE = "+0.00 points (−3.29 points to +3.29 points), 0 of 200 items lost, 0 won"


def accuracy(arm: str, task: str, verdict: Outcome = Outcome.EQUIVALENT, scenario: str = "accuracy", **changed: Any) -> Judged:
    fields: dict[str, Any] = {"effect": 0.0, "interval": (-0.0329, 0.0329), "mde": 0.07, "blocks": 200, "reason": NO_CHANGE}
    return factory.row(scenario, f"accuracy@{task}", verdict, candidate=arm, **(fields | changed))


def equality(arm: str, part: str, **changed: Any) -> Judged:
    same = "identical on 48 prompts (2,651 tokens): every token and logprob is bit-identical"
    fields: dict[str, Any] = {"effect": 0.0, "interval": None, "level": None, "mde": None, "margin": None, "blocks": 48, "reason": same}
    return factory.row("equality", part, Outcome.EQUIVALENT, candidate=arm, **(fields | changed))


def perplexity(arm: str) -> Judged:
    same = "identical on 833 tokens of text: every logprob is bit-identical"
    return equality(arm, "text_perplexity", interval=(0.0, 0.0), blocks=833, reason=same)


def of(rows: Sequence[Judged]) -> Page:
    return build(rows, [], made="", version="0")


def every_task() -> list[Judged]:
    return [accuracy(arm, task) for arm in ARMS for task in TASKS]


def every_part() -> list[Judged]:
    return [equality(arm, part) for arm in ARMS for part in ("greedy_outputs", "sampled_outputs")]


def lines(page: Page, width: int = 80) -> list[str]:
    return [line.strip() for line in terminal.text(page, width).splitlines()]


def head(page: Page) -> list[str]:
    """The heads of the table's columns."""
    return re.split(r"\s{2,}", next(line for line in lines(page) if line.endswith("verdict")))


def table(page: Page) -> list[str]:
    """The first cells of the table's lines, below the head."""
    told = lines(page)
    at = next(place for place, line in enumerate(told) if line.endswith("verdict"))
    end = next((place for place in range(at, len(told)) if re.match(r"$|answers: |not judged", told[place])), len(told))
    return [re.split(r"\s{2,}", line)[0] for line in told[at + 1 : end]]


def test_an_arm_is_named_once_above_its_rows() -> None:
    """Where a scenario has several candidates each stands on a line above its metrics, which don't repeat it; one metric is one line."""
    mine = ["↑ copying", "↑ knowledge", "↑ series", "↑ sums"]
    assert table(of(every_task())) == [ARMS[0], *mine, ARMS[1], *mine]


def test_rows_stand_with_their_arm_whatever_their_order() -> None:
    """Rows that come metric by metric are put together arm by arm."""
    rows = [factory.row("a", metric, "improved", candidate=arm) for metric in ("round_time", "feed_time") for arm in ("x", "y")]
    assert table(of(rows)) == ["x", "↓ round time", "↓ feed time", "y", "↓ round time", "↓ feed time"]


def test_an_arm_alone_is_not_named_in_the_table() -> None:
    """One candidate is named beside the scenario, and nowhere else."""
    page = of([factory.row("a", "round_time", "improved", candidate="the_only_one")])
    assert table(page)[0] == "↓ round time"
    assert terminal.text(page, 80).count("the_only_one") == 1


@pytest.mark.parametrize(
    ("rows", "heads"),
    [
        (every_task(), ["accuracy in", "change", "interval, points", "items", "detect.", "verdict"]),
        (every_part(), ["metric", "change", "prompts", "verdict"]),
        ([*every_part(), *map(perplexity, ARMS)], ["metric", "change", "interval, %", "counted", "verdict"]),
        (factory.penalties()[0], ["metric", "change", "interval, %", "blocks", "detect.", "verdict"]),
        (
            [factory.row("a", "round_time", "improved"), accuracy("patched", "sums", scenario="a")],
            ["metric", "change", "interval", "counted", "detect.", "verdict"],
        ),
    ],
)
def test_heads_say_what_the_rows_hold(rows: Sequence[Judged], heads: list[str]) -> None:
    """Points are not called per cent nor items blocks; where rows differ the head names no unit, and each row its own count."""
    assert head(of(rows)) == heads


def test_counts_that_differ_in_kind_name_theirs() -> None:
    """Where some rows count prompts and others tokens, each says which."""
    text = terminal.text(of([equality("a", "greedy_outputs"), perplexity("a")]), 80)
    assert re.search(r"↑ greedy outputs .* 48 prompts ", text)
    assert re.search(r"↓ text perplexity .* 833 tokens ", text)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (every_task(), f"accuracy in copying, knowledge, series and sums, of skip_copy and skip_copy_cached alike: {NO_CHANGE}"),
        (every_part(), "greedy outputs and sampled outputs, of skip_copy and skip_copy_cached alike: identical on 48 prompts"),
        ([perplexity(arm) for arm in ARMS], "text perplexity of skip_copy and skip_copy_cached alike: identical on 833 tokens"),
        (
            every_task()[:5],
            "accuracy in copying, knowledge, series and sums, of skip_copy, and accuracy in copying of skip_copy_cached: +0",
        ),
        (every_task()[:4], "accuracy in copying, knowledge, series and sums: +0"),
    ],
)
def test_what_holds_of_every_task_and_arm_is_said_once(rows: Sequence[Judged], said: str) -> None:
    """The sentence names tasks and arms once each, on the terminal, on the page and in the comment."""
    page = of(rows)
    assert said in " ".join(lines(page))
    assert said in page.scenarios[0].answer
    assert said in html.render(page)
    assert said.replace("+0", "\\+0").split(":")[0] in pr_comment.render(page)


def test_sentences_of_speed_are_put_together_too() -> None:
    """Counts that changed alike are told once, with a colon behind several names."""
    rows = [factory.row("a", "bytes_per_swap", "improved", candidate=arm, effect=-0.5) for arm in ARMS]
    said = "bytes per swap of skip_copy and skip_copy_cached alike: −50.0\u202f% (÷\u202f2), counted exactly"
    assert sentences.answer("a", rows) == f"a: {said}"


def test_alike_metrics_leave_room_for_others() -> None:
    """Sixteen metrics of which the same is true are one claim, so that none of them is left out; of fifty, some are named."""
    assert "more" not in sentences.answer("accuracy", [accuracy(arm, task) for arm in ("a", "b", "c", "d") for task in TASKS])
    many = [factory.row("a", f"bytes_per_swap@size={size}", "equivalent", effect=0.0, interval=None) for size in range(50)]
    assert "size=7 and 42 more unchanged" in sentences.answer("a", many)


def test_what_is_open_alike_is_told_once() -> None:
    """The same reason of several tasks and arms stands once among what was not judged, and so does a warning."""
    rows = [accuracy(arm, task, verdict=Outcome.INCONCLUSIVE, reason="too few items", warnings=("odd",)) for arm in ARMS for task in TASKS]
    scenario = of(rows).scenarios[0]
    tasks = "accuracy in copying, knowledge, series and sums, of skip_copy and skip_copy_cached alike"
    assert scenario.unjudged == (f"{tasks}: inconclusive; too few items",)
    assert scenario.warnings == ("odd",)
    some = of([*rows, accuracy("skip_copy", "other")]).scenarios[0]
    assert some.warnings == (f"{tasks}: odd",)


def every_word(page: Page, width: int) -> set[str]:
    return set(terminal.text(page, width).split())


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_word_is_broken(width: int) -> None:
    """At any width from 80 columns on every word stands whole, however long the names of metrics and arms are."""
    names = ("list_elements_converted_per_step", "round_time@output_length=16000", "token_ids_built_per_step", "instructions_per_request")
    rows = [
        factory.row("a", name, verdict, candidate=arm, **({} if name.endswith("step") else {"interval": (-0.99901, -0.99894)}))
        for arm in ("an_arm_with_a_name_of_some_forty_letters", "other")
        for name in names
        for verdict in (Outcome.IMPROVED, Outcome.INCONCLUSIVE)
    ]
    for page in (of(rows), of(every_task()), of([*every_part(), *map(perplexity, ARMS)]), page_of(REFERENCE, None)[0]):
        assert every_word(page, width) - every_word(page, 400) <= {"detect."}


def test_the_comments_heads_fit_all_its_rows() -> None:
    """The comment's one table says points and items where all rows are; where they differ it names no unit, and each row its count."""
    assert "| interval, points | margin | detectable | items |" in pr_comment.render(of(every_task()))
    mixed = pr_comment.render(of([*every_task(), factory.row("a", "round_time", "equivalent")]))
    assert "| interval | margin | detectable | counted |" in mixed
    assert "| 200 items |" in mixed
    assert "| 6 blocks |" in mixed


def test_the_pages_heads_fit_all_its_rows() -> None:
    """So does the page's table, and its narrow form says it beside each number."""
    text = html.render(of(every_task()))
    assert '<th scope="col" class="n" data-key>items</th>' in text
    assert text.count('data-label="items" data-short="items" data-sort="200">200</td>') == 8
    mixed = html.render(of([*every_task(), factory.row("a", "round_time", "improved")]))
    assert '<th scope="col" class="n" data-key>counted</th>' in mixed
    assert mixed.count("200<small>items</small>") == 8
    assert "6<small>blocks</small>" in mixed


def test_a_reason_that_all_rows_share_stands_once_in_the_pages_table() -> None:
    """Eight verdicts for one reason have it once above them; where one has another, each has its own."""
    reason = f"<span>{NO_CHANGE}</span>"
    alike = html.render(of(every_task()))
    assert alike.count(f"<span>All alike: {NO_CHANGE}</span>") == 1
    assert reason not in alike
    apart = html.render(of([*every_task(), accuracy("skip_copy", "other", reason="another")]))
    assert "All alike" not in apart
    assert apart.count(reason) == 8


@pytest.mark.parametrize("verdict", [Outcome.EQUIVALENT, Outcome.REGRESSED])
def test_a_gate_names_each_of_several_candidates(verdict: Outcome) -> None:
    """A ruling is told with its candidate in every form, and with none where the scenario has one alone."""
    rows = [*(accuracy(arm, "sums", verdict) for arm in ARMS), accuracy(ARMS[0], "sums", verdict, scenario="alone")]
    page = gate_outputs.with_decision(of(rows), decide(rows, DEFAULT_POLICY))
    told = terminal.text(page, 120)
    comment = pr_comment.render(page).replace("\\", "")
    for arm in ARMS:
        assert f"accuracy  accuracy in sums ({arm})  " in told
        assert f"accuracy in sums ({arm})" in comment
    assert f"alone  accuracy in sums  {verdict}" in told
    named = f"accuracy in sums ({ARMS[0]}) of accuracy regressed, accuracy in sums ({ARMS[1]}) of accuracy regressed"
    assert page.decision is not None
    assert (named in gate_view.headline(page.decision)) == (verdict is Outcome.REGRESSED)
