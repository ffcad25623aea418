"""Writes a toy Llama: the files of a model folder without weights, for `--load-format dummy`.

Everything is plain JSON, so neither transformers nor a hub is needed. The tokenizer knows whole
words, split at blanks: decoding token ids and encoding the text again gives the same ids, which keeps
the lengths that `vllm bench serve` asks for exact.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from suite.model.errors import BadInput
from suite.model.scenario import ToyModel

SPECIAL = ("<unk>", "<s>", "</s>")
UNKNOWN, BEGIN, END = range(len(SPECIAL))
LEAST_VOCABULARY = 64


def faults_of(model: ToyModel) -> list[str]:
    """Why a model of these dimensions can't be built; empty if it can."""
    found = [f"model.{name}: expected at least 1, got {value}" for name, value in asdict(model).items() if value < 1]
    if model.vocabulary < LEAST_VOCABULARY:
        found.append(f"model.vocabulary: expected at least {LEAST_VOCABULARY}, got {model.vocabulary}")
    if not found and (model.hidden % model.heads or model.hidden // model.heads % 16):
        found.append(f"model.hidden: expected heads times a multiple of 16, got {model.hidden} for {model.heads} heads")
    return found


def folder_name(model: ToyModel) -> str:
    """A name that tells models of different dimensions apart: `toy-` and eight hex digits."""
    said = json.dumps({**asdict(model), "files": files_of(model)}, sort_keys=True)
    return f"toy-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def write_toy_model(model: ToyModel, parent: Path) -> Path:
    """Writes the model below `parent` unless it lies there already; returns its folder. Raises `BadInput` for dimensions that don't fit."""
    faults = faults_of(model)
    if faults:
        raise BadInput(*faults)
    folder = parent / folder_name(model)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files_of(model).items():
        _write_whole(folder / name, json.dumps(content, indent=1))
    return folder


def files_of(model: ToyModel) -> Mapping[str, Mapping[str, Any]]:
    """File name to content."""
    return {
        "config.json": config_of(model),
        "tokenizer.json": tokenizer_of(model),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": SPECIAL[UNKNOWN],
            "bos_token": SPECIAL[BEGIN],
            "eos_token": SPECIAL[END],
            "model_max_length": model.context,
            "clean_up_tokenization_spaces": False,
        },
        "generation_config.json": {"bos_token_id": BEGIN, "eos_token_id": END, "do_sample": False},
    }


def config_of(model: ToyModel) -> Mapping[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": model.hidden,
        "intermediate_size": 2 * model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.heads,
        "head_dim": model.hidden // model.heads,
        "vocab_size": model.vocabulary,
        "max_position_embeddings": model.context,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "initializer_range": 0.02,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "torch_dtype": "bfloat16",
    }


def tokenizer_of(model: ToyModel) -> Mapping[str, Any]:
    """A word-level tokenizer in the format of the `tokenizers` library: words `w3`, `w4`, ... after the special tokens."""
    words = [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), model.vocabulary))]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(number, word) for number, word in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: number for number, word in enumerate(words)}, "unk_token": SPECIAL[UNKNOWN]},
    }


def _added_token(number: int, word: str) -> Mapping[str, Any]:
    return {"id": number, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def _write_whole(path: Path, text: str) -> None:
    """By way of a rename, so that two runs that write the same model never read half of it."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
