"""What the name of a side says: that it is the baseline, that it is what is held against it, or that it is no side at all.

A word alone says nothing: "PR on top of main" and "merged with main" are not main, and "old one removed" is not old. A name is the
baseline's where nothing else is in it that matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, word_set

Role = Literal["baseline", "candidate", ""]
BASELINES = word_set(
    "main master baseline base upstream old released original unpatched unmodified vanilla stock control reference previous"
)
FIRST = word_set("before without prior")
"""Words that make a name the baseline's where they are its first, whatever follows: "before this PR"."""
CANDIDATES = word_set(
    "pr this after patched candidate new now proposed optimized optimised mine my our ours with patch fix fixed changed change"
)
"""Words that make a name the other side's where they are its first."""
_NEUTRAL = word_set(
    "the as is in vllm origin current latest today branch branches commit build run runs code version release results result "
    "numbers number case side only itself one implementation path measured benchmark state head tip nightly local"
)
_DESCRIBING = word_set(
    "change changes delta diff difference differences speedup speed up ratio gain improvement regression rel relative abs absolute "
    "pct percent x × δ p value pvalue q t z stat significance significant sig confidence ci interval std stdev sd stddev stderr se "
    "cv error noise margin runs n samples sample count reps repeats iterations iters trials seeds unit units better direction "
    "verdict status notes note comment comments factor reduction increase decrease uplift faster slower"
)
"""Words of columns that tell of the sides' numbers, and are none."""
_BETWEEN = re.compile(r"\s*(?:/|÷|→|->|\bvs\b\.?|\bversus\b|\bover\b|\bagainst\b|\brelative to\b|\bcompared (?:to|with)\b)\s*")
_OF = re.compile(r"\s(?:vs|versus|over|against|of|from|to|relative|compared)\b.*")
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")


def role(name: str) -> Role:
    """Which side a name says to be, "" where it doesn't say."""
    plain = _plain(name)
    found = _role(_words(_BRACKETS.sub(" ", plain)))
    inside = [first or second for first, second in _BRACKETS.findall(plain)]
    return found or next((each for text in inside if (each := _role(_words(text)))), "")


def _role(words: Sequence[str]) -> Role:
    if not words or {"/", "+", "&", "and"} & set(words):
        return ""
    first, rest = words[0], set(words[1:])
    sided = (BASELINES | CANDIDATES) & set(words)
    if first in FIRST:
        return "" if BASELINES & rest else "baseline"
    if set(words) <= BASELINES:
        return "baseline"
    if words[-1] in ("off", "disabled", "on", "enabled") and not sided:
        return "baseline" if words[-1] in ("off", "disabled") else "candidate"
    return "candidate" if first in CANDIDATES and not (first in ("with", "new") and BASELINES & rest) else ""


def describes(name: str) -> bool:
    """Whether a name is no side's but of what is told about the sides: "change (%)", "p-value", "runs", "PR / main", "mean"."""
    plain = _BRACKETS.sub(" ", _plain(name))
    between = [half for half in _BETWEEN.split(plain) if half]
    if len(between) == 2 and {role(half) for half in between} == {"baseline", "candidate"}:
        return True
    words = [word for word in re.findall(r"[^\W\d_]+|×", _OF.sub("", plain.replace("δ", "delta "))) if not known(word) or word == "x"]
    return all(word in _DESCRIBING or word in STATISTICS or word == "p" for word in words) and bool(words or re.search(r"[%±x×\d]", plain))


def _plain(name: str) -> str:
    lowered = " ".join(name.strip("#*_`: ").split()).lower().replace("w/o", "without")
    return re.sub(r"\b(?:origin|upstream|vllm)/", "", lowered)


def _words(text: str) -> list[str]:
    """The words that matter: without units, numbers, names of commits, and what says nothing of a side."""
    text = re.sub(r"\b(?:on|at|with)\s+\S*\d\S*", " ", text)
    words = [word.strip(".,;:!?\"'`*") for word in text.replace("/", " / ").replace("_", " ").replace("-", " ").split() if not known(word)]
    kept = [word for word in words if word and word != "@" and not re.search(r"\d", word) and word not in _NEUTRAL | STATISTICS]
    return kept[1:] if len(kept) > 1 and kept[0] in ("on", "at") else kept
