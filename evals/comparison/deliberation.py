"""What deliberation did: each arm's final verdicts against the count of its own blind first ballots, case by case, against people."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..ratings.folds import clusters
from ..ratings.question import Question, half_step
from ..ratings.reference import KEYS, codes
from ..ratings.run_tables import COSTS
from ..report.drawing import amount
from ..report.section import Section, TableText
from ..statistics.contrast import Contrast, jackknifed_change
from ..statistics.estimate import undefined
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.proportion import paired_p, wilson
from ..statistics.significance import LEVEL, holm, p_words, signed_number
from ..statistics.weighted import OfSums, Statistic
from .objectives import AnswerScale, Objective, ScoredVotes, scored_votes

Outcome = Literal["helped", "harmed", "no difference larger than the margin", "not shown"]
Row = Mapping[Hashable, Any]
NAME, TITLE = "deliberation", "What did deliberation do?"
NOT_BLIND = "no juror voted blind (before seeing the votes of other jurors), so there is no blind count to compare the verdicts with"
UNIT_WORDS = {"usd": "dollars", "tokens": "tokens", "calls": "calls"}
EFFECT = ["value", "low", "high", "p", "p_holm", "n", "cases", "outcome", "margin", "objective", "final", "blind", "rule"]  # fmt: skip
COUNTS = [
    f"{what}_{change}"
    for what in ("verdicts", "votes")
    for change in ("wrong_to_right", "right_to_wrong", "p", "towards", "away")
]
HEADS = {
    "arm": "arm", "attribute": "attribute", "outcome": "deliberation", "value": "effect", "low": "low", "high": "high",
    "p_holm": "p, Holm", "final": "with deliberation", "blind": "blind count", "rule": "counted by", "n": "questions", "cases": "cases or groups",
    **{name: name.replace("_", " ") for name in COUNTS}, "saved": "cost saved", "note": "",
}  # fmt: skip
METHOD = (
    "The objective is the measure by which arms are compared with people. The effect of deliberation is the objective of an arm's final verdicts minus the objective of a count of the arm's blind first ballots. "
    "Blind ballots are counted by the jury's rule if that is a simple count, otherwise by the median, before any calibration. Only questions with a final verdict, a blind count and a rating by people are used. "
    "The effect is averaged over attributes. Its interval is a paired jackknife over whole cases or groups; p is Holm-corrected over arms. Deliberation helped or harmed if the corrected p is below 0.05. It made no difference larger "
    "than the margin if the whole 95% interval lies within the margin. Otherwise the data do not show whether deliberation made a difference. A vote or verdict is right if it is within half a step of the scale from people's reference. "
    "Changes from wrong to right and from right to wrong are compared by the exact sign test over cases or groups. Each case or group counts once, by the direction of most of its changes. "
    "If every case has one question, the test is McNemar's."
)


def deliberation_section(
    blind: pd.DataFrame,
    changes: pd.DataFrame,
    truth: pd.DataFrame,
    questions: Mapping[str, Question],
    groups: Mapping[str, object] | pd.Series,
    *,
    objective: Objective,
    margin: float,
    unit: str,
) -> Section | None:
    """One row a deliberating arm: what deliberation changed in the objective, and what went right or wrong; None without such an arm.

    Args:
        blind: As `BlindCounts` gives it, and `changes` as `VoteChanges` does.
        truth: `case`, `attribute`, `value`: people's reference.
        groups: By case its group, where it has one.
        margin: The largest difference, in the objective, that does not matter.
        unit: What the saving is told in: usd, tokens or calls.
    """
    if blind.empty:
        return None
    asked = blind[blind["attribute"].isin(list(questions))]
    rated = _against_people(asked, truth, questions, ("final", "blind"))
    voted = _against_people(changes, truth, questions, ("last", "first"))
    whole = [
        _effect_row(str(arm), rated[rated["arm"] == arm], voted[voted["arm"] == arm], asked[asked["arm"] == arm], questions, groups, objective, margin, unit)
        for arm in dict.fromkeys(asked["arm"])
    ]  # fmt: skip
    apart = [
        {"attribute": name, **_effect_row(str(arm), rows, voted[(voted["arm"] == arm) & (voted["attribute"] == name)], rows, questions, groups, objective, margin, unit)}
        for (arm, name), rows in rated.groupby(["arm", "attribute"], sort=False)
    ]  # fmt: skip
    effects = _with_outcomes(whole)
    tables = {"effects": effects}
    if rated["attribute"].nunique() > 1:
        tables["attributes"] = _with_outcomes(apart)
    sentences = [effect_sentence(row) for row in effects.to_dict("records")]
    return Section(
        NAME,
        TITLE,
        (*sentences, *blind_advice(effects)),
        tables,
        methods=(METHOD,),
        lead=f"Each effect is the {objective.words} of the final verdicts minus that of a count of the same jurors' blind ballots"
        f" ({'lower' if objective.better < 0 else 'higher'} is better).",
        texts={
            "effects": TableText("", "", {key: head for key, head in HEADS.items() if key != "attribute"}),
            "attributes": TableText(
                "By attribute", "p is Holm-corrected over all arms and attributes of the table.", HEADS
            ),
        },
    )


def effect_sentence(row: Row) -> str:
    """What deliberation did to one arm, in the words of its row."""
    name, objective = row["arm"], row["objective"]
    if math.isnan(row["value"]):
        return f"{name}: the effect of deliberation is unknown: {row['note']}."
    interval = "" if math.isnan(row["low"]) else f", 95% interval {signed_number(row['low'], 3)} to {signed_number(row['high'], 3)}"  # fmt: skip
    size = f"{objective} {row['final']:.3f} with deliberation, {row['blind']:.3f} by counting the blind ballots (difference {signed_number(row['value'], 3)}{interval}, Holm-corrected {p_words(row['p_holm'])})"  # fmt: skip
    small = bool(row["outcome"] in ("helped", "harmed") and abs(row["value"]) <= row["margin"])
    told = {
        "helped": "deliberation helped"
        + (f", but by no more than the margin of {row['margin']:g}" if small else ""),
        "harmed": "deliberation harmed"
        + (f", but by no more than the margin of {row['margin']:g}" if small else ""),
        "no difference larger than the margin": f"deliberation made no difference larger than the margin of {row['margin']:g}",
        "not shown": "deliberation is shown neither to help nor to harm",
    }[row["outcome"]]
    why = f" ({row['note']})" if row["note"] else ""
    effect = f"{told}{why}"
    changed_verdicts, changed_votes = _balance(row, "verdicts"), _balance(row, "votes")
    return f"{name}: {effect}: {size}; {changed_verdicts}, {changed_votes}."


def blind_advice(effects: pd.DataFrame) -> list[str]:
    """For each arm whose blind count does as well or better: to count the blind ballots, on what that rests, and what it saves."""
    said = []
    for row in effects.to_dict("records"):
        if not row["count_blind"]:
            continue
        reason = {
            "harmed": "deliberation is shown to harm",
            "no difference larger than the margin": f"deliberation is shown to make no difference larger than the margin of {row['margin']:g}",
        }.get(
            row["outcome"],
            "on these cases the blind count agreed with people as well as the final verdicts or better, though the difference is not statistically significant",
        )
        saved = "" if math.isnan(row["saved"]) else f" This saves {row['saved']:.0%} of the {UNIT_WORDS[row['unit']]} ({amount(row['blind_cost'])} instead of {amount(row['cost'])} per case)"  # fmt: skip
        time = f" and {amount(row['seconds_saved'], 2)} seconds per case" if row["seconds_saved"] > 0 else ""
        said.append(
            f"Count the blind ballots of {row['arm']} ({row['rule']}) and leave out its deliberation: {reason}."
            + (f"{saved}{time}." if saved else "")
        )
    return said


def effect_cells(section: Section | None) -> dict[str, str]:
    """By arm, its effect in a cell: the difference with its interval, and which of the four it is."""
    rows = [] if section is None else section.tables["effects"].to_dict("records")
    return {row["arm"]: effect_cell(row) for row in rows}


def effect_cell(row: Row) -> str:
    """The effect of one row, a report's JSON included, in which what is undefined is null."""
    if pd.isna(row["value"]):
        return "unknown"
    ends = "" if pd.isna(row["low"]) else f" [{signed_number(row['low'])}, {signed_number(row['high'])}]"
    word = {"no difference larger than the margin": "no difference"}.get(row["outcome"], row["outcome"])
    return f"{signed_number(row['value'])}{ends} {word}"


