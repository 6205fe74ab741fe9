"""An illegal answer to one attribute costs that attribute and no other, and is an abstention wherever it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, ProviderServer, Refusal, filled, jury_of
from rich.console import Console
from run_files import write_run
from server_juries import jury_at

from venire import Case, Limits, Rubric, deliberate_sync
from venire.orchestration.deliberate import recount
from venire.orchestration.reading.analysis import flags
from venire.orchestration.reading.export import case_json
from venire.orchestration.reading.graph import deliberation_graph
from venire.orchestration.reading.show import show
from venire.orchestration.record.redaction import redacted_transcript
from venire.orchestration.transcript import Transcript
from venire.orchestration.verdict import Verdict
from venire.web.pages.proceedings import proceedings

ILLEGAL = {"accurate": 4.5, "thorough": 4}


def _panel(rubric: Rubric, case: Case, scores: dict[str, Any], **fields: Any) -> Verdict:
    with ProviderServer(jury_of(scores)) as server:
        return deliberate_sync(case, rubric, jury_at(server.url, *scores, protocol="panel", **fields))


def _edited(edit: Callable[[dict[str, Any]], object], number: int | None = None) -> Callable[[Call], Any]:
    """A juror whose every answer, or only the answer of this number, is an edited ballot of fours."""

    def answer(call: Call) -> Any:
        assert call.schema is not None
        ballot = filled(call.schema, lambda _: 4, moved_by="a quote")
        if number is None or call.number == number:
            edit(ballot)
        return ballot

    return answer


def test_an_illegal_score_abstains_on_its_attribute_alone(rubric: Rubric, case: Case) -> None:
    verdict = _panel(rubric, case, {"a": 3, "b": ILLEGAL}, quorum=2)

    assert (verdict["thorough"].status, verdict["thorough"].votes) == ("reached", 2)
    assert (verdict["accurate"].status, verdict["accurate"].votes) == ("hung", 1)
    (abstained,) = verdict.transcript.abstentions
    assert (abstained.speaker, abstained.abstention.attribute) == ("b", "accurate")
    assert abstained.abstention.reason == "out_of_scale"
    assert "4.5" in abstained.abstention.detail
    assert verdict.transcript.turns == 2
    assert verdict.transcript.cost.calls == 3


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda ballot: ballot["accurate"].update(score=9), "out_of_scale"),
        (lambda ballot: ballot["accurate"].update(score=True), "out_of_scale"),
        (lambda ballot: ballot["accurate"].update(score=None), "out_of_scale"),
        (lambda ballot: ballot["accurate"].update(rationale=""), "unparsable"),
        (lambda ballot: ballot.update(accurate="four"), "unparsable"),
        (lambda ballot: ballot.pop("accurate"), "unparsable"),
    ],
)
def test_whatever_is_wrong_with_one_attribute_leaves_the_others(
    rubric: Rubric, case: Case, edit: Callable[[dict[str, Any]], object], reason: str
) -> None:
    verdict = _panel(rubric, case, {"a": 4, "b": _edited(edit)})

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.abstention.attribute, abstained.abstention.reason) == ("accurate", reason)
    assert verdict["thorough"].votes == 2
    assert verdict["accurate"].votes == 1


def test_a_ballot_without_one_legal_attribute_is_the_seats_abstention(rubric: Rubric, case: Case) -> None:
    verdict = _panel(rubric, case, {"a": 4, "b": 4.5})

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.abstention.attribute, abstained.abstention.reason) == (None, "out_of_scale")
    assert abstained.abstention.asked == ("accurate", "thorough")


def test_a_repair_that_sends_only_what_was_wrong_completes_the_ballot(rubric: Rubric, case: Case) -> None:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        first = filled(call.schema, lambda name: {"accurate": 4.5, "thorough": 2}[name])
        return first if call.number == 0 else {"accurate": {**first["accurate"], "score": 4}}

    verdict = _panel(rubric, case, {"a": 4, "b": answer})

    assert not verdict.transcript.abstentions
    held = verdict.transcript.standing()
    assert (held["accurate"]["b"].vote.value, held["thorough"]["b"].vote.value) == (4, 2)


def test_a_refusal_to_repair_is_a_refusal(rubric: Rubric, case: Case) -> None:
    verdict = _panel(rubric, case, {"a": 4, "b": [ILLEGAL, Refusal()]})

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.abstention.attribute, abstained.abstention.reason) == (None, "refused")


def test_a_revision_with_an_illegal_attribute_keeps_the_earlier_vote_on_it(
    rubric: Rubric, case: Case
) -> None:
    first, then = {"accurate": 2, "thorough": 2}, {"accurate": 4.5, "thorough": 4}
    scores = {"a": 4, "b": [first, then, then], "boss": 3}
    with ProviderServer(jury_of(scores)) as server:
        jury = jury_at(server.url, "a", "b", limits=Limits(max_rounds=2))
        verdict = deliberate_sync(case, rubric, jury)

    held = verdict.transcript.standing()
    assert held["accurate"]["b"].vote.value == 2
    assert held["thorough"]["b"].vote.value == 4
    (abstained,) = verdict.transcript.abstentions
    assert (abstained.round, abstained.abstention.attribute) == (2, "accurate")


def test_a_change_that_names_nothing_costs_that_change_alone(rubric: Rubric, case: Case) -> None:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        if call.number == 0:
            return filled(call.schema, lambda _: 2)
        ballot = filled(call.schema, lambda _: 4, moved_by="a quote")
        ballot["accurate"]["moved_by"] = "..."
        return ballot

    with ProviderServer(jury_of({"a": 4, "b": answer, "boss": 3})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", limits=Limits(max_rounds=2)))

    held = verdict.transcript.standing()
    assert (held["accurate"]["b"].vote.value, held["thorough"]["b"].vote.value) == (2, 4)
    (abstained,) = verdict.transcript.abstentions
    assert "moved_by is empty" in abstained.abstention.detail


def test_every_reader_tells_the_attribute_and_gives_it_no_number(rubric: Rubric, case: Case) -> None:
    verdict = _panel(rubric, case, {"a": 4, "b": ILLEGAL})

    document = case_json(verdict)
    assert [(row["juror"], row["attribute"], row["reason"]) for row in document["abstentions"]] == [
        ("b", "accurate", "out_of_scale")
    ]
    assert {(row["juror"], row["attribute"]) for row in document["ballots"]} == {
        ("a", "accurate"), ("a", "thorough"), ("b", "thorough"),
    }  # fmt: skip
    (flag,) = [flag for flag in flags(verdict, rubric) if flag.kind == "abstention"]
    assert (flag.attribute, flag.text) == ("accurate", "b abstained on accurate: out_of_scale")
    screen = StringIO()
    show(verdict, Console(file=screen, width=200))
    assert "accurate abstains out_of_scale" in screen.getvalue()
    assert "no opinion" not in screen.getvalue()
    ballot = deliberation_graph(verdict.transcript, verdict).nodes["1/b"]
    assert ballot["abstained accurate"].startswith("out_of_scale")
    assert "score accurate" not in ballot
    assert "abstains on accurate (out_of_scale)" in str(proceedings(verdict))


def test_a_redacted_record_keeps_the_attribute_and_the_reason_but_not_the_words(
    rubric: Rubric, case: Case
) -> None:
    said = {"accurate": "PATIENT-WORDS", "thorough": 4}
    verdict = _panel(rubric, case, {"a": 4, "b": said})

    kept = redacted_transcript(verdict.transcript, case)
    (abstained,) = kept.abstentions
    assert (abstained.abstention.attribute, abstained.abstention.reason) == ("accurate", "out_of_scale")
    assert "PATIENT-WORDS" not in kept.model_dump_json()


def test_a_record_from_before_reads_and_counts_as_it_did(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4})) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        verdict = deliberate_sync(case, rubric, jury)
    old = json.loads(verdict.transcript.model_dump_json())
    for entry in old["entries"]:
        entry.get("ballot", {}).pop("abstained", None)

    again = Transcript.model_validate(old)

    assert not again.abstentions
    assert recount(again, rubric, jury).outcomes == verdict.outcomes


def test_a_run_counts_and_exports_the_abstained_attribute(tmp_path: Path) -> None:
    scores = {"a": 2, "b": 2, "c": {"accurate": 2.5, "kind": 2}}
    with ProviderServer(jury_of(scores)) as server:
        command = write_run(tmp_path, server.url, protocol="panel", quorum=3)
        rubric = (tmp_path / "rubric.yaml").read_text()
        (tmp_path / "rubric.yaml").write_text(
            f"{rubric}  - name: kind\n    question: Is it kind?\n    scale: agree\n"
        )
        ran = venire(*command, "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    for heard in json.loads(ran.stdout)["cases"]:
        assert heard["verdict"]["accurate"]["status"] == "hung"
        assert heard["verdict"]["kind"]["value"] == 2
        (row,) = heard["abstentions"]
        assert (row["round"], row["juror"], row["attribute"]) == (1, "c", "accurate")
    exported = venire("export", "out", "--to", "jsonl", cwd=tmp_path)
    assert '"attribute": "accurate", "reason": "out_of_scale"' in exported.stdout


def test_an_illegal_finding_of_the_orchestrator_costs_no_other(rubric: Rubric, case: Case) -> None:
    def decide(call: Call) -> Any:
        assert call.schema is not None
        if "weighed" not in json.dumps(call.schema):
            return filled(call.schema, lambda _: 3, to=["a", "b"])
        return filled(call.schema, {"accurate": 9, "thorough": 3}.get)

    with ProviderServer(jury_of({"a": 2, "b": 4, "boss": decide})) as server:
        jury = jury_at(server.url, "a", "b", limits=Limits(max_rounds=1))
        verdict = deliberate_sync(case, rubric, jury)

    assert (verdict["thorough"].status, verdict["thorough"].value) == ("reached", 3)
    # Never hung for the chair's sake alone: the standing votes are counted.
    assert (verdict["accurate"].status, verdict["accurate"].value) == ("reached", 3)
    assert "median" in verdict["accurate"].method
    assert "accurate: out_of_scale" in verdict.stop.detail
    (said,) = [
        entry for entry in verdict.transcript.entries if entry.kind == "said" and entry.about == "silence"
    ]
    assert said.text.startswith("accurate: out_of_scale")
