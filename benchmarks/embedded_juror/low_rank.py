"""The base model in a GGUF file and the low-rank change beside its weights: read, added, saved, merged."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from gguf import GGUFReader, dequantize
from safetensors.torch import load_file
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
PARTS = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}  # fmt: skip
"""Names of llama.cpp's tensors in transformers."""
HEADS, KEY_HEADS = 9, 3
"""Of SmolLM2-135M."""


class LoraLinear(nn.Module):
    """A frozen layer and the low-rank change that is learnt beside it."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.a = nn.Parameter(torch.empty(rank, base.in_features, device=base.weight.device))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = F.linear(x, self.a.to(x.dtype))
        return self.base(x) + F.linear(low, self.b.to(x.dtype)) * self.scale


def load_base(path: Path, device: str, dtype: torch.dtype) -> LlamaForCausalLM:
    """The model in a GGUF file, its weights unpacked, in the layout of transformers."""
    reader = GGUFReader(path)
    field = {name: part.contents() for name, part in reader.fields.items() if name.startswith("llama.")}
    heads, kv = field["llama.attention.head_count"], field["llama.attention.head_count_kv"]
    tensors = {
        t.name: torch.from_numpy(np.array(dequantize(t.data, t.tensor_type), dtype=np.float32))
        for t in reader.tensors
    }
    config = LlamaConfig(
        vocab_size=tensors["token_embd.weight"].shape[0], hidden_size=field["llama.embedding_length"],
        intermediate_size=field["llama.feed_forward_length"], num_hidden_layers=field["llama.block_count"],
        num_attention_heads=heads, num_key_value_heads=kv, rms_norm_eps=field["llama.attention.layer_norm_rms_epsilon"],
        rope_theta=field["llama.rope.freq_base"], max_position_embeddings=8192, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip
    state = {
        "model.embed_tokens.weight": tensors["token_embd.weight"],
        "model.norm.weight": tensors["output_norm.weight"],
    }
    for name, tensor in tensors.items():
        if found := re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name):
            layer, part = found.groups()
            if part in ("attn_q", "attn_k"):
                tensor = unpermute(tensor, heads if part == "attn_q" else kv)
            state[f"model.layers.{layer}.{PARTS[part]}.weight"] = tensor
    model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    return model.to(device=device, dtype=dtype)


def unpermute(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of q or k from llama.cpp's order back to transformers'."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def add_adapter(model: nn.Module, rank: int, alpha: float) -> list[nn.Parameter]:
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in TARGETS and isinstance(child, nn.Linear):
                setattr(module, name, LoraLinear(child, rank, alpha))
    return [p for p in model.parameters() if p.requires_grad]


def adapter_state(model: nn.Module) -> dict[str, torch.Tensor]:
    """The learnt weights under PEFT's names."""
    state = {}
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            state[f"base_model.model.{name}.lora_A.weight"] = module.a.detach().half().cpu().contiguous()
            state[f"base_model.model.{name}.lora_B.weight"] = module.b.detach().half().cpu().contiguous()
    return state


def load_adapter(model: nn.Module, state: dict[str, torch.Tensor]) -> None:
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            with torch.no_grad():
                module.a.copy_(state[f"base_model.model.{name}.lora_A.weight"])
                module.b.copy_(state[f"base_model.model.{name}.lora_B.weight"])


def adapter_in(paths: list[Path]) -> dict[str, torch.Tensor]:
    """The weights of an adapter under PEFT's names, from the files of an earlier run or from a GGUF file."""
    if paths[0].suffix != ".gguf":
        return {name: tensor for path in paths for name, tensor in load_file(path).items()}
    state = {}
    for tensor in GGUFReader(paths[0]).tensors:
        layer, part, low = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight\.lora_([ab])", tensor.name).groups()
        values = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32))
        if low == "b" and part in ("attn_q", "attn_k"):
            values = unpermute(values, HEADS if part == "attn_q" else KEY_HEADS)
        state[f"base_model.model.model.layers.{layer}.{PARTS[part]}.lora_{low.upper()}.weight"] = values
    return state


def merged(model: nn.Module) -> nn.Module:
    """The model with the change added into its weights, for faster answers."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoraLinear):
                child.base.weight.data += (child.b @ child.a * child.scale).to(child.base.weight.dtype)
                setattr(module, name, child.base)
    return model
