"""What sentences say of a metric on both sides: "fell from 13 ms to 115 us", "190 ms on main vs 181 ms here", "12 ms, down from 14 ms".

It refuses to guess: two numbers of one kind, one metric, and words that say which number is whose. A range, a wish and a revert are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.version import Version

from perfproof.importers.pasted_text.cells import UNIT
from perfproof.model.base import numerals
from perfproof.model.base.quantities import UNDONE, changes, converted, known, scale
from perfproof.model.scenarios.metric_directions import NOUNS, better_in
from perfproof.model.scenarios.side_names import release, role


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One metric with its two numbers as they were written, and their units."""

    metric: str
    before: float
    after: float
    unit: str
    sides: tuple[str, str] = ("before", "after")


_DIGITS = r"[0-9][0-9,]{0,30}(?:\.[0-9]{1,30})?"
_QUANTITY = re.compile(rf"(?<![\w.,#/-])(?P<digits>{_DIGITS})\s?(?P<unit>{UNIT})(?![\w/])")
_VERSION = re.compile(
    r"(?i)\b(?P<lead>on|since|with|in|from|to|for|vs\.?|than|and|under)(?: vllm)? (?P<version>v?[0-9]+\.[0-9]+\.[0-9]+(?:\.?(?:post"
    r"|rc|dev)[0-9]+)?)(?![\w.]*\w)"
)
_SIDES = re.compile(r"(?i)\b(?:main|master|baseline|this (?:pr|patch|change|branch)|the (?:pr|patch)|patched)\b")
_STOP = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_BULLET = re.compile(r"(?m)^\s*(?:[-*+•]|[0-9]{1,2}[.)])\s+")
_HALVES = re.compile(
    r"(?i)\s*,?\s+\b(?:vs\.?|versus|compared (?:to|with)|as opposed to|against|instead of|rather than|whereas|while|and"
    r"|but)\b\s+|\s*[,;(]\s*"
)
_FROM = re.compile(r"(?i)\b(?:down|up) from\b|\binstead of\b|\bwas\b(?=[^.]{0,12}$)|\bpreviously\b|\brather than\b")
_BASE = re.compile(
    r"(?i)\b(?:on|in|of|for|with|at|under|from)?\s*(?:the\s+)?\b(?P<word>main|master|baseline|base|before(?! (?:the )?(?:warm"
    r"|restart|load|launch|start|boot|compil|cool|idle))|old|original(?:ly)?"
    r"|previous(?:ly)?|stock|unpatched|upstream"
    r"|without|used to|earlier|prior|vanilla|control)\b"
)
_OTHER = re.compile(
    r"(?i)\b(?:with |in |on )?(?P<word>\bthis (?:pr|patch|change|branch|commit)\b|\b(?:the |my |our )?(?:pr|patch(?:ed)?)\b"
    r"|\bours\b|\bmine\b|\bmy (?:branch|fork|version)\b|\bhere\b|\bafter(?:wards)?\b(?! (?:the )?(?:warm|restart|load|launch"
    r"|start|boot|compil|cool|idle))|\bnow\b|\bnew\b|\bwith (?:it|the patch"
    r"|the change|this)\b"
    r"|\bcandidate\b|\bhead\b|\bproposed\b)"
)
_DOUBT = re.compile(
    r"(?i)\b(?:rang\w+|var(?:y|ies|ied|ying)|between|could|would|might|should|may|expect\w*|not|target|goal|budget|revert\w*"
    r"|roll\w* back|undo\w*|limit|(?<!-)up to|at least)\b|n't\b|\?"
)
_BY = re.compile(r"(?i)\s*\bby (?:about |around |roughly |[~≈]\s?)?[0-9][0-9.,]*\s?(?:%|percent|x|×)(?!\w)")
"""How much something changed: a claim."""
_NOUN = "|".join(
    sorted((re.escape(noun).replace(r"\ ", r"[\s-]+") for noun in NOUNS if noun not in ("score", "failed", "times")), key=len, reverse=True)
)
METRIC = re.compile(
    rf"(?i)\b(?P<label>(?:(?:mean|median|average|avg\.?|p\d\d?(?:\.\d)?|total|output|input|request|token|inter-token|end-to-end"
    rf"|prefill|decode|step|round|peak|startup|generation|kernel|scheduling|queu(?:e|e?ing))\s+){{0,4}}"
    rf"(?:{_NOUN}))\b"
)

