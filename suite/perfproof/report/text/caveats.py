"""The caveats of an answer, one clause each.

They say how close the workload is to real use, which arm is vLLM as released, which patch ran untested, which arm differs in more than its
code (`confounders`) or had another KV cache, and which single block the estimate is sensitive to.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from perfproof.analysis.judging import exposure
from perfproof.analysis.judging.judge import SHARED_WARNING
from perfproof.analysis.stats.leave_one_out import Influence, strongest
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, base_name
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, turned_rows, units
from perfproof.report.base.page_model import ArmView, PlantedView, TrialView
from perfproof.report.extract import aa_status, changes
from perfproof.report.text import confounders

NAME = 160
"""Most characters of a name as shown."""
_OUTLIER = re.compile(r"block (\d+) is an outlier, ")
CACHES = 1.05
"""The ratio of the KV caches of two servers above which there is a caveat."""
SMALL = 4
"""The most layers of a generated model that is called a toy. A larger one has the size of a real model, but still dummy weights."""
LARGE = 50_000_000
"""The parameters from which on their number says more than layers."""
OTHER_SHAPES = ("splade", "bge_m3", "blip2")
"""Families whose layers are of other matrices."""


def clauses(
    rows: Sequence[Judged],
    arms: Sequence[ArmView],
    definition: Mapping[str, Any],
    records: Sequence[Record],
    trials: Sequence[TrialView],
    exposures: Sequence[str] = (),
) -> Iterator[str]:
    """The clauses, in order: how sure, of what, of which code, sensitive to which block. `exposures` say what host time is worth."""
    if any(row.primary and row.suggests for row in rows):
        yield formatting.HINT
    kind = kind_in(definition)
    if kind is not None and kind.scope == "part" and not aa_status.against_itself(definition):
        yield from (f"a microbenchmark: {line(each)}" for each in exposures)
        if not exposures:
            yield "a microbenchmark: it does not show what a server gains"
    if kind is not None and kind.scope == "program" and not aa_status.against_itself(definition):
        yield "the numbers of a command, which knows what they mean for a server"
    if kind is not None and kind.scope == "host":
        yield "counts of the host's Python work, no times: a C call counts as one, whatever it does"
    if (found := exposure.exposure_of(records)) is not None:
        yield from map(line, exposure.sentences(found))
    if named := model(definition):
        yield f"measured with {named}"
    yield from _released(arms, definition, records)
    yield from unverified(arms, records)
    yield from confounders.clauses(definition)
    yield from caches(arms, records)
    for row in rows:
        if row.primary and row.verdict not in (None, "untestable") and (clause := swayed(row, trials)):
            yield clause


def controls(planted: Mapping[str, PlantedView]) -> Iterator[str]:
    """A clause for every candidate that is a control."""
    for arm, control in planted.items():
        wanted = "nothing may be found in it" if control.harmless else "it is to be found"
        yield f"a control, not a change to judge: {control.name} is planted in {arm} on purpose, and {wanted}"


def tells(clauses: Sequence[str], row: Judged, warning: str) -> bool:
    """Whether a clause already holds a row's warning: that launches were shared, or which block is an outlier."""
    if row.suggests and warning == SHARED_WARNING:
        return formatting.HINT in clauses
    outlier = _OUTLIER.match(warning)
    phrase = f" {row.candidate} is sensitive to block {outlier[1]}, in which " if outlier else ""
    return bool(phrase) and any(phrase in clause and f", {formatting.label(row.metric)} would be " in clause for clause in clauses)


