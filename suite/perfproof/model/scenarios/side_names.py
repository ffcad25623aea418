"""What the name of a side says: that it is the baseline, that it is what is compared with it, both, or that it is no side at all.

A word alone says nothing: "PR on top of main" and "merged with main" are not main, and "old one removed" is not old. Such a name says
both, and what follows from it is a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from packaging.version import Version

from perfproof.model.base.quantities import known
from perfproof.model.scenarios import foreign_words
from perfproof.model.scenarios.metric_directions import STATISTICS, better, word_set

Role = Literal["baseline", "candidate", "both", ""]
LONGEST = 400
"""Characters of a name, at most: what is longer names no side."""
CACHED = 4096
"""Names of which the answer is kept: a text has the same few over and over."""
BASELINES = word_set(
    "main master baseline base upstream old released original originally unpatched unmodified vanilla stock control reference previous "
    "previously existing legacy default untuned parent earlier head~1 head^ unoptimized unoptimised trunk develop prev "
    "mainline unfused untouched shipped shipping asis naive reverted statusquo"
)
FIRST = word_set("before without prior no w/o pre")
"""Words that make a name the baseline's where they are its first, whatever follows: "before this PR"."""
_SURE = word_set(
    "pr patched candidate new newer now proposed optimized optimised mine patch experiment experimental treatment updated modified tuned "
    "improved feature head canary branch-under-test refactored rewritten reworked fork wip proposal"
)
"""Words that speak of the other side wherever they stand."""
CANDIDATES = _SURE | word_set("this these after with post my our ours fix fixed changed change w/")
"""Words that make a name the other side's where they are its first."""
_ELSE = word_set("model models memory loop thread menu page effect text attention")
"""Words beside which a baseline's word means something else: "base model", "main memory"."""
_PARTS = word_set("dim dims size sizes count num heads")
"""Words beside which "head" is a part of a model."""
_STARTED = word_set(
    "warmup warm warming restart restarting load loading launch startup start starting boot compile compilation soak idle cooldown"
)
"""Words of what every side goes through: before and after a warm-up is no comparison."""
_MIXING = word_set(
    "than vs versus compared against over instead merged merge merging rebased rebase top cherry-picked cherry picked plus + "
    "& and removed remove dropped drop deleted "
    "applied apply onto into"
)
"""Words with which a name that speaks of the baseline may be of the other side, or of both."""
_OF_BOTH = word_set("relative normalized normalised ratio speedup")
"""Words with which a name begins that is of numbers made of both sides: "relative to main"."""
_NEUTRAL = word_set(
    "the a an as is in of at from vllm sglang origin current latest today branch branches commit sha build run runs code version release "
    "results result numbers number case side only itself one implementation path measured benchmark bench state tip nightly local "
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september october "
    "november december "
    "time setup variant arm"
)
_THINGS = word_set(
    "kernel kernels cluster image images server servers engine scheduler backend stack deployment driver allocator router container node "
    "box machine algorithm wheel package"
)
"""What there is an old and a new one of: a part of a side's name, and no case."""
_SETTINGS = word_set("config configs configuration configurations settings setup policy strategy")
"""The same of what is set: a part of a side's name before a unit, too."""
_OBJECTS = word_set("pr patch change branch fix commit")
"""What "this" and "the" stand before in a side's name, of which they are no side alone."""
_DESCRIBING = word_set(
    "recovery retention retained recovered "
    "change changes delta diff difference differences speedup speed up ratio gain improvement regression rel relative abs absolute "
    "pct percent x × δ p value pvalue q t z stat significance significant sig confidence ci interval std stdev sd stddev stderr se "
    "cv error noise margin runs n samples sample count reps repeats iterations iters trials seeds unit units better direction "
    "verdict status notes saved saving savings benefit win overhead winner cost note comment comments factor reduction "
    "increase decrease uplift faster slower rounds outliers loops"
)
"""Words of columns that tell of the sides' numbers, and are none."""
_AROUND = re.compile(r"^(?:with|on|using)\s+(?=v?[0-9])|\s+\((?!20[0-9]{2}[-./]?[01])[^()]*\)$|\s+(?:container|image|release|build)$")
"""What may stand around a version: "with 0.4.7 (now)", "25.05 container"."""
_DATED = re.compile(r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]\s+\((?=v?[0-9])|(?<=[0-9])\)$")
"""A day before a version: "2026-01-12 (v0.11.2)"."""
_MONTH = re.compile(r"v?(?P<version>[0-9]{2}\.[0-9]{2})\s+(?:container|image|release)")
"""A version by the month, of a container: "25.05 container"."""
_IMAGE = re.compile(r"^(?:[\w.-]+/)+[\w.-]+:(?=v?[0-9])")
"""What stands before the version of a container's image."""
_RELEASE = re.compile(
    r"(?i)(?:(?=\D|[0-9]+\.[0-9]+\.[0-9]))(?:(?:vllm|sglang|torch|release)[\s=-]+v?|v)?"
    r"(?P<version>[0-9]+\.[0-9]+(?:\.[0-9]\S*)?(?:rc\S*|\.?dev\S*|\.?post\S*)?)"
    r"|(?:(?!and\b|plain\b)[a-z][a-z-]{1,15}[\s=-]+){1,3}v?(?P<named>[0-9]+\.[0-9]+\.[0-9]+\S*)"
    r"|(?:nightly|build|built|snapshot|image|wheel|commit)\s*(?:of\s+|from\s+|[-_:(]\s*)?(?P<date>20[0-9]{2}[-./]?[01][0-9][-./]?[0-3][0-9])\)?"
)
_OFF, _ON = word_set("off disabled =0 =false =off disable false"), word_set("on enabled =1 =true =on enable true")
_SWITCH = re.compile(r"(?P<name>[\w.-]*)\s*=\s*(?P<state>0|1|false|true|off|on)$")
_SIZE = re.compile(
    r"^(?:tp|pp|dp|ep|cp|bs|isl|osl|qps|rps|[a-z]|rate|seed|level|layers?)$|(?:size|len|length|concurrency|batch|users|prompts"
    r"|seqs|tokens|gpus)$"
    r"|^(?:num|max|min)[_.-]?"
)
"""Names of numbers of which 0 and 1 are sizes, and no switch: TP=1."""
_RAN_ON = re.compile(r"(?:run|ran|running|tested|measured|executed|benchmarked) on (?=[^\w\s]|\d)")
"""What programs print of a machine: "Run on (32 X 3400 MHz CPU s)"."""
_LONGEST = 4
"""Words of a side's name within a longer one, at most."""
_BETWEEN = re.compile(r"\s*(?:/|÷|→|->|\bvs\b\.?|\bversus\b|\bover\b|\bagainst\b|\brelative to\b|\bcompared (?:to|with)\b)\s*")
_OF_PERFORMANCE = re.compile(r"\bperf(?:ormance)?[ _](?=(?:ratio|change|diff|difference|delta|gain|improvement)s?\b)")
_OF = re.compile(r"\s(?:vs|versus|over|against|of|from|to|relative|compared)\b.*")
_APART = re.compile(r"[/+&](?!\d)")
_UNCHANGED = re.compile(r"(?:(?:and|on|with|the) )*plain\b")
"""What begins the name of a release as it is, "plain 0.31.0", rather than that of a case, "V1, plain"."""
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_FILES = r"(?:jsonl?|txt|log|csv|tsv|md|ya?ml|out|html|sqlite|nsys-rep|(?<!\bmain\.)(?:py|sh))"
"""How the names of files end, of what ran or of what it printed."""
_PATH = re.compile(rf"(?:[\w.-]+/)+[\w.-]+\.{_FILES}")
"""A file in its folders, each of which may say whose it is: "results/main.json", "pr/run.json"."""


