"""The tables that a study's design asks for, as sections of its report."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...orchestration.record import Store
from ..audits.audit import Severity
from ..audits.detection import detection_section, outside_label
from ..comparison.comparison import Comparison, compare_evidence
from ..comparison.effects import INTERCEPTS, strata_sentences, strata_table
from ..comparison.effects import STRATA_METHODS as STRATA_METHODS
from ..comparison.evaluators import evaluators_section
from ..ratings.evidence import Evidence, attribute_label, gather, without_reserved_names
from ..ratings.folds import clusters, groups_in
from ..ratings.pooling import OVERALL
from ..ratings.reference import Rule
from ..ratings.score_tables import lay_marks, lay_out
from ..report.drawing import amount
from ..report.section import Section
from ..statistics.classical_tests import chi_square_p, median_and_quartiles, welch_p
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.significance import LEVEL, interval_phrase, p_words
from .judgements import calibrate_arms
from .schema import Calibration, Design, PeopleSettings, TableName

CORPUS = ["what", "level", "development", "test", "p"]
LENGTHS = {"source_length": "length of notes (words)", "output_length": "length of output (words)"}
SPLIT_METHODS = (
    "The development part and the test part are compared by group; a case without a group is a group of its own. Numbers: Welch's t test of the groups' means. Categories: Pearson's "
    "chi-square if every group has one value, otherwise Welch's test of the groups' shares, with the smallest p multiplied by the number of categories."
)


def corpus_section(cases: pd.DataFrame, columns: Sequence[str], test: Collection[str]) -> Section:
    """Counts, categories and lengths of the development and the test cases, with a test of the split for each.

    Args:
        cases: One row a case: `case`, `group`, `system`, the lengths, and `columns`.
        columns: Further columns to describe.
    """
    held = cases["case"].isin(list(test)).to_numpy(bool)
    parts = {"development": cases[~held], "test": cases[held]}
    rows: list[dict[str, object]] = [
        _row("cases", "", {name: f"{len(part)}" for name, part in parts.items()})
    ]
    if cases["group"].notna().any():
        rows.append(_row("groups", "", {name: f"{part['group'].nunique()}" for name, part in parts.items()}))
    tests: dict[str, float] = {}
    for column in dict.fromkeys(("system", *columns, "source_length", "output_length")):
        if cases[column].notna().any():
            described, tests[column] = _column_rows(column, parts)
            rows += described
    uneven = {name: p for name, p in tests.items() if p < LEVEL}
    if not test:
        told = "No case is held out, so there are no development and test parts to compare."
    elif uneven:
        named = ", ".join(f"{LENGTHS.get(name, name)} ({p_words(p)})" for name, p in uneven.items())
        told = f"The development part and the test part differ in {named}; the p values are not corrected for making {len(tests)} tests."
    else:
        told = f"The development part and the test part are not shown to differ in any of {len(tests)} characteristics."
    return Section(
        "corpus", "The corpus, and its split into development and test", (told,), {"table": pd.DataFrame(rows, columns=CORPUS)},
        methods=(SPLIT_METHODS,) if test else (),
    )  # fmt: skip


def _column_rows(column: str, parts: Mapping[str, pd.DataFrame]) -> tuple[list[dict[str, object]], float]:
    """The rows of one column and the p of its test: the median and quartiles of numbers, counts and shares of words."""
    values = [part[column].dropna() for part in parts.values()]
    if all(pd.api.types.is_numeric_dtype(part[column].dtype) for part in parts.values()):
        numbers = [each.to_numpy(float) for each in values]
        p = welch_p(*(_by_group(part, part[column].astype(float)) for part in parts.values()))
        told = {
            name: "{} ({}, {})".format(*map(amount, median_and_quartiles(each))) if len(each) else ""
            for name, each in zip(parts, numbers, strict=True)
        }
        return [_row(f"{LENGTHS.get(column, column)}, median (quartiles)", "", told, p)], p
    levels = sorted(set(map(str, pd.concat(values))))
    counts = np.array(
        [[(each.astype(str) == level).sum() for each in values] for level in levels], dtype=float
    )
    p = _category_p(column, levels, parts)
    rows = [
        _row(
            f"{column}, n (%)" if number == 0 else "",
            level,
            {
                name: f"{counts[number, at]:.0f} ({counts[number, at] / max(1, len(part)):.1%})"
                for at, (name, part) in enumerate(parts.items())
            },
            p if number == 0 else float("nan"),
        )
        for number, level in enumerate(levels)
    ]
    return rows, p


def _by_group(part: pd.DataFrame, values: pd.Series) -> FloatArray:
    """The mean of each group, a case without one being its own."""
    return values.groupby(clusters(part["case"], groups_in(part))).mean().dropna().to_numpy(float)


def _category_p(column: str, levels: Sequence[str], parts: Mapping[str, pd.DataFrame]) -> float:
    shares = []
    for part in parts.values():
        known = part[part[column].notna()]
        shares.append(
            [_by_group(known, (known[column].astype(str) == level).astype(float)) for level in levels]
        )
    if all(np.isin(share, (0.0, 1.0)).all() for part in shares for share in part):
        return chi_square_p(np.array([[share.sum() for share in part] for part in shares]).T)
    found = [p for sides in zip(*shares, strict=True) if not math.isnan(p := welch_p(*sides))]
    return min(1.0, min(found) * len(found)) if found else math.nan


def _row(what: str, level: str, told: Mapping[str, str], p: float = float("nan")) -> dict[str, object]:
    return {"what": what, "level": level, **told, "p": p}


COSTS = ["judge", "repeats", "cases", "seconds", "usd", "seconds_per_answer", "usd_per_answer", "saved"]
PERSON = "a person"


def cost_section(costs: pd.DataFrame, repeats: Mapping[str, int], people: PeopleSettings) -> Section:
    """One row a judge, a person first: seconds and dollars of a case and of one answer, and the share of a person's time saved.

    Args:
        costs: One row an arm: `arm`, `cases`, `usd_per_case`, `seconds_per_case`.
        repeats: By arm, how often each of its seats is asked.
    """
    theirs = math.nan if people.minutes is None else 60 * people.minutes
    paid = math.nan if people.minutes is None or people.wage is None else people.minutes / 60 * people.wage
    rows = [(PERSON, 1, math.nan, theirs, paid, theirs, paid, math.nan)]
    for row in costs.to_dict("records"):
        times = repeats.get(str(row["arm"]), 1)
        # Answers that were written down beforehand take no time: what they took is not known.
        seconds, usd = float(row["seconds_per_case"]) or math.nan, float(row["usd_per_case"])
        rows.append(
            (str(row["arm"]), times, float(row["cases"]), seconds, usd, seconds / times, usd / times, 1 - seconds / theirs)
        )  # fmt: skip
    missing = [key for key in ("minutes", "wage") if getattr(people, key) is None]
    notes = (
        (
            f"a person's time or cost is not known: write {' and '.join(missing)} under people in the study file",
        )
        if missing
        else ()
    )
    return Section(
        "costs",
        "Time and cost per case",
        tuple(_sentences(rows, missing)),
        {"table": pd.DataFrame(rows, columns=COSTS)},
        methods=(
            "Seconds and dollars are sums over all calls of an arm: its seats, rounds and repeats. Calls made at the same time take less elapsed time. "
            "An unknown price is blank. The cost of training is not included.",
        ),
        notes=notes,
    )


def _sentences(
    rows: list[tuple[str, int, float, float, float, float, float, float]], missing: list[str]
) -> list[str]:
    if missing:
        return [
            f"The time and cost of the {len(rows) - 1} arms cannot be compared with a person's: the notes say what is missing."
        ]
    _, _, _, theirs, paid, *_ = rows[0]
    return [
        f"{name} takes {'an unknown time' if math.isnan(seconds) else f'{amount(seconds, 3)} s'} and costs {'an unknown amount' if math.isnan(usd) else f'${amount(usd)}'} per case; a person takes {amount(theirs, 3)} s and costs ${paid:.2f}."
        for name, _, _, seconds, usd, *_ in rows[1:]
    ]


AGREEMENT = ["arm", "kind", "attribute", "icc3k", "low", "high", "median_difference", "q1", "q3",
             "wilcoxon_p", "alpha", "alpha_low", "alpha_high", "ac2", "ac2_low", "ac2_high", "n", "note"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DesignInput:
    """What the tables are made of."""

    evidence: Evidence
    """Of every case that the study's arms heard."""
    scored: Evidence
    """Of the cases that arms are held against people on: the test cases, where there are any."""
    design: Design
    test: Sequence[str]
    repeats: Mapping[str, int]
    """By arm, how often each of its seats is asked."""
    draws: Draws


