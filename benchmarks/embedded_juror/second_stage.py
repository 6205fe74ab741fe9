"""The second stage: when the juror speaks up, and how gravely, or preferences (DPO), on dialogues that the first stage never saw.

    python benchmarks/embedded_juror/second_stage.py RUN EXAMPLES.gz SECOND.gz DEV.gz OUT --base ... --tokenizer ... \
        --how calibrated --false-alarms 0.1 --seconds 60

After the first stage the juror knows more than its scores tell: how sure it is that something is wrong, the alarm (how much likelier the first
word of its reason finds fault than not), orders texts better than its levels do, and its threshold lies too low. `calibrated` moves the threshold to
where the share `--false-alarms` of clean texts is marked down, and lets the level follow the alarm: a fault named hardly more surely than the threshold is mild.
What the juror is to say is taken from its own alarm before this stage, not from the truth. `dpo`: the right ballot is preferred to one
more lenient (a fault) or to a false alarm (none); the reference is the first stage.
"""

from __future__ import annotations

import argparse
import gzip
import math
import pickle
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn
from train import (
    LONGEST,
    WeightAverage,
    adapter_in,
    add_adapter,
    batches,
    dialogue,
    load_adapter,
    load_base,
    merged,
    save_run,
    tokenised,
    write_answers,
)

CLEAN_WORD, FAULTY_WORDS = "Right", ("W", "In")
"""How the first word of a reason on accuracy begins."""
MILD, MIDDLING = 1.5, 3.0
"""Alarms above the threshold, in logits, below which a fault costs one level and two levels."""
A_LEAN = 1.0
"""How much lower the threshold of a severe seat lies, and higher that of a generous one."""
WORD_WEIGHT = 12.0
"""What the first word counts; other words count 1, scores 4."""
AVERAGED = 0.98
ROUNDS = (0.65, 0.35)
"""Shares of the time: after the first the threshold is looked at again, and moved by what is left."""


def second_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    table, rows = pickle.loads(gzip.decompress(path.read_bytes()))
    return [
        (dialogue(table[system], "\n".join(table[line] for line in lines).replace("\0", code)), answer)
        for _, system, lines, code, answer in rows
    ]


def other_examples(path: Path) -> list[tuple[str, str]]:
    """The first stage's examples without its ballots that begin with a word on accuracy, whose threshold is about to move."""
    table, rows = pickle.loads(gzip.decompress(path.read_bytes()))
    words = tuple(f'"rationale": "{word}' for word in (CLEAN_WORD, "Wrong", "Invented"))
    return [
        (
            dialogue(table[system], "\n".join(table[line] for line in lines).replace("\0", code)),
            f"{answer}<|im_end|>",
        )
        for kind, system, lines, code, answer in rows
        if kind != "ballot" or not any(word in answer for word in words)
    ]


def first_words(tokenizer: Tokenizer) -> list[int]:
    return [tokenizer.encode(word, add_special_tokens=False).ids[0] for word in (CLEAN_WORD, *FAULTY_WORDS)]


@torch.no_grad()
def alarms(
    model: Any, tokenizer: Tokenizer, rows: list[tuple[str, dict[str, Any]]], device: str
) -> np.ndarray:
    """How much likelier, in logits, the first word finds fault than not, for each row."""
    prompts = [f'{prompt}{{"{answer["first"]}": {{"rationale": "' for prompt, answer in rows]
    encoded = [e.ids for e in tokenizer.encode_batch(prompts, add_special_tokens=False)]
    words = first_words(tokenizer)
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
        alarm = torch.logsumexp(logits[:, words[1:]], -1) - logits[:, words[0]]
        found[chosen] = alarm.cpu().numpy()
    return found


@dataclass(frozen=True)
class Lesson:
    """An example as tokens, where its answer begins and what its tokens count, and the alarm that its first word is to show."""

    tokens: np.ndarray
    start: int
    weight: np.ndarray
    place: int = -1
    alarm: float | None = None


def calibrated(
    tokenizer: Tokenizer, rows: list[tuple[str, dict[str, Any]]], alarm: np.ndarray, threshold: float
) -> list[Lesson]:
    """Each ballot as the juror is to give it: its own alarm, held against another threshold."""
    texts, wanted, silent = [], [], []
    for sure, (prompt, answer) in zip(alarm, rows, strict=True):
        above = sure - threshold + A_LEAN * answer["lean"]
        wanted.append(float(above))
        silent.append(above > 0 and not answer["points"])
        if above <= 0:
            text = answer["unseen"] if answer["points"] else answer["right"][0]
        elif not answer["points"]:
            text = answer["right"][0]
        else:
            points = 1 if above < MILD else 2 if above < MIDDLING else max(3, min(4, answer["points"]))
            text = answer["right"][max(1, min(4, points + answer["lean"])) - 1]
        texts.append((prompt, f"{text}<|im_end|>", f'{{"{answer["first"]}": {{"rationale": "'))
    lessons = []
    opened = tokenizer.encode_batch([begin for _, _, begin in texts], add_special_tokens=False)
    prompts = tokenizer.encode_batch([prompt for prompt, _, _ in texts], add_special_tokens=False)
    encoded = tokenised(tokenizer, [(prompt, text) for prompt, text, _ in texts], longest=10**6)
    for (tokens, start, weight), begin, prompt, above, quiet in zip(
        encoded, opened, prompts, wanted, silent, strict=True
    ):
        place = len(begin.ids)
        assert start == len(prompt.ids) and list(tokens[start : start + place]) == begin.ids
        counted = np.zeros_like(weight) if quiet else weight.copy()
        counted[place] = 0.0
        if len(tokens) <= LONGEST:
            lessons.append(Lesson(tokens, start, counted, start + place, above))
    return lessons


