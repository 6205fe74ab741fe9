"""Teach the embedded model to be a juror: low-rank weights beside its own, on the examples of `make_examples.py`.

    python benchmarks/embedded_juror/train.py EXAMPLES.gz HELD_OUT.gz OUT --base SmolLM2-135M-Instruct.Q4_1.gguf \
        --tokenizer tokenizer.json --seconds 420

Needs one GPU, torch, transformers, tokenizers, safetensors and gguf; about ten minutes on a large one. Writes `adapter.safetensors`
(in PEFT's names), `answers.jsonl` (the held-out questions with what was answered) and `log.json`. `write_adapter.py` makes the
GGUF file of it that a seat names.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pickle
import random
import re
import time
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from low_rank import adapter_in, adapter_state, add_adapter, load_adapter, load_base, merged
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import LlamaForCausalLM

LONGEST = 3072
BATCH = 600
"""Questions answered at a time."""
MARKED_LAYERS = (14, 19, 24)
"""Of thirty: those whose state must tell which words of the judged text are wrong, so that later ones can read it there."""
WRONG_COUNTS, MARKS_COUNT = 3.0, 0.1
"""How much a wrong word counts beside a right one, and all of them beside the answer."""
_STRESSED = re.compile(r'"score": [^,}]+|"rationale": "[^ ]+')
"""The words that decide: the score, and the first word of the reason."""
STRESS = {"score": 4.0, "rationale": 8.0}
"""How much they count beside others."""


def dialogue(system: str, user: str) -> str:
    return (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    )


class Taught(NamedTuple):
    """A prompt, the answer to be learnt, and which places of the prompt are known to be wrong (1) or right (0)."""

    prompt: str
    answer: str
    marks: tuple[tuple[int, int, int], ...] = ()


class Tokens(NamedTuple):
    """An example as tokens, where its answer begins, how much each token of the answer counts, and each token's mark (-1: none)."""

    ids: np.ndarray
    start: int
    weight: np.ndarray
    marks: np.ndarray


def read_examples(path: Path) -> list[Taught]:
    """The examples of a file of `make_examples.py`. Only for files of one's own: they are unpickled."""
    table, rows = pickle.loads(gzip.decompress(path.read_bytes()))
    found = []
    for _, system, lines, code, answer, marks in rows:
        user = "\n".join(table[line] for line in lines).replace("\0", code)
        prompt = dialogue(table[system], user)
        at = prompt.index(user, len(table[system]))
        placed = tuple((at + start, at + end, mark) for start, end, mark in marks)
        found.append(Taught(prompt, f"{answer}<|im_end|>", placed))
    return found


def tokenised(tokenizer: Tokenizer, examples: list[Taught]) -> list[Tokens]:
    prompts = tokenizer.encode_batch([each.prompt for each in examples], add_special_tokens=False)
    answers = tokenizer.encode_batch([each.answer for each in examples], add_special_tokens=False)
    found = []
    for example, first, second in zip(examples, prompts, answers, strict=True):
        if len(first.ids) + len(second.ids) > LONGEST:
            continue
        weight = np.ones(len(second.ids), dtype=np.float32)
        ends = [end for _, end in second.offsets]
        for match in _STRESSED.finditer(example.answer):
            stress = STRESS["rationale" if "rationale" in match.group() else "score"]
            weight[bisect_right(ends, match.start()) : bisect_left(ends, match.end()) + 1] = stress
        marks = np.full(len(first.ids) + len(second.ids), -1, dtype=np.int8)
        ends = [end for _, end in first.offsets]
        for start, end, mark in example.marks:
            marks[bisect_right(ends, start) : bisect_left(ends, end) + 1] = mark
        found.append(
            Tokens(np.array([*first.ids, *second.ids], dtype=np.int32), len(first.ids), weight, marks)
        )
    return found


def batches(examples: list[Tokens], tokens: int, rng: random.Random) -> list[list[Tokens]]:
    """Examples of like length together, as many as `tokens` allow, in an order left to chance."""
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].ids) + rng.random() * 48)
    found: list[list[Tokens]] = [[]]
    for i in order:
        if found[-1] and (len(found[-1]) + 1) * len(examples[i].ids) > tokens:
            found.append([])
        found[-1].append(examples[i])
    rng.shuffle(found)
    return found


