"""Claims on calls: which worker is making which call, so that the same call is made once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ...agents.model import Reply


@dataclass(slots=True)
class _Claim:
    owner: object | None
    """The worker that makes the call; None once its reply is being committed, which no loss of a worker undoes."""
    outcome: asyncio.Future[Reply | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Claims:
    """The calls that are being made, by key."""

    def __init__(self) -> None:
        self._claims: dict[str, _Claim] = {}

    async def reply(
        self, key: str, owner: object, look: Callable[[str], Awaitable[Reply | None]]
    ) -> Reply | None:
        """The recorded reply, or that of a worker who is making the call; None where `owner` has claimed it."""
        while (other := self._claims.get(key)) is not None:
            if (reply := await asyncio.shield(other.outcome)) is not None:
                return reply
        # Claimed before it is looked for: what another commits in the meantime cannot be missed.
        mine = self._claims[key] = _Claim(owner)
        try:
            reply = await look(key)
        except BaseException:
            self._end(key, mine, None)
            raise
        if reply is not None:
            self._end(key, mine, reply)
        return reply

    def committing(self, key: str) -> None:
        """The reply has arrived: losing its owner no longer releases the claim."""
        if (claim := self._claims.get(key)) is not None:
            claim.owner = None

    def settle(self, key: str, reply: Reply | None) -> None:
        """End the claim with the reply; without one, the first who waits claims the call."""
        if (claim := self._claims.get(key)) is not None:
            self._end(key, claim, reply)

    def forgo(self, key: str, owner: object) -> None:
        claim = self._claims.get(key)
        if claim is not None and claim.owner is owner:
            self._end(key, claim, None)

    def release_all(self, owner: object) -> None:
        """Release every call that `owner` had claimed."""
        for key, claim in list(self._claims.items()):
            if claim.owner is owner:
                self._end(key, claim, None)

    def _end(self, key: str, claim: _Claim, reply: Reply | None) -> None:
        """End this claim, unless another has replaced it."""
        if self._claims.get(key) is claim:
            del self._claims[key]
            claim.outcome.set_result(reply)
