"""Where running words speak of a side: "on main", "with this PR", "previously", "in v0.10.2", "优化前"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from perfproof.importers.pasted_text.words.nouns import measured_in
from perfproof.model.base.quantities import known
from perfproof.model.scenarios import foreign_words
from perfproof.model.scenarios.metric_directions import better, word_set
from perfproof.model.scenarios.side_names import BASELINES, CANDIDATES, Role, commit, names_a_side, release, role, split

LONGEST = 400
_WORD = re.compile(r"w/o?(?=\s)|[^\W\d_][\w#~^-]*(?:\.[A-Za-z]+)*|#[0-9]+")
_DOUBTFUL = word_set(
    "released default control reference existing develop no pre base fix fixed change changed these this my our with w/ post head"
)
"""Words of sides that mean other things in running words, unless a colon, a number or a bracket stands beside them."""
_BASE = (BASELINES | word_set("before without w/o prior formerly older beforehand")) - _DOUBTFUL
_OTHER = (CANDIDATES | word_set("ours mine afterwards patched now new pr here")) - _DOUBTFUL
_THIS = word_set("this the my our that your these")
_CHANGE = word_set(
    "pr patch change branch commit fix fork version changes patchset optimization optimisation build kernel code path one implementation "
    "backend engine scheduler allocator router algorithm"
)
_OBJECTS = word_set("main") | _CHANGE
_NOT_BEHIND = re.compile(
    r"(?i)\s+(?:the\s+|a\s+)?(?:warm\w*|restart\w*|load\w*|launch\w*|start\w*|boot\w*|compil\w*|cool\w*|idle|soak\w*|rebas\w+|merg\w+|review\w*"
    r"|that|which|tokens?\b|requests?\b|users?\b|model\b|memory\b|thread\b|loop\b|text\b|sequences?\b"
    r"|[0-9][0-9,.]*k?\s?(?:steps?|requests?|iterations?|iters?|runs?|min\w*|hours?|tokens?|prompts?|days?|s of)\b)"
)
"""What stands behind a word that then names no side: "after warm-up", "new tokens", "main memory"."""
_VERSION = re.compile(
    r"(?i)(?<![\w./-])(?:(?:vllm|sglang|torch|release)\s+)?v?[0-9]+\.[0-9]+\.[0-9]+(?:\.?(?:post|rc|dev|a|b)[0-9]+)?(?![\w%]|\.[0-9])"
)
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WITH = re.compile(
    r"(?i)(?<![\w/-])(?P<way>with|without|w/o|w/)\s+(?P<what>(?:(?:the|this|my|our|your)\s+)?[\w#+./-]+(?:\s+(?:pr|patch|changes?|fix|branch|caching|scheduling|graphs?|kernels?|prefill|decoding|parallel\w*|compil\w*)\b)?)"
)
_WITHOUT = re.compile(r"(?i)\b(?:without|w/o)\s*(?:[,;:.)]|it\b|$)")
"""What is not there, without its name."""
_NOUN = re.compile(
    r"\s+(?!(?:is|was|are|were|has|had|it|i|we|takes?|took|gets?|got|and|on|with|at|for|in)\b)([A-Za-z][a-z_-]{2,20})(?=\s*(?:[:,;.)]|$|\s(?:is|was|takes?|took|gets?|got|has)\b))"
)
"""A word behind a side that ends its name."""
_WAS = re.compile(
    r"(?i)(?:[,;(–—-]\s*)(?:it\s+|which\s+)?(?P<word>was|were|used to (?:be|take|need|last)|previously|formerly|(?:down|up) from"
    r"|instead of|rather than|compared (?:to|with)|from)\s+(?=[~≈]?\s?[0-9])(?![0-9]+\.[0-9]+\.[0-9])"
    r"|\b(?P<late>(?:down|up) from|instead of|rather than|used to (?:be|take|need|last|run (?:in|at)))\s+"
    r"(?=(?:about\s|around\s)?[~≈]?\s?[0-9])"
)
_TO = re.compile(r"\s*(?:about |around |roughly )?[~≈]?\s?[0-9][0-9.,]*\s?[\w/µμ%]*(?:\s(?:per|each)\s[a-z]+)?\s*(?:to|->|→|=>)\s")
"""What goes on to a second number: a move from one to the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place where a side is named: its name without "on" and the like, and what it says to be, "" for a version. A `weak` one,
    "was" or "down from", stands before its number and gives way to a name."""

    start: int
    end: int
    name: str
    role: Role
    weak: bool = False


@lru_cache(maxsize=512)
def mentions(text: str) -> tuple[Mention, ...]:
    """The sides that a text names, in their order, none inside another."""
    found = [*_by_day(text), *_with_and_without(text), *_was(text), *_of_words(text), *_eastern(text)]
    if not found and len(versions := list(_VERSION.finditer(text))) > 1 and len({one[0] for one in versions}) > 1:
        found = [Mention(start=one.start(), end=one.end(), name=one[0], role="") for one in versions if release(one[0]) is not None]
    if (lead := _LEAD.match(text)) and _is_lead(lead["name"]) and all(_is_within(one, lead) for one in found):
        found = [one for one in found if one.start >= lead.end("name")]
        found = [*found, Mention(start=lead.start("name"), end=lead.end("name"), name=lead["name"], role=role(lead["name"]))]
    kept: list[Mention] = []
    for one in sorted(found, key=lambda each: (each.start, each.start - each.end)):
        if kept and kept[-1].weak and not one.weak and one.start < kept[-1].end:
            kept[-1] = one
        elif not kept or one.start >= kept[-1].end:
            kept.append(one)
    return tuple(_taken_away(text, one) for one in _with_noun(text, kept))


_GONE = r"(?:un\w+ed|undone|absent|missing|gone|off|out|back|not (?:applied|there|in|enabled|active|loaded|merged))"
_LEFT = r"(?:removed|dropped|deleted|disabled|reverted|reversed|bypassed|skipped|excluded|stripped|cut)"
_IS_GONE = re.compile(
    rf"(?i)(?P<by>\s+(?:is|was|were|being|been|turned|switched|backed|taken|stripped|left|rolled|applied))*\s+(?:{_GONE}|(?P<left>{_LEFT}))\b"
)
"""What stands behind a change that was taken away: "the patch unapplied", "this PR was backed out"."""
_TAKES = re.compile(
    r"(?i)\b(?:(?:after|once|by|with|when|on|upon)\s+)?(?:the\s+)?"
    r"(?:unappl\w+|undo\w*|remov\w+|dropp\w+|delet\w+|disabl\w+|revert\w*|revers\w+|bypass\w+|skipp\w+|exclud\w+|rollback"
    r"|(?:back|tak|turn|switch|roll)\w* (?:out|off|back)|no)\s+(?:of\s+)?(?:(?:the|this|that|our|my)\s+)?(?:new\s+)?$"
)
"""What stands before one: "after undoing the patch", "the rollback of this PR"."""


def _taken_away(text: str, one: Mention) -> Mention:
    """A mention of a change; where its own words say that it was taken away, of what was before it. "The patch dropped TPOT" took nothing
    away but time."""
    if one.role != "candidate":
        return one
    behind, before = _IS_GONE.match(text[one.end :]), _TAKES.search(text[: one.start])
    if behind and behind["left"] and not behind["by"]:
        ends = re.match(r"\s*(?:[.,;:)]|$)", text[one.end + behind.end() :])
        behind = behind if ends or re.search(r"(?i)\bwith\s+(?:\w+\s+)?$|^with\b", text[: one.start] + one.name) else None
    if not behind and not before:
        return one
    start, end = before.start() if before else one.start, one.end + (behind.end() if behind else 0)
    return replace(one, start=start, end=end, name=" ".join(text[start:end].split()), role="baseline")


def _with_noun(text: str, kept: Sequence[Mention]) -> list[Mention]:
    """The mentions; two that stand before one noun, "the new scheduler" and "the old scheduler", with it."""
    nouns = [found[1].casefold() if (found := _NOUN.match(text[one.end :])) else "" for one in kept]
    shared = {noun for noun in nouns if noun and nouns.count(noun) > 1 and not measured_in(noun) and not known(noun)}
    return [
        replace(one, end=one.end + len(_NOUN.match(text[one.end :])[0]), name=f"{one.name} {noun}") if noun in shared else one  # type: ignore[index]
        for one, noun in zip(kept, nouns, strict=True)
    ]


_LEAD = re.compile(r"^\W*(?P<name>(?:[^\W\d]|[0-9]+\.[0-9]|[0-9a-f]{7})[^:=|,;]{1,60}?)\s*:\s")
_VERB = re.compile(r"(?i)\b(?:i|we|it|is|was|are|were|has|have|had|measured|ran|got|see|saw)\b")


def _is_within(one: Mention, lead: re.Match[str]) -> bool:
    """Whether a mention is no more than a part of the name before a line's first colon, "Baseline" of "Baseline run", or behind it."""
    whole = lead["name"]
    apart = split(whole) or _english(whole.split()[0]) in ("before", "after")
    return one.start >= lead.end("name") or (one.end <= lead.end("name") and not apart)


