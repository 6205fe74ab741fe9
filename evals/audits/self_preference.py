"""Self-preference: whether jurors score the outputs of their own provider higher than the others do."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...rubrics.errors import InvalidFile, count_words
from ...rubrics.files import read_text
from ...rubrics.yaml_files import plain_yaml
from ..ratings.evidence import Evidence
from ..ratings.folds import clusters
from ..ratings.pooling import OVERALL, pooling, upright
from ..report.drawing import Figure, clip, series_colour
from ..report.panel import Panel, Tick, name_axis, number_axis
from ..report.section import Section
from ..statistics.estimate import undefined
from ..statistics.matrix import FloatArray
from ..statistics.mixed import METHOD, MixedFit, mixed_model
from ..statistics.significance import LEVEL, holm, interval_phrase, p_words
from .audit import Audit

FAMILIES = {
    "openai": ("gpt*", "chatgpt*", "o1*", "o3*", "o4*", "davinci*", "text-davinci*", "openai*"),
    "anthropic": ("claude*", "opus*", "sonnet*", "haiku*", "anthropic*"),
    "google": ("gemini*", "gemma*", "medgemma*", "palm*", "bard*", "google*", "vertex_ai*"),
    "meta": ("llama*", "meta-llama*", "codellama*", "meta", "facebook"),
    "mistral": ("mistral*", "mixtral*", "ministral*", "magistral*", "codestral*", "pixtral*"),
    "alibaba": ("qwen*", "qwq*", "alibaba*"),
    "deepseek": ("deepseek*",),
    "xai": ("grok*", "xai*", "x-ai*"),
    "cohere": ("command*", "cohere*", "aya*"),
    "microsoft": ("phi-*", "phi3*", "phi4*", "wizardlm*", "microsoft*"),
    "amazon": ("nova-*", "titan*", "amazon*"),
    "nvidia": ("nemotron*", "nvidia*"),
    "moonshot": ("kimi*", "moonshot*"),
    "zhipu": ("glm*", "zhipu*", "z-ai*"),
    "01-ai": ("yi-*", "01-ai*"),
    "ai2": ("olmo*", "tulu*", "allenai*"),
}
"""By family, what its names look like, in lower case; the parts of a name between slashes are tried from the last."""
ALL = "all jurors"
SAME = "same provider"
COLUMNS = [
    *("attribute", "juror", "value", "low", "high", "se", "p", "p_holm", "same", "n"),
    *("case_variance", "juror_variance", "interaction_variance", "residual_variance", "freedom", "note"),
]
AS_000, WITHIN = "published model", "within cases"
FIXED = ["model", "attribute", "juror", "value", "low", "high", "se", "p", "p_holm", "same", "n", "case_variance", "residual_variance", "note"]  # fmt: skip
PAIRS = ["attribute", "juror", "system", "same", "mean", "above", "n"]
LEAST_FREEDOM = 3
"""Below so many degrees of freedom nobody could tell favour from one juror's liking for one system."""
ROW = 22
TITLE = "Self-preference: do jurors favour their own provider?"


def family(name: str, own: Mapping[str, str] | None = None) -> str:
    """The provider of a model or system; nothing where the name tells none.

    `own` comes first: names or patterns (`ward-*`) with the family of each, in whatever case.
    """
    whole = re.sub(r"\s+", "-", name.strip().casefold())
    parts = [whole, *reversed(whole.split("/"))]
    for pattern, named in (own or {}).items():
        wanted = re.sub(r"\s+", "-", pattern.strip().casefold())
        if any(fnmatchcase(part, wanted) for part in parts):
            return named
    for part in parts[1:]:
        for named, patterns in FAMILIES.items():
            if any(fnmatchcase(part, pattern) for pattern in patterns):
                return named
    return ""


def load_families(path: Path) -> dict[str, str]:
    """The names and patterns of a YAML file, each with its family: `ward-*: people`."""
    found, _ = plain_yaml(read_text(path), path)
    if not isinstance(found, dict) or not all(isinstance(each, str | int) for each in found.values()):
        raise InvalidFile(
            f"{path}: this is not a list of names with their providers",
            remedy="write one `name or pattern: provider` on each line, such as `house-model-*: openai`",
        )
    return {str(name): str(each) for name, each in found.items()}


