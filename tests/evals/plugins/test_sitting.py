"""The seam that every plug-in stands on: a case in, a judgement out, from any thread and any event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkout import SUPPORT
from mixed_rubric import RUBRIC, SCORES, agreeing_server
from openai_server import Call, ProviderServer, Refusal, filled, jury_of
from plugin_hosts import longer_output
from server_juries import jury_at

from venire import Store, VenireError, load_rubric
from venire.agents.cost import Price
from venire.evals.plugins.langsmith import JuryEvaluator, jury_preferences
from venire.evals.plugins.promptfoo import call_api, get_assert
from venire.evals.plugins.sitting import case_from_sample, convene, field_of
from venire.rubrics.case import is_swapped


def test_every_outcome_has_its_own_kind_of_mark() -> None:
    with agreeing_server("a", "b") as server:
        marks = (
            convene(RUBRIC, jury_at(server.url, "a", "b", protocol="panel"))
            .hear_sync(case_from_sample(1, "Text."))
            .marks
        )

    told = {name: (mark.status, mark.value, mark.share) for name, mark in marks.items()}
    assert told == {
        "accurate": ("reached", 4, 0.75),
        "risk": ("reached", 2, 0.75),  # a low risk is good
        "tone": ("reached", "plain", None),  # no word is better than another
        "plan": ("not_applicable", None, None),
        "safety": ("reached", 4.0, 0.75),
        "overall": ("reached", 4.0, 0.75),
    }


def longer(call: Call) -> Any:
    """A juror who prefers the longer output, whichever label it has."""
    assert call.schema is not None
    return filled(call.schema, lambda _: longer_output(call.prompt))


def test_hosts_have_their_output_compared_with_another() -> None:
    """1 where the host's own output is preferred, under either label, in every epoch."""
    with ProviderServer(longer) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        evaluator = JuryEvaluator("preference", jury, against="before", prefix="pair.")
        for number, (text, won) in enumerate((("Long words.", 1), ("No.", -1), ("Other", 0)) * 4):
            inputs = {"question": f"Question {number}?", "before": "Words"}
            feedback = {one["key"]: one for one in evaluator(inputs=inputs, outputs=text)}
            assert (feedback["pair.preference"]["score"], feedback["pair.hung"]["score"]) == (won, 0)
            config = {"rubric": "preference", "jury": jury, "question": "question", "against": "before"}
            found = get_assert(text, {"vars": inputs, "config": config})
            words = {1: "the output", -1: "the other output", 0: "tie"}[won]
            assert (found["score"], found["reason"]) == ((won + 1) / 2, f"preference {words}")
            own = "AB"[is_swapped(feedback["pair.preference"]["metadata"]["case"])]
            assert f"jurors saw this output as output {own}" in feedback["pair.preference"]["comment"]
        case = case_from_sample(1, "Long words.", against="No.", system="mine")
        heard = [convene("preference", jury).hear_sync(case, again=again) for again in range(6)]

    assert [judged.marks["preference"].value for judged in heard] == [1] * 6
    assert len({judged.verdict["preference"].value for judged in heard}) == 2


@pytest.mark.parametrize(
    ("outputs", "best"),
    [
        (["No.", "Long words.", "Words."], "1"),
        (["Same", "Less", "No."], "0 against 1: tie"),
        (["Long words.", " ", "No."], "0"),
        (["", " "], "give the jury a text to judge"),
    ],
)
def test_the_output_that_is_preferred_to_every_other_is_selected(outputs: list[str], best: str) -> None:
    with ProviderServer(longer) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        asked = {"config": {"rubric": "preference", "jury": jury, "question": "q", "basePath": "."}}
        told = call_api("", asked, {"vars": {"q": "Why?", "outputs": outputs, "criteria": "good"}})
        runs = [SimpleNamespace(id=number) for number in range(2)]
        (compare,) = jury_preferences("preference", jury, prefix="jury.")
        feedback = compare(runs, {"q": "Why?"}, outputs[:2], None)

    assert (told["output"] == best) if len(best) == 1 else (best in told["error"])
    sizes = [len(text.strip()) for text in outputs[:2]]
    assert feedback["key"] == "jury.preference"
    share = None if not any(sizes) else ((sizes[0] > sizes[1]) - (sizes[0] < sizes[1]) + 1) / 2
    assert feedback["scores"] == {0: share, 1: None if share is None else 1 - share}
    assert ("tokenUsage" in told) == any(sizes)
    assert not any(sizes) or told["tokenUsage"]["numRequests"] == 2 * 3, "two jurors of three pairs"


