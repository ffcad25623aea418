"""The table in the terminal: the same words as the page, as wide as the terminal is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfproof.model.verdicts.gate_decision import Decision, Effect
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.formats import gate_view
from perfproof.report.text import behind_counts, sentences, table_headers
from perfproof.report.text.exact_first import UNTESTED, exact_first
from perfproof.report.text.shown_rows import CONTRADICTED, Shown, outcome, shown, sides

COLOURS: dict[Outcome | None, str] = {
    Outcome.REGRESSED: "bold red",
    Outcome.UNTESTABLE: "bold magenta",
    Outcome.INCONCLUSIVE: "bold yellow",
    Outcome.IMPROVED: "bold green",
    Outcome.LESS: "bold",
    Outcome.EQUIVALENT: "bold",
    Outcome.IDENTICAL: "bold",
    None: "dim",
}
HINT = "bold italic"
"""The style of a likely verdict: it has no outcome's colour."""
EFFECTS: dict[Effect, str] = {"fail": "bold red", "waived": "bold yellow", "warn": "bold yellow", "pass": "bold green", "report": "dim"}
WIDE = 108
"""From this width on, a table also shows the arms' values and the margin."""


class Fitting:
    """A renderable that lays itself out with `make` for the console's width."""

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
    with console.capture() as capture:
        console.print(render(page))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _page(page: Page, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(""), Text(f"{page.headline}.", style="bold")]
    for scenario in page.scenarios:
        parts.extend(_scenario(scenario, width))
    if page.warnings:
        parts.append(Text(""))
        parts.extend(Text("warning: ", style="yellow").append(each, style="default") for each in page.warnings)
    if page.decision is not None:
        parts.extend(_decision(page, page.decision))
    return Group(*parts, Text(""))


def _decision(page: Page, decision: Decision) -> Iterable[RenderableType]:
    """A gate's decision: one line per metric, with a reason unless it only reports; then what to do, and the headline last."""
    yield Text("")
    for one in gate_view.laid(page):
        ruling = one.ruling
        mark, style = gate_view.mark(ruling), "bold yellow" if gate_view.is_open(ruling) else EFFECTS[ruling.effect]
        head = Text(f"{mark} {gate_view.WORDS[ruling.effect]:<9}", style=style).append(f"{ruling.scenario}  ", style="default not bold")
        head.append(one.metric, style="default bold").append(f"  {gate_view.verdict(one)}", style="default not bold")
        yield head
        if ruling.effect != "report":
            yield Padding(Text(f"{ruling.rule}: ", style="dim").append(ruling.reason, style="default not dim"), (0, 0, 0, 11))
    for what, lines in (("what to do", decision.todo), ("note", decision.notes)):
        yield from (Text(f"{what}: ", style="dim").append(each, style="default not dim") for each in lines)
    fine = "bold green" if decision.judged else "bold yellow"
    style = fine if decision.passes else "bold red" if decision.exit_code in (1, 4) else "bold magenta"
    count = len(page.warnings)
    skipped = f"; {count} line{'s' * (count > 1)} of the records skipped, see above" if count else ""
    yield Text(f"{gate_view.headline(decision)} (exit code {decision.exit_code}){skipped}", style=style)


def _scenario(scenario: ScenarioView, width: int) -> Iterable[RenderableType]:
    head = Text("\n").append(_outcome(scenario)).append("  ").append(scenario.name, style="bold")
    if scenario.rows:
        head.append(f"  {sides(scenario)}{f'; {scenario.runner}' * bool(scenario.runner)}", style="dim")
    yield head
    if scenario.rows:
        yield Padding(_table([shown(scenario, row) for row in scenario.rows], width), (0, 0, 0, 2), expand=False)
    yield from _bullets((line for view in scenario.growths for line in formatting.growth(view)), "growth", "")
    yield from _bullets(sentences.on_answers(scenario.rows), "answers", "")
    yield from _bullets(behind_counts.counted(scenario.rows), "counted", "")
    yield from _bullets(behind_counts.loaded(scenario), "loaded", "")
    yield from _bullets(_contradictions(scenario), CONTRADICTED, "yellow")
    yield from _bullets(scenario.provisos, "caveat", "")
    yield from _bullets(scenario.unjudged, "not judged or not counted", "yellow")
    yield from _bullets(scenario.warnings, "warning", "")