def effects_in_short(section: Section | None) -> str:
    """What deliberation did to all arms, in one sentence of their rows."""
    if section is None:
        return "No arm deliberates."
    effects = section.tables["effects"]
    known = effects[effects["value"].notna()]
    said = [
        f"{verb} {_names(known[known['outcome'] == outcome]['arm'])}"
        for outcome, verb in (
            ("harmed", "harmed"),
            ("helped", "helped"),
            ("no difference larger than the margin", "made no difference larger than the margin for"),
            ("not shown", "is shown neither to help nor to harm"),
        )
        if (known["outcome"] == outcome).any()
    ]
    untold = effects[effects["value"].isna()]["arm"]
    counted = effects[effects["count_blind"] & (effects["outcome"] != "not shown")]
    saved = [
        f"{row['arm']} (saves {row['saved']:.0%} of its {UNIT_WORDS[row['unit']]})"
        for row in counted.to_dict("records")
    ]
    count = f"; count the blind ballots, not the final verdicts, of {_names(saved)}" if saved else ""
    open_still = [f"the effect of deliberation on {_names(untold)} is unknown"] if len(untold) else []
    told = (
        f"Deliberation {', '.join(said)}{count} (measured by {effects['objective'].iloc[0]})" if said else ""
    )
    whole = "; ".join(filter(None, [told, *open_still]))
    return f"{whole[0].upper()}{whole[1:]}."


