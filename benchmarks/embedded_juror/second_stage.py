"""The second stage: levels that follow how sure the juror is, or preferences (DPO), on dialogues that the first never saw.

    python benchmarks/embedded_juror/second_stage.py RUN EXAMPLES.gz SECOND.gz DEV.gz OUT --base ... --tokenizer ... \
        --how graded --clean 2.0 --seconds 60

`graded`: a text with a fault gets the level that its first word's odds allow. Where the juror, before it learns of this text, would
have said "Wrong" no more surely than it says so of clean texts, it is to say so mildly. `dpo`: the right ballot is preferred
to one more lenient (a fault) or to a false alarm (none); the reference is the first stage.
"""

from __future__ import annotations

import argparse
import gzip
import math
import pickle
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from low_rank import adapter_in, add_adapter, load_adapter, load_base, merged
from tokenizers import Tokenizer
from torch import nn
from train import Taught, dialogue, read_examples, save_run, tokenised, train, write_answers

CLEAN_WORD, FAULTY_WORDS = "Right", ("W", "In")
"""How the first word of a reason on accuracy begins."""
MILD, MIDDLING = 0.5, 0.85
"""Shares of the false alarms that are no surer than the first and the second cut."""


def second_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    table, rows = pickle.loads(gzip.decompress(path.read_bytes()))
    return [
        (dialogue(table[system], "\n".join(table[line] for line in lines).replace("\0", code)), answer)
        for _, system, lines, code, answer, _ in rows
    ]


@torch.no_grad()
def alarms(
    model: Any, tokenizer: Tokenizer, rows: list[tuple[str, dict[str, Any]]], device: str
) -> np.ndarray:
    """How much likelier, in logits, the first word finds fault than not, for each row."""
    prompts = [f'{prompt}{{"{answer["first"]}": {{"rationale": "' for prompt, answer in rows]
    encoded = [e.ids for e in tokenizer.encode_batch(prompts, add_special_tokens=False)]
    clean, *faulty = (
        tokenizer.encode(word, add_special_tokens=False).ids[0] for word in (CLEAN_WORD, *FAULTY_WORDS)
    )
    found = np.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda i: len(encoded[i]))
    for at in range(0, len(order), 48):
        chosen = order[at : at + 48]
        width = max(len(encoded[i]) for i in chosen)
        ids = torch.full((len(chosen), width), 2, dtype=torch.long)
        for row, i in enumerate(chosen):
            ids[row, : len(encoded[i])] = torch.tensor(encoded[i])
        hidden = model.model(input_ids=ids.to(device), use_cache=False).last_hidden_state
        last = torch.tensor([len(encoded[i]) - 1 for i in chosen], device=device)
        logits = model.lm_head(hidden[torch.arange(len(chosen), device=device), last]).float()
        found[chosen] = (torch.logsumexp(logits[:, faulty], -1) - logits[:, clean]).cpu().numpy()
    return found


def graded(
    rows: list[tuple[str, dict[str, Any]]], alarm: np.ndarray, clean: float, rng: random.Random
) -> list[Taught]:
    """Each text with the answer at the level that its alarm allows; clean texts `clean` times as often as faulty ones."""
    false = np.array(
        [a for a, (_, answer) in zip(alarm, rows, strict=True) if not answer["points"] and a > 0] or [2.0]
    )
    mild, middling = np.quantile(false, [MILD, MIDDLING])
    print(f"false alarms {len(false)}; cuts {mild:.2f} {middling:.2f}", flush=True)
    pairs = []
    for sure, (prompt, answer) in zip(alarm, rows, strict=True):
        if answer["points"]:
            points = 1 if sure < mild else 2 if sure < middling else max(3, min(4, answer["points"]))
            pairs.append(Taught(prompt, f"{answer['right'][points - 1]}<|im_end|>"))
        else:
            times = int(clean) + (rng.random() < clean - int(clean))
            pairs += [Taught(prompt, f"{answer['right'][0]}<|im_end|>")] * times
    return pairs


