"""The page in a real browser."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfproof.commands.record_verdicts import page_of
from perfproof.report import html
from perfproof.report.base.page_model import Page
from perfproof.report.view import build
from tests.report import axe, factory
from tests.report.browser import CHROMIUM, Browser
from tests.report.formats.test_gate_forms import decided

RESULTS = Path(__file__).parents[2] / "results"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _of_kind("ordinary", tmp_path_factory.mktemp("report"))


@pytest.mark.parametrize("dark", [False, True])
def test_loads_without_complaint_or_request(browser: Browser, report: Path, dark: bool) -> None:
    """The page loads in light and dark without a console message and without asking for anything."""
    browser.open(report, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.run("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(22, 23, 26)" if dark else "rgb(253, 252, 250)"
    )


def test_hostile_text_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    """A page full of hostile strings loads as quietly as any other."""
    browser.open(_of_kind("hostile", tmp_path))
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.run("document.scripts.length") == 1


KINDS = {
    "ordinary": lambda: factory.page(warnings=["the whole run was watched"]),
    "watched": lambda: factory.page(factory.watched(factory.penalties()), *factory.swept(), factory.crashed()),
    "a gate's": lambda: decided(Path(tempfile.mkdtemp()), page=factory.page(factory.sampler(), factory.suggested())),
    "an A/A": lambda: factory.page(factory.itself(), floors=[factory.floor(factory.itself()[1][0])]),
    "answers": lambda: factory.answers_page(),
    "hostile": lambda: factory.page(factory.hostile()),
}
"""Pages of every sort, by name."""


@functools.cache
def _rendered(kind: str) -> str:
    """A page of a sort, or of one run of the factory; rendering takes longer than most of what is looked at."""
    return html.render(KINDS[kind]() if kind in KINDS else factory.page(getattr(factory, kind)()))


def _of_kind(kind: str, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(_rendered(kind), "utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_core_finds_nothing(browser: Browser, tmp_path: Path, kind: str, dark: bool) -> None:
    """axe-core, with everything unfolded, finds no violation of any of its rules on a page of any sort; in the dark, where nothing but
    colours is another, of those that look at colours."""
    path = _of_kind(kind, tmp_path)
    browser.open(path, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert axe.violations(browser, axe.OF_COLOURS if dark else axe.WANTED) == []


def test_axe_core_would_find_something(browser: Browser, tmp_path: Path) -> None:
    """The check is not blind: a picture without words and text too pale to read are found."""
    path = tmp_path / "bad.html"
    path.write_text("<html lang=en><title>t</title><main><h1>t</h1><img src='data:,'><p style='color:#ccc;background:#fff'>pale</p></main>")
    browser.open(path)
    assert {found.split(":")[0] for found in axe.violations(browser)} >= {"image-alt", "color-contrast"}
    assert [found.split(":")[0] for found in axe.violations(browser, axe.OF_COLOURS)] == ["color-contrast"]


def _written(page: Page, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(html.render(page), "utf-8")
    return path


FIRST_SCREEN = """(() => {
    const words = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const box = range.getBoundingClientRect();
        const seen = box.width > 0 && box.bottom <= innerHeight && !walk.currentNode.parentElement.closest('script, style, .vh');
        if (seen) words.push(walk.currentNode.textContent.trim());
    }
    return words.filter(Boolean).join(' ');
})()"""
"""The words that are seen without scrolling."""
STRANGER = {
    "swap_states": (
        "swap_states_active_prefix improved in a microbenchmark: ÷\u202f112",
        "✓ improved",
        "[÷\u202f109, ÷\u202f116]",
        "calibrate",
    ),
    "sampler": ("regressed in a microbenchmark: +8.3\u202f%", "✗ regressed", "[+6.9, +9.7]", "calibrate"),
    "pooling": ("is not settled in a microbenchmark", "? inconclusive", "[−3.9, +10.6]", "measure more blocks of pooling_token_ids"),
    "crashed": ("could not be tested", "⊘ untestable", "fix the cause", "it ran out of memory"),
    "suggested": (
        *("likely improved: +56.8\u202f%", "~ likely improved", "a lucky launch is not ruled out"),
        *("made-up model: a toy model (1 layer, hidden size 64), dummy weights, eager mode", "--profile standard"),
    ),
    "itself": ("against itself is equivalent", "= equivalent", "the baseline was run against itself"),
}
"""For a run of each sort, what a stranger must read on the first screen beside what every page says there."""


@pytest.mark.parametrize("size", [(1280, 800), (390, 1688)])
@pytest.mark.parametrize("kind", STRANGER)
def test_the_first_screen_answers_a_stranger(browser: Browser, tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    """On the first screen, of a telephone with one scroll: what changed, what it does, whether answers changed, on what, what next."""
    browser.open(_of_kind(kind, tmp_path), *size)
    seen = browser.run(FIRST_SCREEN)
    for told in (*STRANGER[kind], "Changed", "Answers not compared", "not calibrated (no A/A run)", "Next", "perfproof "):
        assert told in seen, told


ABOVE = """(() => {
    const figure = document.querySelector('#forest'), words = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const out = walk.currentNode.parentElement.closest('script, style, .vh, .skip');
        if (!out && walk.currentNode.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING)
            words.push(...walk.currentNode.textContent.split(/\\s+/).filter(Boolean));
    }
    const box = figure.getBoundingClientRect();
    return [words.length, box.top, box.bottom, box.width];
})()"""
"""How many words stand above the first figure, and where it lies on the screen."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of committed records, by the name of their folder."""
    folder = tmp_path_factory.mktemp("real")
    return {name: _page_of(name, folder) for name in ("reference", "gpu/h200_64_cores", "serve-cpu")}