@dataclass(frozen=True, slots=True)
class Preference:
    """The effect of a shared provider, and what it rests on."""

    effects: pd.DataFrame
    """By attribute and juror (`all jurors` is one effect for everyone): points by which own outputs are favoured."""
    pairs: pd.DataFrame
    """By attribute, the mean score that each juror gave each system, and how far it is `above` what the two would lead
    one to expect: the juror's leniency and the system's quality added up."""
    fixed: pd.DataFrame
    """The same effects with jurors fixed, so that they are of these jurors and systems alone: by `model`, that of 000 and one
    within cases, as `effects` has them."""
    providers: pd.DataFrame
    """`name`, `role` (juror or system), `family` (empty where the name tells none), `cases`."""
    notes: tuple[str, ...] = ()
    why: str = ""
    """Why there is no effect to estimate, should there be none."""


def self_preference(evidence: Evidence, families: Mapping[str, str] | None = None) -> Preference:
    """A mixed model of each attribute's score on whether juror and system share a provider.

    A juror is a model: its seats, arms and repeats count as their mean, so that a model which sits thrice is not three
    jurors. Scores are points, turned so that higher is better. Every system has an effect of its own, so that a provider
    whose outputs are better is not taken for one that is favoured. Random intercepts are by case, juror, and juror on
    system: jurors take to this or that system for reasons of their own, and favour is told from that only by how it
    repeats over jurors and systems. Their number, not that of the cases, gives the degrees of freedom.

    References:
        Barr, Levy, Scheepers and Tily (2013), "Random effects structure for confirmatory hypothesis testing: keep it
        maximal", Journal of Memory and Language 68:255-278.
    """
    systems = evidence.cases.drop_duplicates("case").set_index("case")["system"].dropna().astype(str)
    votes = _votes(evidence, systems)
    producing = {name: family(name, families) for name in dict.fromkeys(systems)}
    judging = {name: family(name, families) for name in dict.fromkeys(votes["juror"])}
    providers = _providers(votes, systems, judging, producing)
    notes = []
    if nameless := sorted(name for name, of in judging.items() if not of):
        notes.append(
            f"jurors left out, because their provider cannot be recognised from the name: {_some(nameless)}"
        )
    if unknown := sorted(name for name, of in producing.items() if not of):
        notes.append(
            f"systems counted as of no juror's provider, because their provider cannot be recognised from the name: {_some(unknown)}"
        )
    votes = votes[votes["juror"].map(judging) != ""]
    own = votes["juror"].map(judging) == votes["system"].map(producing)
    votes = votes.assign(same=own.to_numpy(float))
    if why := _why_not(votes, systems):
        nothing = pd.DataFrame(columns=COLUMNS)
        pairs, fixed = (pd.DataFrame(columns=columns) for columns in (PAIRS, FIXED))
        return Preference(nothing, pairs, fixed, providers, tuple(notes), why)
    shared = pooling(evidence.questions).names
    together = votes[votes["attribute"].isin(shared)]
    parts = {name: votes[votes["attribute"] == name] for name in evidence.questions}
    if len(shared) > 1:
        keys = ["case", "juror", "system", "same"]
        parts = {OVERALL: together.groupby(keys, sort=False)["value"].mean().reset_index()} | parts
    parts = {name: mine.reset_index(drop=True) for name, mine in parts.items() if len(mine)}
    rows = [row for name, mine in parts.items() for row in _effects(name, mine)]
    pairs = pd.concat([_pairs(name, mine) for name, mine in parts.items()], ignore_index=True)
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    single = (table["juror"] == ALL) & ((table["attribute"] == OVERALL) | (len(shared) < 2))
    corrected = table.groupby(single)["p"].transform(lambda p: holm(p.tolist()))
    return Preference(
        table.assign(p_holm=corrected)[COLUMNS],
        pairs,
        _with_fixed_jurors(parts, evidence.groups),
        providers,
        tuple(notes),
    )


