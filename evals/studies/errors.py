"""Everything that is wrong with a study, said at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ...rubrics.errors import VenireError

Made = TypeVar("Made")


class StudyCannotRun(VenireError):
    """A study that cannot be run as it stands; `wrongs` has each reason with its remedy."""

    def __init__(self, path: Path, wrongs: Sequence[VenireError]) -> None:
        told = "".join(
            f"\n  {number}. {each.problem}\n     -> {each.remedy}" for number, each in enumerate(wrongs, 1)
        )
        super().__init__(
            f"{path}: {len(wrongs)} things are wrong, and nothing was spent{told}",
            remedy="mend them, and plan again",
        )
        self.wrongs = tuple(wrongs)


def every_wrong(path: Path, wrongs: Sequence[VenireError]) -> VenireError:
    """One error for all of them; a single one as it is."""
    return wrongs[0] if len(wrongs) == 1 else StudyCannotRun(path, wrongs)


@dataclass
class Wrongs:
    """What is wrong so far; a thing that is wrong with many arms is told once."""

    found: list[VenireError] = field(default_factory=list)
    _seen: dict[str, list[str]] = field(default_factory=dict)

    def add(self, *errors: VenireError) -> None:
        self.found += errors

    def at(self, where: str, *errors: VenireError) -> None:
        """What is wrong at a line of the study file."""
        self.found += [VenireError(f"{where}: {error.problem}", remedy=error.remedy) for error in errors]

    def of_arm(self, arm: str, error: VenireError) -> None:
        if error.problem not in self._seen:
            self.found.append(error)
        self._seen.setdefault(error.problem, []).append(arm)

    def tried(self, make: Callable[[], Made], where: str = "") -> Made | None:
        """What `make` makes; None where it cannot, and that is noted."""
        try:
            return make()
        except VenireError as error:
            if where:
                self.at(where, error)
            else:
                self.add(error)
            return None

    def told(self) -> list[VenireError]:
        return [self._with_arms(error) for error in self.found]

    def _with_arms(self, error: VenireError) -> VenireError:
        arms = self._seen.get(error.problem)
        if not arms:
            return error
        more = f" and {len(arms) - 1} more" if len(arms) > 1 else ""
        return VenireError(f"arm {arms[0]}{more}: {error.problem}", remedy=error.remedy)
