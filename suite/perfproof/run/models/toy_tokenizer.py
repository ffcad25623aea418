"""The tokenizer of a generated model: any vocabulary size, by one rule.

Half of the vocabulary at most are pieces of text (single characters, then pairs of letters), so that English prompts of a custom
data set become token ids of a plausible number; the rest are whole words `w512`, `w513`, .... Every piece and word is a token
between blanks: decoding ids and encoding the text again gives the same ids, so the lengths that `vllm bench serve` asks for are
exact.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from perfproof.model.scenarios.scenario import ToyModel

SPECIAL = ("<unk>", "<s>", "</s>")
UNKNOWN, BEGIN, END = range(len(SPECIAL))
CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
PAIRS = tuple("".join(letters) for letters in product(string.ascii_lowercase, repeat=2))
PIECES = r"w[0-9]+|[a-z]{1,2}|[^\s]"
"""How a text is split, apart from blanks: a numbered word, one or two letters, or any other single character."""

GRITLM_MARKS = ("▁<", "<0x0A>", "user", "embed")
"""Tokens that GritLM's pooler looks for in a prompt, besides `<`, `|` and `>`."""


IMAGE = "<image>"
"""The token in whose place BLIP-2 puts an image."""


def image_id(model: ToyModel) -> int:
    """The id of the image's token, of a model that has one."""
    return words_of(model).index(IMAGE)


def words_of(model: ToyModel) -> list[str]:
    """Every token's text in the order of the ids."""
    marks = {"gritlm": GRITLM_MARKS, "blip2": (IMAGE,)}.get(model.toy, ())
    pieces = [*SPECIAL, *marks, *CHARACTERS, *PAIRS][: max(len(SPECIAL), model.vocabulary // 2)]
    return [*pieces, *(f"w{number}" for number in range(len(pieces), model.vocabulary))]


def tokenizer_of(model: ToyModel) -> Mapping[str, Any]:
    """The tokenizer in the format of the `tokenizers` library; encoders also get their marks of beginning and end."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(number, word) for number, word in enumerate(words_of(model)) if word in (*SPECIAL, IMAGE)],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Split", "pattern": {"Regex": _pieces(model)}, "behavior": "Isolated", "invert": False},
            ],
        },
        "post_processor": _marks(model),
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words_of(model))},
            "unk_token": SPECIAL[UNKNOWN],
        },
    }


def tokenizer_config_of(model: ToyModel) -> Mapping[str, Any]:
    """The tokenizer's configuration for transformers."""
    marks = {"cls_token": SPECIAL[BEGIN], "sep_token": SPECIAL[END], "pad_token": SPECIAL[UNKNOWN]} if model.encodes else {}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": SPECIAL[UNKNOWN],
        "bos_token": SPECIAL[BEGIN],
        "eos_token": SPECIAL[END],
        **marks,
        "model_max_length": model.context,
        "clean_up_tokenization_spaces": False,
    }


def _normalizers(model: ToyModel) -> Sequence[Mapping[str, Any]]:
    """Lower case; for GritLM also the first `<` and line ends as the tokens that its pooler looks for."""
    lower = [{"type": "Lowercase"}]
    if model.toy != "gritlm":
        return lower
    return [
        *lower,
        {"type": "Replace", "pattern": {"Regex": "^<"}, "content": "▁<"},
        {"type": "Replace", "pattern": {"String": "\n"}, "content": "<0x0A>"},
    ]


def _pieces(model: ToyModel) -> str:
    return "|".join([*GRITLM_MARKS, PIECES]) if model.toy == "gritlm" else PIECES


def _marks(model: ToyModel) -> Mapping[str, Any] | None:
    """The marks around a prompt: beginning and end for encoders, only the beginning for GritLM, none for models that generate."""
    if not model.pools:
        return None
    begin, end = ({"SpecialToken": {"id": SPECIAL[number], "type_id": 0}} for number in (BEGIN, END))
    text = {"Sequence": {"id": "A", "type_id": 0}}
    single = [begin, text, end] if model.encodes else [begin, text]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            SPECIAL[number]: {"id": SPECIAL[number], "ids": [number], "tokens": [SPECIAL[number]]} for number in (BEGIN, END)
        },
    }


def _added_token(number: int, word: str) -> Mapping[str, Any]:
    return {"id": number, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
