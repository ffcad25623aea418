"""What holds below headings: the side that was named last, and the section.

A heading that names a side (main, this PR, before) holds until another one does, or until a section of a higher level begins. Any other is
a section. Numbered runs ("Run 2") are neither: they count runs of what stands above.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from perfproof.importers.pasted_text.context.headings import BOLD, SETTING, SETUP, Heading, both
from perfproof.importers.pasted_text.words.alternatives import alternatives, kind
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.model.scenarios.metric_directions import better, word_set
from perfproof.model.scenarios.side_names import commit, release, role, split


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What holds at a place: the side, "" for none; its section, outermost name first; weak names apart; the run's number, "" for
    none; the sentence right above that says what the numbers are; an earlier remark that says which way is better."""

    side: str = ""
    section: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    run: str = ""
    caption: str = ""
    remark: str = ""

    @property
    def above(self) -> str:
        """The nearest heading that names no side, "" for none."""
        return next(iter([*reversed(self.weak), *reversed(self.section)]), "")


def contexts(marks: Iterable[Heading | bool], *, ways: bool = False) -> list[Context]:
    """What holds at each place that is no heading, of a text's headings and other places in order: False for a remark. Headings of two
    `ways` to do one thing are sides, or else sections."""
    marks = _without_own_settings(_without_remarks(_raised(_parted(list(marks)))))
    texts = [mark.text.casefold() for mark in marks if isinstance(mark, Heading)]
    repeated = frozenset(text for text, count in Counter(texts).items() if count > 1)
    plain = any(role(mark.text) and not _sets(mark.text) for mark in marks if isinstance(mark, Heading))
    open_ = _Open(
        repeated=repeated,
        shared=_shared_rests(texts),
        adopted=_adopted(marks, repeated),
        settings=not plain,
        ways=_ways(marks) if ways and not plain else frozenset(),
    )
    found = []
    for mark in marks:
        if isinstance(mark, Heading):
            open_.take(mark)
        else:
            found.append(open_.context(remark=not mark))
    return found


def _ways(marks: Sequence[Heading | bool]) -> frozenset[str]:
    """The headings that are two ways of one kind, none where there are several such kinds."""
    kinds: dict[str, dict[str, set[str]]] = {}
    for mark in marks:
        if isinstance(mark, Heading) and (found := kind(mark.text)):
            kinds.setdefault(found, {}).setdefault(mark.text.strip("`:*_ ").casefold(), set()).add(mark.text)
    two = [texts for texts in kinds.values() if alternatives([min(spelt) for spelt in texts.values()])]
    return frozenset(text for spelt in two[0].values() for text in spelt) if len(two) == 1 else frozenset()


_OF_CASE = re.compile(r"(?P<case>.*?\w.*?)(?:,|:|\s[–—-])\s+(?P<side>\w[\w ]{1,30})")
"""A case and a side in one heading: "/tokenize with uvloop, before"."""


def _parted(marks: Sequence[Heading | bool]) -> list[Heading | bool]:
    """The headings; one of a case and a side as two, where the other side stands in a heading alone."""
    alone = {role(mark.text) for mark in marks if isinstance(mark, Heading)}
    found: list[Heading | bool] = []
    for mark in marks:
        match = _OF_CASE.fullmatch(mark.text) if isinstance(mark, Heading) and not role(mark.text) else None
        if isinstance(mark, Heading) and match and {"baseline": "candidate", "candidate": "baseline"}.get(role(match["side"])) in alone:
            found += [replace(mark, text=match["case"]), replace(mark, text=match["side"])]
        else:
            found.append(mark)
    return found


def _raised(marks: Sequence[Heading | bool]) -> list[Heading | bool]:
    """The headings; one of a setup that is there once, "Config 2: TP=4", stands above the sides below it."""
    setups = Counter(mark.text.casefold() for mark in marks if isinstance(mark, Heading) and SETUP.match(mark.text))
    return [
        replace(mark, level=min(mark.level, BOLD)) if isinstance(mark, Heading) and setups[mark.text.casefold()] == 1 else mark
        for mark in marks
    ]


def _without_remarks(marks: Sequence[Heading | bool]) -> list[Heading | bool]:
    """The headings; a sentence right above a flag or a variable as a heading, "Off is the baseline here.", is a remark about these where
    the headings don't name both sides."""
    named = {role(mark.text) for mark in marks if isinstance(mark, Heading) and kind(mark.text) != "setting"}
    if {"baseline", "candidate"} <= named:
        return list(marks)
    return [
        mark
        for mark, after in zip(marks, [*marks[1:], False], strict=False)
        if not (isinstance(mark, Heading) and mark.said and isinstance(after, Heading) and kind(after.text) == "setting")
    ]


def _without_own_settings(marks: Sequence[Heading | bool]) -> list[Heading | bool]:
    """The headings; where each side has one setting of its own, "# main" above "$ FUSED=0 vllm bench", that tells no more than the side."""
    side, sides = "", set[str]()
    own: dict[str, set[str]] = {}
    for mark in marks:
        if isinstance(mark, Heading) and SETTING.match(mark.text):
            own.setdefault(mark.text, set()).add(side)
        elif isinstance(mark, Heading) and role(mark.text):
            side = mark.text.casefold()
            sides.add(side)
    alone = all(len(each) == 1 and "" not in each for each in own.values())
    if len(sides) < 2 or not alone or len({next(iter(each)) for each in own.values()}) != len(own):
        return list(marks)
    return [mark for mark in marks if not (isinstance(mark, Heading) and mark.text in own)]


