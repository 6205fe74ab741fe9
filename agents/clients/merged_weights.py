"""The embedded base unpacked to 32 bits a number, an adapter's changes added in: one file, made once and kept in the user's cache folder.

An engine built without integer dot products reads packed weights slowly, and an adapter beside them more slowly still.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...rubrics.errors import VenireError
from .adapters import Adapter, file_sha256
from .gguf_file import BF16, BLOCKS, F16, F32, Q4_1, Q8_0, GGUFFile, Tensor

Array = np.ndarray[Any, np.dtype[Any]]

_FORMAT = 1
"""Counts up when another file would be made of the same base and adapter."""
_EMBEDDING = "token_embd.weight"
"""Stays packed: looked up by row for reading, it is read whole for every token written, and slower unpacked."""
_KEPT = 6
"""Files left in the cache folder, the last used ones."""
_ABANDONED = 3600.0
"""Seconds after which a half-written file is nobody's."""
_PART = ".part"
_LOWER, _UPPER = ".lora_a", ".lora_b"
_INVOKED = "adapter.alora.invocation_tokens"
"""Names the tokens that switch an adapter on."""
_one_at_a_time = threading.Lock()


class Unmergeable(ValueError):
    """An adapter that cannot be added into weights beforehand; the engine may still apply it as it runs."""


class MergedWeights:
    """One file made of a base and an adapter, and where it is kept. It is made when it is first asked for.

    Raises:
        Unmergeable: The adapter, or the base, is of a kind that cannot be merged.
    """

    def __init__(self, base: Path, adapter: Adapter | None) -> None:
        try:
            self._base = GGUFFile(base)
            self._adapter = None if adapter is None else GGUFFile(adapter.path)
        except ValueError as error:
            raise Unmergeable(str(error)) from None
        if any(tensor.kind not in BLOCKS for tensor in self._base.tensors.values()):
            raise Unmergeable(f"{base.name} has tensors of an unknown kind")
        if self._adapter is not None:
            _check_mergeable(self._base, self._adapter)
        self._kinds = {
            name: tensor.kind if name == _EMBEDDING else F32 for name, tensor in self._base.tensors.items()
        }
        self.size = self._base.rewritten_size(self._kinds)
        changed = "bare" if adapter is None else adapter.sha256[:16]
        self.path = _cache_folder() / f"embedded-{file_sha256(base)[:16]}-{changed}-{_FORMAT}.gguf"

    @property
    def is_made(self) -> bool:
        return self._is_whole(self.path)

    def file(self) -> Path:
        """The file, made now if it is not there whole; a temporary one where the cache folder cannot be written.

        Raises:
            VenireError: There is no room for it anywhere.
        """
        with _one_at_a_time:
            if self.is_made:
                # Tells which files are in use; in a folder that can only be read nobody asks.
                with suppress(OSError):
                    os.utime(self.path)
                return self.path
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _sweep(self.path.parent)
                return self._write(self.path)
            except OSError:
                return self._temporary_file()

    def _temporary_file(self) -> Path:
        try:
            path = _temporary_folder() / self.path.name
            return path if self._is_whole(path) else self._write(path)
        except OSError as error:
            raise VenireError(
                f"no room for the embedded model, which takes {self.size / 1e6:.0f} MB unpacked: {error.strerror}",
                remedy=f"make room in {self.path.parent}, or set XDG_CACHE_HOME to a folder that has it",
            ) from None

    def _is_whole(self, path: Path) -> bool:
        return path.is_file() and path.stat().st_size == self.size

    def _write(self, path: Path) -> Path:
        """Write the file beside its place and put it there whole: other processes see all of it or nothing."""
        handle, part = tempfile.mkstemp(prefix=path.stem, suffix=_PART, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                self._base.rewrite(file, self._kinds, self._contents())
                file.flush()
                os.fsync(file.fileno())
            Path(part).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(part).unlink()
            raise
        return path

    def _contents(self) -> Iterable[bytes]:
        """The bytes of every tensor, with a bar on a terminal."""
        from rich.console import Console
        from rich.progress import track

        return track(
            (self._content(name) for name in self._kinds),
            "Unpacking the embedded model, once",
            total=len(self._kinds),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )

    def _content(self, name: str) -> bytes:
        tensor = self._base.tensors[name]
        change = None if self._adapter is None else _change(self._adapter, name)
        if change is not None:
            return (_numbers(self._base, tensor) + change).tobytes()
        if self._kinds[name] == tensor.kind:
            return self._base.raw(tensor)
        return _numbers(self._base, tensor).tobytes()


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


def _sweep(folder: Path) -> None:
    """Remove half-written files that a killed process left, and all but the last used whole ones."""
    now = time.time()
    parts = [path for path in folder.glob(f"embedded-*{_PART}") if now - _last_use(path) > _ABANDONED]
    whole = sorted(folder.glob("embedded-*.gguf"), key=_last_use, reverse=True)
    for path in [*parts, *whole[_KEPT - 1 :]]:
        # Another process may have removed it, or holds it open on a system that minds.
        with suppress(OSError):
            path.unlink()


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _cache_folder() -> Path:
    """The user's, or a temporary one for a user who has no home, as in a container."""
    cache = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return (Path(cache) if cache else Path.home() / ".cache") / "venire"
    return _temporary_folder()


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="venire-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
