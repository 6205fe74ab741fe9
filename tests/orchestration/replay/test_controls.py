"""Controls without a model: which revisions are asked again, under which conditions, and what is shown in each."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from planted_run import RUBRIC, planted_case
from written_transcripts import abstained, cast, transcript_of

from venire import Jury, Transcript, VenireError
from venire.agents.cost import Receipt
from venire.agents.juror import Turn
from venire.agents.orchestrator import Dispute
from venire.orchestration.record import Arm
from venire.orchestration.replay.controls import ControlledArm, controlled_arms, exposures, hear_controls
from venire.orchestration.transcript import Controlled, Ledger
from venire.rubrics.ballot import Abstention


def jury_of(*names: str, **fields: Any) -> Jury:
    seats = [{"name": name, "model": f"server/{name}", "temperature": 1} for name in names]
    return Jury.model_validate({"name": "j", "seats": seats, **fields})


def revised(protocol: str = "orchestrated") -> Transcript:
    """a and b revise: a had read b and c on one attribute, b only c; the challenge is no exposure."""
    dispute = Dispute(attribute="accurate", dispute="D.", question="Q?", to=("a",))
    transcript = transcript_of(
        [
            cast("a", {"accurate": 5, "organized": 3}, rationale="Mine."),
            cast("b", {"accurate": 2}, rationale="The date.", quotes={"fever": "source"}),
            cast("c", {"accurate": 4, "organized": 4}, rationale="Sound."),
        ],
        [
            cast("c", {"accurate": 1}, round=2, purpose="challenge", saw=("1/a", "1/b")),
            Ledger(round=2, disputes=(dispute,), author="orchestrator"),
        ],
        [
            cast("a", {"accurate": 3}, round=2, purpose="revision", saw=("1/b", "2/c")),
            cast("b", {"accurate": 3, "organized": 1}, round=2, purpose="revision", saw=("2/c",)),
            abstained("c", "accurate", round=2),
        ],
    )
    return transcript.model_copy(update={"protocol": protocol})


def test_every_revision_is_an_exposure_to_what_it_had_read_and_to_nothing_else() -> None:
    a, b = exposures(revised(), jury_of("a", "b", "c"))

    assert (a.entry.id, a.asked, {n: v.value for n, v in a.own.items()}) == (
        "3/a",
        ("accurate",),
        {"accurate": 5},
    )
    assert sorted((h.juror, h.entry, h.vote.value) for h in a.heard) == [("b", "1/b", 2), ("c", "2/c", 1)]
    assert sorted(a.sources) == ["b", "c"]
    # b had no vote on the second attribute, and had not read a.
    assert (b.entry.id, b.asked, [h.juror for h in b.heard]) == ("3/b", ("accurate",), ["c"])


@pytest.mark.parametrize("told", [{"confederate": True}, {"model": "person/a", "temperature": None}])
def test_confederates_and_people_are_not_asked_again(told: dict[str, Any]) -> None:
    fields = jury_of("a", "b", "c").model_dump(mode="json")
    fields["seats"][0] |= told

    assert [each.entry.speaker for each in exposures(revised(), Jury.model_validate(fields))] == ["b"]


class Asked:
    """A juror that notes what it was asked, and abstains at its second draw."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[dict[str, Any]] = []

    async def ask(self, brief: Any, asked: Any, prompts: Any, prompt: str, **told: Any) -> Turn:
        return self._turn({"condition": prompt, "asked": asked, **told})

    async def revise(self, brief: Any, asked: Any, **told: Any) -> Turn:
        return self._turn({"condition": "others", "asked": asked, **told})

    def _turn(self, told: dict[str, Any]) -> Turn:
        self.calls.append(told)
        spent = Receipt(calls=(str(len(self.calls)),))
        if told["repeat"] > 1_000_000:
            gone = Abstention(juror=self.name, round=2, reason="refused", detail="", asked=("accurate",))
            return Turn(gone, spent)
        return Turn(cast(self.name, {"accurate": 4}, round=2).ballot, spent)


def controls(transcript: Transcript, draws: int, who: bool) -> tuple[list[Controlled], dict[str, Asked]]:
    jury = jury_of("a", "b", "c")
    jurors = {name: Asked(name) for name in jury.seat_names}
    bench = SimpleNamespace(jurors=jurors, new_transcript=lambda _: transcript_of(seats=jury.seat_names))
    # Nobody presides over controls: an orchestrator's model need not be there.
    court: Any = SimpleNamespace(bench=lambda jury, case, *, orchestrated: None if orchestrated else bench)
    each = ControlledArm.of(Arm(1, "j", RUBRIC, jury, {}), draws, who)
    made = asyncio.run(hear_controls(planted_case("x"), each, transcript, court))
    assert made.stop is not None and made.stop.reason == "complete"
    return [entry for entry in made.entries if isinstance(entry, Controlled)], jurors


