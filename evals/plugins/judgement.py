"""A verdict as a host needs it: a mark for every attribute, with its reasons, and the deliberation in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from ...orchestration.reading.export import case_json
from ...orchestration.reading.requirements import Requirement
from ...orchestration.reading.show import deliberation_text
from ...orchestration.verdict import Outcome, Status, Verdict
from ...rubrics.case import is_swapped
from ...rubrics.errors import VenireError, safe
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value, preferred_side, value_words

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """The result for one attribute, reversed score or composite."""

    name: str
    status: Status
    value: Value | None
    """None unless it was reached: what is hung or does not apply is never a number. Of a pair, above 0 where the row's `output_a`, which is the
    host's own output, is preferred, and below where the other is."""
    share: float | None
    """Where the value lies between the worst (0) and the best (1); None without a value or an order."""
    reason: str
    """How it came about, and who dissents and why."""


@dataclass(frozen=True)
class Judgement:
    """One case's verdict, by the rubric it was asked under."""

    verdict: Verdict
    rubric: Rubric
    fresh: bool
    """Whether it was deliberated now, rather than found in the record."""

    @cached_property
    def marks(self) -> Mapping[str, Mark]:
        """Every attribute, in the rubric's order, and every score that follows from them."""
        rubric, verdict = self.rubric, self.verdict
        values = {name: self._for_own_output(outcome.value) for name, outcome in verdict.outcomes.items()}
        marks = {
            name: Mark(
                name,
                o.status,
                values[name],
                share(rubric, name, values[name]),
                _reason(o, pair=rubric.compares) + self._own_label,
            )
            for name, o in verdict.outcomes.items()
        }
        for name in (*rubric.reversed_names, *rubric.composites):
            value = self._for_own_output(verdict.derived.get(name))
            parts = (
                [rubric.reversed_names[name]] if name in rubric.reversed_names else rubric.composites[name]
            )
            if value is None:
                marks[name] = Mark(
                    name,
                    "hung",
                    None,
                    None,
                    f"this score needs a verdict on each of its parts, and at least one part has none: {', '.join(parts)}",
                )
            else:
                reason = f"{value:g}, computed from {', '.join(parts)}"
                marks[name] = Mark(name, "reached", value, share(rubric, name, value), reason)
        return marks

    def _for_own_output(self, value: Value | None) -> Value | None:
        """A preference between output A and output B as one for the row's `output_a`; any other value as it is."""
        if not self.rubric.compares or value is None or isinstance(value, str):
            return value
        return value if is_swapped(self.verdict.case) else -value

    @property
    def _own_label(self) -> str:
        """Of a pair, a line that says which label jurors knew the host's own output by."""
        if not self.rubric.compares:
            return ""
        return f"\njurors saw this output as output {'B' if is_swapped(self.verdict.case) else 'A'}"

    @property
    def usd(self) -> float | None:
        """What it cost now: nothing, if it was found in the record; None where a price is not known."""
        return self.verdict.transcript.cost.usd if self.fresh else 0.0

    @property
    def document(self) -> dict[str, Any]:
        """The deliberation in the shape that `venire show --json` promises."""
        return case_json(self.verdict)

    @cached_property
    def text(self) -> str:
        """The deliberation as `venire show` prints it, without colours."""
        return deliberation_text(self.verdict, _WIDTH)

    @property
    def headline(self) -> str:
        """Every mark in one line."""

        def words(mark: Mark) -> str:
            if mark.status != "reached" or mark.value is None:
                return mark.status
            if self.rubric.compares:
                return ("tie", "the output", "the other output")[preferred_side(mark.value)]
            return str(mark.value)

        return ", ".join(f"{mark.name} {words(mark)}" for mark in self.marks.values())

    def misses(self, *required: str) -> list[str]:
        """Why each of `required`, written as `accurate>=4`, does not hold; what is hung holds nothing. Of a pair, it is held against the marks."""
        wanted = [Requirement.parse(written, self.rubric) for written in required]
        verdict = self.verdict
        outcomes = {
            name: outcome.model_copy(update={"value": self._for_own_output(outcome.value)})
            for name, outcome in verdict.outcomes.items()
        }
        derived = {name: self._for_own_output(value) for name, value in verdict.derived.items()}
        held = verdict.model_copy(update={"outcomes": outcomes, "derived": derived})
        return [why for requirement in wanted if (why := requirement.miss(held))]

    def expect(self, *required: str) -> None:
        """Fail, with the deliberation, unless each of `required` holds."""
        __tracebackhide__ = True
        if missed := self.misses(*required):
            raise AssertionError("\n".join([*missed, "", self.text]))


def counts_of(judgement: Judgement) -> dict[str, float]:
    """How many attributes are hung, how often a juror abstained and, by a rule of acceptance, how many attributes go to people,
    for a host's metrics; a rubric's own names go first."""
    verdict = judgement.verdict
    counts = {
        "hung": float(sum(outcome.status == "hung" for outcome in verdict.outcomes.values())),
        "abstentions": float(len(verdict.transcript.abstentions)),
    }
    if any(outcome.escalated is not None for outcome in verdict.outcomes.values()):
        counts["to_people"] = float(sum(bool(outcome.escalated) for outcome in verdict.outcomes.values()))
    return {name: number for name, number in counts.items() if name not in judgement.marks}


