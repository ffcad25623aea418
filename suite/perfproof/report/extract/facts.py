"""Plain facts from records: environment, attestations, commands, time spent. Other modules put them into words."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml

from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Attestation, Record
from perfproof.model.scenarios.model_runner import VARIABLE
from perfproof.model.scenarios.scenario_paths import is_there, typed
from perfproof.report.base import units

Found = tuple[str, tuple[str, ...], bool]
"""A name, its values, and whether they differ."""
MOST_VALUES = 6
MOST_FACTS = 400


def defined_arms(definition: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The arms of a definition as a list of mappings with a `name`; the definition may hold a list or a mapping."""
    arms = definition.get("arms") or []
    if isinstance(arms, Mapping):
        return [{**(arm if isinstance(arm, Mapping) else {}), "name": name} for name, arm in arms.items()]
    return [arm for arm in arms if isinstance(arm, Mapping) and "name" in arm]


def build_of(defined: Mapping[str, Any], records: Sequence[Record]) -> str:
    """The build as attested, else as defined."""
    attested = next((record.attestation.build for record in records if record.attestation), "")
    return attested or str(defined.get("build", ""))


def settings(defined: Mapping[str, Any]) -> Iterable[str]:
    """The settings of an arm beyond its build and patches: environment variables, then server arguments."""
    for name, value in (defined.get("environment") or {}).items():
        yield f"{name}={value}"
    yield from (str(argument) for argument in defined.get("server_arguments") or ())
    if defined.get("runner"):
        yield f"runner: {defined['runner']}"


def model_runner(records: Sequence[Record]) -> str:
    """The model runner that trials attested, and whether the release chose it: "model runner V2, the release's own choice"; by arm where
    arms differ. "" if none took part."""
    ran: dict[str, str] = {}
    places = {line(str(arm["name"])): place for place, arm in enumerate(defined_arms(records[-1].definition))} if records else {}
    for record in sorted(records, key=lambda record: places.get(line(record.arm), len(places))):
        if record.status == "ok" and record.attestation and record.attestation.runner:
            variables = record.environment.get("variables")
            own = "" if variables is None or VARIABLE in variables else ", the release's own choice"
            ran[line(record.arm)] = f"{line(record.attestation.runner)}{own}"
    if len(set(ran.values())) < 2:
        return next((f"model runner {words}" for words in ran.values()), "")
    return f"model runner of {'; of '.join(f'{arm} {words}' for arm, words in ran.items())}"


def environment(records: Sequence[Record]) -> Iterable[Found]:
    """Every leaf of the environments: one value where all trials agree, else all values (numbers as a range).

    Arms and scenarios may run different builds, and so have different packages: where each arm of each scenario has one value, the values
    stand with their names and do not differ between trials. A leaf that only some arms have is missing in none of the others.
    """
    seen: dict[str, dict[_Side, dict[str, Any]]] = {}
    counts: Counter[tuple[str, _Side]] = Counter()
    for record in records:
        side = (record.scenario, record.arm)
        for name, value in flat(record.environment):
            shown = str(value) if type(value) is int and name.endswith(_MARKS) else value
            seen.setdefault(name, {}).setdefault(side, {}).setdefault(repr(value), shown)
            counts[name, side] += 1
    trials = Counter((record.scenario, record.arm) for record in records)
    for name, of_side in list(seen.items())[:MOST_FACTS]:
        label, unit = named(name)
        lacking = sum(trials[side] - counts[name, side] for side in of_side)
        every = {key: value for values in of_side.values() for key, value in values.items()}
        apart = len(every) > 1 and not lacking and all(len(values) == 1 for values in of_side.values()) and max(trials.values()) > 1
        values = _by_side(of_side, unit) if apart else summary(list(every.values()), unit)
        missing = (f"not recorded in {lacking} trials",) if lacking else ()
        yield label, (*values, *missing), (len(every) > 1 and not apart) or lacking > 0


_Side = tuple[str, str]
"""A scenario and one of its arms."""