def _adopted(marks: Sequence[Heading | bool], repeated: frozenset[str]) -> frozenset[int]:
    """The headings (by line) that name no side and are one nonetheless, as they stand on the level of those that do, right above data:
    where these name one side alone; else one that is part of a side's name, "async" beside "async + this PR", or holds one."""
    sided = [mark for mark in marks if isinstance(mark, Heading) and role(mark.text) and not both(mark.text)]
    names = {mark.text.casefold() for mark in sided}
    if not names:
        return frozenset()
    levels = {mark.level for mark in sided}
    apart = [mark for mark in marks if not isinstance(mark, Heading) or mark.text.casefold() not in repeated]
    return frozenset(
        mark.number
        for mark, after in pairwise(apart)
        if isinstance(mark, Heading)
        and mark.level in levels
        and after is True
        and not role(mark.text)
        and (len(names) == 1 or any(_is_part(mark.text.casefold(), name) for name in names))
    )


def _is_part(one: str, other: str) -> bool:
    """Whether one of two names is the other with something added to it."""
    short, long = sorted((one, other), key=len)
    return bool(re.search(rf"(?<!\w){re.escape(short)}\s*[+,&(]|[+&]\s*{re.escape(short)}(?!\w)", long))


def _sets(text: str) -> bool:
    """Whether a heading says how something was set: of a side only where no other heading names one."""
    return bool(SETTING.match(text) or SETUP.match(text))


_SWITCHES = word_set("with without w/o w/ no")


def _shared_rests(texts: Sequence[str]) -> frozenset[str]:
    """What stands beside either side in headings that name a side and a case: "main, 8 users" and "PR, 8 users"."""
    roles: dict[str, set[str]] = {}
    for text in texts:
        for side, rest in split(text):
            if side.casefold().split()[0] in _SWITCHES and text.startswith(f"{side} "):
                continue  # with it, or without it
            roles.setdefault(rest.casefold(), set()).add(role(side))
    return frozenset(rest for rest, found in roles.items() if {"baseline", "candidate"} <= found)


class _Open:
    """The headings that hold, and whether anything was read since the side was named."""

    def __init__(
        self, repeated: frozenset[str], shared: frozenset[str], adopted: frozenset[int], *, settings: bool, ways: frozenset[str]
    ) -> None:
        self._repeated, self._shared, self._adopted, self._settings, self._ways = repeated, shared, adopted, settings, ways
        self._side: Heading | None = None
        self._sections: list[Heading] = []
        self._run, self._read = "", False
        self._fresh: set[int] = set()
        self._around: set[int] = set()

    def take(self, heading: Heading) -> None:
        """One heading more."""
        if heading.run:
            self._run = heading.run
        if not heading.text:
            return
        self._run = heading.run
        side, rest = self._sided(heading.text)
        if not side and heading.number in self._adopted and not (self._side and not self._read):
            side = heading.text
        if side:
            self._close(heading.level, of_side=True)
            self._around = {each.number for each in self._sections if each.number in self._fresh | self._around}
            self._side = Heading(text=side, level=heading.level, number=heading.number, weak=heading.weak)
            self._sections += [Heading(text=rest, level=heading.level + 1, number=heading.number)] if rest else []
            self._read = False
            return
        if (
            self._side
            and self._read
            and (heading.level < self._side.level or (heading.level == self._side.level and not self._again(heading)))
        ):
            self._side = None
        self._close(heading.level, of_side=False)
        self._sections.append(heading)
        self._fresh.add(heading.number)

    def _again(self, heading: Heading) -> bool:
        return heading.text.casefold() in self._repeated

    def _sided(self, text: str) -> tuple[str, str]:
        """A heading as a side and the case beside it; "" where it names no side."""
        if (_sets(text) and not self._settings) or both(text):
            return "", ""
        for side, rest in split(text):
            if rest.casefold() in self._shared and role(side):
                return side, rest
        if text in self._ways:
            return text.strip("`:*_ "), ""
        return (text, "") if role(text) or release(text) is not None or commit(text) else ("", "")

    def _close(self, level: int, *, of_side: bool) -> None:
        """Ends the sections that a heading of this level ends: those of its own level and below; of a side, those that stand inside the
        last side alone. What stands right above the first side, or this one, is around them, unless markdown says otherwise."""
        if of_side and self._side is not None:
            self._sections = [
                each
                for each in self._sections
                if each.level < level
                or (level >= BOLD and each.level >= BOLD and each.number in self._fresh | self._around)
                or (each.number < self._side.number and (each.level <= level or bool(better(each.text) or unit_of(each.text))))
            ]
        elif of_side:
            self._sections = [
                each for each in self._sections if each.level <= level or each.weak or (level >= BOLD and each.number in self._fresh)
            ]
        else:
            self._sections = [each for each in self._sections if each.level < level]

    def context(self, *, remark: bool) -> Context:
        """What holds here; a remark is no data."""
        self._read = self._read or not remark
        self._fresh = self._fresh if remark else set()
        return Context(
            side=self._side.text if self._side else "",
            section=tuple(each.text for each in self._sections if not each.weak),
            weak=tuple(each.text for each in self._sections if each.weak),
            run=self._run,
        )