_FROM_TO = re.compile(
    rf"(?i)(?<![\w.,#-])(?:(?P<from>\bfrom)\s+)?(?P<before>{_DIGITS})(?:\s?{UNIT})?\s*(?P<to>->|→|=>|\bto\b|\bvs\.?|\bversus\b)\s*"
    rf"(?P<after>{_DIGITS})\s?(?P<unit>{UNIT})(?![\w/])"
)
_WENT = re.compile(
    rf"(?i)(?:^|[,;:]\s+|\band\s+)[`\"']?(?P<label>[^\W\d_][^,;:.()]{{2,60}}?)[`\"']?\s+(?:(?:went|is|came|goes|got) (?:down|up)"
    rf"|(?:got|is|became|gets) (?:slower|faster|smaller|bigger|larger|better|worse|shorter|longer),?|went|fell|falls"
    rf"|dropp?(?:ed|s)|rose|rises"
    rf"|grew|grows|shrank|shrinks|climbed|jumped|improved|increased|decreased|(?:was |is )?reduced|(?:was |is )?cut)\s+from\s+"
    rf"(?P<before>{_DIGITS})(?:\s?(?P<unit>{UNIT}))?\s+to\s+(?P<after>{_DIGITS})\s?(?P<other>{UNIT})(?![\w/])"
)
_NOW_AND_THEN = re.compile(
    rf"(?i)(?<![\w.,#-])(?P<after>{_DIGITS})\s?(?P<unit>{UNIT})?(?:\s+(?:now|today))?\s*[,(;]\s*(?:it\s+)?(?:was|(?:down "
    rf"|up )?from|previously|formerly"
    rf"|before(?: it was)?|instead of|compared (?:to|with)|used to be)\b:?\s*(?P<before>{_DIGITS})\s?(?P<late>{UNIT})(?![\w/])"
)
_MOVED = re.compile(
    rf"(?i)(?<![\w.,#-])(?:(?P<from>\b(?:from|de|von|da|desde))\s+)?(?:about |around |roughly "
    rf"|[~≈]\s?)?(?P<before>{_DIGITS})(?:\s?(?P<unit>{UNIT}))?\s*(?:\((?P<inside>[^()]{{2,30}})\)\s*)?"
    rf"(?P<to>->|→|=>|(?:\b(?:down|up) )?\bto\b|\bà|\bauf\b|\ba\b)\s*(?:about |around |roughly "
    rf"|[~≈]\s?)?(?P<after>{_DIGITS})(?:\s?(?P<other>{UNIT}))?(?![\w/])(?:\s*\((?P<last>[^()]{{2,30}})\))?"
)
_VERBS = re.compile(
    r"(?i)\b(?:went|goes?|going|takes?|took|fell|falls?|dropp?(?:ed|s|ing)?|rose|rises?|grew|grows?|shr[aiu]nks?|climbed"
    r"|climbs|jumped|jumps|improve[sd]?|"
    r"(?:in|de)creased?s?|reduc\w+|cuts?|is|are|was|were|has|have|gets?|got|came|comes|moved|moves|down|up|brings?|brought"
    r"|changed?s?|from)\b"
)
_CHANGES = re.compile(
    r"(?i)\b(?:fell|dropp?(?:ed|s)|rose|grew|shrank|climbed|jumped|improve[sd]?|(?:in|de)creased?s?|reduced?s?|cut|halved"
    r"|doubled|faster|slower|went (?:up|down))\b"
)
_PRONOUNS = re.compile(r"(?i)\b(?:this|that|it|these|those|which|we|i|you|they|the|pr|change|patch|our|my|also|now|then|so|with|in|on)\b")
MOST_WORDS = 8
"""Words of what a sentence calls a number, at most."""
_RESPECTIVELY = re.compile(
    rf"(?i)\b(?P<one>(?:(?:the|this|my|our) )?[\w#]+) and (?P<other>(?:(?:the|this|my"
    rf"|our) )?[\w#]+)\b[^.;]{{0,60}}?(?P<first>{_DIGITS})(?:\s?{UNIT})? and (?P<second>{_DIGITS})"
    rf"\s?(?P<unit>{UNIT})[^.;]{{0,40}}?,?\s*respectively"
)
_TAKES = re.compile(r"(?i)\b(?P<what>[a-z][\w-]+) (?:took|takes|(?:used to )(?:take|need|last)|needs|needed|lasted|lasts)\b")
_LEADING = re.compile(r"(?i)^(?:(?:and|but|while|the|our|my|its)\s+)+")
LONGEST_QUOTED = 80


