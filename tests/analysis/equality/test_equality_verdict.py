"""Answers held against answers: what is identical, what is beyond the floor, and what can't be compared."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.equality.answer_differences import Answers, compare, cosine_distance, identical
from perfproof.analysis.equality.equality_verdict import details, judge
from perfproof.analysis.equality.outcome_rules import rule
from perfproof.analysis.equality.part_comparison import PartComparison, chance_beyond, chance_parted
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.stats.samples import Floats
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds.equality.said_column import SAID, column_of
from perfproof.model.records.record import Record
from perfproof.model.verdicts.equality_details import Difference
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests import factory

PROMPTS, LENGTH = 8, 6


def definition(part: str = "greedy_outputs", **changes: Any) -> dict[str, Any]:
    """An equality scenario with a baseline `before` and a candidate `after`; `changes` go into its workload, `mode` into the candidate."""
    arms = {name: dict(arm) for name, arm in factory.DEFINITION["arms"].items()}
    arms["after"] |= {"equality": changes.pop("mode", None)}
    workload = {
        "kind": "equality",
        "model": {"layers": 1},
        "dataset": {"template": "{i}", "output_tokens": [6, 6]},
        "prompts": PROMPTS,
        "sampled": {"temperature": 1.0},
        "text": "passage",
        **changes,
    }
    metrics = {part: {"primary": True, "margin": 0.001}}
    return {**factory.DEFINITION, "name": "equal", "workload": workload, "arms": arms, "metrics": metrics, "blocks": None}


def greedy(seed: int = 0) -> dict[str, list[list[float]]]:
    """Answers of eight prompts: tokens, their logprobs, and runners-up one nat behind."""
    source = np.random.default_rng(seed)
    tokens = source.integers(0, 100, (PROMPTS, LENGTH)).astype(float)
    logprobs = -source.random((PROMPTS, LENGTH))
    return {"tokens": tokens.tolist(), "logprobs": logprobs.tolist(), "runners_up": (logprobs - 1.0).tolist()}


def trial(asked: dict[str, Any], arm: str, block: int, columns: Mapping[str, Any], **changes: Any) -> Record:
    """The record of a trial that left these answers."""
    part = next(iter(asked["metrics"]))
    raw = {f"{part}.{name}": [value for row in rows for value in row] for name, rows in columns.items() if name != "said"}
    lengths = [float(len(row)) for row in next(iter(columns.values()))]
    raw[f"{part}.lengths"] = lengths
    work = {f"{part} prompts": len(lengths), f"{part} {'values' if part == 'embeddings' else 'tokens'}": int(sum(lengths))}
    raw |= {f"{part}.{SAID}": column_of(columns["said"])} if "said" in columns else {}
    return factory.record(asked, arm=arm, block=block, raw=raw, measurements={}, witnesses={}, work=work, **changes)


def judged(asked: dict[str, Any], before: Any, after: Any, *again: Any) -> Judged:
    """The one line of a scenario whose trials left these answers."""
    records = [trial(asked, "before", 1, before), trial(asked, "after", 1, after)]
    records += [trial(asked, "before", 2 + number, columns) for number, columns in enumerate(again)]
    (row,) = judge(scenario_of(asked, source="equal.yaml"), records)
    return row


def changed(columns: Mapping[str, Any], name: str, prompt: int, place: int, value: float) -> dict[str, Any]:
    """The answers with one number changed."""
    rows = [list(row) for row in columns[name]]
    rows[prompt][place] = value
    return {**columns, name: rows}


# --- one answer against another ------------------------------------------------------------------------------

ROW = st.lists(st.integers(0, 3), min_size=0, max_size=6)


def answers(rows: Sequence[Sequence[int]], shift: float = 0.0) -> Answers:
    tokens = tuple(np.array(row, dtype=np.float64) for row in rows)
    logprobs = tuple(-0.25 * row - shift for row in tokens)
    runners_up = tuple(row - 1.0 for row in logprobs)
    return Answers(part="greedy_outputs", tokens=tokens, logprobs=logprobs, runners_up=runners_up, values=(), ranks=(), said=())


@given(st.lists(ROW, min_size=1, max_size=5))
def test_answers_are_identical_to_themselves(rows: list[list[int]]) -> None:
    """Whatever was answered, held against itself nothing differs."""
    assert all(identical(each) for each in compare(answers(rows), answers(rows)))


@given(st.lists(st.tuples(ROW, ROW), min_size=1, max_size=5))
def test_a_comparison_is_the_same_from_both_sides(pairs: list[tuple[list[int], list[int]]]) -> None:
    """Where answers part, and how far their logprobs lie apart before, does not depend on which is called the baseline's."""
    one, other = answers([first for first, _ in pairs]), answers([second for _, second in pairs], shift=0.5)
    for here, there in zip(compare(one, other), compare(other, one), strict=True):
        assert (here.position, here.distance) == (there.position, there.distance)
        assert (here.baseline_token, here.candidate_token) == (there.candidate_token, there.baseline_token)


