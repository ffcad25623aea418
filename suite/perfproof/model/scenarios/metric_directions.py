"""Which direction of a printed number is better, from the words that people have for metrics.

A label is read as a noun phrase: what stands behind a preposition, a comma or in brackets is a condition ("latency at 4 rps"), and what is
left ends with the metric ("Output token throughput"). It refuses to guess: a label whose last words are no metric has no direction, nor has
one whose unit is none of its metric's ("time in budget (%)").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from perfproof.model.base.quantities import known, scale
from perfproof.model.scenarios import foreign_words
from perfproof.model.scenarios.evaluation_names import EVALUATION
from perfproof.model.scenarios.metrics import METRICS, Better

Kind = Literal["time", "rate", "memory", "share", "count", "number"]

_NOUNS: tuple[tuple[Better, Kind, str], ...] = (
    (
        "lower",
        "time",
        "latency|latencies|ttft|tpot|itl|e2el|e2e|ttst|ttfot|ttfp|duration|runtime|time|times|elapsed|wall clock|walltime|jct"
        "|delay|delays|stall|stalls|tottime|cumtime|owntime|totaltime|selftime",
    ),
    (
        "lower",
        "time",
        "time to first token|time to first output token|time to second token|time per output token|time per token|inter-token latency",
    ),
    ("higher", "rate", "throughput|goodput|bandwidth|tput|thpt|thruput|gbps|tbps|mbps|iops|flops|gflops|tflops|speed|tps|qps|rps|ops"),
    ("higher", "rate", "tokens per second|requests per second|queries per second|tokens per sec|requests per sec"),
    ("lower", "memory", "memory|memory usage|memory used|memory allocated|memory reserved|memory footprint|vram|rss|peak mem|mem"),
    (
        "higher",
        "share",
        "accuracy|acc|acc norm|exact match|f1|pass rate|success rate|hit rate|acceptance rate|accept rate|mfu|gsm8k|mmlu|humaneval"
        "|correctness|win rate|solve rate|resolve rate|parse rate"
        "|acceptance|occupancy|hit ratio|bleu|rouge"
        "|rouge-l|rouge-1|rouge-2|chrf|comet|mt-bench|recall|precision|mbu|bandwidth utilization"
        "|bandwidth util",
    ),
    (
        "lower",
        "share",
        "cpu utilization|cpu usage|cpu util|invalid|invalid rate|invalid responses|invalid response rate|invalid answers"
        "|invalid predictions"
        "|unparsed|unparsed answers|unparsable answers|no answer rate|refusal rate|timeout rate"
        "|error rate|failure rate|rejection rate|drop rate|word error rate|wer|cer",
    ),
    (
        "lower",
        "count",
        "errors|failures|failed requests|failed|preemptions|recompilations|recompiles|graph breaks|retries|cache misses"
        "|misses|preempted|preempted requests|evicted|evicted blocks|evicted requests|stalled requests|retried requests|oom errors"
        "|page faults|context switches|syscalls|system calls|mallocs|crashes|ooms",
    ),
    ("lower", "count", "cache-misses|branch-misses|page-faults|context-switches|cpu-migrations|cycles|instructions|evictions|timeouts"),
    (
        "lower",
        "count",
        "failed prompts|failed samples|failed questions|timed out|timed out requests"
        "|rejected|rejected requests|dropped|dropped requests|aborted requests|invalid outputs|retransmits|gc collections",
    ),
    ("lower", "count", "bytes copied|blocks copied|tokens copied|copies|allocations|allocs"),
    ("lower", "memory", "alloc"),
    ("higher", "number", "acceptance length|acceptance len|accept length|accept len|accepted length|accepted tokens|accepted tokens/step"),
    ("higher", "number", "tok/j|tokens/j|tokens/joule|tok/joule|tok/w|tokens/watt|tokens/$"),
    ("lower", "number", "overhead|perplexity|ppl|loss|bits per byte|bits per character|bpb|bpc|nll|negative log likelihood"),
    ("lower", "memory", "wheel size|model size|checkpoint size|binary size|image size|file size|artifact size|wheel|binary|tarball"),
    ("lower", "number", "energy|power|power draw|joules per token|joules/token|j/token|j/tok|cost"),
)


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NOUNS: dict[str, tuple[Better, Kind]] = {noun: (better, kind) for better, kind, nouns in _NOUNS for noun in nouns.split("|")}
LONGEST = max(len(noun.split()) for noun in NOUNS)
STATISTICS = word_set(
    "mean average avg median med mdn p50 p75 p90 p95 p99 p999 p99.9 p99.99 min max minimum maximum peak total overall geomean sum"
)
"""Words that say what was made of many numbers of the metric, wherever they stand."""
_CONDITION = re.compile(
    r"(?i)(?:^|(?<=\s))(?:at|with|for|on|in|of|by|under|over|within|above|below|per|to|during|when|after|from|using|vs"
    r"|versus)(?=\s|$)|@|,|;|:|\s-\s"
)
_PREPOSITIONAL = sorted((noun for noun in NOUNS if re.search(" (?:to|per) ", noun)), key=len, reverse=True)
_WITH_CONDITION = re.compile(rf"(?i)\b(?:{'|'.join(_PREPOSITIONAL)})\b")
"""Names of metrics that hold a preposition themselves."""
_SPARED = word_set(
    "free available idle saved remaining spare no non zero up until before between since without left reduction saving savings"
)
"""Words with which a cost is none: "idle time", "free memory"."""
_MISSED = word_set("failed rejected dropped lost error errors missed timeout cancelled preempted")
"""Words with which a gain is a cost: "failed requests per second"."""
_SPARED_TIME = _SPARED - {"free", "available", "no", "before", "zero", "non"}
"""Of these, the ones that speak of a time by themselves: what takes "free (us)" or "cache hit (us)" is an operation."""
_UNSURE = re.compile(
    r"(?i)\b(budget|timeout|time-?out|interval|period|deadline|limit|slo|target|threshold|age|uptime|in time|request.rate"
    r"|arrival|offset|gap"
    r"|offered|configured|window|gain|saved|sleep|wait(?:ed)? until|speed-?up|date)\b"
)
"""Words of what was set or is owed to others: more of it is neither better nor worse."""
_SAID = re.compile(r"(?i)\b(lower|less|smaller|fewer|higher|more|larger|bigger|greater)(?:\s*(?:is|=|the|-)?\s*)better\b|([↑↓⬆⬇])")
"""What a label says of itself."""
_LOWER = word_set("lower less smaller fewer ↓ ⬇")
_SNAKE_RATE = re.compile(
    r"(?i)(?:(?<=[a-z])_|(?<=\s)|^)(?P<what>tok|toks|tokens?|reqs?|requests|[a-z]{2,20}(?=_per_))_(?:per_)?(?:s|sec|second)$"
)
"""A rate at the end of a name that may hold no slash: throughput_tok_s."""
_SCORED_AT = re.compile(r"(?i)\b(?:pass|acc|accuracy|recall|precision|mrr|ndcg|map|hits?|cons|maj)@[0-9]{1,4}\b")
"""A score of the best few answers: pass@1, recall@10."""
_EXACT = re.compile(r"(?:[A-Za-z0-9]{2,20}[_./-])?em(?:_score)?|(?:[\w-]{2,20},? )?EM(?: score)?")
"""The short word for an exact match, which is a word of other languages too."""
_SCORED_BY = re.compile(
    r"(?i)[a-z][\w.-]* \((?P<metric>(?:(?:word|byte|token)[_ ])?(?:perplexity|ppl)|bits[_ ]per[_ ]byte|acc(?:uracy|[_ ]norm)?"
    r"|exact[_ ]match|f1|pass@[0-9]+|recall|rouge-?[12l]?|bleu|wer|cer)\)"
)
"""A task with what it is scored by: "wikitext (word_perplexity)"."""
_PER_OPERATION = re.compile(r"(?i)(?<=\w)/op(?:eration)?\b")
"""What benchmarks of functions say of every number: time/op, alloc/op."""
_SHARED = re.compile(r"(?i)(?<=[a-z])/(?:gpu|user|device|node|rank|card|chip|worker|replica)\b")
"""What says that a metric is of each of many: TPS/GPU."""
_BYTES_EACH = re.compile(r"\bB/op\b")
_TIMED = re.compile(r"\w\.time_\w")
"""A function of a suite whose time asv takes: bench.Suite.time_free."""
_SUITE = re.compile(r"\w\.(?:peakmem|mem|time)_\w+(?:\([^()]*\))?$")
"""A function of a suite that asv measures."""
_PER_SECOND = re.compile(r"(?i)^per (?:second|sec)\b(?: requests?(?: stats| statistics| rate)?$)?")
_OF_EACH = re.compile(r"(?i)^per[ -](?:user|gpu|device|card|chip|node|rank|worker|replica|request|sequence|client|stream)[ _]+(?=[a-z])")
"""What a metric of each of many begins with: "Per GPU Output Throughput"."""
_SERVED = re.compile(r"(?i)^max(?:imum)? concurrency for [0-9,]+ tokens\b")
"""What an engine says of how many requests fit its cache."""
_OF_RATES = word_set("e2e output input total prompt generation generated decode prefill request requests token tokens")
"""Words before a rate that alter nothing of its direction: "Output tok/s"."""
_ROOM = re.compile(r"(?i)\bavailable\b.*\bkv[ _-]cache\b|\bkv[ _-]?cache (?:size|capacity|tokens|blocks)\b|^(?:gpu )?kv[ _-]?cache$")
"""What is left for a cache: more of it serves more requests."""
_CHECKED = re.compile(r"(?i)\b(?P<what>accuracy|quality)[ -](?:sanity[ -])?(?:check|test|eval(?:uation)?)s?\b")
"""Words of what was done to measure an accuracy."""
_EACH = re.compile(r"(?i)\bper (?:[0-9][0-9,.]*\s?[kKM]?\s?)?(?:tokens?|requests?|blocks?|layers?|sequences?|tok|seq)\b")
"""What says that a size is of one of many: less of it is better."""
_HELD = re.compile(
    r"(?i)(?:^|[\s_(.-])(?:used|usage|allocated|reserved|resident|weights|activations?|footprint|peak|hbm|rss|pss|uss|image|package|bundle"
    r"|alloc\w*|so size|took|so|whl|wheel|docker|binary)(?=$|[\s_).,-])"
)
"""Words of memory that is held, or of a file's size: less of it is better."""
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")


