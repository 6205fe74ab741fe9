"""`claims`: the verdict on each claim by majority, the shares of them, and what these make of a rubric's attributes.

Pure functions over a transcript: another share, threshold or weight needs no new call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...personas.jury import Jury
from ...personas.options import ClaimOptions, ShareName
from ...rubrics.claim import Check, Claim, ClaimVerdict
from ...rubrics.errors import VenireError, count_words
from ...rubrics.rubric import Rubric
from ...rubrics.scale import NOT_APPLICABLE
from ..transcript import Checked, Extracted, Transcript
from .averages import count_by_median
from .rule import Counted, Rule, Tally

SHARE_NAMES: tuple[ShareName, ...] = ("addressed", "all", "uncontradicted")
ENOUGH = 0.5
"""The share of a text's claims that must have a verdict for any number to be made of them."""
BACKWARD = frozenset({"coverage", "recall", "f1"})
"""The measures that need the other text's claims."""


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """What the verifiers together say of one claim."""

    claim: Claim
    verdict: ClaimVerdict | None
    """That of more than half of those who gave one; None where there is no such, or fewer than the quorum."""
    checks: Mapping[str, Check]
    """By verifier, abstentions among them."""
    why: str = ""
    """Why there is no verdict."""

    @property
    def votes(self) -> dict[str, ClaimVerdict]:
        """The verdicts of those who gave one, by verifier."""
        return {juror: check.verdict for juror, check in self.checks.items() if check.verdict is not None}

    @property
    def dissent(self) -> tuple[str, ...]:
        """The verifiers whose verdict is another."""
        return tuple(juror for juror, verdict in self.votes.items() if verdict != self.verdict)

    @property
    def misquoted_by(self) -> tuple[str, ...]:
        """The verifiers who quoted words that do not stand in the text."""
        return tuple(juror for juror, check in self.checks.items() if check.misquotes)


@dataclass(frozen=True, slots=True)
class ClaimShares:
    """How the claims of one text came out, by weight, and the shares that are made of that."""

    supported: float = 0.0
    not_supported: float = 0.0
    not_addressed: float = 0.0
    claims: int = 0
    undecided: int = 0
    """Claims without a verdict; they are in none of the shares."""

    @property
    def total(self) -> float:
        return self.supported + self.not_supported + self.not_addressed

    @property
    def addressed(self) -> float | None:
        """S/(S+NS): of what the other text speaks of, how much it bears out."""
        return _ratio(self.supported, self.supported + self.not_supported)

    @property
    def all(self) -> float | None:
        """S/(S+NS+NA)."""
        return _ratio(self.supported, self.total)

    @property
    def uncontradicted(self) -> float | None:
        """(S+NA)/(S+NS+NA)."""
        return _ratio(self.supported + self.not_addressed, self.total)

    @property
    def contradicted(self) -> float | None:
        """NS/(S+NS+NA)."""
        return _ratio(self.not_supported, self.total)

    def share(self, name: ShareName) -> float | None:
        return {"addressed": self.addressed, "all": self.all, "uncontradicted": self.uncontradicted}[name]

    @property
    def enough(self) -> bool:
        """Whether half of the claims or more have a verdict."""
        return self.claims > 0 and self.claims - self.undecided >= ENOUGH * self.claims

    def __str__(self) -> str:
        shares = ", ".join(
            f"{name} {'undefined' if (value := self.share(name)) is None else f'{value:.3f}'}"
            for name in SHARE_NAMES
        )
        without = f", {self.undecided} without a verdict" if self.undecided else ""
        return (
            f"{count_words(self.claims, 'claim')}: {self.supported:g} supported, {self.not_supported:g} not supported, "
            f"{self.not_addressed:g} not addressed{without}; shares: {shares}"
        )