@given(st.lists(st.tuples(ROW, ROW), min_size=1, max_size=5))
def test_answers_part_at_the_first_token_that_differs(pairs: list[tuple[list[int], list[int]]]) -> None:
    """All tokens before the position are the same, and that one is not, or one answer ends there."""
    found = compare(answers([first for first, _ in pairs]), answers([second for _, second in pairs]))
    for (first, second), each in zip(pairs, found, strict=True):
        if each.position is None:
            assert first == second
        else:
            assert first[: each.position] == second[: each.position]
            assert first[each.position : each.position + 1] != second[each.position : each.position + 1]


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=8), st.floats(0.1, 10))
def test_the_cosine_distance_does_not_see_a_vectors_length(values: list[float], factor: float) -> None:
    """Scaled by a positive number a vector keeps its direction; a vector of zeros has none."""
    vector: Floats = np.array(values, dtype=np.float64)
    assert cosine_distance(vector, vector) == 0.0
    if np.linalg.norm(vector) > 1e-3:
        assert cosine_distance(vector, factor * vector) == pytest.approx(0.0, abs=1e-9)
        assert cosine_distance(vector, np.zeros_like(vector)) == 1.0


# --- where the baseline is the same again -------------------------------------------------------------------


def test_the_same_bits_are_identical_on_so_many_prompts() -> None:
    """The verdict is *equivalent*, in words that say what was compared and what the floor was."""
    row = judged(definition(), greedy(), greedy(), greedy())
    assert (row.verdict, row.effect, row.blocks) == (Outcome.EQUIVALENT, 0.0, PROMPTS)
    assert (
        row.reason
        == "identical on 8 prompts (48 tokens): every token and logprob is bit-identical; the baseline repeated itself bit-identically"
    )


def test_another_token_is_a_regression_with_its_place_and_lead() -> None:
    """One prompt of eight parts at the fifth token, where the baseline's token led by a nat: the gate fails, with exit code 1."""
    asked, answered = definition(), greedy()
    row = judged(asked, answered, changed(answered, "tokens", 3, 4, 999.0), answered)
    assert (row.verdict, row.candidate_value, row.effect) == (Outcome.REGRESSED, 7 / 8, -1 / 8)
    assert "1 of 8 prompts with other tokens, the earliest at token 4 (prompt 3), 0 of them at a near tie" in row.reason
    assert decide([row], DEFAULT_POLICY).exit_code == 1


def test_a_logprob_alone_is_enough() -> None:
    """The tokens are the same and one logprob is not: seen, unless the scenario tolerates so much."""
    answered = greedy()
    moved = changed(answered, "logprobs", 2, 1, answered["logprobs"][2][1] - 1e-3)
    assert judged(definition(), answered, moved, answered).verdict == Outcome.REGRESSED
    tolerant = judged(definition(tolerance=0.002), answered, moved, answered)
    assert (tolerant.verdict, tolerant.candidate_value) == (Outcome.EQUIVALENT, 1.0)
    assert "within the tolerance of 0.002" in tolerant.reason


