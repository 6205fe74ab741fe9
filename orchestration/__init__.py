"""How they deliberate: protocols, transcripts, verdicts, the record and the runner."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .bench import Bench, Court
from .deliberate import deliberate, deliberate_sync, hear, recount
from .protocols import Protocol
from .record import Store
from .transcript import Stop, Transcript
from .verdict import Outcome, Verdict

if TYPE_CHECKING:
    from .reading.graph import deliberation_graph, run_graph

__all__ = [
    "Bench",
    "Court",
    "Outcome",
    "Protocol",
    "Stop",
    "Store",
    "Transcript",
    "Verdict",
    "deliberate",
    "deliberate_sync",
    "deliberation_graph",
    "hear",
    "recount",
    "run_graph",
]


def __getattr__(name: str) -> Any:
    """The graph's names, loaded when first used: networkx is only for those who draw one."""
    if name in ("deliberation_graph", "run_graph"):
        return getattr(import_module(".reading.graph", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
