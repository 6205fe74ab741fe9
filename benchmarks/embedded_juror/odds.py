"""How sure adapters are of the first words of their reasons: on accuracy, on thoroughness, on claims. On a GPU, a thousand questions in seconds.

    python benchmarks/embedded_juror/odds.py ODDS.json --base ... --tokenizer ... --questions dev.gz held_out.gz machine.gz hospital.gz checks.gz \
        --adapters shipped=embedded-juror.gguf new=RUN

Thoroughness is asked after an answer that found every statement right. `score_odds.py` tells what the odds are worth.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import torch
from answer import adapter_at
from low_rank import add_adapter, load_adapter, load_base, merged
from tokenizers import Tokenizer
from train import dialogue

ACCURATE = '{"accurate": {"rationale": "'
THOROUGH = (
    ACCURATE
    + 'Right: every statement agrees with the source.", "evidence": [], "score": 5}, "thorough": {"rationale": "'
)
OPENINGS = {
    "accurate": (ACCURATE, "Right", ("Wrong", "Invented")),
    "thorough": (THOROUGH, "Complete", ("Missing",)),
}
VERDICT_WORDS = ("Said", "Otherwise", "Silent")
MOST_TOKENS, MOST_AT_ONCE = 60_000, 64


@torch.no_grad()
def following(model: Any, tokenizer: Tokenizer, prompts: list[str]) -> list[torch.Tensor]:
    """The logarithms of how likely each token is to come next."""
    encoded = [e.ids for e in tokenizer.encode_batch(prompts, add_special_tokens=False)]
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    found: dict[int, torch.Tensor] = {}
    while order:
        longest = len(encoded[order[:MOST_AT_ONCE][-1]])
        count = max(1, min(MOST_AT_ONCE, MOST_TOKENS // longest))
        chosen, order = order[:count], order[count:]
        width = max(len(encoded[i]) for i in chosen)
        ids = torch.full((len(chosen), width), 2)
        for row, i in enumerate(chosen):
            ids[row, : len(encoded[i])] = torch.tensor(encoded[i])
        hidden = model.model(input_ids=ids.to(model.device), use_cache=False).last_hidden_state
        for row, i in enumerate(chosen):
            found[i] = model.lm_head(hidden[row, len(encoded[i]) - 1]).float().log_softmax(-1).cpu()
    return [found[i] for i in range(len(encoded))]


def odds_of(model: Any, tokenizer: Tokenizer, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each question with the odds of a fault, or, where it is about a claim, how likely each verdict's first word is."""

    def first(word: str) -> int:
        return int(tokenizer.encode(word, add_special_tokens=False).ids[0])

    prompts = [dialogue(q["system"], q["user"]) for q in asked]
    rows = [{key: q[key] for key in ("id", "group", "persona", "meta")} for q in asked]
    if "claim" in asked[0]["meta"]:
        opened = [
            f'{p}{{"checks": [{{"claim": "{q["meta"]["claim"]}", "reason": "'
            for p, q in zip(prompts, asked, strict=True)
        ]
        words = [first(word) for word in VERDICT_WORDS]
        for row, likely in zip(rows, following(model, tokenizer, opened), strict=True):
            row["verdicts"] = [round(float(likely[word]), 3) for word in words]
        return rows
    for name, (opening, fine, faults) in OPENINGS.items():
        wrong = [first(word) for word in faults]
        for row, likely in zip(
            rows, following(model, tokenizer, [p + opening for p in prompts]), strict=True
        ):
            row[name] = round(float(torch.logsumexp(likely[wrong], -1) - likely[first(fine)]), 3)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--adapters", nargs="+", required=True, help="NAME=PATH, as for answer.py")
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    sets = {path.stem: pickle.loads(gzip.decompress(path.read_bytes())) for path in options.questions}
    found = {}
    for named in options.adapters:
        name, _, path = named.partition("=")
        model = load_base(options.base, "cuda", torch.bfloat16)
        state = adapter_at(path)
        rank = next(value.shape[0] for key, value in state.items() if "lora_A" in key)
        add_adapter(model, rank, 2 * rank)
        load_adapter(model, state)
        model = merged(model).eval()
        for title, asked in sets.items():
            found[f"{name}/{title}"] = odds_of(model, tokenizer, asked)
    options.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
