"""One provider's client and the clients of a run: what its slots are told, what is priced, hidden and shared; nothing is sent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import NoOpTracerProvider

from venire import ModelUnreachable, VenireError
from venire.agents import providers as providers_module
from venire.agents.budget import Budget, BudgetSpent, LimitReached, Meter
from venire.agents.clients.person import PersonClient
from venire.agents.cost import Price
from venire.agents.model import Message, ModelFailure, Reply, Request, Sampling, TransientFailure, Usage
from venire.agents.model_client import ClientFactory, ModelClient, factory_for
from venire.agents.providers import Preflight, Providers, RateLimitedClient
from venire.agents.tokens import estimated_tokens
from venire.agents.tracing import Tracing
from venire.personas.jury import ModelSettings
from venire.personas.options import Limits

COUNTED = Usage(10, 5, 0)
SECRET = "sk-canary-0123456789"
OPENING, BODY = "The case, which comes again with every question. ", "Score this case, please."


def request(model: str = "server/a", timeout: float = 5.0, **fields: Any) -> Request:
    return Request(model, (Message("user", BODY, OPENING),), None, Sampling(), 0, timeout, **fields)


class Told:
    """Slots that note what they were told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.held = 0

    async def __aenter__(self) -> None:
        self.held += 1

    async def __aexit__(self, *error: object) -> None:
        self.held -= 1

    def release(self, *, unsent: bool = False) -> None:
        self.told.append(("release",))

    def on_answer(self, tokens: int = 0) -> None:
        self.told.append(("answer", tokens))

    def on_busy(self, took: float, retry_after: float | None) -> None:
        self.told.append(("busy", 0 <= took < 5, retry_after))

    def on_failure(self, why: str) -> None:
        self.told.append(("failure", why))

    def admit_all(self) -> None:
        self.told.append(("admit",))


class One(ModelClient):
    """Answers every request alike."""

    def __init__(self, answer: Any, seconds: float = 0.0, **declared: Any) -> None:
        self.answer, self.seconds = answer, seconds
        self.closed = self.stopped = 0
        for name, value in declared.items():
            setattr(self, name, value)

    async def complete(self, request: Request) -> Reply:
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer if isinstance(self.answer, Reply) else Reply(self.answer, COUNTED)

    def stop_waiting(self) -> None:
        self.stopped += 1

    async def close(self) -> None:
        self.closed += 1


