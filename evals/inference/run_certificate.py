"""The certificate of a run: which verdicts may stand unseen, the rest for people, and the rule to keep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...orchestration.acceptance import escalation_reason, judged_by, refuse_other_jury
from ...orchestration.protocols import protocol
from ...orchestration.record import Arm, Store
from ...personas.options import AcceptanceRule, AttributeRule, SignalSample
from ...rubrics.errors import VenireError
from ...rubrics.scale import Scale
from ..ratings.reference import Rule
from ..report.section import Section, records
from ..statistics.draws import Draws
from ..statistics.matrix import IntArray
from .certificate import BoolArray, Certificate, certificate, fewest_labels
from .labelled_verdicts import SIGNALS, LabelledVerdicts, labelled_verdicts
from .labelling import even_draw
from .shift import Shift, Values, shift_test

PLACES = 6
WATCHED = ("score", "confidence", *SIGNALS)
"""What other cases are held against labelled ones by, beside the systems that produced them."""
APPLIED = "The rule for accepting verdicts was made with the labels of another run. Its guarantee holds for this run only if the cases of both runs were drawn in the same way."


@dataclass(frozen=True, slots=True)
class RunCertificate:
    """What a rule accepts of a run, and what it rests on."""

    arm: str
    rule: AcceptanceRule
    certificates: Mapping[str, Certificate]
    """By attribute; empty where a rule from elsewhere was applied."""
    verdicts: pd.DataFrame
    """`case`, `attribute`, `status`, `value`, `confidence`, `labelled`, `why` (nothing: it may stand unseen)."""
    shifts: Mapping[str, Shift]
    drawn: str
    """How the labels were drawn, or that they are taken as drawn at random."""
    notes: tuple[str, ...]

    @property
    def accepted(self) -> pd.DataFrame:
        return self.verdicts[self.verdicts["why"] == ""]

    @property
    def for_people(self) -> pd.DataFrame:
        return self.verdicts[self.verdicts["why"] != ""]


def run_certificate(
    run: Store | Path | str,
    human: pd.DataFrame,
    *,
    risk: float,
    delta: float = 0.05,
    within: float = 0.0,
    arm: str | None = None,
    attribute: str | None = None,
    reference: Rule | None = None,
    draw: pd.DataFrame | None = None,
    seed: int = 0,
) -> RunCertificate:
    """Which verdicts of a run may stand unseen so that the error among them is at most `risk` with probability 1 - `delta`.

    Of several attributes each has its part of `delta`, so that the statement holds for all that is accepted together.

    Args:
        draw: How the labels were drawn, as `load_draw` gives it; without it they are taken as drawn at random.

    Raises:
        VenireError: There are too few labels to show anything, or nothing to hold them against.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        verdicts = labelled_verdicts(store, human, rule=reference)
    finally:
        if store is not run:
            store.release()
    chosen_arm = verdicts.arm(arm)
    verdicts, draw_words = _used_labels(verdicts, draw, Draws(seed).rng())
    names = verdicts.attributes(chosen_arm, attribute)
    part = delta / max(1, len(names))
    draws = Draws(seed)
    certificates = {
        name: _certificate(
            verdicts.of(chosen_arm.name, name), chosen_arm.rubric.scale_of(name), within, risk, part, draws
        )
        for name in names
    }
    most_labels = max((c.labels for c in certificates.values()), default=0)
    fewest = fewest_labels(risk, part)
    if most_labels < fewest:
        share = f" (delta is divided among {len(names)} attributes)" if len(names) > 1 else ""
        raise VenireError(
            f"{most_labels} labelled verdicts are too few to guarantee an error rate of at most {risk:g} with probability {1 - delta:g}{share}",
            remedy=f"label at least {fewest} cases, drawn at random; label more if some verdicts are wrong",
        )
    rule = AcceptanceRule(
        risk=risk,
        delta=delta,
        within=within,
        arm=chosen_arm.name,
        judged_by=judged_by(chosen_arm.jury, chosen_arm.rubric, chosen_arm.manifest),
        attributes={name: _attribute_rule(c) for name, c in certificates.items()},
        labelled={name: _sample(verdicts.of(chosen_arm.name, name)) for name in names},
    )
    return _run_certificate(rule, verdicts, chosen_arm, certificates, draws, draw_words)


