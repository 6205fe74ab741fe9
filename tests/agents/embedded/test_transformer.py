"""The transformer's numbers: those of the textbook, and the same ones however a prompt is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_llama import HEADS, KEY_HEADS, LAYERS, WIDTH, write_tiny_llama

from venire.agents.embedded.merged_weights import MergedWeights
from venire.agents.embedded.transformer import BLOCK, CHUNK, Transformer, one_blas_thread

RNG = np.random.default_rng(3)
PROMPT = [int(token) for token in RNG.integers(0, 300, 5 * CHUNK + 17)]


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> MergedWeights:
    return MergedWeights(write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf"), None)


def read(model: Transformer, tokens: list[int]) -> Any:
    with one_blas_thread():
        return model.read(tokens, model.new_cache(), 0, lambda: None)


def textbook_logits(weights: MergedWeights, tokens: list[int]) -> Any:
    """Token by token in double precision, as the papers write it."""
    size, group = WIDTH // HEADS, HEADS // KEY_HEADS

    def tensor(name: str) -> Any:
        return weights.tensor(f"{name}.weight").astype(float)

    def norm(state: Any, name: str) -> Any:
        return state / np.sqrt(np.mean(state**2) + 1e-5) * tensor(name)

    def turn(vector: Any, position: int) -> Any:
        turned = vector.copy()
        for pair in range(0, size, 2):
            angle = position * 10000.0 ** (-pair / size)
            one, other = vector[pair : pair + 2]
            turned[pair] = one * np.cos(angle) - other * np.sin(angle)
            turned[pair + 1] = one * np.sin(angle) + other * np.cos(angle)
        return turned

    states = [tensor("token_embd")[token] for token in tokens]
    for layer in range(LAYERS):
        name = f"blk.{layer}"
        keys: list[Any] = []
        values: list[Any] = []
        for position, state in enumerate(states):
            seen = norm(state, f"{name}.attn_norm")
            key = (tensor(f"{name}.attn_k") @ seen).reshape(KEY_HEADS, size)
            keys.append([turn(head, position) for head in key])
            values.append((tensor(f"{name}.attn_v") @ seen).reshape(KEY_HEADS, size))
            gathered = []
            for head, query in enumerate((tensor(f"{name}.attn_q") @ seen).reshape(HEADS, size)):
                turned = turn(query, position)
                shares = np.exp([turned @ past[head // group] / size**0.5 for past in keys])
                gathered.append(shares / shares.sum() @ [past[head // group] for past in values])
            state = state + tensor(f"{name}.attn_output") @ np.concatenate(gathered)
            seen = norm(state, f"{name}.ffn_norm")
            gate, up = tensor(f"{name}.ffn_gate") @ seen, tensor(f"{name}.ffn_up") @ seen
            states[position] = state + tensor(f"{name}.ffn_down") @ (gate / (1 + np.exp(-gate)) * up)
    return tensor("token_embd") @ norm(states[-1], "output_norm")


def test_its_logits_are_the_textbooks(merged: MergedWeights) -> None:
    tokens = PROMPT[: CHUNK + 9]

    assert read(Transformer(merged, threads=1), tokens) == pytest.approx(
        textbook_logits(merged, tokens), abs=1e-4
    )


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_number_of_threads_changes_no_bit(merged: MergedWeights, threads: int) -> None:
    one = read(Transformer(merged, threads=1), PROMPT)

    for _ in range(5):
        assert np.array_equal(read(Transformer(merged, threads=threads), PROMPT), one)


def test_what_was_read_before_changes_no_bit(merged: MergedWeights) -> None:
    model = Transformer(merged, threads=2)
    whole = read(model, PROMPT)
    cache = model.new_cache()
    with one_blas_thread():
        model.read([*PROMPT[: 2 * CHUNK], *reversed(PROMPT)], cache, 0, lambda: None)
        again = model.read(PROMPT[2 * CHUNK :], cache, 2 * CHUNK, lambda: None)

    assert np.array_equal(again, whole)


def test_the_logits_of_an_answer_are_the_textbooks(merged: MergedWeights) -> None:
    model = Transformer(merged, threads=1)
    prompt, block = PROMPT[:20], PROMPT[20 : 20 + BLOCK]
    cache = model.new_cache()
    with one_blas_thread():
        model.read(prompt, cache, 0, lambda: None)
        logits = model.read_block(block, cache, len(prompt))

    for at in (0, BLOCK - 1):
        assert logits[at] == pytest.approx(textbook_logits(merged, [*prompt, *block[: at + 1]]), abs=1e-4)


def test_where_a_block_begins_and_what_follows_in_it_change_nothing(merged: MergedWeights) -> None:
    model = Transformer(merged, threads=1)
    # An answer that crosses from one span of positions into the next.
    prompt, answer = PROMPT[:250], PROMPT[250:266]

    def logits(size: int) -> Any:
        cache = model.new_cache()
        with one_blas_thread():
            model.read(prompt, cache, 0, lambda: None)
            blocks = [
                model.read_block(
                    [*answer[at : at + size], *reversed(PROMPT)][:BLOCK], cache, len(prompt) + at
                )
                for at in range(0, len(answer), size)
            ]
        return np.concatenate([block[:size] for block in blocks])

    whole = logits(BLOCK)

    for size in (1, 2, 4):
        assert logits(size) == pytest.approx(whole, abs=1e-5)


def test_reading_ends_when_it_is_no_longer_wanted(merged: MergedWeights) -> None:
    model = Transformer(merged, threads=2)
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks > 3:
            raise TimeoutError("no longer wanted")

    with pytest.raises(TimeoutError, match="no longer wanted"):
        model.read(PROMPT, model.new_cache(), 0, check)