def complete(
    client: ModelClient,
    *,
    asked: Request | None = None,
    limits: Limits | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> tuple[Any, list[tuple[Any, ...]], RateLimitedClient]:
    """The reply or the error, what the slots were told, and the client."""
    slots = Told()
    limited = RateLimitedClient(client, 3, slots=slots, **options)

    async def main() -> Any:
        meter = Meter(limits or Limits(), budget or Budget())
        try:
            return await limited.complete(asked or request(), meter)
        except Exception as error:
            return error

    result = asyncio.run(main())
    assert slots.held == 0
    return result, slots.told, limited


@pytest.mark.parametrize(
    ("answer", "told", "answered"),
    [
        ("4", [("answer", 15)], True),
        (TransientFailure("HTTP 500: oops"), [("failure", "HTTP 500")], False),
        (TransientFailure("HTTP 429: slow down", busy=True, retry_after=7.0), [("busy", True, 7.0)], False),
        (ModelFailure("refused", "no"), [("answer", 0)], False),
    ],
)
def test_the_slots_are_told_what_became_of_a_request(answer: Any, told: Any, answered: bool) -> None:
    result, slots_told, limited = complete(One(answer))

    assert isinstance(result, Reply) is answered
    assert slots_told == told
    assert limited.has_answered("server/a") is answered and not limited.has_answered("server/b")


def test_who_is_too_slow_is_waited_for_as_long_as_the_seat_says_or_the_deliberation_has() -> None:
    late, told, _ = complete(One("4", 1.0), asked=request(timeout=0.01))
    assert isinstance(late, TransientFailure) and late.reason == "timeout"
    assert told == [("failure", "no answer within 0.01 s")]

    over, told, _ = complete(One("4", 1.0), limits=Limits(max_seconds=0.02))
    assert isinstance(over, LimitReached) and over.limit == "max_seconds"
    assert told == []

    batched, told, _ = complete(One("4", 0.03, batched=True), asked=request(timeout=0.01))
    assert isinstance(batched, Reply)
    over, told, _ = complete(One("4", 1.0, batched=True), limits=Limits(max_seconds=0.02))
    assert isinstance(over, LimitReached)


def test_nothing_is_sent_when_the_time_was_up_before_the_slot_was_free() -> None:
    budget = Budget()
    budget.interrupted = "SIGINT"
    spent, told, _ = complete(One(AssertionError("was sent")), budget=budget)
    assert isinstance(spent, BudgetSpent) and told == []
    # Out of a batch that will not be waited for: by what, the budget says.
    told_so, _, _ = complete(One(BudgetSpent("batch")))
    assert isinstance(told_so, BudgetSpent) and told_so.limit == "batch"


PRICE = Price(prompt=1e6, completion=1e6)


@pytest.mark.parametrize(
    ("answer", "declared", "usd", "estimated"),
    [
        (Reply("A long enough answer.", COUNTED, usd=0.5), {}, 0.5, ""),
        (Reply("A long enough answer.", COUNTED, usd=0.5), {"priced": True}, 15.0, ""),
        (Reply("A long enough answer.", COUNTED), {"batched": True}, 7.5, ""),
        (Reply("A long enough answer.", usd=0.5), {}, "counted", "missing"),
        (Reply("A long enough answer.", usd=0.5), {"context_window": None}, 0.5, ""),
        (Reply("A long enough answer.", Usage(10, 5, 11), usd=0.5), {}, "counted", "implausible"),
    ],
)
def test_a_reply_has_the_cost_of_tokens_that_can_be_trusted(
    answer: Reply, declared: dict[str, Any], usd: Any, estimated: str
) -> None:
    class Listing(One):
        def list_price(self, model: str) -> Price | None:
            return PRICE

    prices = {"server/a": PRICE} if declared.pop("priced", False) else None
    for failed in (False, True):
        raised = ModelFailure("unparsable", "no ballot")
        raised.received = answer
        said: list[str] = []
        result, _, limited = complete(
            Listing(raised if failed else answer, **declared), prices=prices, say=said.append
        )
        reply = result.received if failed else result
        assert reply.estimated == estimated
        ours = Usage(estimated_tokens(OPENING) + estimated_tokens(BODY), estimated_tokens(answer.text))
        assert reply.usage == (ours if estimated else answer.usage)
        assert reply.usd == pytest.approx(reply.usage.total if usd == "counted" else usd)
        asyncio.run(limited.complete(request(), Meter(Limits(), Budget()))) if not failed else None
        assert len(said) == (estimated == "implausible")


@pytest.mark.parametrize("failed", [False, True])
def test_what_comes_back_holds_no_secret_and_no_half_of_a_pair(failed: bool) -> None:
    raised = ModelFailure("unparsable", f"no ballot {SECRET}")
    raised.received = Reply(f"key {SECRET} \ud800.", COUNTED)
    for options in ({"secrets": (SECRET,)}, {"own": (SECRET,)}):
        own = options.pop("own", ())
        result, _, _ = complete(One(raised if failed else raised.received, secrets=own), **options)
        reply = result.received if failed else result
        assert SECRET not in f"{result} {reply.text} {vars(result) if failed else ''}"
        assert reply.text.startswith("key ") and reply.text.endswith(" ?.")
    plain = Reply("é plain", COUNTED)
    assert complete(One(plain))[0].text == "é plain"


def test_nothing_that_comes_from_outside_ends_a_run() -> None:
    odd, told, _ = complete(One(KeyError(f"choices {SECRET} " + "x" * 900)), secrets=(SECRET,))
    assert isinstance(odd, ModelFailure) and odd.reason == "unavailable" and told == [("answer", 0)]
    assert "KeyError" in odd.detail and SECRET not in str(odd) and len(odd.detail) < 420
    assert f"plug-in {One.__module__}.One failed" in odd.detail
    for ours in (VenireError("wrong", remedy="mend"), LimitReached("max_usd")):
        assert complete(One(ours))[0] is ours

    short = request(max_reply=4)
    assert isinstance(complete(One("1234"), asked=short)[0], Reply)
    long, _, _ = complete(One(f"12345 {SECRET}"), asked=short, secrets=(SECRET,))
    assert isinstance(long, ModelFailure) and long.received is not None
    assert long.received.text.startswith("12345") and SECRET not in long.received.text
    assert long.received.usage == COUNTED


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ModelSettings, One]]:
    """The clients that were connected, each with its settings."""
    connected: list[tuple[ModelSettings, One]] = []

    def factory_for(model: str) -> ClientFactory:
        def connect(settings: ModelSettings) -> ModelClient:
            own = (
                PersonClient("ann", settings)
                if model.startswith("person/")
                else One("4", in_process=model.startswith("local"))
            )
            connected.append((settings, own))  # type: ignore[arg-type]
            return own

        return ClientFactory(connect, per_model=model.startswith("local"))

    monkeypatch.setattr(providers_module, "factory_for", factory_for)
    monkeypatch.setenv("KEY_A", SECRET)
    monkeypatch.setenv("KEY_B", "another-canary-987654")
    return connected


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ({"model": "server/a"}, {"model": "server/b"}, True),
        ({"model": "server/a"}, {"model": "server/a", "temperature": 0.5}, True),
        ({"model": "server/a"}, {"model": "openai/a"}, False),
        ({"model": "server/a"}, {"model": "server/a", "base_url": "http://127.0.0.1:1/v1"}, False),
        ({"model": "server/a", "api_key_env": "KEY_A"}, {"model": "server/a", "api_key_env": "KEY_B"}, False),
        ({"model": "local/a"}, {"model": "local/b"}, False),
        ({"model": "local/a"}, {"model": "local/a", "adapter": "x.gguf"}, False),
        ({"model": "person/a"}, {"model": "person/a", "wait": "2d"}, False),
    ],
)
def test_seats_share_a_client_where_one_limit_holds_for_both(
    opened: list[Any], one: dict[str, Any], other: dict[str, Any], shared: bool
) -> None:
    providers = Providers()
    first, second = (providers.get(ModelSettings.model_validate(each)) for each in (one, other))

    assert (first is second) is shared
    assert len(opened) == 2 - shared
    assert providers.get(ModelSettings.model_validate(one)) is first


