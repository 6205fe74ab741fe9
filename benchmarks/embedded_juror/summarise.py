"""Notes of dialogues by small summarisers that never saw them, for `make_examples.py --machine-notes`.

    python benchmarks/embedded_juror/summarise.py MTS-Dialog-TrainingSet.csv OUT.jsonl.gz --base SmolLM2-135M-Instruct.Q4_1.gguf --tokenizer tokenizer.json

The embedded model's own base is taught on half of the dialogues to write the clinician's note, and writes those of the other half: after one, three and six
passes, the likeliest words, cool and hot, so that there are notes of every quality. Needs one GPU, torch and transformers; six minutes on a large one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from low_rank import load_base
from make_examples import HELD_OUT, mts_cases
from tokenizers import Tokenizer

PASSES, ASKED_AFTER = 6, (1, 3, 6)
RATE, BATCH, ASKED_AT_ONCE = 2e-4, 16, 300
LONGEST_DIALOGUE, LONGEST_NOTE = 1200, 500
END = 2
"""The token that ends a text."""
WAYS: dict[str, dict[str, Any]] = {
    "likeliest": {"max_new_tokens": 110, "do_sample": False},
    "cool": {"max_new_tokens": 60, "do_sample": True, "temperature": 0.6, "top_p": 0.95},
    "hot": {"max_new_tokens": 110, "do_sample": True, "temperature": 0.9, "top_p": 0.95},
}
Pair = tuple[list[int], list[int]]


def teach(model: Any, pairs: list[Pair], optimiser: torch.optim.Optimizer, step: int, last: int) -> int:
    """One pass over dialogues with their notes; the number of steps so far."""
    model.train()
    for at in range(0, len(pairs), BATCH):
        batch = pairs[at : at + BATCH]
        width = max(len(dialogue) + len(note) for dialogue, note in batch)
        ids = torch.full((len(batch), width), END)
        counted = torch.zeros_like(ids, dtype=torch.bool)
        for row, (dialogue, note) in enumerate(batch):
            ids[row, : len(dialogue) + len(note)] = torch.tensor(dialogue + note)
            counted[row, len(dialogue) : len(dialogue) + len(note)] = True
        ids, counted = ids.cuda(), counted.cuda()[:, 1:]
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        loss = F.cross_entropy(logits[counted].float(), ids[:, 1:][counted])
        fall = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / last))
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 20) * fall
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step += 1
    return step


@torch.no_grad()
def notes_by(
    model: Any, tokenizer: Tokenizer, asked: list[list[int]], way: dict[str, Any]
) -> list[tuple[str, bool]]:
    """The note of each dialogue, and whether it came to its end."""
    model.eval()
    found: dict[int, tuple[str, bool]] = {}
    order = sorted(range(len(asked)), key=lambda i: len(asked[i]))
    for at in range(0, len(order), ASKED_AT_ONCE):
        chosen = order[at : at + ASKED_AT_ONCE]
        width = max(len(asked[i]) for i in chosen)
        ids = torch.full((len(chosen), width), END)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chosen):
            ids[row, width - len(asked[i]) :] = torch.tensor(asked[i])
            mask[row, width - len(asked[i]) :] = 1
        with torch.autocast("cuda", torch.bfloat16):
            made = model.generate(
                input_ids=ids.cuda(), attention_mask=mask.cuda(), eos_token_id=END, pad_token_id=END, **way
            )
        for i, row in zip(chosen, made[:, width:].tolist(), strict=True):
            ended = END in row
            found[i] = tokenizer.decode(row[: row.index(END)] if ended else row).strip(), ended
    return [found[i] for i in range(len(asked))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("notes", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    cases = mts_cases(options.notes)
    pairs: list[Pair] = []
    for case in cases:
        dialogue = f"Dialogue:\n{case.source[0]}\n\nNote:\n"
        pairs.append(
            (
                tokenizer.encode(dialogue, add_special_tokens=False).ids[-LONGEST_DIALOGUE:],
                [*tokenizer.encode(case.output, add_special_tokens=False).ids[:LONGEST_NOTE], END],
            )
        )
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for fold in (0, 1):
            torch.manual_seed(fold + 5)
            rng = random.Random(fold)
            taught = [i for i in range(len(cases)) if i % 2 == fold and i % HELD_OUT]
            asked = [i for i in range(len(cases)) if i % 2 != fold]
            model = load_base(options.base, "cuda", torch.float32)
            optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
            step, last = 0, PASSES * -(-len(taught) // BATCH)
            for number in range(1, PASSES + 1):
                rng.shuffle(taught)
                step = teach(model, [pairs[i] for i in taught], optimiser, step, last)
                for name, way in WAYS.items() if number in ASKED_AFTER else ():
                    written = notes_by(model, tokenizer, [pairs[i][0] for i in asked], way)
                    for i, (text, ended) in zip(asked, written, strict=True):
                        row = {
                            "case": cases[i].id,
                            "passes": number,
                            "way": name,
                            "ended": ended,
                            "text": text,
                        }
                        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
