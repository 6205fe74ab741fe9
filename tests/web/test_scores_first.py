"""Scores before flags, lists that sort and filter by anything, and people's ratings beside the jury's."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from inspector_server import InspectorServer
from rated_run import RATED_SCRIPTS, rated_people, rated_run

from venire.evals.audits.independence import TITLE
from venire.orchestration.reading.export import ExportedRun
from venire.orchestration.reading.scores import ScoreCounts, histogram
from venire.orchestration.record import Store
from venire.rubrics.errors import VenireError
from venire.rubrics.ratings import Rating
from venire.web.people import jury_worth, people_of_run
from venire.web.standalone import html


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated_run(tmp_path_factory.mktemp("rated"))


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[InspectorServer]:
    with InspectorServer(run, people=rated_people()) as server:
        yield server


def listed(served: InspectorServer, query: str) -> list[tuple[str, str]]:
    text = served.ask(f"cases?{query}").text
    return re.findall(r'class="open">([^<]+)</a>.*?data-label="arm">([^<]+)<', text)


def test_the_overview_begins_with_scores_by_arm_and_system(served: InspectorServer) -> None:
    text = served.ask().text

    assert (
        text.index(">Scores<")
        < text.index("Where verdicts and people differ most")
        < text.index("Look here first")
    )
    scores = text[text.index(">Scores<") : text.index("Where verdicts and people")]
    assert 'aria-label="accurate: 2: 2, 4: 4"' in scores
    assert "1 hung" in scores and "3 abst." in scores
    assert "By system: 3 systems" in scores and "model-z" in scores


def test_the_cause_stands_beside_what_is_hung(served: InspectorServer) -> None:
    rows = served.ask("cases?attribute=accurate&value=hung").text
    case = served.ask("case?id=silent&in_arm=stances").text
    cause = re.search(r'<p class="cause"[^>]*><b>hung</b> ([^<]+)</p>', rows)

    assert cause is not None
    told = cause[1][:60]
    assert told in case.partition("Side by side")[2]
    assert f"in 1: {told}" in served.ask().text
    assert re.search(r"in 1: [^<]{199}…<", served.ask().text), "what is cut says so"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("system=model-z&arm=stances&sort=case", ["overruled", "persuaded"]),
        ("group=ward+1&arm=single&sort=case", ["fabricated", "overruled", "premature"]),
        ("q=out+of+place&sort=case", ["conformed", "overruled"]),
        ("q=quote+%22unbalanced", []),
        ("stop=rounds", ["overruled"]),
    ],
)
def test_filters_and_search_cover_systems_groups_and_reasons(
    served: InspectorServer, query: str, found: list[str]
) -> None:
    assert [case for case, _ in listed(served, query)] == found


@pytest.mark.parametrize(
    "sort", ["score.accurate", "score.organized", "case", "arm", "system", "group", "rounds", "spread", "stop", "tokens",
             "cost", "seconds", "hung", "look", "latest"],
)  # fmt: skip
def test_every_column_sorts_both_ways(served: InspectorServer, sort: str) -> None:
    down, up = (listed(served, f"sort={sort}{turned}") for turned in ("", "&up=1"))

    assert len(down) == len(up) == 2 * len(RATED_SCRIPTS)
    assert set(down) == set(up)


def test_scores_sort_with_what_has_none_last(served: InspectorServer) -> None:
    names = [case for case, _ in listed(served, "sort=score.accurate&up=1&arm=stances")]

    assert set(names[:2]) == {"persuaded", "overruled"}
    assert names[-1] == "silent"


def test_a_column_has_the_name_of_its_attribute_and_says_how_it_is_sorted(served: InspectorServer) -> None:
    text = served.ask("cases?sort=score.accurate").text

    assert re.search(
        r'<th scope="col" aria-sort="descending" class="score-name"><a href="[^"]+up=1">accurate ↓', text
    )
    assert 'data-label="organized"' in text


def test_people_stand_beside_jury_and_judge(served: InspectorServer) -> None:
    text = served.ask("case?id=fabricated&in_arm=stances").text
    table = text[
        text.index('<table class="beside">') : text.index("</table>", text.index('<table class="beside">'))
    ]

    heads = [
        unescape(re.sub("<[^>]+>", "", head)) for head in re.findall(r'<th scope="col">(.*?)</th>', table)
    ]
    assert heads == [
        "attribute",
        "stances orchestrated",
        "single",
        "people's median",
        "ana",
        "ben",
    ]
    assert re.search(r'data-label="people[^"]*"><b>1</b>', table)


def test_the_largest_difference_from_people_comes_first(served: InspectorServer) -> None:
    overview = served.ask().text
    first = re.search(r'<a class="case"[^>]*>([^<]+)</a>', overview[overview.index("differ most") :])
    assert first is not None and first[1] == "fabricated"
    assert "accurate</b> 4, people 1: +3" in overview
    assert "all 27 scores with people's ratings" in unescape(overview)


def differences(served: InspectorServer, query: str = "") -> list[list[str]]:
    """The rows of the table of people: case, arm, attribute, verdict, people's median, difference, each person."""
    body = served.ask(f"people{query}").text.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in body.split("<tr")[1:]
    ]


