"""The tables of a study, described once: what the report's page and the inspector call them and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..report.section import TableText

Row = Mapping[str, Any]


TABLES: Mapping[str, TableText] = {
    "arms": TableText(
        "Arms",
        "One row for each arm, cheapest first, with its agreement on the cases that arms were chosen on and on the held-out cases. "
        "Cost and calls are those of the arm alone: calls that it shares with other arms are counted in full.",
        {"arm": "arm", "kind": "kind", "seats": "seats", "protocol": "protocol", "count": "count", "calibration": "calibration",
         "front": "frontier", "selection": "agreement, selection cases", "score": "agreement, held out", "low": "low", "high": "high",
         "answered": "answered", "cost": "cost", "seconds": "seconds", "calls": "calls, run alone"},
    ),
    "trials": TableText(
        "Trials",
        "The juries that the search tried on the selection cases. A pruned jury was dropped when another jury was shown to agree better with people.",
        {"number": "trial", "arm": "arm", "state": "state", "seats": "seats", "protocol": "protocol", "cases": "cases",
         "agreement": "agreement", "cost": "cost", "latency": "seconds", "note": ""},
    ),
    "choices": TableText(
        "Which jury or judge to use, attribute by attribute",
        "Each row has the judge, jury or weighted jury that was chosen on some cases and scored on others. It is compared with the best single judge, chosen in the same "
        "way. A jury is worth using if it is shown to be better than that judge and better than one constant answer. The column `the judge is` says whether "
        "the single judge is shown to be worse than the best jury by less than the margin (within), by more (worse), or neither (open).",
        {"attribute": "attribute", "objective": "by", "chosen": "chosen", "who": "who", "value": "held out", "low": "low", "high": "high",
         "optimism": "optimism", "cost": "cost", "single": "best single judge", "single_value": "held out", "single_cost": "its cost",
         "gain": "jury minus judge", "gain_low": "low", "gain_high": "high", "p": "p", "pays": "a jury is worth using",
         "cheaper": "the judge is", "more_cases": "more cases needed", "n": "n"},
    ),
    "measures": TableText(
        "The same arms, by the usual agreement coefficients",
        "How the chosen arm, the best jury and the best single judge for each attribute agree with people, on the held-out cases.",
        {"attribute": "attribute", "arm": "arm", "who": "who", "objective": "objective", "spearman": "Spearman", "icc3k": "ICC(3,k)",
         "icc2": "ICC(2,1)", "kappa": "kappa", "kappa_quadratic": "quadratic kappa", "mae": "mean absolute error", "n": "n"},
    ),
    "answers": TableText(
        "The best jury against the best single judge",
        "Agreement with people of the best jury and the best single judge on cases that they were not chosen on, their difference, and by how much "
        "agreement looks too good on the cases that they were chosen on.",
        {"what": "", "value": "value", "low": "low", "high": "high", "n": "n", "p": "p", "method": "", "note": ""},
    ),
    "frontier": TableText(
        "Cost against agreement",
        "One row for each arm, cheapest first. An arm is on the frontier if no other arm beats it in both agreement and cost.",
        {"arm": "arm", "kind": "kind", "front": "on the frontier", "score": "agreement", "low": "low", "high": "high",
         "answered": "answered", "cost": "cost", "seconds": "seconds", "n": "n", "jurors": "who sits"},
    ),
    "noise": TableText(
        "Is the best arm shown to be better than the rest?",
        "The best arm's gain in agreement with people over the best arm at each price, both chosen on other cases. A difference is within noise if it is not statistically significant.",
        {"arm": "best at this cost", "arms": "arms at this cost", "cost": "cost", "value": "best arm minus this arm", "low": "low", "high": "high",
         "p": "p", "n": "n", "within": "within noise"},
    ),
    "selection": TableText(
        "What each fold chose",
        "The jury and the single judge that each fold chose, with their agreement on the cases they were chosen on and on the held-out cases.",
        {"fold": "fold", "size": "size", "jurors": "jury", "chosen_on": "where chosen", "held_out": "held out",
         "single": "single judge", "single_chosen_on": "where chosen", "single_held_out": "held out", "n": "n"},
    ),
    "jurors": TableText(
        "What each juror adds",
        "Each juror's own agreement with people; the agreement of all jurors minus the agreement without this juror; and the Shapley value, which is what "
        "a juror adds to agreement on average over all possible juries.",
        {"juror": "juror", "in_jury": "in the jury", "score": "alone", "low": "low", "high": "high", "answered": "answered", "cost": "cost",
         "leave_one_out": "leave one out", "leave_one_out_low": "low", "leave_one_out_high": "high",
         "shapley": "Shapley", "shapley_low": "low", "shapley_high": "high", "shapley_se": "sampling error"},
    ),
    "independence": TableText(
        "How strongly jurors' errors correlate",
        "The mean correlation of jurors' errors (by how far each is from people), and the number of independent jurors that a jury is worth by this correlation (Kish). "
        "The table of effective votes uses right or wrong answers instead of distances.",
        {"jury": "jury", "jurors": "jurors", "correlation": "mean correlation", "effective": "worth, in independent jurors",
         "low": "low", "high": "high", "participation": "participation", "note": ""},
    ),
    "correlations": TableText(
        "Which two jurors err together most",
        "The correlation of two jurors' errors, over the questions that both answered.",
        {"first": "juror", "second": "juror", "correlation": "correlation of errors", "n": "questions"},
    ),
    "growth": TableText(
        "Agreement by the size of the jury",
        "Agreement with people by the number of jurors, for juries drawn at random and juries chosen on other cases; percentiles are over random juries.",
        {"how": "how", "size": "jurors", "score": "agreement", "low": "low", "high": "high", "weakest": "5th percentile",
         "strongest": "95th percentile", "juries": "juries", "n": "n"},
    ),
    "position": TableText(
        "Does the order of two texts change answers?",
        "How often a juror gives the same answer when the order of the two texts is swapped, and which position the juror favours when the answer changes.",
        {"juror": "juror", "n": "pairs", "consistent": "same answer in both orders", "first": "chose the first twice",
         "second": "chose the second twice", "lean": "first minus second", "low": "low", "high": "high"},
    ),
    "power": TableText(
        "The smallest difference that could be detected",
        "The smallest true difference between two arms that this many cases detect with 80% power, and how many cases are needed to detect smaller differences.",
        {"first": "first", "second": "second", "difference": "difference", "sd": "SD by case", "n": "cases", "detectable": "detectable",
         "cases_for_0.05": "cases for 0.05", "cases_for_0.02": "cases for 0.02"},
    ),
}  # fmt: skip

GROUPS = {"arms": "Arms", "jurors": "Seats' own ballots"}
"""What the tables of a run's report are about, by the first word of their names: `arms-noise`, `jurors-growth`."""