class Marker(nn.Module):
    """Tells from what a layer holds of a word in the judged text whether its sentence has gone wrong by then. Only for teaching: answers do without."""

    def __init__(self, width: int, device: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, 1, device=device) for _ in MARKED_LAYERS)

    def loss(self, hidden: tuple[torch.Tensor, ...], marks: torch.Tensor) -> torch.Tensor:
        known = marks >= 0
        wanted = marks[known].float()
        weight = torch.tensor(WRONG_COUNTS, device=marks.device)
        losses = []
        for layer, number in zip(self.layers, MARKED_LAYERS, strict=True):
            held = hidden[number][known].float()
            told = layer(F.rms_norm(held, held.shape[-1:])).squeeze(-1)
            losses.append(F.binary_cross_entropy_with_logits(told, wanted, pos_weight=weight))
        return torch.stack(losses).mean()


def loss_on(
    model: LlamaForCausalLM, batch: list[Tokens], device: str, marker: Marker | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """How badly the answers are known, and how badly the words that went wrong (0 without a marker)."""
    width = -(-max(len(each.ids) for each in batch) // 64) * 64
    ids = torch.full((len(batch), width), 2, dtype=torch.long)
    weight = torch.zeros((len(batch), width))
    marks = torch.full((len(batch), width), -1, dtype=torch.int8)
    for row, each in enumerate(batch):
        ids[row, : len(each.ids)] = torch.from_numpy(each.ids.astype(np.int64))
        weight[row, each.start : len(each.ids)] = torch.from_numpy(each.weight)
        marks[row, : len(each.ids)] = torch.from_numpy(each.marks)
    ids, weight, marks = (part.to(device, non_blocking=True) for part in (ids, weight, marks))
    read = model.model(input_ids=ids, use_cache=False, output_hidden_states=marker is not None)
    wanted = weight[:, 1:] > 0
    logits = model.lm_head(read.last_hidden_state[:, :-1][wanted]).float()
    losses = F.cross_entropy(logits, ids[:, 1:][wanted], reduction="none")
    counted = weight[:, 1:][wanted]
    told = marker.loss(read.hidden_states, marks) if marker else torch.zeros((), device=device)
    return (losses * counted).sum() / counted.sum(), told


@torch.no_grad()
def answers(
    model: Any,
    tokenizer: Tokenizer,
    questions: list[dict[str, Any]],
    device: str,
    *,
    tokens: int = 200,
) -> list[dict[str, Any]]:
    """What the model answers, taking the likeliest token each time."""
    encoded = [
        tokenizer.encode(dialogue(q["system"], q["user"]), add_special_tokens=False).ids for q in questions
    ]
    order = sorted(range(len(questions)), key=lambda i: len(encoded[i]))
    found: list[dict[str, Any]] = []
    for at in range(0, len(order), BATCH):
        chosen = order[at : at + BATCH]
        width = max(len(encoded[i]) for i in chosen)
        ids = torch.full((len(chosen), width), 2, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chosen):
            ids[row, width - len(encoded[i]) :] = torch.tensor(encoded[i])
            mask[row, width - len(encoded[i]) :] = 1
        made = model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=tokens,
            do_sample=False,
            eos_token_id=2,
            pad_token_id=2,
        )
        for i, row in zip(chosen, made[:, width:].tolist(), strict=True):
            text = tokenizer.decode(row[: row.index(2)] if 2 in row else row, skip_special_tokens=False)
            found.append(
                {key: questions[i][key] for key in ("id", "group", "persona", "meta", "texts")}
                | {"answer": text}
            )
    return found


def train(
    model: LlamaForCausalLM,
    examples: list[Tokens],
    device: str,
    *,
    seconds: float,
    rate: float,
    tokens: int,
    rng: random.Random,
    marks: bool = False,
) -> list[dict[str, float]]:
    """Teach the model until the clock runs out, the rate falling along a cosine; what was seen on the way comes back.

    With `marks` it also learns, in the middle of its layers, which words of a judged text are wrong.
    """
    marker = Marker(model.config.hidden_size, device) if marks else None
    learnt = [p for p in model.parameters() if p.requires_grad] + list(marker.parameters() if marker else ())
    optimiser = torch.optim.AdamW(learnt, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    queue = batches(examples, tokens, rng)
    log: list[dict[str, float]] = []
    step, started, recent = 0, time.monotonic(), []
    model.train()
    while (spent := time.monotonic() - started) < seconds:
        if step and step % len(queue) == 0:
            queue = batches(examples, tokens, rng)
        fall = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * spent / seconds))
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 60) * fall
        loss, told = loss_on(model, queue[step % len(queue)], device, marker)
        (loss + MARKS_COUNT * told).backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        recent.append(torch.stack((loss.detach(), told.detach())))
        step += 1
        if step % 100 == 0 or step in (5, 20):
            mean, unmarked = torch.stack(recent).mean(0).tolist()
            recent = []
            log.append({"step": step, "seconds": spent, "loss": mean, "marks": unmarked})
            print(f"{spent:.0f} s: step {step}, loss {mean:.4f}, marks {unmarked:.4f}, passes {step / len(queue):.2f}", flush=True)  # fmt: skip
    return log