def _with_fixed_jurors(parts: Mapping[str, pd.DataFrame], groups: pd.Series) -> pd.DataFrame:
    """By two models with jurors as fixed effects: 000's, in which a case is a patient and systems have no effects of their own, and
    one that holds jurors against each other within each output, systems fixed too. p by the normal distribution, corrected by
    Holm's method over the jurors of an attribute, or over the attributes for all jurors."""
    found = []
    for attribute, rows in parts.items():
        patient = clusters(rows["case"], groups).rename("case")
        for model, by, dummies in (
            (AS_000, patient, ["juror"]),
            (WITHIN, rows["case"], ["juror", "system"]),
        ):
            others = pd.get_dummies(rows[dummies], drop_first=True, dtype=float)
            for own in filter(None, ({ALL: rows["same"]}, _own_by_juror(rows))):
                fixed = pd.concat([pd.DataFrame({"intercept": 1.0, **own}, index=rows.index), others], axis=1)
                fit = mixed_model(rows["value"].to_numpy(float), fixed, by=by)
                variances = [fit.spread.get(name, np.nan) ** 2 for name in ("case", "residual")]
                for name, column in own.items():
                    effect = fit.effects[name]
                    cells = (effect.value, effect.low, effect.high, effect.se, fit.p[name], int(column.sum()))
                    found.append((model, attribute, name, *cells, effect.n, *variances, fit.note))
    table = pd.DataFrame(found, columns=[name for name in FIXED if name != "p_holm"])
    family = table["attribute"].where(table["juror"] != ALL, ALL)
    table["p_holm"] = table.groupby(["model", family])["p"].transform(lambda p: holm(p.tolist()))
    return table[FIXED]


def _votes(evidence: Evidence, systems: pd.Series) -> pd.DataFrame:
    """One row for each case, model and attribute of an ordered scale: the mean score, turned, and the system."""
    votes = evidence.ballots
    columns = ["case", "juror", "attribute", "value", "system"]
    ordered = {name: asked for name, asked in evidence.questions.items() if asked.scale.ordered}
    if votes.empty or systems.empty:
        return pd.DataFrame(columns=columns)
    votes = votes[votes["attribute"].isin(list(ordered)) & votes["case"].isin(systems.index)]
    points = pd.to_numeric(votes["value"], errors="coerce").astype(float)
    good_high = upright(points, votes["attribute"], ordered)
    votes = votes.assign(
        value=good_high, juror=votes["model"].map(_juror_names(votes["model"].unique()))
    ).dropna(subset=["value"])
    means = votes.groupby(["case", "juror", "attribute"], sort=False, as_index=False)["value"].mean()
    return means.assign(system=means["case"].map(systems))[columns]


def _juror_names(models: Iterable[str]) -> dict[str, str]:
    """By model its name; of a recorded one, whose name begins with the path of a file, the juror in it, if no other has that name."""
    short = {model: model.rpartition("#")[2] if model.startswith("recorded/") else model for model in models}
    taken = Counter(short.values())
    return {model: name if taken[name] == 1 else model for model, name in short.items()}


def _why_not(votes: pd.DataFrame, systems: pd.Series) -> str:
    if systems.empty:
        return "no case names the system that produced its output (under `system`)"
    if votes.empty:
        return "no juror's provider can be recognised from its model's name"
    by_case = votes.groupby("case")
    if not (by_case["same"].nunique() > 1).any():
        if not votes["same"].any():
            return "no juror shares a provider with a system it judged"
        return "no case was judged both by a juror of its own provider and by a juror of another provider"
    if votes["juror"].nunique() < 2:
        return "only one juror model"
    return ""


def _effects(attribute: str, rows: pd.DataFrame) -> list[tuple[object, ...]]:
    """One effect for everyone and, where two jurors or more have an own provider among the systems, one for each."""
    each = _own_by_juror(rows)
    return [*_row(attribute, {ALL: rows["same"]}, rows), *(_row(attribute, each, rows) if each else [])]


