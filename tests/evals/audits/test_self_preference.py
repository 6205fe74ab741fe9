"""Self-preference: the model is statsmodels' and lme4's, what is planted is found, and a good provider is no favourite."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, WIDE, evidence, shared_table, votes
from checkout import ROOT
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec
from statsmodels.stats.multitest import multipletests

from venire import VenireError
from venire.evals.audits.self_preference import (
    ALL,
    family,
    load_families,
    preference_section,
    self_preference,
)
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.statistics.mixed import mixed_model

MODELS = ("openai/gpt-4o", "anthropic/claude-opus-4", "google/gemini-2.5-pro")
SYSTEMS = ("gpt-4o", "Claude 4.1 Opus", "gemini-2.5-flash", "llama-3.3", "mistral-large")
QUALITY = np.array([1.0, 0.5, 0.0, -0.5, -1.0])


def world(effect: float, *, seed: int, n: int = 120, asked: Question = WIDE) -> Evidence:
    rng = np.random.default_rng(seed)
    system = rng.integers(0, 5, n)
    quality = QUALITY[system] + rng.normal(0, 0.8, n)
    same = system[:, None] == np.arange(3)
    scores = quality[:, None] + rng.normal(0, 0.4, 3) + effect * same + rng.normal(0, 0.5, (n, 3))
    scores = scores if asked.better == "high" else sum(map(float, asked.scale.ends)) - scores
    cast = [votes("jury", f"seat {j}", scores[:, j], model=MODELS[j]) for j in range(3)]
    return evidence({"safe": asked}, ballots=cast, systems=[SYSTEMS[s] for s in system])


def effect(found: Evidence, juror: str = ALL) -> pd.Series:
    return self_preference(found).effects.set_index("juror").loc[juror]


@pytest.mark.parametrize("crossed", [True, False])
def test_the_model_equals_statsmodels(crossed: bool) -> None:
    rng = np.random.default_rng(4)
    rows = pd.DataFrame([(c, j) for c in range(30) for j in "abcd"], columns=["case", "juror"])
    rows = rows[rng.random(len(rows)) > 0.2].reset_index(drop=True)
    rows["x"] = rng.normal(0, 1, len(rows))
    noise = rng.normal(0, 0.7, 30)[rows["case"]] + rows["juror"].map(dict(zip("abcd", (0.4, -0.5, 0.1, 0.6))))  # noqa: B905
    y = (0.3 * rows["x"] + noise + rng.normal(0, 0.5, len(rows))).to_numpy(float)
    fixed = pd.DataFrame({"intercept": 1.0, "x": rows["x"]})
    ours = mixed_model(y, fixed, by=rows["case"], also=[rows["juror"]] if crossed else [])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if crossed:
            factors = [pd.get_dummies(rows[name].astype(str), dtype=float) for name in ("case", "juror")]
            parts = VCSpec(
                ["case", "juror"], [[list(each)] for each in factors], [[each.to_numpy()] for each in factors]
            )
            theirs = MixedLM(y, fixed.to_numpy(), groups=np.zeros(len(y)), exog_vc=parts).fit(
                method=["lbfgs", "powell"]
            )
            variances = theirs.vcomp
        else:
            theirs = MixedLM(y, fixed.to_numpy(), groups=rows["case"]).fit()
            variances = [theirs.cov_re[0, 0]]
    assert [each.value for each in ours.effects.values()] == pytest.approx(
        theirs.fe_params.tolist(), abs=1e-5
    )
    assert [each.se for each in ours.effects.values()] == pytest.approx(theirs.bse_fe.tolist(), rel=0.02)
    assert list(ours.spread.values()) == pytest.approx(
        [*np.sqrt(variances), math.sqrt(theirs.scale)], rel=1e-3
    )
    assert ours.criterion == pytest.approx(-2 * theirs.llf, abs=1e-5)


def test_sleepstudys_published_estimates() -> None:
    """Reaction on days, with intercept and slope by subject: the figures that lme4 prints."""
    sleep = shared_table("classic_fixtures/lme4_sleepstudy.csv")
    published = json.loads((ROOT.parent / "shared/data/classic_fixtures/fixtures.json").read_text())
    wanted = published["lme4_sleepstudy"]["published"]
    design = pd.DataFrame({"intercept": 1.0, "days": sleep["Days"].astype(float)})
    found = mixed_model(sleep["Reaction"].to_numpy(float), design, by=sleep["Subject"], within=design)

    got = [found.effects["intercept"].value, found.effects["days"].value, found.criterion]
    assert got == pytest.approx([wanted["intercept"], wanted["Days"], wanted["REML_criterion"]], abs=6e-4)
    assert [each.se for each in found.effects.values()] == pytest.approx(
        [wanted["se"], wanted["se_Days"]], abs=6e-4
    )
    spread = [wanted["sd_intercept"], wanted["sd_slope"], wanted["sd_resid"]]
    assert list(found.spread.values()) == pytest.approx(spread, abs=1.1e-3)


@pytest.mark.parametrize(
    ("name", "of"),
    [("openai/llama-3.3", "meta"), ("openrouter/anthropic/claude-3", "anthropic"), ("vertex_ai/claude-3", "anthropic"), ("server/my-model", ""), ("openai/my-model", "openai"), ("Claude 4.1 Opus", "anthropic"), ("ward-7", "people"), ("mine/gpt-4", "house")],
)  # fmt: skip
def test_the_last_part_of_a_name_tells_first_and_ones_own_names_before_all(name: str, of: str) -> None:
    assert family(name, {"ward-*": "people", "MINE/*": "house"}) == of


def test_a_juror_is_a_model_whose_seats_and_repeats_are_averaged() -> None:
    """Two systems, two models, the first with two seats of 1 and 3: means by hand, and how far each lies above what is expected."""
    first = [votes("jury", seat, scores, model="openai/gpt-4o") for seat, scores in (("a", [1.0, 2.0, 4.0]), ("b", [3.0, 4.0, 4.0]))]  # fmt: skip
    other = votes("jury", "c", [1.0, 1.0, 2.0], model="anthropic/claude-opus-4")
    world = evidence({"safe": WIDE}, ballots=[*first, other], systems=["gpt-4o", "gpt-4o", "claude-3"])
    found = self_preference(world)
    pairs = found.pairs.set_index(["juror", "system"])

    assert pairs["mean"].to_dict() == {("openai/gpt-4o", "gpt-4o"): 2.5, ("openai/gpt-4o", "claude-3"): 4.0, ("anthropic/claude-opus-4", "gpt-4o"): 1.0, ("anthropic/claude-opus-4", "claude-3"): 2.0}  # fmt: skip
    assert pairs["n"].to_dict() == {key: 2 if key[1] == "gpt-4o" else 1 for key in pairs.index}
    assert pairs["same"].to_dict() == {key: key[0].split("/")[1][:3] == key[1][:3] for key in pairs.index}
    # Rows and columns of 2.5, 4 / 1, 2 leave a quarter of 2.5 - 4 - 1 + 2.
    assert pairs.loc[("openai/gpt-4o", "gpt-4o"), "above"] == pytest.approx(-0.125)
    assert pairs.loc[("openai/gpt-4o", "claude-3"), "above"] == pytest.approx(0.125)
    told = found.providers.set_index(["name", "role"])
    assert told.loc[("gpt-4o", "system"), "cases"] == 2 and told.loc[("openai/gpt-4o", "juror"), "cases"] == 3
    assert told["family"].to_dict()[("claude-3", "system")] == "anthropic"


def test_what_is_planted_is_found_at_the_nominal_rate() -> None:
    """Five worlds each with 0.3 and with none; in the docs, five hundred of each."""
    for planted, most_missed in ((0.3, 1), (0.0, 1)):
        rows = [effect(world(planted, seed=seed)) for seed in range(5)]
        missed = sum(not row["low"] <= planted <= row["high"] for row in rows)
        assert missed <= most_missed
        assert np.mean([row["value"] for row in rows]) == pytest.approx(planted, abs=0.09)


def test_a_provider_whose_outputs_are_better_is_not_favoured() -> None:
    """Only the jurors' own families are good here, so the case must carry the quality, not the juror."""
    rng = np.random.default_rng(9)
    n = 300
    system = rng.integers(0, 5, n)
    quality = np.where(system < 3, 2.0, -2.0) + rng.normal(0, 0.3, n)
    scores = quality[:, None] + rng.normal(0, 0.5, (n, 3))
    cast = [votes("jury", f"seat {j}", scores[:, j], model=MODELS[j]) for j in range(3)]
    found = effect(evidence({"safe": WIDE}, ballots=cast, systems=[SYSTEMS[s] for s in system]))

    assert abs(found["value"]) < 3 * found["se"] and found["se"] < 0.1