def gather_design(
    store: Store,
    people: pd.DataFrame,
    design: Design,
    arms: Mapping[str, Calibration],
    test: Sequence[str],
    *,
    rule: Rule | None,
    draws: Draws,
) -> DesignInput:
    """What is known of a study's arms, read from its run; `people` are all raters, those who re-scored among them.

    The scores of an arm that is calibrated are out of fold; its ballots are those of the arm that it was made of, and left out.
    """
    read = gather(store, people, rescore=design.people.rescore, rule=rule, columns=design.columns)
    read = read.of_arms(arms)
    scores, _ = calibrate_arms(lambda: read, read.arms, arms, seed=draws.seed)
    calibrated = [name for name, how in arms.items() if how != "none"]
    plain = read.of_arms([name for name in arms if name not in calibrated])
    votes = {name: getattr(plain, name) for name in ("ballots", "moments", "rounds", "blind", "changes")}
    whole = without_reserved_names(replace(read, arms=scores, calibrated=calibrated, **votes))
    repeats = {arm.name: arm.jury.repeats for arm in store.arms()}
    return DesignInput(whole, whole.of_cases(test) if test else whole, design, test, repeats, draws)


def design_sections(given: DesignInput, tasks: Mapping[str, Comparison]) -> tuple[Section, ...]:
    """The sections of the tables asked for, in the order in which the file names them.

    Args:
        tasks: By name of a further task, its comparison.
    """
    design = given.design
    compared = compare_evidence(
        given.scored,
        seed=given.draws.seed,
        resamples=given.draws.resamples,
        severity=Severity(
            design.severity.harmful,
            design.severity.margin,
            design.severity.attribute and attribute_label(design.severity.attribute),
        ),
        families=design.families or None,
        predictors=design.predictors,
        intercepts=(*INTERCEPTS, "group"),
        jurors="calibration" in design.tables,
    )
    made: dict[TableName, Callable[[], Section | None]] = {
        "corpus": lambda: corpus_section(
            given.evidence.cases, [*design.predictors, *_further(design, given)], given.test
        ),
        "agreement": lambda: agreement_section(compared, "agreement", "Agreement with people"),
        "costs": lambda: cost_section(compared.costs, given.repeats, design.people),
        "panels": lambda: _panels(compared),
        "effects": lambda: _effects(compared),
        "strata": lambda: _strata(given),
        "tasks": lambda: _tasks(compared, tasks),
        "evaluators": lambda: evaluators_section(lay_marks(given.scored)),
        "detection": lambda: _detection(given),
    }
    sections = {section.name: section for section in compared.sections}
    found = []
    for name in dict.fromkeys(design.tables):
        section = made[name]() if name in made else sections.get(name)
        found.append(
            section or Section(name, name.replace("_", " ").capitalize(), (ABSENT.get(name, NOTHING),))
        )
    return tuple(found)


