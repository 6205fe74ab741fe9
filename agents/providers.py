"""The providers that one run asks: one client for each, with its rate limiter, prices and spans.

Pre-flight asks every model of a jury whether it can be reached, before the first case is paid for.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..personas.jury import ModelSettings
from ..rubrics.errors import ModelUnreachable, VenireError
from .budget import BudgetSpent, LimitReached, Meter
from .clients.keys import address_without_secrets, key_from, redact_secrets, sent_secrets
from .cost import Price
from .desk import Parked
from .model import ModelFailure, Reply, Request, TransientFailure, Usage, reply_too_long
from .model_client import ModelClient, factory_for
from .pacing import AdmissionQueue, RateLimiter, Slots
from .tokens import estimated_usage, impossible_usage

if TYPE_CHECKING:
    from .clients.batch import BatchSettings
    from .tracing import Tracing

_UNTRACED = nullcontext[Callable[[Reply], None]](lambda reply: None)
"""In place of a span, where none is made."""
_NO_USAGE = Usage()


class RateLimitedClient:
    """A client whose requests wait for a slot at its provider."""

    def __init__(
        self,
        client: ModelClient,
        in_flight: int,
        *,
        name: str = "",
        rpm: int | None = None,
        tpm: int | None = None,
        prices: Mapping[str, Price] | None = None,
        tracing: Tracing | None = None,
        say: Callable[[str], None] | None = None,
        slots: Slots | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.client = client
        self._secrets = (*secrets, *client.secrets)
        in_flight = sys.maxsize if client.batched else in_flight
        most = in_flight if client.max_concurrency is None else min(in_flight, client.max_concurrency)
        self.slots = slots or AdmissionQueue(RateLimiter(most, name=name, rpm=rpm, tpm=tpm, say=say))
        self.in_progress: dict[str, asyncio.Future[Reply | None]] = {}
        """The requests that are being answered, by their keys."""
        self._prices = prices or {}
        self._list_prices: dict[str, Price | None] = {}
        self._tracing = tracing
        self._say = say
        self._distrusted: set[str] = set()
        """The models whose impossible token counts have been reported."""
        self._answered: set[str] = set()

    def has_answered(self, model: str) -> bool:
        """Whether a model has answered in this session: until then, access refused is a mistake in its settings."""
        return model in self._answered

    async def complete(self, request: Request, meter: Meter) -> Reply:
        """Rate limit: one attempt in a slot of the provider's, which is told what became of it; the price is added.

        Raises:
            TransientFailure: No answer, or none within the request's timeout.
            LimitReached: The deliberation's own time ended first.
        """
        async with self.slots:
            # Waiting for a slot is not the model's time, but it is the deliberation's.
            meter.admit()
            left, begun = meter.seconds_left, time.monotonic()
            longest = math.inf if self.client.batched else request.timeout
            patience = longest if left is None else min(longest, left)
            try:
                with _UNTRACED if self._tracing is None else self._tracing.call(request) as add_to_span:
                    async with asyncio.timeout(None if patience == math.inf else patience):
                        reply = await self._complete_in_plain_text(request)
                    reply = self._with_known_cost(request, reply)
                    add_to_span(reply)
            except BudgetSpent:
                # Told so while it waited for a batch: by what, the meter knows.
                meter.admit()
                raise
            except TransientFailure as failure:
                self._price_received(request, failure)
                if failure.busy:
                    self.slots.on_busy(time.monotonic() - begun, failure.retry_after)
                else:
                    self.slots.on_failure(failure.summary)
                raise
            except ModelFailure as failure:
                self._price_received(request, failure)
                self.slots.on_answer()
                raise
            except TimeoutError:
                # Cut short by the deliberation's own limit, it says nothing about the provider.
                if patience >= longest:
                    self.slots.on_failure(f"no answer within {patience:g} s")
                if left is not None and left <= longest:
                    raise LimitReached("max_seconds") from None
                raise TransientFailure(f"no answer within {request.timeout:g} s", reason="timeout") from None
            self.slots.on_answer(reply.usage.total)
            self._answered.add(request.model)
            return reply

    def price(self, model: str) -> Price | None:
        """What the user says that a model's tokens cost, or else its client; None where neither knows."""
        if model not in self._list_prices:
            price = self._prices.get(model) or self.client.list_price(model)
            self._list_prices[model] = price.in_batches if price and self.client.batched else price
        return self._list_prices[model]

    def _price_received(self, request: Request, failure: ModelFailure) -> None:
        if failure.received is not None:
            failure.received = self._with_known_cost(request, failure.received)

    def _with_known_cost(self, request: Request, reply: Reply) -> Reply:
        """The reply with token counts that can be trusted, and what they cost."""
        model = request.model
        problem = impossible_usage(request, reply)
        missing = reply.usage == _NO_USAGE and self.client.context_window is not None
        if problem is not None and model not in self._distrusted:
            self._distrusted.add(model)
            if self._say is not None:
                self._say(
                    f"{model} reports impossible token counts ({problem}); the counts are estimated instead"
                )
        if problem is not None or missing:
            reply = estimated_usage(request, reply, "missing" if problem is None else "implausible")
        asked = model in self._prices or bool(reply.estimated) or self.client.batched
        price = self.price(model) if asked else None
        return reply if price is None else replace(reply, usd=price.usd(reply.usage))

    async def _complete_in_plain_text(self, request: Request) -> Reply:
        """The client's answer or failure; what was sent as a secret is in neither, however the server repeats it, nor what is no text.

        A text over the cap is a failure, whether or not the client gave it up while it came in. So is whatever else a
        client raises over what a server sent: nothing that comes from outside ends a run.
        """
        try:
            reply = await self.client.complete(request)
        except ModelFailure as failure:
            failure.detail = self._plain(failure.detail)
            failure.args = (f"{failure.reason}: {failure.detail}",)
            if failure.received is not None:
                failure.received = self._in_plain_text(failure.received)
            raise
        except (VenireError, BudgetSpent, LimitReached, Parked):
            raise
        except Exception as error:
            said = self._plain(f"{type(error).__name__}: {error}")[:300]
            kind = type(self.client)
            own = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
            what = (
                "the reply could not be read"
                if own
                else f"the plug-in {kind.__module__}.{kind.__qualname__} failed"
            )
            raise ModelFailure("unavailable", f"{what}: {said}") from error
        if len(reply.text) > request.max_reply:
            raise reply_too_long(request, self._in_plain_text(reply))
        return self._in_plain_text(reply)

    def _in_plain_text(self, reply: Reply) -> Reply:
        text = self._plain(reply.text)
        return reply if text is reply.text else replace(reply, text=text)

    def _plain(self, text: str) -> str:
        """The text without secrets, and with `?` for each half of a surrogate pair: no record can hold one."""
        text = redact_secrets(text, self._secrets)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()


