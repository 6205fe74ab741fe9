"""A run that checked claims, as it is read: its arms, cards and files of claims, and its shares beside people's yes or no."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from written_transcripts import cast

from venire import Case, Jury, Rubric, Stop, Store, Transcript, VenireError
from venire.evals.claims.figures import cards, case_groups, claim_arms, run_figures
from venire.evals.claims.labelled import check_rows, claim_rows, write_claims
from venire.evals.claims.threshold import labelled_cases
from venire.orchestration.reading.export import verdicts
from venire.orchestration.runner import case_fingerprint
from venire.orchestration.transcript import AnyEntry, Checked, Extracted
from venire.rubrics.ballot import Quote
from venire.rubrics.claim import Check, Claim, load_claims, read_check_rows
from venire.rubrics.ratings import Rating

RUBRIC = Rubric.model_validate({
    "name": "r", "version": 1, "reference": "shown",
    "scales": {"two": {"level": "binary", "anchors": {0: "no", 1: "yes"}}},
    "attributes": [{"name": "concordant", "question": "?", "scale": "two"}],
})  # fmt: skip
WORDS = {"S": "supported", "N": "not_supported", "A": "not_addressed", "-": None}
ARMS = {
    "strict": {"c0": "SSN", "c1": "SA", "c2": "AA", "c3": "--S", "c4": "NNN"},
    "lax": {"c0": "SSS", "c1": "AS", "c2": "NA", "c3": "SSS", "c4": "S-"},
}
"""By arm and case, each claim's verdict; of `strict` one claim of three of `c3` has one, too few for a share."""
THRESHOLDS = {"strict": 0.9, "lax": 0.4}


