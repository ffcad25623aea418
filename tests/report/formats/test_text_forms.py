"""The terminal table, the pull-request block and the JUnit file."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.model.verdicts.judged import OUTCOMES
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page
from perfproof.report.formats import junit, markdown, pr_comment, terminal
from perfproof.report.view import build
from tests.report import factory
from tests.report.golden import check

RESULTS = Path(__file__).parents[3] / "results"
WARNING = "this machine has not been calibrated: no A/A run is known"


@pytest.mark.parametrize("width", [80, 120])
def test_terminal_golden(width: int) -> None:
    """The table reads well at 80 and at 120 columns."""
    check(f"terminal-{width}.txt", terminal.text(factory.page(warnings=[WARNING]), width))


def test_pull_request_golden() -> None:
    """The block holds answer, table, what was not judged, raw values, work, attestations, commands and machine."""
    check("pull-request.md", pr_comment.render(factory.page(warnings=[WARNING])))


def test_junit_golden() -> None:
    """Regressed fails, untestable errs, inconclusive is skipped."""
    check("junit.xml", junit.render(factory.page()))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_fits(width: int) -> None:
    """No line is wider than the terminal, whatever the names."""
    text = terminal.text(factory.page(factory.hostile(), factory.penalties()), width)
    assert max(map(len, text.splitlines())) <= width


def test_at_80_columns_names_numbers_and_verdicts_are_whole() -> None:
    """A pipe and a CI log have 80 columns: a name that has no room beside its numbers has a line of its own."""
    case = "python_instructions@test_walk[priority-64]"
    rows = [
        factory.row("a", "round_time@test_fill_and_drain[priority-512]", "untestable", effect=-0.171, interval=(-0.212, -0.127)),
        factory.row("a", case, "less", effect=-0.164, interval=None),
        factory.row("a", case.replace("instructions", "calls"), "regressed", effect=0.2, interval=None),
    ]
    text = terminal.text(build(rows, [], made="", version="0"), 80)
    for part in ("python instructions, test_walk[priority-64]", "round time, test_fill_and_drain[priority-512]", "[−21.2, −12.7]"):
        assert any(part in line for line in text.splitlines()), part
    assert "less Python work" in text
    assert "more Python work" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("width", [80, 100, 120])
def test_terminal_never_cuts_a_verdict(width: int) -> None:
    """Verdicts stand whole however long the names of metrics and candidates are."""
    rows = [factory.row("a", "round_time@output_length=16000", verdict, candidate=f"candidate_{verdict}") for verdict in OUTCOMES]
    text = terminal.text(build(rows, [], made="", version="0"), width)
    for verdict in OUTCOMES:
        assert sum(line.endswith(f" {formatting.outcome_word(verdict)}") for line in text.splitlines()) >= 1, text


@pytest.mark.parametrize("width", [80, 118, 140])
def test_terminal_never_cuts_a_verdict_for_a_wide_interval(width: int) -> None:
    """However noisy a metric is, its numbers leave room for the verdicts; a change without bounds to speak of is told as a size."""
    rows = [
        factory.row("a", "output_throughput", "improved"),
        factory.row("a", "median_itl", None, effect=80.86, interval=(-0.95, 137190.0)),
    ]
    text = terminal.text(build(rows, [], made="", version="0"), width)
    assert "· exploratory" in text
    assert "[−95, ×\u202f137,191]" in text
    assert "×\u202f81.9" in text
    assert text.count("81.9") == 1


def test_terminal_has_no_escape_from_others() -> None:
    """Escape sequences in names, reasons and warnings don't reach the terminal."""
    text = terminal.text(factory.page(factory.hostile()), 100)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", text)


def test_pull_request_is_short_enough_for_github() -> None:
    """However many trials and warnings there are, the block stays under the limit, and says what it left out."""
    rows, records = [], []
    for number in range(12):
        base = {f"round_time@size={k}": 1e-3 * (k + 1) for k in range(30)}
        records += factory.trials(f"scenario_{number}", 40, base, {}, 0.02)
        rows += [factory.row(f"scenario_{number}", metric, "inconclusive", warnings=(factory.LONG[:500],)) for metric in base]
    text = pr_comment.render(build(rows, records, made=factory.MADE, version="0.1.0"))
    assert len(text) <= pr_comment.LIMIT
    assert "Left out, because a comment may hold no more" in text
    assert text.count("<details>") == text.count("</details>")


