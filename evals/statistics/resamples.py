"""Resamples of cases as rows of counts: how often each case was drawn.

A row of n draws is multinomial. Independent Poisson counts are multinomial too once their sum is known, whatever
it is. So most of a row is made at once, cell by cell, with a mean a little below one; the draws that its sum still
lacks are then made singly, and a row that came out too full is made singly from the start. Only the sum decides
which, so the counts are as exact as drawing case by case, in a third of the time.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import pdtr

from .matrix import FloatArray, IntArray

Word = TypeVar("Word", np.uint8, np.uint16)
Bytes = npt.NDArray[np.uint8]
Counts = Bytes | npt.NDArray[np.int64]
"""How often each case, or each kind of case, was drawn in each resample."""

CHUNK = 524_288
"""Counts made at a time: few enough to stay in the processor's cache."""
FEW_CASES = 32
"""Below this a row is made singly."""
SURE = 5
"""Counts below this are told apart by a byte, as far as it can."""


def resamples(rng: np.random.Generator, frequency: IntArray, rows: int) -> Iterator[Counts]:
    """Counts for `rows` resamples, some rows at a time; `frequency` is how often each kind of case occurs.

    The measures of one analysis start at one seed, so the same counts are asked for many times: small ones are remembered
    by the state that the source of chance is in.
    """
    source = rng.bit_generator
    if not isinstance(source, np.random.PCG64) or int(frequency.sum()) * rows > CHUNK:
        yield from _draw_counts(rng, frequency, rows)
        return
    before = source.state
    key = (*before["state"].values(), before["has_uint32"], before["uinteger"])
    counts, source.state = _cached_counts(key, tuple(frequency.tolist()), rows)
    yield from counts


@lru_cache(maxsize=8)
def _cached_counts(
    key: tuple[int, ...], frequency: tuple[int, ...], rows: int
) -> tuple[tuple[Counts, ...], Any]:
    """The counts that a source of chance in this state gives, and the state it is then in."""
    source = np.random.PCG64(0)
    state, inc, has_uint32, uinteger = key
    source.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": inc},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
    drawn = tuple(_draw_counts(np.random.Generator(source), np.array(frequency, dtype=np.int64), rows))
    for counts in drawn:
        counts.setflags(write=False)
    return drawn, source.state


def _draw_counts(rng: np.random.Generator, frequency: IntArray, rows: int) -> Iterator[Counts]:
    kinds, n = len(frequency), int(frequency.sum())
    starts = np.cumsum(frequency) - frequency
    step = max(1, CHUNK // n)
    for start in range(0, rows, step):
        size = min(step, rows - start)
        if kinds < n / 4:
            yield rng.multinomial(n, frequency / n, size=size)
        elif kinds < n:
            yield np.add.reduceat(_counts(rng, n, size), starts, axis=1, dtype=np.int64)
        else:
            yield _counts(rng, n, size)


def _counts(rng: np.random.Generator, n: int, rows: int) -> Bytes:
    """Rows of n draws from n cases, all equally likely.

    A byte is enough: up to 255 cases no count is higher, and with more a higher one will never be seen.
    """
    if n < FEW_CASES:
        counts, lacking = np.zeros((rows, n), np.uint8), np.full(rows, n)
    else:
        counts = _poisson(rng, _table(n), rows * n).reshape(rows, n)
        total = np.add.reduce(counts, axis=1, dtype=np.uint16 if n < 2**14 else np.uint32).astype(np.int64)
        counts[total > n] = 0
        lacking = np.where(total > n, n, n - total)
    cells = np.repeat(np.arange(rows) * n, lacking) + _cases(rng, n, int(lacking.sum()))
    np.add.at(counts.reshape(-1), cells, np.uint8(1))
    return counts


class Poisson(NamedTuple):
    """The distribution of a count as a mixture: one that a byte decides, and seldom another."""

    floors: tuple[np.uint8, ...]
    """From each of these on, the byte's count is at least one, two, three and so on."""
    seldom: float
    """How often the byte does not decide."""
    rest: FloatArray
    """Where it does not, the share of counts up to 0, 1, 2 and so on."""


@cache
def _table(n: int) -> Poisson:
    """With a mean about two standard deviations of the row's sum below one: of some, that which bytes decide most often."""
    means = 1 - np.linspace(1.8, 2.6, 200) / np.sqrt(n)
    shares = np.diff(pdtr(np.arange(32), means[:, None]), prepend=0.0)
    bytes_of = np.where(np.arange(32) < SURE, np.floor(shares * 256), 0.0)
    each = np.arange(len(means))
    while (short := bytes_of.sum(axis=1) < 256).any():
        # One more for the count whose share is exceeded least by it.
        bytes_of[each[short], (256 * shares / (bytes_of + 1)).argmax(axis=1)[short]] += 1
    decided = np.divide(256 * shares, bytes_of, out=np.ones_like(shares), where=bytes_of > 0).min(axis=1)
    best = decided.argmax()
    often = min(decided[best], 1.0)
    rest = np.maximum(np.cumsum(shares[best] - often * bytes_of[best] / 256), 0.0)
    return Poisson(tuple(np.cumsum(bytes_of[best])[: SURE - 1].astype(np.uint8)), 1 - often, rest / rest[-1])


def _poisson(rng: np.random.Generator, table: Poisson, size: int) -> Bytes:
    drawn = _bits(rng, size, np.uint8)
    counts, above = (drawn >= table.floors[0]).view(np.uint8), np.empty(size, dtype=bool)
    for floor in table.floors[1:]:
        counts += np.greater_equal(drawn, floor, out=above).view(np.uint8)
    others = _now_and_then(rng, table.seldom, size)
    counts[others] = np.searchsorted(table.rest, rng.random(len(others)), side="right")
    return counts


def _now_and_then(rng: np.random.Generator, share: float, size: int) -> IntArray:
    """The numbers below `size` to which something happens that happens to this share of them, each for itself."""
    found = np.zeros(0, dtype=np.int64)
    while not len(found) or found[-1] < size:
        last = found[-1] if len(found) else -1
        gaps = rng.geometric(share, size=int(1.1 * share * size) + 100)
        found = np.concatenate([found, last + np.cumsum(gaps)])
    return found[: np.searchsorted(found, size)]


def _cases(rng: np.random.Generator, n: int, size: int) -> npt.NDArray[np.integer]:
    """Case numbers below n, all equally likely.

    Up to 32,768 cases a number takes sixteen bits: their range is cut into n equal runs, and what lies past
    the last run is drawn again. This is three times as fast as asking for numbers below n.
    """
    if n > 2**15:
        return rng.integers(0, n, size=size)
    run = 2**16 // n
    bits = _bits(rng, size, np.uint16)
    late = np.flatnonzero(bits > run * n - 1)
    bits[late] = rng.integers(0, run * n, size=len(late))
    return bits // run


def _bits(rng: np.random.Generator, size: int, word: type[Word]) -> npt.NDArray[Word]:
    """Numbers of fair bits."""
    wide = rng.integers(0, 2**64, size=-(-size * np.dtype(word).itemsize // 8), dtype=np.uint64)
    return wide.view(word)[:size]
