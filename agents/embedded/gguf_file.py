"""GGUF, the file format of llama.cpp's weights: header and tensors read."""

from __future__ import annotations

import mmap
import struct
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_ALIGNMENT = 32
_MOST = 2**26
"""What no count in a model's header reaches: the longest context there is has ten million tokens."""


F32, F16, Q4_1, Q8_0, BF16 = 0, 1, 3, 8, 30
"""Kinds of tensors, by their numbers in the file."""
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_1: (32, 20), Q8_0: (32, 34), BF16: (1, 2)}
"""How each keeps its numbers: so many to a block of so many bytes."""


class Tensor(NamedTuple):
    """A tensor's place in a file. Its shape has the rows first, as in numpy."""

    shape: tuple[int, ...]
    kind: int
    start: int


class GGUFFile:
    """A file's header and tensors, read where they lie.

    Raises:
        ValueError: It is not a GGUF file, or is cut short in its header.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._read()
        except Exception:
            # A header may hold anything: whatever Python says of it, the file cannot be used.
            raise ValueError(f"{path.name} is not a whole GGUF file") from None

    def _read(self) -> None:
        cursor = _Cursor(self._bytes)
        if cursor.take(4) != _MAGIC:
            raise struct.error
        _version, tensors, entries = cursor.numbers("IQQ")
        self.metadata: dict[str, Any] = {
            cursor.text(): cursor.value(cursor.numbers("I")[0]) for _ in range(entries)
        }
        table = [(cursor.text(), cursor.dimensions(), *cursor.numbers("IQ")) for _ in range(tensors)]
        start = cursor.at + -cursor.at % int(self.metadata.get("general.alignment", _ALIGNMENT))
        self.tensors = {
            name: Tensor(shape[::-1], kind, start + offset) for name, shape, kind, offset in table
        }
        if any(
            kind in BLOCKS and start + packed_size(shape, kind) > len(self._bytes)
            for shape, kind, start in self.tensors.values()
        ):
            raise struct.error

    def raw(self, tensor: Tensor) -> bytes:
        """A tensor's bytes as they are."""
        return self._bytes[tensor.start : tensor.start + packed_size(tensor.shape, tensor.kind)]


def impossible_header(file: GGUFFile) -> str:
    """What no model's header says, which an engine may not survive; empty where there is nothing of the kind."""
    words = file.metadata
    kind = words.get("general.architecture")
    if not isinstance(kind, str):
        return "the file names no architecture"
    for name, value in words.items():
        if name.startswith(f"{kind}.") and isinstance(value, int) and not 0 <= value < _MOST:
            return f"{name} cannot be {value}"
    blocks = {name.split(".")[1] for name in file.tensors if name.startswith("blk.")}
    stated = words.get(f"{kind}.block_count")
    if blocks and stated != len(blocks):
        return f"{kind}.block_count is {stated}, and the file has {len(blocks)} blocks"
    return ""


def packed_size(shape: tuple[int, ...], kind: int) -> int:
    """The bytes that a tensor of this shape and kind takes."""
    numbers, size = BLOCKS[kind]
    return prod(shape) // numbers * size


class _Cursor:
    """A place in a file's bytes that moves on as they are read; `struct.error` where there are no more."""

    def __init__(self, buffer: mmap.mmap) -> None:
        self._buffer = buffer
        self.at = 0

    def take(self, length: int) -> bytes:
        taken = self._buffer[self.at : self.at + length]
        if len(taken) != length:
            raise struct.error
        self.at += length
        return taken

    def numbers(self, forms: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{forms}", self._buffer, self.at)
        self.at += struct.calcsize(f"<{forms}")
        return found

    def text(self) -> str:
        return self.take(self.numbers("Q")[0]).decode("utf-8")

    def dimensions(self) -> tuple[int, ...]:
        return self.numbers(f"{self.numbers('I')[0]}Q")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            item, count = self.numbers("IQ")
            if item in _NUMBERS:
                return list(self.numbers(f"{count}{_NUMBERS[item]}"))
            return [self.value(item) for _ in range(count)]
        return self.numbers(_NUMBERS[kind])[0]
