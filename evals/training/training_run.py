"""A training from its file to an adapter: examples, a dev split, SFT, DPO, the files of the model and its card; resumable."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...orchestration.record.private_files import write_atomically
from ...rubrics.case import load_cases
from ...rubrics.errors import MissingExtra, VenireError
from .examples import Examples, examples_from, write_examples
from .gguf_adapter import write_adapter, write_peft_folder
from .settings import DPOSettings, Recipe, SearchSettings, SFTSettings, StageSettings, TrainFile

if TYPE_CHECKING:
    import optuna

    from .torch_trainer import TrainedModel

DONE = "training.json"
PARTIAL = "unfinished"
"""Where everything is until it is whole; nothing in it is a model."""

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class StageRows:
    """The rows of a stage, and those of other cases by which it is stopped."""

    train: list[dict[str, Any]]
    dev: list[dict[str, Any]]


def train_judge(file: TrainFile, folder: Path, report: Report = lambda step: None) -> dict[str, Any]:
    """Train the judge that `file` describes and put it into `folder`; goes on where an earlier try was interrupted.

    Returns:
        What `training.json` holds: counts, settings, hashes, the losses and margins of both stages, seconds.
    """
    if file.base is None:
        raise VenireError(
            "the file names no model to train",
            remedy="add `base:` with a Hugging Face folder or a GGUF file, or use --examples-only",
        )
    if not file.base.exists():
        raise VenireError(
            f"there is no model at {file.base}", remedy="give a Hugging Face folder or a GGUF file"
        )
    examples = examples_from(file)
    plan = _plan(file, examples)
    if (folder / DONE).exists():
        earlier_result: dict[str, Any] = json.loads((folder / DONE).read_text(encoding="utf-8"))
        if earlier_result["plan"] == plan:
            return earlier_result
        raise VenireError(f"{folder} holds the results of another training", remedy="name another folder")
    partial = folder / PARTIAL
    _check_same(partial, plan, folder)
    write_examples(examples, folder / "examples")
    trainer = _trainer()
    start = time.monotonic()
    recipe = file.settings
    held_back = _dev_cases(file)
    sft, dpo = (_split(rows, held_back) for rows in (examples.upsampled, examples.preferences))
    wants_dpo = file.dpo is not False and bool(dpo.train)
    trials: list[dict[str, Any]] = []
    if file.search is not None:
        recipe, trials = _best_recipe(file, recipe, sft, dpo if wants_dpo else None, partial, report)
    judge = trainer.TrainedModel(file.base, recipe.method, file.seed)
    stages: dict[str, Any] = {}
    for stage, split, settings in (("sft", sft, recipe.sft), ("dpo", dpo, recipe.dpo)):
        if stage == "dpo" and not wants_dpo:
            continue
        judge.add_stage(stage, settings)
        train, dev = (_token_rows(judge, stage, rows) for rows in (split.train, split.dev))
        stages[stage] = trainer.train_stage(
            judge,
            stage,
            train,
            dev,
            settings,
            seed=file.seed,
            checkpoint=partial / f"{stage}.pt",
            report=report,
        )
        stages[stage]["rows"] = {"train": len(train), "dev": len(dev)}
    result = {
        "plan": plan, "name": file.name, "method": recipe.method, "seed": file.seed,
        "base": {"name": file.base.name, "sha256": base_sha256(file.base)},
        "examples": examples.summary(), "dev_cases": len(held_back),
        "settings": {"sft": recipe.sft.model_dump(), "dpo": recipe.dpo.model_dump() if wants_dpo else None},
        "search": trials, "stages": stages, "seconds": round(time.monotonic() - start, 1), "device": judge.device,
    }  # fmt: skip
    result["files"] = _write_model(judge, file, partial)
    for name in result["files"]:
        _move(partial / name, folder / name)
    write_atomically(folder / "MODEL_CARD.md", _model_card(result))
    # Last: what has no such file is not finished.
    write_atomically(folder / DONE, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    shutil.rmtree(partial)
    return result


def base_sha256(base: Path) -> str:
    """The hash of the base's weights: of the file, or of all weight files of a folder in the order of their names."""
    paths = [base] if base.is_file() else sorted(base.glob("*.safetensors")) or sorted(base.glob("*.bin"))
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _write_model(judge: TrainedModel, file: TrainFile, partial: Path) -> list[str]:
    """The model's files in `partial`, by name."""
    if judge.method == "full":
        judge.save_whole(partial / "model")
        return ["model"]
    packed = file.gguf or file.base
    weights, alpha = judge.low_rank_weights()
    write_peft_folder(weights, partial / "adapter", rank=int(alpha), alpha=alpha, base=str(file.base))
    names = ["adapter"]
    if packed is not None and packed.suffix == ".gguf":
        heads, key_heads = judge.heads
        write_adapter(
            weights, partial / "adapter.gguf", alpha=alpha, heads=heads, key_heads=key_heads, base_sha256=base_sha256(packed), name=file.name
        )  # fmt: skip
        names.append("adapter.gguf")
    return names


