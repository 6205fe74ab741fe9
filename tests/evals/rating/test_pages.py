"""What a rater, a person who sits and the coordinator find on their pages, without a browser."""

from __future__ import annotations

import re
from typing import Any

import pytest

from venire import Rubric, load_rubric
from venire.agents.desk import Answers, DeskTask, HeardVote, TaskSheet
from venire.evals.rating.pages import PersonProgress, coordinator_page, done_page, task_page
from venire.rubrics.ballot import Vote
from venire.rubrics.case import Exhibit

RUBRIC = Rubric.model_validate(
    {
        "name": "notes",
        "version": 1,
        "scales": {
            "two": {"level": "ordinal", "anchors": {3: "Poor", 5: "Good"}},
            "kind": {"level": "nominal", "anchors": {"dose": "A wrong dose", "other": "other"}},
            "share": {"level": "interval", "minimum": 0, "maximum": 1},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "two"},
            {"name": "fault", "question": "Which?", "scale": "kind", "may_not_apply": True, "asked_if": {"accurate": 3}},
            {"name": "part", "question": "How much?", "scale": "share"},
        ],
    }
)  # fmt: skip
PARTS = {name: {"score": {}, "rationale": {}} for name in RUBRIC.names}
EXHIBITS = (Exhibit(name="source", text="<b>Note</b>"), Exhibit(name="output", text="Text."))


def page(answers: Answers | None = None, *, rubric: Rubric = RUBRIC, at: int = 0, done: float | None = None, **sheet: Any) -> str:  # fmt: skip
    given: dict[str, Any] = {"case": "c", "rubric": "h", "exhibits": EXHIBITS, "asked": rubric.names, "parts": PARTS, **sheet}  # fmt: skip
    task = DeskTask(1, "ann", "c", at, done, None)
    return task_page(task, TaskSheet(**given), rubric, answers or {}, PersonProgress("ann", 1, 3), "t")


def choices(html: str, name: str) -> list[tuple[str, str, bool, str, str]]:
    """Of each answer to choose: its value, its key, whether it is chosen, and the key and the words beside it."""
    found = []
    for label in re.findall(rf'<label class="choice"><input type="radio" name="{name}".*?</label>', html):
        value, key = (re.search(f'{part}="([^"]*)"', label) for part in (" value", "data-key"))
        shown = re.search(r"<kbd[^>]*>(.*?)</kbd>", label)
        assert value is not None and key is not None
        words = " ".join(re.findall(r"<span[^>]*>([^<]+)</span>", label))
        found.append((value[1].replace("&quot;", '"'), key[1], " checked" in label, shown[1] if shown else "", words))  # fmt: skip
    return found


def test_a_form_has_the_scales_answers_with_their_keys_and_what_was_answered() -> None:
    html = page({"accurate": {"score": 3}, "fault": {"score": "not_applicable"}, "part": {"score": 0.0, "rationale": "so"}})  # fmt: skip

    assert choices(html, "accurate") == [("3", "3", True, "", "3 Poor"), ("5", "5", False, "", "5 Good")]
    assert choices(html, "fault") == [('"dose"', "1", False, "1", "dose A wrong dose"), ('"other"', "2", False, "2", "other"), ('"not_applicable"', "x", True, "x", "Does not apply")]  # fmt: skip
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["The text to judge", "Source"]
    pairs = load_rubric("preference")
    (name,) = pairs.names
    compared = page(rubric=pairs, asked=pairs.names, parts={name: {"score": {}}})
    # Of two outputs the values say nothing to a reader, and are not shown.
    assert [(value, key, shown, words[:6]) for value, key, _, shown, words in choices(compared, name)] == [("-1", "1", "1", "Output"), ("0", "2", "2", "Neithe"), ("1", "3", "3", "Output")]  # fmt: skip
    number = re.search(r'<input type="number"[^>]*>', html)
    assert number is not None and {'min="0.0"', 'max="1.0"', 'value="0.0"'} <= {*re.findall(r'\w+="[^"]*"', number[0])}  # fmt: skip
    assert [bool(each) for each in re.findall(r'<details class="note"( open)?', html)] == [False, False, True]
    hidden = dict(re.findall(r'id="q-(\w+)"[^>]*?( hidden)?>', html))
    assert hidden == {"accurate": "", "fault": "", "part": ""}
    assert re.search(r'id="q-fault"[^>]* hidden>', page({"accurate": {"score": 5}}))


def vote(name: str, value: Any, why: str) -> Vote:
    return Vote.model_validate({"attribute": name, "value": value, "rationale": why})


def test_who_sits_reads_the_others_by_question_and_her_own_words_once_they_have_answered() -> None:
    assert "Read, then rate" in (alone := page()) and "Next case" in alone and "Previous" not in alone
    blind = page(seat="ann", at=1)
    assert "Your vote: read the case" in blind and "What has been said" not in blind and "Previous" in blind
    assert "Send my vote" in blind and "Next case" not in blind and " data-sent" not in blind
    sent = page(seat="ann", done=1.0)
    assert " data-sent" in sent and ">Sent<" in sent and " data-sent" not in page(done=1.0)
    assert "You preside: round 2" in page(seat="ann", kind="closing", round=2)

    own, heard = vote("accurate", 5, "mine"), HeardVote(label="Juror A", vote=vote("fault", "dose", "theirs"))
    both = page(seat="ann", round=2, own=(own,), heard=(heard,))
    said = both.partition("What has been said")[2].partition("</details>")[0]
    for each in (both, page(seat="ann", round=2, own=(own,)), page(seat="ann", round=2, heard=(heard,))):
        assert "Round 2: the other jurors have answered" in each and "What has been said" in each
    assert re.findall(r"<h3>(\w+)</h3>|<b>([\w ]+) </b>|<p[^>]*>(\w+)</p>", said) == [
        ("accurate", "", ""), ("", "You", ""), ("", "", "mine"), ("fault", "", ""), ("", "Juror A", ""), ("", "", "theirs"),
    ]  # fmt: skip
    # What she said herself stands on its own question, for the page to ask what moved her.
    assert re.findall(r'id="q-(\w+)"[^>]*data-own="([^"]*)"[^>]*data-own-reason="(\w+)"', both) == [("accurate", "5", "mine")]  # fmt: skip


@pytest.mark.parametrize(("agreement", "waits"), [(None, True), ([("accurate", "0.71", "alpha")], False), ([], False)])  # fmt: skip
def test_the_coordinator_sees_all_that_is_done_and_agreement_once_it_is_computed(
    agreement: list[tuple[str, str, str]] | None, waits: bool
) -> None:
    people = [(PersonProgress("ann", 1200, 1300), "40 s", "now"), (PersonProgress("ben", 0, 1300), "", "never")]  # fmt: skip
    html = coordinator_page(people, agreement, [])
    assert "1,200 of 2,600 ballots are complete" in html and '<td dir="auto">1,300</td>' in html
    assert ("will appear here" in html) is waits is ("Agreement so far" not in html)
    assert ("0.71" in html) is bool(agreement) and "Where raters differ" not in html
    assert "All 3 cases are rated" in done_page(PersonProgress("ann", 3, 3), sitting=False)
    assert "No case is assigned" in done_page(PersonProgress("ann", 0, 0), sitting=False)
    assert "no ballot for you now" in done_page(PersonProgress("ann", 0, 3), sitting=True)
