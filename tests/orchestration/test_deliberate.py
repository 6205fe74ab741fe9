"""What is settled around a deliberation: who is asked, which rule counts, who goes first alone, and when there is nothing to count."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from written_transcripts import abstained, cast, transcript_of

from venire import Case, Court, Jury, ModelUnreachable, Rubric, VenireError
from venire.orchestration.deliberate import (
    FirstCaseGate,
    blind_count,
    blind_rule,
    check_protocol,
    deliberates,
    models_asked,
    models_line,
    refuse_text,
    refuse_unreached,
    refuse_unreadable,
    rule_of,
    seats_without_model,
    suited_jury,
)

PAIR = Rubric.model_validate(
    {
        "name": "p", "version": 1, "kind": "pair",
        "scales": {"side": {"level": "ordinal", "anchors": {-1: "A", 0: "tie", 1: "B"}}},
        "attributes": [{"name": "better", "question": "?", "scale": "side"}],
    }
)  # fmt: skip


def jury_of(*models: str | None, **fields: Any) -> Jury:
    seats = [
        {"name": name, **({"model": model} if model else {})}
        for name, model in zip("abc", models, strict=False)
    ]
    return Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats, **fields})


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ([abstained("a", "q"), abstained("b", "q", reason="timeout")], True),
        ([abstained("a", "q"), abstained("b", "q", reason="refused")], False),
        ([abstained("a", "q"), abstained("b", "q", reason="limit")], False),
        ([abstained("a", "q"), cast("b", {"q": 1})], False),
        ([], False),
    ],
)
def test_a_verdict_is_refused_only_where_not_one_seat_could_be_reached(entries: Any, refused: bool) -> None:
    transcript = transcript_of(entries)
    if not refused:
        refuse_unreached(transcript)
        return
    first = entries[0].model_copy(update={"abstention": entries[0].abstention.model_copy(update={"detail": "HTTP 500: the words of a case"})})  # fmt: skip
    for quoted in (True, False):
        with pytest.raises(ModelUnreachable) as error:
            refuse_unreached(transcript_of([first, *entries[1:]]), quoted=quoted)
        assert "a: HTTP 500" in error.value.problem
        assert ("the words of a case" in error.value.problem) is quoted


def test_everyone_who_is_asked_names_a_model_whoever_presides_only_where_somebody_does() -> None:
    presided = {"protocol": "orchestrated", "orchestrator": {"model": "server/boss"}}
    named = jury_of("server/x", "local", **presided)

    assert [settings.model for settings in models_asked(named)] == ["server/x", "local", "server/boss"]
    assert [settings.model for settings in models_asked(named.under("panel"))] == ["server/x", "local"]
    line = models_line([named, jury_of("server/x", "server/y")])
    assert line.startswith("models asked: server/x, local (") and line.endswith(", server/boss, server/y")
    unnamed = jury_of("server/x", None, protocol="orchestrated")
    assert seats_without_model(unnamed) == ["b", "orchestrator"]
    assert seats_without_model(jury_of("server/x", None)) == ["b"]
    with pytest.raises(VenireError, match="the seats b, orchestrator of the jury 'j'"):
        models_asked(unnamed)
    with pytest.raises(VenireError, match="the seat 'b' of the jury 'j'"):
        models_asked(jury_of("server/x", None))


@pytest.mark.parametrize(
    ("fields", "rule", "blind"),
    [
        ({}, "mean", "mean"),
        ({"count": "mode"}, "mode", "mode"),
        ({"count": "dawid-skene"}, "dawid-skene", "median"),
        ({"protocol": "debate", "orchestrator": {"model": "scripted"}}, "decision", "median"),
    ],
)
def test_votes_are_counted_by_the_jurys_rule_or_the_protocols_and_blind_ones_by_a_plain_one(
    fields: dict[str, Any], rule: str, blind: str
) -> None:
    jury = jury_of("scripted", "scripted", "scripted", **fields)
    assert (rule_of(jury), rule_of(jury, "trimmed"), blind_rule(jury)) == (rule, "trimmed", blind)


def test_only_first_ballots_are_counted_blind(rubric: Rubric) -> None:
    jury = jury_of("scripted", "scripted")
    names = rubric.names
    first = [cast("a", dict.fromkeys(names, 1)), cast("b", dict.fromkeys(names, 3))]
    moved = cast("b", dict.fromkeys(names, 1), round=2, purpose="revision", saw=("1/a",))
    found = blind_count(transcript_of(first, [moved]), rubric, jury)

    assert found is not None and found[names[0]].value == 2 and len(found.transcript.entries) == 2
    assert blind_count(transcript_of([abstained("a", *names)]), rubric, jury) is None


def test_a_pair_is_counted_by_majority_and_not_challenged_unless_the_jury_says_otherwise(
    rubric: Rubric,
) -> None:
    plain = jury_of("scripted", "scripted", protocol="orchestrated", orchestrator={"model": "scripted"})
    assert suited_jury(plain, rubric) is plain
    suited = suited_jury(plain, PAIR)
    assert (suited.count, suited.challenge) == (None, False)
    assert suited_jury(jury_of("scripted", "scripted"), PAIR).count == "mode"
    said = jury_of("scripted", "scripted", protocol="orchestrated", orchestrator={"model": "scripted"}, count="median", challenge=True)  # fmt: skip
    kept = suited_jury(said, PAIR)
    assert (kept.count, kept.challenge) == ("median", True)
    assert suited_jury(jury_of("scripted", "scripted", protocol="debate"), PAIR).count is None


@pytest.mark.parametrize(
    ("fields", "hears"),
    [
        ({}, False),
        ({"protocol": "single"}, False),
        ({"protocol": "decompose-verify"}, False),
        ({"protocol": "delphi"}, True),
        ({"protocol": "orchestrated"}, True),
    ],
)
def test_a_jury_deliberates_where_its_seats_hear_each_other(fields: dict[str, Any], hears: bool) -> None:
    assert deliberates(jury_of("scripted", "scripted", **fields)) is hears
    assert not deliberates(jury_of("scripted", **fields))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"stance": "Be firm."}, "`stance` has no effect"),
        ({"stance": "Be firm.", "protocol": "orchestrated", "orchestrator": {"model": "scripted"}}, None),
        ({}, None),
    ],
)
def test_what_would_have_no_effect_is_refused(
    rubric: Rubric, fields: dict[str, Any], problem: str | None
) -> None:
    jury = jury_of("scripted", "scripted", **fields)
    if problem is None:
        check_protocol(jury, rubric)
    else:
        with pytest.raises(VenireError, match=problem):
            check_protocol(jury, rubric)


def test_the_first_case_is_heard_alone_until_one_has_proved_that_the_models_answer() -> None:
    for sure, proves, most in ((True, True, 4), (False, True, 3), (False, False, 1)):
        now = highest = 0
        first = 0

        async def hear(number: int) -> int:
            nonlocal now, highest, first
            now += 1
            highest = max(highest, now)
            if number == 0:
                first = now
            await asyncio.sleep(0.002)
            now -= 1
            return number

        async def main(sure: bool = sure, proves: bool = proves) -> list[int]:
            gate = FirstCaseGate(sure=sure)
            return await asyncio.gather(*(gate.run(lambda n=n: hear(n), lambda _: proves) for n in range(4)))

        assert asyncio.run(main()) == [0, 1, 2, 3]
        assert (first, highest) == (1, most)


def test_a_run_is_refused_only_where_no_seat_can_read_any_case(rubric: Rubric) -> None:
    seats = [{"name": name, "model": "server/m", "base_url": "http://127.0.0.1:9/v1", "context": size} for name, size in (("a", 2000), ("b", 9000))]  # fmt: skip
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats})
    short, middle, long = (
        Case(id=name, output="word " * size) for name, size in (("s", 5), ("m", 2000), ("l", 10_000))
    )

    for cases in ([short, long], [long, short], [], [middle]):
        refuse_unreadable(cases, rubric, jury, Court())
    with pytest.raises(VenireError, match="can read the case 'l'"):
        refuse_unreadable([long], rubric, jury, Court())
    with pytest.raises(VenireError, match="a str, not a case"):
        refuse_text("words")
    refuse_text(short)