@dataclass(frozen=True)
class ClaimFindings:
    """The claims of one case in both directions, as one verifier or all of them together find them."""

    of: ClaimShares
    """Of the text under judgement."""
    against: ClaimShares | None
    """Of the other text, where it was checked both ways."""
    options: ClaimOptions
    why_not: str = ""
    """Why there is nothing to count of the first text."""
    why_not_back: str = ""
    """The same of the other text."""

    def value(self, attribute: str, rubric: Rubric) -> Counted:
        """What these findings make of an attribute of the rubric: a measure by its name, or by the threshold one of two values."""
        scale = rubric.scale_of(attribute)
        if scale.level == "binary":
            support = self.measure("support")
            if support.value is None:
                return support
            at_least = float(support.value) >= self.options.threshold - 1e-9
            low, high = scale.ends
            why = f"{self.options.share} {support.value:.3f}, threshold {self.options.threshold:g}"
            return Counted(high if at_least else low, "claims", why)
        return self.measure(attribute)

    def measure(self, name: str) -> Counted:
        """The measure of this name; without a value where it is undefined, which `why` explains."""
        return MEASURES[name](self)

    @cached_property
    def _precision(self) -> Counted:
        return self._forward(self.of.all, "no claim has a verdict")

    @cached_property
    def _recall(self) -> Counted:
        if self.against is None:
            of, against = self.options.of, self.options.against
            why = f"the claims of the {of} were checked against the {against}, but the claims of the {against} were not checked against the {of}"
            return Counted(NOT_APPLICABLE, "claims", why)
        if self.why_not or self.why_not_back:
            return _no_count(self.why_not or self.why_not_back)
        if not self.against.enough:
            return _no_count(_too_few(self.against, self.options.against))
        return _count_of(self.against.all, "no claim has a verdict", str(self.against))

    def _forward(self, value: float | None, otherwise: str) -> Counted:
        if self.why_not:
            return _no_count(self.why_not)
        if not self.of.enough:
            return _no_count(_too_few(self.of, self.options.of))
        return _count_of(value, otherwise, str(self.of))

    def _support(self) -> Counted:
        claims = "the only claim" if self.of.claims == 1 else f"any of the {self.of.claims} claims"
        silent = f"the {self.options.against} does not address {claims}"
        return self._forward(self.of.share(self.options.share), silent)

    def _contradiction(self) -> Counted:
        return self._forward(self.of.contradicted, "no claim has a verdict")

    def _f1(self) -> Counted:
        precision, recall = self._precision, self._recall
        if isinstance(recall.value, str) or recall.value is None:
            return recall
        if precision.value is None or isinstance(precision.value, str):
            return precision
        p, r = float(precision.value), float(recall.value)
        return Counted(2 * p * r / (p + r) if p + r else 0.0, "claims", f"precision {p:.3f}, recall {r:.3f}")


MEASURES: dict[str, Callable[[ClaimFindings], Counted]] = {
    "support": ClaimFindings._support,
    "precision": lambda found: found._precision,
    "coverage": lambda found: found._recall,
    "recall": lambda found: found._recall,
    "contradiction": ClaimFindings._contradiction,
    "f1": ClaimFindings._f1,
}
"""What an attribute of a rubric may be named for. Precision and recall are shares of all claims, whatever `share` says."""


def require_countable(rubric: Rubric, options: ClaimOptions) -> None:
    """An error if an attribute of the rubric is neither of two values nor named for a measure on a scale from 0 to 1."""
    known = ", ".join(MEASURES)
    for attribute in rubric.attributes:
        scale = rubric.scale_of(attribute.name)
        if scale.level == "binary" and scale.numeric:
            continue
        if attribute.name not in MEASURES:
            raise VenireError(
                f"the protocol decompose-verify cannot answer the question {attribute.name!r} of the rubric {rubric.name!r}",
                remedy=f"use --rubric claims, or a rubric whose attributes have two values or are named {known}",
            )
        if scale.anchors or tuple(map(float, scale.ends)) != (0.0, 1.0):
            raise VenireError(
                f"{attribute.name!r} of the rubric {rubric.name!r} is a share of claims, but its scale is not from 0 to 1",
                remedy="give the attribute a scale with level: interval, minimum: 0 and maximum: 1",
            )
    if "reference" in (options.of, options.against) and rubric.reference == "hidden":
        raise VenireError(
            f"the rubric {rubric.name!r} hides the reference that claims are checked against",
            remedy="write reference: shown in the rubric, or claims: {against: source} in the jury",
        )


def claim_outcomes(transcript: Transcript, of: str | None = None, quorum: int = 1) -> list[ClaimOutcome]:
    """The claims of the text `of`, or of all, in order, each with what its verifiers say of it."""
    claims: list[Claim] = []
    checks: dict[str, dict[str, Check]] = {}
    for entry in transcript.entries:
        if isinstance(entry, Extracted) and of in (None, entry.of):
            claims += entry.claims
        elif isinstance(entry, Checked):
            for check in entry.checks:
                checks.setdefault(check.claim, {})[entry.juror] = check
    return [_outcome(claim, checks.get(claim.id, {}), quorum) for claim in claims]


