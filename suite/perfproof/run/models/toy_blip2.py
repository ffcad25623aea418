"""A toy that sees: BLIP-2, with an encoder of small images in front of a small OPT. Its parts are as wide as the toy is.

Of vLLM's models that see, it needs neither torchvision nor a hub's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.model.scenarios.scenario import ToyModel
from perfproof.run.models.toy_tokenizer import BEGIN, END, UNKNOWN, image_id

SIDE, PATCH = 56, 14
"""The side of an image, and of a patch of it, in pixels."""
QUERIES = 16
"""Tokens that an image becomes."""
CHAT = (
    "{% for message in messages %}{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }} {% endif %}{% endfor %}{% endif %}\n{% endfor %}"
)
"""A chat is its texts; vLLM puts the tokens of an image before them."""


def config_of(model: ToyModel) -> Mapping[str, Any]:
    """What `config.json` has besides architecture and data type."""
    inner = model.intermediate or 2 * model.hidden
    sizes = {"hidden_size": model.hidden, "num_attention_heads": model.heads, "num_hidden_layers": model.layers}
    text = {
        **sizes,
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "word_embed_proj_dim": model.hidden,
        "ffn_dim": inner,
        "vocab_size": model.vocabulary,
        "max_position_embeddings": model.context,
        "do_layer_norm_before": True,
        **_MARKS,
    }
    queries = {"model_type": "blip_2_qformer", "encoder_hidden_size": model.hidden, "vocab_size": model.vocabulary}
    return {
        **_MARKS,
        "text_config": text,
        "qformer_config": {**sizes, **queries, "intermediate_size": inner, "cross_attention_frequency": 2},
        "vision_config": {
            **sizes,
            "model_type": "blip_2_vision_model",
            "intermediate_size": inner,
            "image_size": SIDE,
            "patch_size": PATCH,
        },
        "num_query_tokens": QUERIES,
        "image_token_index": image_id(model),
        "image_text_hidden_size": model.hidden,
        "use_decoder_only_language_model": True,
    }


_MARKS: Mapping[str, Any] = {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": UNKNOWN}

PROCESSING: Mapping[str, Mapping[str, Any]] = {
    "processor_config.json": {"processor_class": "Blip2Processor", "num_query_tokens": QUERIES},
    "preprocessor_config.json": {
        "image_processor_type": "BlipImageProcessor",
        "processor_class": "Blip2Processor",
        "size": {"height": SIDE, "width": SIDE},
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "do_convert_rgb": True,
        "rescale_factor": 1 / 255,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 3,
    },
}
"""The files that say how an image becomes numbers."""