def _page_of(name: str, folder: Path) -> Path:
    path = folder / f"{Path(name).name}.html"
    path.write_text(html.render(page_of(RESULTS / name, None)[0]), "utf-8")
    return path


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("name", ["reference", "gpu/h200_64_cores", "serve-cpu"])
def test_the_figure_is_on_the_first_screen(browser: Browser, real: dict[str, Path], name: str, size: tuple[int, int]) -> None:
    """At most 120 words stand above the first figure, which lies within the first screen, on a desktop and on a telephone."""
    browser.open(real[name], *size)
    words, top, bottom, width = browser.run(ABOVE)
    assert 10 < words <= 120
    assert 0 < top < bottom <= size[1]
    assert width > 0.85 * size[0]


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_forty_metrics_do_not_push_the_lines_away(browser: Browser, tmp_path: Path, size: tuple[int, int]) -> None:
    """The figure has room for ten metrics, the worst first; how many more there are is told, with their verdicts."""
    verdicts = ["regressed", "inconclusive", "improved", "equivalent"] * 10
    rows = [factory.row("a", f"round_time@size={place}", verdict) for place, verdict in enumerate(verdicts)]
    browser.open(_written(build(rows, [], made=factory.MADE, version="0"), tmp_path), *size)
    assert browser.run("[...document.querySelectorAll('.forest .verdict')].map(each => each.textContent.trim())") == ["✗ regressed"] * 10
    assert browser.run("document.querySelector('.further').textContent") == (
        "and 30 more below: 10 inconclusive, 10 improved, 10 equivalent"
    )
    assert browser.run(ABOVE)[2] <= size[1]


@pytest.mark.parametrize("kind", ["sampler", "pooling", "crashed", "itself", "thinking", "suggested"])
def test_nothing_but_an_improvement_looks_like_one(browser: Browser, tmp_path: Path, kind: str) -> None:
    """On the page of a run that is no good news no word is green, and no check mark is seen but in the legend."""
    browser.open(_of_kind(kind, tmp_path))
    green = """[...document.querySelectorAll('body *')].filter(each => !each.closest('.legend, svg') && each.offsetParent
        && [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())
        && getComputedStyle(each).color === 'rgb(10, 107, 87)').map(each => each.textContent)"""
    assert browser.run(green) == []
    browser.run("document.querySelector('.legend').remove()")
    assert "✓" not in browser.run(FIRST_SCREEN)


NAMES = """[...document.querySelectorAll('tr.row:not([hidden]) > th')]
    .filter(th => th.offsetParent).map(th => th.textContent.trim().split('\\u00a0')[0])"""
"""The metrics of the lines that are seen, in their order."""


