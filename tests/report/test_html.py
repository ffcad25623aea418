"""The page: one well-formed file that asks for nothing and trusts nobody."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from perfproof.report import html
from perfproof.report.panels import reproduce
from perfproof.report.view import Page, build
from tests.report import factory

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


class Reader(HTMLParser):
    """Checks nesting and collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


def read(page: Page) -> Reader:
    reader = Reader()
    reader.feed(html.render(page))
    reader.close()
    return reader


@pytest.fixture(scope="module")
def ordinary() -> Reader:
    return read(factory.page(warnings=["the whole run was watched"]))


@pytest.fixture(scope="module")
def hostile() -> Reader:
    return read(factory.page(factory.hostile()))


def test_elements_are_closed_in_order(ordinary: Reader, hostile: Reader) -> None:
    """Every element that is opened is closed, also where names hold markup."""
    assert ordinary.open == hostile.open == []


def test_ids_are_unique_and_links_lead_somewhere(ordinary: Reader) -> None:
    """No id stands twice, and every reference within the page has its target."""
    ids = Counter(value for _, name, value in ordinary.attributes if name == "id")
    assert [name for name, count in ids.items() if count > 1] == []
    wanted = {value for _, name, value in ordinary.attributes if name in ("href", "xlink:href") and value.startswith("#")}
    wanted |= {f"#{found}" for _, _, value in ordinary.attributes for found in re.findall(r"url\(#([^)]+)\)", value)}
    wanted |= {f"#{value}" for _, name, value in ordinary.attributes if name in ("data-row", "aria-labelledby")}
    assert {target.removeprefix("#") for target in wanted} <= set(ids)


def test_nothing_is_asked_of_the_network(ordinary: Reader, hostile: Reader) -> None:
    """No element loads anything, and the page's own policy forbids it."""
    for reader in (ordinary, hostile):
        loading = {"src", "srcset", "data", "poster", "background", "action", "formaction"}
        assert [found for found in reader.attributes if found[1] in loading] == []
        targets = [value for _, name, value in reader.attributes if name in ("href", "xlink:href")]
        assert all(target.startswith(("#", "data:")) for target in targets)
        policy = next(value for tag, name, value in reader.attributes if tag == "meta" and value.startswith("default-src"))
        assert policy.startswith("default-src 'none'")
        assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_foreign_text_is_text(hostile: Reader) -> None:
    """Markup in any field is shown, not obeyed: one script (ours), no image, no handler."""
    assert hostile.tags["script"] == 1
    assert hostile.tags["img"] == 0
    assert [name for _, name, _ in hostile.attributes if name.startswith("on")] == []
    assert any("<script>alert(1)</script>" in text for text in hostile.text)


def test_no_control_or_hiding_character_gets_in(hostile: Reader) -> None:
    """Escape sequences, direction marks and lone surrogates never reach the page."""
    text = "".join([*hostile.text, *(value for _, _, value in hostile.attributes)])
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ud800-\udfff]", text)
    html.render(factory.page(factory.hostile())).encode("utf-8")


def test_a_megabyte_line_is_shortened() -> None:
    """Long lines are cut for reading; the records keep them."""
    assert len(html.render(factory.page(factory.hostile()))) < 400_000


def test_every_figure_has_a_name_and_a_table(ordinary: Reader) -> None:
    """Every graphic says in words what it shows, and a table stands behind every figure."""
    labels = [value for tag, name, value in ordinary.attributes if tag == "svg" and name == "aria-label"]
    assert len(labels) == ordinary.tags["svg"]
    assert all(labels)
    figures, scenarios, growths, spreads = ordinary.tags["figure"], 5, 1, 6
    assert figures == 1 + 8 + growths + spreads
    assert ordinary.tags["details"] == 2 * scenarios + growths + spreads + 1


def test_every_trial_has_its_dot() -> None:
    """A figure has a mark for every trial of both arms, those that don't count among them, and each leads to its line."""
    page = factory.page(factory.thinking())
    reader = read(page)
    rows = [value for _, name, value in reader.attributes if name == "data-row"]
    assert sorted(rows) == sorted(f"s1-t{number}" for number in range(12) for _ in range(2))


def test_bad_news_is_outside_every_fold() -> None:
    """What could not be judged stands in the open, before the first fold."""
    text = html.render(factory.page())
    first = text.index("<details")
    for scenario in factory.page().scenarios:
        for told in scenario.unjudged:
            assert 0 < text.index(told.replace("'", "&#39;")) < first


def test_records_can_be_taken_out_of_the_page(ordinary: Reader) -> None:
    """The link holds every record, whole, as JSON lines."""
    link = next(value for _, name, value in ordinary.attributes if name == "href" and value.startswith("data:application/gzip"))
    lines = gzip.decompress(base64.b64decode(link.partition(",")[2])).decode("ascii").splitlines()
    records, parsed = factory.page().records, [json.loads(line) for line in lines]
    assert [found["measurements"] for found in parsed] == [dict(record.measurements) for record in records]
    assert [found["raw"] for found in parsed] == [{name: list(values) for name, values in record.raw.items()} for record in records]


def test_records_too_large_lose_their_rounds_and_say_so() -> None:
    """Where the rounds inside trials would make the page too large, they alone are left out, and the page says so."""
    rounds = [0.001 + k / 3e7 for k in range(20_000)]
    records = [factory.failed(record, "ok", "", raw={"round_time": rounds}) for record in factory.swap_states()[1]]
    packed, whole = reproduce.pack(records)
    assert not whole
    assert "raw" not in json.loads(gzip.decompress(packed).splitlines()[0])
    assert "left out for their size" in html.render(build([], records, made="", version="0"))


def test_no_records_at_all_make_a_page() -> None:
    """An empty results folder gives a page that says so."""
    page = build([], [], made=factory.MADE, version="0.1.0")
    assert "There are no records to judge" in "".join(read(page).text)


def test_page_is_the_same_every_time() -> None:
    """The same records make the same bytes."""
    assert html.render(factory.page()) == html.render(factory.page())


def test_five_hundred_trials_stay_small() -> None:
    """500 trials with 40 metrics in 6 scenarios make a page under 3 MB."""
    rows, records = [], []
    for number in range(6):
        base = {f"round_time@size={k}": 1e-3 * (k + 1) for k in range(40)}
        records += factory.trials(f"scenario_{number}", 42, base, {}, 0.02)
        rows += [factory.row(f"scenario_{number}", metric, "equivalent" if k < 4 else None) for k, metric in enumerate(base)]
    assert len(html.render(build(rows, records, made=factory.MADE, version="0.1.0")).encode()) < 3_000_000


def test_templates_are_part_of_the_package() -> None:
    """Every asset lies within the package, so that an installed suite finds it."""
    names = {path.name for path in (Path(html.__file__).parent / "assets").iterdir()}
    assert {f"{name}.html" for name, _, _ in html.PANELS} | {"page.html", "page.css", "page.js", "macros.html"} <= names


def test_on_paper_a_number_is_never_cut_in_two() -> None:
    """A 16,006.5 over two lines reads as 16,00: in a table that fits the page, words make room and numbers stay whole."""
    printed = (Path(html.__file__).parent / "assets" / "page.css").read_text().partition("@media print")[2]
    assert "table.data:not(.wide) .n { white-space: normal; overflow-wrap: break-word; }" in printed
    assert not re.search(r"table\.data \.n \{[^}]*overflow-wrap: anywhere", printed)
    assert not re.search(r"table\.data td, table\.data th \{[^}]*overflow-wrap: anywhere", printed)
