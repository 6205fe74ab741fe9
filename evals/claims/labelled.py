"""Claims and checks in files: written as `claims.jsonl` and `checks.csv`; others' labelled claims read (FActScore's JSONL, plain tables)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...orchestration.record.private_files import FOLDER_MODE, open_private
from ...orchestration.verdict import Verdict
from ...rubrics.ballot import find_span
from ...rubrics.case import Case
from ...rubrics.claim import CHECK_COLUMNS, CLAIM_COLUMNS, CheckRow, Claim, ClaimVerdict, claim_verdict
from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column
from ...rubrics.rows import csv_cell, read_rows

CLAIMS_FILE = "claims.jsonl"
CHECKS_FILE = "checks.csv"


class ClaimRow(NamedTuple):
    """A claim and the case it belongs to."""

    case: str
    claim: Claim


def write_claims(folder: Path, claims: Iterable[ClaimRow], checks: Iterable[CheckRow]) -> tuple[int, int]:
    """Write both files into `folder`, which is made if need be; how many claims and checks there were."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    claim_count = check_count = 0
    with open_private(folder / CLAIMS_FILE) as handle:
        for row in claims:
            fields = {"case": row.case, **row.claim.model_dump()}
            handle.write(
                json.dumps({name: fields[name] for name in CLAIM_COLUMNS}, ensure_ascii=False) + "\n"
            )
            claim_count += 1
    with open_private(folder / CHECKS_FILE) as handle:
        writer = csv.writer(handle)
        writer.writerow(CHECK_COLUMNS)
        for check in checks:
            writer.writerow(csv_cell(value or "") for value in check)
            check_count += 1
    return claim_count, check_count


def claim_rows(verdicts: Iterable[Verdict]) -> list[ClaimRow]:
    """The claims of each case."""
    return [ClaimRow(verdict.case, outcome.claim) for verdict in verdicts for outcome in verdict.claims]


def check_rows(verdicts: Iterable[Verdict]) -> list[CheckRow]:
    """Each verifier's check of each claim; an abstention has no verdict, and its reason is why."""
    return [
        CheckRow(
            verdict.case,
            check.claim,
            juror,
            check.verdict,
            " ".join(quote.text for quote in check.evidence),
            check.rationale or check.detail,
        )
        for verdict in verdicts
        for outcome in verdict.claims
        for juror, check in outcome.checks.items()
    ]


PEOPLE = "human"
"""Who checked the claims, where the file does not say."""
_LABELS: dict[str, ClaimVerdict] = {
    "S": "supported",
    "NS": "not_supported",
    "IR": "not_addressed",
    "NA": "not_addressed",
}
"""Labels beside our own words; FActScore's IR, irrelevant, is a claim that the source does not address."""


@dataclass(slots=True)
class LabelledClaims:
    """What a file of labelled claims holds."""

    cases: list[Case] = field(default_factory=list)
    """The responses whose text the file gives."""
    claims: list[ClaimRow] = field(default_factory=list)
    checks: list[CheckRow] = field(default_factory=list)
    responses: int = 0
    abstained: list[str] = field(default_factory=list)
    """Responses that nobody took apart: the generator abstained."""
    claimless: list[str] = field(default_factory=list)
    """Responses that were taken apart and make no claim."""
    unlabelled: int = 0
    """Claims without a label."""

    def add(
        self, case: str, claim: Claim, verdict: ClaimVerdict | None, juror: str = PEOPLE, **said: str
    ) -> None:
        """One claim and the label it has; without one it is a claim that nobody checked."""
        self.claims.append(ClaimRow(case, claim))
        if verdict is None:
            self.unlabelled += 1
        else:
            self.add_check(case, claim.id, verdict, juror, **said)

    def add_check(
        self, case: str, claim: str, verdict: ClaimVerdict, juror: str, evidence: str = "", reason: str = ""
    ) -> None:
        self.checks.append(CheckRow(case, claim, juror, verdict, evidence, reason))


def read_labelled(path: Path) -> LabelledClaims:
    """The labelled claims in a file: FActScore's form where a row has `annotations`, else one claim a row."""
    rows = iter(read_rows(path))
    first_row = next(rows, None)
    if first_row is None:
        raise InvalidFile(
            f"{path}: no claims were found", remedy="give a file with one row for each response or each claim"
        )
    all_rows = _chain(first_row, rows)
    labelled = _factscore(path, all_rows) if "annotations" in first_row[1] else _plain(path, all_rows)
    if not labelled.claims:
        raise InvalidFile(
            f"{path}: no claim has a label", remedy="check that the rows of the file hold claims with labels"
        )
    return labelled


