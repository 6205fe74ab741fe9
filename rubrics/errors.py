"""The errors that are meant for the person at the keyboard."""

from __future__ import annotations


class VenireError(Exception):
    """Base of every deliberate error. Anything else that escapes is a bug and keeps its traceback."""

    errors: tuple[VenireError, ...] = ()
    """Where it stands for several at once: each of them."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem}\n  -> {remedy}")
        self.problem = problem
        self.remedy = remedy


class InvalidFile(VenireError):
    """A file that a user wrote cannot be used as it stands."""


class ModelUnreachable(VenireError):
    """A model that a jury names cannot be asked: no key, a dead address, a refused key, an unknown name."""


class MissingExtra(VenireError):
    """Something needs a package that the core does not install."""