def _is_lead(name: str) -> bool:
    """Whether the words before a line's first colon are a side's."""
    return (
        (names_a_side(name) or release(name) is not None or commit(name))
        and not measured_in(name.replace("_", " "))
        and len(name.split()) <= 6
        and not _VERB.search(name)
    )


def _with_and_without(text: str) -> Iterator[Mention]:
    """What was there and what was not, where a text speaks of both: "without prefix caching ... with prefix caching"."""
    found = list(_WITH.finditer(text))
    ways = {one["way"].lower() in ("with", "w/") for one in found} | ({False} if _WITHOUT.search(text) else set())
    for one in found:
        what = one["what"].rstrip(".")
        words = what.lower().split()
        sided = words == ["it"] or (
            words[-1] in _CHANGE and (words[0] in _THIS or len(words) == 1 or words[-1] in ("fix", "patch", "change", "pr"))
        )
        if not (len(ways) > 1 or sided or one["way"].lower() not in ("with", "w/")) or _NOT_BEHIND.match(text[one.end("way") :]):
            continue
        if better(what) is not None and not sided:
            continue
        own = one["way"].lower() in ("with", "w/") and words[0] != "no"
        label = not re.search(r"\w", text[: one.start()]) and text[one.end() :].lstrip()[:1] == ":"
        short = own and words[0] in ("this", "my", "our", "the", "your") and not label
        name = " ".join((what if short else one[0].rstrip(".")).split())
        yield Mention(start=one.start(), end=one.start("what") + len(what), name=name, role="candidate" if own else "baseline")


