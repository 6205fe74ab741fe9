"""The record: what a run keeps, in a directory (SQLite) or a PostgreSQL database."""

from .location import Location, without_password
from .rows import Advance, Arm, Finished, Heard, Toll
from .store import Store

__all__ = ["Advance", "Arm", "Finished", "Heard", "Location", "Store", "Toll", "without_password"]
