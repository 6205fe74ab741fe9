"""Figures of whole results of this room, kept: what is planted in texts of every kind, the examples made of ratings, tensors of an adapter."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from checkout import ROOT
from kept_figures import check_kept

from venire import load_cases
from venire.evals.training.examples import examples_from, write_examples
from venire.evals.training.gguf_adapter import gguf_tensors, paired_rows, read_peft_folder, write_peft_folder
from venire.evals.training.passages import Truth, numbers_in, passages
from venire.evals.training.planting import KINDS, plant, planted_cases, split_of, truth_of, write_planted
from venire.evals.training.settings import RECIPES, DPOSettings, SearchSettings, SFTSettings, load_train_file
from venire.evals.training.training_run import search_dpo, search_sft

KEPT = Path(__file__).parent / "kept"
CASES = load_cases(ROOT / "evals/demo/cases.jsonl")


def test_faults_planted_in_every_case(tmp_path: Path) -> None:
    """Each kind by itself and several together, in splits of whole documents; texts, places, scores and files."""
    cases = list(CASES)[:10]
    planted = list(planted_cases(cases, seed=4, shares={"train": 0.5, "dev": 0.2, "test": 0.3}))
    grouped = [case.model_copy(update={"group": f"g{number // 3}"}) for number, case in enumerate(cases)]
    together = list(planted_cases(grouped, ["fabrication", "number"], seed=1))
    several = [plant(case.output, truth_of(case), ["number", "term", "omission", "number"], random.Random(seed), foreign=["He owns a boat in Norway."]) for case in cases for seed in (1, 2)]  # fmt: skip
    told = write_planted(planted, tmp_path / "out")
    check_kept(
        KEPT / "planted.json",
        {
            "rows": [each.row() for each in planted],
            "scores": [each.planted.scores for each in planted],
            "words": [each.planted.output.split() for each in planted],
            "before": [[fault.before.split(), fault.after.split()] for each in planted for fault in each.planted.faults],
            "together": [[each.row()["id"], each.split, each.planted.scores, each.planted.output.split()] for each in together],
            "several": [None if each is None else [each.scores, each.output.split(), [fault.model_dump() for fault in each.faults]] for each in several],
            "told": {name: value for name, value in told.items() if name != "folder"},
            "files": {file.name: len(file.read_text().splitlines()) for file in sorted((tmp_path / "out").iterdir())},
            "labels": [line.split(",") for line in (tmp_path / "out/labels.csv").read_text().splitlines()],
            "splits": [split_of(f"g{number}", seed, {"a": 0.3, "b": 0.7}) for number in range(20) for seed in (0, 1)],
        },
        without="metadata/made",
    )  # fmt: skip


def test_sentences_numbers_and_what_bears_them_out() -> None:
    cases = list(CASES)[:8]
    truths = [truth_of(case) for case in cases]
    sentences = [passages(case.output) for case in cases]
    plain = Truth(
        (
            "Dr. Smith saw her at 9.30. He gave 2.5 mg; twice!\nTwenty five years, two thousand eight hundred and six.",
        )
    )
    check_kept(
        KEPT / "passages.json",
        {
            "places": [[(sentence.start, sentence.end, sentence.text.split()) for sentence in part] for part in sentences],
            "numbers": [sorted(truth.numbers) for truth in (*truths, plain)],
            "support": [truth.support(sentence.text) for truth, part in zip(truths, sentences, strict=True) for sentence in part],
            "nearest": [(truth.nearest_passage(sentence.text, above_all=sentence.text.split()[0]) or "").split() for truth, part in zip(truths, sentences, strict=True) for sentence in part],
            "plain": [passage.split() for passage in plain.passages],
            "spelt": [sorted(numbers_in(text)) for text in ("nineteen ninety five", "seventy six", "one hundred and twelve", "two thousand", "03.50")],
        },
    )  # fmt: skip


RUBRIC = """
name: notes
version: 1
scales:
  five: {level: ordinal, anchors: {1: worst, 2: poor, 3: fair, 4: good, 5: best}}
  present: {level: binary, anchors: {0: absent, 1: present}}
  kind: {level: nominal, anchors: {plain: a, odd: b, empty: c}}
  span: {level: interval, minimum: 0, maximum: 10}
attributes:
  - {name: accurate, question: Is it right?, scale: five}
  - {name: risk, question: Could it harm?, scale: five, better: low}
  - {name: stigma, question: Does it blame?, scale: present, better: low}
  - {name: tone, question: Which?, scale: kind}
  - {name: length, question: How long?, scale: span}