def lesson_loss(model: Any, batch: list[Lesson], words: list[int], device: str) -> torch.Tensor:
    """How far the answers are from those wanted, and the first words from the alarm that they are to show."""
    width = -(-max(len(each.tokens) for each in batch) // 64) * 64
    ids = torch.full((len(batch), width), 2, dtype=torch.long)
    weight = torch.zeros((len(batch), width))
    for row, each in enumerate(batch):
        ids[row, : len(each.tokens)] = torch.from_numpy(each.tokens.astype(np.int64))
        weight[row, each.start : len(each.tokens)] = torch.from_numpy(each.weight)
    ids, weight = ids.to(device), weight.to(device)
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    wanted = weight[:, 1:] > 0
    each_word = F.cross_entropy(model.lm_head(hidden[wanted]).float(), ids[:, 1:][wanted], reduction="none")
    counted = weight[:, 1:][wanted]
    told = [row for row, each in enumerate(batch) if each.alarm is not None]
    loss, total = (each_word * counted).sum(), counted.sum()
    if told:
        places = torch.tensor([batch[row].place - 1 for row in told], device=device)
        alarm = torch.tensor([batch[row].alarm for row in told], device=device)
        logits = model.lm_head(hidden[torch.tensor(told, device=device), places]).float()
        clean, faulty = logits[:, words[0]], torch.logsumexp(logits[:, words[1:]], -1)
        # Squares, since a shift of a sure answer hardly changes its chances; and no word but these.
        off = F.smooth_l1_loss(faulty - clean, alarm, reduction="none")
        other = torch.logsumexp(logits, -1) - torch.logaddexp(clean, faulty)
        loss = loss + WORD_WEIGHT * (off + other).sum()
        total = total + WORD_WEIGHT * len(told)
    return loss / total


def calibrate(
    model: Any, lessons: list[Lesson], words: list[int], device: str, *, seconds: float, rate: float, rng: random.Random
) -> list[dict[str, float]]:  # fmt: skip
    """Teach the lessons until the clock runs out; the model is left with the running average of its weights."""
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    average = WeightAverage(learnt, AVERAGED)
    queue: list[list[int]] = []
    log, step, started = [], 0, time.monotonic()
    while (spent := time.monotonic() - started) < seconds:
        if not queue:
            queue = batches([len(lesson.tokens) for lesson in lessons], 24_000, rng)
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * spent / seconds))
        loss = lesson_loss(model, [lessons[i] for i in queue.pop()], words, device)
        loss.backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        average.add(step)
        if step % 50 == 0:
            log.append({"step": step, "seconds": spent, "loss": loss.item()})
            print(log[-1], flush=True)
        step += 1
    average.put_in_place()
    return log


def log_likelihood(model: Any, batch: list[Any], device: str) -> torch.Tensor:
    """Of each answer, given its prompt."""
    width = -(-max(len(tokens) for tokens, _, _ in batch) // 64) * 64
    ids = torch.full((len(batch), width), 2, dtype=torch.long)
    counted = torch.zeros((len(batch), width), dtype=torch.bool)
    for row, (tokens, start, _) in enumerate(batch):
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
    parser.add_argument("--how", choices=("calibrated", "dpo"), required=True)
    parser.add_argument("--false-alarms", type=float, default=0.1)
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
    about: dict[str, Any] = {"rank": rank, "alpha": 2 * rank, "how": options.how}
    if options.how == "calibrated":
        rows = second_rows(options.second)
        clean = [
            (dialogue(q["system"], q["user"]), {"first": "accurate"})
            for q in pickle.loads(gzip.decompress(options.dev.read_bytes()))
            if q["meta"]["fault"] == "clean"
        ]
        alarm = alarms(model, tokenizer, rows, device)
        others = tokenised(tokenizer, other_examples(options.examples))
        about |= {"false_alarms": options.false_alarms, "log": []}
        threshold = 0.0
        for share in ROUNDS:
            quiet = alarms(model, tokenizer, clean, device)
            threshold += float(np.quantile(quiet, 1 - options.false_alarms))
            print(
                f"clean dev texts marked down {np.mean(quiet > 0):.3f}; threshold {threshold:.2f}", flush=True
            )
            lessons = calibrated(tokenizer, rows, alarm, threshold)
            lessons += [
                Lesson(tokens, begin, weight)
                for tokens, begin, weight in rng.sample(others, min(len(lessons), len(others)))
            ]
            about["log"] += calibrate(
                model, lessons, first_words(tokenizer), device, seconds=share * options.seconds, rate=options.rate, rng=rng
            )  # fmt: skip
        quiet = alarms(model, tokenizer, clean, device)
        about["threshold"] = threshold
        print(f"clean dev texts marked down {np.mean(quiet > 0):.3f}", flush=True)
    else:
        reference = load_base(options.base, device, dtype)
        add_adapter(reference, rank, 2 * rank)
        load_adapter(reference, start)
        rows = [
            row
            for row in second_rows(options.second)
            if row[1]["chosen"] != row[1]["wrong"] and len(row[0]) < 9000
        ]
        good = tokenised(tokenizer, [(p, f"{a['chosen']}<|im_end|>") for p, a in rows])
        bad = tokenised(tokenizer, [(p, f"{a['wrong']}<|im_end|>") for p, a in rows])
        about["beta"] = options.beta
        about["log"] = prefer(
            model,
            reference,
            list(zip(good, bad, strict=True)),
            device,
            seconds=options.seconds,
            rate=options.rate,
            beta=options.beta,
            rng=rng,
        )
    save_run(model, options.out, about)
    model.eval()
    write_answers(merged(model), tokenizer, options.dev, options.out / "answers.jsonl.gz", device)


if __name__ == "__main__":
    main()
