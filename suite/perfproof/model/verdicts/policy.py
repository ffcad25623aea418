"""What a gate does with verdicts: the rules of one policy, and which of them a metric falls under."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Literal

from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.scenarios.metrics import PARTS, Kind, base_name, metric
from perfproof.model.scenarios.scenario import COUNT_MARGIN, DEFAULT_MARGIN, MOST_PRIMARY, Profile

Decides = Literal["primary", "all", "none"]
"""Which metrics of a family decide: those that their scenarios declare primary, all, or none."""
Then = Literal["pass", "warn", "fail"]
"""What something does to the decision."""
CountRule = Literal["at_most", "equal", "constant"]
"""What is asked of an exact count: no more than the base's; just the base's; no more at any size than at the smallest."""
Family = Literal["times", "witnesses", "counts", "accuracy", "equality"]
FAMILY: Mapping[Kind, Family] = {
    "time": "times",
    "rate": "times",
    "memory": "times",
    "witness": "witnesses",
    "count": "counts",
    "share": "accuracy",
}
_SIZED = re.compile(r"(?P<base>[^@]+)@(?P<parameter>[A-Za-z_]\w*)=(?P<size>\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is asked of a metric. `fail` and `warn` are fractions of the base (of shares: differences); a `fail` of None is the
    scenario's own margin, a `warn` of None warns of nothing. `count` is for exact counts alone."""

    decide: Decides
    warn: float | None
    fail: float | None
    count: CountRule


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRule:
    """What one entry of `metrics` changes of its family's rule; None leaves it. `pattern` is `scenario/metric`, with `*` and `?`."""

    pattern: str
    decide: bool | None
    warn: float | None
    fail: float | None
    count: CountRule | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMargins:
    """From which fraction on more counted work of the host warns and fails; None for never."""

    warn: float | None
    fail: float | None

    @property
    def smallest(self) -> float:
        """The smallest change that matters."""
        return min((each for each in (self.warn, self.fail) if each is not None), default=COUNT_MARGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A failure that is known and let pass until a day, that day included; `scenario` and `metric` may hold `*` and `?`."""

    scenario: str
    metric: str
    reason: str
    until: date
    issue: str

    def covers(self, scenario: str, name: str) -> bool:
        """Whether it waives that metric of that scenario."""
        return fnmatchcase(own_name(scenario), self.scenario) and _named(name, self.metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBaseline:
    """What a stored baseline must be to be compared with: at most `max_age_days` old (None: any age), of this kind of machine."""

    max_age_days: int | None
    same_machine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a policy asks of one metric of one scenario."""

    family: Family
    decides: bool
    warn: float | None
    fail: float | None
    count: CountRule
    silent: bool = False
    """Whether it has no say even where it got worse by much: its scenario does not decide, or the policy says `decide: false` of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of a gate, and how a gate that measures spends its time.

    `source` is its file, "" for none. `scenarios` are patterns of those that decide. `inconclusive`, `untestable` and `not_covered` (a
    change that no scenario exercises, or that no overlay can follow) say what such a thing does to the decision; `also_worse` what a metric
    does that is not primary and surely got worse by much; `shared_launches` whether
    a verdict from servers that were launched once for all blocks counts as it is, or as inconclusive. `canary` is measured whatever a
    change touches; `aa` says whether the base is run against itself first. A scenario whose deciding metrics are all exact stops after
    `exact_blocks` blocks (None: its own number). `budget` is minutes. `counts` are for the work of vLLM's host, counted.
    """

    name: str
    about: str
    scenarios: Sequence[str]
    rules: Mapping[Family, Rule]
    metrics: Sequence[MetricRule]
    inconclusive: Then
    untestable: Then
    not_covered: Then
    shared_launches: Literal["inconclusive", "count"]
    profile: Profile
    canary: Sequence[str]
    aa: Literal["first", "never"]
    exact_blocks: int | None
    budget: float | None
    baseline: StoredBaseline
    waivers: Sequence[Waiver]
    source: str = ""
    also_worse: Then = "warn"
    counts: CountMargins = CountMargins(warn=COUNT_MARGIN, fail=None)

    @property
    def called(self) -> str:
        """What a fault of it begins with: its file, or its name."""
        return self.source or f"policy {self.name}"

    def asks(self, scenario: str, name: str, *, primary: bool) -> Asked:
        """What is asked of a metric; `primary` is whether its scenario declares it so."""
        scenario, family = own_name(scenario), _family(name)
        rule = self._counted if family == "counts" else self.rules[family]
        decides = rule.decide == "all" or (rule.decide == "primary" and primary)
        warn, fail, count = rule.warn, rule.fail, rule.count
        silent = False
        for own in (own for own in self.metrics if _matches(own.pattern, scenario, name)):
            decides = decides if own.decide is None else own.decide
            silent = silent if own.decide is None else not own.decide
            warn, fail, count = own.warn or warn, own.fail or fail, own.count or count
        meant = any(fnmatchcase(scenario, pattern) for pattern in self.scenarios)
        return Asked(family=family, decides=decides and meant, warn=warn, fail=fail, count=count, silent=silent or not meant)

    @property
    def _counted(self) -> Rule:
        """What is asked of every count of the host's work, whether its scenario names it or not."""
        return Rule(decide="all", warn=self.counts.warn, fail=self.counts.fail, count="at_most")

    def lacking(self, scenarios: Collection[str]) -> list[str]:
        """The names and patterns of scenarios that decide and that none of these fits."""
        return [name for name in dict.fromkeys(self.scenarios) if not any(fnmatchcase(one, name) for one in scenarios)]

    def waived(self, scenario: str, name: str) -> Waiver | None:
        """The waiver of a metric, if there is one."""
        return next((waiver for waiver in self.waivers if waiver.covers(scenario, name)), None)


def _family(name: str) -> Family:
    if base_name(name) in PARTS:
        return "equality"
    try:
        return FAMILY[metric(name).kind]
    except KeyError:
        return "times"  # the numbers of a table, which are called what their file is called


def _matches(pattern: str, scenario: str, name: str) -> bool:
    where, _, what = pattern.rpartition("/")
    return fnmatchcase(scenario, where or "*") and _named(name, what)


def _named(name: str, pattern: str) -> bool:
    """Whether a pattern names a metric, or the metric whose case it is."""
    return fnmatchcase(name, pattern) or fnmatchcase(base_name(name), pattern)


def sized(name: str) -> tuple[str, float] | None:
    """A metric of a sweep as what is swept and the size: `("round_time@output_length", 16000.0)`; None for one that is in no sweep."""
    found = _SIZED.fullmatch(name)
    return (f"{found['base']}@{found['parameter']}", float(found["size"])) if found else None


# --- the metrics that decide, in a scenario's definition ----------------------------------------------------


def policed(definition: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """The definition with the timed primary metrics and the margins that the policy asks for, so that its error is shared among just those.

    No exact count is made primary by it: they are judged in any case. Where nothing would be primary any more, the definition stays
    whole: there is nothing in it that decides. Raises `BadInput` for more primary metrics than a scenario may have.
    """
    scenario, found = str(definition["name"]), {}
    for name, choice in definition["metrics"].items():
        declared = bool(choice.get("primary"))
        asked = policy.asks(scenario, name, primary=declared)
        counted = asked.family in ("witnesses", "counts", "equality")
        found[name] = {
            **choice,
            "primary": asked.decides and (declared or not counted),
            "margin": asked.fail if asked.fail is not None and not counted else choice.get("margin", DEFAULT_MARGIN),
        }
    primary = [name for name, choice in found.items() if choice["primary"]]
    if len(primary) > MOST_PRIMARY:
        raise BadInput(
            f"{policy.called}: makes {len(primary)} metrics of {scenario} decide, at most {MOST_PRIMARY} may: "
            f"say 'decide: false' for some of {', '.join(primary)}"
        )
    return {**definition, "metrics": found} if primary else dict(definition)


def deciding(definition: Mapping[str, Any], policy: Policy) -> list[str]:
    """The metrics of a definition that decide under a policy."""
    scenario = str(definition["name"])
    choices = definition["metrics"].items()
    return [name for name, choice in choices if policy.asks(scenario, name, primary=bool(choice.get("primary"))).decides]


_PLAIN = Rule(decide="primary", warn=None, fail=None, count="at_most")
DEFAULT_POLICY = Policy(
    name="default",
    about="What scenarios declare primary decides, against their own margins.",
    scenarios=("*",),
    rules={"times": _PLAIN, "witnesses": _PLAIN, "accuracy": _PLAIN, "equality": _PLAIN},
    metrics=(),
    inconclusive="pass",
    untestable="fail",
    not_covered="warn",
    shared_launches="inconclusive",
    profile="quick",
    canary=(),
    aa="never",
    exact_blocks=None,
    budget=None,
    baseline=StoredBaseline(max_age_days=None, same_machine=True),
    waivers=(),
)