@lru_cache(maxsize=CACHED)
def role(name: str) -> Role:
    """Which side a name says to be, "both" where it has words of either, "" where it has none."""
    if len(name) > LONGEST:
        return ""
    if path := _PATH.fullmatch(name.strip("*_`: ")):
        said = {each for part in re.split(r"/", path[0]) if (each := role(part))}
        return "both" if len(said) > 1 else next(iter(said), "")
    plain = _plain(name)
    plain = re.sub(r"^(?:with|on|using) (?=v?[0-9]+\.[0-9])", "", plain)
    if _RAN_ON.match(plain):
        return ""
    if _UNCHANGED.match(plain) and _words(_BRACKETS.sub(" ", plain)) == ["plain"]:
        return "baseline"
    found = _role(_words(_BRACKETS.sub(" ", plain)))
    inside = [first or second for first, second in _BRACKETS.findall(plain)]
    within: Role = next((each for text in inside if (each := _role(_words(text)))), "")
    if found and within and not (BASELINES | CANDIDATES - {"head"}) & {word for text in inside for word in _words(text)}:
        return found  # a state, "main (graphs on)", or where it stood, "master (HEAD)"
    return "both" if found and within and found != within else found or within


def names_a_side(name: str) -> bool:
    """Whether a name says which side it is, and of no other."""
    return role(name) in ("baseline", "candidate")


