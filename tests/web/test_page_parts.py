"""The inspector's parts, each by itself: what a filter finds, how a list is ordered and paged, what a figure and a cell say."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from planted_run import RUBRIC
from written_transcripts import abstained, cast, transcript_of

from venire.agents.cost import Cost, Receipt, Usage
from venire.agents.model import FailedTry
from venire.agents.orchestrator import Dispute, Finding
from venire.evals.report.drawing import text_width
from venire.orchestration.counting.claims import ClaimOutcome
from venire.orchestration.reading.analysis import Census, Flag, InstantAgreement
from venire.orchestration.reading.analysis.census import Flow, Share
from venire.orchestration.reading.analysis.movement import paths
from venire.orchestration.reading.scores import ScoreCounts, ScoreSummary
from venire.orchestration.reading.side_by_side import SideBySide
from venire.orchestration.record.reader import RecordedCall, UnfinishedDeliberation
from venire.orchestration.transcript import Decided, Ledger, Said, Stop
from venire.orchestration.verdict import Dissent, Outcome
from venire.rubrics import Case, Rubric, load_rubric
from venire.rubrics.ballot import Quote
from venire.rubrics.claim import Check, Claim
from venire.rubrics.ratings import Rating
from venire.web import deliberation_reader, folder, index_writer, summaries
from venire.web.charts import (
    CENTRE,
    RADIUS,
    bar_figure,
    flows_figure,
    leanings_figure,
    scatter_figure,
    spread_figure,
)
from venire.web.index_writer import (
    SCHEMA,
    IndexWorkers,
    _add_flags,
    _add_sums,
    _keep_flags,
    _note,
    read_to,
    start_over,
    transaction,
    write_flag_batch,
    write_score_batch,
)
from venire.web.lanes import Lanes, vote_id
from venire.web.pages import people as people_page
from venire.web.pages import reports
from venire.web.pages.cases import FilterValues, _score, cases_view, column_head, pager
from venire.web.pages.comparison import _apart, _difference_words, comparison_view
from venire.web.pages.deliberation import (
    BRIEF,
    _flags,
    _told_words,
    arm_choice,
    copy_buttons,
    deliberation_view,
    side_by_side,
)
from venire.web.pages.frame import Reach, badge
from venire.web.pages.overview import _alike, _arms, _causes, _kinds, _looks
from venire.web.pages.people import differences_section, people_view, scores_section
from venire.web.pages.proceedings import movement, progress_section, progress_view, spoken_lines
from venire.web.pages.reports import board_view, scenario_view
from venire.web.pages.texts import (
    Citation,
    claim_citations,
    claims_section,
    locate,
    mark_quotes,
    marked_texts,
)
from venire.web.pages.votes import Revisions, _decision, _speech, attribute_section, how, verdict_words
from venire.web.pages.votes import _kinds as kinds_of
from venire.web.people import Difference, KeptDifferences, People
from venire.web.reports import ReportReader
from venire.web.search import PAGE, SORTS, CaseSearch, Finder, Row
from venire.web.summaries import (
    FlagBatch,
    FlaggedDeliberation,
    ScoreBatch,
    _read_to,
    flag_groups,
    merge_groups,
)

COLUMNS = ["number", "arm", "arm_name", "case_id", "title", "about", "stop", "rounds", "turns", "tokens", "usd", "seconds", "spread", "hung", "case_group", "system", "cause", "flags", "interest"]  # fmt: skip


def plain(markup: object) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", str(markup)).split())


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO about VALUES ('f', 0, 0)")
    yield connection
    connection.close()


def add(index: sqlite3.Connection, number: int, **fields: Any) -> None:
    row = {
        "number": number, "arm": 0, "arm_name": "arm", "case_id": f"c{number}", "title": "", "about": "", "stop": "rounds", "rounds": 1, "turns": 1,
        "tokens": 1, "usd": None, "seconds": 1.0, "spread": None, "hung": 0, "case_group": "", "system": "", "cause": "", "flags": 0, "interest": None,
        **fields,
    }  # fmt: skip
    index.execute(
        f"INSERT INTO deliberations VALUES ({', '.join('?' * len(row))})", [row[c] for c in COLUMNS]
    )


def found(index: sqlite3.Connection, **query: str) -> list[int]:
    rows, total = Finder(index, [0, 1]).find(CaseSearch.of({"sort": "latest", "up": "1", **query}))
    assert total >= len(rows)
    return [row.number for row in rows]


def test_each_filter_finds_what_it_says_and_several_what_all_say(index: sqlite3.Connection) -> None:
    add(index, 1, system="s", case_group="g", flags=2, stop="consensus")
    add(index, 2, arm=1, arm_name="other", title="a fever", flags=None)
    add(index, 3, about="fever", system="s")
    add(index, 4, arm=9, arm_name="old", system="s")
    for number, attribute, status, value in ((1, "x", "reached", "4"), (2, "x", "hung", None), (3, "x", "reached", '"good"'), (3, "y", "reached", "4")):  # fmt: skip
        index.execute(
            "INSERT INTO outcomes VALUES (?, ?, ?, ?, 'mean', NULL)", (number, attribute, status, value)
        )
    _keep_flags(index, 1, flag_groups([flag("hung", 2, "x"), flag("overruled", 3, "yy")]))
    index.execute("INSERT INTO reasons (rowid, words) VALUES (3, 'quoted nothing at all')")

    assert found(index) == [1, 2, 3], "not the arm that was replaced"
    assert found(index, arm="other") == [2]
    assert found(index, system="s") == [1, 3]
    assert found(index, group="g") == found(index, stop="consensus") == [1]
    assert found(index, flag="any") == [1] and found(index, flag="none") == [3]
    assert found(index, flag="hung") == [1] and found(index, flag="conformity") == []
    assert found(index, flag="hung", attribute="x") == [1] and found(index, flag="hung", attribute="yy") == []
    assert found(index, flag="overruled", attribute="y") == [], "a part of a name is not the name"
    assert found(index, attribute="x", value="4") == [1] and found(index, attribute="x", value="good") == [3]
    assert found(index, attribute="x", value="hung") == [2]
    assert found(index, q="fever") == [2, 3] and found(index, q="noth") == [3] and found(index, q="C1") == [1]
    assert found(index, q="fever", arm="other") == [2] and found(index, system="s", flag="any") == [1]
    finder = Finder(index, [0, 1])
    assert finder.values_of("system") == ["s"] and finder.values_of("stop") == ["consensus", "rounds"]
    assert finder.values_of("stop", most=1) == []
    assert finder.arms_by_case(["c1", "c2", "c4", "z"]) == {"c1": ["arm"], "c2": ["other"]}


@pytest.mark.parametrize("up", ["", "1"])
@pytest.mark.parametrize("sort", SORTS)
def test_a_list_is_ordered_as_its_head_says_and_what_has_no_value_is_last(
    index: sqlite3.Connection, sort: str, up: str
) -> None:
    _, column, down = SORTS[sort]
    # What is not sorted by runs the other way, so that another column in its place is noticed.
    for number in range(1, 6):
        fields: dict[str, Any] = dict.fromkeys(
            ("interest", "spread", "rounds", "tokens", "seconds", "usd", "hung"), -number
        )
        fields |= dict.fromkeys(("case_id", "arm_name", "system", "case_group", "stop"), f"{9 - number}")
        fields[column] = number if column in ("interest", "spread", "rounds", "tokens", "seconds", "usd", "hung", "number") else str(number)  # fmt: skip
        add(index, **{"number": number, **fields})
    nullable = column in ("interest", "spread", "usd")
    if nullable:
        add(index, 6, case_id="0")

    order = [1, 2, 3, 4, 5] if down == bool(up) else [5, 4, 3, 2, 1]
    assert [row.number for row in Finder(index, [0]).find(CaseSearch.of({"sort": sort, "up": up}))[0]] == order + [6] * nullable  # fmt: skip


def test_pages_hold_every_row_once(index: sqlite3.Connection) -> None:
    for number in range(1, 2 * PAGE + 2):
        add(index, number)
    pages = [found(index, page=str(page)) for page in (1, 2, 3, 4)]

    assert [len(page) for page in pages] == [PAGE, PAGE, 1, 0]
    assert [number for page in pages for number in page] == list(range(1, 2 * PAGE + 2))


@pytest.mark.parametrize(
    ("query", "search"),
    [
        ({}, CaseSearch()),
        ({"page": "3", "up": "yes", "sort": "cost", "q": "x" * 300}, CaseSearch(page=3, up="1", sort="cost", q="x" * 200)),
        ({"page": "0"}, CaseSearch()), ({"page": "-2"}, CaseSearch()), ({"page": "9" * 12}, CaseSearch()), ({"page": "x"}, CaseSearch()),
        ({"sort": "number; DROP"}, CaseSearch()), ({"sort": "score.x"}, CaseSearch(sort="score.x")),
    ],
)  # fmt: skip
def test_a_search_in_an_address_is_read_as_far_as_it_makes_sense(
    query: dict[str, str], search: CaseSearch
) -> None:
    assert CaseSearch.of(query) == search


def test_an_address_has_what_differs_from_the_default() -> None:
    search = CaseSearch(arm="a b", page=3)

    assert search.address("cases") == "./cases?arm=a+b&page=3"
    assert search.address("case", page=1, id="x&y") == "./case?arm=a+b&id=x%26y"


@pytest.mark.parametrize(
    ("total", "page", "words", "links"),
    [
        (0, 1, "page 1 of 1", []), (PAGE, 1, "page 1 of 1", []), (PAGE + 1, 1, "page 1 of 2", ["2", "2"]),
        (5 * PAGE, 3, "page 3 of 5", ["", "2", "4", "5"]), (2 * PAGE, 9, "page 2 of 2", ["", ""]),
    ],
)  # fmt: skip
def test_a_pager_leads_to_the_pages_there_are(total: int, page: int, words: str, links: list[str]) -> None:
    markup = str(pager(CaseSearch(page=page), "cases", total))

    assert words in plain(markup)
    assert re.findall(r'href="\./cases\?(?:page=(\d*))?"', markup) == links


@pytest.mark.parametrize(
    ("search", "down", "order", "turned"),
    [
        (CaseSearch(sort="cost"), True, "descending", True), (CaseSearch(sort="cost", up="1"), True, "ascending", False),
        (CaseSearch(sort="cost"), False, "ascending", True), (CaseSearch(sort="look", up="1"), True, None, False),
    ],
)  # fmt: skip
def test_a_columns_head_sorts_by_it_and_once_more_the_other_way(
    search: CaseSearch, down: bool, order: str | None, turned: bool
) -> None:
    markup = str(column_head(search, "cases", "cost", "cost", down=down))

    assert re.findall(r'aria-sort="(\w+)"', markup) == ([order] if order else [])
    assert ("up=1" in markup) == turned


def test_rows_of_a_report_are_read_once_and_again_when_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    reader = ReportReader(tmp_path, "suite.json", "r", "report.json")
    assert reader.rows("cases.jsonl") == []
    (tmp_path / "r/cases.jsonl").write_text('{"case": "a"}\n')
    first = reader.rows("cases.jsonl")
    assert first == [{"case": "a"}] and reader.rows("cases.jsonl") is first
    (tmp_path / "r/cases.jsonl").write_text('{"case": "a"}\n{"case": "b\u2028"}\n', encoding="utf-8")
    assert reader.rows("cases.jsonl") == [{"case": "a"}, {"case": "b\u2028"}]


def test_differences_are_found_by_arm_and_attribute_in_any_order(index: sqlite3.Connection) -> None:
    kept = [("c1", "a", "x", 5.0, 1.0), ("c2", "b", "x", 1.0, 4.0), ("c3", "a", "y", 3.0, 3.0)]
    for place, row in enumerate(kept, 1):
        index.execute("INSERT INTO differences VALUES ('d', ?, ?, ?, ?, ?, ?)", (place, *row))
    index.execute("INSERT INTO differences VALUES ('other', 1, 'c9', 'a', 'x', 1.0, 1.0)")
    differences = KeptDifferences(index, "d")

    def cases(**fields: Any) -> list[str]:
        return [each.case for each in differences.find(CaseSearch(**{"sort": "apart", **fields}))[0]]

    assert differences.largest(2) == ([Difference(*row) for row in kept[:2]], 3)
    assert cases() == ["c1", "c2", "c3"] and cases(up="1") == ["c3", "c2", "c1"]
    assert cases(sort="verdict") == ["c1", "c3", "c2"] and cases(sort="people", up="1") == ["c1", "c3", "c2"]
    assert cases(arm="a") == ["c1", "c3"] and cases(arm="a", attribute="x") == ["c1"]
    assert cases(page=2) == []
    assert differences.find(CaseSearch(sort="apart", attribute="x"))[1] == {
        ("a", 1.0, 5.0): 1,
        ("b", 4.0, 1.0): 1,
    }
    assert [Difference(*row).apart for row in kept] == [4, -3, 0]
    assert differences.statistics().told_of == 0 and KeptDifferences(index, "none").largest(2) == ([], 0)


def test_the_furthest_from_people_come_first_on_either_side() -> None:
    people = People([Rating(case, "ana", "x", 3.0) for case in "abc"])
    scores = [("a", "j", "x", 3.5), ("b", "j", "x", 1.0), ("c", "j", "x", 4.0), ("d", "j", "x", 9.0)]

    assert [(each.case, each.apart) for each in people.differences(scores)] == [
        ("b", -2),
        ("c", 1),
        ("a", 0.5),
    ]


def test_sums_are_added_to_and_flags_of_a_kind_kept_once(index: sqlite3.Connection) -> None:
    for _ in range(2):
        _add_sums(index, {1: {("t", "a", ""): (2, 0.5)}, 2: {("t", "a", ""): (1, 1.0)}})
    assert index.execute("SELECT * FROM sums ORDER BY arm").fetchall() == [(1, "t", "a", "", 4, 1.0), (2, "t", "a", "", 2, 2.0)]  # fmt: skip

    add(index, 1)
    _keep_flags(
        index, 1, flag_groups([flag("hung", 2, "x"), flag("hung", 1, "y"), flag("overruled", 3, "x")])
    )
    assert _note(index, 1, flag_groups([flag("hung", 4, "z"), flag("conformity", 1, "x")])) == {"conformity"}
    assert index.execute("SELECT flags, interest FROM deliberations").fetchone() == (5, 4.11)
    (row,) = Finder(index, [0]).find(CaseSearch())[0]
    assert [(kind, weight) for kind, weight, _, _ in row.flags] == [("hung", 4), ("overruled", 3), ("conformity", 1)]  # fmt: skip
    with pytest.raises(ZeroDivisionError), transaction(index):
        index.execute("UPDATE about SET scored_to = 9")
        _ = 1 / 0
    assert read_to(index) == (0, 0)
    index.execute("UPDATE about SET scored_to = 9")
    start_over(index)
    assert read_to(index) == (0, 0) and index.execute("SELECT count(*) FROM deliberations").fetchone() == (0,)


@pytest.mark.parametrize(
    ("workers", "after", "last", "size"), [(2, 0, 10, 3), (1, 4, 5, 3), (3, 0, 9, 3), (2, 7, 7, 3)]
)
def test_workers_are_asked_for_every_deliberation_once_and_answered_in_order(
    monkeypatch: pytest.MonkeyPatch, workers: int, after: int, last: int, size: int
) -> None:
    questions: dict[int, list[Any]] = {number: [] for number in range(workers)}
    monkeypatch.setattr(index_writer, "_tell", lambda worker, asked: questions[worker].append(asked))
    monkeypatch.setattr(index_writer, "_answer", lambda worker: questions[worker].pop(0)[1:])
    pool = object.__new__(IndexWorkers)
    pool._processes = list(range(workers))  # type: ignore[arg-type]
    spans: list[Any] = list(pool.scores(after, last, size))

    assert [number for start, end, _ in spans for number in range(start, end)] == list(range(after, last))
    assert all(most == size and end - start <= size for start, end, most in spans)


def test_a_batch_that_is_not_full_has_read_all_and_of_a_kind_the_weightiest_is_told() -> None:
    fresh: Any = [SimpleNamespace(number=3), SimpleNamespace(number=6)]

    assert (_read_to(fresh, 9, 2), _read_to(fresh, 9, 3), _read_to([], 9, 2)) == (6, 9, 9)
    heavy, light = (flag_groups([flag("hung", weight, name)]) for weight, name in ((3, "x"), (1, "y")))
    for order in ((*heavy, *light), (*light, *heavy)):
        (merged,) = merge_groups(order)
        assert (merged.weight, merged.attribute, sorted(merged.weights)) == (3, "x", ["1", "3"])
        assert sorted(merged.attributes.split()) == ["x", "y"]


def test_a_batch_is_written_only_where_the_last_one_ended(index: sqlite3.Connection) -> None:
    def flags(after: int, to: int) -> bool:
        return write_flag_batch(index, {}, FlagBatch(after, to, [], {}))

    def scores(after: int, to: int) -> bool:
        return write_score_batch(index, ScoreBatch(after, to, [], {}))

    for write in (flags, scores):
        assert [write(5, 9), write(0, 3), write(0, 3), write(2, 9), write(3, 4)] == [
            False,
            True,
            False,
            False,
            True,
        ]
    assert read_to(index) == (4, 4)


def test_two_arms_are_alike_within_less_than_half_a_step_and_each_contrast_is_noted_once(
    index: sqlite3.Connection,
) -> None:
    for number, values in ((1, (4.0, 4.0, 5, None)), (2, (4.4, 4.5, 3, 3))):
        add(index, number, arm=number, arm_name=f"arm{number}", case_id="c", flags=0)
        for name, value in zip("wxyz", values, strict=True):
            row = (
                number,
                name,
                "reached" if value else "hung",
                None if value is None else str(value),
                "mean",
                value,
            )
            index.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", row)
    agreement = InstantAgreement("y", 5, ("a", "b"), ("1/a", "1/b"), "unchallenged", 0, 0)
    index.execute("INSERT INTO agreements VALUES (1, ?)", (json.dumps(agreement._asdict()),))
    sums: dict[int, Any] = {2: {}}
    summary = FlaggedDeliberation(2, 2, "arm2", "c", "words", (), ())
    arms: Any = {number: SimpleNamespace(id=number, name=f"arm{number}") for number in (1, 2)}
    _add_flags(index, summary, arms, sums)

    assert sums[2]["alike", "arm1", ""] == (3, 1), "of what both reached"
    assert sums[1] == {("flagged", "contradicted", ""): (1, 0.0)}
    assert [flagged.number for flagged in Finder(index, [1, 2]).find(CaseSearch(flag="contradicted"))[0]] == [
        1
    ]


def flag(kind: str, weight: int, attribute: str) -> Flag:
    return Flag(kind, weight, attribute, (), (), 1, f"{kind} {attribute}")  # type: ignore[arg-type]


def census(**sums: Any) -> Census:
    """A census of these sums, by topic and name: how often, and the total."""
    return Census(
        {(topic, name, ""): pair for topic, by_name in sums.items() for name, pair in by_name.items()}
    )


def arm(name: str) -> Any:
    return SimpleNamespace(name=name, jury=SimpleNamespace(protocol="panel", seat_names=("a", "b")))


def test_the_table_of_arms_counts_and_weighs_by_how_many_there_were() -> None:
    known = census(
        cases={"": (7, 0.0)}, outcome={"reached": (11, 0.0), "hung": (2, 0.0)}, agreed={"x": (1, 1.0), "y": (9, 0.0)}, stop={"consensus": (5, 0.0), "rounds": (2, 0.0)},
        spent={"usd": (7, 1.25), "tokens": (7, 1234.0)},
    )  # fmt: skip
    unpriced = census(cases={"": (2, 0.0)}, unpriced={"": (1, 0.0)}, spent={"usd": (2, 0.5)})
    told = plain(_arms([arm("one"), arm("two")], {"one": known, "two": unpriced}))

    assert "one panel a, b 7 11 2 0 10% consensus 5, rounds 2 1,234 $1.2500" in told
    assert "two panel a, b 2 0 0 0 – 0 unknown" in told


def test_arms_that_agree_causes_and_flags_are_summed_over_arms() -> None:
    one = census(
        alike={"two": (4, 1.0)}, cause={"no quorum": (2, 0.0), "split": (1, 0.0)}, flagged={"hung": (1, 0.0)}
    )
    two = census(
        alike={"one": (6, 4.0)}, cause={"split": (4, 0.0)}, flagged={"hung": (4, 0.0), "overruled": (2, 0.0)}
    )
    both = {"one": one, "two": two}

    assert "one and two agree on 50% of the 10 scores" in plain(_alike([arm("one"), arm("two")], both))
    assert plain(_causes(both)) == "hung in 5: split hung in 2: no quorum"
    told = plain(_kinds(both, 10))
    assert told.index("overruled 2") < told.index("1 kind of flag ") < told.index("no verdict 5")
    assert plain(_kinds(both, 11)).startswith("overruled 2 no verdict 5")


def row(**fields: Any) -> Row:
    plain_row = Row(1, "arm", "c1", "", "rounds", 1, 1, 1, None, 1.0, None, None, "", "", "", [], {})
    return plain_row._replace(**fields)


def test_what_is_worth_a_look_is_told_with_its_score_and_how_much_more_there_is() -> None:
    shown = row(flags=[("hung", 3, "x", "why")], flag_count=3, outcomes={"x": ("reached", 4, "mean")})
    read, reading = Reach(5, 5, 5, ""), Reach(5, 3, 5, "")

    told = plain(_looks([shown, row()], read))
    assert "x 4 why and 2 more" in told and told.count("c1") == 1
    assert "more" not in plain(_looks([shown._replace(flag_count=1)], read))
    assert "No deliberation was flagged" in plain(_looks([row()], read))
    assert "is being read" in plain(_looks([row()], reading))


def test_a_cell_of_the_list_says_what_became_of_an_attribute() -> None:
    outcomes = {"x": ("reached", 3.14159, "mean"), "y": ("hung", None, ""), "z": ("not_applicable", None, "")}
    shown = row(outcomes=outcomes, cause="no quorum")

    assert [plain(_score(shown, name, False)) for name in ("x", "y", "z", "w")] == ["3.14", "hung", "n/a", "not asked"]  # fmt: skip
    assert "y: hung, no quorum" in str(_score(shown, "y", False))
    assert "x: 3.14, mean" in str(_score(shown, "x", False))


def outcome(value: Any = None, **fields: Any) -> Outcome:
    return Outcome.model_validate(
        {
            "status": "reached" if value is not None else "hung",
            "value": value,
            "method": "mean",
            "votes": 4,
            "support": None,
            "spread": None,
            **fields,
        }
    )


def test_an_outcome_in_words_has_how_many_agree_or_why_it_is_hung() -> None:
    assert how(outcome(4, support=0.75)) == "by mean, 3 of 4 agree"
    assert how(outcome(4)) == "by mean"
    assert how(outcome(why="no quorum")) == "no quorum"
    assert [verdict_words(each, pair=True) for each in (outcome(-1), outcome(0), outcome())] == ["A", "tie", "hung"]  # fmt: skip
    assert kinds_of([flag("hung", 1, "x"), flag("hung", 3, "y"), flag("hung", 2, "z")]) == [("hung", 3)]


@pytest.mark.parametrize(
    ("one", "two", "apart", "words"),
    [
        (outcome(4), outcome(2.5), 1.5, "4 and 2.5, 1.5 apart"),
        (outcome(4), outcome(4), 0, "4 and 4"),
        (outcome(4), outcome(), 0.5, "4 and hung"),
        (outcome(), outcome(), 0, "hung and hung"),
        (outcome(4), None, -1, "only one arm was asked this question"),
    ],
)
def test_two_arms_beside_each_other_are_as_far_apart_as_their_values(
    one: Outcome, two: Outcome | None, apart: float, words: str
) -> None:
    assert (_apart(one, two), _difference_words(one, two, pair=False)) == (apart, words)
    assert _apart(two, one) == apart


def test_quotes_are_marked_where_they_stand_with_every_vote_that_makes_them() -> None:
    text = "Fever on Monday. Rest was advised."
    marked = str(mark_quotes(text, [Citation("v1", "“fever  ON monday”"), Citation("v2", "Monday. Rest"), Citation("v3", "cough")]))  # fmt: skip

    assert re.findall(r'<mark data-votes="([^"]+)">([^<]+)', marked) == [("v1", "Fever on "), ("v1 v2", "Monday"), ("v2", ". Rest")]  # fmt: skip
    assert re.sub("<[^>]+>", "", marked) == text
    assert locate("...", text) is None and locate("rest was", text) == (17, 25)


def test_of_a_long_text_its_beginning_and_what_surrounds_each_quote_is_shown() -> None:
    text = "a" * 20_000 + "NEEDLE" + "b" * 20_000
    marked = re.sub("<[^>]+>", "", str(mark_quotes(text, [Citation("v", "needle")])))
    gaps = [int(number.replace(",", "")) for number in re.findall(r"\[… ([\d,]+) characters", marked)]

    assert gaps == [20_000 - 600 - 6_000, 20_000 - 600]
    assert "NEEDLE" in marked and "…" not in re.sub("<[^>]+>", "", str(mark_quotes("a" * 30_000, [])))


def test_figures_show_and_say_their_numbers() -> None:
    def numbers(figure: Any, tag: str, name: str) -> list[float]:
        return [float(each) for each in re.findall(rf'<{tag}[^>]* {name}="([-\d.]+)"', str(shapes(figure)))]

    def shapes(figure: Any) -> list[Any]:
        from venire.evals.report.html import svg

        return [svg(figure)]

    assert bar_figure(0.5, "half").description == "half"
    assert [numbers(bar_figure(share, ""), "rect", "width")[-1] for share in (-1, 0.25, 7)] == [0, 25, 100]
    flows = flows_figure(["a", "b"], [Flow("a", "b", 2.0), Flow("b", "a", 0.0)], "F")
    assert flows.description == "F: b towards a 2.0; a towards b 0.0"
    # The head of the arrow is at the one who was read, a, which stands above.
    assert str(shapes(flows)).count("b moved towards a: 2.0 moves") == 1 and "a moved" not in str(
        shapes(flows)
    )
    assert numbers(flows, "path", "stroke-width") == [6.0]
    jurors = ["perfectionist", "multitasker", "collaborative", "a-juror-like-any", "b"]
    (picture,) = flows_figure(jurors, [], "C").blocks
    names = [shape for shape in picture.shapes if shape.tag == "text"]
    assert len(names) == len(jurors)
    for name in names:
        wide = text_width(str(name.children[0]))
        x, y = float(str(name.attributes["x"])), float(str(name.attributes["y"]))
        left = x - {None: 0, "middle": wide / 2, "end": wide}[name.attributes["text-anchor"]]
        assert left >= 0 and left + wide <= picture.width and 12 <= y < picture.height
        assert math.hypot(x - CENTRE[0], y - CENTRE[1]) > RADIUS + 8, "no arrow crosses a name"
    start = re.search(r"M([\d.]+) ([\d.]+) Q", str(shapes(flows)))
    assert start is not None and float(start[2]) > 100
    scatter = scatter_figure({(1, 1): 1, (1.01, 1.0): 3, (5, 2): 2}, (1, 5), "S")
    assert scatter.description.endswith("6 scores") and str(shapes(scatter)).count("4 scores") == 1
    leaning = leanings_figure([Share("a", 0.125, 3), Share("b", None, 0)], "L")
    assert leaning.description == "L: a +0.12" and "+0.125 of the scale, n=3" in str(shapes(leaning))
    assert spread_figure([(1, 0.5), (2, 0.25)], "C").description == "C, round 1: 0.50, round 2: 0.25"


def test_how_far_the_index_has_read() -> None:
    assert (
        not Reach(5, 5, 5, "").reading_flags
        and Reach(5, 4, 5, "").reading_flags
        and Reach(4, 4, 5, "").reading_scores
    )
    assert "w4" in str(badge("hung", 9)) and "w1" in str(badge("hung", 0))


@pytest.mark.parametrize(
    ("finished", "read", "summary", "words"),
    [
        (0, 0, [], "no case has been judged yet"),
        (3, 1, [], "no scores have been loaded yet"),
        (3, 3, [], "no verdict was reached"),
        (3, 3, [((), 2.5)], "mine: asked 2.50"),
        (3, 3, [(((-1, 2), (0, 1), (1, 0)), None)], "mine: asked (A 2, tie 1)"),
    ],
)
def test_a_runs_headline_is_its_scores_or_why_there_are_none(
    finished: int, read: int, summary: list[Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "last_shown", lambda store: finished)
    report = SimpleNamespace(document=lambda: None)
    arm = SimpleNamespace(name="mine", rubric=SimpleNamespace(compares=True))
    found = [ScoreSummary("mine", "", "asked", counts, 3, mean, 0, 0, 0) for counts, mean in summary]
    index = SimpleNamespace(
        score_counts=lambda arms: SimpleNamespace(summaries=lambda arm: found), read_to=(read, read)
    )
    store = SimpleNamespace(arms=lambda: [arm])
    inspector: Any = SimpleNamespace(study=report, board=report, store=store, index=index)
    assert folder.headline(inspector) == [words]


@pytest.mark.parametrize(("sealed", "last"), [({}, 7), ({"b": 3, "c": 5}, 2), ({"a": 1}, 0)])
def test_nothing_is_shown_from_the_first_case_on_which_a_person_has_yet_to_vote(
    sealed: dict[str, int], last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliberation_reader, "sealed_cases", lambda store: sealed)
    store: Any = SimpleNamespace(last_finished=lambda: 7)
    assert deliberation_reader.last_shown(store) == last


def test_of_a_pair_every_text_is_a_region_of_its_own_name() -> None:
    case = Case(id="q", output="Yes.", output_b="No.", source="It is so.")
    page = str(marked_texts(case, load_rubric("preference"), {}))
    labels = re.findall(r'aria-label="([^"]+)"', page)
    assert len(labels) == len(set(labels)) == 6
    assert "<h3" not in page, "the texts may be the first heading below a case's name"


def test_a_board_says_on_which_scale_scores_and_their_differences_are() -> None:
    scores = {"small": {"score": 3.5, "low": 3.2, "high": 3.7, "n": 30}}
    scenarios = {name: {"scores": scores, "scale": scale} for name, scale in (("notes", [1.0, 5.0]), ("questions", [0.0, 1.0]))}  # fmt: skip
    words = plain(board_view({"systems": {}, "scenarios": scenarios}))
    assert words.count("scores are from 1 to 5, differences on a scale from 0 (worst) to 1 (best)") == 1
    assert words.count("differences on a scale") == 1


def test_a_deliberation_that_hung_on_two_attributes_for_one_reason_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Census, "add_outcomes", lambda self, verdict: None)
    monkeypatch.setattr(summaries, "score_sums", lambda verdict: ())
    hung = {name: SimpleNamespace(why="too few", status="hung") for name in "xy"}
    outcomes = {**hung, "z": SimpleNamespace(why="agreed", status="reached")}
    sums: Any = {}
    summaries._add_scores(sums, SimpleNamespace(outcomes=outcomes), "")  # type: ignore[arg-type]

    assert sums == {(summaries.CAUSE, "too few", ""): (1, 0.0)}


def test_what_does_not_apply_is_not_counted_as_hung() -> None:
    outcomes = {
        "x": SimpleNamespace(status="reached", why="agreed", spread=2.0),
        "y": SimpleNamespace(status="not_applicable", why="no dose is named", spread=None),
        "z": SimpleNamespace(status="hung", why="too few", spread=None),
    }
    transcript = SimpleNamespace(cost=Cost(calls=3), rounds=1, turns=2)
    verdict: Any = SimpleNamespace(case="c", outcomes=outcomes, transcript=transcript, stop=SimpleNamespace(reason="complete"))  # fmt: skip
    arm: Any = SimpleNamespace(id=1, name="a")
    row = summaries._row(3, arm, verdict, None)
    assert (row.hung, row.cause, row.spread) == (1, "too few", 2.0)


def test_each_vote_is_shown_with_the_score_that_it_changed_and_each_jurors_last_stands_open() -> None:
    rounds = [{"a": 1, "b": 5}, {"a": 2, "b": 5}, {"a": 4, "b": 3}]
    heard = transcript_of(*([cast(name, {"clear": value}, round=at, moved_by="x") for name, value in given.items()] for at, given in enumerate(rounds, 1)))  # fmt: skip
    spoken = list(map(str, _speech(SimpleNamespace(transcript=heard), "clear", "", None)))  # type: ignore[arg-type]

    scores = [re.search(r'class="score[^"]*">(.*?)</span>', each).group(1) for each in spoken]  # type: ignore[union-attr]
    assert scores == ["1", "5", "1 → 2", "5", "2 → 4", "5 → 3"]
    assert [" open" in each.partition(">")[0] for each in spoken] == [False] * 4 + [True] * 2
    for sign in ("score moved", "Moved by: "):
        assert [sign in each for each in spoken] == [False, False, True, False, True, True]


def test_only_a_decision_is_shown_as_the_orchestrators_with_who_was_against_it() -> None:
    decided = Outcome(status="reached", value=4, support=0.5, spread=2, votes=2, method="decision", why="Sound.", dissent=(Dissent(juror="ben", value=2, reason="r"),))  # fmt: skip
    hung = Outcome(status="hung", value=None, support=None, spread=None, votes=1, method="median", why="too few jurors voted")  # fmt: skip

    assert plain(_decision(decided, pair=False)) == "The orchestrator decides 4 Sound. against ben (2)"
    assert plain(_decision(decided.model_copy(update={"why": ""}), pair=False)) == ""
    assert plain(_decision(hung, pair=False)) == ""


@pytest.mark.parametrize(
    ("found", "kind"),
    [((), "dot bare"), ((True,), "dot"), ((False,), "dot bare false"), ((True, False), "dot false")],
)
def test_a_vote_is_bare_where_no_quote_was_found(found: tuple[bool, ...], kind: str) -> None:
    drawn = Lanes.__new__(Lanes)
    drawn._rubric, drawn._prefix = SimpleNamespace(compares=False), ""  # type: ignore[assignment]
    vote = SimpleNamespace(value=4, evidence=[SimpleNamespace(found=each) for each in found])
    step = SimpleNamespace(vote=vote, purpose="first", round=1, entry="e1")
    place = SimpleNamespace(step=step, juror="a", x=0.0, y=0.0)

    assert f'class="{kind}"' in str(drawn._dot("accurate", place))  # type: ignore[arg-type]


def test_lanes_have_each_vote_under_its_round_at_its_score_and_what_it_had_read() -> None:
    heard = transcript_of(
        [cast("a", {"accurate": 1}), cast("b", {"accurate": 5})],
        [cast("a", {"accurate": 4}, round=2, purpose="revision", saw=("1/b", "1/a")), cast("b", {"accurate": 5}, round=2, purpose="revision", saw=("1/a",))],
    )  # fmt: skip
    verdict: Any = SimpleNamespace(transcript=heard, outcomes={"accurate": outcome(4.5)})
    drawn = str(Lanes(verdict, RUBRIC).drawing("accurate"))
    heads = dict(re.findall(r'<text class="column" x="([\d.]+)"[^>]*>([^<]+)', drawn))
    dots = re.findall(r'<title>(\w), (round \d), accurate (\d),.*?</title><circle class="halo" cx="([\d.]+)" cy="([\d.]+)"', drawn)  # fmt: skip
    lanes = [float(top) for top in re.findall(r'class="lane" x="\d+" y="(\d+)"', drawn)]

    assert list(heads.values()) == ["round 1", "round 2", "verdict"]
    assert [dot[:3] for dot in dots] == [("a", "round 1", "1"), ("a", "round 2", "4"), ("b", "round 1", "5"), ("b", "round 2", "5")]  # fmt: skip
    assert all(heads[x] == round for _, round, _, x, _ in dots)
    low, middle, high, again = (float(dot[4]) - lanes["ab".index(dot[0])] for dot in dots)
    assert high == again < middle < low and middle - high == (low - high) / 4, "5 stands above, and 4 a step of four below it"  # fmt: skip
    assert re.findall(r'<path class="([\w ]+)".*?<title>([^<]+)', drawn) == [("seen drawn", "a had read b, and moved that way"), ("seen", "b had read a")]  # fmt: skip
    assert re.findall(r'class="(change[^"]*)"', drawn) == ["change moved", "change"]
    assert re.findall(r'class="final"[^>]*>([^<]+)', drawn) == ["4.5"]
    assert "2 jurors over 2 rounds, verdict 4.5" in drawn


def test_a_scenarios_cases_are_paged_the_worst_of_a_system_first_and_unscored_ones_last() -> None:
    number = 2 * PAGE + 1
    rows = [{"case": f"c{at:03}", "system": system, "output": "text", "status": "refused", "score": None if at == 0 else (at if system == "mine" else -at)} for at in range(number) for system in ("other", "mine")]  # fmt: skip
    ways, cases = [], []
    for page in (1, 2, 3):
        shown = str(scenario_view("s", "mine", rows, page, lambda row: None))
        ways.append(re.findall(r"page=(\d+)", shown))
        cases += re.findall(r"\bc\d{3}\b", shown)
    assert ways == [["2"], ["1", "3"], ["2"]]
    assert cases == [*(f"c{at:03}" for at in range(1, number)), "c000"]
    unsorted = str(scenario_view("s", "", rows, 1, lambda row: None))
    assert re.findall(r"\bc\d{3}\b", unsorted) == [f"c{at:03}" for at in range(PAGE)]


def side(number: str, verdicts: dict[str, dict[str, Any]]) -> folder.Side:
    """A run's arm with these verdicts, whose addresses and models are of no account here."""
    held = [(case, name, "hung" if value is None else "reached", value) for case, by_name in verdicts.items() for name, value in by_name.items()]  # fmt: skip
    finder = SimpleNamespace(verdicts=lambda arm: held)
    store = SimpleNamespace(arms=lambda: [known])
    known: Any = SimpleNamespace(id=1, name="mine", rubric=SimpleNamespace(compares=False), jury=SimpleNamespace(seats=(), orchestrator=None))  # fmt: skip
    inspector: Any = SimpleNamespace(finder=lambda: finder, index=SimpleNamespace(versions=dict), store=store)
    return folder.Side(number, f"run{number}", inspector, known)