def save_run(model: nn.Module, out: Path, about: dict[str, Any]) -> None:
    """The adapter in three files, and what is to be known of the run."""
    out.mkdir(parents=True, exist_ok=True)
    state = adapter_state(model)
    names = sorted(state)
    for part, chosen in enumerate((names[0::3], names[1::3], names[2::3])):
        save_file({name: state[name] for name in chosen}, out / f"adapter-{part}.safetensors")
    (out / "log.json").write_text(json.dumps(about))


def write_answers(model: nn.Module, tokenizer: Tokenizer, asked: Path, out: Path, device: str) -> None:
    questions = pickle.loads(gzip.decompress(asked.read_bytes()))
    found = answers(model, tokenizer, questions, device)
    with gzip.open(out, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in found)
    print(f"answered {len(found)} of {len(questions)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument(
        "--start", type=Path, nargs="*", help="the files of an adapter to go on from, or a GGUF"
    )
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--alpha", type=float, default=128)
    parser.add_argument("--rate", type=float, default=6e-4)
    parser.add_argument("--tokens", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--marks", action="store_true", help="learn which words of a text are wrong, too")
    parser.add_argument("--part", help="FIRST:LAST, the examples to be taken")
    options = parser.parse_args()
    began = time.monotonic()
    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_base(options.base, device, torch.bfloat16 if device == "cuda" else torch.float32)
    learnt = add_adapter(model, options.rank, options.alpha)
    if options.start:
        load_adapter(model, adapter_in(options.start))
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    first, last = (int(end) for end in options.part.split(":")) if options.part else (0, None)
    examples = tokenised(tokenizer, read_examples(options.examples)[first:last])
    print(
        f"{time.monotonic() - began:.0f} s: {len(examples)} examples, {sum(len(e.ids) for e in examples) / 1e6:.1f} M tokens, {sum(p.numel() for p in learnt) / 1e6:.1f} M weights to learn",
        flush=True,
    )
    if options.compile:
        for layer in model.model.layers:
            layer.compile(dynamic=True)
    rng = random.Random(options.seed)
    log = train(
        model,
        examples,
        device,
        seconds=options.seconds,
        rate=options.rate,
        tokens=options.tokens,
        rng=rng,
        marks=options.marks,
    )
    about = {"rank": options.rank, "alpha": options.alpha, "examples": len(examples), "log": log}
    save_run(model, options.out, about)
    model.eval()
    if options.compile:
        # Layers that were compiled for training are compiled again for every length of an answer.
        model = load_base(options.base, device, torch.bfloat16 if device == "cuda" else torch.float32)
        add_adapter(model, options.rank, options.alpha)
        load_adapter(model, adapter_in(sorted(options.out.glob("adapter-*.safetensors"))))
        model.eval()
    write_answers(merged(model), tokenizer, options.held_out, options.out / "answers.jsonl.gz", device)
    print(f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
