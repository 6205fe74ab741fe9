"""A third party's client: the documented ten lines on the base class, what it declares about itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from doc_blocks import blocks
from installed_packages import on_the_path, put_package
from openai_server import ProviderServer, jury_of
from server_juries import jury_at

from venire import Case, Jury, Rubric, VenireError, deliberate_sync
from venire.agents.juror import Juror
from venire.agents.providers import Providers
from venire.personas import ModelSettings

CLIENT = next(text for kind, text in blocks("docs/clients.md") if kind == "python")
DECLARED = """
from optimist import Optimist


class Voter(Optimist):
    context_window = None
    max_concurrency = 2
    in_process = True
    votes_only = True
    reports_cost = False

    def answers_for(self, subject):
        return subject.asked[:1]
"""


BROKEN = """
from optimist import Optimist


class Broken(Optimist):
    async def complete(self, request):
        return 1 / 0
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    clients = {"optimist": "optimist:Optimist", "voter": "voter:Voter", "broken": "broken:Broken"}
    put_package(
        tmp_path, "clients", {"venire.clients": clients}, optimist=CLIENT, voter=DECLARED, broken=BROKEN
    )
    with on_the_path(tmp_path, "optimist", "voter", "broken"):
        yield


def panel(*models: str, **fields: object) -> Jury:
    seats = [{"name": f"seat{number}", "model": model} for number, model in enumerate(models)]
    return Jury.model_validate({"name": "plug-ins", "protocol": "panel", "seats": seats, **fields})


@pytest.mark.usefixtures("installed")
def test_a_client_needs_only_to_complete(rubric: Rubric, case: Case) -> None:
    verdict = deliberate_sync(case, rubric, panel("optimist/a", "optimist/b"))

    assert {outcome.value for outcome in verdict.outcomes.values()} == {5}


@pytest.mark.usefixtures("installed")
def test_what_a_client_declares_is_kept_to(rubric: Rubric, case: Case) -> None:
    client = Providers().get(ModelSettings(model="voter/a")).client
    assert (client.max_concurrency, client.in_process, client.votes_only) == (2, True, True)

    (ballot,) = deliberate_sync(case, rubric, panel("voter/a")).transcript.ballots
    assert [vote.attribute for vote in ballot.ballot.votes] == [rubric.names[0]]

    with pytest.raises(VenireError, match="can vote, but cannot be the orchestrator"):
        deliberate_sync(
            case, rubric, panel("optimist/a", protocol="orchestrated", orchestrator={"model": "voter/a"})
        )


@pytest.mark.usefixtures("installed")
def test_a_plug_in_s_unexpected_error_is_its_seat_s_failure_and_names_it(rubric: Rubric, case: Case) -> None:
    verdict = deliberate_sync(case, rubric, panel("optimist/a", "broken/b", quorum=1))

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.speaker, abstained.abstention.reason) == ("seat1", "unavailable")
    assert (
        abstained.abstention.detail == "the plug-in broken.Broken failed: ZeroDivisionError: division by zero"
    )
    assert {outcome.value for outcome in verdict.outcomes.values()} == {5}


@pytest.mark.usefixtures("installed")
def test_a_limit_in_dollars_needs_a_client_that_reports_its_cost(rubric: Rubric, case: Case) -> None:
    limits = {"max_usd": 1.0}
    with pytest.raises(VenireError, match="the price of voter/a is not known"):
        deliberate_sync(case, rubric, panel("voter/a", limits=limits))


def test_from_a_juror_to_the_socket_every_step_has_a_name(
    rubric: Rubric, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    request = aiohttp.ClientSession.request

    def noting(session: aiohttp.ClientSession, method: str, *args: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        while method == "POST" and frame.f_code is not Juror.cast.__code__:
            steps.insert(0, frame.f_code.co_qualname)
            assert frame.f_back is not None
            frame = frame.f_back
        return request(session, method, *args, **options)

    monkeypatch.setattr(aiohttp.ClientSession, "request", noting)
    with ProviderServer(jury_of({"a": 4})) as server:
        deliberate_sync(case, rubric, jury_at(server.url, "a", protocol="panel"))

    assert steps == [
        "Juror._answer",
        "Juror._answer_to",
        "ModelGateway.fill",
        "ModelGateway._fill",
        "ModelGateway.complete",
        "ModelGateway._send_with_retries",
        "ModelGateway._send_within_limits",
        "RateLimitedClient.complete",
        "RateLimitedClient._complete_in_plain_text",
        "ServerClient.complete",
        "Endpoint.post",
        "Endpoint._send",
    ]
