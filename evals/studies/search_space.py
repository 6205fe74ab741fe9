"""The search space: how many seats, who sits in each on which model, and under which rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ...personas.persona import Persona
from .axes import Axes, label_of, limits_of_use, persona_name
from .grid import seats_of
from .study_arms import StudyArm, build_jury

Choose = Callable[[str, Sequence[str]], str]
"""Given what is chosen and from what, the choice."""
_IN_ORDER = ("debate", "escalate", "magentic-one")
"""Protocols in which it matters who sits where; in others a jury is the same whoever is named first."""


class SearchSpace:
    """The juries that can be composed of a grid's personas and models."""

    def __init__(self, axes: Axes, max_seats: int, path: Path) -> None:
        self._axes = axes
        self._path = path
        # Where each seat is an arm alone already, it need not be tried again.
        fewest = 2 if axes.singles and max_seats > 1 else 1
        self._sizes = [str(size) for size in range(fewest, max_seats + 1)]
        self.pool: dict[str, tuple[Persona | None, Mapping[str, Any]]] = {
            f"{persona_name(persona)}@{label_of(settings, axes)}": (persona, settings)
            for persona, dealt in product(axes.personas.values(), axes.models.values())
            for settings in dealt
        }
        self.protocols = [way for way in axes.protocols if way != "single"] or ["panel"]

    def compose(self, name: str, choose: Choose) -> StudyArm:
        """The jury that `choose` chooses; one seat alone is a single judge.

        Raises:
            VenireError: There can be no such jury.
        """
        axes = self._axes
        size = int(choose("seats", self._sizes))
        seated = [choose(f"seat {number + 1}", list(self.pool)) for number in range(size)]
        if size == 1:
            fields: dict[str, Any] = {"protocol": "single"}
            way = "single"
        else:
            way = self._one("protocol", self.protocols, choose)
            limits = limits_of_use(axes.limits, way)
            given = limits[
                int(choose("limits", [str(at) for at in range(len(limits))])) if len(limits) > 1 else 0
            ]
            fields = {
                "protocol": way,
                "count": self._one("count", axes.counts, choose),
                "tolerance": self._one("tolerance", axes.tolerances, choose),
                "quorum": min(size, self._one("quorum", axes.quorums, choose)),
                **({"limits": given} if given else {}),
            }
        if way not in _IN_ORDER:
            seated.sort()
        members = [self.pool[label] for label in seated]
        seats = [
            # Named for the place too: one persona may sit on several models.
            {**seat, **({"name": f"{seat['name']}-{number + 1}"} if size > 1 else {})}
            for number, member in enumerate(members)
            for seat in seats_of(member[:1], member[1:])
        ]
        jury = build_jury(
            {
                "name": name,
                "description": ", ".join(seated),
                "seats": seats,
                "orchestrator": members[0][1] if size == 1 else axes.orchestrators[0] or members[0][1],
                **fields,
            },
            self._path.parent,
            str(self._path),
        )
        return StudyArm(jury, "none", {"seats": ", ".join(seated), "protocol": way})

    def largest(self, way: str) -> StudyArm:
        """A jury of as many seats as may be, for an estimate of the most that a trial takes."""
        labels = list(self.pool)

        def choose(what: str, among: Sequence[str]) -> str:
            if what == "seats" or what == "limits":
                return among[-1]
            if what.startswith("seat "):
                return labels[int(what.split()[1]) % len(labels)]
            return way if what == "protocol" and way in among else among[0]

        return self.compose("largest", choose)

    @staticmethod
    def _one(what: str, among: Sequence[Any], choose: Choose) -> Any:
        if len(among) == 1:
            return among[0]
        names = [str(each) for each in among]
        return among[names.index(choose(what, names))]
