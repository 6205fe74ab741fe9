"""Charts that several reports draw: what a shade, a bar and a dash stand for."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pandas as pd
import pytest

from venire.evals.report.charts import (
    GAP_TALL,
    GAP_WIDTH,
    confusion_figure,
    forest_figure,
    gaps_figure,
    heatmap_figure,
    score_heatmap,
)
from venire.evals.report.drawing import COLOURS, Figure
from venire.evals.report.html import svg
from venire.evals.statistics.estimate import Estimate, undefined

LIGHTEST, SPAN = 0.06, 0.7
"""How dark a cell of share 0 is, and by how much one of share 1 is darker."""


def cells(figure: Figure) -> list[tuple[str, str, float]]:
    """The words, the colour and the share of each cell: column by column, or as the figure's rows are given."""
    found = []
    for group in ElementTree.fromstring(svg(figure)).findall(".//{*}g"):
        for shape, words in zip(list(group), list(group)[1:], strict=False):
            if shape.tag.endswith("rect"):
                share = (float(shape.attrib["fill-opacity"]) - LIGHTEST) / SPAN
                found.append(("".join(words.itertext()), shape.attrib["fill"], pytest.approx(share, abs=0.002)))  # fmt: skip
    return found


def test_a_cell_of_a_confusion_is_as_dark_as_its_share_of_peoples_value() -> None:
    """People said 1 eight times and 2 five times; of the arm's values, the highest stands at the top."""
    counts = {(1, 1): 6, (2, 1): 2, (1, 2): 1, (2, 2): 4}
    table = pd.DataFrame(
        [("jury", arm, people, count) for (arm, people), count in counts.items()],
        columns=["arm", "arm_value", "people_value", "count"],
    )
    one = COLOURS[0]

    assert cells(confusion_figure(table)) == [("2", one, 2 / 8), ("6", one, 6 / 8), ("4", one, 4 / 5), ("1", one, 1 / 5)]  # fmt: skip
    assert cells(confusion_figure(table[::-1])) == cells(confusion_figure(table)), (
        "numbers stand in their order"
    )
    unseen = cells(confusion_figure(table.assign(count=[6, 2, 0, 0])))
    assert unseen[2:] == [("0", one, 0), ("0", one, 0)], "a value that people never gave has no share"


def test_disagreement_has_another_colour_than_agreement_and_what_is_unknown_has_a_dash() -> None:
    kappas = pd.DataFrame([("a", "b", -0.5), ("a", "c", 0.25), ("b", "c", math.nan)], columns=["first", "second", "kappa_quadratic"])  # fmt: skip
    scores = pd.DataFrame({"notes": [0.25, math.nan], "plans": [1.0, -0.1]}, index=["x", "y"])

    assert cells(heatmap_figure(kappas)) == [("-0.50", COLOURS[1], 0.5), ("0.25", COLOURS[0], 0.25), ("-", COLOURS[0], 0)]  # fmt: skip
    assert [(words, share) for words, _, share in cells(score_heatmap(scores, title="Scores"))] == [
        ("0.25", 0.25), ("1.00", 1), ("-", 0), ("-0.10", 0),
    ]  # fmt: skip


def test_bars_of_all_arms_have_one_scale_and_stand_at_their_differences() -> None:
    table = pd.DataFrame(
        [("low", "accurate", -1.0, 1, 0.25), ("low", "accurate", 0.0, 3, 0.75), ("high", "accurate", 2.0, 4, 0.5)],
        columns=["arm", "attribute", "difference", "count", "share"],
    )  # fmt: skip
    bars = [each.attrib for each in ElementTree.fromstring(svg(gaps_figure(table))).findall(".//{*}rect")]
    heights = [float(bar["height"]) for bar in bars]
    middles = [float(bar["x"]) + float(bar["width"]) / 2 for bar in bars]

    assert [height / heights[1] for height in heights] == pytest.approx(
        [0.25 / 0.75, 1, 0.5 / 0.75], abs=0.02
    )
    assert len({float(bar["y"]) + float(bar["height"]) for bar in bars}) == 1, "on one line"
    # Zero is in the middle of a plot, and one point is a fifth of it: from -2.5 to 2.5.
    assert (middles[0] - middles[1]) * -2 == pytest.approx(middles[2] - middles[1], abs=0.2)
    assert middles[0] < middles[1] < middles[2]


@pytest.mark.parametrize(("highest", "low", "high"), [(1.0, -0.5, 1.0), (None, -0.5, 1.5)])
def test_a_forest_has_a_point_for_each_value_on_one_axis_and_names_who_has_none(highest: float | None, low: float, high: float) -> None:  # fmt: skip
    """The axis reaches to the quarter beyond the lowest end, -0.3, and where there is no highest, beyond the highest, 1.3."""
    found = {
        "a": {"x": Estimate(0.25, 0.125, 0.5, 9, "m"), "y": Estimate(0.75, math.nan, math.nan, 9, "m")},
        "b": {"x": undefined("few", method="m"), "y": Estimate(-0.2, -0.3, 1.3, 9, "m")},
    }
    drawn = ElementTree.fromstring(svg(forest_figure(found, "T", highest=highest)))
    points = [float(circle.attrib["cx"]) for circle in drawn.findall(".//{*}circle")]
    words = ["".join(each.itertext()) for each in drawn.findall(".//{*}text")]

    assert points == pytest.approx([520 * (value - low) / (high - low) for value in (0.25, 0.75, -0.2)], abs=0.1)  # fmt: skip
    assert [each for each in words if "." in each and (" " in each or each == "0.75")] == ["0.25 [0.12, 0.50]", "0.75", "-0.20 [-0.30, 1.30]"]  # fmt: skip
    assert words.count("undefined") == 1 and words.count("a") == words.count("b") == 2


def test_many_differences_are_a_density_as_tall_as_its_row_whose_peak_is_where_most_are() -> None:
    gaps = [n / 10 for n in range(-10, 11)]
    table = pd.DataFrame({"arm": "jury", "attribute": "safe", "difference": gaps, "count": [1] * 17 + [30] * 4})  # fmt: skip
    drawn = ElementTree.fromstring(svg(gaps_figure(table.assign(share=table["count"] / 137))))
    (shape,) = drawn.findall(".//{*}polygon")
    points = [tuple(map(float, pair.split(","))) for pair in shape.attrib["points"].split()]
    upper, lower = points[:80], points[:79:-1]

    assert max(y for _, y in points) - min(y for _, y in points) == pytest.approx(GAP_TALL, abs=0.2)
    assert len({round(a[1] + b[1]) for a, b in zip(upper, lower, strict=True)}) == 1, "mirrored"
    # From -1.5 to 1.5; most of the cases lie from 0.7 to 1.
    peak = min(upper, key=lambda point: point[1])[0]
    assert 0.6 < -1.5 + 3 * peak / GAP_WIDTH < 1.1
