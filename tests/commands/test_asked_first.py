"""`run`, `study` and `serve` ask their models before the first case, and say which ones failed later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, Fault, ProviderServer, jury_of
from run_files import write_run

from venire import Jury
from venire.commands.options import filled_juries

SEATS: dict[str, Any] = {"a": 3, "b": 1, "c": 2, "boss": 2}
ANSWERS = jury_of(SEATS)


def change_jury(folder: Path, seat: int | None, **fields: Any) -> None:
    """Change one seat of the jury file, or with None the orchestrator's."""
    jury = json.loads((folder / "jury.yaml").read_text())
    (jury["orchestrator"] if seat is None else jury["seats"][seat]).update(fields)
    (folder / "jury.yaml").write_text(json.dumps(jury))


def two_lines(ended: Any) -> str:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    said = [line for line in ended.stderr.strip().splitlines() if not line.startswith("models asked: ")]
    assert len(said) == 2
    return ended.stderr


@pytest.mark.parametrize("seat", [1, None], ids=["juror", "orchestrator"])
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"model": "server/gone"}, "has no model 'gone'"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1"),
        ({"api_key_env": "NOT_SET_HERE"}, "NOT_SET_HERE is not set"),
        ({"model": "oppenai/gpt", "base_url": None}, "not a provider"),
    ],
)
def test_one_bad_seat_is_found_before_anything_is_paid_or_written(
    tmp_path: Path, seat: int | None, fields: dict[str, Any], named: str
) -> None:
    with ProviderServer(ANSWERS, models=list(SEATS)) as server:
        command = write_run(tmp_path, server.url)
        change_jury(tmp_path, seat, **fields)
        assert named in two_lines(venire(*command, cwd=tmp_path))

    assert server.calls == []
    assert not (tmp_path / "out").exists()


