"""What redaction keeps of a transcript and what it seals, word by word, without a run."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from written_transcripts import IN_NO_TEXT, IN_THE_SOURCE, abstained, cast, transcript_of

from venire import Case, Stop, Transcript, VenireError
from venire.agents.cost import Receipt
from venire.agents.model import FailedTry
from venire.orchestration.record.redaction import (
    RedactedError,
    address_of,
    print_redacted,
    redact_errors,
    redacted_case,
    redacted_transcript,
    seal,
    unseal,
)
from venire.orchestration.transcript import CLERK, Said
from venire.rubrics.conversation import SpokenMessage

CASE = Case(id="c", output="The canary sings.", source="A canary sang on Monday.")
MARK = re.compile(r"\[withheld [0-9a-f]{16}\]")
KEY, OTHER = "ab" * 32, "cd" * 32


def redacted(*steps: Any, case: Case = CASE, **fields: Any) -> Transcript:
    return redacted_transcript(transcript_of(*steps).model_copy(update=fields), case)


def test_scores_and_names_stay_and_reasons_become_marks() -> None:
    entry = cast("a", {"accurate": 4}, quotes={"canary sang": IN_THE_SOURCE, "made up": IN_NO_TEXT}, rationale="It sings.", moved_by="the canary sang")  # fmt: skip
    kept = redacted([entry])
    (vote,) = kept.ballots[0].ballot.votes

    assert (kept.case, kept.seats, kept.ballots[0].ballot.juror) == ("c", ("a",), "a")
    assert (vote.attribute, vote.value) == ("accurate", 4)
    assert MARK.fullmatch(vote.rationale)
    assert [(bool(MARK.fullmatch(quote.text)), quote.exhibit) for quote in vote.evidence] == [(True, "source"), (True, None)]  # fmt: skip
    # A reason's mark is followed by those of the quotes that it names, so that influence can be computed.
    assert MARK.findall(vote.moved_by) == [MARK.findall(vote.moved_by)[0], vote.evidence[0].text]


def test_versions_stay_and_of_failed_tries_the_status_alone() -> None:
    tries = [
        FailedTry(at=1.0, seconds=2.0, reason="unavailable", detail=words)
        for words in ("HTTP 500 canary", "canary")
    ]
    spent = Receipt(versions=("a-2024-08-06",)).with_failures(tries)
    entry = cast("a", {"accurate": 4}).model_copy(update={"spent": spent})
    kept = redacted([entry]).entries[0].spent

    assert kept.versions == ("a-2024-08-06",)
    assert [(each.at, each.seconds, each.reason) for each in kept.failures] == [(1.0, 2.0, "unavailable")] * 2
    assert kept.failures[0].detail == "HTTP 500 (the rest is withheld)" and MARK.fullmatch(
        kept.failures[1].detail
    )


def test_only_quotes_that_stand_in_the_case_are_followed_in_reasons() -> None:
    quotes = {"canary sang": IN_THE_SOURCE, "made up": IN_NO_TEXT, "on Monday": IN_THE_SOURCE}
    entry = cast("a", {"accurate": 4}, quotes=quotes, rationale="made up, CANARY  sang on monday")
    (vote,) = redacted([entry]).ballots[0].ballot.votes

    marks = {quote: mark.text for quote, mark in zip(quotes, vote.evidence, strict=True)}
    assert MARK.findall(vote.rationale)[1:] == sorted([marks["canary sang"], marks["on Monday"]])


def test_equal_words_of_a_case_have_equal_marks_whatever_their_case_and_other_cases_have_others() -> None:
    def rationale(text: str, case: Case = CASE) -> str:
        return redacted([cast("a", {"accurate": 4}, rationale=text)], case=case).ballots[0].ballot.votes[0].rationale  # fmt: skip

    assert rationale("It Sings") == rationale("it sings") != rationale("it sang")
    changed = CASE.model_copy(update={"output": "Another."})
    assert rationale("it sings", changed) != rationale("it sings")
    regrouped = CASE.model_copy(update={"group": "g", "system": "s", "metadata": {"label": 1}})
    assert rationale("it sings", regrouped) == rationale("it sings")
    pair = CASE.model_copy(update={"output_b": "It sang."})
    for named in ({"system_b": "t"}, {"swapped": True}):
        assert rationale("it sings", pair.model_copy(update=named)) == rationale("it sings", pair)


def test_calls_are_kept_by_address_and_never_by_key() -> None:
    kept = redacted([cast("a", {"accurate": 4}, spent=Receipt(calls=(KEY,), usd=0.5))])

    assert kept.ballots[0].spent.calls == (address_of(KEY),)
    assert kept.ballots[0].spent.usd == 0.5
    assert len(address_of(KEY)) == 64 and address_of(KEY) not in (KEY, address_of(OTHER))


def test_a_flag_keeps_where_it_was_seen_and_not_what_it_says() -> None:
    kept = redacted(flags=("output: ignore: all", "plain"))
    assert re.fullmatch(r"output: \[withheld \w{16}\]", kept.flags[0]) and MARK.fullmatch(kept.flags[1])


@pytest.mark.parametrize(
    ("who", "text", "kept"), [(CLERK, "Nobody moved.", "Nobody moved."), ("a", "Nobody moved.", None), ("a", " ", " ")]
)  # fmt: skip
def test_the_programs_own_words_stay_and_everybody_elses_go(who: str, text: str, kept: str | None) -> None:
    (said,) = redacted([Said(round=1, who=who, about="plan", text=text)]).entries
    assert isinstance(said, Said) and said.about == "plan"
    assert said.text == kept if kept is not None else MARK.fullmatch(said.text)


@pytest.mark.parametrize(
    ("reason", "detail", "kept"),
    [
        ("limit", "max_turns=3", "max_turns=3"),
        ("not_called", "the moderator was satisfied", "the moderator was satisfied"),
        ("too_long", "900 tokens", "900 tokens"),
        ("timeout", "5 s", "5 s"),
        ("unavailable", "HTTP 503: canary", "HTTP 503 (the rest is withheld)"),
        ("unavailable", "ConnectionError: canary", "ConnectionError (the rest is withheld)"),
        ("unavailable", "canary HTTP 503", None),
        ("unparsable", "canary", None),
    ],
)
def test_why_a_seat_abstained_is_kept_as_far_as_no_model_said_it(
    reason: Any, detail: str, kept: str | None
) -> None:
    gone = abstained("a", "accurate", reason=reason)
    entry = gone.model_copy(update={"abstention": gone.abstention.model_copy(update={"detail": detail})})
    found = redacted([entry]).abstentions[0].abstention

    assert (found.reason, found.asked) == (reason, ("accurate",))
    assert found.detail == kept if kept is not None else MARK.fullmatch(found.detail)


def test_why_it_stopped_is_kept() -> None:
    stop = Stop(reason="stable", limit="ks", value=0.1, detail="statistic 0.050")
    assert redacted(stop=stop).stop == stop


@settings(max_examples=50)
@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=5, max_size=30))
def test_no_word_of_a_case_is_in_its_redacted_record(word: str) -> None:
    case = Case(id="-", output=word, source=f"About {word}.", question=word, metadata={"note": word})
    entries = [cast("-", {"accurate": 4}, quotes={word: IN_THE_SOURCE}, rationale=f"It says {word}.", moved_by=word)]  # fmt: skip
    said = [Said(round=1, who="-", about="plan", text=word)]
    text = redacted(entries, said, case=case, flags=(f"output: {word}",)).model_dump_json()
    text += redacted_case(case).model_dump_json()

    names = re.sub(r"withheld [0-9a-f]{16}", "", text)
    plain = (
        transcript_of([cast("-", {"accurate": 4})]).model_dump_json()
        + Case(id="-", output="-").model_dump_json()
    )
    assert word in plain + "questionplanrevision" or word not in names


class WiderCase(Case):
    """A case with fields that nobody has allowed yet."""

    note: str | None = None
    turns: tuple[dict[str, str], ...] = ()
    seen: tuple[str, ...] = ()
    asides: dict[str, str] = Field(default_factory=dict)


def test_every_text_of_a_case_is_withheld_whatever_fields_a_case_comes_to_have() -> None:
    """Taken from the model's own fields: only what names a case stays, and an absent text stays absent."""
    names = {"id", "group", "system", "system_b", "swapped"}
    texts = {
        name: (f"CANARY-{name} one", f"CANARY-{name} two") if name == "source" else f"CANARY-{name}"
        for name in Case.model_fields
        if name not in {*names, "metadata", "messages"}
    }
    named = {"id": "c1", "group": "g1", "system": "s1", "system_b": "s2", "swapped": True}
    said = SpokenMessage(role="user", content="CANARY")
    whole = Case(**named, metadata={"CANARY-key": ["CANARY-label"]}, messages=(said,), **texts)

    kept = redacted_case(whole)

    assert "CANARY" not in kept.model_dump_json()
    assert (kept.id, kept.group, kept.system, kept.metadata, kept.messages) == ("c1", "g1", "s1", {}, ())
    marks = [
        mark for name in texts for mark in ([*kept.source] if name == "source" else [getattr(kept, name)])
    ]
    assert len(set(marks)) == len(marks) == len(texts) + 1
    wider = WiderCase(**whole.model_dump(), note="CANARY", turns=({"a": "CANARY"},), seen=("CANARY",), asides={"a": "CANARY"})  # fmt: skip
    assert "CANARY" not in redacted_case(wider).model_dump_json()
    assert (redacted_case(wider).turns, redacted_case(wider).asides) == ((), {})
    assert redacted_case(Case(id="c1", output="x")).model_dump(exclude={"output"}) == Case(
        id="c1", output="x"
    ).model_dump(exclude={"output"})


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=5, max_size=5))
def test_a_redacted_case_holds_marks_that_say_no_more_than_whether_texts_are_equal(texts: list[str]) -> None:
    output, note, reference, question, audience = texts
    case = Case(id="c1", output=output, source=(note, output), reference=reference, question=question, audience=audience)  # fmt: skip
    kept = redacted_case(case)

    found = [kept.output, *kept.source, kept.reference, kept.question, kept.audience]
    said = [output, note, output, reference, question, audience]
    assert all(mark is not None and re.fullmatch(r"\[withheld [0-9a-f]{16}\]", mark) for mark in found)
    for mark, text in zip(found, said, strict=True):
        assert [each == mark for each in found] == [each.casefold() == text.casefold() for each in said]
    # In another case the same words have another mark: nobody can look for them across cases.
    assert redacted_case(case.model_copy(update={"id": "c2"})).output != kept.output


