"""The page of the real part, from the kept lines: every verdict is computed again, nothing is typed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import metadata
from statistics import fmean, median

import numpy as np

from perfproof.analysis.trials.invalidation import STANDARD
from perfproof.model.verdicts.judged import Outcome
from perfproof.validation.real import injected
from perfproof.validation.real.outcomes import Run, Sitting, rounds_of, verdict_of
from perfproof.validation.simulated.other_tools import TOOLS
from perfproof.validation.tables import pc, table

COMMAND = "python -m perfproof.validation.real --page-only --out docs/validation-real.md"
OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.EQUIVALENT, Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)


def page(runs: Sequence[Run], sittings: Sequence[Sitting]) -> str:
    """The whole page in Markdown."""
    micro, serve = ([run for run in runs if run.workload == workload] for workload in ("micro", "serve"))
    parts = [
        "# Validation on a real machine",
        f"Made by `make validate-real`; the page alone, from the lines in `results/validation`, by `{COMMAND}`. Nothing on it is typed by "
        "hand, and every verdict is computed again from the trials.",
        _how(),
        "## Promises",
        table(["promise", "measured", ""], _promises(micro)),
        "## The microbenchmark",
        _chapter(micro),
        "## The toy server",
        _chapter(serve),
        "## Other tools on the same machine",
        _same(micro),
        _others(micro, sittings),
        "## What the machine did meanwhile",
        _machine(runs),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _how() -> str:
    p = injected.MICRO["parameters"]
    return (
        "The slowdown is a busy wait after each call of one function of vLLM, for a fraction of that call's own duration "
        "(`suite/perfproof/patches/planted/known_slowdown.py`). Its counters say what it really added. 0 % is the same wrapper "
        "without a wait, against the "
        f"unpatched baseline. The microbenchmark is `{injected.MICRO['bench']}` with {p['requests']} requests of {p['output_length']:,} "
        f"tokens, {p['rounds']} rounds of {p['steps']} steps a trial; margin {100 * injected.MARGIN:g} %, looks at 6, 10, 16 and 24 "
        "blocks, as by default. Runs of a batch take turns, block by block, and the first trials of each block number share one import of "
        "vLLM. A run that was cut short took its next look early, as one does whose time budget is spent."
    )


def _promises(micro: Sequence[Run]) -> list[list[str]]:
    rows = []
    for percent in (5, 10):
        found, of = _count(micro, percent, Outcome.REGRESSED)
        rows.append(
            [f"{percent} % is *regressed* in at least 9 of 10 runs", f"{found} of {of}", _met(of >= 10 and found >= 0.9 * of, of < 10)]
        )
    false, of = _count(micro, 0, Outcome.REGRESSED)
    rows.append(["0 % is *regressed* at most once in 40 runs", f"{false} of {of}", _met(of >= 40 and false <= of / 40, of < 40)])
    spreads = [spread for run in micro if (spread := _spread(run)) is not None]
    if spreads:
        rows.append(["block deviation at most 3 %", f"{pc(median(spreads))} % (median of the runs)", _met(median(spreads) <= 0.03, False)])
    return rows


def _met(kept: bool, short: bool) -> str:
    return "too few runs" if short else "met" if kept else "**missed**"


def _count(runs: Iterable[Run], percent: int, outcome: Outcome) -> tuple[int, int]:
    outcomes = [verdict_of(run).outcome for run in runs if run.percent == percent]
    return outcomes.count(outcome), len(outcomes)


def _chapter(runs: Sequence[Run]) -> str:
    """A table with one row per slowdown, and the vLLM releases and the number of machines."""
    if not runs:
        return "Not measured yet."
    rows = [_row([run for run in runs if run.percent == percent]) for percent in sorted({run.percent for run in runs})]
    header = [
        "injected",
        f"added, of {runs[0].of}",
        "runs",
        *(str(outcome) for outcome in OUTCOMES),
        "estimate, median (least to most)",
        "minimum detectable effect, median (least to most)",
        "block deviation",
        "blocks",
        "cut short",
        "seconds of trials",
    ]
    machines, releases = {run.machine for run in runs}, sorted({run.vllm for run in runs})
    head = f"vLLM {', '.join(releases)}; {len(machines)} machine{'s' if len(machines) > 1 else ''}; {min(run.when for run in runs)[:10]}."
    note = (
        "The minimum detectable effect is what each run printed beside its verdict: the slowdown that its blocks and their spread would "
        "have called *regressed* with 80 % power."
    )
    return f"{head} {note}\n\n{table(header, rows)}"


def _row(runs: Sequence[Run]) -> list[str]:
    verdicts = [verdict_of(run) for run in runs]
    counts = Counter(verdict.outcome for verdict in verdicts)
    compared = [verdict.comparison for verdict in verdicts if verdict.comparison is not None]
    added = [trial.added for run in runs for trial in run.trials if trial.arm == "b" and trial.status == "ok"]
    spreads = [spread for run in runs if (spread := _spread(run)) is not None]
    return [
        f"{runs[0].percent} %",
        f"{100 * fmean(added):.2f} %" if added else "",
        str(len(runs)),
        *(str(counts[outcome]) for outcome in OUTCOMES),
        _range([one.effect for one in compared], signed=True),
        _range([one.mde for one in compared if one.mde is not None]),
        f"{pc(median(spreads))} %" if spreads else "",
        f"{fmean(run.blocks for run in runs):.1f}",
        str(sum(run.cut for run in runs)),
        f"{fmean(sum(trial.seconds for trial in run.trials) for run in runs):.0f}",
    ]


def _range(values: Sequence[float], *, signed: bool = False) -> str:
    if not values:
        return ""
    sign = "+" if signed else ""
    middle, low, high = (f"{100 * each:{sign}.1f}" for each in (median(values), min(values), max(values)))
    return f"{middle} % ({low} to {high})"


def _spread(run: Run) -> float | None:
    """The deviation of log(candidate / baseline) over a run's whole blocks."""
    sides: dict[str, dict[int, float]] = {"a": {}, "b": {}}
    for trial in run.trials:
        sides[trial.arm].pop(trial.block, None)
        if trial.status == "ok" and trial.value:
            sides[trial.arm][trial.block] = trial.value
    both = sorted(sides["a"].keys() & sides["b"].keys())
    if len(both) < 2:
        return None
    return float(np.std([np.log(sides["b"][block] / sides["a"][block]) for block in both], ddof=1))


