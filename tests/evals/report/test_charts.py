"""Charts that several reports draw: what a shade, a bar and a dash stand for."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pandas as pd
import pytest

from venire.evals.report.charts import confusion_figure, gaps_figure, heatmap_figure, score_heatmap
from venire.evals.report.drawing import COLOURS, Figure
from venire.evals.report.html import svg

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
