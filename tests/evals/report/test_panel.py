"""The drawing kit: marks stand where their data say, pictures know their size, figures hand over their blocks."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from venire.evals.report.drawing import COLOURS, Figure, Picture, below, beside, circle, legend, text
from venire.evals.report.html import svg, svg_blocks
from venire.evals.report.panel import Panel, level, name_axis, number_axis, round_numbers


def dots(figure: Figure) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(svg(figure))
    return [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in root.findall(".//{*}circle")]


def test_numbers_go_up_names_go_down_and_nothing_leaves_the_plot() -> None:
    panel = Panel(number_axis(0, 10), number_axis(0, 1), 100, 50)
    assert panel.at(0, 0) == (0, 50) and panel.at(10, 1) == (100, 0)
    assert panel.at(99, -3) == (100, 50)

    rows = Panel(number_axis(1, 100, log=True), name_axis(["first", "second"]), 100, 40)
    assert rows.at(10, 0) == (pytest.approx(50), 10) and rows.at(10, 1)[1] == 30


@pytest.mark.parametrize(
    ("low", "high", "about", "found"),
    [
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.3, 0.3, 6, [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        (3, 97, 4, [50]),
    ],
)
def test_ticks_are_round(low: float, high: float, about: int, found: list[float]) -> None:
    assert round_numbers(low, high, about) == pytest.approx(found)


def test_the_numbers_of_an_axis_have_the_same_decimals() -> None:
    assert [tick.words for tick in number_axis(0, 1).ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [tick.words for tick in number_axis(0.01, 20, log=True).ticks] == ["0.01", "0.1", "1", "10"]


def test_an_unknown_interval_leaves_its_point() -> None:
    panel = Panel(number_axis(0, 1), name_axis(["a", "b"]), 100, 40)
    panel.whisker_across(0, 0.5, 0.4, 0.6, COLOURS[0])
    known = svg(Figure("", [panel.picture()])).count("<polyline")
    panel.whisker_across(1, 0.5, math.nan, math.nan, COLOURS[0])
    drawn = Figure("", [panel.picture()])

    assert len(dots(drawn)) == 2 and svg(drawn).count("<polyline") == known
    assert "nan" not in svg(drawn)


def test_a_picture_has_room_for_the_words_beside_its_plot() -> None:
    short, long = (
        Panel(number_axis(0, 1), name_axis([name]), 100, 20) for name in ("a", "a much longer name")
    )
    long.note(0, "what it came to")

    assert long.picture().width > short.picture().width + 100
    assert len({picture.width for picture in level([short, long])}) == 1


def test_pictures_side_by_side_and_one_below_the_other() -> None:
    one, two = Picture(30, 10, [circle(1, 1, 1, "red")]), Picture(20, 40, [circle(1, 1, 1, "red")])

    assert beside([one, two], gap=5)[:2] == (55, 40)
    assert below([one, two], gap=5)[:2] == (30, 55)


def test_a_long_legend_goes_on_in_the_next_line() -> None:
    few, many = legend(["jury", "judge"]), legend([f"attribute number {n}" for n in range(20)], lines=True)

    assert few.height < many.height and many.width < 1000


def test_a_figure_is_one_drawing_or_a_drawing_for_each_block() -> None:
    blocks = [Picture(100, 30, [text(0, 10, "<b> & \u202e")]), Picture(60, 20, [])]
    figure = Figure("Two <blocks>", blocks, "told")
    whole = ElementTree.fromstring(svg(figure))
    apart = [ElementTree.fromstring(each) for each in svg_blocks(figure)]

    assert [each.attrib["height"] for each in (whole, *apart)] == ["50", "30", "20"]
    assert {each.attrib["width"] for each in (whole, *apart)} == {"100"}
    assert [each.attrib["y"] for each in whole.findall("{*}svg")] == ["0", "30"]
    assert "".join(apart[0].itertext()) == "Two <blocks><b> & \ufffd"
    assert svg(Figure("", blocks[:1]), {"class": "plot"}).count("<svg") == 1