def test_each_revision_is_asked_again_under_every_condition_and_each_draw_is_its_own() -> None:
    entries, jurors = controls(revised(), 2, who=False)

    told = [(e.juror, e.of, e.condition, e.draw) for e in entries]
    assert told == [
        (juror, f"3/{juror}", condition, draw)
        for juror in "ab"
        for condition in ("alone", "scores", "reasons")
        for draw in (0, 1)
    ]
    assert {(e.draw, e.failed, tuple(v.value for v in e.votes), e.round) for e in entries} == {
        (0, None, (4,), 2),
        (1, "refused", (), 2),
    }
    assert all(e.spent.calls for e in entries)
    repeats = {call["repeat"] for call in jurors["a"].calls}
    # Far from any repeat of the run itself, and from each other by more than a jury's repeats.
    assert len(repeats) == 2 and min(repeats) >= 1_000_000 and max(repeats) - min(repeats) >= 1_000
    alone, _, scores, _, reasons, _ = jurors["a"].calls
    assert all(call["own"]["accurate"].value == 5 for call in (alone, scores, reasons))
    assert alone["parts"] is alone["quotes"] is scores["quotes"] is reasons["parts"] is None
    assert sorted(scores["parts"]["scores"].splitlines()) == ["- accurate: b gave 2", "- accurate: c gave 1"]
    shown = reasons["quotes"]["reasons"]
    assert "The date." in shown and 'quotes: "fever"' in shown and "Mine." not in shown
    assert " gave " not in shown


def test_who_was_read_is_left_out_in_turn_and_shown_alone_in_turn() -> None:
    entries, jurors = controls(revised(), 1, who=True)

    told = {e.condition for e in entries if e.juror == "a"} - {"alone", "scores", "reasons"}
    assert told == {"without b", "only b", "without c", "only c"}
    heard = [[s.label for s in call["heard"]] for call in jurors["a"].calls if call["condition"] == "others"]
    conditions = [e.condition for e in entries if e.juror == "a"][3:]
    assert dict(zip(conditions, heard, strict=True)) == {
        "without b": ["c"], "only b": ["b"], "without c": ["b"], "only c": ["c"],
    }  # fmt: skip
    (asked,) = {tuple(q.text for q in call["questions"]) for call in jurors["a"].calls[3:]}
    assert asked == ("D. Q?",)
    assert [(call["own"]["accurate"].value, call["round"]) for call in jurors["a"].calls] == [(5, 2)] * 7


def test_only_arms_in_which_anybody_revised_are_controlled() -> None:
    still = transcript_of([cast("a", {"accurate": 5}), cast("b", {"accurate": 2})])
    moved, quiet = (Arm(n, name, RUBRIC, jury_of("a", "b", "c"), {}) for n, name in enumerate(("moved", "quiet"), 1))  # fmt: skip
    records = {"moved": [still, revised()], "quiet": [still]}
    store = SimpleNamespace(name="run", transcripts=lambda arm: iter(records[arm.name]))
    parent: Any = SimpleNamespace(store=store, arms=[SimpleNamespace(arm=arm) for arm in (moved, quiet, moved)])  # fmt: skip

    assert [(each.arm.name, each.draws, each.who) for each in controlled_arms(parent, 2, True)] == [("moved", 2, True)]  # fmt: skip
    parent.arms = parent.arms[1:2]
    with pytest.raises(VenireError, match="nothing to control"):
        controlled_arms(parent, 1, False)


def test_under_delphi_no_name_is_shown_and_the_statistics_are_of_those_shown() -> None:
    _, jurors = controls(revised("delphi"), 1, who=True)
    calls = jurors["a"].calls

    assert "a juror gave 2" in calls[1]["parts"]["scores"] and "median 4" in calls[1]["parts"]["scores"]
    others = [call for call in calls if call["condition"] == "others"]
    assert {s.label for call in others for s in call["heard"]} == {"a juror"}
    only_b = next(call for call in others if [s.vote.value for s in call["heard"]] == [2])
    # Its own 5 and b's 2.
    assert "median 3.5" in only_b["notice"]


@pytest.mark.parametrize(
    ("seat", "refused"),
    [
        ({"seed": 1}, True),
        ({"temperature": 0}, True),
        ({"model": "scripted/x"}, True),
        ({"model": "local", "temperature": None}, True),
        ({"temperature": None}, False),
        ({"temperature": 0, "confederate": True}, False),
    ],
)
def test_draws_that_would_all_be_equal_are_refused(seat: dict[str, Any], refused: bool) -> None:
    fields = jury_of("a", "b").model_dump(mode="json")
    fields["seats"][0] |= seat
    arm = Arm(1, "j", RUBRIC, Jury.model_validate(fields), {})

    ControlledArm.of(arm, 1, False)
    if refused:
        with pytest.raises(VenireError, match="would get the same answer"):
            ControlledArm.of(arm, 2, False)
    else:
        assert ControlledArm.of(arm, 2, True).jury.name == "j-controls-2-who"


def test_a_controlled_jury_keeps_its_repeat_numbers_and_has_no_limit_on_what_it_spends() -> None:
    jury = jury_of("a", "b", limits={"max_tokens": 9, "max_usd": 1, "max_seconds": 5, "max_rounds": None})
    fields = jury.model_dump(mode="json")
    fields["seats"] = [{**fields["seats"][0], "name": name} for name in "ab"]
    alike = Jury.model_validate(fields)
    made = ControlledArm.of(Arm(1, "j", RUBRIC, alike, {}), 3, False).jury

    assert (made.limits.max_tokens, made.limits.max_usd, made.limits.max_seconds) == (None, None, None)
    assert made.limits.max_rounds == 1
    assert made.first_repeats == alike.first_repeats == (0, 2)
