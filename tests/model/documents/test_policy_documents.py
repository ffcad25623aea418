"""The policy file: what it may say, how its faults are reported, and which rule a metric falls under."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.policy_documents import PolicyDoc, load_policy, minutes, shipped
from perfproof.model.verdicts.policy import DEFAULT_POLICY, deciding, policed, sized
from tests.factory import DEFINITION

TODAY = date(2026, 11, 28)
WAIVER = {"metric": "bytes_per_swap", "reason": "known", "until": "2026-12-31", "issue": "https://example.org/1"}


def write(folder: Path, document: Any) -> Path:
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_file_that_says_nothing_is_the_default(tmp_path: Path) -> None:
    """Every key has a default, and these are what a gate without a policy goes by."""
    found = load_policy(write(tmp_path, {"schema": 1}))
    assert (found.inconclusive, found.untestable, found.not_covered) == ("pass", "fail", "warn")
    assert found.rules == DEFAULT_POLICY.rules
    assert found.also_worse == "warn"
    assert (found.shared_launches, found.aa, found.budget, found.exact_blocks) == ("inconclusive", "never", None, None)


@pytest.mark.parametrize(
    ("said", "margins"),
    [
        ({}, (0.005, None, 0.005)),
        ({"fail": 0.1}, (0.005, 0.1, 0.005)),
        ({"fail": 0.002}, (None, 0.002, 0.002)),
        ({"warn": None}, (None, None, 0.005)),
        ({"warn": 0.02, "fail": 0.1}, (0.02, 0.1, 0.02)),
    ],
)
def test_counts_of_the_host_warn_and_fail_from_margins(
    tmp_path: Path, said: dict[str, float | None], margins: tuple[float | None, ...]
) -> None:
    """They warn above 0.5 % unless a file says otherwise, and fail only where it says so."""
    found = load_policy(write(tmp_path, {"schema": 1, "counts": said})).counts
    assert (found.warn, found.fail, found.smallest) == margins


def test_the_policies_that_come_along_warn_of_counted_work_and_only_one_fails() -> None:
    """The default and quiet-gpu warn alone; noisy-ci fails above 2 %, which no harmless change comes near."""
    assert (DEFAULT_POLICY.counts.warn, DEFAULT_POLICY.counts.fail) == (0.005, None)
    assert load_policy("quiet-gpu").counts == DEFAULT_POLICY.counts
    assert (load_policy("noisy-ci").counts.warn, load_policy("noisy-ci").counts.fail) == (0.005, 0.02)


def test_a_waiver_may_name_a_count_of_the_host(tmp_path: Path) -> None:
    """As `python_instructions`, of any feature."""
    found = load_policy(write(tmp_path, {"schema": 1, "waivers": [{**WAIVER, "metric": "python_instructions"}]}), TODAY)
    assert found.waived("host_work", "python_instructions@plain")
    assert not found.waived("host_work", "c_calls@plain")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": 2}, "schema: expected 1, got 2"),
        ({"inconclusive": "maybe"}, "inconclusive: expected 'pass', 'warn' or 'fail', got 'maybe'"),
        ({"also_worse": True}, "also_worse: expected 'pass', 'warn' or 'fail', got "),
        ({"metrcs": {}}, "metrcs: unknown key, did you mean 'metrics'?"),
        ({"fail": 3}, "fail: unknown key, did you mean 'times.fail' or 'accuracy.fail' or 'counts.fail'?"),
        ({"times": {"inconclusive": "fail"}}, "times.inconclusive: unknown key, did you mean 'inconclusive' at the top?"),
        ({"times": {"warm": 0.1}}, "times.warm: unknown key, did you mean 'warn'?"),
        ({"times": {"decide": "all"}}, "times.decide: expected 'primary' or 'none', got 'all'"),
        ({"times": {"warn": 0.05, "fail": 0.02}}, "times: expected 'warn' (0.05) to be smaller than 'fail' (0.02)"),
        ({"times": {"fail": 2}}, "times.fail: "),
        ({"counts": {"warn": 0.05, "fail": 0.02}}, "counts: expected 'warn' (0.05) to be smaller than 'fail' (0.02)"),
        ({"counts": {"fail": 1.5}}, "counts.fail: "),
        ({"counts": {"rule": "equal"}}, "counts.rule: unknown key"),
        ({"metrics": {"python_instruction": {"decide": True}}}, "unknown metric 'python_instruction', did you mean python_instructions"),
        (
            {"metrics": {"round_tmie": {"decide": True}}},
            "metrics.round_tmie: unknown metric 'round_tmie', did you mean round_time, printed_time?",
        ),
        ({"metrics": {"swap/round_tmie": {"decide": True}}}, "unknown metric 'round_tmie'"),
        ({"metrics": {"round_time": {}}}, "expected one of 'decide', 'warn', 'fail' and 'rule'"),
        ({"metrics": {"round_time": {"rule": "equal"}}}, "'rule' is for exact counts"),
        ({"metrics": {"bytes_per_swap": {"fail": 0.1}}}, "an exact count has no margin: use 'rule: at_most', 'equal' or 'constant'"),
        ({"witnesses": {"rule": "less"}}, "witnesses.rule: expected 'at_most', 'equal' or 'constant', got 'less'"),
        ({"budget": "soon"}, "budget: expected a time such as 20m, 90s or 1.5h, got 'soon'"),
        ({"exact_blocks": 1}, "exact_blocks: "),
        ({"waivers": [{**WAIVER, "until": "next year"}]}, "waivers.0.until: expected a day such as '2027-01-31', got 'next year'"),
        ({"waivers": [{**WAIVER, "issue": "JIRA-5"}]}, "waivers.0.issue: "),
        ({"waivers": [{"metric": "bytes_per_swap"}]}, "waivers.0.reason: is missing"),
        (
            {"waivers": [{**WAIVER, "metric": "bytes_per_swp"}]},
            "waivers.0.metric: unknown metric 'bytes_per_swp', did you mean bytes_per_swap, ",
        ),
        (
            {"waivers": [{**WAIVER, "until": "2026-11-01"}]},
            "waivers.0.until: this waiver of */bytes_per_swap expired on 2026-11-01 (27 days ago)",
        ),
    ],
)
def test_faults_name_file_field_and_remedy(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    """Whatever is wrong with a policy is reported with its place and with what was expected there."""
    path = write(tmp_path, {"schema": 1, **change})
    with pytest.raises(BadInput) as caught:
        load_policy(path, TODAY)
    assert any(fault.startswith(f"{path}: ") and told in fault for fault in caught.value.faults), caught.value.faults


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    """Three mistakes are three sentences."""
    with pytest.raises(BadInput) as caught:
        load_policy(write(tmp_path, {"schema": 1, "untestable": "x", "aa": "x", "nothing": 1}))
    assert len(caught.value.faults) == 3


def test_faults_of_every_kind_are_told_together(tmp_path: Path) -> None:
    """A waiver that ran out, unknown metrics and a date without quotes are reported beside faults of shape, even those of the same
    entry."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "schema: 1\naa: x\nmetrics: {round_tmie: {fail: 2}}\nwaivers:\n"
        "- {metric: round_time, reason: x, until: '2026-11-01'}\n"
        "- {metric: round_tmie, reason: x, until: 2026-11-01, issue: 'https://example.org/1'}\n"
    )
    with pytest.raises(BadInput) as caught:
        load_policy(path, TODAY)
    told = [fault.removeprefix(f"{path}: ") for fault in caught.value.faults]
    expected = (
        "aa: expected 'first' or 'never'",
        "metrics.round_tmie.fail: ",
        "metrics.round_tmie: unknown metric",
        "waivers.0.issue: is missing",
        "waivers.0.until: this waiver of */round_time expired on 2026-11-01",
        "waivers.1.metric: unknown metric",
        "waivers.1.until: only plain values are allowed, write a date in quotes: '2026-11-01'",
        "waivers.1.until: this waiver of */round_tmie expired on 2026-11-01 (27 days ago): fix what it waives (https://example.org/1)",
    )
    assert [words for words in expected if not any(fault.startswith(words) for fault in told)] == []
    assert len(told) == len(expected)