def test_sorts_within_scenarios(browser: Browser, report: Path) -> None:
    """A click on a column's head sorts each scenario's metrics, a second one the other way; reasons stay with their metric."""
    browser.open(report)
    click = "[...document.querySelectorAll('thead button')].find(b => b.textContent.startsWith('change')).click()"
    browser.run(click)
    up = browser.run(NAMES)
    assert up[6:11] == ["median TTFT", "peak memory", "p99 ITL", "output throughput", "median TPOT"]
    browser.run(click)
    assert browser.run(NAMES)[6:11] == up[6:11][::-1]
    assert browser.run("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"
    assert browser.run("[...document.querySelectorAll('tr.why')].every(tr => tr.previousElementSibling.classList.contains('row'))")


SORTED = """(named => {
    const button = [...document.querySelectorAll('thead button')].find(each => each.textContent.startsWith(named));
    const place = [...button.closest('tr').cells].indexOf(button.closest('th'));
    const read = () => [...document.querySelectorAll('tr.row')].map(row => row.cells[0].textContent.trim().split('\\u00a0')[0]);
    button.click(); const up = read(); button.click(); return [up, read()];
})"""
"""The metrics in their order after a click on a column's head, and after a second one."""


def test_every_numeric_column_has_a_place_for_every_number(browser: Browser, tmp_path: Path) -> None:
    """A change of −100 % is the largest that there is, an unbounded detectable change larger than any other; dashes come last both ways."""
    gone = {"effect": -1.0, "interval": None, "margin": 0.02}
    rows = [
        factory.row("a", "bytes_per_swap", "improved", baseline_value=64.0, candidate_value=0.0, **gone),
        factory.row("a", "kv_blocks", "regressed", baseline_value=9.0, candidate_value=0.5, mde=None, **gone),
        factory.row("a", "round_time", "improved", effect=-0.5, baseline_value=3.0, candidate_value=1.5, mde=math.inf, margin=0.05),
        factory.row("a", "feed_time", "equivalent", effect=0.001, baseline_value=8.0, candidate_value=8.1, mde=0.01, margin=0.01),
        factory.row("a", "apply_time", "untestable", baseline_value=None, candidate_value=math.nan, mde=0.4, margin=None),
    ]
    browser.open(_written(build(rows, [], made=factory.MADE, version="0"), tmp_path))
    order = {
        "change": (["KV blocks", "feed time", "round time", "bytes per swap"], ["apply time"]),
        "baseline": (["round time", "feed time", "KV blocks", "bytes per swap"], ["apply time"]),
        "candidate": (["bytes per swap", "KV blocks", "round time", "feed time"], ["apply time"]),
        "margin": (["feed time", "KV blocks", "round time"], ["apply time", "bytes per swap"]),
        "detectable": (["feed time", "apply time", "round time"], ["KV blocks", "bytes per swap"]),
    }
    for column, (known, missing) in order.items():
        up, down = browser.run(f"{SORTED}({json.dumps(column)})")
        assert (up[: len(known)], sorted(up[len(known) :])) == (known, missing), column
        assert (down[: len(known)], sorted(down[len(known) :])) == (known[::-1], missing), column


def test_filters_by_name_and_verdict(browser: Browser, report: Path) -> None:
    """The field narrows the table to metrics or scenarios of that name; a verdict's button hides its lines; what is hidden is counted."""
    browser.open(report)
    browser.run("const f = document.querySelector('.tools input'); f.value = 'TPOT'; f.dispatchEvent(new Event('input'))")
    assert browser.run(NAMES) == ["median TPOT"]
    assert browser.run("document.querySelector('.tools [role=status]').textContent") == "10 lines hidden"
    browser.run("f.value = ''; f.dispatchEvent(new Event('input'))")
    browser.run("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'improved').click()")
    assert "output throughput" not in browser.run(NAMES)
    assert "peak memory" in browser.run(NAMES)


def test_a_dot_leads_to_its_trial(browser: Browser, report: Path) -> None:
    """Pointing at a dot tells its value; a click opens the table at its line."""
    browser.open(report)
    assert browser.run("document.querySelector('[data-row=s2-t2] title').textContent").startswith("block 2, place 1, as released: ")
    browser.run("document.querySelector('[data-row=s2-t2]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert browser.run("document.getElementById('s2-t2').classList.contains('found')")
    assert browser.run("document.getElementById('s2-t2').closest('details').open")


def test_spoilt_trials_are_hollow(browser: Browser, report: Path) -> None:
    """A trial that does not count is drawn with the paper's colour inside, and says why."""
    browser.open(report)
    fill = browser.run("getComputedStyle(document.querySelector('[data-row=s5-t5]')).fill")
    assert fill == "rgb(253, 252, 250)"
    assert "invalid: another process" in browser.run("document.querySelector('[data-row=s5-t5] title').textContent")


def test_records_download(browser: Browser, report: Path) -> None:
    """The link holds the records as the browser reads it, under a file name."""
    browser.open(report)
    assert browser.run("document.querySelector('a[download]').download") == "records.jsonl.gz"
    data = browser.run("document.querySelector('a[download]').href.split(',')[1]")
    lines = gzip.decompress(base64.b64decode(data)).splitlines()
    assert len([json.loads(line) for line in lines]) == len(factory.page().records)


PAPER = 695
"""The width of the printed part of a page, in pixels."""
NOT_PRINTED = """(() => {
    const left = [];
    const aside = 'nav, .verdicts thead, .tools, .button, .legend, .lead, .paper, title, script, .dotted, .narrow-ruler, '
        + '#trials, #spread, #frontier';
    const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const told = walk.currentNode.textContent.trim(), holder = walk.currentNode.parentElement;
        const folded = holder.closest('details:not([open])') && !holder.closest('summary');
        const alike = holder.closest('.attested tbody tr:not(.differs)') || holder.closest('#machine .screen, #work figure');
        if (told && !folded && !alike && !holder.closest(aside) && !range.getClientRects().length) left.push(told);
    }
    return left;
})()"""
"""The texts that a verdict rests on and that take no room where the page is shown: all but controls, explanations, figures of trials,
what is folded, and lines of the arms that agree."""
UNTOLD = """[...document.querySelectorAll('section')].filter(section =>
    section.querySelector('figure.screen, .pairs.screen, .folds, div.screen') && ![...section.querySelectorAll('.paper')].some(each =>
        each.getClientRects().length && each.textContent.startsWith('In the file, not on paper: '))).map(section => section.id)"""
"""The sections that leave something to the file and do not say so."""
SUMMARIES = """[...document.querySelectorAll('details:not([open]) > summary')].filter(each =>
    each.getClientRects().length && !getComputedStyle(each, '::after').content.includes('in the file')).length"""


def _printed(browser: Browser, path: Path) -> None:
    browser.open(path, width=PAPER)
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize("kind", ["ordinary", "answers", "watched"])
def test_print_leaves_out_nothing_that_a_verdict_rests_on(browser: Browser, tmp_path: Path, kind: str, scripted: bool) -> None:
    """Verdicts, answers, caveats, what does not count, the machine, commands are on paper; a line says what is in the file."""
    browser.call("Emulation.setScriptExecutionDisabled", value=not scripted)
    _printed(browser, _of_kind(kind, tmp_path))
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run(NOT_PRINTED) == []
    assert browser.run(UNTOLD) == []
    assert browser.run(SUMMARIES) == 0
    assert browser.run("document.querySelectorAll('.verdicts tbody .row').length") > 0
    assert browser.run("document.documentElement.scrollWidth") <= PAPER


def test_what_a_reader_unfolded_is_printed(browser: Browser, report: Path) -> None:
    """Nothing unfolds by itself for the printer; a table that somebody opened is on paper, whole."""
    browser.open(report, width=PAPER)
    browser.run("document.querySelector('#trials details.table').open = true")
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details[open]').length") == 1
    cells = "[...document.querySelector('#trials details.table').querySelectorAll('td')]"
    assert browser.run(f"{cells}.filter(cell => cell.textContent && !cell.getClientRects().length).length") == 0
    assert browser.run("document.documentElement.scrollWidth") <= PAPER


def test_the_reference_run_is_eight_pages_on_paper(browser: Browser, real: dict[str, Path]) -> None:
    """What a verdict rests on of seven scenarios fits a few sheets."""
    browser.open(real["reference"])
    printed = browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))
    assert 3 <= len(pages) <= 8


