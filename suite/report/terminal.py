"""The table in the terminal: the same words as the page, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suite.model.decision import Decision, Effect
from suite.model.judged import Judged, Outcome
from suite.model.metrics import ANSWERS
from suite.report import deciding, units, words
from suite.report.nouns import Page, ScenarioView

COLOURS: dict[Outcome | None, str] = {
    Outcome.REGRESSED: "bold red",
    Outcome.UNTESTABLE: "bold magenta",
    Outcome.INCONCLUSIVE: "bold yellow",
    Outcome.IMPROVED: "bold green",
    Outcome.EQUIVALENT: "bold",
    None: "dim",
}
HINT = "bold italic"
"""The style of a verdict that only suggests, in no outcome's colour."""
EFFECTS: dict[Effect, str] = {"fail": "bold red", "waived": "bold yellow", "warn": "bold yellow", "pass": "bold green", "report": "dim"}
WIDE = 108
"""From so many columns on, the table also shows the arms' values and the margin."""


class Fitting:
    """A renderable that asks the console for its width and gives what `make` lays out for it."""

    def __init__(self, make: Callable[[int], RenderableType]) -> None:
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make(options.max_width)


def render(page: Page) -> RenderableType:
    """The page, for a console to print."""
    return Fitting(lambda width: _page(page, width))


def show(page: Page, console: Console) -> None:
    """Prints the page."""
    console.print(render(page))


def text(page: Page, width: int = 120) -> str:
    """The page as plain text without colour."""
    console = Console(width=width, force_terminal=False, no_color=True, color_system=None, legacy_windows=False)
    with console.capture() as found:
        console.print(render(page))
    return "\n".join(line.rstrip() for line in found.get().splitlines()) + "\n"


def _page(page: Page, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(""), Text(f"{page.headline}.", style="bold")]
    for scenario in page.scenarios:
        parts.extend(_scenario(scenario, width))
    parts.extend(_bullets(page.warnings, "warning", ""))
    if page.decision is not None:
        parts.extend(_decision(page, page.decision))
    return Group(*parts, Text(""))


def _decision(page: Page, decision: Decision) -> Iterable[RenderableType]:
    """A gate's decision: a line a metric, the reasons of those that do something, what to do, and last the headline."""
    yield Text("")
    for one in deciding.laid(page):
        ruling = one.ruling
        mark, style = deciding.mark(ruling), "bold yellow" if deciding.is_open(ruling) else EFFECTS[ruling.effect]
        head = Text(f"{mark} {deciding.WORDS[ruling.effect]:<9}", style=style).append(f"{ruling.scenario}  ", style="default not bold")
        head.append(words.label(ruling.metric), style="default bold").append(f"  {deciding.verdict(one)}", style="default not bold")
        yield head
        if ruling.effect != "report":
            yield Padding(Text(f"{ruling.rule}: ", style="dim").append(ruling.reason, style="default not dim"), (0, 0, 0, 11))
    for what, told in (("what to do", decision.todo), ("note", decision.notes)):
        yield from (Text(f"{what}: ", style="dim").append(each, style="default not dim") for each in told)
    style = "bold green" if decision.passes else "bold red" if decision.exit_code in (1, 4) else "bold magenta"
    yield Text(f"{deciding.headline(decision)} (exit code {decision.exit_code})", style=style)


def _scenario(scenario: ScenarioView, width: int) -> Iterable[RenderableType]:
    head = Text("\n").append(_word(scenario.outcome, scenario.suggests)).append("  ").append(scenario.name, style="bold")
    if scenario.rows:
        candidates = ", ".join(dict.fromkeys(row.candidate for row in scenario.rows))
        head.append(f"  {candidates} against {scenario.rows[0].baseline}", style="dim")
    yield head
    if scenario.rows:
        yield Padding(_table(scenario.rows, width), (0, 0, 0, 2), expand=False)
    yield from _bullets((told for view in scenario.growths for told in words.growth(view)), "growth", "")
    yield from _bullets(_answers(scenario.rows), "answers", "")
    yield from _bullets(scenario.provisos, "bear in mind", "")
    yield from _bullets(scenario.unjudged, "not judged or not counted", "yellow")
    yield from _bullets(scenario.warnings, "warning", "")


