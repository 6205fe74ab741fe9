"""How they deliberate: protocols, transcripts, verdicts, the record and the runner."""

from .bench import Bench, Court
from .deliberate import deliberate, deliberate_sync, hear, recount
from .protocols import Protocol
from .store import Store
from .transcript import Stop, Transcript
from .verdict import Outcome, Verdict

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
    "hear",
    "recount",
]
