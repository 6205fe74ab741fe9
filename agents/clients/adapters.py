"""Adapters: small files that change what a local model answers. Which one a seat has, its hash, and the base it belongs to."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError

SHIPPED = Path(__file__).parent.parent / "adapters" / "embedded-juror.gguf"
"""What `local` adds to the embedded base: weights taught to fill in ballots."""
SHIPPED_SHA256 = "d4d936248258b84858df9cbfeaaa4b6614a831117af041594c3836f34f68294e"
BARE = "local/base"
"""The embedded base without it."""


class Adapter(NamedTuple):
    """An adapter file: its hash, and that of the base weights it was trained on where it says so."""

    path: Path
    sha256: str
    base_sha256: str | None


def adapter_of(settings: ModelSettings) -> Adapter | None:
    """The adapter that a seat's local model answers with: the one it names, or with plain `local` the one that is shipped."""
    model = settings.model or "local"
    if settings.adapter is not None:
        if not (model == "local" or model.startswith("local/")):
            raise VenireError(
                f"an adapter can be used only with a local model, not with {model}",
                remedy="name a local model: local, local/base or local/PATH.gguf",
            )
        return read_adapter(Path(settings.adapter).expanduser())
    return shipped_adapter() if model == "local" else None


def shipped_adapter() -> Adapter:
    """The adapter that is part of this package; a `VenireError` where it is not, byte for byte, the one it should be."""
    if not SHIPPED.is_file() or file_sha256(SHIPPED) != SHIPPED_SHA256:
        raise VenireError(
            f"the adapter {SHIPPED.name} that is part of venire is missing or was changed",
            remedy="install venire again, or use the model local/base, which needs no adapter",
        )
    return read_adapter(SHIPPED)


def read_adapter(path: Path) -> Adapter:
    """The adapter in a file; a `VenireError` where it is not one."""
    if not path.is_file():
        raise VenireError(
            f"there is no adapter file at {path}",
            remedy="correct adapter: in the jury file; the path is relative to the jury file",
        )
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


def check_base(adapter: Adapter, base: Path) -> None:
    """Refuse base weights that the adapter was not trained on: its answers would be noise that looks like answers."""
    if adapter.base_sha256 is not None and file_sha256(base) != adapter.base_sha256:
        raise VenireError(
            f"the adapter {adapter.path.name} was trained on other base weights than {base.name}",
            remedy=f"use the base weights with SHA-256 {adapter.base_sha256[:16]}..., or another adapter",
        )


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, computed once for as long as it does not change."""
    status = path.stat()
    return _file_sha256(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _file_sha256(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> Adapter:
    from ..embedded.gguf_file import GGUFFile

    try:
        header = GGUFFile(path).metadata
    except (ValueError, OSError):
        header = {}
    if header.get("general.type") != "adapter":
        raise VenireError(
            f"{path.name} is not an adapter in GGUF format",
            remedy="convert the adapter to GGUF first; see docs/training.md",
        )
    return Adapter(path, _file_sha256(path, changed, size), header.get("venire.base.sha256"))