def test_raw_values_are_of_metrics_that_left_some() -> None:
    """Answers that are compared one by one leave no number a trial, and so no column of dashes; what did not count keeps its place."""
    made = factory.answers_page()
    assert "Raw values" not in pr_comment.render(made)
    rows, records = factory.swap_states()
    empty = factory.row("swap_states", "median_ttft", "untestable")
    text = pr_comment.render(factory.page(([*rows, empty], records)))
    raw = text[text.index("Raw values: swap_states") :].partition("</details>")[0]
    assert re.findall(r"(?m)^- (.*), ms: ", raw) == ["round time, as released", "round time, patched"]
    assert raw.count(" · ") == 2 * 5


def _in_the_open(page: Page) -> list[str]:
    """The lines of the comment before its first fold."""
    return pr_comment.render(page).partition("<details>")[0].splitlines()


@pytest.mark.parametrize("folder", ["reference", "gpu/h200_64_cores", "gpu/h200_32_cores", "patches", "planted", "serve-cpu"])
def test_a_comment_is_forty_lines_and_five_columns_before_its_fold(folder: str) -> None:
    """Of every committed run the comment shows rows that changed or are open, in at most five columns and forty lines; the rest folds."""
    page = page_of(RESULTS / folder, None)[0]
    lines = _in_the_open(page)
    assert 8 < len(lines) < 40
    rows = [line for line in lines if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {6}
    assert not [line for line in rows if "equivalent" in line or "exploratory" in line]
    changed = sum(row.verdict not in ("equivalent", "identical", None) for one in page.scenarios for row in one.rows)
    assert len(rows) - 2 == min(pr_comment.MOST_ROWS, changed + sum(len(one.worse) for one in page.scenarios))


def test_a_package_is_told_by_scenario_and_not_as_differing() -> None:
    """Scenarios with other builds have other packages: each value stands with its scenarios, and none is missing in unrelated trials."""
    page = page_of(RESULTS / "reference", None)[0]
    facts = {fact.name: fact for fact in page.machine}
    vllm = facts["vllm"]
    assert not vllm.differs
    assert vllm.values[1] == "0.17.1+cpu (swap_states_releases: release_0_17_1)"
    assert facts["torch"].values == ("2.13.0+cpu",)
    assert not [value for fact in page.machine for value in fact.values if re.fullmatch(r"not recorded in [67]\d trials", value)]


def test_a_verdict_that_lacks_blocks_says_so_where_it_stands() -> None:
    """Fewer blocks than a verdict needs are told in the scenario's own line, with what measures the rest; enough of them are no reason."""
    for blocks, told in ((5, "measures the missing one)"), (4, "measures the missing 2)"), (6, "")):
        rows = [factory.row("swap_states", "round_time", "inconclusive", blocks=blocks)]
        records = factory.trials("swap_states", blocks, {"round_time": 1e-3}, {}, 0.02)
        (bullet,) = (line for line in _in_the_open(factory.page((rows, records))) if line.startswith("- ❔"))
        assert (f"({blocks} of the 6 blocks that a verdict needs; the same command {told}" in bullet) == bool(told), bullet
    rows = [factory.row("swap_states", "round_time", "inconclusive", blocks=5), factory.row("swap_states", "itl", "inconclusive")]
    assert "(round time: 5 of the 6 blocks" in "\n".join(_in_the_open(factory.page((rows, records))))


def test_the_machine_of_a_comment_is_what_tells_something() -> None:
    """What nobody knows, what is the suite's own bookkeeping and what stands elsewhere is left to the HTML report."""
    rows, records = factory.swap_states()
    more = {"governor": "", "lock": None, "commit": "", "gpus": [], "overlay": {"files": ["x"]}, "rules": {"tolerated": 0.05}}
    more |= {"variables": {"OMP_NUM_THREADS": "2", "PERFPROOF_CASES": "[{}]"}, "log_end": "INFO", "memory_bytes": 25_284_001_792}
    filled = [dataclasses.replace(record, environment=record.environment | more) for record in records]
    filled[0] = dataclasses.replace(filled[0], environment={**filled[0].environment, "packages": {"torch": "2.13.0"}, "lock": "0a1b"})
    text = pr_comment.render(factory.page((rows, filled)))
    machine = text[text.index("<summary>Machine and packages") :].partition("</details>")[0]
    assert [line.rpartition(": ")[0] for line in machine.splitlines() if line.startswith("- ")] == [
        *("- cpu: model", "- cpu: cores", "- cpu: governor", "- memory", "- python", "- before: load"),
        *("- torch", "- lock", "- OMP_NUM_THREADS", "- numpy"),
    ]


def test_pull_request_markup_is_escaped() -> None:
    """Names and messages show as they read: no HTML, no markdown, no mention, no link, no table cell of their own."""
    text = pr_comment.render(factory.page(factory.hostile()))
    outside = re.sub(r"(?<![`\\])(`+)(?!`)(?:.|\n(?!\n))*?(?<!`)\1(?!`)", "", re.sub(r"(?s)```.*?```", "", text))
    assert not re.search(r"<(?!/?details>|/?summary>|!-- -->)", outside)
    assert not re.search(r"@\w", outside)
    assert "http://" not in outside
    assert not re.search(r"(?<!\\)\*\*bold", outside)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in outside.splitlines() if line.startswith("| evil")}
    assert widths == {11}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b __init__", r"a_b \_\_init\_\_"),
        ("1. first", r"1\. first"),
        ("0.32.0", "0.32.0"),
        ("- x", r"\- x"),
        ("@me #1", r"@<!-- -->me \#<!-- -->1"),
        ("a|b", r"a\|b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("https&#58;//h www.h", "https&amp;\\#<!-- -->58;//h www<!-- -->.h"),
        ("GH-12 mailto:a", "GH-<!-- -->12 mailto<!-- -->:a"),
    ],
)
def test_markdown_escapes(text: str, shown: str) -> None:
    """Only what markdown would act on is escaped, so that the source stays readable."""
    assert markdown.escape(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain @me", "plain @<!-- -->me"),
        ("the lines: perfproof blame a --metric 'x@new block, 8'", "the lines: `perfproof blame a --metric 'x@new block, 8'`"),
        ("a_b*: perfproof run 'x`y'", "a_b\\*: ``perfproof run 'x`y'``"),
        ("x: perfproof run `", "x: `` perfproof run ` ``"),
    ],
)
def test_a_command_at_the_end_of_a_sentence_is_code_as_it_is_typed(text: str, shown: str) -> None:
    """In code nobody is mentioned and nothing is markup, so it has no mark of ours in it; backquotes of its own can't end it."""
    assert markdown.sentence(text) == shown


