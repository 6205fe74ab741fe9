"""The one file that needs torch, transformers and peft: a judge's two stages of training, step by step, resumable at every checkpoint.

The second stage is DPO against the model that the first made: its low-rank weights are new ones beside the first's, which stay
as they are, and the reference is the model without them. (A trainer that switches all adapters off for its reference compares with
the bare base instead.)
"""

from __future__ import annotations

import copy
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from ...rubrics.errors import MissingExtra, VenireError
from .settings import DPOSettings, StageSettings

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WARM_UP = 0.05
CHECKPOINT_EVERY = 50
_ADAPTER = re.compile(r"\.lora_([AB])\.(sft|dpo)\.weight$")

Report = Callable[[dict[str, Any]], None]
"""Hears of each step: its stage, number, of how many, loss and, for preferences, margin."""


class TrainedModel:
    """A base model with its tokenizer, ready to be taught."""

    def __init__(self, base: Path, method: str, seed: int) -> None:
        torch.manual_seed(seed)
        self.method = method
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        source: dict[str, Any] = (
            {"pretrained_model_name_or_path": base.parent, "gguf_file": base.name}
            if base.suffix == ".gguf"
            else {"pretrained_model_name_or_path": base}
        )
        self.tokenizer: Any = AutoTokenizer.from_pretrained(**source)
        dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.model: Any = AutoModelForCausalLM.from_pretrained(
            **source, dtype=dtype, **_four_bits(method, self.device)
        )
        if method != "qlora":
            self.model.to(self.device)
        if self.model.config.model_type != "llama" and method != "full":
            raise VenireError(
                f"{base.name} is a {self.model.config.model_type} model, but adapters can be trained only for Llama models",
                remedy="choose a Llama model, or `method: full`",
            )
        self.reference: Any = None
        """For `full`: the model as the first stage left it."""

    def add_stage(self, stage: str, settings: StageSettings) -> None:
        """New weights for `stage`, beside those of the one before, which are then left as they are."""
        if self.method == "full":
            if stage == "dpo":
                self.reference = copy.deepcopy(self.model).requires_grad_(False).eval()
            return
        low_rank = LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules=list(TARGETS),
        )
        if stage == "sft":
            self.model = get_peft_model(self.model, low_rank, adapter_name="sft")
        else:
            self.model.add_adapter("dpo", low_rank)
            self.model.base_model.set_adapter(["sft", "dpo"])
        for name, weights in self.model.named_parameters():
            weights.requires_grad_(f".{stage}." in name)

    @property
    def learnt(self) -> list[tuple[str, Any]]:
        return [(name, weights) for name, weights in self.model.named_parameters() if weights.requires_grad]

    def tokens_of(
        self, prompt: Sequence[Mapping[str, str]], answer: Mapping[str, str]
    ) -> tuple[list[int], int]:
        """The tokens of prompt and answer, and where the answer begins."""
        laid_out = self.tokenizer.apply_chat_template(
            list(prompt), tokenize=False, add_generation_prompt=True
        )
        dialogue = self.tokenizer.apply_chat_template([*prompt, answer], tokenize=False)
        ending = (
            dialogue[len(laid_out) :]
            if dialogue.startswith(laid_out)
            else answer["content"] + self.tokenizer.eos_token
        )
        prefix = self.tokenizer(laid_out, add_special_tokens=False)["input_ids"]
        return [*prefix, *self.tokenizer(ending, add_special_tokens=False)["input_ids"]], len(prefix)

    def log_likelihoods(
        self, batch: Sequence[tuple[list[int], int]], model: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each answer given its prompt, and the answers' lengths in tokens."""
        width = max(len(tokens) for tokens, _ in batch)
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        read = torch.zeros((len(batch), width), dtype=torch.long)
        in_answer = torch.zeros((len(batch), width), dtype=torch.bool)
        for row, (tokens, start) in enumerate(batch):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            read[row, : len(tokens)] = 1
            in_answer[row, start : len(tokens)] = True
        ids, read, in_answer = (tensor.to(self.device) for tensor in (ids, read, in_answer))
        # Only the answers' tokens are predicted: all of a long prompt's would fill the memory for nothing.
        start_at = min(start for _, start in batch)
        read_by = model or self.model
        output = read_by(
            input_ids=ids, attention_mask=read, use_cache=False, logits_to_keep=width - start_at + 1
        )
        logits, in_answer = output.logits[:, :-1].float(), in_answer[:, start_at:]
        tensor = -F.cross_entropy(logits.transpose(1, 2), ids[:, start_at:], reduction="none") * in_answer
        return tensor.sum(1), in_answer.sum(1)

    @contextmanager
    def as_reference(self) -> Iterator[Any]:
        """The model of the first stage."""
        if self.method == "full":
            yield self.reference
            return
        self.model.base_model.set_adapter("sft")
        try:
            with torch.no_grad():
                yield self.model
        finally:
            self.model.base_model.set_adapter(["sft", "dpo"])
            for name, weights in self.model.named_parameters():
                weights.requires_grad_(".dpo." in name)

    def low_rank_weights(self) -> tuple[dict[str, Any], float]:
        """The change of both stages as one adapter in PEFT's names, with its alpha: ranks side by side, scales inside the upper half."""
        parts: dict[str, dict[str, dict[str, torch.Tensor]]] = {}
        for name, weights in self.model.named_parameters():
            if match := _ADAPTER.search(name):
                place = name[: match.start()]
                parts.setdefault(place, {}).setdefault(match[2], {})[match[1]] = (
                    weights.detach().float().cpu()
                )
        settings = self.model.peft_config
        state = {}
        rank = 0
        for place, stages in parts.items():
            scales = {stage: settings[stage].lora_alpha / settings[stage].r for stage in stages}
            state[f"{place}.lora_A.weight"] = torch.cat([stages[s]["A"] for s in stages]).numpy()
            upper = torch.cat([stages[s]["B"] * scales[s] for s in stages], dim=1)
            state[f"{place}.lora_B.weight"] = upper.numpy()
            rank = upper.shape[1]
        return state, float(rank)

    @property
    def heads(self) -> tuple[int, int]:
        config = self.model.config
        return config.num_attention_heads, config.num_key_value_heads

    def save_whole(self, folder: Path) -> None:
        """All weights as a Hugging Face folder."""
        # A model from a GGUF file refuses to be saved while it remembers how it was packed.
        self.model.hf_quantizer = None
        self.model.config.__dict__.pop("quantization_config", None)
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def sft_loss(
    judge: TrainedModel, batch: Sequence[tuple[list[int], int]]
) -> tuple[torch.Tensor, dict[str, float]]:
    likelihood, lengths = judge.log_likelihoods(batch)
    return -likelihood.sum() / lengths.sum(), {}


def dpo_loss(
    judge: TrainedModel, batch: Sequence[tuple[Any, Any]], beta: float
) -> tuple[torch.Tensor, dict[str, float]]:
    chosen, rejected = ([pair[side] for pair in batch] for side in (0, 1))
    with judge.as_reference() as reference, torch.no_grad():
        base_gap = judge.log_likelihoods(chosen, reference)[0] - judge.log_likelihoods(rejected, reference)[0]
    gap = judge.log_likelihoods(chosen)[0] - judge.log_likelihoods(rejected)[0]
    margin = beta * (gap - base_gap)
    return -F.logsigmoid(margin).mean(), {"margin": float(margin.detach().mean())}


def train_stage(
    judge: TrainedModel, stage: str, rows: Sequence[Any], dev: Sequence[Any], settings: StageSettings, *,
    seed: int, checkpoint: Path | None = None, report: Report = lambda step: None,
) -> dict[str, Any]:  # fmt: skip
    """Train one stage to its end; it goes on from `checkpoint` where there is one, as if it had never stopped.

    Returns:
        The loss (and margin) on the training rows before the first step and on the dev split at each look, and why it ended.
    """
    loss_of: Callable[[Sequence[Any]], tuple[Any, dict[str, float]]] = partial(sft_loss, judge)
    if isinstance(settings, DPOSettings):
        loss_of = partial(dpo_loss, judge, beta=settings.beta)
    an_epoch = math.ceil(len(rows) / settings.batch)
    total = settings.steps or an_epoch * settings.epochs
    look = max(1, total // 10) if settings.steps else an_epoch
    optimiser = torch.optim.AdamW([weights for _, weights in judge.learnt], lr=settings.rate)
    at: dict[str, Any] = {"step": 0, "looks": [], "best": None, "losses": [], "ended": ""}
    if checkpoint is not None and checkpoint.exists():
        state = torch.load(checkpoint, map_location=judge.device, weights_only=False)
        at = state["at"]
        _restore(judge, state["weights"])
        optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["chance"].cpu())
    while not at["ended"]:
        judge.model.train()
        step = at["step"]
        order = list(range(len(rows)))
        random.Random(f"{seed} {stage} {step // an_epoch}").shuffle(order)
        start = step % an_epoch * settings.batch
        share = (step + 1) / total
        for group in optimiser.param_groups:
            group["lr"] = (
                settings.rate * min(1.0, share / WARM_UP) * 0.5 * (1 + math.cos(math.pi * step / total))
            )
        loss, metrics = loss_of([rows[i] for i in order[start : start + settings.batch]])
        if not torch.isfinite(loss):
            raise VenireError(
                f"the loss of {stage} is not a number at step {step}",
                remedy=f"lower the learning rate of {stage}",
            )
        loss.backward()
        nn.utils.clip_grad_norm_([weights for _, weights in judge.learnt], 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        at["step"] += 1
        at["losses"].append({"step": step, "loss": float(loss.detach()), **metrics})
        report({"stage": stage, "step": at["step"], "of": total, **at["losses"][-1]})
        if at["step"] == total:
            at["ended"] = "all steps were made"
        if dev and at["step"] % look == 0:
            dev_losses = dev_loss(judge, dev, loss_of, settings.batch)
            at["looks"].append({"step": at["step"], **dev_losses})
            best = min(at["looks"], key=lambda look: look["loss"])
            if best is at["looks"][-1]:
                at["best"] = {name: weights.detach().cpu().clone() for name, weights in judge.learnt}
            if len(at["looks"]) - 1 - at["looks"].index(best) >= settings.patience:
                at["ended"] = f"no improvement on the dev split in {settings.patience} checks"
        if checkpoint is not None and (at["step"] % CHECKPOINT_EVERY == 0 or at["ended"]):
            _save(checkpoint, judge, optimiser, at)
    if at["best"] is not None:
        _restore(judge, at["best"])
    return {
        "steps": at["step"],
        "first": at["losses"][0],
        "last": at["losses"][-1],
        "dev": at["looks"],
        "ended": at["ended"],
    }


def dev_loss(
    judge: TrainedModel,
    rows: Sequence[Any],
    loss_of: Callable[[Any], tuple[torch.Tensor, dict[str, float]]],
    batch: int,
) -> dict[str, float]:
    """The mean loss (and margin) over `rows`, with nothing learnt from them."""
    judge.model.eval()
    total: dict[str, float] = {}
    with torch.no_grad():
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            loss, metrics = loss_of(part)
            for key, value in {"loss": float(loss), **metrics}.items():
                total[key] = total.get(key, 0.0) + value * len(part) / len(rows)
    return total


def _save(path: Path, judge: TrainedModel, optimiser: Any, at: Mapping[str, Any]) -> None:
    """Write a checkpoint beside `path` first: one that is cut short is never read."""
    half = path.with_suffix(".half")
    weights = {name: parameter.detach().cpu() for name, parameter in judge.learnt}
    torch.save(
        {"at": at, "weights": weights, "optimiser": optimiser.state_dict(), "chance": torch.get_rng_state()},
        half,
    )
    half.replace(path)


def _restore(judge: TrainedModel, weights: Mapping[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in judge.learnt:
            parameter.copy_(weights[name])


def _four_bits(method: str, device: str) -> dict[str, Any]:
    if method != "qlora":
        return {}
    if device != "cuda":
        raise VenireError("qlora needs a GPU", remedy="write `method: lora`")
    try:
        from transformers import BitsAndBytesConfig

        return {
            "quantization_config": BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16
            )
        }
    except ImportError:
        raise MissingExtra(
            "qlora needs the package bitsandbytes", remedy="pip install bitsandbytes"
        ) from None
