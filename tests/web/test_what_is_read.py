"""What the inspector reads for its pages, without a server: from the record, from reports beside it, and of what is still computed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from planted_run import RUBRIC
from written_transcripts import abstained, cast, transcript_of, written_run

from venire import Case, Store, VenireError
from venire.agents.desk import SeatedPerson
from venire.agents.orchestrator import Dispute, Finding
from venire.evals import suites
from venire.orchestration.transcript import Decided, Ledger, Said
from venire.rubrics.ratings import Rating
from venire.web import deliberation_reader, folder, server, standalone, summaries
from venire.web.deliberation_reader import DeliberationReader, NotThere, Recounter
from venire.web.people import jury_worth, people_of_run
from venire.web.reports import ReportReader, record_of, suite_folder
from venire.web.search import CaseSearch
from venire.web.server import Inspector

CASES = [Case(id=name, output=f"Text of {name}.", group=f"ward {name}", system="m") for name in "abc"]


def votes(*cases: str) -> dict[str, Any]:
    return {case.id: {"x": dict.fromkeys(RUBRIC.names, 4), "y": dict.fromkeys(RUBRIC.names, 2)} if case.id in cases else {"x": {}} for case in CASES}  # fmt: skip


def test_no_page_of_a_sealed_case_is_read_and_the_other_arms_are_those_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.read(
        written_run(tmp_path / "run", RUBRIC, CASES, {"one": votes("a", "b"), "two": votes("a")})
    )
    reader = DeliberationReader(store)
    try:
        assert reader.arms_of("a") == ["one", "two"]
        read = reader.read("a", "two")
        assert (read.verdict.arm, [other.arm for other in read.others], read.arm.name) == (
            "two",
            ["one"],
            "two",
        )
        for case, arm in (("nowhere", "one"), ("a", "three")):
            with pytest.raises(NotThere, match="holds no such"):
                reader.read(case, arm)
        monkeypatch.setattr(deliberation_reader, "sealed_cases", lambda store: {"a": 1})
        with pytest.raises(NotThere, match="its votes are hidden"):
            reader.arms_of("a")
        with pytest.raises(NotThere):
            reader.read("a", "one")
        assert reader.read("b", "one").verdict.case == "b"
    finally:
        store.release()


def test_what_a_rule_learned_is_learned_again_only_of_a_run_that_grew_and_not_before_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, learned = {"now": 100.0, "last": 5}, list[str]()

    def learn(store: Any, arm: Any) -> Any:
        learned.append(arm.name)
        return None if arm.name == "plain" else f"count {len(learned)}"

    monkeypatch.setattr(deliberation_reader, "learned_count", learn)
    monkeypatch.setattr(deliberation_reader, "time", SimpleNamespace(monotonic=lambda: clock["now"]))
    recounter = Recounter(SimpleNamespace(last_finished=lambda: clock["last"]))  # type: ignore[arg-type]
    arms: list[Any] = [
        SimpleNamespace(id=number, name=name) for number, name in enumerate(("mine", "plain", "other"))
    ]
    assert [recounter._count(arm) for arm in arms] == ["count 1", None, "count 3"]
    for now, last, expected in ((159.0, 9, "count 1"), (161.0, 5, "count 1"), (161.0, 9, "count 4"), (220.0, 12, "count 4")):  # fmt: skip
        clock.update(now=now, last=last)
        assert recounter._count(arms[0]) == expected
        assert recounter._count(arms[1]) is None
    assert learned == ["mine", "plain", "other", "mine"], "a rule that learns nothing is asked once"


def test_every_reason_can_be_searched_for_and_a_derived_score_sorted_by() -> None:
    heard = transcript_of(
        [cast("a", {"x": 1, "y": 2}, rationale="The dose."), abstained("b", "x")],
        [Ledger(round=2, disputes=(Dispute(attribute="x", dispute="Which fever?", question="On Monday?", to=("a",)),), author="code")],
        [Said(round=2, who="clerk", about="silence", text="not a reason")],
        [Decided(round=2, findings=(Finding(attribute="x", value=1, rationale="Sound.", weighed=()),))],
    )  # fmt: skip
    verdict: Any = SimpleNamespace(transcript=heard, outcomes={"x": SimpleNamespace(status="reached", value=2, method="mean"), "hue": SimpleNamespace(status="reached", value="red", method="mode"),
                                   "y": SimpleNamespace(status="hung", value=None, method="")}, derived={"whole": 2.5})  # fmt: skip
    assert summaries._reasons(verdict).split("\n") == ["The dose.", "The dose.", "down", "Which fever? On Monday?", "Sound."]  # fmt: skip
    assert [(row.attribute, row.status, row.value, row.number, row.method) for row in summaries._scores(verdict)] == [
        ("x", "reached", "2", 2.0, "mean"), ("hue", "reached", '"red"', None, "mode"), ("y", "hung", None, None, ""), ("whole", "reached", "2.5", 2.5, "derived"),
    ]  # fmt: skip


def test_a_row_is_found_by_its_group_system_and_question_and_a_pair_is_titled_by_its_question() -> None:
    hung = {name: SimpleNamespace(status="hung", why=name * 500, spread=None) for name in "xy"}
    verdict: Any = SimpleNamespace(case="c", outcomes=hung, transcript=transcript_of([cast("a", {"x": 1})]), stop=SimpleNamespace(reason="complete"))  # fmt: skip
    arm: Any = SimpleNamespace(id=3, name="j")

    def row(**fields: Any) -> Any:
        return summaries._row(
            9, arm, verdict, Case(id="c", output="It  rained.\nIt\tsnowed. " + "z" * 300, **fields)
        )

    whole = row(group="ward 1", system="m", question="Why?")
    assert (whole.about, whole.group, whole.system) == ("ward 1 m Why?", "ward 1", "m")
    assert whole.title.startswith("It rained. It snowed. z") and len(whole.title) == 160
    pair = Case.from_row({"id": "c", "output_a": "It rained.", "output_b": "It hailed.", "question": "Why?"})
    assert summaries._row(9, arm, verdict, pair).title == "Why?"
    assert (whole.hung, whole.cause, whole.number, whole.arm, whole.arm_name) == (2, "x" * 400, 9, 3, "j")
    nothing = summaries._row(9, arm, verdict, None)
    assert (nothing.title, nothing.about, nothing.group, nothing.system) == ("", "", "", "")


def test_people_are_kept_of_cases_that_a_run_in_progress_may_still_hear_and_of_attributes_nobody_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = written_run(tmp_path / "run", RUBRIC, CASES[:2], {"one": votes("a", "b")})
    ratings = [
        Rating(case, "ana", name, 4.0) for case in ("a", "b", "later") for name in ("accurate", "tone")
    ]

    def kept() -> list[tuple[str, str]]:
        people = people_of_run(run, ratings)
        assert "shown only on the pages of cases: tone" in people.notes[-1]
        return [(case, rating.attribute) for case in people.cases for rating in people.ratings_of(case)]

    both = [(case, name) for case in "ab" for name in ("accurate", "tone")]
    assert kept() == both
    monkeypatch.setattr("venire.evals.ratings.evidence.is_unfinished", lambda store: True)
    assert kept() == [*both, ("later", "accurate"), ("later", "tone")]


def test_a_judge_alone_is_worth_no_more_votes_than_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = {case.id: {"x": dict.fromkeys(RUBRIC.names, 4)} for case in CASES}
    run = written_run(tmp_path / "run", RUBRIC, CASES, {"judge": alone, "panel": votes("a", "b", "c")})
    seen = list[str]()
    monkeypatch.setattr("venire.evals.ratings.run_tables.RoundVotes.add", lambda self, arm, verdict: seen.append(f"{arm.name} {verdict.case}"))  # fmt: skip
    monkeypatch.setattr("venire.evals.audits.independence.independence_section", lambda *args: None)
    monkeypatch.setattr(
        "venire.evals.comparison.deliberation.deliberation_section", lambda *args, **named: None
    )
    monkeypatch.setattr("venire.evals.ratings.run_tables.RoundVotes.table", lambda self: None)
    people = people_of_run(run, [Rating(case, "ana", "accurate", 4.0) for case in "ab"])

    assert jury_worth(run, people) == (None, None) and seen == ["panel a", "panel b"]


def test_a_report_is_read_by_the_names_it_has_and_a_suites_verdicts_come_before_its_answers(
    tmp_path: Path,
) -> None:
    (tmp_path / "r/figures").mkdir(parents=True)
    (tmp_path / "r/figures/one.svg").write_text("<svg/>")
    (tmp_path / "secret.svg").write_text("secret")
    reader = ReportReader(tmp_path, "mark", "r", "d.json")
    assert reader.figure("one.svg") == b"<svg/>" and reader.figure("../../secret.svg") is None
    assert not reader.there and reader.document() is None
    (tmp_path / "mark").write_text("")
    assert reader.there
    for text, found in (("[1]", None), ("{", None), ('{"a": 1}', {"a": 1})):
        (tmp_path / "r/d.json").write_text(text)
        assert reader.document() == found
    nobody = ReportReader(None, "mark", "r", "d.json")
    assert (nobody.there, nobody.document(), nobody.figure("one.svg"), nobody.rows("x")) == (
        False,
        None,
        None,
        [],
    )

    suite = tmp_path / "suite"
    suite.mkdir()
    assert suite_folder(suite) is None and record_of(suite) == suite
    (suite / suites.MARK).write_text("")
    with pytest.raises(VenireError, match="asked no model and no jury"):
        record_of(suite)
    for name in (suites.ANSWERS, suites.VERDICTS):
        written_run(suite / name, RUBRIC, [], {})
        assert record_of(suite) == suite / name
    assert suite_folder(suite / suites.ANSWERS) == suite == suite_folder(suite)
    assert suite_folder(suite / "other") is None and suite_folder("postgresql://h/d") is None


def test_a_folder_lists_runs_in_it_and_in_folders_of_it_and_is_none_itself(tmp_path: Path) -> None:
    for place in ("one", "one/replay", "deep/two", "deep/er/three", "suite/verdicts"):
        written_run(tmp_path / place, RUBRIC, [], {})
    (tmp_path / "suite" / suites.MARK).write_text("")
    assert folder.runs_in(tmp_path) == [
        tmp_path / name for name in ("deep/two", "one", "one/replay", "suite")
    ]
    assert folder.runs_in(tmp_path / "one") == folder.runs_in(tmp_path / "suite") == folder.runs_in(tmp_path / "gone") == []  # fmt: skip


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("cases", "cases"), ("cases?page=2", "cases?page=2"), ("cases?flag=hung", None), ("cases?page=2&sort=cost", None), ("people", "people"), ("", ""),
        ("case?q=z&id=c+1&in_arm=j&page=3", "case?id=c+1&in_arm=j"), ("compare?b=2&id=c&a=1&sort=cost", "compare?id=c&a=1&b=2"), ("overview?x=1", "overview"),
    ],
)  # fmt: skip
def test_a_file_of_a_site_is_a_page_whatever_search_led_there(address: str, page: str | None) -> None:
    assert standalone.page_of(address) == page


def test_files_of_a_site_are_told_apart_by_what_they_show() -> None:
    names = [standalone._file_name(page) for page in ("case?id=a", "case?id=b", "people", "study-figure?name=f.svg", "static/x.css")]  # fmt: skip
    assert names[2::2] == ["people.html", "static/x.css"] and len(set(names)) == 5
    assert [Path(name).suffix for name in names] == [".html", ".html", ".html", ".svg", ".css"]


def inspector(**fields: Any) -> Any:
    """An inspector of which only this is there."""
    made = Inspector.__new__(Inspector)
    vars(made).update(fields)
    return made


@pytest.mark.parametrize(
    ("section", "known", "effects", "working"),
    [
        (None, None, [], False), (None, (5, 0), None, False), (None, (3, 0), None, True), (None, (5, 5), ["said"], False), (None, (3, 3), ["said"], True),
        ({"sentences": ["of the study"]}, (5, 5), ["of the study"], False), ({}, None, [], False),
    ],
)  # fmt: skip
def test_what_deliberation_did_is_the_studys_or_peoples_or_still_computed(
    section: Any, known: Any, effects: Any, working: bool
) -> None:
    figures = known and SimpleNamespace(
        scored=known[0], told_of=known[1], effects=["said"] if known[1] else []
    )
    made = inspector(
        differences=known and SimpleNamespace(statistics=lambda: figures), index=SimpleNamespace(read_to=SimpleNamespace(scored=5)),
        study=SimpleNamespace(document=lambda: None if section is None else {"sections": {"deliberation": section}}),
    )  # fmt: skip
    assert made._deliberation_effects() == (effects, working)


@pytest.mark.parametrize(
    ("failed", "told_of", "words"),
    [(False, 0, "is being computed"), (False, 4, "More cases have been judged"), (False, 5, None), (True, 5, "The command venire winrate RUN says why")],
)  # fmt: skip
def test_figures_that_are_not_of_every_case_say_so(failed: bool, told_of: int, words: str | None) -> None:
    made = inspector(_figures_worker=SimpleNamespace(failed=failed), index=SimpleNamespace(read_to=SimpleNamespace(scored=5)))  # fmt: skip
    note = made._figures_note(told_of, "The comparison", "venire winrate RUN")
    assert note is None if words is None else words in str(note)


def test_an_answer_on_a_board_leads_to_what_judged_it_or_else_to_where_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = list[Any]()
    rows = [{"scenario": "s", "judged": judged, "asked": "q", "arm": arm} for judged, arm in (("v", "two"), ("v", "gone"), ("new", "two"), ("new", "gone"))]  # fmt: skip
    rows.append({**rows[0], "scenario": "other"})

    def view(name: str, system: str, shown: Any, page: int, place: Any) -> str:
        places.extend(map(place, shown))
        return ""

    heard = {"v": ["one", "two"], "q": ["two"]}
    monkeypatch.setattr(server, "scenario_view", view)
    made = inspector(
        board=SimpleNamespace(rows=lambda name: rows), finder=lambda: SimpleNamespace(arms_by_case=lambda cases: {case: heard[case] for case in cases if case in heard}),
        _page=lambda *args: None,
    )  # fmt: skip
    asyncio.run(made._scenario(SimpleNamespace(query={"name": "s"})))
    assert places == ["./case?id=v&in_arm=two", "./case?id=v&in_arm=one", "./case?id=q&in_arm=two", None]
    with pytest.raises(NotThere, match="no such scenario"):
        asyncio.run(made._scenario(SimpleNamespace(query={"name": "nothing"})))


def test_a_case_in_progress_is_that_of_the_arm_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "progress_view", lambda going, arm, case: (going.case, arm.name, case))
    going = [SimpleNamespace(case=case, arm=arm, fingerprint=f"{case}{arm}") for case, arm in (("c", 9), ("c", 1), ("c", 2), ("d", 1))]  # fmt: skip
    arms = [SimpleNamespace(id=1, name="one"), SimpleNamespace(id=2, name="two")]
    store = SimpleNamespace(unfinished_deliberations=lambda most: going, case=lambda case, mark: mark)
    made = inspector(store=store, reader=SimpleNamespace(arms=lambda: arms), _page=lambda title, here, search, main: (here, main))  # fmt: skip

    def shown(case: str, arm: str | None) -> Any:
        return made._case_in_progress(CaseSearch(), case, arm)

    assert shown("c", None) == ("progress", ("c", "one", "c1")) and shown("c", "two") == ("progress", ("c", "two", "c2"))  # fmt: skip
    assert shown("d", "two") is None and shown("e", None) is None


def test_two_arms_are_compared_in_the_order_asked_for_or_the_first_with_another(monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(server, "comparison_view", lambda search, arms, case, sides: [verdict for verdict, _ in sides])  # fmt: skip
    arms = ["one", "two", "three"]
    reader = SimpleNamespace(arms_of=lambda case: arms, read=lambda case, arm: SimpleNamespace(verdict=arm, rubric=None))  # fmt: skip
    made = inspector(reader=reader, store=SimpleNamespace(case=lambda case: None), _page=lambda title, here, search, main: main)  # fmt: skip

    def compared(**query: str) -> list[str]:
        shown: list[str] = asyncio.run(made._compare(SimpleNamespace(query={"id": "c", **query})))
        return shown

    assert compared() == ["one", "two"] and compared(a="two") == ["two", "one"]
    assert compared(a="three", b="one") == ["three", "one"] and compared(b="one") == ["one", "one"]


def test_the_runs_of_a_folder_stand_the_newest_first_and_one_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = {"a": 5.0, "b": 9.0, "c": None}

    def opened(run: Path, *, token: str, around: Any) -> Any:
        if run.name == "bad":
            raise VenireError("the record is damaged", remedy="restore it")
        return SimpleNamespace(name=run.name)

    monkeypatch.setattr(folder, "runs_in", lambda place: [place / name for name in (*written, "bad")])
    monkeypatch.setattr(folder, "Inspector", opened)
    monkeypatch.setattr(folder, "_last_written", lambda run: written[run.name])
    shown: Any = folder.FolderInspector(tmp_path)
    assert [(number, run.name) for number, run in shown._inspectors.items()] == [
        ("2", "b"),
        ("1", "a"),
        ("3", "c"),
    ]
    assert [words.partition("\n")[0] for words in shown._unread] == ["the record is damaged"]


def test_a_case_of_two_runs_is_read_of_either_in_the_order_that_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def side(number: str) -> Any:
        store = SimpleNamespace(case=lambda case: f"{case} of {number}")
        return SimpleNamespace(
            number=number, key=f"{number}/j", arm=SimpleNamespace(name="j"), judged_by=lambda: number, inspector=SimpleNamespace(store=store),
            read=lambda case: SimpleNamespace(verdict=f"verdict {number}", rubric=f"rubric {number}"),
        )  # fmt: skip

    monkeypatch.setattr(
        folder, "comparison_view", lambda search, arms, case, sides, way: (case, sides, str(way))
    )
    shown: Any = folder.FolderInspector.__new__(folder.FolderInspector)
    shown._sides = lambda: {f"{number}/j": side(number) for number in "12"}
    shown._page = lambda title, here, main: (title, main)

    def beside(**query: str) -> Any:
        return asyncio.run(shown._beside(SimpleNamespace(query=query)))

    title, (case, sides, way) = beside(a="2/j", b="1/j", id="c 1")
    assert (title, case) == ("c 1", "c 1 of 2") and sides == [
        ("verdict 2", "rubric 2"),
        ("verdict 1", "rubric 1"),
    ]
    assert way.index("./2/case?id=c+1&amp;in_arm=j") < way.index("./1/case?id=c+1&amp;in_arm=j")
    with pytest.raises(NotThere, match="no such jury"):
        beside(a="2/j", b="3/j")


def test_the_overview_names_twelve_cases_and_only_those_people_for_whom_a_ballot_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = list[Any]()
    monkeypatch.setattr(server, "overview", lambda name, arms, censuses, counts, looks, *rest, **more: given.append((name, looks, rest, more)))  # fmt: skip
    monkeypatch.setattr(server, "seated_people", lambda run: [SeatedPerson("ann", 2, 0, 0.0), SeatedPerson("bob", 0, 3, 60.0)])  # fmt: skip
    monkeypatch.setattr(server, "progress_section", lambda going, arms: going)
    asked = list[CaseSearch]()

    def find(search: CaseSearch) -> tuple[list[int], int]:
        asked.append(search)
        return list(range(50)), 90

    made = inspector(
        _name="run", _location="run", reader=SimpleNamespace(arms=list), finder=lambda: SimpleNamespace(find=find), index=SimpleNamespace(score_counts=len, censuses=len),
        _reach=lambda: "reach", differences=SimpleNamespace(largest=lambda most: [most]), _deliberation_effects=lambda: (["said"], True),
        store=SimpleNamespace(unfinished_deliberations=lambda most: f"{most} at most"),
    )  # fmt: skip
    notes, _ = asyncio.run(made._overview(None))

    ((name, looks, rest, more),) = given
    assert (name, looks, asked) == ("run", list(range(12)), [CaseSearch(flag="any")])
    assert rest == ("reach", [8], ["said"]) and more == {"working": True, "going": "12 at most"}
    assert "2 ballots wait for ann" in str(notes) and "bob" not in str(notes)


@pytest.mark.parametrize("redacted", [False, True])
@pytest.mark.parametrize("prompts", [False, True])
def test_the_page_of_a_case_has_the_words_that_the_record_holds_and_that_may_be_shown(
    monkeypatch: pytest.MonkeyPatch, redacted: bool, prompts: bool
) -> None:
    shown, copied, revised = dict[str, Any](), list[Any](), list[Any]()
    verdict = SimpleNamespace(case="c", transcript="transcript")
    read = SimpleNamespace(verdict=verdict, rubric="rubric", flags=("flag",), arm="arm", others=("other",))
    asked = list[tuple[str, str]]()

    def view(*args: Any, **named: Any) -> str:
        shown.update(named, args=args)
        return "main"

    def of(case: str, arm: str) -> Any:
        asked.append((case, arm))
        return read

    for name, stub in {
        "neighbours": lambda *args: "", "arm_choice": lambda *args: "", "copy_buttons": lambda *args: copied.append(args), "beside_parent": lambda *args: None, "deliberation_view": view,
        "side_by_side": lambda *args: args[1:], "judges_line": lambda *args: "judges", "Revisions": lambda *args: revised.append(args), "fragment": lambda *parts: parts,
    }.items():  # fmt: skip
        monkeypatch.setattr(server, name, stub)
    made = inspector(
        _prompts=prompts, _controls=None, people=SimpleNamespace(of=lambda case: f"of {case}", ratings_of=lambda case: f"ratings of {case}"), _case_in_progress=lambda *args: None,
        store=SimpleNamespace(name="run", redacted=redacted, case=lambda case: "whole case"), finder=lambda: SimpleNamespace(neighbours=lambda *args: (None, None)),
        reader=SimpleNamespace(arms_of=lambda case: ["first", "second"], read=of, calls=lambda verdict: "calls"), _page=lambda *args: args,
    )  # fmt: skip
    asyncio.run(made._case(SimpleNamespace(query={"id": "c"})))
    asyncio.run(made._case(SimpleNamespace(query={"id": "c", "in_arm": "second"})))

    assert asked == [("c", "first"), ("c", "second")]
    assert copied == [("run", verdict, None if redacted else "whole case")] * 2
    assert revised == [(verdict, None if redacted else "run")] * 2, "a redacted run cannot be replayed"
    assert (shown["calls"], shown["people"], shown["judges"]) == (
        "calls" if prompts else None,
        "ratings of c",
        "judges",
    )
    assert shown["beside"] == (None, ([verdict, "other"], "rubric", "of c")) and shown["args"][2:] == ("whole case", ("flag",))  # fmt: skip


def test_a_replay_stands_after_what_it_replays_and_a_case_that_replays_nothing_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = SimpleNamespace(before="before", after="after", change="without b")
    monkeypatch.setattr(
        server, "comparison_view", lambda search, arms, case, sides, pair: (case, sides, pair)
    )
    monkeypatch.setattr(
        server, "beside_parent", lambda store, verdict: pair if verdict == "c in again" else None
    )
    reader = SimpleNamespace(
        read=lambda case, arm: SimpleNamespace(verdict=f"{case} in {arm}", rubric="rubric")
    )
    made = inspector(reader=reader, store=SimpleNamespace(case=lambda case: f"text of {case}"), _page=lambda title, here, search, main: (title, main))  # fmt: skip
    title, shown = asyncio.run(made._beside_parent(SimpleNamespace(query={"id": "c", "in_arm": "again"})))
    assert title == "c: without b" and shown == (
        "text of c",
        [("before", "rubric"), ("after", "rubric")],
        pair,
    )
    with pytest.raises(NotThere, match="is not a replay"):
        asyncio.run(made._beside_parent(SimpleNamespace(query={"id": "c", "in_arm": "mine"})))


@pytest.mark.parametrize(("scored", "reading"), [(3, True), (5, False)])
def test_the_page_of_people_has_what_its_address_asks_for_and_says_while_more_is_to_come(
    monkeypatch: pytest.MonkeyPatch, scored: int, reading: bool
) -> None:
    searched, shown = list[CaseSearch](), dict[str, Any]()

    def find(search: CaseSearch) -> tuple[str, str]:
        searched.append(search)
        return "rows", "counts"

    def view(*args: Any, **named: Any) -> str:
        shown.update(named, args=args[2:])
        return ""

    monkeypatch.setattr(server, "people_view", view)
    known = SimpleNamespace(scored=scored, told_of=5, worth=None)
    made = inspector(
        people="people", differences=SimpleNamespace(statistics=lambda: known, find=find), index=SimpleNamespace(read_to=SimpleNamespace(scored=5)),
        reader=SimpleNamespace(arms=list), _figures_worker=None,
    )  # fmt: skip
    asyncio.run(made._people(SimpleNamespace(query={"arm": "j", "sort": "case", "page": "2"})))
    assert searched == [CaseSearch(arm="j", sort="case", page=2)]
    assert shown == {"args": ("rows", "counts", "people"), "reading": reading}
    asyncio.run(made._people(SimpleNamespace(query={"sort": "cost"})))
    assert searched[1] == CaseSearch(sort="apart")