def test_a_tie_that_went_the_other_way_decides_nothing() -> None:
    """Where two tokens were no further apart than what is tolerated, another token proves no fault."""
    answered = greedy()
    answered = changed(answered, "runners_up", 3, 4, answered["logprobs"][3][4] - 1e-3)
    other = changed(answered, "tokens", 3, 4, 999.0)
    row = judged(definition(tolerance=0.01), answered, other, answered)
    assert row.verdict == Outcome.INCONCLUSIVE
    assert "1 of them at a near tie" in row.reason
    assert judged(definition(), answered, other, answered).verdict == Outcome.REGRESSED


def test_an_arm_that_declares_other_numerics_is_shown_and_decides_nothing() -> None:
    """With `equality: report` a difference is told and the gate passes; with `off` it is not even compared."""
    answered = greedy()
    other = changed(answered, "tokens", 3, 4, 999.0)
    row = judged(definition(mode="report"), answered, other, answered)
    assert row.verdict == Outcome.INCONCLUSIVE
    assert row.reason.startswith("differs, as the arm declares (equality: report), so accuracy decides: 1 of 8 prompts")
    assert decide([row], DEFAULT_POLICY).exit_code == 0
    assert judged(definition(mode="report"), answered, answered, answered).verdict == Outcome.EQUIVALENT
    assert judge(scenario_of(definition(mode="off"), source="equal.yaml"), []) == ()


def attested(record: Record, **patch: Any) -> Record:
    """The record of a trial whose processes attested a patch."""
    attestation = dataclasses.replace(factory.ATTESTATION, patches={"other_kernel": {"direction": "adds", "verified": True, **patch}})
    return dataclasses.replace(record, attestation=attestation)


@pytest.mark.parametrize(
    ("mode", "declares", "outcome"),
    [
        (None, True, Outcome.INCONCLUSIVE),
        (None, False, Outcome.REGRESSED),
        ("require", True, Outcome.REGRESSED),
        ("report", False, Outcome.INCONCLUSIVE),
    ],
)
def test_a_patch_declares_other_numerics_unless_its_arm_says_otherwise(mode: str | None, declares: bool, outcome: Outcome) -> None:
    """What the patch attested inside vLLM counts where the arm says nothing; an arm that requires equality gets it required."""
    asked, answered = definition(mode=mode), greedy()
    other = attested(trial(asked, "after", 1, changed(answered, "tokens", 3, 4, 999.0)), changes_numerics=declares)
    (row,) = judge(
        scenario_of(asked, source="equal.yaml"), [trial(asked, "before", 1, answered), other, trial(asked, "before", 2, answered)]
    )
    assert row.verdict == outcome
    assert row.reason.startswith("differs, as patch other_kernel declares, so accuracy decides: 1 of 8") == (declares and mode is None)


# --- what answers say besides ---------------------------------------------------------------------------------


def spoken(**changes: Any) -> dict[str, Any]:
    """`greedy` with what vLLM's answers say besides; `changes` are of what prompt 3 says."""
    answered = greedy()
    said = [
        {
            "finish_reason": "length",
            "stop_reason": None,
            "text": f"answer {n}.\n",
            "decoded_token": ["a", "b"],
            "cumulative_logprob": sum(row),
        }
        for n, row in enumerate(answered["logprobs"])
    ]
    said[3] |= changes
    return {**answered, "ranks": [[1.0] * LENGTH for _ in range(PROMPTS)], "said": said}


