"""The answer on a change: text, page and exit code, from what was found out when `perfproof pr` ends, wherever that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.answer_budget import Began
from perfproof.changes.call_coverage import NOT_TESTED, about_answers, borne_out, called, sentences
from perfproof.changes.change_notes import TIMES_NOT_TESTED, conclusion, measurable, uncounted
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.host_count import HostCount
from perfproof.changes.observed.observed_calls import keep_records
from perfproof.changes.scenario_selection import NEIGHBOURS, Chosen, reason_lines
from perfproof.commands import record_verdicts
from perfproof.model.installed import extras
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Profile
from perfproof.model.verdicts.gate_decision import Ruling
from perfproof.model.verdicts.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to measure it. `scenarios` is None for those that the change picks, and one that was written for `bench` where
    that is named; `results` None for a folder that belongs to the change."""

    scenarios: Sequence[Path] | None
    tests: Sequence[Path]
    profile: Profile
    seed: int
    blocks: int | None
    budget: float | None
    results: Path | None
    builds: Path
    text: Path
    report: Path
    print_text: bool
    wait: float
    anyway: bool
    no_count: bool
    count_features: Sequence[str]
    bench: Path | None = None
    began: Began = field(default_factory=Began)
    """When the command began, from which its budget counts."""

    @property
    def page(self) -> Path | None:
        """The file of the page; None where this install can't draw one."""
        return None if extras.lacking("report") else self.report

    @property
    def written(self) -> str:
        """Where the text and the page are."""
        page = self.page or f"none: a page {extras.without('report', extras.lacking('report'))}"
        return f"text for the pull request: {self.text}\nreport: {page}"


@dataclass(slots=True, kw_only=True)
class Answer:
    """What is known of a change so far, and where the answer goes. `command` repeats it, and `goes_on` measures what is missing. `host` is
    its count, `notes` begin with the builds, and `missing` says what was not measured for the budget. `files` are those that the change
    touches, in words; `offers` says how to find the lines behind what regressed."""

    wanted: Wanted
    command: str
    goes_on: str
    console: Console
    files: str
    notes: Sequence[str]
    offers: Callable[[Sequence[Ruling]], Iterable[str]]
    host: HostCount = field(default_factory=HostCount)
    missing: Sequence[str] = ()

    @property
    def first(self) -> str:
        """The first sentence: what was compared with what."""
        return f"{self.notes[0]}, which changes {self.files}"

    def without_times(self, why: Exception, code: int) -> int:
        """Writes text and report of a change that has no times; its count, if there is one, is the answer. Returns the exit code."""
        first, *rest = str(why).splitlines()
        for line in rest:
            self.say(line)
        return self._without(f"no times: {first}", self.host.headline, code)

    def stopped(self, code: int) -> int:
        """Writes text and report of a change that breaks vLLM's own tests. Returns the exit code."""
        return self._without("no times: nothing is measured of a change that breaks tests", "the change breaks vLLM's own tests", code)

    def _without(self, why: str, headline: str, code: int) -> int:
        ran = self.host.calls
        notes = [
            self.first,
            *self.host.sentences(),
            *ran,
            *self.notes[1:],
            why,
            f"the same command without a budget goes on from here: {self.goes_on}",
        ]
        block = record_verdicts.show_counted(headline, notes, counts=self.host.document(), report=self.wanted.page, text=self.wanted.text)
        if self.wanted.print_text:
            self.say(block)
        for line in ran:
            self.say(line)
        self.say(why, style="bold yellow")
        self.say(f"{headline} (exit code {code})", style="bold")
        self.say(self.wanted.written)
        return code

    def by_scenarios(self, plan: Plan, results: Path, functions: Watching, chosen: Chosen, base: ReadyBuild) -> int:
        """Judges the scenarios that ran the change, writes text and report, and says what decided. Returns the exit code.

        A scenario that never ran the change does not decide if another one did. Where answers should be tested and were not, "nothing got
        worse" is not a pass.
        """
        read = store.read(results)
        keep_records(base, plan.scenarios, read.records, self.wanted.builds)
        only, absent = measurable(plan, read.records)
        about = about_answers(plan.scenarios) & only
        calls = called(functions, [one.name for one in plan.scenarios if one.name in only], read.records)
        deciding = only - set(calls.aside)
        ran, why = (
            [*sentences(calls, about), *([] if calls.ran else self.host.calls)],
            reason_lines(borne_out(chosen.reasons, calls, functions)),
        )
        kept = [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
        unsure = uncounted(functions, deciding, read.records) if functions.unknown else []
        notes = [self.first, *self.host.sentences(), *ran, *self.notes[1:], *why, *kept, *self.missing, *unsure, *absent]

        def against(rows: Sequence[Judged]) -> Sequence[str]:
            ran.extend(lines := self.host.contradictions([(row.scenario, row.metric, row.verdict) for row in rows]))
            return lines

        block, decision = record_verdicts.show_change(
            results,
            read,
            self.console,
            report=self.wanted.page,
            text=self.wanted.text,
            only=deciding,
            notes=notes,
            command=self.command,
            against=against,
            counts=self.host.document(),
        )
        if self.wanted.print_text:
            self.say(block)
        untested = bool(calls.untested(about)) and bool(about or self.wanted.scenarios is None)
        code, more = conclusion(decision, read.records, self.host, untested=untested, no_calls=not calls.ran and set(calls.idle) == only)
        for line in [*ran, *more, *self.offers(decision.rulings)]:
            self.say(line, style="bold yellow" if NOT_TESTED in line or TIMES_NOT_TESTED in line else "")
        self.say(f"{self.wanted.written}\nrecords: {results}; the same command goes on from there")
        return code

    def say(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