def test_a_date_without_quotes_says_what_to_do(tmp_path: Path) -> None:
    """YAML makes a date of it, which is no plain value: the fault says that it must stand in quotes."""
    path = tmp_path / "policy.yaml"
    path.write_text("schema: 1\nwaivers: [{metric: round_time, reason: x, until: 2026-12-31, issue: 'https://example.org'}]\n")
    with pytest.raises(BadInput, match=r"policy.yaml: waivers\.0\.until: .*write a date in quotes: '2026-12-31'"):
        load_policy(path)


def test_a_waiver_holds_through_its_last_day(tmp_path: Path) -> None:
    """The day itself is included; the day after, the policy is refused."""
    path = write(tmp_path, {"schema": 1, "waivers": [WAIVER]})
    assert load_policy(path, date(2026, 12, 31)).waived("swap_states", "bytes_per_swap") is not None
    with pytest.raises(BadInput, match=re.escape("(1 day ago)")):
        load_policy(path, date(2027, 1, 1))


def test_policies_are_found_by_name_or_by_path(tmp_path: Path) -> None:
    """The two that the suite brings along have names; a name that is none is reported with the near one."""
    assert sorted(shipped()) == ["noisy-ci", "quiet-gpu"]
    assert load_policy("noisy-ci").rules["times"].decide == "none"
    assert load_policy("quiet-gpu").aa == "first"
    with pytest.raises(BadInput, match=r"--policy noisy_ci: there is no policy of that name, did you mean noisy-ci\?"):
        load_policy("noisy_ci")
    with pytest.raises(BadInput, match=r"gone\.yaml: can't be read"):
        load_policy(tmp_path / "gone.yaml")


