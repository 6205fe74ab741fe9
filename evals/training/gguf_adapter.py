"""Adapters as llama.cpp reads them: low-rank weights in PEFT's names, written to one GGUF file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...rubrics.errors import MissingExtra, VenireError

_PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAME = re.compile(
    r"(?:base_model\.model\.)?model\.layers\.(\d+)\.([\w.]+)\.lora_([AB])(?:\.default)?\.weight"
)
_BLOCK = 32
"""Weights that one scale of an 8-bit tensor covers."""

Weights = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]


def write_adapter(
    weights: Weights,
    path: Path,
    *,
    alpha: float,
    heads: int,
    key_heads: int,
    base_sha256: str,
    name: str,
    details: Mapping[str, str] | None = None,
) -> None:
    """Write the low-rank weights of a Llama model to `path`, in eight bits where their shape allows.

    The rows of q and k are put into llama.cpp's order: it turns neighbouring pairs of a head's dimensions, where transformers
    turns the first half with the second. Left as they are, the likeliest words look right and their probabilities are not.

    Args:
        heads: Attention heads of the base model, and `key_heads` those of its keys and values.
        base_sha256: The hash of the base weights, without which the adapter is worth nothing; clients refuse others.
        details: Further words for the file's header (licence, source of the data ...).
    """
    gguf = _gguf()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_string("venire.base.sha256", base_sha256)
    for key, value in (details or {}).items():
        writer.add_string(key, value)
    for tensor, values in sorted(gguf_tensors(weights, heads=heads, key_heads=key_heads).items()):
        eight_bits = values.shape[-1] % _BLOCK == 0
        kind = gguf.GGMLQuantizationType.Q8_0 if eight_bits else gguf.GGMLQuantizationType.F16
        writer.add_tensor(tensor, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_tensors(
    weights: Weights, *, heads: int, key_heads: int
) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The weights under llama.cpp's names, the rows of q and k in its order."""
    tensors: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}
    for name, values in weights.items():
        match = _NAME.fullmatch(name)
        part = _PARTS.get(match[2]) if match else None
        if match is None or part is None:
            raise VenireError(
                f"{name} cannot be part of an adapter for llama.cpp",
                remedy="train only the linear layers of attention and MLP",
            )
        matrix = np.asarray(values, dtype=np.float32)
        if match[3] == "B" and part in ("attn_q", "attn_k"):
            matrix = paired_rows(matrix, heads if part == "attn_q" else key_heads)
        tensors[f"blk.{match[1]}.{part}.weight.lora_{match[3].lower()}"] = matrix
    return tensors


def paired_rows(matrix: np.ndarray[Any, np.dtype[Any]], heads: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Rows ordered by half of each head (transformers), ordered by pair (llama.cpp)."""
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def read_peft_folder(folder: Path) -> tuple[dict[str, np.ndarray[Any, np.dtype[Any]]], float]:
    """The weights of a Hugging Face adapter folder, and its alpha."""
    try:
        from safetensors.numpy import load_file
    except ImportError:
        raise _missing() from None
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    alpha = float(config["lora_alpha"])
    if config.get("use_rslora"):
        # llama.cpp divides by the rank, rsLoRA by its root.
        alpha *= float(config["r"]) ** 0.5
    return load_file(folder / "adapter_model.safetensors"), alpha


def write_peft_folder(weights: Weights, folder: Path, *, rank: int, alpha: float, base: str) -> None:
    """Write the low-rank weights as a Hugging Face adapter folder."""
    try:
        from safetensors.numpy import save_file
    except ImportError:
        raise _missing() from None
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(weights), folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "target_modules": sorted({name.split(".lora_")[0].rsplit(".", 1)[1] for name in weights}),
        "bias": "none",
        "inference_mode": True,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _gguf() -> Any:
    try:
        import gguf
    except ImportError:
        raise _missing() from None
    return gguf


def _missing() -> MissingExtra:
    return MissingExtra(
        "writing an adapter needs the packages gguf and safetensors", remedy="pip install 'venire[train]'"
    )