def test_two_runs_beside_each_other_list_the_cases_of_both_furthest_apart_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folder, "judges_words", lambda arm, versions: "nobody")
    monkeypatch.setattr(folder, "MOST", 3)
    one = side("1", {"near": {"x": 3, "y": 4}, "b": {"x": 1, "y": 4}, "a": {"x": 5, "y": 4, "z": 1}, "same": {"x": 0}, "lost": {"x": 3}, "old": {"x": 1}})  # fmt: skip
    two = side("2", {"near": {"x": 3.5, "y": 4}, "b": {"x": 5, "y": 5}, "a": {"x": 1, "y": 4, "w": 9}, "same": {"x": 0.0}, "lost": {"x": None}, "new": {"x": 1}})  # fmt: skip
    shown = folder.FolderInspector.__new__(folder.FolderInspector)
    shown._inspectors, shown._names = {"1": one.inspector, "2": two.inspector}, {"1": "run1", "2": "run2"}

    assert one.verdicts()["b"] == {"x": 1, "y": 4} and two.verdicts()["lost"] == {"x": "hung"}
    assert one.verdicts()["same"] == {"x": 0}, "a score of nought is a score"
    page = "".join(map(str, shown._both(one, two)))
    assert re.findall(r'<option value="([^"]+)" selected', page) == ["1/mine", "2/mine"]
    rows = re.findall(r'<th scope="row"><a href="([^"]+)">(\w+)</a></th><td[^>]*>([^<]*)', page)
    assert [(case, words) for _, case, words in rows] == [("a", "x 5 and 1"), ("b", "x 1 and 5, y 4 and 5"), ("lost", "x 3 and hung")]  # fmt: skip
    assert rows[0][0] == "./beside?a=1%2Fmine&amp;b=2%2Fmine&amp;id=a"
    # Of a, b and near both attributes are compared, of the two others one.
    assert "5 cases judged in both runs; 3 of 8 verdicts are the same" in plain(page)
    assert "only the 3 cases that differ most" in plain(page)
    assert re.findall(r'<option value="([^"]+)" selected', str(shown._choice(one, two))) == [
        "1/mine",
        "2/mine",
    ]
    # Where nothing was chosen, the newest jury stands second, beside one of another run.
    assert re.findall(r'<option value="([^"]+)" selected', str(shown._choice())) == ["2/mine", "1/mine"]
    shown._inspectors = {"1": one.inspector}
    assert shown._choice() is None