_LEAST, _APART = 14, 2
"""The least width of the metric column, and the gap between columns."""


class Form(Enum):
    """How much a table shows: everything; no values of arms and no margin; no detectable effect either."""

    WIDE = "wide"
    USUAL = "usual"
    SHORT = "short"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its header, and one cell per row."""

    head: str
    cells: tuple[Text, ...]
    justify: Literal["left", "right"] = "right"

    @property
    def width(self) -> int:
        return max([cell_len(self.head), *(cell_len(line) for cell in self.cells for line in cell.plain.split("\n"))])

    @property
    def empty(self) -> bool:
        return all(cell.plain == units.NONE for cell in self.cells)


def _table(rows: Sequence[Shown], width: int) -> RenderableType:
    """The verdict table; several candidates have their names on lines above their rows."""
    candidates = list(dict.fromkeys(one.candidate for one in rows))
    ordered = sorted(rows, key=lambda one: candidates.index(one.candidate))
    names, columns = _columns(ordered, width)
    beside = [names] if names.width + sum(_APART + column.width for column in columns) <= width - 2 else []
    parts: list[RenderableType] = [_grid([*beside, *columns], [], head=True)]
    for candidate in candidates:
        if len(candidates) > 1:
            parts.append(Text(candidate, style="bold"))
        own = [(place, one.row) for place, one in enumerate(ordered) if one.candidate == candidate]
        parts += [_grid([names, *columns], own, head=False)] if beside else _under_names(names, columns, own)
    return Group(*parts)


def _under_names(names: Column, columns: Sequence[Column], rows: Sequence[tuple[int, Judged]]) -> Iterable[RenderableType]:
    """Rows for which the width has no room beside their names: each name on a line of its own."""
    for place, row in rows:
        yield Text(names.cells[place].plain, style="" if row.verdict else "dim")
        yield _grid(columns, [(place, row)], head=False)


def _grid(columns: Sequence[Column], rows: Sequence[tuple[int, Judged]], *, head: bool) -> Table:
    """Some rows of the table with their places in it, in columns as wide as the whole table needs; or its header."""
    grid = Table(box=None, padding=(0, _APART, 0, 0), header_style="dim", collapse_padding=True, pad_edge=False, show_header=head)
    for column in columns:
        grid.add_column(column.head, justify=column.justify, width=column.width, overflow="fold")
    for place, row in rows:
        grid.add_row(*(column.cells[place] for column in columns), style="" if row.verdict else "dim")
    return grid


def _columns(every: Sequence[Shown], width: int) -> tuple[Column, list[Column]]:
    """The column of the metrics' names, and those behind it that leave room for it. Where none does, the names are not folded: they do not
    fit beside the others."""
    rows = [one.row for one in every]
    head = table_headers.metric(rows)
    metrics = [f"{'↓' if row.better == 'lower' else '↑'} {table_headers.named(row, head)}" for row in rows]
    longest = max(_LEAST, 2 + max(cell_len(word) for metric in metrics for word in metric.split()))
    for form in Form if width >= WIDE else (Form.USUAL, Form.SHORT):
        columns = _behind(every, form)
        room = width - 2 - sum(_APART + column.width for column in columns)
        if room >= longest:
            return _metrics(head, metrics, room), columns
    return Column(head=head, cells=tuple(map(Text, metrics)), justify="left"), columns


def _metrics(head: str, metrics: Sequence[str], room: int) -> Column:
    """The column of metrics, folded between words where there is too little room."""
    cells = tuple(Text("\n".join(_folded(metric, room))) for metric in metrics)
    return Column(head=head.ljust(_LEAST), cells=cells, justify="left")


def _folded(metric: str, room: int) -> list[str]:
    """The lines of a metric's name; folded lines are indented by two spaces unless one space saves a line."""
    ways = (textwrap.wrap(metric, room, subsequent_indent=indent, break_on_hyphens=False) for indent in ("  ", " "))
    return min(ways, key=len)


