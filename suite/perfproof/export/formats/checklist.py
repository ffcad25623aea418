"""The short table that a pull request to vLLM is asked for: configuration, baseline, changed, runs, variability, and the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import TrialSeries, build_of, gpus_of, is_baseline, model_of, series
from perfproof.model.base.errors import BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.extract import facts
from perfproof.report.formats.markdown import escape, fence, table

HEAD = ("metric", "baseline", "changed", "difference", "verdict", "runs", "variability")


def files(exported: Exported) -> Files:
    if lacking := [name for name in dict.fromkeys(trial.scenario for trial in exported.trials) if not _whole(name, exported.trials)]:
        raise BadInput(
            f"{exported.results}: {line(lacking[0], 160)}: has no trial of the baseline and of a change: there is nothing to compare"
        )
    found, judged = series(exported.trials), exported.judged()
    parts = ["\n".join(f"- Not counted: {escape(note)}" for note in exported.left_out)] if exported.left_out else []
    for name in dict.fromkeys(trial.scenario for trial in exported.trials):
        own = [trial for trial in exported.trials if trial.scenario == name]
        rows = [row for row in judged if row.scenario == name and (row.primary or row.verdict)]
        parts.append("\n".join(_scenario(name, own, rows, [one for one in found if one.scenario == name], exported.results)))
    return {"checklist.md": "\n\n".join(parts) + "\n"}


def _whole(name: str, trials: Sequence[Record]) -> bool:
    """Whether a scenario has trials of the baseline and of another arm."""
    return {is_baseline(trial) for trial in trials if trial.scenario == name} == {True, False}


def _scenario(name: str, trials: Sequence[Record], rows: Sequence[Judged], found: Sequence[TrialSeries], results: str) -> Iterator[str]:
    yield f"**{escape(line(name, 160))}**"
    yield ""
    yield f"- Configuration: {_configuration(trials[-1])}"
    arms = {trial.arm: trial for trial in trials}
    for arm, trial in sorted(arms.items(), key=lambda each: not is_baseline(each[1])):
        yield f"- {'Baseline' if is_baseline(trial) else 'Changed'}: {escape(line(arm, 160))}, {escape(build_of(trial))}"
    yield ""
    yield table(HEAD, "lrrrlrl", (_row(row, trials, found, len({each.candidate for each in rows}) > 1) for row in rows))
    commands = list(facts.commands(name, trials, results))
    if all(commands):
        yield ""
        yield "Commands:"
        yield ""
        yield fence("\n".join(commands))


def _configuration(trial: Record) -> str:
    kind = kind_in(trial.definition)
    told = [kind.describe(trial.definition["workload"]) if kind else "", model_of(trial)]
    device = ", ".join(dict.fromkeys(gpus_of(trial))) or str(trial.environment.get("processor") or "")
    cores = trial.environment.get("cores")
    host = [
        device,
        f"{cores} cores" if cores else "",
        f"kernel {trial.environment.get('kernel')}" if trial.environment.get("kernel") else "",
    ]
    return escape("; ".join(line(each, 160) for each in [*told, *host] if each))


def _row(row: Judged, trials: Sequence[Record], found: Sequence[TrialSeries], several: bool) -> list[str]:
    before, after = formatting.values(row)
    sides = [next((one for one in found if (one.arm, one.name) == (arm, row.metric)), None) for arm in (row.baseline, row.candidate)]
    name = formatting.label(row.metric) + (f" ({row.candidate})" if several else "")
    change = " ".join(filter(None, [formatting.change(row), formatting.interval(row)]))
    runs = " + ".join(str(sum(trial.arm == arm for trial in trials)) for arm in (row.baseline, row.candidate))
    cells = [name, before, after, change, formatting.verdict(row), runs, ", ".join(map(_variability, sides))]
    return [escape(cell) for cell in cells]


def _variability(one: TrialSeries | None) -> str:
    """The deviation over runs as a share of the value, or that there is none."""
    if one is None or one.deviation is None or not one.typical:
        return units.NONE
    return f"±{units.THIN}{units.percent(one.deviation / abs(one.typical), 2, plus=False)}{units.THIN}%" if one.deviation else "exact"


CHECKLIST = Format(name="vllm-checklist", files=files)