def test_what_is_said_besides_is_named_where_it_is_the_same() -> None:
    """The words list what was compared by vLLM's own names; of records that lack it nothing is claimed."""
    row = judged(definition(), spoken(), spoken(), spoken())
    assert row.verdict == Outcome.EQUIVALENT
    named = "as are finish_reason, stop_reason, text, decoded_token, cumulative_logprob and rank; the baseline repeated itself"
    assert f"(48 tokens): every token and logprob is bit-identical, {named}" in row.reason


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"cumulative_logprob": -0.25},
            "cumulative_logprob differs in 1 of 8 prompts with the same tokens (prompt 3: was -3.0644, is -0.25)",
        ),
        ({"cumulative_logprob": None}, "is null)"),
        ({"cumulative_logprob": math.nan}, "is NaN)"),
        ({"text": "answer 3."}, 'text differs in 1 of 8 prompts with the same tokens (prompt 3: was "answer 3.\\n", is "answer 3.")'),
        ({"finish_reason": "stop"}, '(prompt 3: was "length", is "stop")'),
        ({"stop_reason": 7}, "stop_reason differs in 1 of 8 prompts with the same tokens (prompt 3: was null, is 7)"),
        ({"decoded_token": ["a", "c"]}, "decoded_token differs in 1 of 8 prompts"),
    ],
)
def test_another_word_of_the_same_tokens_is_a_regression(changes: Mapping[str, Any], told: str) -> None:
    """Tokens and logprobs are bit-identical and the answer says something else: told with its field, its prompt, and both values."""
    asked = definition()
    row = judged(asked, spoken(), spoken(**changes), spoken())
    assert (row.verdict, row.candidate_value) == (Outcome.REGRESSED, 7 / 8)
    assert told in row.reason
    assert "other tokens" not in row.reason
    assert "logprobs differ" not in row.reason
    assert decide([row], DEFAULT_POLICY).exit_code == 1


def test_another_rank_of_the_same_token_is_a_regression() -> None:
    """Where all logprobs of an answer are the same: of a text, too, whose perplexity did not change."""
    row = judged(definition(), spoken(), changed(spoken(), "ranks", 2, 4, 3.0), spoken())
    assert row.verdict == Outcome.REGRESSED
    assert "rank differs in 1 of 8 prompts with the same tokens (prompt 2: was 1 at token 4, is 3)" in row.reason
    text = {**led(), "ranks": [[1.0] * 100 for _ in range(7)]}
    row = judged(definition("text_perplexity"), text, changed(text, "ranks", 2, 4, 3.0), text)
    assert row.verdict == Outcome.REGRESSED
    assert row.reason.startswith("rank differs in 1 of 7 paragraphs with the same tokens (paragraph 2: was 1 at token 4, is 3); the mean")


def test_several_fields_are_told_each_with_its_first_prompt() -> None:
    """Details for the report count such an answer as one that is not identical."""
    other = spoken(text="", stop_reason="x")
    other["said"][5] = {**other["said"][5], "text": "answer five"}
    asked = definition()
    row = judged(asked, spoken(), other, spoken())
    assert "stop_reason differs in 1 of 8" in row.reason
    assert "text differs in 2 of 8 prompts with the same tokens (prompt 3" in row.reason
    records = [trial(asked, "before", 1, spoken()), trial(asked, "after", 1, other), trial(asked, "before", 2, spoken())]
    (detail,) = details(scenario_of(asked, source="equal.yaml"), records)
    assert (detail.identical, detail.equal, detail.parted, detail.largest) == (6, 6, 0, 0.0)
    assert [each.field for each in detail.differences[0].said] == ["stop_reason", "text"]


def test_what_one_side_lacks_is_not_compared() -> None:
    """Older records hold tokens and logprobs alone, and mean what they meant; a release whose answers lack a field differs in none."""
    row = judged(definition(), greedy(), spoken(text="other"), spoken())
    assert (row.verdict, row.reason) == (Outcome.EQUIVALENT, judged(definition(), greedy(), greedy(), greedy()).reason)
    fewer = spoken()
    fewer["said"] = [{name: value for name, value in said.items() if name != "stop_reason"} for said in fewer["said"]]
    assert judged(definition(), spoken(), fewer, spoken()).verdict == Outcome.EQUIVALENT


