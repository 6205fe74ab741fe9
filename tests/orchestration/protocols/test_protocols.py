"""Every protocol over real sockets: who is asked, what they had seen, how many calls it takes, why it ends."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from doc_blocks import blocks
from installed_packages import on_the_path, put_package
from openai_server import Call, Fault, ProviderServer, Refusal, filled, jury_of
from rich.console import Console
from server_juries import jury_at

from venire import Case, Jury, Limits, Rubric, VenireError, Verdict, deliberate_sync, load_persona
from venire.orchestration.protocols import protocol
from venire.orchestration.protocols.debate import advocates
from venire.orchestration.protocols.delphi import unsigned_votes
from venire.orchestration.reading.catalogue import description
from venire.orchestration.record import Store
from venire.orchestration.rounds import challenge_effect
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.transcript import Ledger, Said
from venire.rubrics.plugins import library, plugins_by_group

NAMES = ("single", "panel", "orchestrated", "moderated", "debate", "delphi", "escalate")

DISAGREEING = {"a": [5, 4, 5, 4, 5], "b": [2, 1, 2, 1, 2], "c": [3, 4, 3, 4, 3], "boss": 3}


def said(verdict: Verdict, about: str) -> list[str]:
    return [e.text for e in verdict.transcript.entries if isinstance(e, Said) and e.about == about]


def ledgers(verdict: Verdict) -> list[Ledger]:
    return [entry for entry in verdict.transcript.entries if isinstance(entry, Ledger)]


@pytest.mark.parametrize(
    ("name", "calls", "steps", "stop"),
    [
        ("single", 1, 1, "complete"),
        ("panel", 3, 1, "complete"),
        ("orchestrated", 8, 4, "rounds"),
        ("moderated", 8, 4, "rounds"),
        ("debate", 6, 4, "rounds"),
        ("delphi", 6, 2, "rounds"),
        ("escalate", 9, 5, "rounds"),
    ],
)
def test_disagreement_costs_what_the_protocol_says_it_does(
    rubric: Rubric, case: Case, name: str, calls: int, steps: int, stop: str
) -> None:
    with ProviderServer(jury_of(DISAGREEING)) as server:
        jury = jury_at(server.url, "a", "b", "c", limits=Limits(max_rounds=2), protocol=name)
        verdict = deliberate_sync(case, rubric, jury)

    transcript = verdict.transcript
    assert (len(server.calls), transcript.cost.calls, transcript.steps) == (calls, calls, steps)
    assert protocol(name).most(3, 2) == (calls, steps)  # type: ignore[misc]
    assert verdict.stop.reason == stop
    earlier: dict[str, int] = {entry.id: entry.step for entry in transcript.entries}
    speakers = {entry.id: entry.speaker for entry in transcript.entries}
    assert len(earlier) == len(transcript.entries)
    for entry in transcript.ballots:
        alone = entry.purpose in ("blind", "repeat") or (entry.purpose == "argument" and entry.round == 1)
        assert bool(entry.ballot.saw) is not alone
        assert all(earlier[seen] < entry.step for seen in entry.ballot.saw)
        if entry.purpose == "revision":
            assert entry.speaker not in {speakers[seen] for seen in entry.ballot.saw}, (
                "its own vote is no other's"
            )


@pytest.mark.parametrize(
    ("name", "calls", "steps"),
    [("orchestrated", 3, 1), ("moderated", 4, 2), ("debate", 3, 2), ("delphi", 3, 1), ("escalate", 4, 2)],
)
def test_agreement_at_once_ends_it(rubric: Rubric, case: Case, name: str, calls: int, steps: int) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "c": 4, "boss": _declares})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", protocol=name))

    assert verdict.stop.reason == ("complete" if name == "escalate" else "consensus")
    assert verdict["accurate"].value == 4
    assert (len(server.calls), verdict.transcript.steps) == (calls, steps)


def _declares(call: Call) -> dict[str, Any]:
    assert call.schema is not None
    return filled(call.schema, lambda _: 3, finding="consensus", question="", answering="", to=[])


# --- orchestrators that go wrong --------------------------------------------------------------------------------


def _without(key: str) -> Callable[[Call], Any]:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        whole = filled(call.schema, lambda _: 3)
        return {name: {k: v for k, v in part.items() if k != key} for name, part in whole.items()}

    return answer


def _with(**words: Any) -> Callable[[Call], Any]:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        return filled(call.schema, lambda _: 3, **words)

    return answer


def _two_blocks(call: Call) -> str:
    assert call.schema is not None
    first = json.dumps(filled(call.schema, lambda _: 2, dispute="One."))
    second = json.dumps(filled(call.schema, lambda _: 3, dispute="Another."))
    return f"```json\n{first}\n```\nor rather\n```json\n{second}\n```"


@pytest.mark.parametrize("name", ["orchestrated", "moderated"])
@pytest.mark.parametrize(
    ("boss", "method"),
    [
        (2, "decision"),
        (_with(to=["nobody"], weighed=["nobody"]), "median"),
        (_without("question"), "decision"),
        (_without("dispute"), "decision"),
        (_with(to="False", finding="False"), "decision"),
        (_with(finding="consensus"), "decision"),
        (_two_blocks, "median"),
        (Fault(status=500, headers={"Retry-After": "0"}), "median"),
        (Refusal(), "median"),
        ("nothing like JSON", "median"),
    ],
    ids=[
        "stalled",
        "unknown",
        "no-question",
        "no-dispute",
        "false",
        "declares",
        "two",
        "down",
        "refusal",
        "garbage",
    ],
)
def test_whatever_the_orchestrator_does_there_is_an_end_and_a_reason(
    rubric: Rubric, case: Case, name: str, boss: object, method: str
) -> None:
    with ProviderServer(jury_of({"a": 5, "b": 2, "c": 2, "boss": boss})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", protocol=name))

    assert (verdict.stop.reason, verdict.stop.limit) == ("stall", "max_stalls")
    assert (verdict["accurate"].status, verdict["accurate"].method) == ("reached", method)
    assert verdict.transcript.turns == 6


# --- moderated --------------------------------------------------------------------------------------------------


def test_a_moderator_cannot_declare_a_consensus_that_is_none(rubric: Rubric, case: Case) -> None:
    answers = {"a": {"accurate": 5, "thorough": 4}, "b": {"accurate": 2, "thorough": 4}, "boss": _declares}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="moderated"))

    first = ledgers(verdict)[0]
    assert first.declared == ("thorough",)
    assert "accurate" in first.note
    assert verdict["accurate"].method == "decision"
    assert verdict["thorough"].method == "consensus"


def test_the_moderator_says_who_answers_whom(rubric: Rubric, case: Case) -> None:
    def boss(call: Call) -> Any:
        assert call.schema is not None
        names = {"answering": "b", "to": ["a"], "question": "Where does the source say so?"}
        return filled(call.schema, lambda _: 3, **names)

    with ProviderServer(jury_of({"a": 5, "b": 2, "c": 2, "boss": boss})) as server:
        jury = jury_at(server.url, "a", "b", "c", protocol="moderated", limits=Limits(max_rounds=2))
        deliberate_sync(case, rubric, jury)

    asked = [call for call in server.calls if call.model == "a"][1]
    assert "Answer b. Where does the source say so?" in asked.prompt
    assert [call.model for call in server.calls if call.model != "boss"].count("c") == 1


def test_a_consensus_that_the_moderator_does_not_declare_is_still_one(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "boss": Refusal()})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="moderated"))

    assert verdict.stop.reason == "consensus"
    assert "did not declare" in verdict.stop.detail
    assert verdict["accurate"].value == 4


@pytest.mark.parametrize("name", ["orchestrated", "moderated"])
def test_a_challenge_finds_what_nobody_looked_for(rubric: Rubric, name: str) -> None:
    case = Case(id="c", source=("The fever went on for a week.",), output="The fever resolved on day two.")

    def finds(call: Call) -> Any:
        assert call.schema is not None
        if "strongest honest case against" not in call.prompt:
            return filled(call.schema, lambda _: 5)
        quote = "The fever went on for a week."
        return filled(call.schema, lambda _: 2, evidence=[quote], moved_by=quote)

    def follows(call: Call) -> Any:
        assert call.schema is not None
        convinced = "quotes (source)" in call.prompt
        return filled(call.schema, lambda _: 2 if convinced else 5, moved_by="the quote" if convinced else "")

    answers = jury_of({"a": follows, "b": follows, "c": finds, "boss": _declares})
    with ProviderServer(answers) as server:
        on, off = (
            deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", protocol=name, challenge=switch))
            for switch in (True, False)
        )

    assert off["accurate"].value == 5
    assert challenge_effect(off.transcript) == ()
    assert on["accurate"].value == 2
    effect = challenge_effect(on.transcript)[0]
    assert (effect.challenger, effect.agreed, effect.answered) == ("c", 5, 2)
    assert effect.moved == {"a": 2, "b": 2, "c": 2}
    assert (
        "c argued against this score; then these jurors moved: a to 2, b to 2, c to 2"
        in said(on, "challenge")[0]
    )


# --- delphi -----------------------------------------------------------------------------------------------------


def test_delphi_shows_numbers_and_reasons_and_nobodys_name(rubric: Rubric, case: Case) -> None:
    names = ("zanzibar_one", "quixote_two", "xerxes_three")

    def juror(score: int) -> Callable[[Call], Any]:
        def answer(call: Call) -> Any:
            assert call.schema is not None
            return filled(call.schema, lambda _: score, rationale=f"Reason for {score}.")

        return answer

    answers = jury_of({name: juror(score) for name, score in zip(names, (5, 2, 3), strict=True)})
    with ProviderServer(answers) as server:
        jury = jury_at(server.url, *names, protocol="delphi", limits=Limits(max_rounds=2))
        verdict = deliberate_sync(case, rubric, jury)

    for call in server.calls:
        assert not any(name in json.dumps(call.body["messages"]) for name in names)
    second = [call for call in server.calls if call.model == names[0]][1].prompt
    assert "the jury's 3 answers" in second
    assert "1 gave 2, 1 gave 3, 1 gave 5" in second
    assert "median 3, quartiles 2.5 to 4, range 2 to 5" in second
    assert "a juror gave 2" in second and "Reason for 3." in second
    assert "a juror gave 5" not in second
    standing = verdict.transcript.standing()["accurate"]
    reseated = dict(reversed(standing.items()))
    assert [h.vote.value for h in unsigned_votes(standing)] == [
        h.vote.value for h in unsigned_votes(reseated)
    ]
    assert verdict["accurate"].method == "median"
    assert verdict["accurate"].value == 3


# --- debate -----------------------------------------------------------------------------------------------------


def test_advocates_answer_each_other_and_the_rest_vote_on_what_they_said(rubric: Rubric, case: Case) -> None:
    def arguing(score: int, name: str) -> Callable[[Call], Any]:
        def answer(call: Call) -> Any:
            assert call.schema is not None
            return filled(call.schema, lambda _: score, rationale=f"{name} argument {call.number}")

        return answer

    answers = {name: arguing(score, name) for name, score in (("a", 3), ("b", 5), ("c", 1))} | {"boss": 2}
    with ProviderServer(jury_of(answers)) as server:
        sides = {"high": "b", "low": "c"}
        jury = jury_at(
            server.url, "a", "b", "c", protocol="debate", debate=sides, limits=Limits(max_rounds=2)
        )
        verdict = deliberate_sync(case, rubric, jury)

    assert sorted(call.model for call in server.calls[:2]) == ["b", "c"]
    by_model = {name: [c.prompt for c in server.calls if c.model == name] for name in "abc"}
    assert "too severe" in by_model["b"][0] and "too lenient" in by_model["c"][0]
    assert "argument 0" not in by_model["b"][0] and "argument 0" not in by_model["c"][0]
    assert "c argument 0" in by_model["b"][1] and "b argument 0" in by_model["c"][1]
    (listened,) = by_model["a"]
    assert "b argument 1" in listened and "c argument 1" in listened and "argument 0" not in listened
    assert verdict["accurate"].method == "decision"
    assert verdict["accurate"].value == 2
    purposes = [(entry.speaker, entry.purpose) for entry in verdict.transcript.ballots]
    assert purposes[-1] == ("a", "vote")


def test_advocates_are_those_with_the_stances_or_the_first_two(case: Case, rubric: Rubric) -> None:
    plain = Jury.model_validate({"name": "j", "seats": [{"name": "x"}, {"name": "y"}, {"name": "z"}]})
    assert advocates(plain) == {"x": "high", "y": "low"}
    stances = [
        {"name": "m"},
        {"name": "l", "persona": "low-scoring"},
        {"name": "h", "persona": "high-scoring"},
    ]
    assert advocates(Jury.model_validate({"name": "j", "seats": stances})) == {"h": "high", "l": "low"}
    # Of several seats with one persona the first argues; what the jury itself says comes before all personas.
    doubled = [*stances, {"name": "h2", "persona": "high-scoring"}, {"name": "l2", "persona": "low-scoring"}]
    for seats, sides in (
        (doubled, {"h": "high", "l": "low"}),
        (doubled[::-1], {"h2": "high", "l2": "low"}),
        (stances[:2], {"m": "high", "l": "low"}),
    ):
        assert advocates(Jury.model_validate({"name": "j", "seats": seats})) == sides
    named = {"protocol": "debate", "debate": {"high": "l", "low": "h2"}}
    assert advocates(Jury.model_validate({"name": "j", "seats": doubled, **named})) == {"l": "high", "h2": "low"}  # fmt: skip
    with pytest.raises(VenireError, match="two sides"):
        alone = Jury.model_validate(
            {"name": "j", "seats": [{"name": "x", "model": "scripted"}], "protocol": "debate"}
        )
        deliberate_sync(case, rubric, alone.model_copy(update={"orchestrator": alone.seats[0]}))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_the_rest_of_the_jury_is_heard_before_the_advocates_use_up_the_turns(
    rubric: Rubric, case: Case, limit: int
) -> None:
    limits = Limits(max_turns=limit, max_rounds=None, max_stalls=None, max_replans=None)
    with ProviderServer(jury_of(DISAGREEING)) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", "c", protocol="debate", limits=limits)
        )

    assert sum(call.model != "boss" for call in server.calls) == limit == verdict.transcript.turns
    heard = {entry.speaker for entry in verdict.transcript.heard}
    assert heard == {"a", "b", "c"}
    assert len(verdict.transcript.abstentions) == max(0, 3 - limit)


# --- escalate ---------------------------------------------------------------------------------------------------


def _confident(scores: Any, confidence: str | list[str] = "high") -> Callable[[Call], Any]:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        sure = confidence if isinstance(confidence, str) else confidence[min(call.number, 1)]
        score = scores[min(call.number, len(scores) - 1)] if isinstance(scores, list) else scores
        pick = score.get if isinstance(score, dict) else lambda _: score
        return filled(call.schema, pick, confidence=sure, moved_by="a quote")

    return answer


@pytest.mark.parametrize("first", ["garbage", {"accurate": 4, "thorough": 9}], ids=["nothing", "one of two"])
def test_a_judge_without_a_whole_ballot_sits_on_the_panel_too(
    rubric: Rubric, case: Case, first: str | dict[str, int]
) -> None:
    """Two answers, each asked for once more; then it is one of the panel."""

    def judge(call: Call) -> Any:
        if call.number >= 4:
            return _confident(4)(call)
        return first if isinstance(first, str) else _confident(first, "low")(call)

    with ProviderServer(jury_of({"a": judge, "b": 4, "c": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", protocol="escalate"))

    assert sorted(entry.speaker for entry in verdict.transcript.ballots if entry.purpose == "blind") == [
        "a",
        "b",
        "c",
    ]
    assert verdict["thorough"].votes == 3


def test_a_sure_judge_is_enough_and_what_that_saved_is_on_record(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": _confident(4), "b": 1, "c": 1})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", protocol="escalate"))

    assert [call.model for call in server.calls] == ["a", "a"]
    assert verdict.stop.reason == "complete"
    assert (verdict["accurate"].value, verdict["accurate"].method) == (4, "median")
    assert said(verdict, "escalation") == ["decided without the panel: accurate, thorough"]
    assert said(verdict, "savings") == [
        "2 calls were made; the protocol orchestrated would have made at least 3, which saved at least 1"
    ]


@pytest.mark.parametrize(
    ("judge", "settings", "rule"),
    [
        (_confident(4, "low"), {}, "confidence is low, and medium is required"),
        (_confident(4, "medium"), {"confidence": "high"}, "confidence is medium, and high is required"),
        (_confident([4, 3]), {}, "differ by more than the repeat_range of 0"),
        (_confident(4, ["high", "low"]), {}, "confidence is low, and medium is required"),
        (_confident(4, ["low", "high"]), {}, "confidence is low, and medium is required"),
        ("garbage", {}, "too few jurors voted: 0 of the 1"),
    ],
)
def test_an_unsure_judge_goes_to_the_panel_by_a_stated_rule(
    rubric: Rubric, case: Case, judge: object, settings: dict[str, Any], rule: str
) -> None:
    with ProviderServer(jury_of({"a": judge, "b": 4, "c": 3})) as server:
        jury = jury_at(server.url, "a", "b", "c", protocol="escalate", escalation=settings)
        verdict = deliberate_sync(case, rubric, jury)

    assert rule in said(verdict, "escalation")[0]
    assert "decided without deliberation: accurate, thorough" in said(verdict, "escalation")[1]
    assert verdict.stop.reason == "complete"
    assert verdict["accurate"].votes == (2 if judge == "garbage" else 3)
    assert verdict["accurate"].method == "median"


def test_only_what_the_panel_is_split_on_is_deliberated(rubric: Rubric, case: Case) -> None:
    answers = {
        "a": _confident([{"accurate": 5, "thorough": 4}, {"accurate": 4, "thorough": 4}, {"accurate": 5}]),
        "b": {"accurate": 1},
        "c": {"accurate": 2},
        "boss": {"accurate": 2},
    }
    with ProviderServer(jury_of(answers)) as server:
        jury = jury_at(server.url, "a", "b", "c", protocol="escalate", limits=Limits(max_rounds=2))
        verdict = deliberate_sync(case, rubric, jury)

    assert all(set(c.schema["properties"]) == {"accurate"} for c in server.calls[2:] if c.schema)
    assert (
        "panel's votes differ by 4, which is more than the panel_spread of 1"
        in said(verdict, "escalation")[1]
    )
    assert (verdict["accurate"].value, verdict["accurate"].method) == (2, "decision")
    assert (verdict["thorough"].value, verdict["thorough"].votes) == (4, 2)


@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_can_be_rehearsed_without_a_model(rubric: Rubric, case: Case, name: str) -> None:
    jury = Jury.model_validate({"name": "j", "protocol": name, "seats": [{"name": n} for n in "abc"]})
    assert deliberate_sync(case, rubric, jury, model="scripted").transcript.ballots


# --- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_show_draws_the_protocol_and_works_an_example(name: str) -> None:
    drawn = description("protocols", name)
    calls, steps = protocol(name).most(3, 2)  # type: ignore[misc]
    assert drawn.startswith(f"{name}: ")
    assert "\n  1  " in drawn
    assert f"at most {calls} call" in drawn and f"in {steps} serial step" in drawn
    assert max(map(len, drawn.splitlines())) < 160


@pytest.fixture
def example_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, found as if it were installed."""
    example = ROOT / "examples/plugin-package"
    about = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    put_package(tmp_path, about["name"], about["entry-points"])
    monkeypatch.syspath_prepend(example)
    modules = [f"second_reading.{path.stem}" for path in (example / "second_reading").glob("[a-z]*.py")]
    with on_the_path(tmp_path, "second_reading", *modules):
        yield