@pytest.mark.parametrize("hostile", ["<img src=x>", "@everyone ", "`", "[a](b)"])
@pytest.mark.parametrize("times", [1, 30, 35, 60, 200])
def test_a_line_that_is_cut_holds_no_span_of_code(hostile: str, times: int) -> None:
    """Where a span lost one of its ends, what it held would not be escaped."""
    text = f"take it back: perfproof blame {hostile * times}"
    listed = markdown.few([f"- {markdown.sentence(text)}"])
    whole = listed == f"- take it back: {markdown.code(text.partition(': ')[2])}"
    assert whole or listed == markdown.few([f"- {markdown.escape(text)}"])
    assert whole == (len(f"- take it back: {markdown.code(text.partition(': ')[2])}") <= markdown.LONGEST)


def test_the_title_of_a_fold_calls_nobody() -> None:
    """A name in a title is HTML, in which GitHub looks for mentions, too."""
    assert "<summary>Raw values: @<!-- -->me #<!-- -->1 &lt;b&gt;</summary>" in markdown.fold("Raw values: @me #1 <b>", "x")


def test_code_fences_cannot_be_closed_from_inside() -> None:
    """A command with backquotes stays inside its fence."""
    assert markdown.fence("a ``` b").startswith("````sh\n")


def test_junit_survives_hostile_text() -> None:
    """The file parses, and its counts are those of the page."""
    top = ET.fromstring(junit.render(factory.page(factory.hostile(), *(make() for make in factory.ALL))).split("\n", 1)[1])
    assert (top.get("failures"), top.get("errors"), top.get("skipped")) == ("1", "1", "2")