def test_a_sum_of_logprobs_may_move_with_them_and_by_the_tolerance_a_token() -> None:
    """Nothing is told twice: a sum that its own logprobs explain is no further difference, one beyond that is."""
    before, moved = spoken(), changed(spoken(), "logprobs", 3, 1, spoken()["logprobs"][3][1] - 0.002)
    total = sum(before["logprobs"][3])
    moved["said"][3]["cumulative_logprob"] = total - 0.002
    assert judged(definition(tolerance=0.005), before, moved, before).verdict == Outcome.EQUIVALENT
    assert "cumulative_logprob" not in judged(definition(), before, moved, before).reason
    for off, outcome in ((LENGTH * 0.0049, Outcome.EQUIVALENT), (LENGTH * 0.0052, Outcome.REGRESSED)):
        other = spoken(cumulative_logprob=total - off)
        assert judged(definition(tolerance=0.005), before, other, before).verdict == outcome
        assert judged(definition(), before, other, before).verdict == Outcome.REGRESSED


def test_what_follows_from_another_token_is_not_told_besides() -> None:
    """A tie that went the other way decides nothing; its text, ranks and sum differ for that reason."""
    before = spoken()
    before = changed(before, "runners_up", 3, 4, before["logprobs"][3][4] - 1e-3)
    other = {**changed(before, "tokens", 3, 4, 999.0), "said": spoken(text="another", cumulative_logprob=-1.0)["said"]}
    row = judged(definition(tolerance=0.01), before, other, before)
    assert row.verdict == Outcome.INCONCLUSIVE
    assert "text" not in row.reason


def test_no_noise_of_logprobs_explains_another_text() -> None:
    """Where the baseline is not the same again, one text of the same tokens is a regression; a rank, which follows all logprobs, is not."""
    base = spoken()
    again = {**noisy(2, spread=1e-4), "ranks": base["ranks"], "said": base["said"]}
    row = judged(definition(), base, {**noisy(3, spread=1e-4), "ranks": base["ranks"], "said": spoken(text="x")["said"]}, again)
    assert row.verdict == Outcome.REGRESSED
    assert "text differs in 1 of 8" in row.reason
    row = judged(definition(), base, changed(base, "ranks", 2, 4, 3.0), again)
    assert row.verdict == Outcome.EQUIVALENT


def test_what_the_baseline_says_otherwise_itself_is_no_regression() -> None:
    """A text that changes from run to run proves nothing, and the floor names it."""
    row = judged(definition(), spoken(), spoken(text="one"), spoken(text="two"))
    assert row.verdict == Outcome.EQUIVALENT
    assert "the baseline differs from itself in text" in row.reason


# --- where it is not --------------------------------------------------------------------------------------------


def noisy(seed: int, parted: Sequence[int] = (), spread: float = 1e-3, prompts: int = PROMPTS) -> dict[str, list[list[float]]]:
    """The answers with noise on every logprob; those of `parted` prompts get another last token."""
    answered, source = greedy(), np.random.default_rng(seed)
    moved = np.array(answered["logprobs"]) + source.normal(0, spread, (prompts, LENGTH))
    found = {**answered, "logprobs": moved.tolist()}
    for prompt in parted:
        found = changed(found, "tokens", prompt, LENGTH - 1, 999.0)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e-2))
def test_a_candidate_like_the_floor_is_no_regression(seed: int, spread: float) -> None:
    """Whatever the noise, a candidate that has no more of it than the baseline's second run does not fail the gate."""
    row = judged(definition(), greedy(), noisy(seed, spread=spread), noisy(seed, spread=spread))
    assert row.verdict == Outcome.EQUIVALENT


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sets(st.integers(0, PROMPTS - 1)))
def test_a_floor_never_makes_identical_differ(seed: int, parted: set[int]) -> None:
    """However far the baseline is from itself, a candidate that gives its first run's bits is *equivalent*, in those words."""
    row = judged(definition(), greedy(), greedy(), noisy(seed, sorted(parted)))
    assert row.verdict == Outcome.EQUIVALENT
    assert row.reason.startswith("identical on 8 prompts")