def test_a_headline_is_a_reports_first_sentence_or_as_much_of_each_arm_as_fits() -> None:
    def headline(study: Any, board: Any) -> list[str]:
        reports = [SimpleNamespace(document=lambda found=found: found) for found in (study, board)]
        return folder.headline(SimpleNamespace(study=reports[0], board=reports[1]))  # type: ignore[arg-type]

    assert headline({"advice": ["one", "two"]}, {"sentences": ["three"]}) == ["one"]
    assert (
        headline(None, {"sentences": ["three"]})
        == headline({"advice": []}, {"sentences": ["three"]})
        == ["three"]
    )
    lines = str(folder._lines(["short", f"{'a' * 290}, b 1.00, {'c' * 20}", *"345678"]))
    assert re.findall("<li>(.*?)</li>", lines) == ["short", f"{'a' * 290}, b 1.00, …", "3", "4", "and 4 more"]
    assert "more" not in str(folder._lines(list("1234")))
    zero: Any = (
        ScoreSummary("mine", "", "asked", ((0, 2), (1, 0)), 2, mean, 0, 0, 0) for mean in (0.0, None)
    )
    whole: Any = SimpleNamespace(rubric=SimpleNamespace(compares=False))
    assert [folder._result(each, whole) for each in zero] == ["asked 0.00", "asked (0 2)"]
    for arms, last in (((7.0, None), (3.0, 5.0)), 7), (((2.0, None), (3.0, 5.0)), 5), ((), None):
        store = SimpleNamespace(arm_progress=lambda since, arms=arms: [SimpleNamespace(started=a, last=b) for a, b in arms])  # fmt: skip
        assert folder._last_written(SimpleNamespace(store=store)) == last  # type: ignore[arg-type]


