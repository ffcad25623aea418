"""The schema of a policy file, and the policy of a file: by its path, or by the name of one of the suite's own.

Every fault has the form `file: field: what was expected`, and all are reported at once, also expired waivers: a gate that accepted them
would let forgotten failures pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_plain, shown
from perfproof.model.documents import scenario_documents
from perfproof.model.records.counts import METRICS as HOST_COUNTS
from perfproof.model.scenarios.metrics import METRICS, base_name
from perfproof.model.scenarios.scenario import Profile
from perfproof.model.verdicts.policy import (
    DEFAULT_POLICY,
    CountMargins,
    CountRule,
    Decides,
    Family,
    MetricRule,
    Policy,
    Rule,
    StoredBaseline,
    Then,
    Waiver,
)

SHIPPED = Path(__file__).resolve().parents[2] / "policies"
"""The folder of the suite's own policies, one per file."""
COUNTED = tuple(HOST_COUNTS)
"""Counts of the host's work, such as `python_instructions`: a waiver may name them."""
LONGEST = 7 * 24 * 60.0
"""The most minutes of a budget."""
_DURATION = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,6})?)\s*(?P<unit>s|m|min|h)?")
_MINUTES = {"s": 1 / 60, "m": 1.0, "min": 1.0, "h": 60.0, None: 1.0}
_PATTERN = r"^[A-Za-z0-9_*?.@=,-]+$"
Pattern = Annotated[str, StringConstraints(pattern=_PATTERN, max_length=200)]
MetricPattern = Annotated[str, StringConstraints(pattern=_PATTERN.replace("]+$", "]+(/[A-Za-z0-9_*?.@=,-]+)?$"), max_length=300)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


def minutes(text: str) -> float:
    """The minutes of a text like `20m`, `90s`, `1.5h` or `20`; `ValueError` names the expected form."""
    match = _DURATION.fullmatch(text.strip())
    value = float(match["number"]) * _MINUTES[match["unit"]] if match else 0.0
    if not 0 < value <= LONGEST:
        raise ValueError(f"expected a time such as 20m, 90s or 1.5h, got {text!r}")
    return value


def _warns_before_it_fails(warn: float | None, fail: float | None) -> None:
    if warn is not None and fail is not None and warn >= fail:
        raise ValueError(f"expected 'warn' ({warn:g}) to be smaller than 'fail' ({fail:g}): a change must warn before it fails")


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TimesDoc(_Doc):
    decide: Literal["primary", "none"] = "primary"
    warn: Fraction | None = None
    fail: Fraction | None = None

    @model_validator(mode="after")
    def _warns_first(self) -> TimesDoc:
        _warns_before_it_fails(self.warn, self.fail)
        return self


class WitnessesDoc(_Doc):
    decide: Decides = "primary"
    rule: CountRule = "at_most"


class CountsDoc(_Doc):
    """Without `warn`, the default one applies, if it is smaller than `fail`."""

    warn: Fraction | None = None
    fail: Fraction | None = None

    @model_validator(mode="after")
    def _warns_first(self) -> CountsDoc:
        _warns_before_it_fails(self.warn, self.fail)
        return self

    def margins(self) -> CountMargins:
        default = DEFAULT_POLICY.counts.warn
        room = default is not None and (self.fail is None or self.fail > default)
        return CountMargins(warn=self.warn if "warn" in self.model_fields_set else default if room else None, fail=self.fail)


class MetricRuleDoc(_Doc):
    decide: bool | None = None
    warn: Fraction | None = None
    fail: Fraction | None = None
    rule: CountRule | None = None

    @model_validator(mode="after")
    def _says_something(self) -> MetricRuleDoc:
        _warns_before_it_fails(self.warn, self.fail)
        if not self.model_fields_set:
            raise ValueError("expected one of 'decide', 'warn', 'fail' and 'rule': this entry changes nothing")
        return self


class WaiverDoc(_Doc):
    scenario: Pattern = "*"
    metric: Pattern
    reason: Words
    until: str
    issue: Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"']+$", max_length=500)]

    @field_validator("until")
    @classmethod
    def _a_day(cls, text: str) -> str:
        try:
            date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"expected a day such as '2027-01-31', got {text!r}") from None
        return text


class StoredBaselineDoc(_Doc):
    max_age_days: Annotated[int, Field(gt=0, le=3650)] | None = None
    same_machine: bool = True


