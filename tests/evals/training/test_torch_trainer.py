"""Training a judge, with a tiny model made on the spot: what goes down, what starts at nothing, what survives an interruption.

Needs the extra `train` (torch is large): `make train-test` sets up an environment with it. Elsewhere these tests are skipped.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch", reason="the extra `train` is not installed: make train-test")
peft = pytest.importorskip("peft", reason="the extra `train` is not installed: make train-test")
transformers = pytest.importorskip(
    "transformers", reason="the extra `train` is not installed: make train-test"
)

gguf = pytest.importorskip("gguf", reason="the extra `train` is not installed: make train-test")

from first_tokens import first_tokens  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

from venire.agents.clients.adapters import read_adapter  # noqa: E402
from venire.agents.clients.weights import SHA256, weights_path  # noqa: E402
from venire.evals.training import gguf_adapter, torch_trainer  # noqa: E402
from venire.evals.training.examples import examples_from  # noqa: E402
from venire.evals.training.gguf_adapter import read_peft_folder, write_adapter  # noqa: E402
from venire.evals.training.settings import (  # noqa: E402  # noqa: E402
    SFTSettings,
    TrainFile,
    load_train_file,
)
from venire.evals.training.training_run import DONE, PARTIAL, train_judge  # noqa: E402
from venire.rubrics.errors import VenireError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
RUBRIC = {
    "name": "short",
    "version": 1,
    "scales": {"four": {"level": "ordinal", "anchors": {1: "bad", 2: "poor", 3: "fair", 4: "good"}}},
    "attributes": [
        {"name": "accurate", "question": "Is it right?", "scale": "four"},
        {"name": "risk", "question": "Is it dangerous?", "scale": "four", "better": "low"},
    ],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six cases, three reviewers, a rubric, a training file and a tiny model."""
    folder = tmp_path_factory.mktemp("training")
    cases = [{"id": f"c{n}", "source": f"Dose {n} mg.", "output": f"The dose was {n} mg."} for n in range(6)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    with (folder / "ratings.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "rater", "attribute", "value"])
        for n in range(6):
            for rater in "abc":
                # The last case has the best of everything, so that its pair comes out equal.
                rows.writerow([f"c{n}", rater, "accurate", 4 if n == 5 else 1 + n % 3])
                rows.writerow([f"c{n}", rater, "risk", 1 if n == 5 else 4 - n % 3])
    said = [f"c{n},a,{attribute},2" for n in range(6) for attribute in ("accurate", "risk")]
    (folder / "alike.csv").write_text("\n".join(["case,rater,attribute,value", *said]) + "\n")
    _tiny_model(folder)
    return folder


def _tiny_model(folder: Path) -> None:
    _write_file(folder, {})
    texts = [
        m["content"]
        for row in examples_from(load_train_file(folder / "train.yaml")).sft
        for m in row["messages"]
    ]
    words = Tokenizer(models.BPE())
    # Whole phrases become tokens, so that prompts are short and steps cheap.
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words.decoder = decoders.ByteLevel()
    words.train_from_iterator(
        sorted(set(texts)),
        trainers.BpeTrainer(
            vocab_size=2500, special_tokens=["<|end|>", "<system>", "<user>", "<assistant>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        ),
    )  # fmt: skip
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|end|>", pad_token="<|end|>"
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=2048, tie_word_embeddings=False,
        )
    )  # fmt: skip
    model.save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")


def _write_file(folder: Path, more: dict[str, Any]) -> TrainFile:
    said = {
        "name": "mine",
        "cases": "cases.jsonl",
        "ratings": "ratings.csv",
        "rubric": "rubric.yaml",
        "seed": 7,
        **more,
    }
    (folder / "train.yaml").write_text(yaml.safe_dump(said))
    return load_train_file(folder / "train.yaml")


STAGES = {
    "sft": {"rank": 4, "alpha": 8, "rate": 0.02, "batch": 8, "steps": 4},
    "dpo": {"rank": 4, "alpha": 8, "rate": 0.01, "batch": 4, "steps": 4},
}


def test_twenty_steps_lower_the_loss_on_what_was_learnt_by_nine_tenths(study: Path, tmp_path: Path) -> None:
    settings = {"sft": {"rate": 0.02, "batch": 6, "steps": 20}, "dpo": False, "dev": 0, "method": "full"}

    file = _write_file(study, {"base": "tiny", "ratings": "alike.csv", **settings})
    result = train_judge(file, tmp_path / "out")

    stage = result["stages"]["sft"]
    assert stage["last"]["loss"] < 0.1 * stage["first"]["loss"]
    assert transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "model") is not None


def test_preferences_begin_at_no_margin_over_the_first_stage_and_end_above_it(
    study: Path, tmp_path: Path
) -> None:
    result = train_judge(_write_file(study, {"base": "tiny", "dev": 0, **STAGES}), tmp_path / "out")

    assert result["stages"]["dpo"]["first"]["margin"] == pytest.approx(0, abs=1e-5)
    assert result["stages"]["dpo"]["last"]["margin"] > 0
    assert result["examples"]["dropped"] == {"pairs that came out equal": 1}
    assert result["stages"]["dpo"]["rows"]["train"] == 5
    assert "left out: 1 pairs that came out equal" in (tmp_path / "out" / "MODEL_CARD.md").read_text()


def test_an_interrupted_training_goes_on_to_the_same_weights(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _write_file(study, {"base": "tiny", **STAGES})
    monkeypatch.setattr(torch_trainer, "CHECKPOINT_EVERY", 1)
    whole = train_judge(file, tmp_path / "whole")

    class Interrupted(Exception):
        pass

    def stop_in_dpo(step: dict[str, Any]) -> None:
        if step["stage"] == "dpo" and step["step"] == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        train_judge(file, tmp_path / "cut", report=stop_in_dpo)
    left = {path.name for path in (tmp_path / "cut").iterdir()}
    resumed = train_judge(file, tmp_path / "cut")

    assert left == {"examples", PARTIAL}, "nothing half-written is offered as a model"
    assert resumed["stages"]["dpo"]["last"] == whole["stages"]["dpo"]["last"]
    one, other = (read_peft_folder(tmp_path / name / "adapter")[0] for name in ("whole", "cut"))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not (tmp_path / "cut" / PARTIAL).exists()
    assert train_judge(file, tmp_path / "cut") == json.loads((tmp_path / "cut" / DONE).read_text())


def test_a_search_leaves_every_trial_in_the_card_and_goes_on_where_it_was_cut(
    study: Path, tmp_path: Path
) -> None:
    search = {"trials": 2, "ranks": [2, 4], "rates": [0.001, 0.05]}
    file = _write_file(study, {"base": "tiny", "dev": 0.34, "search": search, **STAGES})
    whole = train_judge(file, tmp_path / "whole")
    tried: list[str] = []

    class Interrupted(Exception):
        pass

    def stop_in_search(step: dict[str, Any]) -> None:
        tried.append(f"{step['stage']} {step['step']}")
        if tried[-1] == "search dpo 1":
            raise Interrupted

    with pytest.raises(Interrupted):
        train_judge(file, tmp_path / "cut", report=stop_in_search)
    resumed = train_judge(
        file, tmp_path / "cut", report=lambda step: tried.append(f"{step['stage']} {step['step']}")
    )

    assert resumed["search"] == whole["search"]
    assert resumed["settings"] == whole["settings"]
    searched = [each for each in tried if each.startswith("search")]
    assert searched == [f"search {stage} {n}" for stage in ("sft", "dpo") for n in (1, 2, 3)], (
        "each is tried once"
    )
    assert [list(trial["settings"])[-1] for trial in whole["search"] if trial["chosen"]] == ["sft", "dpo"]
    best = min((t for t in whole["search"] if "dpo" not in t["settings"]), key=lambda t: t["dev"]["loss"])
    assert best["chosen"]
    assert best["settings"]["sft"] == whole["settings"]["sft"]
    rows = [
        line for line in (tmp_path / "whole" / "MODEL_CARD.md").read_text().splitlines() if line[:1] == "|"
    ]
    assert len(rows) == 2 + 6
    assert sum(row.endswith("| yes |") for row in rows) == 2


def test_another_training_is_not_mixed_into_an_unfinished_one(study: Path, tmp_path: Path) -> None:
    def stop(step: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_judge(_write_file(study, {"base": "tiny", **STAGES}), tmp_path / "out", report=stop)

    with pytest.raises(VenireError, match="unfinished training with other settings"):
        train_judge(_write_file(study, {"base": "tiny", **STAGES, "seed": 8}), tmp_path / "out")


def test_the_adapter_of_both_stages_is_what_the_model_computes(study: Path, tmp_path: Path) -> None:
    file = _write_file(study, {"base": "tiny", "dev": 0, **STAGES})
    judge = torch_trainer.TrainedModel(study / "tiny", "lora", 7)
    rows = [judge.tokens_of(row["messages"][:-1], row["messages"][-1]) for row in examples_from(file).sft]
    for stage, settings in (("sft", file.settings.sft), ("dpo", file.settings.dpo)):
        judge.add_stage(stage, settings)
        for _, weights in judge.learnt:
            torch.nn.init.normal_(weights, std=0.1)
    judge.model.eval()
    with torch.no_grad():
        both = judge.log_likelihoods(rows[:2])[0]
    weights, alpha = judge.low_rank_weights()

    base = transformers.AutoModelForCausalLM.from_pretrained(study / "tiny")
    state = base.state_dict()
    for name, upper in weights.items():
        if ".lora_B." in name:
            lower = weights[name.replace("lora_B", "lora_A")]
            place = name.removeprefix("base_model.model.").replace(".lora_B.weight", ".weight")
            state[place] = state[place] + torch.from_numpy(upper @ lower) * (alpha / lower.shape[0])
    base.load_state_dict(state)
    with torch.no_grad():
        merged = judge.log_likelihoods(rows[:2], base.eval())[0]

    assert merged.tolist() == pytest.approx(both.tolist(), rel=1e-3)


WEIGHTS = weights_path()
PROMPTS = [
    f"{start} {end}"
    for start in ("The patient was given", "Blood pressure was", "She denies any", "The summary is")
    for end in ("", "about", "no more than", "on Monday a", "in the left")
]


@pytest.mark.skipif(WEIGHTS is None, reason="the embedded weights are not installed: venire model install")
@pytest.mark.timeout(1200)
def test_llama_cpp_gives_the_probabilities_that_peft_gives_and_only_with_q_and_k_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WEIGHTS is not None
    judge = torch_trainer.TrainedModel(WEIGHTS, "lora", 7)
    judge.add_stage("sft", SFTSettings(rank=8, alpha=8))
    torch.manual_seed(7)
    for name, weights in judge.learnt:
        if "lora_B" in name:
            # Strong on what is turned by position, so that a wrong order shows.
            torch.nn.init.normal_(weights, std=0.1 if "q_proj" in name or "k_proj" in name else 0.002)
    # With four bits a weight llama.cpp alone is up to .5 off torch: what is tested is the adapter, on the same numbers.
    base = _write_unquantised(WEIGHTS, tmp_path / "base.gguf")
    expected = [_first_token(judge, prompt) for prompt in PROMPTS]
    low_rank, alpha = judge.low_rank_weights()
    heads, key_heads = judge.heads

    def furthest(path: Path) -> float:
        write_adapter(
            low_rank, path, alpha=alpha, heads=heads, key_heads=key_heads, base_sha256=SHA256, name="test"
        )
        found = first_tokens(base, read_adapter(path), PROMPTS)
        return max(
            abs(likely[token] - known[token])
            for known, likely in zip(expected, found, strict=True)
            for token in likely
        )

    assert furthest(tmp_path / "right.gguf") < 0.05
    monkeypatch.setattr(gguf_adapter, "paired_rows", lambda matrix, heads: matrix)
    assert furthest(tmp_path / "wrong.gguf") > 0.3


def _first_token(judge: torch_trainer.TrainedModel, prompt: str) -> Any:
    """The log-probability of every token after the prompt."""
    ids = torch.tensor([judge.tokenizer(prompt)["input_ids"]])
    with torch.no_grad():
        return torch.log_softmax(judge.model.eval()(input_ids=ids).logits[0, -1].float(), -1).tolist()


def _write_unquantised(weights: Path, path: Path) -> Path:
    """The same weights with thirty-two bits each."""
    reader = gguf.GGUFReader(weights)
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], inner)
    for tensor in reader.tensors:
        numbers = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1])
        writer.add_tensor(tensor.name, np.ascontiguousarray(numbers, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
