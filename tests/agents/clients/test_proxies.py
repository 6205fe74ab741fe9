"""`server/` through a real forward proxy, with certificates of an organisation's own, as the environment says."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from certificates import signed_for
from forward_proxy import ForwardProxy
from openai_server import ProviderServer, jury_of
from yarl import URL

from venire import Case, Jury, Rubric, VenireError, deliberate_sync
from venire.agents.clients import model_list
from venire.agents.clients.endpoint import environment_proxy
from venire.agents.clients.server import connect
from venire.agents.model import AccessRefused, ModelFailure, Request, Sampling, TransientFailure
from venire.agents.providers import Preflight
from venire.personas.jury import ModelSettings
from venire.rubrics.errors import ModelUnreachable

HOST = "models.hospital.test"
"""A name that only the proxy can look up."""
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for certificates")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    # On a machine that does other things at the same time, a connection may take as long.
    monkeypatch.setattr(model_list, "CONNECT_SECONDS", 30.0)
    monkeypatch.setattr(model_list, "ANSWER_SECONDS", 30.0)


@pytest.fixture(params=["plain", pytest.param("tls", marks=needs_openssl)])
def model_server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A server that only the proxy can find, with and without TLS."""
    tls = None
    if request.param == "tls":
        authority, tls = signed_for(HOST, tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with ProviderServer(jury_of({"a": 4}), models=["a"], tls=tls) as server:
        server.url = server.url.replace("127.0.0.1", HOST)
        yield server


def seat(url: str, model: str = "server/a") -> ModelSettings:
    return ModelSettings(model=model, base_url=url, timeout=10)


def jury_at(url: str) -> Jury:
    bench = [{"name": "a", "model": "server/a", "base_url": url, "timeout": 10}]
    return Jury.model_validate({"name": "bench", "protocol": "panel", "seats": bench})


def failure(url: str) -> ModelFailure:
    """What becomes of one call."""

    async def main() -> ModelFailure:
        client = connect(seat(url))
        try:
            await client.complete(Request("server/a", (), None, Sampling(), 0, 5.0))
        except ModelFailure as failed:
            return failed
        finally:
            await client.close()
        raise AssertionError("it was answered")

    return asyncio.run(main())


def unreachable(url: str, model: str = "server/a") -> ModelUnreachable:
    with pytest.raises(ModelUnreachable) as refused:
        asyncio.run(Preflight().check([seat(url, model)]))
    return refused.value


def use(proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch, credentials: str = "") -> None:
    address = proxy.url.replace("//", f"//{credentials}@") if credentials else proxy.url
    monkeypatch.setenv("HTTP_PROXY", address)
    monkeypatch.setenv("HTTPS_PROXY", address)


@pytest.mark.parametrize("credentials", ["", "nurse:pa%3Ass%20word"])
def test_a_jury_is_asked_through_the_proxy(
    rubric: Rubric,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
    model_server: ProviderServer,
    credentials: str,
) -> None:
    with ForwardProxy(credentials="nurse:pa:ss word" if credentials else None) as proxy:
        use(proxy, monkeypatch, credentials)
        verdict = deliberate_sync(case, rubric, jury_at(model_server.url))

    assert verdict["accurate"].value == 4
    assert [call.body["model"] for call in model_server.calls] == ["a"]
    assert "Proxy-Authorization" not in model_server.calls[0].headers
    port = model_server.url.rpartition(":")[2]
    if model_server.url.startswith("https"):
        assert set(proxy.requests) == {f"CONNECT {HOST}:{port.partition('/')[0]} HTTP/1.1"}
    else:
        assert proxy.requests[-1] == f"POST http://{HOST}:{port}/chat/completions HTTP/1.1"


def test_what_no_proxy_names_is_asked_directly(
    rubric: Rubric, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.0/8")
    with ForwardProxy() as proxy, ProviderServer(jury_of({"a": 4}), models=["a"]) as server:
        use(proxy, monkeypatch)
        verdict = deliberate_sync(case, rubric, jury_at(server.url))

    assert verdict["accurate"].value == 4 and proxy.requests == []


@pytest.mark.parametrize("credentials", ["", "nurse:wrong-one"])
def test_a_proxy_that_wants_other_credentials_is_told_with_a_remedy_and_without_them(
    monkeypatch: pytest.MonkeyPatch, model_server: ProviderServer, credentials: str
) -> None:
    with ForwardProxy(credentials="nurse:right-one") as proxy:
        use(proxy, monkeypatch, credentials)
        before, during = unreachable(model_server.url), failure(model_server.url)

    assert "the proxy refused the connection (HTTP 407)" in before.problem
    assert "HTTPS_PROXY" in (before.remedy or "") and "NO_PROXY" in (before.remedy or "")
    assert isinstance(during, AccessRefused) and "HTTPS_PROXY" in during.remedy
    assert "wrong-one" not in f"{before} {during}" and model_server.calls == []


@pytest.mark.parametrize(("answer", "closes"), [(502, False), (None, True)], ids=["502", "closes"])
def test_a_proxy_that_fails_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, model_server: ProviderServer, answer: int | None, closes: bool
) -> None:
    with ForwardProxy(answer=answer, closes=closes) as proxy:
        use(proxy, monkeypatch, "nurse:secret-word")
        during = failure(model_server.url)

    assert isinstance(during, TransientFailure)
    assert ("HTTP 502" if answer else "closed before the answer") in during.detail
    assert "secret-word" not in during.detail and "bnVyc2U6c2VjcmV0LXdvcmQ" not in during.detail


@needs_openssl
def test_a_proxy_that_opens_no_way_to_a_model_is_found_before_the_first_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ForwardProxy(answer=502) as proxy:
        use(proxy, monkeypatch)
        assert "the proxy refused the connection (HTTP 502)" in unreachable(f"https://{HOST}/v1").problem


@pytest.mark.parametrize("model", ["server/a", "hosted_vllm/a"])
def test_a_dead_proxy_is_told_from_a_dead_server(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv("http_proxy", "nurse:secret-word@127.0.0.1:9")
    error = unreachable(f"http://{HOST}/v1", model)

    assert "the proxy cannot be reached (connection refused): http://127.0.0.1:9" in error.problem
    assert "NO_PROXY" in (error.remedy or "") and "secret-word" not in str(error)


@needs_openssl
@pytest.mark.parametrize("proxied", [True, False])
def test_an_authority_that_is_not_trusted_is_told_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxied: bool
) -> None:
    _, tls = signed_for("localhost", tmp_path)
    with ForwardProxy() as proxy, ProviderServer(jury_of({"a": 4}), models=["a"], tls=tls) as server:
        if proxied:
            use(proxy, monkeypatch)
        url = server.url.replace("127.0.0.1", "localhost")
        before, during = unreachable(url), failure(url)

    assert "certificate is not trusted" in before.problem and "SSL_CERT_FILE" in (before.remedy or "")
    assert isinstance(during, AccessRefused) and "SSL_CERT_FILE" in during.remedy
    assert during.summary == "the server's certificate is not trusted"
    assert bool(proxy.requests) == proxied


@needs_openssl
def test_requests_ca_bundle_is_read_where_there_is_no_ssl_cert_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, tls = signed_for("localhost", tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority))
    with ProviderServer(jury_of({"a": 4}), models=["a"], tls=tls) as server:
        asyncio.run(Preflight().check([seat(server.url.replace("127.0.0.1", "localhost"))]))


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("SSL_CERT_FILE", "/nowhere/certificates.pem", "SSL_CERT_FILE"),
        ("SSL_CERT_FILE", __file__, "SSL_CERT_FILE"),
        ("HTTPS_PROXY", "socks5://me:secret-word@127.0.0.1:9", "HTTPS_PROXY=http://HOST:PORT"),
        ("HTTPS_PROXY", "http://me:secret-word@127.0.0.1:port", "HTTPS_PROXY=http://HOST:PORT"),
    ],
    ids=["no file", "no certificates", "SOCKS", "no address"],
)
def test_an_environment_that_cannot_be_used_is_refused_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(VenireError) as refused:
        connect(seat("https://localhost/v1"))

    assert named in (refused.value.remedy or "") and "secret-word" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "no_proxy", "proxied"),
    [
        ("http://a.test/v1", "", True),
        ("http://a.test/v1", "a.test", False),
        ("http://a.test/v1", "b.test, A.TEST", False),
        ("http://x.a.test/v1", "a.test", False),
        ("http://x.a.test/v1", ".a.test", False),
        ("http://xa.test/v1", "a.test", True),
        ("http://a.test:8000/v1", "a.test:8000", False),
        ("http://a.test:8001/v1", "a.test:8000", True),
        ("http://a.test/v1", "*", False),
        ("http://127.0.0.1:8000/v1", "127.0.0.1", False),
        ("http://10.1.2.3/v1", "10.0.0.0/8", False),
        ("http://11.1.2.3/v1", "10.0.0.0/8", True),
        ("http://[fd00::1]:8000/v1", "fd00::/8", False),
        ("http://[::1]:8000/v1", "::1", False),
        ("http://10.1.2.3/v1", "10.0.0.0/99,10.0.0.0/8", False),
        ("ftp://a.test/v1", "", False),
    ],
)
@pytest.mark.parametrize("spelling", [str.upper, str.lower])
def test_no_proxy_names_hosts_domains_ports_and_networks(
    monkeypatch: pytest.MonkeyPatch, address: str, no_proxy: str, proxied: bool, spelling
) -> None:
    monkeypatch.setenv(spelling("http_proxy"), "proxy.test:3128")
    monkeypatch.setenv(spelling("no_proxy"), no_proxy)

    assert environment_proxy(URL(address)) == (URL("http://proxy.test:3128") if proxied else None)


def test_each_scheme_has_its_proxy_and_all_proxy_is_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://all.test:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://tls.test:2")

    assert environment_proxy(URL("https://a.test")) == URL("http://tls.test:2")
    assert environment_proxy(URL("http://a.test")) == URL("http://all.test:1")
