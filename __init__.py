"""venire: juries of LLM personas that deliberate over a case, and are held against a single judge and people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evals import Comparison, compare
    from .evals.agreement.rater_agreement import agreement
    from .evals.causes.controls import controls
    from .evals.causes.pressure import pressure
    from .evals.plugins.sitting import Sitting
    from .evals.ratings.run_tables import to_frame
    from .orchestration import Court, Stop, Store, Transcript, Verdict, deliberate, deliberate_sync, recount
    from .orchestration.replay.replay import replay
    from .personas import Jury, Limits, Persona, Seat, load_jury, load_persona
    from .rubrics import (
        Abstention,
        Attribute,
        Ballot,
        Case,
        ModelUnreachable,
        Rubric,
        Scale,
        VenireError,
        load_cases,
        load_rubric,
    )

_HOMES = {
    "rubrics": "Abstention Attribute Ballot Case ModelUnreachable Rubric Scale VenireError load_cases load_rubric",
    "personas": "Jury Limits Persona Seat load_jury load_persona",
    "evals": "Comparison compare",
    "evals.agreement.rater_agreement": "agreement",
    "evals.causes.controls": "controls",
    "evals.causes.pressure": "pressure",
    "evals.plugins.sitting": "Sitting",
    "evals.ratings.run_tables": "to_frame",
    "orchestration.replay.replay": "replay",
    "orchestration": "Court Stop Store Transcript Verdict deliberate deliberate_sync recount",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Abstention",
    "Attribute",
    "Ballot",
    "Case",
    "Comparison",
    "Court",
    "Jury",
    "Limits",
    "ModelUnreachable",
    "Persona",
    "Rubric",
    "Scale",
    "Seat",
    "Sitting",
    "Stop",
    "Store",
    "Transcript",
    "VenireError",
    "Verdict",
    "agreement",
    "compare",
    "controls",
    "deliberate",
    "deliberate_sync",
    "load_cases",
    "load_jury",
    "load_persona",
    "load_rubric",
    "pressure",
    "recount",
    "replay",
    "to_frame",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `import venire` itself costs next to nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'venire' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