def _chain(
    first_row: tuple[int, dict[str, Any]], other_rows: Iterator[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    yield first_row
    yield from other_rows


def _factscore(path: Path, rows: Iterator[tuple[int, dict[str, Any]]]) -> LabelledClaims:
    """One row a response: its text, and for each sentence the atomic facts that people found in it and labelled."""
    labels = LabelledClaims()
    names: dict[str, int] = {}
    for line, row in rows:
        at = f"{path}:{line}"
        output = str(row.get("output") or "")
        topic = str(row.get("topic") or row.get("id") or f"line {line}")
        names[topic] = names.get(topic, 0) + 1
        name = topic if names[topic] == 1 else f"{topic} #{names[topic]}"
        labels.responses += 1
        if output.strip():
            question = str(row.get("input") or "").removeprefix("Question: ") or None
            labels.cases.append(
                Case(id=name, output=output, question=question, metadata={"cat": row.get("cat")})
            )
        sentences = row.get("annotations")
        if sentences is None:
            labels.abstained.append(name)
            continue
        if not isinstance(sentences, list):
            raise InvalidFile(f"{at}: annotations is not a list", remedy="write a list of sentences, or null")
        start, place = len(labels.claims), 0
        for sentence in sentences:
            place = _add_sentence(labels, name, output, sentence, place, len(labels.claims) - start, at)
        if len(labels.claims) == start:
            labels.claimless.append(name)
    return labels


def _add_sentence(
    labelled: LabelledClaims, case: str, output: str, sentence: Any, place: int, number: int, at: str
) -> int:
    """Add the claims of one annotated sentence; where it ends in the text, for the next one to be looked for after it."""
    if not isinstance(sentence, Mapping):
        raise InvalidFile(
            f"{at}: one of the sentences is not a JSON object",
            remedy="write each sentence as an object with the keys text and human-atomic-facts",
        )
    quote = str(sentence.get("text") or "")
    start = output.find(quote, place) if quote else -1
    span = (start, start + len(quote)) if start >= 0 else find_span(quote, output)
    # A sentence that holds no claim has null, an empty list, or no such field.
    facts = sentence.get("human-atomic-facts") or []
    if not facts and sentence.get("is-relevant") is False:
        # People took no irrelevant sentence apart: as published, each of the model's facts in it counts as irrelevant.
        facts = [
            {"text": fact.get("text") if isinstance(fact, Mapping) else fact, "label": "IR"}
            for fact in sentence.get("model-atomic-facts") or []
        ]
    for offset, fact in enumerate(facts, 1):
        if not isinstance(fact, Mapping) or not str(fact.get("text") or "").strip():
            raise InvalidFile(f"{at}: an atomic fact has no text", remedy="write each fact as {text, label}")
        claim = Claim(
            id=f"c{number + offset}",
            text=str(fact["text"]).strip(),
            quote=quote,
            start=span[0] if span else None,
            end=span[1] if span else None,
        )
        labelled.add(case, claim, _label(fact.get("label"), at))
    return span[1] if span else place


def _plain(path: Path, rows: Iterator[tuple[int, dict[str, Any]]]) -> LabelledClaims:
    """One row a claim: `case`, `text` (or `claim`), `verdict` (or `label`), and as far as they are there the other columns."""
    labelled = LabelledClaims()
    claim_by_key: dict[tuple[str, str], Claim] = {}
    numbers: dict[str, int] = {}
    check_keys: set[tuple[str, str, str]] = set()
    for line, row in rows:
        at = f"{path}:{line}"
        case, text = _cell(row, "case", at), _cell(row, "text", at, "claim")
        of = str(row.get("of") or "output")
        name = str(row.get("id") or "")
        if not name:
            same_id = next((c.id for (k, _), c in claim_by_key.items() if k == case and c.text == text), None)
            name = same_id or f"{'c' if of == 'output' else of[:1]}{numbers.get(case, 0) + 1}"
        label = row.get("verdict", row.get("label"))
        verdict = _label(label, at)
        juror = str(row.get("juror") or PEOPLE)
        texts = {key: str(row.get(key) or "") for key in ("evidence", "reason")}
        if (case, name) not in claim_by_key:
            numbers[case] = numbers.get(case, 0) + 1
            claim = Claim(id=name, of=of, text=text, quote=str(row.get("quote") or ""),
                          central=str(row.get("central") or "").casefold() in ("true", "1", "yes"))  # fmt: skip
            claim_by_key[case, name] = claim
            labelled.add(case, claim, verdict, juror, **texts)
        elif claim_by_key[case, name].text != text:
            raise InvalidFile(
                f"{at}: case {case!r} has two claims with the id {name!r}",
                remedy="give every claim of a case an id of its own",
            )
        elif (case, name, juror) in check_keys:
            raise InvalidFile(
                f"{at}: {juror} labelled the claim {name} of case {case!r} twice",
                remedy="keep one of the two lines",
            )
        elif verdict is not None:
            labelled.add_check(case, name, verdict, juror, **texts)
        check_keys.add((case, name, juror))
    labelled.responses = len(numbers)
    return labelled


def _cell(row: Mapping[str, Any], name: str, at: str, alias: str = "") -> str:
    value = str(row.get(name) or row.get(alias) or "").strip()
    if not value:
        raise InvalidFile(
            f"{at}: {name!r} is missing",
            remedy=f"{near_column(name, row)}give a table of labelled claims with the columns case,text,verdict",
        )
    return value


def _label(label: Any, at: str) -> ClaimVerdict | None:
    """The verdict that a label stands for; None where there is none."""
    word = str(label or "").strip()
    if not word:
        return None
    verdict = _LABELS.get(word.upper()) or claim_verdict(word)
    if verdict is None:
        raise InvalidFile(
            f"{at}: the label {word!r} is unknown",
            remedy="write S, NS or IR, or supported, not_supported or not_addressed",
        )
    return verdict