def test_a_best_output_needs_one_question_about_pairs() -> None:
    with ProviderServer(longer) as server:
        jury = jury_at(server.url, "a", protocol="panel")
        for rubric, attribute in (
            (RUBRIC, None),
            ("preference", "preferance"),
            ("preference-clinical", None),
        ):
            asked = {"config": {"rubric": rubric, "jury": jury, "attribute": attribute}}
            told = call_api("", asked, {"vars": {"outputs": ["a", "b"]}})
            assert "select-best needs one attribute of a rubric with kind: pair" in told["error"]
        with pytest.raises(VenireError, match="does not compare two outputs"):
            jury_preferences(RUBRIC, jury)


@pytest.mark.parametrize(("usd", "cost"), [((0.1, 0.2, 0.3), 0.6), ((0.1, None, 0.3), None), ((0.0, 0.0, 0.0), 0)])  # fmt: skip
def test_a_best_output_has_a_cost_only_where_every_price_is_known(
    monkeypatch: pytest.MonkeyPatch, usd: tuple[float | None, ...], cost: float | None
) -> None:
    spent = iter(usd)

    def hear_sync(case: Any) -> Any:
        mark = SimpleNamespace(value=1, reason="the first is preferred")
        return SimpleNamespace(marks={"preference": mark}, usd=next(spent), fresh=False, verdict=SimpleNamespace(transcript=None))  # fmt: skip

    sitting = SimpleNamespace(rubric=load_rubric("preference"), hear_sync=hear_sync)
    monkeypatch.setattr("venire.evals.plugins.promptfoo.convene", lambda *_, **__: sitting)
    told = call_api("", {"config": {"rubric": "r", "jury": "j"}}, {"vars": {"outputs": ["a", "b", "c"]}})

    assert told["output"] == "0" and told.get("cost") == (cost and pytest.approx(cost))


def test_what_is_hung_has_no_value_and_says_why() -> None:
    with ProviderServer(jury_of({"a": SCORES, "b": "No.", "c": Refusal()})) as server:
        jury = jury_at(server.url, "a", "b", "c", protocol="panel", quorum=2)
        judgement = convene(RUBRIC, jury).hear_sync(case_from_sample(1, "Text."))

    mark, whole = judgement.marks["accurate"], judgement.marks["overall"]
    assert (mark.status, mark.value, mark.share) == ("hung", None, None)
    assert "too few jurors voted: 1 of the 2 that are needed" in mark.reason
    assert (whole.status, whole.value) == ("hung", None)
    assert "b abstains unparsable" in judgement.text
    assert "c abstains refused" in judgement.text
    assert {told["juror"] for told in judgement.document["abstentions"]} == {"b", "c"}


def test_many_cases_at_once_share_one_court() -> None:
    with agreeing_server("a", "b") as server:
        sitting = convene(RUBRIC, jury_at(server.url, "a", "b", protocol="panel"), in_flight=4)

        async def all_of_them() -> list[str]:
            heard = await asyncio.gather(
                *(sitting.hear(case_from_sample(n, f"Text {n}.")) for n in range(30))
            )
            return [judgement.verdict.case for judgement in heard]

        assert asyncio.run(all_of_them()) == [str(n) for n in range(30)]
        assert len(server.calls) == 60
        assert server.most_in_flight == 4


def test_threads_running_loops_and_several_loops_may_ask() -> None:
    with agreeing_server("a") as server:
        sitting = convene(RUBRIC, jury_at(server.url, "a", protocol="panel"))

        async def inside_a_loop(n: int) -> float:
            first = sitting.hear_sync(case_from_sample(f"sync-{n}", f"One {n}."))
            second = await sitting.hear(case_from_sample(f"async-{n}", f"Two {n}."))
            return float(first.marks["accurate"].value or 0) + float(second.marks["accurate"].value or 0)

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda n: asyncio.run(inside_a_loop(n)), range(16))) == [8.0] * 16


def test_the_same_case_is_heard_once_and_again_means_anew() -> None:
    with agreeing_server("a") as server:
        sitting = convene(RUBRIC, jury_at(server.url, "a", protocol="panel"))
        case = case_from_sample(1, "Text.")

        first, second = sitting.hear_sync(case), sitting.hear_sync(case)
        assert (first.fresh, second.fresh, len(server.calls)) == (True, False, 1)

        third, fourth = sitting.hear_sync(case, again=1), sitting.hear_sync(case, again=1)
        assert (third.fresh, fourth.fresh, len(server.calls)) == (True, False, 2)
        assert third.verdict.case == "1#2"


def test_what_failed_may_be_asked_again() -> None:
    with agreeing_server("a") as server:
        jury = jury_at(server.url, "a", protocol="panel")
        sitting = convene(RUBRIC, jury, max_tokens=800)
        sitting.hear_sync(case_from_sample(1, "Text."))
        for _ in range(2):
            with pytest.raises(VenireError, match="max_tokens was reached"):
                sitting.hear_sync(case_from_sample(2, "Other."))

        assert len(server.calls) == 1