def test_each_juror_has_an_effect_of_its_own_and_a_risk_is_turned() -> None:
    rng = np.random.default_rng(2)
    n = 300
    system = rng.integers(0, 5, n)
    scores = rng.normal(0, 0.8, (n, 1)) + rng.normal(0, 0.5, (n, 3))
    scores[:, 0] += 0.6 * (system == 0)
    cast = [votes("jury", f"seat {j}", scores[:, j], model=MODELS[j]) for j in range(3)]
    found = self_preference(evidence({"safe": WIDE}, ballots=cast, systems=[SYSTEMS[s] for s in system]))
    table = found.effects.set_index("juror")
    assert table.loc[MODELS[0], "low"] > 0.3 and table.loc[MODELS[0], "p_holm"] < 0.01
    assert abs(table.loc[MODELS[1], "value"]) < 0.3

    turned = effect(world(0.5, seed=1, asked=Question(WIDE.scale, "low")))
    assert turned["low"] > 0.2


def test_all_jurors_together_are_tested_apart_from_the_jurors_one_by_one() -> None:
    """Each model has the jurors of an attribute as a family of tests, and all jurors together as another."""
    rng = np.random.default_rng(4)
    system = np.arange(40) % 5
    cast = [
        votes("jury", f"seat {j}", rng.normal(0.3 * (system == j), 0.7), model=MODELS[j]) for j in range(3)
    ]
    found = self_preference(evidence({"safe": WIDE}, ballots=cast, systems=[SYSTEMS[s] for s in system]))
    tables = (found.effects, *(rows for _, rows in found.fixed.groupby("model")))

    assert [len(rows) for rows in tables] == [4, 4, 4]
    for rows in tables:
        everyone, each = rows[rows["juror"] == ALL], rows[rows["juror"] != ALL]
        assert everyone["p_holm"].tolist() == everyone["p"].tolist()
        assert each["p_holm"].tolist() == pytest.approx(multipletests(each["p"], method="holm")[1])


