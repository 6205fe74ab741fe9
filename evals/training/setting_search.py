"""Settings chosen on the dev split by Optuna: rank, alpha and rate of SFT, then rate and beta of DPO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import optuna
from optuna.samplers import TPESampler

from .settings import DPOSettings, SearchSettings, SFTSettings


def search_sft(
    start: SFTSettings, search: SearchSettings, loss_of: Callable[[SFTSettings], float], seed: int
) -> SFTSettings:
    """The settings with the lowest dev loss among those tried, `start` among them."""

    def settings_of(trial: optuna.trial.BaseTrial) -> SFTSettings:
        rank = trial.suggest_categorical("rank", list(search.ranks))
        times = trial.suggest_categorical("alpha_by_rank", [1, 2, 4])
        rate = trial.suggest_float("rate", *search.rates, log=True)
        return start.model_copy(update={"rank": rank, "alpha": float(rank * times), "rate": rate})

    study = _study("minimize", seed)
    study.optimize(lambda trial: loss_of(settings_of(trial)), n_trials=search.trials)
    known = loss_of(start)
    if not _any_ended(study) or known <= study.best_value:
        return start
    return settings_of(optuna.trial.FixedTrial(study.best_params))


def search_dpo(
    start: DPOSettings, search: SearchSettings, margin_of: Callable[[DPOSettings], float], seed: int
) -> DPOSettings:
    """The settings with the largest dev margin among those tried, `start` among them."""
    low, high = (rate / 100 for rate in search.rates)

    def settings_of(trial: optuna.trial.BaseTrial) -> DPOSettings:
        rate = trial.suggest_float("rate", low, high, log=True)
        return start.model_copy(update={"rate": rate, "beta": trial.suggest_float("beta", *search.betas)})

    study = _study("maximize", seed)
    study.optimize(lambda trial: margin_of(settings_of(trial)), n_trials=search.trials)
    known = margin_of(start)
    if not _any_ended(study) or known >= study.best_value:
        return start
    return settings_of(optuna.trial.FixedTrial(study.best_params))


def _any_ended(study: optuna.study.Study) -> bool:
    """Whether any trial came to a number; one whose loss is no number counts as failed."""
    return bool(study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]))


def _study(direction: Literal["minimize", "maximize"], seed: int) -> optuna.study.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction=direction, sampler=TPESampler(seed=seed))
