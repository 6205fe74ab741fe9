"""Settings chosen on the dev split by Optuna: rank, alpha and rate of SFT, then rate and beta of DPO."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import optuna
from optuna.samplers import TPESampler

from .settings import DPOSettings, SearchSettings, SFTSettings, StageSettings

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
    """The settings of the lowest cost; `start` where no trial came below it, or all failed (a cost that is no number)."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="minimize", sampler=TPESampler(seed=seed))
    study.optimize(lambda trial: cost_of(settings_of(trial)), n_trials=trials)
    complete = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
    if cost_of(start) <= min(
        (trial.value for trial in complete if trial.value is not None), default=float("inf")
    ):
        return start
    return settings_of(optuna.trial.FixedTrial(study.best_params))
