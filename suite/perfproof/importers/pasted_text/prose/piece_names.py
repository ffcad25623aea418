"""What the number of each piece measures: the metric or the words before it, else behind it, else those of the pieces beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from perfproof.importers.pasted_text.prose.pieces import Piece
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.importers.pasted_text.words.nouns import METRIC, measured_in
from perfproof.model.base.quantities import scale
from perfproof.model.scenarios.metric_directions import STATISTICS, better, word_set

MOST_WORDS = 8
"""Words of a name, at most."""
_KEY = re.compile(r"(?P<key>[A-Za-z_][\w./%-]*)=\s*$")
_COMMIT = re.compile(r"\(?\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}\b\)?")
_FILLER = word_set(
    "is was are were be been being takes took take needs needed need gets got get gives gave ran at of in on to "
    "with for the a an about around roughly only just it we i and but then so that this which now from by as has "
    "had have shows showed reports reported reached reaches sees saw goes went drops dropped drop falls fell rises "
    "rose improves improved increases increased decreases decreased reduced reduces grew grows jumps jumped down up "
    "cut cuts came comes moves moved it's its my our these those here there do does did measured numbers results "
    "result still even also both vs versus while whereas or ~ ≈ - – — 为 是 约 从 到 が は を の で から 降 降至 go sank sinkt "
    "steigt stieg ist war von auf mit dem der die das den beim bei im le la les est était el los es un una sur en "
    "con per был была было были составляет стал стала патча патч патчем патчу parche correctif faster slower better "
    "worse than compared over times higher lower more less beats avec med il elle er sie ello lui esso seulement "
    "passée étaient itself basically overall half see seen i'm passe passent de vaut applied passa changed changes "
    "change lasted lasts spent spends becomes became used "
    "done finished ready too ok okay "
    "raises raised raise lowers lowered leaves left leave keeps kept keep holds held hold sustains sustained sustain stays stayed remains "
    "remained shrinks shrank shrunk can fits fit lands landed gains gained loses lost "
    "unlike brings bring brought pushes pushed puts lag liegt liegen lagen sind nun us me them you hovers sits sat stands stood"
)


def names_of(pieces: Sequence[Piece]) -> list[str] | None:
    """What each number is called, "" where no words say so; None where the words are too many."""
    own = [called(piece.lead, piece.amount.unit) for piece in pieces]
    named = [
        (_held(name, piece) if name or piece is pieces[0] else "")
        or (
            piece.amount.words
            if piece.amount.words and not measured_in(name) and (name or piece.amount.words[:1] != piece.amount.unit[:1])
            else ""
        )
        or name
        or _behind(piece.trail, piece.amount.unit)
        for name, piece in zip(own, pieces, strict=True)
    ]
    named = [own[at] if at and piece.moved and named[at - 1] else named[at] for at, piece in enumerate(pieces)]
    names: list[str] = []
    for at, name in enumerate(named):
        if name and all(word.lower() in STATISTICS for word in name.split()) and at and names[-1]:
            rest = " ".join(word for word in names[-1].split() if word.lower() not in STATISTICS)
            name = f"{name} {rest}".strip()
        same = [names[before] for before in range(at - 1, -1, -1) if _alike(pieces[before], pieces[at]) and names[before]]
        names.append(name or (same[0] if same else _of_each(pieces[at])))
    for at, name in enumerate(names):
        if not name:
            names[at] = next((names[late] for late in range(at + 1, len(names)) if names[late] and _alike(pieces[at], pieces[late])), "")
    return None if any(len(name.split()) > MOST_WORDS for name in names) else names


_IN_USE = re.compile(
    r"(?i)[\s,]*(?:(?:are |is )?(?:in use|used|allocated|reserved|resident|occupied)\b|of (?:the )?(?:gpu |host |device |peak "
    r"|system )*(?:memory|vram|hbm|ram)\b)"
)
"""What says of a size that so much of a memory is taken."""


def _held(name: str, piece: Piece) -> str:
    """What a size in bytes is called where the words behind it say that it is taken, "" for any other number."""
    if scale(piece.amount.unit)[0] != "bytes" or measured_in(name) or not _IN_USE.match(piece.trail):
        return ""
    return f"{name} memory used".strip()


def _of_each(piece: Piece) -> str:
    """What a time of each of many is called, "41 ms per decode step", "" for any other number."""
    each = (
        re.match(r"(?i)\s*per [a-z]+(?: (?:step|token|request|call|block|batch|image|layer|iteration|prompt|user)s?)?\b", piece.trail)
        if scale(piece.amount.unit)[0] == "time"
        else None
    )
    return f"time {each[0].strip()}" if each else ""


def in_turn(pieces: Sequence[Piece], whose: Sequence[str]) -> list[str]:
    """The names of numbers of which each side has one a metric that the words before all of them list, "TTFT and TPOT are 88 ms and 14 ms
    on main, and 71 ms and 13 ms here"; [] where they list none."""
    found = list(METRIC.finditer(pieces[0].lead))
    sides = list(dict.fromkeys(whose))
    apart = all(
        re.fullmatch(r"\s*(?:,|/|and|,\s*and)\s*(?:the |its )?", pieces[0].lead[one.end() : other.start()])
        for one, other in pairwise(found)
    )
    if len(found) < 2 or not apart or len(pieces) != len(found) * len(sides) or any(called(piece.lead, "") for piece in pieces[1:]):
        return []
    if list(whose) != [side for side in sides for _ in found]:
        return []
    return [one["label"] for _ in sides for one in found]


def _alike(one: Piece, other: Piece) -> bool:
    return not one.amount.unit or not other.amount.unit or scale(one.amount.unit)[0] == scale(other.amount.unit)[0]


