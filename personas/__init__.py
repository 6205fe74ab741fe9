"""Who is asked: personas, and the juries they sit on."""

from .jury import Jury, ModelSettings, Seat, load_jury
from .options import Escalation, Limits, Options, Shots
from .persona import Persona, load_persona

__all__ = [
    "Escalation",
    "Jury",
    "Limits",
    "ModelSettings",
    "Options",
    "Persona",
    "Seat",
    "Shots",
    "load_jury",
    "load_persona",
]