def read(text: str) -> list[Said]:
    """What the sentences of a text say; nothing of a metric of which two of them say different things. Two versions are sides, where there
    are no other words for these."""
    if versions := _versions(text):
        named = dict(zip(versions, ("baseline", "candidate"), strict=True))
        told = _read(_VERSION.sub(lambda found: f"{found['lead']} {named[found['version']]}", text))
        return [replace(one, sides=versions) for one in told]
    return _read(text)


def _versions(text: str) -> tuple[str, str] | None:
    """The two versions of which a text speaks as of sides, the older first."""
    found = list(dict.fromkeys(match["version"] for match in _VERSION.finditer(text)))
    if len(found) != 2 or _SIDES.search(text):
        return None
    older, newer = sorted(found, key=lambda name: release(name) or Version("0"))
    return older, newer


def _read(text: str) -> list[Said]:
    text = _BY.sub("", text)
    found = [Said(metric=one.metric, before=one.before, after=one.after, unit=one.unit) for one in changes(text)]
    sentences = [part for sentence in _STOP.split(_BULLET.sub("\n\n", text)) for each in _clauses(sentence) for part in _END.split(each)]
    by = numerals.convention([each["digits"].rstrip(",") for each in _QUANTITY.finditer(text)])
    if by != "mixed":
        found += [one for sentence in sentences for one in _compared(sentence, by)]
        found += _told_apart(sentences, by)
        found += [one for sentence in sentences for one in _in_turn(sentence, by)]
        known_ = {(one.before, one.after) for one in found}
        found += [one for sentence in sentences for one in _was(sentence, by)]
        found += [one for sentence in sentences for one in _went(sentence, by) if (one.before, one.after) not in known_]
        known_ = {_in_base(one) for one in found}
        found += [one for sentence in sentences for one in _moved(sentence, by) if _in_base(one) not in known_]
    first: dict[str, Said] = {}
    for one in found:
        first.setdefault(one.metric.casefold(), one)
    clashing = {
        one.metric.casefold()
        for one in found
        if (one.before, one.after) != (first[one.metric.casefold()].before, first[one.metric.casefold()].after)
    }
    return [one for name, one in first.items() if name not in clashing]


def _clauses(sentence: str) -> list[str]:
    """A sentence; where each part between semicolons or commas has two quantities, the parts, each with the words for the sides that the
    first one has."""
    for mark in (r";\s+", r",\s+(?:and\s+)?(?=[^\W\d])"):
        parts = re.split(mark, sentence)
        if len(parts) < 2 or any(len(_quantities(part)) != 2 for part in parts):
            continue
        if any(_side(part) or _BASE.search(part) or _OTHER.search(part) for part in parts[1:]):
            return parts
        first, second = _quantities(parts[0])
        whose = _whose(parts[0], first, second, parts[0][first.end() : second.start()])
        base, other = _BASE.search(parts[0]), _OTHER.search(parts[0])
        words = (base["word"] if base else "before", other["word"].strip() if other else "now")
        if whose is None:
            return parts
        return [parts[0], *(_spelt(part, words if whose == "baseline first" else words[::-1]) for part in parts[1:])]
    return [sentence]


def _spelt(part: str, sides: tuple[str, str]) -> str:
    """A part of a sentence with the sides behind its two numbers."""
    first, second = _quantities(part)
    return f"{part[: first.end()]} on {sides[0]}{part[first.end() : second.end()]} on {sides[1]}{part[second.end() :]}"


def unread(text: str, found: Sequence[Said]) -> list[str]:
    """The sentences that say from what to what something went, or that compare two quantities, and of which nothing was read."""
    numbers = {number for one in found for number in (one.before, one.after)}
    odd = []
    for sentence in _END.split(_BULLET.sub("\n\n", text)):
        pairs = [match for match in _FROM_TO.finditer(sentence) if known(match["unit"]) and (match["from"] or match["to"] != "to")]
        values = {float(match[part].replace(",", "")) for match in pairs for part in ("before", "after")}
        if pairs and not values & numbers:
            odd.append(f"a sentence, whose metric or sides are not clear: {' '.join(sentence.split())[:LONGEST_QUOTED]}")
    return odd