def _names(names: Iterable[str], most: int = 3) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def _balance(row: Row, what: str) -> str:
    ahead, back = row[f"{what}_wrong_to_right"], row[f"{what}_right_to_wrong"]
    if not ahead + back:
        return f"no {what} went from wrong to right or from right to wrong"
    return f"{ahead:.0f} {what} went from wrong to right and {back:.0f} from right to wrong (exact sign test, {p_words(row[f'{what}_p'])})"


def _against_people(
    rows: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question], columns: tuple[str, str]
) -> pd.DataFrame:
    """The rows that people have a value for, as numbers, with how far each of the two columns lies from it, and whether that is right."""
    found = rows[rows["attribute"].isin(list(questions))].merge(
        truth.rename(columns={"value": "truth"}), on=KEYS
    )
    for name in (*columns, "truth"):
        found[name] = codes(found.assign(value=found[name]), questions).to_numpy(float)
    scales = {name: questions[name].scale for name in dict.fromkeys(found["attribute"])}
    ordered = {name: scale.level in ("ordinal", "interval") for name, scale in scales.items()}
    reach = {name: half_step(scale) or 0.0 if ordered[name] else 0.0 for name, scale in scales.items()}
    found["ordered"] = found["attribute"].map(ordered)
    for name in columns:
        found[f"{name}_off"] = (found[name] - found["truth"]).abs()
        found[f"{name}_right"] = found[f"{name}_off"] <= found["attribute"].map(reach).astype(float) + 1e-9
    return found


def _effect_row(
    arm: str,
    rated: pd.DataFrame,
    voted: pd.DataFrame,
    heard: pd.DataFrame,
    questions: Mapping[str, Question],
    groups: Mapping[str, object] | pd.Series,
    objective: Objective,
    margin: float,
    unit: str,
) -> dict[str, Any]:
    """The effect on one arm, before the correction over arms."""
    scales = {name: AnswerScale.of(questions[name].scale) for name in dict.fromkeys(rated["attribute"])}
    scales = {name: scale for name, scale in scales.items() if objective.fits(scale)}
    mine = rated[rated["attribute"].isin(list(scales))]
    both, either = mine[["final", "blind"]].notna().all(axis=1), mine[["final", "blind"]].notna().any(axis=1)
    without = "" if (heard["rule"] != "").any() else NOT_BLIND
    silence_counts = pd.Series(objective.needs_costs, mine.index)
    if objective.name == "credit":
        silence_counts |= ~mine["ordered"].astype(bool)
    # Where nobody was asked to vote blind, there is no silence that could count.
    mine = mine[both | (either & silence_counts & (not without))]
    number = pd.factorize(clusters(mine["case"], groups))[0].astype(np.int64)
    votes = scored_votes(
        mine[["final", "blind"]].to_numpy(float), mine["truth"].to_numpy(float), mine["attribute"].tolist(), number, scales
    )  # fmt: skip
    found = _difference(votes, objective, without)
    values = votes.scores(votes.votes.T, objective) * objective.better if len(mine) else np.full(2, np.nan)
    case_costs = heard.drop_duplicates("case")[[*COSTS, *(f"blind_{name}" for name in COSTS)]].astype(float)
    mean = case_costs.mean(skipna=False)
    return {
        "arm": arm,
        "value": found.difference.value, "low": found.difference.low, "high": found.difference.high, "p": found.p,
        "n": len(mine), "cases": int(number.max()) + 1 if len(number) else 0, "margin": margin,
        "objective": objective.words, "better": objective.better, "final": float(values[0]), "blind": float(values[1]),
        "rule": next(iter(filter(None, heard["rule"])), ""),
        **_changes("verdicts", mine[mine[["final", "blind"]].notna().all(axis=1)], "blind", "final", groups),
        **_changes("votes", voted, "first", "last", groups),
        "unit": unit, "cost": mean[unit], "blind_cost": mean[f"blind_{unit}"],
        "saved": 1 - mean[f"blind_{unit}"] / mean[unit] if mean[unit] > 0 else math.nan,
        "seconds_saved": mean["seconds"] - mean["blind_seconds"],
        "method": found.difference.method, "note": found.difference.note,
    }  # fmt: skip