def log_likelihood(model: Any, batch: list[Any], device: str) -> torch.Tensor:
    """Of each answer, given its prompt."""
    width = -(-max(len(tokens) for tokens, *_ in batch) // 64) * 64
    ids = torch.full((len(batch), width), 2, dtype=torch.long)
    counted = torch.zeros((len(batch), width), dtype=torch.bool)
    for row, (tokens, start, *_) in enumerate(batch):
        ids[row, : len(tokens)] = torch.from_numpy(tokens.astype(np.int64))
        counted[row, start : len(tokens)] = True
    ids, counted = ids.to(device), counted.to(device)[:, 1:]
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    each = F.cross_entropy(model.lm_head(hidden[counted]).float(), ids[:, 1:][counted], reduction="none")
    row = torch.arange(len(batch), device=device)[:, None].expand_as(counted)[counted]
    return torch.zeros(len(batch), device=device).index_add(0, row, -each)


def prefer(
    model: Any, reference: Any, pairs: list[tuple[Any, Any]], device: str, *, seconds: float, rate: float, beta: float, rng: random.Random
) -> list[dict[str, float]]:  # fmt: skip
    """DPO: until the clock runs out, raise the right answer over the wrong one, measured against the reference."""
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    log, step, started = [], 0, time.monotonic()
    while (spent := time.monotonic() - started) < seconds:
        chosen = rng.sample(pairs, 16)
        good, bad = [c for c, _ in chosen], [r for _, r in chosen]
        with torch.no_grad():
            before = log_likelihood(reference, good, device) - log_likelihood(reference, bad, device)
        after = log_likelihood(model, good, device) - log_likelihood(model, bad, device)
        margin = beta * (after - before)
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * spent / seconds))
        (-F.logsigmoid(margin).mean()).backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if step % 20 == 0:
            log.append({"step": step, "seconds": spent, "margin": margin.mean().item(), "right": (margin > 0).float().mean().item()})  # fmt: skip
            print(log[-1], flush=True)
        step += 1
    return log


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("run", "examples", "second", "dev", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--how", choices=("graded", "dpo", "as-is"), required=True)
    parser.add_argument("--clean", type=float, default=1.0)
    parser.add_argument("--beta", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    start = (
        adapter_in(sorted(options.run.glob("adapter-*.safetensors")))
        if options.run.is_dir()
        else adapter_in([options.run])
    )
    rank = next(iter(v.shape[0] for k, v in start.items() if "lora_A" in k))
    model = load_base(options.base, device, dtype)
    add_adapter(model, rank, 2 * rank)
    load_adapter(model, start)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    log: list[dict[str, float]] = []
    if options.how == "graded":
        rows = second_rows(options.second)
        alarm = alarms(model, tokenizer, rows, device)
        pairs = graded(rows, alarm, options.clean, rng)
        mixed_in = read_examples(options.examples)
        pairs += rng.sample(mixed_in, min(len(pairs) // 2, len(mixed_in)))
        log = train(
            model,
            tokenised(tokenizer, pairs),
            device,
            seconds=options.seconds,
            rate=options.rate,
            tokens=40_000,
            rng=rng,
        )
    elif options.how == "dpo":
        reference = load_base(options.base, device, dtype)
        add_adapter(reference, rank, 2 * rank)
        load_adapter(reference, start)
        rows = [
            row
            for row in second_rows(options.second)
            if row[1]["chosen"] != row[1]["wrong"] and len(row[0]) < 9000
        ]
        good = tokenised(tokenizer, [Taught(p, f"{a['chosen']}<|im_end|>") for p, a in rows])
        bad = tokenised(tokenizer, [Taught(p, f"{a['wrong']}<|im_end|>") for p, a in rows])
        log = prefer(
            model,
            reference,
            list(zip(good, bad, strict=True)),
            device,
            seconds=options.seconds,
            rate=options.rate,
            beta=options.beta,
            rng=rng,
        )
    about = {
        "rank": rank,
        "alpha": 2 * rank,
        "how": options.how,
        "clean": options.clean,
        "beta": options.beta,
        "log": log,
    }
    save_run(model, options.out, about)
    model.eval()
    write_answers(merged(model), tokenizer, options.dev, options.out / "answers.jsonl.gz", device)


if __name__ == "__main__":
    main()
