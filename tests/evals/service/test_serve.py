"""`venire serve` from outside: who may ask, what is refused, what a killed server keeps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
import pytest
from command_line import venire
from openai_server import Call, ProviderServer, Refusal, filled, jury_of
from run_files import write_run
from served_jury import CASE, TOKEN, Served, ask, asked, served

from venire.evals.service.connections import AllowedHosts
from venire.evals.service.judging import AnswerCache
from venire.orchestration.record import Store
from venire.orchestration.record.manifest import case_fingerprint
from venire.rubrics.case import Case, is_swapped


def wait_for(seen: Callable[[], object]) -> None:
    while not seen():
        time.sleep(0.01)


SCORES = {"a": 3, "b": 3, "c": 2}


def test_a_case_is_scored_once_and_fetched_as_often_as_one_likes(tmp_path: Path) -> None:
    with served(tmp_path, jury_of(SCORES)) as (server, provider):
        ((status, found),) = asked(server, CASE)
        assert (status, found["verdict"]["accurate"]["value"]) == (200, 3)
        calls = len(provider.calls)

        again = asked(server, CASE)
        fetched = asked(server, None, method="GET", path="/v1/deliberations/one")
        listed = asked(server, None, method="GET", path="/v1/deliberations")
        assert again[0][1]["verdict"] == fetched[0][1]["verdict"] == found["verdict"]
        assert listed == [(200, {"cases": ["one"], "total": 1})]
        assert len(provider.calls) == calls

        said = server.stop()
    assert "Traceback" not in said
    shown = json.loads(venire("show", "out", "one", "--json", cwd=tmp_path).stdout)
    assert shown["cases"][0]["verdict"] == found["verdict"]


def test_two_outputs_are_compared_and_one_is_refused(tmp_path: Path) -> None:
    """The one that is longer is preferred, whichever label it has; a grader sends one."""

    def longer(call: Call) -> Any:
        assert call.schema is not None
        length = {
            label: len(re.findall(rf'"output {label}" begins \w+\]\]\n(.*)\n', call.prompt)[0])
            for label in "AB"
        }
        return filled(call.schema, lambda _: -1 if length["A"] > length["B"] else 1)

    pairs = [
        {"output_a": f"No. {number}", "output_b": "Fever of 38.", "system_b": "canary"} for number in range(6)
    ]
    with served(tmp_path, longer, "--rubric", "preference") as (server, provider):
        answers = asked(server, *pairs, pairs[0], {"output": "Fever."})
        sample = {"grader": {"type": "score_model"}, "model_sample": "Fever."}
        graded = asked(server, sample, path="/v1/fine_tuning/alpha/graders/run")
        ((_, described),) = asked(server, None, path="/openapi.json", method="GET")

    assert [status for status, _ in answers] == [200] * 7 + [422]
    preferred = [answer["verdict"]["preference"]["value"] for _, answer in answers[:6]]
    swapped = [is_swapped(answer["case"]) for _, answer in answers[:6]]
    assert preferred == [-1 if turned else 1 for turned in swapped] and len(set(swapped)) == 2
    assert graded[0][0] == 422 and "a grader sends one" in graded[0][1]["problem"]
    assert len(provider.calls) == 6 * 3 and not any("canary" in call.prompt for call in provider.calls)
    assert described["components"]["schemas"]["Case"]["required"] == ["output_a", "output_b"]


def test_a_trajectory_is_judged_whole_and_a_conversation_comes_before_an_output(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"day": 3}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "How is the patient?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "Fever of 38."},
        {"role": "assistant", "content": "Feverish.", "tool_calls": None},
    ]
    with served(tmp_path, jury_of(SCORES)) as (server, provider):
        answers = asked(server, {"messages": messages}, {"messages": messages[:3], "output": "Well."})
        again = asked(server, {"messages": messages, "id": answers[0][1]["case"]})
        whole, last = (
            "\n".join(each.prompt for each in provider.calls if word in each.prompt)
            for word in ("Feverish.", "Well.")
        )

    assert [status for status, _ in (*answers, *again)] == [200] * 3
    assert len(provider.calls) == 2 * 3, "what was heard is not heard again"
    assert "Turn 2, assistant calls look_up:" in whole and "Turn 4, assistant:" in whole
    assert "Turn 3, tool" in last and "Feverish." not in last
    case = Case.from_row({"id": answers[0][1]["case"], "messages": messages})
    record = Store.read(tmp_path / "out")
    assert record.case(case.id, case_fingerprint(case)), "it is known as `run` knows it"
    record.release()


def test_hung_is_a_status_and_never_a_number(tmp_path: Path) -> None:
    refusing = jury_of({"a": Refusal(), "b": Refusal(), "c": 2})
    with served(tmp_path, refusing, quorum=2) as (server, _):
        ((status, found),) = asked(server, CASE)

    assert status == 200
    assert found["verdict"]["accurate"]["status"] == "hung"
    assert found["verdict"]["accurate"]["value"] is None
    assert {gone["juror"] for gone in found["abstentions"]} == {"a", "b"}


def test_without_its_token_nothing_is_served_but_the_description(tmp_path: Path) -> None:
    with served(tmp_path, jury_of(SCORES)) as (server, provider):
        for token in (None, "", "another", TOKEN + "x", "\xe9"):
            for method, path in (("POST", "/v1/deliberations"), ("GET", "/v1/status"), ("GET", "/nowhere")):
                ((status, told),) = asked(server, CASE, token=token, method=method, path=path)
                assert (status, set(told)) == (401, {"problem", "remedy"})
        ((status, _),) = asked(server, None, token=None, method="GET", path="/openapi.json")
        assert status == 200
        assert not provider.calls
        assert TOKEN not in server.told + server.stop()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"output": "\\ud800"}', 400),
        (b"[" * 100_000, 400),
        ([], 422),
        ({}, 422),
        ({"output": ""}, 422),
        ({"output": " \n"}, 422),
        ({"output": 3}, 422),
        ({"messages": []}, 422),
        ({"messages": [{"role": "nobody", "content": "x"}]}, 422),
        ({"output": None, "messages": [{"role": "user", "content": "x"}]}, 422),
        ({"output": "x", "label": "kept from jurors"}, 422),
        ({"output": "x", "id": " "}, 422),
        ({"output": "x", "id": "x" * 513}, 422),
        ({"output": "x" * 300_000}, 413),
    ],
)
def test_what_is_no_case_is_refused_in_words(body: Any, status: int, small: Any) -> None:
    server, provider = small
    ((found, told),) = asked(server, body)

    assert found == status
    assert told["problem"] and told["remedy"]
    assert not provider.calls


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("small")
    with served(folder, jury_of(SCORES), "--max-body", 200_000) as pair:
        yield pair


def test_a_body_that_does_not_say_that_it_is_json_is_refused(small: Any) -> None:
    ((status, told),) = asked(small[0], b'{"output": "x"}', headers={"Content-Type": "text/plain"})

    assert status == 415
    assert "application/json" in told["remedy"]


def test_two_hundred_requests_at_once_are_all_answered_within_the_limits(tmp_path: Path) -> None:
    cases = [{"output": f"Summary {number}.", "source": "Note: fever."} for number in range(200)]
    with served(tmp_path, jury_of(SCORES), "--in-flight", 16) as (server, provider):
        answers = asked(server, *cases)
        ((_, state),) = asked(server, None, method="GET", path="/v1/status")

    assert [status for status, _ in answers] == [200] * 200
    assert len({found["case"] for _, found in answers}) == 200
    assert provider.most_in_flight <= 16
    assert (state["hearing"], state["waiting"], state["heard"]) == (0, 0, 200)


def test_more_than_may_wait_are_told_to_come_back_and_nothing_is_spent_on_them(tmp_path: Path) -> None:
    cases = [{"output": f"Summary {number}."} for number in range(20)]
    limits = ("--at-once", 1, "--most-waiting", 2)
    with served(tmp_path, jury_of(SCORES), *limits, latency=0.5) as (server, provider):
        answers = asked(server, *cases)

    statuses = [status for status, _ in answers]
    assert (statuses.count(200), statuses.count(503)) == (3, 17)
    assert len(provider.calls) == 9


def test_the_same_case_sent_twice_at_once_is_heard_once(tmp_path: Path) -> None:
    with served(tmp_path, jury_of(SCORES), latency=0.2) as (server, provider):
        answers = asked(server, CASE, CASE, CASE)

    assert [status for status, _ in answers] == [200] * 3
    assert len(provider.calls) == 3


@pytest.mark.parametrize("name", ["Fall 7 (Ä), 3/5", "../../etc", "a%2Fb?c=d"])
def test_an_id_that_a_run_takes_is_heard_and_fetched(name: str, small: Any) -> None:
    server, _ = small
    ((status, heard),) = asked(server, {**CASE, "id": name})
    request = urllib.request.Request(
        f"{server.url}/v1/deliberations/{quote(name, safe='')}", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert status == 200 and heard["case"] == json.load(answer)["case"] == name


def test_a_killed_server_loses_no_call_that_was_paid_for(tmp_path: Path) -> None:
    cases = [{"id": f"case-{number}", "output": f"Summary {number}."} for number in range(12)]

    with ProviderServer(jury_of({"a": 3, "b": 1, "c": 2, "boss": 2}), latency=0.05) as provider:
        write_run(tmp_path, provider.url, protocol="orchestrated")
        server = Served(tmp_path, "--in-flight", 4)

        async def broken_off() -> None:
            sending = asyncio.create_task(ask(server, *cases))
            await asyncio.to_thread(wait_for, lambda: len(provider.calls) >= 30)
            server.process.kill()
            with contextlib.suppress(aiohttp.ClientError):
                await sending

        asyncio.run(broken_off())
        server.process.communicate()
        sent = [json.dumps(call.body, sort_keys=True) for call in provider.calls]
        server = Served(tmp_path, "--in-flight", 4)
        answers = asked(server, *cases)
        server.stop()
        later = [json.dumps(call.body, sort_keys=True) for call in provider.calls][len(sent) :]

    assert [status for status, _ in answers] == [200] * 12
    # What was on its way when the server died, four calls, and answers that were being committed may be sent again: no more than one for each.
    assert len(set(sent) & set(later)) <= 8
    assert len(sent) + len(later) <= sum(found["calls"] for _, found in answers) + 8


def test_a_server_told_to_stop_finishes_what_it_accepted(tmp_path: Path) -> None:
    with ProviderServer(jury_of(SCORES), latency=0.5) as provider:
        write_run(tmp_path, provider.url, protocol="panel", count="median")
        server = Served(tmp_path)

        async def told_to_stop() -> list[tuple[int, Any]]:
            sending = asyncio.create_task(ask(server, CASE))
            await asyncio.to_thread(wait_for, lambda: provider.calls)
            server.process.send_signal(signal.SIGTERM)
            return await sending

        ((status, found),) = asyncio.run(told_to_stop())
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0
    assert (status, found["verdict"]["accurate"]["status"]) == (200, "reached")


def test_a_redacted_record_holds_no_words_and_a_budget_stops_the_service_in_words(tmp_path: Path) -> None:
    canary = "WORDS-OF-A-PATIENT"
    limits = ("--redact", "--max-tokens", 3_000)
    with served(tmp_path, jury_of(SCORES), *limits) as (server, provider):
        ((first, _),) = asked(server, {"output": canary})
        for again in range(20):
            ((later, told),) = asked(server, {"output": f"{canary} {again}"})
            if later != 200:
                break
        server.stop()

    assert (first, later) == (200, 503)
    assert "max_tokens" in told["problem"]
    assert canary in provider.calls[0].prompt
    assert not [path for path in (tmp_path / "out").rglob("*") if canary.encode() in path.read_bytes()]


def test_other_machines_are_not_served_without_a_token_of_ones_own(tmp_path: Path) -> None:
    write_run(tmp_path, "http://127.0.0.1:9")
    command = ["serve", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out", "--host", "0.0.0.0"]
    ended = venire(*command, "--token-env", "NOT_SET", cwd=tmp_path)

    assert ended.returncode == 2
    assert "NOT_SET" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_the_description_is_valid_openapi(small: Any) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="a test oracle")
    ((_, document),) = asked(small[0], None, method="GET", path="/openapi.json")

    validator.validate(document)


def test_fuzzed_requests_get_the_answers_that_were_described(tmp_path: Path) -> None:
    """schemathesis: valid and invalid requests by the dozen, all of its checks, no status of 500 or more."""
    tool = Path(sys.executable).with_name("st")
    if not tool.exists():
        pytest.skip("schemathesis is not installed beside this Python")
    with served(tmp_path, jury_of(SCORES)) as (server, _):
        command = [tool, "run", f"{server.url}/openapi.json", "-H", f"Authorization: Bearer {TOKEN}"]
        ended = subprocess.run(
            [*map(str, command), "--max-examples", "4", "--seed", "1", "--no-color"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        said = server.stop()

    assert ended.returncode == 0, ended.stdout[-6000:]
    assert "Traceback" not in said


SLOW = 400


@pytest.mark.parametrize("limits", [(), ("--max-connections", 200)], ids=["room for all", "room for few"])
def test_a_normal_request_is_answered_beside_slow_clients_and_a_deflate_bomb(
    tmp_path: Path, limits: tuple[object, ...]
) -> None:
    few = ("--at-once", 2, "--most-waiting", 2)
    with served(tmp_path, jury_of(SCORES), *few, *limits) as (server, _):
        bomb, answer, seconds = asyncio.run(_among_slow_clients(server))
        said = server.stop()

    assert bomb[0] == 415
    assert answer[0] == 200
    assert seconds < 10
    assert len(said.splitlines()) < 20, said


async def _among_slow_clients(server: Any) -> tuple[tuple[int, Any], tuple[int, Any], float]:
    where = urlsplit(server.url)
    whole = _begun_request(server)
    writers = []
    for number in range(SLOW):
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        # Some stop within the body, some within the head, some send nothing at all.
        writer.write((whole, whole[:60], b"")[number % 3])
        writers.append(writer)
    packed = zlib.compress(b" " * 2**28, 9)[: 2**20]
    headers = {"Content-Type": "application/json", "Content-Encoding": "deflate"}
    (bomb,) = await ask(server, packed, headers=headers)
    begun = time.monotonic()
    (answer,) = await ask(server, CASE)
    seconds = time.monotonic() - begun
    for writer in writers:
        writer.close()
    return bomb, answer, seconds


def test_clients_that_go_away_fill_no_log(tmp_path: Path) -> None:
    with served(tmp_path, jury_of(SCORES)) as (server, _):
        begun = time.monotonic()
        for _ in range(200):
            with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port)) as gone:
                gone.sendall(_begun_request(server))
        asked(server, None, method="GET", path="/v1/status")
        seconds = time.monotonic() - begun
        said = server.stop()

    lines = [line for line in said.splitlines() if "the client closed the connection" in line]
    assert 1 <= len(lines) <= seconds + 1, said
    assert "Traceback" not in said


def _begun_request(server: Served) -> bytes:
    return (
        f"POST /v1/deliberations HTTP/1.1\r\nHost: {urlsplit(server.url).netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"output"'
    ).encode()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "", "a b", "localhost@x"]
)
def test_a_host_that_it_was_not_told_to_serve_is_refused(host: str, small: Any) -> None:
    ((status, told),) = asked(small[0], None, method="GET", path="/v1/status", headers={"Host": host})

    assert status in (400, 421)
    assert "problem" not in told or "host name" in told["problem"]


@pytest.mark.parametrize(
    ("listens", "names", "host", "served_here"),
    [
        ("127.0.0.1", (), "LOCALHOST:8642", True),
        ("127.0.0.1", (), "[::1]:1", True),
        ("127.0.0.1", ("Jury.example.org",), "jury.example.org.", True),
        ("127.0.0.1", (), "192.168.0.7", False),
        ("0.0.0.0", (), "192.168.0.7:8642", True),
        ("0.0.0.0", (), "jury.example.org", False),
        ("::", (), "[fe80::1]:8642", True),
        ("10.1.2.3", (), "10.1.2.3", True),
        ("10.1.2.3", (), "localhost", False),
    ],
)
def test_which_hosts_are_served(listens: str, names: tuple[str, ...], host: str, served_here: bool) -> None:
    assert AllowedHosts(listens, names).allow([host]) is served_here
    assert not AllowedHosts(listens, names).allow([host, host])
    assert not AllowedHosts(listens, names).allow([])


def test_a_second_answer_calls_no_model(tmp_path: Path) -> None:
    """Nor does a server that was started anew, and so has only the record."""
    cases = [{"id": f"case-{n}", "output": f"Summary {n}. " * 50, "source": "Note. " * 200} for n in range(9)]
    with served(tmp_path, jury_of(SCORES)) as (server, provider):
        first = [asked(server, case) for case in cases]
        calls = len(provider.calls)
        second = [asked(server, case) for case in cases]
        server.stop()
        anew = Served(tmp_path)
        from_record = [asked(anew, case) for case in cases]
        anew.stop()

    assert len(provider.calls) == calls > 0
    assert first == second == from_record


def test_the_cache_of_answers_keeps_the_latest_within_its_bytes() -> None:
    answers = AnswerCache(most=10)
    for name in "abc":
        answers.put((name, ""), b"1234")
        answers.get(("a", ""))

    assert [answers.get((name, "")) for name in "abc"] == [b"1234", None, b"1234"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = [tool, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, *names, *files], cwd=folder, check=True, capture_output=True)
    locked = [tool, "pkey", "-in", "key.pem", "-out", "locked.pem", "-aes256", "-passout", "pass:secret"]
    subprocess.run(locked, cwd=folder, check=True, capture_output=True)
    return folder


def test_tls_by_certificate_and_key(tmp_path: Path, certificate: Path) -> None:
    files = ("--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem")
    with served(tmp_path, jury_of(SCORES), *files, "--max-connections", 20) as (server, _):
        assert server.url.startswith("https://")
        where = urlsplit(server.url)
        idle = [socket.create_connection((where.hostname, where.port)) for _ in range(50)]
        trusted = ssl.create_default_context(cafile=certificate / "cert.pem")
        for number in range(3):
            found = _answer_over_tls(server.url, trusted, {**CASE, "id": f"case-{number}"})
            assert found["verdict"]["accurate"]["value"] == 3
        with pytest.raises(OSError):
            urllib.request.urlopen(server.url.replace("https", "http") + "/openapi.json", timeout=5)
        for one in idle:
            one.close()
        said = server.stop()
    assert "Traceback" not in said
    assert len(said.splitlines()) < 20


def _answer_over_tls(url: str, trusted: ssl.SSLContext, case: dict[str, str]) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/deliberations", json.dumps(case).encode(), headers)
    with urllib.request.urlopen(request, context=trusted, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"cert": "cert.pem"}, "go together"),
        ({"key": "key.pem"}, "go together"),
        ({"cert": "cert.pem", "key": "missing.pem"}, "missing.pem"),
        ({"cert": "key.pem", "key": "cert.pem"}, "not a certificate and its key"),
        ({"cert": "cert.pem", "key": "locked.pem"}, "encrypted"),
    ],
)
def test_tls_files_that_will_not_do_are_refused(
    files: dict[str, str], problem: str, tmp_path: Path, certificate: Path
) -> None:
    write_run(tmp_path, "http://127.0.0.1:9")
    named = [word for name, file in files.items() for word in (f"--tls-{name}", str(certificate / file))]
    command = ["serve", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out", "--port", "0"]
    ended = venire(*command, *named, cwd=tmp_path)

    assert ended.returncode == 2
    assert problem in ended.stderr
    assert len(ended.stderr.splitlines()) == 2
    assert not (tmp_path / "out").exists()