def _by_side(of_side: Mapping[_Side, Mapping[str, Any]], unit: str) -> tuple[str, ...]:
    """A value for each side, where each has one: "2.13.0 (a, b)", "2.10.0 (c: old)"; a scenario's name alone where its arms agree."""
    of_scenario: dict[str, set[str]] = {}
    for (scenario, _), values in of_side.items():
        of_scenario.setdefault(scenario, set()).update(values)
    found: dict[str, list[str]] = {}
    for (scenario, arm), values in of_side.items():
        where = line(scenario) if len(of_scenario[scenario]) == 1 else f"{line(scenario)}: {line(arm)}"
        found.setdefault(plain(next(iter(values.values())), unit), []).append(where)
    told = [f"{value} ({few(list(dict.fromkeys(names)), 3)})" for value, names in found.items()]
    return (*told[:MOST_VALUES], f"and {len(told) - MOST_VALUES} more") if len(told) > MOST_VALUES else tuple(told)


_MARKS = ("seed", "port", "pid")
"""Endings of names whose numbers are identifiers: they have no separators and no range."""
_UNITS = {"rules.swapped": "B", "telemetry.swapped": "B"}
"""Units of leaves whose names do not end in them."""
_SUFFIXES = {"_bytes": "B", "_seconds": "s", "_mhz": "MHz", "_celsius": "°C", "_watts": "W"}


def named(name: str) -> tuple[str, str]:
    """A leaf's name for people and its unit: "before.memory_available_bytes" is "before: memory available" in B."""
    suffix = next((each for each in _SUFFIXES if name.endswith(each)), "")
    head, _, tail = name.removesuffix(suffix).rpartition(".")
    if head in ("variables", "packages"):
        return tail, ""
    unit = _SUFFIXES.get(suffix, _UNITS.get(name, ""))
    return f"{head.replace('_', ' ')}: {tail.replace('_', ' ')}" if head else tail.replace("_", " "), unit