@pytest.mark.usefixtures("example_package")
def test_a_third_partys_protocol_and_counting_rule_are_used_by_name(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": [5, 3], "b": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="second-reading"))

    assert verdict.stop.reason == "complete"
    assert (len(server.calls), verdict.transcript.steps) == (4, 2)
    assert (verdict["accurate"].value, verdict["accurate"].method) == (3, "lowest")
    assert Jury.model_validate({"name": "j", "count": "lowest", "seats": [{"name": "a"}]}).count == "lowest"


@pytest.mark.usefixtures("example_package")
def test_the_record_has_the_options_and_the_prompts_of_a_third_partys_protocol(
    rubric: Rubric, case: Case, tmp_path: Path
) -> None:
    fields = {"name": "j", "seats": [{"name": "a", "model": "scripted"}]}
    told = {"protocol": "second-reading", "options": {"readings": 3}}
    juries = [
        Jury.model_validate({**fields, **told}),
        Jury.model_validate({**fields, "name": "plain", "protocol": "panel"}),
    ]
    run_session(RunSession([case], rubric, juries, tmp_path / "run"), Console(file=io.StringIO()), quiet=True)
    store = Store.read(tmp_path / "run")
    own, plain = (arm.manifest for arm in sorted(store.arms()))
    store.release()

    prompts = protocol("second-reading").prompts
    assert prompts is not None and prompts.names == ["second-look.md"]
    assert own["protocol_prompts"] == prompts.hash
    assert own["jury"]["options"]["readings"] == 3
    assert "protocol_prompts" not in plain and "options" not in plain["jury"]


@pytest.mark.usefixtures("example_package")
def test_a_protocol_without_its_prompts_is_refused_before_anything_is_asked(
    rubric: Rubric, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = protocol("second-reading")
    assert way.prompts is not None
    monkeypatch.setattr(way.prompts, "folder", tmp_path / "left-out-of-the-wheel")
    with pytest.raises(VenireError, match="was installed without its prompts"):
        deliberate_sync(case, rubric, jury_at("http://127.0.0.1:9/v1", "a", protocol="second-reading"))


def test_a_library_may_be_registered_by_anyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    own = Path(library("venire.personas")["skeptic"]).read_text()
    (folder / "midwife.yaml").write_text(own.replace("name: skeptic", "name: midwife"))
    (folder / "skeptic.yaml").write_text("not: venire's own")
    (tmp_path / "their_texts.py").write_text(f"from pathlib import Path\nFOLDER = Path({str(folder)!r})\n")
    about = tmp_path / "their_texts-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-texts\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[venire.personas]\ntheirs = their_texts:FOLDER\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins_by_group.cache_clear()
    try:
        assert load_persona("midwife").name == "midwife"
        assert load_persona("skeptic").name == "skeptic"
    finally:
        plugins_by_group.cache_clear()


def test_the_page_says_what_the_protocols_say() -> None:
    page = (ROOT / "docs/protocols.md").read_text()
    for name in NAMES:
        calls, steps = protocol(name).most(3, 2)  # type: ignore[misc]
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` | ") and " in " in line]
        assert f"| {calls} in {steps} |" in row


def test_the_page_on_plug_ins_shows_the_example_as_it_is() -> None:
    package = ROOT / "examples/plugin-package"
    held = [
        path.read_text() for path in package.rglob("*") if path.suffix in (".py", ".toml", ".md", ".yaml")
    ]
    shown = [
        text for kind, text in blocks("docs/extending.md") if kind in ("python", "toml", "yaml", "markdown")
    ]

    assert len(shown) >= 4
    for text in shown:
        assert any(text in file for file in held), text


@pytest.mark.parametrize(
    "way", ["single", "panel", "orchestrated", "moderated", "debate", "delphi", "escalate", "magentic-one"]
)
def test_a_quorum_that_max_turns_kept_from_being_met_names_the_limit(
    rubric: Rubric, case: Case, way: str
) -> None:
    answers: dict[str, Any] = {"a": 3, "b": 3, "c": 3, "d": 3}
    if way == "magentic-one":
        pytest.importorskip("autogen_agentchat", reason="the magentic-one protocol needs venire[autogen]")
        from magentic_scripts import boss, in_turn

        answers["boss"] = boss(in_turn("a", "b", "c", "d"))
    with ProviderServer(jury_of(answers)) as server:
        fields = {"repeats": 4} if way == "single" else {}
        jury = jury_at(
            server.url, "a", "b", "c", "d",
            protocol=way, quorum=4, limits=Limits(max_turns=2), **fields,
        )  # fmt: skip
        verdict = deliberate_sync(case, rubric, jury)

    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("turns", "max_turns", 2)
    assert verdict["accurate"].status == "hung" or way == "magentic-one"


@pytest.mark.parametrize(("name", "seats", "calls"), [("single", "a", 3), ("panel", "aab", 9)])
def test_a_jury_that_hears_a_case_again_draws_every_answer_anew(
    rubric: Rubric, case: Case, tmp_path: Path, name: str, seats: str, calls: int
) -> None:
    """Seats alike and repeats have numbers of their own, so that no hearing is given another's recorded answers."""
    with ProviderServer(jury_of({"a": 4, "b": 3})) as server:
        made = jury_at(server.url, *dict.fromkeys(seats), protocol=name, repeats=3)
        doubled = [{**made.seats[0].model_dump(mode="json"), "name": f"{seat}{number}", "model": f"server/{seat}"} for number, seat in enumerate(seats)]  # fmt: skip
        jury = Jury.model_validate({**made.model_dump(mode="json"), "seats": doubled})
        juries = [jury, jury.heard_again(2), jury.heard_again(3)]
        session = RunSession(cases=[case], rubric=rubric, juries=juries, folder=tmp_path / "run")
        run_session(session, Console(quiet=True), quiet=True)

    assert len(server.calls) == 3 * calls
