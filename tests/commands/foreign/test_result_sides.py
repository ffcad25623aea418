"""`perfproof judge A B`: result files of two sides, from one run each to runs in turns."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE

FILES = Path(__file__).parents[2] / "importers/result_files/files"
FIRST, SECOND = str(FILES / "vllm_serve_first.json"), str(FILES / "vllm_serve_second.json")
START = datetime(2026, 1, 31, 12, tzinfo=UTC)


def run_file(path: Path, scale: float = 1.0, minute: int | None = 0, **changed: Any) -> str:
    """A result of `vllm bench serve` whose rates are so many times those of the real one, at this minute; its path."""
    found = json.loads(Path(FIRST).read_text())
    for key, value in found.items():
        if key.endswith("throughput") and value:
            found[key] = value * scale
        if key.endswith("_ms"):
            found[key] = value / scale
    found["date"] = (START + timedelta(minutes=minute)).strftime("%Y%m%d-%H%M%S") if minute is not None else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found | changed))
    return str(path)


def sides(
    folder: Path, minutes: tuple[Sequence[int | None], Sequence[int | None]], change: float = 1.0, seed: int = 1, **changed: Any
) -> list[str]:
    """Two folders of runs at these minutes, which scatter by a thousandth; the second side's rates are `change` times as high."""
    chance = random.Random(seed)
    for name, own, factor in (("a", minutes[0], 1.0), ("b", minutes[1], change)):
        for number, minute in enumerate(own):
            scale = factor * math.exp(chance.gauss(0, 0.001))
            run_file(folder / name / f"run{number:02}.json", scale, minute, **(changed if name == "b" else {}))
    return [str(folder / "a"), str(folder / "b")]