_HEADS = ("baseline", "candidate", "change", "interval, %", "blocks", "margin", "detectable", "? inconclusive")
"""The widest that stands in each column of the wide form anyway, the metric's apart."""
_METRIC = 14
DECIDED = ("regressed", "improved", "equivalent")
"""Verdicts whose reason stands nowhere else."""


def _answers(rows: Sequence[Judged]) -> list[str]:
    """What is said of answers, alike ones together: it tells what the baseline did when asked again. What was not settled stands below."""
    told = [row for row in rows if (row.verdict if row.metric in ANSWERS else words.of_accuracy(row) and row.verdict in DECIDED)]
    return words.claims(told, len({row.candidate for row in rows}) > 1)


def _room(rows: Sequence[Judged]) -> int:
    """The width that the wide form needs at least: no number of it and no verdict may be cut."""
    cells: list[list[int]] = [[text.cell_len for text in _cells(row, True, False)][1:] for row in rows]
    widest = [max([len(head), *(row[place] for row in cells)]) for place, head in enumerate(_HEADS)]
    return 2 + _METRIC + sum(2 + width for width in widest)


def _table(rows: Sequence[Judged], width: int) -> Table:
    wide, several = width >= max(WIDE, _room(rows)), len({row.candidate for row in rows}) > 1
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", collapse_padding=True, pad_edge=False)
    table.add_column("metric", overflow="fold", min_width=_METRIC)
    if wide:
        table.add_column("baseline", justify="right", no_wrap=True)
        table.add_column("candidate", justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("interval, %", justify="right", no_wrap=True)
    table.add_column("blocks", justify="right", no_wrap=True)
    if wide:
        table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("detectable" if wide else "detect.", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True, min_width=max([len("? inconclusive"), *(_widest(_verdict(row, wide)) for row in rows)]))
    for row in rows:
        table.add_row(*_cells(row, wide, several), style="" if row.verdict else "dim")
    return table


def _cells(row: Judged, wide: bool, several: bool) -> Iterable[Text]:
    below = f"\n{row.candidate}" if several else ""
    yield Text(f"{'↓' if row.better == 'lower' else '↑'} {words.label(row.metric)}").append(below, style="dim")
    if wide:
        yield from (Text(value) for value in words.values(row))
    yield Text(words.change(row) + (f" ({words.factor(row)})" if wide and words.factor(row) else ""), style="bold" if row.primary else "")
    yield Text(words.interval(row) or units.NONE)
    yield Text(str(row.blocks))
    if wide:
        yield Text(words.margin(row))
    yield Text(words.detectable(row))
    yield _verdict(row, wide)


def _word(outcome: Outcome | None, suggests: bool = False) -> Text:
    style = HINT if outcome and suggests else COLOURS[outcome]
    return Text(f"{words.symbol(outcome, suggests)} {words.said(outcome, suggests)}", style=style)


def _verdict(row: Judged, wide: bool) -> Text:
    """The verdict's cell; a hint, "~ suggests an improvement", takes two lines where room is short."""
    word = _word(row.verdict, row.suggests)
    if wide or not row.suggests:
        return word
    return Text("\n  ".join(word.plain.rsplit(" ", 1)), style=word.style)


def _widest(text: Text) -> int:
    return max(line.cell_len for line in text.split("\n"))


def _bullets(told: Iterable[str], what: str, style: str) -> Iterable[RenderableType]:
    for each in told:
        yield Padding(Text(f"{what}: ", style="dim").append(each, style=style), (0, 0, 0, 2))
