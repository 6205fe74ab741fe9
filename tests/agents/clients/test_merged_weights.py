"""The base unpacked and an adapter added in: the right numbers, written once, whole or not at all."""

from __future__ import annotations

import errno
import os
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from first_tokens import first_tokens
from gguf_files import bf16, f16, f32, q4_1, q8_0, write_gguf

from venire.agents.clients import local, merged_weights, weights
from venire.agents.clients.adapters import SHIPPED, read_adapter
from venire.agents.clients.gguf_file import F32, GGUFFile
from venire.agents.clients.merged_weights import MergedWeights, Unmergeable
from venire.agents.doctor import diagnose
from venire.rubrics.errors import VenireError

RNG = np.random.default_rng(5)
WHOLE = RNG.integers(0, 16, (2, 32))
SCALES, LEAST = [0.5, 0.25], [-1.0, 2.0]
MATRIX = WHOLE * np.array(SCALES)[:, None] + np.array(LEAST)[:, None]
EMBEDDING = q8_0([0.5], RNG.integers(-127, 128, (1, 32)))
LOWER = RNG.integers(-3, 4, (4, 32))
UPPER = RNG.integers(-3, 4, (2, 4))
LORA = {"general.type": "adapter", "adapter.type": "lora", "adapter.lora.alpha": 8.0}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    merged_weights._temporary_folder.cache_clear()
    return tmp_path / "cache" / "venire"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    words = {"general.architecture": "llama", "tokenizer.ggml.tokens": ["a", "\u00e9", ""]}
    tensors = {
        "token_embd.weight": EMBEDDING,
        "blk.0.attn_norm.weight": f32(np.ones(5)),
        "blk.0.attn_q.weight": q4_1(SCALES, LEAST, WHOLE),
    }
    return write_gguf(tmp_path / "base.gguf", words, tensors)


def adapter(
    path: Path, lower: Any = None, upper: Any = None, place: str = "blk.0.attn_q.weight", **words: Any
) -> Any:
    tensors = {
        f"{place}.lora_a": f32(LOWER) if lower is None else lower,
        f"{place}.lora_b": f32(UPPER) if upper is None else upper,
    }
    return read_adapter(write_gguf(path, {**LORA, **words}, tensors))


def matrix_in(path: Path) -> Any:
    file = GGUFFile(path)
    tensor = file.tensors["blk.0.attn_q.weight"]
    assert tensor.kind == F32
    return np.frombuffer(file.raw(tensor), "<f4").reshape(tensor.shape)


def test_the_bare_base_is_unpacked_and_all_else_stays(base: Path) -> None:
    made = MergedWeights(base, None).file()

    before, after = GGUFFile(base), GGUFFile(made)
    assert after.metadata == before.metadata
    assert list(after.tensors) == list(before.tensors)
    for name in ("token_embd.weight", "blk.0.attn_norm.weight"):
        assert after.raw(after.tensors[name]) == before.raw(before.tensors[name])
    assert matrix_in(made) == pytest.approx(MATRIX)
    assert made.stat().st_size == MergedWeights(base, None).size


@pytest.mark.parametrize("kind", [f32, f16, bf16, lambda values: q8_0([0.5] * len(values), 2 * values)])
def test_an_adapter_of_any_kind_is_added_by_alpha_over_rank(base: Path, tmp_path: Path, kind: Any) -> None:
    made = MergedWeights(base, adapter(tmp_path / "a.gguf", lower=kind(LOWER))).file()

    assert matrix_in(made) == pytest.approx(MATRIX + 8 / 4 * UPPER @ LOWER)


def test_an_adapter_without_an_alpha_is_added_as_it_stands(base: Path, tmp_path: Path) -> None:
    made = MergedWeights(base, adapter(tmp_path / "a.gguf", **{"adapter.lora.alpha": 0.0})).file()

    assert matrix_in(made) == pytest.approx(MATRIX + UPPER @ LOWER)


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
def test_what_cannot_be_added_beforehand_is_left_to_the_engine(
    base: Path, tmp_path: Path, odd: dict[str, Any]
) -> None:
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


def test_it_is_made_once_and_again_when_it_is_not_whole(base: Path) -> None:
    wanted = MergedWeights(base, None)
    assert not wanted.is_made
    made = wanted.file()
    first = made.stat().st_ino

    assert MergedWeights(base, None).file().stat().st_ino == first
    with made.open("r+b") as file:
        file.truncate(10)
    assert not wanted.is_made
    assert wanted.file().stat().st_size == wanted.size


