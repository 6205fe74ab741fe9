"""Where this checkout is, for the files of it that tests read or run."""

from pathlib import Path

SUPPORT = Path(__file__).parent
"""These helpers: on the path of a program that imports them."""
ROOT = SUPPORT.parent.parent
