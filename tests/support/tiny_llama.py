"""A Llama model of two layers with weights drawn at random: the real architecture at a ten-thousandth of the work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf_files import f32, write_gguf

LAYERS, WIDTH, HEADS, KEY_HEADS, INNER = 2, 64, 4, 2, 96
SIZES = {
    "general.architecture": "llama",
    "llama.block_count": LAYERS,
    "llama.context_length": 1024,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": INNER,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KEY_HEADS,
    "llama.rope.dimension_count": WIDTH // HEADS,
    "llama.rope.freq_base": 10000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}


def write_tiny_llama(path: Path, words: Mapping[str, Any] | None = None, vocabulary: int = 300) -> Path:
    """The model in a GGUF file, with the words of another beside its own sizes."""
    rng = np.random.default_rng(11)

    def drawn(*shape: int, scale: float = 0.15) -> Any:
        return f32(rng.normal(0, scale, shape))

    keys = WIDTH // HEADS * KEY_HEADS
    tensors = {"token_embd.weight": drawn(vocabulary, WIDTH, scale=0.5)}
    for layer in range(LAYERS):
        tensors |= {
            f"blk.{layer}.attn_norm.weight": f32(rng.uniform(0.5, 1.5, WIDTH)),
            f"blk.{layer}.attn_q.weight": drawn(WIDTH, WIDTH),
            f"blk.{layer}.attn_k.weight": drawn(keys, WIDTH),
            f"blk.{layer}.attn_v.weight": drawn(keys, WIDTH),
            f"blk.{layer}.attn_output.weight": drawn(WIDTH, WIDTH),
            f"blk.{layer}.ffn_norm.weight": f32(rng.uniform(0.5, 1.5, WIDTH)),
            f"blk.{layer}.ffn_gate.weight": drawn(INNER, WIDTH),
            f"blk.{layer}.ffn_up.weight": drawn(INNER, WIDTH),
            f"blk.{layer}.ffn_down.weight": drawn(WIDTH, INNER),
        }
    tensors["output_norm.weight"] = f32(rng.uniform(0.5, 1.5, WIDTH))
    return write_gguf(path, {**(words or {}), **SIZES, "llama.vocab_size": vocabulary}, tensors)