LINES = """[...document.querySelectorAll('.verdicts tbody .row')].map(row => {
    const why = row.nextElementSibling?.classList.contains('why') ? row.nextElementSibling : row;
    return [why.getBoundingClientRect().bottom - row.getBoundingClientRect().top, row.textContent.trim().slice(0, 40)];
})"""
"""How high each metric of the verdict table is, with the reason below it."""


@pytest.mark.parametrize("name", ["reference", "gpu/h200_64_cores", "serve-cpu"])
def test_a_metric_is_four_lines_on_a_telephone(browser: Browser, real: dict[str, Path], name: str) -> None:
    """Name and verdict, change and figure, the numbers behind it, and why it is open: no metric takes more."""
    browser.open(real[name], width=390, height=844)
    browser.run("document.querySelector('#verdicts').style.contentVisibility = 'visible'")
    line = browser.run("parseFloat(getComputedStyle(document.querySelector('.verdicts tbody .row th')).lineHeight)")
    found = browser.run(LINES)
    assert found
    assert [told for height, told in found if height > 4 * line + 16] == []


@pytest.mark.parametrize("width", [320, 390])
def test_a_command_breaks_between_its_words(browser: Browser, real: dict[str, Path], width: int) -> None:
    """On a telephone no option is cut from its name or its value: a word of the next step is on one line unless it is wider than that."""
    browser.open(real["gpu/h200_64_cores"], width=width)
    words = "[...document.querySelectorAll('.lines code .word-of')]"
    broken = browser.run(
        f"{words}.filter(each => each.getBoundingClientRect().height > 25 && !each.textContent.includes('/')).map(each => each.textContent)"
    )
    assert broken == []
    assert any(word.startswith("--profile ") for word in browser.run(f"{words}.map(each => each.textContent)"))