"""


def test_examples_of_ratings(tmp_path: Path) -> None:
    """Four reviewers who rated unequally many; gaps, values off the scale, a second round, other attributes and cases, a case too long to read."""
    rng = random.Random(5)
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    cases = [{"id": f"c{n}", "source": f"Note {n}. " + "A word. " * (900 if n == 7 else 3), "output": f"Text {n}.", "group": f"g{n // 2}"} for n in range(14)]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    rows: list[list[Any]] = []
    for n in range(16):
        for number, reviewer in enumerate(("ana", "ben", "cy", "dee")):
            if rng.random() < 0.2 * number:
                continue
            for round_number in (1, 2)[: 1 + (n % 5 == 0)]:
                scores: dict[str, Any] = {"accurate": rng.randint(1, 5), "risk": rng.randint(1, 5), "stigma": rng.randint(0, 1), "tone": rng.choice(["plain", "odd", "empty"]), "length": round(rng.uniform(0, 10), 1), "other": 3}  # fmt: skip
                if rng.random() < 0.1:
                    scores["accurate"] = rng.choice(["", 9])
                if rng.random() < 0.05:
                    del scores["tone"]
                rows += [[f"c{n}", reviewer, name, value, round_number, f"because {n}" if rng.random() < 0.4 else ""] for name, value in scores.items()]  # fmt: skip
    with (tmp_path / "ratings.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["case", "rater", "attribute", "value", "round", "rationale"], *rows])
    (tmp_path / "train.yaml").write_text("name: mine\ncases: cases.jsonl\nratings: ratings.csv\nrubric: rubric.yaml\npersona: plain-judge\nseed: 7\ncontext: 1600\n")  # fmt: skip
    found = examples_from(load_train_file(tmp_path / "train.yaml"))
    write_examples(found, tmp_path / "out")

    def scores_of(message: dict[str, str]) -> dict[str, Any]:
        return {name: [part["score"], part["rationale"].split()] for name, part in json.loads(message["content"]).items()}  # fmt: skip

    check_kept(
        KEPT / "examples.json",
        {
            **found.summary(),
            "sft": [[row["case"], row["reviewer"], scores_of(row["messages"][-1]), [len(each["content"]) for each in row["messages"][:-1]]] for row in found.sft],
            "upsampled": [[row["case"], row["reviewer"]] for row in found.upsampled],
            "pairs": [[row["case"], scores_of(row["chosen"][0]), scores_of(row["rejected"][0])] for row in found.preferences],
            "files": {file.name: len(file.read_text().splitlines()) for file in sorted((tmp_path / "out").iterdir())},
        },
    )  # fmt: skip


def test_settings_and_searches() -> None:
    search = SearchSettings(trials=6)
    sft = search_sft(SFTSettings(), search, lambda settings: abs(settings.rank - 30) + 1000 * settings.rate + settings.alpha / 90, seed=2)  # fmt: skip
    dpo = search_dpo(DPOSettings(), search, lambda settings: settings.beta - 1e5 * settings.rate, seed=2)
    check_kept(
        KEPT / "settings.json",
        {
            "recipes": {name: recipe.model_dump(mode="json") for name, recipe in RECIPES.items()},
            "search": search.model_dump(mode="json"),
            "found": [sft.model_dump(mode="json"), dpo.model_dump(mode="json")],
            "kinds": list(KINDS),
        },
    )


def test_tensors_of_an_adapter(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {f"base_model.model.model.layers.{layer}.self_attn.{part}_proj.lora_{side}.weight": rng.normal(size=(8, 4) if side == "B" else (2, 8)).astype(np.float32) for layer in (0, 1) for part in "qkv" for side in "AB"}  # fmt: skip
    tensors = gguf_tensors(weights, heads=2, key_heads=1)
    write_peft_folder(weights, tmp_path, rank=2, alpha=6.0, base="x")
    read, alpha = read_peft_folder(tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    check_kept(
        KEPT / "adapter.json",
        {
            "tensors": {name: values.tolist() for name, values in tensors.items()},
            "rows": paired_rows(np.arange(24.0).reshape(12, 2), 3).tolist(),
            "read": {name: float(values.sum()) for name, values in sorted(read.items())},
            "alpha": alpha,
            "config": config,
        },
    )
