"""The generated model: its files, its dimensions, and a tokenizer that gives back the ids it was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import ToyModel
from perfproof.run.models.toy_model import END, SPECIAL, faults_of, folder_name, tokenizer_of, write_toy_model

SMALL = ToyModel(layers=2, hidden=64, heads=2, vocabulary=512, context=256)


def test_the_folder_holds_what_a_server_needs(tmp_path: Path) -> None:
    """Configuration, tokenizer and generation defaults are written as JSON, and no weights."""
    folder = write_toy_model(SMALL, tmp_path)
    assert {file.name for file in folder.iterdir()} == {"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"}
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert (config["num_hidden_layers"], config["hidden_size"], config["vocab_size"], config["max_position_embeddings"]) == (
        2,
        64,
        512,
        256,
    )
    assert json.loads((folder / "tokenizer_config.json").read_text())["eos_token"] == SPECIAL[END]


def test_the_same_dimensions_share_a_folder_and_others_do_not(tmp_path: Path) -> None:
    """Writing a model twice gives one folder with the same bytes; another dimension gives another folder."""
    first = write_toy_model(SMALL, tmp_path)
    before = {file.name: file.read_bytes() for file in first.iterdir()}
    assert write_toy_model(SMALL, tmp_path) == first
    assert {file.name: file.read_bytes() for file in first.iterdir()} == before
    assert folder_name(ToyModel(layers=3, hidden=64, heads=2, vocabulary=512, context=256)) != first.name


@given(ids=st.lists(st.integers(len(SPECIAL), SMALL.vocabulary - 1), max_size=50))
def test_decoding_and_encoding_gives_the_same_ids(ids: list[int]) -> None:
    """Words joined by blanks and split at blanks are the same ids again, so that asked-for prompt lengths are exact."""
    vocabulary = tokenizer_of(SMALL)["model"]["vocab"]
    words = {number: word for word, number in vocabulary.items()}
    text = " ".join(words[number] for number in ids)
    assert [vocabulary[word] for word in text.split()] == ids


def test_every_id_has_one_word() -> None:
    """The vocabulary has as many words as the model has ids, each once."""
    vocabulary = tokenizer_of(SMALL)["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(SMALL.vocabulary))


def test_dimensions_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    """Heads that do not divide the hidden size, and a vocabulary of nothing, are bad input; nothing is written."""
    with pytest.raises(BadInput, match=r"model\.hidden"):
        write_toy_model(ToyModel(layers=1, hidden=50, heads=2, vocabulary=512, context=64), tmp_path)
    assert faults_of(ToyModel(layers=0, hidden=64, heads=2, vocabulary=3, context=64)) == [
        "model.layers: expected at least 1, got 0",
        "model.vocabulary: expected at least 64, got 3",
    ]
    assert not list(tmp_path.iterdir())