def apply_rule(run: Store | Path | str, rule: AcceptanceRule, *, arm: str | None = None, seed: int = 0) -> RunCertificate:  # fmt: skip
    """What a saved rule accepts of another run of the same jury; whether its cases look alike is tested.

    Raises:
        VenireError: The jury of the run is another than the one that was certified.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        verdicts = labelled_verdicts(store, None)
    finally:
        if store is not run:
            store.release()
    names = [a.name for a in verdicts.arms]
    chosen_arm = verdicts.arm(arm or (rule.arm if rule.arm in names else None))
    current_judge = judged_by(chosen_arm.jury, chosen_arm.rubric, chosen_arm.manifest)
    refuse_other_jury(rule, current_judge, presided=protocol(chosen_arm.jury.protocol).orchestrator)
    return _run_certificate(rule, verdicts, chosen_arm, {}, Draws(seed), APPLIED)


def verdict_errors(table: pd.DataFrame, scale: Scale, within: float) -> BoolArray:
    """Which verdicts are further from people's reference than `within`, or than half a step of the scale.

    Raises:
        VenireError: The scale has neither steps nor words, and `within` says nothing.
    """
    if not scale.ordered or not scale.numeric:
        return np.asarray(table["score"] != table["reference"])
    steps = [float(b) - float(a) for a, b in zip(scale.values, scale.values[1:], strict=False)]
    if not steps and not within:
        raise VenireError(
            "on a continuous scale, a verdict is almost never exactly equal to people's reference",
            remedy="say with --within how far a verdict may be from people's reference",
        )
    tolerance = max(within, min(steps, default=0.0) / 2)
    return np.asarray((table["score"] - table["reference"]).abs() > tolerance + 1e-9)


def _labelled_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["reference"].notna() & (table["status"] == "reached")]


def _certificate(
    table: pd.DataFrame, scale: Scale, within: float, risk: float, delta: float, draws: Draws
) -> Certificate:
    labelled = _labelled_rows(table)
    return certificate(
        labelled["confidence"].to_numpy(float),
        verdict_errors(labelled, scale, within),
        labelled["cluster"].to_numpy(),
        risk=risk,
        delta=delta,
        rng=draws.rng(),
    )


def _attribute_rule(shown_certificate: Certificate) -> AttributeRule:
    is_shown = shown_certificate.threshold is not None
    return AttributeRule(
        threshold=shown_certificate.threshold,
        labels=shown_certificate.accepted if is_shown else 0,
        errors=shown_certificate.errors if is_shown else 0,
        bound=round(shown_certificate.bound, PLACES) if is_shown else None,
    )


def _used_labels(
    verdicts: LabelledVerdicts, draw: pd.DataFrame | None, rng: np.random.Generator
) -> tuple[LabelledVerdicts, str]:
    """The verdicts with the labels of an even draw alone, and how they were drawn; without a draw, with all of them."""
    if draw is None:
        return verdicts, _assumption(verdicts.table)
    even_cases, draw_words = even_draw(draw, verdicts.table["case"].nunique(), rng)
    table = verdicts.table
    labelled, drawn_cases = set(table.loc[table["reference"].notna(), "case"]), set(draw["case"])
    if not labelled & drawn_cases:
        raise VenireError(
            "none of the cases in the file of --draw has a label",
            remedy="have people label these cases, or leave out --draw",
        )
    notes = list(verdicts.notes)
    if extra := len(labelled - drawn_cases):
        notes.append(
            f"{extra} labelled cases are left out, because they are not in the file of drawn cases (--draw)"
        )
    if silent := len(drawn_cases & set(table["case"]) - labelled):
        notes.append(f"{silent} drawn cases have no label; their labels are assumed to be missing at random")
    even_table = table.assign(reference=table["reference"].where(table["case"].isin(list(even_cases))))
    return replace(verdicts, table=even_table, notes=tuple(notes)), draw_words


def _assumption(table: pd.DataFrame) -> str:
    """That labels are taken as drawn at random, and where in the run they lie together."""
    labelled = table.groupby("case", sort=False)["reference"].count().to_numpy() > 0
    count, places = int(labelled.sum()), np.flatnonzero(labelled)
    sentence = "It is assumed that the labelled cases were drawn at random, because no file of drawn cases was given (--draw; `venire triage --for estimate --design random` writes one)."
    if 1 < count < len(labelled) and places[-1] - places[0] + 1 == count:
        sentence += f" The {count} labelled cases follow one another in the run: that is a random draw only if the cases are in random order."
    return sentence


def _sample(table: pd.DataFrame) -> SignalSample:
    labelled = _labelled_rows(table)
    return SignalSample(
        clusters=tuple(pd.factorize(labelled["cluster"])[0].tolist()),
        signals={
            name: tuple(None if np.isnan(x) else round(float(x), PLACES) for x in labelled[name])
            for name in WATCHED
        },
        systems=tuple(labelled["system"].fillna("").astype(str)),
    )


def _run_certificate(
    rule: AcceptanceRule,
    verdicts: LabelledVerdicts,
    arm: Arm,
    certificates: Mapping[str, Certificate],
    draws: Draws,
    draw_words: str,
) -> RunCertificate:
    subset = verdicts.table[
        (verdicts.table["arm"] == arm.name) & verdicts.table["attribute"].isin(list(rule.attributes))
    ]
    rows = subset[["case", "attribute", "status", "value", "confidence"]].assign(
        labelled=subset["reference"].notna(),
        why=[
            escalation_reason(rule, attribute, status, sure)
            for attribute, status, sure in zip(
                subset["attribute"], subset["status"], subset["confidence"], strict=True
            )
        ],
    )
    shifts = {
        name: _shift(rule.labelled[name], subset[subset["attribute"] == name], draws)
        for name in rule.labelled
    }
    return RunCertificate(
        arm.name, rule, certificates, rows.reset_index(drop=True), shifts, draw_words, verdicts.notes
    )


def _shift(sample: SignalSample, table: pd.DataFrame, draws: Draws) -> Shift:
    """Of the labelled cases against the reached ones that have no label."""
    new = table[(table["status"] == "reached") & table["reference"].isna()]
    old: dict[str, Values] = {
        name: np.array([np.nan if x is None else x for x in values], dtype=float)
        for name, values in sample.signals.items()
    }
    current: dict[str, Values] = {name: new[name].round(PLACES).to_numpy(float) for name in WATCHED}
    if any(sample.systems) and new["system"].notna().any():
        old["system"] = np.array(sample.systems, dtype=np.str_)
        current["system"] = new["system"].fillna("").astype(str).to_numpy(np.str_)
    clusters: IntArray = np.array(sample.clusters, dtype=np.int64)
    return shift_test(old, current, clusters, pd.factorize(new["cluster"])[0].astype(np.int64), draws.rng())


def certificate_json(run: str, found: RunCertificate) -> dict[str, Any]:
    """The certificate as JSON; what is not known is null."""
    verdicts = found.verdicts
    rule = found.rule
    return {
        "run": run,
        "arm": found.arm,
        "risk": rule.risk,
        "delta": rule.delta,
        "within": rule.within,
        "guarantee": guarantee(found),
        "labels_drawn": found.drawn,
        "attributes": {
            name: {
                **attribute_rule.model_dump(),
                "accepted": int((_of(found, name)["why"] == "").sum()),
                "verdicts": len(_of(found, name)),
                **(_labels_json(found.certificates[name]) if name in found.certificates else {}),
            }
            for name, attribute_rule in rule.attributes.items()
        },
        "accepted": len(found.accepted),
        "to_people": len(found.for_people),
        "accepted_share": len(found.accepted) / len(verdicts) if len(verdicts) else None,
        "verdicts": records(verdicts.assign(accepted=verdicts["why"] == "")),
        "shift": {
            name: {
                "signal": shift.signal,
                "distance": None if math.isnan(shift.distance) else shift.distance,
                "p": None if math.isnan(shift.p) else shift.p,
                "found": shift.found,
                "note": shift.note,
            }
            for name, shift in found.shifts.items()
        },
        "sentences": certificate_lines(found),
        "notes": list(found.notes),
    }


def certificate_answer(found: RunCertificate) -> Section:
    """A row for each attribute: what is accepted unseen, and the labels that it rests on."""
    rows = []
    for name, rule in found.rule.attributes.items():
        verdicts = _of(found, name)
        accepted, total = int((verdicts["why"] == "").sum()), len(verdicts)
        rows.append(
            {
                "attribute": name,
                "accepted unseen": f"{accepted} of {total}" + (f" ({accepted / total:.0%})" if total else ""),
                "to people": total - accepted,
                "minimum confidence": "none" if rule.threshold is None else f"{rule.threshold:.3f}",
                "labels at or above the minimum confidence": rule.labels,
                "wrong among these": rule.errors,
                "error at most": "" if rule.bound is None else f"{rule.bound:.1%}",
            }
        )
    sentences = tuple(certificate_lines(found))
    return Section(
        "certificate",
        "Verdicts that may be accepted without review",
        sentences,
        {"": pd.DataFrame(rows)},
        notes=found.notes,
    )


def certificate_lines(found: RunCertificate) -> list[str]:
    """What is guaranteed, what could not be shown and why, and whether cases have shifted."""
    lines = [guarantee(found), found.drawn]
    for name, rule in found.rule.attributes.items():
        if rule.threshold is not None:
            lines.append(f"{name}: {_counts(found, name, rule)}")
        elif name in found.certificates:
            lines.append(f"{name}: {_why_nothing(found.certificates[name])}")
    lines += [f"{name}: {shift.sentence}" for name, shift in found.shifts.items()]
    hung = int((found.verdicts["status"] != "reached").sum())
    if hung:
        lines.append(
            f"{hung} verdicts are hung or not applicable. These verdicts always go to people for review, and are not counted among the labelled verdicts."
        )
    return lines


def guarantee(found: RunCertificate) -> str:
    """What holds of the accepted verdicts, and of what it says nothing."""
    rule = found.rule
    if all(attribute_rule.threshold is None for attribute_rule in rule.attributes.values()):
        return f"No verdict may be accepted without review: for no set of verdicts is the share of wrong verdicts shown to be at most {rule.risk:.1%}."
    distance = f" (further than {rule.within:g} from people's reference)" if rule.within else ""
    shifted_names = [name for name, shift in found.shifts.items() if shift.found]
    but = (
        f" The unlabelled cases of this run are not like the labelled ones ({', '.join(shifted_names)}): the guarantee is not shown for the unlabelled cases."
        if shifted_names
        else ""
    )
    confidence = 1 - rule.delta
    return (
        f"Of the accepted verdicts at most {rule.risk:.1%} are wrong{distance}, with probability {confidence:.1%} over the draw of "
        "the labels, on cases drawn like the labelled ones. The guarantee is about the share of wrong verdicts among those accepted, not about how many are accepted."
        + but
    )


def _counts(found: RunCertificate, attribute: str, rule: AttributeRule) -> str:
    """Where each number comes from: the labels that the rule was shown on, and the verdicts of this run."""
    own_certificate = found.certificates.get(attribute)
    whence = (
        f" of the {own_certificate.labels} labelled verdicts that were reached"
        if own_certificate
        else " labelled verdicts of the other run"
    )
    verdicts = _of(found, attribute)
    accepted = verdicts[verdicts["why"] == ""]
    return (
        f"{rule.labels}{whence} have a confidence of {rule.threshold:.3f} or more; {rule.errors} of these verdicts are wrong. The bound on the error rate is computed from these verdicts. Of the "
        f"{len(verdicts)} verdicts of this run, {len(accepted)} are accepted; {int(accepted['labelled'].sum())} of the accepted verdicts have a label."
    )


def _why_nothing(c: Certificate) -> str:
    wrong_among_surest = f"{c.errors} of the {c.accepted} surest labelled verdicts are wrong"
    if c.labels < c.fewest:
        return (
            f"{c.labels} labels are too few: at least {c.fewest} are needed, even if all verdicts are right"
        )
    if c.needed is None:
        return f"{wrong_among_surest}: at that rate no number of labels would show an error rate of at most {c.risk:.1%}"
    return f"{wrong_among_surest}: at that rate about {max(c.needed, c.labels + 1)} labels would be needed to show an error rate of at most {c.risk:.1%}"


def _labels_json(c: Certificate) -> dict[str, Any]:
    return {
        "labelled": c.labels,
        "delta": c.delta,
        "tried": {"labels": c.accepted, "errors": c.errors},
        "fewest_labels": c.fewest,
        "labels_needed": c.needed,
        "grouped": c.grouped,
    }


def _of(found: RunCertificate, attribute: str) -> Any:
    return found.verdicts[found.verdicts["attribute"] == attribute]