NOTHING = "This table cannot be made: the study's data do not have what it needs."
ABSENT: Mapping[str, str] = {
    "ranking": "Systems cannot be ranked: the cases name fewer than two systems under `system`.",
    "rescore": "No second panel is named. In the study file, list the raters of the second panel under people: {rescore: [...]}.",
}


def _further(design: Design, given: DesignInput) -> list[str]:
    """The strata that the corpus is described by, beside predictors."""
    return [
        name for name in design.strata if name not in ("system", "group") and name in given.evidence.cases
    ]


def agreement_section(compared: Comparison, name: str, title: str) -> Section:
    """Table 2 of 004: each arm's ICC(3,k) with both intervals, the median difference, Wilcoxon's p, alpha and AC2."""
    ranks = {(row["arm"], row["attribute"]): row for row in compared.signed_ranks.to_dict("records")}
    rows = []
    for row in compared.icc3k.to_dict("records"):
        arm, attribute = str(row["arm"]), str(row["attribute"])
        apart, found = ranks[arm, attribute], compared.agreement[arm][attribute]
        alpha, ac2 = found["alpha_ordinal"], found["ac2"]
        rows.append(
            {**row, "kind": compared.kinds[arm], "median_difference": apart["median"], "q1": apart["q1"], "q3": apart["q3"],
             "wilcoxon_p": apart["p"], "alpha": alpha.value, "alpha_low": alpha.low, "alpha_high": alpha.high,
             "ac2": ac2.value, "ac2_low": ac2.low, "ac2_high": ac2.high,
             "note": _joint_note({"ICC": row["note"], "Wilcoxon": apart["note"], "alpha": alpha.note, "AC2": ac2.note})}
        )  # fmt: skip
    table = pd.DataFrame(rows, columns=AGREEMENT)
    whole = table[table["attribute"] == OVERALL]
    said = [
        f"{row['arm']} against people: ICC(3,k) {row['icc3k']:.3f} ({_interval('95% interval', row['low'], row['high'])}), median difference (arm minus people) {row['median_difference']:g} (quartiles {row['q1']:g}, {row['q3']:g}), Wilcoxon's "
        f"{p_words(float(row['wilcoxon_p']))}."
        for row in whole.to_dict("records")
        if row["icc3k"] == row["icc3k"]
    ]
    unknown = [str(row["arm"]) for row in whole.to_dict("records") if row["icc3k"] != row["icc3k"]]
    why = dict(zip(whole["arm"], whole["note"], strict=True))
    notes = tuple(f"{arm}: ICC(3,k) is undefined ({why[arm]})" for arm in unknown)
    return Section(
        name,
        title,
        tuple(said or [NOTHING]),
        {"overall": whole, "attributes": table[table["attribute"] != OVERALL]},
        notes=notes,
    )