def test_a_board_has_each_systems_numbers_and_a_scenario_its_scores_baselines_and_lost_cases() -> None:
    systems = {
        "s1": {"win_rate": 0.75, "win_sd": 0.1, "macro": 0.0, "sd": 0.2, "rank": [1, 2], "usd": 1234.5},
        "s2": {"win_rate": None, "win_sd": 0.3, "macro": -0.001, "sd": 0.4, "rank": [3, 3], "usd": 0},
        "s3": {},
    }
    scenario = {
        "scores": {"s1": {"score": 0.5, "low": 0.4, "high": 0.6, "n": 9, "hung": 2}, "s2": {"score": 0.0, "n": 8, "failed": 1}},
        "baseline": 0.0, "random": 0.25, "scorer": "exact", "n": 10, "mde": 0.125,
    }  # fmt: skip
    pair = {"first": "s1", "second": "s2", "value": 0.5, "low": 0.0, "high": 0.9, "n": 7, "p_holm": 0.04, "ahead": "s1", "scenario": "q"}  # fmt: skip
    mean = {**pair, "value": -0.004, "ahead": None, "n": 0, "scenario": "mean"}
    page = str(board_view({"suite": "b", "systems": systems, "scenarios": {"q": scenario, "empty": {"scores": {}}}, "differences": [pair, mean]}))  # fmt: skip

    def cells(label: str) -> list[list[str]]:
        table = page[page.index(f'aria-label="{label}"') :].partition("<tbody>")[2].partition("</tbody>")[0]
        return [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in table.split("<tr")[1:]]  # fmt: skip

    assert cells("Systems") == [
        ["s1", "0.75", "0.10", "0.00", "0.20", "1 to 2", "$1,234.50"],
        ["s2", "undefined", "0.30", "0.00", "0.40", "3", "$0.00"],
        ["s3", *["undefined"] * 4, "", "unknown"],
    ]
    assert cells("q") == [
        ["s1", "0.50", "0.40 to 0.60", "9", "0", "2"], ["s2", "0.00", "", "8", "1", "0"],
        ["always the same answer", "0.00", "", "", "", ""], ["a random answer", "0.25", "", "", "", ""],
    ]  # fmt: skip
    (told,), (over,) = cells("Differences, q"), cells("Differences, mean")
    assert (told[:4], told[5]) == (["s1 minus s2", "+0.50", "0.00 to 0.90", "7"], "s1 is ahead")
    assert (over[1], over[3], over[5]) == ("+0.00", "0", "no difference shown")
    assert page.index("Differences, mean") < page.index(
        "scored by exact, 10 cases; differences of 0.12 or more"
    )
    assert "empty" not in page and "scores are from" not in page
    assert 'href="./scenario?name=q&amp;system=s2"' in page


