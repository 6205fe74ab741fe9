"""Self-preference as a part of a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..figures.preference import preference_figure
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..statistics.significance import LEVEL, interval_phrase, p_words
from .audit import Audit
from .preference import ALL, self_preference

TITLE = "Self-preference: do jurors favour their own provider?"


def preference_section(evidence: Evidence, families: Mapping[str, str] | None = None) -> Section:
    """Points by which jurors favour outputs of their own provider."""
    found = self_preference(evidence, families)
    tables = {"effects": found.effects, "pairs": found.pairs, "providers": found.providers}
    if found.why:
        sentence = f"Self-preference cannot be told: {found.why}."
        return Section("self_preference", TITLE, (sentence,), tables, notes=found.notes)
    everyone = found.effects[found.effects["juror"] == ALL].to_dict("records")
    jurors = found.effects[found.effects["juror"] != ALL].to_dict("records")
    first, *rest = everyone
    rest = [row for row in rest if not math.isnan(row["value"])]
    sentences = [_sentence(first), *(_sentence(row) for row in rest if row["p_holm"] < LEVEL)]
    if rest and len(sentences) == 1:
        largest = max(rest, key=lambda row: abs(row["value"]))
        sentences.append(
            f"On no single attribute is it told from chance; it is largest on {largest['attribute']} ({largest['value']:+.2f} points)."
        )
    sentences += [_sentence(row) for row in jurors if row["p_holm"] < LEVEL]
    caption = "Points by which jurors score outputs of their own provider higher than other jurors do, with 95% intervals."
    methods = (
        "Self-preference is the effect of a shared provider in a linear mixed model (REML) of a juror's score, turned so that "
        "higher is better, with an effect for each system and random intercepts by case, juror, and juror on system; a juror "
        "is a model, its seats and repeats averaged. Intervals and p are by Student's t with the degrees of freedom of the "
        "pairs of juror and system, so that one juror's liking for one system is not taken for favour. Providers come "
        "from names. p is corrected by Holm's method over attributes and jurors.",
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


def _sentence(row: dict[Any, Any]) -> str:
    who = "Jurors" if row["juror"] == ALL else row["juror"]
    if math.isnan(row["value"]):
        whose = "" if row["juror"] == ALL else f" of {row['juror']}"
        return f"Self-preference{whose} on {row['attribute']} cannot be told: {row['note']}."
    size = (
        f"{row['value']:+.2f} points ({interval_phrase(row['low'], row['high'], '+.2f')}, {row['same']} of {row['n']} scores "
        f"were of one's own, {p_words(row['p_holm'])})"
    )
    on = f"{row['attribute']}: {size}."
    if not row["p_holm"] < LEVEL:
        return f"No self-preference is shown on {on}"
    verb = "favour" if row["value"] > 0 else "disfavour"
    plural = verb if row["juror"] == ALL else f"{verb}s"
    own = "their" if row["juror"] == ALL else "its"
    return f"{who} {plural} {own} own provider's outputs on {on}"


SELF_PREFERENCE = Audit(
    "self_preference", lambda given, draws: preference_section(given.evidence, given.families), 70
)
