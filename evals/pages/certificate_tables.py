"""A certificate for the terminal and as JSON: what may stand unseen, and what goes to people."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..inference.certificate import Certificate
from ..inference.run_certificate import RunCertificate
from .json_documents import records


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
                **each.model_dump(),
                "accepted": int((_of(found, name)["why"] == "").sum()),
                "verdicts": len(_of(found, name)),
                **(_labels_json(found.certificates[name]) if name in found.certificates else {}),
            }
            for name, each in rule.attributes.items()
        },
        "accepted": len(found.accepted),
        "to_people": len(found.for_people),
        "accepted_share": len(found.accepted) / len(verdicts) if len(verdicts) else None,
        "verdicts": records(verdicts.assign(accepted=verdicts["why"] == "")),
        "shift": {
            name: {
                "signal": each.signal,
                "distance": None if math.isnan(each.distance) else each.distance,
                "p": None if math.isnan(each.p) else each.p,
                "found": each.found,
                "note": each.note,
            }
            for name, each in found.shifts.items()
        },
        "sentences": certificate_lines(found),
        "notes": list(found.notes),
    }


def certificate_table(found: RunCertificate) -> Table:
    """A row for each attribute: what is accepted unseen, and the labels that it rests on."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in (
        "attribute",
        "accepted unseen",
        "to people",
        "from confidence",
        "labels",
        "wrong",
        "error at most",
    ):
        table.add_column(column)
    for name, rule in found.rule.attributes.items():
        rows = _of(found, name)
        accepted = int((rows["why"] == "").sum())
        share = f" ({accepted / len(rows):.0%})" if len(rows) else ""
        table.add_row(
            name,
            f"{accepted} of {len(rows)}{share}",
            str(len(rows) - accepted),
            "none" if rule.threshold is None else f"{rule.threshold:.3f}",
            str(rule.labels),
            str(rule.errors),
            "" if rule.bound is None else f"{rule.bound:.1%}",
        )
    return table


def certificate_lines(found: RunCertificate) -> list[str]:
    """What is guaranteed, what could not be shown and why, and whether cases have shifted."""
    lines = [guarantee(found), found.drawn]
    for name, each in found.certificates.items():
        if each.threshold is None:
            lines.append(f"{name}: {_why_nothing(each)}")
    lines += [f"{name}: {shift.sentence}" for name, shift in found.shifts.items()]
    hung = int((found.verdicts["status"] != "reached").sum())
    if hung:
        lines.append(
            f"{hung} verdicts are hung or not applicable: never accepted unseen, and not among the labels."
        )
    return lines


def guarantee(found: RunCertificate) -> str:
    """What holds of the accepted verdicts, and of what it says nothing."""
    rule = found.rule
    if all(each.threshold is None for each in rule.attributes.values()):
        return f"Nothing may be accepted unseen: no set of verdicts is shown to be wrong in at most {rule.risk:.1%}."
    near = f" (further than {rule.within:g} from people's reference)" if rule.within else ""
    moved = [name for name, shift in found.shifts.items() if shift.found]
    but = (
        f" The other cases of this run are not like the labelled ones ({', '.join(moved)}): it is not shown for them."
        if moved
        else ""
    )
    return (
        f"Of the accepted verdicts at most {rule.risk:.1%} are wrong{near}, with probability {1 - rule.delta:.1%} over the draw of "
        "the labels, on cases drawn like the labelled ones. Guaranteed is the error among the accepted, not how many are."
        + but
    )


def _why_nothing(each: Certificate) -> str:
    seen = f"{each.errors} of the {each.accepted} surest labelled verdicts are wrong"
    if each.labels < each.fewest:
        return f"{each.labels} labels are too few to show anything: at least {each.fewest} are needed, all of them right"
    if each.needed is None:
        return f"{seen}: at that rate no number of labels would show an error of at most {each.risk:.1%}"
    return f"{seen}: at that rate about {max(each.needed, each.labels + 1)} labels would show it"


def _labels_json(each: Certificate) -> dict[str, Any]:
    return {
        "labelled": each.labels,
        "delta": each.delta,
        "tried": {"labels": each.accepted, "errors": each.errors},
        "fewest_labels": each.fewest,
        "labels_needed": each.needed,
        "grouped": each.grouped,
    }


def _of(found: RunCertificate, attribute: str) -> Any:
    return found.verdicts[found.verdicts["attribute"] == attribute]