_DAY = re.compile(
    r"(?i)\b(?:(?P<then>last (?:week|month|night|release)|yesterday)|(?P<now>today|this (?:week|morning)))"
    r"(?:'s (?:nightly|build|main|wheel|image|version))?"
)


def _by_day(text: str) -> Iterator[Mention]:
    for one in _DAY.finditer(text):
        yield Mention(start=one.start(), end=one.end(), name=one[0], role="baseline" if one["then"] else "candidate")


def _was(text: str) -> Iterator[Mention]:
    for one in _WAS.finditer(text):
        group = "word" if one["word"] else "late"
        if _TO.match(text[one.end(group) :]):
            continue
        yield Mention(start=one.start(group), end=one.end(group), name="before", role="baseline", weak=True)


def _of_words(text: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(text))
    at = 0
    while at < len(words):
        size = _size(text, words, at)
        if size:
            end = words[at + size - 1].end()
            name = " ".join(text[words[at].start() : end].split())
            first = name.split()[0]
            said = role(name) or ("candidate" if _english(name.split()[-1]) in _CHANGE else "")
            name = first if _english(first) in ("before", "after") else name
            if said in ("baseline", "candidate"):
                yield Mention(start=words[at].start(), end=end, name=name, role=said)
        at += max(size, 1)


def _size(text: str, words: Sequence[re.Match[str]], at: int) -> int:
    """How many words from a place on name a side, 0 for none."""
    word = _english(words[at][0])
    behind = text[words[at].end() :]
    following = [_english(each[0]) for each in words[at + 1 : at + 3] if each.start() - words[at].end() < 20]
    near = bool(following) and text[words[at].end() : words[at + 1].start()].strip() == ""
    if (
        word in ("this", "my", "our", "the")
        and near
        and following[0] in _CHANGE
        and (word != "the" or following[0] in ("pr", "patch", "fix", "branch", "change"))
    ):
        return 2
    marked = bool(re.match(r"\s*[:=]|\)|\]|\s+[~≈]?[0-9]", behind)) or (words[at].start() and text[words[at].start() - 1] in "([")
    counted = re.search(r"[0-9]\s?[\w/µ%]{0,8}\s$", text[: words[at].start()])
    if word in ("control", "reference") and counted:
        return 1
    if word == "branch" and marked and not near and (not at or _english(words[at - 1][0]) not in BASELINES | CANDIDATES | _THIS):
        return 1
    if word in ("base", "reference", "control", "default", "existing", "current") and near and following[0] in _CHANGE:
        return 2
    if word in _DOUBTFUL - {"with", "w/", "this", "my", "our", "these"} and marked and role(word) and not known(words[at][0]):
        return 1
    if word not in _BASE | _OTHER or known(words[at][0]) or _NOT_BEHIND.match(behind):
        return 0
    if word in ("before", "after", "without", "prior") and near:
        if following[0] in _THIS and len(following) > 1 and following[1] in _CHANGE:
            return 3
        if following[0] in _CHANGE - {"code", "path", "build"}:
            return 2
    if word == "pr" and near and re.match(r"#?[0-9]+", following[0]):
        return 2
    if near and following[0] in _CHANGE and word not in ("now", "here", "before", "after", "pr") and not known(following[0]):
        return 2
    return 1


@lru_cache(maxsize=4096)
def _english(word: str) -> str:
    lowered = word.lower().rstrip("-")
    return lowered if lowered.isascii() and lowered in BASELINES | CANDIDATES | _CHANGE | _THIS else foreign_words.side(lowered)


def _eastern(text: str) -> Iterator[Mention]:
    if not _EAST.search(text):
        return
    for one in foreign_words.sides_inside(text):
        said = role(one[0])
        if said in ("baseline", "candidate"):
            yield Mention(start=one.start(), end=one.end(), name=one[0], role=said)