def _interval(name: str, low: float, high: float) -> str:
    return f"no {name}" if math.isnan(low) else f"{name} {low:.3f} to {high:.3f}"


def _joint_note(notes: Mapping[str, str]) -> str:
    """The notes of several figures as one: each once, after the figures that it is about."""
    about: dict[str, list[str]] = {}
    for name, note in notes.items():
        for each in filter(None, note.split("; ")):
            about.setdefault(each, []).append(name)
    return "; ".join(f"{', '.join(names)}: {each}" for each, names in about.items())


def _panels(compared: Comparison) -> Section:
    table = compared.panels
    if table.empty:
        return Section(
            "panels",
            "An arm among people",
            ("An arm can be compared with people as one more rater only if two or more people rated.",),
        )
    said = []
    for arm, rows in table.groupby("arm", sort=False):
        moved = rows[rows["p"] < LEVEL]
        told = "; ".join(
            f"{row['role']} {row['change']:+.3f} ({p_words(float(row['p']))})"
            for row in moved.to_dict("records")
        )
        extra = rows.iloc[0]
        said.append(
            f"Adding {arm} as one more rater changes people's ICC(3,k) from {extra['before']:.3f} to {extra['after']:.3f}; "
            + (
                f"statistically significant changes of ICC(3,k): {told}."
                if told
                else "no change is statistically significant, whether the arm is added or replaces a person."
            )
        )
    return Section(
        "panels",
        "Agreement among people if an arm is added as a rater, or replaces a person",
        tuple(said),
        {"table": table},
    )