def test_a_server_without_a_list_is_tried_with_one_case_alone(tmp_path: Path) -> None:
    down = True

    def answer(call: Call) -> Any:
        return Fault(status=401) if down and call.model == "b" else ANSWERS(call)

    with ProviderServer(answer) as server:
        command = write_run(tmp_path, server.url)
        said = two_lines(venire(*command, cwd=tmp_path))
        assert f"'server/b' cannot be used at {server.url}: HTTP 401" in said
        # What a provider says may repeat the case.
        assert "planted fault" not in said
        tried = {call.prompt for call in server.calls if call.model != "boss"}
        assert all("Note 0" in prompt for prompt in tried)
        down = False
        paid = sum(call.model != "b" for call in server.calls)
        again = venire(*command, "--json", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        document = json.loads(again.stdout)

    assert not any(case["abstentions"] for case in document["cases"])
    # Of what the first command paid for, nothing was paid for again.
    assert document["spent"]["calls"] == len(server.calls) - 1
    assert paid


def test_a_server_that_lists_its_models_to_anybody_and_refuses_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAT_KEY", "sk-wrong")
    with ProviderServer(lambda call: Fault(status=401), models=list(SEATS)) as server:
        command = write_run(tmp_path, server.url)
        change_jury(tmp_path, 0, api_key_env="SEAT_KEY")
        ended = venire(*command, "--quiet", cwd=tmp_path)

    said = two_lines(ended)
    assert "cannot be used at" in said and "HTTP 401" in said


def test_a_case_that_a_provider_moderates_is_an_abstention(tmp_path: Path) -> None:
    flagged = Fault(status=403, body='{"error": {"message": "Your input was flagged"}}')
    with ProviderServer(jury_of({**SEATS, "a": flagged}), models=list(SEATS)) as server:
        ended = venire(*write_run(tmp_path, server.url, protocol="panel"), "--json", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    reasons = {each["reason"] for case in json.loads(ended.stdout)["cases"] for each in case["abstentions"]}
    assert reasons == {"refused"}


def test_a_finished_run_needs_neither_key_nor_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAT_KEY", "good")
    with ProviderServer(ANSWERS, models=list(SEATS)) as server:
        command = write_run(tmp_path, server.url)
        for seat in (0, 1, 2, None):
            change_jury(tmp_path, seat, api_key_env="SEAT_KEY")
        first = venire(*command, "--json", cwd=tmp_path)
    monkeypatch.delenv("SEAT_KEY")

    again = venire(*command, "--json", cwd=tmp_path)

    assert (again.returncode, again.stdout) == (0, first.stdout)


def test_calls_in_the_record_are_replayed_without_a_server_until_one_is_missing(tmp_path: Path) -> None:
    with ProviderServer(ANSWERS, models=list(SEATS)) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        venire(*command, cwd=tmp_path)
    jury = json.loads((tmp_path / "jury.yaml").read_text())
    (tmp_path / "jury.yaml").write_text(json.dumps({**jury, "count": "median"}))

    recounted = venire(*command, cwd=tmp_path)

    assert recounted.returncode == 0, recounted.stderr
    with (tmp_path / "cases.jsonl").open("a") as cases:
        cases.write('{"id": "new", "output": "Another note."}\n')
    refused = venire(*command, "--quiet", cwd=tmp_path)
    assert refused.returncode == 2
    assert server.url in refused.stderr


def test_a_study_asks_before_it_plans_its_costs(tmp_path: Path) -> None:
    with ProviderServer(ANSWERS, models=list(SEATS)) as server:
        study = write_study(tmp_path, server.url)
        change_jury(tmp_path, 0, model="server/gone")
        for command in (["study", study], ["study", "run", study]):
            assert "has no model 'gone'" in two_lines(venire(*command, cwd=tmp_path))
        planned = venire("study", "plan", study, cwd=tmp_path)

    assert planned.returncode == 0, planned.stderr
    assert server.calls == []


def test_a_study_is_planned_without_keys(tmp_path: Path) -> None:
    study = write_study(tmp_path, "http://127.0.0.1:9/v1")
    change_jury(tmp_path, 0, api_key_env="NOT_SET_HERE")

    planned = venire("study", "plan", study, cwd=tmp_path)

    assert planned.returncode == 0, planned.stderr
    assert "NOT_SET_HERE is not set, and the run will need it" in " ".join(planned.stdout.split())


def test_a_study_that_lacks_a_model_exits_4_and_is_mended_by_retry(tmp_path: Path) -> None:
    down = True

    def answer(call: Call) -> Any:
        return Fault(status=403) if down and call.model == "a" and "Note 2" in call.prompt else ANSWERS(call)

    with ProviderServer(answer) as server:
        study = write_study(tmp_path, server.url)
        first = venire("study", "run", study, "--json", cwd=tmp_path)
        down = False
        again = venire("study", "run", study, "--retry", "--json", cwd=tmp_path)

    assert first.returncode == 4
    assert "the model server/a (a of bench) could not be reached for 1 case: HTTP 403" in first.stderr
    assert json.loads(first.stdout)["unreached"][0]["model"] == "server/a"
    assert (again.returncode, json.loads(again.stdout)["unreached"]) == (0, [])


def test_serve_asks_before_it_listens(tmp_path: Path) -> None:
    write_run(tmp_path, "http://127.0.0.1:9/v1")
    command = ("serve", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "--port", "0", "-o", "out")

    assert "http://127.0.0.1:9/v1" in two_lines(venire(*command, cwd=tmp_path))
    assert not (tmp_path / "out").exists()


def test_status_and_show_name_the_models_that_were_not_reached(tmp_path: Path) -> None:
    def answer(call: Call) -> Any:
        return Fault(status=403) if call.model == "a" and "Note 2" in call.prompt else ANSWERS(call)

    with ProviderServer(answer) as server:
        venire(*write_run(tmp_path, server.url, quorum=3), cwd=tmp_path)
    expected = "the model server/a (a of bench) could not be reached for 1 case: HTTP 403"

    for command in (["status", "out"], ["show", "out"]):
        assert expected in " ".join(venire(*command, cwd=tmp_path).stdout.split())
    status = json.loads(venire("status", "out", "--json", cwd=tmp_path).stdout)
    assert status["unreached"] == [
        {
            "arm": "bench",
            "model": "server/a",
            "seats": ["a"],
            "cases": 1,
            "why": status["unreached"][0]["why"],
        }
    ]
    shown = json.loads(venire("show", "out", "case-2", "--json", cwd=tmp_path).stdout)
    assert "a unavailable: HTTP 403" in shown["cases"][0]["verdict"]["accurate"]["why"]


def test_money_and_calls_are_one_number_wherever_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(
        json.dumps({f"server/{name}": {"prompt": 1, "completion": 1} for name in SEATS})
    )
    with ProviderServer(ANSWERS, models=list(SEATS)) as server:
        command = [*write_run(tmp_path, server.url), "--prices", "prices.yaml"]
        stopped = venire(*command, "--max-tokens", "4000", "--in-flight", "1", cwd=tmp_path)
        status = venire("status", "out", cwd=tmp_path).stdout
        document = json.loads(venire("show", "out", "--json", cwd=tmp_path).stdout)
        ended = venire(*command, "--json", cwd=tmp_path)

    assert stopped.returncode == 3
    calls, usd = document["spent"]["calls"], f"${document['spent']['usd']:.4f}"
    for text in (stopped.stderr, stopped.stdout, status):
        assert f"{calls} calls" in text and usd in text
    assert json.loads(ended.stdout)["spent"]["calls"] == len(server.calls)


def write_study(folder: Path, url: str) -> str:
    write_run(folder, url, protocol="panel")
    rows = [
        f"case-{number},r{rater},accurate,{1 + (number + rater) % 3}"
        for number in range(4)
        for rater in (1, 2)
    ]
    (folder / "ratings.csv").write_text("\n".join(["case,rater,attribute,value", *rows]) + "\n")
    (folder / "study.yaml").write_text(
        json.dumps(
            {
                "name": "small",
                "cases": "cases.jsonl",
                "rubric": "rubric.yaml",
                "ratings": "ratings.csv",
                "attributes": ["accurate"],
                "arms": [{"jury": "jury.yaml"}],
            }
        )
    )
    return "study.yaml"


def test_seats_without_a_model_get_the_one_that_is_named_at_the_address_that_is_named() -> None:
    """The address goes to seats of a server that name none, too, and not to a hosted model's."""
    seats = [{"name": "a"}, {"name": "b", "model": "server/own"}, {"name": "c", "model": "openai/gpt"}]
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats})
    (filled,) = filled_juries([jury], "server/m", "http://h/v1")
    assert [(seat.model, seat.base_url) for seat in filled.seats] == [
        ("server/m", "http://h/v1"), ("server/own", "http://h/v1"), ("openai/gpt", None),
    ]  # fmt: skip