def _went(sentence: str, by: numerals.Convention) -> Iterator[Said]:
    """What a sentence says to have gone from one number to another, whatever it is: "compiling a schema fell from 21 ms to 340 us"."""
    for found in _WENT.finditer(sentence):
        texts = [found["before"].rstrip(","), found["after"].rstrip(",")]
        unit = found["unit"] or found["other"]
        if _DOUBT.search(sentence) or not known(unit) or not all(map(numerals.is_number, texts)) or numerals.doubtful(texts):
            continue
        before, after = (numerals.value(text, by) for text in texts)
        same = converted(after, found["other"], unit)
        if same is not None:
            yield Said(metric=" ".join(_LEADING.sub("", found["label"]).split()), before=before, after=same, unit=unit)


def _in_base(said: Said) -> tuple[float, float]:
    """Both numbers in the unit's base, by which one that was read twice is known."""
    size = scale(said.unit)[1]
    return float(f"{said.before * size:.9g}"), float(f"{said.after * size:.9g}")


def _moved(sentence: str, by: numerals.Convention) -> Iterator[Said]:
    """What a sentence shows between "from" and "to", or before and behind an arrow, called by the words before: "takes the cost of
    `prepare` from 1.3 ms to 115 us"."""
    begin = 0
    for found in _MOVED.finditer(sentence):
        words, begin = sentence[begin : found.start()], found.end()
        texts = [found["before"].rstrip(",."), found["after"].rstrip(",.")]
        unit, late = found["unit"] or found["other"] or "", found["other"] or found["unit"] or ""
        changed = found["unit"] and found["other"] and _CHANGES.search(words)
        if (
            (found["to"][-1].isalpha() and not found["from"] and not changed)
            or _DOUBT.search(words)
            or UNDONE.search(sentence)
            or not known(unit)
        ):
            continue
        if not all(map(numerals.is_number, texts)) or numerals.doubtful(texts) or not (label := _called(words)):
            continue
        before, after = (numerals.value(text, by) for text in texts)
        same = converted(after, late, unit)
        if same is None or better_in(label, unit) is None:
            continue
        one = Said(metric=label, before=before, after=same, unit=unit)
        if _side(found["inside"] or "") == "candidate" and _side(found["last"] or "") == "baseline":
            one = replace(one, before=same, after=before)
        yield one


def _called(words: str) -> str:
    """What the words before two numbers are about: the metric and what stands behind it, a name in marks of code, or the last phrase."""
    cut = _VERBS.search(words, next((found.end() for found in METRIC.finditer(words)), 0)) if METRIC.search(words) else None
    if metrics := list(METRIC.finditer(words)):
        rest = words[metrics[-1].start() : cut.start() if cut and cut.start() >= metrics[-1].end() else len(words)]
        return " ".join(rest.strip(" :,.(-–—").split()[:MOST_WORDS])
    if code := re.findall(r"`([^`]{1,60})`", words):
        return str(code[-1])
    phrases = _VERBS.split(re.split(r"[,;.!?]\s|[()]|\b(?:and|while|but)\b", words.rstrip(" :,(-–—"))[-1])
    phrase = next((each for each in phrases if re.search(r"[^\W\d_]{2}", _PRONOUNS.sub("", each))), "")
    plain = " ".join(_LEADING.sub("", phrase.strip(" :*_-–—")).split()[-MOST_WORDS:])
    return plain if re.search(r"[^\W\d_]{2}", plain) else ""


def _was(sentence: str, by: numerals.Convention) -> Iterator[Said]:
    """What a sentence says of now and then, in that order: "p95 is now 622 ms, down from 701 ms", "41 req/s (was 37 req/s)"."""
    begin = 0
    for found in _NOW_AND_THEN.finditer(sentence):
        words, begin = sentence[begin : found.start()], found.end()
        texts = [found["after"].rstrip(","), found["before"].rstrip(",")]
        unit = found["unit"] or found["late"] or ""
        metrics = [match["label"] for match in METRIC.finditer(words)]
        if not known(unit) or not all(map(numerals.is_number, texts)) or numerals.doubtful(texts) or _DOUBT.search(words):
            continue
        label = metrics[-1] if metrics else _before_colon(words) or (unit if "/" in unit else "") or _called(words.strip(" .;"))
        after, before = (numerals.value(text, by) for text in texts)
        same = converted(after, found["unit"] or unit, found["late"] or unit)
        if label and same is not None and better_in(label, unit) is not None:
            yield Said(metric=" ".join(label.split()), before=before, after=same, unit=found["late"] or unit)