def _difference(votes: ScoredVotes, objective: Objective, without: str) -> Contrast:
    """The objective of the first column of votes less that of the second, as it is reported."""
    method = f"{objective.words} of the final verdicts minus that of the blind count"
    n = len(votes.truth)
    otherwise = (
        without
        or f"{objective.words} is undefined on the {n} questions that have both a final verdict and a blind count"
    )
    if not n:
        return Contrast(undefined(without or "no question has a final verdict, a blind count and a rating by people", method=method), np.nan)  # fmt: skip

    def coefficient(values: FloatArray) -> Statistic:
        if objective.averaged:
            return _difference_of_means(votes, objective)

        def change(weights: FloatArray) -> FloatArray:
            final, blind = (
                votes.scores(np.broadcast_to(column, weights.shape), objective, weights)
                for column in values.T
            )
            return np.asarray(objective.better * (final - blind))

        return change

    grid = Matrix(votes.votes, tuple(range(n)), ("final", "blind"), votes.cluster)
    return jackknifed_change(coefficient, grid, method=method, otherwise=otherwise)


def _difference_of_means(votes: ScoredVotes, objective: Objective) -> OfSums:
    """The same where the objective is a mean over questions: of the sums of each attribute, so that leaving a case out is a subtraction."""
    sums = np.zeros((len(votes.truth), 2, len(votes.scales), 2))
    for place, scale in enumerate(votes.scales):
        rows = np.flatnonzero(votes.attribute == place)
        for side in range(2):
            each = objective.value(votes.votes[rows, side, None], votes.truth[rows, None], scale)
            sums[rows, side, place] = np.column_stack([np.nan_to_num(each), ~np.isnan(each)])

    def change(totals: FloatArray) -> FloatArray:
        total, n = np.moveaxis(totals.reshape(-1, *sums.shape[1:]), -1, 0)
        known = n > 0.5
        means = np.where(known, total / np.maximum(n, 1), 0.0).sum(axis=-1)
        final, blind = np.where(known.any(axis=-1), means / np.maximum(known.sum(axis=-1), 1), np.nan).T
        return np.asarray(final - blind)

    return OfSums(sums.reshape(len(sums), -1), change)


def _changes(
    what: str, rows: pd.DataFrame, before: str, after: str, groups: Mapping[str, object] | pd.Series
) -> dict[str, float]:
    """How many went from wrong to right and back, with the exact p of their balance over cases or groups, and how many moved which way."""
    then, now = rows[f"{before}_right"].to_numpy(bool), rows[f"{after}_right"].to_numpy(bool)
    nearer = (rows[f"{before}_off"] - rows[f"{after}_off"])[rows["ordered"].astype(bool)].to_numpy(float)
    net = pd.Series(now.astype(int) - then).groupby(clusters(rows["case"], groups).to_numpy()).sum()
    return {
        f"{what}_wrong_to_right": int((~then & now).sum()),
        f"{what}_right_to_wrong": int((then & ~now).sum()),
        f"{what}_p": paired_p(int((net > 0).sum()), int((net < 0).sum())),
        f"{what}_towards": int((nearer > 1e-9).sum()),
        f"{what}_away": int((nearer < -1e-9).sum()),
    }


def _with_outcomes(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a table, with p corrected over them, which of the four each is, and whether to count its blind ballots."""
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"].tolist())
    table["outcome"] = [_outcome(row) for row in table.to_dict("records")]
    gain = table["value"] * table["better"]
    table["count_blind"] = (table["outcome"] != "helped") & (
        (gain <= 0) | (table["outcome"] == "no difference larger than the margin")
    )
    leading = [name for name in ("arm", "attribute") if name in table]
    order = [*leading, *EFFECT, *COUNTS, "unit", "cost", "blind_cost", "saved", "seconds_saved", "count_blind", "method", "note"]  # fmt: skip
    return table[order]


def _outcome(row: Row) -> Outcome:
    if row["p_holm"] < LEVEL:
        return "helped" if row["value"] * row["better"] > 0 else "harmed"
    # Verdicts that are the same on every case may differ on others: as many of them as Wilson's bound allows.
    most = wilson(0.0, row["cases"], 0.95)[1] if row["p"] == 1 and row["cases"] else math.nan
    reach = most if math.isnan(row["low"]) else max(-row["low"], row["high"])
    return "no difference larger than the margin" if reach <= row["margin"] else "not shown"