def test_far_beyond_the_floor_is_a_regression_and_one_prompt_is_not() -> None:
    """All eight prompts further off than the worst of the floor: not by chance. One of them: it may be, and what would tell is said."""
    far = judged(definition(), greedy(), noisy(1, spread=0.1), noisy(2, spread=1e-4))
    assert far.verdict == Outcome.REGRESSED
    assert "chance would do that once in 12,870" in far.reason
    answered = noisy(2, spread=1e-4)
    one = judged(definition(), greedy(), changed(answered, "logprobs", 0, 0, -3.0), answered)
    assert one.verdict == Outcome.INCONCLUSIVE
    assert "it may be chance; more prompts, or more runs of the baseline ('again'), would settle it" in one.reason


def test_a_chance_too_small_for_a_number_is_told_as_such() -> None:
    """Of two thousand prompts that all lie beyond the floor, the chance is none that a float holds."""
    moved = Difference(
        prompt=0, position=None, baseline_token=None, candidate_token=None, gap=None, near_tie=False, distance=0.1, cosine=None, said=()
    )
    near = dataclasses.replace(moved, distance=1e-4)
    found = PartComparison(part="greedy_outputs", prompts=(moved,) * 2000, floor=((near,) * 2000,), tokens=2000, tolerance=0.0, fields=())
    assert rule(found).reason.endswith("chance would do that less than once in 1,000,000,000")


def test_a_text_that_became_impossible_ends_no_comparison() -> None:
    """A model that gives every token of the text no probability at all has regressed, by more than can be written down."""
    text = {name: rows for name, rows in greedy().items() if name != "runners_up"}
    lost = {**text, "logprobs": [[-9999.0] * LENGTH] * PROMPTS}
    row = judged(definition("text_perplexity"), text, lost, text)
    assert row.verdict == Outcome.REGRESSED
    assert row.effect is not None
    assert row.effect > 1e300


@given(st.integers(1, 40), st.integers(1, 80), st.integers(0, 40))
def test_chances_are_chances(ours: int, floors: int, beyond: int) -> None:
    """Between 0 and 1, one where there is nothing to explain, and smaller the more there is."""
    beyond = min(beyond, ours)
    alike = compare(answers([[1]] * ours), answers([[1]] * ours))
    floor = compare(answers([[1]] * floors), answers([[1]] * floors))
    found = PartComparison(part="greedy_outputs", prompts=alike, floor=(floor,), tokens=ours, tolerance=0.0, fields=())
    for chance in (chance_beyond, chance_parted):
        assert chance(found, 0) == pytest.approx(1.0)
        assert 0.0 <= chance(found, beyond) <= 1.0 + 1e-12
        assert chance(found, beyond) <= chance(found, max(0, beyond - 1)) + 1e-12


def test_false_alarms_of_the_rule_stay_within_its_error() -> None:
    """Candidate and floor drawn alike, answers that part among them: the one-sided error of .01 holds over 2,000 draws."""
    source, alarms = np.random.default_rng(5), 0
    for _ in range(2000):
        runs = []
        for _ in range(2):
            distances, parts = source.exponential(1e-3, 24), source.random(24) < 0.2
            base = compare(answers([[1]] * 24), answers([[1]] * 24))
            runs.append(
                tuple(
                    dataclasses.replace(each, distance=float(distance), position=3 if part else None)
                    for each, distance, part in zip(base, distances, parts, strict=True)
                )
            )
        found = PartComparison(part="greedy_outputs", prompts=runs[0], floor=(runs[1],), tokens=24, tolerance=0.0, fields=())
        alarms += rule(found).outcome == Outcome.REGRESSED
    assert alarms <= 30  # 20 expected at most; the tests are discrete, so fewer come


# --- texts and embeddings ----------------------------------------------------------------------------------------


