"""Names of ways to do one thing, of which none says that it was before: implementations, layouts of GPUs, commits, files, flags, letters.

Beside each other two of a kind are sides, and which of them is the baseline is a guess. Alone they are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from perfproof.model.scenarios.metric_directions import word_set
from perfproof.model.scenarios.side_names import commit, names_a_side, release, switched

MOST_IMPLEMENTATIONS = 5
"""Ways to do one thing that stand beside each other, at most; more are a list of what there is."""
LETTERED = re.compile(r"(?i)(?:config|configuration|setup|variant|arm|side|build|group|option|version|case|system)\s+[ab]")
"""What two sides are called that have no names."""
FILE = re.compile(r"\S+\.(?:log|txt|jsonl?|out|csv)")
_SET = re.compile(r"(?:no )?--[a-z]\S*(?:[= ]\S+)?|(?:export |no )?[A-Z][A-Z0-9]*_[A-Z0-9_]*=\S+(?:\s+\([^()]*\))?")
"""A flag, there or not, or a variable with its value."""
_OPTION = re.compile(
    r"(?!(?:model|dataset|task|case|workload|device|gpu|card|prompt|input|output|tokenizer|benchmark|suite|name|side|test)\w*=)"
    r"(?=[a-z][\w.-]*=[\w./-]*[a-z])[a-z][\w.-]{2,40}=[\w./-]{2,40}"
)
"""An option with the word that it is set to, "kv_cache_dtype=fp8"; of work no other is an option."""
_SIZES = re.compile(r"(?i)(?:\b|(?<=[0-9x]))(?P<kind>tp|pp|dp|ep|cp|sp|pcp|dcp)[\s=-]?(?P<size>[0-9]{1,3})(?![0-9])")
"""How many GPUs share a model, and in which way: "TP4", "DP=2"."""
_IMPLEMENTATIONS = word_set(
    "flash flashattn fa2 fa3 fa4 flashinfer flashmla triton cutlass cutedsl cuda torch pytorch eager compiled inductor xformers aiter hip "
    "marlin machete exllama exllamav2 ray multiprocessing mp uvloop asyncio zmq grpc http xgrammar outlines guidance llguidance python "
    "numpy numba rust c++ cpp cython orjson msgspec msgpack pickle protobuf nccl sdpa trtllm cublas cublaslt hipblaslt deepgemm naive "
    "cudagraph cudagraphs v0 v1 v2 sglang tgi transformers vllm tensorrt flashattention native"
)
"""Ways to do one thing that people hold against each other."""
_OF_WAYS = word_set(
    "graph graphs mode attn attention backend engine kernel impl executor llm gen mla core runner gemm the path implementation version"
)
_MOST_WORDS = 4
_PRECISION = re.compile(
    r"(?i)(?:kv[ _-]?cache[ _-])?(?P<full>bf16|bfloat16|fp(?:16|32)|float(?:16|32)|tf32|half|auto|unquantized)?"
    r"(?(full)|(?:n?v?fp4|mxfp[468]|nf4|fp8(?:[ _-](?:e[45]m[23](?:fn)?|dynamic|static|block|per[ _-](?:tensor|channel|token)))?|e[45]m[23]"
    r"|(?:awq|gptq)(?:[ _-](?:int[48]|marlin))?|int[48]|w[0-9]{1,2}a[0-9]{1,2}(?:kv[0-9]{1,2})?|q[2-8]_(?:[01]|k(?:_[sml])?)))"
    r"(?:[ _-](?:kv(?:[ _-]?cache)?|weights?|model))?"
)
"""What numbers a model, or its cache, is kept in: "bf16", "w4a16", "fp8_e4m3"."""


def kind(name: str) -> str:
    """What kind of a way a name is of, "" for none."""
    return next((each for each, is_one in _KINDS.items() if is_one(name.strip("`*:_ "))), "")


def told_apart(name: str) -> bool:
    """Whether a name may be of a side by itself: it says which, or is a version, or a way to do what others do in another."""
    return names_a_side(name) or release(name) is not None or kind(name) != ""


def alternatives(names: Sequence[str]) -> bool:
    """Whether several names are two ways of one kind; of layouts, not one size in steps: TP=2 beside TP=4 is a sweep."""
    if 2 < len(names) <= MOST_IMPLEMENTATIONS:
        return all(map(implementation, names))
    if len(names) != 2:
        return False
    kinds = {kind(name) for name in names}
    if kinds == {"layout"}:
        return len({tuple(way.casefold() for way, _ in _SIZES.findall(name)) for name in names}) == 2
    if kinds == {"precision"}:
        return sum(map(full_precision, names)) == 1
    if kinds == {"option"} and len({name.strip("`*:_ ").partition("=")[0] for name in names}) != 1:
        return False
    return (len(kinds) == 1 and kinds != {""}) or switched(*names) or _lettered(names)


def implementation(name: str) -> bool:
    """Whether a name is of one of several ways to do the same, "FLASH_ATTN", "xgrammar"."""
    words = re.findall(r"[a-z][a-z0-9+]*", name.lower().replace("_", " ").replace("-", " "))
    return 0 < len(words) <= _MOST_WORDS and words[0] in _IMPLEMENTATIONS and all(word in _IMPLEMENTATIONS | _OF_WAYS for word in words)


def full_precision(name: str) -> bool:
    """Whether a name is of numbers that nobody made smaller, "bf16", "auto"."""
    found = _PRECISION.fullmatch(name.strip("`*:_ "))
    return bool(found and found["full"])


def _layout(name: str) -> bool:
    """Whether a name is nothing but sizes of what shares a model: "TP2xDP2", "tp=4, pp=2"."""
    return bool(_SIZES.search(name)) and not re.sub(r"(?i)[\sx×,+&/_*-]|\band\b", "", _SIZES.sub("", name))


def _lettered(names: Sequence[str]) -> bool:
    """Whether two names are the same but for the letters A and B, "results_a/run.json" beside "results_b/run.json"."""
    plain = [name.casefold() for name in names]
    rests = {re.sub(r"(?<![^\W_])[ab](?![^\W_])", "", each) for each in plain}
    return len(rests) == 1 and [re.findall(r"(?<![^\W_])[ab](?![^\W_])", each) for each in plain] == [["a"], ["b"]]


_KINDS: dict[str, Callable[[str], object]] = {
    "setting": _SET.fullmatch,
    "option": _OPTION.fullmatch,
    "commit": commit,
    "implementation": implementation,
    "layout": _layout,
    "precision": _PRECISION.fullmatch,
    "letter": LETTERED.fullmatch,
    "file": FILE.fullmatch,
}
