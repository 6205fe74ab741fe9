"""The record: what a run keeps, in a directory (SQLite) or a PostgreSQL database."""

from .database import Location, without_password
from .reader import Arm, ArmProgress, FinishedDeliberation, Hearing, UnfinishedDeliberation
from .store import Store, recorded_cost

__all__ = [
    "Arm",
    "ArmProgress",
    "FinishedDeliberation",
    "Hearing",
    "Location",
    "Store",
    "UnfinishedDeliberation",
    "recorded_cost",
    "without_password",
]
