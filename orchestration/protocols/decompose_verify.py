"""`decompose-verify`: one seat lists the claims of a text, the others check each against another text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import reduce

from ...agents.claims import (
    CLAIM_PROMPTS,
    Direction,
    NamedText,
    extract_claims,
    main_reason,
    orders,
    verify_claims,
)
from ...agents.cost import Receipt
from ...agents.juror import Juror
from ...agents.prompting import Brief
from ...personas.jury import Jury, Seat
from ...personas.options import ClaimOptions, Options
from ...rubrics.ballot import AbstainedAttribute, Abstention, Ballot, Quote, Vote
from ...rubrics.claim import Check, Claim, load_claims
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..bench import Bench, together
from ..counting.claims import BACKWARD, require_countable, seat_findings
from ..transcript import CLERK, UNREACHED, Abstained, Cast, Checked, Extracted, Stop, Transcript
from . import Protocol


class DecomposeVerifyOptions(Options):
    """What is taken apart and checked."""

    claims: ClaimOptions = ClaimOptions()


async def run(brief: Brief, bench: Bench) -> Transcript:
    """The claims of the case in one step, then every verifier's checks of all of them, at the same time."""
    options = bench.jury.options_as(DecomposeVerifyOptions).claims
    transcript = bench.new_transcript(brief)
    sides = {name: NamedText.of(brief, name) for name in (options.of, options.against)}
    if missing := [name for name, text in sides.items() if text.blank]:
        return transcript.with_stop(Stop(reason="complete", detail=f"the case has no {missing[0]}"))
    ways = [Direction(brief, sides[options.of], sides[options.against])]
    if options.both_ways:
        ways.append(Direction(brief, sides[options.against], sides[options.of]))
    transcript = bench.add_entries(transcript, await _extractions(bench, brief, ways, options))
    claims = {
        entry.of: entry.claims
        for entry in transcript.entries
        if isinstance(entry, Extracted) and entry.claims
    }
    # Where the text under judgement claims nothing, what it leaves out is no measure of it.
    if options.of in claims:
        transcript = await _verifications(transcript, bench, [way for way in ways if way.of.name in claims])
    verifiers = verifying_seats(bench.jury)
    unheard = options.of in claims and transcript.turns < len(verifiers)
    limit = bench.meter.reached or ("max_turns" if unheard else None)
    return transcript.with_stop(bench.stop_at(limit) if limit else Stop(reason="complete"))


async def _extractions(
    bench: Bench, brief: Brief, ways: Sequence[Direction], options: ClaimOptions
) -> list[Extracted]:
    """The claims of each text, from the file that the jury names or from the seat that extracts."""
    if options.file is not None:
        return [_claims_from_file(options, brief.case, way.of) for way in ways]
    juror = bench.jurors[extracting_seat(bench.jury)]
    found = await together(extract_claims(juror, brief, way.of) for way in ways)
    return [
        Extracted(
            round=1, who=juror.name, of=way.of.name, claims=each.claims,
            spent=each.spent, failed=each.failed, detail=each.detail,
        )
        for way, each in zip(ways, found, strict=True)
    ]  # fmt: skip


def _claims_from_file(options: ClaimOptions, case: str, text: NamedText) -> Extracted:
    """The claims that the file has of a text; where it does not say where a quote stands, code looks it up."""
    assert options.file is not None
    claims = tuple(
        text.with_place(claim) for claim in load_claims(options.file).get(case, ()) if claim.of == text.name
    )
    missing = (
        {}
        if claims
        else {"failed": "no_record", "detail": f"the file {options.file.name} has no claims of this case"}
    )
    return Extracted.model_validate({"round": 1, "who": CLERK, "of": text.name, "claims": claims, **missing})


async def _verifications(transcript: Transcript, bench: Bench, ways: Sequence[Direction]) -> Transcript:
    """The transcript with every verifier's checks, and the ballot that follows from them."""
    seats, brief = verifying_seats(bench.jury), ways[0].brief
    names = brief.rubric.names
    claims = {e.of: e.claims for e in transcript.entries if isinstance(e, Extracted)}
    saw = tuple(entry.id for entry in transcript.entries if isinstance(entry, Extracted))
    allowed = bench.turns_left(transcript)
    sitting = [bench.jurors[seat] for seat in seats[:allowed]]
    options = bench.jury.claims
    batches = {way.of.name: list(_batches(claims[way.of.name], options.batch)) for way in ways}
    found = await together(
        _seat_checks(juror, way, claims[way.of.name], batches[way.of.name], options)
        for juror in sitting
        for way in ways
    )
    # Ballots are counted from the checks, so these are laid before the counting first.
    heard = transcript.add(found)
    ballots = [_ballot(heard, juror.name, brief, bench.jury, saw) for juror in sitting]
    missed = [bench.unheard(seat, 1, names, "verification") for seat in seats[allowed:]]
    return bench.add_entries(transcript, [*ballots, *found, *missed])


async def _seat_checks(
    juror: Juror,
    way: Direction,
    claims: Sequence[Claim],
    batches: Sequence[Sequence[Claim]],
    options: ClaimOptions,
) -> Checked:
    """One verifier's checks of one text's claims, all batches at the same time."""
    made = await together(
        verify_claims(juror, way, batch, require_evidence=options.require_evidence) for batch in batches
    )
    by_id = {check.claim: check for part in made for check in part.checks}
    return Checked(
        round=1,
        juror=juror.name,
        of=way.of.name,
        against=way.against.name,
        checks=tuple(by_id[claim.id] for claim in claims),
        spent=reduce(Receipt.beside, (part.spent for part in made), Receipt()),
        failed=next((check.abstained for check in by_id.values() if check.abstained in UNREACHED), None),
    )


