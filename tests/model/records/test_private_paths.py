"""What a record must not say: the way to a folder of this machine, and secrets that a scenario sets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.records.private_paths import shown, without_places

PART = st.text(st.sampled_from("abcXYZ019._- "), min_size=1, max_size=8).filter(lambda part: part.strip(". ") == part)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/home/joe/models/Foo-7B", "…/461d635a/Foo-7B"),
        ("/home/joe/models/Foo-7B/", "…/461d635a/Foo-7B"),
        ("--chat-template=/home/joe/models/Foo-7B", "--chat-template=…/461d635a/Foo-7B"),
        ('{"model": "/home/joe/models/Foo-7B", "n": 2}', '{"model": "…/461d635a/Foo-7B", "n": 2}'),
        ("owner/name", "owner/name"),
        ("./models/Foo", "./models/Foo"),
        ("https://host/a/b", "https://host/a/b"),
        (
            {"endpoint": "/v1/embeddings", "dataset-path": "/home/joe/models/Foo-7B"},
            {"endpoint": "/v1/embeddings", "dataset-path": "…/461d635a/Foo-7B"},
        ),
        (["--max-num-seqs=4", True, 3], ["--max-num-seqs=4", True, 3]),
    ],
)
def test_the_way_to_a_file_is_left_out(said: object, told: object) -> None:
    """Its name stays, with a hash that tells it from others of that name; hub names, addresses and relative paths stay as they are."""
    assert shown(said) == told
    assert shown(told) == told


@given(st.lists(PART, min_size=2, max_size=6), st.sampled_from(["", "--flag=", "flag="]))
def test_no_part_of_any_path_but_its_name_is_kept(parts: list[str], flag: str) -> None:
    """Whatever folders lie on the way, they are not reported, and two ways are two texts."""
    path = "/" + "/".join(["secretfolder", *parts])
    told = shown(flag + path)
    assert "secretfolder" not in told
    assert told.startswith(f"{flag}…/")
    assert told != shown(f"{flag}/other{path}")


def test_a_definition_names_no_folder_and_no_secret() -> None:
    """Workload and arms of a definition are cleaned; the rest, questions among it, is what it was."""
    definition = {
        "question": "/a/b?",
        "workload": {"kind": "serve", "model": "/home/joe/m", "client": {"dataset-path": "/home/joe/d"}, "requests": 3},
        "arms": {"x": {"server_arguments": ["--tokenizer=/home/joe/t"], "environment": {"HF_TOKEN": "hf_abc", "VLLM_X": "/home/joe/v"}}},
    }
    told = without_places(definition)
    assert "joe" not in json.dumps(told)
    assert "hf_abc" not in json.dumps(told)
    assert (told["question"], told["workload"]["requests"]) == ("/a/b?", 3)
    assert told["arms"]["x"]["environment"]["HF_TOKEN"] == "<secret>"
    assert without_places(told) == told