def called(lead: str, unit: str) -> str:
    """What the words before a number are about; the hash of a commit says nothing of it."""
    lead = _COMMIT.sub(" ", lead)
    if key := _KEY.search(lead):
        return key["key"]
    plain = _stripped(lead)
    if better(plain) is not None and len(plain.split()) <= 5 and not re.search(r"[,;]\s", plain):
        return plain
    if found := list(METRIC.finditer(plain)):
        return _around(plain, found[-1])
    plain = lead.strip(" :=,;.|/-–—([")
    plain = plain if plain.count("(") == plain.count(")") else re.sub(r"[()]", " , ", plain)
    parts = [part for part in re.split(r"[,;]\s|[\[\]]|(?<=[^\W\d])\.\s|\s:\s|:$", plain) if _stripped(part)]
    name = _stripped(parts[-1]) if parts else ""
    taken = name and scale(unit)[0] == "time" and _TAKEN.search(lead) and len(name.split()) <= 3 and "=" not in name
    return f"{name} time" if taken else name


def _around(words: str, noun: re.Match[str]) -> str:
    """A metric with the words before it that belong to it: "weight load time"."""
    before = re.split(r"[,;:()\[\]]", words[: noun.start()])[-1].split()
    kept: list[str] = []
    for word in reversed(before):
        if word.lower() in _FILLER or len(kept) == 2 or not re.match(r"[^\W\d]", word):
            break
        kept.insert(0, word)
    own = re.match(r"\s*\([^()]{1,20}\)|\s+(?:of|for)\s+[^,;:()]{2,60}$", words[noun.end() :])
    cut = words[: noun.start()]
    joined = re.search(r"[\w-]+-$", cut)
    noun_text = f"{joined[0]}{noun['label']}" if joined else noun["label"]
    kept = kept[:-1] if joined and kept and kept[-1] == joined[0] else kept
    behind = _stripped_end(own[0]) if own else ""
    return " ".join([*kept, noun_text, *([behind] if behind else [])])


def _stripped_end(words: str) -> str:
    """A phrase behind a metric, "of the API server", up to its first verb."""
    kept: list[str] = []
    for word in words.split():
        if kept and word.lower() in _VERBS:
            break
        kept.append(word)
    while kept and kept[-1].lower() in _FILLER:
        kept.pop()
    return " ".join(kept)


_VERBS = word_set(
    "is was are were takes took needs needed gets got gives gave runs ran goes went drops dropped falls fell rises rose improves improved "
    "increases increased decreases decreased reduced reduces grew grows jumps jumped cuts cut comes came moves moved has had shows showed"
)
_TAKEN = re.compile(r"(?i)\b(?:takes?|took|needs?|needed|lasts?|lasted)\W*(?:only|just|about|around|roughly|~|≈)?\s*$")


def _fills(word: str) -> bool:
    return word.lower().strip(".,:") in _FILLER or re.fullmatch(r"[~≈]?[0-9.,]+[x×%]|[,;]", word) is not None


def _stripped(words: str) -> str:
    """Some words without those at either end that name nothing."""
    kept = [part for word in words.strip(" :=,;.|/-–—[]*`").split() if (part := _EAST_FILLER.sub("", word))]
    kept = kept if words.count("(") == words.count(")") else words.strip(" :=,;.|/-–—()[]*`").split()
    while kept and _fills(kept[-1]):
        kept.pop()
    while kept and _fills(kept[0]) and not (kept[0].endswith("%") and kept[1:2] == ["percentile"]):
        kept.pop(0)
    return " ".join(kept).strip(" :=,;.|") if any(re.search(r"[^\W\d_]|[0-9]", word) for word in kept) else ""


_EAST_FILLER = re.compile("^[在上中使用本后後为為是约の了从由到至降升]+|[在上中使用本后後为為是约の了从由到至降升はがをもで]+$")


def _behind(trail: str, unit: str) -> str:
    """What the words behind a number say that it is: "45 ms mean TTFT", "45 ms (p99)", "41 tok/s per user"."""
    if "/" in unit and (per := re.match(r"\s*per (?:user|client|gpu|request|stream|node|device)\b", trail, re.IGNORECASE)):
        return f"{unit} {per[0].strip()}"
    for_what = re.match(r"\s*(?:for|to)\s+(?!the same|our|this|that|these|all|every|each|both)(?=[^\W\d])", trail)
    plain = re.split(r"[,;.](?:\s|$)", trail.strip())[0].strip(" ()[]:")
    plain = re.sub(r"^(?:of|for|in|on)\s+(?:the\s+)?", "", plain)
    if plain and len(plain.split()) <= 4 and better(plain) is not None:
        return _stripped(plain)
    noun = METRIC.match(plain)
    if noun and len(plain.split()) <= MOST_WORDS:
        return str(noun["label"])
    if for_what and len(plain.split()) <= 4:
        return _stripped(plain)
    return plain if plain and all(word.lower() in STATISTICS for word in plain.split()) else ""


def units_of(pieces: Sequence[Piece]) -> list[str]:
    """The unit of each number: its own, else the next one's, else the last one's; a share is that of a pair alone."""
    own = [piece.amount.unit for piece in pieces]
    lent = [unit if unit != "%" or len(own) == 2 else "" for unit in own]
    keyed = [unit_of(key["key"]) if (key := _KEY.search(piece.lead)) else "" for piece in pieces]
    units = []
    for at, unit in enumerate(own):
        shared = (
            "" if keyed[at] else next((each for each in lent[at + 1 :] if each), next((each for each in reversed(lent[:at]) if each), ""))
        )
        units.append(unit or keyed[at] or shared)
    return units