def _behind(every: Sequence[Shown], form: Form) -> list[Column]:
    """The columns after the metrics; empty ones are left out, except the change."""
    rows = [one.row for one in every]
    wide, values = form == Form.WIDE, [formatting.values(row) for row in rows]
    columns = [
        _column("baseline", (first for first, _ in values) if wide else ()),
        _column("candidate", (second for _, second in values) if wide else ()),
        Column(head="change", cells=tuple(_change(row, wide) for row in rows)),
        _column(table_headers.interval(rows), (formatting.interval(row) or units.NONE for row in rows)),
        _column(table_headers.counted(rows), table_headers.counts(rows)),
        _column("margin", (formatting.margin(row) for row in rows) if wide else ()),
        _column("detectable" if wide else "detect.", (formatting.detectable(row) for row in rows) if form != Form.SHORT else ()),
        Column(head="verdict", cells=tuple(_verdict(one, wide) for one in every), justify="left"),
    ]
    return [column for column in columns if column.head == "change" or not column.empty]


def _column(head: str, cells: Iterable[str]) -> Column:
    return Column(head=head, cells=tuple(map(Text, cells)))


def _change(row: Judged, wide: bool) -> Text:
    times = formatting.factor(row) if wide else ""
    return Text(f"{formatting.change(row)} ({times})" if times else formatting.change(row), style="bold" if row.primary else "")


def _outcome(scenario: ScenarioView) -> Text:
    if exact_first(scenario) and not formatting.count_word(scenario.rows, scenario.outcome):
        return _word(scenario.outcome, scenario.suggests, UNTESTED)
    word, sign, look = outcome(scenario)
    plain = look == formatting.look(scenario.outcome, scenario.suggests)
    return Text(f"{sign} {word}", style=_word(scenario.outcome, scenario.suggests).style if plain else "bold")


def _word(outcome: Outcome | None, suggests: bool = False, word: str = "") -> Text:
    style = HINT if outcome and suggests else COLOURS[outcome]
    return Text(f"{formatting.symbol(outcome, suggests)} {word or formatting.outcome_word(outcome, suggests)}", style=style)


def _verdict(one: Shown, wide: bool) -> Text:
    """The verdict's cell; a likely verdict, "~ likely improved", takes two lines where room is short."""
    row = one.row
    style = HINT if row.verdict and row.suggests else COLOURS[row.verdict] if one.plain else "bold"
    word = Text(f"{one.sign} {one.word}", style=style)
    if wide or not row.suggests:
        return word
    return Text("\n  ".join(word.plain.rsplit(" ", 1)), style=word.style)


def _contradictions(scenario: ScenarioView) -> Iterator[str]:
    """What contradicts rows whose verdict is *contradicted*, with the folder that it lies in; rows that are alike share a line."""
    contradicted: dict[str, list[str]] = {}
    for one in (shown(scenario, row) for row in scenario.rows):
        if one.note:
            contradicted.setdefault(one.note, []).append(f"{formatting.label(one.row.metric)} ({one.row.candidate})")
    yield from (f"{formatting.listed(rows)}: {note}" for note, rows in contradicted.items())


def _bullets(lines: Iterable[str], what: str, style: str) -> Iterable[RenderableType]:
    for each in lines:
        yield Padding(Text(f"{what}: ", style="dim").append(each, style=style), (0, 0, 0, 2))