class PolicyDoc(_Doc):
    schema_: Annotated[Literal[1], Field(alias="schema")]
    about: Annotated[str, StringConstraints(max_length=1000)] = ""
    scenarios: Annotated[list[Pattern], Field(min_length=1)] = ["*"]
    times: TimesDoc = TimesDoc()
    witnesses: WitnessesDoc = WitnessesDoc()
    counts: CountsDoc = CountsDoc()
    accuracy: TimesDoc = TimesDoc()
    equality: Literal["required", "reported"] = "required"
    metrics: dict[MetricPattern, MetricRuleDoc] = {}
    inconclusive: Then = DEFAULT_POLICY.inconclusive
    untestable: Then = DEFAULT_POLICY.untestable
    not_covered: Then = DEFAULT_POLICY.not_covered
    also_worse: Then = DEFAULT_POLICY.also_worse
    shared_launches: Literal["inconclusive", "count"] = DEFAULT_POLICY.shared_launches
    profile: Profile = DEFAULT_POLICY.profile
    canary: list[Pattern] = []
    aa: Literal["first", "never"] = DEFAULT_POLICY.aa
    exact_blocks: Annotated[int, Field(ge=2, le=1000)] | None = None
    budget: str | None = None
    baseline: StoredBaselineDoc = StoredBaselineDoc()
    waivers: list[WaiverDoc] = []

    @field_validator("budget")
    @classmethod
    def _a_time(cls, text: str | None) -> str | None:
        if text is not None:
            minutes(text)
        return text


def _metric_fault(pattern: str, rule: Mapping[str, Any]) -> str:
    """The fault of an entry of `metrics`; "" if it is valid."""
    if fault := unknown(pattern.rpartition("/")[2]):
        return fault
    known = METRICS.get(base_name(pattern.rpartition("/")[2]))
    if known and rule.get("rule") and known.kind != "witness":
        counts = ", ".join(name for name, row in METRICS.items() if row.kind == "witness")
        return f"'rule' is for exact counts, and this is not one; {counts} are"
    if known and known.kind == "witness" and (rule.get("warn") or rule.get("fail")):
        return "an exact count has no margin: use 'rule: at_most', 'equal' or 'constant'"
    return ""


def unknown(name: str) -> str:
    """The fault of an unknown metric's name, with similar names; "" for a known one, and for a pattern."""
    base = base_name(name)
    if base in METRICS or any(letter in base for letter in "*?"):
        return ""
    near = get_close_matches(base, METRICS, n=3)
    return f"unknown metric {base!r}" + (f", did you mean {', '.join(near)}?" if near else "; perfproof's metrics are in docs/scenarios.md")


# --- the policy of a file -----------------------------------------------------------------------------------


def shipped() -> dict[str, Path]:
    """The suite's own policies, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def load_policy(named: Path | str, today: date | None = None) -> Policy:
    """The policy of a YAML file, or the suite's own policy of that name.

    Waivers must not have expired on `today`, if it is given. Raises `BadInput` with all faults.
    """
    path = _found(named)
    data, faults = read_plain(path)
    doc: PolicyDoc | None = None
    try:
        doc = PolicyDoc.model_validate_json(json.dumps(data))
    except ValidationError as error:
        faults += map(_fault_text, error.errors())
    faults += [*_rule_faults(data.get("metrics")), *_waiver_faults(data.get("waivers"), today)]
    if doc is None or faults:
        raise BadInput(*(f"{path}: {fault}" for fault in faults))
    return replace(_policy(doc, path.stem), source=str(path))


def _found(named: Path | str) -> Path:
    """The file: an existing path, else the suite's own policy of that name."""
    path, ours = Path(named), shipped()
    if path.is_file() or str(named) not in ours:
        if not path.exists() and path.suffix not in (".yaml", ".yml") and len(path.parts) == 1:
            near = get_close_matches(str(named), ours, n=1)
            hint = f", did you mean {near[0]}?" if near else f"; there are {', '.join(ours)}, or name a file"
            raise BadInput(f"--policy {named}: there is no policy of that name{hint}")
        return path
    return ours[str(named)]


def _rule_faults(rules: Any) -> Iterator[str]:
    """The faults of entries of `metrics`, whatever else is wrong with the file."""
    for pattern, rule in rules.items() if isinstance(rules, dict) else ():
        if fault := _metric_fault(pattern, rule if isinstance(rule, dict) else {}):
            yield f"metrics.{pattern}: {fault}"