def are_both_sides(names: Iterable[str]) -> bool:
    """Whether each name says one side and no other, and together they say both."""
    return {role(name) for name in names} == {"baseline", "candidate"}


def _role(words: Sequence[str]) -> Role:
    if not words or "/" in words:
        return ""
    words = _unchanged(words)
    first, last, every = words[0], words[-1], set(words)
    if first == "with" and words[1:2] and words[1] in BASELINES:
        return _role(words[1:])
    if first == "here":
        return "candidate" if len(words) == 1 else ""
    if first in _OF_BOTH or (first in ("before", "after") and words[1:] and set(words[1:]) <= _STARTED):
        return ""
    if first in FIRST:
        return "" if BASELINES & set(words[1:]) else "baseline"
    if "base" in every and {"tests", "test"} & every:
        return ""
    others = (CANDIDATES & every) - {"head", "after", "with", "post"}
    if BASELINES & every and (others or first in CANDIDATES - {"head"} or _MIXING & every):
        return "both"
    if (BASELINES & every and _ELSE & every) or ("head" in every and _PARTS & every):
        return ""
    if {"+", "&", "and"} & every:
        return "candidate" if first in CANDIDATES - {"with", "w/", "these"} or last in _SURE | {"ours", "mine"} else ""
    if first in BASELINES or last in BASELINES:
        return "baseline"
    if first in CANDIDATES or last in _SURE:
        return "candidate"
    return "baseline" if last in _OFF else "candidate" if last in _ON else ""


def _unchanged(words: Sequence[str]) -> Sequence[str]:
    """The words; of a change that is not there, "main without the PR", "patch off", "PR reverted", "parent of this PR", the"
    " baseline's alone."""
    if len(words) > 1 and words[-1] in _OFF | {"reverted"} and set(words) & CANDIDATES and not set(words) & BASELINES - {"reverted"}:
        return ["without"]
    if words[0] in ("parent", "base", "head^") and not {"+", "&", "and"} & set(words) and words[1:2] and words[1] in CANDIDATES:
        return words[:1]
    cut = next((at for at, word in enumerate(words) if at and word in ("without", "before")), 0)
    return words[:cut] if cut and set(words[:cut]) & BASELINES else words


def leans(name: str) -> Role:
    """Which side a name that says both is the likelier to be: "main of May 3 + v0.9.2" has no word for a change, so the baseline."""
    words = set(_words(_BRACKETS.sub(" ", _plain(name))))
    return "candidate" if CANDIDATES & words else "baseline" if BASELINES & words else ""