CHAPTERS = {
    "How the arms compare": ("choices", "answers", "noise", "selection", "position", "power", "trials"),
    "Agreement with people": ("agreement", "evaluators", "strata", "tasks", "panels", "effects", "ranking", "classes", "yes_no"),
    "The seats and the jury": (
        "seats", "jurors", "growth", "independence", "deliberation", "stand_in", "stability", "consistency", "self_preference",
    ),
    "Cases and cost": ("corpus", "costs"),
    "Using the scores, and further audits": ("calibration", "severe", "triage", "rescore", "detection"),
}  # fmt: skip
"""By title, the sections of each chapter after the first page; those of other tables stand in the last."""


def table_description(name: str) -> TableText | None:
    """The description of a table by its name in the report; None for a name that is not known."""
    if name in TABLES:
        return TABLES[name]
    group, _, rest = name.partition("-")
    if group not in GROUPS or rest not in TABLES:
        return None
    return TABLES[rest]._replace(title=f"{GROUPS[group]}: {TABLES[rest].title}")


def trial_rows(trials: Iterable[Row]) -> list[dict[str, Any]]:
    """Trials with one column for each objective; one that was never scored has none."""
    scores = ((trial, trial.get("values")) for trial in trials)
    return [{**trial, **values} if isinstance(values, dict) else {**trial} for trial, values in scores]
