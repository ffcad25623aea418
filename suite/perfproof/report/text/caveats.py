"""What must stand beside an answer, in a clause each, or it is taken for more than it is.

How near to real use the thing measured was, which of the arms is vLLM as released, which patch ran untested, which arm differs in more
than its code (`confounders`) or had another KV cache, and which block alone the estimate owes much to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from perfproof.analysis.judging.judge import SHARED_WARNING
from perfproof.analysis.stats.leave_one_out import Influence, strongest
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, base_name
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import ArmView, TrialView
from perfproof.report.extract import aa_status, facts
from perfproof.report.text import confounders

NAME = 160
"""Most characters of a name as shown."""
_OUTLIER = re.compile(r"block (\d+) is an outlier, ")
CACHES = 1.05
"""How many times one server's KV cache may be another's until it is told."""
SMALL = 4
"""Layers up to which a generated model is called a toy; a larger one has the size of a real one, and dummy weights all the same."""


def told(
    rows: Sequence[Judged], arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record], trials: Sequence[TrialView]
) -> Iterator[str]:
    """The clauses, in the order in which a reader asks: how sure, of what, of which code, owed to which block."""
    if any(row.primary and row.suggests for row in rows):
        yield formatting.HINT
    kind = kind_in(definition)
    if kind is not None and kind.scope == "part" and not aa_status.against_itself(definition):
        yield "a microbenchmark: it does not say what a server gains"
    if kind is not None and kind.scope == "host":
        yield "counts of the host's Python work, no times: a C call counts as one, whatever it does"
    if said := model(definition):
        yield f"measured with {said}"
    yield from _released(arms, definition, records)
    yield from unverified(arms, records)
    yield from confounders.told(definition)
    yield from caches(arms, records)
    for row in rows:
        if row.primary and row.verdict not in (None, "untestable") and (found := swayed(row, trials)):
            yield found


def tells(clauses: Sequence[str], row: Judged, warning: str) -> bool:
    """Whether a clause already says what a row's warning says: that launches were shared, or which block is unlike the others."""
    if row.suggests and warning == SHARED_WARNING:
        return formatting.HINT in clauses
    outlier = _OUTLIER.match(warning)
    mine = f" {row.candidate}: without block {outlier[1]}, in which " if outlier else ""
    return bool(mine) and any(mine in clause and f", {formatting.label(row.metric)} would be " in clause for clause in clauses)


