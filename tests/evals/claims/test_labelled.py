"""Labelled claims: FActScore's form with all that its files hold, and plain tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared_file

from venire import VenireError
from venire.evals.claims.figures import labelled_figures
from venire.evals.claims.labelled import read_labelled, write_claims
from venire.rubrics import InvalidFile
from venire.rubrics.claim import claims_of_no_case, load_claims, read_check_rows


def fact(label: str, text: str = "A fact.") -> dict[str, Any]:
    return {"text": text, "label": label}


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def response(topic: str, *sentences: dict[str, Any] | None, output: str = "One. Two.") -> dict[str, Any]:
    annotations = None if sentences == (None,) else list(sentences)
    return {
        "input": f"Question: Tell me of {topic}.",
        "output": output,
        "topic": topic,
        "annotations": annotations,
    }


def test_sentences_without_a_claim_and_responses_without_annotations_are_in_no_mean(tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "x.jsonl",
        response(
            "a",
            {"text": "One.", "is-relevant": True, "human-atomic-facts": [fact("S"), fact("NS", "Another.")]},
            {"text": "Two.", "is-relevant": False, "human-atomic-facts": None},
        ),
        response("b", {"text": "One.", "human-atomic-facts": []}, {"text": "Two."}),
        response("c", None, output="I could not find anything."),
        response("a", {"text": "Two.", "human-atomic-facts": [fact("S"), fact("IR"), fact("S"), fact("S")]}),
    )
    labelled = read_labelled(file)
    figures = labelled_figures(labelled)

    assert (labelled.responses, labelled.abstained, labelled.claimless) == (4, ["c"], ["b"])
    assert (figures.cases, figures.claims, figures.claims_per_case) == (2, 6, 3.0)
    assert figures.shares["all"].value == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert figures.shares["addressed"].value == pytest.approx((1 / 2 + 1) / 2)
    assert {row.case for row in labelled.claims} == {"a", "a #2"}
    second = labelled.claims[2].claim
    assert (second.quote, second.start, second.end) == ("Two.", 5, 9)


def test_a_sentence_said_twice_is_found_twice_and_facts_of_an_irrelevant_one_are_not_addressed(tmp_path: Path) -> None:  # fmt: skip
    said = {"text": "One.", "human-atomic-facts": [fact("S", " First. "), fact("NS")]}
    aside = {"text": "Two.", "is-relevant": False, "human-atomic-facts": None, "model-atomic-facts": [{"text": "x"}, "y"]}  # fmt: skip
    plain = {"text": "", "is-relevant": True, "model-atomic-facts": [{"text": "x"}]}
    unsaid = {"text": "", "model-atomic-facts": [{"text": "x"}]}
    file = write_rows(
        tmp_path / "x.jsonl", response("a", said, plain, unsaid, aside, said, output="One. Two. One.")
    )
    labelled = read_labelled(file)

    claims = [row.claim for row in labelled.claims]
    assert [(each.id, each.start, each.end) for each in claims] == [("c1", 0, 4), ("c2", 0, 4), ("c3", 5, 9), ("c4", 5, 9), ("c5", 10, 14), ("c6", 10, 14)]  # fmt: skip
    assert [check.verdict for check in labelled.checks] == ["supported", "not_supported", "not_addressed", "not_addressed", "supported", "not_supported"]  # fmt: skip
    assert claims[0].text == "First." and labelled.cases[0].question == "Tell me of a."


def test_a_plain_row_keeps_what_it_says_and_claims_are_numbered_by_case(tmp_path: Path) -> None:
    rows = [
        {"case": "a", "text": "One.", "verdict": "S", "central": "Yes", "quote": "q"},
        {"case": "b", "claim": "One.", "label": "NA", "central": "no", "of": "reference"},
        {"case": "a", "text": "Two.", "verdict": "", "reason": "r"},
        {"case": "a", "text": "One.", "verdict": "NS", "juror": "ben", "reason": "r"},
    ]
    labelled = read_labelled(write_rows(tmp_path / "x.jsonl", *rows))

    assert [(row.case, row.claim.id, row.claim.central, row.claim.quote) for row in labelled.claims] == [("a", "c1", True, "q"), ("b", "r1", False, ""), ("a", "c2", False, "")]  # fmt: skip
    assert [(check.case, check.claim, check.juror, check.verdict, check.reason) for check in labelled.checks] == [("a", "c1", "human", "supported", ""), ("b", "r1", "human", "not_addressed", ""), ("a", "c1", "ben", "not_supported", "r")]  # fmt: skip
    assert (labelled.responses, labelled.unlabelled) == (2, 1)


def test_labels_of_any_spelling_and_none_at_all(tmp_path: Path) -> None:
    facts = [fact("s"), fact("Not Supported"), {"text": "No label."}]
    labelled = read_labelled(
        write_rows(tmp_path / "x.jsonl", response("a", {"text": "One.", "human-atomic-facts": facts}))
    )

    assert [check.verdict for check in labelled.checks] == ["supported", "not_supported"]
    assert (labelled.unlabelled, len(labelled.claims)) == (1, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([response("a", {"text": "One.", "human-atomic-facts": [fact("maybe")]})], "'maybe' is unknown"),
        ([{"case": "a", "verdict": "supported"}], "'text' is missing"),
        ([{"case": "a", "id": "c1", "text": "One.", "verdict": "S"}, {"case": "a", "id": "c1", "text": "Two.", "verdict": "S"}], "two claims with the id 'c1'"),
        ([{"case": "a", "text": "One.", "verdict": "S"}, {"case": "a", "text": "One.", "verdict": "NS"}], "human labelled the claim c1 of case 'a' twice"),
        ([response("a", {"text": "One.", "human-atomic-facts": [fact("S", " ")]})], "an atomic fact has no text"),
        ([response("a", {"text": "One.", "human-atomic-facts": []})], "no claim has a label"),
        ([], "no claims"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_where(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(VenireError, match=message):
        read_labelled(write_rows(tmp_path / "x.jsonl", *rows))


def test_a_plain_table_of_several_people_is_read_and_written_back(tmp_path: Path) -> None:
    table = tmp_path / "plain.csv"
    table.write_text(
        "case,text,verdict,juror,evidence\n"
        'one,It holds.,supported,ana,"=SUM(1)"\none,It holds.,not supported,ben,\none,It is new.,NA,ana,\n'
        "two,Old.,,ana,\n"
    )
    labelled = read_labelled(table)
    assert write_claims(tmp_path / "out", labelled.claims, labelled.checks) == (3, 3)

    claims = load_claims(tmp_path / "out" / "claims.jsonl")
    assert [claim.id for claim in claims["one"]] == ["c1", "c2"]
    assert list(read_check_rows(tmp_path / "out" / "checks.csv")) == labelled.checks
    assert labelled.checks[0].evidence == "=SUM(1)"
    assert labelled_figures(labelled).shares["all"].value == 0.5


def test_factscores_published_figures() -> None:
    figures = labelled_figures(read_labelled(shared_file("factscore/ChatGPT.jsonl")))

    assert round(100 * figures.shares["all"].value, 2) == 58.28
    assert round(figures.claims_per_case or 0, 1) == 34.6
    assert figures.verdicts == {
        "supported": 3194,
        "not_supported": 1692,
        "not_addressed": 540 + 2,  # the facts of two irrelevant sentences
        "undecided": 0,
    }


def test_claims_of_no_case_are_counted_and_named_and_nothing_but_them_is_an_error(tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "claims.jsonl",
        *({"case": case, "text": f"Claim {n}."} for case in ("here", "gone", "lost") for n in range(2)),
    )
    assert claims_of_no_case(file, {"here", "gone", "lost"}) == ""
    assert (
        claims_of_no_case(file, {"here"})
        == "claims.jsonl: claims left out, because no case here has the id that they name: 4 (ids: gone, lost)"
    )
    with pytest.raises(InvalidFile, match="none of the claims"):
        claims_of_no_case(file, {"other"})
