"""What one or more adapters answer to sets of questions, the likeliest token each time, on a GPU.

    python benchmarks/embedded_juror/answer.py OUT --base ... --tokenizer ... --questions dev.gz held_out.gz \
        --adapters shipped=embedded-juror.gguf new=RUN average=RUN+embedded-juror.gguf

An adapter is a GGUF file or the folder of a run; `A+B` is the average of both changes, cut back to their rank. `OUT/NAME-SET.jsonl.gz` is for
`score_answers.py`. Beside each answer stands `alarm`: how much likelier, in logits, the first word finds fault than not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import time
from pathlib import Path

import torch
from low_rank import adapter_in, add_adapter, load_adapter, load_base, merged
from second_stage import alarms
from tokenizers import Tokenizer
from train import answers, dialogue, save_run


def adapter_at(path: str) -> dict[str, torch.Tensor]:
    """The weights of an adapter, or the average of several."""
    states = [
        adapter_in(sorted(Path(part).glob("adapter-*.safetensors")) if Path(part).is_dir() else [Path(part)])
        for part in path.split("+")
    ]
    return states[0] if len(states) == 1 else average(states)


def average(states: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of the changes that adapters make, at the rank of the first."""
    found = {}
    for name in (n for n in states[0] if "lora_A" in n):
        other = name.replace("lora_A", "lora_B")
        rank = states[0][name].shape[0]
        down = torch.cat([state[name].float() for state in states])
        up = torch.cat([state[other].float() for state in states], dim=1) / len(states)
        q_up, r_up = torch.linalg.qr(up)
        q_down, r_down = torch.linalg.qr(down.T)
        left, size, right = torch.linalg.svd(r_up @ r_down.T)
        root = size[:rank].sqrt()
        found[other] = (q_up @ left[:, :rank]) * root
        found[name] = root[:, None] * (right[:rank] @ q_down.T)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--adapters", nargs="+", required=True, help="NAME=PATH; NAME= is the bare base")
    parser.add_argument("--limit", type=int, help="questions of each set, for a try")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    sets = {path.stem: pickle.loads(gzip.decompress(path.read_bytes())) for path in options.questions}
    options.out.mkdir(parents=True, exist_ok=True)
    for named in options.adapters:
        name, _, path = named.partition("=")
        began = time.monotonic()
        model = load_base(options.base, device, dtype)
        if path:
            state = adapter_at(path)
            rank = next(value.shape[0] for key, value in state.items() if "lora_A" in key)
            add_adapter(model, rank, 2 * rank)
            load_adapter(model, state)
            if "+" in path:
                save_run(model, options.out / name, {"rank": rank, "alpha": 2 * rank, "average": path})
        model = merged(model).eval()
        for title, questions in sets.items():
            asked = questions[: options.limit]
            rows = [(dialogue(q["system"], q["user"]), {"first": "accurate"}) for q in asked]
            sure = {
                (q["id"], q["persona"]): float(a)
                for q, a in zip(asked, alarms(model, tokenizer, rows, device), strict=True)
            }
            found = answers(model, tokenizer, asked, device)
            with gzip.open(options.out / f"{name}-{title}.jsonl.gz", "wt", encoding="utf-8") as file:
                for each in found:
                    file.write(json.dumps({**each, "alarm": sure[each["id"], each["persona"]]}) + "\n")
        print(
            f"{name}: {sum(map(len, sets.values()))} questions, {time.monotonic() - began:.0f} s", flush=True
        )


if __name__ == "__main__":
    main()