def flat(mapping: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """The leaves of nested mappings with dotted names; lists are leaves."""
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def summary(values: Sequence[Any], unit: str = "") -> tuple[str, ...]:
    """The range of numbers; the first few of other values."""
    if len(values) > 1 and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return (f"{plain(min(values), unit)} to {plain(max(values), unit)}",)
    shown = tuple(plain(value, unit) for value in values[:MOST_VALUES])
    return (*shown, f"and {len(values) - MOST_VALUES} more") if len(values) > MOST_VALUES else shown


def plain(value: Any, unit: str = "") -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "unknown"}[value]
    if isinstance(value, (int, float)) and unit:
        return units.quantity(value, unit)
    if isinstance(value, int):
        return units.exact(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(each) for each in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{'' if key == 'name' else f'{named(str(key))[0]} '}{plain(each)}" for key, each in value.items()) or "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def attestations(arms: Sequence[str], records: Sequence[Record], arm_of: Callable[[Record], str]) -> Iterable[Found]:
    """What ran in each arm: one row per property, one value per arm; `differs` compares the arms."""
    of_arm: dict[str, list[Record]] = {arm: [] for arm in arms}
    for record in records:
        of_arm[arm_of(record)].append(record)
    columns = [_attested([record.attestation for record in of_arm[arm] if record.attestation]) for arm in arms]
    yield from _touched([of_arm[arm] for arm in arms])
    counts = {name for record in records if record.attestation for name in record.attestation.counts}
    for name in dict.fromkeys(name for column in columns for name in column):
        values = tuple(" / ".join(column[name]) if name in column else "–" for column in columns)
        apart = _other_processes(of_arm) if name == PROCESSES else name not in counts or _called(name, values)
        yield name, values, len(set(values)) > 1 and apart
    yield from _apart([of_arm[arm] for arm in arms])


PROCESSES = "processes"


def _other_processes(of_arm: Mapping[str, Sequence[Record]]) -> bool:
    """Whether arms had different numbers of processes. Numbers that vary between trials differ only if the arms have none in common."""
    seen = [{each.attestation.processes for each in records if each.attestation} for records in of_arm.values()]
    known = [values for values in seen if values]
    return len(known) > 1 and not set.intersection(*known)


CALLS = "calls "
"""The prefix of a function's count of calls."""


def _called(name: str, values: Sequence[str]) -> bool:
    """Whether one arm called a function and another never did. The number of calls depends on the requests, not on the code."""
    known = [value for value in values if value != "–"]
    return name.startswith(CALLS) and "0" in known and any(value != "0" for value in known)


def _touched(columns: Sequence[Sequence[Record]]) -> Iterable[Found]:
    """The files of vLLM that an overlay changes, one value per arm; nothing where no arm has an overlay."""
    changed = [dict.fromkeys(each for record in column for each in _files(record.environment.get("overlay"))) for column in columns]
    if any(changed):
        values = tuple(", ".join(summary(list(files))) or "none" for files in changed)
        yield "files of vLLM changed", values, len(set(values)) > 1


def _files(overlay: Any) -> Sequence[str]:
    files = overlay.get("files") if isinstance(overlay, Mapping) else None
    return [str(each) for each in files] if isinstance(files, list | tuple) else []


_SURROUNDINGS = ("variables", "packages", "server_arguments", "client", "build", "device", "lock", "commit", "driver")
"""The parts of an environment that belong to the arm: where they differ between arms, they are part of the comparison."""
_PLACES = ("VLLM_CACHE_ROOT",)
"""Variables that name an arm's own folder: its place changes nothing that runs."""
_OF_THE_DAY = ("--port=", "--served-model-name=")
"""Server arguments that are new for every launch."""


def _apart(columns: Sequence[Sequence[Record]]) -> Iterable[Found]:
    """Other differences between the arms' environments: packages, variables, server arguments."""
    seen: list[dict[str, dict[str, Any]]] = [{} for _ in columns]
    for values_of, column in zip(seen, columns, strict=True):
        for record in column:
            for name, value in flat({key: _lasting(record.environment[key]) for key in _SURROUNDINGS if key in record.environment}):
                values_of.setdefault(name, {}).setdefault(repr(value), value)
    for name in dict.fromkeys(name for values_of in seen for name in values_of):
        values = tuple(" / ".join(summary(list(values_of.get(name, {}).values()))) or "–" for values_of in seen)
        if len(set(values)) > 1:
            yield _apart_name(name), values, name.rpartition(".")[2] not in _PLACES


def _apart_name(name: str) -> str:
    """The name of such a difference for people: "package torch", "variable OMP_NUM_THREADS", "server arguments"."""
    head, _, tail = name.partition(".")
    if tail:
        return f"{head.removesuffix('s').replace('_', ' ')} {tail}"
    return "build in words" if head == "build" else head.replace("_", " ")


def _lasting(value: Any) -> Any:
    """Server arguments without those that are new for every launch; any other value unchanged."""
    return [each for each in value if not str(each).startswith(_OF_THE_DAY)] if isinstance(value, list) else value


def _attested(of_arm: Sequence[Attestation]) -> dict[str, tuple[str, ...]]:
    """The properties of one arm's attestations; several values where its trials differ."""
    every: dict[str, dict[str, Any]] = {}
    for attestation in of_arm:
        for name, value in _properties(attestation):
            every.setdefault(name, {}).setdefault(repr(value), value)
    return {name: summary(list(values.values())) for name, values in every.items()}


def _properties(attestation: Attestation) -> Iterable[tuple[str, Any]]:
    yield "build", attestation.build
    yield "vLLM version", attestation.vllm_version
    yield "vLLM file", attestation.vllm_file
    yield "hash of vLLM's Python files", attestation.sources
    yield "torch version", attestation.torch_version
    yield "compiled operators", attestation.compiled_operators
    yield "model runner", attestation.runner or "none took part"
    yield "Python", attestation.python
    yield PROCESSES, attestation.processes
    yield "patches", ", ".join(patch_words(name, patch) for name, patch in attestation.patches.items()) or "none"
    for name, why in attestation.refused.items():
        yield f"refused: {name}", why
    for target in attestation.unwatchable:
        yield f"not watchable: {target}", "in this build"
    yield from ((name, count) for name, count in sorted(attestation.counts.items()))


def patch_words(name: str, patch: Mapping[str, Any]) -> str:
    """A patch as applied: "swap_states_full_rows (removes, verified)"."""
    verified = {True: "verified", None: "yours"}.get(patch.get("verified"), "NOT verified")
    return f"{name} ({', '.join(part for part in (str(patch.get('direction', '')), verified) if part)})"


AGAIN = "results/again"
"""The results folder of a repeat."""


def commands(name: str, records: Sequence[Record], results: str) -> Iterable[str]:
    """The commands that run this again, and judge and show the repeat; arguments are quoted for a shell.

    The repeat has its own folder, so that its records do not mix with the old ones. Without records, `results` is judged again. The first
    is "" where the records do not say how they were made: the command that made them knows.
    """
    if records:
        last = records[-1]
        own = _of_kind(last)
        yield shlex.join(own or _run(name, last, results))
        results = results if own else AGAIN
    yield shlex.join(["perfproof", "compare", "--results", results])
    yield shlex.join(["perfproof", "report", "--results", results, "--out", "report.html"])


def _run(name: str, record: Record, results: str) -> list[str]:
    """The command that runs a scenario again; nothing where its file alone does not tell what was measured: a diff's place is in no
    record."""
    file, given = typed(name, results), _given(record.definition)
    if given is None or (_of_change(record.definition) and (_rearmed(record.definition) or not is_there(file))):
        return []
    options = ["--profile", line(record.profile), "--seed", str(record.seed), "--results", AGAIN]
    return ["perfproof", "run", file, *given, *options, *_blocks(record)]


CHANGE = ["base", "diff"]
"""The arms of a change that `pr`, `gate` or `ab` measures."""
REARMED = " change against its base?"
"""How the question ends where `pr` or `gate` put them in place of a scenario's own."""


def _of_change(definition: Mapping[str, Any]) -> bool:
    return [arm["name"] for arm in defined_arms(definition)] == CHANGE


def _rearmed(definition: Mapping[str, Any]) -> bool:
    return str(definition.get("question")).endswith(REARMED)


def _given(definition: Mapping[str, Any]) -> list[str] | None:
    """The options for builds that replaced the scenario's own; None where one is not a release, since its path is in no record."""
    builds = definition.get("builds")
    given = {option: builds.get(f"given_{option}") for option in ("baseline", "candidate")} if isinstance(builds, Mapping) else {}
    docs = {option: doc for option, doc in given.items() if doc is not None}
    if not all(isinstance(doc, Mapping) and doc.get("kind") == "release" for doc in docs.values()):
        return None
    return [word for option, doc in docs.items() for word in (f"--{option}", line(f"{doc.get('distribution')}=={doc.get('version')}"))]


def _blocks(record: Record) -> list[str]:
    """The option for the number of blocks, where the design fixed it."""
    blocks = record.definition.get("blocks")
    return ["--blocks", str(blocks)] if type(blocks) is int else []


def _of_kind(record: Record) -> list[str]:
    """The command that measures a trial's workload again, where its kind has its own; else nothing."""
    kind = kind_in(record.definition)
    return [] if kind is None else list(kind.repeat(record.definition["workload"]))


def seconds(records: Sequence[Record]) -> tuple[tuple[str, float], ...]:
    """The time that trials spent, the longest phase first, and "in all" last, which is never less than the sum of the phases.

    A trial's own total leaves out what came before it, above all the start of its server.
    """
    spent: dict[str, float] = {}
    whole = 0.0
    for record in records:
        phases = {line(phase): float(taken) for phase, taken in record.seconds.items()}
        total = phases.pop("total", 0.0)
        whole += max(total, sum(phases.values()))
        for phase, taken in phases.items():
            spent[phase] = spent.get(phase, 0.0) + taken
    return (*sorted(spent.items(), key=lambda item: -item[1]), ("in all", whole)) if spent or whole else ()


def as_yaml(definition: Mapping[str, Any]) -> str:
    """The scenario's definition as YAML text."""
    return yaml.safe_dump(json.loads(json.dumps(definition, default=str)), sort_keys=False, allow_unicode=True, width=100)
