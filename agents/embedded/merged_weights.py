"""A base's weights unpacked to 32 bits a number, an adapter's changes added in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .gguf_file import BF16, BLOCKS, F16, F32, Q4_1, Q8_0, GGUFFile, Tensor

Array = np.ndarray[Any, np.dtype[Any]]

_EMBEDDING = "token_embd.weight"
_LOWER, _UPPER = ".lora_a", ".lora_b"
_INVOKED = "adapter.alora.invocation_tokens"
"""Names the tokens that switch an adapter on."""


class Unmergeable(ValueError):
    """An adapter, or a base, of a kind that cannot be merged."""


class MergedWeights:
    """The tensors of a base with an adapter, each unpacked when it is asked for.

    Raises:
        Unmergeable: The adapter, or the base, is of a kind that cannot be merged.
    """

    def __init__(self, base: Path, adapter: Path | None) -> None:
        try:
            self._base = GGUFFile(base)
            self._adapter = None if adapter is None else GGUFFile(adapter)
        except ValueError as error:
            raise Unmergeable(str(error)) from None
        if any(tensor.kind not in BLOCKS for tensor in self._base.tensors.values()):
            raise Unmergeable(f"{base.name} has tensors of an unknown kind")
        if self._adapter is not None:
            _check_mergeable(self._base, self._adapter)
        self.metadata = self._base.metadata
        self.adapter_metadata = {} if self._adapter is None else self._adapter.metadata

    def tensor(self, name: str) -> Array:
        """A tensor's numbers, the rows first."""
        numbers = _numbers(self._base, self._base.tensors[name])
        change = None if self._adapter is None else _change(self._adapter, name)
        return numbers if change is None else numbers + change


def _check_mergeable(base: GGUFFile, adapter: GGUFFile) -> None:
    """Refuse what is not a plain low-rank change of the base's matrices."""
    words, tensors = adapter.metadata, adapter.tensors
    if words.get("adapter.type") != "lora" or _INVOKED in words:
        raise Unmergeable("not a low-rank adapter that always applies")
    for name, tensor in tensors.items():
        place, side = name[: -len(_UPPER)], name[-len(_UPPER) :]
        if (
            side not in (_LOWER, _UPPER)
            or place == _EMBEDDING
            or tensor.kind not in BLOCKS
            or not {place + _LOWER, place + _UPPER} <= tensors.keys()
            or place not in base.tensors
        ):
            raise Unmergeable(f"{name} cannot be added to the base")
        lower, upper = tensors[place + _LOWER].shape, tensors[place + _UPPER].shape
        rank = lower[0]
        if base.tensors[place].shape != (*upper[:1], *lower[1:]) or upper[1:] != (rank,):
            raise Unmergeable(f"{name} has another shape than the base's matrix")


def _change(adapter: GGUFFile, name: str) -> Array | None:
    """What a low-rank adapter adds to a matrix of the base; None where it leaves it alone."""
    if name + _UPPER not in adapter.tensors:
        return None
    lower, upper = (_numbers(adapter, adapter.tensors[name + side]) for side in (_LOWER, _UPPER))
    alpha = float(adapter.metadata.get("adapter.lora.alpha", 0.0))
    # As llama.cpp has it: without an alpha, the change as it stands.
    scale = alpha / lower.shape[0] if alpha else 1.0
    return (upper @ lower) * np.float32(scale)


def _numbers(file: GGUFFile, tensor: Tensor) -> Array:
    """A tensor's numbers, 32 bits each."""
    blocks = np.frombuffer(file.raw(tensor), np.uint8).reshape(-1, BLOCKS[tensor.kind][1])
    return _UNPACK[tensor.kind](blocks).reshape(tensor.shape)


def _unpack_q4_1(blocks: Array) -> Array:
    """Four bits a number, with a scale and a least value: the low halves of the bytes first, then the high ones."""
    scale, least = (blocks[:, at : at + 2].view(np.float16).astype(np.float32) for at in (0, 2))
    halves = blocks[:, 4:]
    return np.concatenate([halves & 0x0F, halves >> 4], axis=1).astype(np.float32) * scale + least


def _unpack_q8_0(blocks: Array) -> Array:
    """Eight bits a number, with a scale."""
    return blocks[:, 2:].view(np.int8).astype(np.float32) * blocks[:, :2].view(np.float16).astype(np.float32)


_UNPACK: dict[int, Callable[[Array], Array]] = {
    F32: lambda blocks: blocks.view(np.float32),
    F16: lambda blocks: blocks.view(np.float16).astype(np.float32),
    BF16: lambda blocks: (blocks.view(np.uint16).astype(np.uint32) << 16).view(np.float32),
    Q4_1: _unpack_q4_1,
    Q8_0: _unpack_q8_0,
}
"""The numbers in blocks of each kind, one block a row."""
