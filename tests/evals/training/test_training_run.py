"""A training around its steps, without torch: what is held back, what a plan is, which settings a search keeps, the files."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from venire import VenireError
from venire.evals.training import training_run
from venire.evals.training.examples import Examples
from venire.evals.training.gguf_adapter import read_peft_folder, write_peft_folder
from venire.evals.training.settings import (
    DPOSettings,
    SearchSettings,
    SFTSettings,
    TrainFile,
    load_train_file,
)
from venire.evals.training.training_run import base_sha256, search_dpo, search_sft


def train_file(folder: Path, **more: Any) -> TrainFile:
    """Twelve cases in six groups of two, and three of their own; a base of two files."""
    rows = [{"id": f"c{n}", "output": "x", **({"group": f"g{n // 2}"} if n < 12 else {})} for n in range(15)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "ratings.csv").write_text("case,rater,attribute,value\n")
    (folder / "base").mkdir(exist_ok=True)
    (folder / "base" / "b.safetensors").write_bytes(b"two")
    (folder / "base" / "a.safetensors").write_bytes(b"one")
    given = {"name": "mine", "cases": "cases.jsonl", "ratings": "ratings.csv", "rubric": "clinical-note", "base": "base", **more}  # fmt: skip
    path = folder / "train.yaml"
    path.write_text(json.dumps(given))
    return load_train_file(path)


def test_the_dev_split_is_of_whole_groups_drawn_by_the_seed_and_never_of_all(tmp_path: Path) -> None:
    drawn = set()
    for seed in range(8):
        held = training_run._dev_cases(train_file(tmp_path, dev=0.35, seed=seed))
        drawn.add(frozenset(held))
        assert all((f"c{2 * n}" in held) == (f"c{2 * n + 1}" in held) for n in range(6))
        assert len({int(case[1:]) // 2 if int(case[1:]) < 12 else case for case in held}) == round(0.35 * 9)
    assert len(drawn) > 4
    assert training_run._dev_cases(train_file(tmp_path, dev=0)) == set()
    (tmp_path / "one").mkdir()
    alone = train_file(tmp_path / "one", dev=0.8)
    (tmp_path / "one" / "cases.jsonl").write_text('{"id": "c0", "output": "x", "group": "g"}\n')
    assert training_run._dev_cases(alone) == set()

    rows = [{"case": f"c{n}"} for n in (0, 1, 2, 0)]
    parts = training_run._split(rows, {"c0"})
    assert ([row["case"] for row in parts.train], [row["case"] for row in parts.dev]) == (["c1", "c2"], ["c0", "c0"])  # fmt: skip


def test_a_base_is_known_by_its_weights_in_the_order_of_their_names(tmp_path: Path) -> None:
    file = train_file(tmp_path)
    assert file.base is not None and base_sha256(file.base) == hashlib.sha256(b"onetwo").hexdigest()
    (tmp_path / "m.gguf").write_bytes(b"packed" * 400_000)
    assert base_sha256(tmp_path / "m.gguf") == hashlib.sha256(b"packed" * 400_000).hexdigest()


def test_a_plan_is_of_the_settings_the_rows_and_the_weights_and_another_is_not_mixed_in(tmp_path: Path) -> None:  # fmt: skip
    examples = Examples(upsampled=[{"case": "c0"}], preferences=[{"case": "c1"}])
    (tmp_path / "m.gguf").write_bytes(b"packed")
    plan = training_run._plan(train_file(tmp_path), examples)
    assert training_run._plan(train_file(tmp_path), examples) == plan
    others = {
        training_run._plan(train_file(tmp_path, seed=3), examples),
        training_run._plan(train_file(tmp_path, gguf="m.gguf"), examples),
        training_run._plan(train_file(tmp_path, dev=0.5), examples),
        training_run._plan(train_file(tmp_path, sft={"rank": 4}), examples),
        training_run._plan(train_file(tmp_path), Examples(upsampled=[{"case": "c9"}], preferences=[{"case": "c1"}])),
        training_run._plan(train_file(tmp_path), Examples(upsampled=[{"case": "c0"}])),
    }  # fmt: skip
    file = train_file(tmp_path)
    (tmp_path / "base" / "a.safetensors").write_bytes(b"other")
    others.add(training_run._plan(file, examples))
    assert len(others) == 7 and plan not in others

    for _ in range(2):
        training_run._check_same(tmp_path / "out/unfinished", plan, tmp_path / "out")
    with pytest.raises(VenireError, match="unfinished training with other settings"):
        training_run._check_same(tmp_path / "out/unfinished", others.pop(), tmp_path / "out")


def test_settings_are_the_recipes_with_what_the_file_says_instead(tmp_path: Path) -> None:
    plain = train_file(tmp_path, recipe="llama-3.1-8b").settings
    assert (plain.method, plain.sft.rank, plain.sft.alpha, plain.sft.rate, plain.dpo.beta) == ("qlora", 64, 256, 1e-4, 0.5)  # fmt: skip
    other = train_file(tmp_path, recipe="llama-3.1-8b", method="lora", sft={"rank": 4}, dpo=False).settings
    assert (other.method, other.sft.rank, other.sft.alpha, other.dpo) == ("lora", 4, 32, plain.dpo)
    with pytest.raises(VenireError, match="no recipe named 'large'"):
        train_file(tmp_path, recipe="large")


def test_a_search_keeps_the_lowest_loss_and_the_largest_margin_of_all_that_were_tried() -> None:
    search = SearchSettings(trials=12, ranks=(8, 16), rates=(1e-5, 1e-3), betas=(0.1, 0.5))
    tried: list[Any] = []

    def loss(settings: SFTSettings) -> float:
        tried.append(settings)
        return abs(np.log10(settings.rate) + 4) + settings.rank / 100

    best = search_sft(SFTSettings(rate=1e-2), search, loss, seed=1)
    assert loss(best) == min(map(loss, list(tried))) and len({settings.rate for settings in tried}) == 13
    assert all(settings.rank in (8, 16) and settings.alpha / settings.rank in (1, 2, 4) and 1e-5 <= settings.rate <= 1e-3 for settings in tried[:12])  # fmt: skip

    pairs: list[DPOSettings] = []

    def margin(settings: DPOSettings) -> float:
        pairs.append(settings)
        return settings.beta

    largest = search_dpo(DPOSettings(beta=0.01), search, margin, seed=1)
    assert largest.beta == max(settings.beta for settings in pairs) and largest.rank == DPOSettings().rank
    assert all(0.1 <= settings.beta <= 0.5 and 1e-7 <= settings.rate <= 1e-5 for settings in pairs[:12])
    # The file's own settings stay where nothing came below them, or every trial failed.
    assert search_sft(SFTSettings(rate=1e-4, rank=4), search, loss, seed=1) == SFTSettings(rate=1e-4, rank=4)
    assert search_sft(SFTSettings(), search, lambda settings: float("nan"), seed=1) == SFTSettings()
    assert search_dpo(DPOSettings(), search, lambda settings: float("nan"), seed=1) == DPOSettings()
    own_fails = search_sft(SFTSettings(rank=4), search, lambda settings: float("nan") if settings.rank == 4 else loss(settings), seed=1)  # fmt: skip
    assert own_fails == best


def test_what_is_trained_on_is_the_answer_after_its_prompt() -> None:
    judge: Any = SimpleNamespace(tokens_of=lambda prompt, answer: (prompt, answer))
    assert training_run._token_rows(judge, "sft", [{"messages": ["s", "u", "a"]}]) == [(["s", "u"], "a")]
    pair = {"prompt": ["s", "u"], "chosen": ["good"], "rejected": ["bad"]}
    assert training_run._token_rows(judge, "dpo", [pair]) == [((["s", "u"], "good"), (["s", "u"], "bad"))]


def test_the_card_says_what_was_tried_and_what_it_came_to(tmp_path: Path) -> None:
    settings = {"rank": 8, "alpha": 16.0, "rate": 2e-4}
    trials = [
        {"settings": {"sft": settings}, "dev": {"loss": 0.51}, "chosen": True},
        {"settings": {"sft": settings, "dpo": {**settings, "beta": 0.3}}, "dev": {"loss": 0.4, "margin": 1.25}, "chosen": False},
    ]  # fmt: skip
    assert training_run._trial_row(trials[0]) == "| sft | 8 | 16 | 0.0002 |  | 0.5100 |  | yes |"
    assert training_run._trial_row(trials[1]) == "| dpo | 8 | 16 | 0.0002 | 0.3 | 0.4000 | 1.2500 |  |"
    outcome = {"first": {"loss": 2.0, "margin": 0.0}, "last": {"loss": 1.5, "margin": 0.5}}
    assert training_run._first_and_last(outcome) == "First step: loss 2.0000, margin 0.0000; last: loss 1.5000, margin 0.5000."  # fmt: skip

    (tmp_path / "new").mkdir()
    (tmp_path / "new/w").write_text("whole")
    (tmp_path / "place").mkdir()
    (tmp_path / "place/half").write_text("cut short")
    training_run._move(tmp_path / "new", tmp_path / "place")
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["w"]


def test_an_adapter_folder_says_its_rank_its_alpha_and_what_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = ModuleType("safetensors.numpy")
    kept: dict[Path, Any] = {}
    fake.save_file = lambda weights, path: kept.update({path: weights})  # type: ignore[attr-defined]
    fake.load_file = kept.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "safetensors", ModuleType("safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors.numpy", fake)
    names = [f"base_model.model.model.layers.0.{part}.lora_{half}.weight" for part in ("self_attn.v_proj", "self_attn.q_proj", "mlp.up_proj") for half in "AB"]  # fmt: skip
    weights = {name: np.full((2, 2), float(n)) for n, name in enumerate(names)}
    write_peft_folder(weights, tmp_path / "adapter", rank=9, alpha=18.0, base="tiny")

    path = tmp_path / "adapter/adapter_config.json"
    config = json.loads(path.read_text())
    assert (config["r"], config["lora_alpha"], config["target_modules"], config["base_model_name_or_path"]) == (9, 18.0, ["q_proj", "up_proj", "v_proj"], "tiny")  # fmt: skip
    read, alpha = read_peft_folder(tmp_path / "adapter")
    assert alpha == 18.0 and all((read[name] == weights[name]).all() for name in names)
    # rsLoRA scales by alpha / root(r), llama.cpp by alpha / r: 18 / 3 = 54 / 9.
    path.write_text(json.dumps({**config, "use_rslora": True}))
    assert read_peft_folder(tmp_path / "adapter")[1] == 54.0


class FakeTrainer:
    """Trains nothing: keeps what it was given, and its losses on the dev split go by the settings alone."""

    def __init__(self, *, stop_after: int | None = None) -> None:
        self.begun: list[tuple[str, str, int]] = []
        self.stages: list[tuple[str, list[Any], list[Any], Any, Path | None]] = []
        self.stop_after = stop_after

    def TrainedModel(self, base: Path, method: str, seed: int) -> Any:
        if self.stop_after is not None and len(self.begun) == self.stop_after:
            raise KeyboardInterrupt
        self.begun.append((base.name, method, seed))

        def save_whole(folder: Path) -> None:
            folder.mkdir()
            (folder / "weights").write_text("trained")

        return SimpleNamespace(method=method, device="cpu", add_stage=lambda stage, settings: None, tokens_of=lambda prompt, answer: answer, save_whole=save_whole)  # fmt: skip

    def train_stage(self, judge: Any, stage: str, train: Any, dev: Any, settings: Any, *, seed: int, checkpoint: Path | None = None, report: Any = None) -> dict[str, Any]:  # fmt: skip
        self.stages.append((stage, train, dev, settings, checkpoint))
        loss = abs(np.log10(settings.rate) + 4) if stage == "sft" else 1.0
        # The look before the last is the best one, at which a training would stop.
        looks = [
            {"loss": loss, "margin": 10 * getattr(settings, "beta", 0)},
            {"loss": loss + 9, "margin": 99.0},
        ]
        return {"dev": looks, "first": {"loss": 2.0, "margin": 0.0}, "last": {"loss": 1.0, "margin": 1.0}, "steps": 3, "ended": "early"}  # fmt: skip


def trained(patch: pytest.MonkeyPatch, folder: Path, trainer: FakeTrainer, *, pairs: bool = True, **more: Any) -> dict[str, Any]:  # fmt: skip
    rows = [{"case": f"c{n}", "reviewer": "ann", "messages": ["s", "u", f"a{n}"]} for n in range(15)]
    preferences = [
        {"case": f"c{n}", "prompt": ["s"], "chosen": [f"g{n}"], "rejected": [f"b{n}"]} for n in range(15)
    ]
    patch.setattr(training_run, "examples_from", lambda file: Examples(sft=rows, upsampled=rows, preferences=preferences if pairs else []))  # fmt: skip
    patch.setattr(training_run, "_trainer", lambda: trainer)
    return training_run.train_judge(train_file(folder, dev=0.35, method="full", **more), folder / "out")


def test_a_training_keeps_the_dev_cases_apart_and_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    trainer = FakeTrainer()
    found = trained(monkeypatch, tmp_path, trainer)
    held = training_run._dev_cases(train_file(tmp_path, dev=0.35))
    (sft, train, dev, _, first), (dpo, pairs, dev_pairs, _, second) = trainer.stages
    assert (sft, dpo, trainer.begun) == ("sft", "dpo", [("base", "full", 0)])
    assert {row.replace("a", "c") for row in dev} == held and len(train) + len(dev) == 15
    assert {chosen.replace("g", "c") for chosen, _ in dev_pairs} == held and len(pairs) == len(train)
    assert first is not None and second is not None and (first.name, second.name) == ("sft.pt", "dpo.pt")
    assert found["stages"]["sft"]["rows"] == {"train": len(train), "dev": len(held)} and found["dev_cases"] == len(held)  # fmt: skip
    assert (tmp_path / "out/model/weights").read_text() == "trained" and found["files"] == ["model"]
    assert json.loads((tmp_path / "out/training.json").read_text()) == found and not (tmp_path / "out/unfinished").exists()  # fmt: skip
    assert "early" in (tmp_path / "out/MODEL_CARD.md").read_text()

    assert trained(monkeypatch, tmp_path, trainer) == found and len(trainer.begun) == 1
    with pytest.raises(VenireError, match="results of another training"):
        trained(monkeypatch, tmp_path, trainer, seed=5)
    for folder, more, pairs in (("alone", {"dpo": False}, True), ("unpaired", {}, False)):
        (tmp_path / folder).mkdir()
        alone = trained(monkeypatch, tmp_path / folder, FakeTrainer(), pairs=pairs, **more)
        assert [*alone["stages"]] == ["sft"] and alone["settings"]["dpo"] is None
    for base, problem in ((None, "names no model"), ("nowhere", "there is no model")):
        with pytest.raises(VenireError, match=problem):
            trained(monkeypatch, tmp_path, trainer, base=base)


def test_a_search_takes_the_lowest_loss_then_the_largest_margin_and_tries_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = {"search": {"trials": 3, "ranks": [8, 16]}}
    with pytest.raises(KeyboardInterrupt):
        trained(monkeypatch, tmp_path, cut := FakeTrainer(stop_after=2), **search)
    found = trained(monkeypatch, tmp_path, resumed := FakeTrainer(), **search)
    # Three settings and the recipe's own of each stage, and the training itself.
    assert len(cut.begun) == 2 and len(resumed.begun) == 2 * 4 - 2 + 1
    assert all(checkpoint is None for *_, checkpoint in resumed.stages[:-2])
    of_sft = [trial for trial in found["search"] if "dpo" not in trial["settings"]]
    of_dpo = [trial for trial in found["search"] if "dpo" in trial["settings"]]
    (sft,), (dpo,) = ([trial for trial in part if trial["chosen"]] for part in (of_sft, of_dpo))
    assert len(of_sft) == len(of_dpo) == 4
    assert sft["dev"]["loss"] == min(trial["dev"]["loss"] for trial in of_sft)
    assert dpo["dev"]["margin"] == max(trial["dev"]["margin"] for trial in of_dpo) < 99
    assert found["settings"]["sft"]["rate"] == sft["settings"]["sft"]["rate"]
    assert found["settings"]["dpo"]["beta"] == dpo["settings"]["dpo"]["beta"]
    (tmp_path / "whole").mkdir()
    with pytest.raises(VenireError, match="a search needs a dev split"):
        monkeypatch.setattr(training_run, "_dev_cases", lambda file: set())
        trained(monkeypatch, tmp_path / "whole", FakeTrainer(), **search)