@lru_cache(maxsize=4096)
def better(label: str) -> Better | None:
    """The direction in which a metric of this name is better, None where the name does not say.

    "P99 TTFT (ms)", "latency at 4 rps (ms)" and "mean_itl" are better lower, "Output token throughput (tok/s)" higher; "latency reduction"
    and "answered in time (%)" may be either. What the label says itself decides: "score (lower is better)", "time ↓".
    """
    if (row := METRICS.get(label.partition("@")[0])) is not None:
        return row.better
    if _EXACT.fullmatch(label.strip()):
        return "higher"
    if _SUITE.search(label):
        return "lower"
    if _SERVED.match(label):
        return "higher"
    if said := _SAID.findall(label):
        ways: set[Better] = {"lower" if (word or arrow).lower() in _LOWER else "higher" for word, arrow in said}
        return ways.pop() if len(ways) == 1 else None
    if query := _QUERY.fullmatch(label.strip()):
        inner = _RANGE.sub("", query["inner"].rpartition(", ")[2])
        plain = re.sub(r"_(?:bucket|sum|count|total)$", "", inner)
        return better(plain) or ("higher" if query["function"] in ("rate", "irate") and _PRODUCED.search(plain) else None)
    if (part := _last_part(label)) and (way := better(part)):
        return way
    words, unit = _read(label)
    if not set(words) - _OF_RATES and "/" in unit:
        return _by_unit(unit)
    if not words:
        return "lower" if scale(unit)[0] == "bytes" and "peak" in label.casefold() else _by_unit(unit)
    found = _noun(words)
    if found is None and (not unit or unit == "%") and any(map(EVALUATION.match, (label, label.partition(",")[0]))):
        return "higher"
    if found is None and not unit and (scored := _SCORED_BY.fullmatch(label.strip())):
        return better(scored["metric"])
    if unit and found and not _fits(found[1], unit) and EVALUATION.match(" ".join(words)):
        return _by_unit(unit)  # the name of a data set
    around = set(words[: len(words) - _length(words)])
    if found is None or {"/", "÷"} & set(words) or _opposed(found) & around or (unit and not _fits(found[1], unit)):
        return None
    return found[0]