def test_the_table_of_people_is_sorted_and_filtered_by_arm_and_attribute(served: InspectorServer) -> None:
    rows = differences(served)
    assert len(rows) == 27
    assert rows[0][0] == "fabricated" and rows[0][2:] == ["accurate", "4", "1", "+3.00", "ana 1, ben 1"]
    assert [abs(float(row[5])) for row in rows] == sorted((abs(float(row[5])) for row in rows), reverse=True)
    some = differences(served, "?arm=single&attribute=organized&sort=case&up=1")
    assert {(row[1], row[2]) for row in some} == {("single", "organized")}
    assert [row[0] for row in some] == sorted(RATED_SCRIPTS, reverse=True)
    text = served.ask("people?arm=single").text
    assert text.count("people&#x27;s medians") == 1 and "mean difference" in text


def test_what_the_jury_is_worth_stands_with_people_in_the_words_of_compare(
    served: InspectorServer, run: Path
) -> None:
    text = unescape(served.ask("people").text)
    section, _ = jury_worth(run, rated_people())
    assert section is not None and TITLE in text
    assert all(sentence in text for sentence in section.sentences)
    assert "stances, accurate: 3 jurors are worth" in text
    assert TITLE not in served.ask().text
    assert "What did deliberation do?" in served.ask().text and "being computed" not in served.ask().text


def test_another_process_computes_the_statistics_and_they_are_kept(tmp_path: Path) -> None:
    run, deadline = rated_run(tmp_path), time.monotonic() + 240
    with InspectorServer(run, caught_up=False, people=rated_people()) as server:
        while TITLE not in server.ask("people").text:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert len(differences(server)) == 27
    with InspectorServer(run, caught_up=False, people=rated_people()) as again:
        assert TITLE in again.ask("people").text


def test_without_ratings_there_is_no_such_page(run: Path) -> None:
    with InspectorServer(run) as server:
        assert server.ask("people").status == 404
        assert "differ most" not in server.ask().text


def test_the_orchestrators_question_stands_between_the_votes_it_is_about(served: InspectorServer) -> None:
    text = served.ask("case?id=persuaded&in_arm=stances").text
    spoken = text[text.index('class="votes"') :]

    assert spoken.index("Every value is in the notes.") < spoken.index('class="asked"')
    assert spoken.index('class="asked"') < spoken.index("The rash came after treatment")


def test_reasons_are_in_view_without_a_click(served: InspectorServer) -> None:
    text = served.ask("case?id=persuaded&in_arm=stances").text
    folded = re.findall(r'<details class="vote"[^>]*?( open)?>', text)

    assert folded.count("") == 3  # Round one of the attribute that was argued; every last word is open.


def test_a_histogram_has_a_bar_for_each_value():
    assert histogram([(1, 0), (2, 1), (3, 8)]) == " ▁█"
    assert histogram([]) == ""
    assert ScoreCounts().systems() == []


def test_ratings_that_cannot_be_used_are_left_out_and_said(run: Path) -> None:
    good = [
        Rating(name, rater, "accurate", 4.0) for name in list(RATED_SCRIPTS)[1:] for rater in ("ana", "ben")
    ]
    first = next(iter(RATED_SCRIPTS))
    wrong = [
        Rating(first, "ana", "accurate", 9.0),
        Rating(first, "ben", "accurate", "good"),
        Rating("nowhere", "ana", "accurate", 4.0),
        Rating(first, "ana", "charm", 3.0),
    ]
    people = people_of_run(run, [*good, *wrong])

    told = " ".join(people.notes)
    for words in ("no case has this id", "not on its scale", "not a number", "without a rating", "charm"):
        assert words in told
    assert people.of(first) == {"charm": {"ana": 3.0}}
    with InspectorServer(run, people=people) as server:
        assert "not on its scale, left out: 9" in server.ask("people").text
    with pytest.raises(VenireError, match="cannot be used"):
        people_of_run(run, [Rating("nowhere", "ana", "accurate", 4.0), good[0], wrong[0]])


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"picked": {"premature": (), "fabricated": ()}}, [("premature", "stances"), ("premature", "single"), ("fabricated", "stances"), ("fabricated", "single")]),
        ({"arm": "single", "picked": {"premature": ()}}, [("premature", "single")]), ({"case": "silent", "arm": "stances"}, [("silent", "stances")]),
    ],
)  # fmt: skip
def test_one_page_has_only_what_was_asked_for_in_its_order(
    run: Path, asked: dict[str, Any], shown: list[tuple[str, str]]
) -> None:
    store, out = Store.read(run), io.StringIO()
    try:
        assert html(ExportedRun(store, **asked), out) == len(shown)
    finally:
        store.release()
    heads = [re.sub("<[^>]+>", " ", part) for part in out.getvalue().split("<article>")[1:]]
    assert [(head.split()[0], re.findall("stances|single", head)[0]) for head in heads] == shown