def test_a_studys_page_has_its_tables_in_their_chapters_and_every_cell_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "MOST", 2)
    rows = [
        {"a_b": 0.12345, "yes": True, "none": None, "parts": {"x": 1.0, "y": None}},
        {"a_b": 0, "yes": False},
        {"a_b": 9},
    ]
    document = {
        "study": "mine", "description": "what it asks", "unit": "calls", "advice": ["take one"], "arms": [{"arm": "j"}],
        "figures": {"f1": "a figure"}, "methods": ["a method", "a method"], "notes": ["a note"],
        "tables": {"arms-x": rows, "other": rows[:1], "empty": []}, "sections": {"own": {"title": "Own part", "sentences": ["it says"], "tables": {"t": rows[:1]}, "notes": ["n"]}},
    }  # fmt: skip
    page = str(reports.study_view(document))
    chapters = {plain(part.partition("</summary>")[0]): plain(part.partition("</summary>")[2]) for part in page.split('<details class="chapter"><summary>')[1:]}  # fmt: skip
    compared, _, seats, *_, further = reports.CHAPTERS

    assert list(chapters) == [compared, seats, further, "Methods and notes"]
    assert chapters["Methods and notes"] == "a method a note"
    assert chapters[compared].startswith("arms-x 3 rows") and chapters[seats].startswith("other 1 row ")
    assert chapters[further].startswith("Own part it says ") and chapters[further].endswith(" n")
    table = str(reports.table_view("arms-x", rows))
    cells = [[plain(cell) for cell in re.findall(r"<td>(.*?)</td>", row)] for row in table.partition("<tbody>")[2].split("<tr>")[1:]]  # fmt: skip
    assert [plain(head) for head in re.findall(r"<th[^>]*>(.*?)</th>", table)] == [
        "a b",
        "yes",
        "none",
        "parts",
    ]
    assert cells == [["0.123", "yes", "–", "x: 1, y: –"], ["0", "", "–", "–"]]
    assert "1 more rows are in the report" in table and "more rows" not in str(
        reports.table_view("t", rows[:2])
    )
    told = plain(page)
    assert told.startswith("mine what it asks take one a figure Arms cost is calls") and "study-figure?name=f1.svg" in page  # fmt: skip


