"""A Llama transformer in numpy: tokens in, what may come next out.

A prompt is read in chunks of `CHUNK` tokens, several at once, each in a thread of its own: a chunk may enter a layer as soon as the chunk
before it has left it. The numbers do not depend on how many threads there are, nor on what was read before: every chunk is computed in the
same shape on every occasion, on one thread. (The threads of a matrix library wait for each other in every product, thousands of times a
second, and starve where other work has a core; these wait only for a neighbour that has fallen behind.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from .merged_weights import Array, MergedWeights

CHUNK = 64
"""Tokens of a prompt that are computed at a time."""

Check = Callable[[], None]
"""Called between pieces of work; raises where the work is no longer wanted."""


class Dimensions(NamedTuple):
    """The sizes of a model."""

    layers: int
    width: int
    heads: int
    key_heads: int
    """Heads of keys and values; several heads of queries share each."""
    context: int
    epsilon: float
    """Keeps the norm of a vector of zeros from dividing by zero."""
    rotation: float
    """The slowest wavelength of the positions' rotations."""

    @classmethod
    def of(cls, metadata: dict[str, Any]) -> Dimensions:
        return cls(
            metadata["llama.block_count"],
            metadata["llama.embedding_length"],
            metadata["llama.attention.head_count"],
            metadata["llama.attention.head_count_kv"],
            metadata["llama.context_length"],
            metadata["llama.attention.layer_norm_rms_epsilon"],
            metadata["llama.rope.freq_base"],
        )

    @property
    def head(self) -> int:
        """Numbers in one head."""
        return self.width // self.heads


class Layer(NamedTuple):
    """One layer's matrices, a row for each number that comes out. The norms before them are multiplied in."""

    queries_keys_values: Array
    attended: Array
    gate_and_up: Array
    down: Array


