"""Class by class in a comparison: F1 as scikit-learn has it, mean reward, constants, abstentions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from shared_data import shared_file
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from venire.evals.audits.classes import classes_section
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question, RewardTable
from venire.evals.report.section import Section
from venire.rubrics import load_rubric
from venire.rubrics.scale import Scale

IMPACT = load_rubric("asr-impact").scale_of("impact")


def rows(rater: str, values: object) -> pd.DataFrame:
    given = list(values)  # type: ignore[call-overload]
    cases = [f"k{n}" for n in range(len(given))]
    return pd.DataFrame({"case": cases, "rater": rater, "attribute": "impact", "value": given})


def section(
    arms: Mapping[str, object],
    people: Mapping[str, object],
    scale: Scale = IMPACT,
    hung: tuple[str, ...] = (),
    hung_on: str = "impact",
) -> Section:
    given = pd.concat([rows(name, values).dropna() for name, values in arms.items()])
    silent = pd.DataFrame([(case, "jury", hung_on) for case in hung], columns=["case", "rater", "attribute"])
    found = classes_section(
        Evidence(
            arms=given,
            people=pd.concat([rows(name, values).dropna() for name, values in people.items()]),
            questions={"impact": Question(scale, "low")},
            cases=pd.DataFrame({"case": sorted(set(given["case"])), "group": None}),
            costs=pd.DataFrame(),
            stops=pd.DataFrame(),
            kinds=dict.fromkeys(arms, "jury"),
            abstentions=silent,
        ),
    )
    assert found is not None
    return found


def values(found: Section) -> pd.Series:
    return found.tables["scores"].set_index(["rater", "metric"])["value"]


def test_constants_on_the_published_split_earn_what_the_paper_pays_them() -> None:
    table = pd.read_csv(shared_file("wer-is-unaware/primock_data_final_outcomes.csv"))
    _, test = train_test_split(table, test_size=50, stratify=table["final_outcome"], random_state=42)
    found = values(section({"judge": test["clinician_a"]}, {"final": test["final_outcome"]}))

    assert found["always 0", "reward"] == pytest.approx(0.438)
    assert found["always 1", "reward"] == pytest.approx(0.448)
    assert found["always right", "reward"] == pytest.approx(1.314)
    assert found["judge", "f1_macro"] == pytest.approx(
        f1_score(test["final_outcome"], test["clinician_a"], average="macro")
    )


def test_the_answer_that_pays_without_looking_is_named() -> None:
    truth = np.repeat([0, 1, 2], [31, 5, 14])
    said = " ".join(section({"jury": truth}, {"ana": truth}).sentences)

    assert "The best constant answer is 'always 1'" in said


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_f1_of_each_class_is_scikit_learns(classes: int) -> None:
    rng = np.random.default_rng(classes)
    words = np.array([f"kind {n}" for n in range(classes)])
    truth, said = words[rng.integers(0, classes, 60)], words[rng.integers(0, classes, 60)]
    scale = Scale(level="nominal", anchors={word: word for word in words[::-1]})
    found = section({"jury": said}, {"ana": truth}, scale)

    table = found.tables["classes"].query("rater == 'jury'").set_index("class")["f1"]
    assert [table[word] for word in words] == pytest.approx(
        f1_score(truth, said, average=None, labels=list(words))
    )
    assert "reward" not in set(found.tables["scores"]["metric"])


def test_a_hung_verdict_is_a_miss_and_is_paid_as_an_abstention() -> None:
    truth = [0, 0, 2, 2]
    found = section({"jury": [0, 0, 2, None]}, {"ana": truth}, hung=("k3",))

    assert values(found)["jury", "reward"] == pytest.approx((1.2 + 1.2 + 1.5 - 2.0) / 4)
    assert values(found)["jury", "accuracy"] == pytest.approx(0.75)
    counts = found.tables["confusion"].query("rater == 'jury' and rater_value == 'no answer'")
    assert counts.set_index("people_value")["count"].to_dict() == {0: 0, 1: 0, 2: 1}


def test_a_case_the_arm_never_heard_is_left_out() -> None:
    found = section({"jury": [0, 0, 2, None]}, {"ana": [0, 0, 2, 2]})

    assert values(found)["jury", "accuracy"] == 1
    assert found.tables["scores"].query("rater == 'jury'")["n"].tolist() == [3, 3, 3, 3]


def test_people_are_held_against_each_other() -> None:
    found = values(section({"jury": [0, 1, 2]}, {"ana": [0, 1, 2], "ben": [0, 1, 0]}))

    assert found["ana", "accuracy"] == pytest.approx(2 / 3)
    assert found["ben", "reward"] == pytest.approx((1.2 + 1.5 - 1.2) / 3)


def test_what_an_arm_earns_is_told_beside_constants_and_people_and_as_more_or_less_than_without_looking() -> (
    None
):
    """Of 30 cases always 1 earns (0.3 + 1.5 + 0.4) / 3; of the others `luck` is right on 10, and 4 are hung."""
    truth = np.repeat([0.0, 1.0, 2.0], 10)
    luck = np.tile([0.0, 1.0, 2.0], 10)
    luck[:4] = np.nan
    arms = {"jury": luck, "good": truth, "bad": 2 - truth}
    told = section(arms, {"ana": truth, "ben": truth}, hung=("k0", "k1", "k2", "k3")).sentences

    assert len(told) == 7 and "accuracy 0.333" in told[0] and told[0].endswith("n = 30 cases; no answer on 4 of 30 cases.")  # fmt: skip
    assert told[2].startswith("impact: good has mean reward 1.40") and told[2].endswith("n = 30 cases.")
    assert told[3].startswith("impact: good earns 0.667 more (") and told[3].endswith("than always answering 'always 1'.")  # fmt: skip
    assert told[5].startswith("impact: bad earns 0.967 less (") and "significant" not in told[5]
    for words in ("always 0 earns 0.100", "always 1 earns 0.733", "always 2 earns 0.333", "always right earns 1.400. Each", "other people: ana 1.400, ben 1.400. The best constant answer is 'always 1'"):  # fmt: skip
        assert words in told[6], words
    near = section({"jury": [1, 1, 1, 1, 1, 2, 0, 1]}, {"ana": [1, 1, 1, 1, 1, 2, 1, 1]}).sentences
    assert "which is not statistically significant" in near[1]
    apart = section({"jury": [0, 1, np.nan], "late": [np.nan, np.nan, 2]}, {"ana": [0, 1, np.nan]}).sentences
    assert [words for words in apart if "no case in common" in words] == ["impact: late and people have no case in common."]  # fmt: skip


def test_rewards_of_arrays_take_the_nearest_class_and_pay_silence() -> None:
    table = RewardTable.of(IMPACT)
    assert table is not None

    paid = table.rewards([[0, 0.5, np.nan], [2, 1.6, 1]], [0, 2, np.nan])

    np.testing.assert_array_equal(paid, [[1.2, -1.2, np.nan], [-1.0, 1.5, np.nan]])
    assert table.rewards(np.nan, 2.0) == -2.0


def test_costs_are_seen_in_the_terminal_and_in_json(tmp_path: Path) -> None:
    cases = [{"id": f"k{n}", "output": "no pain", "reference": "pain"} for n in range(6)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    head = "case,rater,attribute,value\n"
    (tmp_path / "r.csv").write_text(head + "".join(f"k{n},ana,impact,{n % 3}\n" for n in range(6)))
    (tmp_path / "said.csv").write_text(
        head.replace("rater", "juror") + "".join(f"k{n},judge,impact,{n % 2}\n" for n in range(6))
    )
    (tmp_path / "j.yaml").write_text(
        "name: j\nprotocol: single\nseats: [{name: judge, model: recorded/said.csv#judge}]\n"
    )
    made = venire("run", "cases.jsonl", "--rubric", "asr-impact", "--jury", "j.yaml", "-o", "run", "--quiet", cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stderr
    told = venire("compare", "run", "--human", "r.csv", "--full", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "The best constant answer is" in " ".join(told.stdout.split())

    shown = json.loads(venire("compare", "run", "--human", "r.csv", "--json", cwd=tmp_path).stdout)
    scores = shown["sections"]["classes"]["tables"]["scores"]
    rewards = {row["rater"]: row["value"] for row in scores if row["metric"] == "reward"}
    assert rewards["always 0"] == pytest.approx((1.2 + 0.3 - 1.2) / 3)
    assert rewards["j"] == pytest.approx((1.2 + 1.5 - 1.2 + 0.3 + 0.3 + 0.4) / 6)


def test_a_verdict_that_one_arm_left_hung_is_no_silence_of_another_that_never_heard_the_case() -> None:
    found = section({"jury": [0, 1, np.nan], "other": [0, 1, np.nan]}, {"Ana": [0, 1, 2]}, hung=("k2",))
    scores = found.tables["scores"].set_index(["rater", "metric"])

    assert scores.loc[[("jury", "accuracy"), ("other", "accuracy")], "n"].tolist() == [3, 2]
    assert scores.loc[[("jury", "accuracy"), ("other", "accuracy")], "abstained"].tolist() == [1, 0]
    assert values(found)["other", "accuracy"] == 1.0 and values(found)["jury", "accuracy"] == pytest.approx(2 / 3)  # fmt: skip


def test_a_verdict_that_is_hung_on_another_question_is_no_silence_on_this_one() -> None:
    found = section({"jury": [0, 1, np.nan]}, {"Ana": [0, 1, 2]}, hung=("k2",), hung_on="clear")
    scores = found.tables["scores"].set_index(["rater", "metric"])

    assert scores.loc[("jury", "accuracy"), ["value", "n", "abstained"]].tolist() == [1.0, 2, 0]


def test_the_best_constant_is_that_of_every_case_that_people_rated() -> None:
    """The first arm answered two cases of no impact; of the eight others all are of the second kind."""
    late = [np.nan] * 2 + [1] * 8
    found = section({"jury": [0, 0] + [np.nan] * 8, "late": late}, {"Ana": [0, 0] + [1] * 8})

    assert "The best constant answer is 'always 1'" in found.sentences[-1]
    assert values(found)["jury", "over_constant"] == pytest.approx(1.2 - 0.3)
