"""Generated models of every family: configuration, dimensions, and tokenizers that text can be put to."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from perfproof.model.scenarios.scenario import Family, ToyModel
from perfproof.run.models.toy_model import ARCHITECTURES, config_of, faults_of, write_toy_model
from perfproof.run.models.toy_tokenizer import BEGIN, END, GRITLM_MARKS, tokenizer_of, words_of

SMALL = ToyModel(layers=2, hidden=64, heads=2, vocabulary=2048, context=256)


def of(family: Family, **changes: int) -> ToyModel:
    return dataclasses.replace(SMALL, toy=family, **changes)


@pytest.mark.parametrize("family", get_args(Family))
def test_every_family_is_written_whole(family: Family, tmp_path: Path) -> None:
    """Each family has an architecture that vLLM knows, files that are JSON, and a word for every id."""
    folder = write_toy_model(of(family), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    assert (config["architectures"][0], config["model_type"]) == ARCHITECTURES[family]
    assert len(set(words_of(of(family)))) == config.get("text_config", config)["vocab_size"] == 2048


def test_experts_and_heads_are_those_asked_for() -> None:
    """The dimensions of a model with experts come out in its configuration, an expert's size being the intermediate one."""
    config = config_of(of("qwen3_moe", kv_heads=2, head_dim=32, intermediate=48, experts=8, experts_per_token=3))
    assert [config[key] for key in ("num_key_value_heads", "head_dim", "moe_intermediate_size")] == [2, 32, 48]
    assert [config[key] for key in ("num_experts", "num_experts_per_tok")] == [8, 3]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (of("splade", kv_heads=2), "model.kv_heads: a splade has none"),
        (of("llama", experts=4), "model.experts: a llama has none"),
        (of("qwen3", kv_heads=3), "model.kv_heads: expected a divisor of the 2 heads, got 3"),
        (of("qwen3_moe", experts=2, experts_per_token=4), "model.experts_per_token: expected at most the 2 experts, got 4"),
    ],
)
def test_dimensions_that_a_family_has_not_are_reported(model: ToyModel, told: str) -> None:
    """What means nothing to a family, or does not fit, is refused in words."""
    assert faults_of(model) == [told]


def test_only_poolers_mark_the_ends_of_a_prompt() -> None:
    """Models that generate keep the lengths asked for; encoders get both marks, GritLM the first."""
    marks = {family: tokenizer_of(of(family))["post_processor"] for family in get_args(Family)}
    assert [marks[family] for family in ("llama", "qwen3", "qwen3_moe")] == [None] * 3
    assert [len(marks[family]["single"]) for family in ("splade", "bge_m3", "gritlm")] == [3, 3, 2]
    assert config_of(of("splade"))["cls_token_id"] == config_of(of("bge_m3"))["bos_token_id"] == BEGIN
    assert config_of(of("splade"))["sep_token_id"] == config_of(of("bge_m3"))["eos_token_id"] == END


def test_the_authors_prompt_has_the_marks_that_gritlms_pooler_looks_for() -> None:
    """The instruction of the pooling patch's author is cut into the tokens that end an instruction."""
    said = tokenizer_of(of("gritlm"))
    text = "<|user|>\nGiven a title\n<|embed|>\nAttention (1)".lower().replace("\n", "<0x0A>")
    cut = re.findall(said["pre_tokenizer"]["pretokenizers"][1]["pattern"]["Regex"], re.sub("^<", "▁<", text))
    assert cut[:6] == ["▁<", "|", "user", "|", ">", "<0x0A>"]
    assert "".join(["<0x0A>", "<", "|", "embed", "|", ">", "<0x0A>"]) in "".join(cut)
    assert set(GRITLM_MARKS) <= set(said["model"]["vocab"])
    assert set(cut) <= set(said["model"]["vocab"])
