"""The page of the proof, made from its chapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perfproof.validation.simulated.accuracy_chapter import answers
from perfproof.validation.simulated.agreement import agreement
from perfproof.validation.simulated.detection import detection
from perfproof.validation.simulated.false_alarms import correlated_blocks, false_alarms, many_metrics
from perfproof.validation.simulated.interval_coverage import coverage
from perfproof.validation.simulated.method_comparison import contest
from perfproof.validation.simulated.steps_chapter import steps
from perfproof.validation.tables import PROMISED_RUNS, Chapter, Target, table

CHAPTERS: tuple[Callable[[int, int], Chapter], ...] = (
    false_alarms,
    many_metrics,
    detection,
    coverage,
    correlated_blocks,
    agreement,
    answers,
    contest,
    steps,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole text in Markdown, and the targets that were checked."""

    text: str
    targets: tuple[Target, ...]
    short: bool

    @property
    def kept(self) -> bool:
        """Whether every promise was kept; always True for a short form, which can't show that."""
        return self.short or all(target.met for target in self.targets)


def write_page(seed: int, runs: int, tell: Callable[[str], None] = lambda title: None) -> Page:
    """Simulates every chapter with `runs` runs a case and puts the page together; `tell` gets each finished chapter's title."""
    made = []
    for simulate in CHAPTERS:
        made.append(simulate(seed, runs))
        tell(made[-1].title)
    targets = tuple(target for chapter in made for target in chapter.targets)
    rows = [[target.promise, target.measured, "met" if target.met else "**missed**"] for target in targets]
    parts = [
        "# Validation",
        f"Made by `make validate` ({runs:,} simulated runs a case, seed {seed}); nothing on this page is typed by hand. The deviation of a "
        "case is that of the log ratio of candidate to baseline over blocks; noise is drawn again for every case; margin 2 %. "
        "The pages of the runs themselves show what real machines do.",
        "## Promises",
        *(
            []
            if runs >= PROMISED_RUNS
            else [f"A short form: the promises are made for {PROMISED_RUNS:,} runs a case; with {runs:,}, chance decides."]
        ),
        table(["promise", "measured", ""], rows),
    ]
    for chapter in made:
        parts += [f"## {chapter.title}", chapter.text]
    return Page(text="\n\n".join(parts) + "\n", targets=targets, short=runs < PROMISED_RUNS)