def _workload(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    workload = definition.get("workload")
    return workload if isinstance(workload, Mapping) else {}


# --- how close to real use ---------------------------------------------------------------------------------------


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


def model_size(definition: Mapping[str, Any]) -> str:
    """The size of a workload's model: "8.2 billion parameters", "1 layer, hidden size 64", the name of one that was not made up."""
    model_ = _workload(definition).get("model")
    if model_ is None:
        return ""
    if not _is_toy(model_):
        return _named(model_).removeprefix("the ")
    count = parameters(model_)
    return _in_words(count) if count and count >= LARGE else _dimensions(model_)


def _dimensions(model_: Mapping[str, Any]) -> str:
    layers = formatting.whole(model_["layers"])
    return f"{layers} layer{'' if layers == '1' else 's'}, hidden size {formatting.whole(model_.get('hidden', ''))}"


def parameters(model_: Mapping[str, Any]) -> int | None:
    """About how many parameters a made-up decoder has: embeddings, attention, and three matrices of the MLP; None where it is not known."""
    sizes = {name: value for name, value in model_.items() if type(value) is int and value > 0}
    layers, hidden, heads, vocabulary = (sizes.get(name, 0) for name in ("layers", "hidden", "heads", "vocabulary"))
    if not layers * hidden * heads * vocabulary or str(model_.get("toy")) in OTHER_SHAPES:
        return None
    attention = 2 * hidden * sizes.get("head_dim", hidden // heads) * (heads + sizes.get("kv_heads", heads))
    experts = sizes.get("experts", 4) if model_.get("toy") == "qwen3_moe" else 1
    return layers * (attention + 3 * hidden * sizes.get("intermediate", 2 * hidden) * experts) + 2 * vocabulary * hidden


def _in_words(count: int) -> str:
    return f"{count / 1e9:.2g} billion parameters" if count >= 1e8 else f"{count / 1e6:.2g} million parameters"


def _is_toy(model_: Any) -> bool:
    return isinstance(model_, Mapping) and "layers" in model_


def _named(model_: Any) -> str:
    if not isinstance(model_, Mapping):
        return f"the model {line(str(model_), NAME)}"
    if not _is_toy(model_):
        return "the small real model " + ", ".join(f"{line(str(name), NAME)} {line(str(size), NAME)}" for name, size in model_.items())
    toy = "a toy model" if isinstance(model_["layers"], int) and model_["layers"] <= SMALL else "a generated model"
    count = parameters(model_)
    return f"{toy} ({_dimensions(model_)}{f', {_in_words(count)}' if count and count >= LARGE else ''})"


def _flags(workload: Mapping[str, Any]) -> list[str]:
    """The engine's flags, with or without dashes, as the kind of workload writes them."""
    listed, named = workload.get("server_arguments"), workload.get("arguments")
    flags = [str(each) for each in listed] if isinstance(listed, list | tuple) else []
    pairs = named.items() if isinstance(named, Mapping) else ()
    return [*flags, *(f"{name}" if value is True else f"{name}={value}" for name, value in pairs if value is not False)]


# --- which of the arms is vLLM as released ----------------------------------------------------------------------


def _released(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> Iterator[str]:
    """A clause where the candidate is the released code and the baseline is altered, or where releases are compared."""
    altered = {arm.name: _altered(arm, definition, records) for arm in arms}
    baseline = next((arm.name for arm in arms if arm.baseline), None)
    if _releases(arms, definition, altered):
        yield "every arm is vLLM as released: this compares releases and judges no patch"
    if baseline is None or not altered[baseline]:
        return
    for name, how in altered.items():
        if name != baseline and not how:
            yield f"the candidate, {name}, is vLLM as released; the baseline, {baseline}, is altered ({altered[baseline]})"


def _releases(arms: Sequence[ArmView], definition: Mapping[str, Any], altered: Mapping[str, str]) -> bool:
    """Whether releases are compared with each other, none of them altered."""
    kinds = {changes.build_of(arm, definition).get("kind") for arm in arms}
    return not any(altered.values()) and len({arm.build for arm in arms}) > 1 and kinds == {"release"}


def no_patch(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> bool:
    """Whether no verdict is about a patch.

    Then every candidate is vLLM as released, compared with another or an altered release, or the baseline's code with other requests or
    settings.
    """
    altered = {arm.name: _altered(arm, definition, records) for arm in arms}
    return _releases(arms, definition, altered) or bool(restored(arms, definition, records)) or confounders.alone(definition)


def restored(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> str:
    """What alters the baseline where every candidate is vLLM as released: "patch x, which removes …"; "" where that is not so."""
    altered = {arm.name: _altered(arm, definition, records) for arm in arms}
    candidates = [altered[arm.name] for arm in arms if not arm.baseline]
    before = next((altered[arm.name] for arm in arms if arm.baseline), "")
    return before if candidates and not any(candidates) else ""


def _altered(arm: ArmView, definition: Mapping[str, Any], records: Sequence[Record]) -> str:
    """What changes an arm's code from the release's; "" for an arm as released."""
    patches = {
        name: patch for r in records if line(r.arm, NAME) == arm.name and r.attestation for name, patch in r.attestation.patches.items()
    }
    parts = [_patch(name, patches.get(name, {})) for name in arm.patches]
    build = changes.build_of(arm, definition)
    if build.get("kind") == "overlay":
        parts.append(f"diff {line(str(build.get('diff', '')), NAME)}")
    return ", ".join(parts)


def _patch(name: str, patch: Mapping[str, Any]) -> str:
    """A patch with its effect: one that removes a released change makes an older vLLM."""
    return f"patch {name}{', which removes a change that this release has' if patch.get('direction') == 'removes' else ''}"


def unverified(arms: Sequence[ArmView], records: Sequence[Record]) -> Iterator[str]:
    """A clause for every patch that ran where it was not tested, because its arm allows that: the patch may not work there."""
    for arm in arms:
        attestations = [record.attestation for record in records if record.attestation and line(record.arm, NAME) == arm.name]
        for name in dict.fromkeys(name for one in attestations for name, patch in one.patches.items() if patch.get("verified") is False):
            faults = next(one.patches[name].get("faults") for one in attestations if name in one.patches)
            why = f": {line('; '.join(map(str, faults)), 2 * NAME)}" if isinstance(faults, list) and faults else ""
            yield f"patch {line(name, NAME)} ran in {arm.name} where it was not tested (allow_unverified){why}"


# --- the servers' KV caches --------------------------------------------------------------------------


def caches(arms: Sequence[ArmView], records: Sequence[Record]) -> Iterator[str]:
    """A clause for every candidate whose server had a KV cache of another size than the baseline's.

    Such a server may queue or preempt where the other does not.
    """
    sizes = {arm.name: [size for r in records if (size := _cache_of(r, arm.name))] for arm in arms}
    before = next((sizes[arm.name] for arm in arms if arm.baseline), [])
    for arm in arms:
        if arm.baseline or not before or not sizes[arm.name]:
            continue
        own, its = median(sizes[arm.name]), median(before)
        if max(own, its) > CACHES * min(own, its):
            yield (
                f"the server of {arm.name} had {own:,.0f} blocks of KV cache, that of the baseline {its:,.0f}: when a cache is full "
                "they do not do the same work; --kv-cache-memory-bytes gives every arm the same size"
            )


def _cache_of(record: Record, arm: str) -> float | None:
    """The blocks of the KV cache in a valid trial of that arm; None where they are not recorded."""
    counts = record.status == "ok" and line(record.arm, NAME) == arm
    return record.measurements.get("kv_blocks") if counts else None


# --- the block that the estimate is sensitive to ----------------------------------------------------------------------


def swayed(row: Judged, trials: Sequence[TrialView]) -> str:
    """A clause on the block without which the change would be very different; "" where there is none."""
    found = swaying(row, trials)
    return _swaying(row, *found) if found else ""


def sways(row: Judged, trials: Sequence[TrialView], turned: bool = False) -> str:
    """The same in few words, from the candidate on where it is `turned`: "block 1 alone moves median TPOT from +6.2 % to +31.5 %"."""
    found = swaying(row, trials)
    if found is None:
        return ""
    influence, block = found
    without = dataclasses.replace(row, effect=influence.without)
    ends = " to ".join(formatting.change(turned_rows.turned(each) if turned else each) for each in (without, row))
    return f"block {block} alone moves {formatting.label(row.metric)} from {ends}"


def swaying(row: Judged, trials: Sequence[TrialView]) -> tuple[Influence, int] | None:
    """The block without which the change would be very different, and what it does; None where there is none."""
    if row.exact or row.in_points or row.effect is None or row.low is None or row.high is None or row.low <= -1:
        return None
    blocks = _paired(row, trials)
    if len(blocks) != row.blocks:
        return None
    half = (math.log1p(row.high) - math.log1p(row.low)) / 2
    before, after = [first for first, _ in blocks.values()], [second for _, second in blocks.values()]
    influence = strongest(before, after, half=half, margin=math.log1p(row.margin or 0))
    return (influence, list(blocks)[influence.place]) if influence else None


def _paired(row: Judged, trials: Sequence[TrialView]) -> dict[int, tuple[float, float]]:
    """The values of both arms by block, of the blocks that were judged; of a block measured twice, the last."""
    of_arm: dict[str, dict[int, float]] = {row.baseline: {}, row.candidate: {}}
    for trial in trials:
        if trial.ok and trial.arm in of_arm and row.metric in trial.values:
            of_arm[trial.arm][trial.block] = trial.values[row.metric]
    before, after = of_arm[row.baseline], of_arm[row.candidate]
    return {block: (before[block], after[block]) for block in sorted(before.keys() & after.keys())[: row.blocks]}


def _swaying(row: Judged, influence: Influence, block: int) -> str:
    arm = row.baseline if influence.of_baseline else row.candidate
    where = f"block {block}, in which {arm} was unusually {_pace(row, influence.larger)}"
    changes = f"{_with_factor(row, influence.without)} instead of {_with_factor(row, row.effect or 0.0)}"
    return f"the result of {row.candidate} is sensitive to {where}: without it, {formatting.label(row.metric)} would be {changes}"


def _with_factor(row: Judged, effect: float) -> str:
    """A change in the answer's notation: with its factor where it has one."""
    times = "" if row.in_points or effect >= units.MOST else units.factor(effect)
    return f"{formatting.change_of(row, effect)}{f' ({times})' if times else ''}"


def _pace(row: Judged, larger: bool) -> str:
    """An adjective for an arm's value in a block: "slow" or "fast" for times and rates, else "high" or "low"."""
    known = METRICS.get(base_name(row.metric))
    if known is None or known.kind not in ("time", "rate"):
        return "high" if larger else "low"
    return "slow" if larger == (row.better == "lower") else "fast"
