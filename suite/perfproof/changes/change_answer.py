"""The answer on a change: text, page and exit code, from what was found out when `perfproof pr` ends, wherever that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.answer_budget import Began
from perfproof.changes.call_coverage import CALLED, MOST_TOLD, NOT_TESTED, about_answers, borne_out, called, called_by_case, sentences
from perfproof.changes.change_notes import (
    BESIDE,
    TIMES_NOT_TESTED,
    UNPROVED,
    beside_the_change,
    conclusion,
    exactly_first,
    measurable,
    measured_times,
    uncounted,
    unproved,
    unseen_lines,
)
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.host_count import RAN, HostCount
from perfproof.changes.observed.observed_calls import keep_records
from perfproof.changes.scenario_selection import NEIGHBOURS, Chosen, reason_lines
from perfproof.commands import record_verdicts
from perfproof.model.base.errors import EXIT_INCONCLUSIVE
from perfproof.model.base.name_lists import few
from perfproof.model.installed import extras
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Profile
from perfproof.model.verdicts.gate_decision import Ruling
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY


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
        return self._without(f"no times: {first}", self.host.headline, self.host.calls, code)

    def stopped(self, code: int) -> int:
        """Writes text and report of a change that breaks vLLM's own tests. Returns the exit code."""
        why = "no times: nothing is measured of a change that breaks tests"
        return self._without(why, "the change breaks vLLM's own tests", self.host.calls, code)

    def _never_run(self, ran: Sequence[str], idle: Sequence[str]) -> int:
        """Writes text and report of a change that no measured scenario ran, while a counted feature did: its count is the answer, and no
        pass, since neither times nor answers were tested. Returns the exit code."""
        code = self.host.code(DEFAULT_POLICY) or EXIT_INCONCLUSIVE
        what = "the same command without a budget measures others" if self.missing else "name or write one that does (--scenarios)"
        why = f"no times: no scenario ran the change: {few(idle, MOST_TOLD)} never called it; {what}"
        return self._without(why, self.host.headline, ran, code)

    def _without(self, why: str, headline: str, ran: Sequence[str], code: int) -> int:
        again = "the same command" if self.wanted.budget is None else "the same command without a budget goes on from here"
        notes = [
            self.first,
            *self.host.sentences(),
            *ran,
            *self.notes[1:],
            why,
            *self.missing,
            f"{again}: {self.goes_on}",
        ]
        block = record_verdicts.show_counted(headline, notes, counts=self.host.document(), report=self.wanted.page, text=self.wanted.text)
        if self.wanted.print_text:
            self.say(block)
        for line in ran:
            self.say(line, style="bold yellow" if NOT_TESTED in line else "")
        self.say(why, style="bold yellow")
        untimed = f"; {TIMES_NOT_TESTED}" if code == EXIT_INCONCLUSIVE else ""
        self.say(f"{headline}{untimed} (exit code {code})", style="bold")
        self.say(self.wanted.written)
        return code

    def by_scenarios(self, plan: Plan, results: Path, functions: Watching, chosen: Chosen, base: ReadyBuild) -> int:
        """Judges the scenarios that ran the change, writes text and report, and says what decided. Returns the exit code.

        A scenario that never ran the change does not decide if another one did. Where none did and a counted feature did, the count is the
        answer. Where answers should be tested and were not, "nothing got worse" is not a pass.
        """
        read = store.read(results)
        keep_records(base, plan.scenarios, read.records, self.wanted.builds)
        only, absent = measurable(plan, read.records)
        about = about_answers(plan.scenarios) & only
        calls = called(functions, [one.name for one in plan.scenarios if one.name in only], read.records)
        needed = bool(about or self.wanted.scenarios is None)
        unseen = unseen_lines(self.host) if needed and calls.ran else ""
        ran = [*sentences(calls, about), *filter(None, [unseen]), *([] if calls.ran else self.host.calls)]
        tried = {record.scenario for record in read.records} & only
        if self.host.ran and calls.idle and not calls.ran and tried <= set(calls.idle):
            return self._never_run(ran, calls.idle)
        deciding = only - set(calls.aside)
        why = reason_lines(borne_out(chosen.reasons, calls, functions))
        kept = [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
        unsure = uncounted(functions, deciding, read.records) if functions.unknown else []
        rest = [*self.notes[1:], *why, *kept, *self.missing, *unsure, *absent]
        judged: list[Judged] = []
        beside: list[str] = []

        def about_change(rows: Sequence[Judged]) -> tuple[str, Sequence[str]]:
            judged.extend(rows)
            doubt, against = unproved(rows, self.host), self.host.contradictions(measured_times(rows))
            counted = self.host.sentences()
            if doubt:
                counted = [doubt, *counted[1:]]
                ran[:] = [line.replace(RAN, CALLED) if line.startswith(RAN) else line for line in ran]
            beside.extend(beside_the_change(rows, called_by_case(functions, only, read.records)))
            notes = [self.first, *against, *beside, *counted, *ran, *rest]
            ran.extend(against)
            return UNPROVED if doubt else BESIDE if beside else exactly_first(rows, self.host), notes

        block, decision = record_verdicts.show_change(
            results,
            read,
            self.console,
            report=self.wanted.page,
            text=self.wanted.text,
            only=deciding,
            about=about_change,
            command=self.command,
            counts=self.host.document(),
        )
        if self.wanted.print_text:
            self.say(block)
        untested = needed and bool(calls.untested(about) or unseen)
        code, more = conclusion(decision, judged, read.records, self.host, untested=untested, beside=beside)
        for line in [*ran, *more, *self.offers(decision.rulings)]:
            self.say(line, style="bold yellow" if any(word in line for word in (NOT_TESTED, TIMES_NOT_TESTED, UNPROVED, BESIDE)) else "")
        self.say(f"{self.wanted.written}\nrecords: {results}; the same command goes on from there")
        return code

    def say(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