def test_every_adapter_has_a_file_of_its_own(base: Path, tmp_path: Path) -> None:
    one, other = (adapter(tmp_path / f"{n}.gguf", upper=f32(UPPER * n)) for n in (1, 2))

    assert len({MergedWeights(base, which).file() for which in (None, one, other)}) == 3


def test_only_the_last_used_files_are_kept_and_nothing_half_written(base: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    for number in range(9):
        for name in (f"embedded-old{number}.gguf", f"embedded-old{number}.part"):
            (cache / name).write_bytes(b"x")
            os.utime(cache / name, (number, number))
    (cache / "embedded-now.part").write_bytes(b"being written")
    (cache / "mine.txt").write_bytes(b"not ours")

    made = MergedWeights(base, None).file()

    kept = {f"embedded-old{number}.gguf" for number in range(4, 9)}
    assert {path.name for path in cache.iterdir()} == {made.name, *kept, "embedded-now.part", "mine.txt"}


def test_a_failure_in_the_midst_leaves_nothing(
    base: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MergedWeights, "_content", interrupted)

    with pytest.raises(KeyboardInterrupt):
        MergedWeights(base, None).file()

    assert not list(cache.iterdir())


def test_where_the_cache_cannot_be_written_it_is_a_temporary_file(
    base: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.write_text("a file where the folder should be")
    (tmp_path / "passing").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "passing"))

    made = MergedWeights(base, None).file()

    assert made.is_relative_to(tmp_path / "passing")
    assert matrix_in(made) == pytest.approx(MATRIX)
    assert MergedWeights(base, None).file() == made


def test_a_user_without_a_home_gets_a_temporary_file(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    made = MergedWeights(base, None).file()
    assert made.is_file()
    assert made.is_relative_to(merged_weights._temporary_folder())


def test_no_room_anywhere_is_told_with_what_to_do(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(MergedWeights, "_write", full)

    with pytest.raises(VenireError, match="No space left") as error:
        MergedWeights(base, None).file()

    assert "XDG_CACHE_HOME" in error.value.remedy


# With the engine

PROMPTS = (
    "The patient was given",
    "Blood pressure was no more than",
    "She denies any",
    "The summary is about",
)


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or weights.weights_path() is None,
    reason="needs xllamacpp and the embedded weights (venire model install)",
)
def test_the_merged_file_gives_the_probabilities_of_base_and_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    base, shipped = weights.weights_path(), read_adapter(SHIPPED)
    assert base is not None
    merged = MergedWeights(base, shipped).file()

    one = first_tokens(merged, None, PROMPTS)

    # Packed weights are multiplied in eight bits, so a little is off; without the adapter nearly all of it is.
    assert np.mean(_distances(one, first_tokens(base, shipped, PROMPTS))) < 0.15
    assert np.mean(_distances(one, first_tokens(base, None, PROMPTS))) > 0.4


def _distances(one: list[dict[int, float]], other: list[dict[int, float]]) -> list[float]:
    """How far shared tokens are apart; one that is not shared counts as a whole nat."""
    return [
        abs(likely[token] - known[token]) if token in known else 1.0
        for likely, known in zip(one, other, strict=True)
        for token in likely
    ]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("CPU : NEON = 1 | ARM_FMA = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | ", True),
        ("CPU : NEON = 1 | ARM_FMA = 1 | DOTPROD = 1 | LLAMAFILE = 1 | ", False),
        ("CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | ", False),
        ("CPU : SSE3 = 1 | AVX = 1 | AVX2 = 0 | ", True),
    ],
)
def test_weights_are_unpacked_only_where_the_engine_has_no_integer_dot_products(
    told: str, expected: bool, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_llama", lambda: type("Engine", (), {"get_system_info": lambda: told}))
    monkeypatch.setattr(local, "weights_path", lambda: base)

    assert local.unpacks() == expected
    assert local.engine_files(base, None) == (MergedWeights(base, None).path if expected else base, None)


def test_a_file_of_ones_own_is_loaded_as_it_is(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(base.read_bytes())
    monkeypatch.setattr(local, "unpacks", lambda: True)
    monkeypatch.setattr(local, "weights_path", lambda: base)

    assert local.engine_files(mine, None) == (mine, None)


@pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")
def test_the_doctor_tells_what_is_loaded() -> None:
    assert "MB (" in diagnose()["engine"] or "as they are" in diagnose()["engine"]