def _own_by_juror(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """By juror who has an own provider among the systems, where its outputs stand; none where that is one juror alone."""
    each = {
        str(juror): rows["same"].where(rows["juror"] == juror, 0.0)
        for juror in dict.fromkeys(rows["juror"])
        if rows.loc[rows["juror"] == juror, "same"].nunique() > 1
    }
    return each if len(each) > 1 else {}


def _row(attribute: str, own: Mapping[str, pd.Series], rows: pd.DataFrame) -> list[tuple[object, ...]]:
    freedom = _freedom(own, rows)
    fit = _model(own, rows, freedom) if freedom >= LEAST_FREEDOM else _no_fit(own, rows)
    spread = [fit.spread.get(name, np.nan) ** 2 for name in ("case", "juror", "interaction", "residual")]
    found = []
    for name, column in own.items():
        effect = fit.effects[name]
        told = (effect.value, effect.low, effect.high, effect.se, fit.p[name], int(column.sum()), effect.n)
        found.append((attribute, name, *told, *spread, freedom, fit.note))
    return found


def _model(own: Mapping[str, pd.Series], rows: pd.DataFrame, freedom: int) -> MixedFit:
    systems = pd.get_dummies(rows["system"], prefix="system", drop_first=True, dtype=float)
    fixed = pd.concat([pd.DataFrame({"intercept": 1.0, **own}, index=rows.index), systems], axis=1)
    both = rows.groupby(["juror", "system"]).ngroup().rename("interaction")
    return mixed_model(
        rows["value"].to_numpy(float), fixed, by=rows["case"], also=[rows["juror"], both], freedom=freedom
    )


def _freedom(own: Mapping[str, pd.Series], rows: pd.DataFrame) -> int:
    """The pairs of juror and system that are left once jurors, systems and the effects have taken theirs.

    Nothing is left where an effect cannot be told from a juror's leniency and a system's quality.
    """
    cells = pd.DataFrame({"juror": rows["juror"], "system": rows["system"], **own}).drop_duplicates()
    main = _additive(cells)
    whole = np.column_stack([main, *(cells[name].to_numpy(float) for name in own)])
    taken = int(np.linalg.matrix_rank(whole))
    return len(cells) - taken if taken == np.linalg.matrix_rank(main) + len(own) else 0


def _additive(cells: pd.DataFrame) -> FloatArray:
    """One column for each juror and each system."""
    return pd.get_dummies(cells[["juror", "system"]].astype(str), dtype=float).to_numpy()


def _no_fit(own: Mapping[str, pd.Series], rows: pd.DataFrame) -> MixedFit:
    why = (
        f"{count_words(rows['juror'].nunique(), 'juror')} and {count_words(rows['system'].nunique(), 'system')} are too few to separate preference for a provider from one "
        "juror's preference for one system; more systems are needed"
    )
    nothing = {name: undefined(why, method=METHOD, n=len(rows)) for name in own}
    return MixedFit(nothing, dict.fromkeys(nothing, np.nan), {}, np.nan, why)


def _pairs(attribute: str, rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["juror", "system", "same"], sort=False)["value"]
    cells = grouped.agg(mean="mean", n="count").reset_index()
    main, mean = _additive(cells), cells["mean"].to_numpy(float)
    expected = main @ np.linalg.lstsq(main, mean, rcond=None)[0]
    return cells.assign(attribute=attribute, same=cells["same"] > 0, above=mean - expected)[PAIRS]


def _providers(
    votes: pd.DataFrame, systems: pd.Series, judging: Mapping[str, str], producing: Mapping[str, str]
) -> pd.DataFrame:
    judged = votes.groupby("juror")["case"].nunique()
    made = systems.value_counts()
    rows = [(name, "juror", of, int(judged[name])) for name, of in judging.items()]
    rows += [(name, "system", of, int(made[name])) for name, of in producing.items()]
    return pd.DataFrame(rows, columns=["name", "role", "family", "cases"])


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def preference_figure(effects: pd.DataFrame) -> Figure:
    """Right of zero, own outputs are favoured."""
    jurors = list(dict.fromkeys(effects["juror"]))
    ends = [abs(end) for end in (*effects["low"], *effects["high"]) if not math.isnan(end)]
    reach = max([0.1, *ends]) * 1.05
    names, rows = list[Tick](), list[tuple[int, dict[Hashable, Any]]]()
    for attribute, mine in effects.groupby("attribute", sort=False):
        names.append(Tick(0, str(attribute), "heading"))
        for row in mine.to_dict("records"):
            rows.append((len(names), row))
            names.append(
                Tick(0, clip(str(row["juror"]), 34), "soft" if math.isnan(row["value"]) else "plain")
            )
    x = number_axis(-reach, reach, about=6, lines=True)
    panel = Panel(
        x,
        name_axis(names),
        440,
        len(names) * ROW,
        title="Points by which a juror favours its own provider",
    )
    for place, row in rows:
        value, low, high = row["value"], row["low"], row["high"]
        if math.isnan(value):
            panel.note(place, "undefined")
            continue
        panel.whisker_across(place, value, low, high, series_colour(jurors.index(row["juror"])))
        panel.note(place, f"{value:+.2f}" + ("" if math.isnan(low) else f" [{low:+.2f}, {high:+.2f}]"))
    return Figure("Self-preference", [panel.picture()])


def preference_section(evidence: Evidence, families: Mapping[str, str] | None = None) -> Section:
    """Points by which jurors favour outputs of their own provider."""
    found = self_preference(evidence, families)
    tables = {
        "effects": found.effects,
        "fixed_jurors": found.fixed,
        "pairs": found.pairs,
        "providers": found.providers,
    }
    if found.why:
        sentence = f"Self-preference cannot be tested: {found.why}."
        return Section("self_preference", TITLE, (sentence,), tables, notes=found.notes)
    everyone = found.effects[found.effects["juror"] == ALL].to_dict("records")
    jurors = found.effects[found.effects["juror"] != ALL].to_dict("records")
    first, *rest = everyone
    rest = [row for row in rest if not math.isnan(row["value"])]
    sentences = [_sentence(first), *(_sentence(row) for row in rest if row["p_holm"] < LEVEL)]
    if rest and len(sentences) == 1:
        largest = max(rest, key=lambda row: abs(row["value"]))
        sentences.append(
            f"Self-preference is not statistically significant on any single attribute. It is largest on {largest['attribute']} ({largest['value']:+.2f} points)."
        )
    sentences += [_sentence(row) for row in jurors if row["p_holm"] < LEVEL]
    for model, words in FIXED_WORDS.items():
        mine = found.fixed[found.fixed["model"] == model].to_dict("records")
        on_first = [row for row in mine if row["attribute"] == mine[0]["attribute"]]
        told = [row for row in on_first if row["juror"] == ALL or row["p_holm"] < LEVEL]
        sentences += [f"{words} {_sentence(row)}" for row in told]
    caption = "Points by which jurors score outputs of their own provider higher than other jurors do, with 95% intervals."
    methods = (
        "Self-preference is the effect of sharing a provider on a juror's score, in a linear mixed model (REML). Scores are reversed where needed, so that "
        "higher is better. Each system has a fixed effect; case, juror, and juror by system have random intercepts. A juror is a model: its "
        "seats and repeats are averaged. Intervals and p come from Student's t, with degrees of freedom from the number of juror-system pairs. So "
        "one juror's preference for one system does not count as preference for its own provider. Providers are recognised from names. p is Holm-corrected over attributes and jurors.",
        "The mixed model of Rouillard, Bassett et al. (REML) has a random intercept for each case (each group, if cases have groups) and fixed effects of jurors. It has no effect of systems, so "
        "a provider whose outputs are better looks favoured. The model within cases has an intercept for each output, and fixed effects of jurors and systems. Both models hold only for these "
        "jurors and systems: one juror's preference for one system counts as preference for its own provider. p is from the normal distribution, Holm-corrected over the jurors of an attribute.",
    )
    return Section(
        "self_preference",
        TITLE,
        tuple(sentences),
        tables,
        {caption: preference_figure(found.effects)},
        methods,
        found.notes,
    )


FIXED_WORDS = {
    AS_000: "By the mixed model of Rouillard, Bassett et al. (cases as random effects, jurors as fixed effects):",
    WITHIN: "By the model of differences between jurors within each case (valid only for these systems):",
}


def _sentence(row: dict[Any, Any]) -> str:
    who = "Jurors" if row["juror"] == ALL else row["juror"]
    if math.isnan(row["value"]):
        whose = "" if row["juror"] == ALL else f" of {row['juror']}"
        return f"Self-preference{whose} on {row['attribute']} cannot be tested: {row['note']}."
    size = (
        f"{row['value']:+.2f} points ({interval_phrase(row['low'], row['high'], '+.2f')}, {row['same']} of {row['n']} scores "
        f"were given to outputs of the juror's own provider, Holm-corrected {p_words(row['p_holm'])})"
    )
    on = f"{row['attribute']}: {size}."
    if not row["p_holm"] < LEVEL:
        return f"No self-preference is shown on {row['attribute']}: {size}."
    verb = "favour" if row["value"] > 0 else "disfavour"
    plural = verb if row["juror"] == ALL else f"{verb}s"
    own = "their" if row["juror"] == ALL else "its"
    return f"{who} {plural} {own} own provider's outputs on {on}"


SELF_PREFERENCE = Audit(
    "self_preference", lambda given, draws: preference_section(given.evidence, given.families), 70
)