def _batches(claims: Sequence[Claim], size: int) -> Iterable[tuple[Claim, ...]]:
    """The claims in batches; one that tells the verifier what to answer is asked about alone."""
    alone = {claim for claim in claims if orders(claim)}
    plain = tuple(claim for claim in claims if claim not in alone)
    yield from (plain[start : start + size] for start in range(0, len(plain), size))
    yield from ((claim,) for claim in claims if claim in alone)


def _ballot(
    heard: Transcript, juror: str, brief: Brief, jury: Jury, saw: tuple[str, ...]
) -> Cast | Abstained:
    """The ballot that a verifier's checks amount to; an abstention where it gave no verdict on any claim."""
    names = brief.rubric.names
    mine = {e.of: e.checks for e in heard.entries if isinstance(e, Checked) and e.juror == juror}
    checks = [check for part in mine.values() for check in part]
    failures = [check for check in checks if check.abstained]
    if len(failures) == len(checks):
        reason, detail = main_reason(failures)
        refusal = Abstention(juror=juror, round=1, reason=reason, detail=detail, asked=names, saw=saw)
        return Abstained(round=1, purpose="verification", abstention=refusal)
    found = seat_findings(heard, jury.claims, juror)
    votes: list[Vote] = []
    abstained: list[AbstainedAttribute] = []
    quoted: set[str] = set()
    for name in names:
        value, _, why = found.value(name, brief.rubric)
        if value is None:
            # Without a failure of its own, the verifier has no opinion: the other text addresses no claim.
            if failures:
                abstained.append(
                    AbstainedAttribute(attribute=name, reason=main_reason(failures)[0], detail=why)
                )
            continue
        # Each direction's quotes go with the first attribute that rests on it.
        of = jury.claims.against if name in BACKWARD else jury.claims.of
        evidence = () if of in quoted else _evidence(mine.get(of, ()))
        quoted.add(of)
        votes.append(Vote(attribute=name, value=value, rationale=why, evidence=evidence))
    ballot = Ballot(
        juror=juror, round=1, votes=tuple(votes), asked=names, saw=saw, abstained=tuple(abstained)
    )
    return Cast(round=1, purpose="verification", ballot=ballot)


def _evidence(checks: Iterable[Check]) -> tuple[Quote, ...]:
    return tuple(dict.fromkeys(quote for check in checks for quote in check.evidence))


def verifying_seats(jury: Jury) -> list[str]:
    """The seats that check claims: all but the one that extracts."""
    return [seat.name for seat in jury.seats if not seat.extracts]


def extracting_seat(jury: Jury) -> str:
    """The seat that lists the claims."""
    return next(seat.name for seat in jury.seats if seat.extracts)


def check(jury: Jury) -> None:
    """Refuse a jury without verifiers, without one extractor, or with models that can do neither."""
    extractors = [seat for seat in jury.seats if seat.extracts]
    options = jury.claims
    if options.file is not None:
        load_claims(options.file)
    elif len(extractors) != 1:
        raise VenireError(
            f"{len(extractors)} seats of the jury {jury.name!r} extract claims, but exactly one must",
            remedy="write extracts: true on one seat, or claims: {file: claims.jsonl}",
        )
    verifiers = verifying_seats(jury)
    if not verifiers:
        raise VenireError(
            f"no seat of the jury {jury.name!r} is left to check claims",
            remedy="add a seat without extracts: true",
        )
    if jury.quorum > len(verifiers):
        raise VenireError(
            f"a quorum of {jury.quorum} can never be met by {len(verifiers)} verifiers",
            remedy="lower the quorum",
        )
    for seat in jury.seats:
        _require_able(seat)


def _require_able(seat: Seat) -> None:
    road, _, name = (seat.model or "").partition("/")
    if road == "lens" and name != "claims":
        raise VenireError(
            f"{seat.model!r} only counts words, so it can neither list claims nor check them",
            remedy="use lens/claims, or a language model",
        )
    if road == "recorded" and seat.extracts:
        raise VenireError(
            f"{seat.model!r} only repeats recorded checks, so it cannot list claims",
            remedy="write claims: {file: claims.jsonl} in the jury file, with a file of claims",
        )


def check_rubric(jury: Jury, rubric: Rubric) -> None:
    """Refuse a rubric whose questions claims do not answer."""
    require_countable(rubric, jury.claims)


def inputs(jury: Jury) -> str:
    """A hash of the file of claims, where the jury names one."""
    file = jury.claims.file
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else ""


decompose_verify = Protocol(
    run=run,
    options=DecomposeVerifyOptions,
    prompts=CLAIM_PROMPTS,
    check=check,
    check_rubric=check_rubric,
    inputs=inputs,
    count="claims",
    orchestrator=False,
    summary="one juror lists the claims of a text; the other jurors check each claim against another text",
    speaks="The extractor lists the claims of each text; then every other juror checks every claim, at the same time.",
    sees="The extractor sees only its text. A verifier sees the other text, the claim, and the sentence that the claim is from.",
    ends="The deliberation is complete when every claim was checked, or if there is no claim or no text to check claims against.",
    calls="1 + CV calls for C claims and V verifiers; 1 + V ceil(C/b) calls if claims are checked in batches of b; "
    "2 + (C + D)V calls if the D claims of the other text are checked too",
    steps="2",
    drawing="""
1  the extractor     lists the claims of the text (both ways: of both texts, at the same time)
2  all V verifiers   check every claim, each by itself, at the same time
   code              looks up the quotes, takes the majority on each claim, counts the shares
""",
)
