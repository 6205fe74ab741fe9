"""Claims by a model: one seat lists those of a text, another checks them against a second text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from ..personas.persona import Persona
from ..rubrics.ballot import (
    QUOTE_LIMIT,
    STRICT,
    TEXT,
    TEXT_LIMIT,
    AbstentionReason,
    at_most,
    find_quote,
    find_span,
    has_words,
)
from ..rubrics.case import Exhibit
from ..rubrics.claim import CLAIM_VERDICTS, Check, Claim, claim_verdict
from .budget import LimitReached
from .cost import Receipt
from .gateway import FillFailed, ModelGateway, Prompt
from .instructions import VERDICT_ORDER, fold
from .juror import Juror
from .lenses.words import sentence_spans
from .model import CachedText, Subject, SubjectKind
from .prompting import PROMPTS, Brief, Prompts, fence, form_of

CLAIM_PROMPTS = Prompts(PROMPTS.folder / "claims")
"""What extractors and verifiers are told. Apart from the other prompts: a change concerns no other protocol."""
MOST_CLAIMS = 400
"""Claims of one text at the most; more is an answer that ran away."""
WITHHELD = "(A sentence that tells the verifier what to answer is left out here.)"


class _ClaimAnswer(BaseModel):
    model_config = STRICT

    text: TEXT
    quote: Annotated[str, at_most(QUOTE_LIMIT)]
    central: bool


class ClaimsAnswer(BaseModel):
    """The form that an extractor fills in."""

    model_config = STRICT

    claims: Annotated[list[_ClaimAnswer], at_most(MOST_CLAIMS, "maxItems")]


class _CheckAnswer(BaseModel):
    model_config = STRICT

    claim: str
    # The reason comes first, so that the model reasons before it commits.
    reason: Annotated[str, at_most(TEXT_LIMIT)]
    evidence: Annotated[str, at_most(QUOTE_LIMIT)]
    # A word outside the three is one claim's abstention, and not the end of the whole answer.
    verdict: Annotated[str, Field(json_schema_extra={"enum": list(CLAIM_VERDICTS)})]


class ChecksAnswer(BaseModel):
    """The form that a verifier fills in."""

    model_config = STRICT

    checks: list[_CheckAnswer]


@lru_cache(maxsize=1024)
def checks_shape(ids: tuple[str, ...]) -> type[ChecksAnswer]:
    """The form for the claims `ids`: the schema names them, so that a decoder bound by it can name no other.

    An answer that names another is read all the same: it is the abstention of the claims that it leaves out.
    """
    named: Any = Annotated[str, Field(json_schema_extra={"enum": list(ids)})]
    check = create_model("Check", __base__=_CheckAnswer, claim=(named, ...))
    checks: Any = Annotated[list[check], at_most(len(ids), "maxItems")]  # type: ignore[valid-type]
    return create_model("Checks", __base__=ChecksAnswer, checks=(checks, ...))


@dataclass(frozen=True)
class NamedText:
    """The exhibits of a case that go under one name, as `source 1` and `source 2` under `source`."""

    name: str
    exhibits: tuple[Exhibit, ...]

    @classmethod
    def of(cls, brief: Brief, name: str) -> NamedText:
        found = tuple(e for e in brief.exhibits if e.name == name or e.name.startswith(f"{name} "))
        return cls(name, found)

    @cached_property
    def text(self) -> str:
        """The whole of it; places of claims are counted in this."""
        return "\n\n".join(exhibit.text for exhibit in self.exhibits)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Where each of its sentences begins and ends."""
        return sentence_spans(self.text)

    @property
    def blank(self) -> bool:
        return not has_words(self.text)

    def with_place(self, claim: Claim) -> Claim:
        """The claim with the place of its quote in the text, unless it has one or the quote stands nowhere."""
        if claim.start is not None or (found := find_span(claim.quote, self.text)) is None:
            return claim
        return claim.model_copy(update={"start": found[0], "end": found[1]})

    def sentences_around(self, start: int, end: int) -> str:
        """The sentences that hold the characters from `start` to `end`."""
        touched = [(a, b) for a, b in self.sentences if a < end and start < b]
        return self.text[touched[0][0] : touched[-1][1]].strip() if touched else self.text[start:end]