def judged(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """What `judge --json` says, and its exit code."""
    code = main(["judge", *arguments, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


TURNS = ([0, 3, 4, 7, 8, 11, 12, 15], [1, 2, 5, 6, 9, 10, 13, 14])
"""Minutes of runs in turns, A B, B A and so on."""
BATCHES = (list(range(8)), list(range(8, 16)))


def test_one_run_a_side_has_no_verdict_and_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    """The change of every metric, what runs may scatter until it is noise, what could not have been seen, and the commands."""
    assert main(["judge", FIRST, SECOND]) == EXIT_PASS
    out = capsys.readouterr().out
    assert "output_throughput: 2,019 tok/s to 2,396 tok/s (+18.7 %, better) [5.34 %]" in out
    assert "median_ttft: 6.801 ms to 6.102 ms (-10.3 %, better)" in out
    for sentence in (
        "vllm bench serve: a trial is one run of the client; what lies within a run is no trial (200 requests).",
        "No verdict from one run a side",
        "It could not have detected a change below 4.56 % if runs of one build scatter by 1 %",
        "perfproof judge BEFORE/ AFTER/",
        "perfproof run SCENARIO.yaml",
    ):
        assert sentence in out
    for word in ("regressed", "improved"):
        assert word not in out


def test_json_of_one_run_a_side_has_the_keys_of_a_paste(capsys: pytest.CaptureFixture[str]) -> None:
    """And the section, the runs of either side, why a baseline was guessed, and what was left out."""
    code, answer = judged([FIRST, SECOND], capsys)
    assert (code, answer["comparisons"]) == (EXIT_PASS, [])
    entry = next(one for one in answer["single_runs"] if one["metric"] == "output_throughput")
    assert entry["before"] == pytest.approx(2019.4586)
    assert entry["change"] == pytest.approx(0.18669, rel=1e-4)
    assert {name: entry[name] for name in ("baseline", "candidate", "better", "unit", "section", "runs", "same_work")} == {
        "baseline": "vllm_serve_first.json",
        "candidate": "vllm_serve_second.json",
        "better": "higher",
        "unit": "tok/s",
        "section": "",
        "runs": [1, 1],
        "same_work": True,
    }
    assert answer["guessed"] is None
    assert answer["left_out"] == ["spreads within a run, which say nothing of other runs: std_ttft, std_tpot, std_itl, std_e2el"]


@pytest.mark.parametrize(
    ("change", "verdict", "code"), [(0.9, "regressed", EXIT_REGRESSED), (1.1, "improved", EXIT_PASS), (1.0, "equivalent", EXIT_PASS)]
)
def test_runs_in_turns_are_judged(change: float, verdict: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their own dates show the turns; headlines have a verdict, the other metrics are shown."""
    found, answer = judged(sides(tmp_path, TURNS, change), capsys)
    verdicts = {one["metric"]: one["verdict"] for one in answer["comparisons"]}
    assert (found, verdicts["output_throughput"], verdicts["median_ttft"], verdicts["p99_ttft"]) == (code, verdict, verdict, "exploratory")
    assert {tuple(one["runs"]) for one in answer["comparisons"]} == {(8, 8)}
    assert answer["sections"][0]["order"] == "their dates show that they took turns"


@pytest.mark.parametrize("change", [0.5, 0.9, 1.1, 2.0])
def test_all_of_one_side_before_the_other_is_never_a_change(change: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However large it is: the interval is Welch's, its assumptions are named, and so is what a drift could have made."""
    code, answer = judged(sides(tmp_path, BATCHES, change), capsys)
    (line,) = (one for one in answer["comparisons"] if one["metric"] == "output_throughput")
    assert (code, line["verdict"]) == (EXIT_PASS, "inconclusive")
    assert line["interval"][0] < change - 1 < line["interval"][1]
    for part in (
        "all of the baseline was measured before all of the candidate, so a drift looks like a change",
        "Welch's interval of their logarithms: it takes the runs of a side for independent",
        "the drift within the two sides alone would have made",
        "measure both sides in turns",
    ):
        assert part in line["reason"]


def test_batches_are_no_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of one side, then two of the other: no pairs, and no verdict of a change."""
    _, answer = judged(sides(tmp_path, ([0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11]), 0.8), capsys)
    assert {one["verdict"] for one in answer["comparisons"]} == {"inconclusive", "exploratory"}
    assert "they did not take turns one by one (6 turns in 12 runs)" in answer["sections"][0]["order"]


def test_without_dates_nobody_knows_of_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inconclusive without a word of drift; `--interleaved` says that run by run they took turns."""
    both = sides(tmp_path, ([None] * 8, [None] * 8), 0.9)
    code, answer = judged(both, capsys)
    assert (code, {one["verdict"] for one in answer["comparisons"]}) == (EXIT_PASS, {"inconclusive", "exploratory"})
    assert "nothing in the files says when they were measured" in answer["comparisons"][0]["reason"]
    assert "drift" not in answer["comparisons"][0]["reason"]
    assert judged([*both, "--interleaved"], capsys)[0] == EXIT_REGRESSED


def test_dates_are_believed_before_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Batches by their dates stay batches, whatever --interleaved says."""
    assert judged([*sides(tmp_path, BATCHES, 0.5), "--interleaved"], capsys)[0] == EXIT_PASS


def test_one_run_against_many_is_never_a_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own scatter is not known, so there is no interval either."""
    code, answer = judged(sides(tmp_path, ([0], [1, 2, 3, 4, 5, 6, 7]), 0.3), capsys)
    headlines = [one for one in answer["comparisons"] if one["primary"]]
    assert (code, {one["verdict"] for one in headlines}) == (EXIT_PASS, {"inconclusive"})
    assert {one["interval"] for one in headlines} == {None}
    assert "a has one run, whose scatter nobody knows" in headlines[0]["reason"]


@pytest.mark.parametrize("count", [2, 5])
def test_few_runs_in_turns_have_no_verdict_of_a_change(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer than six pairs of a time are never judged."""
    _, answer = judged(sides(tmp_path, (TURNS[0][:count], TURNS[1][:count]), 0.5), capsys)
    assert not {"regressed", "improved"} & {one["verdict"] for one in answer["comparisons"]}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    change=st.floats(0.2, 5),
    order=st.lists(st.booleans(), min_size=2, max_size=14).filter(lambda order: len(set(order)) == 2),
    seed=st.integers(0, 1000),
)
def test_only_runs_in_turns_can_change(
    change: float, order: list[bool], seed: int, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of any order of runs, a change needs six pairs or more, each of one run a side, one after the other."""
    minutes = ([at for at, second in enumerate(order) if not second], [at for at, second in enumerate(order) if second])
    _, answer = judged(sides(tmp_path_factory.mktemp("order"), minutes, change, seed), capsys)
    turns = len(order) % 2 == 0 and all(order[at] != order[at + 1] for at in range(0, len(order), 2))
    if not turns or len(order) < 12:
        assert not {"regressed", "improved"} & {one["verdict"] for one in answer["comparisons"]}


@pytest.mark.parametrize(
    ("changed", "said_first"),
    [
        ({"num_prompts": 100}, "prompts: 200 against 100"),
        ({"max_concurrency": None}, "concurrency: 4 against no limit"),
        ({"request_rate": 5}, "request rate: inf against 5"),
        ({"model_id": "other"}, "model: toy against other"),
        ({"total_output_tokens": 2900}, "output tokens: 3,200 against 2,900 a run"),
    ],
)
def test_unequal_work_stands_first_and_nothing_is_better(
    changed: dict[str, Any], said_first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run a side: the numbers without better or worse."""
    other = run_file(tmp_path / "x.json", 2.0, 1, **changed)
    assert main(["judge", FIRST, other]) == EXIT_PASS
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("Not the same work, which alone changes the rest: ")
    assert said_first in first
    assert not any(word in line for line in rest for word in ("better", "worse"))


def test_unequal_work_of_several_runs_is_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs in turns prove nothing of the build where the load was another."""
    code, answer = judged(sides(tmp_path, TURNS, 0.5, num_prompts=100), capsys)
    headlines = [one for one in answer["comparisons"] if one["primary"]]
    assert (code, {one["verdict"] for one in headlines}) == (EXIT_UNTESTABLE, {"untestable"})
    assert "not the same work: prompts: 200 against 100" in headlines[0]["reason"]


def test_what_is_allowed_to_differ_is_said_first_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """FP16 beside FP8, whose model has another name: better and worse are said, but not of any other difference."""
    other = run_file(tmp_path / "x.json", 2.0, 1, model_id="toy-FP8")
    assert main(["judge", FIRST, other, "--allow", "model"]) == EXIT_PASS
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("Also different: model: toy against toy-FP8 (allowed)")
    assert any("better" in line for line in rest)
    fewer = run_file(tmp_path / "y.json", 2.0, 1, model_id="toy-FP8", total_output_tokens=2900)
    _, answer = judged([FIRST, fewer, "--allow", "model"], capsys)
    assert answer["sections"][0]["unequal"] == ["output tokens: 3,200 against 2,900 a run"]


def test_several_runs_of_an_allowed_difference_have_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As those of one model have; without the option they are untestable."""
    paths = sides(tmp_path, TURNS, 0.5, model_id="toy-FP8")
    assert (judged(paths, capsys)[0], judged([*paths, "--allow", "model"], capsys)[0]) == (EXIT_UNTESTABLE, EXIT_REGRESSED)


def test_another_gpu_is_unequal_and_another_version_is_what_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are named; of the version alone better and worse are said."""
    paths = [
        run_file(tmp_path / f"{name}.json", 1 + place / 10, place, gpu=name, vllm=str(place)) for place, name in enumerate(("H100", "H200"))
    ]
    _, answer = judged(paths, capsys)
    assert answer["sections"][0]["unequal"] == ["gpu: H100 against H200"]
    assert answer["sections"][0]["other"] == ["vllm: 0 against 1"]


def test_a_few_tokens_more_are_the_same_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outputs of one load differ by less than a hundredth."""
    _, answer = judged([FIRST, run_file(tmp_path / "x.json", 1.1, 1, total_output_tokens=3190)], capsys)
    assert answer["sections"][0]["unequal"] == []


def test_loads_are_compared_each_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs at two rates are no repeats; a rate that one side alone has is left out by name."""
    for side in ("a", "b"):
        for rate in (1, 4):
            run_file(tmp_path / side / f"rate{rate}.json", rate * (1.1 if side == "b" else 1), rate, request_rate=rate)
    run_file(tmp_path / "b" / "rate9.json", 3.3, 1, request_rate=9)
    code, answer = judged([str(tmp_path / "a"), str(tmp_path / "b")], capsys)
    rates = {(one["section"], one["change"]) for one in answer["single_runs"] if one["metric"] == "request_throughput"}
    assert (code, {section for section, _ in rates}) == (EXIT_PASS, {"request rate 1", "request rate 4"})
    assert [change for _, change in rates] == [pytest.approx(0.1)] * 2
    assert any(each.startswith("request rate 9: the candidate alone has it") for each in answer["left_out"])


def test_no_load_in_common_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what either side was asked."""
    for side, rates in (("a", (1, 4)), ("b", (2, 8))):
        for rate in rates:
            run_file(tmp_path / side / f"rate{rate}.json", rate, rate, request_rate=rate)
    assert main(["judge", str(tmp_path / "a"), str(tmp_path / "b")]) == EXIT_USAGE
    assert "request rate 1: the baseline alone has it" in capsys.readouterr().err


def test_a_sweeps_folder_counts_each_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its runs lie in their own files, in each load's summary and in the CSV of all."""
    runs = sorted((FILES / "vllm_sweep").rglob("run=*.json"))
    _, answer = judged([str(FILES / "vllm_sweep"), "--candidate", *map(str, shifted(runs, tmp_path))], capsys)
    assert {(one["section"], *one["runs"]) for one in answer["comparisons"]} == {("concurrency 1", 2, 2), ("concurrency 4", 2, 2)}
    assert any(each.startswith("8 runs that stand twice count once") for each in answer["left_out"])


def test_a_load_that_one_side_lacks_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that broke at its hardest load is untestable there, whatever the other loads show."""
    runs = [path for path in sorted((FILES / "vllm_sweep").rglob("run=*.json")) if "concurrency=1" in str(path)]
    code, answer = judged([str(FILES / "vllm_sweep"), "--candidate", *map(str, shifted(runs, tmp_path))], capsys)
    (line,) = (one for one in answer["comparisons"] if one["verdict"] == "untestable")
    assert (code, line["section"], line["runs"]) == (EXIT_UNTESTABLE, "concurrency 4", [2, 0])
    assert line["reason"] == "the baseline alone has runs of it"


def shifted(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Copies of runs with other rates."""
    found = []
    for number, path in enumerate(runs):
        run = json.loads(path.read_text())
        run |= {
            key: value * 1.01 for key, value in run.items() if isinstance(value, float) and ("throughput" in key or key.endswith("_ms"))
        }
        (copy := folder / f"other{number}.json").write_text(json.dumps(run))
        found.append(copy)
    return found


def test_a_csv_beside_its_json_is_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """AIPerf writes both; rounded to two decimals they are one."""
    (tmp_path / "a").mkdir()
    for name in ("aiperf.json", "aiperf.csv"):
        (tmp_path / "a" / name).write_bytes((FILES / name).read_bytes())
    other = json.loads((FILES / "aiperf.json").read_text())
    other["output_token_throughput"]["avg"] *= 1.1
    (tmp_path / "b.json").write_text(json.dumps(other))
    _, answer = judged([str(tmp_path / "a"), str(tmp_path / "b.json")], capsys)
    assert {tuple(one["runs"]) for one in answer["single_runs"]} == {(1, 1)}
    assert any(each.endswith("rounded") for each in answer["left_out"])


def test_a_run_on_both_sides_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its file is called."""
    (copy := tmp_path / "other.json").write_bytes(Path(FIRST).read_bytes())
    assert main(["judge", FIRST, str(copy)]) == EXIT_USAGE
    assert "is the baseline's own run" in capsys.readouterr().err


def test_names_that_say_the_opposite_are_a_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first side is the baseline; where the names contradict, that is said, in JSON too."""
    after, before = run_file(tmp_path / "after.json", 1.1, 1), run_file(tmp_path / "before.json", 1.0, 0)
    _, answer = judged([after, before], capsys)
    assert answer["baseline_guessed"] is True
    assert answer["guessed"] == "after.json is taken for the baseline because it stands first, though the names say the opposite"
    assert judged([before, after], capsys)[1]["guessed"] is None


def test_files_of_two_tools_are_not_one_work(capsys: pytest.CaptureFixture[str]) -> None:
    """Their metrics of one name may differ, so nothing is better; what one tool alone says is no difference."""
    _, answer = judged([FIRST, str(FILES / "guidellm.json")], capsys)
    assert "tool: vllm bench serve against GuideLLM" in answer["sections"][0]["unequal"]
    assert "prompts: 200 against not said" in answer["sections"][0]["other"]


def test_failed_requests_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that refuses half is fast."""
    main(["judge", FIRST, run_file(tmp_path / "x.json", 2.0, 1, completed=100, failed=100)])
    out = capsys.readouterr().out
    assert "100 of 200 requests were completed" in out
    assert "failed: 0 to 100, worse" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FIRST], "name two sides: perfproof judge BASELINE CANDIDATE"),
        ([FIRST, SECOND, FIRST], "name the candidate's behind --candidate"),
        ([FIRST, SECOND, "--better", "lower"], "--better is of one CSV"),
        ([FIRST, SECOND, "--metric", "nonsense"], "there is no such metric with a known direction"),
        ([FIRST, SECOND, "--allow", "model"], "--allow model: the sides do not differ in this"),
        ([FIRST, "--better", "lower", "--allow", "model"], "--allow is of result files of two sides"),
        ([FIRST, "/nowhere.json"], "can't be read"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_a_remedy(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A usage error, each in one line."""
    assert main(["judge", *arguments]) == EXIT_USAGE
    assert message in capsys.readouterr().err


def test_one_metric_can_be_judged_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has the whole error; the headlines are only shown."""
    _, answer = judged([*sides(tmp_path, TURNS, 0.9), "--metric", "p99_ttft"], capsys)
    assert [one["metric"] for one in answer["comparisons"] if one["primary"]] == ["p99_ttft"]


def test_hostile_names_reach_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences in a file's words are dropped."""
    main(["judge", FIRST, run_file(tmp_path / "x.json", 1.1, 1, model_id="\x1b[31mred\x07")])
    assert "\x1b" not in capsys.readouterr().out


def test_the_readmes_lines_are_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the two committed files under the README's names."""
    for name, source in (("before.json", FIRST), ("after.json", SECOND)):
        (tmp_path / name).write_bytes(Path(source).read_bytes())
    main(["judge", str(tmp_path / "before.json"), str(tmp_path / "after.json")])
    printed = capsys.readouterr().out.splitlines()
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    shown = readme.partition("perfproof judge before.json after.json  ")[2].partition("```\n\n```\n")[2].partition("\n```")[0].splitlines()
    assert len(shown) > 4
    assert [line for line in shown if line not in printed] == []


def test_sides_without_a_metric_in_common_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Startup times and throughputs say nothing of each other."""
    assert main(["judge", str(FILES / "vllm_throughput.json"), str(FILES / "by_hand_vllm_latency_0.6.json")]) == EXIT_USAGE
    assert "no metric of it is in vllm_throughput.json as well" in capsys.readouterr().err


def test_several_runs_of_which_one_failed_are_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its zeros are no measurement, so the headlines are untestable."""
    both = sides(tmp_path, TURNS)
    run_file(tmp_path / "b" / "run03.json", 1.0, 6, output_throughput=0.0, median_ttft_ms=0.0, median_tpot_ms=0.0)
    code, answer = judged(both, capsys)
    assert code == EXIT_UNTESTABLE
    assert {one["verdict"] for one in answer["comparisons"] if one["primary"]} == {"untestable"}
