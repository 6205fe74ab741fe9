"""A Llama transformer in numpy: tokens in, what may come next out.

A prompt is read in chunks of `CHUNK` tokens, several at once, each in a thread of its own: a chunk may enter a layer as soon as the chunk
before it has left it. The numbers do not depend on how many threads there are, nor on what was read before: every chunk is computed in the
same shape on every occasion, on one thread. (The threads of a matrix library wait for each other in every product, thousands of times a
second, and starve where other work has a core; these wait only for a neighbour that has fallen behind.)

An answer is read in blocks of `BLOCK` tokens, of which the last may be guesses or of no meaning: the time goes into fetching the weights from
memory, which eight tokens need once. The shape is the same however many of them count. In all products a token is a column.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from .merged_weights import Array, MergedWeights

_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits the process's BLAS library for as long as anybody is inside: the setting is the whole process's."""
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.__exit__(None, None, None)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


CHUNK = 96
"""Tokens of a prompt that are computed at a time."""
BLOCK = 8
"""Tokens of an answer that are computed at a time."""
_PANEL = 64
"""Rows of a matrix that are multiplied at a time where few columns are: so few are not copied first, which would take longer than the product."""
_SPAN = 256
"""Positions that are attended to at a time in an answer: what is added for later ones, which are masked, is zero and changes no bit."""

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

    @property
    def room(self) -> int:
        """Tokens that it could hold without growing."""
        return self.keys.shape[2]

    def copy(self, other: Cache, tokens: int) -> None:
        """Begin with the first tokens of another cache."""
        self.reserve(tokens)
        self.keys[:, :, :tokens], self.values[:, :, :tokens] = (
            other.keys[:, :, :tokens],
            other.values[:, :, :tokens],
        )

    def reserve(self, tokens: int) -> None:
        """Make room for so many, and for some that may follow."""
        old = self.room
        if tokens > old:
            room = _in_whole_spans(max(tokens + CHUNK, old * 3 // 2))
            new_keys, new_values = (self._room_for(room) for _ in range(2))
            new_keys[:, :, :old], new_values[:, :, :old] = self.keys, self.values
            self.keys, self.values = new_keys, new_values

    def _room_for(self, tokens: int) -> Array:
        sizes = self._sizes
        return np.zeros((sizes.layers, sizes.key_heads, tokens, sizes.head), np.float32)


_Gather = Callable[[Array, Array, Array, int], Array]


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
        positions = np.arange(sizes.context + BLOCK)[:, None]
        self._rotations = np.exp(1j * positions * pace).astype(np.complex64)[:, None]
        """What a pair of numbers in a head, taken as one complex number, is multiplied by at each position."""

    def new_cache(self) -> Cache:
        return Cache(self.sizes)

    def read(self, tokens: Sequence[int], cache: Cache, past: int, check: Check) -> Array:
        """Read the tokens of a prompt that follow `past` others in the cache; the logits of what may come after the last.

        For the same numbers on every occasion, `past` is a whole number of chunks.
        """
        cache.reserve(past + len(tokens))
        pieces = [tokens[at : at + CHUNK] for at in range(0, len(tokens), CHUNK)]
        starts = [past + at for at in range(0, len(tokens), CHUNK)]
        if min(len(pieces), self._threads) == 1:
            for piece, start in zip(pieces, starts, strict=True):
                check()
                states = self._states_of(piece)
                for number in range(self.sizes.layers):
                    states = self._through_layer(number, states, cache, start, self._gather)
        else:
            states = self._read_at_once(pieces, starts, cache, check)
        return self._logits(states[:, -1:])[:, 0]

    def read_block(self, tokens: Sequence[int], cache: Cache, past: int) -> Array:
        """Read up to `BLOCK` tokens of an answer that follow `past` others in the cache; the logits of what may come after each, a row for each.

        The numbers of a token do not depend on those that follow it, nor on where the block began.
        """
        cache.reserve(past + BLOCK)
        states = self._states_of([*tokens, *[0] * (BLOCK - len(tokens))])
        for number in range(self.sizes.layers):
            states = self._through_layer(number, states, cache, past, self._gather_in_spans)
        return np.ascontiguousarray(self._logits(states).T[: len(tokens)])

    def _read_at_once(
        self, pieces: Sequence[Sequence[int]], starts: Sequence[int], cache: Cache, check: Check
    ) -> Array:
        progress = _Progress(len(pieces))

        def read_piece(index: int) -> Array:
            try:
                states = self._states_of(pieces[index])
                for number in range(self.sizes.layers):
                    check()
                    progress.wait_for(index - 1, number)
                    states = self._through_layer(number, states, cache, starts[index], self._gather)
                    progress.leave(index, number)
            except BaseException as error:
                progress.give_up(error)
                raise
            return states

        with ThreadPoolExecutor(min(self._threads, len(pieces)), "venire-embedded") as pool:
            *_, last = pool.map(read_piece, range(len(pieces)))
        return last

    def _states_of(self, tokens: Sequence[int]) -> Array:
        return np.ascontiguousarray(self._embedding[tokens].T)

    def _through_layer(self, number: int, states: Array, cache: Cache, past: int, gather: _Gather) -> Array:
        layer = self._layers[number]
        # Large negative gates overflow on their way to zero.
        with np.errstate(over="ignore"):
            projected = _product(layer.queries_keys_values, self._norm(states))
            queries = self._turn_and_keep(projected, cache.keys[number], cache.values[number], past)
            gathered = gather(queries, cache.keys[number], cache.values[number], past)
            states = states + _product(layer.attended, gathered)
            gate_and_up = _product(layer.gate_and_up, self._norm(states))
            gate, up = gate_and_up[: len(gate_and_up) // 2], gate_and_up[len(gate_and_up) // 2 :]
            return states + _product(layer.down, gate / (1 + np.exp(-gate)) * up)

    def _turn_and_keep(self, projected: Array, keys: Array, values: Array, past: int) -> Array:
        """The queries of each token by group of heads, head and token; its keys and values are put into the cache."""
        heads, groups, head = self.sizes.heads, self.sizes.key_heads, self.sizes.head
        count = projected.shape[1]
        end = past + count
        by_token = np.ascontiguousarray(projected.T).reshape(count, heads + 2 * groups, head)
        turned = by_token[:, : heads + groups].view(np.complex64) * self._rotations[past:end]
        by_head = turned.view(np.float32).transpose(1, 0, 2)
        keys[:, past:end] = by_head[heads:]
        values[:, past:end] = by_token[:, heads + groups :].transpose(1, 0, 2)
        return by_head[:heads].reshape(groups, -1, head)

    def _gather(self, queries: Array, keys: Array, values: Array, past: int) -> Array:
        """What each token gathers from those before it, itself included."""
        heads = self.sizes.heads
        count = queries.shape[0] * queries.shape[1] // heads
        end = past + count
        scores = queries @ keys[:, :end].transpose(0, 2, 1)
        if count > 1:
            scores.reshape(heads, count, end)[:, :, past:] += _MASK[:count, :count]
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        gathered = scores @ values[:, :end]
        gathered /= scores.sum(axis=-1, keepdims=True)
        return gathered.reshape(heads, count, -1).transpose(0, 2, 1).reshape(self.sizes.width, count)

    def _gather_in_spans(self, queries: Array, keys: Array, values: Array, past: int) -> Array:
        """The same for a block of an answer, in whole spans of positions."""
        groups, rows, head = queries.shape
        first, end = past // _SPAN, _in_whole_spans(past + BLOCK)
        spans = groups, end // _SPAN, _SPAN, head
        # By group, span, head and token, position.
        scores = queries[:, None] @ keys[:, :end].reshape(spans).transpose(0, 1, 3, 2)
        scores.reshape(groups, -1, rows // BLOCK, BLOCK, _SPAN)[:, first:] += _mask_of_spans(past, end)
        scores -= scores.max(axis=(1, 3), keepdims=True)
        np.exp(scores, out=scores)
        gathered = (scores @ values[:, :end].reshape(spans)).sum(axis=1)
        gathered /= scores.sum(axis=3).sum(axis=1)[..., None]
        return gathered.reshape(-1, BLOCK, head).transpose(0, 2, 1).reshape(self.sizes.width, BLOCK)

    def _norm(self, states: Array) -> Array:
        squares = np.einsum("ij,ij->j", states, states)
        return states / np.sqrt(squares / np.float32(self.sizes.width) + np.float32(self.sizes.epsilon))

    def _logits(self, states: Array) -> Array:
        return _product(self._embedding, self._norm(states) * self._last_norm[:, None])


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
_SPAN_MASK = np.triu(np.full((BLOCK, 3 * _SPAN), -np.inf, np.float32), _SPAN + 1)
"""The same for a block, whose first token is at position `_SPAN` here."""


def _mask_of_spans(past: int, end: int) -> Array:
    """What is added to the scores of a block after `past` tokens, by span from the one that it begins in, head, token and position."""
    within = past % _SPAN
    mask = _SPAN_MASK[:, _SPAN - within : _SPAN + end - past]
    return mask.reshape(BLOCK, -1, 1, _SPAN).transpose(1, 2, 0, 3)


def _in_whole_spans(tokens: int) -> int:
    return -(-tokens // _SPAN) * _SPAN


def _product(matrix: Array, columns: Array) -> Array:
    rows, count = len(matrix), columns.shape[1]
    if not 1 < count <= BLOCK:
        return matrix @ columns
    product = np.empty((rows, count), np.float32)
    whole = rows - rows % _PANEL
    panels = matrix[:whole].reshape(-1, _PANEL, matrix.shape[1])
    np.matmul(panels, columns, out=product[:whole].reshape(-1, _PANEL, count))
    np.matmul(matrix[whole:], columns, out=product[whole:])
    return product


def _layer(weights: MergedWeights, sizes: Dimensions, number: int) -> Layer:
    def tensor(name: str) -> Array:
        return weights.tensor(f"blk.{number}.{name}.weight")

    scale = np.float32(sizes.head**-0.5)
    queries_keys_values = np.concatenate([tensor("attn_q") * scale, tensor("attn_k"), tensor("attn_v")])
    queries_keys_values *= tensor("attn_norm")
    gate_and_up = np.concatenate([tensor("ffn_gate"), tensor("ffn_up")])
    gate_and_up *= tensor("ffn_norm")
    return Layer(queries_keys_values, tensor("attn_output"), gate_and_up, tensor("ffn_down"))
