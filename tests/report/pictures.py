"""Pictures of a results folder's report: `python -m tests.report.pictures RESULTS --out FOLDER`.

Without further options the two of the README: the first screen, and a scenario's trials; with `--history`, of a history's folder, its
third. With `--looks` every look of the page (desktop, narrow, dark, print), for whoever changed something.
"""

from __future__ import annotations

import argparse
import base64
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from perfproof import cli
from tests.report.browser import Browser

WIDTH = 1240


def clip(browser: Browser, path: Path, script: str) -> None:
    """A picture of a part of the page: `script` gives its x, y, width and height in the page."""
    x, y, width, height = browser.run(script)
    area = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
    shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=area)
    Image.open(io.BytesIO(base64.b64decode(shot["data"]))).quantize(256).save(path, optimize=True)


def readme(browser: Browser, page: Path, out: Path) -> None:
    """The two pictures of the README."""
    browser.open(page, width=WIDTH)
    browser.run("[...document.querySelectorAll('section')].map(each => each.style.contentVisibility = 'visible').length")
    clip(browser, out / "answer.png", f"[0, 0, {WIDTH}, document.querySelector('#verdicts').offsetTop - 20]")
    heads = "[...document.querySelectorAll('#trials h3')]"
    served = f"{heads}.find(each => each.textContent.startsWith('serve_')) ?? {heads}[0]"
    figure = f"(head => [head.getBoundingClientRect(), head.nextElementSibling.getBoundingClientRect()])({served})"
    clip(browser, out / "trials.png", f"(([a, b]) => [0, a.top + scrollY - 16, {WIDTH}, b.bottom - a.top + 24])({figure})")


def history(browser: Browser, page: Path, out: Path) -> None:
    """The README's picture of a history: its small multiples."""
    browser.open(page, width=WIDTH)
    clip(
        browser, out / "history.png", f"[0, 0, {WIDTH}, document.querySelector('#multiples').getBoundingClientRect().bottom + scrollY + 14]"
    )


def looks(browser: Browser, page: Path, out: Path) -> None:
    """Every look of the page, whole."""
    for name, width, dark in (("desktop", WIDTH, False), ("dark", WIDTH, True), ("narrow", 390, False)):
        browser.open(page, width=width, dark=dark)
        browser.picture(out / f"{page.stem}-{name}.png")
    browser.open(page, width=WIDTH)
    printed = browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    (out / f"{page.stem}-print.pdf").write_bytes(base64.b64decode(printed["data"]))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.report.pictures", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--looks", action="store_true")
    parser.add_argument("--history", action="store_true")
    asked = parser.parse_args(words)
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / f"{asked.results.name}.html"
        cli.main(["report", "--history" if asked.history else "--results", str(asked.results), "--out", str(page)])
        browser = Browser()
        try:
            (looks if asked.looks else history if asked.history else readme)(browser, page, asked.out)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