def _move(finished: Path, place: Path) -> None:
    """Put a whole file or folder in its place, over one that an interrupted try left there."""
    if place.is_dir():
        shutil.rmtree(place)
    finished.replace(place)


def _dev_cases(file: TrainFile) -> set[str]:
    """The cases of the dev split: whole groups, drawn by the seed, never all of them."""
    groups: dict[str, list[str]] = {}
    for case in load_cases(file.cases):
        groups.setdefault(case.group or case.id, []).append(case.id)
    names = sorted(groups)
    random.Random(file.seed).shuffle(names)
    count = min(round(file.dev * len(names)), len(names) - 1)
    return {case for name in names[:count] for case in groups[name]}


def _split(rows: Sequence[dict[str, Any]], held_back: set[str]) -> StageRows:
    return StageRows(
        [r for r in rows if r["case"] not in held_back], [r for r in rows if r["case"] in held_back]
    )


def _token_rows(judge: TrainedModel, stage: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    if stage == "sft":
        return [judge.tokens_of(row["messages"][:-1], row["messages"][-1]) for row in rows]
    return [
        tuple(judge.tokens_of(row["prompt"], row[side][0]) for side in ("chosen", "rejected")) for row in rows
    ]


def _best_recipe(
    file: TrainFile, recipe: Recipe, sft: StageRows, dpo: StageRows | None, partial: Path, report: Report
) -> tuple[Recipe, list[dict[str, Any]]]:
    """The recipe with the settings that did best on the dev split, and all that were tried.

    Each trial is kept when it ends. A training that is resumed draws the same settings again and finds them tried.
    """
    if not sft.dev:
        raise VenireError("a search needs a dev split", remedy="set `dev:` to a share above 0, or add cases")
    trainer, search = _trainer(), file.search
    assert search is not None
    trials_file = partial / "trials.json"
    trials: list[dict[str, Any]] = (
        json.loads(trials_file.read_text(encoding="utf-8")) if trials_file.exists() else []
    )

    def dev_result(sft_settings: SFTSettings, preferences: DPOSettings | None) -> dict[str, float]:
        trial_settings = {"sft": sft_settings.model_dump(mode="json")}
        if preferences is not None:
            trial_settings["dpo"] = preferences.model_dump(mode="json")
        if earlier := next((trial for trial in trials if trial["settings"] == trial_settings), None):
            return earlier["dev"]  # type: ignore[no-any-return]
        judge = trainer.TrainedModel(file.base, recipe.method, file.seed)
        stages: list[tuple[str, StageRows, Any]] = [("sft", sft, sft_settings)]
        if preferences is not None and dpo is not None:
            stages.append(("dpo", dpo, preferences))
        looks: list[dict[str, float]] = []
        for stage, split, settings in stages:
            judge.add_stage(stage, settings)
            train, dev = (_token_rows(judge, stage, rows) for rows in (split.train, split.dev))
            looks = trainer.train_stage(judge, stage, train, dev, settings, seed=file.seed)["dev"]
        best_look = min(looks, key=lambda look: look["loss"])
        trials.append({"settings": trial_settings, "dev": best_look, "chosen": False})
        write_atomically(trials_file, json.dumps(trials))
        of_stage = sum(trial["settings"].keys() == trial_settings.keys() for trial in trials)
        report({**best_look, "stage": f"search {stages[-1][0]}", "step": of_stage, "of": search.trials + 1})
        return best_look

    best_sft = search_sft(recipe.sft, search, lambda settings: dev_result(settings, None)["loss"], file.seed)
    best_recipe = recipe.model_copy(update={"sft": best_sft})
    if dpo is not None and dpo.dev:
        best_dpo = search_dpo(
            recipe.dpo, search, lambda settings: dev_result(best_sft, settings)["margin"], file.seed
        )
        best_recipe = best_recipe.model_copy(update={"dpo": best_dpo})
    chosen_settings = {stage: getattr(best_recipe, stage).model_dump(mode="json") for stage in ("sft", "dpo")}
    for trial in trials:
        trial["chosen"] = all(
            chosen_settings[stage] == settings for stage, settings in trial["settings"].items()
        )
    return best_recipe, trials


def _plan(file: TrainFile, examples: Examples) -> str:
    """A hash of all that decides what comes out."""
    settings = file.model_dump(mode="json", exclude={"cases", "ratings", "base", "gguf"})
    rows = [examples.upsampled, examples.preferences, sorted(_dev_cases(file))]
    assert file.base is not None
    weights = [base_sha256(path) for path in (file.base, file.gguf) if path is not None]
    return hashlib.sha256(json.dumps([settings, rows, weights], sort_keys=True).encode()).hexdigest()


def _check_same(partial: Path, plan: str, folder: Path) -> None:
    """Refuse to go on with a training of other settings or data."""
    partial.mkdir(parents=True, exist_ok=True)
    plan_file = partial / "plan"
    if plan_file.exists() and plan_file.read_text(encoding="utf-8") != plan:
        raise VenireError(
            f"{folder} holds an unfinished training with other settings or data",
            remedy=f"name another folder, or remove {partial}",
        )
    write_atomically(plan_file, plan)


def _trainer() -> Any:
    try:
        from . import torch_trainer
    except ImportError as error:
        raise MissingExtra(
            f"training needs the package {error.name}", remedy="pip install 'venire[train]'"
        ) from None
    return torch_trainer


def _model_card(result: Mapping[str, Any]) -> str:
    """The model card in Markdown, with what its owner has to fill in."""
    counts = result["examples"]
    lines = [
        f"# {result['name']}",
        "",
        f"Base: `{result['base']['name']}`, SHA-256 of its weights `{result['base']['sha256']}`. Method: {result['method']}. Seed: {result['seed']}.",
        "",
        "## Data",
        "",
        f"{counts['sft']} ballots of {len(counts['reviewers'])} reviewers ({counts['sft_upsampled']} after reviewers were up-sampled) and {counts['dpo']} pairs; "
        f"{result['dev_cases']} cases were the dev split, which decided when training stopped.",
        *(f"- left out: {count} {reason}" for reason, count in counts["dropped"].items()),
        "",
        "## Training",
        "",
    ]
    if result["search"]:
        lines += [
            "The settings are the best of those tried: for SFT by the loss on the dev split, for DPO by the margin there. So these figures make the",
            "chosen settings look better than they are.",
            "",
            "| stage | rank | alpha | rate | beta | dev loss | dev margin | chosen |",
            "|---|---|---|---|---|---|---|---|",
            *map(_trial_row, result["search"]),
            "",
        ]
    for stage, outcome in result["stages"].items():
        settings = ", ".join(
            f"{key} {value}" for key, value in result["settings"][stage].items() if value is not None
        )
        lines += [
            f"{stage.upper()}: {settings}.",
            "",
            f"{outcome['steps']} steps; {outcome['ended']}. {_first_and_last(outcome)}",
            "",
        ]
    lines += [
        f"{result['seconds']:.0f} seconds on {result['device']} since training was started or last resumed.",
        "",
        "## To be filled in by the owner of the model",
        "",
        "Licence of the data and of the model; energy or money; what it may be used for; how it agrees with people on cases that are neither in the",
        "training nor in the dev split (`venire compare`).",
        "",
    ]
    return "\n".join(lines)


def _trial_row(trial: Mapping[str, Any]) -> str:
    stage, settings = list(trial["settings"].items())[-1]
    margin = trial["dev"].get("margin")
    cells = [
        stage, settings["rank"], f"{settings['alpha']:g}", f"{settings['rate']:.3g}", f"{settings['beta']:.3g}" if "beta" in settings else "",
        f"{trial['dev']['loss']:.4f}", "" if margin is None else f"{margin:.4f}", "yes" if trial["chosen"] else "",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _first_and_last(outcome: Mapping[str, Any]) -> str:
    first_step, last_step = (
        ", ".join(f"{k} {outcome[end][k]:.4f}" for k in ("loss", "margin") if k in outcome[end])
        for end in ("first", "last")
    )
    return f"First step: {first_step}; last: {last_step}."


Settings = TypeVar("Settings", bound=StageSettings)


def search_sft(
    start: SFTSettings, search: SearchSettings, loss_of: Callable[[SFTSettings], float], seed: int
) -> SFTSettings:
    """The settings with the lowest dev loss among those tried, `start` among them."""

    def settings_of(trial: optuna.trial.BaseTrial) -> SFTSettings:
        rank = trial.suggest_categorical("rank", list(search.ranks))
        times = trial.suggest_categorical("alpha_by_rank", [1, 2, 4])
        rate = trial.suggest_float("rate", *search.rates, log=True)
        return start.model_copy(update={"rank": rank, "alpha": float(rank * times), "rate": rate})

    return _lowest(start, settings_of, loss_of, search.trials, seed)


def search_dpo(
    start: DPOSettings, search: SearchSettings, margin_of: Callable[[DPOSettings], float], seed: int
) -> DPOSettings:
    """The settings with the largest dev margin among those tried, `start` among them."""
    low, high = (rate / 100 for rate in search.rates)

    def settings_of(trial: optuna.trial.BaseTrial) -> DPOSettings:
        rate = trial.suggest_float("rate", low, high, log=True)
        return start.model_copy(update={"rate": rate, "beta": trial.suggest_float("beta", *search.betas)})

    return _lowest(start, settings_of, lambda settings: -margin_of(settings), search.trials, seed)


def _lowest(
    start: Settings,
    settings_of: Callable[[optuna.trial.BaseTrial], Settings],
    cost_of: Callable[[Settings], float],
    trials: int,
    seed: int,
) -> Settings:
    """The settings of the lowest cost; `start` where no trial came below it, or all failed (a cost that is not a number)."""
    import optuna
    from optuna.samplers import TPESampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="minimize", sampler=TPESampler(seed=seed))
    study.optimize(lambda trial: cost_of(settings_of(trial)), n_trials=trials)
    complete = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
    lowest = min((trial.value for trial in complete if trial.value is not None), default=None)
    if lowest is None or cost_of(start) <= lowest:
        return start
    return settings_of(optuna.trial.FixedTrial(study.best_params))
