"""Arms that differ from the baseline by more than their code: in what they are asked, or in their server's settings.

Such an arm is a ceiling (no penalty asked), or another setting of vLLM's own. What it shows is no patch's doing, and unsaid it would
read like a patch's gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfproof.model.base.untrusted import line
from perfproof.report.extract import facts

NAME = 160
"""Most characters of a name or a value as shown."""
MOST = 3
"""Differences that a clause names."""
CODE = ("VLLM_PLUGINS", "PYTHONPATH")
"""Variables that bring code of the author's, and so may be a patch themselves."""
OURS = "PERFPROOF_"
"""Variables that tell the suite's own plugins what to do: part of a patch."""


def told(definition: Mapping[str, Any]) -> Iterator[str]:
    """A clause for every candidate that differs from the baseline in more than patches and build, with the differences."""
    for baseline, arm in _pairs(definition):
        asked, settings = _asked(baseline, arm, definition), _settings(baseline, arm)
        parts = [f"is asked something else than the baseline ({_listed(asked)})"] if asked else []
        parts += [f"runs with other settings than {'it' if parts else 'the baseline'} ({_listed(settings)})"] if settings else []
        if parts:
            yield f"{line(str(arm['name']), NAME)} {' and '.join(parts)}: what it shows is {_whose(baseline, arm)}"


def alone(definition: Mapping[str, Any]) -> bool:
    """Whether every candidate differs from the baseline in what it is asked or set to, and in no code: nothing of a patch is shown."""
    pairs = _pairs(definition)
    return bool(pairs) and all(
        _code(arm) == _code(baseline) and (_asked(baseline, arm, definition) or _settings(baseline, arm)) for baseline, arm in pairs
    )


def _pairs(definition: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The baseline with every candidate; none where a definition names no baseline."""
    arms = facts.defined_arms(definition)
    baselines = [arm for arm in arms if arm.get("baseline")][:1]
    return [(baseline, arm) for baseline in baselines for arm in arms if arm is not baseline]


def _whose(baseline: Mapping[str, Any], arm: Mapping[str, Any]) -> str:
    """Whose doing it is not: a patch's where the code is the baseline's, else not the other code's alone."""
    if _code(arm) == _code(baseline):
        return "no patch's doing"
    if not arm.get("patches") or arm.get("build") != baseline.get("build"):
        return "not its code's doing alone"
    return "not its patch's doing alone" if len(arm["patches"]) == 1 else "not its patches' doing alone"


def _code(arm: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes an arm's code: its build, its patches, and the variables that bring code or steer a patch."""
    said = {name: value for name, value in _mapping(arm, "environment").items() if name in CODE or name.startswith(OURS)}
    return arm.get("build"), list(arm.get("patches") or ()), said


def _asked(baseline: Mapping[str, Any], arm: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    """What the client asks of that arm's server otherwise than of the baseline's."""
    workload = definition.get("workload")
    common = _mapping(workload, "client") if isinstance(workload, Mapping) else {}
    return [*_differences({**common, **_mapping(baseline, "client")}, {**common, **_mapping(arm, "client")})]


def _settings(baseline: Mapping[str, Any], arm: Mapping[str, Any]) -> list[str]:
    """The flags and variables of that arm that are not the baseline's, then those of the baseline that it lacks."""
    flags, before = _flags(arm), _flags(baseline)
    variables = (
        {name: value for name, value in _mapping(each, "environment").items() if name not in CODE and not name.startswith(OURS)}
        for each in (baseline, arm)
    )
    added = [flag for flag in flags if flag not in before]
    return [*added, *(f"without {flag}" for flag in before if flag not in flags), *_differences(*variables)]


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What is said otherwise after than before: "name 0 instead of 0.5"; what is said on one side alone needs no second value."""
    for name in {**before, **after}:
        if name not in after:
            yield f"without {name}"
        elif name not in before:
            yield f"{name} {_value(after[name])}"
        elif after[name] != before[name]:
            yield f"{name} {_value(after[name])} instead of {_value(before[name])}"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flags(arm: Mapping[str, Any]) -> list[str]:
    """An arm's server arguments, a flag together with the value behind it."""
    found: list[str] = []
    for argument in map(str, arm.get("server_arguments") or ()):
        if found and not argument.startswith("-"):
            found[-1] += f" {argument}"
        else:
            found.append(argument)
    return found


def _mapping(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = of.get(key)
    return found if isinstance(found, Mapping) else {}


def _listed(differences: Sequence[str]) -> str:
    shown = [line(each, NAME) for each in differences[:MOST]]
    return ", ".join([*shown, *([f"and {len(differences) - MOST} more"] if len(differences) > MOST else [])])