@pytest.mark.parametrize("width", [320, 500, 900, 1280])
def test_nothing_sticks_out(browser: Browser, report: Path, width: int) -> None:
    """However narrow the window, only tables and figures scroll sideways, never the page."""
    browser.open(report, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [320, 420])
def test_a_narrow_window_leaves_words_room(browser: Browser, tmp_path: Path, width: int) -> None:
    """On a telephone tables scroll sideways; first columns, and what is told of readings, are not squeezed to a few letters."""
    browser.open(_of_kind("watched", tmp_path), width=width)
    cells = "document.querySelectorAll('table.data tbody th, .courses td:nth-child(3)')"
    widths = f"[...{cells}].map((name) => name.getBoundingClientRect().width)"
    assert browser.run(f"Math.min(...{widths}.filter((each) => each > 0))") >= 100


def test_a_mark_stays_with_its_arm(browser: Browser, report: Path) -> None:
    """In the caption of a figure the mark, the arm's name and its value are not parted by the end of a line."""
    browser.open(report, width=420)
    heights = "[...document.querySelectorAll('.pairs .dir .of')].map((each) => each.getClientRects().length)"
    assert browser.run(f"{heights}.length") > 0
    assert browser.run(f"Math.max(...{heights})") == 1


@pytest.mark.parametrize("kind", ["ordinary", "answers"])
def test_no_window_cuts_the_verdict_table(browser: Browser, tmp_path: Path, kind: str) -> None:
    """On a telephone the verdict table stands as a card a row, in a small window it is closer: nothing of it lies beside the screen."""
    page = _of_kind(kind, tmp_path)
    for width in (390, 760, 1000, 1100, 1200, 1280):
        browser.open(page, width=width)
        cells = "[...document.querySelectorAll('.verdicts :is(td, th)')].filter((cell) => cell.getBoundingClientRect().width > 0)"
        assert browser.run(f"{cells}.filter((cell) => cell.getBoundingClientRect().right > {width - 15}).length") == 0, width
        assert browser.run(f"{cells}.length") > 12


def test_a_shared_reason_stays_above_its_rows(browser: Browser, tmp_path: Path) -> None:
    """Sorting leaves what all rows share before the first of them."""
    rows = [factory.row("a", f"accuracy@{task}", "equivalent", effect=0.001 * place, reason="one") for place, task in enumerate("xyz")]
    browser.open(_written(build(rows, [], made=factory.MADE, version="0"), tmp_path))
    browser.run("[...document.querySelectorAll('thead button')].find(b => b.textContent.startsWith('change')).click()")
    classes = "[...document.querySelector('.verdicts tbody').rows].map(row => row.className.split(' ')[0])"
    assert browser.run(classes) == ["group", "common", "row", "row", "row"]


def test_complete_without_script(browser: Browser, report: Path) -> None:
    """With scripts turned off every verdict, trial and record is still there."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(report)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.querySelectorAll('thead button').length") == 0
    assert len(browser.run(NAMES)) == 11
    assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