_QUERY = re.compile(r"(?P<function>sum|avg|max|min|i?rate|increase|quantile|histogram_quantile)\s?\((?P<inner>.+)\)(?: by \(\w+\))?")
"""A query of Prometheus; its last argument is the metric."""
_RANGE = re.compile(r"\{[^{}]*\}|\[[0-9a-z:]+\]")
_PRODUCED = re.compile(r"(?:tokens|requests|request_success|queries)$")
"""What there are more of in a second, the better."""


def _last_part(label: str) -> str:
    """The last part of a key that is made of cases and a metric, "llama8b_qps_4 / median_ttft_ms", "sharegpt-itl", "qps1/tpot_mean"; "" for
    a name of one part, and where the parts before are a metric too: that is a ratio."""
    label, unit = (found["name"], found["unit"]) if (found := _WITH_UNIT.match(label.strip())) else (label, "")
    before, mark, last = label.strip().rpartition(" / ")
    if not mark and " " not in label and not known(label.rpartition("_")[2]):
        found = _PARTED.fullmatch(label.strip())
        before, last = (found["before"], found["last"]) if found else ("", "")
    words = re.split(r"[\s_/.:-]+", before.lower())
    is_case = (
        bool(re.search(r"[0-9_]" if mark else r"[0-9]", before))
        and not set(words) & _OPPOSED_PARTS
        and better(words[-1]) is None
        and not known(words[-1])
    )
    return f"{last}{unit}" if is_case and len(last) > 1 else ""