def switched(first: str, second: str) -> bool:
    """Whether two names are one switch, turned off and on: "fused off" and "fused on", "FLAG=0" and "FLAG=1"."""
    states = [words[-1] if (words := _words(_plain(name))) else "" for name in (first, second)]
    return (states[0] in _OFF and states[1] in _ON) or (states[1] in _OFF and states[0] in _ON)


def split(name: str) -> list[tuple[str, str]]:
    """The ways to read a name as a side and something else: "main TTFT (ms)" as "main" and "TTFT (ms)", "latency (before)" too.

    Shorter names of sides stand first, but for before and after, of which what follows is a part.
    """
    plain, unit = _without_unit(name.strip("#*_`: "))
    found = []
    for bracket in re.finditer(r"[(\[]([^()\[\]]+)[)\]]", plain):
        rest = f"{plain[: bracket.start()].rstrip()} {plain[bracket.end() :].lstrip()}".strip()
        if rest and role(bracket[1]):
            found.append((bracket[1].strip(), rest))
    words = list(re.finditer(r"[^\s_:,|/]+(?:/[^\s_:,|]+)*", plain))
    for size in range(1, min(len(words) - 1, _LONGEST) + 1):
        before, after = plain[: words[size - 1].end()], plain[words[size].start() :]
        found += [(before, after)] if role(before) and role(before) != "both" else []
        before, after = plain[: words[-size - 1].end()], plain[words[-size].start() :]
        found += [(after, before)] if role(after) and role(after) != "both" else []
    first, slash, last = plain.partition("/")
    if slash and "/" not in last and bool(role(first)) != bool(role(last)):
        found.append((first, last) if role(first) else (last, first))
    found += foreign_words.apart(plain)
    tidy = [(side.strip(" -–—:,_"), f"{rest.strip(' -–—:,@_')}{unit}") for side, rest in found if rest.strip(" -–—:,@_")]
    ways = [(side, rest) for side, rest in tidy if _is_name(side) and _is_more(rest)]
    return sorted(ways, key=lambda way: way[0].split()[0].casefold() not in ("before", "after"))


def _is_name(side: str) -> bool:
    """Whether a part of a name may be a side's: no metric, no switch, no half of a pair of brackets."""
    return better(side) is None and "=" not in side and side[:1] not in ("(", "[") and side.count("(") == side.count(")")


def _without_unit(name: str) -> tuple[str, str]:
    """A name and the unit at its end, " (ms)" or "_ms"; "" without one."""
    found = re.search(r"(?:\s*[(\[](?P<inside>[^()\[\]]+)[)\]]|[_](?P<word>ms|us|ns|tok_s|req_s))$", name)
    if found is None or not (found["word"] or known(found["inside"].strip())) or not name[: found.start()]:
        return name, ""
    return name[: found.start()], found[0]


def _is_more(rest: str) -> bool:
    """Whether what stands beside a side's name is more than words of such names: "branch", "vLLM" and "the patch" are not."""
    words = set(re.findall(r"[^\W_]+", rest.lower()))
    if words & _SETTINGS and set(re.findall(r"[^\W_]+", _without_unit(rest.lower())[0])) <= _SETTINGS | _NEUTRAL:
        return False
    first = re.match(r"[^\W_]+|[%<>≤≥]", rest.lower())
    if better(rest) is not None:
        return first is None or first[0] not in _OBJECTS
    return first is not None and first[0] not in BASELINES | CANDIDATES and not words <= BASELINES | CANDIDATES | FIRST | _NEUTRAL | _THINGS


def release(name: str) -> Version | None:
    """The version that a name is and nothing else, such as v0.9.0 or "vLLM 0.10.1"; of three parts, or of two behind a v."""
    found = _RELEASE.fullmatch(_IMAGE.sub("", _AROUND.sub("", _DATED.sub("", name.strip("#*_`: ")))))
    if month := _MONTH.fullmatch(name.strip("#*_`: ")):
        return Version(month["version"])
    try:
        return Version(re.sub(r"[-/]", ".", found["version"] or found["named"] or found["date"])) if found else None
    except ValueError:
        return None