def test_an_answer_has_its_score_or_what_became_of_it_and_leads_where_it_was_given() -> None:
    def cell(place: str | None = None, **row: Any) -> str:
        return str(reports._answer({"output": "text", "status": "refused", **row}, lambda _: place))

    assert (
        plain(cell(score=0.0)) == "0.00 text"
        and plain(cell(score=None, why="too long")) == "refused too long text"
    )
    assert 'href="./case?id=1"' in cell("./case?id=1", score=1.0) and "href" not in cell(score=1.0)
    assert plain(reports._answer(None, lambda _: None)) == "not asked" and plain(cell(output="")) == "refused"
    assert "the whole answer" not in cell(output="x" * 600) and "the whole answer" in cell(output="x" * 601)


def asked_about(*names: str) -> Rubric:
    scale = {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}
    attributes = [{"name": name, "question": f"How {name}?", "scale": "five"} for name in names]
    return Rubric.model_validate({"name": "r", "version": 1, "scales": {"five": scale}, "attributes": attributes})  # fmt: skip


def judged(arm: str, juror: str, scores: dict[str, int | None]) -> tuple[Any, Rubric]:
    """A juror's verdict, hung where it has no score, every vote of which quotes "It rained." and nothing else."""
    cast_votes = {name: value for name, value in scores.items() if value is not None}
    heard = transcript_of(
        [cast(juror, cast_votes, rationale=f"So says {juror}.", quotes={"It rained.": "output"})]
    )
    outcomes = {name: outcome(value, why="" if value else "too few") for name, value in scores.items()}
    told = SimpleNamespace(case="c", arm=arm, transcript=heard, outcomes=outcomes, claims=(), derived={})
    return told, asked_about(*scores)


def test_two_arms_differ_on_what_both_were_asked_and_the_furthest_apart_stands_first() -> None:
    one = judged("one", "ann", {"own": 1, "same": 4, "near": 4, "far": 1, "lost": 3})
    two = judged("two", "bob", {"other": 1, "same": 4, "near": 3, "far": 5, "lost": None})
    page = str(
        comparison_view(CaseSearch(), ["one", "two", "three"], Case(id="c", output="It rained."), [one, two])
    )

    assert "one and two differ on 3 of 6 attributes" in plain(page)
    parts = re.findall(r'<details class="(pair[^"]*)"( open)?>\s*<summary>\s*<h2>(\w+)</h2>', page)
    assert [(name, kind == "pair differs", bool(opened)) for kind, opened, name in parts] == [
        *((name, True, True) for name in ("far", "near", "lost")), *((name, False, False) for name in ("same", "own", "other")),
    ]  # fmt: skip
    told = {name: plain(part) for name, part in re.findall(r"<h2>(\w+)</h2>(.*?)(?=<h2>|$)", page, re.S)}
    assert (
        told["far"].index("So says ann.") < told["far"].index("So says bob.")
        and "1 and 5, 4 apart" in told["far"]
    )
    assert "two was not asked" in told["own"] and "one was not asked" in told["other"]
    # Either side's votes have ids of their own, and each quote leads to all of them.
    (votes,) = re.findall(r'<mark data-votes="([^"]+)"', page)
    ids = re.findall(r'<details class="vote" id="([^"]+)"', page)
    assert sorted(votes.split()) == sorted(ids) and len(set(ids)) == 9
    assert re.findall(r'<a href="([^"]+)">((?:read|against) \w+)</a>', page) == [
        ("./case?id=c&amp;in_arm=one", "read one"), ("./case?id=c&amp;in_arm=two", "read two"), ("./compare?id=c&amp;a=one&amp;b=three", "against three"),
    ]  # fmt: skip


def test_of_a_replay_what_differed_first_stands_first_though_its_verdict_is_the_same() -> None:
    before, rubric = judged("mine", "ann", {"calm": 4, "far": 1, "same": 4, "words": 4})
    after, _ = judged("again", "ann", {"calm": 4, "far": 1, "same": 4, "words": 4})
    after.transcript = transcript_of(
        [cast("ann", {"words": 4}, rationale="Anew."), cast("ben", {"same": 2})],
        [cast("ann", {"calm": 4, "far": 1}, rationale="So says ann.")],
        [cast("ann", {"far": 5, "same": 4}, round=2, rationale="So says ann.")],
    )
    after.outcomes["far"] = outcome(5)
    pair = SideBySide("mine", "without cy", before, after)
    page = str(comparison_view(CaseSearch(), (), None, [(before, rubric), (after, rubric)], pair))

    assert re.findall(r"<h2>(calm|far|same|words)</h2>", page) == ["same", "words", "far", "calm"]
    told = unescape(plain(page))
    assert (
        "first difference: round 1, ann, same: 4 became nothing" in told
        and "far: 1 would have been 5" in told
    )
    assert re.findall(r">(read \w+)<", page) == ["read again"]
    rows = re.findall(r'<tr( class="differs")?>(.*?)</tr>', page.partition("By round and seat")[2], re.S)[1:]
    assert [bool(differs) for differs, _ in rows] == [row.differs for row in pair.rows()]
    assert sum("4 (other words)" in row for _, row in rows) == 1


def test_a_list_says_which_rows_it_shows_and_what_of_the_run_it_does_not_cover_yet() -> None:
    read = Reach(60, 60, 60, "")
    rows = [row(case=f"c{n}", number=n, flag_count=0) for n in range(10)]

    def page(search: CaseSearch, shown: list[Row], total: int, reach: Reach = read, **offered: Any) -> str:
        arms: list[Any] = [SimpleNamespace(name=name, rubric=load_rubric(rubric)) for name, rubric in (("arm", "clinical-note"), ("pairs", "preference"))]  # fmt: skip
        return str(cases_view(search, arms, shown, total, FilterValues(**offered), reach))

    assert "51 to 60 of 60" in plain(page(CaseSearch(page=2), rows, 60))
    assert "none of the 60 cases is on this page" in plain(page(CaseSearch(page=9), [], 60))
    assert ">none<" in page(CaseSearch(), [], 0) and "No case matches" in page(CaseSearch(), [], 0)
    told = plain(page(CaseSearch(), rows, 60, Reach(40, 30, 60, "")))
    assert "40 of 60 deliberations have been read so far" in told and "reasons of" not in told
    assert "flags and reasons of 30 of 60 deliberations" in plain(page(CaseSearch(), rows, 60, Reach(60, 30, 60, "")))  # fmt: skip
    assert 'id="unread"' not in page(CaseSearch(), rows, 60)
    whole = page(CaseSearch(arm="pairs", flag="hung", sort="score.accurate"), rows, 60, systems=["m&n"])
    assert re.findall(r'<option value="([^"]*)" selected', whole) == ["pairs", "hung", "score.accurate"]  # fmt: skip
    # A filter asks for the value as it is kept, and shows it as it is read.
    assert {("-1", "A"), ("0", "tie"), ("1", "B"), ("hung", "hung")} <= set(re.findall(r'<option value="([^"]*)">([^<]*)', whole))  # fmt: skip
    assert "m&amp;n" in whole and "all systems" not in page(CaseSearch(), rows, 60)


def test_a_row_says_why_to_look_at_it_and_a_preference_is_a_side_only_where_outputs_were_compared() -> None:
    arms: list[Any] = [SimpleNamespace(name=name, rubric=load_rubric("preference") if compares else RUBRIC) for name, compares in (("pairs", True), ("notes", False))]  # fmt: skip
    outcomes = {"preference": ("reached", -1, "mean"), "accurate": ("reached", 1, "mean")}
    flags = [("hung", 3, "x", "Nobody voted."), ("overruled", 2, "y", "Two were.")]
    rows = [
        row(arm="pairs", outcomes=outcomes, flag_count=None, spread=2.5, tokens=1234),
        row(arm="notes", case="c2", outcomes=outcomes, flag_count=2, flags=flags, cause="too few"),
        row(arm="notes", case="c3", flag_count=0),
    ]
    page = str(
        cases_view(CaseSearch(sort="tokens", page=3), arms, rows, 3, FilterValues(), Reach(3, 3, 3, ""))
    )
    told = [plain(part) for part in page.partition("<tbody>")[2].split('<tr class="row">')[1:]]

    assert [re.search(r"(?:pairs|notes) (\S+) ", each).group(1) for each in told[:2]] == ["A", "-1"]  # type: ignore[union-attr]
    assert "1,234 flags not read yet" in told[0] and "2.5" in told[0]
    assert "hung too few" in told[1] and told[1].index("no verdict") < told[1].index("x Nobody voted.")
    assert "Two were." not in told[1] and "not read" not in told[1] + told[2] and "not asked" in told[2]
    heads = re.findall(r'<th scope="col"[^>]*><a href="([^"]+)">', page)
    assert not any("page=" in head for head in heads), "another order begins at its first page"
    assert "./case?sort=tokens&amp;page=3&amp;id=c2&amp;in_arm=notes" in page