@dataclass(frozen=True)
class Direction:
    """The claims of one text of a case, to be checked against another."""

    brief: Brief
    of: NamedText
    against: NamedText

    @cached_property
    def opening(self) -> CachedText:
        """What every verification opens with: the text to check against, the same for all claims and verifiers."""
        return _opening("against", self.brief, self.against.name, without_orders(self.against.text))

    @cached_property
    def _claim_texts(self) -> dict[Claim, str]:
        return {}

    def claim_text(self, claim: Claim) -> str:
        """The claim as verifiers read it, with the sentence it was taken from; the same for all of them, so made once."""
        if (known := self._claim_texts.get(claim)) is not None:
            return known
        code = self.brief.nonce
        parts = [f"{claim.id}:", fence("words", claim.id, claim.text, code)]
        if claim.start is not None and claim.end is not None:
            sentence = without_orders(self.of.sentences_around(claim.start, claim.end))
            parts += ["taken from:", fence("words", f"{claim.of}, around {claim.id}", sentence, code)]
        made = self._claim_texts[claim] = "\n".join(parts)
        return made


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims of one text, or why there are none to be had, and what that cost."""

    claims: tuple[Claim, ...]
    spent: Receipt
    failed: AbstentionReason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """One verifier's checks of some claims, in their order, and what they cost."""

    checks: tuple[Check, ...]
    spent: Receipt


async def extract_claims(juror: Juror, brief: Brief, text: NamedText) -> Extraction:
    """The claims of `text`, listed in one call, each with its place in it."""
    opening = _opening("text", brief, text.name, text.text)
    body = CLAIM_PROMPTS.words(
        "extract", stance=_stance(juror.persona), name=text.name, form=form_of(ClaimsAnswer)
    )
    prompt = _prompt("extractor", opening, body, brief, juror.name, text, "extraction")
    if too_long := _overflow(juror.gateway, prompt):
        return Extraction((), Receipt(), "too_long", too_long)
    try:
        filled = await juror.gateway.fill(prompt, ClaimsAnswer, check=_claims_problem)
    except FillFailed as failed:
        return Extraction((), failed.spent, failed.failure.reason, failed.failure.detail)
    except LimitReached as reached:
        return Extraction(
            (), Receipt(), "limit", f"{reached.limit} was reached before the claims were listed"
        )
    return Extraction(placed_claims(filled.value.claims, text), filled.spent)


async def verify_claims(
    juror: Juror, direction: Direction, claims: Sequence[Claim], *, require_evidence: bool
) -> Verification:
    """The juror's check of each of `claims`, asked for in one call; a claim without a usable verdict is an abstention."""
    brief, against = direction.brief, direction.against
    shape = checks_shape(tuple(claim.id for claim in claims))
    body = CLAIM_PROMPTS.words(
        "verify",
        stance=_stance(juror.persona),
        nonce=brief.nonce,
        claims="\n\n".join(map(direction.claim_text, claims)),
        asked=", ".join(claim.id for claim in claims),
        form=form_of(shape),
    )
    prompt = _prompt(
        "verifier", direction.opening, body, brief, juror.name, against, "verification", tuple(claims)
    )
    if too_long := _overflow(juror.gateway, prompt):
        return Verification(_abstentions(claims, "too_long", too_long), Receipt())

    def problem(answer: ChecksAnswer) -> str | None:
        checks = read_checks([vars(each) for each in answer.checks], claims, against.exhibits)
        return next((check.detail for check in checks if check.abstained), None)

    try:
        filled = await juror.gateway.fill(prompt, shape, check=problem)
        given, spent = [vars(each) for each in filled.value.checks], filled.spent
    except FillFailed as failed:
        raw = failed.fields.get("checks")
        if not isinstance(raw, list):
            return Verification(
                _abstentions(claims, failed.failure.reason, failed.failure.detail), failed.spent
            )
        given, spent = [each for each in raw if isinstance(each, Mapping)], failed.spent  # type: ignore[misc]
    except LimitReached as reached:
        detail = f"{reached.limit} was reached before this verifier was asked"
        return Verification(_abstentions(claims, "limit", detail), Receipt())
    checks = read_checks(given, claims, against.exhibits, require_evidence=require_evidence)
    return Verification(checks, spent)


def placed_claims(answers: Sequence[_ClaimAnswer], text: NamedText) -> tuple[Claim, ...]:
    """The claims with ids of their own, and the place of each one's quote in the text."""
    prefix, whole = "c" if text.name == "output" else text.name[0], text.text
    found: list[Claim] = []
    for number, answer in enumerate(answers, 1):
        start, end = find_span(answer.quote, whole) or (None, None)
        found.append(
            Claim(
                id=f"{prefix}{number}",
                of=text.name,
                text=answer.text.strip(),
                quote=answer.quote,
                start=start,
                end=end,
                central=answer.central,
            )
        )
    return tuple(found)


def read_checks(
    given: Sequence[Mapping[str, Any]],
    claims: Sequence[Claim],
    against: Sequence[Exhibit],
    *,
    require_evidence: bool = False,
) -> tuple[Check, ...]:
    """One check for each of `claims`, from what an answer says under their ids; what it says of others is ignored."""
    by_id: dict[str, list[Mapping[str, Any]]] = {}
    for answer in given:
        by_id.setdefault(str(answer.get("claim", "")).strip().casefold(), []).append(answer)
    known = {claim.id.casefold() for claim in claims}
    strange = sorted(name for name in by_id if name not in known)
    return tuple(
        _check(claim, by_id.get(claim.id.casefold(), []), strange, against, require_evidence)
        for claim in claims
    )