def liking(seed: int, planted: float = 0.0) -> Evidence:
    """Each juror takes to each system by chance (SD 0.2), and each own provider gets what is planted."""
    rng = np.random.default_rng(seed)
    system = np.arange(300) % 5
    liked = rng.normal(0, 0.2, (5, 3))
    liked[np.arange(3), np.arange(3)] += planted
    scores = rng.normal(0, 0.8, (300, 1)) + liked[system] + rng.normal(0, 0.5, (300, 3))
    cast = [votes("jury", f"seat {j}", scores[:, j], model=MODELS[j]) for j in range(3)]
    return evidence({"safe": WIDE}, ballots=cast, systems=[SYSTEMS[s] for s in system])


def test_one_jurors_liking_for_one_system_is_not_taken_for_favour() -> None:
    """Without the term for juror on system, such a liking would be called favour far too often."""
    claims = sum(effect(liking(seed))["p"] < 0.05 for seed in range(4))

    assert claims <= 1
    assert effect(liking(1, planted=1.0))["low"] > 0


def test_the_mean_of_each_juror_on_each_system_is_shown() -> None:
    found = liking(1, planted=1.0)
    pairs = self_preference(found).pairs.set_index(["juror", "system"])
    scores = found.ballots.merge(found.cases[["case", "system"]], on="case")
    means = scores.groupby(["model", "system"])["value"].mean()

    assert len(pairs) == 15 and pairs["same"].sum() == 3
    assert pairs.loc[(MODELS[0], SYSTEMS[3]), "mean"] == pytest.approx(means[MODELS[0], SYSTEMS[3]])
    table = pairs["above"].unstack()
    assert np.abs(table.sum(axis=0)).max() < 1e-9 and np.abs(table.sum(axis=1)).max() < 1e-9
    assert pairs.loc[pairs["same"], "above"].mean() > 0.3
    assert "pairs" in preference_section(found).tables


def test_with_few_systems_it_cannot_be_told() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal([1.0, 0.0], 1, (60, 2))
    cast = [votes("jury", f"seat {j}", scores[:, j], model=MODELS[j]) for j in range(2)]
    section = preference_section(evidence({"safe": WIDE}, ballots=cast, systems=list(SYSTEMS[:3]) * 20))

    assert section.sentences[0] == (
        "Self-preference on safe cannot be tested: 2 jurors and 3 systems are too few to separate preference for a provider from one juror's "
        "preference for one system; more systems are needed."
    )
    assert all(
        each.startswith(("By the mixed model of Rouillard", "By the model of differences"))
        for each in section.sentences[1:]
    )


def test_a_model_that_sits_thrice_is_one_juror() -> None:
    single = world(0.3, seed=3, n=40)
    thrice = pd.concat([single.ballots.assign(seat=f"{n}") for n in range(3)])
    again = evidence({"safe": WIDE}, ballots=[thrice], systems=list(single.cases["system"]))

    assert effect(again)["se"] == pytest.approx(effect(single)["se"])
    assert effect(again)["n"] == 120


