"""Texts and their tokenizer: what users send, and what it becomes.

The tokenizer is made here, byte-level as most models' are: 256 bytes and made-up words, some of them not ASCII. Nothing is read from
a network.
"""

from __future__ import annotations

import functools
import random
import shutil
from pathlib import Path
from typing import Any

from perfproof.bench import engine_objects as engine

SPECIAL = ("<unk>", "<s>", "</s>")
LETTERS = "etaoinshrdlucmfwypvbgk"
ACCENTED = "éüøñ"


@functools.cache
def tokenizer(more_special: tuple[str, ...] = ()) -> Any:
    """A fast tokenizer of `engine.VOCABULARY` tokens, with the special tokens `SPECIAL` and `more_special`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(vocab=_vocabulary(), merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([*SPECIAL, *more_special])
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token=SPECIAL[0], bos_token=SPECIAL[1], eos_token=SPECIAL[2])


def _vocabulary() -> dict[str, int]:
    from tokenizers import pre_tokenizers

    as_written = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    draw = random.Random(11)
    tokens = dict.fromkeys([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    while len(tokens) < engine.VOCABULARY:
        word = "".join(draw.choices(LETTERS, k=draw.randint(2, 8)))
        if draw.random() < 0.05:
            word += draw.choice(ACCENTED)
        tokens[as_written.pre_tokenize_str(f" {word}" if draw.random() < 0.7 else word)[0][0]] = None
    return {token: number for number, token in enumerate(tokens)}


@functools.cache
def tokenizer_folder() -> str:
    """The tokenizer's files, and the model's configuration beside them, in a folder that stays as long as the process."""
    folder = engine.lasting_folder("tokenizer")
    tokenizer().save_pretrained(folder)
    shutil.copy(Path(engine.model_folder(), "config.json"), folder)
    return folder


def text(letters: int, seed: int) -> str:
    """Made-up words, so many letters and spaces together: as many tokens, since the tokenizer merges nothing."""
    draw = random.Random(seed)
    words = ("".join(draw.choices(LETTERS, k=draw.randint(2, 8))) for _ in range(letters // 3 + 1))
    return " ".join(words)[:letters]