def _check(
    claim: Claim,
    answers: Sequence[Mapping[str, Any]],
    strange: Sequence[str],
    against: Sequence[Exhibit],
    require_evidence: bool,
) -> Check:
    if not answers:
        others = f"; there is one for {', '.join(strange[:3])}, which was not asked" if strange else ""
        return _abstention(claim, "unparsable", f"no verdict for {claim.id}{others}")
    words = [str(answer.get("verdict", "")) for answer in answers]
    verdicts = {claim_verdict(word) for word in words}
    if len(verdicts) > 1:
        return _abstention(
            claim, "unparsable", f"the verifier gave more than one verdict for the claim {claim.id}"
        )
    (verdict,) = verdicts
    if verdict is None:
        legal = ", ".join(CLAIM_VERDICTS)
        return _abstention(claim, "out_of_scale", f"{words[0][:60]!r} for {claim.id} is none of {legal}")
    quoted = answers[0].get("evidence")
    evidence = (find_quote(quoted, against),) if isinstance(quoted, str) and has_words(quoted) else ()
    reason = answers[0].get("reason")
    rationale = reason if isinstance(reason, str) else ""
    if require_evidence and verdict == "supported" and not any(quote.found for quote in evidence):
        detail = (
            f"the verifier calls {claim.id} supported, but its quote is not in the text"
            if evidence
            else f"the verifier calls {claim.id} supported, but quotes nothing"
        )
        return Check(
            claim=claim.id, verdict=None, evidence=evidence, rationale=rationale,
            abstained="no_evidence", detail=detail,
        )  # fmt: skip
    return Check(claim=claim.id, verdict=verdict, evidence=evidence, rationale=rationale)


def orders(claim: Claim) -> bool:
    """Whether the claim, or the words it was taken from, tells the verifier what to answer."""
    return VERDICT_ORDER.search(fold(f"{claim.text}\n{claim.quote}")) is not None


def without_orders(text: str) -> str:
    """`text` without the sentences that tell a verifier what to answer: they bear on no claim but to decide all."""
    if VERDICT_ORDER.search(fold(text)) is None:
        return text
    return "".join(
        f"{WITHHELD}\n" if VERDICT_ORDER.search(fold(sentence)) else sentence
        for sentence in (text[start:end] for start, end in sentence_spans(text))
    )


def _opening(prompt: str, brief: Brief, name: str, shown: str) -> CachedText:
    """What every call on one text opens with: the question, where there is one, and the text."""
    question = next((e for e in brief.exhibits if e.name == "question"), None)
    asked = f"\n{fence('exhibit', question.name, question.text, brief.nonce)}\n" if question else ""
    fenced = fence("exhibit", name, shown, brief.nonce)
    return CachedText(CLAIM_PROMPTS.words(prompt, nonce=brief.nonce, question=asked, text=fenced) + "\n\n")


def _prompt(
    system: str,
    opening: CachedText,
    body: str,
    brief: Brief,
    seat: str,
    text: NamedText,
    kind: SubjectKind,
    claims: tuple[Claim, ...] = (),
) -> Prompt:
    subject = Subject(brief.case, seat, brief.rubric, text.exhibits, (), 1, kind, claims)
    return Prompt(CLAIM_PROMPTS.words(system), opening, body, subject, brief.nonce)


def _stance(persona: Persona | None) -> str:
    if persona is None:
        return ""
    return f"# Your seat\nYou attend to: {persona.attends_to}\n{persona.voice.strip()}\n\n"


def _overflow(gateway: ModelGateway, prompt: Prompt) -> str | None:
    return gateway.window.overflow(prompt.system, prompt.opening, prompt.body)


def _claims_problem(answer: ClaimsAnswer) -> str | None:
    if len(answer.claims) > MOST_CLAIMS:
        return f"more than {MOST_CLAIMS} claims"
    wordless = [number for number, claim in enumerate(answer.claims, 1) if not has_words(claim.text)]
    return f"claim {wordless[0]} says nothing" if wordless else None


def _abstention(claim: Claim, reason: AbstentionReason, detail: str) -> Check:
    return Check(claim=claim.id, verdict=None, abstained=reason, detail=detail)


def _abstentions(claims: Sequence[Claim], reason: AbstentionReason, detail: str) -> tuple[Check, ...]:
    return tuple(_abstention(claim, reason, detail) for claim in claims)


def main_reason(checks: Sequence[Check]) -> tuple[AbstentionReason, str]:
    """Why a verifier gave no verdict at all: the commonest reason, with the words of its first check."""
    reasons = Counter(check.abstained for check in checks if check.abstained)
    most = reasons.most_common(1)[0][0]
    return most, next(check.detail for check in checks if check.abstained == most)
