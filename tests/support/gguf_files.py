"""GGUF files written by hand: small ones, of any kind of tensor, that owe nothing to the code under test."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Tensors = Mapping[str, tuple[int, tuple[int, ...], bytes]]
"""By name: the kind, the shape with the rows first, and the bytes."""


Word = str | bool | int | float | Sequence[str] | Sequence[int]


def write_gguf(path: Path, words: Mapping[str, Word], tensors: Tensors | None = None) -> Path:
    """A GGUF file with these words at its head and these tensors."""
    tensors = tensors or {}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(words))
    for name, value in words.items():
        kind, content = _word(value)
        head += _text(name) + struct.pack("<I", kind) + content
    data = bytearray()
    for name, (kind, shape, content) in tensors.items():
        head += _text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", size) for size in reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += _filled(content)
    path.write_bytes(_filled(head) + data if tensors else head)
    return path


def f32(values: Any) -> tuple[int, tuple[int, ...], bytes]:
    return _plain(0, values, "<f4")


def f16(values: Any) -> tuple[int, tuple[int, ...], bytes]:
    return _plain(1, values, "<f2")


def bf16(values: Any) -> tuple[int, tuple[int, ...], bytes]:
    """The upper halves of 32-bit numbers: exact for small whole ones."""
    array = np.asarray(values, "<f4")
    return 30, array.shape, (array.view("<u4") >> 16).astype("<u2").tobytes()


def q8_0(scales: Sequence[float], whole: Any) -> tuple[int, tuple[int, ...], bytes]:
    """A row for each scale, of 32 whole numbers from -127 to 127."""
    rows = np.asarray(whole, "i1")
    blocks = [struct.pack("<e32b", scale, *row) for scale, row in zip(scales, rows, strict=True)]
    return 8, rows.shape, b"".join(blocks)


def q4_1(scales: Sequence[float], least: Sequence[float], whole: Any) -> tuple[int, tuple[int, ...], bytes]:
    """A row for each scale, of 32 whole numbers from 0 to 15."""
    rows = np.asarray(whole, "u1")
    blocks = b""
    for scale, low, row in zip(scales, least, rows, strict=True):
        blocks += struct.pack("<ee", scale, low) + bytes(
            int(row[i]) | int(row[i + 16]) << 4 for i in range(16)
        )
    return 3, rows.shape, blocks


def _plain(kind: int, values: Any, form: str) -> tuple[int, tuple[int, ...], bytes]:
    array = np.asarray(values, form)
    return kind, array.shape, array.tobytes()


def _word(value: Word) -> tuple[int, bytes]:
    """The number of a value's kind, and its bytes."""
    match value:
        case str():
            return 8, _text(value)
        case bool():
            return 7, struct.pack("<?", value)
        case int():
            return 4, struct.pack("<I", value)
        case float():
            return 6, struct.pack("<f", value)
        case [int(), *_]:
            return 9, struct.pack(f"<IQ{len(value)}i", 5, len(value), *value)
        case _:
            return 9, struct.pack("<IQ", 8, len(value)) + b"".join(map(_text, value))  # type: ignore[arg-type]


def _text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def _filled(content: bytes) -> bytes:
    return content + bytes(-len(content) % 32)
