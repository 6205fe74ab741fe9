"""`venire agreement` from outside: the shape of its JSON, its page, its mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from command_line import venire

from venire.evals.agreement.coefficients import registered_coefficients

RATINGS = """case,rater,attribute,value
a,Ana,accurate,1
a,Ben,accurate,2
a,Chidi,accurate,5
b,Ana,accurate,3
b,Ben,accurate,3
b,Chidi,accurate,1
c,Ana,accurate,5
c,Ben,accurate,4
c,Chidi,accurate,2
d,Ana,accurate,4
d,Ben,accurate,4
d,Chidi,accurate,3
a,Ana,flag,0
a,Ben,flag,0
b,Ana,flag,0
b,Ben,flag,0
"""


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS)
    return path


def test_json_has_every_coefficient_and_a_reason_for_every_null(ratings: Path) -> None:
    ended = venire("agreement", ratings, "--json", "--resamples", 50, cwd=ratings.parent)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)

    for estimates in (*found["attributes"].values(), found["overall"]):
        assert list(estimates) == list(registered_coefficients())
        for each in estimates.values():
            assert set(each) == {"value", "low", "high", "n", "method", "note", "few"}
            assert each["value"] is not None or each["note"]
    assert found["attributes"]["flag"]["percent"]["value"] == 1
    assert found["attributes"]["flag"]["kappa"]["value"] is None


def test_the_page_and_the_table_name_bands_and_raters(ratings: Path, tmp_path: Path) -> None:
    more = [
        f"more-{number},{rater},accurate,{1 + (number + extra) % 5}\n"
        for number in range(20)
        for extra, rater in enumerate(("Ana", "Ben", "Chidi"))
    ]
    ratings.write_text(RATINGS + "".join(more))
    ended = venire("agreement", ratings, "-o", tmp_path / "page.html", "--resamples", 50, cwd=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")

    assert ended.returncode == 0, ended.stderr
    for text in (ended.stdout, page):
        assert "Koo and Li" in text and "Chidi" in text and "overall" in text
    assert "<script" not in page and "src=" not in page
    every = venire("agreement", ratings, "--all", "--resamples", 50, cwd=tmp_path).stdout
    assert len(every.splitlines()) > len(ended.stdout.splitlines())
    assert "alpha_ratio" in every and "alpha_ratio" not in ended.stdout


def test_wide_files_are_read_and_mistakes_are_two_lines(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("case,rater,accurate\na,Ana,1\na,Ben,2\nb,Ana,3\nb,Ben,3\n")
    good = venire("agreement", "wide.csv", "--json", "--resamples", 20, cwd=tmp_path)
    (tmp_path / "bad.csv").write_text("case,colour,accurate\na,red,1\n")
    bad = venire("agreement", "bad.csv", cwd=tmp_path)

    assert list(json.loads(good.stdout)["attributes"]) == ["accurate"]
    assert bad.returncode == 2 and len(bad.stderr.splitlines()) == 2


def test_decimal_commas_agree_as_points_do(ratings: Path) -> None:
    (ratings.parent / "points.csv").write_text(RATINGS.replace(",5\n", ",4.5\n"))
    ratings.write_text(RATINGS.replace(",5\n", ",4.5\n").replace(",", ";").replace("4.5", "4,5"))
    points, commas = (
        json.loads(venire("agreement", name, "--json", "--resamples", 20, cwd=ratings.parent).stdout)
        for name in ("points.csv", ratings.name)
    )

    assert points["attributes"]["accurate"]["icc2"]["value"] is not None
    assert commas == points


def test_labelled_numbers_are_said_to_be_words(ratings: Path) -> None:
    ratings.write_text(
        RATINGS.replace("accurate,5", "accurate,5 - best").replace("accurate,4", "accurate,4 - good")
    )
    few = venire("agreement", ratings, "--resamples", 20, cwd=ratings.parent)
    ratings.write_text(
        "".join(f"{line} - x\n" if "accurate" in line else f"{line}\n" for line in RATINGS.splitlines())
    )
    told = venire("agreement", ratings, "--resamples", 20, cwd=ratings.parent)
    document = venire("agreement", ratings, "--resamples", 20, "--json", cwd=ratings.parent)

    note = (
        "values of 'accurate' such as '1 - x' were read as words: write only the number if they are numbers"
    )
    assert "are not a number, left out: 5 - best, 4 - good" in " ".join(few.stdout.split())
    assert note in " ".join(told.stdout.split())
    assert note in json.loads(document.stdout)["notes"]


def test_the_names_are_functions_and_the_package_is_light() -> None:
    code = (
        "import sys, venire.evals; heavy = {'pandas', 'scipy', 'sklearn', 'numpy'} & set(sys.modules); "
        "from venire.evals import compare; from venire import agreement; print(heavy, callable(agreement), callable(compare))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )

    assert told.stdout.split() == ["set()", "True", "True"]