ProviderKey = tuple[str | None, ...]
"""What has limits of its own: the model string's prefix, an address, the name of a key's variable, for some the model, and an adapter."""


class Providers:
    """The clients that one run uses, each opened once and each with a rate limiter of its own."""

    def __init__(
        self,
        in_flight: int = 32,
        *,
        rpm: int | None = None,
        tpm: int | None = None,
        prices: Mapping[str, Price] | None = None,
        tracing: Tracing | None = None,
        say: Callable[[str], None] | None = None,
        slots: Callable[[ProviderKey], Slots] | None = None,
        needs_keys: bool = True,
        batch: BatchSettings | None = None,
        desk: Path | None = None,
    ) -> None:
        """With `batch`, requests go through their providers' batch interfaces.

        With `needs_keys=False`, clients are opened without their keys: nothing may be sent, prices can be asked."""
        self._needs_keys = needs_keys
        self._batch = batch
        self.desk = desk
        """The directory with the desk of the people who hold a seat; None where nobody can be asked."""
        self.prices = prices or {}
        if tracing is None and "opentelemetry.trace" in sys.modules:
            # Imported late: a process that traces has loaded the API.
            from .tracing import current_tracing

            tracing = current_tracing()
        self.tracing = tracing
        self._in_flight = in_flight
        self._rpm = rpm
        self._tpm = tpm
        self._say = say or _on_stderr
        self._slots = slots
        """Makes a provider's slots, where they are kept elsewhere for several processes."""
        self._open: dict[ProviderKey, RateLimitedClient] = {}
        self._known: dict[ModelSettings, RateLimitedClient] = {}

    def get(self, settings: ModelSettings) -> RateLimitedClient:
        """The client of a seat's model, opened if it is not yet."""
        if settings not in self._known:
            self._known[settings] = self._open_client(settings)
        return self._known[settings]

    def at(self, key: ProviderKey) -> RateLimitedClient:
        """The client that was opened under this key."""
        return self._open[key]

    def _open_client(self, settings: ModelSettings) -> RateLimitedClient:
        if not self._needs_keys:
            settings = settings.model_copy(update={"api_key_env": None})
        model = settings.model or "local"
        factory = factory_for(model)
        key = (
            # Not the client alone: what OpenAI limits is no concern of Anthropic's, though LiteLLM asks both.
            model.partition("/")[0],
            settings.base_url,
            settings.api_key_env,
            model if factory.per_model else None,
            settings.adapter,
            *([settings.wait] if settings.wait else []),
        )
        if key not in self._open:
            client = factory.connect(settings)
            if not isinstance(client, ModelClient):
                raise VenireError(
                    f"the plug-in for {model!r} returned a {type(client).__name__} instead of a ModelClient",
                    remedy="report this to the plug-in's authors: a client must be a subclass of venire.plugin.ModelClient",
                )
            if model.startswith("person/"):
                # Imported late: most runs ask no people.
                from .clients.person import PersonClient

                if isinstance(client, PersonClient):
                    client.folder = self.desk
            if self._batch is not None:
                # Imported late: few runs go in batches.
                from .clients.batch import batch_client

                client = batch_client(settings, client, self._batch)
            shared = None if client.in_process else self._slots
            self._open[key] = RateLimitedClient(
                client,
                self._in_flight,
                name=address_without_secrets(settings.base_url) if settings.base_url else model,
                rpm=self._rpm,
                tpm=self._tpm,
                prices=self.prices,
                tracing=self.tracing,
                say=self._say,
                slots=None if shared is None else shared(key),
                secrets=sent_secrets(settings.base_url, key_from(settings)),
            )
        return self._open[key]

    def admit_all(self) -> None:
        """Admit everyone who waits: the run is over, and nothing more will be sent."""
        for provider in self._open.values():
            provider.slots.admit_all()
            provider.client.stop_waiting()

    async def close(self) -> None:
        while self._open:
            _, provider = self._open.popitem()
            await provider.client.close()
        if self.tracing is not None:
            self.tracing.close()


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr)


