"""What the machine did beside the trials, and throughput against latency."""

from __future__ import annotations

import dataclasses

from perfproof.report import html
from perfproof.report.extract.machine_signals import clock_reasons, signals
from perfproof.report.extract.pareto import frontiers
from perfproof.report.figures import sparklines
from tests.report import factory


def test_signals_follow_the_trials() -> None:
    """Every reading has a span for each trial in its order, in per cent and base units, and says what it found."""
    records = factory.watched(factory.swap_states())[1]
    found = {view.name: view for view in signals(records)}
    assert {"load", "taken by other processes", "CPU clock", "throttling events", "GPU clock", "GPU power"} <= set(found)
    assert all(len(view.spans) == len(records) for view in found.values())
    assert found["throttling events"].finding == "in 2 of 12 trials"
    assert found["swapped"].finding == "none in 12 trials"
    assert found["GPU power"].finding == "310\u202fW to 402\u202fW"
    assert clock_reasons(records) == ("power cap (in 12 of 12 trials)",)


def test_older_records_show_what_they_have() -> None:
    """Records that know only load and clock before and after a trial show these, and no empty strips."""
    assert [view.name for view in signals(factory.swap_states()[1])] == ["load"]


def test_nonsense_in_a_record_is_no_reading() -> None:
    """Texts, infinities and truth values where numbers belong are passed over."""
    found = {view.name: view for view in signals(factory.hostile()[1])}
    assert set(found) == {"load", "GPU clock"}


def test_strips_of_readings_have_a_bar_a_trial_and_rings_for_those_that_do_not_count() -> None:
    """A strip shows every trial that told something; one that does not count is hollow."""
    scenario = factory.page(factory.watched(factory.penalties())).scenarios[0]
    load = next(view for view in scenario.signals if view.name == "load")
    drawn = sparklines.course(load, scenario.trials, [arm.name for arm in scenario.arms])
    assert drawn.count("M") == 19
    assert drawn.count("<circle") == 1


def test_the_page_shows_the_machine_beside_the_trials() -> None:
    """Strips stand under what was measured, with the middle of each arm beside them."""
    text = html.render(factory.page(factory.watched(factory.swap_states())))
    start = text.index("Beside the trials of swap_states")
    assert start < text.index("the measured metric", start) < text.index("GPU temperature", start)


def test_a_swept_concurrency_makes_one_curve_an_arm() -> None:
    """Scenarios that differ in their concurrency alone are one figure: a curve an arm, a point a scenario, the finding in its title."""
    parts = factory.swept()
    page = factory.page(*parts)
    (view,) = page.frontiers
    assert view.loads == (1, 8, 64)
    assert view.arms == ("as_released", "patched")
    assert view.finding.startswith("patched: output throughput +")
    assert len(view.throughputs) == len(view.latencies) == 2
    text = html.render(page)
    assert 'id="frontier"' in text
    assert "At the same max-concurrency, patched: output throughput" in text


def test_nothing_swept_is_no_figure() -> None:
    """One load alone, other patches, or a metric that is missing somewhere: no curve is drawn, and the page has no such section."""
    one, two, three = (part[1] for part in factory.swept())
    assert list(frontiers({"one": one})) == []
    other = [dataclasses.replace(each, definition={**each.definition, "builds": {"x": 1}}) for each in two]
    assert list(frontiers({"one": one, "two": other})) == []
    lacking = [dataclasses.replace(each, measurements={"output_throughput": 1.0}) for each in three]
    assert list(frontiers({"one": one, "three": lacking})) == []
    assert 'id="frontier"' not in html.render(factory.page(factory.swap_states()))


def test_what_differs_between_the_arms_is_named() -> None:
    """Packages, variables and files of an overlay that only one arm has are lines of the attestation; ports of a launch are not."""
    rows, records = factory.swap_states()
    changed = []
    for each in records:
        theirs = each.arm == "patched"
        more = {
            "packages": {"torch": "2.13.1" if theirs else "2.13.0", "numpy": "2.3.1"},
            "overlay": {"base": "x", "files": ["v1/worker/gpu_input_batch.py"], "sources": "abc"} if theirs else None,
            "server_arguments": ["serve", f"--port={each.block}", f"--served-model-name={each.arm}{each.block}"],
        }
        changed.append(dataclasses.replace(each, environment={**each.environment, **more}))
    facts = {fact.name: fact for fact in factory.page((rows, changed)).scenarios[0].attestations}
    assert facts["files of vLLM changed"].values == ("none", "v1/worker/gpu_input_batch.py")
    assert facts["package torch"].values == ("2.13.0", "2.13.1")
    assert facts["package torch"].differs
    assert "package numpy" not in facts
    assert "server arguments" not in facts