def test_one_client_serves_an_endpoint_and_what_runs_here_has_one_for_each_model() -> None:
    shared = {model: not factory_for(model).per_model for model in ("openai/a", "server/a", "local", "recorded/t#a", "person/ann")}  # fmt: skip
    assert shared == {"openai/a": True, "server/a": True, "local": False, "recorded/t#a": False, "person/ann": False}  # fmt: skip


def test_a_plug_ins_client_is_not_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Frozen(ModelClient):
        settings: ModelSettings

        async def complete(self, request: Request) -> Reply:
            return Reply("4", COUNTED)

    monkeypatch.setattr(providers_module, "factory_for", lambda model: ClientFactory(Frozen))
    seat = ModelSettings(model="elsewhere/x")
    assert Providers(desk=tmp_path).get(seat).client == Frozen(seat)


def test_a_client_is_opened_with_the_runs_limits_prices_and_secrets(
    opened: list[Any], tmp_path: Path
) -> None:
    made: list[Any] = []

    def slots(key: Any) -> Told:
        made.append((key, Told()))
        return made[-1][1]

    said, closed = list[str](), list[str]()
    tracing = Tracing(NoOpTracerProvider(), close=lambda: closed.append("traces"))
    prices = {"server/a": PRICE}
    providers = Providers(7, prices=prices, slots=slots, desk=tmp_path, say=said.append, tracing=tracing)
    seat = ModelSettings(model="server/a", base_url="http://127.0.0.1:1/v1", api_key_env="KEY_A")
    served = providers.get(seat)
    key, own = made[0]
    assert served.slots is own and providers.at(key) is served
    assert served.price("server/a") == PRICE
    opened[0][1].answer = f"You sent {SECRET}."
    reply = asyncio.run(served.complete(request(), Meter(Limits(), Budget())))
    assert SECRET not in reply.text and reply.usd == 15.0 and said == []
    opened[0][1].answer = Reply("4", Usage(1, 1, 9))
    asyncio.run(served.complete(request(), Meter(Limits(), Budget())))
    assert len(said) == 1
    # What runs in this process has slots of its own; a person is asked at the run's desk.
    assert providers.get(ModelSettings(model="local")).slots not in [each for _, each in made]
    asked = providers.get(ModelSettings(model="person/ann")).client
    assert isinstance(asked, PersonClient) and asked.folder == tmp_path

    providers.admit_all()
    assert own.told[-1] == ("admit",) and opened[0][1].stopped == opened[1][1].stopped == 1
    asyncio.run(providers.close())
    asyncio.run(providers.close())
    assert opened[0][1].closed == opened[1][1].closed == 1
    assert closed == ["traces", "traces"]