def _effects(compared: Comparison) -> Section:
    table = compared.effects
    title = "What the differences between arm and person depend on"
    if table.empty:
        why = [note for note in compared.notes if note.startswith("mixed model")] or [NOTHING]
        return Section("effects", title, tuple(why))
    terms = table[(table["term"] != "intercept") & ~table["term"].str.startswith("SD of ")]
    unfit = terms["value"].isna() | terms["note"].str.contains("did not converge")
    moved, failed = terms[(terms["p"] < LEVEL) & ~unfit], terms[unfit].drop_duplicates("arm")
    said = [
        f"{row['arm']}: {_moving_term(str(row['term']))} changes the difference 'arm minus person' by {row['value']:+.2f} points ({interval_phrase(row['low'], row['high'], '+.2f')}, "
        f"{p_words(float(row['p']))})."
        for row in moved.to_dict("records")
    ]
    groups = table[table["term"] == "SD of group"]
    said += [
        f"{row['arm']}: the difference 'arm minus person' varies between groups of cases, with an SD of {row['value']:.2f} points."
        for row in groups.to_dict("records")
    ]
    said += [
        f"{row['arm']}: the mixed model could not be fitted ({row['note']})."
        for row in failed.to_dict("records")
    ]
    if moved.empty and len(failed) < terms["arm"].nunique():
        said.insert(
            0,
            "No predictor is shown to change how far an arm is from people, for any arm whose model could be fitted.",
        )
    return Section(
        "effects", title, tuple(said), {"table": table},
        methods=("In the mixed model, each group of several cases (such as a patient) also has a random intercept. The p values are not corrected for the number of terms in the model.",),
        notes=tuple(note for note in compared.notes if note.startswith("mixed model")),
    )  # fmt: skip


def _moving_term(term: str) -> str:
    """A term of the model as what moves: a level of a category, or a standard deviation of a number."""
    return term if ": " in term else f"an increase of one standard deviation in {term.replace('_', ' ')}"


def _strata(given: DesignInput) -> Section:
    columns = list(given.design.strata)
    table = strata_table(lay_out(given.scored), given.scored.cases, columns)
    told = strata_sentences(table) or [
        f"Agreement by stratum cannot be computed: no case has a value for {', '.join(columns) or 'any stratum'}."
    ]
    return Section("strata", "Agreement by stratum", tuple(told), {"table": table}, methods=(STRATA_METHODS,))


def _tasks(compared: Comparison, tasks: Mapping[str, Comparison]) -> Section:
    """The same arms across tasks: what holds here, does it hold there?"""
    title = "Across tasks"
    if not tasks:
        return Section(
            "tasks",
            title,
            ("There is no other task to compare with: the study file names none under `tasks`.",),
        )
    parts = {name: agreement_section(each, "tasks", title) for name, each in tasks.items()}
    whole = agreement_section(compared, "tasks", title)
    named = {"this study": whole, **parts}
    frames = [part.tables["overall"].assign(task=name) for name, part in named.items()]
    table = pd.concat(frames, ignore_index=True)
    table = table[table["arm"].isin({str(arm) for each in tasks.values() for arm in each.icc3k["arm"]})]
    said = [f"{name}: {sentence}" for name, part in parts.items() for sentence in part.sentences]
    return replace(
        whole,
        sentences=tuple(said),
        tables={
            "table": table[["task", *AGREEMENT]],
            **{name: part.tables["attributes"] for name, part in parts.items()},
        },
        notes=tuple(f"{name}: {note}" for name, part in parts.items() for note in part.notes),
    )


def _detection(given: DesignInput) -> Section:
    """Over all cases of the study: the label is from outside, so that no case need be held out for it."""
    label = given.design.label
    if label is None:
        why = "No label is named. In the study file, name the metadata column that marks a case as wrong, under `label`."
        return Section(
            "detection", "Do low scores find the cases that an external label marks as wrong?", (why,)
        )
    outside = outside_label(
        given.evidence.cases,
        label.column,
        wrong=label.wrong,
        pool=label.pool,
        attributes=tuple(map(attribute_label, label.attributes)),
    )
    return detection_section(lay_marks(given.evidence), outside, given.draws)
