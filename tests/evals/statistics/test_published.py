"""Numbers that somebody else printed."""

import json

import pandas as pd
import pytest
from rating_tables import (
    KRIPPENDORFF,
    SHROUT_FLEISS,
    by_rater,
    from_counts,
    long_table,
    two_by_two,
)
from shared_data import shared_file

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.chance import cohen_kappa, fleiss_kappa, gwet_ac
from venire.evals.statistics.classical_tests import wilcoxon_signed_rank
from venire.evals.statistics.correlation import pearson
from venire.evals.statistics.icc import icc
from venire.evals.statistics.jackknife import Jackknife


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("icc1", 0.17, -0.13, 0.72),
        ("icc2", 0.29, 0.02, 0.76),
        ("icc3", 0.71, 0.34, 0.95),
        ("icc1k", 0.44, -0.88, 0.91),
        ("icc2k", 0.62, 0.07, 0.93),
        ("icc3k", 0.91, 0.68, 0.99),
    ],
)
def test_shrout_and_fleiss_1979(form, value, low, high):
    found = icc(long_table(SHROUT_FLEISS), form=form, interval="f")

    assert [round(x, 2) for x in (found.value, found.low, found.high)] == [value, low, high]


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_2011(level, value):
    assert round(krippendorff_alpha(by_rater(KRIPPENDORFF), level=level).value, 3) == value


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.691), ("interval", 0.811)])
def test_krippendorff_three_by_fifteen(level, value):
    gap = None
    raters = [
        [gap, gap, gap, gap, gap, 3, 4, 1, 2, 1, 1, 3, 3, gap, 3],
        [1, gap, 2, 1, 3, 3, 4, 3, gap, gap, gap, gap, gap, gap, gap],
        [gap, gap, 2, 1, 3, 4, 4, gap, 2, 1, 1, 3, 3, gap, 4],
    ]
    assert round(krippendorff_alpha(by_rater(raters), level=level).value, 3) == value


@pytest.mark.parametrize(
    ("weighting", "value"),
    [("identity", 0.77544), ("ordinal", 0.89894), ("linear", 0.85874), ("quadratic", 0.91400)],
)
def test_gwet_on_krippendorffs_data(weighting, value):
    assert gwet_ac(by_rater(KRIPPENDORFF), weighting=weighting).value == pytest.approx(value, abs=5e-6)


def test_fleiss_and_gwet_on_the_same_data():
    assert gwet_ac(by_rater(KRIPPENDORFF)).value == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(by_rater(KRIPPENDORFF)).value == pytest.approx(0.76117, abs=5e-6)


FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FLEISS_FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_1971():
    counts = [[int(digit) for digit in row] for row in FLEISS_1971.split()]

    assert round(fleiss_kappa(from_counts(counts)).value, 3) == 0.430


def test_fleiss_ten_subjects_fourteen_raters():
    assert round(fleiss_kappa(from_counts(FLEISS_FOURTEEN)).value, 3) == 0.210


@pytest.mark.parametrize(
    ("cells", "kappa", "ac1"),
    [
        ((20, 5, 10, 15), 0.4, None),
        ((40, 9, 6, 45), 0.6995, 0.7007),
        ((80, 10, 5, 5), 0.3182, 0.8080),
        ((118, 5, 2, 0), -0.0234, 0.9408),
    ],
)
def test_the_kappa_paradox(cells, kappa, ac1):
    table = two_by_two(*cells)

    assert cohen_kappa(table).value == pytest.approx(kappa, abs=5e-5)
    if ac1 is not None:
        assert gwet_ac(table).value == pytest.approx(ac1, abs=5e-5)


LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]


def test_efron_and_tibshirani_law_school():
    found = pearson(long_table(zip(LSAT, GPA, strict=True)), jackknife=Jackknife(confidence=0.90))

    assert round(found.value, 3) == 0.776
    # Their BCa interval is 0.43 to 0.92: one school carries much of it, which leaves few degrees of freedom here.
    assert found.low < 0.43 and found.high > 0.92


def test_hollander_and_wolfe_depression_scores():
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = wilcoxon_signed_rank(long_table(zip(before, after, strict=True)), raters=("r0", "r1"))

    assert found.statistic == 45 - 40
    assert found.p / 2 == pytest.approx(0.01953, abs=5e-6)


def test_irr_anxiety():
    wide = pd.read_csv(shared_file("classic_fixtures/irr_anxiety.csv"))
    published = json.loads(shared_file("classic_fixtures/fixtures.json").read_text())["irr_R_package"][
        "anxiety_20x3"
    ]
    table = long_table(wide.to_numpy().tolist())
    single = icc(table, form="icc2", interval="f")

    assert round(single.value, 3) == published["ICC(2,1) agreement"]
    assert [round(single.low, 2), round(single.high, 2)] == published["CI95"]
    assert icc(table, form="icc3").value == pytest.approx(published["ICC(3,1) consistency"], abs=5e-7)
    assert icc(table, form="icc3k").value == pytest.approx(published["ICC(3,k)"], abs=5e-7)
    weighted = cohen_kappa(table, weighting="quadratic", raters=("r0", "r1"))
    assert weighted.value == pytest.approx(published["kappa2 rater1-2 quadratic"], abs=5e-5)


def test_irr_diagnoses():
    table = long_table(pd.read_csv(shared_file("classic_fixtures/irr_diagnoses.csv")).to_numpy().tolist())

    assert round(fleiss_kappa(table).value, 2) == 0.43
    assert round(cohen_kappa(table, raters=("r1", "r2")).value, 3) == 0.631


def test_irr_vision():
    counts = pd.read_csv(shared_file("classic_fixtures/irr_vision_table.csv"), index_col=0).to_numpy()
    pairs = [(i, j) for i, row in enumerate(counts) for j, times in enumerate(row) for _ in range(times)]
    table = long_table(pairs)

    assert cohen_kappa(table).value == pytest.approx(0.5954, abs=5e-5)
    weighted = cohen_kappa(table, weighting="quadratic")
    assert weighted.value == pytest.approx(0.7023, abs=5e-5)