def _waiver_faults(waivers: Any, today: date | None) -> Iterator[str]:
    """Waivers of unknown metrics, and expired waivers, whatever else is wrong with the file."""
    for place, waiver in enumerate(waivers if isinstance(waivers, list) else ()):
        texts = {key: value for key, value in waiver.items() if isinstance(value, str)} if isinstance(waiver, dict) else {}
        if texts.get("metric", "*") not in COUNTED and (fault := unknown(texts["metric"])):
            yield f"waivers.{place}.metric: {fault}"
        until = _day(texts.get("until", ""))
        if today is not None and until is not None and until < today:
            days = (today - until).days
            named, issue = f"{texts.get('scenario', '*')}/{texts.get('metric', '*')}", texts.get("issue", "")
            yield (
                f"waivers.{place}.until: this waiver of {named} expired on {until} ({days} day{'' if days == 1 else 's'} ago): fix what "
                f"it waives{f' ({issue})' if issue else ''}, or set a new day"
            )


def _day(text: str) -> date | None:
    """The day of a text; None for another text, which the field's own check reports."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _fault_text(detail: ErrorDetails) -> str:
    """A fault of a policy in words, with similar keys of a policy."""
    if detail["type"] != "extra_forbidden":
        return scenario_documents.fault_text(detail)
    *above, key = map(str, detail["loc"])
    return ".".join([*above, key]) + ": unknown key" + (_meant(key, above) or f" {shown(key)}")


def _meant(key: str, above: Sequence[str]) -> str:
    """A clause with the probable key: the same key at another place, else a similar one here; "" for neither."""
    top = _keys(PolicyDoc)
    inner = [f"{place}.{key}" for place, doc in WITHIN.items() if key in _keys(doc)]
    if above and key in top:
        return f", did you mean {key!r} at the top?"
    here = top if not above else _keys(WITHIN.get(above[0], WaiverDoc if above[0] == "waivers" else MetricRuleDoc))
    candidates = ([] if above else inner) or get_close_matches(key, here, n=1)
    return f", did you mean {' or '.join(map(repr, candidates))}?" if candidates else ""


WITHIN: dict[str, type[_Doc]] = {
    "times": TimesDoc,
    "accuracy": TimesDoc,
    "witnesses": WitnessesDoc,
    "counts": CountsDoc,
    "baseline": StoredBaselineDoc,
}
"""Keys of a policy that have keys below them."""


def _keys(doc: type[_Doc]) -> list[str]:
    return [field.alias or name for name, field in doc.model_fields.items()]


def _policy(doc: PolicyDoc, name: str) -> Policy:
    times, accuracy = (Rule(decide=one.decide, warn=one.warn, fail=one.fail, count="at_most") for one in (doc.times, doc.accuracy))
    rules: dict[Family, Rule] = {
        "times": times,
        "accuracy": accuracy,
        "witnesses": Rule(decide=doc.witnesses.decide, warn=None, fail=None, count=doc.witnesses.rule),
        "equality": Rule(decide="primary" if doc.equality == "required" else "none", warn=None, fail=None, count="at_most"),
    }
    return Policy(
        name=name,
        about=doc.about,
        scenarios=tuple(doc.scenarios),
        rules=rules,
        metrics=tuple(
            MetricRule(pattern=pattern, decide=rule.decide, warn=rule.warn, fail=rule.fail, count=rule.rule)
            for pattern, rule in doc.metrics.items()
        ),
        counts=doc.counts.margins(),
        inconclusive=doc.inconclusive,
        untestable=doc.untestable,
        not_covered=doc.not_covered,
        also_worse=doc.also_worse,
        shared_launches=doc.shared_launches,
        profile=doc.profile,
        canary=tuple(doc.canary),
        aa=doc.aa,
        exact_blocks=doc.exact_blocks,
        budget=None if doc.budget is None else minutes(doc.budget),
        baseline=StoredBaseline(max_age_days=doc.baseline.max_age_days, same_machine=doc.baseline.same_machine),
        waivers=tuple(
            Waiver(scenario=one.scenario, metric=one.metric, reason=one.reason, until=date.fromisoformat(one.until), issue=one.issue)
            for one in doc.waivers
        ),
    )
