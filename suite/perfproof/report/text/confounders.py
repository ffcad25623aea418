"""Arms that differ from the baseline in more than their code: in their requests, in their server's settings, or in a command's files.

Such an arm is a ceiling (requests without penalties, say) or another setting of vLLM. Its effect is not a patch's effect, and without this
clause it would read like one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfproof.model.base.untrusted import line
from perfproof.report.extract import facts

NAME = 160
"""Most characters of a name or a value as shown."""
MOST = 3
"""The most differences that a clause names."""
SHORT = 40
"""The most characters of a difference that a row tells whole."""
CODE = ("VLLM_PLUGINS", "PYTHONPATH")
"""Variables that load the author's own code, and so may be a patch themselves."""
OURS = "PERFPROOF_"
"""The prefix of variables that configure the suite's own plugins: part of a patch."""


def clauses(definition: Mapping[str, Any]) -> Iterator[str]:
    """A clause for every candidate that differs from the baseline in more than patches and build, with the differences."""
    for baseline, arm in _pairs(definition):
        requests, settings = _asked(baseline, arm, definition), _settings(baseline, arm)
        parts = [f"gets other requests than the baseline ({_listed(requests)})"] if requests else []
        parts += [f"runs other files than the baseline ({files})"] if (files := _files(baseline, arm, definition)) else []
        parts += [f"has other settings{'' if parts else ' than the baseline'} ({_listed(settings)})"] if settings else []
        if parts:
            yield f"{line(str(arm['name']), NAME)} {' and '.join(parts)}: its effect is {_whose(baseline, arm)}"


def in_brief(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as pairs of a candidate and a clause about it, for a row: "other requests (presence-penalty 1.5 instead of 0)"."""
    for baseline, arm in _pairs(definition):
        requests, files, settings = _asked(baseline, arm, definition), _files(baseline, arm, definition), _settings(baseline, arm)
        parts = [f"other requests ({_briefly(requests)})"] if requests else []
        parts += ["other files"] if files else []
        parts += [f"other settings ({_briefly(settings)})"] if settings else []
        if parts:
            yield line(str(arm["name"]), NAME), "; ".join(parts)


def alone(definition: Mapping[str, Any]) -> bool:
    """Whether every candidate differs from the baseline in requests or settings, but not in code, so that no patch is judged."""
    pairs = _pairs(definition)
    return bool(pairs) and all(
        _code(arm) == _code(baseline)
        and (_asked(baseline, arm, definition) or _settings(baseline, arm) or _files(baseline, arm, definition))
        for baseline, arm in pairs
    )


def _pairs(definition: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The baseline with every candidate; none where a definition names no baseline."""
    arms = facts.defined_arms(definition)
    baselines = [arm for arm in arms if arm.get("baseline")][:1]
    return [(baseline, arm) for baseline in baselines for arm in arms if arm is not baseline]


def _whose(baseline: Mapping[str, Any], arm: Mapping[str, Any]) -> str:
    """What the effect does not belong to: not to a patch where the code is the baseline's, else not to the other code alone."""
    if _code(arm) == _code(baseline):
        return "not that of a patch"
    if not arm.get("patches") or arm.get("build") != baseline.get("build"):
        return "not that of its code alone"
    return "not that of its patch alone" if len(arm["patches"]) == 1 else "not that of its patches alone"


def _code(arm: Mapping[str, Any]) -> tuple[Any, ...]:
    """What determines an arm's code: its build, its patches, and the variables that load code or configure a patch."""
    variables = {name: value for name, value in _mapping(arm, "environment").items() if name in CODE or name.startswith(OURS)}
    return arm.get("build"), list(arm.get("patches") or ()), variables


def _asked(baseline: Mapping[str, Any], arm: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    """The differences between the requests to that arm and to the baseline."""
    workload = definition.get("workload")
    common = _mapping(workload, "client") if isinstance(workload, Mapping) else {}
    return [*_differences({**common, **_mapping(baseline, "client")}, {**common, **_mapping(arm, "client")})]


def _files(baseline: Mapping[str, Any], arm: Mapping[str, Any], definition: Mapping[str, Any]) -> str:
    """The files of a command in that arm and in the baseline, each with the beginning of its hash; "" where they are the same."""
    ours, theirs = (each if each.get("files_sha256") else _mapping(definition, "workload") for each in (arm, baseline))
    return "" if ours.get("files_sha256") == theirs.get("files_sha256") else f"{_named_files(ours)} instead of {_named_files(theirs)}"


def _named_files(holder: Mapping[str, Any]) -> str:
    files, sha256 = holder.get("files"), str(holder.get("files_sha256") or "")
    named = f"{files.get('repository')} {files.get('commit')}" if isinstance(files, Mapping) else str(files or "none")
    return line(f"{named} {sha256[:8]}".strip(), NAME)


def _settings(baseline: Mapping[str, Any], arm: Mapping[str, Any]) -> list[str]:
    """The flags and variables that the baseline lacks, then those that only the baseline has."""
    flags, before = _flags(arm), _flags(baseline)
    variables = (
        {
            **{name: value for name, value in _mapping(each, "environment").items() if name not in CODE and not name.startswith(OURS)},
            **({"model runner": each["runner"]} if each.get("runner") else {}),
        }
        for each in (baseline, arm)
    )
    added = [flag for flag in flags if flag not in before]
    return [*added, *(f"without {flag}" for flag in before if flag not in flags), *_differences(*variables)]


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """The differences between two mappings: "name 0 instead of 0.5", "name 0" or "without name"."""
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
    """An arm's server arguments, each flag together with its value."""
    found: list[str] = []
    for argument in map(str, arm.get("server_arguments") or ()):
        if found and not argument.startswith("-"):
            found[-1] += f" {argument}"
        else:
            found.append(argument)
    return found


def _mapping(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = of.get(key)
    return value if isinstance(value, Mapping) else {}


def _briefly(differences: Sequence[str]) -> str:
    """The differences; of long ones their names alone."""
    return _listed([each if len(each) <= SHORT else each.removeprefix("without ").split()[0].split("=")[0] for each in differences])


def _listed(differences: Sequence[str]) -> str:
    shown = [line(each, NAME) for each in differences[:MOST]]
    return ", ".join([*shown, *([f"and {len(differences) - MOST} more"] if len(differences) > MOST else [])])
