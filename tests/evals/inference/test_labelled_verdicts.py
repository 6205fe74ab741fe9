"""Which verdicts, arms and attributes an estimate is about, how a deliberation went, and which labels count with what weight."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from venire.evals.inference.labelled_verdicts import LabelledVerdicts, deliberation_way
from venire.evals.inference.labelling import Labelling, labelling_of
from venire.rubrics.errors import VenireError
from venire.rubrics.scale import NOT_APPLICABLE


def arm(name: str, *attributes: str, single: bool = False) -> Any:
    return SimpleNamespace(name=name, jury=SimpleNamespace(single_judge=single), rubric=SimpleNamespace(names=attributes))  # fmt: skip


def test_verdicts_are_of_one_arm_and_attribute_and_a_jury_goes_before_a_judge() -> None:
    rows = [("judge", "a", 1.0), ("jury", "a", 2.0), ("jury", "b", 3.0), ("judge", "c", np.nan), ("jury", "c", np.nan)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["arm", "attribute", "reference"])
    judge, jury = arm("judge", "c", "b", "a", single=True), arm("jury", "a")
    found = LabelledVerdicts(table, (judge, jury), {}, ())

    assert found.of("jury", "a")["reference"].tolist() == [2.0]
    assert found.of("judge", "a")["reference"].tolist() == [1.0]
    assert found.of("jury", "b").index.tolist() == [0]
    assert [found.arm(None), found.arm("judge"), LabelledVerdicts(table, (judge,), {}, ()).arm(None)] == [jury, judge, judge]  # fmt: skip
    assert (found.attributes(judge, None), found.attributes(judge, "c")) == (["b", "a"], ["c"])
    with pytest.raises(VenireError, match="jury was not asked about 'b'"):
        found.attributes(jury, "b")


@pytest.mark.parametrize(
    ("first", "last", "way"),
    [
        ({"x": 3, "y": 3}, {"x": 3, "y": 3}, "unanimous at once"),
        ({"x": 1, "y": 3}, {"x": 3, "y": 3}, "converged"),
        ({"x": 1, "y": 3}, {"x": 1, "y": 3}, "split"),
        # Who left no vote that stands does not count, nor who found that the question does not apply.
        ({"x": 3, "y": 3, "gone": 1}, {"x": 3, "y": 3}, "unanimous at once"),
        ({"x": 3, "y": 3, "z": 3}, {"x": 3, "y": 3, "z": NOT_APPLICABLE}, "unanimous at once"),
        ({"x": 3, "y": 3, "z": NOT_APPLICABLE}, {"x": 3, "y": 3, "z": 3}, "unanimous at once"),
    ],
)
def test_a_deliberation_went_as_its_first_and_its_last_votes_stand(
    first: dict[str, Any], last: dict[str, Any], way: str
) -> None:
    def vote(value: object, attribute: str = "a") -> Any:
        return SimpleNamespace(attribute=attribute, value=value)

    def said(votes: dict[str, Any]) -> list[Any]:
        # Each also votes on another attribute, where all disagree.
        return [
            SimpleNamespace(speaker=name, ballot=SimpleNamespace(votes=[vote(at, "other"), vote(value)]))
            for at, (name, value) in enumerate(votes.items())
        ]

    standing = {name: SimpleNamespace(vote=vote(value)) for name, value in last.items()}
    transcript: Any = SimpleNamespace(ballots=[*said(first), *said(last)], standing=lambda: {"a": standing})

    def went(status: str) -> str:
        outcome: Any = SimpleNamespace(status=status)
        return deliberation_way(transcript, "a", outcome, 0.0)

    assert went("reached") == way
    assert [went("hung"), went("not_applicable")] == ["hung", "not applicable"]


def test_labels_count_where_they_were_drawn_with_the_inverse_of_their_chance() -> None:
    table = pd.DataFrame({"case": list("abcde"), "reference": [1, 2, np.nan, 4, np.nan], "cluster": [0, 0, 1, 2, 3]})  # fmt: skip
    ways = pd.Series({"a": "split", "b": "hung", "c": "split", "d": "converged", "e": "split"})
    draw = pd.DataFrame({"case": ["c", "a", "b"], "probability": [0.5, 0.25, 1.0], "design": "stratified"})
    found, notes = labelling_of(table, draw, ways)
    active, _ = labelling_of(table, draw.assign(design="active"), ways)
    plain, _ = labelling_of(table, None, ways)

    assert found.labelled.tolist() == active.labelled.tolist() == [True, True, False, False, False]
    assert found.weight.tolist() == [4, 1, 2, 1, 1] and found.cluster.tolist() == [0, 0, 1, 2, 3]
    # unanimous at once, converged, split, hung, not applicable.
    assert found.stratum.tolist() == [2, 3, 2, 1, 2] and active.stratum.tolist() == [0] * 5
    assert [note.split()[0] for note in notes] == ["1", "1"], "one label was not drawn, one drawn case has none"  # fmt: skip
    assert plain.labelled.tolist() == [True, True, False, True, False] and set(plain.weight) == {1.0}
    assert plain.cluster.tolist() == [0, 0, 1, 2, 3]
    assert [found.design, active.design, plain.design] == ["stratified", "active", "random"]
    # Weights and strata of cases without a label do not make a design.
    two = np.array([True, True, False])
    assert Labelling(two, np.array([2.0, 2.0, 5.0]), np.zeros(3, dtype=np.int64), np.arange(3)).design == "random"  # fmt: skip
    with pytest.raises(VenireError):
        labelling_of(table, draw[:1], ways)