def test_verdicts_of_all_arms_stand_beside_what_each_person_gave_and_their_middle() -> None:
    one, rubric = judged("one", "ann", {"x": 4, "y": None})
    two, _ = judged("two", "bob", {"x": 2})
    people = {"x": {"cy": 1.0, "di": 4.0}, "y": {"di": "not_applicable"}, "tone": {"cy": 5.0}}

    def cells(verdicts: list[Any], given: Any) -> list[list[str]]:
        page = str(side_by_side(CaseSearch(), verdicts, rubric, given))
        return [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", each)] for each in page.split("<tr")[1:]]  # fmt: skip

    assert cells([one, two], people) == [
        ["attribute", "one p", "two p", "people&#x27;s median", "cy", "di"],
        ["x", "4", "2", "2.5", "1", "4"], ["y", "hung too few", "not asked", "–", "–", "n/a"], ["tone", "not asked", "not asked", "5", "5", "–"],
    ]  # fmt: skip
    assert cells([one], {"x": {"cy": 1.0}}) == [["attribute", "one p", "cy"], ["x", "4", "1"], ["y", "hung too few", "–"]]  # fmt: skip
    assert cells([one, two], None)[0] == ["attribute", "one p", "two p"] and cells([one], {}) == cells([one], None) == []  # fmt: skip


def test_minor_flags_are_folded_beside_weightier_ones_and_each_leads_to_what_it_is_about() -> None:
    minor, heavy = (Flag("hung", weight, name, (), entries, 1, f"Of {name}.") for weight, name, entries in ((1, "x", ("2/a",)), (3, "y", ("3/orchestrator",))))  # type: ignore[arg-type]  # fmt: skip
    whole = heavy._replace(attribute="", entries=())

    page = str(_flags([minor, heavy, whole], "p-"))
    assert plain(page.partition("<details>")[2]) == "1 minor flag no verdict x Of x."
    assert re.findall(r'href="([^"]+)"', page) == ["#p-a-y", f"#{vote_id('2/a', 'x', 'p-')}"]
    assert "no verdict the case Of y." in plain(page)
    assert "minor flag" not in str(_flags([minor, minor], "")) and "Of x." in str(_flags([minor], ""))
    assert "Nothing unusual" in str(_flags([], ""))


def test_the_way_from_a_deliberation_leads_to_its_arms_and_its_words_are_copied_whole() -> None:
    search, case = CaseSearch(q="z"), Case(id="c 1", output="It rained.")
    page = str(arm_choice(search, "c 1", "two", ["one", "two", "three"]))
    assert re.findall(r'aria-current="true"[^>]*>(\w+)', page) == ["two"]
    assert "./compare?q=z&amp;id=c+1&amp;a=two&amp;b=one" in page and "compare side" not in str(arm_choice(search, "c", "one", ["one"]))  # fmt: skip
    assert "./graph?q=z&amp;id=c+1&amp;in_arm=two" in page

    verdict: Any = SimpleNamespace(case="c 1", arm="two")
    copied = re.findall(r'data-copy="([^"]*)"', str(copy_buttons("my run", verdict, case)))
    assert [unescape(each) for each in copied] == ["venire show 'my run' 'c 1' --arm two", case.model_dump_json(exclude_defaults=True)]  # fmt: skip
    assert len(re.findall("data-copy=", str(copy_buttons("run", verdict, None)))) == 1

    receipts = [Receipt(calls=("k1", "k2")), Receipt(calls=("k2", "k3"))]
    spoken: Any = SimpleNamespace(transcript=transcript_of([cast(name, {"x": 1}, spent=each) for name, each in zip("ab", receipts, strict=True)]))  # fmt: skip
    assert "--no-prompts" in _told_words(spoken, None)
    assert "Open a line" in _told_words(spoken, dict.fromkeys(("k1", "k2", "k3")))  # type: ignore[arg-type]
    assert "full text of 1 of 3 model calls" in _told_words(spoken, {"k2": None})  # type: ignore[dict-item]


def test_claims_of_either_text_stand_apart_with_their_checks_and_lead_to_the_words_they_rest_on() -> None:
    def claimed(
        name: str, of: str, verdict: str | None, *checks: Check, place: int | None = 0
    ) -> ClaimOutcome:
        claim = Claim(id=name, of=of, text=f"Text of {name}.", quote=f"quote of {name}", start=place, end=place and 5, central=name == "c1")  # fmt: skip
        return ClaimOutcome(claim, verdict, {f"v{n}": check for n, check in enumerate(checks)}, "" if verdict else "a tie")  # type: ignore[arg-type]  # fmt: skip

    found = Check(claim="c1", verdict="supported", evidence=(Quote(text="It rained", exhibit="source"),), rationale="Yes.")  # fmt: skip
    made_up = Check(claim="c2", verdict="not_supported", evidence=(Quote(text="It snowed", exhibit=None),), rationale="No.")  # fmt: skip
    silent = Check(claim="c2", verdict=None, abstained="timeout", detail="too late")
    outcomes = (
        claimed("c1", "output", "supported", found), claimed("c2", "output", None, made_up, silent, place=None),
        claimed("s1", "source", "supported"), claimed("s2", "source", "not_addressed"), claimed("s3", "source", "not_supported"),
    )  # fmt: skip
    verdict: Any = SimpleNamespace(claims=outcomes)
    page = str(claims_section(verdict, "p-", [Rating("c", "ana", "tone", 4.0, rationale="Warm."), Rating("c", "ben", "tone", 2.0)]))  # fmt: skip
    own, _, other = page.partition("Left out or contradicted: 2 of 3 claims of the source")

    assert [re.findall(r'<tr id="p-claim-(\w+)"', part) for part in (own, other)] == [
        ["c1", "c2"],
        ["s2", "s3"],
    ]
    assert "Claims of the output" in own and own.count("central") == 1 and "no verdict a tie" in plain(own)
    assert "v0 supported It rained Yes." in plain(own) and "v1 abstains (timeout) too late" in plain(own)
    assert "v0 not supported It snowed not in the text No." in plain(own) and own.count('<q class="missing">') == 1  # fmt: skip
    assert plain(page).endswith("What people said ana tone 4 Warm. ben tone 2")
    assert [(exhibit, each.vote, each.text) for exhibit, each in claim_citations(verdict, "p-")] == [
        ("output", "p-claim-c1", "quote of c1"), ("source", "p-claim-c1", "It rained"),
        *(("source", f"p-claim-{name}", f"quote of {name}") for name in ("s1", "s2", "s3")),
    ]  # fmt: skip
    assert claims_section(SimpleNamespace(claims=()), "") is None  # type: ignore[arg-type]
    assert "Left out" not in str(claims_section(SimpleNamespace(claims=outcomes[:2]), ""))  # type: ignore[arg-type]


def test_a_revision_has_its_controls_or_the_command_that_makes_them_and_the_one_that_strikes_whom_it_followed() -> None:  # fmt: skip
    heard = transcript_of(
        [cast("a", {"x": 1}), cast("b", {"x": 5})],
        [cast("a", {"x": 5}, round=2, purpose="revision", saw=("1/b",)), cast("b", {"x": 5}, round=2, purpose="revision")],
    )  # fmt: skip
    verdict: Any = SimpleNamespace(transcript=heard, case="c 1", arm="j")
    walked = paths(heard)["x"]

    def commands(juror: str, controls: Any = None, run: str | None = "run") -> list[str]:
        view = Revisions(verdict, run, controls).view(juror, walked[juror][-1], "x")
        return [unescape(each) for each in re.findall(r'data-copy="([^"]*)"', str(view or ""))]

    ask, strike = "venire replay run 'c 1' --arm j --controls --draws 10 -o run-controls", "venire replay run 'c 1' --arm j --without b -o run-without-b"  # fmt: skip
    assert commands("a") == [ask, strike] and commands("b") == [ask]
    assert Revisions(verdict, "run").view("a", walked["a"][0], "x") is None and commands("a", run=None) == []
    known = SimpleNamespace(label="conformity", draws={"alone": 1, "without b": 1}, dots=lambda how: f"<{how}>", times=lambda how: (2, 7))  # fmt: skip
    mine = {("j", "2/a", "x"): known, ("j", "2/b", "x"): known}
    assert commands("a", mine) == [strike]
    assert commands("b", mine) == [strike], "where it followed nobody, it is struck itself"
    assert commands("a", {("other", "2/a", "x"): known, ("j", "2/a", "y"): known}) == [ask, strike]
    shown = str(Revisions(verdict, None, mine).view("a", walked["a"][-1], "x"))  # type: ignore[arg-type]
    assert plain(shown).count("2 of 7") == 4 and "which juror caused the move" in shown and " · conformity" in plain(shown)  # fmt: skip
    assert "postgresql://h/d --" not in str(
        Revisions(verdict, "postgresql://h/d").view("a", walked["a"][-1], "x")
    )


def test_what_was_said_is_told_line_by_line_with_every_call_behind_it() -> None:
    entries = [
        cast("a", {"x": 4, "y": 2}, abstained=("z",), spent=Receipt(calls=("k1", "k2", "gone"), by="server/b")),
        cast("b", {"x": 1}, round=2, purpose="challenge"), cast("b", {"x": 2}, round=2, purpose="revision"), abstained("c", "x", round=2),
        Ledger(round=2, disputes=(Dispute(attribute="x", dispute="The dose.", question="Which?", to=("a", "b")),), author="code", note="A note."),
        Ledger(round=3, disputes=(), author="orchestrator", replan=True),
        Decided(round=3, findings=(Finding(attribute="x", value=3, rationale="Sound.", weighed=("a",)), Finding(attribute="y", value=2, rationale="Alone.", weighed=()))),
        Said(round=3, who="clerk", about="consensus", text="All agree.", spent=Receipt(failures=(FailedTry(at=0.0, seconds=1.5, reason="timeout", detail="no answer"),))),
    ]  # fmt: skip

    def call(**fields: Any) -> RecordedCall:
        known: dict[str, Any] = {"model": "server/a", "settings": "{}", "messages": (("system", "Judge."), ("user", "This.")), "reply": "4", "finish": "stop",
                                 "usage": Usage(prompt=1200, completion=30), "usd": 0.0, "seconds": 0.5}  # fmt: skip
        return RecordedCall(**{**known, **fields})

    calls = {"k1": call(finish="length", usd=None, version="a-1", settings='{"seed": 1}', usage=Usage(prompt=1200, completion=30, cached=1000)), "k2": call(reply="5")}  # fmt: skip
    pages = list(map(str, spoken_lines(transcript_of(entries), calls)))
    told = [plain(page) for page in pages]

    assert told[0].startswith("a round 1, answered by its alternate server/b votes: x 4, y 2; abstains on z (out_of_scale)")  # fmt: skip
    assert "try 1 of 2: every word server/a (a-1) · 1,200 tokens in, 1,000 cached, 30 out · 0.50 s · price unknown · ended: length" in told[0]  # fmt: skip
    assert "try 2 of 2: every word server/a · 1,200 tokens in, 30 out · 0.50 s · $0.0000 system" in told[0]
    assert told[0].count("settings") == 1 and [told[0].count(word) for word in ("system copy Judge.", "reply copy 4", "reply copy 5")] == [2, 1, 1]  # fmt: skip
    assert told[1:4] == ["b round 2 argues against the agreement: x 1", "b round 2 answers: x 2", "c round 2 abstains (unavailable): down"]  # fmt: skip
    assert "so a fixed rule chose the questions) x The dose. Which? to a, b A note." in told[4] and "names what is disputed" in told[4]  # fmt: skip
    assert told[5] == "orchestrator round 3 asks new questions"
    assert told[6] == "orchestrator round 3 decides x 3 Sound. weighed a y 2 Alone. weighed no ballot"
    assert told[7] == "clerk round 3 consensus: All agree. 1 try without a reply 1970-01-01 00:00:00 UTC · timeout: no answer · 1.50 s"  # fmt: skip
    one = plain(*map(str, spoken_lines(transcript_of(entries[:1]), {"k2": calls["k2"]})))
    assert "every word server/a" in one and "try " not in one


def test_who_moved_towards_whom_is_summed_over_attributes_and_a_curve_begins_where_two_had_voted() -> None:
    asked = asked_about("x", "y")
    heard = transcript_of(
        [cast("a", {"x": 1, "y": 1}), cast("b", {"x": 5, "y": 5})],
        [cast("a", {"x": 5, "y": 5}, round=2, purpose="revision", saw=("1/b",), moved_by="b")],
    )  # fmt: skip
    page = str(movement(SimpleNamespace(transcript=heard), asked))  # type: ignore[arg-type]

    assert "Who moved towards whom: a towards b 2.0" in page and "b towards" not in page
    assert {f"Spread of {name}, round 1: 1.00, round 2: 0.00" for name in "xy"} <= set(re.findall(r"Spread of \w, round 1[^<\"]*", page))  # fmt: skip
    assert "x in round 2: the median went from 3 to 5 and the jury agreed, by a (1 → 5)" in plain(page)
    alone = transcript_of([cast("a", {"x": 1})], [cast("a", {"x": 1}, round=2, purpose="revision")])
    assert plain(movement(SimpleNamespace(transcript=alone), asked)) == "Nobody moved."  # type: ignore[arg-type]
    assert plain(movement(SimpleNamespace(transcript=heard), asked_about("z"))).count("Spread of") == 0  # type: ignore[arg-type]


def test_a_deliberation_in_progress_shows_what_stands_and_leads_to_itself() -> None:
    heard = transcript_of([cast("a", {"x": 1, "y": 3}), cast("b", {"x": 5})], [cast("a", {"x": 4}, round=2, purpose="revision")], seats=("a", "b", "c"))  # fmt: skip
    asked: Any = SimpleNamespace(id=7, name="mine", rubric=asked_about("x", "y"))
    going = UnfinishedDeliberation(7, "c 1", "f", 0.0, heard)

    page = str(progress_view(going, asked, None))
    cells = [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", each)] for each in page.partition("<table>")[2].partition("</table>")[0].split("<tr")[1:]]  # fmt: skip
    assert cells == [["attribute", "a", "b", "c"], ["x", "4", "5", ""], ["y", "3", "", ""]]
    assert "round 2, 3 juror turns; a spoke last" in page and "case&#x27;s texts" not in page
    assert "It rained." in str(progress_view(going, asked, Case(id="c 1", output="It rained.")))
    before = going._replace(transcript=transcript_of())
    section = str(progress_section([going, going._replace(arm=8), before], [asked]))
    assert re.findall(r'href="([^"]+)"', section) == ["./case?id=c+1&amp;in_arm=mine"] * 2
    assert "mine · round 1, 0 juror turns<" in section
    assert "In progress" not in str(progress_section([going._replace(arm=8)], [asked]))


def test_scores_lead_to_their_cases_lowest_first_and_systems_of_pairs_have_none() -> None:
    plain_arm, pairs = (SimpleNamespace(name=name, rubric=rubric) for name, rubric in (("notes", asked_about("x", "y")), ("pairs", load_rubric("preference"))))  # fmt: skip
    sums = {("notes", system, "x", what): pair for system, total in (("m", 2.0), ("n", 4.0)) for what, pair in (("reached", (1, total)), (str(int(total)), (1, 0.0)))}  # fmt: skip
    sums |= {("pairs", "m", "preference", what): (1, 0.0) for what in ("reached", "-1")} | {("notes", "n", "x", "hung"): (1200, 0.0)}  # fmt: skip
    page = str(scores_section([plain_arm, pairs], ScoreCounts(sums)))  # type: ignore[list-item]
    whole, _, by_system = page.partition("By system: 2 systems")

    assert re.findall(r'class="mean" href="([^"]+)"[^>]*>([^<]+)', whole) == [
        ("./cases?arm=notes&amp;sort=score.x&amp;up=1", "3.00"), ("./cases?arm=pairs&amp;sort=score.preference&amp;up=1", "–"),
    ]  # fmt: skip
    assert re.findall(r'class="mean" href="([^"]+)"[^>]*>([^<]+)', by_system) == [
        (f"./cases?arm=notes&amp;system={system}&amp;sort=score.x&amp;up=1", mean) for system, mean in (("m", "2.00"), ("n", "4.00"))
    ]  # fmt: skip
    assert re.findall(r'<th scope="row"><a href="([^"]+)"', by_system) == ["./cases?arm=notes&amp;system=m", "./cases?arm=notes&amp;system=n"]  # fmt: skip
    assert "1,200 hung" in whole and "A: 1" in whole
    # Of an arm that was not asked, there is no number.
    assert whole.count('<span class="quiet">–</span>') == 2 and "There are no scores yet" in str(scores_section([], ScoreCounts()))  # fmt: skip


def test_differences_lead_to_their_attribute_and_all_of_them_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [Difference("c 1", "j", "x", 4.0, 1.5), Difference("c2", "j", "x", 2.0, 2.5)]
    page = str(differences_section(found, 1200))
    assert "./case?id=c+1&amp;in_arm=j#a-x" in page and "x 4, people 1.5: +2.5" in plain(page)
    assert "all 1,200 scores" in page and "all 2 scores" not in str(differences_section(found, 2))
    assert "is being read" in str(differences_section([], 0, reading=True)) and "No score of this run" in str(differences_section([], 0))  # fmt: skip

    monkeypatch.setattr(people_page, "PLOTS", 1)
    people = People(
        [
            Rating(
                "c 1",
                "ana",
                "x",
                1.5,
            ),
            Rating("c2", "ana", "x", 2.5),
        ],
        notes=("a note",),
    )
    counts = {("b", 1.5, 4.0): 1, ("a", 2.0, 2.0): 3, ("a", 2.0, 3.0): 1}
    arms: list[Any] = [SimpleNamespace(name=name, rubric=asked_about("x")) for name in "ab"]
    told = plain(people_view(CaseSearch(sort="apart"), arms, found, counts, people))
    assert "5 scores with people" in told and "a note" in told
    assert "a : 4 scores, 75% equal, mean difference +0.25" in told and "b :" not in told
    assert "The first 1 of 2 arms are drawn." in told and "ana 1.5" in told


def test_brief_texts_stand_above_what_was_said_of_them_and_long_ones_beside_it() -> None:
    verdict, asked = judged("mine", "ann", {"x": 4})
    verdict.stop = Stop(reason="complete")

    def room(output: str | None) -> str:
        page = str(deliberation_view(verdict, asked, output and Case(id="c", output=output), ()))  # type: ignore[arg-type]  # fmt: skip
        assert "1 round · 1 turn · 0 tokens" in page and "stopped: complete" in page
        return (
            "brief"
            if 'class="room brief"' in page and page.index("<aside") < page.index('class="bench"')
            else "beside"
        )

    assert [room("z" * BRIEF), room("z" * (BRIEF + 1)), room(None)] == ["brief", "beside", "brief"]


def test_an_attribute_stands_with_its_own_flags_alone() -> None:
    verdict, asked = judged("mine", "ann", {"x": 4, "y": 2})
    flags = [flag("hung", 2, "x"), flag("overruled", 3, "y")]
    pages = [str(attribute_section(verdict, asked, Lanes(verdict, asked), name, flags)) for name in "xy"]

    assert [(page.count("hung x"), page.count("overruled y")) for page in pages] == [(1, 0), (0, 1)]