def _workload(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    found = definition.get("workload")
    return found if isinstance(found, Mapping) else {}


# --- how near to real use ---------------------------------------------------------------------------------------


def model(definition: Mapping[str, Any]) -> str:
    """The model in a clause: "a toy model (1 layer, hidden size 64), dummy weights, eager mode"; "" where no model runs."""
    workload = _workload(definition)
    if "model" not in workload:
        return ""
    flags = _flags(workload)
    dummy = _is_toy(workload["model"]) or any("load-format" in flag and "dummy" in flag for flag in flags)
    eager = any(flag.lstrip("-").replace("_", "-") in ("enforce-eager", "enforce-eager=True") for flag in flags)
    parts = [_named(workload["model"]), "dummy weights" if dummy else "", "eager mode" if eager else ""]
    return ", ".join(filter(None, parts))


def _is_toy(model_: Any) -> bool:
    return isinstance(model_, Mapping) and "layers" in model_


def _named(model_: Any) -> str:
    if not isinstance(model_, Mapping):
        return f"the model {line(str(model_), NAME)}"
    if not _is_toy(model_):
        return "the small real model " + ", ".join(f"{line(str(name), NAME)} {line(str(size), NAME)}" for name, size in model_.items())
    layers, hidden = formatting.whole(model_["layers"]), formatting.whole(model_.get("hidden", ""))
    toy = "a toy model" if isinstance(model_["layers"], int) and model_["layers"] <= SMALL else "a generated model"
    return f"{toy} ({layers} layer{'' if layers == '1' else 's'}, hidden size {hidden})"


def _flags(workload: Mapping[str, Any]) -> list[str]:
    """The engine's flags, with their dashes or without, whichever way the kind of workload writes them."""
    listed, named = workload.get("server_arguments"), workload.get("arguments")
    flags = [str(each) for each in listed] if isinstance(listed, list | tuple) else []
    pairs = named.items() if isinstance(named, Mapping) else ()
    return [*flags, *(f"{name}" if value is True else f"{name}={value}" for name, value in pairs if value is not False)]


# --- which of the arms is vLLM as released ----------------------------------------------------------------------


def _released(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> Iterator[str]:
    """Says it where the candidate is the released code, and it is the baseline that was altered; and where two releases are compared."""
    altered = {arm.name: _altered(arm, definition, records) for arm in arms}
    baseline = next((arm.name for arm in arms if arm.baseline), None)
    if _releases(arms, definition, altered):
        yield "every arm is vLLM as released: releases are compared, no patch is judged here"
    if baseline is None or not altered[baseline]:
        return
    for name, how in altered.items():
        if name != baseline and not how:
            yield f"the candidate, {name}, is vLLM as released; it is the baseline, {baseline}, that was altered ({altered[baseline]})"


def _releases(arms: Sequence[ArmView], definition: Mapping[str, Any], altered: Mapping[str, str]) -> bool:
    """Whether releases are compared with each other, none of them altered."""
    kinds = {_build(arm, definition).get("kind") for arm in arms}
    return not any(altered.values()) and len({arm.build for arm in arms}) > 1 and kinds == {"release"}


def no_patch(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> bool:
    """Whether nothing that a verdict praises is a patch: every candidate is vLLM as released, against another release or an altered one,
    or is the baseline's code asked or set otherwise."""
    altered = {arm.name: _altered(arm, definition, records) for arm in arms}
    candidates = [altered[arm.name] for arm in arms if not arm.baseline]
    worsened = any(altered[arm.name] for arm in arms if arm.baseline)
    return _releases(arms, definition, altered) or (worsened and bool(candidates) and not any(candidates)) or confounders.alone(definition)


def _altered(arm: ArmView, definition: Mapping[str, Any], records: Sequence[Record]) -> str:
    """What makes an arm another code than a release's, "" for one that is as released."""
    patches = {
        name: patch for r in records if line(r.arm, NAME) == arm.name and r.attestation for name, patch in r.attestation.patches.items()
    }
    said = [_patch(name, patches.get(name, {})) for name in arm.patches]
    build = _build(arm, definition)
    if build.get("kind") == "overlay":
        said.append(f"diff {line(str(build.get('diff', '')), NAME)}")
    return ", ".join(said)


def _build(arm: ArmView, definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arm's build as the scenario defines it."""
    builds = definition.get("builds")
    defined = next((each for each in facts.defined_arms(definition) if line(each["name"], NAME) == arm.name), {})
    build = builds.get(str(defined.get("build"))) if isinstance(builds, Mapping) else None
    return build if isinstance(build, Mapping) else {}


def _patch(name: str, patch: Mapping[str, Any]) -> str:
    """A patch with what it does: those that take a released change out again make an older vLLM."""
    return f"patch {name}{', which takes out again what this release has' if patch.get('direction') == 'removes' else ''}"


def unverified(arms: Sequence[ArmView], records: Sequence[Record]) -> Iterator[str]:
    """A clause for every patch of an arm that ran where it was not tested, because the arm allows it: it may not have done what it says."""
    for arm in arms:
        mine = [record.attestation for record in records if record.attestation and line(record.arm, NAME) == arm.name]
        for name in dict.fromkeys(name for one in mine for name, patch in one.patches.items() if patch.get("verified") is False):
            faults = next(one.patches[name].get("faults") for one in mine if name in one.patches)
            why = f": {line('; '.join(map(str, faults)), 2 * NAME)}" if isinstance(faults, list) and faults else ""
            yield f"patch {line(name, NAME)} ran in {arm.name} where it was not tested (allow_unverified){why}"


# --- what the servers had to work with --------------------------------------------------------------------------


def caches(arms: Sequence[ArmView], records: Sequence[Record]) -> Iterator[str]:
    """A clause for every candidate whose server had a KV cache of another size than the baseline's: it may queue or preempt where the
    other does not."""
    sizes = {arm.name: [size for r in records if (size := _cache_of(r, arm.name))] for arm in arms}
    before = next((sizes[arm.name] for arm in arms if arm.baseline), [])
    for arm in arms:
        if arm.baseline or not before or not sizes[arm.name]:
            continue
        mine, its = median(sizes[arm.name]), median(before)
        if max(mine, its) > CACHES * min(mine, its):
            yield (
                f"the server of {arm.name} had {mine:,.0f} blocks of KV cache, that of the baseline {its:,.0f}: where the cache fills up "
                "they do not do the same work; --kv-cache-memory-bytes gives every arm the same"
            )


def _cache_of(record: Record, arm: str) -> float | None:
    """The blocks of the KV cache in a trial of that arm that counts; None where it tells none."""
    mine = record.status == "ok" and line(record.arm, NAME) == arm
    return record.measurements.get("kv_blocks") if mine else None


# --- which block the estimate owes much to ----------------------------------------------------------------------


def swayed(row: Judged, trials: Sequence[TrialView]) -> str:
    """The block without which the change would be much another, in a clause; "" where there is none."""
    if row.exact or row.in_points or row.effect is None or row.low is None or row.high is None or row.low <= -1:
        return ""
    blocks = _paired(row, trials)
    if len(blocks) != row.blocks:
        return ""
    half = (math.log1p(row.high) - math.log1p(row.low)) / 2
    before, after = [first for first, _ in blocks.values()], [second for _, second in blocks.values()]
    found = strongest(before, after, half=half, margin=math.log1p(row.margin or 0))
    return _swaying(row, found, list(blocks)[found.place]) if found else ""


def _paired(row: Judged, trials: Sequence[TrialView]) -> dict[int, tuple[float, float]]:
    """The values of both arms by block, of the blocks that were judged; of a block measured twice, the last."""
    of_arm: dict[str, dict[int, float]] = {row.baseline: {}, row.candidate: {}}
    for trial in trials:
        if trial.ok and trial.arm in of_arm and row.metric in trial.values:
            of_arm[trial.arm][trial.block] = trial.values[row.metric]
    before, after = of_arm[row.baseline], of_arm[row.candidate]
    return {block: (before[block], after[block]) for block in sorted(before.keys() & after.keys())[: row.blocks]}


def _swaying(row: Judged, found: Influence, block: int) -> str:
    effect = row.effect or 0.0
    sign = -1 if row.better == "lower" else 1
    way = "flatters" if sign * effect > sign * found.without else "goes against"
    arm = row.baseline if found.of_baseline else row.candidate
    without = f"without block {block}, in which {arm} was unusually {_pace(row, found.larger)}"
    would = f"{formatting.label(row.metric)} would be {_with_factor(row, found.without)} instead of {_with_factor(row, effect)}"
    return f"one block {way} {row.candidate}: {without}, {would}"


def _with_factor(row: Judged, effect: float) -> str:
    """A change as the answer writes it: with its multiple where it has one."""
    times = "" if row.in_points or effect >= units.MOST else units.factor(effect)
    return f"{formatting.change_of(row, effect)}{f' ({times})' if times else ''}"


def _pace(row: Judged, larger: bool) -> str:
    """How an arm was in a block, from its value there: "slow", "fast"; "high", "low" for what is no pace."""
    known = METRICS.get(base_name(row.metric))
    if known is None or known.kind not in ("time", "rate"):
        return "high" if larger else "low"
    return "slow" if larger == (row.better == "lower") else "fast"
