"""Which model runner trials ran on: arms that ran different ones are comparable only if that is part of the question.

A release chooses its model runner by model, features and installed packages, so two arms may run different ones although nobody asked for
it. Their times then differ by more than the change in question.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from perfproof.model.records.record import Record
from perfproof.model.scenarios.model_runner import VARIABLE, said


def seen(records: Iterable[Record], arm: str | None = None) -> frozenset[str]:
    """The attested model runners of the trials that count, of one arm if it is named; "" stands for trials without any.

    Source: none, a reading of the records.
    """
    trials = (record for record in records if record.status == "ok" and arm in (None, record.arm))
    return frozenset(trial.attestation.runner for trial in trials if trial.attestation is not None)


def unattested_where_unlike(trials: Sequence[Record]) -> list[Record]:
    """The trials of one scenario, each once. Trials of a candidate that ran on another model runner than the baseline in their block are
    *unattested*, unless both arms say which runner they want.

    Source: none, a comparison of what the trials attested.
    """
    baselines = {trial.block: trial for trial in trials if trial.definition["arms"][trial.arm]["baseline"]}
    reasons = [_unlike(trial, baselines.get(trial.block)) for trial in trials]
    return [
        dataclasses.replace(trial, status="unattested", reason=why) if why else trial for trial, why in zip(trials, reasons, strict=True)
    ]


def _unlike(trial: Record, baseline: Record | None) -> str:
    """Why a trial can't be compared with the baseline's of its block because of their model runners; "" if it can."""
    if baseline is None or trial is baseline or trial.status not in ("ok", "invalid"):
        return ""
    ran, before = _ran(trial), _ran(baseline)
    if not ran or not before or ran == before or (_named(trial) and _named(baseline)):
        return ""
    return (
        f"{baseline.arm} ran on the model runner {before}, {trial.arm} on {ran}, and the arms do not say so: give both the same with "
        "'runner: v1' or 'runner: v2', or say 'runner: default' in both if the difference is meant"
    )


def _ran(trial: Record) -> str:
    return trial.attestation.runner if trial.attestation else ""


def _named(trial: Record) -> bool:
    """Whether its arm says which runner it wants, or got one by name, as every arm did once."""
    return said(trial.definition["arms"][trial.arm]) or VARIABLE in trial.environment.get("variables", {})
