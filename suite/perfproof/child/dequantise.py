"""Writes a GGUF file as a plain model folder: `python dequantise.py FOLDER FILE OUT TOOLS`.

Runs in an interpreter with PyTorch and transformers; TOOLS, a folder with gguf and accelerate, goes to the end of `sys.path`. The quantised
weights of FOLDER/FILE become bfloat16 in OUT, with tokenizer and chat template. The copy must answer one question, because a model with
wrongly permuted weights loads without an error.
"""

from __future__ import annotations

import os
import sys
from typing import Any

QUESTION, ANSWER = "The capital of France is", " Paris"


def unpacked() -> dict[str, Any]:
    """The arguments that make transformers unpack the weights: older releases always do."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def write(folder: str, file: str, out: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, torch_dtype=torch.bfloat16, **unpacked())
    model.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)


def check(out: str) -> None:
    """Raises `SystemExit` unless the copy in OUT gives the right answer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(out), AutoModelForCausalLM.from_pretrained(out, torch_dtype=torch.float32)
    with torch.no_grad():
        logits = model(**tokenizer(QUESTION, return_tensors="pt")).logits
    token = tokenizer.decode(int(logits[0, -1].argmax()))
    if token != ANSWER:
        raise SystemExit(f"the copy continues {QUESTION!r} with {token!r}, not with {ANSWER!r}")


def main(argv: list[str]) -> int:
    folder, file, out, tools = argv
    sys.path.append(tools)
    os.environ["HF_HUB_OFFLINE"] = "1"
    write(folder, file, out)
    check(out)
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
