"""Who is asked: personas, and the juries they sit on."""

from .jury import Escalation, Jury, Limits, ModelSettings, Seat, Shots, load_jury
from .persona import Persona, load_persona

__all__ = [
    "Escalation",
    "Jury",
    "Limits",
    "ModelSettings",
    "Persona",
    "Seat",
    "Shots",
    "load_jury",
    "load_persona",
]