class Cache:
    """The keys and values of the tokens that were read, by layer, head and position. It grows with them."""

    def __init__(self, sizes: Dimensions) -> None:
        self._sizes = sizes
        self.keys = self.values = self._room_for(0)

    def reserve(self, tokens: int) -> None:
        """Make room for so many, and for some that may follow."""
        old = self.keys.shape[2]
        if tokens > old:
            new_keys, new_values = (self._room_for(max(tokens + CHUNK, old * 3 // 2)) for _ in range(2))
            new_keys[:, :, :old], new_values[:, :, :old] = self.keys, self.values
            self.keys, self.values = new_keys, new_values

    def _room_for(self, tokens: int) -> Array:
        sizes = self._sizes
        return np.zeros((sizes.layers, sizes.key_heads, tokens, sizes.head), np.float32)


class Transformer:
    """A model's weights, and the sums that it consists of."""

    def __init__(self, weights: MergedWeights, *, threads: int) -> None:
        self.sizes = sizes = Dimensions.of(weights.metadata)
        self._embedding = weights.tensor("token_embd.weight")
        self._last_norm = weights.tensor("output_norm.weight")
        with ThreadPoolExecutor(threads) as pool:
            self._layers = list(pool.map(lambda number: _layer(weights, sizes, number), range(sizes.layers)))
        self._threads = threads
        pace = sizes.rotation ** (-np.arange(0, sizes.head, 2) / sizes.head)
        self._rotations = np.exp(1j * np.arange(sizes.context)[:, None] * pace).astype(np.complex64)[:, None]
        """What a pair of numbers in a head, taken as one complex number, is multiplied by at each position."""

    def new_cache(self) -> Cache:
        return Cache(self.sizes)

    def read(self, tokens: Sequence[int], cache: Cache, past: int, check: Check) -> Array:
        """Read the tokens that follow `past` others in the cache; the logits of what may come after the last.

        For the same numbers on every occasion, `past` is a whole number of chunks, or the tokens are those of an answer.
        """
        cache.reserve(past + len(tokens))
        pieces = [tokens[at : at + CHUNK] for at in range(0, len(tokens), CHUNK)]
        starts = [past + at for at in range(0, len(tokens), CHUNK)]
        if min(len(pieces), self._threads) == 1:
            for piece, start in zip(pieces, starts, strict=True):
                check()
                states = self._embedding[piece]
                for number in range(self.sizes.layers):
                    states = self._through_layer(number, states, cache, start)
        else:
            states = self._read_at_once(pieces, starts, cache, check)
        return self._logits(states[-1])

    def _read_at_once(
        self, pieces: Sequence[Sequence[int]], starts: Sequence[int], cache: Cache, check: Check
    ) -> Array:
        progress = _Progress(len(pieces))

        def read_piece(index: int) -> Array:
            try:
                states = self._embedding[pieces[index]]
                for number in range(self.sizes.layers):
                    check()
                    progress.wait_for(index - 1, number)
                    states = self._through_layer(number, states, cache, starts[index])
                    progress.leave(index, number)
            except BaseException as error:
                progress.give_up(error)
                raise
            return states

        with ThreadPoolExecutor(min(self._threads, len(pieces)), "venire-embedded") as pool:
            *_, last = pool.map(read_piece, range(len(pieces)))
        return last

    def _through_layer(self, number: int, states: Array, cache: Cache, past: int) -> Array:
        layer = self._layers[number]
        # Large negative gates overflow on their way to zero.
        with np.errstate(over="ignore"):
            attended = self._attend(number, self._norm(states) @ layer.queries_keys_values.T, cache, past)
            states = states + attended @ layer.attended.T
            gate, up = np.split(self._norm(states) @ layer.gate_and_up.T, 2, axis=1)
            return states + (gate / (1 + np.exp(-gate)) * up) @ layer.down.T

    def _attend(self, number: int, projected: Array, cache: Cache, past: int) -> Array:
        """What each token gathers from those before it, itself included."""
        _, width, heads, groups, *_ = self.sizes
        count, head, end = len(projected), self.sizes.head, past + len(projected)
        turned = projected[:, : width + groups * head].reshape(count, heads + groups, head)
        turned = (turned.view(np.complex64) * self._rotations[past:end]).view(np.float32)
        keys, values = cache.keys[number], cache.values[number]
        keys[:, past:end] = turned[:, heads:].transpose(1, 0, 2)
        values[:, past:end] = (
            projected[:, width + groups * head :].reshape(count, groups, head).transpose(1, 0, 2)
        )
        queries = turned[:, :heads].transpose(1, 0, 2).reshape(groups, -1, head)
        scores = queries @ keys[:, :end].transpose(0, 2, 1)
        if count > 1:
            scores.reshape(heads, count, end)[:, :, past:] += _MASK[:count, :count]
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        gathered = scores @ values[:, :end]
        gathered /= scores.sum(axis=-1, keepdims=True)
        return gathered.reshape(heads, count, head).transpose(1, 0, 2).reshape(count, width)

    def _norm(self, states: Array) -> Array:
        squares = np.einsum("...i,...i->...", states, states)[..., None]
        return states / np.sqrt(squares / np.float32(self.sizes.width) + np.float32(self.sizes.epsilon))

    def _logits(self, state: Array) -> Array:
        return self._embedding @ (self._norm(state) * self._last_norm)


class _Progress:
    """How far each chunk has come through the layers."""

    def __init__(self, pieces: int) -> None:
        self._left = [-1] * pieces
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def wait_for(self, index: int, layer: int) -> None:
        """Until a chunk has left a layer."""
        if index < 0:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._left[index] >= layer or self._error is not None)
            if self._error is not None:
                raise self._error

    def leave(self, index: int, layer: int) -> None:
        with self._changed:
            self._left[index] = layer
            self._changed.notify_all()

    def give_up(self, error: BaseException) -> None:
        """Whoever waits for a chunk meets the error of the one that failed."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


_MASK = np.triu(np.full((CHUNK, CHUNK), -np.inf, np.float32), 1)
"""Added to scores within a chunk: no token attends to a later one."""


def _layer(weights: MergedWeights, sizes: Dimensions, number: int) -> Layer:
    def tensor(name: str) -> Array:
        return weights.tensor(f"blk.{number}.{name}.weight")

    scale = np.float32(sizes.head**-0.5)
    queries_keys_values = np.concatenate([tensor("attn_q") * scale, tensor("attn_k"), tensor("attn_v")])
    queries_keys_values *= tensor("attn_norm")
    gate_and_up = np.concatenate([tensor("ffn_gate"), tensor("ffn_up")])
    gate_and_up *= tensor("ffn_norm")
    return Layer(queries_keys_values, tensor("attn_output"), gate_and_up, tensor("ffn_down"))
