"""Claims to check, with the verdict that is known: of a note against a text in which faults were planted, of a note against its dialogue, of a
clinician's note against a machine's.

A claim is a clause, as `lens/claims` lists them. What the planting left alone is supported, what it turned is not, what it took out is not addressed.
"""

from __future__ import annotations

import random
import re

from deliberations import Example
from machine_notes import MachineNote
from right_ballots import excerpt
from variation import reworded

from venire import Case, Rubric
from venire.agents.claims import Direction, NamedText, verify_claims
from venire.agents.lenses.claims import check_claim, clauses
from venire.agents.lenses.words import stems
from venire.agents.prompting import brief
from venire.evals.training.examples import juror_prompt
from venire.evals.training.passages import Truth, passages
from venire.evals.training.planting import PlantedText, plant
from venire.rubrics.claim import Claim, ClaimVerdict
from venire.rubrics.rubric import load_rubric

RUBRIC: Rubric = load_rubric("claims")
SURE, BARELY = 0.75, 0.25
"""Shares of a claim's words: from the first on a machine's note speaks of it, up to the second it surely does not."""
_COUNTS = re.compile(r"\d+")


def check_of_note(case: Case, rng: random.Random) -> Example | None:
    """A claim of a clean note against a shorter note in other words, in which it stands, stands otherwise, or stands no more."""
    sentences, spans = passages(case.output), clauses(case.output)
    if not spans:
        return None
    start, end = rng.choice(spans)
    claim = _claim("reference", case.output, start, end, rng)
    kept = rng.choice((0.3, 0.6, 0.9))
    wanted = rng.choices(("supported", "not_supported", "not_addressed"), (0.45, 0.25, 0.3))[0]
    written, quote = [], ""
    for sentence in sentences:
        text = sentence.text
        if sentence.start <= start < sentence.end:
            clause = text[start - sentence.start : end - sentence.start]
            if wanted == "not_addressed":
                text = text.replace(clause, "", 1).strip(" ,;:") if rng.random() < 0.5 else ""
            elif wanted == "not_supported":
                if (turned := _turned(clause, case, rng)) is None:
                    return None
                text = text.replace(clause, turned, 1)
        elif rng.random() > kept:
            text = ""
        if text:
            text = reworded(text, rng) if rng.random() < 0.7 else text
            written.append(text)
            if sentence.start <= start < sentence.end and wanted != "not_addressed":
                quote = _part(text, claim.text)
    output = " ".join(written)
    if not output or (
        wanted == "not_addressed" and check_claim(claim.text, output).verdict != "not_addressed"
    ):
        return None
    asked = case.model_copy(update={"output": output, "reference": case.output})
    return _example(asked, claim, "output", wanted, quote)


def check_of_source(case: Case, planted: PlantedText, rng: random.Random) -> Example | None:
    """A claim of a planted text against its source."""
    spans = clauses(planted.output)
    wrong = [f for f in planted.faults if f.attribute == "accurate"]
    faulty = [span for span in spans if any(span[0] <= f.start < span[1] for f in wrong)]
    if not spans:
        return None
    start, end = rng.choice(faulty if faulty and rng.random() < 0.6 else spans)
    claim = _claim("output", planted.output, start, end, rng)
    found = _against_source(claim, planted, Truth(case.source))
    return (
        _example(case.model_copy(update={"output": planted.output}), claim, "source", *found)
        if found
        else None
    )


def check_of_machine(note: MachineNote, rng: random.Random) -> Example | None:
    """A claim of the clinician's note against a machine's, where their words tell surely."""
    text = note.case.output
    spans = clauses(text)
    if not spans:
        return None
    start, end = rng.choice(spans)
    claim = _claim("reference", text, start, end, rng)
    lens = check_claim(claim.text, note.planted.output)
    shared, wanted = (
        (int(number) for number in _COUNTS.findall(lens.reason)[:2]) if "of" in lens.reason else (0, 1)
    )
    share = shared / max(1, wanted)
    if (lens.verdict == "not_addressed" and share > BARELY) or (
        lens.verdict != "not_addressed" and share < SURE
    ):
        return None
    asked = note.case.model_copy(update={"output": note.planted.output, "reference": text})
    return _example(asked, claim, "output", lens.verdict, _part(lens.quote, claim.text))


def _turned(clause: str, case: Case, rng: random.Random) -> str | None:
    """The clause with a number, a finding or a term turned; None where none finds a place."""
    truth = Truth((*case.source, case.output))
    for kind in rng.sample(("number", "negation", "term"), 3):
        if planted := plant(clause, truth, [kind], rng):
            return planted.output
    return None


def _against_source(claim: Claim, planted: PlantedText, truth: Truth) -> tuple[ClaimVerdict, str] | None:
    """What the source says of a clause of the planted text."""
    start, end = claim.start or 0, claim.end or 0
    touched = [f for f in planted.faults if f.attribute == "accurate" and f.start < end and start < f.end]
    passage = truth.nearest_passage(claim.text, above_all=touched[0].before if touched else "")
    if any(fault.kind == "fabrication" for fault in touched):
        return "not_addressed", ""
    quote = _part(passage, claim.text) if passage else ""
    if touched:
        return ("not_supported", quote) if quote else None
    return ("supported", quote) if quote and truth.support(claim.text) >= 0.5 else None


def _part(passage: str, words: str) -> str:
    return excerpt(passage, stems(words)) if passage else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _claim(of: str, text: str, start: int, end: int, rng: random.Random) -> Claim:
    prefix = "c" if of == "output" else of[0]
    words = text[start:end]
    return Claim(
        id=f"{prefix}{rng.randint(1, 24)}",
        of=of,
        text=words,
        quote=words,
        start=start,
        end=end,
        central=False,
    )


REASONS: dict[str, str] = {
    "supported": "Said: '{quote}'.",
    "not_supported": "Otherwise: '{quote}'.",
    "not_addressed": "Silent: nothing is said of it.",
}


def _example(case: Case, claim: Claim, against: str, verdict: ClaimVerdict, quote: str) -> Example | None:
    if verdict != "not_addressed" and not quote:
        return None
    put = brief(case, RUBRIC)
    way = Direction(put, NamedText.of(put, claim.of), NamedText.of(put, against))
    prompt = juror_prompt(
        "verifier", None, lambda juror: verify_claims(juror, way, [claim], require_evidence=False)
    )
    reason = REASONS[verdict].format(quote=quote)
    answer = {"claim": claim.id, "reason": reason, "evidence": quote, "verdict": verdict}
    return Example("check", prompt, {"checks": [answer]})
