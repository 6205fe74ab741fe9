"""The base unpacked and an adapter added in: the right numbers, and nothing that cannot be added."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from first_tokens import first_tokens
from gguf_files import bf16, f16, f32, q4_1, q8_0, write_gguf

from venire.agents.clients import weights
from venire.agents.clients.adapters import SHIPPED, read_adapter
from venire.agents.embedded.gguf_file import GGUFFile
from venire.agents.embedded.language_model import LanguageModel
from venire.agents.embedded.merged_weights import MergedWeights, Unmergeable

RNG = np.random.default_rng(5)
WHOLE = RNG.integers(0, 16, (2, 32))
SCALES, LEAST = [0.5, 0.25], [-1.0, 2.0]
MATRIX = WHOLE * np.array(SCALES)[:, None] + np.array(LEAST)[:, None]
EMBEDDING = RNG.integers(-127, 128, (1, 32))
MATRIX_NAME = "blk.0.attn_q.weight"
LOWER = RNG.integers(-3, 4, (4, 32))
UPPER = RNG.integers(-3, 4, (2, 4))
LORA = {"general.type": "adapter", "adapter.type": "lora", "adapter.lora.alpha": 8.0}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    words = {"general.architecture": "llama", "tokenizer.ggml.tokens": ["a", "\u00e9", ""]}
    tensors = {
        "token_embd.weight": q8_0([0.5], EMBEDDING),
        "blk.0.attn_norm.weight": f32(np.ones(5)),
        MATRIX_NAME: q4_1(SCALES, LEAST, WHOLE),
    }
    return write_gguf(tmp_path / "base.gguf", words, tensors)


def adapter(path: Path, lower: Any = None, upper: Any = None, place: str = MATRIX_NAME, **words: Any) -> Path:
    tensors = {
        f"{place}.lora_a": f32(LOWER) if lower is None else lower,
        f"{place}.lora_b": f32(UPPER) if upper is None else upper,
    }
    return write_gguf(path, {**LORA, **words}, tensors)


def test_the_bare_base_is_unpacked(base: Path) -> None:
    merged = MergedWeights(base, None)

    assert merged.tensor(MATRIX_NAME) == pytest.approx(MATRIX)
    assert merged.tensor("token_embd.weight") == pytest.approx(0.5 * EMBEDDING)
    assert merged.tensor("blk.0.attn_norm.weight") == pytest.approx(np.ones(5))
    assert merged.tensor(MATRIX_NAME).dtype == np.float32
    assert merged.metadata == GGUFFile(base).metadata


@pytest.mark.parametrize("kind", [f32, f16, bf16, lambda values: q8_0([0.5] * len(values), 2 * values)])
def test_an_adapter_of_any_kind_is_added_by_alpha_over_rank(base: Path, tmp_path: Path, kind: Any) -> None:
    merged = MergedWeights(base, adapter(tmp_path / "a.gguf", lower=kind(LOWER)))

    assert merged.tensor(MATRIX_NAME) == pytest.approx(MATRIX + 8 / 4 * UPPER @ LOWER)
    assert merged.tensor("token_embd.weight") == pytest.approx(0.5 * EMBEDDING)


def test_an_adapter_without_an_alpha_is_added_as_it_stands(base: Path, tmp_path: Path) -> None:
    merged = MergedWeights(base, adapter(tmp_path / "a.gguf", **{"adapter.lora.alpha": 0.0}))

    assert merged.tensor(MATRIX_NAME) == pytest.approx(MATRIX + UPPER @ LOWER)


@pytest.mark.parametrize(
    "odd",
    [
        {"place": "blk.7.attn_q.weight"},
        {"place": "token_embd.weight"},
        {"place": "blk.0.attn_norm.weight"},
        {"upper": f32(np.zeros((3, 4)))},
        {"upper": f32(np.zeros((2, 5)))},
        {"lower": f32(np.zeros(32))},
        {"lower": (2, (4, 32), bytes(4 * 18))},
        {"adapter.type": "other"},
        {"adapter.alora.invocation_tokens": ["a"]},
    ],
    ids=[
        "no-such-tensor",
        "embedding",
        "a-vector",
        "rows",
        "rank",
        "one-row",
        "unknown-kind",
        "no-lora",
        "on-call",
    ],
)
def test_what_cannot_be_added_is_refused(base: Path, tmp_path: Path, odd: dict[str, Any]) -> None:
    with pytest.raises(Unmergeable):
        MergedWeights(base, adapter(tmp_path / "a.gguf", **odd))


def test_a_file_cut_short_is_not_a_gguf_file(base: Path) -> None:
    whole = base.read_bytes()
    for length in (0, 3, 10, 40, 200, len(whole) - 40):
        base.write_bytes(whole[:length])
        with pytest.raises(ValueError):
            GGUFFile(base)


@pytest.mark.parametrize(
    "head",
    [
        (b"general.alignment", struct.pack("<II", 4, 0)),
        (b"general.alignment", struct.pack("<IIQ", 9, 4, 0)),
        (b"deep", struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 2000),
        (b"long", struct.pack("<IIQ", 9, 8, 2**62)),
        (b"odd", struct.pack("<I", 99)),
    ],
    ids=["no alignment", "alignment is a list", "lists in lists", "endless list", "unknown kind"],
)
def test_a_hostile_head_is_not_a_gguf_file(tmp_path: Path, head: tuple[bytes, bytes]) -> None:
    name, value = head
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, len(name)) + name + value)
    with pytest.raises(ValueError, match="not a whole GGUF file"):
        GGUFFile(path)


PROMPTS = (
    "The patient was given",
    "The summary is about",
)


@pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")
def test_the_embedded_model_has_the_probabilities_of_base_and_adapter_in_llama_cpp() -> None:
    pytest.importorskip("xllamacpp")
    base, shipped = weights.weights_path(), read_adapter(SHIPPED)
    assert base is not None
    model = LanguageModel(base, SHIPPED, context=256, threads=2)

    mine = [model.log_probabilities(model.encode(prompt)) for prompt in PROMPTS]

    # llama.cpp multiplies packed weights in eight bits, so a little is off; without the adapter nearly all of it is.
    assert _distance(mine, first_tokens(base, shipped, PROMPTS)) < 0.15
    assert _distance(mine, first_tokens(base, None, PROMPTS)) > 0.4


def _distance(mine: list[Any], other: list[dict[int, float]]) -> float:
    """How far the other's likeliest tokens are from what they have here, on average."""
    apart = [
        abs(known[token] - likely[token])
        for known, likely in zip(mine, other, strict=True)
        for token in likely
    ]
    return float(np.mean(apart))