_WITH_UNIT = re.compile(r"^(?P<name>.*\S)(?P<unit>\s[(\[][^()\[\]]{1,20}[)\]])$")
_PARTED = re.compile(r"(?P<before>\w[\w.:/+-]*)[/.:-](?P<last>[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*)")
_OPPOSED_PARTS = word_set("real non un in no over post pre cool multi speedup ratio")
"""Beginnings of words that a hyphen parts from what they alter: "real-time"."""


def _opposed(noun: tuple[Better, Kind]) -> frozenset[str]:
    """The words with which a metric means its opposite; what a cache holds is no cost of memory."""
    way, kind = noun
    return _MISSED if way == "higher" else _SPARED | word_set("kv cache") if kind == "memory" else _SPARED


def better_in(label: str, unit: str) -> Better | None:
    """The same for a number of which the unit stands elsewhere, and whose label may be a case: "batch 16" in us, "decode" in ms.

    The metric's name decides. Only where no word of it is known does a time count as a cost, a rate as a gain; not where a word says that
    the number was set (a timeout, a budget) or is what was spared.
    """
    named = better(label) or better(f"{label} ({unit})" if unit else label)
    words = _read(label)[0]
    noun = _noun(words)
    if named and noun and not _SAID.search(label) and _contradicts(noun[1], unit) and set(words) - _OF_RATES:
        return None
    if not named and _ROOM.search(label):
        if _EACH.search(label):
            return "lower" if scale(unit)[0] == "bytes" else None
        if scale(unit)[0] == "bytes" and not re.search(r"(?i)\bavailable\b|\bcapacity\b", label):
            return None
        if not unit and re.search(r"(?i)[(\[](?:tokens?|toks?|blocks)[)\]]|\b(?:tokens|blocks|capacity)$", label):
            return "higher"
        return "higher" if scale(unit)[0] == "bytes" or unit in ("tokens", "token", "tok", "blocks") else None
    if named or not unit or _noun(words) or _SAID.search(label) or _UNSURE.search(label) or {"/", "÷"} & set(words):
        return named
    if _TIMED.search(label):
        return _by_unit(unit)
    spared = _SPARED_TIME if scale(unit)[0] == "time" else _SPARED | _MISSED | word_set("kv cache")
    if spared & set(words):
        return "lower" if scale(unit)[0] == "bytes" and re.search(r"(?i)\b(?:usage|used)\b", label) else None
    return "lower" if scale(unit)[0] == "bytes" and _HELD.search(label) else _by_unit(unit)