@dataclass(frozen=True, slots=True)
class NamedScore:
    """A mark or a count for hosts that keep numbers and words apart: a number, or else a word."""

    name: str
    number: float | None
    label: str | None
    """The answer where it is a word, `hung` or `not_applicable` where there is none."""
    reason: str | None
    lower_is_better: bool
    metadata: dict[str, str | float]
    """Which jury judged which case (with a record, `venire show RUN CASE` has the deliberation); what it cost stands with the first score alone, as hosts add it up."""


def named_scores(judgement: Judgement, prefix: str = "") -> list[NamedScore]:
    """Every mark and then every count, under names that begin with `prefix`."""
    asked = judgement.rubric.by_name
    origin: dict[str, str | float] = {"jury": judgement.verdict.arm, "case": judgement.verdict.case}
    scores = [
        NamedScore(
            name=f"{prefix}{name}",
            number=None if isinstance(mark.value, str) else mark.value,
            label=mark.status if mark.value is None else mark.value if isinstance(mark.value, str) else None,
            reason=mark.reason,
            lower_is_better=name in asked and asked[name].better == "low",
            metadata=origin,
        )
        for name, mark in judgement.marks.items()
    ]
    if judgement.usd is not None:
        scores[0] = replace(scores[0], metadata=origin | {"usd": judgement.usd})
    counts = counts_of(judgement).items()
    return scores + [
        NamedScore(f"{prefix}{name}", number, None, None, True, origin) for name, number in counts
    ]


def numbers_of(judgement: Judgement) -> dict[str, float | None]:
    """A number for each mark and count, None where there is none; a question with words for answers is a 0 or 1 for each word."""
    found: dict[str, float | None] = {}
    for name, mark in judgement.marks.items():
        scale = judgement.rubric.scale_of(name) if name in judgement.rubric.by_name else None
        if scale is None or scale.numeric:
            found[name] = None if mark.value is None else float(mark.value)
        else:
            for word in scale.values:
                found[f"{name}={word}"] = None if mark.value is None else float(mark.value == word)
    return found | counts_of(judgement)


def share(rubric: Rubric, name: str, value: Value | None) -> float | None:
    """Where `value` lies between the worst (0) and the best (1) that `name` can be; None where that has no meaning."""
    ends = _worst_and_best(rubric, name)
    if ends is None or value is None or isinstance(value, str):
        return None
    worst, best = ends
    return (float(value) - worst) / (best - worst)


def names_with_best(rubric: Rubric, named: Iterable[str] = ()) -> list[str]:
    """The scores that run from a worst to a best; an error if one of `named` is not among them."""
    names = (*rubric.names, *rubric.reversed_names, *rubric.composites)
    known = [name for name in names if _worst_and_best(rubric, name) is not None]
    for name in named:
        if name not in known:
            raise VenireError(f"{rubric.name} has no score {name!r}", remedy=nearest(name, known))
    return known


def one_share(judgement: Judgement, name: str | None = None) -> float | None:
    """The verdict as one number between the worst (0) and the best (1): the share of `name`, or else the mean of the attributes'.

    None if what it is made of is hung, or does not apply at all.
    """
    if name is not None:
        return judgement.marks[name].share
    asked = [judgement.marks[attribute] for attribute in judgement.rubric.names]
    shares = [mark.share for mark in asked if mark.share is not None]
    return None if any(mark.status == "hung" for mark in asked) or not shares else fmean(shares)


def _worst_and_best(rubric: Rubric, name: str) -> tuple[float, float] | None:
    if name in rubric.composites:
        parts = [(weight, _worst_and_best(rubric, part)) for part, weight in rubric.composites[name].items()]
        if any(ends is None for _, ends in parts):
            return None
        worst, best = (sum(weight * ends[side] for weight, ends in parts if ends) for side in (0, 1))
        return (worst, best) if worst != best else None
    reverse = name in rubric.reversed_names
    attribute = rubric.by_name[rubric.reversed_names.get(name, name)]
    scale = rubric.scale_of(attribute.name)
    if not scale.ordered:
        return None
    low, high = (float(end) for end in scale.ends)
    return (high, low) if (attribute.better == "low") != reverse else (low, high)


def _reason(outcome: Outcome, *, pair: bool) -> str:
    if outcome.status == "reached":
        support = (
            "" if outcome.support is None else f", {outcome.support:.0%} of {outcome.votes} votes for it"
        )
        lines = [f"{value_words(outcome.value, pair=pair)} by {outcome.method}{support}"]
    else:
        lines = [outcome.status.replace("_", " ")]
    if outcome.why:
        lines.append(safe(outcome.why))
    if outcome.escalated:
        lines.append(f"passed on to people: {outcome.escalated}")
    lines += [f"{d.juror} gave {value_words(d.value, pair=pair)}: {safe(d.reason)}" for d in outcome.dissent]
    return "\n".join(lines)