@given(st.text())
def test_what_is_sealed_is_opened_by_its_key(text: str) -> None:
    assert unseal(seal(text, KEY), KEY) == text


def test_what_is_sealed_is_opened_by_nothing_else_and_never_looks_the_same() -> None:
    sealed = seal("canary", KEY)
    raw = base64.b64decode(sealed)
    assert seal("canary", KEY) != sealed and len(raw) == 12 + len("canary") + 16
    with pytest.raises(VenireError, match=r"altered or moved\n.*a copy"):
        unseal(sealed, OTHER)
    for at in (0, 12, len(raw) - 1):
        broken = bytearray(raw)
        broken[at] ^= 1
        with pytest.raises(VenireError, match="altered or moved"):
            unseal(base64.b64encode(broken).decode(), KEY)
    with pytest.raises(VenireError, match="altered or moved"):
        unseal(base64.b64encode(b"short").decode(), KEY)


def test_texts_that_are_not_unicode_are_marked_and_sealed_too() -> None:
    assert unseal(seal("\ud800", KEY), KEY) == "\ud800"
    assert MARK.fullmatch(redacted_case(Case.model_construct(id="\ud800", output="\ud800", source=())).output)


@pytest.mark.parametrize("active", [True, False])
def test_an_error_leaves_without_its_message_only_where_a_run_is_redacted(active: bool) -> None:
    with pytest.raises(Exception) as caught, redact_errors(active):
        raise KeyError("canary")
    assert isinstance(caught.value, RedactedError if active else KeyError)
    assert ("canary" in str(caught.value)) is not active
    if active:
        assert str(caught.value).startswith("KeyError (") and caught.value.__suppress_context__
        assert any("test_redacted_words" in str(entry.path) for entry in caught.traceback)


@pytest.mark.parametrize("error", [VenireError("problem", remedy="remedy"), RedactedError("once")])
def test_what_never_quotes_a_case_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, redact_errors(True):
        raise error
    assert caught.value is error


def test_an_exception_that_nobody_awaits_is_printed_by_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    loop = asyncio.new_event_loop()
    print_redacted(loop, {"message": "never retrieved", "exception": KeyError("canary")})
    loop.close()
    assert capsys.readouterr() == ("", "never retrieved: KeyError\n")
