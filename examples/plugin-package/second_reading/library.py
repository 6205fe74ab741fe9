"""Personas that come with the package: every YAML file of the folder, by its name."""

from pathlib import Path

PERSONAS = Path(__file__).parent / "personas"
