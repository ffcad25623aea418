"""docs/patches.md: its table is what the committed records say, and the tests that it names exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perfproof import store
from perfproof.analysis.judging.judge import judge_records
from perfproof.builds.install.side_folder import entry_points
from perfproof.patches.guard import Patch
from perfproof.report import view
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "patches.md"
RECORDS = ROOT / "results" / "patches"
BEGIN, END = "<!-- from results/patches -->", "<!-- end -->"


def page() -> Page:
    records = store.read(RECORDS).records
    judged = [row for one in judge_records(records) for row in one.judged]
    return view.build(judged, records, made="", version="", results="results/patches")


def rows(of: Page) -> Iterable[str]:
    """Every judged metric on a line, then how each cost grows."""
    yield "| scenario | metric | against | | baseline | candidate | change | interval, % | blocks | verdict |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for scenario in of.scenarios:
        for row in scenario.rows:
            if row.verdict:
                first, second = formatting.values(row)
                change = f"{formatting.change(row)} ({formatting.factor(row)})" if formatting.factor(row) else formatting.change(row)
                cells = (
                    formatting.label(row.metric),
                    row.baseline,
                    row.candidate,
                    first,
                    second,
                    change,
                    formatting.interval(row),
                    str(row.blocks),
                )
                yield f"| `{scenario.name}` | {' | '.join(cells)} | {row.verdict} |"
    yield ""
    for scenario in of.scenarios:
        yield from (f"- `{scenario.name}`: {told}" for grown in scenario.growths for told in formatting.growth(grown))


def test_the_table_is_what_the_records_say() -> None:
    """The measured table of the page is made from the records; `PERFPROOF_GOLDEN=write` makes it again."""
    made = "\n".join([BEGIN, "", *rows(page()), "", END])
    text = PAGE.read_text(encoding="utf-8")
    kept = re.search(f"{re.escape(BEGIN)}.*?{re.escape(END)}", text, flags=re.S)
    assert kept, f"{PAGE} has no measured table"
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        PAGE.write_text(text.replace(kept[0], made), encoding="utf-8")
        return
    assert kept[0] == made


def test_every_test_that_the_page_names_is_there() -> None:
    """A planted fault that is said to be caught has the test that catches it."""
    there = "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests" / "inside").rglob("test_*.py")))
    named = set(re.findall(r"`(?:test_\w+\.py::)?(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) >= 8
    assert [name for name in named if f"def {name}(" not in there] == []


def test_every_patch_is_on_the_page_with_where_it_holds() -> None:
    """The page's first table names every patch with each release that it holds for."""
    from perfproof.run.checks.catalog import patches

    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for name, patch in patches().items():
        if patch.origin == "the suite's own":
            continue
        line = next((line for line in lines if line.startswith(f"| `{name}`")), "")
        assert line, f"{name} is not in the table of {PAGE.name}"
        assert [release for release in patch.holds if release not in line] == []


def test_the_example_of_a_patch_is_one(tmp_path: Path) -> None:
    """What the page says to write is a patch of its file's name, and is found as one."""
    source, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    name = Path(source.splitlines()[0].removeprefix("# ")).stem
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / f"{name}.py").write_text(source)
    assert name in entry_points(tmp_path)
    found: dict[str, Any] = {}
    exec(source, found)
    assert isinstance(found["PATCH"], Patch)
    assert found["PATCH"].name == name
    assert set(found["PATCH"].holds) == set(found["SCHEDULE"].sources)