def heard(case: str, arm: str, letters: str) -> Transcript:
    claims = tuple(Claim(id=f"c{n}", text=f"claim {n}", central=n == 0) for n in range(len(letters)))
    checks = tuple(
        Check.model_validate({"claim": f"c{n}", "verdict": WORDS[letter], "rationale": f"so {n}", **({"evidence": (Quote(text="as", exhibit="reference"), Quote(text="is", exhibit=None))} if WORDS[letter] else {"abstained": "unparsable", "rationale": "", "detail": "no answer"})})
        for n, letter in enumerate(letters)
    )  # fmt: skip
    steps: list[AnyEntry] = [Extracted(round=1, who="x", of="output", claims=claims), Checked(round=1, juror="v", of="output", against="reference", checks=checks)]  # fmt: skip
    return Transcript(case=case, arm=arm, protocol="decompose-verify", seats=("x", "v")).add(steps)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms that check claims, and one between them that talks."""
    folder = tmp_path_factory.mktemp("claims") / "run"
    cases = [Case(id=f"c{n}", output="x", reference="y", group="g" if n in (0, 4) else None) for n in range(5)]  # fmt: skip

    async def write() -> None:
        store = Store.create(folder)
        for name in ("strict", "talk", "lax"):
            listing = {"protocol": "decompose-verify", "claims": {"threshold": THRESHOLDS.get(name)}, "seats": [{"name": "x", "extracts": True, "model": "scripted/none"}, {"name": "v", "model": "scripted/none"}]}  # fmt: skip
            talking = {"protocol": "panel", "seats": [{"name": "v", "model": "scripted/none"}]}
            jury = Jury.model_validate({"name": name, **(listing if name in ARMS else talking)})
            arm = await store.add_arm(name, name, {"rubric": RUBRIC.model_dump(mode="json"), "jury": jury.model_dump(mode="json")})  # fmt: skip
            for position, case in enumerate(cases):
                silent = Transcript(case=case.id, arm=name, protocol="panel", seats=("v",))
                said = heard(case.id, name, ARMS[name][case.id]) if name in ARMS else silent.add([cast("v", {"concordant": 1})])  # fmt: skip
                await store.add(arm, case, case_fingerprint(case), said.with_stop(Stop(reason="complete")), position=position)  # fmt: skip
        await store.close()

    asyncio.run(write())
    return folder


@pytest.fixture
def store(run: Path) -> Iterator[Store]:
    store = Store.read(run)
    yield store
    store.release()


def answers(*values: int | None) -> pd.DataFrame:
    rows = [(f"c{n}", "ana", "sound", value) for n, value in enumerate(values) if value is not None]
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


@pytest.mark.parametrize(
    ("arm", "score", "wanted"),
    [
        ("strict", "precision", {"c0": 2 / 3, "c1": 0.5, "c2": 0.0, "c4": 0.0}),
        ("strict", "all", {"c0": 2 / 3, "c1": 0.5, "c2": 0.0, "c4": 0.0}),
        ("strict", "addressed", {"c0": 2 / 3, "c1": 1.0, "c4": 0.0}),
        ("strict", "support", {"c0": 2 / 3, "c1": 1.0, "c4": 0.0}),
        ("strict", "uncontradicted", {"c0": 2 / 3, "c1": 1.0, "c2": 1.0, "c4": 0.0}),
        ("strict", "contradiction", {"c0": 1 / 3, "c1": 0.0, "c2": 0.0, "c4": 1.0}),
        ("lax", "all", {"c0": 1.0, "c1": 0.5, "c2": 0.0, "c3": 1.0, "c4": 1.0}),
        ("talk", "concordant", dict.fromkeys(["c0", "c1", "c2", "c3", "c4"], 1.0)),
    ],
)
def test_a_share_stands_beside_peoples_answer_where_half_of_the_claims_have_a_verdict(store: Store, arm: str, score: str, wanted: dict[str, float]) -> None:  # fmt: skip
    found = labelled_cases(store, answers(1, 0, 1, 1, 0), score, arm=arm)

    assert dict(zip(found.cases, found.scores, strict=True)) == pytest.approx(wanted)
    assert (found.arm, found.fixed) == (arm, THRESHOLDS.get(arm, 0.5))
    assert dict(zip(found.cases, found.truth, strict=True)) == {case: case in ("c0", "c2", "c3") for case in wanted}  # fmt: skip
    left_out = 5 - len(wanted)
    assert any(note.startswith(f"{left_out} case") and "hung" in note for note in found.notes) == bool(left_out)  # fmt: skip
    if not left_out:
        assert found.cluster.tolist() == [0, 1, 2, 3, 0]


def test_a_share_of_claims_is_looked_for_where_claims_were_checked(store: Store) -> None:
    assert labelled_cases(store, answers(1, 0), "precision").arm == "strict"
    with pytest.raises(VenireError, match="no score named 'precision'"):
        labelled_cases(store, answers(1, 0), "precision", arm="talk")
    assert [arm.name for arm in claim_arms(store)] == ["strict", "lax"]
    assert [arm.name for arm in claim_arms(store, "lax")] == ["lax"]
    with pytest.raises(VenireError, match="no arm named 'talk' in this run checked claims"):
        claim_arms(store, "talk")


def test_cards_are_of_one_arm_and_one_case_counted_as_they_are_asked_to_be(store: Store) -> None:
    strict, lax = claim_arms(store)
    people = [Rating("c0", "ana", "sound", 1), Rating("c1", "ben", "sound", 0)]
    found = [card for _, card in cards(store, lax, lax.jury.claims, people=iter(people))]

    assert [card.case for card in found] == ["c0", "c1", "c2", "c3", "c4"] and {card.arm for card in found} == {"lax"}  # fmt: skip
    assert [[rating.rater for rating in card.people] for card in found] == [["ana"], ["ben"], [], [], []]
    assert case_groups(store) == {"c0": "g", "c4": "g"}
    ((verdict, one),) = cards(store, strict, strict.jury.claims.model_copy(update={"central_weight": 3.0}), case="c0")  # fmt: skip
    assert (verdict.case, one.findings.of.all) == ("c0", pytest.approx(4 / 5))
    assert [exhibit.text for exhibit in one.texts] == ["x", "y"]
    with pytest.raises(VenireError, match="has no case 'c9'"):
        list(cards(store, strict, strict.jury.claims, case="c9"))
    figures = run_figures(found, case_groups(store))
    assert figures.shares["all"].value == pytest.approx(3.5 / 5) and "4 groups" in figures.shares["all"].note  # fmt: skip


def test_claims_and_checks_are_written_with_what_verifiers_said_and_why_they_did_not(store: Store, tmp_path: Path) -> None:  # fmt: skip
    heard_cases = [verdict for _, verdict in verdicts(store, arm="strict") if verdict.case in ("c0", "c3")]
    checks = check_rows(heard_cases)

    assert write_claims(tmp_path, claim_rows(heard_cases), checks) == (6, 6)
    assert [(row.case, row.claim, row.juror, row.verdict, row.evidence, row.reason) for row in checks][2:5] == [
        ("c0", "c2", "v", "not_supported", "as is", "so 2"),
        ("c3", "c0", "v", None, "", "no answer"),
        ("c3", "c1", "v", None, "", "no answer"),
    ]  # fmt: skip
    written = load_claims(tmp_path / "claims.jsonl")
    assert {case: [(each.id, each.central) for each in claims] for case, claims in written.items()} == {case: [("c0", True), ("c1", False), ("c2", False)] for case in ("c0", "c3")}  # fmt: skip
    assert [row.verdict for row in read_check_rows(tmp_path / "checks.csv")] == [row.verdict for row in checks]  # fmt: skip