def _taken(words: str) -> str:
    """The time that something takes: "the run takes" is "run time"."""
    found = _TAKES.search(words)
    return f"{found['what']} time" if found and found["what"].lower() not in ("it", "this", "that", "which", "one") else ""


def _in_turn(sentence: str, by: numerals.Convention) -> Iterator[Said]:
    """Two sides and their two numbers, "main and this PR get 4,120 and 4,388 tok/s respectively"."""
    found = _RESPECTIVELY.search(sentence)
    if not found or _DOUBT.search(sentence):
        return
    texts = [found[name].rstrip(",") for name in ("first", "second")]
    sides = {role(found[name]): at for at, name in enumerate(("one", "other"))}
    unit = found["unit"]
    if set(sides) != {"baseline", "candidate"} or not known(unit) or not all(map(numerals.is_number, texts)) or numerals.doubtful(texts):
        return
    values = [numerals.value(text, by) for text in texts]
    metric = next((match["label"] for match in METRIC.finditer(sentence)), unit if "/" in unit else "")
    if metric and better_in(metric, unit):
        names = {way: found[("one", "other")[at]] for way, at in sides.items()}
        yield Said(
            metric=metric,
            before=values[sides["baseline"]],
            after=values[sides["candidate"]],
            unit=unit,
            sides=(names["baseline"], names["candidate"]),
        )


def _behind(words: str) -> str:
    """What two numbers were measured for, "88 ms instead of 301 ms for loading the tokenizer"."""
    found = re.match(r"\s+(?:for|to|in|when|per)\s+(?P<what>[^\W\d][^.;:,()]{2,60})", words)
    return found["what"].strip() if found else ""


def _by_its_unit(first: re.Match[str], second: re.Match[str]) -> str:
    """What two numbers of one rate are called where no word is a metric: "tok/s per user"."""
    if "/" not in first["unit"] or scale(first["unit"]) != scale(second["unit"]):
        return ""
    per = re.match(r" per (?:user|client|gpu|request|stream|node|device)\b", first.string[first.end() :], re.IGNORECASE)
    return f"{first['unit']}{per[0] if per else ''}"


def _before_colon(words: str) -> str:
    """The name that ends right here with a colon: "Cold start: "."""
    found = re.search(r"(?:^|[.;!?,]\s+)(?P<name>[^\W\d_][\w ()/-]{1,40}?)\s*:\s*$", words)
    return found["name"] if found else ""


def _compared(sentence: str, by: numerals.Convention) -> Iterator[Said]:
    """A sentence with one metric, two numbers of its kind, and words for whose they are."""
    numbers = _quantities(sentence)
    metrics = list(dict.fromkeys(match["label"].lower() for match in METRIC.finditer(sentence)))
    if len(numbers) != 2 or _DOUBT.search(sentence):
        return
    first, second = numbers
    between = sentence[first.end() : second.start()]
    if re.fullmatch(r"\s*(?:->|→|=>|to|-|–)\s*", between):
        return
    named = (
        ""
        if metrics
        else _before_colon(sentence[: first.start()])
        or _taken(sentence)
        or _by_its_unit(first, second)
        or _behind(sentence[second.end() :])
    )
    metrics = [named] if named and better_in(named, first["unit"]) else metrics
    if len(metrics) != 1:
        return
    sides = _whose(sentence, first, second, between)
    if sides is None:
        return
    before, after = (first, second) if sides == "baseline first" else (second, first)
    said = _fitting(METRIC.search(sentence), before, after, by, named)
    if said:
        base, other = _BASE.search(sentence), _OTHER.search(sentence)
        yield replace(said, sides=(base["word"] if base else "before", other["word"].strip() if other else "after"))