def test_without_keys_clients_are_opened_all_the_same(
    opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEY_A")
    seat = ModelSettings(model="server/a", api_key_env="KEY_A")
    Providers(needs_keys=False).get(seat)
    assert opened[0][0].api_key_env is None
    with pytest.raises(VenireError, match="KEY_A"):
        Providers().get(seat)


@pytest.mark.parametrize(
    ("in_flight", "declared", "at_once"),
    [(3, {}, 3), (3, {"max_concurrency": 2}, 2), (3, {"max_concurrency": 9}, 3), (3, {"batched": True}, 8)],
)
def test_as_many_are_in_flight_as_the_run_and_the_client_allow(
    in_flight: int, declared: dict[str, Any], at_once: int
) -> None:
    client = One("4", 0.01, **declared)
    inside = most = 0

    async def complete(asked: Request) -> Reply:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.002)
        inside -= 1
        return Reply("4", COUNTED)

    client.complete = complete  # type: ignore[method-assign]
    limited = RateLimitedClient(client, in_flight)

    async def main() -> None:
        await asyncio.gather(*(limited.complete(request(), Meter(Limits(), Budget())) for _ in range(8)))

    asyncio.run(main())
    assert most == at_once


def test_a_seat_is_reached_by_itself_or_by_an_alternate_and_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {"x/sure": True, "x/unsure": False}
    asked: list[str] = []

    async def probe(settings: ModelSettings) -> bool:
        model = settings.model or ""
        asked.append(model)
        if model not in found:
            raise ModelUnreachable(f"no {model}", remedy=f"mend {model}")
        return found[model]

    monkeypatch.setattr(
        providers_module,
        "factory_for",
        lambda model: ClientFactory(lambda settings: One("4"), probe=None if model == "local" else probe),
    )

    def seat(model: str, *alternates: str) -> ModelSettings:
        return ModelSettings(model=model, alternates=alternates)

    preflight = Preflight()

    def check(*seats: ModelSettings) -> bool:
        asyncio.run(preflight.check(seats))
        return preflight.is_sure_of(seats)

    assert check(seat("x/sure"), seat("local"), seat("x/gone", "x/away", "x/sure"))
    assert not check(seat("x/sure"), seat("x/unsure"))
    assert not check(seat("x/gone", "x/unsure", "x/sure"))
    assert asked.count("x/sure") == 2 and asked.count("x/unsure") == 2
    assert not preflight.is_sure_of([seat("x/never")])
    with pytest.raises(ModelUnreachable) as one:
        check(seat("x/gone", "x/away"), seat("x/gone", "x/far"))
    assert (one.value.problem, one.value.remedy) == ("no x/gone", "mend x/gone")
    with pytest.raises(ModelUnreachable, match=r"no x/lost \(and 2 more") as many:
        check(seat("x/lost"), seat("x/gone"), seat("x/away"))
    assert many.value.remedy == "mend x/lost"
    # What failed is asked anew: a server may have been started meanwhile.
    found["x/lost"] = True
    assert check(seat("x/lost"))
    with suppress(ModelUnreachable):
        check(seat("x/gone"))
    assert not preflight.is_sure_of([seat("x/gone")])
