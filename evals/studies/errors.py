"""All errors of a study file collected, so that they are raised together before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ...rubrics.errors import VenireError

T = TypeVar("T")


class StudyCannotRun(VenireError):
    """A study that cannot be run as it stands; `errors` has each reason with its remedy."""

    def __init__(self, path: Path, errors: Sequence[VenireError]) -> None:
        listed = "".join(
            f"\n  {number}. {each.problem}\n     -> {each.remedy}" for number, each in enumerate(errors, 1)
        )
        super().__init__(
            f"{path}: {len(errors)} things are wrong, and nothing was spent{listed}",
            remedy="mend them, and plan again",
        )
        self.errors = tuple(errors)


def one_error(path: Path, errors: Sequence[VenireError]) -> VenireError:
    """All errors as one to raise; a single one as it is."""
    return errors[0] if len(errors) == 1 else StudyCannotRun(path, errors)


@dataclass
class ErrorList:
    """The errors so far; one that many arms share is listed once, with their number."""

    _errors: list[VenireError] = field(default_factory=list)
    _arms: dict[str, list[str]] = field(default_factory=dict)
    """By problem, the arms that have it."""

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, *errors: VenireError) -> None:
        self._errors += errors

    def at(self, where: str, *errors: VenireError) -> None:
        """Add errors at a line of the study file."""
        self._errors += [VenireError(f"{where}: {error.problem}", remedy=error.remedy) for error in errors]

    def of_arm(self, arm: str, error: VenireError) -> None:
        """Add an error of one arm."""
        if error.problem not in self._arms:
            self._errors.append(error)
        self._arms.setdefault(error.problem, []).append(arm)

    def attempt(self, make: Callable[[], T], where: str = "") -> T | None:
        """The result of `make`; None where it raises a `VenireError`, which is added."""
        try:
            return make()
        except VenireError as error:
            if where:
                self.at(where, error)
            else:
                self.add(error)
            return None

    def as_one(self, path: Path) -> VenireError:
        """All of them as one error to raise."""
        return one_error(path, [self._with_arms(error) for error in self._errors])

    def _with_arms(self, error: VenireError) -> VenireError:
        arms = self._arms.get(error.problem)
        if not arms:
            return error
        more = f" and {len(arms) - 1} more" if len(arms) > 1 else ""
        return VenireError(f"arm {arms[0]}{more}: {error.problem}", remedy=error.remedy)
