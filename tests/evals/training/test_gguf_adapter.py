"""An adapter in llama.cpp's order: the rows of q and k mean there what they meant in training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from venire.agents.clients.adapters import read_adapter
from venire.evals.training.gguf_adapter import gguf_tensors, paired_rows, write_adapter
from venire.rubrics.errors import VenireError

HEADS, WIDTH, RANK = 2, 8, 4
ANGLES = 7.0 ** -np.arange(WIDTH // 2)


def turned_by_halves(head: np.ndarray, place: int) -> np.ndarray:
    """Rotary positions as transformers has them: the first half of a head turns with the second."""
    first, second = head[: WIDTH // 2], head[WIDTH // 2 :]
    sine, cosine = np.sin(place * ANGLES), np.cos(place * ANGLES)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine])


def turned_by_pairs(head: np.ndarray, place: int) -> np.ndarray:
    """The same as llama.cpp has it: each dimension turns with its neighbour."""
    first, second = head[0::2], head[1::2]
    sine, cosine = np.sin(place * ANGLES), np.cos(place * ANGLES)
    return np.stack([first * cosine - second * sine, second * cosine + first * sine], axis=1).ravel()


def attention(turn: object, q: np.ndarray, k: np.ndarray) -> list[float]:
    return [
        float(turn(q[h * WIDTH : (h + 1) * WIDTH], 5) @ turn(k[h * WIDTH : (h + 1) * WIDTH], 2))  # type: ignore[operator]
        for h in range(HEADS)
    ]


def test_attention_is_the_same_in_both_orders_and_only_with_the_rows_in_pairs() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, HEADS * WIDTH, RANK))
    x, y = rng.normal(size=(2, RANK))

    trained = attention(turned_by_halves, q @ x, k @ y)

    assert attention(turned_by_pairs, paired_rows(q, HEADS) @ x, paired_rows(k, HEADS) @ y) == pytest.approx(
        trained
    )
    assert attention(turned_by_pairs, q @ x, k @ y) != pytest.approx(trained, rel=0.05)


def test_only_the_upper_half_of_q_and_k_is_put_in_pairs() -> None:
    rng = np.random.default_rng(1)
    names = {
        part: f"base_model.model.model.layers.3.self_attn.{part}_proj.lora_{{}}.weight"
        for part in ("q", "k", "v")
    }
    weights = {
        name.format(half): rng.normal(size=(HEADS * WIDTH, RANK) if half == "B" else (RANK, 6))
        for name in names.values()
        for half in ("A", "B")
    }

    tensors = gguf_tensors(weights, heads=HEADS, key_heads=HEADS)

    assert set(tensors) == {f"blk.3.attn_{part}.weight.lora_{half}" for part in "qkv" for half in "ab"}
    for part in ("q", "k", "v"):
        lower, upper = weights[names[part].format("A")], weights[names[part].format("B")]
        assert tensors[f"blk.3.attn_{part}.weight.lora_a"] == pytest.approx(lower)
        expected = upper if part == "v" else paired_rows(upper, HEADS)
        assert tensors[f"blk.3.attn_{part}.weight.lora_b"] == pytest.approx(expected)


def test_weights_with_no_place_in_an_adapter_are_refused() -> None:
    with pytest.raises(VenireError, match="embed_tokens"):
        gguf_tensors(
            {"base_model.model.model.embed_tokens.lora_A.weight": np.zeros((1, 1))}, heads=1, key_heads=1
        )


def test_a_written_adapter_says_which_base_it_belongs_to(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    name = "base_model.model.model.layers.0.mlp.up_proj.lora_{}.weight"
    weights = {name.format("A"): np.ones((32, 64)), name.format("B"): np.ones((64, 32))}
    path = tmp_path / "mine.gguf"

    write_adapter(weights, path, alpha=8, heads=1, key_heads=1, base_sha256="ab" * 32, name="mine")

    assert read_adapter(path).base_sha256 == "ab" * 32