_Way = tuple[str, str | None, str | None, tuple[str, ...]]
"""Model string, address, the name of the key's variable, and alternates: what decides whether a seat's model can be reached."""


class Preflight:
    """Asks models, each once, and remembers which have been found to be there."""

    def __init__(self) -> None:
        self._found: dict[_Way, bool] = {}

    async def check(self, models: Iterable[ModelSettings]) -> None:
        """Ask those that have not been asked yet.

        Raises:
            ModelUnreachable: Some cannot be reached; it names the first, and how many more there are.
        """
        fresh = {_way(settings): settings for settings in models if _way(settings) not in self._found}
        answers = await asyncio.gather(*map(_probe, fresh.values()), return_exceptions=True)
        errors: list[VenireError] = []
        for way, answer in zip(fresh, answers, strict=True):
            if isinstance(answer, VenireError):
                errors.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                self._found[way] = answer
        if errors:
            # A missing key is often every seat's: each problem is told once.
            problems = list(dict.fromkeys(error.problem for error in errors))
            more = f" (and {len(problems) - 1} more problems like this)" if len(problems) > 1 else ""
            raise ModelUnreachable(f"{problems[0]}{more}", remedy=errors[0].remedy)

    def is_sure_of(self, models: Iterable[ModelSettings]) -> bool:
        """Whether every one of these has been found to be there; those that cannot be asked for free are not."""
        return all(self._found.get(_way(settings), False) for settings in models)


def _way(settings: ModelSettings) -> _Way:
    return settings.model or "local", settings.base_url, settings.api_key_env, settings.alternates


async def _probe(settings: ModelSettings) -> bool:
    """Whether a model is known to be there, or with alternates, one of them; raises what was wrong with the first."""
    try:
        return await _probe_one(settings)
    except VenireError:
        for substitute in settings.substitutes:
            with suppress(VenireError):
                return await _probe_one(substitute)
        raise


async def _probe_one(settings: ModelSettings) -> bool:
    probe = factory_for(settings.model or "local").probe
    # What has no way to be asked runs in this process, or is a plug-in's own: connecting it is the check.
    return True if probe is None else await probe(settings)
