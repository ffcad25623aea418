"""OpenMetrics text, for node-exporter's textfile collector or a push gateway: a gauge a metric, a sample an arm.

Without moments, which the textfile collector refuses: a scrape gives its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import TrialSeries, build_of, is_baseline, series
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import Metric

UNITS = {"s": "seconds", "B": "bytes", "tok/s": "tokens_per_second", "req/s": "requests_per_second"}
"""Base units in the words that a metric's name must end with."""


def files(exported: Exported) -> Files:
    found = series(exported.trials)
    lines = [text for metric in dict.fromkeys(one.metric.name for one in found) for text in _family(metric, found)]
    lines += _gauge("perfproof_trials", "", "Trials behind a value.", ((_labels(one, metric=one.name), len(one.values)) for one in found))
    spread = [
        (_labels(one, metric=one.name), one.deviation / abs(one.typical)) for one in found if one.deviation is not None and one.typical
    ]
    lines += _gauge("perfproof_spread_ratio", "ratio", "Standard deviation over trials as a share of the value.", spread)
    return {"perfproof.om": "\n".join([*lines, "# EOF", ""])}


def _family(name: str, found: Sequence[TrialSeries]) -> list[str]:
    own = [one for one in found if one.metric.name == name]
    unit = UNITS.get(own[0].metric.unit, "")
    family = f"perfproof_{name}" if not unit or name.endswith(f"_{unit}") else f"perfproof_{name}_{unit}"
    return _gauge(family, unit, _help(own[0].metric), ((_labels(one, **_case(one)), one.typical) for one in own))


def _help(metric: Metric) -> str:
    return f"{metric.per[0].upper()}{metric.per[1:]}, {metric.better} is better."


def _case(one: TrialSeries) -> dict[str, str]:
    case = one.name.partition("@")[2]
    return {"case": case} if case else {}


def _labels(one: TrialSeries, **more: str) -> Mapping[str, str]:
    trial = one.trials[-1]
    said = {"scenario": one.scenario, "arm": one.arm, "baseline": str(is_baseline(trial)).lower(), "build": build_of(trial)}
    return {**said, **more}


def _gauge(family: str, unit: str, words: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> list[str]:
    lines = [f"{family}{{{','.join(_label(*each) for each in labels.items())}}} {value!r}" for labels, value in samples]
    if not lines:
        return []
    return [f"# TYPE {family} gauge", *([f"# UNIT {family} {unit}"] if unit else []), f"# HELP {family} {_escaped(words)}", *lines]


def _label(name: str, value: str) -> str:
    return f'{name}="{_escaped(line(value))}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


OPENMETRICS = Format(name="openmetrics", files=files)