def _outcome(claim: Claim, checks: Mapping[str, Check], quorum: int) -> ClaimOutcome:
    votes = [check.verdict for check in checks.values() if check.verdict is not None]
    if len(votes) < max(1, quorum):
        return ClaimOutcome(
            claim,
            None,
            checks,
            f"too few verifiers gave a verdict on this claim: {len(votes)} of the {quorum} that are needed",
        )
    verdict, most = Counter(votes).most_common(1)[0]
    if 2 * most <= len(votes):
        return ClaimOutcome(claim, None, checks, "no verdict has a majority")
    return ClaimOutcome(claim, verdict, checks)


def claim_shares(
    verdicts: Iterable[tuple[Claim, ClaimVerdict | None]], central_weight: float = 1.0
) -> ClaimShares:
    """The shares of claims with these verdicts; a central claim weighs `central_weight`, every other 1."""
    weight: Counter[str] = Counter()
    number = undecided = 0
    for claim, verdict in verdicts:
        number += 1
        if verdict is None:
            undecided += 1
        else:
            weight[verdict] += central_weight if claim.central else 1  # type: ignore[assignment]
    return ClaimShares(
        weight["supported"], weight["not_supported"], weight["not_addressed"], number, undecided
    )


def jury_findings(transcript: Transcript, options: ClaimOptions, quorum: int = 1) -> ClaimFindings:
    """What the verifiers together find of the case: each claim by majority."""

    def shares(of: str) -> ClaimShares:
        found = claim_outcomes(transcript, of, quorum)
        return claim_shares(((each.claim, each.verdict) for each in found), options.central_weight)

    return _findings(transcript, options, shares)


def seat_findings(transcript: Transcript, options: ClaimOptions, juror: str) -> ClaimFindings:
    """What one verifier finds of the case."""

    def shares(of: str) -> ClaimShares:
        found = claim_outcomes(transcript, of)
        verdicts = ((o.claim, o.checks[juror].verdict if juror in o.checks else None) for o in found)
        return claim_shares(verdicts, options.central_weight)

    return _findings(transcript, options, shares)


def _findings(
    transcript: Transcript, options: ClaimOptions, shares: Callable[[str], ClaimShares]
) -> ClaimFindings:
    return ClaimFindings(
        of=shares(options.of),
        against=shares(options.against) if options.both_ways else None,
        options=options,
        why_not=why_nothing(transcript, options.of),
        why_not_back=why_nothing(transcript, options.against) if options.both_ways else "",
    )


def why_nothing(transcript: Transcript, of: str) -> str:
    """Why no claim of this text was checked; empty where some were."""
    for entry in transcript.entries:
        if isinstance(entry, Extracted) and entry.of == of:
            if entry.failed is not None:
                return f"no claims of the {of}: {entry.failed}: {entry.detail}"
            return "" if entry.claims else f"the {of} makes no claim that can be checked"
    detail = transcript.stop.detail if transcript.stop else ""
    return detail or f"the claims of the {of} were not extracted"


def count_claims(transcript: Transcript, rubric: Rubric, jury: Jury) -> dict[str, Counted]:
    """What the claims make of each attribute; empty for a transcript of another protocol."""
    if transcript.protocol != "decompose-verify":
        return {}
    found = jury_findings(transcript, jury.claims, jury.quorum)
    return {name: found.value(name, rubric) for name in rubric.names}


def omissions(outcomes: Sequence[ClaimOutcome]) -> list[ClaimOutcome]:
    """Of the other text's claims, those that the text under judgement leaves out or contradicts."""
    return [each for each in outcomes if each.verdict in ("not_addressed", "not_supported")]


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _count_of(value: float | None, otherwise: str, why: str) -> Counted:
    return _no_count(otherwise) if value is None else Counted(float(value), "claims", why)


def _no_count(why: str) -> Counted:
    return Counted(None, "none", why)


def _too_few(shares: ClaimShares, of: str) -> str:
    if shares.claims == 1:
        return f"the only claim of the {of} has no verdict"
    # Of several claims at least two are without one.
    return f"{shares.undecided} of the {shares.claims} claims of the {of} have no verdict"


def by_claim(tally: Tally) -> Counted:
    """What the verdicts on single claims make of the attribute; without any, the median of the ballots."""
    return tally.claims or count_by_median(tally)


claims = Rule(
    "the majority of verifiers decides each claim; the score is a share of the claims, such as the share that is supported",
    by_claim,
    of_votes=False,
)