def test_a_record_is_taken_up_where_it_was_left(tmp_path: Path) -> None:
    with agreeing_server("a", "b") as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        price = {f"server/{name}": Price(prompt=1, completion=1) for name in "ab"}
        first = convene(RUBRIC, jury, record=tmp_path / "run", prices=price)
        paid = first.hear_sync(case_from_sample(1, "Text."))
        first.hear_sync(case_from_sample(1, "Text."), again=1)
        first.close()
        before = len(server.calls)

        second = convene(RUBRIC, jury, record=tmp_path / "run", prices=price)
        found, anew = (
            second.hear_sync(case_from_sample(1, "Text.")),
            second.hear_sync(case_from_sample(1, "Other text.")),
        )
        second.hear_sync(case_from_sample(1, "Text."), again=1)
        second.close()

        assert second is not first
        assert paid.usd is not None and paid.usd > 0
        assert (found.fresh, found.usd, found.marks) == (False, 0.0, paid.marks)
        assert anew.fresh
        assert len(server.calls) == before + 2
    store = Store.read(tmp_path / "run")
    assert store.case_ids() == ["1", "1#2"]
    store.release()


def test_the_same_question_is_the_same_sitting_and_another_is_not() -> None:
    with ProviderServer(jury_of({"a": 3})) as server:
        jury = jury_at(server.url, "a", protocol="panel")

        assert convene(RUBRIC, jury) is convene(RUBRIC, jury)
        assert convene(RUBRIC, jury) is not convene(RUBRIC, jury, max_tokens=5)


def test_two_juries_whose_scores_have_the_same_names_are_warned_of() -> None:
    with agreeing_server("a", "b") as server:
        one, other = (jury_at(server.url, name, protocol="panel") for name in ("a", "b"))
        first = JuryEvaluator(RUBRIC, one)
        apart = [JuryEvaluator(RUBRIC, one), JuryEvaluator(RUBRIC, other, prefix="other.")]
        with pytest.warns(UserWarning, match="two juries of this program give their scores the same names"):
            JuryEvaluator(RUBRIC, other)
        del first, apart
        JuryEvaluator(RUBRIC, other)


def test_a_source_that_a_sample_does_not_have_is_an_error_that_names_the_nearest() -> None:
    assert field_of({"notes": "Fever."}, "notes") == "Fever."
    assert field_of({"notes": "Fever."}, None) is None
    with pytest.raises(VenireError, match=r"no field 'note'\n.*notes"):
        field_of({"notes": "Fever."}, "note")


def test_nothing_to_judge_is_an_error_that_names_the_sample() -> None:
    with pytest.raises(VenireError, match=r"sample 7: output"):
        case_from_sample(7, None)


PROGRAM = """
import sys
from threading import Barrier
from concurrent.futures import ThreadPoolExecutor
from mixed_rubric import RUBRIC, agreeing_server
from server_juries import jury_at
from venire.evals.plugins.sitting import case_from_sample, convene

with agreeing_server("a") as server, ThreadPoolExecutor(8) as threads:
    jury = jury_at(server.url, "a", protocol="panel")
    all_there = Barrier(8)

    def headline(number):
        all_there.wait()
        options = {"record": sys.argv[1]} if number % 2 else {}
        return convene(RUBRIC, jury, **options).hear_sync(case_from_sample(number, f"Text {number}.")).headline

    print(*threads.map(headline, range(8)), sep="\\n")
"""


def test_a_program_whose_threads_all_ask_at_once_ends_quietly_with_sittings_open(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAM, str(tmp_path / "run")],
        env=os.environ | {"PYTHONPATH": str(SUPPORT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("accurate 4, risk 2, tone plain") == 8
    assert ended.stderr == ""


def test_a_call_that_is_under_way_is_kept_when_the_asker_gives_up(tmp_path: Path) -> None:
    with agreeing_server("a") as server:
        sitting = convene(RUBRIC, jury_at(server.url, "a", protocol="panel"), record=tmp_path / "run")

        async def impatient() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(sitting.hear(case_from_sample(1, "Text.")), 0.001)

        asyncio.run(impatient())
        again = sitting.hear_sync(case_from_sample(1, "Text."))
        sitting.close()

    assert again.marks["accurate"].value == 4
    assert len(server.calls) == 1


def test_no_metadata_reaches_a_juror() -> None:
    seen: list[Call] = []

    def answer(call: Call) -> object:
        seen.append(call)
        return jury_of({"a": SCORES})(call)

    with ProviderServer(answer) as server:  # type: ignore[arg-type]
        case = case_from_sample(1, "Text.", metadata={"label": "canary"}, system="canary", reference="canary")
        convene(RUBRIC, jury_at(server.url, "a", protocol="panel")).hear_sync(case)

    assert seen and not any("canary" in call.prompt for call in seen)