def _contradicts(kind: Kind, unit: str) -> bool:
    """Whether a unit is none of the metric's: a throughput in ms, a latency in req/s."""
    dimension = scale(unit)[0]
    return (kind == "rate" and dimension == "time") or (kind == "time" and dimension.endswith("/time"))


def zero_is_ordinary(label: str) -> bool:
    """Whether 0 is a value like others of this metric (failed requests), rather than a sign that nothing was measured (a latency)."""
    found = _noun(_read(label)[0])
    return found is not None and found[1] in ("share", "count")


def _read(label: str) -> tuple[list[str], str]:
    """The words that name the metric, and its unit: no brackets, no condition, no statistics."""
    label = _SHARED.sub("", _OF_EACH.sub("", _CHECKED.sub(r"\g<what>", label)))
    label = _PER_SECOND.sub("(req/s)", foreign_words.metric(label))
    label = _PER_OPERATION.sub("", _BYTES_EACH.sub("memory", _SCORED_AT.sub("accuracy", _SNAKE_RATE.sub(r" (\g<what>/s)", label))))
    inside = [(first or second).strip() for first, second in _BRACKETS.findall(label)]
    unit = next((each for each in reversed(inside) if known(each)), "")
    plain = " ".join(_BRACKETS.sub(" ", label).replace("_", " ").strip("*` ").split())
    whole = _WITH_CONDITION.sub(lambda noun: noun[0].replace(" ", "~"), plain)
    plain = _CONDITION.split(whole, maxsplit=1)[0].replace("~", " ")
    words = [word for word in plain.lower().split() if word not in STATISTICS]
    last = next((word for word in reversed(plain.split()) if word.lower() not in STATISTICS), "")
    if words and known(last) and words[-1] == last.lower() and _noun(words) is None:
        return words[:-1], unit or last
    return words, unit


def _noun(words: list[str]) -> tuple[Better, Kind] | None:
    """The metric that a phrase ends with, by its longest name."""
    length = _length(words)
    return NOUNS[" ".join(words[-length:])] if length else None


def _length(words: list[str]) -> int:
    """The number of words of that name; 0 where the phrase ends with no metric."""
    return next((size for size in range(min(LONGEST, len(words)), 0, -1) if " ".join(words[-size:]) in NOUNS), 0)


def _fits(kind: Kind, unit: str) -> bool:
    dimension = scale(unit)[0]
    return {
        "time": dimension.startswith("time"),
        "rate": "/time" in dimension,
        "memory": dimension in ("bytes", "%"),
        "share": dimension == "%",
        "count": "/" not in dimension and dimension != "time",
        "number": "time" not in dimension,
    }[kind]


def _by_unit(unit: str) -> Better | None:
    """The direction of a bare statistic, "mean (ms)" or "tok/s", by its unit."""
    dimension = scale(unit)[0]
    if noun := NOUNS.get(unit.lower()):
        return noun[0]
    return "lower" if dimension.startswith("time") else "higher" if "/time" in dimension else None
