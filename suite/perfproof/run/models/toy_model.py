"""Writes a toy model: the files of a model folder without weights, for `--load-format dummy`.

Everything is plain JSON, so neither transformers nor a hub is needed. The families are those that the suite's patches are about: decoders
(Llama, Qwen3, Qwen3 with experts), poolers whose heads look at token ids (SPLADE and BGE-M3 on encoders, GritLM on a decoder), and one that
sees (BLIP-2).
With the dimensions of a real model the toy takes the same time; its output means nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import ToyModel
from perfproof.run.models import toy_blip2
from perfproof.run.models.toy_tokenizer import BEGIN, END, SPECIAL, UNKNOWN, tokenizer_config_of, tokenizer_of

__all__ = ["BEGIN", "END", "SPECIAL", "config_of", "faults_of", "files_of", "folder_name", "tokenizer_of", "write_toy_model"]

LEAST_VOCABULARY = 64
LEAST_HEAD = 32
"""The smallest head size of vLLM's attention on a CPU; larger heads are multiples of it."""
WRITTEN_FOR = "4.57.0"
"""The version of transformers whose names the configuration uses. Without it, newer ones take a large tokenizer for a faulty one of
Mistral."""
ARCHITECTURES: Mapping[str, tuple[str, str]] = {
    "llama": ("LlamaForCausalLM", "llama"),
    "qwen3": ("Qwen3ForCausalLM", "qwen3"),
    "qwen3_moe": ("Qwen3MoeForCausalLM", "qwen3_moe"),
    "gritlm": ("GritLM", "mistral"),
    "splade": ("BertSpladeSparseEmbeddingModel", "bert"),
    "bge_m3": ("BgeM3EmbeddingModel", "xlm-roberta"),
    "blip2": ("Blip2ForConditionalGeneration", "blip-2"),
}
"""A family's architecture in vLLM, and its model type in transformers."""


def faults_of(model: ToyModel) -> list[str]:
    """Why a model of these dimensions can't be built; empty if it can."""
    given = {name: value for name, value in asdict(model).items() if isinstance(value, int)}
    faults = [f"model.{name}: expected at least 1, got {value}" for name, value in given.items() if value < 1]
    if model.vocabulary < LEAST_VOCABULARY:
        faults.append(f"model.vocabulary: expected at least {LEAST_VOCABULARY}, got {model.vocabulary}")
    if model.head_dim is None and not faults and (model.hidden % model.heads or model.hidden // model.heads % LEAST_HEAD):
        faults.append(f"model.hidden: expected heads times a multiple of {LEAST_HEAD}, got {model.hidden} for {model.heads} heads")
    return faults or [*_family_faults(model, given)]


def _family_faults(model: ToyModel, given: Mapping[str, int]) -> list[str]:
    unknown = ("kv_heads", "head_dim") if model.encodes or model.toy == "blip2" else ()
    if model.toy != "qwen3_moe":
        unknown = (*unknown, "experts", "experts_per_token")
    faults = [f"model.{name}: a {model.toy} has none" for name in unknown if name in given]
    if model.kv_heads and model.heads % model.kv_heads:
        faults.append(f"model.kv_heads: expected a divisor of the {model.heads} heads, got {model.kv_heads}")
    if model.experts and (model.experts_per_token or 1) > model.experts:
        faults.append(f"model.experts_per_token: expected at most the {model.experts} experts, got {model.experts_per_token}")
    return faults


def folder_name(model: ToyModel) -> str:
    """A name that differs for models of different dimensions: `toy-` and eight hex digits."""
    content = json.dumps({**asdict(model), "files": files_of(model)}, sort_keys=True)
    return f"toy-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def write_toy_model(model: ToyModel, parent: Path) -> Path:
    """Writes the model below `parent` unless it exists already; returns its folder. Raises `BadInput` for dimensions that don't fit."""
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
    generation = {} if model.encodes else {"generation_config.json": {"bos_token_id": BEGIN, "eos_token_id": END, "do_sample": False}}
    return {
        "config.json": config_of(model),
        "tokenizer.json": tokenizer_of(model),
        "tokenizer_config.json": {**tokenizer_config_of(model), **({"chat_template": toy_blip2.CHAT} if model.toy == "blip2" else {})},
        **(toy_blip2.PROCESSING if model.toy == "blip2" else {}),
        **generation,
    }


def config_of(model: ToyModel) -> Mapping[str, Any]:
    """The configuration that transformers and vLLM read."""
    architecture, kind = ARCHITECTURES[model.toy]
    return {
        "architectures": [architecture],
        "model_type": kind,
        "torch_dtype": "bfloat16",
        "transformers_version": WRITTEN_FOR,
        **(toy_blip2.config_of(model) if model.toy == "blip2" else _text(model)),
    }


def _text(model: ToyModel) -> Mapping[str, Any]:
    """The configuration of a family that reads text alone."""
    return {
        "hidden_size": model.hidden,
        "intermediate_size": model.intermediate or 2 * model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "vocab_size": model.vocabulary,
        "initializer_range": 0.02,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        **(_encoder(model) if model.encodes else _decoder(model)),
        **(_experts(model) if model.toy == "qwen3_moe" else {}),
    }


def _decoder(model: ToyModel) -> Mapping[str, Any]:
    return {
        "num_key_value_heads": model.kv_heads or model.heads,
        "head_dim": model.head_dim or model.hidden // model.heads,
        "max_position_embeddings": model.context,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        **({"sliding_window": None} if model.toy == "gritlm" else {}),
    }


def _experts(model: ToyModel) -> Mapping[str, Any]:
    """Every layer has experts, each of the intermediate size."""
    experts = model.experts or 4
    return {
        "num_experts": experts,
        "num_experts_per_tok": model.experts_per_token or min(2, experts),
        "moe_intermediate_size": model.intermediate or 2 * model.hidden,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "norm_topk_prob": True,
    }


def _encoder(model: ToyModel) -> Mapping[str, Any]:
    """XLM-RoBERTa's positions begin behind that of padding, which takes one more."""
    return {
        "max_position_embeddings": model.context + (UNKNOWN + 1 if model.toy == "bge_m3" else 0),
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "type_vocab_size": 1 if model.toy == "bge_m3" else 2,
        "position_embedding_type": "absolute",
        "pad_token_id": UNKNOWN,
        "cls_token_id": BEGIN,
        "sep_token_id": END,
    }


def _write_whole(path: Path, text: str) -> None:
    """Writes a file with a rename, so that two runs that write the same model never read half of it."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