def led(shift: float = 0.0, spread: float = 0.0, seed: int = 3) -> dict[str, list[list[float]]]:
    source = np.random.default_rng(0)
    tokens, logprobs = source.integers(0, 100, (7, 100)), -source.exponential(2.0, (7, 100))
    moved = logprobs + shift + np.random.default_rng(seed).normal(0, spread, logprobs.shape) if spread else logprobs + shift
    return {"tokens": tokens.astype(float).tolist(), "logprobs": moved.tolist()}


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (led(), Outcome.EQUIVALENT),
        (led(spread=1e-5), Outcome.EQUIVALENT),
        (led(shift=-0.01, spread=1e-3), Outcome.REGRESSED),
        (led(shift=0.01, spread=1e-3), Outcome.IMPROVED),
        (led(spread=0.1), Outcome.INCONCLUSIVE),
    ],
)
def test_a_texts_perplexity_is_paired_by_token(candidate: dict[str, list[list[float]]], outcome: Outcome) -> None:
    """A shift of a hundredth of a nat is seen under the spread of the text's own logprobs, two hundred times as large."""
    row = judged(definition("text_perplexity"), led(), candidate, led())
    assert row.verdict == outcome
    assert row.interval is not None
    assert row.effect is not None
    assert row.interval[0] <= row.effect <= row.interval[1]
    assert row.candidate_value / row.baseline_value - 1 == pytest.approx(row.effect, abs=1e-12)  # type: ignore[operator]


def test_a_text_cut_into_other_tokens_is_untestable() -> None:
    """Logprobs of different tokens can't be paired."""
    row = judged(definition("text_perplexity"), led(), changed(led(), "tokens", 2, 5, 999.0), led())
    assert (row.verdict, row.reason) == (Outcome.UNTESTABLE, "paragraph 2 of the text has other tokens: the arms have different tokenizers")


def test_embeddings_are_held_by_their_values_and_their_angle() -> None:
    """One value of one embedding moved: told with both distances."""
    source = {"values": np.random.default_rng(0).normal(size=(PROMPTS, 4)).tolist()}
    assert judged(definition("embeddings"), source, source, source).reason.startswith(
        "identical on 8 prompts: every value of every embedding"
    )
    row = judged(definition("embeddings"), source, changed(source, "values", 1, 2, 9.0), source)
    assert row.verdict == Outcome.REGRESSED
    assert "1 of 8 embeddings differ, by up to" in row.reason
    assert "in cosine distance" in row.reason


# --- what can't be compared -----------------------------------------------------------------------------------


def test_what_is_missing_is_untestable_with_words() -> None:
    """A failed trial, one that has not run, a second run that has not, fewer answers: each told, none of them a verdict."""
    asked, answered = definition(), greedy()
    scenario = scenario_of(asked, source="equal.yaml")
    before, after, again = trial(asked, "before", 1, answered), trial(asked, "after", 1, answered), trial(asked, "before", 2, answered)
    fewer = trial(asked, "after", 1, {name: rows[:3] for name, rows in answered.items()})
    failed = dataclasses.replace(after, status="failed", reason="logprobs of prompt 3 hold a value that is no number\nthe end of its log")
    empty = dataclasses.replace(after, raw={})
    for records, told in (
        ([before], "arm after has not run yet"),
        ([before, after], "arm before (again) has not run yet"),
        ([before, failed, again], "arm after failed: logprobs of prompt 3 hold a value that is no number"),
        ([before, fewer, again], "3 answers against 8"),
        ([before, empty, again], "arm after: its record holds no answers"),
    ):
        (row,) = judge(scenario, records)
        assert (row.verdict, row.reason) == (Outcome.UNTESTABLE, told)
    assert details(scenario, [before]) == ()


def test_records_go_the_common_road_and_leave_details() -> None:
    """`judge_records` knows the kind, and the report's details count what the verdict was made of."""
    asked, answered = definition(), greedy()
    other = changed(answered, "tokens", 3, 4, 999.0)
    records = [trial(asked, "before", 1, answered), trial(asked, "after", 1, other), trial(asked, "before", 2, answered)]
    (found,) = judge_records(records)
    assert [row.verdict for row in found.judged] == [Outcome.REGRESSED]
    (detail,) = details(found.scenario, records)
    assert (detail.asked, detail.identical, detail.equal, detail.parted, detail.floor_parted) == (8, 7, 7, 1, 0)
    (difference,) = detail.differences
    assert (difference.prompt, difference.position, difference.candidate_token, difference.near_tie) == (3, 4, 999, False)
    assert difference.gap == pytest.approx(1.0)