def test_a_recorded_juror_is_named_without_the_path_of_its_file() -> None:
    seen = world(0.3, seed=3, n=40)
    model = seen.ballots["model"].str.rpartition("/")[2]

    kept = replace(seen, ballots=seen.ballots.assign(model="recorded//home/claude/judges.csv#" + model))

    found = self_preference(kept)
    assert found.effects.set_index("juror").loc[ALL, "value"] == pytest.approx(effect(seen)["value"])
    assert set(found.pairs["juror"]) == {"gpt-4o", "claude-opus-4", "gemini-2.5-pro"}


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai/gpt-4o", "openai"), ("o3-mini", "openai"), ("gpt-5", "openai"), ("server/llama-3.3-70b", "meta"),
        ("openrouter/anthropic/claude-3.5-sonnet", "anthropic"), ("Claude 4.1 Opus", "anthropic"), ("GPT-4o Mini", "openai"),
        ("vertex_ai/gemini-2.5-pro", "google"), ("Gemini 3 Pro (Preview)", "google"), ("medgemma-27b", "google"),
        ("mistral/mixtral-8x7b", "mistral"), ("Qwen2.5-72B", "alibaba"), ("Grok 4 (Fast Reasoning)", "xai"),
        ("deepseek/deepseek-r1", "deepseek"), ("bedrock/us.anthropic.claude", ""), ("lens/single", ""), ("alder", ""), ("", ""),
    ],
)  # fmt: skip
def test_families_from_names(name: str, provider: str) -> None:
    assert family(name) == provider


def test_families_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "families.yaml"
    file.write_text("house-*: openai\nalder: anthropic\nGPT-4o: elsewhere\n")
    own = load_families(file)

    assert [family(name, own) for name in ("house-7b", "Alder", "openai/gpt-4o", "gpt-5")] == [
        "openai", "anthropic", "elsewhere", "openai",
    ]  # fmt: skip
    for text in ("- a\n- b\n", "a: [1]\n", "a: {"):
        file.write_text(text)
        with pytest.raises(VenireError):
            load_families(file)


def one_vote_each(models: tuple[str, ...], systems: list[str | None]) -> Evidence:
    cast = [votes("jury", name, np.arange(len(systems)) % 5 + 1.0, model=name) for name in models]
    return evidence({"safe": LIKERT}, ballots=cast, systems=systems)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (one_vote_each(MODELS, [None] * 6), "no case names the system"),
        (one_vote_each(MODELS, ["alder"] * 6), "no juror shares a provider"),
        (one_vote_each(("lens/a", "lens/b"), ["gpt-4o"] * 6), "can be recognised from its model's name"),
        (
            one_vote_each(MODELS[:1], ["gpt-4o", "llama-3"] * 3),
            "no case was judged both by a juror of its own",
        ),
        (evidence({"safe": LIKERT}), "no case names the system"),
    ],
)
def test_designs_that_tell_nothing_say_why(found: Evidence, why: str) -> None:
    section = preference_section(found)

    assert len(section.sentences) == 1 and why in section.sentences[0]


def test_too_little_to_fit_is_nan_with_a_note() -> None:
    found = effect(one_vote_each(MODELS[:2], ["gpt-4o"]))
    assert math.isnan(found["value"]) and found["note"]
    flat = [votes("jury", name, np.full(6, 3.0), model=name) for name in MODELS]
    constant = effect(evidence({"safe": LIKERT}, ballots=flat, systems=[*SYSTEMS, "phi-4"]))
    assert math.isnan(constant["value"]) and "no residual variance" in constant["note"]


def test_the_section_says_what_it_means() -> None:
    told = preference_section(world(0.8, seed=5))
    assert told.sentences[0].startswith("Jurors favour their own provider's outputs on safe: +0.")
    none = preference_section(world(0.0, seed=5))
    assert none.sentences[0].startswith("No self-preference is shown on safe")
    two = world(0.0, seed=6)
    second = two.ballots.assign(attribute="clear")
    both = evidence(
        {"safe": WIDE, "clear": WIDE}, ballots=[two.ballots, second], systems=list(two.cases["system"])
    )
    assert self_preference(both).effects["attribute"].tolist()[0] == OVERALL
    assert any(
        words.startswith("Self-preference is not statistically significant on any single attribute")
        for words in preference_section(both).sentences
    )