@pytest.mark.parametrize(("text", "found"), [("20m", 20.0), ("90s", 1.5), ("1.5h", 90.0), ("7", 7.0), ("10 min", 10.0)])
def test_times_are_read_as_people_write_them(text: str, found: float) -> None:
    """Seconds, minutes and hours; a number alone is minutes."""
    assert minutes(text) == found


@pytest.mark.parametrize("text", ["", "0", "-1m", "1d", "20 minutes", "9999999", "1e3"])
def test_other_times_are_refused(text: str) -> None:
    """Nothing, 0, and more than a week are no budget."""
    with pytest.raises(ValueError, match="expected a time such as"):
        minutes(text)


def test_entries_overrule_their_family(tmp_path: Path) -> None:
    """`scenario/metric`, a metric alone and patterns: what fits last counts, for every case of a metric too."""
    rules = {"round_time": {"fail": 0.05}, "slow_*/round_time": {"decide": True, "fail": 0.1, "warn": 0.02}}
    found = load_policy(write(tmp_path, {"schema": 1, "times": {"decide": "none"}, "metrics": rules}))
    plain, slow = (found.asks(name, "round_time@size=5", primary=True) for name in ("swap", "slow_swap"))
    assert (plain.decides, plain.fail, plain.warn) == (False, 0.05, None)
    assert (slow.decides, slow.fail, slow.warn) == (True, 0.1, 0.02)
    assert not found.asks("swap", "median_ttft", primary=True).decides


def test_only_named_scenarios_decide(tmp_path: Path) -> None:
    """What `scenarios` does not name is reported, whatever it declares."""
    found = load_policy(write(tmp_path, {"schema": 1, "scenarios": ["swap_*"]}))
    assert found.asks("swap_states", "round_time", primary=True).decides
    assert not found.asks("penalties", "round_time", primary=True).decides


def test_the_definition_takes_primaries_and_margins_from_the_policy(tmp_path: Path) -> None:
    """Where times only report they are not primary, so that counts alone share nothing; a promoted one is, with its margin."""
    both = {**DEFINITION, "metrics": {"round_time": {"primary": True, "margin": 0.02}, "bytes_per_swap": {"primary": True, "margin": 0.02}}}
    quiet = policed(both, load_policy("noisy-ci"))["metrics"]
    assert [name for name, choice in quiet.items() if choice["primary"]] == ["bytes_per_swap"]
    loud = load_policy(write(tmp_path, {"schema": 1, "metrics": {"apply_time": {"decide": True, "fail": 0.07}}}))
    more = policed({**both, "metrics": {**both["metrics"], "apply_time": {"primary": False, "margin": 0.02}}}, loud)
    assert more["metrics"]["apply_time"] == {"primary": True, "margin": 0.07}
    assert deciding(both, load_policy("noisy-ci")) == ["bytes_per_swap"]


def test_a_scenario_of_which_nothing_decides_stays_whole() -> None:
    """There is nothing to share an error among: its times are judged as declared, and only reported."""
    timed = {**DEFINITION, "metrics": {"round_time": {"primary": True, "margin": 0.02}}}
    assert policed(timed, load_policy("noisy-ci")) == timed
    assert deciding(timed, load_policy("noisy-ci")) == []


def test_more_deciding_metrics_than_the_error_is_made_for_are_refused(tmp_path: Path) -> None:
    """At most six share the error of a look; the fault says which there are."""
    wild = load_policy(write(tmp_path, {"schema": 1, "metrics": {"*": {"decide": True}}}))
    names = [f"round_time@size={size}" for size in range(1, 8)]
    with pytest.raises(BadInput, match="makes 7 metrics of swap_states decide, at most 6 may"):
        policed({**DEFINITION, "metrics": {name: {"primary": False, "margin": 0.02} for name in names}}, wild)


def test_the_sizes_of_a_sweep_are_read_from_its_metrics() -> None:
    """`@parameter=size` with a number; several parameters at once are no sweep."""
    assert sized("round_time@output_length=16000") == ("round_time@output_length", 16000.0)
    assert sized("round_time") is None
    assert sized("round_time@a=1,b=2") is None


def test_every_key_of_a_policy_is_in_the_docs() -> None:
    """docs/policy.md names each key and both policies that come along."""
    text = (PACKAGE.parents[1] / "docs" / "policy.md").read_text()
    for name, field in PolicyDoc.model_fields.items():
        assert f"`{field.alias or name}`" in text, name
    for name in shipped():
        assert f"`{name}`" in text


@given(
    st.lists(st.sampled_from(["swap_states", "swap_*", "penalties", "serve_?", "*"]), min_size=1),
    st.sets(st.sampled_from(["swap_states", "penalties", "serve_a"])),
)
def test_a_policy_lacks_the_names_that_fit_no_scenario(names: list[str], there: set[str]) -> None:
    """Each name or pattern that no scenario at hand fits is reported once, and no other."""
    lacking = replace(DEFAULT_POLICY, scenarios=tuple(names)).lacking(there)
    assert lacking == [name for name in dict.fromkeys(names) if not [one for one in there if fnmatchcase(one, name)]]
