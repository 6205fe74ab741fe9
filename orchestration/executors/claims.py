"""Claims: which question is being put to a model, and by whom, so that the same one is sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ...agents.model import Reply


@dataclass(slots=True)
class _Claim:
    owner: object | None
    """Who is asking; None once the answer is being committed, which no loss of a worker undoes."""
    outcome: asyncio.Future[Reply | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Claims:
    """The questions that are being asked, by key."""

    def __init__(self) -> None:
        self._claims: dict[str, _Claim] = {}

    async def reply(
        self, key: str, owner: object, look: Callable[[str], Awaitable[Reply | None]]
    ) -> Reply | None:
        """The reply that the record has, or that someone is about to put there; None where `owner` is to get one."""
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
        """The answer is here: whatever becomes of its owner, it will be in the record."""
        if (claim := self._claims.get(key)) is not None:
            claim.owner = None

    def settle(self, key: str, reply: Reply | None) -> None:
        """Whoever waits has the reply; without one, the first of them asks."""
        if (claim := self._claims.get(key)) is not None:
            self._end(key, claim, reply)

    def forgo(self, key: str, owner: object) -> None:
        claim = self._claims.get(key)
        if claim is not None and claim.owner is owner:
            self._end(key, claim, None)

    def lost(self, owner: object) -> None:
        """What `owner` was asking is free for others to ask."""
        for key, claim in list(self._claims.items()):
            if claim.owner is owner:
                self._end(key, claim, None)

    def _end(self, key: str, claim: _Claim, reply: Reply | None) -> None:
        """End this very claim; another may have taken its place."""
        if self._claims.get(key) is claim:
            del self._claims[key]
            claim.outcome.set_result(reply)