def _same(micro: Sequence[Run]) -> str:
    """How often each tool says "slower" about the trials of perfproof's own runs."""
    percents = sorted({run.percent for run in micro})
    if not percents:
        return "Not measured yet."
    of = {percent: [run for run in micro if run.percent == percent] for percent in percents}
    rows = [["**perfproof**", *(_share(*_count(micro, percent, Outcome.REGRESSED)) for percent in percents)]]
    for tool in [tool for tool in TOOLS if tool.installed]:
        slower = {p: sum(tool.slower(*rounds_of(run)) for run in of[p]) for p in percents}
        rows.append([tool.name, *(_share(slower[percent], len(of[percent])) for percent in percents)])
    text = (
        "The same trials as in perfproof's runs, interleaved and stopped as perfproof stopped them, given to the other tools: the same "
        "machine, the same slowdowns, the same wall time. That favours them over their own recipe, which runs the baseline first. "
        "Each trial is a process, with all its rounds; *one process* looks at the first of each. What they say of 0 % are false alarms. "
        "`pytest-benchmark` and `asv` have thresholds of 5 and 10 %, and do not detect less."
    )
    return f"{text}\n\n{table(['says slower', *(f'+{percent} %' for percent in percents)], rows)}\n\n{_versions()}"


def _others(micro: Sequence[Run], sittings: Sequence[Sitting]) -> str:
    """How often each tool says "slower" about its sittings, and perfproof about its runs."""
    if not sittings:
        return "With their usual recipe, all of the baseline first, they were not measured yet."
    percents = sorted({sitting.percent for sitting in sittings})
    of = {percent: [sitting for sitting in sittings if sitting.percent == percent] for percent in percents}
    rows = [["**perfproof**", *(_share(*_count(micro, percent, Outcome.REGRESSED)) for percent in percents)]]
    tools = [tool for tool in TOOLS if tool.installed]
    for tool in tools:
        slower = {p: sum(tool.slower(np.array(one.baseline), np.array(one.candidate)) for one in of[p]) for p in percents}
        rows.append([tool.name, *(_share(slower[percent], len(of[percent])) for percent in percents)])
    own = {p: [sum(trial.seconds for trial in run.trials) for run in micro if run.percent == p] for p in percents}
    rows += [
        ["seconds of trials, perfproof", *(f"{fmean(own[p]):.1f}" if own[p] else "" for p in percents)],
        ["seconds of trials, the others", *(f"{fmean(one.seconds for one in of[p]):.1f}" for p in percents)],
    ]
    text = (
        "The other tools with what they are usually given: all trials of the baseline, then all of the candidate, in as many seconds as "
        "perfproof's runs took on average."
    )
    return f"{text}\n\n{table(['says slower', *(f'+{percent} %' for percent in percents)], rows)}"


def _versions() -> str:
    """Which tools ran their own code, and which are not installed."""
    packages = {"pyperf": "pyperf", "pytest_benchmark": "pytest-benchmark", "asv": "asv"}
    used = sorted({packages[tool.package] for tool in TOOLS if tool.package and tool.installed})
    absent = sorted({packages[tool.package] for tool in TOOLS if not tool.installed})
    used_words = f"By their own code: {', '.join(f'{name} {metadata.version(name)}' for name in used) or 'none'}."
    return f"{used_words} Not installed, and left out: {', '.join(absent)}." if absent else used_words


def _share(count: int, of: int) -> str:
    return f"{count} of {of}" if of else ""


def _machine(runs: Sequence[Run]) -> str:
    """The telemetry that the rules of invalidation read, over all trials, and what they excluded."""
    trials = [trial for run in runs for trial in run.trials]
    if not trials:
        return "Not measured yet."
    rows = []
    for what, limit in (("steal", STANDARD.steal), ("foreign", STANDARD.foreign)):
        shares = [share for trial in trials if (share := getattr(trial, what)) is not None]
        if shares:
            quantiles = (f"{100 * float(np.quantile(shares, q)):.1f} %" for q in (0.5, 0.9, 0.95, 0.99, 1.0))
            rows.append([what, str(len(shares)), *quantiles, f"{100 * limit:g} %", str(sum(share > limit for share in shares))])
    blocks = {(run.workload, run.percent, run.number, trial.block) for run in runs for trial in run.trials}
    lost = {(run.workload, run.percent, run.number, t.block) for run in runs for t in run.trials if t.status == "invalid"}
    header = ["share of CPU time", "trials with a reading", "median", "90 %", "95 %", "99 %", "most", "rule", "beyond it"]
    excluded = f"{len(lost)} of {len(blocks):,} blocks were excluded at least once ({pc(len(lost) / len(blocks))} %) and measured again."
    return f"{table(header, rows)}\n\n{excluded}" if rows else excluded