def commit(name: str) -> bool:
    """Whether a name is the hash of a commit, and nothing else."""
    plain = re.sub(r"(?i)^(?:commit|sha|rev)\s+|[`()\s]", "", name)
    return bool(re.fullmatch(r"[0-9a-f]{7,40}", plain)) and bool(re.search(r"[0-9]", plain)) and bool(re.search(r"[a-f]", plain))


@lru_cache(maxsize=CACHED)
def describes(name: str) -> bool:
    """Whether a name is no side's and no metric's but of what is said about the sides: "change (%)", "p-value", "runs", "PR "
    "/ main", "mean"."""
    if release(name) is not None:
        return False
    plain = _OF_PERFORMANCE.sub("", _BRACKETS.sub(" ", _plain(name)))
    between = [half for half in _BETWEEN.split(plain) if half]
    if len(between) == 2 and are_both_sides(between):
        return True
    words = [word for word in re.findall(r"[^\W\d_]+[0-9]*|×", _OF.sub("", plain.replace("δ", "delta "))) if not known(word) or word == "x"]
    if words == ["sample"]:
        return False  # a part of a step
    return all(word in _DESCRIBING or word in STATISTICS or re.fullmatch("p[0-9]*", word) for word in words) and bool(
        words or re.search(r"[%±x×\d]", plain)
    )


def _plain(name: str) -> str:
    numbered = re.sub(r"(?<!\S)#(?=\d{3})", "PR ", name.strip("*_`: "))
    spelt = foreign_words.side(" ".join(numbered.strip("#*_`: ").split()))
    lowered = " ".join(spelt.split()).replace("w/o", "without").replace("w/ ", "with ")
    lowered = re.sub(r"(?:(?<=\s)|^)(?:(?:\.{1,2}|~)/(?:[\w.-]+/)*|/(?:[\w.-]+/)+)(?=\w)", "", lowered)
    lowered = re.sub(rf"\.{_FILES}\b", "", lowered)
    lowered = re.sub(r"\s?@\s?[0-9a-f]{3,40}\b|(?<=[a-z])@\S+", "", lowered)
    lowered = re.sub(r"\bas[ -]is\b", "asis", re.sub(r"\bstatus[ -]quo\b", "statusquo", lowered))
    lowered = re.sub(r"\b(?:last (?:week|month|night|release)|yesterday)(?:'s)?\b", "previous", lowered)
    lowered = re.sub(r"\b(?:today|this (?:week|morning))(?:'s)?\b", "new", lowered)
    lowered = re.sub(r"^(?:feature|feat|fix|bugfix|perf|topic|opt)/(?=\w)", "patch ", lowered)
    return re.sub(r"\b(?:origin|upstream|vllm)/", "", lowered)


def _words(text: str) -> list[str]:
    """The words that matter: without units, numbers, names of commits, and what says nothing of a side."""
    text = " ".join(word for word in text.split() if "/" not in word or not known(word))
    text = _SWITCH.sub(lambda found: found[0] if _SIZE.search(found["name"]) else f"{found['name']} ={found['state']}", text)
    text = re.sub(r"\b(?:on|at|with)\s+(?:(?:an?|one|two|the|my|our|single)\s+){0,2}\S*\d\S*", " ", text)
    text = re.sub(r"\bhead\s*[~^]\s*\d*", "head^", re.sub(r"\bmerge[ -]base\b", "base", text))
    words = [
        word.strip(".,;:!?\"'`*")
        for word in _APART.sub(r" \g<0> ", text).replace("_", " ").replace("-", " ").replace("–", " ").split()
        if not known(word)
    ]
    kept = [
        word
        for word in words
        if word and word != "@" and (word in _OFF | _ON or not re.search(r"\d", word)) and word not in _NEUTRAL | STATISTICS
    ]
    return kept[1:] if len(kept) > 1 and kept[0] in ("on", "at", "and", "then", "but", "so") else kept
