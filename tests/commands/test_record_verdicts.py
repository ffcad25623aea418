"""`perfproof judge`: which arm is the baseline, what the metric is called, and what a table must look like."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_USAGE


def numbers(path: Path, arms: tuple[str, ...], head: str = "block,arm,value") -> str:
    """Six blocks of each arm, each arm a tenth more than the one before; its path."""
    rows = [f"{block},{arm},{10 * 1.1**place + block / 100:g}" for block in range(1, 7) for place, arm in enumerate(arms)]
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["baseline", "Base", "before", "main", "control", "unpatched", "as released", "as_released", "old"])
def test_an_arm_with_an_obvious_name_is_the_baseline(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it stands in the file, so that an improvement is not called a regression; which it is, is told."""
    assert main(["judge", numbers(tmp_path / "n.csv", ("candidate", name)), "--better", "lower"]) == EXIT_PASS
    out = capsys.readouterr().out
    assert f"baseline: {name}, by its name" in out
    assert f"candidate against {name}" in out


@pytest.mark.parametrize("arms", [("mine", "theirs"), ("main", "old")])
def test_without_one_obvious_name_the_first_arm_is_the_baseline_and_that_is_told(
    arms: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name says so, or two do: one line names the arm, the reason and the remedy."""
    assert main(["judge", numbers(tmp_path / "n.csv", arms), "--better", "lower"]) == EXIT_REGRESSED
    assert f"baseline: {arms[0]}, the first in the file; --baseline names another\n" in capsys.readouterr().out


def test_the_baseline_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every other arm is judged against it; as JSON the guess is told on stderr, a name needs no telling."""
    path = numbers(tmp_path / "n.csv", ("main", "mine", "theirs"))
    assert main(["judge", path, "--better", "lower", "--baseline", "theirs", "--json"]) == EXIT_PASS
    told = capsys.readouterr()
    pairs = [(one["baseline"], one["candidate"], one["verdict"]) for one in json.loads(told.out)["comparisons"]]
    assert (pairs, told.err) == ([("theirs", "main", "improved"), ("theirs", "mine", "improved")], "")
    assert main(["judge", path, "--better", "lower", "--json"]) == EXIT_REGRESSED
    assert "baseline: main, by its name" in capsys.readouterr().err


def test_a_baseline_that_is_no_arm_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the arms that there are."""
    assert main(["judge", numbers(tmp_path / "n.csv", ("a", "b")), "--better", "lower", "--baseline", "c"]) == EXIT_USAGE
    assert "--baseline c: there is no such arm; the arms are a, b" in capsys.readouterr().err


def test_of_counts_of_errors_the_baseline_is_chosen_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The columns block,arm,errors,requests, with the candidate first."""
    rows = [f"{block},{arm},{errors},1000" for block in range(1, 9) for arm, errors in (("new", 100 + block % 2), ("control", block % 2))]
    (tmp_path / "n.csv").write_text("\n".join(["block,arm,errors,requests", *rows]))
    assert main(["judge", str(tmp_path / "n.csv"), "--better", "lower"]) == EXIT_REGRESSED
    out = capsys.readouterr().out
    assert "baseline: control, by its name" in out
    assert "new is regressed" in " ".join(out.split())


def test_the_metric_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the file's name otherwise."""
    path = numbers(tmp_path / "n.csv", ("main", "mine"))
    for more, name in (([], "n"), (["--metric", "latency"], "latency")):
        assert main(["judge", path, "--better", "lower", "--json", *more]) == EXIT_REGRESSED
        (one,) = json.loads(capsys.readouterr().out)["comparisons"]
        assert (one["scenario"], one["metric"]) == ("n", name)


@pytest.mark.parametrize(("text", "margin"), [("5%", 0.05), ("0.05", 0.05), ("2.5%", 0.025)])
def test_a_margin_may_be_a_percentage(text: str, margin: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five per cent are five hundredths."""
    main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", "--json", "--margin", text])
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["margin"] == pytest.approx(margin)


@pytest.mark.parametrize("text", ["5", "%", "100%", "-1%", "nan", "nan%", "much"])
def test_a_margin_that_is_no_fraction_is_refused_with_one_that_is(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was typed, the forms that work are told."""
    with pytest.raises(SystemExit, match=str(EXIT_USAGE)):
        main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", f"--margin={text}"])
    assert f"such as 0.05 or 5%, got {text}" in capsys.readouterr().err


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_spreadsheets_separators_are_read(mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Semicolons with decimal commas, as where commas are decimal ones, and tabs: the same verdict."""
    path = Path(numbers(tmp_path / "n.csv", ("main", "mine")))
    main(["judge", str(path), "--better", "lower", "--json"])
    told = capsys.readouterr().out
    path.write_text(path.read_text().replace(",", mark).replace(".", ","))
    main(["judge", str(path), "--better", "lower", "--json"])
    assert capsys.readouterr().out == told


@pytest.mark.parametrize("text", ['{"duration": 1}', "[\n1, 2]", "no,table"])
def test_a_file_that_is_no_table_is_not_printed(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A JSON of a hundred kilobytes gets one sentence."""
    path = tmp_path / "n.json"
    path.write_text(text + ", more" * 20_000)
    assert main(["judge", str(path), "--better", "lower"]) == EXIT_USAGE
    err = capsys.readouterr().err
    assert len(err) < 2_000
    assert ("is JSON, not a CSV" if text[0] in "{[" else "column block, arm, value is missing") in err


def test_each_metric_of_a_table_is_judged_and_they_share_the_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seconds beside milliseconds are no change, and what is better higher is not judged as lower."""
    rows = [
        f"{block},{arm},{value},{unit},{metric}"
        for block in range(1, 9)
        for arm, time, rate in (("main", f"0.41{block}", 100 + block), ("pr", f"41{block}.3", 120 + block))
        for value, unit, metric in ((time, "s" if arm == "main" else "ms", "ttft"), (rate, "tok/s", "throughput"))
    ]
    path = tmp_path / "n.csv"
    path.write_text("\n".join(["block,arm,value,unit,metric", *rows]))
    assert main(["judge", str(path), "--better", "lower", "--json"]) == EXIT_USAGE
    assert "of throughput, higher is better; --metric throughput --better higher judges it alone" in capsys.readouterr().err
    assert main(["judge", str(path), "--better", "lower", "--json", "--metric", "ttft"]) == EXIT_PASS
    (one,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (one["metric"], one["unit"], one["verdict"], one["level"]) == ("ttft", "s", "equivalent", 0.9)
    assert main(["judge", str(path), "--better", "higher", "--json", "--metric", "throughput"]) == EXIT_PASS
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["verdict"] == "improved"
    path.write_text(path.read_text().replace("throughput", "score"))
    assert main(["judge", str(path), "--better", "lower", "--json"]) == EXIT_REGRESSED
    first, second = json.loads(capsys.readouterr().out)["comparisons"]
    assert (first["metric"], second["metric"], second["verdict"], second["level"]) == ("ttft", "score", "regressed", 0.99)


# --- the order of measuring -------------------------------------------------------------------------------------


def drifting(path: Path, order: list[tuple[int, str]], times: list[int] | None = None, rates: bool = False) -> str:
    """A machine that becomes slower by 0.4 % a trial, whatever the arm, measured in this order; its path."""
    rows = []
    for place, (block, arm) in enumerate(order):
        cell = f"{1000 + 4 * place},100000" if rates else f"{10 * 1.004**place * (1 + (place * 7 % 5) / 5000):.6f}"
        stamp = f",2026-11-28T{times[place] // 60:02}:{times[place] % 60:02}:00" if times else ""
        rows.append(f"{block},{arm},{cell}{stamp}")
    head = f"block,arm,{'errors,requests' if rates else 'value'}{',time' if times else ''}"
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


APART = [(block, arm) for arm in ("main", "pr") for block in range(1, 13)]
TURNS = [(block, arm) for block in range(1, 13) for arm in (("main", "pr") if block % 2 else ("pr", "main"))]


@pytest.mark.parametrize("order", [APART, APART[12:] + APART[:12], APART[:6] + APART[12:18] + APART[6:12] + APART[18:]])
@pytest.mark.parametrize("rates", [False, True])
def test_arms_that_stand_apart_are_no_pairs(
    order: list[tuple[int, str]], rates: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drift of the machine is neither *regressed* nor *improved*, whichever arm came first; what it could have done, and the remedy, is
    told."""
    path = drifting(tmp_path / "n.csv", order, rates=rates)
    more = ["--margin", "0.0001"] if rates else []
    assert main(["judge", path, "--better", "lower", "--json", *more]) in (EXIT_PASS, EXIT_INCONCLUSIVE)
    (one,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert one["verdict"] == "inconclusive"
    assert "a drift looks like a change: the drift within the two sides alone would have made" in one["reason"]
    assert "--interleaved" in one["reason"]


def test_arms_that_stand_apart_are_pairs_where_somebody_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--interleaved, or a time column that shows it; lines that were shuffled show nothing."""
    stamps = {one: place for place, one in enumerate(TURNS)}
    for path, more in (
        (numbers_apart(tmp_path / "a.csv", APART), ["--interleaved"]),
        (numbers_apart(tmp_path / "b.csv", APART, [stamps[one] for one in APART]), []),
        (numbers_apart(tmp_path / "c.csv", TURNS), []),
        (numbers_apart(tmp_path / "d.csv", sorted(TURNS, key=lambda one: one[0] * 5 % 13)), []),
    ):
        assert main(["judge", path, "--better", "lower", "--json", *more]) == EXIT_REGRESSED
        capsys.readouterr()


def test_a_time_column_outweighs_the_order_of_lines_and_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines in turns whose times show that one arm was measured after the other are no pairs, whatever is said."""
    stamps = {one: place for place, one in enumerate(APART)}
    path = numbers_apart(tmp_path / "n.csv", TURNS, [stamps[one] for one in TURNS])
    main(["judge", path, "--better", "lower", "--json", "--interleaved"])
    (one,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert one["verdict"] == "inconclusive"
    assert "their times show that the arms were not measured in turns" in one["reason"]


def numbers_apart(path: Path, order: list[tuple[int, str]], times: list[int] | None = None) -> str:
    """As `drifting`, without a drift and with a candidate that is a tenth slower; its path."""
    lines = Path(drifting(path, order, times)).read_text().splitlines()
    value = {one: 10 * (1.1 if one[1] == "pr" else 1) + one[0] / 100 + (one[1] == "pr") * (one[0] % 3) / 100 for one in order}
    rows = [[*line.split(",")[:2], f"{value[one]:.4f}", *line.split(",")[3:]] for line, one in zip(lines[1:], order, strict=True)]
    path.write_text("\n".join([lines[0], *map(",".join, rows)]) + "\n")
    return str(path)


@pytest.mark.parametrize("value", ["5e-324", "1e-300", "-2e-308", "1e101", "1e308"])
@pytest.mark.parametrize("verb", ["judge", "steps"])
def test_a_number_that_nobody_can_reckon_with_is_refused_by_its_line(
    verb: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would end in a change of infinite size, or in an overflow, is refused with what to do; nought and -1 are numbers."""
    path = tmp_path / "n.csv"
    table = {"judge": f"block,arm,value\n1,main,1\n1,pr,{value}\n", "steps": f"point,value\nv1,0\nv2,{value}\nv3,-1\n"}
    path.write_text(table[verb])
    assert main([verb, str(path), *(["--better", "lower"] if verb == "judge" else [])]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"{path}:3: value: '{value}': a number below" in told
    assert len(told.splitlines()) == 1


def test_an_outlier_among_equals_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not so many million times their spread away: they hardly differ."""
    path = tmp_path / "n.csv"
    rows = [f"{block},{arm},{value}" for block in range(1, 12) for arm, value in (("main", "10"), ("pr", "20" if block == 3 else "11"))]
    path.write_text("\n".join(["block,arm,value", *rows]))
    for form in ("--json", "--explain"):
        main(["judge", str(path), "--better", "lower", form])
        out = " ".join(capsys.readouterr().out.split())
        assert "hardly differ" in out
        assert "inf times" not in out


@pytest.mark.parametrize(("baseline", "answers"), [("main", ("yes", "no", "no")), ("mine", ("no", "yes", "no"))])
def test_the_explanation_answers_its_questions(
    baseline: str, answers: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regressed, improved, equivalent: each with what was looked at, and yes or no."""
    main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", "--explain", "--baseline", baseline])
    out = " ".join(capsys.readouterr().out.split())
    found = [re.search(rf"{word}\? [^?]*: (yes|no)\.", out) for word in ("Regressed", "Improved", "Equivalent")]
    assert tuple(one[1] for one in found if one) == answers
    sign, end = ("+", "high") if baseline == "main" else ("-", "low")
    assert re.search(rf"The {end} end \{sign}0\.\d+ is not (above|below) 0, and", out)


def test_a_hostile_name_of_an_arm_does_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line that names the baseline is as harmless as the table."""
    main(["judge", numbers(tmp_path / "n.csv", ("\x1b[2Jmine", "theirs")), "--better", "lower"])
    assert "\x1b" not in capsys.readouterr().out


# --- directions and orders that outsiders tried -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "better"), [("throughput", "lower"), ("mean_ttft_ms", "higher"), ("goodput", "lower"), ("p99 latency", "higher")]
)
@pytest.mark.parametrize("how", ["file", "option", "column"])
def test_a_direction_against_the_metrics_own_name_is_refused(
    name: str, better: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever says what the values are called; another name may be given."""
    rows = [f"{block},{arm},{10 + block / 100 + (arm == 'pr')},{name}" for block in range(1, 9) for arm in ("main", "pr")]
    path = tmp_path / f"{name if how == 'file' else 'n'}.csv"
    path.write_text("\n".join([f"block,arm,value,{'metric' if how == 'column' else 'note'}", *rows]))
    more = ["--metric", name] if how != "file" else []
    other = "higher" if better == "lower" else "lower"
    assert main(["judge", str(path), "--better", better, *more]) == EXIT_USAGE
    assert f"{other} is better" in capsys.readouterr().err
    assert main(["judge", str(path), "--better", other, *more]) in (EXIT_PASS, EXIT_REGRESSED)
    if how == "file":
        assert main(["judge", str(path), "--better", better, "--metric", "points"]) in (EXIT_PASS, EXIT_REGRESSED)


def test_a_unit_of_which_the_other_direction_is_mostly_better_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that says nothing does not keep the unit from being asked."""
    path = tmp_path / "n.csv"
    path.write_text("block,arm,value\n" + "".join(f"{block},{arm},{10 + block / 100}\n" for block in range(8) for arm in ("main", "pr")))
    main(["judge", str(path), "--better", "lower", "--unit", "tok/s"])
    assert "of values in tok/s, higher is usually better; they are judged with --better lower" in capsys.readouterr().out
    main(["judge", str(path), "--better", "lower", "--unit", "ms"])
    assert "mostly better" not in capsys.readouterr().out


STEEP = 0.03


def climbing(path: Path, first: str, effect: float = 0.0, arms: int = 2) -> str:
    """A machine that becomes slower by 3 % a trial, each block begun by one arm; its path."""
    names = ["main", "pr", "pr2"][:arms]
    order = [(block, arm) for block in range(1, 13) for arm in (names if first != "turns" or block % 2 else names[::-1])]
    cells = [f"{block},{arm},{10 * (1 + STEEP) ** place * (1 + effect * (arm != 'main')):.6f}" for place, (block, arm) in enumerate(order)]
    path.write_text("\n".join(["block,arm,value", *cells]) + "\n")
    return str(path)


@pytest.mark.parametrize("arms", [2, 3])
def test_a_drift_is_no_change_of_the_arm_that_always_comes_second(arms: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """main, pr, main, pr is in turns, but each pr is a trial later: the drift within the arms tells how much that makes."""
    path = climbing(tmp_path / "n.csv", "main", arms=arms)
    assert main(["judge", path, "--better", "lower", "--json"]) in (EXIT_PASS, EXIT_INCONCLUSIVE)
    for one in json.loads(capsys.readouterr().out)["comparisons"]:
        assert (one["verdict"], "main comes first in every block" in one["reason"]) == ("inconclusive", True)
    assert main(["judge", path, "--better", "lower", "--json", "--interleaved"]) == EXIT_REGRESSED


def test_a_change_beyond_the_drift_is_told_and_one_behind_it_is_not_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten per cent more is *regressed* on the same machine; three per cent less looks equal and is not called so."""
    assert main(["judge", climbing(tmp_path / "n.csv", "main", 0.1), "--better", "lower", "--json"]) == EXIT_REGRESSED
    capsys.readouterr()
    main(["judge", climbing(tmp_path / "n.csv", "main", -0.03), "--better", "lower", "--json"])
    (one,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert one["verdict"] == "inconclusive"


@pytest.mark.parametrize("form", ["%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%b %d, %Y %H:%M"])
def test_dates_of_any_country_show_that_arms_stand_apart(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks in turns whose dates are of two weeks are no pairs; such a column had been passed over."""
    rows = []
    for block in range(1, 13):
        for arm, day in (("main", 14), ("pr", 21)):
            stamp = datetime(2026, 3, day, 12, block).strftime(form)
            rows.append(f'{block},{arm},{10 + (arm == "pr") + block % 5 / 100},"{stamp}"')
    path = tmp_path / "n.csv"
    path.write_text("\n".join(["block,arm,value,date", *rows]))
    assert main(["judge", str(path), "--better", "lower", "--json"]) in (EXIT_PASS, EXIT_INCONCLUSIVE)
    (one,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (one["verdict"], "their times show" in one["reason"]) == ("inconclusive", True)