def _whose(sentence: str, first: re.Match[str], second: re.Match[str], between: str) -> str | None:
    """Whether the baseline's number stands first or second; None where no words say so, or they say both."""
    if _FROM.search(between):
        return "baseline second"
    cut = next((found for found in _HALVES.finditer(between)), None)
    if cut is None and re.search(r"(?i)\bfrom\s+$", sentence[: first.start()]):
        cut = re.search(r"\s+to\s+", between)
    middle = first.end() + (cut.start() if cut else len(between) // 2)
    after_cut = first.end() + (cut.end() if cut else len(between) // 2)
    left, right = (_side(part) for part in (sentence[:middle], sentence[after_cut:]))
    if left and right and left != right:
        return f"{'baseline first' if left == 'baseline' else 'baseline second'}"
    if cut and bool(left) != bool(right):
        return "baseline first" if (left == "baseline" or right == "candidate") else "baseline second"
    return None


def _side(words: str) -> str:
    base, other = bool(_BASE.search(words)), bool(_OTHER.search(words))
    lead = re.match(r"(?i)\s*(?:before|without|prior to)\b", words)
    if lead:
        return "baseline"
    return "" if base == other else "baseline" if base else "candidate"


def _told_apart(sentences: Sequence[str], by: numerals.Convention) -> Iterator[Said]:
    """Sentences of one side each, which name the same metrics: "On main TTFT is 45 ms. With this PR it is 41 ms"."""
    ones: dict[tuple[str, str], _Told] = {}
    last: Sequence[_Told] = ()
    for sentence in sentences:
        side = _side(sentence)
        if not side or _DOUBT.search(sentence):
            continue
        own = _metrics_of(sentence, side, last)
        for told in own:
            if (told.key, side) in ones:
                return
            ones[told.key, side] = told
        last = own
    for key in dict.fromkeys(key for key, _ in ones):
        base, other = ones.get((key, "baseline")), ones.get((key, "candidate"))
        said = _fitting(base.metric, base.number, other.number, by, base.label) if base and other else None
        if said and base and other:
            yield replace(said, sides=(base.word or "before", other.word or "after"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """One number of a sentence of one side: its metric's name and noun (None where its verb or its unit says it), and the side's word."""

    label: str
    metric: re.Match[str] | None
    number: re.Match[str]
    word: str

    @property
    def key(self) -> str:
        return " ".join(self.label.lower().split())


def _metrics_of(sentence: str, side: str, last: Sequence[_Told]) -> list[_Told]:
    """The numbers of a sentence, each with the metric before it, right behind it, or of the last sentence; [] where one has none."""
    numbers = _quantities(sentence)
    word = next((found["word"].strip() for found in [(_BASE if side == "baseline" else _OTHER).search(sentence)] if found), "")
    told, begin = [], 0
    for at, number in enumerate(numbers):
        end = numbers[at + 1].start() if at + 1 < len(numbers) else len(sentence)
        before = list(METRIC.finditer(sentence, begin, number.start()))
        behind = re.match(r"\s+(?:of\s+)?(?:the\s+|mean\s+)?", sentence[number.end() : end])
        metric = before[-1] if before else METRIC.match(sentence, number.end() + (behind.end() if behind else 0), end)
        taken = _taken(sentence[begin : number.start()])
        same = [one for one in last if scale(one.number["unit"])[0] == scale(number["unit"])[0]]
        rate = "/" in number["unit"]
        label = metric["label"] if metric else taken or (same[0].label if len(same) == 1 else number["unit"] if rate else "")
        if not label:
            return []
        told.append(
            _Told(label=label, metric=metric or (same[0].metric if len(same) == 1 and not taken else None), number=number, word=word)
        )
        begin = metric.end() if metric and metric.start() > number.start() else number.end()
    return told


def _quantities(sentence: str) -> list[re.Match[str]]:
    """Numbers with a unit of time, rate, memory or share."""
    return [match for match in _QUANTITY.finditer(sentence) if known(match["unit"]) and match["unit"] not in ("B", "min")]


def _fitting(
    metric: re.Match[str] | None, before: re.Match[str], after: re.Match[str], by: numerals.Convention, label: str = ""
) -> Said | None:
    """Both numbers in the unit of the first, where that is one of what the metric is; `label` is its name where no noun is."""
    texts = [match["digits"].rstrip(",") for match in (before, after)]
    if (metric is None and not label) or not all(map(numerals.is_number, texts)) or numerals.doubtful(texts):
        return None
    noun = re.sub(r"[\s-]+", " ", metric["label"].lower()).split()[-1:] if metric else []
    kind = NOUNS.get(" ".join(noun), ("", ""))[1]
    dimension = scale(before["unit"])[0]
    fits = {"time": dimension.startswith("time"), "rate": "/time" in dimension, "memory": dimension == "bytes", "share": dimension == "%"}
    values = [numerals.value(text, by) for text in texts]
    same = converted(values[1], after["unit"], before["unit"])
    if same is None or not fits.get(str(kind), True) or (dimension == "%" and kind != "share"):
        return None
    return Said(metric=" ".join((label or (metric["label"] if metric else "")).split()), before=values[0], after=same, unit=before["unit"])
